//! Keys whose rows are absent, waiting to leave their index.
//!
//! A deleted row, and a key that was looked for in vain, leave a record behind that stands in for the
//! absence. Later the session that made it retires it in a transaction of its own: under the protocol's
//! protection the row's state turns from absent to retired, then the record leaves the index, and two
//! epochs later its slot is used again. Who meets a retired record looks its key up anew.

use crate::site::Name;
use std::collections::VecDeque;
use txn::TableId;

/// Where a record is found again: by name, as it may be somebody else's by the time.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The number of its site.
    pub site: usize,
    /// Its table.
    pub table: TableId,
    /// Its key, or what stands for that.
    pub name: Name,
}

/// One session's candidates.
pub(crate) struct PurgeQueue {
    waiting: VecDeque<Found>,
    /// Rows that the running attempt has inserted into records of its own making: candidates if it rolls back.
    inserted: Vec<Found>,
    batch: usize,
}

impl PurgeQueue {
    /// A queue that is due when it has `batch` candidates.
    pub fn new(batch: usize) -> PurgeQueue {
        PurgeQueue { waiting: VecDeque::new(), inserted: Vec::new(), batch: batch.max(1) }
    }

    /// The row may be absent.
    pub fn add(&mut self, row: Found) {
        self.waiting.push_back(row);
    }

    /// The running attempt has inserted the row. If it has made the record just before, the row will be absent only if
    /// the attempt rolls back.
    pub fn inserted(&mut self, row: Found) {
        if self.waiting.back() == Some(&row) {
            self.waiting.pop_back();
            self.inserted.push(row);
        }
    }

    /// The running attempt has committed.
    #[inline]
    pub fn committed(&mut self) {
        self.inserted.clear();
    }

    /// The running attempt was rolled back.
    #[inline]
    pub fn rolled_back(&mut self) {
        self.waiting.extend(self.inserted.drain(..));
    }

    /// True when it is time to retire some.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.waiting.len() >= self.batch
    }

    /// Number of candidates now.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The candidate that has waited longest.
    pub fn pop(&mut self) -> Option<Found> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inserted_row_is_a_candidate_only_when_its_attempt_rolls_back() {
        let row = |number| Found { site: 0, table: TableId(1), name: Name::Number(number) };
        let mut queue = PurgeQueue::new(2);
        queue.add(row(1));
        queue.add(row(2));
        queue.inserted(row(2));
        // Its record was there before: somebody else's candidate.
        queue.inserted(row(3));
        assert_eq!(queue.len(), 1);
        queue.rolled_back();
        assert!(queue.is_due());
        queue.add(row(4));
        queue.inserted(row(4));
        queue.committed();
        queue.rolled_back();
        assert!([queue.pop(), queue.pop(), queue.pop()] == [Some(row(1)), Some(row(2)), None]);
    }
}
