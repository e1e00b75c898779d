//! Look-ups in sets of records of every size, by each of the ways that a look-up can take.

use kilocore_protocols::mechanisms::record_set::RecordSet;
use machine::{Body, Machine, Native, NativeOptions, Word, cold::Arc};
use storage::{ProtocolWords, RecordRef, Store, StoreLoader, StoreOptions};
use txn::{Column, ColumnType, Loader, Schema, TableId, TableSchema};

const TABLE: TableId = TableId(0);
const ROWS: u64 = 400;
/// More records than are sorted with their indices beside their addresses.
const MANY: u64 = 70_000;

/// Calls `test` with the records of a table of `rows` rows.
fn with_records(rows: u64, test: impl FnOnce(&[RecordRef<'_, Native, Word>]) + Send) {
    let machine = Arc::new(Native::new(NativeOptions::default()).unwrap());
    let options = StoreOptions {
        sessions: 1,
        keep_versions: false,
        keep_digests: false,
        words: ProtocolWords::of::<Word>(),
        access: Default::default(),
    };
    let store: Store<Native> = Store::new(machine.clone(), options).unwrap();
    let columns = vec![Column::new("value", ColumnType::U64)];
    let schema = Schema { tables: vec![TableSchema::new("rows", columns)] };
    store.create_tables(&schema, |_| rows).unwrap();
    let mut loader = StoreLoader::new(&store, 1);
    loader.load_dense(TABLE, rows, &|_, _| ());
    loader.finish().unwrap();
    let body: Body<'_, Native> = Box::new(|core| {
        let record = |key| RecordRef::checked(store.table(TABLE).find(core, key).expect("loaded"));
        test(&(0..rows).map(record).collect::<Vec<_>>());
    });
    machine.run(vec![body], vec![]).unwrap();
}

#[test]
fn records_are_found_however_many_there_are_and_however_often_they_are_looked_up() {
    with_records(ROWS, |records| {
        let mut set = RecordSet::default();
        for count in [1, 2, 24, 25, 26, 64, 65, 70, 140, 300] {
            // Records are looked up after each push, after few of them, or only at the end.
            for every in [1, 7, 1000] {
                for (at, record) in records[..count].iter().enumerate() {
                    assert_eq!(set.push(*record, at), at);
                    if at % every == 0 {
                        assert_eq!(set.find(&records[at / 2]), Some(at / 2), "{at} of {count}");
                        assert_eq!(set.find(&records[at + 1]), None, "{at} of {count}");
                    }
                }
                for (at, record) in records.iter().enumerate() {
                    assert_eq!(set.find(record), (at < count).then_some(at), "{count}");
                }
                set.sort();
                for (at, record) in records.iter().enumerate() {
                    let value = set.find(record).map(|place| *set.get(place).1);
                    assert_eq!(value, (at < count).then_some(at), "{count}");
                }
                set.clear();
                assert!(records.iter().all(|record| set.find(record).is_none()));
            }
        }
    });
}

#[test]
fn sets_of_any_size_are_sorted_by_address() {
    with_records(MANY, |records| {
        let mut set = RecordSet::default();
        for count in [1, 2, 20, 21, 300, MANY] {
            // The step and the count have no common divisor, so each record comes once.
            let places = (0..count).map(|at| (at * 7919 % count) as usize);
            for place in places {
                set.push(records[place], place);
            }
            set.sort();
            let sorted: Vec<_> = set.iter().map(|(record, at)| (record.identity(), *at)).collect();
            assert_eq!(sorted.len() as u64, count);
            assert!(sorted.is_sorted(), "{count}");
            assert!(sorted.iter().all(|(identity, at)| records[*at].identity() == *identity));
            // Looked up in their order, against it, and in their order again behind a miss.
            for at in (0..sorted.len()).chain((0..sorted.len()).rev()) {
                assert_eq!(set.find(&records[sorted[at].1]), Some(at), "{count}");
            }
            set.clear();
        }
    });
}
