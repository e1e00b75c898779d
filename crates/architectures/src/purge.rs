//! Keys whose rows are absent, waiting to leave their index.
//!
//! A deleted row, and a key that was looked for in vain, leave a record behind that stands in for the
//! absence. Later the session that made it retires it in a transaction of its own: under the protocol's
//! protection the row's state turns from absent to retired, then the record leaves the index, and two
//! epochs later its slot is used again. Who meets a retired record looks its key up anew.

use std::collections::VecDeque;
use storage::ByteKey;
use txn::TableId;

/// One session's candidates: by key, as the record may be somebody else's by the time.
pub(crate) struct PurgeQueue {
    numbers: Candidates<u64>,
    bytes: Candidates<ByteKey>,
    /// Candidates of either kind.
    waiting: usize,
    batch: usize,
}

/// Candidates in tables with one kind of key. Keys of bytes that only a hash index knows go by their digests.
pub(crate) struct Candidates<K> {
    waiting: VecDeque<(TableId, K)>,
    /// Rows that the running attempt has inserted into records of its own making: candidates if it rolls back.
    inserted: Vec<(TableId, K)>,
}

impl<K> Default for Candidates<K> {
    fn default() -> Self {
        Candidates { waiting: VecDeque::new(), inserted: Vec::new() }
    }
}

/// A key that may wait in a queue.
pub(crate) trait Waiting: Copy + PartialEq {
    /// The candidates of its kind.
    fn among(queue: &mut PurgeQueue) -> &mut Candidates<Self>;
}

impl Waiting for u64 {
    #[inline(always)]
    fn among(queue: &mut PurgeQueue) -> &mut Candidates<u64> {
        &mut queue.numbers
    }
}

impl Waiting for ByteKey {
    #[inline(always)]
    fn among(queue: &mut PurgeQueue) -> &mut Candidates<ByteKey> {
        &mut queue.bytes
    }
}

impl<K> Candidates<K> {
    /// The inserted rows wait; returns how many.
    fn roll_back(&mut self) -> usize {
        let count = self.inserted.len();
        self.waiting.extend(self.inserted.drain(..));
        count
    }
}

impl PurgeQueue {
    /// A queue that is due when it has `batch` candidates.
    pub fn new(batch: usize) -> PurgeQueue {
        let (numbers, bytes) = (Candidates::default(), Candidates::default());
        PurgeQueue { numbers, bytes, waiting: 0, batch: batch.max(1) }
    }

    /// The row `key` may be absent.
    pub fn add<K: Waiting>(&mut self, table: TableId, key: K) {
        K::among(self).waiting.push_back((table, key));
        self.waiting += 1;
    }

    /// The running attempt has inserted the row `key`. If it has made the record just before, the row will be
    /// absent only if the attempt rolls back.
    pub fn inserted<K: Waiting>(&mut self, table: TableId, key: K) {
        let candidates = K::among(self);
        if candidates.waiting.back() == Some(&(table, key)) {
            candidates.waiting.pop_back();
            candidates.inserted.push((table, key));
            self.waiting -= 1;
        }
    }

    /// The running attempt has committed.
    #[inline]
    pub fn committed(&mut self) {
        self.numbers.inserted.clear();
        self.bytes.inserted.clear();
    }

    /// The running attempt was rolled back.
    #[inline]
    pub fn rolled_back(&mut self) {
        self.waiting += self.numbers.roll_back() + self.bytes.roll_back();
    }

    /// True when it is time to retire some.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.waiting >= self.batch
    }

    /// Number of candidates of one kind now.
    pub fn len<K: Waiting>(&mut self) -> usize {
        K::among(self).waiting.len()
    }

    /// The candidate of its kind that has waited longest.
    pub fn pop<K: Waiting>(&mut self) -> Option<(TableId, K)> {
        let popped = K::among(self).waiting.pop_front();
        self.waiting -= usize::from(popped.is_some());
        popped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inserted_row_is_a_candidate_only_when_its_attempt_rolls_back() {
        let (table, mut queue) = (TableId(1), PurgeQueue::new(2));
        queue.add(table, 1u64);
        queue.add(table, 2u64);
        queue.inserted(table, 2u64);
        // Its record was there before: somebody else's candidate.
        queue.inserted(table, 3u64);
        assert_eq!(queue.len::<u64>(), 1);
        queue.rolled_back();
        assert!(queue.is_due());
        queue.add(table, 4u64);
        queue.inserted(table, 4u64);
        queue.committed();
        queue.rolled_back();
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop()],
            [Some((table, 1)), Some((table, 2)), None]
        );
    }
}
