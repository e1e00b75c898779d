//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{Counters, CountersOptions};
use crate::index_choice::IndexChoice;
use crate::spelled::Spelled;

impl Counters {
    /// Returns counters under conservation laws, contended in different ways: two counters or eight, upgrades
    /// or reads for update, duplicates or not.
    pub fn varied(seed: u64) -> Counters {
        let options = CountersOptions {
            counters: if seed.is_multiple_of(3) { 2 } else { 8 },
            accesses: 2,
            tokens: if seed.is_multiple_of(3) { 1 } else { 4 },
            distinct: !seed.is_multiple_of(5),
            lock_upgrade: seed.is_multiple_of(2),
            partitions: seed / 64 % 4 + 1,
            split_columns: splits(seed),
            index: IndexChoice::varied(seed),
            ..CountersOptions::mixed()
        };
        Counters::new(options).expect("good for every seed")
    }

    /// Returns [`Counters::varied`] in which a fifth of the writing procedures are rolled back half way.
    pub fn varied_rolled_back(seed: u64) -> Counters {
        let options = CountersOptions { rollbacks: 0.2, ..Counters::varied(seed).options.clone() };
        Counters::new(options).expect("good for every seed")
    }

    /// Returns [`Counters::varied`] with keys of bytes.
    pub fn varied_spelled(seed: u64) -> Spelled<Counters> {
        let options =
            CountersOptions { split_columns: false, ..Counters::varied(seed).options.clone() };
        Spelled(Counters::new(options).expect("good for every seed"))
    }

    /// Returns counters whose rows are accessed in order, so that no deadlock is possible. A protocol that
    /// reports a deadlock here is wrong.
    pub fn varied_in_order(seed: u64) -> Counters {
        let options = CountersOptions {
            counters: if seed.is_multiple_of(3) { 4 } else { 8 },
            accesses: 3,
            transfers: 0.25,
            sums: 0.0,
            moves: 0.0,
            tokens: 0,
            key_order: true,
            partitions: seed / 64 % 4 + 1,
            ..CountersOptions::mixed()
        };
        Counters::new(options).expect("good for every seed")
    }
}

/// Returns true for some seeds, for which rows are stored in two parts. Their index must be one without
/// order.
fn splits(seed: u64) -> bool {
    let ordered = matches!(IndexChoice::varied(seed), IndexChoice::BTree | IndexChoice::RedBlack);
    (seed / 32) % 4 == 3 && !ordered
}
