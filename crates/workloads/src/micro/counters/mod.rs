//! Counters, pairs and tokens: a workload in which protocol errors break a law permanently.
//!
//! This workload serves tests and the explorer. Every write depends on values that were read, so a lost
//! update, doubled write or dirty write changes a sum for good. It follows no paper. The pairs are the bank
//! of many isolation tests.
//!
//! # Tables
//! - `counters0`, `counters1`, ...: counter `i` of [`CountersOptions::counters`] is row `i / tables` of table
//!   `i % tables`. With more than one table, equal keys in different tables are different records, which lock
//!   orders tend to ignore. A row has two columns, `count` and `balance`, and no procedure writes both. An
//!   engine that installs whole rows from stale copies damages the other column.
//! - `ledger`: the amount that each worker added to counters (for cases where the number of commits doesn't
//!   determine it), and the number of broken laws seen.
//! - With [`CountersOptions::split_columns`] the two columns of a row are its two parts, and a token is
//!   stored in both.
//! - `tokens`: exactly [`CountersOptions::tokens`] rows at keys below `counters`.
//!
//! # Procedures
//! | kind | does | law |
//! | --- | --- | --- |
//! | increment | adds 1 to `accesses` counters | the counts add up to the committed increments |
//! | transfer | moves an amount within the pair of counters (2i, 2i + 1) | every pair keeps its total |
//! | sum | reads pairs, declared read-only | every pair read has its total |
//! | move | moves a token to a key without one: delete and insert | no token is lost, doubled or changed |
//!
//! # Broken laws seen by a transaction
//! An optimistic transaction may see inconsistent data as long as it does not commit. So an observation
//! counts as evidence only through a write of the same transaction into the ledger. A read-only transaction
//! cannot write. Its client reports the observation with the next procedure, which is drawn only after the
//! first is over.

mod client;
mod law;
mod variation;

pub use client::{CountersClient, KIND_NAMES};

use crate::distinct::KeyDraw;
use crate::index_choice::IndexChoice;
use crate::options::{self, OptionError, OptionOf, Options, option};
use crate::registry::Listed;
use crate::variation::explored;
use crate::zipf::Zipf;
use txn::{
    Column, ColumnSet, ColumnType, Conservation, Loader, Partitioning, Schema, TableId,
    TableSchema, Workload,
};

/// Sum of the balances of a pair.
pub const PAIR_TOTAL: i64 = 1000;

/// Number of rows of the ledger. Workers beyond this number share rows.
const LEDGER_ROWS: u64 = 64;

/// Largest number of tables that counters can be spread over.
const MAX_TABLES: u64 = 8;

const COUNT: ColumnSet = ColumnSet::one(0);
const BALANCE: ColumnSet = ColumnSet::one(1);
const ADDED: ColumnSet = ColumnSet::one(0);
const BROKEN: ColumnSet = ColumnSet::one(1);
const TOKEN: ColumnSet = ColumnSet::one(0);
/// Second copy of the token, if rows have hot columns.
const TWIN: ColumnSet = ColumnSet::one(1);

/// Options of the workload. [`Counters::new`] validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct CountersOptions {
    /// Number of counters.
    pub counters: u64,
    /// Number of tables that the counters are spread over.
    pub tables: u64,
    /// Number of counters of an increment or of a sum.
    pub accesses: u64,
    /// Skew of the key choice, from 0 (uniform) to less than 1.
    pub theta: f64,
    /// Set if an increment's counters are distinct. Otherwise a transaction can add to the same counter
    /// twice.
    pub distinct: bool,
    /// Set if rows are accessed in ascending order of table and key. Exceptions are the rows of a sum over
    /// several tables, and the ledger row that a move writes if it sees a broken law.
    pub key_order: bool,
    /// Set if a row is first read with a plain read and then updated, so that a locking protocol has to
    /// upgrade its lock.
    pub lock_upgrade: bool,
    /// Share of the procedures that are transfers.
    pub transfers: f64,
    /// Share of the procedures that are sums.
    pub sums: f64,
    /// Share of the procedures that are moves. The remaining share is increments.
    pub moves: f64,
    /// Number of tokens, if there are moves.
    pub tokens: u64,
    /// Share of the increments, transfers and moves that are rolled back half way. Rollbacks break no law.
    pub rollbacks: f64,
    /// Number of partitions of every table, by key.
    pub partitions: u64,
    /// Set if a row's second column has concurrency-control words of its own. A token is then stored in two
    /// columns.
    pub split_columns: bool,
    /// Index by which the rows of every table are found.
    pub index: IndexChoice,
}

impl Default for CountersOptions {
    fn default() -> CountersOptions {
        CountersOptions {
            counters: 64,
            tables: 1,
            accesses: 2,
            theta: 0.0,
            distinct: true,
            key_order: false,
            lock_upgrade: false,
            transfers: 0.0,
            sums: 0.0,
            moves: 0.0,
            tokens: 0,
            rollbacks: 0.0,
            partitions: 1,
            split_columns: false,
            index: IndexChoice::Hash,
        }
    }
}

impl Options for CountersOptions {
    const OPTIONS: &'static [OptionOf<CountersOptions>] = &[
        option("counters", "How many counters there are", |o| &mut o.counters),
        option("tables", "Tables that they are spread over", |o| &mut o.tables),
        option("accesses", "Counters of an increment or of a sum", |o| &mut o.accesses),
        option("theta", "Skew of the choice, from 0 (uniform) to less than 1", |o| &mut o.theta),
        option("no-distinct", "An increment may add to a counter twice", |o| &mut o.distinct),
        option("key-order", "Rows are accessed in ascending order of table and key", |o| {
            &mut o.key_order
        }),
        option(
            "lock-upgrade",
            "Read plainly, then update: a locking protocol has to upgrade its lock",
            |o| &mut o.lock_upgrade,
        ),
        option("transfers", "Share of the procedures that are transfers", |o| &mut o.transfers),
        option("sums", "Share of the procedures that are sums", |o| &mut o.sums),
        option(
            "moves",
            "Share of the procedures that are moves; what the shares leave are increments",
            |o| &mut o.moves,
        ),
        option("tokens", "Tokens, when there are moves", |o| &mut o.tokens),
        option(
            "rollbacks",
            "Share of the increments, transfers and moves that are rolled back half way",
            |o| &mut o.rollbacks,
        ),
        option("partitions", "Partitions of every table, by key modulo their number", |o| {
            &mut o.partitions
        }),
        option(
            "split-columns",
            "A row's second column has words of concurrency control of its own (timestamp splitting)",
            |o| &mut o.split_columns,
        ),
        option("index", "How rows are found: hash, perfect, btree, rbtree", |o| &mut o.index),
    ];
    const COMPARED: &'static str = "--counters 4096";

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("counters", self.counters, 1, options::MAX_ROWS)?;
        options::integer("tables", self.tables, 1, MAX_TABLES.min(self.counters))?;
        options::integer("accesses", self.accesses, 1, options::MAX_ACCESSES)?;
        options::theta(self.theta)?;
        options::ratio("transfers", self.transfers)?;
        options::ratio("sums", self.sums)?;
        options::ratio("moves", self.moves)?;
        options::ratio("rollbacks", self.rollbacks)?;
        options::integer("partitions", self.partitions, 1, options::MAX_ROWS)?;
        if self.increments() < 0.0 {
            return Err(OptionError {
                option: "transfers + sums + moves",
                given: (self.transfers + self.sums + self.moves).to_string(),
                allowed: "0 to 1 together".into(),
            });
        }
        if self.distinct {
            options::enough_rows(self.accesses, self.counters, "counters")?;
        }
        if (self.transfers > 0.0 || self.sums > 0.0) && !self.counters.is_multiple_of(2) {
            return Err(OptionError {
                option: "counters",
                given: self.counters.to_string(),
                allowed: "even numbers while there are transfers or sums (they work on pairs)"
                    .into(),
            });
        }
        let ordered = matches!(self.index, IndexChoice::BTree | IndexChoice::RedBlack);
        if self.split_columns && ordered {
            return Err(OptionError {
                option: "split-columns",
                given: "on".into(),
                allowed: "off, or on with index hash or perfect".into(),
            });
        }
        if self.moves > 0.0 {
            let error = |option, given: u64, allowed: &str| {
                Err(OptionError { option, given: given.to_string(), allowed: allowed.into() })
            };
            if self.counters < 2 {
                return error("counters", self.counters, "2 and more while there are moves");
            }
            if self.tokens == 0 || self.tokens >= self.counters {
                let allowed = format!("1 to {} (fewer than counters)", self.counters - 1);
                return error("tokens", self.tokens, &allowed);
            }
        }
        Ok(())
    }
}

impl CountersOptions {
    /// Returns options for exploration: few counters, two tables, and a quarter of each kind of procedure.
    pub fn mixed() -> CountersOptions {
        CountersOptions {
            counters: 8,
            tables: 2,
            accesses: 4,
            transfers: 0.25,
            sums: 0.25,
            moves: 0.25,
            tokens: 4,
            ..CountersOptions::default()
        }
    }

    /// Returns the share of increments. Three shares such as 0.1 + 0.2 + 0.7 can miss 1 by rounding.
    fn increments(&self) -> f64 {
        let rest = 1.0 - self.transfers - self.sums - self.moves;
        if rest.abs() < 1e-9 { 0.0 } else { rest }
    }

    /// Returns the shares of increments, transfers, sums and moves.
    fn shares(&self) -> [f64; 4] {
        [self.increments(), self.transfers, self.sums, self.moves]
    }

    /// Returns true if only increments run. The number of commits then determines the counts.
    fn only_increments(&self) -> bool {
        self.transfers == 0.0 && self.sums == 0.0 && self.moves == 0.0
    }

    fn ledger(&self) -> TableId {
        TableId(self.tables as u16)
    }

    fn token_table(&self) -> TableId {
        TableId(self.tables as u16 + 1)
    }

    /// Returns the table and key of a counter.
    fn place(&self, counter: u64) -> (TableId, u64) {
        (TableId((counter % self.tables) as u16), counter / self.tables)
    }

    /// Returns the columns that have concurrency-control words of their own.
    fn hot_columns(&self) -> ColumnSet {
        if self.split_columns { ColumnSet::one(1) } else { ColumnSet::NONE }
    }

    /// Returns the number of columns of a token.
    fn token_words(&self) -> usize {
        if self.split_columns { 2 } else { 1 }
    }

    fn partitioning(&self) -> Partitioning {
        Partitioning::Modulo { partitions: self.partitions }
    }

    /// Returns the number of rows of counter table number `table`.
    fn counters_in(&self, table: u64) -> u64 {
        (self.counters - table).div_ceil(self.tables)
    }
}

/// The workload.
#[derive(Clone, Debug)]
pub struct Counters {
    options: CountersOptions,
    /// Distribution over all counters.
    each: Zipf,
    /// Distribution over all pairs.
    pairs: Zipf,
}

impl Counters {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: CountersOptions) -> Result<Counters, OptionError> {
        options.validate()?;
        let each = Zipf::new(options.counters, options.theta);
        let pairs = Zipf::new((options.counters / 2).max(1), options.theta);
        Ok(Counters { options, each, pairs })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &CountersOptions {
        &self.options
    }
}

impl Listed for Counters {
    type Options = CountersOptions;
    const NAME: &'static str = "counters";
    const SUMMARY: &'static str =
        "increments, transfers, sums and moves under laws that a wrong protocol breaks";
    const SOURCE: &'static str = "ours; it is what the explorer runs";
    const PARTITIONED_BY: Option<&'static str> = Some("partitions");
    const EXAMPLES: &'static [&'static str] = &["--cc NO_WAIT --counters 64 --transfers 0.5"];

    explored! {
        Self::SUMMARY,
        "--cc SILO",
        Self::varied,
        KEY_ORDER: Self::varied_in_order,
        ROLLBACKS: Self::varied_rolled_back,
        BYTE_KEYS: Self::varied_spelled,
    }

    fn with(options: Self::Options) -> Result<Counters, OptionError> {
        Counters::new(options)
    }
}

impl Workload for Counters {
    type Client = CountersClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());

    fn schema(&self) -> Schema {
        let table = |name: String, columns: [&str; 2]| {
            let columns = columns.map(|c| Column::new(c, ColumnType::I64)).to_vec();
            TableSchema::new(name, columns).with_hot_columns(self.options.hot_columns())
        };
        let mut tables: Vec<_> = (0..self.options.tables)
            .map(|i| table(format!("counters{i}"), ["count", "balance"]))
            .collect();
        tables.push(table("ledger".into(), ["added", "broken"]));
        if self.options.moves > 0.0 {
            let names = ["token", "twin"].iter().take(self.options.token_words());
            let columns = names.map(|name| Column::new(*name, ColumnType::I64)).collect();
            tables.push(
                TableSchema::new("tokens", columns).with_hot_columns(self.options.hot_columns()),
            );
        }
        let partitioning = self.options.partitioning();
        let indexed = |(at, table): (usize, TableSchema)| {
            self.options.index.of(table.partitioned(partitioning), self.rows(TableId(at as u16)))
        };
        let tables = tables.into_iter().enumerate().map(indexed).collect();
        Schema { tables }
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KIND_NAMES
    }

    fn rows(&self, table: TableId) -> u64 {
        if table == self.options.ledger() {
            LEDGER_ROWS
        } else if table == self.options.token_table() {
            // Inserted rows take the places of deleted rows, but with a delay.
            self.options.counters
        } else {
            self.options.counters_in(u64::from(table.0))
        }
    }

    fn load(&self, loader: &mut dyn Loader) {
        let options = &self.options;
        for table in 0..options.tables {
            loader.load_dense(TableId(table as u16), options.counters_in(table), &|key, row| {
                let counter = key * options.tables + table;
                let balance = if counter.is_multiple_of(2) { PAIR_TOTAL } else { 0 };
                row[8..16].copy_from_slice(&balance.to_le_bytes());
            });
        }
        loader.load_dense(options.ledger(), LEDGER_ROWS, &|_, _| {});
        if options.moves > 0.0 {
            loader.load_dense(options.token_table(), options.tokens, &|key, row| {
                for word in row.chunks_mut(8) {
                    word.copy_from_slice(&law::token(key).to_le_bytes());
                }
            });
        }
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> CountersClient {
        let accesses = self.options.accesses as usize;
        let each = KeyDraw::new(self.each.clone(), accesses, self.options.distinct);
        // A move needs two distinct places even if increments allow duplicates. A sum never reads a pair
        // twice.
        let places = KeyDraw::new(self.each.clone(), 2, true);
        let pairs = KeyDraw::new(self.pairs.clone(), accesses, true);
        CountersClient::new(self.options.clone(), each, places, pairs, worker, seed)
    }

    fn conservation(&self) -> Option<Conservation> {
        let options = self.options.clone();
        Some(Box::new(move |access, committed| law::check(&options, access, committed)))
    }

    fn in_key_order(&self) -> bool {
        let options = &self.options;
        let sums = options.sums == 0.0 || options.tables == 1;
        // If rows have hot columns, the second part of a row comes after the first part of the next row.
        let whole = !options.split_columns;
        whole && options.key_order && !options.lock_upgrade && sums && options.moves == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(change: impl Fn(&mut CountersOptions)) -> String {
        let mut options = CountersOptions::mixed();
        change(&mut options);
        Counters::new(options).unwrap_err().to_string()
    }

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        assert_eq!(error(|o| o.theta = 1.0), "theta is 1; allowed: at least 0 and less than 1");
        assert!(error(|o| o.counters = 0).starts_with("counters is 0; allowed: 1 to "));
        assert!(error(|o| o.counters = 9).starts_with("counters is 9; allowed: even numbers"));
        assert_eq!(error(|o| o.tables = 9), "tables is 9; allowed: 1 to 8");
        assert!(error(|o| o.accesses = 9).contains("accesses is 9; allowed: 1 to counters (8)"));
        assert_eq!(error(|o| o.sums = -0.5), "sums is -0.5; allowed: 0 to 1");
        assert!(error(|o| o.moves = 0.75).starts_with("transfers + sums + moves is 1.25"));
        assert_eq!(error(|o| o.tokens = 8), "tokens is 8; allowed: 1 to 7 (fewer than counters)");
    }

    #[test]
    fn shares_that_add_up_to_one_but_for_rounding_are_accepted() {
        let options =
            CountersOptions { transfers: 0.1, sums: 0.2, moves: 0.7, ..CountersOptions::mixed() };
        assert!(Counters::new(options).is_ok());
    }

    #[test]
    fn every_counter_has_its_own_place() {
        let options = CountersOptions { counters: 10, tables: 3, ..CountersOptions::default() };
        let mut places: Vec<_> = (0..10).map(|c| options.place(c)).collect();
        for (table, key) in &places {
            assert!(*key < options.counters_in(u64::from(table.0)));
        }
        places.sort();
        places.dedup();
        assert_eq!(places.len(), 10);
        assert_eq!((0..3).map(|t| options.counters_in(t)).sum::<u64>(), 10);
    }
}
