//! Everything that can go wrong, each with what was given and what is allowed.

use crate::{ColumnType, suggestion::did_you_mean};
use engine::EngineError;
use storage::StoreError;
use txn::{Abort, AbortReason, OwnedKey};

/// What went wrong.
///
/// Inside a closure every error of a [`Transaction`](crate::Transaction) may be handed up with `?`. Those
/// about the call itself (a wrong type, a duplicate key, ...) changed nothing, so the closure may also
/// deal with them and go on. After [`Error::Conflict`], [`Error::UndeclaredPartition`] and
/// [`Error::OutOfMemory`] the attempt is over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no protocol of that name.
    #[error("unknown protocol {given:?}{}; allowed are {}", did_you_mean(given, allowed), allowed.join(", "))]
    UnknownProtocol {
        /// The name given.
        given: String,
        /// The names there are.
        allowed: Vec<&'static str>,
    },
    /// The protocol has no option of that name.
    #[error(
        "protocol {protocol} has no option {given:?}{}; it has {allowed:?}",
        did_you_mean(given, allowed)
    )]
    UnknownProtocolOption {
        /// The protocol.
        protocol: String,
        /// The name given.
        given: String,
        /// Its options.
        allowed: Vec<&'static str>,
    },
    /// The protocol cannot give that level of isolation, or there is no such level.
    #[error("protocol {protocol} cannot give isolation {given:?}; it gives {}", allowed.join(", "))]
    UnsupportedIsolation {
        /// The protocol.
        protocol: String,
        /// The level asked for.
        given: String,
        /// The levels that it gives.
        allowed: Vec<String>,
    },
    /// An option has a value that is not allowed.
    #[error("option {option}: {given:?} given, allowed are {allowed}")]
    InvalidOption {
        /// The field of [`Options`](crate::Options), or the protocol's option.
        option: &'static str,
        /// Its value.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// The database has a table of that name already.
    #[error("there is a table {table:?} already")]
    TableExists {
        /// Its name.
        table: String,
    },
    /// There is no table of that name.
    #[error("unknown table {given:?}{}; there are {allowed:?}", did_you_mean(given, allowed))]
    UnknownTable {
        /// The name given.
        given: String,
        /// The tables there are.
        allowed: Vec<String>,
    },
    /// A table that cannot exist: the message names the table, what was given and what is allowed.
    #[error("{message}")]
    InvalidTable {
        /// What is wrong.
        message: String,
    },
    /// The expected rows would not fit into memory; said before anything is allocated.
    #[error(
        "table {table:?} with {rows} rows needs {needed_bytes} bytes of memory, {available_bytes} are available"
    )]
    TooLarge {
        /// The table.
        table: String,
        /// Rows expected.
        rows: u64,
        /// Bytes that they need.
        needed_bytes: u64,
        /// Bytes that there are.
        available_bytes: u64,
    },
    /// The table, or the table of the field, belongs to another database.
    #[error("table {table:?} belongs to another database")]
    ForeignTable {
        /// Its name.
        table: String,
    },
    /// The table has no such column.
    #[error(
        "table {table:?} has no column {given:?}{}; it has {allowed:?}",
        did_you_mean(given, allowed)
    )]
    UnknownColumn {
        /// The table.
        table: String,
        /// The name given.
        given: String,
        /// Its columns.
        allowed: Vec<String>,
    },
    /// A value, or the Rust type asked for, does not fit the column's type.
    #[error("table {table:?}, column {column:?}: {given} given, the column holds {allowed}")]
    WrongType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The type given.
        given: String,
        /// The column's type.
        allowed: ColumnType,
    },
    /// Something was to be added to a column that does not hold integers.
    #[error("table {table:?}, column {column:?}: it holds {holds}, and only integers are added to")]
    NotAnInteger {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The column's type.
        holds: ColumnType,
    },
    /// A value is longer than its column.
    #[error(
        "table {table:?}, column {column:?}: {given} bytes given, allowed are {allowed} at most"
    )]
    TooLong {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Bytes given.
        given: usize,
        /// Bytes that the column has.
        allowed: usize,
    },
    /// A row needs one value a column.
    #[error("table {table:?}: {given} values given, a row has {allowed}")]
    WrongCount {
        /// The table.
        table: String,
        /// Values given.
        given: usize,
        /// Columns that it has.
        allowed: usize,
    },
    /// A key was given of another kind than the table's.
    #[error("table {table:?} has keys that are {allowed}")]
    WrongKeyType {
        /// The table.
        table: String,
        /// What its keys are.
        allowed: &'static str,
    },
    /// A key is longer than the table's keys may be.
    #[error("table {table:?}: a key of {given} bytes given, allowed are {allowed} at most")]
    KeyTooLong {
        /// The table.
        table: String,
        /// Bytes given.
        given: usize,
        /// Bytes allowed.
        allowed: usize,
    },
    /// A column is given twice in one update.
    #[error("table {table:?}: column {column:?} is given twice")]
    RepeatedColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A unique index has an entry of another row with the same values. Nothing has changed.
    #[error("table {table:?} has a row already with the values that index {index:?} wants unique")]
    NotUnique {
        /// The table.
        table: String,
        /// The index.
        index: String,
    },
    /// The table has no such index.
    #[error(
        "table {table:?} has no index {given:?}{}; it has {allowed:?}",
        did_you_mean(given, allowed)
    )]
    UnknownIndex {
        /// The table.
        table: String,
        /// The name given.
        given: String,
        /// Its indexes.
        allowed: Vec<String>,
    },
    /// A value was looked for that needs more bits than an index has for its column.
    #[error("index {index:?}: a value of column {column:?} needs more than {bits} bits")]
    BeyondIndex {
        /// The index.
        index: String,
        /// The column.
        column: String,
        /// Bits that the index has for it.
        bits: u32,
    },
    /// A scan of an index whose start lies after its end.
    #[error("index {index:?}: the start of a range must not lie after its end")]
    ReversedIndexRange {
        /// The index.
        index: String,
    },
    /// There is a row with that key already.
    #[error("table {table:?} has a row {key} already")]
    DuplicateKey {
        /// The table.
        table: String,
        /// The key.
        key: OwnedKey,
    },
    /// There is no row with that key.
    #[error("table {table:?} has no row {key}")]
    MissingKey {
        /// The table.
        table: String,
        /// The key.
        key: OwnedKey,
    },
    /// A scan of a table that was not made with [`Database::create_ordered_table`](crate::Database) or
    /// [`Database::create_ordered_byte_keyed_table`](crate::Database).
    #[error("table {table:?} is not in key order: it cannot be scanned")]
    NotOrdered {
        /// The table.
        table: String,
    },
    /// A scan of a range whose start lies after its end.
    #[error(
        "table {table:?}: a range from {first} to {last}: the start must not lie after the end"
    )]
    ReversedRange {
        /// The table.
        table: String,
        /// The start given.
        first: OwnedKey,
        /// The end given.
        last: OwnedKey,
    },
    /// A transaction that was declared read-only writes, or reads in order to write.
    #[error("table {table:?}: a read-only transaction must not write")]
    ReadOnly {
        /// The table.
        table: String,
    },
    /// A transaction was started inside a transaction of the same database on the same thread. The inner one
    /// could wait for the outer one for ever.
    #[error("a transaction was started inside another one of the same database and thread")]
    Nested,
    /// A row was accessed whose partition the transaction had not declared. It was rolled back, and running it
    /// again would not help: see [`Database::transact_on`](crate::Database::transact_on).
    #[error("a row was accessed whose partition the transaction had not declared")]
    UndeclaredPartition,
    /// A key was accessed that has no place in its table, which was made for certain keys only
    /// ([`Database::create_dense_table`](crate::Database::create_dense_table)); or a value was written that needs more bits
    /// than a secondary index has for it. The transaction was rolled back.
    #[error("a key or an indexed value was given that has no place in its table's index")]
    KeyOutsideIndex,
    /// The memory limit is reached. The transaction was rolled back; what deletes free can be used again.
    #[error("the database's memory is exhausted")]
    OutOfMemory,
    /// This attempt lost against another transaction. Hand it up: the closure runs again.
    #[error("the attempt lost against another transaction: {0}")]
    Conflict(AbortReason),
    /// The retry limit is reached.
    #[error("no success after {attempts} attempts, the last one failed with {last}")]
    TooManyRetries {
        /// Attempts made.
        attempts: u32,
        /// Why the last one failed.
        last: AbortReason,
    },
    /// The transaction was open for longer than [`Options::transaction_limit`](crate::Options::transaction_limit). It was
    /// rolled back, and its closure does not run again.
    #[error("the transaction was open for longer than {limit:?}, the limit of this database")]
    TransactionTooLong {
        /// The limit.
        limit: std::time::Duration,
    },
    /// The operating system refused something.
    #[error("the system refused {what}: {message}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// Its answer.
        message: String,
    },
    /// The closure's own error; made by [`Error::user`] or by `?` and `into()` from text.
    #[error("{0}")]
    User(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// The closure's own error, to roll back with. Text will do: `Error::user("insufficient funds")`.
    pub fn user(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::User(error.into())
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Error {
        Error::user(message)
    }
}

impl From<String> for Error {
    fn from(message: String) -> Error {
        Error::user(message)
    }
}

impl From<Abort> for Error {
    fn from(abort: Abort) -> Error {
        match abort.reason {
            AbortReason::OutOfMemory => Error::OutOfMemory,
            AbortReason::UndeclaredPartition => Error::UndeclaredPartition,
            AbortReason::KeyOutsideIndex => Error::KeyOutsideIndex,
            reason => Error::Conflict(reason),
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Error {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::UnknownProtocol(_)
            | EngineError::UnknownArchitecture(_)
            | EngineError::OneSite { .. }
            | EngineError::Isolation(_) => unreachable!("options are checked before: {error}"),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        match error {
            StoreError::Schema(message) => Error::InvalidTable { message: message.to_string() },
            StoreError::TooLarge { table, rows, needed, available } => {
                Error::TooLarge { table, rows, needed_bytes: needed, available_bytes: available }
            }
            StoreError::OutOfMemory(_) => Error::OutOfMemory,
        }
    }
}
