//! How the explorer varies it: tiny, and a little different for every seed.

use super::{HotCold, HotColdOptions};

impl HotCold {
    /// Hot and cold records, all updated and counted: spread or packed hot ones, one partition or two, in key order or not.
    pub fn varied(seed: u64) -> HotCold {
        let partitions = if (seed / 16).is_multiple_of(2) { 1 } else { 2 };
        let options = HotColdOptions {
            records: 12,
            hot_records: 2,
            packed: seed.is_multiple_of(3),
            accesses: 3,
            hot_accesses: if seed.is_multiple_of(5) { 2 } else { 1 },
            remote: if partitions > 1 && (seed / 32).is_multiple_of(2) { 1 } else { 0 },
            partitions,
            updates: true,
            key_order: seed.is_multiple_of(7),
        };
        HotCold::new(options).expect("good for every seed")
    }
}
