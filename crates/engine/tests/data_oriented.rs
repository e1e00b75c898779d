//! Tests transactions that move between native threads, while owners are given to other cores.

use kilocore_engine::{Engine, EngineOptions, Session, Start, registry};
use machine::{ArenaOptions, Body, Core, Machine, Native, NativeOptions, Sharing, Word, cold::Arc};
use protocols::ProtocolOptions;
use txn::{
    Abort, Column, ColumnSet, ColumnType, Intent, Partitioning, Schema, TableId, TableSchema,
};

const TABLE: TableId = TableId(0);
const PARTITIONS: u64 = 3;
const ROWS: u64 = 6;
const WORKERS: usize = 6;

struct Data;

impl kilocore_engine::Dataset for Data {
    fn schema(&self) -> Schema {
        let table = TableSchema::new("rows", vec![Column::new("value", ColumnType::U64)]);
        let rule = Partitioning::Modulo { partitions: PARTITIONS };
        Schema { tables: vec![table.partitioned(rule)] }
    }

    fn rows(&self, _: TableId) -> u64 {
        ROWS
    }

    fn load(&self, loader: &mut dyn txn::Loader) {
        loader.load_dense(TABLE, ROWS, &|_, row| row.copy_from_slice(&1000u64.to_le_bytes()));
    }
}

/// Moves one unit from one row to another. Stops after the first row if there is no other.
fn transfer(session: &mut dyn Session, from: u64, to: u64) -> Result<(), Abort> {
    for (key, by) in [(from, u64::MAX), (to, 1)].into_iter().filter(|(key, _)| *key < ROWS) {
        let mut row = [0; 8];
        let one = ColumnSet::one(0);
        assert!(session.read_with(TABLE, key.into(), one, Intent::Update, &mut row)?);
        let value = u64::from_le_bytes(row).wrapping_add(by);
        assert!(session.update(TABLE, key.into(), one, &value.to_le_bytes())?);
    }
    Ok(())
}

fn native() -> Arc<Native> {
    let arena = ArenaOptions { reserve_bytes: 1 << 27, ..ArenaOptions::default() };
    let options = NativeOptions { arena, pin: false, ..NativeOptions::default() };
    Arc::new(Native::new(options).expect("address space"))
}

fn engine(machine: &Arc<Native>, protocol: &str) -> Arc<dyn Engine<Native>> {
    let options = EngineOptions {
        protocol: ProtocolOptions::default(),
        access: Default::default(),
        sessions: WORKERS + 1,
        partitions: PARTITIONS,
        fibers: 2,
        dedicated_servers: false,
        moving: kilocore_engine::MovingOptions::default(),
        record_history: false,
        record_values: false,
        purge_batch: 1,
        epoch_interval_ticks: 1_000_000,
    };
    registry::native("data_oriented", protocol, machine, &options).expect("room")
}

/// Runs transfers on three threads, with two sessions that begin on each, and returns the values of the rows afterwards.
fn transferred(protocol: &str, transfers: u64) -> Vec<u64> {
    let machine = native();
    let engine = engine(&machine, protocol);
    engine.load(&Data, 1).expect("room for the table");
    assert!(engine.moves_sessions());
    let (engine, left) = (&*engine, &Word::new(WORKERS as u64));
    let worker = |number: usize| -> Body<'_, Native> {
        Box::new(move |core| {
            let mut session = engine.session(core, number);
            for round in 0..transfers {
                let (from, to) = ((round + number as u64) % ROWS, (round * 5 + 1) % ROWS);
                if round % 5 == 0 {
                    // A procedure that gives up after its first or its second row.
                    session.begin(Start::default());
                    let _ = transfer(&mut *session, from, if round % 2 == 0 { to } else { ROWS });
                    session.rollback();
                }
                for attempt in 0.. {
                    session.begin(Start { attempt, ..Start::default() });
                    match transfer(&mut *session, from, to) {
                        Ok(()) if session.commit().is_ok() => break,
                        Ok(()) => {}
                        Err(_) => session.rollback(),
                    }
                    core.back_off(core.ticks_per_second() / 1_000_000);
                }
                assert_eq!(core.host(), Some(number / 2), "it is at home between transactions");
            }
            drop(session);
            core.fetch_add(&(), left, u64::MAX);
        })
    };
    let reassigning: Body<'_, Native> = Box::new(move |core| {
        for round in 0.. {
            if core.load(&(), left) == 0 {
                break;
            }
            engine.reassign(core, round % 3, (round / 3) % 3);
            core.pause(core.ticks_per_second() / 100_000);
        }
    });
    let bodies = (0..WORKERS).map(worker).chain([reassigning]).collect();
    // SAFETY: no body holds anything that is bound to its thread.
    machine.run_fibers(unsafe { Sharing::moving_fibers(2) }, bodies, vec![]).expect("it ends");
    let core = machine.core(0);
    let mut session = engine.session(&core, 0);
    session.begin(Start::default());
    let values = (0..ROWS).map(|key| {
        let mut row = [0; 8];
        // It would be refused if a lock were still held.
        let one = ColumnSet::one(0);
        session
            .read_with(TABLE, key.into(), one, Intent::Update, &mut row)
            .expect("no lock is held");
        u64::from_le_bytes(row)
    });
    let values = values.collect();
    session.commit().expect("it is alone");
    values
}

#[test]
fn nothing_is_lost_while_transactions_move_and_owners_change_cores() {
    for protocol in ["NO_WAIT", "WAIT_DIE", "DL_DETECT", "2V_NO_WAIT"] {
        let values = transferred(protocol, 1_000);
        let sum = values.iter().fold(0, |sum: u64, value| sum.wrapping_add(*value));
        assert_eq!(sum, 1000 * ROWS, "{protocol}: {values:?}");
        assert!(values.iter().any(|value| *value != 1000), "{protocol}");
    }
}
