//! Whole transactions of every protocol, in every execution of two cores within the bounds.

use engine::{Dataset, Engine, EngineOptions, Start, registry};
use kilocore_weak_memory::{Bounds, Fault, WeakMemory, check};
use machine::{Body, Machine, Word, cold::Arc};
use protocols::{Isolation, ProtocolOptions, registry::declarations};
use txn::{Abort, Access, Column, ColumnSet, ColumnType, Loader, Schema, TableId, TableSchema};

const TABLE: TableId = TableId(0);
const VALUE: ColumnSet = ColumnSet::one(0);

/// Two rows of two words, all zero.
struct TwoRows;

impl Dataset for TwoRows {
    fn schema(&self) -> Schema {
        let columns =
            vec![Column::new("value", ColumnType::U64), Column::new("twin", ColumnType::U64)];
        Schema { tables: vec![TableSchema::new("rows", columns)] }
    }

    fn rows(&self, _: TableId) -> u64 {
        2
    }

    fn load(&self, loader: &mut dyn Loader) {
        for key in 0..2 {
            loader.load(TABLE, key.into(), &[0; 16]);
        }
    }
}

fn read(access: &mut dyn Access, key: u64) -> Result<u64, Abort> {
    let mut value = [0; 8];
    access.read(TABLE, key.into(), VALUE, &mut value)?;
    Ok(u64::from_le_bytes(value))
}

/// The accesses of one side. Returns the value that it has seen.
type Side = fn(&mut dyn Access) -> Result<u64, Abort>;

/// Judges an execution by the value that each side has seen, if it committed, and the final values of the rows.
type Judge = fn([Option<u64>; 2], [u64; 2]) -> bool;

/// Two transactions, and the condition that they must satisfy.
struct Scene {
    left: Side,
    right: Side,
    holds: Judge,
}

/// Both transactions add one to the first row.
const LOST_UPDATE: Scene = Scene {
    left: add_one,
    right: add_one,
    holds: |seen, rows| rows[0] == seen.iter().flatten().count() as u64,
};

fn add_one(access: &mut dyn Access) -> Result<u64, Abort> {
    let mut value = [0; 8];
    access.read_for_update(TABLE, 0.into(), VALUE, &mut value)?;
    let before = u64::from_le_bytes(value);
    access.update(TABLE, 0.into(), VALUE, &(before + 1).to_le_bytes())?;
    Ok(before)
}

/// One transaction writes both columns of both rows. The other must see all of these writes or none.
const TORN: Scene = Scene {
    left: |access| {
        for key in 0..2 {
            access.update(TABLE, key.into(), ColumnSet::first(2), &[1; 16])?;
        }
        Ok(0)
    },
    right: |access| {
        let mut rows = [[0; 16]; 2];
        for (key, row) in rows.iter_mut().enumerate() {
            access.read(TABLE, (key as u64).into(), ColumnSet::first(2), row)?;
        }
        let all = rows.concat();
        Ok(u64::from(all.iter().any(|byte| *byte != all[0])))
    },
    holds: |seen, _| seen[1] != Some(1),
};

/// Each transaction reads the row that the other one writes. This is Dekker's problem, which only full fences
/// or locks solve.
const SKEW: Scene = Scene {
    left: |access| {
        let seen = read(access, 0)?;
        access.update(TABLE, 1.into(), VALUE, &1u64.to_le_bytes())?;
        Ok(seen)
    },
    right: |access| {
        let seen = read(access, 1)?;
        access.update(TABLE, 0.into(), VALUE, &1u64.to_le_bytes())?;
        Ok(seen)
    },
    holds: |seen, _| seen != [Some(0), Some(0)],
};

const UNCOMMITTED: u64 = u64::MAX;

fn stage(protocol: &str, scene: &Scene, machine: Arc<WeakMemory>) -> bool {
    let options = EngineOptions { epoch_interval_ticks: 1 << 40, ..EngineOptions::for_sessions(3) };
    let engine: Arc<dyn Engine<WeakMemory>> =
        registry::create(registry::DEFAULT, protocol, &machine, &options).expect("room");
    engine.load(&TwoRows, 1).expect("room");
    let seen = [Word::new(UNCOMMITTED), Word::new(UNCOMMITTED)];
    let body = |number: usize, side: Side| -> Body<'_, WeakMemory> {
        let (engine, seen) = (&*engine, &seen);
        Box::new(move |core| {
            let mut session = engine.session(core, number);
            session.begin(Start { partitions: &[0], ..Start::default() });
            let Ok(value) = side(&mut *session) else { return session.rollback() };
            if session.commit().is_ok() {
                seen[number].poke(value);
            }
        })
    };
    machine.run(vec![body(0, scene.left), body(1, scene.right)], Vec::new()).expect("it runs");
    let core = machine.core(2);
    let mut session = engine.session(&core, 2);
    session.begin(Start { read_only: true, partitions: &[0], ..Start::default() });
    let rows = [0, 1].map(|key| read(&mut *session, key).expect("nobody is in the way"));
    session.commit().expect("nobody is in the way");
    let seen = [0, 1].map(|number| Some(seen[number].peek()).filter(|value| *value != UNCOMMITTED));
    (scene.holds)(seen, rows)
}

/// Returns the number of executions of `scene` in which its condition did not hold, and the number of all
/// executions.
fn failures(protocol: &'static str, scene: &'static Scene, bounds: Bounds) -> (u64, u64) {
    let failures = std::sync::Arc::new(Word::new(0));
    let counted = failures.clone();
    let verdict = check(bounds, move |machine| {
        if !stage(protocol, scene, machine) {
            counted.poke(counted.peek() + 1);
        }
    });
    (failures.peek(), verdict.executions)
}

fn every_protocol_keeps(scene: &'static Scene, from: Isolation) {
    for declaration in declarations::<WeakMemory>(&ProtocolOptions::default()) {
        let promised = match declaration.isolation {
            Isolation::None => false,
            Isolation::Serializable => true,
            weaker => weaker == from,
        };
        let (failed, executions) = failures(declaration.name, scene, Bounds::default());
        println!("{}: {failed} of {executions} executions", declaration.name);
        assert!(executions > 1, "{} was not interleaved", declaration.name);
        if promised {
            assert_eq!(failed, 0, "{} in {executions} executions", declaration.name);
        } else {
            assert_ne!(failed, 0, "{} promises less and kept it all the same", declaration.name);
        }
    }
}

#[test]
fn no_update_is_lost() {
    every_protocol_keeps(&LOST_UPDATE, Isolation::Snapshot);
}

#[test]
fn nothing_is_seen_in_part() {
    every_protocol_keeps(&TORN, Isolation::Snapshot);
}

#[test]
fn no_write_is_skewed() {
    every_protocol_keeps(&SKEW, Isolation::Serializable);
}

#[test]
fn a_missing_fence_is_noticed() {
    let bounds = Bounds { fault: Some(Fault::NoFences), ..Bounds::default() };
    let (failed, executions) = failures("SILO", &SKEW, bounds);
    assert_ne!(failed, 0, "in {executions} executions");
}

#[test]
fn a_missing_release_is_noticed() {
    let bounds = Bounds { fault: Some(Fault::RelaxedStores), ..Bounds::default() };
    for protocol in ["NO_WAIT", "SILO"] {
        let (failed, executions) = failures(protocol, &TORN, bounds);
        assert_ne!(failed, 0, "{protocol} in {executions} executions");
    }
}
