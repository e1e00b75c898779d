//! Tests that TATP's transactions find the rows given in the description, and that its law detects errors.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::tatp::{
    FACILITIES, FORWARDINGS, KIND_NAMES, LEDGER, NUMBERS, SUBSCRIBERS, Tatp, TatpOptions,
};
use std::collections::BTreeSet;
use txn::{Client, Workload};

/// Returns options with mostly writes and few subscribers.
fn busy() -> TatpOptions {
    TatpOptions {
        subscribers: 7,
        get_subscriber_data: 0.05,
        get_new_destination: 0.05,
        get_access_data: 0.05,
        update_subscriber_data: 0.1,
        update_location: 0.25,
        insert_call_forwarding: 0.25,
        audit: true,
        ..TatpOptions::default()
    }
}

/// Runs two clients in turn, aborting every fifth attempt at some access. Returns the verdict of the law.
fn verdict(mistake: Mistake) -> Result<(), String> {
    let workload = Tatp::new(busy()).unwrap();
    let mut store = Store::loaded(&workload, mistake);
    let mut clients = [workload.client(0, 2, 9), workload.client(1, 2, 9)];
    for i in 0..5000 {
        let client = &mut clients[i % 2];
        client.next();
        if i % 5 == 0 {
            store.abort_after = Some(i as u64 / 5 % 5);
        }
        store.commit(client);
        store.abort_after = None;
    }
    workload.conservation().unwrap()(&mut store, 5000).unwrap()
}

#[test]
fn the_ledger_explains_the_register_on_a_right_store_only() {
    assert_eq!(verdict(Mistake::None), Ok(()));
    for mistake in [Mistake::LostUpdate, Mistake::LostDelete, Mistake::NoUndo] {
        let told = verdict(mistake).unwrap_err();
        assert!(told.contains("the ledger"), "{mistake:?}: {told}");
    }
    let workload = Tatp::new(TatpOptions { audit: false, ..busy() }).unwrap();
    assert!(workload.conservation().is_none() && workload.schema().tables.len() == 5);
}

#[test]
fn transactions_are_as_many_and_find_as_much_as_described() {
    let workload = Tatp::new(TatpOptions { subscribers: 20_000, ..Default::default() }).unwrap();
    let mut store = Store::loaded(&workload, Mistake::None);
    let mut client = workload.client(0, 1, 3);
    let mut drawn = [0u64; 7];
    for _ in 0..200_000 {
        client.next();
        drawn[client.kind()] += 1;
        assert_eq!(client.read_only(), KIND_NAMES[client.kind()].starts_with("get"));
        store.commit(&mut client);
    }
    client.next();
    let shares = [35.0, 10.0, 35.0, 2.0, 14.0, 2.0, 2.0];
    // The second value was derived by hand from the rules of drawing. No source gives it.
    let successes = [100.0, 14.8, 62.5, 62.5, 100.0, 31.25, 31.25];
    for (kind, (drawn, found)) in drawn.into_iter().zip(client.found()).enumerate() {
        let name = KIND_NAMES[kind];
        let share = drawn as f64 / 2000.0;
        assert!((share - shares[kind]).abs() < 0.4, "{name}: {share} %");
        let success = found as f64 / drawn as f64 * 100.0;
        // About 4000 transactions of the rarest kinds are drawn: three standard deviations are 2.2.
        assert!((success - successes[kind]).abs() < 2.3, "{name}: {success} %");
    }
}

#[test]
fn some_subscribers_are_preferred_unless_told_otherwise() {
    let distinct = |uniform| {
        let options = TatpOptions { subscribers: 100_000, uniform, ..Default::default() };
        let workload = Tatp::new(TatpOptions {
            get_subscriber_data: 1.0,
            get_new_destination: 0.0,
            get_access_data: 0.0,
            update_subscriber_data: 0.0,
            update_location: 0.0,
            insert_call_forwarding: 0.0,
            ..options
        })
        .unwrap();
        let mut store = Store::loaded(&workload, Mistake::None);
        store.record_events = true;
        let mut client = workload.client(0, 1, 3);
        for _ in 0..50_000 {
            client.next();
            store.commit(&mut client);
        }
        let keys: BTreeSet<u64> = store
            .events
            .iter()
            .map(|event| match event {
                Event::Read(SUBSCRIBERS, key, ..) => *key,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(*keys.last().unwrap() < 100_000);
        keys.len()
    };
    // Uniform draws of 50,000 out of 100,000 hit 39,300. OR-ing two numbers prefers numbers with many one
    // bits.
    assert!((38_900..39_700).contains(&distinct(true)));
    assert!((15_000..25_000).contains(&distinct(false)), "{}", distinct(false));
}

#[test]
fn a_transaction_stays_in_the_partitions_it_declares() {
    let workload = Tatp::new(TatpOptions { partitions: 3, ..busy() }).unwrap();
    let schema = workload.schema();
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(1, 2, 4);
    let mut scans = 0;
    for _ in 0..2000 {
        client.next();
        let mut declared = Vec::new();
        client.partitions(&mut declared);
        store.commit(&mut client);
        for event in std::mem::take(&mut store.events) {
            let (table, key) = match event {
                Event::Read(table, key, ..)
                | Event::Update(table, key, ..)
                | Event::Insert(table, key)
                | Event::Delete(table, key) => (table, key),
                Event::Scan(table, range, _) => {
                    assert!(table == FACILITIES || table == FORWARDINGS);
                    let rule = schema.tables[table.0 as usize].partitioning;
                    assert!(rule.all_of_range(range, |of| declared.contains(&of)));
                    scans += 1;
                    continue;
                }
                Event::ScanIndex(..) | Event::Prefetch(..) | Event::Append(_) => continue,
            };
            let of = schema.tables[table.0 as usize].partitioning.of(key);
            assert!(of.is_none_or(|of| declared.contains(&of)), "{table:?} {key}");
            assert!(of.is_some() || table == NUMBERS);
            assert!(table != LEDGER || of == Some(0));
        }
    }
    assert!(scans > 100);
}
