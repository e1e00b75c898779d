//! Sessions of one protocol and three rows, for scripts of single steps. One core plays all sessions, so a step
//! that had to wait would never end.

use kilocore_protocols::{Change, CommitLog, Protocol, ProtocolOptions, Txn};
use machine::{Body, Machine, Native, NativeOptions, cold::Arc};
use storage::{ProtocolWords, RecordRef, Store, StoreLoader, StoreOptions};
use txn::{
    Abort, AbortReason, Column, ColumnSet, ColumnType, Intent, Loader, Schema, TableId,
    TableSchema, TxnId, Version,
};

const TABLE: TableId = TableId(0);
const SESSIONS: usize = 4;
/// Identity of every transaction in the scripts.
const ID: TxnId = TxnId::new(0, 1);
const NO_LOG: CommitLog<'static> = CommitLog { version: Version::new(ID, 1), writes: None };

type NativeCore = <Native as Machine>::Core;

/// A database under test.
pub struct Rig<P: Protocol<Native>> {
    machine: Arc<Native>,
    protocol: P,
    store: Store<Native>,
}

/// One session of the rig.
pub struct Session<'s, P: Protocol<Native>> {
    rig: &'s Rig<P>,
    core: &'s NativeCore,
    worker: P::Worker<'s>,
}

impl<P: Protocol<Native>> Rig<P> {
    /// Creates a database of three rows that hold 100, 101 and 102.
    pub fn new(options: &ProtocolOptions) -> Rig<P> {
        let machine = Arc::new(Native::new(NativeOptions::default()).unwrap());
        let protocol = P::create(machine.arena(), options, SESSIONS).unwrap();
        let options = StoreOptions {
            sessions: SESSIONS,
            keep_versions: false,
            keep_digests: false,
            words: ProtocolWords::of::<P::Words>(),
            access: Default::default(),
        };
        let store = Store::new(machine.clone(), options).unwrap();
        let columns = vec![Column::new("value", ColumnType::U64)];
        let schema = Schema { tables: vec![TableSchema::new("rows", columns)] };
        store.create_tables(&schema, |_| 3).unwrap();
        let mut loader = StoreLoader::new(&store, 1);
        loader.load_dense(TABLE, 3, &|key, row| row.copy_from_slice(&(100 + key).to_le_bytes()));
        loader.finish().unwrap();
        Rig { machine, protocol, store }
    }

    /// Plays `script` with all sessions. Each session is in an attempt that has begun.
    pub fn play(&self, script: impl FnOnce([Session<'_, P>; SESSIONS]) + Send) {
        let body: Body<'_, Native> = Box::new(|core| {
            script(std::array::from_fn(|session| {
                let worker = self.protocol.worker(self.store.epochs(), session);
                let mut session = Session { rig: self, core, worker };
                session.begin(0);
                session
            }));
        });
        self.machine.run(vec![body], vec![]).unwrap();
    }
}

impl<'s, P: Protocol<Native>> Session<'s, P> {
    /// Begins an attempt.
    pub fn begin(&mut self, attempt: u32) {
        let txn = Txn { attempt, ..Txn::new(ID) };
        self.rig.protocol.begin(self.core, &mut self.worker, txn);
    }

    fn record(&self, key: u64) -> RecordRef<'s, Native, P::Words> {
        RecordRef::checked(self.rig.store.table(TABLE).find(self.core, key).expect("loaded"))
    }

    /// Returns the value of the row; none if there is no row.
    pub fn read(&mut self, key: u64) -> Result<Option<u64>, Abort> {
        let (record, mut row) = (self.record(key), [0; 8]);
        let (protocol, columns) = (&self.rig.protocol, ColumnSet::one(0));
        let worker = &mut self.worker;
        let head = protocol.read(self.core, worker, record, columns, Intent::Read, &mut row)?;
        Ok(head.state.is_present().then(|| u64::from_le_bytes(row)))
    }

    /// Writes the row.
    pub fn write(&mut self, key: u64, value: u64) {
        let values = value.to_le_bytes();
        let change = Change { columns: ColumnSet::one(0), values: &values, state: None };
        self.change(key, change);
    }

    /// Changes the row. The change must succeed.
    pub fn change(&mut self, key: u64, change: Change<'_>) {
        let record = self.record(key);
        let written = self.rig.protocol.write(self.core, &mut self.worker, record, change);
        assert_eq!(written, Ok(true));
    }

    /// Commits, or aborts and returns the reason.
    pub fn commit(&mut self) -> Result<(), AbortReason> {
        let protocol = &self.rig.protocol;
        match protocol.prepare(self.core, &mut self.worker) {
            Ok(prepared) => {
                protocol.commit(self.core, &mut self.worker, prepared.least, &mut { NO_LOG });
                Ok(())
            }
            Err(abort) => {
                self.abort();
                Err(abort.reason)
            }
        }
    }

    /// Aborts.
    pub fn abort(&mut self) {
        self.rig.protocol.abort(self.core, &mut self.worker);
    }
}
