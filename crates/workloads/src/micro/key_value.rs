//! Keys and values: a number of random rows of a table with two columns.
//!
//! Source: "Micro-architectural analysis of in-memory OLTP: Revisited" (Sirin, Tözün, Porobic, Yasin and
//! Ailamaki, VLDB Journal 2021), section 4. A table holds random keys and values of 8 bytes each, from 1 MB to
//! 100 GB (4.1). A transaction reads or updates 1, 10 or 100 random rows (4.2), each found by its key through
//! an index. In 6.2 both columns are strings of 50 bytes.
//!
//! Deviations:
//! - The keys are the numbers from 0. A hash index spreads them, so it cannot exploit their order. No row
//!   comes twice in a transaction.
//! - Only values can be strings: keys are 64-bit numbers so far.
//! - A size counts only keys and values. The two large sizes fit only into a simulated machine's memory.
//! - An update reads a number at the beginning of the value, increments it, and writes the whole value.

use super::row_set::{RowSet, TABLE, law};
use crate::distinct::KeyDraw;
use crate::options::{self, Bundle, OptionError, OptionOf, Options, bundle, option};
use crate::registry::Listed;
use crate::stream::Stream;
use crate::variation::explored;
use crate::zipf::Zipf;
use txn::{
    Abort, Access, Client, Column, ColumnType, Conservation, Loader, Planned, Schema, TableId,
    TableSchema, Workload,
};

/// Length in bytes of a key, and of a value that is a number.
const NUMBER_BYTES: u64 = 8;

/// Length in bytes of a value that is a string.
const STRING_BYTES: u64 = 50;

/// Options of the workload. [`KeyValue::new`] validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValueOptions {
    /// Number of rows of the table.
    pub records: u64,
    /// Number of rows that a transaction accesses.
    pub accesses: u64,
    /// Set if rows are updated. Otherwise they are read.
    pub updates: bool,
    /// Set if values are strings of 50 bytes. Otherwise they are numbers.
    pub strings: bool,
}

impl Default for KeyValueOptions {
    fn default() -> KeyValueOptions {
        KeyValueOptions { records: 1_000_000, accesses: 1, updates: false, strings: false }
    }
}

impl Options for KeyValueOptions {
    const OPTIONS: &'static [OptionOf<KeyValueOptions>] = &[
        option("records", "Rows of the table", |o| &mut o.records),
        option("accesses", "Rows of a transaction", |o| &mut o.accesses),
        option("updates", "Update the rows; else they are read", |o| &mut o.updates),
        option("strings", "Values are strings of 50 bytes; else numbers of 8", |o| &mut o.strings),
    ];
    // Sizes follow section 4.1, rows of a transaction section 4.2. A pair takes 16 bytes.
    const PRESETS: &'static [Bundle] = &[
        bundle("1mb", "one read of 1 MB", "--records 62500"),
        bundle("10mb", "one read of 10 MB", "--records 625k"),
        bundle("10gb", "one read of 10 GB", "--records 625M"),
        bundle("100gb", "one read of 100 GB", "--records 6250M"),
        bundle("10-rows", "ten reads of 100 GB", "--records 6250M --accesses 10"),
        bundle("100-rows", "a hundred reads of 100 GB", "--records 6250M --accesses 100"),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("records", self.records, 1, options::MAX_ROWS)?;
        options::integer("accesses", self.accesses, 1, options::MAX_ACCESSES)?;
        options::enough_rows(self.accesses, self.records, "records")
    }
}

impl KeyValueOptions {
    fn value_bytes(&self) -> u64 {
        if self.strings { STRING_BYTES } else { NUMBER_BYTES }
    }
}

/// The workload.
#[derive(Clone, Debug)]
pub struct KeyValue {
    options: KeyValueOptions,
}

impl KeyValue {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: KeyValueOptions) -> Result<KeyValue, OptionError> {
        options.validate()?;
        Ok(KeyValue { options })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &KeyValueOptions {
        &self.options
    }

    /// Returns a few pairs that are all updated and counted. Their values are numbers or strings.
    pub fn varied(seed: u64) -> KeyValue {
        let options = KeyValueOptions {
            records: if seed.is_multiple_of(3) { 3 } else { 6 },
            accesses: if (seed / 16).is_multiple_of(2) { 2 } else { 3 },
            updates: true,
            strings: (seed / 32).is_multiple_of(2),
        };
        KeyValue::new(options).expect("good for every seed")
    }
}

impl Listed for KeyValue {
    type Options = KeyValueOptions;
    const NAME: &'static str = "key-value";
    const SUMMARY: &'static str = "1, 10 or 100 random rows of a table of keys and values";
    const SOURCE: &'static str = "In-memory OLTP: Revisited (VLDB Journal 2021), 4 and 6.2";
    const EXAMPLES: &'static [&'static str] = &["--cc SILO --preset 10mb --accesses 10"];

    explored! {
        "keys and values whose updates must all be there",
        "--cc OCC",
        Self::varied,
    }

    fn with(options: Self::Options) -> Result<KeyValue, OptionError> {
        KeyValue::new(options)
    }
}

impl Workload for KeyValue {
    type Client = KeyValueClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());

    fn schema(&self) -> Schema {
        let kind = match self.options.strings {
            true => ColumnType::Bytes(STRING_BYTES as u32),
            false => ColumnType::U64,
        };
        Schema { tables: vec![TableSchema::new("pairs", vec![Column::new("value", kind)])] }
    }

    fn rows(&self, _table: TableId) -> u64 {
        self.options.records
    }

    fn load(&self, loader: &mut dyn Loader) {
        loader.load_dense(TABLE, self.options.records, &|_, _| {});
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> KeyValueClient {
        let options = self.options.clone();
        let accesses = options.accesses as usize;
        KeyValueClient {
            stream: Stream::of_worker(seed, worker),
            draw: KeyDraw::new(Zipf::new(options.records, 0.0), accesses, true),
            rows: RowSet::new(options.updates, 1, options.value_bytes() as usize),
            options,
        }
    }

    fn conservation(&self) -> Option<Conservation> {
        let KeyValueOptions { records, accesses, updates, .. } = self.options;
        let bytes = self.options.value_bytes() as usize;
        Some(Box::new(move |access, committed| {
            law(access, records, bytes, if updates { committed * accesses } else { 0 })
        }))
    }
}

/// One worker's stream of transactions.
#[derive(Clone, Debug)]
pub struct KeyValueClient {
    options: KeyValueOptions,
    stream: Stream,
    draw: KeyDraw,
    rows: RowSet,
}

impl KeyValueClient {
    /// Returns the keys of the drawn transaction, in access order.
    pub fn keys(&self) -> &[u64] {
        &self.rows.keys
    }

    /// Returns a digest of everything read so far, including aborted attempts.
    pub fn checksum(&self) -> u64 {
        self.rows.checksum()
    }
}

impl Client for KeyValueClient {
    fn next(&mut self) {
        let accesses = self.options.accesses as usize;
        self.draw.fill(&mut self.rows.keys, accesses, &mut self.stream);
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        self.rows.run(access)
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        out.push(0);
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        self.rows.plan(out);
    }

    fn read_only(&self) -> bool {
        !self.options.updates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_as_large_as_they_say() {
        let bytes = |name| KeyValueOptions::preset(name).unwrap().records * 16;
        assert_eq!([bytes("1mb"), bytes("100gb")], [1_000_000, 100_000_000_000]);
    }

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |records, accesses| {
            let options = KeyValueOptions { records, accesses, ..KeyValueOptions::default() };
            KeyValue::new(options).unwrap_err().to_string()
        };
        assert!(error(0, 1).starts_with("records is 0; allowed: 1 to "));
        assert!(error(9, 10).starts_with("accesses is 10; allowed: 1 to records (9)"));
    }
}
