//! TPC-C: orders of a wholesale supplier, complete.
//!
//! Source: TPC Benchmark C, Standard Specification, revision 5.11 (2010). It has nine tables, five
//! transactions, and two access paths to customers and orders beside their keys: by last name and by
//! customer. The papers use it in Abyss 5.6 (the narrow mix, without inserts), The Full Story of 1000 Cores
//! (narrow and full mix), Hardware Islands 3.2.3, and "Micro-architectural analysis of in-memory OLTP:
//! Revisited" 5.2.
//!
//! # Decisions
//! - Both secondary access paths are tables in key order, maintained by the loader and by New-Order. They are
//!   under concurrency control like all other tables. Columns that no transaction changes are declared constant: all
//!   columns of items, taxes, names and addresses. Engines can read them without concurrency control on demand.
//! - A worker is a terminal: its home warehouse is its number modulo the number of warehouses. There is no
//!   keying or thinking time (the papers leave both out). Delivery is executed immediately, as one
//!   transaction.
//! - If an item is unused, the transaction is rolled back and a new one is drawn. Such an order does not
//!   count as a commit.
//! - Under partition locks a warehouse is a partition. Items are in every partition.
//! - Some protocols apply additions at commit. There, columns that a transaction adds to and does not show
//!   are changed by additions: W_YTD and D_YTD of a payment, C_BALANCE and C_DELIVERY_CNT of a delivery.
//!   S_QUANTITY of an order and C_BALANCE of a payment are shown, so their rows are read, and the counters
//!   beside them are updated with them.
//! - Numbers count from 0, amounts are in cents, dates are counters: see [`columns`].
//! - Texts are variable or fixed, and O_CARRIER_ID and OL_DELIVERY_D can be NULL, as clause 1.3 says. A text that can
//!   have more than 23 bytes lies outside its record: C_DATA, H_DATA, I_NAME, I_DATA and S_DATA. A payment of a
//!   customer with bad credit makes C_DATA longer, up to 500 bytes.
//! - The customer for a last name is chosen among all customers with that name, with their first names, at
//!   each lookup.
//!
//! # Deviations
//! - Integers have 64 bits, where the specification asks for fewer digits.
//! - The C of NURand and the initial population depend on an option instead of the time of day.
//! - The mix is drawn per transaction, and the latency of Delivery has no limit.
//! - Options scale everything down, for tests. The population is then in proportion and differs from the
//!   specification's. With fewer than 1000 customers in a district, only names that exist are drawn.
//!
//! The law consists of the twelve consistency conditions of clause 3.3.2 and some additional conditions: see
//! [`Tpcc::conservation`](txn::Workload::conservation).

mod actions;
mod buyer;
mod client;
pub mod columns;
mod conditions;
mod delivery;
mod draw;
pub mod keys;
mod load;
mod mix;
mod non_uniform;
mod options;
mod order_entry;
mod order_status;
mod payment;
mod plan;
mod row;
mod stock_level;
mod text;
mod variation;

pub use client::TpccClient;
pub use draw::{Drawn, Line, Who};
pub use mix::{KIND_NAMES, Mix};
pub use options::{SchemaSize, TpccOptions};
pub use row::Digest;
pub use text::last_name;

use crate::options::{OptionError, Options};
use crate::registry::Listed;
use crate::variation::explored;
use columns::*;
use txn::{Conservation, Loader, Partitioning, Schema, TableId, Workload};

/// The workload.
#[derive(Clone, Debug)]
pub struct Tpcc {
    options: TpccOptions,
}

impl Tpcc {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: TpccOptions) -> Result<Tpcc, OptionError> {
        options.validate()?;
        Ok(Tpcc { options })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &TpccOptions {
        &self.options
    }

    /// Returns the rule that maps a key of `table` to its warehouse.
    fn partitioning(&self, table: TableId) -> Partitioning {
        use keys::*;
        let o = &self.options;
        let order = DISTRICT_BITS + ORDER_BITS;
        let divisor = match table {
            ITEM => return Partitioning::Replicated { copies: 1 },
            WAREHOUSE => 1,
            DISTRICT => o.districts,
            CUSTOMER => o.districts * o.customers_per_district,
            STOCK => o.items,
            HISTORY => 1 << (WORKER_BITS + HISTORY_BITS),
            NEW_ORDER | ORDER => 1 << order,
            ORDER_LINE => 1 << (order + LINE_BITS),
            CUSTOMER_BY_NAME => 1 << (DISTRICT_BITS + NAME_BITS + CUSTOMER_BITS),
            _ => 1 << (order + CUSTOMER_BITS),
        };
        Partitioning::Quotient { divisor, partitions: o.warehouses }
    }
}

impl Listed for Tpcc {
    type Options = TpccOptions;
    const NAME: &'static str = "tpcc";
    const SUMMARY: &'static str =
        "TPC-C: five transactions on the nine tables of a wholesale supplier";
    const SOURCE: &'static str =
        "TPC-C 5.11, 2010; Staring into the Abyss, 5.6; The Full Story of 1000 Cores";
    const PARTITIONED_BY: Option<&'static str> = Some("warehouses");
    const EXAMPLES: &'static [&'static str] = &["--cc SILO,TICTOC --warehouses 4 --mix narrow"];

    explored! {
        "TPC-C with few rows, judged by its consistency conditions and by the certificate",
        "--cc SILO",
        Self::varied,
    }

    fn with(options: Self::Options) -> Result<Tpcc, OptionError> {
        Tpcc::new(options)
    }
}

impl Workload for Tpcc {
    type Client = TpccClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());

    fn schema(&self) -> Schema {
        let tables =
            (0..).zip(columns::tables(self.options.full_schema(), self.options.split_columns));
        let divide = |(number, table): (u16, txn::TableSchema)| {
            let id = TableId(number);
            let table = table.partitioned(self.partitioning(id));
            match id {
                WAREHOUSE | DISTRICT | CUSTOMER | ITEM | STOCK => {
                    self.options.index.of(table, self.rows(id))
                }
                _ => table,
            }
        };
        Schema { tables: tables.map(divide).collect() }
    }

    fn rows(&self, table: TableId) -> u64 {
        let o = &self.options;
        let districts = o.warehouses * o.districts;
        match table {
            WAREHOUSE => o.warehouses,
            DISTRICT => districts,
            NEW_ORDER => districts * o.undelivered(),
            ORDER_LINE => {
                districts * o.customers_per_district * (o.least_lines + o.most_lines).div_ceil(2)
            }
            ITEM => o.items,
            STOCK => o.warehouses * o.items,
            _ => districts * o.customers_per_district,
        }
    }

    fn load(&self, loader: &mut dyn Loader) {
        load::Population::new(&self.options).load(loader);
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> TpccClient {
        TpccClient::of_worker(&self.options, worker, seed)
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KIND_NAMES
    }

    fn grows(&self) -> bool {
        true
    }

    fn conservation(&self) -> Option<Conservation> {
        let options = self.options.clone();
        Some(Box::new(move |access, _| conditions::check(&options, access)))
    }
}
