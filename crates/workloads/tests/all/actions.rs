//! Tests transactions that are split into actions.

use crate::store::{Mistake, Store};
use kilocore_workloads::{
    smallbank::{SmallBank, SmallBankOptions},
    tatp::{Tatp, TatpOptions},
    tpcc::{SchemaSize, Tpcc, TpccOptions},
};
use txn::{Client, Workload};

/// Runs `transactions` on two databases, on one of them in actions, and compares the rows. The store checks that an action
/// accesses one table and one partition. Actions are run in reverse, so one that needed what an earlier one of its stage does
/// would be found out. Returns the number of actions, and of transactions that were rolled back.
fn compare(workload: &impl Workload, transactions: usize) -> (usize, usize) {
    let mut whole = Store::loaded(workload, Mistake::None);
    let mut split = Store::loaded(workload, Mistake::None);
    split.splits = true;
    let (mut one, mut other) = (workload.client(1, 4, 7), workload.client(1, 4, 7));
    let mut rolled_back = 0;
    for at in 0..transactions {
        one.next();
        other.next();
        let (ended, ended_split) = (whole.attempt(&mut one), split.attempt(&mut other));
        assert_eq!(ended, ended_split, "transaction {at}");
        rolled_back += usize::from(ended.is_err());
    }
    assert!(whole.rows == split.rows, "the databases differ");
    (split.actions, rolled_back)
}

#[test]
fn smallbank_in_actions_does_the_same() {
    for audit in [false, true] {
        let options = SmallBankOptions {
            accounts: 100,
            withdrawals: 0.5,
            least_balance: 0,
            most_balance: 3000,
            partitions: 4,
            audit,
            ..SmallBankOptions::default()
        };
        let (actions, rolled_back) = compare(&SmallBank::new(options).unwrap(), 3000);
        assert!(
            actions > 3000 && rolled_back > 100,
            "{actions} actions, {rolled_back} rolled back"
        );
    }
}

#[test]
fn tatp_in_actions_does_the_same() {
    let options = TatpOptions { subscribers: 100, partitions: 4, ..TatpOptions::default() };
    let (actions, _) = compare(&Tatp::new(options).unwrap(), 5000);
    assert!(actions > 500, "{actions} actions");
}

#[test]
fn tpcc_in_actions_does_the_same() {
    for schema in [SchemaSize::Small, SchemaSize::Full] {
        let options = TpccOptions {
            warehouses: 3,
            districts: 2,
            customers_per_district: 30,
            items: 50,
            rollbacks: 0.1,
            remote_new_order: 0.2,
            schema,
            ..TpccOptions::default()
        };
        let (actions, rolled_back) = compare(&Tpcc::new(options).unwrap(), 2000);
        assert!(actions > 2000 && rolled_back > 50, "{actions} actions, {rolled_back} rolled back");
    }
}
