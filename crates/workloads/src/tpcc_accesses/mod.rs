//! A stand-in for the accesses of narrow TPC-C: the same records in about the same places. It is not TPC-C.
//!
//! The narrow mix of "The Full Story of 1000 Cores" (2022) is half NewOrder, half Payment, on the records
//! that DBx1000 keeps. This workload reads and updates records of those sizes under the same rules of choice.
//! So a simulated machine has the same conflicts and moves about the same number of bytes. TPC-C itself, with
//! its logic, its inserts and its consistency conditions, is another workload.
//!
//! | procedure | accesses |
//! | --- | --- |
//! | NewOrder | reads the tax of the warehouse and the discount of a customer; updates a district; appends an order and a new-order record; 5 to 15 lines: reads an item, updates its stock; appends the lines |
//! | Payment | updates the warehouse, a district and a customer; appends a history record |
//!
//! Worker `t` works on warehouse `t mod W`. A share of the lines takes stock of another warehouse, and a
//! share of the payments is for a customer of another warehouse. Items and customers are drawn by TPC-C's
//! non-uniform rule. A second line for the same item is dropped. An access names the columns that the procedure needs.
//! An engine that copies whole records moves the other columns too, as most schemes of DBx1000 do.
//!
//! Items, taxes and discounts are declared constant. So an engine that reads constant columns without concurrency
//! control does what the measured program does from its eighth optimisation on.
//!
//! The measured program changed over its builds (`crates/experiments/data/full-story`). Options say how it was: without
//! inserts, with a chained or a direct-addressed index, with a small schema. From the fifth optimisation on, it prefetches the
//! first line of the items and of the stock records when it has the district, and takes all items before all stock records.
//!
//! A warehouse is a partition, as in the papers. The items are replicated.
//!
//! # Differences from TPC-C
//! - Inserted rows go to memory of the session ([`txn::Access::append`]). The measured program keeps no index of them
//!   either. A row has a head, and head and data begin on lines of their own, as there.
//! - A payment finds its customer by number. The measured program looks 60 % of them up by name.
//! - Records are opaque: no law holds between their values.

mod client;
mod columns;
mod draw;
mod options;

pub use client::TpccAccessesClient;
pub use options::{Records, TpccAccessesOptions};

use crate::options::{OptionError, Options};
use crate::registry::Listed;
use txn::{Loader, Partitioning, Schema, TableId, TableSchema, Workload};

/// Names of the kinds of procedures, in the order of their numbers.
pub const KIND_NAMES: [&str; 2] = ["new_order", "payment"];

/// Number of districts of a warehouse.
pub const DISTRICTS: u64 = 10;

/// Warehouses: warehouse number.
pub const WAREHOUSE: TableId = TableId(0);
/// Districts: warehouse × 10 + district.
pub const DISTRICT: TableId = TableId(1);
/// Customers: the district's key × customers of a district + customer.
pub const CUSTOMER: TableId = TableId(2);
/// Stock: warehouse × items + item.
pub const STOCK: TableId = TableId(3);
/// Items: replica × items + item.
pub const ITEM: TableId = TableId(4);

/// All tables, in the order of their numbers.
const TABLES: [TableId; 5] = [WAREHOUSE, DISTRICT, CUSTOMER, STOCK, ITEM];

/// The workload.
#[derive(Clone, Debug)]
pub struct TpccAccesses {
    options: TpccAccessesOptions,
}

impl TpccAccesses {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: TpccAccessesOptions) -> Result<TpccAccesses, OptionError> {
        options.validate()?;
        Ok(TpccAccesses { options })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &TpccAccessesOptions {
        &self.options
    }
}

impl Listed for TpccAccesses {
    type Options = TpccAccessesOptions;
    const NAME: &'static str = "tpcc-accesses";
    const SUMMARY: &'static str =
        "a stand-in for the accesses of TPC-C's orders and payments: no TPC-C";
    const SOURCE: &'static str =
        "the narrow mix of The Full Story of 1000 Cores; TPC-C itself is not this";
    const PARTITIONED_BY: Option<&'static str> = Some("warehouses");
    const EXAMPLES: &'static [&'static str] =
        &["--machine superdome-flex --cores 1,56 --warehouses 4"];

    fn with(options: Self::Options) -> Result<TpccAccesses, OptionError> {
        TpccAccesses::new(options)
    }
}

impl Workload for TpccAccesses {
    type Client = TpccAccessesClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());
    const COMPILED: bool = false;

    fn schema(&self) -> Schema {
        let records = self.options.records();
        let partitions = self.options.warehouses;
        let of_warehouse = |rows| Partitioning::Quotient { divisor: rows, partitions };
        let table = |name, bytes: u64, partitioning| {
            let columns = columns::of(bytes);
            TableSchema::new(name, columns).opaque().partitioned(partitioning)
        };
        let with_constant = |name, bytes: u64, partitioning| {
            let columns = columns::of_partly_constant(bytes);
            let table = TableSchema::new(name, columns).opaque().partitioned(partitioning);
            table.with_constant_columns(columns::CONSTANT)
        };
        let copies = Partitioning::Replicated { copies: self.options.item_replicas };
        let of_customers = of_warehouse(DISTRICTS * records.customers);
        let tables = [
            with_constant("warehouse", records.warehouse, of_warehouse(1)),
            table("district", records.district, of_warehouse(DISTRICTS)),
            with_constant("customer", records.customer, of_customers),
            table("stock", records.stock, of_warehouse(records.items)),
            table("item", records.item, copies).read_only(),
        ];
        let indexed = |(table, id)| self.options.index.of(table, self.rows(id));
        Schema { tables: tables.into_iter().zip(TABLES).map(indexed).collect() }
    }

    fn rows(&self, table: TableId) -> u64 {
        let (warehouses, records) = (self.options.warehouses, self.options.records());
        match table {
            WAREHOUSE => warehouses,
            DISTRICT => warehouses * DISTRICTS,
            CUSTOMER => warehouses * DISTRICTS * records.customers,
            STOCK => warehouses * records.items,
            _ => self.options.item_replicas * records.items,
        }
    }

    fn load(&self, loader: &mut dyn Loader) {
        for table in TABLES {
            loader.load_dense(table, self.rows(table), &|key, row| {
                let bytes = key.to_le_bytes();
                row[..8].copy_from_slice(&bytes);
            });
        }
    }

    fn client(&self, worker: usize, workers: usize, seed: u64) -> TpccAccessesClient {
        TpccAccessesClient::of_worker(&self.options, worker, workers, seed)
    }
}
