//! How the explorer varies it: tiny, and a little different for every seed.

use super::{SmallBank, SmallBankOptions};
use crate::index_choice::IndexChoice;

impl SmallBank {
    /// A bank of two customers or four, so poor that rollbacks and penalties happen, whose books must balance; with
    /// an audit, or with the certificate as the only judge and fewer conflicts besides.
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
            ..SmallBankOptions::default()
        };
        // There is nothing outside of a hot spot of everybody.
        let hot_share = if options.accounts == 2 { 0.0 } else { options.hot_share };
        SmallBank::new(SmallBankOptions { hot_share, ..options }).expect("good for every seed")
    }
}
