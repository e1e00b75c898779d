//! Rows of one site or of several sites: shows how a deployment handles transactions that access several
//! partitions.
//!
//! Source: Porobic, "Scaling Transaction Processing on Hardware Islands" (thesis, 2016), section 3.2.2. Every
//! core has a site of 10,000 rows. A transaction reads or updates N rows. A local transaction accesses rows
//! of its home site. A multisite transaction accesses one row of its home site and N − 1 rows of the whole
//! table. With skew (3.4.3) the thesis draws both rows of a transaction by Zipf's law over the whole table.
//! Here only rows that are not bound to the home site follow that law. The rows of a home site follow Zipf's
//! law among themselves.
//!
//! Choices that the thesis leaves open:
//! - No row comes twice in a transaction.
//! - Rows are 250 bytes long, because 240,000 of them take 60 MB.
//! - The skew is below 1.
//! - The most frequent rows are the first rows, which belong to the first site. So the skew falls on one
//!   site, as the thesis describes.
//! - An update increments a number.

mod client;
mod variation;

pub use client::{KIND_NAMES, SitesClient};

use super::row_set::{TABLE, law};
use crate::options::{self, Bundle, OptionError, OptionOf, Options, bundle, option};
use crate::registry::Listed;
use crate::variation::explored;
use crate::zipf::Zipf;
use txn::{
    Column, ColumnType, Conservation, Loader, Partitioning, Schema, TableId, TableSchema, Workload,
};

/// Largest number of rows of a transaction. More would be slow to draw.
const MOST_ACCESSES: u64 = 256;

/// Options of the workload. [`Sites::new`] validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct SitesOptions {
    /// Number of sites, each of which is a partition.
    pub sites: u64,
    /// Number of rows of a site.
    pub site_rows: u64,
    /// Length of a row in bytes.
    pub row_bytes: u64,
    /// Number of rows that a transaction accesses.
    pub accesses: u64,
    /// Share of the transactions that are multisite.
    pub multisite: f64,
    /// Skew of the rows, from 0 (uniform) to less than 1.
    pub theta: f64,
    /// Set if rows are updated. Otherwise they are read.
    pub updates: bool,
}

impl Default for SitesOptions {
    fn default() -> SitesOptions {
        SitesOptions {
            sites: 24,
            site_rows: 10_000,
            row_bytes: 250,
            accesses: 10,
            multisite: 0.2,
            theta: 0.0,
            updates: false,
        }
    }
}

impl Options for SitesOptions {
    const OPTIONS: &'static [OptionOf<SitesOptions>] = &[
        option("sites", "Sites, each of them a partition", |o| &mut o.sites),
        option("site-rows", "Rows of a site", |o| &mut o.site_rows),
        option("row-bytes", "Bytes of a row", |o| &mut o.row_bytes),
        option("accesses", "Rows of a transaction", |o| &mut o.accesses),
        option("multisite", "Share of the transactions that are multisite, 0 to 1", |o| {
            &mut o.multisite
        }),
        option("theta", "Skew of the rows, from 0 (uniform) to less than 1", |o| &mut o.theta),
        option("updates", "Update the rows; else they are read", |o| &mut o.updates),
    ];
    const PRESETS: &'static [Bundle] = &[
        bundle("islands-read", "24 sites, ten reads, a fifth multisite (3.3)", "--sites 24"),
        bundle(
            "islands-update",
            "24 sites, ten updates, a fifth multisite (3.3)",
            "--sites 24 --updates",
        ),
        bundle(
            "islands-skew",
            "24 sites, two updates, all multisite, theta 0.75 (3.4.3)",
            "--sites 24 --accesses 2 --multisite 1 --theta 0.75 --updates",
        ),
        bundle(
            "islands-memory-read",
            "80 sites of 100,000 rows, two reads, a fifth multisite (5.2)",
            "--sites 80 --site-rows 100k --accesses 2",
        ),
        bundle(
            "islands-memory-update",
            "80 sites of 100,000 rows, two updates, 1 % multisite (5.2)",
            "--sites 80 --site-rows 100k --accesses 2 --multisite 0.01 --updates",
        ),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("sites", self.sites, 1, 65_536)?;
        options::integer("site-rows", self.site_rows, 1, options::MAX_ROWS >> 16)?;
        options::integer("row-bytes", self.row_bytes, 8, 1 << 16)?;
        options::integer("accesses", self.accesses, 1, MOST_ACCESSES)?;
        options::at_most("accesses", self.accesses, 1, ("site-rows", self.site_rows))?;
        options::ratio("multisite", self.multisite)?;
        options::theta(self.theta)
    }
}

impl SitesOptions {
    fn rows(&self) -> u64 {
        self.sites * self.site_rows
    }
}

/// The workload.
#[derive(Clone, Debug)]
pub struct Sites {
    options: SitesOptions,
    home: Zipf,
    all: Zipf,
}

impl Sites {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: SitesOptions) -> Result<Sites, OptionError> {
        options.validate()?;
        let home = Zipf::new(options.site_rows, options.theta);
        let all = Zipf::new(options.rows(), options.theta);
        Ok(Sites { options, home, all })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &SitesOptions {
        &self.options
    }
}

impl Listed for Sites {
    type Options = SitesOptions;
    const NAME: &'static str = "sites";
    const SUMMARY: &'static str = "N rows of one site, or one of it and the others of all sites";
    const SOURCE: &'static str = "Hardware Islands, 3.2.2 and 3.4.3";
    const PARTITIONED_BY: Option<&'static str> = Some("sites");
    const EXAMPLES: &'static [&'static str] = &["--cc SILO --sites 24 --multisite 0.2 --updates"];

    explored! {
        "rows of sites whose updates must all be there",
        "--cc HSTORE",
        Self::varied,
    }

    fn with(options: Self::Options) -> Result<Sites, OptionError> {
        Sites::new(options)
    }
}

impl Workload for Sites {
    type Client = SitesClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());
    const COMPILED: bool = false;

    fn schema(&self) -> Schema {
        let SitesOptions { sites: partitions, site_rows: divisor, row_bytes, .. } = self.options;
        let column = Column::new("value", ColumnType::Bytes(row_bytes as u32));
        let table = TableSchema::new("rows", vec![column]);
        Schema { tables: vec![table.partitioned(Partitioning::Quotient { divisor, partitions })] }
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KIND_NAMES
    }

    fn rows(&self, _table: TableId) -> u64 {
        self.options.rows()
    }

    fn load(&self, loader: &mut dyn Loader) {
        loader.load_dense(TABLE, self.options.rows(), &|_, _| {});
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> SitesClient {
        SitesClient::of_worker(&self.options, [&self.home, &self.all], worker, seed)
    }

    fn conservation(&self) -> Option<Conservation> {
        let (rows, bytes) = (self.options.rows(), self.options.row_bytes as usize);
        let SitesOptions { accesses, updates, .. } = self.options;
        Some(Box::new(move |access, committed| {
            law(access, rows, bytes, if updates { committed * accesses } else { 0 })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |change: fn(&mut SitesOptions)| {
            let mut options = SitesOptions::default();
            change(&mut options);
            Sites::new(options).unwrap_err().to_string()
        };
        assert_eq!(error(|o| o.sites = 0), "sites is 0; allowed: 1 to 65536");
        assert_eq!(error(|o| o.row_bytes = 7), "row-bytes is 7; allowed: 8 to 65536");
        assert_eq!(error(|o| o.site_rows = 9), "accesses is 10; allowed: 1 to site-rows (9)");
        assert_eq!(error(|o| o.multisite = 1.1), "multisite is 1.1; allowed: 0 to 1");
    }
}
