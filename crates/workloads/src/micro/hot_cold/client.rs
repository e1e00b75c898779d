//! Draws and runs one worker's accesses to hot and cold records.

use super::{HotColdOptions, INTEGERS};
use crate::micro::row_set::RowSet;
use crate::stream::Stream;
use txn::{Abort, Access, Client, Partitioning, Planned};

/// One worker's stream of transactions.
#[derive(Clone, Debug)]
pub struct HotColdClient {
    options: HotColdOptions,
    partitioning: Partitioning,
    home: u64,
    stream: Stream,
    rows: RowSet,
}

impl HotColdClient {
    pub(super) fn of_worker(options: &HotColdOptions, worker: usize, seed: u64) -> HotColdClient {
        let integers = if options.updates && !options.whole_records { 1 } else { INTEGERS };
        HotColdClient {
            options: options.clone(),
            partitioning: options.partitioning(),
            home: worker as u64 % options.partitions,
            stream: Stream::of_worker(seed, worker),
            rows: RowSet::new(options.updates, integers, integers * 8),
        }
    }

    /// Returns the keys of the drawn transaction, in access order.
    pub fn keys(&self) -> &[u64] {
        &self.rows.keys
    }

    /// Returns a digest of everything read so far, including aborted attempts.
    pub fn checksum(&self) -> u64 {
        self.rows.checksum()
    }
}

impl Client for HotColdClient {
    fn next(&mut self) {
        let (options, stream, home) = (&self.options, &mut self.stream, self.home);
        let hot = options.hot_accesses as usize;
        // Where all transactions are multi-site, no random number decides about it.
        let multisite = options.multisite >= 1.0 || stream.unit() < options.multisite;
        let remote = if multisite { options.remote } else { 0 };
        let local = (options.accesses - remote) as usize;
        self.rows.draw(options.accesses as usize, |number| {
            if number < hot {
                return options.hot_key(stream.below(options.hot_records));
            }
            loop {
                let (first, end) = if options.anywhere {
                    (0, options.records)
                } else if number < local {
                    options.range_of(home)
                } else {
                    let other = stream.below(options.partitions - 1);
                    options.range_of(other + u64::from(other >= home))
                };
                let key = first + stream.below(end - first);
                if !options.is_hot(key) {
                    return key;
                }
            }
        });
        if options.key_order {
            self.rows.keys.sort_unstable();
        }
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        self.rows.run(access)
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        out.extend(self.rows.keys.iter().filter_map(|key| self.partitioning.of(*key)));
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        self.rows.plan(out);
    }

    fn read_only(&self) -> bool {
        !self.options.updates
    }
}
