//! Tests interleavings that explorers rarely find, as explicit step-by-step scripts.

use checker::{Requirements, check};
use engine::{EngineOptions, Session, Start};
use kilocore_harness::engines::Engines;
use machine::{
    Body, Explored, ExploredOptions, Fault, Machine,
    cold::{Arc, Mutex},
};
use protocols::{ProtocolOptions, faults};
use std::ops::ControlFlow;
use txn::{
    AbortReason, Column, ColumnSet, ColumnType, Direction, History, KeyRange, Loader, TableId,
    TableSchema,
};

const TABLE: TableId = TableId(0);
const VALUE: ColumnSet = ColumnSet::one(0);

fn start() -> Start<'static> {
    Start::default()
}

/// Returns the keys of rows in a range.
fn keys(session: &mut dyn Session, first: u64, last: u64) -> Vec<u64> {
    let (range, mut keys) = (KeyRange::new(first, last).unwrap(), Vec::new());
    let scanned = session.scan(TABLE, range.into(), Direction::Forward, VALUE, &mut |key, _| {
        keys.push(key.number());
        ControlFlow::Continue(())
    });
    scanned.expect("nobody is in the way");
    keys
}

/// Runs the read-only anomaly (Fekete, O'Neil and O'Neil, SIGMOD Record 2004) through an absence whose record has
/// retired. The first transaction deletes row 1 and writes row 2. The second read row 2 before and writes row 3. The
/// third begins between their commits, so it reads the old row 3 and finds no row 1. Returns the third transaction's
/// result and the history.
fn delete_between(fault: Option<Fault>) -> (Option<AbortReason>, History) {
    let machine = Explored::new(ExploredOptions { fault, ..ExploredOptions::default() }).unwrap();
    let machine = Arc::new(machine);
    let options = EngineOptions {
        access: Default::default(),
        protocol: ProtocolOptions::default(),
        sessions: 3,
        partitions: 1,
        fibers: 1,
        dedicated_servers: false,
        moving: engine::MovingOptions::default(),
        record_history: true,
        record_values: true,
        purge_batch: 1,
        epoch_interval_ticks: 50,
    };
    let engine = Explored::engine("shared_everything", "SSN", &machine, &options).unwrap();
    engine.load(&Rows, 1).unwrap();
    let told = Mutex::new(None);
    let script: Body<'_, Explored> = Box::new(|core| {
        let mut sessions = [0, 1, 2].map(|session| engine.session(core, session));
        let [deleting, writing, reading] = sessions.each_mut().map(|session| &mut **session);
        let mut value = [0; 8];
        writing.begin(start());
        assert!(writing.read(TABLE, 2.into(), VALUE, &mut value).unwrap());

        deleting.begin(start());
        assert!(deleting.delete(TABLE, 1.into()).unwrap());
        assert!(deleting.update(TABLE, 2.into(), VALUE, &[2; 8]).unwrap());
        deleting.commit().unwrap();

        reading.begin(start());
        assert!(reading.read(TABLE, 3.into(), VALUE, &mut value).unwrap());

        assert!(writing.update(TABLE, 3.into(), VALUE, &[3; 8]).unwrap());
        writing.commit().unwrap();
        deleting.reclaim();

        assert!(keys(reading, 0, 1).is_empty());
        let ended = reading.commit();
        let histories = sessions.iter_mut().map(|session| session.take_history()).collect();
        *told.lock() = Some((ended.err().map(|abort| abort.reason), histories));
    });
    machine.run(vec![script], vec![]).unwrap();
    let (ended, histories) = told.into_inner().expect("the script has ended");
    (ended, History::of(histories, engine.loaded()))
}

#[test]
fn ssn_follows_who_deleted_from_a_range_though_the_record_has_retired() {
    let (ended, history) = delete_between(None);
    assert_eq!(ended, Some(AbortReason::Validation));
    assert!(check(&history, Requirements::SERIALIZABLE).satisfies(Requirements::SERIALIZABLE));

    let (ended, history) = delete_between(Some(faults::SSN_IGNORES_ABSENCES));
    assert_eq!(ended, None);
    let certificate = check(&history, Requirements::SERIALIZABLE);
    assert!(!certificate.satisfies(Requirements::SERIALIZABLE), "{certificate}");
}

/// A dataset of three rows.
struct Rows;

impl engine::Dataset for Rows {
    fn schema(&self) -> txn::Schema {
        let columns = vec![Column::new("value", ColumnType::I64)];
        txn::Schema { tables: vec![TableSchema::new("rows", columns).ordered()] }
    }

    fn rows(&self, _: TableId) -> u64 {
        3
    }

    fn load(&self, loader: &mut dyn Loader) {
        for key in 1..=3u64 {
            loader.load(TABLE, key.into(), &[1; 8]);
        }
    }
}
