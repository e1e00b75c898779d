//! Defines the options, and the papers' settings by name.

use crate::index_choice::IndexChoice;
use crate::options::{self, Bundle, OptionError, OptionOf, Options, bundle, option};
use txn::MAX_COLUMNS;

/// Largest length of a field, in bytes.
const MAX_FIELD_BYTES: u64 = 1 << 16;

/// Largest number of partitions.
const MAX_PARTITIONS: u64 = 65_536;

/// Largest number of rows of a scan.
const MAX_SCAN: u64 = 1 << 20;

/// Largest number of workers that only read.
const MAX_WORKERS: u64 = 65_536;

/// Options of the workload. [`Ycsb::new`](super::Ycsb::new) validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct YcsbOptions {
    /// Number of rows of the table.
    pub records: u64,
    /// Number of fields of a row.
    pub fields: u64,
    /// Length of a field, in bytes.
    pub field_bytes: u64,
    /// Skew of the keys, from 0 (uniform) to less than 1.
    pub theta: f64,
    /// Share of the accesses that are scans, from 0 to 1. If there are any, the table is ordered.
    pub scan_ratio: f64,
    /// Share of the accesses that insert a row, from 0 to 1.
    pub insert_ratio: f64,
    /// Share of reads among the accesses that are neither scans nor inserts, from 0 to 1. The others are
    /// updates.
    pub read_ratio: f64,
    /// Largest number of rows of a scan.
    pub scan_length: u64,
    /// Skew of the scans' lengths towards one row, from 0 (uniform) to less than 1.
    pub scan_theta: f64,
    /// Set if a read or a scan copies all fields of a row. Otherwise it copies one field.
    pub all_fields: bool,
    /// Set if the hottest rows are those that the worker inserted last.
    pub latest: bool,
    /// Set if keys are hashed, so that inserted rows and hot rows are spread over the whole table.
    pub hashed_keys: bool,
    /// Number of accesses of a transaction.
    pub accesses: u64,
    /// Set if an update reads the field first, and writes a value derived from it.
    pub read_modify_write: bool,
    /// Set if an update adds to the field without reading it. Fields are integers in that case.
    pub add: bool,
    /// Set if a transaction's keys are distinct.
    pub distinct: bool,
    /// Number of partitions of the table.
    pub partitions: u64,
    /// Share of the transactions that access several partitions, from 0 to 1.
    pub multi_partition_share: f64,
    /// Number of partitions that a multi-partition transaction accesses.
    pub partitions_per_transaction: u64,
    /// Set if a worker's transactions have the same first partition. Otherwise it is drawn.
    pub local_partition: bool,
    /// Set if keys are drawn from the whole table, whatever their partitions are (Trireme 4.1).
    pub scattered: bool,
    /// Set if a transaction accesses its keys in ascending order (Abyss 4.2, figure 4).
    pub key_order: bool,
    /// Set if all keys are prefetched before the first access, so that cache misses overlap.
    pub prefetch: bool,
    /// Set if transactions that drew no update are declared read-only at begin. DBx1000 declares nothing.
    pub declare_read_only: bool,
    /// Share of the transactions that only read and are declared read-only, from 0 to 1.
    pub read_only_share: f64,
    /// Number of workers that only read and declare it. If it is not zero, the other workers only write.
    pub reader_workers: u64,
    /// Index by which rows are found. If there are scans, a B+tree replaces a hash index.
    pub index: IndexChoice,
}

impl Default for YcsbOptions {
    fn default() -> YcsbOptions {
        YcsbOptions {
            records: 1_000_000,
            fields: 10,
            field_bytes: 100,
            theta: 0.0,
            scan_ratio: 0.0,
            insert_ratio: 0.0,
            read_ratio: 1.0,
            scan_length: 100,
            scan_theta: 0.0,
            all_fields: false,
            latest: false,
            hashed_keys: false,
            accesses: 16,
            read_modify_write: false,
            add: false,
            distinct: true,
            partitions: 1,
            multi_partition_share: 0.0,
            partitions_per_transaction: 2,
            local_partition: true,
            scattered: false,
            key_order: false,
            prefetch: true,
            declare_read_only: false,
            read_only_share: 0.0,
            reader_workers: 0,
            index: IndexChoice::Hash,
        }
    }
}

impl Options for YcsbOptions {
    const OPTIONS: &'static [OptionOf<YcsbOptions>] = &[
        option("records", "Rows of the table", |o| &mut o.records),
        option("fields", "Fields of a row", |o| &mut o.fields),
        option("field-bytes", "Bytes of a field", |o| &mut o.field_bytes),
        option("theta", "Skew of the keys, from 0 (uniform) to less than 1", |o| &mut o.theta),
        option(
            "scan-ratio",
            "Share of accesses that are scans, 0 to 1; with any the table is ordered",
            |o| &mut o.scan_ratio,
        ),
        option("insert-ratio", "Share of accesses that insert a row, 0 to 1", |o| {
            &mut o.insert_ratio
        }),
        option(
            "read-ratio",
            "Share of the other accesses that are reads, 0 to 1; the rest are updates",
            |o| &mut o.read_ratio,
        ),
        option("scan-length", "The most rows of a scan", |o| &mut o.scan_length),
        option(
            "scan-theta",
            "Skew of the scans' lengths towards one row, from 0 (uniform) to less than 1",
            |o| &mut o.scan_theta,
        ),
        option("all-fields", "A read or a scan copies all fields of a row; else one", |o| {
            &mut o.all_fields
        }),
        option("latest", "The hottest rows are those that the worker inserted last", |o| {
            &mut o.latest
        }),
        option("hashed-keys", "Keys lie in the ordered table in no order", |o| &mut o.hashed_keys),
        option("accesses", "Accesses of a transaction", |o| &mut o.accesses),
        option(
            "read-modify-write",
            "An update reads the field first, and writes what it makes of it",
            |o| &mut o.read_modify_write,
        ),
        option(
            "add",
            "An update adds to the field, whatever is in it; with --field-bytes 8",
            |o| &mut o.add,
        ),
        option("no-distinct", "A transaction may access a key twice", |o| &mut o.distinct),
        option("partitions", "Partitions of the table, by key modulo their number", |o| {
            &mut o.partitions
        }),
        option(
            "multi-partition-share",
            "Share of the transactions that access several partitions, 0 to 1",
            |o| &mut o.multi_partition_share,
        ),
        option("partitions-per-transaction", "Partitions that such a transaction accesses", |o| {
            &mut o.partitions_per_transaction
        }),
        option(
            "no-local-partition",
            "Draw a transaction's first partition; else it is its worker's own",
            |o| &mut o.local_partition,
        ),
        option(
            "scattered",
            "Keys are of any partitions; else a transaction draws its partitions, then their keys",
            |o| &mut o.scattered,
        ),
        option("key-order", "A transaction accesses its keys in ascending order", |o| {
            &mut o.key_order
        }),
        option("no-prefetch", "Don't announce a transaction's keys before the first access", |o| {
            &mut o.prefetch
        }),
        option(
            "declare-read-only",
            "Declare transactions that drew no update read-only at their begin",
            |o| &mut o.declare_read_only,
        ),
        option(
            "read-only-share",
            "Share of the transactions that only read and declare it, 0 to 1",
            |o| &mut o.read_only_share,
        ),
        option(
            "reader-workers",
            "Bind workers: so many only read and declare it, the others only write; 0 binds none",
            |o| &mut o.reader_workers,
        ),
        option("index", "How rows are found: hash, perfect, btree, rbtree", |o| &mut o.index),
    ];
    // The presets are the workloads A to F of Cooper et al., and the settings that "Staring into the Abyss"
    // (3.3 and 5.1) calls read-only, medium and high contention.
    const PRESETS: &'static [Bundle] = &[
        bundle(
            "a",
            "YCSB's A, of one access: half reads, half updates",
            "--theta 0.99 --accesses 1 --all-fields --read-ratio 0.5",
        ),
        bundle(
            "b",
            "YCSB's B, of one access: 95 % reads, 5 % updates",
            "--theta 0.99 --accesses 1 --all-fields --read-ratio 0.95",
        ),
        bundle(
            "c",
            "YCSB's C, of one access: reads only",
            "--theta 0.99 --accesses 1 --all-fields",
        ),
        bundle(
            "d",
            "YCSB's D, of one access: 95 % reads of the latest rows, 5 % inserts",
            "--theta 0.99 --accesses 1 --all-fields --insert-ratio 0.05 --latest",
        ),
        bundle(
            "e",
            "YCSB's E, of one access: 95 % scans of up to 100 rows, 5 % inserts",
            "--theta 0.99 --accesses 1 --all-fields --scan-ratio 0.95 --insert-ratio 0.05 --hashed-keys",
        ),
        bundle(
            "f",
            "YCSB's F, of one access: half reads, half read-modify-writes",
            "--theta 0.99 --accesses 1 --all-fields --read-ratio 0.5 --read-modify-write",
        ),
        bundle("abyss-read-only", "20M rows, uniform, reads only", "--records 20M"),
        bundle(
            "abyss-medium",
            "20M rows, theta 0.6, half updates",
            "--records 20M --theta 0.6 --read-ratio 0.5",
        ),
        bundle(
            "abyss-high",
            "20M rows, theta 0.8, half updates",
            "--records 20M --theta 0.8 --read-ratio 0.5",
        ),
    ];
    const COMPARED: &'static str = "--theta 0.6 --read-ratio 0.5";

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("records", self.records, 1, options::MAX_ROWS)?;
        options::integer("fields", self.fields, 1, MAX_COLUMNS as u64)?;
        options::integer("field-bytes", self.field_bytes, 1, MAX_FIELD_BYTES)?;
        options::theta(self.theta)?;
        options::ratio("scan-ratio", self.scan_ratio)?;
        options::ratio("insert-ratio", self.insert_ratio)?;
        let both = self.scan_ratio + self.insert_ratio;
        if both > 1.0 + 1e-9 {
            return Err(OptionError {
                option: "scan-ratio + insert-ratio",
                given: both.to_string(),
                allowed: "0 to 1 together".into(),
            });
        }
        options::ratio("read-ratio", self.read_ratio)?;
        options::integer("scan-length", self.scan_length, 1, MAX_SCAN)?;
        options::skew("scan-theta", self.scan_theta)?;
        options::integer("accesses", self.accesses, 1, options::MAX_ACCESSES)?;
        options::integer("partitions", self.partitions, 1, MAX_PARTITIONS)?;
        options::at_most("partitions", self.partitions, 1, ("records", self.records))?;
        options::ratio("multi-partition-share", self.multi_partition_share)?;
        if self.multi_partition_share > 0.0 && self.partitions == 1 {
            return Err(OptionError {
                option: "multi-partition-share",
                given: self.multi_partition_share.to_string(),
                allowed: "0, or more with partitions of 2 and more".into(),
            });
        }
        let asked = self.partitions_per_transaction;
        options::integer("partitions-per-transaction", asked, 1, MAX_PARTITIONS)?;
        if self.multi_partition_share > 0.0 {
            let most = ("partitions", self.partitions);
            options::at_most("partitions-per-transaction", asked, 1, most)?;
        }
        if self.distinct {
            let whole = self.partitions == 1 || self.scattered;
            let rows = self.records / if whole { 1 } else { self.partitions };
            let option = if whole { "records" } else { "records / partitions" };
            options::enough_rows(self.accesses, rows, option)?;
        }
        options::ratio("read-only-share", self.read_only_share)?;
        options::integer("reader-workers", self.reader_workers, 0, MAX_WORKERS)?;
        self.validate_together()
    }

    fn contradiction(&self, given: &dyn Fn(&str) -> bool) -> Result<(), OptionError> {
        let hash = given("index") && self.index == IndexChoice::Hash;
        match hash && self.scan_ratio > 0.0 {
            true => Err(self.unscannable()),
            false => Ok(()),
        }
    }

    fn bound_workers(&self) -> Option<(&'static str, u64)> {
        Some(("reader-workers", self.reader_workers))
    }
}

impl YcsbOptions {
    /// Returns an error if two options exclude each other.
    fn validate_together(&self) -> Result<(), OptionError> {
        let off_unless = |set: bool, option, good: bool, condition: &str| match set && !good {
            true => Err(OptionError {
                option,
                given: "on".into(),
                allowed: format!("off, or on with {condition}"),
            }),
            false => Ok(()),
        };
        let integers = self.field_bytes == 8 && !self.read_modify_write;
        off_unless(self.add, "add", integers, "field-bytes of 8 and no read-modify-write")?;
        let single = self.scan_ratio == 0.0 && self.insert_ratio == 0.0;
        off_unless(self.key_order, "key-order", single, "neither scans nor inserts")?;
        let any = self.multi_partition_share == 0.0;
        off_unless(self.scattered, "scattered", any, "multi-partition-share of 0")?;
        off_unless(self.latest, "latest", self.partitions == 1, "one partition")?;
        let spread = self.partitions == 1 && self.scan_ratio > 0.0;
        off_unless(self.hashed_keys, "hashed-keys", spread, "one partition and scans")?;
        if self.scan_ratio > 0.0 && self.index == IndexChoice::Perfect {
            return Err(self.unscannable());
        }
        if self.insert_ratio > 0.0 && self.index == IndexChoice::Perfect {
            return Err(OptionError {
                option: "index",
                given: self.index.to_string(),
                allowed: format!(
                    "hash, btree, rbtree with insert-ratio of {} (a perfect index takes no more keys)",
                    self.insert_ratio
                ),
            });
        }
        if self.read_only_share > 0.0 && self.reader_workers > 0 {
            return Err(OptionError {
                option: "read-only-share",
                given: self.read_only_share.to_string(),
                allowed: "0, or more with reader-workers of 0".into(),
            });
        }
        Ok(())
    }

    /// Returns the error for scans over an index that has no order.
    fn unscannable(&self) -> OptionError {
        OptionError {
            option: "index",
            given: self.index.to_string(),
            allowed: format!(
                "btree, rbtree with scan-ratio of {} (an index without order can't be scanned)",
                self.scan_ratio
            ),
        }
    }

    /// Returns true if only reads and updates of keys that are ranks are ever drawn.
    pub(super) fn plain(&self) -> bool {
        let single = self.scan_ratio == 0.0 && self.insert_ratio == 0.0;
        let free = self.read_only_share == 0.0 && self.reader_workers == 0;
        single && free && !self.latest && !self.hashed_keys
    }

    /// Returns the length of a row in bytes.
    pub(super) fn row_bytes(&self) -> usize {
        (self.fields * self.field_bytes) as usize
    }

    /// Returns the index that the table uses.
    pub(super) fn chosen_index(&self) -> IndexChoice {
        match self.index {
            IndexChoice::Hash if self.scan_ratio > 0.0 => IndexChoice::BTree,
            index => index,
        }
    }
}
