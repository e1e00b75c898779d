//! Writes that others see before they are committed: who sees them, and what becomes of those when they are
//! taken back. One core plays all sessions, so a step that had to wait would never end.

use machine::{Body, Machine, Native, NativeOptions, cold::Arc};
use protocols::{
    Change, CommitLog, Protocol, ProtocolOptions, Start, bamboo::Bamboo,
    parts::retiring_queue::RetiringLock,
};
use storage::{RecordRef, RowState, Store, StoreLoader, StoreOptions};
use txn::{
    Abort, AbortReason, Column, ColumnSet, ColumnType, Intent, Loader, Schema, TableId,
    TableSchema, Version,
};

const TABLE: TableId = TableId(0);
const SESSIONS: usize = 4;
const NO_LOG: CommitLog<'static> = CommitLog { version: Version::INITIAL, writes: None };

type Worker<'s> = <Bamboo<Native> as Protocol<Native>>::Worker<'s>;
type NativeCore = <Native as Machine>::Core;

struct Rig {
    machine: Arc<Native>,
    protocol: Bamboo<Native>,
    store: Store<Native, RetiringLock>,
}

/// One session of the rig.
struct Session<'s> {
    rig: &'s Rig,
    core: &'s NativeCore,
    worker: Worker<'s>,
}

impl Rig {
    /// Three rows that hold 100, 101 and 102.
    fn new() -> Rig {
        let machine = Arc::new(Native::new(NativeOptions::default()).unwrap());
        let options = ProtocolOptions { retire_percent: 100, ..ProtocolOptions::default() };
        let protocol = Bamboo::create(machine.arena(), &options, SESSIONS).unwrap();
        let options = StoreOptions { sessions: SESSIONS, keep_versions: false };
        let store = Store::new(machine.clone(), options).unwrap();
        let columns = vec![Column::new("value", ColumnType::U64)];
        let schema = Schema { tables: vec![TableSchema::new("rows", columns)] };
        store.create_tables(&schema, |_| 3).unwrap();
        let mut loader = StoreLoader::new(&store, 1);
        loader.load_dense(TABLE, 3, &|key, row| row.copy_from_slice(&(100 + key).to_le_bytes()));
        loader.finish().unwrap();
        Rig { machine, protocol, store }
    }

    /// Plays `script` with all sessions, each in an attempt that has begun.
    fn play(&self, script: impl FnOnce([Session<'_>; SESSIONS]) + Send) {
        let body: Body<'_, Native> = Box::new(|core| {
            script(std::array::from_fn(|slot| {
                let worker = self.protocol.worker(self.store.epochs(), slot);
                let mut session = Session { rig: self, core, worker };
                session.begin(0);
                session
            }));
        });
        self.machine.run(vec![body], vec![]).unwrap();
    }
}

impl<'s> Session<'s> {
    fn begin(&mut self, attempt: u32) {
        let start = Start { attempt, read_only: false, partitions: &[] };
        self.rig.protocol.begin(self.core, &mut self.worker, start);
    }

    fn record(&self, key: u64) -> RecordRef<'s, Native, RetiringLock> {
        self.rig.store.table(TABLE).find(self.core, key).expect("loaded")
    }

    fn read(&mut self, key: u64) -> Result<Option<u64>, Abort> {
        let (record, mut row) = (self.record(key), [0; 8]);
        let (protocol, columns) = (&self.rig.protocol, ColumnSet::one(0));
        let worker = &mut self.worker;
        let head = protocol.read(self.core, worker, record, columns, Intent::Read, &mut row)?;
        Ok(head.state.is_present().then(|| u64::from_le_bytes(row)))
    }

    fn write(&mut self, key: u64, value: u64) {
        let values = value.to_le_bytes();
        let change = Change { columns: ColumnSet::one(0), values: &values, state: None };
        self.change(key, change);
    }

    fn delete(&mut self, key: u64) {
        let state = Some(RowState::ABSENT);
        self.change(key, Change { columns: ColumnSet::NONE, values: &[], state });
    }

    fn change(&mut self, key: u64, change: Change<'_>) {
        let record = self.record(key);
        let written = self.rig.protocol.write(self.core, &mut self.worker, record, change);
        assert_eq!(written, Ok(true));
    }

    fn commit(&mut self) -> Result<(), AbortReason> {
        let protocol = &self.rig.protocol;
        match protocol.prepare(self.core, &mut self.worker) {
            Ok(timestamp) => {
                protocol.commit(self.core, &mut self.worker, timestamp, &mut { NO_LOG });
                Ok(())
            }
            Err(abort) => {
                self.abort();
                Err(abort.reason)
            }
        }
    }

    fn abort(&mut self) {
        self.rig.protocol.abort(self.core, &mut self.worker);
    }
}

#[test]
fn writes_are_seen_in_turn_before_they_are_committed() {
    Rig::new().play(|[mut first, mut second, mut reader, _]| {
        first.write(0, 1);
        assert_eq!(second.read(0), Ok(Some(1)));
        second.write(0, 2);
        assert_eq!(reader.read(0), Ok(Some(2)));
        assert_eq!(first.read(0), Ok(Some(1)));
        assert_eq!(first.commit(), Ok(()));
        assert_eq!(reader.read(0), Ok(Some(2)));
        assert_eq!(second.commit(), Ok(()));
        assert_eq!(reader.commit(), Ok(()));
    });
}

#[test]
fn an_abort_reaches_all_that_have_seen_a_write() {
    Rig::new().play(|[mut first, mut second, mut reader, mut other]| {
        first.write(0, 1);
        second.write(0, 2);
        second.write(1, 2);
        assert_eq!(reader.read(1), Ok(Some(2)));
        assert_eq!(other.read(2), Ok(Some(102)));
        first.abort();
        assert_eq!(second.commit(), Err(AbortReason::Wounded));
        assert_eq!(reader.commit(), Err(AbortReason::Wounded));
        assert_eq!(other.read(0), Ok(Some(100)));
        assert_eq!(other.read(1), Ok(Some(101)));
        assert_eq!(other.commit(), Ok(()));
    });
}

#[test]
fn an_older_read_stands_before_a_younger_write() {
    Rig::new().play(|[mut old, mut middle, mut young, _]| {
        // Their first conflict makes the one older than the other, and both older than who comes later.
        old.write(2, 1);
        assert_eq!(middle.read(2), Ok(Some(1)));
        young.write(0, 3);
        assert_eq!(old.read(0), Ok(Some(100)));
        assert_eq!(young.read(0), Ok(Some(3)));
        // An older write does not stand before what has been seen already: it wounds.
        middle.write(0, 2);
        assert_eq!(old.read(0), Ok(Some(100)));
        assert_eq!(young.commit(), Err(AbortReason::Wounded));
        assert_eq!(old.commit(), Ok(()));
        assert_eq!(middle.commit(), Ok(()));
        young.begin(1);
        assert_eq!(young.read(0), Ok(Some(2)));
        assert_eq!(young.commit(), Ok(()));
    });
}

#[test]
fn a_row_written_again_is_taken_back() {
    Rig::new().play(|[mut writer, mut reader, mut later, _]| {
        writer.write(0, 1);
        assert_eq!(reader.read(0), Ok(Some(1)));
        writer.write(0, 2);
        assert_eq!(reader.commit(), Err(AbortReason::Wounded));
        assert_eq!(later.read(0), Ok(Some(2)));
        assert_eq!(writer.commit(), Ok(()));
        assert_eq!(later.commit(), Ok(()));
    });
}

#[test]
fn what_is_deleted_is_gone_for_those_who_come_later() {
    Rig::new().play(|[mut writer, mut reader, mut inserter, mut last]| {
        writer.delete(0);
        assert_eq!(reader.read(0), Ok(None));
        let state = Some(RowState::PRESENT);
        let values = 7u64.to_le_bytes();
        inserter.change(0, Change { columns: ColumnSet::one(0), values: &values, state });
        assert_eq!(last.read(0), Ok(Some(7)));
        assert_eq!(reader.read(0), Ok(None));
        for session in [&mut writer, &mut reader, &mut inserter, &mut last] {
            assert_eq!(session.commit(), Ok(()));
        }
    });
}
