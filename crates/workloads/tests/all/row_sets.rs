//! Tests that the papers' micro-benchmarks access the rows that they define, and that their counters count
//! the updates.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::micro::hot_cold::{HotCold, HotColdOptions};
use kilocore_workloads::micro::key_value::{KeyValue, KeyValueOptions};
use kilocore_workloads::micro::sites::{Sites, SitesOptions};
use std::collections::{BTreeMap, BTreeSet};
use txn::{Client, Intent, Workload};

/// Runs two clients in turn, aborting every fifth attempt at some access. Returns the verdict of the law for
/// a number of commits increased by `more`.
fn verdict<W: Workload>(workload: &W, mistake: Mistake, more: i64) -> Result<(), String> {
    let mut store = Store::loaded(workload, mistake);
    let mut clients = [workload.client(0, 2, 9), workload.client(1, 2, 9)];
    for i in 0..1000 {
        let client = &mut clients[i % 2];
        client.next();
        if i % 5 == 0 {
            store.abort_after = Some(i as u64 / 5 % 4);
        }
        store.commit(client);
        store.abort_after = None;
    }
    workload.conservation().unwrap()(&mut store, (1000 + more) as u64).unwrap()
}

fn counts<W: Workload>(updating: &W, reading: &W) {
    assert_eq!(verdict(updating, Mistake::None, 0), Ok(()));
    assert_eq!(verdict(reading, Mistake::None, 0), Ok(()));
    for (mistake, more) in [(Mistake::LostUpdate, 0), (Mistake::NoUndo, 0), (Mistake::None, 1)] {
        let told = verdict(updating, mistake, more).unwrap_err();
        assert!(told.contains("updates are in the rows"), "{mistake:?}: {told}");
    }
}

#[test]
fn updates_are_counted_on_a_right_store_only() {
    let hot_cold = |updates| {
        let options = HotColdOptions { records: 60, updates, ..HotColdOptions::default() };
        HotCold::new(options).unwrap()
    };
    counts(&hot_cold(true), &hot_cold(false));
    let sites = |updates| {
        let options = SitesOptions { sites: 3, site_rows: 20, updates, ..SitesOptions::default() };
        Sites::new(options).unwrap()
    };
    counts(&sites(true), &sites(false));
    for strings in [false, true] {
        let pairs = |updates| {
            let options = KeyValueOptions { records: 60, accesses: 3, updates, strings };
            KeyValue::new(options).unwrap()
        };
        counts(&pairs(true), &pairs(false));
    }
}

/// Returns the keys of `transactions` of one worker. Checks that each is read or updated once, in partitions
/// that are declared.
fn keys<W: Workload>(workload: &W, worker: usize, transactions: usize) -> Vec<Vec<u64>> {
    let rule = workload.schema().tables[0].partitioning;
    let mut store = Store::loaded(workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(worker, 4, 5);
    (0..transactions)
        .map(|_| {
            client.next();
            let mut declared = Vec::new();
            client.partitions(&mut declared);
            store.commit(&mut client);
            let (mut read, mut updated) = (Vec::new(), Vec::new());
            for event in std::mem::take(&mut store.events) {
                match event {
                    Event::Read(_, key, _, intent) => {
                        assert_eq!(intent == Intent::Read, client.read_only());
                        read.push(key);
                    }
                    Event::Update(_, key, ..) => updated.push(key),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(updated, if client.read_only() { vec![] } else { read.clone() });
            assert_eq!(read.iter().collect::<BTreeSet<_>>().len(), read.len());
            let accessed: BTreeSet<u64> = read.iter().filter_map(|key| rule.of(*key)).collect();
            assert_eq!(declared.into_iter().collect::<BTreeSet<_>>(), accessed);
            read
        })
        .collect()
}

#[test]
fn two_records_are_hot_and_the_rest_are_cold() {
    for packed in [false, true] {
        let options = HotColdOptions { records: 1600, packed, ..HotColdOptions::default() };
        let is_hot = |key: &u64| if packed { *key < 16 } else { key.is_multiple_of(100) };
        let mut hot = BTreeMap::new();
        for keys in keys(&HotCold::new(options).unwrap(), 0, 2000) {
            assert!(
                keys.len() == 10 && keys[..2].iter().all(is_hot) && !keys[2..].iter().any(is_hot)
            );
            keys[..2].iter().for_each(|key| *hot.entry(*key).or_insert(0) += 1);
        }
        assert!(hot.len() == 16 && hot.values().all(|n| (190..320).contains(n)), "{hot:?}");
    }
}

#[test]
fn as_many_records_are_remote_as_asked_for() {
    for remote in [0, 1, 4, 10] {
        let options = HotColdOptions {
            records: 1000,
            hot_records: 0,
            hot_accesses: 0,
            partitions: 8,
            remote,
            updates: true,
            ..HotColdOptions::default()
        };
        for keys in keys(&HotCold::new(options).unwrap(), 3, 300) {
            let away = keys.iter().filter(|key| *key / 125 != 3).count() as u64;
            assert_eq!((keys.len(), away), (10, remote));
        }
    }
    // Only a share of the transactions can have them.
    let options = HotColdOptions {
        records: 1000,
        partitions: 10,
        remote: 8,
        multisite: 0.2,
        ..HotColdOptions::default()
    };
    let drawn = keys(&HotCold::new(options).unwrap(), 3, 1000);
    let away = |keys: &Vec<u64>| keys[2..].iter().filter(|key| !(300..400).contains(*key)).count();
    let multisite = drawn.iter().filter(|keys| away(keys) == 8).count();
    assert_eq!(drawn.iter().filter(|keys| away(keys) == 0).count(), 1000 - multisite);
    assert!((150..250).contains(&multisite), "{multisite}");
    // Where they can be anywhere, even a partition of a single record can have a transaction.
    let anywhere = HotColdOptions {
        records: 72,
        hot_records: 0,
        hot_accesses: 0,
        partitions: 72,
        anywhere: true,
        ..HotColdOptions::default()
    };
    let met = keys(&HotCold::new(anywhere).unwrap(), 3, 300).concat();
    assert_eq!(met.into_iter().collect::<BTreeSet<_>>().len(), 72);
    // Spread hot records usually belong to another partition. Packed hot records belong to the first
    // partition.
    let options = HotColdOptions { records: 1600, partitions: 16, ..HotColdOptions::default() };
    let spread: BTreeSet<u64> = keys(&HotCold::new(options.clone()).unwrap(), 3, 300)
        .iter()
        .flat_map(|keys| [keys[0] / 100, keys[1] / 100])
        .collect();
    assert_eq!(spread.len(), 16);
    let packed = HotCold::new(HotColdOptions { packed: true, ..options }).unwrap();
    assert!(keys(&packed, 3, 300).iter().all(|keys| keys[0] / 100 == 0 && keys[2] / 100 == 3));
}

#[test]
fn rows_in_key_order_are() {
    for key_order in [true, false] {
        let options =
            HotColdOptions { records: 200, key_order, updates: true, ..Default::default() };
        let workload = HotCold::new(options).unwrap();
        assert_eq!(workload.in_key_order(), key_order);
        assert_eq!(Store::keeps_order(&workload, 300), key_order);
    }
}

#[test]
fn local_transactions_stay_at_home_and_others_begin_there() {
    let options = SitesOptions { sites: 4, site_rows: 100, multisite: 0.3, ..Default::default() };
    let transactions = keys(&Sites::new(options.clone()).unwrap(), 2, 1000);
    let away = transactions.iter().filter(|keys| keys.iter().any(|key| key / 100 != 2)).count();
    assert!((250..350).contains(&away), "{away}");
    assert!(transactions.iter().all(|keys| keys[0] / 100 == 2 && keys.len() == 10));
    let remote: Vec<u64> = transactions
        .iter()
        .filter(|keys| keys.iter().any(|key| key / 100 != 2))
        .flat_map(|keys| keys[1..].iter().map(|key| key / 100))
        .collect();
    for site in 0..4 {
        let share = remote.iter().filter(|of| **of == site).count() as f64 / remote.len() as f64;
        assert!((share - 0.25).abs() < 0.04, "{site}: {share}");
    }
    // With skew, the first site's rows are the most frequent.
    let options = SitesOptions { accesses: 2, multisite: 1.0, theta: 0.9, ..options };
    let skewed = keys(&Sites::new(options).unwrap(), 2, 1000);
    let first = skewed.iter().filter(|keys| keys[1] / 100 == 0).count();
    assert!(first > 600, "{first}");
}

#[test]
fn pairs_are_drawn_evenly() {
    let options = KeyValueOptions { records: 10, accesses: 4, ..KeyValueOptions::default() };
    let mut counts = [0; 10];
    for keys in keys(&KeyValue::new(options).unwrap(), 0, 1000) {
        assert_eq!(keys.len(), 4);
        keys.iter().for_each(|key| counts[*key as usize] += 1);
    }
    assert!(counts.iter().all(|n| (340..460).contains(n)), "{counts:?}");
}
