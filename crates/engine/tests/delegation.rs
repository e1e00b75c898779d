//! Tests transactions at the data of several owners, in a native session that does all work itself.

use kilocore_engine::{EngineOptions, Session, Start, registry};
use machine::{ArenaOptions, Native, NativeOptions, cold::Arc};
use txn::{Column, ColumnSet, ColumnType, Partitioning, Schema, TableId, TableSchema};

const TABLE: TableId = TableId(0);
const PARTITIONS: u64 = 4;

struct Data;

impl kilocore_engine::Dataset for Data {
    fn schema(&self) -> Schema {
        let table = TableSchema::new("rows", vec![Column::new("value", ColumnType::U64)]);
        let rule = Partitioning::Modulo { partitions: PARTITIONS };
        Schema { tables: vec![table.partitioned(rule)] }
    }

    fn rows(&self, _: TableId) -> u64 {
        PARTITIONS
    }

    fn load(&self, loader: &mut dyn txn::Loader) {
        let fill = |key: u64, row: &mut [u8]| row.copy_from_slice(&(key + 100).to_le_bytes());
        loader.load_dense(TABLE, PARTITIONS, &fill);
    }
}

/// Calls `test` with a session under `protocol`.
fn with_session(protocol: &str, test: impl Fn(&mut dyn Session)) {
    let arena = ArenaOptions { reserve_bytes: 1 << 27, ..ArenaOptions::default() };
    let options = NativeOptions { arena, pin: false, ..NativeOptions::default() };
    let machine = Arc::new(Native::new(options).expect("address space"));
    let options = EngineOptions {
        partitions: PARTITIONS,
        purge_batch: 1,
        epoch_interval_ticks: 1_000_000,
        ..EngineOptions::for_sessions(2)
    };
    let engine = registry::native("delegation", protocol, &machine, &options).expect("room");
    engine.load(&Data, 1).expect("room for the table");
    test(&mut *engine.session(&machine.core(0), 0));
}

fn value(session: &mut dyn Session, key: u64) -> u64 {
    let mut row = [0; 8];
    let read = session.read(TABLE, key.into(), ColumnSet::one(0), &mut row);
    assert_eq!(read, Ok(true));
    u64::from_le_bytes(row)
}

/// Otherwise a transaction could become younger, and die again and again.
#[test]
fn a_retry_keeps_its_age_at_whatever_owner_it_begins() {
    with_session("WAIT_DIE", |session| {
        let mut ages = Vec::new();
        for attempt in 0..3 {
            session.begin(Start { attempt, ..Start::default() });
            // Each attempt begins at another owner.
            assert_eq!(value(session, attempt.into()), 100 + u64::from(attempt));
            ages.push(session.priority().expect("it has an age"));
            session.rollback();
        }
        assert!(ages[0] == ages[1] && ages[0] == ages[2], "{ages:?}");
        session.begin(Start::default());
        value(session, 1);
        assert!(session.priority() > Some(ages[0]), "another transaction is younger");
        session.commit().unwrap();
    });
}

#[test]
fn a_transaction_commits_and_rolls_back_at_all_owners() {
    for protocol in ["NO_WAIT", "WAIT_DIE", "DL_DETECT", "2V_NO_WAIT", "SILO", "TICTOC"] {
        with_session(protocol, |session| {
            for (round, commits) in [(1, true), (2, false)] {
                session.begin(Start::default());
                for key in 0..PARTITIONS {
                    let now = value(session, key) + round;
                    let row = now.to_le_bytes();
                    assert_eq!(
                        session.update(TABLE, key.into(), ColumnSet::one(0), &row),
                        Ok(true)
                    );
                    assert_eq!(value(session, key), now, "{protocol}");
                }
                match commits {
                    true => session.commit().unwrap(),
                    false => session.rollback(),
                }
            }
            session.begin(Start::default());
            assert!((0..PARTITIONS).all(|key| value(session, key) == 101 + key), "{protocol}");
            session.commit().unwrap();
        });
    }
}
