//! Tests that TPC-C's consistency conditions hold on a correct store, and that each of them fails if its data
//! is damaged.

use crate::store::{Mistake, Store};
use kilocore_workloads::tpcc::columns::*;
use kilocore_workloads::tpcc::keys::{self, Place};
use kilocore_workloads::tpcc::{Mix, SchemaSize, Tpcc, TpccOptions};
use txn::{AbortReason, Access, Client, ColumnSet, TableId, Workload};

fn small() -> TpccOptions {
    TpccOptions {
        warehouses: 2,
        districts: 2,
        customers_per_district: 12,
        items: 20,
        least_lines: 1,
        most_lines: 4,
        rollbacks: 0.1,
        remote_new_order: 0.2,
        mix: Mix([4, 4, 1, 2, 1]),
        ..TpccOptions::default()
    }
}

/// Runs three terminals in turn, aborting every fifth attempt at some access. Returns the store and the
/// number of commits.
fn after_a_run(options: &TpccOptions, mistake: Mistake, transactions: usize) -> (Store, u64) {
    let workload = Tpcc::new(options.clone()).unwrap();
    let mut store = Store::loaded(&workload, mistake);
    let mut clients = [0, 1, 2].map(|worker| workload.client(worker, 3, 9));
    let mut committed = 0;
    for i in 0..transactions {
        let client = &mut clients[i % 3];
        client.next();
        if i % 5 == 0 {
            store.abort_after = Some(i as u64 / 5 % 17);
        }
        loop {
            match store.attempt(client) {
                Ok(()) => committed += 1,
                Err(abort) if abort.reason == AbortReason::User => {}
                Err(_) => continue,
            }
            break;
        }
    }
    store.abort_after = None;
    (store, committed)
}

fn verdict(options: &TpccOptions, store: &mut Store) -> Result<(), String> {
    Tpcc::new(options.clone()).unwrap().conservation().unwrap()(store, 0).unwrap()
}

#[test]
fn they_hold_before_and_after_runs_on_a_right_store() {
    for schema in [SchemaSize::Small, SchemaSize::Full] {
        for warehouses in [1, 2] {
            let options = TpccOptions { schema, warehouses, ..small() };
            for transactions in [0, 1, 50, 3000] {
                let (mut store, committed) = after_a_run(&options, Mistake::None, transactions);
                assert_eq!(verdict(&options, &mut store), Ok(()));
                assert!(committed <= transactions as u64);
                assert!(committed >= transactions as u64 * 9 / 10, "{committed}");
            }
        }
    }
}

#[test]
fn mistakes_of_a_store_break_some() {
    for mistake in [Mistake::LostUpdate, Mistake::LostDelete, Mistake::NoUndo] {
        let (mut store, _) = after_a_run(&small(), mistake, 3000);
        assert!(verdict(&small(), &mut store).is_err(), "{mistake:?}");
    }
}

/// Adds `more` to an integer of a row.
fn add(store: &mut Store, table: TableId, key: u64, column: usize, more: i64) {
    let (column, mut bytes) = (ColumnSet::one(column), [0; 8]);
    assert!(store.read(table, key.into(), column, &mut bytes).unwrap(), "{table:?} {key}");
    let sum = i64::from_le_bytes(bytes) + more;
    assert!(store.update(table, key.into(), column, &sum.to_le_bytes()).unwrap());
}

/// Overwrites an integer that can be NULL.
fn set(store: &mut Store, table: TableId, key: u64, column: usize, value: Option<u64>) {
    let (column, mut packed) = (ColumnSet::one(column), vec![u8::from(value.is_some())]);
    packed.extend_from_slice(&value.unwrap_or(0).to_le_bytes());
    assert!(store.update(table, key.into(), column, &packed).unwrap());
}

/// Returns the conditions that are broken after `damage` to a database on which many transactions have run.
fn broken_by(damage: impl FnOnce(&mut Store)) -> Vec<String> {
    let options = small();
    let (mut store, _) = after_a_run(&options, Mistake::None, 600);
    damage(&mut store);
    let told = verdict(&options, &mut store).expect_err("the damage is noticed");
    let name = |part: &str| part.split(':').next().unwrap().to_owned();
    told.split("condition ").skip(1).map(name).collect()
}

const PLACE: Place = Place { warehouse: 1, district: 1 };

/// Returns the first and the last undelivered order of [`PLACE`].
fn undelivered(store: &mut Store) -> (u64, u64) {
    let mut numbers = Vec::new();
    let visit = &mut |key: txn::Key<'_>, _: &[u8]| {
        numbers.push(keys::order_number(key.number()));
        std::ops::ControlFlow::Continue(())
    };
    let (range, forward) = (PLACE.orders(), txn::Direction::Forward);
    store.scan(NEW_ORDER, range.into(), forward, ColumnSet::NONE, visit).unwrap();
    assert!(numbers.len() > 2, "{numbers:?}");
    (numbers[0], numbers[numbers.len() - 1])
}

#[test]
fn each_fails_when_its_data_are_damaged() {
    let options = small();
    let district = options.district(PLACE);
    let buyer = options.customer(PLACE, 3);
    assert_eq!(broken_by(|s| add(s, WAREHOUSE, 1, 1, 100)), ["3.3.2.1", "3.3.2.8"]);
    assert_eq!(broken_by(|s| add(s, DISTRICT, district, 1, 100)), ["3.3.2.1", "3.3.2.9"]);
    assert_eq!(broken_by(|s| add(s, DISTRICT, district, 2, 1)), ["3.3.2.2"]);
    // A row of NEW-ORDER is missing: at the end, in the middle, and at the beginning.
    let without = |which: fn((u64, u64)) -> u64| {
        broken_by(move |s| {
            let number = which(undelivered(s));
            assert!(s.delete(NEW_ORDER, PLACE.order(number).into()).unwrap());
        })
    };
    assert_eq!(without(|(_, last)| last), ["3.3.2.2", "3.3.2.5", "3.3.2.11"]);
    assert_eq!(without(|(first, _)| first + 1), ["3.3.2.3", "3.3.2.5", "3.3.2.11"]);
    assert_eq!(without(|(first, _)| first), ["3.3.2.5", "3.3.2.11"]);
    // The line count of an order is too large. Then a line is missing.
    assert_eq!(broken_by(|s| add(s, ORDER, PLACE.order(2), 2, 1)), ["3.3.2.4", "3.3.2.6"]);
    let short = broken_by(|s| assert!(s.delete(ORDER_LINE, PLACE.line(14, 0).into()).unwrap()));
    assert!(short.contains(&"3.3.2.4".into()) && short.contains(&"3.3.2.6".into()), "{short:?}");
    // The sums are correct, but the orders are wrong.
    let swapped = |s: &mut Store| {
        add(s, ORDER, PLACE.order(2), 2, 1);
        add(s, ORDER, PLACE.order(3), 2, -1);
    };
    assert_eq!(broken_by(swapped), ["3.3.2.6"]);
    let carried = |s: &mut Store| {
        let (first, _) = undelivered(s);
        set(s, ORDER, PLACE.order(first), 1, Some(1));
    };
    assert_eq!(broken_by(carried), ["3.3.2.5", "3.3.2.7"]);
    // The line has an amount of 0, so no balance becomes wrong.
    assert_eq!(broken_by(|s| set(s, ORDER_LINE, PLACE.line(0, 0), 4, None)), ["3.3.2.7"]);
    let paid = keys::history(1, keys::LOADING_WORKER, 12 + 3);
    let (first, second) = ("3.3.2.8", "3.3.2.9");
    assert_eq!(broken_by(|s| add(s, HISTORY, paid, 5, 1)), [first, second, "3.3.2.10"]);
    assert_eq!(broken_by(|s| add(s, HISTORY, paid, 3, -1)), ["3.3.2.9"]);
    let forgotten = broken_by(|s| assert!(s.delete(HISTORY, paid.into()).unwrap()));
    assert_eq!(forgotten, [first, second, "3.3.2.10", "payments"]);
    assert_eq!(broken_by(|s| add(s, CUSTOMER, buyer, 0, 1)), ["3.3.2.10", "3.3.2.12"]);
    assert_eq!(broken_by(|s| add(s, CUSTOMER, buyer, 1, 1)), ["3.3.2.12"]);
    assert_eq!(broken_by(|s| add(s, CUSTOMER, buyer, 2, 1)), ["payments"]);
    assert_eq!(broken_by(|s| add(s, CUSTOMER, buyer, 3, 1)), ["3.3.2.11"]);
    for column in 0..4 {
        let stock = options.stock(1, 7);
        assert_eq!(broken_by(|s| add(s, STOCK, stock, column, 1)), ["stock"], "{column}");
    }
    let unnamed = keys::Place::named(PLACE, 5, 5);
    let told = broken_by(|s| assert!(s.delete(CUSTOMER_BY_NAME, unnamed.into()).unwrap()));
    assert_eq!(told, ["customers by name"]);
    let told = broken_by(|s| {
        assert!(s.insert(ORDER_BY_CUSTOMER, PLACE.order_of(3, 99_999).into(), &[0]).unwrap())
    });
    assert_eq!(told, ["orders by customer"]);
    assert_eq!(broken_by(|s| add(s, ORDER, PLACE.order(0), 3, -1)), ["local orders"]);
    assert!(broken_by(|s| add(s, ORDER_LINE, PLACE.line(14, 0), 2, 1)).contains(&"stock".into()));
}
