//! Builds histories transaction by transaction.

use txn::{
    Digest, Direction, History, KeyRange, LoadedTable, Read, Scan, TableId, Transaction, TxnId,
    Version, WorkerHistory, Write, WriteKind,
};

/// The only table of these histories.
pub const TABLE: TableId = TableId(0);

/// A transaction under construction.
#[derive(Clone, Debug)]
pub struct Draft {
    pub id: TxnId,
    pub begin: u64,
    pub end: u64,
    pub reads: Vec<Read>,
    pub writes: Vec<Write>,
    /// Scans of the transaction. Their read numbers count within the draft.
    pub scans: Vec<Scan>,
}

/// A history under construction: each worker's transactions in order.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub drafts: Vec<Draft>,
    /// The loaded rows, if the history states them.
    pub loaded: Vec<LoadedTable>,
}

impl Script {
    /// Adds a transaction of `worker`, from `begin` to `end`.
    pub fn txn(&mut self, worker: usize, sequence: u64, begin: u64, end: u64) -> &mut Draft {
        let id = TxnId::new(worker, sequence);
        self.drafts.push(Draft { id, begin, end, reads: vec![], writes: vec![], scans: vec![] });
        self.drafts.last_mut().expect("just pushed")
    }

    /// Returns the history that recorders would have left.
    pub fn history(&self) -> History {
        let workers = self.drafts.iter().filter_map(|d| d.id.worker()).max().map_or(0, |w| w + 1);
        let mut history = History::of(vec![WorkerHistory::default(); workers], self.loaded.clone());
        for draft in &self.drafts {
            let worker = &mut history.workers[draft.id.worker().unwrap_or(0)];
            worker.transactions.push(Transaction {
                id: draft.id,
                begin: draft.begin,
                end: draft.end,
                commit_timestamp: 0,
                first_read: worker.reads.len(),
                first_write: worker.writes.len(),
                first_scan: worker.scans.len(),
            });
            let first = worker.reads.len();
            let placed = |scan: &Scan| Scan { first_read: first + scan.first_read, ..*scan };
            worker.scans.extend(draft.scans.iter().map(placed));
            worker.reads.extend_from_slice(&draft.reads);
            worker.writes.extend_from_slice(&draft.writes);
        }
        history
    }
}

/// Returns the version of a transaction's first write to a record.
pub fn by(id: TxnId) -> Version {
    Version::new(id, 1)
}

impl Draft {
    pub fn read(&mut self, key: u64, version: Version) -> &mut Draft {
        self.reads.push(Read {
            table: TABLE,
            key,
            version,
            present: true,
            values: Digest::UNKNOWN,
        });
        self
    }

    pub fn read_absent(&mut self, key: u64, version: Version) -> &mut Draft {
        self.reads.push(Read {
            table: TABLE,
            key,
            version,
            present: false,
            values: Digest::UNKNOWN,
        });
        self
    }

    /// Adds a scan that met these keys, with versions and presence as in `read` and `read_absent`.
    pub fn scan(&mut self, first: u64, last: u64, met: &[(u64, Version, bool)]) -> &mut Draft {
        self.scans.push(Scan {
            table: TABLE,
            range: KeyRange::new(first, last).expect("a range"),
            direction: if met.is_sorted() { Direction::Forward } else { Direction::Backward },
            first_read: self.reads.len(),
            reads: met.len(),
        });
        let read = |&(key, version, present): &_| Read {
            table: TABLE,
            key,
            version,
            present,
            values: Digest::UNKNOWN,
        };
        self.reads.extend(met.iter().map(read));
        self
    }

    pub fn write(&mut self, key: u64, overwritten: Version) -> &mut Draft {
        self.write_nth(key, 1, overwritten, WriteKind::Update)
    }

    pub fn insert(&mut self, key: u64, overwritten: Version) -> &mut Draft {
        self.write_nth(key, 1, overwritten, WriteKind::Insert)
    }

    pub fn delete(&mut self, key: u64, overwritten: Version) -> &mut Draft {
        self.write_nth(key, 1, overwritten, WriteKind::Delete)
    }

    pub fn write_nth(
        &mut self,
        key: u64,
        nth: u8,
        overwritten: Version,
        kind: WriteKind,
    ) -> &mut Draft {
        let version = Version::new(self.id, nth);
        self.writes.push(Write {
            table: TABLE,
            key,
            version,
            overwritten,
            kind,
            values: Digest::UNKNOWN,
        });
        self
    }
}
