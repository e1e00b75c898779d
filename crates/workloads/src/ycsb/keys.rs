//! Maps ranks to keys, for loaded rows and for inserted rows.

use super::YcsbOptions;
use crate::stream::mix;

/// Numbers rows, assigns numbers to new rows, and maps numbers to keys.
///
/// No two workers assign the same number, and no number belongs to a loaded row: worker w of W takes free
/// numbers in steps of W.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    records: u64,
    partitions: u64,
    worker: u64,
    workers: u64,
    latest: bool,
    hashed: bool,
    /// Number of rows that were assigned numbers before the drawn transaction, and including it.
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

    /// Returns the key of row number `number`.
    pub(super) fn place(number: u64, hashed: bool) -> u64 {
        if hashed { mix(number) } else { number }
    }

    /// Begins a new transaction. The rows of the last transaction now exist.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.before = self.given;
    }

    /// Returns the key of a row of rank `rank`, where 0 is the hottest. With several partitions `rank` is
    /// already a key.
    #[inline]
    pub(super) fn of_rank(&self, rank: u64) -> u64 {
        let number = match self.latest {
            false => rank,
            true if rank < self.before => self.number(self.before - 1 - rank),
            true => self.records - 1 - (rank - self.before),
        };
        Keys::place(number, self.hashed)
    }

    /// Returns an unused key in the partition of `key`.
    pub(super) fn fresh(&mut self, key: u64) -> u64 {
        let number = self.number(self.given);
        self.given += 1;
        match self.partitions {
            1 => Keys::place(number, self.hashed),
            partitions => number * partitions + key % partitions,
        }
    }

    /// Returns the number of the row that this worker inserts after `so_many` others.
    fn number(&self, so_many: u64) -> u64 {
        let rows_of_a_partition = self.records.div_ceil(self.partitions);
        rows_of_a_partition + so_many * self.workers + self.worker
    }
}
