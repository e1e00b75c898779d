//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{SmallBank, SmallBankOptions};
use crate::index_choice::IndexChoice;

impl SmallBank {
    /// Returns a bank of two customers or four whose books must balance. The customers are so poor that
    /// rollbacks and penalties happen. The bank has an audit, or is judged only by the certificate and has
    /// fewer conflicts.
    pub fn varied(seed: u64) -> SmallBank {
        let options = SmallBankOptions {
            accounts: if seed.is_multiple_of(3) { 2 } else { 4 },
            hot_accounts: 2,
            hot_share: if (seed / 16).is_multiple_of(2) { 0.0 } else { 0.7 },
            balance: 0.2,
            write_check: 0.2,
            transact_savings: 0.2,
            withdrawals: 0.5,
            least_balance: 0,
            most_balance: if seed.is_multiple_of(5) { 600 } else { 3000 },
            audit: !seed.is_multiple_of(7),
            index: IndexChoice::varied(seed),
            partitions: if (seed / 32).is_multiple_of(2) { 1 } else { 2 },
            ..SmallBankOptions::default()
        };
        // If all customers are in the hot spot, there are none outside.
        let hot_share = if options.accounts == 2 { 0.0 } else { options.hot_share };
        SmallBank::new(SmallBankOptions { hot_share, ..options }).expect("good for every seed")
    }
}
