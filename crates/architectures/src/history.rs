//! A session's recorder: what it has read and written, kept if it commits.

use machine::Core;
use storage::RowHead;
use txn::{Read, TableId, Transaction, TxnId, WorkerHistory, Write};

/// The history of one session, with the running attempt at its end.
#[derive(Default)]
pub(crate) struct Recorder {
    history: WorkerHistory,
    begin: u64,
    first_read: usize,
    first_write: usize,
}

impl Recorder {
    /// An attempt begins.
    pub fn begin(&mut self, core: &impl Core) {
        self.first_read = self.history.reads.len();
        self.first_write = self.history.writes.len();
        self.begin = core.now_fenced();
    }

    /// A row, or its absence, was read.
    pub fn read(&mut self, table: TableId, key: u64, head: RowHead) {
        // What a transaction wrote itself says nothing about others.
        if !head.own {
            let present = head.state.is_present();
            self.history.reads.push(Read { table, key, version: head.version, present });
        }
    }

    /// Where installed writes go.
    pub fn writes(&mut self) -> &mut Vec<Write> {
        &mut self.history.writes
    }

    /// The attempt has committed.
    pub fn committed(&mut self, core: &impl Core, id: TxnId, commit_timestamp: u64) {
        self.history.transactions.push(Transaction {
            id,
            begin: self.begin,
            end: core.now_fenced(),
            commit_timestamp,
            first_read: self.first_read,
            first_write: self.first_write,
            first_scan: self.history.scans.len(),
        });
    }

    /// The attempt was rolled back.
    pub fn rolled_back(&mut self) {
        self.history.reads.truncate(self.first_read);
        self.history.writes.truncate(self.first_write);
    }

    /// The history so far.
    pub fn take(&mut self) -> WorkerHistory {
        self.first_read = 0;
        self.first_write = 0;
        std::mem::take(&mut self.history)
    }
}
