//! A session's recorder: what it has read and written, kept if it commits.

use machine::Core;
use storage::{RowHead, RowState};
use txn::{
    ByteScan, Digest, Direction, KeyRange, Read, Scan, TableId, Transaction, TxnId, Unmatched,
    Version, WorkerHistory, Write,
};

/// The history of one session, with the running attempt at its end.
#[derive(Default)]
pub(super) struct Recorder {
    history: WorkerHistory,
    begin: u64,
    first_read: usize,
    first_write: usize,
    first_scan: usize,
    /// While a scan runs: its first read, and the version of the attempt's own writes.
    scanning: Option<(usize, Version)>,
    /// What was read beside a running scan.
    beside: Vec<Read>,
    is_beside: bool,
    /// What the attempt was asked to write.
    asked: Vec<Asked>,
}

/// What an attempt was asked to do with one record.
struct Asked {
    table: TableId,
    key: u64,
    /// By the first write and by the last: the state in which it is to leave the row, if it says.
    states: (Option<RowState>, Option<RowState>),
}

impl Asked {
    /// Inserted and deleted again: nothing is left to do.
    fn is_undone(&self) -> bool {
        self.states == (Some(RowState::PRESENT), Some(RowState::ABSENT))
    }
}

impl Recorder {
    /// An attempt begins.
    pub fn begin(&mut self, core: &impl Core) {
        self.first_read = self.history.reads.len();
        self.first_write = self.history.writes.len();
        self.first_scan = self.history.scans.len();
        self.scanning = None;
        self.beside.clear();
        self.is_beside = false;
        self.asked.clear();
        self.begin = core.now_fenced();
    }

    /// A row with these `values`, or its absence, was read.
    pub fn read(&mut self, table: TableId, key: u64, head: RowHead, values: Digest) {
        if self.is_beside {
            if !head.own {
                let (version, present) = (head.version, head.state.is_present());
                self.beside.push(Read { table, key, version, present, values });
            }
            return;
        }
        // What a transaction wrote itself says nothing about others, but that a scan has met it.
        let own = self.scanning.map(|(_, version)| version);
        let version = if head.own { own } else { Some(head.version) };
        if let Some(version) = version {
            let present = head.state.is_present();
            self.history.reads.push(Read { table, key, version, present, values });
        }
    }

    /// The attempt was asked to write a record, and to leave its row in `state` if that says so.
    pub fn asked(&mut self, table: TableId, key: u64, state: Option<RowState>) {
        match self.asked.iter_mut().find(|asked| (asked.table, asked.key) == (table, key)) {
            Some(asked) => asked.states.1 = state.or(asked.states.1),
            None => self.asked.push(Asked { table, key, states: (state, state) }),
        }
    }

    /// True when the attempt was asked to write the record.
    pub fn writes_to(&self, table: TableId, key: u64) -> bool {
        self.asked.iter().any(|asked| (asked.table, asked.key) == (table, key))
    }

    /// Notes where what was installed is not what had been asked for.
    fn compare_writes(&mut self, id: TxnId) {
        let installed = &self.history.writes[self.first_write..];
        let is_asked =
            |w: &&Write| !self.asked.iter().any(|a| (a.table, a.key) == (w.table, w.key));
        let unasked = installed.iter().filter(is_asked).map(|w| (w.table, w.key, true));
        let is_installed =
            |a: &Asked| installed.iter().any(|w| (w.table, w.key) == (a.table, a.key));
        let lost = self.asked.iter().filter(|a| !a.is_undone() && !is_installed(a));
        let lost = lost.map(|a| (a.table, a.key, false));
        let unmatched = unasked.chain(lost);
        let unmatched =
            unmatched.map(|(table, key, installed)| Unmatched { id, table, key, installed });
        self.history.unmatched.extend(unmatched);
    }

    /// A running scan has passed over the key that `number` stands for: its row was absent, and its record had retired.
    pub fn absent(&mut self, table: TableId, number: u64, version: Version) {
        self.history.reads.push(Read {
            table,
            key: number,
            version,
            present: false,
            values: Digest::UNKNOWN,
        });
    }

    /// The number `number` stands for a key of bytes.
    pub fn spelled(&mut self, table: TableId, number: u64, key: &[u8]) {
        self.history.spelled.entry((table, number)).or_insert_with(|| key.to_vec());
    }

    /// A scan begins, in an attempt whose own writes have the version `own`.
    pub fn begin_scan(&mut self, own: Version) {
        self.scanning = Some((self.history.reads.len(), own));
    }

    /// The scan is over and has covered `range`.
    pub fn end_scan(&mut self, table: TableId, range: KeyRange, direction: Direction) {
        if let Some((first_read, _)) = self.scanning.take() {
            let reads = self.history.reads.len() - first_read;
            self.history.scans.push(Scan { table, range, direction, first_read, reads });
        }
        self.history.reads.append(&mut self.beside);
    }

    /// As [`Recorder::end_scan`], of a table whose keys are bytes.
    pub fn end_byte_scan(&mut self, table: TableId, ends: (&[u8], &[u8]), direction: Direction) {
        let (scan, first, last) = (self.history.scans.len(), ends.0.into(), ends.1.into());
        self.history.byte_scans.push(ByteScan { scan, first, last });
        self.end_scan(table, KeyRange::ALL, direction);
    }

    /// What is read from here on is no part of the running scan, though it may go on afterwards; or is again.
    pub fn read_beside_scan(&mut self, beside: bool) {
        self.is_beside = beside;
    }

    /// Where installed writes go.
    pub fn writes(&mut self) -> &mut Vec<Write> {
        &mut self.history.writes
    }

    /// The attempt has committed.
    pub fn committed(&mut self, core: &impl Core, id: TxnId, commit_timestamp: u64) {
        self.compare_writes(id);
        self.history.transactions.push(Transaction {
            id,
            begin: self.begin,
            end: core.now_fenced(),
            commit_timestamp,
            first_read: self.first_read,
            first_write: self.first_write,
            first_scan: self.first_scan,
        });
    }

    /// The attempt was rolled back.
    pub fn rolled_back(&mut self) {
        self.history.reads.truncate(self.first_read);
        self.history.writes.truncate(self.first_write);
        self.history.scans.truncate(self.first_scan);
        let scans = &mut self.history.byte_scans;
        while scans.pop_if(|scan| scan.scan >= self.first_scan).is_some() {}
    }

    /// The history so far.
    pub fn take(&mut self) -> WorkerHistory {
        self.first_read = 0;
        self.first_write = 0;
        self.first_scan = 0;
        std::mem::take(&mut self.history)
    }
}
