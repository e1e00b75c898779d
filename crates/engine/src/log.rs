//! The commit hook: what a log is told of committing transactions, and what it promises in return.
//!
//! A commit that writes passes three moments. It is *numbered* when all its sites are prepared: its [`Ticket`] is its place
//! in the order of replay ([`protocols::parts::commit_order`] says why that order is right under every protocol). Then the
//! sink is told of it, with all before- and after-images. Then its writes are *installed*, and others see them. It is
//! *acknowledged* when the sink says so of its ticket or of a later one: group commit waits for that outside,
//! when the session has long gone on.
//!
//! Nobody reads what the sink has not been told of. But what was read may not be durable yet, so a transaction that
//! has written nothing has a ticket too: that of the last commit that it may have read.

use machine::{Machine, OutOfMemory, cold::Arc};
use protocols::parts::commit_order::CommitOrder;
use std::{fmt, ops::Range};
use txn::{ColumnSet, Key, TableId, TxnId, WriteKind};

/// A place in the order of commits, from 1 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What is told of committing transactions. A log.
pub trait CommitSink: Send + Sync {
    /// A transaction that writes is prepared and will commit. Nothing that it writes is installed yet, and nobody else
    /// can write there: must not wait for other transactions.
    ///
    /// Each ticket is told once, none is left out, and independent transactions may be told in another order than that of
    /// their tickets. What is told of `commit` is gone afterwards.
    ///
    /// It must not panic: the transaction would roll back, and its ticket would be told to nobody. A log that cannot go on
    /// keeps that to itself here, and stops acknowledging.
    fn commit(&self, commit: &Commit<'_>);

    /// Everything up to this ticket is durable.
    fn acknowledged(&self) -> Ticket;
}

/// A committing transaction.
pub struct Commit<'a> {
    /// Its place in the order in which after-images are replayed.
    pub ticket: Ticket,
    /// Its identity.
    pub id: TxnId,
    /// Its commit timestamp; 0 under protocols that have none.
    pub timestamp: u64,
    /// The epoch of the timestamp, where commits are told apart by epochs.
    pub epoch: Option<u64>,
    pub(crate) writes: &'a [Written],
    pub(crate) bytes: &'a [u8],
}

impl<'a> Commit<'a> {
    /// What it writes: entries of secondary indexes too, as they are rows of tables. A row in two parts has a write for each.
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

/// What a transaction does to a row, or to a part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedWrite<'a> {
    /// The table.
    pub table: TableId,
    /// The row's key.
    pub key: Key<'a>,
    /// What happens to it.
    pub kind: WriteKind,
    /// The columns that change: in an insert or a delete all of the row, or of its part.
    pub columns: ColumnSet,
    /// Their values before, packed; none before an insert.
    pub before: &'a [u8],
    /// Their values afterwards, packed; none after a delete.
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

/// A key whose bytes lie in a buffer.
pub(crate) enum WrittenKey {
    Number(u64),
    Bytes(Range<usize>),
}

/// An engine's log.
pub(crate) struct Log<M: Machine> {
    pub sink: Arc<dyn CommitSink>,
    pub order: CommitOrder<M>,
    /// As [`crate::Engine::epoch_of`].
    pub epoch_of: fn(u64) -> Option<u64>,
}

/// A sink that an engine can't have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkError {
    /// The protocol isolates nothing, so that there is no order in which its writes can be replayed.
    NoOrder {
        /// The protocol.
        protocol: &'static str,
    },
    /// It has one.
    Attached,
    /// No memory for it.
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
