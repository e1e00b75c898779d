//! From ranks to keys: where rows lie that were loaded, and those that are inserted.

use super::YcsbOptions;
use crate::stream::mix;

/// Numbers rows, gives out numbers for new ones, and turns numbers into keys.
///
/// No two workers give out the same number, and no number is that of a loaded row: worker w of W takes the first
/// free ones in steps of W.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    records: u64,
    partitions: u64,
    worker: u64,
    workers: u64,
    latest: bool,
    hashed: bool,
    /// Rows that were given numbers before the drawn transaction, and with it.
    before: u64,
    given: u64,
}

impl Keys {
    pub(super) fn new(options: &YcsbOptions, worker: usize, workers: usize) -> Keys {
        Keys {
            records: options.records,
            partitions: options.partitions,
            worker: worker as u64,
            workers: workers as u64,
            latest: options.latest,
            hashed: options.hashed_keys,
            before: 0,
            given: 0,
        }
    }

    /// Where row number `number` lies.
    pub(super) fn place(number: u64, hashed: bool) -> u64 {
        if hashed { mix(number) } else { number }
    }

    /// Begins another transaction: the last one's rows are there.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.before = self.given;
    }

    /// The key of a row of rank `rank`, 0 the hottest, which with several partitions is a key already.
    #[inline]
    pub(super) fn of_rank(&self, rank: u64) -> u64 {
        let number = match self.latest {
            false => rank,
            true if rank < self.before => self.number(self.before - 1 - rank),
            true => self.records - 1 - (rank - self.before),
        };
        Keys::place(number, self.hashed)
    }

    /// A key that nobody has, in the partition of `key`.
    pub(super) fn fresh(&mut self, key: u64) -> u64 {
        let number = self.number(self.given);
        self.given += 1;
        match self.partitions {
            1 => Keys::place(number, self.hashed),
            partitions => number * partitions + key % partitions,
        }
    }

    /// The number of the row that this worker inserts after `so_many` others.
    fn number(&self, so_many: u64) -> u64 {
        let rows_of_a_partition = self.records.div_ceil(self.partitions);
        rows_of_a_partition + so_many * self.workers + self.worker
    }
}
