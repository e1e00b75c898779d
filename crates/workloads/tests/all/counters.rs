//! Tests that the laws of the counters hold on a correct store and break on a wrong store.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::micro::counters::{Counters, CountersOptions, KIND_NAMES};
use txn::{Client, Intent, TableId, Workload};

/// Runs `transactions` of two clients in turn, aborting every fifth attempt at some access. Returns the
/// verdict of the law.
fn verdict(options: CountersOptions, mistake: Mistake, transactions: u64) -> Result<(), String> {
    let told = [false, true].map(|adds| verdict_of(options.clone(), mistake, transactions, adds));
    let [updates, additions] = told;
    assert_eq!(updates.is_ok(), additions.is_ok(), "{updates:?}, with additions {additions:?}");
    updates
}

fn verdict_of(
    options: CountersOptions,
    mistake: Mistake,
    transactions: u64,
    adds_at_commit: bool,
) -> Result<(), String> {
    let workload = Counters::new(options).unwrap();
    let mut store = Store::loaded(&workload, mistake);
    store.adds_at_commit = adds_at_commit;
    let mut clients = [workload.client(0, 2, 9), workload.client(1, 2, 9)];
    for i in 0..transactions {
        let client = &mut clients[(i % 2) as usize];
        client.next();
        if i % 5 == 0 {
            store.abort_after = Some(i / 5 % 7);
        }
        store.commit(client);
    }
    store.abort_after = None;
    workload.conservation().unwrap()(&mut store, transactions).unwrap()
}

fn all_options() -> Vec<CountersOptions> {
    let (plain, mixed) = (CountersOptions::default(), CountersOptions::mixed());
    vec![
        plain.clone(),
        CountersOptions { tables: 3, theta: 0.9, lock_upgrade: true, ..plain.clone() },
        CountersOptions { counters: 3, accesses: 5, distinct: false, ..plain },
        CountersOptions { lock_upgrade: true, theta: 0.7, ..mixed.clone() },
        CountersOptions { transfers: 0.5, sums: 0.5, moves: 0.0, ..mixed.clone() },
        CountersOptions { transfers: 0.0, sums: 0.0, moves: 1.0, ..mixed.clone() },
        CountersOptions { key_order: true, ..mixed.clone() },
        CountersOptions { split_columns: true, ..mixed.clone() },
        mixed,
    ]
}

#[test]
fn the_laws_hold_on_a_right_store() {
    for options in all_options() {
        let text = format!("{options:?}");
        assert_eq!(verdict(options, Mistake::None, 3000), Ok(()), "{text}");
    }
}

#[test]
fn lost_updates_break_a_law() {
    for options in all_options().into_iter().filter(|o| o.moves < 1.0) {
        let text = format!("{options:?}");
        assert!(verdict(options, Mistake::LostUpdate, 3000).is_err(), "{text}");
    }
}

#[test]
fn stale_columns_lost_deletes_and_missing_undo_break_a_law() {
    for mistake in [Mistake::StaleColumns, Mistake::LostDelete, Mistake::NoUndo] {
        assert!(verdict(CountersOptions::mixed(), mistake, 3000).is_err(), "{mistake:?}");
    }
}

#[test]
fn a_commit_too_many_or_too_few_is_noticed() {
    let workload = Counters::new(CountersOptions::default()).unwrap();
    let mut store = Store::loaded(&workload, Mistake::None);
    let mut client = workload.client(0, 1, 1);
    client.next();
    store.commit(&mut client);
    let law = workload.conservation().unwrap();
    assert_eq!(law(&mut store, 1).unwrap(), Ok(()));
    let said = law(&mut store, 2).unwrap().unwrap_err();
    assert!(said.contains("add up to 2, committed increments to 4"), "{said}");
}

#[test]
fn a_sum_that_saw_a_broken_pair_reports_it_by_the_next_procedure() {
    let options =
        CountersOptions { transfers: 0.0, sums: 1.0, moves: 0.0, ..CountersOptions::mixed() };
    let workload = Counters::new(options).unwrap();
    let mut store = Store::loaded(&workload, Mistake::None);
    let mut client = workload.client(0, 1, 1);
    client.next();
    assert!(client.read_only());
    // A write outside of any protocol damages one of the pairs that are read.
    let (table, key) = (TableId(0), client.keys()[0]);
    let balance = txn::ColumnSet::one(1);
    txn::Access::update(&mut store, table, key.into(), balance, &7i64.to_le_bytes()).unwrap();
    store.commit(&mut client);
    client.next();
    assert_eq!(KIND_NAMES[client.kind()], "report");
    assert!(!client.read_only());
    store.commit(&mut client);
    let said = workload.conservation().unwrap()(&mut store, 2).unwrap().unwrap_err();
    assert!(said.contains("saw a broken law"), "{said}");
}

#[test]
fn shares_are_kept_and_every_kind_is_drawn() {
    let workload = Counters::new(CountersOptions::mixed()).unwrap();
    let mut client = workload.client(0, 1, 3);
    let mut kinds = [0u32; 5];
    for _ in 0..40_000 {
        client.next();
        kinds[client.kind()] += 1;
    }
    assert!(kinds[..4].iter().all(|&n| (9_500..10_500).contains(&n)), "{kinds:?}");
    assert_eq!(kinds[4], 0);
}

#[test]
fn a_retry_repeats_the_procedure_and_the_upgrade_reads_plainly() {
    for lock_upgrade in [false, true] {
        let options = CountersOptions { lock_upgrade, accesses: 8, ..CountersOptions::default() };
        let workload = Counters::new(options).unwrap();
        let mut store = Store::loaded(&workload, Mistake::None);
        let mut client = workload.client(0, 1, 3);
        store.record_events = true;
        client.next();
        store.abort_after = Some(15);
        assert!(store.attempt(&mut client).is_err());
        let first = std::mem::take(&mut store.events);
        assert!(store.attempt(&mut client).is_ok());
        assert_eq!(first, store.events);
        let intent = if lock_upgrade { Intent::Read } else { Intent::Update };
        assert!(matches!(first[0], Event::Read(_, _, _, i) if i == intent));
    }
}

#[test]
fn what_is_said_of_the_order_is_so() {
    for options in all_options() {
        for tables in [1, 2] {
            for key_order in [false, true] {
                let options = CountersOptions { tables, key_order, ..options.clone() };
                let workload = Counters::new(options).unwrap();
                let said = workload.in_key_order();
                assert!(key_order || !said);
                assert!(!said || Store::keeps_order(&workload, 1000), "{workload:?}");
            }
        }
    }
    let in_order = CountersOptions { accesses: 3, key_order: true, ..CountersOptions::default() };
    let unsaid = CountersOptions { key_order: false, ..in_order.clone() };
    assert!(Counters::new(in_order).unwrap().in_key_order());
    assert!(!Store::keeps_order(&Counters::new(unsaid).unwrap(), 1000));
}
