//! What can be set, and the papers' settings by name.

use crate::index_choice::IndexChoice;
use crate::options::{self, OptionError, OptionValue};
use txn::MAX_COLUMNS;

/// The longest field, in bytes.
const MAX_FIELD_BYTES: u64 = 1 << 16;

/// The most partitions.
const MAX_PARTITIONS: u64 = 65_536;

/// The most rows of a scan.
const MAX_SCAN: u64 = 1 << 20;

/// The most workers that read.
const MAX_WORKERS: u64 = 65_536;

/// Settings that have a name, and what they are: the workloads A to F of Cooper et al., and what "Staring into the
/// Abyss" (3.3 and 5.1) calls read-only, medium and high contention.
pub const PRESETS: [(&str, &str); 9] = [
    ("a", "half reads, half updates"),
    ("b", "95 % reads, 5 % updates"),
    ("c", "reads only"),
    ("d", "95 % reads of the latest rows, 5 % inserts"),
    ("e", "95 % scans of up to 100 rows, 5 % inserts"),
    ("f", "half reads, half read-modify-writes"),
    ("abyss-read-only", "20M rows, uniform, reads only"),
    ("abyss-medium", "20M rows, theta 0.6, half updates"),
    ("abyss-high", "20M rows, theta 0.8, half updates"),
];

/// All that can be set. [`Ycsb::new`](super::Ycsb::new) checks it.
#[derive(Clone, Debug, PartialEq)]
pub struct YcsbOptions {
    /// Rows of the table.
    pub records: u64,
    /// Fields of a row.
    pub fields: u64,
    /// Length of a field, in bytes.
    pub field_bytes: u64,
    /// Skew of the keys, from 0 (uniform) to less than 1.
    pub theta: f64,
    /// Share of the accesses that are scans, from 0 to 1. If there are any, the table is ordered.
    pub scan_ratio: f64,
    /// Share of the accesses that insert a row, from 0 to 1.
    pub insert_ratio: f64,
    /// Share of the accesses that are neither scans nor inserts that are reads, from 0 to 1; the others are
    /// updates.
    pub read_ratio: f64,
    /// The most rows of a scan.
    pub scan_length: u64,
    /// Skew of the scans' lengths towards one row, from 0 (uniform) to less than 1.
    pub scan_theta: f64,
    /// A read or a scan copies all fields of a row; else one.
    pub all_fields: bool,
    /// The hottest rows are those that the worker inserted last.
    pub latest: bool,
    /// Keys lie in the table in no order: inserted rows and hot rows are spread over all of it.
    pub hashed_keys: bool,
    /// Accesses of a transaction.
    pub accesses: u64,
    /// An update reads the field first, and writes what it makes of it.
    pub read_modify_write: bool,
    /// An update adds to the field, whatever is in it: fields are integers then.
    pub add: bool,
    /// A transaction's keys differ from each other.
    pub distinct: bool,
    /// Partitions of the table.
    pub partitions: u64,
    /// Share of the transactions that access several partitions, from 0 to 1.
    pub multi_partition_share: f64,
    /// Partitions that such a transaction accesses.
    pub partitions_per_transaction: u64,
    /// A worker's transactions have the same first partition; else it is drawn.
    pub local_partition: bool,
    /// A transaction accesses its keys in ascending order (Abyss 4.2, figure 4).
    pub key_order: bool,
    /// All keys are announced before the first is accessed, so that cache misses overlap.
    pub prefetch: bool,
    /// Transactions that drew no update are declared read-only at begin. DBx1000 declares nothing.
    pub declare_read_only: bool,
    /// Share of the transactions that only read, and are declared to, from 0 to 1.
    pub read_only_share: f64,
    /// If not zero: so many workers only read and declare it, the others only write.
    pub reader_workers: u64,
    /// How rows are found. Where there are scans, a B+tree takes the place of a hash index.
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
            key_order: false,
            prefetch: true,
            declare_read_only: false,
            read_only_share: 0.0,
            reader_workers: 0,
            index: IndexChoice::Hash,
        }
    }
}

impl YcsbOptions {
    /// Says which option is wrong, if one is.
    pub fn validate(&self) -> Result<(), OptionError> {
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
        options::integer("partitions", self.partitions, 1, self.records.min(MAX_PARTITIONS))?;
        options::ratio("multi-partition-share", self.multi_partition_share)?;
        let most = if self.multi_partition_share > 0.0 { self.partitions } else { MAX_PARTITIONS };
        let asked = self.partitions_per_transaction;
        options::integer("partitions-per-transaction", asked, 1, most)?;
        if self.distinct {
            let rows = self.records / self.partitions;
            let option = if self.partitions == 1 { "records" } else { "records / partitions" };
            options::enough_rows(self.accesses, rows, option)?;
        }
        options::ratio("read-only-share", self.read_only_share)?;
        options::integer("reader-workers", self.reader_workers, 0, MAX_WORKERS)?;
        self.validate_together()
    }

    /// Says which two options exclude each other, if two do.
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
        off_unless(self.latest, "latest", self.partitions == 1, "one partition")?;
        let spread = self.partitions == 1 && self.scan_ratio > 0.0;
        off_unless(self.hashed_keys, "hashed-keys", spread, "one partition and scans")?;
        let shared = self.read_only_share > 0.0;
        let unbound = self.reader_workers == 0;
        if !single && self.index == IndexChoice::Perfect {
            return Err(OptionError {
                option: "index",
                given: self.index.to_string(),
                allowed: "hash, btree, rbtree with scans or inserts".into(),
            });
        }
        off_unless(shared, "read-only-share", unbound, "reader-workers of 0")
    }

    /// True when all that is ever drawn are reads and updates of keys that are ranks.
    pub(super) fn plain(&self) -> bool {
        let single = self.scan_ratio == 0.0 && self.insert_ratio == 0.0;
        let free = self.read_only_share == 0.0 && self.reader_workers == 0;
        single && free && !self.latest && !self.hashed_keys
    }

    /// Bytes of a row.
    pub(super) fn row_bytes(&self) -> usize {
        (self.fields * self.field_bytes) as usize
    }

    /// The index that the table gets.
    pub(super) fn chosen_index(&self) -> IndexChoice {
        match self.index {
            IndexChoice::Hash if self.scan_ratio > 0.0 => IndexChoice::BTree,
            index => index,
        }
    }

    /// The settings called `name`, one of [`PRESETS`].
    pub fn preset(name: &str) -> Option<YcsbOptions> {
        let cloud =
            YcsbOptions { theta: 0.99, accesses: 1, all_fields: true, ..YcsbOptions::default() };
        let abyss = |theta, read_ratio| YcsbOptions {
            records: 20_000_000,
            theta,
            read_ratio,
            ..YcsbOptions::default()
        };
        Some(match name {
            "a" => YcsbOptions { read_ratio: 0.5, ..cloud },
            "b" => YcsbOptions { read_ratio: 0.95, ..cloud },
            "c" => cloud,
            "d" => YcsbOptions { insert_ratio: 0.05, latest: true, ..cloud },
            "e" => YcsbOptions { scan_ratio: 0.95, insert_ratio: 0.05, hashed_keys: true, ..cloud },
            "f" => YcsbOptions { read_ratio: 0.5, read_modify_write: true, ..cloud },
            "abyss-read-only" => abyss(0.0, 1.0),
            "abyss-medium" => abyss(0.6, 0.5),
            "abyss-high" => abyss(0.8, 0.5),
            _ => return None,
        })
    }

    /// Names (as on the command line) and values, for a run's record.
    pub fn list(&self) -> Vec<(&'static str, OptionValue)> {
        vec![
            ("records", OptionValue::Integer(self.records)),
            ("fields", OptionValue::Integer(self.fields)),
            ("field-bytes", OptionValue::Integer(self.field_bytes)),
            ("theta", OptionValue::Number(self.theta)),
            ("scan-ratio", OptionValue::Number(self.scan_ratio)),
            ("insert-ratio", OptionValue::Number(self.insert_ratio)),
            ("read-ratio", OptionValue::Number(self.read_ratio)),
            ("scan-length", OptionValue::Integer(self.scan_length)),
            ("scan-theta", OptionValue::Number(self.scan_theta)),
            ("all-fields", OptionValue::Flag(self.all_fields)),
            ("latest", OptionValue::Flag(self.latest)),
            ("hashed-keys", OptionValue::Flag(self.hashed_keys)),
            ("accesses", OptionValue::Integer(self.accesses)),
            ("read-modify-write", OptionValue::Flag(self.read_modify_write)),
            ("add", OptionValue::Flag(self.add)),
            ("distinct", OptionValue::Flag(self.distinct)),
            ("partitions", OptionValue::Integer(self.partitions)),
            ("multi-partition-share", OptionValue::Number(self.multi_partition_share)),
            ("partitions-per-transaction", OptionValue::Integer(self.partitions_per_transaction)),
            ("local-partition", OptionValue::Flag(self.local_partition)),
            ("key-order", OptionValue::Flag(self.key_order)),
            ("prefetch", OptionValue::Flag(self.prefetch)),
            ("declare-read-only", OptionValue::Flag(self.declare_read_only)),
            ("read-only-share", OptionValue::Number(self.read_only_share)),
            ("reader-workers", OptionValue::Integer(self.reader_workers)),
            self.index.listed(),
        ]
    }
}
