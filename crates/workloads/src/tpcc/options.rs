//! What can be set.

use super::keys::{CUSTOMER_BITS, WAREHOUSE_BITS};
use super::mix::Mix;
use super::text::NAMES;
use crate::options::{self, OptionError, OptionValue};

/// All that can be set. [`super::Tpcc::new`] checks it. The defaults are the specification's.
#[derive(Clone, Debug, PartialEq)]
pub struct TpccOptions {
    /// Warehouses.
    pub warehouses: u64,
    /// How often each transaction comes.
    pub mix: Mix,
    /// All columns of the specification; else those alone by which something is decided.
    pub full_schema: bool,
    /// Share of an order's lines that another warehouse supplies, from 0 to 1.
    pub remote_new_order: f64,
    /// Share of the payments of another warehouse's customers, from 0 to 1.
    pub remote_payment: f64,
    /// Share of the orders that are rolled back because of an unused item, from 0 to 1.
    pub rollbacks: f64,
    /// Share of the customers who are looked up by last name, from 0 to 1.
    pub by_name: f64,
    /// Items, and rows of stock of a warehouse.
    pub items: u64,
    /// Districts of a warehouse.
    pub districts: u64,
    /// Customers of a district; as many orders and history rows.
    pub customers_per_district: u64,
    /// Fewest lines of an order.
    pub least_lines: u64,
    /// Most lines of an order.
    pub most_lines: u64,
    /// The latest orders of which a Stock-Level looks at the items.
    pub stock_level_orders: u64,
    /// The rows of an order are announced before the first is accessed, so that cache misses overlap.
    pub prefetch: bool,
    /// Columns that change often have words of concurrency control of their own.
    pub split_columns: bool,
    /// Decides the initial population and the constants of non-uniform draws.
    pub load_seed: u64,
}

impl Default for TpccOptions {
    fn default() -> TpccOptions {
        TpccOptions {
            warehouses: 4,
            mix: Mix::FULL,
            full_schema: true,
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
            load_seed: 0,
        }
    }
}

impl TpccOptions {
    /// Says which option is wrong, if one is.
    pub fn validate(&self) -> Result<(), OptionError> {
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
        options::integer("least-lines", self.least_lines, 1, self.most_lines)?;
        options::integer("stock-level-orders", self.stock_level_orders, 1, 1000)
    }

    /// Names (as on the command line) and values, for a run's record.
    pub fn list(&self) -> Vec<(&'static str, OptionValue)> {
        let schema = if self.full_schema { "full" } else { "small" };
        vec![
            ("warehouses", OptionValue::Integer(self.warehouses)),
            ("mix", OptionValue::Text(self.mix.to_string())),
            ("schema", OptionValue::Name(schema)),
            ("remote-new-order", OptionValue::Number(self.remote_new_order)),
            ("remote-payment", OptionValue::Number(self.remote_payment)),
            ("rollbacks", OptionValue::Number(self.rollbacks)),
            ("by-name", OptionValue::Number(self.by_name)),
            ("items", OptionValue::Integer(self.items)),
            ("districts", OptionValue::Integer(self.districts)),
            ("customers-per-district", OptionValue::Integer(self.customers_per_district)),
            ("least-lines", OptionValue::Integer(self.least_lines)),
            ("most-lines", OptionValue::Integer(self.most_lines)),
            ("stock-level-orders", OptionValue::Integer(self.stock_level_orders)),
            ("prefetch", OptionValue::Flag(self.prefetch)),
            ("split-columns", OptionValue::Flag(self.split_columns)),
            ("load-seed", OptionValue::Integer(self.load_seed)),
        ]
    }

    /// Orders of a district that are undelivered at first: 900 of 3000 (clause 4.3.3.1), in proportion.
    pub fn undelivered(&self) -> u64 {
        (self.customers_per_district * 3).div_ceil(10)
    }

    /// Last names that customers of every district have.
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
        assert_eq!(error(|o| o.least_lines = 16), "least-lines is 16; allowed: 1 to 15");
        assert_eq!(error(|o| o.remote_payment = 1.5), "remote-payment is 1.5; allowed: 0 to 1");
        let customers = error(|o| o.customers_per_district = 5000);
        assert_eq!(customers, "customers-per-district is 5000; allowed: 1 to 4096");
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
