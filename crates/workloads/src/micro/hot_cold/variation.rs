//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{HotCold, HotColdOptions};

impl HotCold {
    /// Returns hot and cold records that are all updated and counted: hot records spread or packed, one
    /// partition or two, in key order or not.
    pub fn varied(seed: u64) -> HotCold {
        let anywhere = seed.is_multiple_of(11);
        let partitions = if (seed / 16).is_multiple_of(2) { 1 } else { 2 };
        let options = HotColdOptions {
            records: 12,
            hot_records: 2,
            packed: seed.is_multiple_of(3),
            accesses: 3,
            hot_accesses: if seed.is_multiple_of(5) { 2 } else { 1 },
            remote: if partitions > 1 && !anywhere && (seed / 32).is_multiple_of(2) {
                1
            } else {
                0
            },
            multisite: 1.0,
            anywhere,
            partitions,
            updates: true,
            whole_records: seed.is_multiple_of(2),
            key_order: seed.is_multiple_of(7),
        };
        HotCold::new(options).expect("good for every seed")
    }
}
