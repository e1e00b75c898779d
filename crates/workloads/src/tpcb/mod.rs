//! TPC-B: deposits and withdrawals at the tellers of a bank's branches.
//!
//! Source: TPC Benchmark B, Standard Specification, revision 2.0 (1994). It is a benchmark of the hardware
//! islands thesis (Porobic 2016, 3.5.1) and of "Micro-architectural analysis of in-memory OLTP: Revisited"
//! (Sirin et al., VLDB Journal 2021, 5.1). Its only transaction, AccountUpdate (clause 1.2), adds a drawn amount to the balances of an account,
//! of a teller and of the teller's branch, and inserts a row into the history.
//!
//! There are 10 tellers and 100,000 accounts per branch (clause 4.2). Rows have the lengths of clause 3.2:
//! 100 bytes, 50 in the history. The teller is drawn from all tellers. The account belongs to the teller's
//! branch with a probability of 85 %, otherwise to another branch (clause 5.3.5). The amount is drawn from
//! -999,999 to 999,999.
//!
//! # Deviations
//! - An account's first column is its branch, for readers of the table. The key order implies it too.
//! - The time in a history row is the number of the transaction within its worker, because this code may not
//!   read a wall clock.
//! - The thesis's remote transactions update a teller of another branch. Here, as in the specification, they
//!   update an account of another branch.
//! - Atomicity of a transaction is tested by the law instead of clause 2's scripts. There is no durability.
//!
//! A branch with its tellers, its accounts and its history is a partition.
//!
//! The law is stronger than the consistency conditions of clause 2.3.2. Each single balance must be the sum
//! of its amounts in the history, and the history must have a row for each commit.

mod client;
mod law;
mod variation;

pub use client::TpcbClient;

use crate::index_choice::IndexChoice;
use crate::options::{self, OptionError, OptionOf, Options, option};
use crate::registry::Listed;
use crate::variation::explored;
use txn::{
    Column, ColumnSet, ColumnType, Conservation, Loader, Partitioning, Schema, TableId,
    TableSchema, Workload,
};

/// Accounts: branch × accounts of a branch + account.
pub const ACCOUNTS: TableId = TableId(0);
/// The history: about worker × 2^40 + number of the worker's transaction at the branch × branches + branch.
pub const HISTORY: TableId = TableId(1);
/// Tellers: branch × 10 + teller.
pub const TELLERS: TableId = TableId(2);
/// Branches.
pub const BRANCHES: TableId = TableId(3);

/// Number of tellers of a branch.
pub const TELLERS_OF_BRANCH: u64 = 10;

/// Largest absolute amount.
const MOST_AMOUNT: i64 = 999_999;

/// The balance, in every table that has a balance.
const BALANCE: ColumnSet = ColumnSet::one(1);

/// Options of the workload. [`Tpcb::new`] validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct TpcbOptions {
    /// Number of branches.
    pub branches: u64,
    /// Number of accounts of a branch.
    pub accounts: u64,
    /// Share of the transactions whose account belongs to another branch than the teller.
    pub remote: f64,
    /// Number of rows for which the index of the history is sized. Beyond it, rows are slower to find.
    pub history: u64,
    /// Index by which rows are found. It does not apply to the history, whose keys are not dense.
    pub index: IndexChoice,
}

impl Default for TpcbOptions {
    fn default() -> TpcbOptions {
        TpcbOptions {
            branches: 4,
            accounts: 100_000,
            remote: 0.15,
            history: 1_000_000,
            index: IndexChoice::Hash,
        }
    }
}

impl Options for TpcbOptions {
    const OPTIONS: &'static [OptionOf<TpcbOptions>] = &[
        option("branches", "Branches, each with ten tellers", |o| &mut o.branches),
        option("accounts", "Accounts of a branch (specified: 100k)", |o| &mut o.accounts),
        option(
            "remote",
            "Share of the transactions for an account of another branch, 0 to 1 (specified: 0.15)",
            |o| &mut o.remote,
        ),
        option("history-rows", "Rows that the index of the history is made for", |o| {
            &mut o.history
        }),
        option("index", "How rows are found: hash, perfect, btree, rbtree", |o| &mut o.index),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("branches", self.branches, 1, 1 << 20)?;
        options::integer("accounts", self.accounts, 1, options::MAX_ROWS >> 20)?;
        options::ratio("remote", self.remote)?;
        options::integer("history-rows", self.history, 1, options::MAX_ROWS)
    }
}

/// The workload.
#[derive(Clone, Debug)]
pub struct Tpcb {
    options: TpcbOptions,
}

impl Tpcb {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: TpcbOptions) -> Result<Tpcb, OptionError> {
        options.validate()?;
        Ok(Tpcb { options })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &TpcbOptions {
        &self.options
    }
}

impl Listed for Tpcb {
    type Options = TpcbOptions;
    const NAME: &'static str = "tpcb";
    const SUMMARY: &'static str =
        "TPC-B: an account, a teller and a branch get an amount, the history a row";
    const SOURCE: &'static str =
        "TPC-B 2.0, 1994; Hardware Islands, 3.5.1; In-memory OLTP: Revisited, 5.1";
    const PARTITIONED_BY: Option<&'static str> = Some("branches");
    const EXAMPLES: &'static [&'static str] = &["--cc NO_WAIT --branches 24 --remote 0.15"];

    explored! {
        "TPC-B with few rows, whose balances must agree with its history",
        "--cc SILO",
        Self::varied,
    }

    fn with(options: Self::Options) -> Result<Tpcb, OptionError> {
        Tpcb::new(options)
    }
}

impl Workload for Tpcb {
    type Client = TpcbClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());

    fn schema(&self) -> Schema {
        use ColumnType::{Bytes, I64, U64};
        let table = |name: &str, columns: &[(&str, ColumnType)]| {
            let columns = columns.iter().map(|(name, kind)| Column::new(*name, *kind)).collect();
            TableSchema::new(name, columns)
        };
        // The length of a row includes the key.
        let balance =
            |name| table(name, &[("branch", U64), ("balance", I64), ("filler", Bytes(76))]);
        let history = [
            ("teller", U64),
            ("branch", U64),
            ("account", U64),
            ("amount", I64),
            ("time", U64),
            ("filler", Bytes(2)),
        ];
        let tables = vec![
            balance("accounts"),
            table("history", &history),
            balance("tellers"),
            balance("branches"),
        ];
        let partitions = self.options.branches;
        let of_branch = |divisor| Partitioning::Quotient { divisor, partitions };
        let indexed = |(at, table): (usize, TableSchema)| {
            let (id, options) = (TableId(at as u16), &self.options);
            let rule = match id {
                ACCOUNTS => of_branch(options.accounts),
                TELLERS => of_branch(TELLERS_OF_BRANCH),
                BRANCHES => of_branch(1),
                _ => Partitioning::Modulo { partitions },
            };
            let table = table.partitioned(rule);
            if id == HISTORY { table } else { options.index.of(table, self.rows(id)) }
        };
        Schema { tables: tables.into_iter().enumerate().map(indexed).collect() }
    }

    fn rows(&self, table: TableId) -> u64 {
        let options = &self.options;
        match table {
            ACCOUNTS => options.branches * options.accounts,
            HISTORY => options.history,
            TELLERS => options.branches * TELLERS_OF_BRANCH,
            _ => options.branches,
        }
    }

    fn load(&self, loader: &mut dyn Loader) {
        for (table, of_branch) in
            [(ACCOUNTS, self.options.accounts), (TELLERS, TELLERS_OF_BRANCH), (BRANCHES, 1)]
        {
            loader.load_dense(table, self.rows(table), &|key, row| {
                row[..8].copy_from_slice(&(key / of_branch).to_le_bytes());
            });
        }
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> TpcbClient {
        TpcbClient::of_worker(&self.options, worker, seed)
    }

    fn grows(&self) -> bool {
        true
    }

    fn conservation(&self) -> Option<Conservation> {
        let branches = self.options.branches;
        let tables = [ACCOUNTS, TELLERS, BRANCHES].map(|table| (table, self.rows(table)));
        Some(Box::new(move |access, committed| law::check(branches, &tables, access, committed)))
    }

    fn in_key_order(&self) -> bool {
        // A transaction accesses one row of each table, in the order of the tables.
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txn::RowLayout;

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |change: &dyn Fn(&mut TpcbOptions)| {
            let mut options = TpcbOptions::default();
            change(&mut options);
            Tpcb::new(options).unwrap_err().to_string()
        };
        assert_eq!(error(&|o| o.branches = 0), "branches is 0; allowed: 1 to 1048576");
        assert_eq!(error(&|o| o.accounts = 0), "accounts is 0; allowed: 1 to 1048576");
        assert_eq!(error(&|o| o.remote = 1.5), "remote is 1.5; allowed: 0 to 1");
        assert!(error(&|o| o.history = 0).starts_with("history-rows is 0; allowed: 1 to "));
    }

    #[test]
    fn rows_are_as_long_and_as_many_as_specified() {
        let workload = Tpcb::new(TpcbOptions { branches: 3, ..TpcbOptions::default() }).unwrap();
        let with_key = |table: &TableSchema| RowLayout::of(table).bytes() + 8;
        let lengths: Vec<usize> = workload.schema().tables.iter().map(with_key).collect();
        assert_eq!(lengths, [100, 50, 100, 100]);
        let rows = [BRANCHES, TELLERS, ACCOUNTS].map(|table| workload.rows(table));
        assert_eq!(rows, [3, 30, 300_000]);
    }
}
