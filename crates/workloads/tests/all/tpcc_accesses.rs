//! Tests the effects of the stand-in for TPC-C's accesses on the database.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::IndexChoice;
use kilocore_workloads::tpcc_accesses::{
    CUSTOMER, DISTRICT, ITEM, STOCK, TpccAccesses, TpccAccessesOptions, WAREHOUSE,
};
use txn::{Client, Intent, TableId, Workload};

/// These are the accesses of an order before those of its lines.
const FIRST: [(TableId, Intent); 3] =
    [(WAREHOUSE, Intent::Read), (CUSTOMER, Intent::Read), (DISTRICT, Intent::Update)];

fn workload() -> TpccAccesses {
    let options =
        TpccAccessesOptions { warehouses: 2, full_schema: false, ..TpccAccessesOptions::default() };
    TpccAccesses::new(options).unwrap()
}

/// Returns the kind and the events of each of `transactions` of one client.
fn procedures(
    workload: &TpccAccesses,
    worker: usize,
    seed: u64,
    transactions: usize,
) -> Vec<(usize, Vec<Event>)> {
    let mut store = Store::loaded(workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(worker, 4, seed);
    (0..transactions)
        .map(|_| {
            client.next();
            store.commit(&mut client);
            (client.kind(), std::mem::take(&mut store.events))
        })
        .collect()
}

#[test]
fn seed_and_worker_decide_the_procedures() {
    let workload = workload();
    assert_eq!(procedures(&workload, 1, 5, 30), procedures(&workload, 1, 5, 30));
    assert_ne!(procedures(&workload, 1, 5, 30), procedures(&workload, 3, 5, 30));
    assert_ne!(procedures(&workload, 1, 5, 30), procedures(&workload, 1, 6, 30));
}

#[test]
fn a_retry_repeats_the_procedure() {
    let workload = workload();
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(0, 1, 5);
    for _ in 0..20 {
        client.next();
        store.abort_after = Some(2);
        assert!(store.attempt(&mut client).is_err());
        store.abort_after = None;
        let before = std::mem::take(&mut store.events);
        store.commit(&mut client);
        let after = std::mem::take(&mut store.events);
        // Reads carry no values, so they are the same events. Writes can have seen other rows.
        assert_eq!(before[..1], after[..1]);
        assert!(after.len() > before.len());
    }
}

#[test]
fn procedures_touch_what_they_say_and_each_update_is_read_for_update() {
    for (kind, events) in procedures(&workload(), 1, 7, 200) {
        let (mut tables, mut appended) = (Vec::new(), Vec::new());
        let mut announced = Vec::new();
        for event in &events {
            match event {
                Event::Prefetch(rows) => {
                    assert_eq!(tables, FIRST, "rows are announced when the district is locked");
                    announced.push(rows.len());
                }
                Event::Read(table, _, _, intent) => tables.push((*table, *intent)),
                Event::Update(table, ..) => {
                    assert_eq!(tables.last(), Some(&(*table, Intent::Update)));
                }
                Event::Append(bytes) => appended.push(*bytes),
                other => panic!("{other:?}"),
            }
        }
        let count = |table| tables.iter().filter(|t| **t == table).count();
        if kind == 1 {
            let all = [WAREHOUSE, DISTRICT, CUSTOMER].map(|t| (t, Intent::Update));
            // A head, and data that begin on a line.
            assert_eq!((tables, appended), (all.to_vec(), vec![64 + 64]));
            assert!(announced.is_empty());
            continue;
        }
        let lines = count((STOCK, Intent::Update));
        let items = [(ITEM, Intent::Read)].repeat(lines);
        let stock = [(STOCK, Intent::Update)].repeat(lines);
        assert_eq!(tables, [FIRST.to_vec(), items, stock].concat());
        assert_eq!(appended, [128, 128, 128 * lines]);
        assert_eq!(announced, [lines, lines], "items and their stock");
    }
}

#[test]
fn without_announcements_lines_are_taken_one_after_another() {
    let options = TpccAccessesOptions { prefetch: false, ..workload().options().clone() };
    let workload = TpccAccesses::new(options).unwrap();
    for (_, events) in procedures(&workload, 1, 7, 50).into_iter().filter(|(kind, _)| *kind == 0) {
        let tables: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Event::Read(table, _, _, intent) => Some((*table, *intent)),
                Event::Prefetch(_) => panic!("nothing is announced"),
                _ => None,
            })
            .collect();
        let line = [(ITEM, Intent::Read), (STOCK, Intent::Update)];
        assert_eq!(tables[..3], FIRST);
        assert_eq!(tables[3..], line.repeat((tables.len() - 3) / 2));
    }
}

#[test]
fn what_is_read_and_never_updated_is_declared_constant() {
    let workload = workload();
    let constant = workload.schema().tables.into_iter().map(|table| table.constant);
    let constant: Vec<_> = constant.collect();
    for (_, events) in procedures(&workload, 1, 7, 200) {
        for event in events {
            match event {
                Event::Read(table, _, columns, Intent::Read) => {
                    assert!(constant[table.0 as usize].contains(columns), "{event:?}");
                }
                Event::Update(table, _, columns, ..) => {
                    assert!(!constant[table.0 as usize].intersects(columns), "{event:?}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn workers_share_homes_and_replicas_evenly() {
    let options =
        TpccAccessesOptions { warehouses: 3, item_replicas: 2, ..TpccAccessesOptions::default() };
    let workload = TpccAccesses::new(options).unwrap();
    let homes: Vec<u64> = (0..7).map(|worker| workload.client(worker, 7, 1).home()).collect();
    assert_eq!(homes, [0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(workload.rows(ITEM), 200_000);
    assert_eq!(workload.rows(STOCK), 300_000);
}

#[test]
fn lines_are_appended_together_or_one_by_one_or_not_at_all() {
    let appended = |options| {
        let workload = TpccAccesses::new(options).unwrap();
        let rows = |(kind, events): (usize, Vec<Event>)| -> (usize, Vec<usize>) {
            let rows = events.into_iter().filter_map(|event| match event {
                Event::Append(bytes) => Some(bytes),
                _ => None,
            });
            (kind, rows.collect())
        };
        procedures(&workload, 1, 5, 30).into_iter().map(rows).collect::<Vec<_>>()
    };
    let options = workload().options().clone();
    let together = appended(options.clone());
    let alone = appended(TpccAccessesOptions { bulk_insert: false, ..options.clone() });
    let none = appended(TpccAccessesOptions { inserts: false, ..options });
    assert!(together.iter().any(|(kind, _)| *kind == 0));
    for (((kind, together), (_, alone)), (_, none)) in together.iter().zip(&alone).zip(&none) {
        assert_eq!(together.iter().sum::<usize>(), alone.iter().sum());
        // An order, its new-order record, and its lines of 128 bytes; or a history row.
        let (at_once, one_by_one) = match kind {
            0 => (3, 2 + together[2] / 128),
            _ => (1, 1),
        };
        assert_eq!((together.len(), alone.len()), (at_once, one_by_one));
        assert!(none.is_empty());
    }
}

#[test]
fn appended_rows_have_whole_lines_for_their_heads_and_items_can_be_announced_without_their_data() {
    let options = TpccAccessesOptions {
        row_head_bytes: 96,
        prefetch_items: false,
        ..workload().options().clone()
    };
    for (kind, events) in procedures(&TpccAccesses::new(options).unwrap(), 1, 7, 50) {
        let bytes = events.iter().map(|event| match event {
            Event::Append(bytes) => *bytes,
            _ => 0,
        });
        let rows =
            2 + events.iter().filter(|event| matches!(event, Event::Update(STOCK, ..))).count();
        assert_eq!(bytes.sum::<usize>(), if kind == 0 { 192 * rows } else { 192 });
        let announced = events.iter().filter_map(|event| match event {
            Event::Prefetch(rows) => Some(rows.iter().all(|(_, columns)| columns.is_empty())),
            _ => None,
        });
        let announced: Vec<bool> = announced.collect();
        assert_eq!(announced, if kind == 0 { vec![true, false] } else { vec![] });
    }
}

#[test]
fn a_perfect_index_has_a_place_for_every_row() {
    let options = workload().options().clone();
    let workload = TpccAccesses::new(TpccAccessesOptions {
        index: IndexChoice::Perfect,
        item_replicas: 2,
        ..options
    });
    let workload = workload.unwrap();
    let tables = workload.schema().tables;
    assert_eq!(tables.len(), 5);
    for (number, table) in (0..).zip(tables) {
        let keys = workload.rows(txn::TableId(number));
        assert_eq!(table.index, txn::IndexKind::Perfect { keys }, "{}", table.name);
    }
}
