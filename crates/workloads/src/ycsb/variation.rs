//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{Ycsb, YcsbOptions};
use crate::index_choice::IndexChoice;

impl Ycsb {
    /// Returns YCSB without a law: three rows or eight, blind updates, read-modify-writes or additions,
    /// duplicates or not, fields of one word or of several.
    pub fn varied(seed: u64) -> Ycsb {
        Ycsb::new(options(seed)).expect("good for every seed")
    }

    /// Returns [`Ycsb::varied`] without duplicates and with rows accessed in order.
    pub fn varied_in_order(seed: u64) -> Ycsb {
        let options = YcsbOptions { distinct: true, key_order: true, ..options(seed) };
        Ycsb::new(options).expect("good for every seed")
    }

    /// Returns YCSB with scans and inserts: few rows in key order or spread, or with updates of the latest
    /// rows. Scans are short or reach the end of the table.
    pub fn varied_growing(seed: u64) -> Ycsb {
        let shape = seed / 16 % 4;
        let scans = shape != 3;
        let options = YcsbOptions {
            records: if seed.is_multiple_of(3) { 3 } else { 8 },
            partitions: if shape == 2 { 2 } else { 1 },
            multi_partition_share: if shape == 2 { 0.5 } else { 0.0 },
            scattered: false,
            scan_ratio: if scans { 0.4 } else { 0.0 },
            insert_ratio: 0.3,
            scan_length: if seed.is_multiple_of(5) { 2 } else { 12 },
            hashed_keys: shape == 1,
            latest: shape == 3,
            all_fields: seed.is_multiple_of(7),
            read_only_share: if seed.is_multiple_of(2) { 0.25 } else { 0.0 },
            accesses: 3,
            distinct: !seed.is_multiple_of(3) && shape != 2,
            declare_read_only: true,
            // A growing table cannot have a perfect index.
            index: match IndexChoice::varied(seed) {
                IndexChoice::Perfect => IndexChoice::Hash,
                index => index,
            },
            ..options(seed)
        };
        Ycsb::new(options).expect("good for every seed")
    }
}

fn options(seed: u64) -> YcsbOptions {
    let few = seed.is_multiple_of(3);
    let divided = !few && (seed / 64).is_multiple_of(2);
    let scattered = divided && !(seed / 256).is_multiple_of(2);
    YcsbOptions {
        records: if few { 3 } else { 8 },
        partitions: if divided { 2 } else { 1 },
        multi_partition_share: if divided && !scattered { 0.5 } else { 0.0 },
        partitions_per_transaction: 2,
        local_partition: (seed / 128).is_multiple_of(2),
        scattered,
        fields: 2,
        field_bytes: if seed.is_multiple_of(7) { 40 } else { 8 },
        theta: if seed.is_multiple_of(2) { 0.0 } else { 0.9 },
        read_ratio: 0.5,
        accesses: 3,
        read_modify_write: (seed / 16).is_multiple_of(2),
        add: !(seed / 16).is_multiple_of(2) && (seed / 512) % 2 == 1 && !seed.is_multiple_of(7),
        distinct: !seed.is_multiple_of(5),
        key_order: false,
        prefetch: false,
        index: IndexChoice::varied(seed),
        declare_read_only: (seed / 32).is_multiple_of(2),
        ..YcsbOptions::default()
    }
}
