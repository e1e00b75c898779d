//! A session's recorder: collects what its attempts read and write, and keeps it if they commit.
//!
//! The running attempt appends to the session's history. On rollback the history is truncated to its length at
//! the begin of the attempt.

use machine::Core;
use storage::{Origin, RowHead, RowState};
use txn::{
    ByteScan, Digest, Direction, KeyRange, Read, Scan, TableId, Transaction, TxnId, Unmatched,
    Version, WorkerHistory, Write,
};

/// The history of one session. The reads, writes and scans of the running attempt are at its end.
#[derive(Default)]
pub(super) struct Recorder {
    history: WorkerHistory,
    /// Time at which the running attempt began.
    begin: u64,
    /// Length of the history's reads when the running attempt began. `first_write` and `first_scan` are the
    /// same for writes and scans.
    first_read: usize,
    first_write: usize,
    first_scan: usize,
    /// First read of the running scan, and the version of the attempt's own writes. `None` if no scan is
    /// running.
    scanning: Option<(usize, Version)>,
    /// Reads made during a scan that are not part of it. They are appended to the history when the scan ends.
    beside: Vec<Read>,
    /// Set while reads are not part of the running scan.
    is_beside: bool,
    /// Writes that the attempt was asked for.
    asked: Vec<Asked>,
    /// The writes that it had been asked for before the part that is recorded here.
    asked_before: Vec<Asked>,
}

/// The writes that an attempt was asked for on one record.
#[derive(Clone, PartialEq, Eq)]
struct Asked {
    table: TableId,
    key: u64,
    /// State in which the first write and the last write leave the row, if they change it.
    states: (Option<RowState>, Option<RowState>),
}

impl Asked {
    /// Returns true if the row was inserted and deleted again, so that nothing is left to install.
    fn is_undone(&self) -> bool {
        self.states == (Some(RowState::PRESENT), Some(RowState::ABSENT))
    }
}

impl Recorder {
    /// Begins an attempt.
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

    /// Begins a part of the attempt that `session` records.
    pub fn take_part(&mut self, session: &Recorder) {
        self.scanning = None;
        self.beside.clear();
        self.is_beside = false;
        self.asked.clone_from(&session.asked);
        self.asked_before.clone_from(&session.asked);
    }

    /// Adds what a part of the attempt has recorded. Other parts can have recorded reads and writes of other rows meanwhile.
    pub fn take_back(&mut self, part: &mut Recorder) {
        let Recorder { history, asked, asked_before, .. } = part;
        let first = self.history.reads.len();
        let scans = self.history.scans.len();
        self.history.reads.append(&mut history.reads);
        self.history.writes.append(&mut history.writes);
        let moved = history.scans.drain(..);
        self.history
            .scans
            .extend(moved.map(|scan| Scan { first_read: first + scan.first_read, ..scan }));
        let moved = history.byte_scans.drain(..);
        self.history
            .byte_scans
            .extend(moved.map(|scan| ByteScan { scan: scans + scan.scan, ..scan }));
        for (named, key) in std::mem::take(&mut history.spelled) {
            self.history.spelled.entry(named).or_insert(key);
        }
        for one in asked.drain(..).filter(|one| !asked_before.contains(one)) {
            let of = |all: &&mut Asked| (all.table, all.key) == (one.table, one.key);
            match self.asked.iter_mut().find(of) {
                Some(known) => *known = one,
                None => self.asked.push(one),
            }
        }
    }

    /// Records a read of a row with these `values`, or of its absence.
    pub fn read(&mut self, table: TableId, key: u64, head: RowHead, values: Digest) {
        if self.is_beside {
            if head.origin == Origin::Record {
                let (version, present) = (head.version, head.state.is_present());
                self.beside.push(Read { table, key, version, present, values });
            }
            return;
        }
        // A read of the attempt's own write says nothing about other transactions. It is recorded only to show
        // that a scan has seen the row.
        let own = self.scanning.map(|(_, version)| version);
        let version = if head.origin == Origin::OwnWrite { own } else { Some(head.version) };
        if let Some(version) = version {
            let present = head.state.is_present();
            self.history.reads.push(Read { table, key, version, present, values });
        }
    }

    /// Records that the attempt was asked to write a record. `state` is the state in which it leaves the row,
    /// if it changes it.
    pub fn asked(&mut self, table: TableId, key: u64, state: Option<RowState>) {
        match self.asked.iter_mut().find(|asked| (asked.table, asked.key) == (table, key)) {
            Some(asked) => asked.states.1 = state.or(asked.states.1),
            None => self.asked.push(Asked { table, key, states: (state, state) }),
        }
    }

    /// Returns true if the attempt was asked to write the record.
    pub fn writes_to(&self, table: TableId, key: u64) -> bool {
        self.asked.iter().any(|asked| (asked.table, asked.key) == (table, key))
    }

    /// Records every difference between the installed writes and the writes that were asked for.
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

    /// Records that the running scan has passed over a key whose row was absent and whose record has retired.
    /// `number` stands for the key.
    pub fn absent(&mut self, table: TableId, number: u64, version: Version) {
        self.history.reads.push(Read {
            table,
            key: number,
            version,
            present: false,
            values: Digest::UNKNOWN,
        });
    }

    /// Records that `number` stands for the byte key `key` in this table.
    pub fn spelled(&mut self, table: TableId, number: u64, key: &[u8]) {
        self.history.spelled.entry((table, number)).or_insert_with(|| key.to_vec());
    }

    /// Begins a scan, in an attempt whose own writes have the version `own`.
    pub fn begin_scan(&mut self, own: Version) {
        self.scanning = Some((self.history.reads.len(), own));
    }

    /// Ends the scan, which has covered `range`.
    pub fn end_scan(&mut self, table: TableId, range: KeyRange, direction: Direction) {
        if let Some((first_read, _)) = self.scanning.take() {
            let reads = self.history.reads.len() - first_read;
            self.history.scans.push(Scan { table, range, direction, first_read, reads });
        }
        self.history.reads.append(&mut self.beside);
    }

    /// Ends the scan of a table with byte keys, as [`Recorder::end_scan`] does.
    pub fn end_byte_scan(&mut self, table: TableId, ends: (&[u8], &[u8]), direction: Direction) {
        let (scan, first, last) = (self.history.scans.len(), ends.0.into(), ends.1.into());
        self.history.byte_scans.push(ByteScan { scan, first, last });
        self.end_scan(table, KeyRange::ALL, direction);
    }

    /// If `beside` is true, the reads that follow are not part of the running scan. If it is false, they are
    /// part of it again.
    pub fn read_beside_scan(&mut self, beside: bool) {
        self.is_beside = beside;
    }

    /// Returns the list to which installed writes are appended.
    pub fn writes(&mut self) -> &mut Vec<Write> {
        &mut self.history.writes
    }

    /// Ends the attempt, which has committed.
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

    /// Ends the attempt, which was rolled back, and removes it from the history.
    pub fn rolled_back(&mut self) {
        self.history.reads.truncate(self.first_read);
        self.history.writes.truncate(self.first_write);
        self.history.scans.truncate(self.first_scan);
        let scans = &mut self.history.byte_scans;
        while scans.pop_if(|scan| scan.scan >= self.first_scan).is_some() {}
    }

    /// Takes the history so far.
    pub fn take(&mut self) -> WorkerHistory {
        self.first_read = 0;
        self.first_write = 0;
        self.first_scan = 0;
        std::mem::take(&mut self.history)
    }
}
