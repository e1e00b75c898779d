//! Every error that the API returns. Each says what was given and what is allowed.

use crate::{ColumnType, suggestion::did_you_mean};
use engine::EngineError;
use storage::StoreError;
use txn::{Abort, AbortReason, OwnedKey};

/// The reason why a call failed.
///
/// Inside a closure, every error of a [`Transaction`](crate::Transaction) can be returned with `?`. An error
/// about the call itself (a wrong type, a duplicate key, ...) has changed nothing, so the closure can also
/// handle it and go on. After [`Error::Conflict`], [`Error::UndeclaredPartition`], [`Error::KeyOutsideIndex`]
/// and [`Error::OutOfMemory`] the attempt is over: it has been rolled back and cannot commit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No protocol has this name.
    #[error("unknown protocol {given:?}{}; allowed are {}", did_you_mean(given, allowed), allowed.join(", "))]
    UnknownProtocol {
        /// The name given.
        given: String,
        /// Names of all protocols.
        allowed: Vec<&'static str>,
    },
    /// The protocol has no option of this name.
    #[error(
        "protocol {protocol} has no option {given:?}{}; it has {allowed:?}",
        did_you_mean(given, allowed)
    )]
    UnknownProtocolOption {
        /// The protocol.
        protocol: String,
        /// The name given.
        given: String,
        /// Names of the options that it has.
        allowed: Vec<&'static str>,
    },
    /// The protocol cannot give this isolation level, or there is no such level.
    #[error("protocol {protocol} cannot give isolation {given:?}; it gives {}", allowed.join(", "))]
    UnsupportedIsolation {
        /// The protocol.
        protocol: String,
        /// The level asked for.
        given: String,
        /// Levels that the protocol can give.
        allowed: Vec<String>,
    },
    /// An option has a value that is not allowed.
    #[error("option {option}: {given:?} given, allowed are {allowed}")]
    InvalidOption {
        /// The field of [`Options`](crate::Options), or the protocol's option.
        option: &'static str,
        /// Its value, as text.
        given: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// The database already has a table of this name.
    #[error("there is a table {table:?} already")]
    TableExists {
        /// The name.
        table: String,
    },
    /// Two indexes of a table have the same name.
    #[error("table {table:?} has an index {index:?} already")]
    IndexExists {
        /// The table.
        table: String,
        /// The name.
        index: String,
    },
    /// No table has this name.
    #[error("unknown table {given:?}{}; there are {allowed:?}", did_you_mean(given, allowed))]
    UnknownTable {
        /// The name given.
        given: String,
        /// Names of all tables.
        allowed: Vec<String>,
    },
    /// No table can have this schema. The message names the table, what was given, and what is allowed.
    #[error("{message}")]
    InvalidTable {
        /// Text of the message.
        message: String,
    },
    /// The expected rows do not fit into memory. Reported before anything is allocated.
    #[error(
        "table {table:?} with {rows} rows needs {needed_bytes} bytes of memory, {available_bytes} are available"
    )]
    TooLarge {
        /// The table.
        table: String,
        /// Number of rows expected.
        rows: u64,
        /// Bytes that these rows need.
        needed_bytes: u64,
        /// Bytes that are available.
        available_bytes: u64,
    },
    /// The table, or the table of the field, belongs to another database.
    #[error("table {table:?} belongs to another database")]
    ForeignTable {
        /// The table's name. For a field, the table's number.
        table: String,
    },
    /// A column of the table has been dropped since the handle was made. [`TableBuilder::open`] makes another handle.
    ///
    /// [`TableBuilder::open`]: crate::TableBuilder::open
    #[error(
        "table {table:?}: a column has been dropped since this handle was made; open the table again"
    )]
    TableChanged {
        /// The table's name.
        table: String,
    },
    /// The table has been dropped.
    #[error("table {table:?} has been dropped")]
    TableDropped {
        /// The table's name.
        table: String,
    },
    /// The table has no column of this name.
    #[error(
        "table {table:?} has no column {given:?}{}; it has {allowed:?}",
        did_you_mean(given, allowed)
    )]
    UnknownColumn {
        /// The table.
        table: String,
        /// The name given.
        given: String,
        /// Names of its columns.
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
    /// An addition names a column that does not hold integers.
    #[error("table {table:?}, column {column:?}: it holds {holds}, and only integers are added to")]
    NotAnInteger {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The column's type.
        holds: ColumnType,
    },
    /// A number is of the right type and too large or too small for its column.
    #[error("table {table:?}, column {column:?}: {given} given, the column holds {allowed}")]
    OutOfRange {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The number given.
        given: String,
        /// The column's type.
        allowed: ColumnType,
    },
    /// NULL was given for a column in which every row has a value.
    #[error("table {table:?}, column {column:?}: NULL given, and the column is not nullable")]
    NotNullable {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A column without a value was read as a type that has no NULL.
    #[error("table {table:?}, column {column:?}: it is NULL; read it as an Option")]
    UnexpectedNull {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// Bytes were given for a column of text, and they are not UTF-8.
    #[error("table {table:?}, column {column:?}: the text is not UTF-8")]
    NotUtf8 {
        /// The table.
        table: String,
        /// The column.
        column: String,
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
        /// Length of the column in bytes.
        allowed: usize,
    },
    /// The number of values differs from the number of columns. For a search in an index, there are more values
    /// than indexed columns.
    #[error("table {table:?}: {given} values given, a row has {allowed}")]
    WrongCount {
        /// The table.
        table: String,
        /// Number of values given.
        given: usize,
        /// Number of columns.
        allowed: usize,
    },
    /// The key is of another kind than the keys of the table.
    #[error("table {table:?} has keys that are {allowed}")]
    WrongKeyType {
        /// The table.
        table: String,
        /// The kind of the table's keys.
        allowed: &'static str,
    },
    /// The key is longer than the keys of the table can be.
    #[error("table {table:?}: a key of {given} bytes given, allowed are {allowed} at most")]
    KeyTooLong {
        /// The table.
        table: String,
        /// Bytes given.
        given: usize,
        /// Bytes allowed.
        allowed: usize,
    },
    /// A column is given twice in one update or addition.
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
    /// The table has no index of this name.
    #[error(
        "table {table:?} has no index {given:?}{}; it has {allowed:?}",
        did_you_mean(given, allowed)
    )]
    UnknownIndex {
        /// The table.
        table: String,
        /// The name given.
        given: String,
        /// Names of its indexes.
        allowed: Vec<String>,
    },
    /// A search in an index gave a value that needs more bits than the index has for its column.
    #[error("index {index:?}: a value of column {column:?} needs more than {bits} bits")]
    BeyondIndex {
        /// The index.
        index: String,
        /// The column.
        column: String,
        /// Number of bits that the index has for the column.
        bits: u32,
    },
    /// The range of an index scan starts after its end.
    #[error("index {index:?}: the start of a range must not lie after its end")]
    ReversedIndexRange {
        /// The index.
        index: String,
    },
    /// There already is a row with this key.
    #[error("table {table:?} has a row {key} already")]
    DuplicateKey {
        /// The table.
        table: String,
        /// The key.
        key: OwnedKey,
    },
    /// There is no row with this key.
    #[error("table {table:?} has no row {key}")]
    MissingKey {
        /// The table.
        table: String,
        /// The key.
        key: OwnedKey,
    },
    /// The table is not in key order, so it cannot be scanned. [`TableBuilder::ordered`](crate::TableBuilder::ordered) makes an ordered table.
    #[error("table {table:?} is not in key order: it cannot be scanned")]
    NotOrdered {
        /// The table.
        table: String,
    },
    /// The range of a scan starts after its end.
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
    /// A thread started a transaction inside another transaction of the same database. The inner transaction
    /// could wait for the outer one for ever.
    #[error("a transaction was started inside another one of the same database and thread")]
    Nested,
    /// The transaction accessed a row whose partition it had not declared. It was rolled back. Running it again
    /// would not help. See [`Database::transact_on`](crate::Database::transact_on).
    #[error("a row was accessed whose partition the transaction had not declared")]
    UndeclaredPartition,
    /// The transaction accessed a key outside the range that its table was made for
    /// ([`TableBuilder::dense`](crate::TableBuilder::dense)), or it wrote a value that needs
    /// more bits than a secondary index has for it. The transaction was rolled back.
    #[error("a key or an indexed value was given that has no place in its table's index")]
    KeyOutsideIndex,
    /// The memory limit is reached. The transaction was rolled back. Memory that deletes free can be used
    /// again.
    #[error("the database's memory is exhausted")]
    OutOfMemory,
    /// The attempt conflicts with another transaction. Return this error from the closure, which then runs
    /// again.
    #[error("the attempt lost against another transaction: {0}")]
    Conflict(AbortReason),
    /// The transaction has reached [`Options::retry_limit`](crate::Options::retry_limit).
    #[error("no success after {attempts} attempts, the last one failed with {last}")]
    TooManyRetries {
        /// Number of attempts made.
        attempts: u32,
        /// Reason why the last attempt was aborted.
        last: AbortReason,
    },
    /// The transaction was open for longer than
    /// [`Options::transaction_limit`](crate::Options::transaction_limit). It was rolled back, and its closure
    /// does not run again.
    #[error("the transaction was open for longer than {limit:?}, the limit of this database")]
    TransactionTooLong {
        /// The limit.
        limit: std::time::Duration,
    },
    /// The operating system refused a request.
    #[error("the system refused {what}: {message}")]
    System {
        /// The request.
        what: &'static str,
        /// The system's answer.
        message: String,
    },
    /// An error of the closure itself, made by [`Error::user`], or by `?` and `into()` from text.
    #[error("{0}")]
    User(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Makes an error of the closure itself, to roll back with. Text is allowed: `Error::user("insufficient
    /// funds")`.
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
            | EngineError::Isolates { .. }
            | EngineError::NotDelegated { .. }
            | EngineError::NotMovable { .. }
            | EngineError::Interrupted { .. }
            | EngineError::WaitsOnce { .. }
            | EngineError::DoesNotMove { .. }
            | EngineError::Partitions { .. }
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
