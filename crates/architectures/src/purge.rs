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
    /// Rows that the running attempt has inserted into records of its own making: candidates if it rolls back.
    inserted: Vec<(TableId, u64)>,
    batch: usize,
}

impl PurgeQueue {
    /// A queue that is due when it has `batch` candidates.
    pub fn new(batch: usize) -> PurgeQueue {
        PurgeQueue { candidates: VecDeque::new(), inserted: Vec::new(), batch: batch.max(1) }
    }

    /// The row `key` may be absent.
    pub fn add(&mut self, table: TableId, key: u64) {
        self.candidates.push_back((table, key));
    }

    /// The running attempt has inserted the row `key`. If it has made the record just before, the row will be
    /// absent only if the attempt rolls back.
    pub fn inserted(&mut self, table: TableId, key: u64) {
        if self.candidates.back() == Some(&(table, key)) {
            self.candidates.pop_back();
            self.inserted.push((table, key));
        }
    }

    /// The running attempt has committed.
    pub fn committed(&mut self) {
        self.inserted.clear();
    }

    /// The running attempt was rolled back.
    pub fn rolled_back(&mut self) {
        self.candidates.extend(self.inserted.drain(..));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inserted_row_is_a_candidate_only_when_its_attempt_rolls_back() {
        let (table, mut queue) = (TableId(1), PurgeQueue::new(2));
        queue.add(table, 1);
        queue.add(table, 2);
        queue.inserted(table, 2);
        // Its record was there before: somebody else's candidate.
        queue.inserted(table, 3);
        assert_eq!(queue.len(), 1);
        queue.rolled_back();
        assert!(queue.is_due());
        queue.add(table, 4);
        queue.inserted(table, 4);
        queue.committed();
        queue.rolled_back();
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop()],
            [Some((table, 1)), Some((table, 2)), None]
        );
    }
}
