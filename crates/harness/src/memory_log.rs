//! A log in memory: durable is what it has synchronised.

use engine::{Commit, CommitSink, Ticket};
use machine::cold::Mutex;
use std::collections::BTreeMap;
use txn::{ColumnSet, Key, TableId, TxnId, WriteKind};

/// A key of either kind, kept.
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

/// A write, kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptWrite {
    /// Table and key of the row.
    pub row: (TableId, KeptKey),
    /// What happens to it.
    pub kind: WriteKind,
    /// The columns that change.
    pub columns: ColumnSet,
    /// Their values before, packed.
    pub before: Vec<u8>,
    /// Their values afterwards, packed.
    pub after: Vec<u8>,
}

/// A commit, kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCommit {
    /// Who has committed.
    pub id: TxnId,
    /// The commit timestamp.
    pub timestamp: u64,
    /// Its epoch, where there are epochs.
    pub epoch: Option<u64>,
    /// What was written.
    pub writes: Vec<KeptWrite>,
}

/// The log.
#[derive(Default)]
pub struct MemoryLog {
    commits: Mutex<BTreeMap<Ticket, KeptCommit>>,
    synchronised: Mutex<Ticket>,
}

impl MemoryLog {
    /// Acknowledges all commits but those behind one that has not been told yet.
    pub fn synchronise(&self) {
        let commits = self.commits.lock();
        let gapless = commits.keys().zip(1..).take_while(|(ticket, number)| ticket.0 == *number);
        *self.synchronised.lock() = Ticket(gapless.count() as u64);
    }

    /// All commits, in the order of their tickets.
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
