//! The commit hook: what a log receives from committing transactions, and what it promises in return.
//!
//! A transaction that writes passes these moments when it commits:
//!
//! 1. It is *numbered* when all its sites are prepared. Its [`Ticket`] is its place in the order of replay.
//!    [`protocols::mechanisms::commit_order`] explains why that order is right under every protocol.
//! 2. The sink receives it, with all before-images and after-images.
//! 3. Its writes are *installed*, and other transactions see them.
//! 4. It is *acknowledged* when the sink acknowledges its ticket or a later one. With group commit, the client
//!    waits for this outside the session, which has long continued with other work.
//!
//! Invariant: no transaction reads a write that the sink has not received. But a write that was read need not
//! be durable yet. Therefore a transaction without writes has a ticket too: the ticket of the last commit that
//! it can have read.

use machine::{Machine, OutOfMemory, cold::Arc};
use protocols::mechanisms::commit_order::CommitOrder;
use std::{fmt, ops::Range};
use txn::{ColumnSet, Key, TableId, TxnId, WriteKind};

/// A place in the order of commits. The first ticket is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// The receiver of committing transactions: a log.
pub trait CommitSink: Send + Sync {
    /// Receives a transaction that writes, is prepared and will commit. None of its writes is installed yet,
    /// and no other transaction can write to the same rows. So this function must not wait for other
    /// transactions.
    ///
    /// Each ticket is received exactly once, and no ticket is left out. Independent transactions can arrive in
    /// another order than that of their tickets. The contents of `commit` are not available after the call.
    ///
    /// It must not panic. After a panic the transaction would roll back, and its ticket would never be
    /// received. A log that cannot continue must return normally and stop acknowledging.
    fn commit(&self, commit: &Commit<'_>);

    /// Returns the last ticket up to which every commit is durable.
    fn acknowledged(&self) -> Ticket;
}

/// A committing transaction.
pub struct Commit<'a> {
    /// Place in the order in which after-images are replayed.
    pub ticket: Ticket,
    /// Identity of the transaction.
    pub id: TxnId,
    /// Commit timestamp, or 0 under protocols without timestamps.
    pub timestamp: u64,
    /// Epoch of the timestamp, if the protocol puts epochs into its timestamps.
    pub epoch: Option<u64>,
    pub(crate) writes: &'a [Written],
    pub(crate) bytes: &'a [u8],
}

impl<'a> Commit<'a> {
    /// Returns the writes. Entries of secondary indexes are included, because they are rows of tables. A write
    /// to both parts of a row with hot columns appears as one write for each part.
    pub fn writes(&self) -> impl ExactSizeIterator<Item = LoggedWrite<'a>> + use<'a> {
        let bytes = self.bytes;
        self.writes.iter().map(move |written| LoggedWrite {
            table: written.table,
            key: match &written.key {
                WrittenKey::Number(number) => Key::Number(*number),
                WrittenKey::Bytes(key) => Key::Bytes(&bytes[key.clone()]),
            },
            kind: written.kind,
            columns: written.columns,
            before: &bytes[written.before.clone()],
            after: &bytes[written.after.clone()],
        })
    }
}

/// A write of a transaction to a row, or to one part of a row with hot columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedWrite<'a> {
    /// Number of the table.
    pub table: TableId,
    /// Key of the row.
    pub key: Key<'a>,
    /// Kind of the write.
    pub kind: WriteKind,
    /// Columns that change. An insert or a delete changes all columns of the row, or of the part.
    pub columns: ColumnSet,
    /// Packed values of these columns before the write. Empty for an insert.
    pub before: &'a [u8],
    /// Packed values of these columns after the write. Empty for a delete.
    pub after: &'a [u8],
}

/// A [`LoggedWrite`] whose bytes lie in a buffer.
pub(crate) struct Written {
    pub table: TableId,
    pub key: WrittenKey,
    pub kind: WriteKind,
    pub columns: ColumnSet,
    pub before: Range<usize>,
    pub after: Range<usize>,
}

/// A key. The bytes of a byte key lie in a buffer.
pub(crate) enum WrittenKey {
    Number(u64),
    Bytes(Range<usize>),
}

/// The log of an engine.
pub(crate) struct Log<M: Machine> {
    pub sink: Arc<dyn CommitSink>,
    pub order: CommitOrder<M>,
    /// Implements [`crate::Engine::epoch_of`].
    pub epoch_of: fn(u64) -> Option<u64>,
}

/// The reason why an engine cannot have a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkError {
    /// The protocol isolates nothing, so there is no order in which its writes could be replayed.
    NoOrder {
        /// Name of the protocol.
        protocol: &'static str,
    },
    /// The engine already has a sink.
    Attached,
    /// There is no memory for the commit order.
    OutOfMemory(OutOfMemory),
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SinkError::NoOrder { protocol } => {
                write!(
                    f,
                    "{protocol} cannot be logged: it isolates nothing, so its writes have no order"
                )
            }
            SinkError::Attached => f.write_str("the engine has a log already"),
            SinkError::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SinkError {}
