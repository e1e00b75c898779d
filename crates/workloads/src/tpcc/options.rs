//! Defines the options.

use super::keys::{CUSTOMER_BITS, WAREHOUSE_BITS};
use super::mix::Mix;
use super::text::NAMES;
use crate::index_choice::IndexChoice;
use crate::options::{
    self, Bundle, OptionError, OptionKind, OptionOf, OptionValue, Options, bundle, option,
};

/// Size of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaSize {
    /// Every column of the specification.
    Full,
    /// The columns on which decisions are based.
    Small,
}

impl OptionKind for SchemaSize {
    fn placeholder(&self) -> Option<&'static str> {
        Some("SCHEMA")
    }

    fn value(&self) -> OptionValue {
        OptionValue::Name(self.choices()[*self as usize])
    }

    fn choices(&self) -> &'static [&'static str] {
        &["full", "small"]
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = match text {
            "full" => SchemaSize::Full,
            "small" => SchemaSize::Small,
            _ => return Err("full, small".into()),
        };
        Ok(())
    }
}

/// Options of the workload. [`super::Tpcc::new`] validates them. The defaults are the specification's.
#[derive(Clone, Debug, PartialEq)]
pub struct TpccOptions {
    /// Number of warehouses.
    pub warehouses: u64,
    /// Frequency of each transaction.
    pub mix: Mix,
    /// Size of the schema.
    pub schema: SchemaSize,
    /// Share of an order's lines that another warehouse supplies, from 0 to 1.
    pub remote_new_order: f64,
    /// Share of the payments by customers of another warehouse, from 0 to 1.
    pub remote_payment: f64,
    /// Share of the orders that are rolled back because of an unused item, from 0 to 1.
    pub rollbacks: f64,
    /// Share of the customers that are looked up by last name, from 0 to 1.
    pub by_name: f64,
    /// Number of items. It is also the number of rows of stock of a warehouse.
    pub items: u64,
    /// Number of districts of a warehouse.
    pub districts: u64,
    /// Number of customers of a district. The district starts with as many orders and history rows.
    pub customers_per_district: u64,
    /// Smallest number of lines of an order.
    pub least_lines: u64,
    /// Largest number of lines of an order.
    pub most_lines: u64,
    /// Number of latest orders whose items a Stock-Level examines.
    pub stock_level_orders: u64,
    /// Set if the rows of an order are prefetched before the first access, so that cache misses overlap.
    pub prefetch: bool,
    /// Set if columns that change often have concurrency-control words of their own.
    pub split_columns: bool,
    /// Index of the tables whose keys are dense: warehouses, districts, customers, items, stock.
    pub index: IndexChoice,
    /// Seed of the initial population and of the constants of non-uniform draws.
    pub load_seed: u64,
}

impl Default for TpccOptions {
    fn default() -> TpccOptions {
        TpccOptions {
            warehouses: 4,
            mix: Mix::FULL,
            schema: SchemaSize::Full,
            remote_new_order: 0.01,
            remote_payment: 0.15,
            rollbacks: 0.01,
            by_name: 0.6,
            items: 100_000,
            districts: 10,
            customers_per_district: 3000,
            least_lines: 5,
            most_lines: 15,
            stock_level_orders: 20,
            prefetch: true,
            split_columns: false,
            index: IndexChoice::Hash,
            load_seed: 0,
        }
    }
}

impl Options for TpccOptions {
    const OPTIONS: &'static [OptionOf<TpccOptions>] = &[
        option("warehouses", "Warehouses; a worker's home is its number modulo this", |o| {
            &mut o.warehouses
        }),
        option(
            "mix",
            "How often each transaction comes: full (45:43:4:4:4), narrow (50:50:0:0:0), new-order, payment, or five \
             weights, of New-Order, Payment, Order-Status, Delivery and Stock-Level",
            |o| &mut o.mix,
        ),
        option(
            "schema",
            "All columns (full), or those alone by which something is decided (small)",
            |o| &mut o.schema,
        ),
        option(
            "remote-new-order",
            "Share of an order's lines that another warehouse supplies, 0 to 1",
            |o| &mut o.remote_new_order,
        ),
        option(
            "remote-payment",
            "Share of the payments of another warehouse's customers, 0 to 1",
            |o| &mut o.remote_payment,
        ),
        option(
            "rollbacks",
            "Share of the orders rolled back because of an unused item, 0 to 1",
            |o| &mut o.rollbacks,
        ),
        option("by-name", "Share of the customers who are looked up by last name, 0 to 1", |o| {
            &mut o.by_name
        }),
        option("items", "Items, and rows of stock of a warehouse", |o| &mut o.items),
        option(
            "districts",
            "Districts of a warehouse, fewer than the specification's for tests",
            |o| &mut o.districts,
        ),
        option(
            "customers-per-district",
            "Customers of a district, as many orders and payments at first; fewer than the specification's for \
             tests",
            |o| &mut o.customers_per_district,
        ),
        option("least-lines", "Fewest lines of an order", |o| &mut o.least_lines),
        option("most-lines", "Most lines of an order", |o| &mut o.most_lines),
        option("stock-level-orders", "Latest orders that a Stock-Level looks at", |o| {
            &mut o.stock_level_orders
        }),
        option("no-prefetch", "Don't announce an order's rows before the first access", |o| {
            &mut o.prefetch
        }),
        option(
            "split-columns",
            "Columns that change often have words of concurrency control of their own (timestamp splitting)",
            |o| &mut o.split_columns,
        ),
        option(
            "index",
            "How rows of tables with dense keys are found: hash, perfect (direct-addressed)",
            |o| &mut o.index,
        ),
        option("load-seed", "Decides the initial population", |o| &mut o.load_seed),
    ];
    // Sources of the presets. abyss: Staring into the Abyss, 5.6.1 and 5.6.2. Its sizes are from The Full
    // Story of 1000 Cores, text of figure 6. high-conflict and low-conflict: The Full Story of 1000 Cores,
    // figures 9 and 12, 9 and 14 (a warehouse for each core). The full mixes: figures 19 and 21. islands:
    // Hardware Islands, 3.5.3. With --local-only it is the thesis's other deployment. atrapos: Hardware
    // Islands, 4.5.2.
    const PRESETS: &'static [Bundle] = &[
        bundle(
            "abyss-4",
            "4 warehouses, narrow mix, small schema, 10k items, 2000 customers a district",
            "--warehouses 4 --mix narrow --schema small --items 10k --customers-per-district 2000",
        ),
        bundle(
            "abyss-1024",
            "1024 warehouses, otherwise the same",
            "--warehouses 1024 --mix narrow --schema small --items 10k --customers-per-district 2000",
        ),
        bundle("high-conflict", "4 warehouses, narrow mix", "--warehouses 4 --mix narrow"),
        bundle("low-conflict", "1568 warehouses, narrow mix", "--warehouses 1568 --mix narrow"),
        bundle("high-conflict-full", "4 warehouses, full mix", "--warehouses 4 --mix full"),
        bundle("low-conflict-full", "1568 warehouses, full mix", "--warehouses 1568 --mix full"),
        bundle("islands-payment", "24 warehouses, Payment alone", "--warehouses 24 --mix payment"),
        bundle(
            "islands-new-order",
            "24 warehouses, New-Order alone",
            "--warehouses 24 --mix new-order",
        ),
        bundle("atrapos", "80 warehouses, full mix", "--warehouses 80 --mix full"),
    ];
    const SWITCHES: &'static [Bundle] = &[bundle(
        "local-only",
        "No transaction leaves its home warehouse",
        "--remote-new-order 0 --remote-payment 0",
    )];

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("warehouses", self.warehouses, 1, 1 << WAREHOUSE_BITS)?;
        self.mix.validate()?;
        options::ratio("remote-new-order", self.remote_new_order)?;
        options::ratio("remote-payment", self.remote_payment)?;
        options::ratio("rollbacks", self.rollbacks)?;
        options::ratio("by-name", self.by_name)?;
        options::integer("items", self.items, 1, 1 << 20)?;
        options::integer("districts", self.districts, 1, 10)?;
        let customers = self.customers_per_district;
        options::integer("customers-per-district", customers, 1, 1 << CUSTOMER_BITS)?;
        options::integer("most-lines", self.most_lines, 1, 15)?;
        options::at_most("least-lines", self.least_lines, 1, ("most-lines", self.most_lines))?;
        options::integer("stock-level-orders", self.stock_level_orders, 1, 1000)?;
        self.index.among(&[IndexChoice::Hash, IndexChoice::Perfect])
    }
}

impl TpccOptions {
    /// Returns true if the schema has every column of the specification.
    pub(super) fn full_schema(&self) -> bool {
        self.schema == SchemaSize::Full
    }

    /// Returns the number of orders of a district that are initially undelivered: 900 of 3000 (clause
    /// 4.3.3.1), in proportion.
    pub fn undelivered(&self) -> u64 {
        (self.customers_per_district * 3).div_ceil(10)
    }

    /// Returns the number of last names that exist in every district.
    pub fn names(&self) -> u64 {
        NAMES.min(self.customers_per_district)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |change: fn(&mut TpccOptions)| {
            let mut options = TpccOptions::default();
            change(&mut options);
            options.validate().unwrap_err().to_string()
        };
        assert_eq!(error(|o| o.warehouses = 0), "warehouses is 0; allowed: 1 to 1048576");
        assert_eq!(error(|o| o.districts = 11), "districts is 11; allowed: 1 to 10");
        assert_eq!(
            error(|o| o.least_lines = 16),
            "least-lines is 16; allowed: 1 to most-lines (15)"
        );
        assert_eq!(error(|o| o.remote_payment = 1.5), "remote-payment is 1.5; allowed: 0 to 1");
        let customers = error(|o| o.customers_per_district = 5000);
        assert_eq!(customers, "customers-per-district is 5000; allowed: 1 to 4096");
        let index = error(|o| o.index = IndexChoice::BTree);
        assert_eq!(index, "index is btree; allowed: hash, perfect");
        assert!(TpccOptions::default().validate().is_ok());
    }

    #[test]
    fn three_orders_in_ten_are_undelivered() {
        let of = |customers_per_district| {
            TpccOptions { customers_per_district, ..TpccOptions::default() }.undelivered()
        };
        assert_eq!([of(3000), of(10), of(2), of(1)], [900, 3, 1, 1]);
    }
}
