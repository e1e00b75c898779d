//! Tests the draws and accesses of YCSB's clients.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::micro::timestamps::Timestamps;
use kilocore_workloads::ycsb::{Ycsb, YcsbOptions};
use std::collections::HashSet;
use txn::{Access, Client, ColumnSet, Intent, TableId, Workload};

fn small() -> YcsbOptions {
    YcsbOptions { records: 1000, theta: 0.8, read_ratio: 0.5, ..YcsbOptions::default() }
}

/// Returns the events of `transactions` of one client.
fn events(options: YcsbOptions, worker: usize, seed: u64, transactions: usize) -> Vec<Event> {
    let workload = Ycsb::new(options).unwrap();
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(worker, 4, seed);
    for _ in 0..transactions {
        client.next();
        store.commit(&mut client);
    }
    store.events
}

#[test]
fn the_same_seed_gives_the_same_procedures() {
    assert_eq!(events(small(), 1, 5, 50), events(small(), 1, 5, 50));
    assert_ne!(events(small(), 1, 5, 50), events(small(), 2, 5, 50));
    assert_ne!(events(small(), 1, 5, 50), events(small(), 1, 6, 50));
}

#[test]
fn the_bits_are_the_same_on_any_machine() {
    // The expected values are committed to the repository. If they change, every simulated result changes.
    let keys = |theta| {
        let workload = Ycsb::new(YcsbOptions { theta, ..YcsbOptions::default() }).unwrap();
        let mut client = workload.client(3, 64, 2024);
        client.next();
        client.keys()[..4].to_vec()
    };
    assert_eq!(keys(0.0), KEYS_UNIFORM);
    assert_eq!(keys(0.6), KEYS_06);
    assert_eq!(keys(0.7), KEYS_07);
}

const KEYS_UNIFORM: [u64; 4] = [408075, 262595, 919205, 6114];
const KEYS_06: [u64; 4] = [107386, 35986, 810550, 7];
const KEYS_07: [u64; 4] = [53343, 12928, 757782, 1];

#[test]
fn a_retry_repeats_the_procedure() {
    for read_modify_write in [false, true] {
        let workload = Ycsb::new(YcsbOptions { read_modify_write, ..small() }).unwrap();
        let mut store = Store::loaded(&workload, Mistake::None);
        store.record_events = true;
        let mut client = workload.client(0, 1, 5);
        client.next();
        store.abort_after = Some(15);
        assert!(store.attempt(&mut client).is_err());
        let first = std::mem::take(&mut store.events);
        store.commit(&mut client);
        assert_eq!(first[..], store.events[..first.len()]);
    }
}

#[test]
fn ratio_fields_and_keys_are_as_asked() {
    let options = YcsbOptions { read_ratio: 0.9, theta: 0.0, prefetch: false, ..small() };
    let events = events(options, 0, 1, 2000);
    let (mut reads, mut fields) = (0, [0; 10]);
    for event in &events {
        let columns = match event {
            Event::Read(TableId(0), key, columns, _) if *key < 1000 => {
                reads += 1;
                columns
            }
            Event::Update(TableId(0), key, columns, value) if *key < 1000 => {
                assert_eq!(value.len(), 100);
                columns
            }
            other => panic!("{other:?}"),
        };
        fields[columns.iter().next().unwrap()] += 1;
    }
    assert_eq!(events.len(), 32_000);
    assert!((28_500..29_100).contains(&reads), "{reads}");
    assert!(fields.iter().all(|&n| (2950..3450).contains(&n)), "{fields:?}");
}

#[test]
fn keys_of_a_transaction_differ_unless_told_otherwise() {
    for distinct in [true, false] {
        let options = YcsbOptions { records: 16, distinct, ..small() };
        let mut client = Ycsb::new(options).unwrap().client(0, 1, 1);
        client.next();
        let different: HashSet<_> = client.keys().iter().collect();
        assert_eq!(different.len() == 16, distinct);
    }
}

#[test]
fn no_two_updates_write_the_same() {
    let mut values = HashSet::new();
    for worker in 0..3 {
        for event in events(YcsbOptions { read_ratio: 0.0, ..small() }, worker, 1, 200) {
            if let Event::Update(_, _, _, value) = event {
                assert!(values.insert(value));
            }
        }
    }
    assert_eq!(values.len(), 3 * 200 * 16);
}

#[test]
fn what_is_read_reaches_the_checksum_and_what_is_derived_from_it() {
    let run = |damage: bool| {
        let options = YcsbOptions { read_ratio: 0.5, read_modify_write: true, ..small() };
        let workload = Ycsb::new(options).unwrap();
        let mut store = Store::loaded(&workload, Mistake::None);
        let mut client = workload.client(0, 1, 1);
        client.next();
        if damage {
            let all = ColumnSet::first(10);
            let key = client.keys()[7];
            txn::Access::update(&mut store, TableId(0), key.into(), all, &[1; 1000]).unwrap();
        }
        store.record_events = true;
        store.commit(&mut client);
        client.checksum()
    };
    assert_ne!(run(false), run(true));
    assert_eq!(run(false), run(false));
}

#[test]
fn keys_are_announced_before_the_first_access() {
    let with = events(small(), 0, 1, 1);
    let without = events(YcsbOptions { prefetch: false, ..small() }, 0, 1, 1);
    let accessed = without.iter().filter_map(|event| match event {
        Event::Read(_, key, columns, _) | Event::Update(_, key, columns, _) => {
            Some((*key, *columns))
        }
        _ => None,
    });
    let accessed: Vec<_> = accessed.collect();
    assert_eq!(accessed.len(), 16);
    assert_eq!(with[0], Event::Prefetch(accessed));
    assert_eq!(with[1..], without[..]);
}

#[test]
fn only_transactions_without_updates_are_declared_read_only_and_only_when_asked() {
    for (read_ratio, declare_read_only, declared) in
        [(1.0, true, true), (1.0, false, false), (0.0, true, false)]
    {
        let options = YcsbOptions { read_ratio, declare_read_only, ..small() };
        let mut client = Ycsb::new(options).unwrap().client(0, 1, 1);
        client.next();
        assert_eq!(client.read_only(), declared);
    }
}

#[test]
fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
    let error = |options| Ycsb::new(options).unwrap_err().to_string();
    let cases = [
        (YcsbOptions { records: 0, ..small() }, "records is 0; allowed: 1 to 1099511627776"),
        (YcsbOptions { theta: 1.0, ..small() }, "theta is 1; allowed: at least 0 and less than 1"),
        (YcsbOptions { read_ratio: 1.5, ..small() }, "read-ratio is 1.5; allowed: 0 to 1"),
        (YcsbOptions { fields: 63, ..small() }, "fields is 63; allowed: 1 to 62"),
        (YcsbOptions { field_bytes: 0, ..small() }, "field-bytes is 0; allowed: 1 to 65536"),
        (YcsbOptions { accesses: 0, ..small() }, "accesses is 0; allowed: 1 to 4096"),
        (
            YcsbOptions { records: 8, ..small() },
            "accesses is 16; allowed: 1 to records (8) while a transaction's keys are distinct",
        ),
    ];
    for (options, said) in cases {
        assert_eq!(error(options), said);
    }
    assert!(Ycsb::new(YcsbOptions { records: 8, distinct: false, ..small() }).is_ok());
}

#[test]
fn a_timestamp_is_drawn_a_transaction() {
    let mut store = Store::loaded(&Timestamps, Mistake::None);
    let mut client = Timestamps.client(0, 1, 1);
    for i in 1..=3 {
        client.next();
        store.commit(&mut client);
        assert_eq!(client.last(), i);
    }
}

#[test]
fn what_is_said_of_the_order_is_so() {
    for (key_order, distinct) in [(true, true), (true, false), (false, true)] {
        for read_modify_write in [false, true] {
            let options = YcsbOptions { key_order, distinct, read_modify_write, ..small() };
            let workload = Ycsb::new(options).unwrap();
            assert_eq!(workload.in_key_order(), key_order && distinct);
            assert_eq!(Store::keeps_order(&workload, 300), key_order && distinct);
        }
    }
}

#[test]
fn an_addition_adds_to_integers() {
    let options = YcsbOptions { add: true, field_bytes: 8, read_ratio: 0.0, ..small() };
    let workload = Ycsb::new(options.clone()).unwrap();
    assert!(workload.schema().tables[0].columns.iter().all(|c| c.kind == txn::ColumnType::U64));
    let mut store = Store::loaded(&workload, Mistake::None);
    let sum = |store: &mut Store| {
        let columns = ColumnSet::first(options.fields as usize);
        let mut sum = 0u64;
        for key in 0..options.records {
            let mut row = vec![0; options.fields as usize * 8];
            assert!(store.read(TableId(0), key.into(), columns, &mut row).unwrap());
            let words = row.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
            sum = words.fold(sum, u64::wrapping_add);
        }
        sum
    };
    let before = sum(&mut store);
    store.record_events = true;
    let mut client = workload.client(0, 1, 3);
    client.next();
    store.commit(&mut client);
    let events = std::mem::take(&mut store.events);
    let is_update = |event: &&Event| matches!(event, Event::Update(..));
    let reads = events.iter().filter(|e| matches!(e, Event::Read(.., Intent::Update))).count();
    assert_eq!(events.iter().filter(is_update).count() as u64, options.accesses);
    assert_eq!(reads as u64, options.accesses);
    assert_ne!(sum(&mut store), before);
    let error = Ycsb::new(YcsbOptions { field_bytes: 16, ..options }).unwrap_err().to_string();
    assert_eq!(
        error,
        "add is on; allowed: off, or on with field-bytes of 8 and no read-modify-write"
    );
}
