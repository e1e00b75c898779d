//! How the explorer varies it: tiny, and a little different for every seed.

use super::{Counters, CountersOptions};
use crate::index_choice::IndexChoice;
use crate::spelled::Spelled;

impl Counters {
    /// Counters under conservation laws, contended in different ways: two counters or eight, upgrades or reads
    /// for update, duplicates or not.
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

    /// The same, and a fifth of the procedures that write are rolled back half way.
    pub fn varied_rolled_back(seed: u64) -> Counters {
        let options = CountersOptions { rollbacks: 0.2, ..Counters::varied(seed).options.clone() };
        Counters::new(options).expect("good for every seed")
    }

    /// The same, with keys of bytes.
    pub fn varied_spelled(seed: u64) -> Spelled<Counters> {
        let options =
            CountersOptions { split_columns: false, ..Counters::varied(seed).options.clone() };
        Spelled(Counters::new(options).expect("good for every seed"))
    }

    /// Counters whose rows are accessed in order, so that no deadlock can be: who finds one is mistaken.
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

/// Rows in two parts, now and then, where their index has no order.
fn splits(seed: u64) -> bool {
    let ordered = matches!(IndexChoice::varied(seed), IndexChoice::BTree | IndexChoice::RedBlack);
    (seed / 32) % 4 == 3 && !ordered
}
