//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use crate::IndexChoice;

use super::{Mix, SchemaSize, Tpcc, TpccOptions};

impl Tpcc {
    /// Returns TPC-C with so few rows that its transactions conflict all the time. In its mixes, deliveries
    /// and read-only transactions are as frequent as orders.
    pub fn varied(seed: u64) -> Tpcc {
        let mixes = [Mix([2, 2, 1, 2, 1]), Mix([3, 1, 1, 3, 1]), Mix([2, 1, 2, 1, 2]), Mix::FULL];
        let options = TpccOptions {
            warehouses: if seed.is_multiple_of(3) { 1 } else { 2 },
            mix: mixes[(seed / 2 % 4) as usize],
            schema: if seed.is_multiple_of(5) { SchemaSize::Full } else { SchemaSize::Small },
            remote_new_order: 0.3,
            remote_payment: 0.5,
            rollbacks: 0.1,
            by_name: 0.6,
            items: if seed.is_multiple_of(7) { 1 } else { 4 },
            districts: 1 + seed / 3 % 2,
            customers_per_district: 1 + seed % 4,
            least_lines: 1,
            most_lines: 2 + seed / 7 % 2,
            stock_level_orders: 1 + seed % 3,
            split_columns: (seed / 32) % 4 == 3,
            index: if seed / 256 % 4 == 1 { IndexChoice::Perfect } else { IndexChoice::Hash },
            load_seed: seed,
            ..TpccOptions::default()
        };
        Tpcc::new(options).expect("good for every seed")
    }
}
