//! Tests partitioned serial execution in native sessions: what a transaction can access, what a rollback leaves, and where
//! rows lie.

use kilocore_engine::{Engine, EngineError, EngineOptions, Session, Start, Walk, pair, registry};
use machine::{ArenaOptions, Body, Machine, Native, NativeOptions, Word, cold::Arc};
use protocols::{Isolation, ProtocolOptions, registry::declarations};
use txn::{
    Abort, AbortReason, Column, ColumnSet, ColumnType, Direction, Key, KeyRange, Partitioning,
    Schema, TableId, TableSchema,
};

const ARCHITECTURE: &str = "partitioned_serial";
const PROTOCOL: &str = "NO_CC";
const HASHED: TableId = TableId(0);
const ORDERED: TableId = TableId(1);
const EVERYWHERE: TableId = TableId(2);
const PARTITIONS: u64 = 4;
const ROWS: u64 = 20;
const VALUE: ColumnSet = ColumnSet::one(0);

struct Data;

impl kilocore_engine::Dataset for Data {
    fn schema(&self) -> Schema {
        let rule = Partitioning::Modulo { partitions: PARTITIONS };
        let table = |name| TableSchema::new(name, vec![Column::new("value", ColumnType::U64)]);
        Schema {
            tables: vec![
                table("hashed").partitioned(rule),
                table("ordered").partitioned(rule).ordered(),
                table("everywhere").partitioned(Partitioning::Replicated { copies: 1 }),
            ],
        }
    }

    fn rows(&self, _: TableId) -> u64 {
        ROWS
    }

    fn load(&self, loader: &mut dyn txn::Loader) {
        for table in [HASHED, EVERYWHERE] {
            loader.load_dense(table, ROWS, &|key, row| row.copy_from_slice(&bytes(key + 100)));
        }
        for key in 0..ROWS {
            loader.load(ORDERED, key.into(), &bytes(key + 100));
        }
    }
}

fn bytes(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

fn options(partitions: u64, purge_batch: usize) -> EngineOptions {
    EngineOptions {
        protocol: ProtocolOptions::default(),
        access: Default::default(),
        sessions: 2,
        partitions,
        fibers: 1,
        dedicated_servers: false,
        moving: kilocore_engine::MovingOptions::default(),
        record_history: false,
        record_values: false,
        purge_batch,
        epoch_interval_ticks: 1_000_000,
    }
}

fn machine() -> Arc<Native> {
    let arena = ArenaOptions { reserve_bytes: 1 << 27, ..ArenaOptions::default() };
    let options = NativeOptions { arena, pin: false, ..NativeOptions::default() };
    Arc::new(Native::new(options).expect("address space"))
}

/// Calls `test` with an engine of so many partitions, and with its machine.
fn with_engine(partitions: u64, test: impl Fn(&dyn Engine<Native>, &Native)) {
    let machine = machine();
    let engine = registry::native(ARCHITECTURE, PROTOCOL, &machine, &options(partitions, 1));
    let engine = engine.expect("room for an engine");
    engine.load(&Data, 2).expect("room for the tables");
    test(&*engine, &machine);
}

/// Calls `test` with a session, for each number of partitions.
fn with_session(test: impl Fn(&mut dyn Session)) {
    for partitions in 1..=PARTITIONS {
        with_engine(partitions, |engine, machine| {
            test(&mut *engine.session(&machine.core(0), 0));
        });
    }
}

fn begin(session: &mut dyn Session, partitions: &[u64]) {
    session.begin(Start { partitions, ..Start::default() });
}

fn value(session: &mut dyn Session, table: TableId, key: u64) -> Result<Option<u64>, Abort> {
    let mut row = [0; 8];
    let found = session.read(table, key.into(), VALUE, &mut row)?;
    Ok(found.then_some(u64::from_le_bytes(row)))
}

fn keys(session: &mut dyn Session, range: KeyRange, direction: Direction) -> Vec<u64> {
    let mut keys = Vec::new();
    let mut visit = |key: Key<'_>, row: &[u8]| {
        let Key::Number(key) = key else { unreachable!("keys are numbers") };
        assert_eq!(row, bytes(key + 100));
        keys.push(key);
        std::ops::ControlFlow::Continue(())
    };
    session.scan(ORDERED, range.into(), direction, VALUE, &mut visit).unwrap();
    keys
}

/// Checks that the database is as it was loaded, in a transaction on all partitions.
fn check_as_loaded(session: &mut dyn Session) {
    begin(session, &[]);
    for table in [HASHED, ORDERED, EVERYWHERE] {
        for key in 0..ROWS {
            assert_eq!(value(session, table, key), Ok(Some(key + 100)), "{table:?} {key}");
        }
        assert_eq!(value(session, table, ROWS), Ok(None));
    }
    let all: Vec<u64> = (0..ROWS).collect();
    assert_eq!(keys(session, KeyRange::ALL, Direction::Forward), all);
    session.commit().unwrap();
}

/// An access that must be refused.
type Access<'a> = &'a dyn Fn(&mut dyn Session) -> Result<(), Abort>;

#[test]
fn an_access_beyond_the_declared_partitions_fails_and_leaves_no_trace() {
    let accesses: [Access<'_>; 8] = [
        &|s| value(s, HASHED, 2).map(|_| ()),
        &|s| value(s, ORDERED, 2).map(|_| ()),
        &|s| s.update(HASHED, 2.into(), VALUE, &bytes(0)).map(|_| ()),
        &|s| s.add(HASHED, 2.into(), VALUE, &bytes(1)).map(|_| ()),
        &|s| s.insert(ORDERED, (ROWS + 2).into(), &bytes(0)).map(|_| ()),
        &|s| s.delete(HASHED, 2.into()).map(|_| ()),
        &|s| {
            let range = KeyRange::new(1, 2).unwrap();
            let mut visit = |_: Key<'_>, _: &[u8]| std::ops::ControlFlow::Continue(());
            s.scan(ORDERED, range.into(), Direction::Backward, VALUE, &mut visit)
        },
        &|s| s.walk(HASHED, &Walk::default(), &mut |_, _| ()).map(|_| ()),
    ];
    with_engine(PARTITIONS, |engine, machine| {
        let core = machine.core(0);
        let session = &mut *engine.session(&core, 0);
        for (number, access) in accesses.iter().enumerate() {
            begin(session, &[1, 3]);
            for key in [1, 3] {
                assert!(session.update(HASHED, key.into(), VALUE, &bytes(7)).unwrap());
                assert!(session.delete(ORDERED, key.into()).unwrap());
            }
            assert!(session.insert(HASHED, (ROWS + 1).into(), &bytes(7)).unwrap());
            let abort = access(session).expect_err("the partition was not declared");
            assert_eq!(abort.reason, AbortReason::UndeclaredPartition, "{number}");
            assert!(!abort.reason.is_retryable());
            // The attempt is doomed: nothing else works, and the commit tells the same reason.
            assert_eq!(value(session, HASHED, 1), Err(abort));
            assert_eq!(session.commit(), Err(abort));
            assert!(!session.in_transaction());
            session.maintain();
            check_as_loaded(session);
        }
    });
}

#[test]
fn a_rollback_leaves_no_trace() {
    with_session(|session| {
        for partitions in [&[][..], &[2], &[2, 2, 6]] {
            begin(session, partitions);
            assert!(session.update(HASHED, 2.into(), VALUE, &bytes(7)).unwrap());
            assert!(session.insert(ORDERED, (ROWS + 2).into(), &bytes(7)).unwrap());
            assert!(session.delete(HASHED, 6.into()).unwrap());
            assert_eq!(value(session, HASHED, 2), Ok(Some(7)));
            assert_eq!(value(session, HASHED, 6), Ok(None));
            session.rollback();
            session.maintain();
            check_as_loaded(session);
        }
    });
}

#[test]
fn commits_stay_in_every_number_of_partitions() {
    with_session(|session| {
        for key in 0..ROWS {
            begin(session, &[key % PARTITIONS]);
            assert!(session.update(HASHED, key.into(), VALUE, &bytes(key)).unwrap());
            assert!(session.delete(ORDERED, key.into()).unwrap());
            assert!(session.insert(ORDERED, (key + 2 * ROWS).into(), &bytes(key + 140)).unwrap());
            session.commit().unwrap();
            session.maintain();
        }
        begin(session, &[]);
        for key in 0..ROWS {
            assert_eq!(value(session, HASHED, key), Ok(Some(key)));
        }
        let moved: Vec<u64> = (2 * ROWS..3 * ROWS).collect();
        assert_eq!(keys(session, KeyRange::ALL, Direction::Forward), moved);
        session.commit().unwrap();
    });
}

#[test]
fn scans_see_the_keys_of_all_partitions_in_order() {
    with_session(|session| {
        for (first, last) in [(0, u64::MAX), (3, 11), (5, 5), (ROWS, u64::MAX)] {
            let expected: Vec<u64> = (first..ROWS.min(last.saturating_add(1))).collect();
            begin(session, &[]);
            let range = KeyRange::new(first, last).unwrap();
            assert_eq!(keys(session, range, Direction::Forward), expected);
            let reversed: Vec<u64> = expected.into_iter().rev().collect();
            assert_eq!(keys(session, range, Direction::Backward), reversed);
            session.commit().unwrap();
        }
    });
}

#[test]
fn rows_of_all_partitions_are_read_in_any_and_never_change() {
    with_session(|session| {
        for partition in 0..PARTITIONS {
            begin(session, &[partition]);
            for key in 0..ROWS {
                assert_eq!(value(session, EVERYWHERE, key), Ok(Some(key + 100)));
            }
            session.commit().unwrap();
        }
        // With one owner there is one copy, which can change like any row.
    });
    with_engine(PARTITIONS, |engine, machine| {
        let core = machine.core(0);
        let session = &mut *engine.session(&core, 0);
        let writes: [Access<'_>; 3] = [
            &|s| s.update(EVERYWHERE, 2.into(), VALUE, &bytes(0)).map(|_| ()),
            &|s| s.insert(EVERYWHERE, ROWS.into(), &bytes(0)).map(|_| ()),
            &|s| s.delete(EVERYWHERE, 2.into()).map(|_| ()),
        ];
        for write in writes {
            begin(session, &[]);
            let abort = write(session).expect_err("the rows are constant");
            assert_eq!(abort.reason, AbortReason::ConstantData);
            session.rollback();
        }
        check_as_loaded(session);
    });
}

#[test]
fn a_row_lies_at_its_owner_alone() {
    for partitions in 1..=PARTITIONS {
        with_engine(partitions, |engine, machine| {
            let core = machine.core(0);
            for key in 0..ROWS {
                for table in [HASHED, ORDERED] {
                    assert_eq!(engine.places(&core, table, key).len(), 1, "{table:?} {key}");
                }
                let copies = engine.places(&core, EVERYWHERE, key).len();
                assert_eq!(copies as u64, partitions);
            }
        });
    }
}

#[test]
fn a_walk_meets_every_row_once() {
    with_session(|session| {
        for table in [HASHED, ORDERED, EVERYWHERE] {
            let (mut met, mut walk) = (Vec::new(), Some(Walk::default()));
            while let Some(at) = walk {
                begin(session, &[]);
                walk = session
                    .walk(table, &at, &mut |key, _| {
                        let Key::Number(key) = key else { unreachable!("keys are numbers") };
                        met.push(key);
                    })
                    .unwrap();
                session.commit().unwrap();
            }
            met.sort_unstable();
            assert!(met.into_iter().eq(0..ROWS), "{table:?}");
        }
    });
}

/// Latches are held until the end of the transaction, and transactions on other partitions do not wait for them.
#[test]
fn a_transaction_waits_only_for_its_own_partitions() {
    with_engine(PARTITIONS, |engine, machine| {
        let (step, seen) = (Word::new(0), Word::new(0));
        let until = |number: u64| {
            while step.peek() < number {
                std::thread::yield_now();
            }
        };
        let first: Body<'_, Native> = Box::new(|core| {
            let session = &mut *engine.session(core, 0);
            begin(session, &[0, 2]);
            assert!(session.update(HASHED, 2.into(), VALUE, &bytes(7)).unwrap());
            step.poke(1);
            until(2);
            // The other session has read another partition and is on its way to this one.
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert_eq!(seen.peek(), 0);
            session.commit().unwrap();
        });
        let second: Body<'_, Native> = Box::new(|core| {
            let session = &mut *engine.session(core, 1);
            until(1);
            begin(session, &[1, 3]);
            assert_eq!(value(session, HASHED, 3), Ok(Some(103)));
            session.commit().unwrap();
            step.poke(2);
            begin(session, &[3, 2]);
            seen.poke(1);
            assert_eq!(value(session, HASHED, 2), Ok(Some(7)));
            session.commit().unwrap();
        });
        machine.run(vec![first, second], engine.services()).unwrap();
        assert_eq!(seen.peek(), 1);
    });
}

/// A panic in a procedure releases the latches.
#[test]
fn a_panic_releases_the_partitions() {
    with_engine(PARTITIONS, |engine, machine| {
        let core = machine.core(0);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let session = &mut *engine.session(&core, 0);
            begin(session, &[1, 2]);
            session.update(HASHED, 2.into(), VALUE, &bytes(7)).unwrap();
            panic!("in a procedure");
        }));
        assert!(panicked.is_err());
        check_as_loaded(&mut *engine.session(&core, 1));
    });
}

#[test]
fn the_pair_promises_what_the_protocol_alone_does_not() {
    with_engine(1, |engine, _| {
        let declared = engine.declaration();
        assert_eq!((declared.isolation, declared.strict), (Isolation::Serializable, true));
    });
    let machine = machine();
    let alone = registry::native(registry::DEFAULT, PROTOCOL, &machine, &options(1, 1)).unwrap();
    assert_eq!(alone.declaration().isolation, Isolation::None);
}

#[test]
fn other_protocols_and_impossible_numbers_are_refused() {
    let architecture = registry::declaration(ARCHITECTURE).unwrap();
    for declared in declarations::<Native>(&ProtocolOptions::default()) {
        let made = registry::native(ARCHITECTURE, declared.name, &machine(), &options(2, 1));
        assert_eq!(made.err(), pair(&architecture, declared).err(), "{}", declared.name);
        assert_eq!(pair(&architecture, declared).is_ok(), declared.name == PROTOCOL);
    }
    for given in [0, 4097] {
        let made = registry::native(ARCHITECTURE, PROTOCOL, &machine(), &options(given, 1));
        assert_eq!(made.err(), Some(EngineError::Partitions { given, most: 4096 }));
    }
}
