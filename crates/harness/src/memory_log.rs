//! Keeps a log in memory. A commit counts as durable when the log has been synchronised.

use engine::{Commit, CommitSink, Ticket};
use machine::cold::Mutex;
use std::collections::BTreeMap;
use txn::{ColumnSet, Key, TableId, TxnId, WriteKind};

/// An owned key of either kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeptKey {
    /// A number.
    Number(u64),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<Key<'_>> for KeptKey {
    fn from(key: Key<'_>) -> KeptKey {
        match key {
            Key::Number(number) => KeptKey::Number(number),
            Key::Bytes(bytes) => KeptKey::Bytes(bytes.to_vec()),
        }
    }
}

/// An owned copy of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptWrite {
    /// Table and key of the row.
    pub row: (TableId, KeptKey),
    /// Kind of the write.
    pub kind: WriteKind,
    /// Columns that the write changes.
    pub columns: ColumnSet,
    /// Packed values of the columns before the write.
    pub before: Vec<u8>,
    /// Packed values of the columns after the write.
    pub after: Vec<u8>,
}

/// An owned copy of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCommit {
    /// Identifier of the committed transaction.
    pub id: TxnId,
    /// Commit timestamp.
    pub timestamp: u64,
    /// Epoch of the commit, where the protocol has epochs.
    pub epoch: Option<u64>,
    /// Writes of the transaction.
    pub writes: Vec<KeptWrite>,
}

/// A log in memory.
#[derive(Default)]
pub struct MemoryLog {
    commits: Mutex<BTreeMap<Ticket, KeptCommit>>,
    synchronised: Mutex<Ticket>,
}

impl MemoryLog {
    /// Acknowledges all commits before the first missing ticket. A ticket is missing if its commit has not been
    /// received yet.
    pub fn synchronise(&self) {
        let commits = self.commits.lock();
        let gapless = commits.keys().zip(1..).take_while(|(ticket, number)| ticket.0 == *number);
        *self.synchronised.lock() = Ticket(gapless.count() as u64);
    }

    /// Returns all commits, in the order of their tickets.
    pub fn commits(&self) -> BTreeMap<Ticket, KeptCommit> {
        self.commits.lock().clone()
    }
}

impl CommitSink for MemoryLog {
    fn commit(&self, commit: &Commit<'_>) {
        let writes = commit.writes().map(|write| KeptWrite {
            row: (write.table, write.key.into()),
            kind: write.kind,
            columns: write.columns,
            before: write.before.to_vec(),
            after: write.after.to_vec(),
        });
        let Commit { ticket, id, timestamp, epoch, .. } = *commit;
        let kept = KeptCommit { id, timestamp, epoch, writes: writes.collect() };
        let before = self.commits.lock().insert(ticket, kept);
        assert!(before.is_none(), "{ticket:?} was told twice");
    }

    fn acknowledged(&self) -> Ticket {
        *self.synchronised.lock()
    }
}
