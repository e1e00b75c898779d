//! Tests that YCSB's presets, scans, inserts and bound workers behave as declared.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::Options;
use kilocore_workloads::ycsb::{Ycsb, YcsbOptions};
use std::collections::{BTreeMap, HashSet};
use txn::{Client, Direction, Workload};

fn small(preset: &str) -> YcsbOptions {
    YcsbOptions { records: 1000, prefetch: false, ..YcsbOptions::preset(preset).unwrap() }
}

/// Returns the events of `transactions` of worker 1 of 4, one transaction at a time, and whether each was
/// declared read-only.
fn transactions(options: YcsbOptions, transactions: usize) -> Vec<(Vec<Event>, bool)> {
    let workload = Ycsb::new(options).unwrap();
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(1, 4, 7);
    (0..transactions)
        .map(|_| {
            client.next();
            store.commit(&mut client);
            (std::mem::take(&mut store.events), client.read_only())
        })
        .collect()
}

/// Returns the numbers of reads, updates, inserts and scans among the events.
fn counts(transactions: &[(Vec<Event>, bool)]) -> [usize; 4] {
    let mut counts = [0; 4];
    for event in transactions.iter().flat_map(|(events, _)| events) {
        match event {
            Event::Read(..) => counts[0] += 1,
            Event::Update(..) => counts[1] += 1,
            Event::Insert(..) => counts[2] += 1,
            Event::Scan(..) => counts[3] += 1,
            other => panic!("{other:?}"),
        }
    }
    counts
}

#[test]
fn presets_have_the_published_shares() {
    let about = |found: usize, wanted: usize| found.abs_diff(wanted) <= 120;
    for (name, wanted) in [
        ("a", [2000, 2000, 0, 0]),
        ("b", [3800, 200, 0, 0]),
        ("c", [4000, 0, 0, 0]),
        ("d", [3800, 0, 200, 0]),
        ("e", [0, 0, 200, 3800]),
        // Every second transaction reads and updates the same field.
        ("f", [4000, 2000, 0, 0]),
    ] {
        let found = counts(&transactions(small(name), 4000));
        assert!(found.iter().zip(wanted).all(|(f, w)| about(*f, w)), "{name}: {found:?}");
    }
}

#[test]
fn rows_are_inserted_once_into_the_partition_of_their_access() {
    let partitioned = YcsbOptions {
        records: 1001,
        insert_ratio: 0.5,
        accesses: 6,
        partitions: 4,
        multi_partition_share: 0.5,
        partitions_per_transaction: 3,
        local_partition: false,
        ..YcsbOptions::default()
    };
    for options in [small("d"), small("e"), partitioned] {
        let workload = Ycsb::new(options.clone()).unwrap();
        let mut store = Store::loaded(&workload, Mistake::None);
        store.record_events = true;
        let mut inserted = HashSet::new();
        for worker in 0..4 {
            let mut client = workload.client(worker, 4, 3);
            for _ in 0..500 {
                client.next();
                let mut declared = Vec::new();
                client.partitions(&mut declared);
                // An insert of an existing row would stop the client.
                store.commit(&mut client);
                for event in std::mem::take(&mut store.events) {
                    let Event::Insert(_, key) = event else { continue };
                    assert!(inserted.insert(key) && declared.contains(&(key % options.partitions)));
                }
            }
        }
        assert!(inserted.len() > 50, "{}", inserted.len());
    }
}

#[test]
fn a_retry_inserts_the_same_row() {
    let workload = Ycsb::new(YcsbOptions { insert_ratio: 1.0, ..small("d") }).unwrap();
    let mut store = Store::loaded(&workload, Mistake::None);
    let mut client = workload.client(0, 1, 5);
    client.next();
    let key = client.keys().to_vec();
    store.abort_after = Some(0);
    assert!(store.attempt(&mut client).is_err());
    assert_eq!(client.keys(), key);
    store.commit(&mut client);
}

#[test]
fn the_latest_rows_are_the_hottest() {
    let events = transactions(YcsbOptions { insert_ratio: 0.2, ..small("d") }, 4000);
    let mut inserted = Vec::new();
    let mut ages = BTreeMap::new();
    for event in events.iter().flat_map(|(events, _)| events) {
        match event {
            Event::Insert(_, key) => inserted.push(*key),
            Event::Read(_, key, ..) => {
                let own = inserted.iter().rev().position(|known| known == key);
                let age = own.unwrap_or_else(|| inserted.len() + 999 - *key as usize);
                *ages.entry(age).or_insert(0) += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    // By Zipf's law with theta 0.99 over 1000 ranks, the first rank gets 13 % of 3200 reads and the second
    // half of that.
    assert!((350..480).contains(&ages[&0]) && (150..270).contains(&ages[&1]), "{ages:?}");
    assert!(ages.keys().all(|age| *age < 1000));
}

#[test]
fn scans_begin_at_loaded_rows_and_visit_as_many_as_drawn() {
    for hashed_keys in [false, true] {
        let options = YcsbOptions {
            insert_ratio: 0.0,
            scan_ratio: 1.0,
            scan_length: 4,
            hashed_keys,
            ..small("e")
        };
        let workload = Ycsb::new(options).unwrap();
        let mut store = Store::loaded(&workload, Mistake::None);
        let mut client = workload.client(0, 1, 1);
        let mut lengths = [0; 5];
        for _ in 0..2000 {
            client.next();
            store.record_events = true;
            store.visited = 0;
            store.commit(&mut client);
            lengths[store.visited] += 1;
            let Some(Event::Scan(_, range, Direction::Forward)) = store.events.pop() else {
                panic!("no scan")
            };
            assert!(store.events.is_empty() && range.last() == u64::MAX);
            assert_eq!(range.first(), client.keys()[0]);
            assert!(hashed_keys || range.first() < 1000);
        }
        // Lengths are uniform from 1 to 4, except for scans at the end of the table.
        assert!(
            lengths[0] == 0 && lengths[1..].iter().all(|n| (400..620).contains(n)),
            "{lengths:?}"
        );
    }
}

#[test]
fn workers_are_bound_and_transactions_declared() {
    let half = YcsbOptions { read_ratio: 0.5, insert_ratio: 0.1, ..small("a") };
    let declared = |t: &[(Vec<Event>, bool)]| t.iter().filter(|(_, read_only)| *read_only).count();
    // Worker 1 is one of two readers, or the first writer.
    let readers = transactions(YcsbOptions { reader_workers: 2, ..half.clone() }, 1000);
    assert_eq!((counts(&readers), declared(&readers)), ([1000, 0, 0, 0], 1000));
    let writers = transactions(YcsbOptions { reader_workers: 1, ..half.clone() }, 1000);
    let [reads, updates, inserts, _] = counts(&writers);
    assert_eq!((reads, updates + inserts, declared(&writers)), (0, 1000, 0));
    assert!((70..130).contains(&inserts), "{inserts}");
    let shared =
        YcsbOptions { read_only_share: 0.3, read_ratio: 0.0, insert_ratio: 0.0, ..half.clone() };
    let shared = transactions(YcsbOptions { accesses: 3, ..shared }, 1000);
    assert!((250..350).contains(&declared(&shared)));
    for (events, read_only) in shared {
        assert!(events.iter().all(|event| matches!(event, Event::Read(..)) == read_only));
    }
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let error = |change: fn(&mut YcsbOptions)| {
        let mut options = YcsbOptions { scan_ratio: 0.5, ..small("a") };
        change(&mut options);
        Ycsb::new(options).unwrap_err().to_string()
    };
    let said = error(|o| o.insert_ratio = 0.75);
    assert_eq!(said, "scan-ratio + insert-ratio is 1.25; allowed: 0 to 1 together");
    assert_eq!(error(|o| o.scan_length = 0), "scan-length is 0; allowed: 1 to 1048576");
    assert!(error(|o| o.scan_theta = 1.0).starts_with("scan-theta is 1; allowed: at least 0"));
    let said = error(|o| o.key_order = true);
    assert_eq!(said, "key-order is on; allowed: off, or on with neither scans nor inserts");
    assert!(error(|o| (o.latest, o.partitions) = (true, 2)).contains("with one partition"));
    let said = error(|o| (o.hashed_keys, o.scan_ratio) = (true, 0.0));
    assert!(said.contains("one partition and scans"), "{said}");
    let said = error(|o| (o.read_only_share, o.reader_workers) = (0.5, 1));
    assert!(said.contains("reader-workers of 0"), "{said}");
}
