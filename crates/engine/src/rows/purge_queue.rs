//! Queue of absent records that wait to be removed from their index.
//!
//! A deleted row leaves an absent record behind. So does a lookup of a key that has no row. The absent record
//! stands in for the missing row, so that transactions can read and lock it. The session that made it retires
//! it later:
//!
//! 1. A transaction of its own changes the row's state from absent to retired, isolated by the protocol.
//! 2. The record is removed from its index.
//! 3. Two epochs later its slot is reused.
//!
//! A transaction that reads a retired record must look up its key again.

use crate::site::Name;
use std::collections::VecDeque;
use txn::TableId;

/// The data to find a record again. It is a name and not a reference, because the slot can hold another record
/// by then.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Number of its site.
    pub site: usize,
    /// Number of its table.
    pub table: TableId,
    /// Its key, or the digest that stands for the key.
    pub name: Name,
}

/// The candidates for retirement of one session.
pub(crate) struct PurgeQueue {
    /// Rows that can be absent, oldest first.
    waiting: VecDeque<Found>,
    /// Rows that the running attempt has inserted into records that it has made. They become candidates if it
    /// rolls back.
    inserted: Vec<Found>,
    /// Number of candidates at which the queue is due. At least 1.
    batch: usize,
}

impl PurgeQueue {
    /// Makes a queue that is due when it has `batch` candidates.
    pub fn new(batch: usize) -> PurgeQueue {
        PurgeQueue { waiting: VecDeque::new(), inserted: Vec::new(), batch: batch.max(1) }
    }

    /// Adds a row that can be absent.
    pub fn add(&mut self, row: Found) {
        self.waiting.push_back(row);
    }

    /// Notes that the running attempt has inserted the row. If the attempt has just made the record, the row
    /// will be absent only if the attempt rolls back.
    pub fn inserted(&mut self, row: Found) {
        if self.waiting.back() == Some(&row) {
            self.waiting.pop_back();
            self.inserted.push(row);
        }
    }

    /// Notes that the running attempt has inserted the row into a record that it has just made, and that was not
    /// [added](PurgeQueue::add).
    #[inline]
    pub fn inserted_in_made(&mut self, row: Found) {
        self.inserted.push(row);
    }

    /// Ends the running attempt, which has committed.
    #[inline]
    pub fn committed(&mut self) {
        self.inserted.clear();
    }

    /// Ends the running attempt, which was rolled back. Its inserted rows become candidates.
    #[inline]
    pub fn rolled_back(&mut self) {
        self.waiting.extend(self.inserted.drain(..));
    }

    /// Adds the candidates of a part of the attempt.
    pub fn take_back(&mut self, part: &mut PurgeQueue) {
        self.waiting.append(&mut part.waiting);
        self.inserted.append(&mut part.inserted);
    }

    /// Forgets the candidates of table number `table`, which is being dropped.
    pub fn forget_table(&mut self, table: TableId) {
        self.waiting.retain(|row| row.table != table);
        self.inserted.retain(|row| row.table != table);
    }

    /// Returns the number of candidates at which the queue is due.
    #[inline]
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Returns true if it is time to retire some records.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.waiting.len() >= self.batch
    }

    /// Returns the number of candidates.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Removes and returns the candidate that has waited longest.
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
        // This record existed before the attempt, so it is a candidate of another session.
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
