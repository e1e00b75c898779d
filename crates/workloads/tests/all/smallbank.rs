//! Tests that SmallBank's books balance on a correct store and do not balance on a wrong store.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::smallbank::{
    ACCOUNTS, CHECKING, KIND_NAMES, LEDGER, SAVINGS, SmallBank, SmallBankOptions,
};
use txn::{AbortReason, Client, Intent, TableId, Workload};

/// Returns options with few customers and little money, so that rollbacks and penalties happen.
fn poor() -> SmallBankOptions {
    SmallBankOptions {
        accounts: 6,
        withdrawals: 0.5,
        least_balance: 0,
        most_balance: 3000,
        audit: true,
        ..SmallBankOptions::default()
    }
}

/// Runs two clients in turn, aborting every fifth attempt at some access. Returns the verdict of the law, and
/// the number of transactions that rolled back by themselves.
fn verdict(options: SmallBankOptions, mistake: Mistake) -> (Result<(), String>, u64) {
    let workload = SmallBank::new(options).unwrap();
    let mut store = Store::loaded(&workload, mistake);
    let mut clients = [workload.client(0, 2, 9), workload.client(1, 2, 9)];
    let (mut committed, mut rolled_back) = (0, 0);
    for i in 0..3000 {
        let client = &mut clients[i % 2];
        client.next();
        if i % 5 == 0 {
            store.abort_after = Some(i as u64 / 5 % 7);
        }
        loop {
            match store.attempt(client) {
                Ok(()) => committed += 1,
                Err(abort) if abort.reason == AbortReason::User => rolled_back += 1,
                Err(_) => continue,
            }
            break;
        }
    }
    store.abort_after = None;
    (workload.conservation().unwrap()(&mut store, committed).unwrap(), rolled_back)
}

#[test]
fn the_books_balance_on_a_right_store() {
    let (verdict, rolled_back) = verdict(poor(), Mistake::None);
    assert_eq!(verdict, Ok(()));
    assert!(rolled_back > 100, "{rolled_back}");
    let rich = SmallBankOptions { withdrawals: 0.0, most_balance: 5_000_000, ..poor() };
    let rich = SmallBankOptions { least_balance: 1_000_000, amalgamate: 0.0, ..rich };
    assert_eq!(self::verdict(rich, Mistake::None), (Ok(()), 0));
}

#[test]
fn lost_updates_and_missing_undo_break_the_law() {
    for mistake in [Mistake::LostUpdate, Mistake::NoUndo] {
        let (verdict, _) = verdict(poor(), mistake);
        assert!(verdict.unwrap_err().contains("the books say"), "{mistake:?}");
    }
}

#[test]
fn without_an_audit_there_is_neither_ledger_nor_law() {
    let workload = SmallBank::new(SmallBankOptions { audit: false, ..poor() }).unwrap();
    assert!(workload.conservation().is_none());
    assert_eq!(workload.schema().tables.len(), 3);
}

/// The rows that an attempt read and the rows that it wrote, in order.
#[derive(Debug, PartialEq)]
struct Touched {
    read: Vec<(TableId, u64, Intent)>,
    written: Vec<(TableId, u64)>,
}

/// Returns the rows that these events access. Checks that a row that is written was read with the intent to
/// update.
fn touched(events: Vec<Event>) -> Touched {
    let mut touched = Touched { read: Vec::new(), written: Vec::new() };
    for event in events {
        match event {
            Event::Read(table, key, _, intent) => touched.read.push((table, key, intent)),
            Event::Update(table, key, ..) => {
                assert!(touched.read.contains(&(table, key, Intent::Update)));
                touched.written.push((table, key));
            }
            other => panic!("{other:?}"),
        }
    }
    touched
}

/// Returns the rows that the procedure must access by the benchmark's definition, with these two customers.
fn said(name: &str, [one, other]: [u64; 2]) -> Touched {
    use Intent::{Read, Update};
    let account = |customer| (ACCOUNTS, customer, Read);
    let (read, written) = match name {
        "balance" => (vec![account(one), (SAVINGS, one, Read), (CHECKING, one, Read)], vec![]),
        "deposit_checking" => (
            vec![account(one), (CHECKING, one, Update), (LEDGER, 0, Update)],
            vec![(CHECKING, one), (LEDGER, 0)],
        ),
        "transact_savings" => (
            vec![account(one), (SAVINGS, one, Update), (LEDGER, 0, Update)],
            vec![(SAVINGS, one), (LEDGER, 0)],
        ),
        "amalgamate" => (
            vec![
                account(one),
                account(other),
                (SAVINGS, one, Update),
                (CHECKING, one, Update),
                (CHECKING, other, Update),
            ],
            vec![(SAVINGS, one), (CHECKING, one), (CHECKING, other)],
        ),
        "write_check" => (
            vec![account(one), (SAVINGS, one, Read), (CHECKING, one, Update), (LEDGER, 0, Update)],
            vec![(CHECKING, one), (LEDGER, 0)],
        ),
        _ => (
            vec![account(one), account(other), (CHECKING, one, Update), (CHECKING, other, Update)],
            vec![(CHECKING, one), (CHECKING, other)],
        ),
    };
    Touched { read, written }
}

#[test]
fn procedures_touch_what_they_say() {
    let workload = SmallBank::new(poor()).unwrap();
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(0, 1, 4);
    let mut seen = [0; 6];
    for _ in 0..2000 {
        client.next();
        let rolled_back = store.attempt(&mut client).is_err();
        let [one, other] = client.customers();
        assert_ne!(one, other);
        let touched = touched(std::mem::take(&mut store.events));
        let name = KIND_NAMES[client.kind()];
        assert_eq!(client.read_only(), name == "balance");
        seen[client.kind()] += 1;
        if rolled_back {
            assert!(matches!(name, "transact_savings" | "send_payment"), "{name}");
            assert!(touched.written.is_empty());
            continue;
        }
        assert_eq!(touched, said(name, client.customers()), "{name}");
    }
    assert!(seen.iter().all(|&n| n > 200), "{seen:?}");
}

/// Returns the amount in cents that a check of 5.00 costs a customer with these balances.
fn charge(savings: i64, checking: i64) -> i64 {
    let options = SmallBankOptions {
        accounts: 2,
        balance: 0.0,
        deposit_checking: 0.0,
        transact_savings: 0.0,
        amalgamate: 0.0,
        write_check: 1.0,
        ..poor()
    };
    let workload = SmallBank::new(options).unwrap();
    let mut store = Store::loaded(&workload, Mistake::None);
    let mut client = workload.client(0, 1, 4);
    client.next();
    let (customer, column) = (client.customers()[0], txn::ColumnSet::one(0));
    for (table, balance) in [(SAVINGS, savings), (CHECKING, checking)] {
        txn::Access::update(&mut store, table, customer.into(), column, &balance.to_le_bytes())
            .unwrap();
    }
    store.commit(&mut client);
    let mut left = [0; 8];
    txn::Access::read(&mut store, CHECKING, customer.into(), column, &mut left).unwrap();
    checking - i64::from_le_bytes(left)
}

#[test]
fn a_check_that_is_not_covered_costs_more() {
    assert_eq!([charge(0, 500), charge(500, 0), charge(250, 250)], [500; 3]);
    assert_eq!([charge(0, 499), charge(499, 0), charge(600, -200)], [600; 3]);
}

#[test]
fn the_mix_and_the_hot_spot_are_as_asked_for() {
    let draws = |hot_share| {
        let options = SmallBankOptions { hot_share, ..SmallBankOptions::default() };
        let mut client = SmallBank::new(options).unwrap().client(0, 1, 3);
        let (mut kinds, mut hot) = ([0u32; 6], 0);
        for _ in 0..40_000 {
            client.next();
            kinds[client.kind()] += 1;
            let inside = client.customers().map(|customer| customer < 100);
            assert!(inside[0] == inside[1] || hot_share == 0.0);
            hot += u32::from(inside[0]);
        }
        (kinds, hot)
    };
    let (kinds, hot) = draws(0.9);
    assert!(kinds[..5].iter().all(|n| (5_700..6_300).contains(n)), "{kinds:?}");
    assert!((9_600..10_400).contains(&kinds[5]), "{kinds:?}");
    assert!((35_700..36_300).contains(&hot), "{hot}");
    assert!(draws(0.0).1 < 20);
    assert_eq!(draws(1.0).1, 40_000);
}
