//! The options of the workloads that are banks, each set of them over its defaults.

use super::numbers::{real, whole};
use clap::Args;
use workloads::IndexChoice;
use workloads::smallbank::SmallBankOptions;
use workloads::tpcb::TpcbOptions;

/// SmallBank's options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct SmallBankArguments {
    /// Customers, each with a savings and a checking balance [default: 1M]
    #[arg(long, value_name = "N", value_parser = whole)]
    accounts: Option<u64>,
    /// Customers in the hot spot [default: 100]
    #[arg(long, value_name = "N", value_parser = whole)]
    hot_accounts: Option<u64>,
    /// Share of the transactions for customers in the hot spot, 0 (no hot spot) to 1 [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    hot_share: Option<f64>,
    /// Share of Balance [default: 0.15]
    #[arg(long, value_name = "X", value_parser = real)]
    balance: Option<f64>,
    /// Share of DepositChecking [default: 0.15]
    #[arg(long, value_name = "X", value_parser = real)]
    deposit_checking: Option<f64>,
    /// Share of TransactSavings [default: 0.15]
    #[arg(long, value_name = "X", value_parser = real)]
    transact_savings: Option<f64>,
    /// Share of Amalgamate [default: 0.15]
    #[arg(long, value_name = "X", value_parser = real)]
    amalgamate: Option<f64>,
    /// Share of WriteCheck; what the shares leave is SendPayment [default: 0.15]
    #[arg(long, value_name = "X", value_parser = real)]
    write_check: Option<f64>,
    /// Share of TransactSavings that withdraw, and roll back where there is too little [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    withdrawals: Option<f64>,
    /// The least initial balance, in cents [default: 1M]
    #[arg(long, value_name = "CENTS", value_parser = whole)]
    least_balance: Option<u64>,
    /// The largest initial balance, in cents [default: 5M]
    #[arg(long, value_name = "CENTS", value_parser = whole)]
    most_balance: Option<u64>,
    /// Keep books of what money comes and goes: one more row is written
    #[arg(long)]
    audit: bool,
    /// How rows are found: hash, perfect, btree, rbtree [default: hash]
    #[arg(long, value_name = "KIND")]
    index: Option<IndexChoice>,
}

impl SmallBankArguments {
    /// `default`, with what was said in its place.
    pub fn over(&self, default: SmallBankOptions) -> SmallBankOptions {
        SmallBankOptions {
            accounts: self.accounts.unwrap_or(default.accounts),
            hot_accounts: self.hot_accounts.unwrap_or(default.hot_accounts),
            hot_share: self.hot_share.unwrap_or(default.hot_share),
            balance: self.balance.unwrap_or(default.balance),
            deposit_checking: self.deposit_checking.unwrap_or(default.deposit_checking),
            transact_savings: self.transact_savings.unwrap_or(default.transact_savings),
            amalgamate: self.amalgamate.unwrap_or(default.amalgamate),
            write_check: self.write_check.unwrap_or(default.write_check),
            withdrawals: self.withdrawals.unwrap_or(default.withdrawals),
            least_balance: self.least_balance.unwrap_or(default.least_balance),
            most_balance: self.most_balance.unwrap_or(default.most_balance),
            audit: self.audit || default.audit,
            index: self.index.unwrap_or(default.index),
        }
    }
}

/// TPC-B's options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct TpcbArguments {
    /// Branches, each with ten tellers [default: 4]
    #[arg(long, value_name = "N", value_parser = whole)]
    branches: Option<u64>,
    /// Accounts of a branch [default: 100k, as specified]
    #[arg(long, value_name = "N", value_parser = whole)]
    accounts: Option<u64>,
    /// Share of the transactions for an account of another branch, 0 to 1 [default: 0.15, as specified]
    #[arg(long, value_name = "X", value_parser = real)]
    remote: Option<f64>,
    /// Rows that the index of the history is made for [default: 1M]
    #[arg(long, value_name = "N", value_parser = whole)]
    history_rows: Option<u64>,
    /// How rows are found: hash, perfect, btree, rbtree [default: hash]
    #[arg(long, value_name = "KIND")]
    index: Option<IndexChoice>,
}

impl TpcbArguments {
    /// `default`, with what was said in its place.
    pub fn over(&self, default: TpcbOptions) -> TpcbOptions {
        TpcbOptions {
            branches: self.branches.unwrap_or(default.branches),
            accounts: self.accounts.unwrap_or(default.accounts),
            remote: self.remote.unwrap_or(default.remote),
            history: self.history_rows.unwrap_or(default.history),
            index: self.index.unwrap_or(default.index),
        }
    }
}
