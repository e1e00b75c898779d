//! Ranges: transactions that scan, and decide by the rows that are present or absent.
//!
//! This workload serves tests and the explorer. The writes of a transaction depend on the rows of a range, or
//! on the range being empty. So a phantom in a scanned range breaks a law. It follows no paper. The claims
//! are the meeting room that is booked twice in every discussion of phantoms.
//!
//! # Tables, all but the last in key order
//! - `weights`: rows at some of the keys below [`RangesOptions::keys`], whose weights add up to the loaded
//!   total. Rows come and go as weight moves.
//! - `claims`: [`RangesOptions::slots`] ranges of [`RangesOptions::width`] keys, with at most one row in
//!   each.
//! - `queue`: consecutive keys that only grow, at least one.
//! - `ledger`: the number of broken laws seen by each kind of procedure, a row for each worker.
//!
//! # Procedures
//! | kind | does | law |
//! | --- | --- | --- |
//! | shift | scans a small range, moves weight from one row of it to a key inside or outside of it, scans again | the second scan sees the own writes and no other change |
//! | sum | scans all weights in both directions, declared read-only | they add up to the loaded total |
//! | claim | inserts a row into a range without rows, deletes the row of a range with one | never two rows |
//! | turn | appends the next key to the queue, or removes the first if there are more | no gaps |
//!
//! Broken laws that a transaction sees are reported as with [counters](super::counters).

mod client;
mod law;
mod variation;

pub use client::{KIND_NAMES, RangesClient};

use super::ledger::{self, Ledger};
use crate::index_choice::IndexChoice;
use crate::options::{self, OptionError, OptionOf, Options, option};
use crate::registry::Listed;
use crate::variation::explored;
use txn::{
    Column, ColumnSet, ColumnType, Conservation, Loader, Schema, TableId, TableSchema, Workload,
};

const WEIGHTS: TableId = TableId(0);
const CLAIMS: TableId = TableId(1);
const QUEUE: TableId = TableId(2);
/// The ledger, with a column for each kind of procedure that checks laws.
const LEDGER: Ledger = Ledger { table: TableId(3), laws: &["shift", "sum", "claim", "turn"] };

/// The only column of every table except the ledger.
const VALUE: ColumnSet = ColumnSet::one(0);

/// Weight of a row when it is loaded.
const WEIGHT: i64 = 3;

/// Options of the workload. [`Ranges::new`] validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct RangesOptions {
    /// Number of keys of the weights. Every other key is loaded.
    pub keys: u64,
    /// Number of keys in the range of a shift.
    pub span: u64,
    /// Number of ranges that can be claimed.
    pub slots: u64,
    /// Number of keys in each of them.
    pub width: u64,
    /// Number of rows of the queue when it is loaded.
    pub queued: u64,
    /// Share of the procedures that are sums.
    pub sums: f64,
    /// Share of the procedures that are claims.
    pub claims: f64,
    /// Share of the procedures that are turns of the queue. The remaining share is shifts.
    pub turns: f64,
    /// Index by which the rows of the ordered tables are found.
    pub index: IndexChoice,
}

impl Default for RangesOptions {
    fn default() -> RangesOptions {
        RangesOptions {
            keys: 4096,
            span: 16,
            slots: 256,
            width: 4,
            queued: 64,
            sums: 0.0,
            claims: 0.25,
            turns: 0.05,
            index: IndexChoice::BTree,
        }
    }
}

impl Options for RangesOptions {
    const OPTIONS: &'static [OptionOf<RangesOptions>] = &[
        option("keys", "Keys of the weights, of which every other one is loaded", |o| &mut o.keys),
        option("span", "Keys in the range of a shift", |o| &mut o.span),
        option("slots", "Ranges to be claimed", |o| &mut o.slots),
        option("width", "Keys in each of them", |o| &mut o.width),
        option("queued", "Rows of the queue when it is loaded", |o| &mut o.queued),
        option("sums", "Share of the procedures that scan all weights, twice", |o| &mut o.sums),
        option("claims", "Share of the procedures that claim a range, or give it back", |o| {
            &mut o.claims
        }),
        option(
            "turns",
            "Share of the procedures that take from the queue or add to it; what the shares leave are shifts",
            |o| &mut o.turns,
        ),
        option("index", "How rows are found: btree, rbtree", |o| &mut o.index),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("keys", self.keys, 2, options::MAX_ROWS)?;
        options::integer("span", self.span, 1, options::MAX_ACCESSES)?;
        options::at_most("span", self.span, 1, ("keys", self.keys))?;
        options::integer("slots", self.slots, 1, options::MAX_ROWS)?;
        options::integer("width", self.width, 1, options::MAX_ACCESSES)?;
        options::integer("queued", self.queued, 1, options::MAX_ROWS)?;
        options::ratio("sums", self.sums)?;
        options::ratio("claims", self.claims)?;
        options::ratio("turns", self.turns)?;
        self.index.among(&IndexChoice::ORDERED)?;
        let shares = self.sums + self.claims + self.turns;
        if shares > 1.0 + 1e-9 {
            return Err(OptionError {
                option: "sums + claims + turns",
                given: shares.to_string(),
                allowed: "0 to 1 together".into(),
            });
        }
        Ok(())
    }
}

impl RangesOptions {
    /// Returns options for exploration: few keys, and a quarter of each kind of procedure.
    pub fn mixed() -> RangesOptions {
        RangesOptions {
            keys: 12,
            span: 4,
            slots: 2,
            width: 4,
            queued: 3,
            sums: 0.25,
            claims: 0.25,
            turns: 0.25,
            index: IndexChoice::BTree,
        }
    }

    /// Returns the sum of all weights.
    fn total(&self) -> i64 {
        self.keys.div_ceil(2) as i64 * WEIGHT
    }
}

/// Returns the number that belongs into the queue at `key`.
fn number_at(key: u64) -> i64 {
    (key as i64).wrapping_mul(7) + 1
}

/// The workload.
#[derive(Clone, Debug)]
pub struct Ranges {
    options: RangesOptions,
}

impl Ranges {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: RangesOptions) -> Result<Ranges, OptionError> {
        options.validate()?;
        Ok(Ranges { options })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &RangesOptions {
        &self.options
    }
}

impl Listed for Ranges {
    type Options = RangesOptions;
    const NAME: &'static str = "ranges";
    const SUMMARY: &'static str =
        "scans, and inserts and deletes that depend on them, under laws that a phantom breaks";
    const SOURCE: &'static str = "ours; it is what the explorer runs";
    const EXAMPLES: &'static [&'static str] = &["--cc NO_WAIT --keys 4096 --span 16 --certify"];

    explored! {
        "scans, and what is inserted and deleted by what they found: phantoms break a law",
        "--cc SILO",
        Self::varied,
        BYTE_KEYS: Self::varied_spelled,
    }

    fn with(options: Self::Options) -> Result<Ranges, OptionError> {
        Ranges::new(options)
    }
}

impl Workload for Ranges {
    type Client = RangesClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());
    const COMPILED: bool = false;

    fn schema(&self) -> Schema {
        let table = |name: &str, column: &str| {
            let table = TableSchema::new(name, vec![Column::new(column, ColumnType::I64)]);
            self.options.index.of(table, u64::MAX)
        };
        Schema {
            tables: vec![
                table("weights", "weight"),
                table("claims", "worker"),
                table("queue", "number"),
                LEDGER.schema(),
            ],
        }
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KIND_NAMES
    }

    fn rows(&self, table: TableId) -> u64 {
        match table {
            WEIGHTS => self.options.keys.div_ceil(2),
            CLAIMS => self.options.slots,
            QUEUE => self.options.queued,
            _ => ledger::ROWS,
        }
    }

    fn load(&self, loader: &mut dyn Loader) {
        for key in (0..self.options.keys).step_by(2) {
            loader.load(WEIGHTS, key.into(), &WEIGHT.to_le_bytes());
        }
        for key in 0..self.options.queued {
            loader.load(QUEUE, key.into(), &number_at(key).to_le_bytes());
        }
        LEDGER.load(loader);
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> RangesClient {
        RangesClient::new(self.options.clone(), worker, seed)
    }

    fn conservation(&self) -> Option<Conservation> {
        let options = self.options.clone();
        Some(Box::new(move |access, _| law::check(&options, access)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |change: fn(&mut RangesOptions)| {
            let mut options = RangesOptions::mixed();
            change(&mut options);
            Ranges::new(options).unwrap_err().to_string()
        };
        assert_eq!(error(|o| o.span = 13), "span is 13; allowed: 1 to keys (12)");
        assert_eq!(error(|o| o.turns = 1.5), "turns is 1.5; allowed: 0 to 1");
        assert_eq!(
            error(|o| o.turns = 0.75),
            "sums + claims + turns is 1.25; allowed: 0 to 1 together"
        );
        assert!(Ranges::new(RangesOptions::default()).is_ok());
    }
}
