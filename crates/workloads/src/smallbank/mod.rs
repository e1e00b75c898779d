//! SmallBank: six short transactions of a bank. Three of them together can produce write skew under weak
//! isolation.
//!
//! Source: Alomari, Cahill, Fekete and Roehm, "The Cost of Serializability on Platforms That Use Snapshot
//! Isolation", ICDE 2008, section 3. SendPayment, the mix, the amounts and the hot spot are those of
//! H-Store's version. All money is in cents.
//!
//! | procedure | does |
//! | --- | --- |
//! | Balance | reads both balances of a customer, declared read-only |
//! | DepositChecking | adds 1.30 to a checking balance |
//! | TransactSavings | adds 20.20 to a savings balance or takes as much; rolls back if it would fall below zero |
//! | Amalgamate | moves all of one customer's money to another's checking balance |
//! | WriteCheck | takes 5.00 from a checking balance, 6.00 if both balances together do not cover the check |
//! | SendPayment | moves 5.00 between checking balances; rolls back if the sender has less |
//!
//! WriteCheck reads a savings balance that TransactSavings writes. A Balance that sees the second but not the
//! first completes a cycle that snapshot isolation allows. No sum of money reveals the cycle. Only the
//! certificate does.
//!
//! A rollback depends only on one row's balance. No protocol validates the reads of an optimistic attempt
//! that rolls back. Even so, the attempt has decided by a balance that was once committed.
//!
//! # Deviations
//! - A customer is found by number. The account row, with the name, is read as in H-Store's version.
//! - If a customer's money does not cover the check, H-Store's WriteCheck takes one unit less, not more. Its
//!   Amalgamate adds up balances of different customers. Here both procedures follow the paper.
//! - H-Store's TransactSavings only deposits. Here a share of them can withdraw
//!   ([`SmallBankOptions::withdrawals`]).
//! - Initial balances are derived from the customer's number instead of being drawn.
//! - With [`SmallBankOptions::audit`] each transaction that changes the total amount of money records the
//!   change in a row of its worker. This costs one more access and provides a law to check.

mod actions;
mod client;
mod variation;

pub use client::{KIND_NAMES, SmallBankClient};

use crate::cell::cell;
use crate::index_choice::IndexChoice;
use crate::options::{self, OptionError, OptionOf, Options, option};
use crate::registry::Listed;
use crate::stream::mix;
use crate::variation::explored;
use txn::{
    Abort, Access, Column, ColumnSet, ColumnType, Conservation, Intent, Loader, Partitioning,
    Schema, TableId, TableSchema, Workload,
};

/// Customers' names, by customer.
pub const ACCOUNTS: TableId = TableId(0);
/// Savings balances, by customer.
pub const SAVINGS: TableId = TableId(1);
/// Checking balances, by customer.
pub const CHECKING: TableId = TableId(2);
/// Changes of the total amount of money, by worker. Exists only with an audit.
pub const LEDGER: TableId = TableId(3);

/// The only column of every table.
const COLUMN: ColumnSet = ColumnSet::one(0);

/// Length of a name in bytes.
const NAME_BYTES: usize = 64;

/// Number of rows of the ledger. Workers beyond this number share rows.
const LEDGER_ROWS: u64 = 64;

/// Largest number of partitions.
const MAX_PARTITIONS: u64 = 65_536;

/// Largest initial balance. With it, the sum of four billion customers' money stays exact.
const MAX_BALANCE: u64 = 1_000_000_000;

/// Options of the workload. [`SmallBank::new`] validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct SmallBankOptions {
    /// Number of customers, each with a savings and a checking balance.
    pub accounts: u64,
    /// Number of customers in the hot spot.
    pub hot_accounts: u64,
    /// Share of the transactions whose customers are all from the hot spot. The customers of the other
    /// transactions are all from outside. If it is 0, there is no hot spot and customers are drawn from all.
    pub hot_share: f64,
    /// Share of Balance.
    pub balance: f64,
    /// Share of DepositChecking.
    pub deposit_checking: f64,
    /// Share of TransactSavings.
    pub transact_savings: f64,
    /// Share of Amalgamate.
    pub amalgamate: f64,
    /// Share of WriteCheck. The remaining share is SendPayment.
    pub write_check: f64,
    /// Share of TransactSavings that withdraw.
    pub withdrawals: f64,
    /// Smallest initial balance, in cents.
    pub least_balance: u64,
    /// Largest initial balance, in cents.
    pub most_balance: u64,
    /// Set if changes of the total amount of money are recorded.
    pub audit: bool,
    /// Index by which rows are found.
    pub index: IndexChoice,
    /// Number of partitions. The partition is the customer, or the row of the ledger, modulo this number.
    pub partitions: u64,
}

impl Default for SmallBankOptions {
    fn default() -> SmallBankOptions {
        SmallBankOptions {
            accounts: 1_000_000,
            hot_accounts: 100,
            hot_share: 0.0,
            balance: 0.15,
            deposit_checking: 0.15,
            transact_savings: 0.15,
            amalgamate: 0.15,
            write_check: 0.15,
            withdrawals: 0.0,
            least_balance: 1_000_000,
            most_balance: 5_000_000,
            audit: false,
            index: IndexChoice::Hash,
            partitions: 1,
        }
    }
}

impl Options for SmallBankOptions {
    const OPTIONS: &'static [OptionOf<SmallBankOptions>] = &[
        option("accounts", "Customers, each with a savings and a checking balance", |o| {
            &mut o.accounts
        }),
        option("hot-accounts", "Customers in the hot spot", |o| &mut o.hot_accounts),
        option(
            "hot-share",
            "Share of the transactions for customers in the hot spot, 0 (no hot spot) to 1",
            |o| &mut o.hot_share,
        ),
        option("balance", "Share of Balance", |o| &mut o.balance),
        option("deposit-checking", "Share of DepositChecking", |o| &mut o.deposit_checking),
        option("transact-savings", "Share of TransactSavings", |o| &mut o.transact_savings),
        option("amalgamate", "Share of Amalgamate", |o| &mut o.amalgamate),
        option("write-check", "Share of WriteCheck; what the shares leave is SendPayment", |o| {
            &mut o.write_check
        }),
        option(
            "withdrawals",
            "Share of TransactSavings that withdraw, and roll back where there is too little",
            |o| &mut o.withdrawals,
        ),
        option("least-balance", "The least initial balance, in cents", |o| &mut o.least_balance),
        option("most-balance", "The largest initial balance, in cents", |o| &mut o.most_balance),
        option("audit", "Keep books of what money comes and goes: one more row is written", |o| {
            &mut o.audit
        }),
        option("index", "How rows are found: hash, perfect, btree, rbtree", |o| &mut o.index),
        option("partitions", "Partitions, by customer modulo their number", |o| &mut o.partitions),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        // A payment needs two customers, both in the hot spot or both outside.
        options::integer("accounts", self.accounts, 2, options::MAX_ROWS)?;
        options::integer("partitions", self.partitions, 1, self.accounts.min(MAX_PARTITIONS))?;
        options::ratio("hot-share", self.hot_share)?;
        if self.hot_share > 0.0 {
            let outside = if self.hot_share < 1.0 { 2 } else { 0 };
            let most = self.accounts.saturating_sub(outside);
            if !(2..=most).contains(&self.hot_accounts) {
                return Err(OptionError {
                    option: "hot-accounts",
                    given: self.hot_accounts.to_string(),
                    allowed: format!(
                        "2 to accounts ({}), with two more outside while hot-share is below 1",
                        self.accounts
                    ),
                });
            }
        }
        options::ratio("balance", self.balance)?;
        options::ratio("deposit-checking", self.deposit_checking)?;
        options::ratio("transact-savings", self.transact_savings)?;
        options::ratio("amalgamate", self.amalgamate)?;
        options::ratio("write-check", self.write_check)?;
        if self.shares()[5] < 0.0 {
            let given: f64 = self.shares()[..5].iter().sum();
            return Err(OptionError {
                option: "balance + deposit-checking + transact-savings + amalgamate + write-check",
                given: given.to_string(),
                allowed: "0 to 1 together".into(),
            });
        }
        options::ratio("withdrawals", self.withdrawals)?;
        options::integer("most-balance", self.most_balance, 0, MAX_BALANCE)?;
        options::at_most(
            "least-balance",
            self.least_balance,
            0,
            ("most-balance", self.most_balance),
        )
    }
}

impl SmallBankOptions {
    /// Returns the shares of the procedures, in the order of their kinds.
    fn shares(&self) -> [f64; 6] {
        let said = [
            self.balance,
            self.deposit_checking,
            self.transact_savings,
            self.amalgamate,
            self.write_check,
        ];
        let rest = said.iter().fold(1.0, |rest, share| rest - share);
        let rest = if rest.abs() < 1e-9 { 0.0 } else { rest };
        [said[0], said[1], said[2], said[3], said[4], rest]
    }

    /// Returns the initial balance of `customer` in `table`, which must be a table of balances.
    fn initial(&self, table: TableId, customer: u64) -> i64 {
        let spread = self.most_balance - self.least_balance + 1;
        let bits = mix(customer * 2 + u64::from(table == CHECKING));
        (self.least_balance + bits % spread) as i64
    }
}

/// The workload.
#[derive(Clone, Debug)]
pub struct SmallBank {
    options: SmallBankOptions,
}

impl SmallBank {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: SmallBankOptions) -> Result<SmallBank, OptionError> {
        options.validate()?;
        Ok(SmallBank { options })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &SmallBankOptions {
        &self.options
    }
}

impl Listed for SmallBank {
    type Options = SmallBankOptions;
    const NAME: &'static str = "smallbank";
    const SUMMARY: &'static str =
        "a bank's deposits, checks and payments, among which write skew can happen";
    const SOURCE: &'static str =
        "Alomari, Cahill, Fekete, Roehm, ICDE 2008; mix and amounts of H-Store's version";
    const PARTITIONED_BY: Option<&'static str> = Some("partitions");
    const EXAMPLES: &'static [&'static str] =
        &["--cc SILO --accounts 18000 --hot-accounts 1000 --hot-share 0.9"];

    explored! {
        "a bank of few customers with little money, judged by its books and by the certificate",
        "--cc MVCC",
        Self::varied,
    }

    fn with(options: Self::Options) -> Result<SmallBank, OptionError> {
        SmallBank::new(options)
    }
}

impl Workload for SmallBank {
    type Client = SmallBankClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());

    fn schema(&self) -> Schema {
        let table = |name: &str, column: &str, kind| {
            TableSchema::new(name, vec![Column::new(column, kind)])
        };
        let mut tables = vec![
            table("accounts", "name", ColumnType::Bytes(NAME_BYTES as u32)).opaque(),
            table("savings", "balance", ColumnType::I64),
            table("checking", "balance", ColumnType::I64),
        ];
        if self.options.audit {
            tables.push(table("ledger", "added", ColumnType::I64));
        }
        let rule = Partitioning::Modulo { partitions: self.options.partitions };
        let indexed = |(at, table): (usize, TableSchema)| {
            let table = table.partitioned(rule);
            self.options.index.of(table, self.rows(TableId(at as u16)))
        };
        Schema { tables: tables.into_iter().enumerate().map(indexed).collect() }
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KIND_NAMES
    }

    fn rows(&self, table: TableId) -> u64 {
        if table == LEDGER { LEDGER_ROWS } else { self.options.accounts }
    }

    fn load(&self, loader: &mut dyn Loader) {
        let options = &self.options;
        loader.load_dense(ACCOUNTS, options.accounts, &|customer, row| {
            let digits = customer.to_string();
            row[..digits.len()].copy_from_slice(digits.as_bytes());
        });
        for table in [SAVINGS, CHECKING] {
            loader.load_dense(table, options.accounts, &|customer, row| {
                row.copy_from_slice(&options.initial(table, customer).to_le_bytes());
            });
        }
        if options.audit {
            loader.load_dense(LEDGER, LEDGER_ROWS, &|_, _| {});
        }
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> SmallBankClient {
        SmallBankClient::of_worker(&self.options, worker, seed)
    }

    fn conservation(&self) -> Option<Conservation> {
        let options = self.options.clone();
        options.audit.then(|| -> Conservation { Box::new(move |access, _| law(&options, access)) })
    }
}

/// Checks that no savings balance is below zero, and that all money equals the loaded money plus the changes
/// in the ledger.
fn law(options: &SmallBankOptions, access: &mut dyn Access) -> Result<Result<(), String>, Abort> {
    let mut expected = 0;
    for row in 0..LEDGER_ROWS {
        expected += cell(access, LEDGER, row, COLUMN, Intent::Read)?;
    }
    let mut found = 0;
    for customer in 0..options.accounts {
        for table in [SAVINGS, CHECKING] {
            let balance = cell(access, table, customer, COLUMN, Intent::Read)?;
            if table == SAVINGS && balance < 0 {
                return Ok(Err(format!("customer {customer} has savings of {balance}")));
            }
            found += balance;
            expected += options.initial(table, customer);
        }
    }
    if found != expected {
        return Ok(Err(format!("all balances add up to {found}, the books say {expected}")));
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(change: impl Fn(&mut SmallBankOptions)) -> String {
        let mut options = SmallBankOptions { accounts: 10, ..SmallBankOptions::default() };
        change(&mut options);
        SmallBank::new(options).unwrap_err().to_string()
    }

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        assert!(error(|o| o.accounts = 1).starts_with("accounts is 1; allowed: 2 to "));
        assert_eq!(error(|o| o.partitions = 11), "partitions is 11; allowed: 1 to 10");
        assert_eq!(error(|o| o.hot_share = 1.5), "hot-share is 1.5; allowed: 0 to 1");
        let told = error(|o| (o.hot_share, o.hot_accounts) = (0.5, 9));
        assert!(told.starts_with("hot-accounts is 9; allowed: 2 to accounts (10)"), "{told}");
        assert!(
            error(|o| o.balance = 0.5).contains("write-check is 1.1; allowed: 0 to 1 together")
        );
        assert_eq!(error(|o| o.withdrawals = -1.0), "withdrawals is -1; allowed: 0 to 1");
        let told = error(|o| o.least_balance = 5_000_001);
        assert_eq!(told, "least-balance is 5000001; allowed: 0 to most-balance (5000000)");
        assert!(error(|o| o.most_balance = u64::MAX).starts_with("most-balance is "));
    }

    #[test]
    fn good_options_are_accepted() {
        let small = SmallBankOptions { accounts: 4, ..SmallBankOptions::default() };
        for (hot_share, hot_accounts) in [(0.0, 100), (0.9, 2), (1.0, 4)] {
            let options = SmallBankOptions { hot_share, hot_accounts, ..small.clone() };
            assert!(SmallBank::new(options).is_ok());
        }
        // The paper's mix: five procedures with equal shares.
        let mut options = small;
        options.balance = 0.2;
        options.deposit_checking = 0.2;
        options.transact_savings = 0.2;
        options.amalgamate = 0.2;
        options.write_check = 0.2;
        assert_eq!(options.shares()[5], 0.0);
        assert!(SmallBank::new(options).is_ok());
    }

    #[test]
    fn initial_balances_lie_between_their_bounds() {
        let options = SmallBankOptions::default();
        let of = |table| (0..1000).map(move |customer| (table, customer));
        let balances: Vec<i64> =
            of(SAVINGS).chain(of(CHECKING)).map(|(t, c)| options.initial(t, c)).collect();
        assert!(balances.iter().all(|b| (1_000_000..=5_000_000).contains(b)));
        let mean = balances.iter().sum::<i64>() / 2000;
        assert!((2_900_000..3_100_000).contains(&mean), "{mean}");
    }
}
