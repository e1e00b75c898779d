//! Tests the options of accesses in native sessions: every choice must answer as the default does. There, accesses take a
//! shorter way than on modelled machines.

use kilocore_engine::{
    AccessOptions, Allocator, Announcements, ColumnLookup, ConstantReads, Copies, EngineOptions,
    IndexPointers, Session, Start, Timing, registry,
};
use machine::{ArenaOptions, Machine, Native, NativeOptions, cold::Arc};
use protocols::{ProtocolOptions, registry::declarations};
use txn::{
    AbortReason, Column, ColumnSet, ColumnType, Direction, KeyRange, Schema, TableId, TableSchema,
};

const HASHED: TableId = TableId(0);
const ORDERED: TableId = TableId(1);
const FREE: TableId = TableId(2);
const QUEUE: TableId = TableId(3);
const CONSTANT: ColumnSet = ColumnSet::one(0);
const COUNTER: ColumnSet = ColumnSet::one(1);
const OTHER: ColumnSet = ColumnSet::one(2);
const ROWS: u64 = 4;

struct Data;

/// An access that may be refused.
type Try<'t> = dyn Fn(&mut dyn Session) -> Result<bool, txn::Abort> + 't;

impl kilocore_engine::Dataset for Data {
    fn schema(&self) -> Schema {
        let columns = ["constant", "counter", "other"];
        let columns = || columns.map(|name| Column::new(name, ColumnType::U64)).to_vec();
        let table = |name| TableSchema::new(name, columns());
        Schema {
            tables: vec![
                table("hashed").with_constant_columns(CONSTANT),
                table("ordered").ordered().with_constant_columns(CONSTANT),
                table("free"),
                table("queue").ordered(),
            ],
        }
    }

    fn rows(&self, table: TableId) -> u64 {
        if table == QUEUE { 0 } else { ROWS }
    }

    fn load(&self, loader: &mut dyn txn::Loader) {
        for table in [HASHED, ORDERED, FREE] {
            loader.load_dense(table, ROWS, &|key, row| {
                row[..8].copy_from_slice(&(key + 100).to_le_bytes());
            });
        }
    }
}

/// Calls `test` with a session of each protocol under each choice of options.
fn with_each(test: impl Fn(&mut dyn Session)) {
    let protocol = ProtocolOptions::default();
    for declared in declarations::<Native>(&protocol) {
        for number in 0..16 {
            let access = AccessOptions {
                constants: [ConstantReads::Controlled, ConstantReads::Bypass][number & 1],
                copies: [Copies::Columns, Copies::Records][number >> 1 & 1],
                columns: [ColumnLookup::Compiled, ColumnLookup::Catalogue][number >> 2 & 1],
                rows: [Allocator::Arena, Allocator::Malloc][number >> 3 & 1],
                entries: [Allocator::Malloc, Allocator::Arena][number >> 1 & 1],
                announcements: [Announcements::Prefetched, Announcements::Ignored][number & 1],
                pointers: [IndexPointers::Shared, IndexPointers::Private][number >> 2 & 1],
                shipping: Default::default(),
                state: Default::default(),
                timing: [Timing::Versions, Timing::Off][number >> 3 & 1],
            };
            let arena = ArenaOptions { reserve_bytes: 1 << 27, ..ArenaOptions::default() };
            let options = NativeOptions { arena, pin: false, ..NativeOptions::default() };
            let machine = Arc::new(Native::new(options).expect("address space"));
            let options = EngineOptions {
                protocol: protocol.clone(),
                access,
                sessions: 1,
                partitions: 1,
                fibers: 1,
                dedicated_servers: false,
                moving: kilocore_engine::MovingOptions::default(),
                record_history: false,
                record_values: false,
                purge_batch: 4,
                epoch_interval_ticks: machine.clock_hz(),
            };
            let engine = registry::native(registry::DEFAULT, declared.name, &machine, &options)
                .expect("room for an engine");
            engine.load(&Data, 1).expect("room for the tables");
            let core = machine.core(0);
            test(&mut *engine.session(&core, 0));
        }
    }
}

fn begin(session: &mut dyn Session) {
    session.begin(Start::default());
}

fn value(session: &mut dyn Session, table: TableId, key: u64, column: ColumnSet) -> Option<u64> {
    let mut bytes = [0; 8];
    let found = session.read(table, key.into(), column, &mut bytes).unwrap();
    found.then_some(u64::from_le_bytes(bytes))
}

fn set(session: &mut dyn Session, table: TableId, key: u64, column: ColumnSet, to: u64) {
    assert!(session.update(table, key.into(), column, &to.to_le_bytes()).unwrap());
}

#[test]
fn own_writes_are_read_whatever_way_they_were_made() {
    with_each(|session| {
        for table in [HASHED, ORDERED, FREE] {
            begin(session);
            set(session, table, 1, COUNTER, 5);
            let mut read = [0; 16];
            let both = CONSTANT.with(COUNTER);
            assert!(session.read_for_update(table, 2.into(), both, &mut read).unwrap());
            assert_eq!(read, [102u64, 0].map(u64::to_le_bytes).concat()[..]);
            set(session, table, 2, OTHER, 6);
            session.add(table, 2.into(), COUNTER, &3u64.to_le_bytes()).unwrap();
            set(session, table, 2, OTHER, 7);
            assert_eq!(value(session, table, 2, COUNTER), Some(3));
            assert_eq!(value(session, table, 1, CONSTANT), Some(101));
            session.commit().unwrap();
            begin(session);
            assert!(session.read_for_update(table, 2.into(), OTHER, &mut read[..8]).unwrap());
            session.rollback();
            // An update that reads nothing before must not use what an earlier attempt has copied.
            begin(session);
            session.add(table, 2.into(), COUNTER, &1u64.to_le_bytes()).unwrap();
            session.commit().unwrap();
            begin(session);
            set(session, table, 2, OTHER, 8);
            session.commit().unwrap();
            begin(session);
            let expected = [(CONSTANT, 102), (COUNTER, 4), (OTHER, 8)];
            for (column, expected) in expected {
                assert_eq!(value(session, table, 2, column), Some(expected));
            }
            assert_eq!(value(session, table, ROWS + 1, CONSTANT), None);
            session.commit().unwrap();
        }
    });
}

#[test]
fn scans_see_constant_columns_and_changes() {
    with_each(|session| {
        begin(session);
        set(session, ORDERED, 3, COUNTER, 9);
        let (mut seen, all) = (Vec::new(), KeyRange::new(0, ROWS).unwrap().into());
        let columns = CONSTANT.with(COUNTER);
        session
            .scan(ORDERED, all, Direction::Forward, columns, &mut |_, row| {
                seen.extend(row.as_chunks::<8>().0.iter().map(|value| u64::from_le_bytes(*value)));
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(seen, [100, 0, 101, 0, 102, 0, 103, 9]);
        session.commit().unwrap();
    });
}

#[test]
fn what_is_declared_constant_is_refused_with_a_reason() {
    let refused = |result: Result<bool, txn::Abort>| result.unwrap_err().reason;
    with_each(|session| {
        for table in [HASHED, ORDERED] {
            let value = 1u64.to_le_bytes();
            let tries: [&Try<'_>; 4] = [
                &|session| session.update(table, 1.into(), CONSTANT, &value),
                &|session| session.add(table, 1.into(), CONSTANT, &value),
                &|session| session.insert(table, 9.into(), &[0; 24]),
                &|session| session.delete(table, 1.into()),
            ];
            for attempt in tries {
                begin(session);
                assert_eq!(refused(attempt(session)), AbortReason::ConstantData);
                session.rollback();
            }
        }
        assert!(!AbortReason::ConstantData.is_retryable());
        begin(session);
        assert_eq!(value(session, HASHED, 1, CONSTANT), Some(101));
        assert!(session.insert(FREE, 9.into(), &[0; 24]).unwrap());
        session.commit().unwrap();
    });
}

#[test]
fn appended_rows_are_no_rows_of_a_table() {
    with_each(|session| {
        begin(session);
        session.append(&[1; 80]).unwrap();
        session.commit().unwrap();
    });
}

/// Returns the keys of the queue, in order, and checks that each row has been inserted as `row` says.
fn queued(session: &mut dyn Session) -> Vec<u64> {
    let mut keys = Vec::new();
    let all = KeyRange::new(0, u64::MAX).unwrap().into();
    session
        .scan(QUEUE, all, Direction::Forward, COUNTER, &mut |key, row| {
            let txn::Key::Number(key) = key else { panic!("{key}") };
            assert_eq!(row, key.to_le_bytes());
            keys.push(key);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    keys
}

#[test]
fn many_rows_are_inserted_as_if_one_after_another() {
    let rows: Vec<[u8; 24]> = (0..80u64)
        .map(|key| [0, key, 0].map(u64::to_le_bytes).concat().try_into().unwrap())
        .collect();
    with_each(|session| {
        let insert = |session: &mut dyn Session, table, keys: &[u64]| {
            let rows: Vec<_> = keys.iter().map(|key| (*key, &rows[*key as usize][..])).collect();
            session.insert_many(table, &rows).unwrap()
        };
        // A transaction that is rolled back leaves no rows.
        let many: Vec<u64> = (10..60).collect();
        begin(session);
        assert_eq!(insert(session, QUEUE, &many), 50);
        assert_eq!(queued(session), many);
        session.rollback();
        begin(session);
        assert!(queued(session).is_empty());
        session.commit().unwrap();
        // A row that exists, of this transaction or an earlier one, ends the insertion.
        begin(session);
        assert_eq!(insert(session, QUEUE, &[12, 14, 11, 13, 14, 15]), 4);
        session.commit().unwrap();
        begin(session);
        assert_eq!(insert(session, QUEUE, &[8, 9, 10, 11, 12]), 3);
        assert_eq!(insert(session, QUEUE, &[]), 0);
        assert_eq!(queued(session), [8, 9, 10, 11, 12, 13, 14]);
        session.commit().unwrap();
        // A row that was deleted is no row.
        begin(session);
        assert!(session.delete(QUEUE, 13.into()).unwrap());
        assert_eq!(insert(session, QUEUE, &[7, 13, 20, 21, 79]), 5);
        assert_eq!(insert(session, FREE, &[20, 21, 22]), 3);
        session.commit().unwrap();
        session.maintain();
        begin(session);
        assert_eq!(queued(session), [7, 8, 9, 10, 11, 12, 13, 14, 20, 21, 79]);
        assert_eq!(value(session, FREE, 22, COUNTER), Some(22));
        session.commit().unwrap();
    });
}
