//! Tests that clients declare the partitions that they access.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::micro::counters::{Counters, CountersOptions};
use kilocore_workloads::tpcc_accesses::{TpccAccesses, TpccAccessesOptions};
use kilocore_workloads::ycsb::{Ycsb, YcsbOptions};
use std::collections::BTreeSet;
use txn::{Client, Workload};

/// Returns the partitions declared and the partitions accessed, by transaction.
fn declared_and_accessed(workload: &impl Workload) -> Vec<(BTreeSet<u64>, BTreeSet<u64>)> {
    let schema = workload.schema();
    let mut store = Store::loaded(workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(1, 4, 3);
    (0..500)
        .map(|_| {
            client.next();
            let mut declared = Vec::new();
            client.partitions(&mut declared);
            store.commit(&mut client);
            let accessed = store.events.drain(..).filter_map(|event| match event {
                Event::Read(table, key, ..)
                | Event::Update(table, key, ..)
                | Event::Insert(table, key)
                | Event::Delete(table, key) => schema.tables[table.0 as usize].partitioning.of(key),
                // None of these workloads scans.
                Event::Scan(..) | Event::ScanIndex(..) | Event::Prefetch(..) | Event::Append(_) => {
                    None
                }
            });
            (declared.into_iter().collect(), accessed.collect())
        })
        .collect()
}

#[test]
fn ycsb_declares_what_it_accesses() {
    let options = YcsbOptions {
        records: 10_000,
        theta: 0.6,
        partitions: 10,
        multi_partition_share: 0.3,
        partitions_per_transaction: 4,
        local_partition: false,
        ..YcsbOptions::default()
    };
    let transactions = declared_and_accessed(&Ycsb::new(options.clone()).unwrap());
    assert!(transactions.iter().all(|(declared, accessed)| declared == accessed));
    let several = transactions.iter().filter(|(_, accessed)| accessed.len() == 4).count();
    let one = transactions.iter().filter(|(_, accessed)| accessed.len() == 1).count();
    assert_eq!(several + one, 500);
    assert!((120..180).contains(&several), "{several}");
    let homes: BTreeSet<u64> = transactions.iter().flat_map(|(_, of)| of.clone()).collect();
    assert_eq!(homes.len(), 10);
    let own = YcsbOptions { local_partition: true, ..options.clone() };
    let transactions = declared_and_accessed(&Ycsb::new(own).unwrap());
    assert!(transactions.iter().all(|(declared, accessed)| declared == accessed));
    assert!(transactions.iter().all(|(_, accessed)| accessed.contains(&1)));
    // A transaction can access all partitions, but not more than exist.
    let all = YcsbOptions { partitions_per_transaction: 10, ..options.clone() };
    let transactions = declared_and_accessed(&Ycsb::new(all).unwrap());
    assert!(transactions.iter().any(|(_, accessed)| accessed.len() == 10));
    // Scattered keys have the partitions that they fall into, and follow Zipf's law of the whole table.
    let scattered = YcsbOptions { scattered: true, multi_partition_share: 0.0, ..options.clone() };
    let transactions = declared_and_accessed(&Ycsb::new(scattered.clone()).unwrap());
    assert!(transactions.iter().all(|(declared, accessed)| declared == accessed));
    let numbers: BTreeSet<usize> = transactions.iter().map(|(_, of)| of.len()).collect();
    assert!(numbers.len() > 3 && numbers.iter().all(|number| *number > 3), "{numbers:?}");
    let both = YcsbOptions { multi_partition_share: 0.5, ..scattered.clone() };
    let error = Ycsb::new(both).unwrap_err().to_string();
    assert_eq!(error, "scattered is on; allowed: off, or on with multi-partition-share of 0");
    let whole = YcsbOptions { partitions: 1, ..scattered.clone() };
    let [scattered, whole] = [scattered, whole].map(|options| {
        let mut client = Ycsb::new(options).unwrap().client(1, 4, 9);
        client.next();
        client.keys().to_vec()
    });
    assert_eq!(scattered, whole);
    let more = YcsbOptions { partitions_per_transaction: 11, ..options };
    let error = Ycsb::new(more).unwrap_err().to_string();
    assert_eq!(error, "partitions-per-transaction is 11; allowed: 1 to partitions (10)");
}

#[test]
fn counters_declare_what_they_access() {
    let options = CountersOptions { partitions: 3, ..CountersOptions::mixed() };
    for (declared, accessed) in declared_and_accessed(&Counters::new(options).unwrap()) {
        assert!(!declared.is_empty() && declared.is_superset(&accessed));
    }
}

#[test]
fn warehouses_are_partitions() {
    let options = TpccAccessesOptions {
        warehouses: 5,
        full_schema: false,
        remote_lines: 0.1,
        ..TpccAccessesOptions::default()
    };
    let transactions = declared_and_accessed(&TpccAccesses::new(options).unwrap());
    assert!(transactions.iter().all(|(declared, accessed)| declared == accessed));
    assert!(transactions.iter().any(|(declared, _)| declared.len() > 2));
    assert!(transactions.iter().all(|(declared, _)| declared.contains(&1)));
}
