//! Hot and cold records: for example two of 16 hot records and eight of a hundred million cold ones.
//!
//! Source: Appuswamy, Anadiotis, Porobic, Iman and Ailamaki, "Analyzing the Impact of System Architecture on
//! the Scalability of OLTP Engines for High-Contention Workloads" (Trireme), VLDB 2017, section 4. The only
//! table has 64-bit keys and ten 64-bit integers. A transaction reads or updates ten records. There are three
//! forms:
//! - For contention, two of the records are from a hot set of 16 (4.2, 4.3).
//! - For the cost of partitioning, there is no hot set, and zero to ten records belong to other partitions
//!   (4.2.4).
//! - The table has 72 records, of which ten are updated (5.1).
//!
//! Choices that the paper leaves open:
//! - Partitions are ranges of keys. Hot records are spread over the whole table, one at the beginning of each
//!   16th, because the paper has them in different partitions. Alternatively they are packed next to each
//!   other, which the paper found to perform badly.
//! - The hot records of a transaction come first, and no record comes twice.
//! - Cold records belong to the home partition, which is the worker's number modulo the number of partitions.
//!   For records of other partitions, the partition is drawn anew for each record. All transactions have as many
//!   remote records, or with `multisite` only a share of them has, and the others have none. A single partition is the
//!   paper's shared-everything form. With `anywhere` a cold record is any one of the table, as are the 72 records,
//!   each of which can have a partition of its own.
//! - An update increments the first integer, or with `whole-records` sets all of them to the incremented one.

mod client;
mod variation;

pub use client::HotColdClient;

use super::row_set::{TABLE, law};
use crate::options::{self, Bundle, OptionError, OptionOf, Options, bundle, option};
use crate::registry::Listed;
use crate::variation::explored;
use txn::{
    Column, ColumnType, Conservation, Loader, Partitioning, Schema, TableId, TableSchema, Workload,
};

/// Number of integers of a record.
const INTEGERS: usize = 10;

/// Largest number of accesses of a transaction. More would be slow to draw.
const MOST_ACCESSES: u64 = 256;

/// Options of the workload. [`HotCold::new`] validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct HotColdOptions {
    /// Number of records.
    pub records: u64,
    /// Number of hot records.
    pub hot_records: u64,
    /// Set if hot records are next to each other. Otherwise they are spread over the table.
    pub packed: bool,
    /// Number of records that a transaction accesses.
    pub accesses: u64,
    /// Number of hot records among them.
    pub hot_accesses: u64,
    /// Number of cold records of a multi-site transaction that belong to other partitions.
    pub remote: u64,
    /// Share of the transactions that are multi-site. The cold records of the others all belong to the home partition.
    pub multisite: f64,
    /// Set if cold records belong to any partitions, and are not counted as local or remote.
    pub anywhere: bool,
    /// Number of partitions, which are equal ranges of keys.
    pub partitions: u64,
    /// Set if records are updated. Otherwise they are read.
    pub updates: bool,
    /// Set if an update changes all integers of a record. Otherwise it changes the first one.
    pub whole_records: bool,
    /// Set if a transaction accesses its records in key order.
    pub key_order: bool,
}

impl Default for HotColdOptions {
    fn default() -> HotColdOptions {
        HotColdOptions {
            records: 1_000_000,
            hot_records: 16,
            packed: false,
            accesses: 10,
            hot_accesses: 2,
            remote: 0,
            multisite: 1.0,
            anywhere: false,
            partitions: 1,
            updates: false,
            whole_records: false,
            key_order: false,
        }
    }
}

impl Options for HotColdOptions {
    const OPTIONS: &'static [OptionOf<HotColdOptions>] = &[
        option("records", "Records", |o| &mut o.records),
        option("hot-records", "How many of them are hot", |o| &mut o.hot_records),
        option(
            "packed",
            "Hot records are next to one another; else they are spread over the table",
            |o| &mut o.packed,
        ),
        option("accesses", "Records of a transaction", |o| &mut o.accesses),
        option("hot-accesses", "How many of them are hot ones", |o| &mut o.hot_accesses),
        option("remote", "How many of the cold ones are other partitions'", |o| &mut o.remote),
        option(
            "multisite",
            "Share of the transactions with remote records, 0 to 1; the others have none",
            |o| &mut o.multisite,
        ),
        option(
            "anywhere",
            "Cold records are of any partitions; else home's, but for remote ones",
            |o| &mut o.anywhere,
        ),
        option("partitions", "Partitions, equal ranges of keys", |o| &mut o.partitions),
        option("updates", "Update the records; else they are read", |o| &mut o.updates),
        option("whole-records", "An update changes all integers of a record; else one", |o| {
            &mut o.whole_records
        }),
        option("key-order", "A transaction accesses its records in the order of their keys", |o| {
            &mut o.key_order
        }),
    ];
    const PRESETS: &'static [Bundle] = &[
        bundle("trireme-read", "100M records, 16 hot ones, reads (4.2)", "--records 100M"),
        bundle(
            "trireme-update",
            "100M records, 16 hot ones, updates (4.3)",
            "--records 100M --updates",
        ),
        bundle(
            "trireme-multisite",
            "100M records in 72 partitions, none hot, one remote read (4.2.4)",
            "--records 100M --hot-records 0 --hot-accesses 0 --partitions 72 --remote 1",
        ),
        bundle(
            "trireme-72",
            "ten updates of 72 records (5.1)",
            "--records 72 --hot-records 0 --hot-accesses 0 --anywhere --updates",
        ),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("records", self.records, 1, options::MAX_ROWS)?;
        options::integer("partitions", self.partitions, 1, self.records.min(65_536))?;
        options::integer("hot-records", self.hot_records, 0, (self.records / 2).min(65_536))?;
        options::integer("accesses", self.accesses, 1, MOST_ACCESSES)?;
        options::at_most("hot-accesses", self.hot_accesses, 0, ("accesses", self.accesses))?;
        options::at_most("hot-accesses", self.hot_accesses, 0, ("hot-records", self.hot_records))?;
        let cold = self.accesses - self.hot_accesses;
        if self.remote > 0 && self.partitions == 1 {
            return Err(OptionError {
                option: "remote",
                given: self.remote.to_string(),
                allowed: "0, or more with partitions of 2 and more".into(),
            });
        }
        options::at_most("remote", self.remote, 0, ("accesses - hot-accesses", cold))?;
        options::ratio("multisite", self.multisite)?;
        if self.remote > 0 && self.anywhere {
            return Err(OptionError {
                option: "remote",
                given: self.remote.to_string(),
                allowed: "0, or more without anywhere".into(),
            });
        }
        let (share, option) = match self.anywhere {
            true => (self.records, "records - hot-records"),
            false => (self.records / self.partitions, "records / partitions - hot-records"),
        };
        // In the worst case all hot records are in the partition from which the cold records are drawn.
        let rows = share.saturating_sub(self.hot_records);
        if cold > rows {
            return Err(OptionError {
                option: "accesses - hot-accesses",
                given: cold.to_string(),
                allowed: format!("0 to {option} ({rows})"),
            });
        }
        Ok(())
    }
}

impl HotColdOptions {
    fn partitioning(&self) -> Partitioning {
        Partitioning::Ranges { partitions: self.partitions, keys: self.records }
    }

    /// Returns the first key of partition `partition`. For the number of partitions it returns the number of
    /// records.
    fn first_of(&self, partition: u64) -> u64 {
        let scaled = u128::from(partition) * u128::from(self.records);
        scaled.div_ceil(u128::from(self.partitions)) as u64
    }

    /// Returns the first key of partition `partition`, and the first one behind it.
    fn range_of(&self, partition: u64) -> (u64, u64) {
        (self.first_of(partition), self.first_of(partition + 1))
    }

    /// Returns the key of hot record `number`.
    fn hot_key(&self, number: u64) -> u64 {
        if self.packed {
            return number;
        }
        let scaled = u128::from(number) * u128::from(self.records);
        (scaled / u128::from(self.hot_records)) as u64
    }

    fn is_hot(&self, key: u64) -> bool {
        if self.packed || self.hot_records == 0 {
            return key < self.hot_records;
        }
        let scaled = u128::from(key) * u128::from(self.hot_records);
        let number = scaled.div_ceil(u128::from(self.records)) as u64;
        number < self.hot_records && self.hot_key(number) == key
    }
}

/// The workload.
#[derive(Clone, Debug)]
pub struct HotCold {
    options: HotColdOptions,
}

impl HotCold {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: HotColdOptions) -> Result<HotCold, OptionError> {
        options.validate()?;
        Ok(HotCold { options })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &HotColdOptions {
        &self.options
    }
}

impl Listed for HotCold {
    type Options = HotColdOptions;
    const NAME: &'static str = "hot-cold";
    const SUMMARY: &'static str = "ten records, some of a hot set, some of other partitions";
    const SOURCE: &'static str = "Trireme (VLDB 2017), 4 and 5.1";
    const PARTITIONED_BY: Option<&'static str> = Some("partitions");
    const EXAMPLES: &'static [&'static str] = &["--cc NO_WAIT,SILO --updates"];

    explored! {
        "hot and cold records whose updates must all be there",
        "--cc NO_WAIT",
        Self::varied,
    }

    fn with(options: Self::Options) -> Result<HotCold, OptionError> {
        HotCold::new(options)
    }
}

impl Workload for HotCold {
    type Client = HotColdClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());
    const COMPILED: bool = false;

    fn schema(&self) -> Schema {
        let column = |i| Column::new(format!("attribute{i}"), ColumnType::U64);
        let table = TableSchema::new("records", (0..INTEGERS).map(column).collect());
        Schema { tables: vec![table.partitioned(self.options.partitioning())] }
    }

    fn rows(&self, _table: TableId) -> u64 {
        self.options.records
    }

    fn load(&self, loader: &mut dyn Loader) {
        loader.load_dense(TABLE, self.options.records, &|_, _| {});
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> HotColdClient {
        HotColdClient::of_worker(&self.options, worker, seed)
    }

    fn conservation(&self) -> Option<Conservation> {
        let HotColdOptions { records, accesses, updates, .. } = self.options;
        Some(Box::new(move |access, committed| {
            law(access, records, 8, if updates { committed * accesses } else { 0 })
        }))
    }

    fn in_key_order(&self) -> bool {
        self.options.key_order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_keys_are_those_that_are_hot() {
        for (records, hot_records) in [(1000, 16), (1003, 16), (40, 20), (7, 3), (100, 0)] {
            for packed in [false, true] {
                let options = HotColdOptions { records, hot_records, packed, ..Default::default() };
                let listed: Vec<u64> = (0..hot_records).map(|i| options.hot_key(i)).collect();
                let found: Vec<u64> = (0..records).filter(|key| options.is_hot(*key)).collect();
                assert_eq!(listed, found, "{records} {hot_records} {packed}");
            }
        }
    }

    #[test]
    fn partitions_begin_where_the_rule_says() {
        for (records, partitions) in [(1000, 7), (72, 72), (10, 3), (100, 1)] {
            let options = HotColdOptions { records, partitions, ..Default::default() };
            let rule = options.partitioning();
            for partition in 0..partitions {
                let (first, end) = (options.first_of(partition), options.first_of(partition + 1));
                assert!((first..end).all(|key| rule.of(key) == Some(partition)) && first < end);
            }
            assert_eq!(options.first_of(partitions), records);
        }
    }

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |change: fn(&mut HotColdOptions)| {
            let mut options = HotColdOptions::default();
            change(&mut options);
            HotCold::new(options).unwrap_err().to_string()
        };
        assert_eq!(
            error(|o| o.hot_accesses = 11),
            "hot-accesses is 11; allowed: 0 to accesses (10)"
        );
        let remote = error(|o| o.remote = 1);
        assert_eq!(remote, "remote is 1; allowed: 0, or more with partitions of 2 and more");
        let said = error(|o| (o.remote, o.partitions) = (9, 4));
        assert_eq!(said, "remote is 9; allowed: 0 to accesses - hot-accesses (8)");
        assert!(error(|o| o.partitions = 1_000_000).starts_with("partitions is 1000000"));
        let said = error(|o| (o.records, o.partitions) = (100, 5));
        assert!(said.contains("records / partitions - hot-records (4)"), "{said}");
        let said = error(|o| (o.remote, o.partitions, o.anywhere) = (1, 4, true));
        assert_eq!(said, "remote is 1; allowed: 0, or more without anywhere");
        let said =
            error(|o| (o.records, o.hot_records, o.accesses, o.anywhere) = (20, 10, 13, true));
        assert!(said.contains("records - hot-records (10)"), "{said}");
    }
}
