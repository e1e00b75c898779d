//! Keys whose rows are absent, waiting to leave their index.
//!
//! A deleted row, and a key that was looked for in vain, leave a record behind that stands in for the
//! absence. Later the session that made it retires it in a transaction of its own: under the protocol's
//! protection the row's state turns from absent to retired, then the record leaves the index, and two
//! epochs later its slot is used again. Who meets a retired record looks its key up anew.

use std::collections::VecDeque;
use txn::TableId;

/// Candidates beyond which a session retires some before it goes on.
const BATCH: usize = 64;

/// One session's candidates: by key, as the record may be somebody else's by the time.
#[derive(Default)]
pub(crate) struct PurgeQueue {
    candidates: VecDeque<(TableId, u64)>,
}

impl PurgeQueue {
    /// The row `key` may be absent.
    pub fn add(&mut self, table: TableId, key: u64) {
        self.candidates.push_back((table, key));
    }

    /// True when it is time to retire some.
    pub fn is_due(&self) -> bool {
        self.candidates.len() >= BATCH
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
