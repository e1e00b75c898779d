//! The options of TPC-C, over those of a preset.

use super::numbers::{real, whole};
use crate::suggestion;
use clap::{Args, ValueEnum};
use workloads::tpcc::{Mix, PRESETS, Preset, TpccOptions};

/// TPC-C's options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct TpccArguments {
    /// A paper's setting; what else is said goes before it. abyss-4, abyss-1024: so many warehouses, narrow mix, small
    /// schema, 10k items, 2000 customers of a district. high-conflict, low-conflict: 4, 1568 warehouses, narrow
    /// mix; with -full, full mix. islands-payment, islands-new-order: 24 warehouses, that transaction alone.
    /// atrapos: 80 warehouses, full mix
    #[arg(long, value_name = "NAME", value_parser = preset, verbatim_doc_comment)]
    preset: Option<&'static Preset>,
    /// Warehouses; a worker's home is its number modulo this [default: 4]
    #[arg(long, value_name = "W", value_parser = whole)]
    warehouses: Option<u64>,
    /// How often each transaction comes: full (45:43:4:4:4), narrow (50:50:0:0:0), new-order, payment, or five
    /// weights, of New-Order, Payment, Order-Status, Delivery and Stock-Level [default: full]
    #[arg(long, value_name = "MIX")]
    mix: Option<Mix>,
    /// All columns, or those alone by which something is decided [default: full]
    #[arg(long, value_name = "SCHEMA")]
    schema: Option<SchemaSize>,
    /// Share of an order's lines that another warehouse supplies, 0 to 1 [default: 0.01]
    #[arg(long, value_name = "X", value_parser = real)]
    remote_new_order: Option<f64>,
    /// Share of the payments of another warehouse's customers, 0 to 1 [default: 0.15]
    #[arg(long, value_name = "X", value_parser = real)]
    remote_payment: Option<f64>,
    /// No transaction leaves its home warehouse
    #[arg(long, conflicts_with_all = ["remote_new_order", "remote_payment"])]
    local_only: bool,
    /// Share of the orders rolled back because of an unused item, 0 to 1 [default: 0.01]
    #[arg(long, value_name = "X", value_parser = real)]
    rollbacks: Option<f64>,
    /// Share of the customers who are looked up by last name, 0 to 1 [default: 0.6]
    #[arg(long, value_name = "X", value_parser = real)]
    by_name: Option<f64>,
    /// Items, and rows of stock of a warehouse [default: 100k]
    #[arg(long, value_name = "N", value_parser = whole)]
    items: Option<u64>,
    /// Districts of a warehouse, fewer than the specification's for tests [default: 10]
    #[arg(long, value_name = "N", value_parser = whole)]
    districts: Option<u64>,
    /// Customers of a district, as many orders and payments at first; fewer than the specification's for tests
    /// [default: 3000]
    #[arg(long, value_name = "N", value_parser = whole)]
    customers_per_district: Option<u64>,
    /// Fewest lines of an order [default: 5]
    #[arg(long, value_name = "N", value_parser = whole)]
    least_lines: Option<u64>,
    /// Most lines of an order [default: 15]
    #[arg(long, value_name = "N", value_parser = whole)]
    most_lines: Option<u64>,
    /// Latest orders that a Stock-Level looks at [default: 20]
    #[arg(long, value_name = "N", value_parser = whole)]
    stock_level_orders: Option<u64>,
    /// Don't announce an order's rows before the first access
    #[arg(long)]
    no_prefetch: bool,
    /// Columns that change often have words of concurrency control of their own (timestamp splitting)
    #[arg(long)]
    split_columns: bool,
    /// Decides the initial population [default: 0]
    #[arg(long, value_name = "N", value_parser = whole)]
    load_seed: Option<u64>,
}

/// The preset of that name.
fn preset(name: &str) -> Result<&'static Preset, String> {
    let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    Preset::find(name).ok_or_else(|| suggestion::unknown("preset", name, &known))
}

/// How much of the schema there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaSize {
    /// Every column of the specification.
    Full,
    /// The columns by which something is decided.
    Small,
}

impl TpccArguments {
    /// The preset's or the default options, with what was said in their place.
    pub fn options(&self) -> TpccOptions {
        let default = self.preset.map_or_else(TpccOptions::default, Preset::options);
        let remote = |said: Option<f64>, default| match self.local_only {
            true => 0.0,
            false => said.unwrap_or(default),
        };
        let customers = self.customers_per_district;
        TpccOptions {
            warehouses: self.warehouses.unwrap_or(default.warehouses),
            mix: self.mix.unwrap_or(default.mix),
            full_schema: self.schema.map_or(default.full_schema, |s| s == SchemaSize::Full),
            remote_new_order: remote(self.remote_new_order, default.remote_new_order),
            remote_payment: remote(self.remote_payment, default.remote_payment),
            rollbacks: self.rollbacks.unwrap_or(default.rollbacks),
            by_name: self.by_name.unwrap_or(default.by_name),
            items: self.items.unwrap_or(default.items),
            districts: self.districts.unwrap_or(default.districts),
            customers_per_district: customers.unwrap_or(default.customers_per_district),
            least_lines: self.least_lines.unwrap_or(default.least_lines),
            most_lines: self.most_lines.unwrap_or(default.most_lines),
            stock_level_orders: self.stock_level_orders.unwrap_or(default.stock_level_orders),
            prefetch: !self.no_prefetch && default.prefetch,
            split_columns: self.split_columns || default.split_columns,
            load_seed: self.load_seed.unwrap_or(default.load_seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    fn parsed(words: &[&str]) -> TpccOptions {
        let command = TpccArguments::augment_args(Command::new("tpcc"));
        let matches = command.get_matches_from([&["tpcc"], words].concat());
        TpccArguments::from_arg_matches(&matches).expect("good words").options()
    }

    #[test]
    fn what_a_preset_says_it_sets_is_what_it_sets_and_help_names_it() {
        let help = TpccArguments::augment_args(Command::new("tpcc")).render_long_help();
        for preset in PRESETS {
            let words: Vec<_> = preset.sets.split(' ').collect();
            assert_eq!(parsed(&words), preset.options(), "{}", preset.name);
            assert_eq!(parsed(&["--preset", preset.name]), preset.options());
            let name = preset.name.trim_end_matches("-full");
            assert!(help.to_string().contains(name), "{name}");
        }
        let over = parsed(&["--preset", "abyss-4", "--warehouses", "2", "--local-only"]);
        assert_eq!((over.warehouses, over.items, over.remote_payment), (2, 10_000, 0.0));
        assert_eq!(parsed(&["--mix", "1:2:3:4:5", "--schema", "small"]).mix, Mix([1, 2, 3, 4, 5]));
    }
}
