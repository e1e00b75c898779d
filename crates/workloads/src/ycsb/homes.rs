//! Draws the partitions of one transaction.

use super::YcsbOptions;
use crate::stream::Stream;

/// Draws a transaction's partitions and moves its keys there.
#[derive(Clone, Debug)]
pub(super) struct Homes {
    partitions: u64,
    scattered: bool,
    own: Option<u64>,
    multi_below: u64,
    per_transaction: usize,
    drawn: Vec<u64>,
}

impl Homes {
    pub(super) fn new(options: &YcsbOptions, worker: usize) -> Homes {
        Homes {
            partitions: options.partitions,
            scattered: options.scattered,
            own: options.local_partition.then_some(worker as u64 % options.partitions),
            // This threshold is compared with 32 random bits.
            multi_below: (options.multi_partition_share * (1u64 << 32) as f64) as u64,
            per_transaction: options.partitions_per_transaction as usize,
            drawn: vec![0],
        }
    }

    /// Maps `keys`, drawn as ranks within a partition, to keys of the drawn partitions in turn. With a single
    /// partition the ranks are already keys, and nothing is drawn. Scattered keys stay as they are, and the
    /// transaction has their partitions.
    #[inline]
    pub(super) fn spread(&mut self, keys: &mut [u64], stream: &mut Stream) {
        if self.partitions == 1 {
            return;
        }
        self.drawn.clear();
        if self.scattered {
            self.drawn.extend(keys.iter().map(|key| key % self.partitions));
            return;
        }
        let first = self.own.unwrap_or_else(|| stream.below(self.partitions));
        self.drawn.push(first);
        if stream.bits() >> 32 < self.multi_below {
            while self.drawn.len() < self.per_transaction {
                let mut another = stream.below(self.partitions);
                // The next free partition is taken if the drawn partition is already used.
                while self.drawn.contains(&another) {
                    another = (another + 1) % self.partitions;
                }
                self.drawn.push(another);
            }
        }
        for (key, home) in keys.iter_mut().zip(self.drawn.iter().cycle()) {
            *key = *key * self.partitions + home;
        }
    }

    /// Returns the partitions of the drawn transaction.
    pub(super) fn drawn(&self) -> &[u64] {
        &self.drawn
    }
}
