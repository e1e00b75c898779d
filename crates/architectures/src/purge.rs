//! Keys whose rows are absent, waiting to leave their index.
//!
//! A deleted row, and a key that was looked for in vain, leave a record behind that stands in for the
//! absence. Later the session that made it retires it in a transaction of its own: under the protocol's
//! protection the row's state turns from absent to retired, then the record leaves the index, and two
//! epochs later its slot is used again. Who meets a retired record looks its key up anew.

use std::collections::VecDeque;
use txn::TableId;

/// One session's candidates: by key, as the record may be somebody else's by the time.
pub(crate) struct PurgeQueue {
    candidates: VecDeque<(TableId, u64)>,
    batch: usize,
}

impl PurgeQueue {
    /// A queue that is due when it has `batch` candidates.
    pub fn new(batch: usize) -> PurgeQueue {
        PurgeQueue { candidates: VecDeque::new(), batch: batch.max(1) }
    }

    /// The row `key` may be absent.
    pub fn add(&mut self, table: TableId, key: u64) {
        self.candidates.push_back((table, key));
    }

    /// True when it is time to retire some.
    pub fn is_due(&self) -> bool {
        self.candidates.len() >= self.batch
    }

    /// Number of candidates now.
    pub fn len(&self) -> usize {
        self.candidates.len()
    }

    /// The candidate that has waited longest.
    pub fn pop(&mut self) -> Option<(TableId, u64)> {
        self.candidates.pop_front()
    }
}
