//! Defines the options, and the sizes that follow from them.

use super::DISTRICTS;
use crate::index_choice::IndexChoice;
use crate::options::{self, OptionError, OptionOf, Options, option};

/// Largest number of warehouses.
const MAX_WAREHOUSES: u64 = 1 << 20;

/// Largest value of a private cost, in cycles.
const MAX_CYCLES: u64 = 1 << 20;

/// Bytes of a line. The measured program aligns the head of an inserted row to it, and the data.
const LINE_BYTES: u64 = 64;

/// Largest head of an inserted row, in bytes.
const MAX_HEAD_BYTES: u64 = 1 << 12;

/// Options of the workload. [`TpccAccesses::new`](super::TpccAccesses::new) validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct TpccAccessesOptions {
    /// Number of warehouses.
    pub warehouses: u64,
    /// Set if records have full length and number. Otherwise DBx1000's small schema is used.
    pub full_schema: bool,
    /// Share of the lines whose stock belongs to another warehouse, from 0 to 1.
    pub remote_lines: f64,
    /// Share of the payments for a customer of another warehouse, from 0 to 1.
    pub remote_payments: f64,
    /// Number of warehouses of a block, or 0. With blocks, the remote warehouses of a worker are those of one block.
    pub remote_block: u64,
    /// Number of blocks from the block of a worker's home to that of its remote warehouses.
    pub remote_steps: u64,
    /// Index of all tables: a hash index or a direct-addressed one.
    pub index: IndexChoice,
    /// Set if the procedures append their new rows. DBx1000 did not before 2022.
    pub inserts: bool,
    /// Set if the lines of an order are appended as one row.
    pub bulk_insert: bool,
    /// Bytes of what an appended row has beside its data, such as its state of concurrency control. They take whole lines.
    pub row_head_bytes: u64,
    /// Set if an order announces its items and its stock, so that cache misses overlap, and then takes all items before all stock.
    pub prefetch: bool,
    /// Set if an announcement names the data of the items, and not only their heads. A program that copies an item as soon as it
    /// has its head cannot fetch the data ahead.
    pub prefetch_items: bool,
    /// Number of copies of the item table, each for an equal share of the workers.
    pub item_replicas: u64,
    /// Cost of the procedure's own work for each record that it accesses, in cycles.
    pub work_cycles: u64,
}

impl Default for TpccAccessesOptions {
    fn default() -> TpccAccessesOptions {
        TpccAccessesOptions {
            warehouses: 4,
            full_schema: true,
            remote_lines: 0.01,
            remote_payments: 0.15,
            remote_block: 0,
            remote_steps: 0,
            index: IndexChoice::Hash,
            inserts: true,
            bulk_insert: true,
            row_head_bytes: LINE_BYTES,
            prefetch: true,
            prefetch_items: true,
            item_replicas: 1,
            work_cycles: 0,
        }
    }
}

impl Options for TpccAccessesOptions {
    const OPTIONS: &'static [OptionOf<TpccAccessesOptions>] = &[
        option("warehouses", "Warehouses; each is about 84 MB of memory natively", |o| {
            &mut o.warehouses
        }),
        option("no-full-schema", "DBx1000's small schema: shorter and fewer records", |o| {
            &mut o.full_schema
        }),
        option(
            "remote-lines",
            "Share of the lines whose stock is another warehouse's, 0 to 1",
            |o| &mut o.remote_lines,
        ),
        option(
            "remote-payments",
            "Share of the payments for a customer of another warehouse, 0 to 1",
            |o| &mut o.remote_payments,
        ),
        option(
            "remote-block",
            "Remote warehouses are those of one block of so many; 0: any",
            |o| &mut o.remote_block,
        ),
        option("remote-steps", "Blocks from a worker's home to its remote warehouses", |o| {
            &mut o.remote_steps
        }),
        option("index", "Index of all tables: hash, or perfect (direct-addressed)", |o| {
            &mut o.index
        }),
        option("no-inserts", "Append no orders, lines and history rows", |o| &mut o.inserts),
        option(
            "no-prefetch",
            "Don't announce an order's rows, and take its lines one after another",
            |o| &mut o.prefetch,
        ),
        option(
            "no-prefetch-items",
            "Announce the heads of an order's items, and not their data",
            |o| &mut o.prefetch_items,
        ),
        option("no-bulk-insert", "Append each line of an order by itself", |o| &mut o.bulk_insert),
        option("row-head-bytes", "Bytes of an appended row beside its data", |o| {
            &mut o.row_head_bytes
        }),
        option("item-replicas", "Copies of the item table", |o| &mut o.item_replicas),
        option("work-cycles", "Cycles of the procedure's own work for each record", |o| {
            &mut o.work_cycles
        }),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("warehouses", self.warehouses, 1, MAX_WAREHOUSES)?;
        options::ratio("remote-lines", self.remote_lines)?;
        options::ratio("remote-payments", self.remote_payments)?;
        self.blocks_are_whole()?;
        self.index.among(&[IndexChoice::Hash, IndexChoice::Perfect])?;
        options::integer("row-head-bytes", self.row_head_bytes, 0, MAX_HEAD_BYTES)?;
        options::integer("item-replicas", self.item_replicas, 1, MAX_WAREHOUSES)?;
        options::integer("work-cycles", self.work_cycles, 0, MAX_CYCLES)
    }
}

impl TpccAccessesOptions {
    /// Returns the bytes that an appended row with `bytes` bytes of data takes. Its head and its data take whole lines each.
    pub(super) fn appended(&self, bytes: u64) -> u64 {
        self.row_head_bytes.next_multiple_of(LINE_BYTES) + bytes.next_multiple_of(LINE_BYTES)
    }

    /// Checks that all blocks of warehouses are alike, and that each has another warehouse than a worker's home.
    fn blocks_are_whole(&self) -> Result<(), OptionError> {
        let (block, warehouses) = (self.remote_block, self.warehouses);
        if block == 1 || (block > 0 && !warehouses.is_multiple_of(block)) {
            let allowed = format!("0, and 2 or more that divide the {warehouses} warehouses");
            return Err(OptionError { option: "remote-block", given: block.to_string(), allowed });
        }
        let most = warehouses.checked_div(block).map_or(0, |blocks| blocks - 1);
        options::integer("remote-steps", self.remote_steps, 0, most)
    }
}

/// Lengths of records in bytes, and numbers of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records {
    /// Length of a warehouse in bytes.
    pub warehouse: u64,
    /// Length of a district in bytes.
    pub district: u64,
    /// Length of a customer in bytes.
    pub customer: u64,
    /// Length of a stock record in bytes.
    pub stock: u64,
    /// Length of an item in bytes.
    pub item: u64,
    /// Length of an order in bytes.
    pub order: u64,
    /// Length of an order line in bytes.
    pub order_line: u64,
    /// Length of a new-order record in bytes.
    pub undelivered: u64,
    /// Length of a history record in bytes.
    pub history: u64,
    /// Number of items. It is also the number of stock records of a warehouse.
    pub items: u64,
    /// Number of customers of a district.
    pub customers: u64,
}

const FULL: Records = Records {
    warehouse: 105,
    district: 121,
    customer: 703,
    stock: 338,
    item: 98,
    order: 64,
    order_line: 80,
    undelivered: 24,
    history: 80,
    items: 100_000,
    customers: 3000,
};

const SMALL: Records = Records {
    customer: 78,
    stock: 32,
    order_line: 40,
    history: 56,
    items: 10_000,
    customers: 2000,
    ..FULL
};

impl TpccAccessesOptions {
    /// Returns the lengths and numbers of records.
    pub fn records(&self) -> Records {
        if self.full_schema { FULL } else { SMALL }
    }

    /// Returns the key of a district.
    pub(super) fn district(&self, warehouse: u64, district: u64) -> u64 {
        warehouse * DISTRICTS + district
    }

    /// Returns the key of a customer.
    pub(super) fn customer(&self, warehouse: u64, district: u64, customer: u64) -> u64 {
        self.district(warehouse, district) * self.records().customers + customer
    }

    /// Returns the key of a stock record.
    pub(super) fn stock(&self, warehouse: u64, item: u64) -> u64 {
        warehouse * self.records().items + item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |change: fn(&mut TpccAccessesOptions)| {
            let mut options = TpccAccessesOptions::default();
            change(&mut options);
            options.validate().unwrap_err().to_string()
        };
        assert_eq!(error(|o| o.warehouses = 0), "warehouses is 0; allowed: 1 to 1048576");
        assert_eq!(error(|o| o.remote_lines = 1.5), "remote-lines is 1.5; allowed: 0 to 1");
        assert_eq!(error(|o| o.remote_payments = -0.1), "remote-payments is -0.1; allowed: 0 to 1");
        assert!(error(|o| o.item_replicas = 0).starts_with("item-replicas is 0"));
        let block = error(|o| o.remote_block = 3);
        assert_eq!(
            block,
            "remote-block is 3; allowed: 0, and 2 or more that divide the 4 warehouses"
        );
        let steps = error(|o| (o.remote_block, o.remote_steps) = (2, 2));
        assert_eq!(steps, "remote-steps is 2; allowed: 0 to 1");
        let index = error(|o| o.index = IndexChoice::BTree);
        assert_eq!(index, "index is btree; allowed: hash, perfect");
    }

    #[test]
    fn a_full_warehouse_is_as_large_as_the_measured_one() {
        let r = TpccAccessesOptions::default().records();
        let customers = DISTRICTS * r.customers;
        // Every customer is loaded with one order of ten lines and one history record.
        let orders = customers * (r.order + 10 * r.order_line + r.history);
        let bytes = r.warehouse
            + DISTRICTS * r.district
            + customers * r.customer
            + r.items * r.stock
            + orders;
        assert!((83.0e6..84.5e6).contains(&(bytes as f64)), "{bytes}");
    }
}
