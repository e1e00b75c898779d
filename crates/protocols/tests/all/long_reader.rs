//! Tests of one long reader against thousands of updates. The reader must keep seeing the same values. Neither the
//! chains nor the memory behind them may grow with the number of updates.

use kilocore_protocols::{
    Change, CommitLog, KeptVersions,
    KeptVersions::{All, Needed},
    Protocol, ProtocolOptions, Txn,
    cicada::Cicada,
    dl_detect::DlDetectVersions,
    faults,
    hekaton::Hekaton,
    mechanisms::version_chain::{self, Versioned},
    mvcc::Mvcc,
    snapshot::Snapshot,
};
use machine::{
    Body, Core, Explored, ExploredOptions, Machine, Native, NativeOptions, Place, Schedule, Shared,
    Word, Zeroed,
    cold::{Arc, Mutex},
};
use storage::{ProtocolWords, RecordRef, RowState, Store, StoreLoader, StoreOptions, Table};
use txn::{
    Abort, Column, ColumnSet, ColumnType, Intent, Loader, Schema, TableId, TableSchema, TxnId,
    Version,
};

const TABLE: TableId = TableId(0);
const ROWS: u64 = 3;
/// Each row has two counts, in columns that are written separately.
const COLUMNS: usize = 2;
const BYTES: usize = 40;
const WRITERS: usize = 3;
const SESSIONS: usize = WRITERS + 1;
/// Longest chain allowed. A session collects when it meets a chain of twice the number of sessions, or when it has
/// superseded as many versions as there are sessions. Until then, each of the other sessions can add some versions.
const LONGEST: u64 = 3 * SESSIONS as u64;
const NO_LOG: CommitLog<'static> = CommitLog { version: Version::INITIAL, writes: None };

/// Returns the value of a column that counts to `count`. Every word of it is the same.
fn bytes(count: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&count.to_le_bytes()));
    bytes
}

/// A record and the counts in it.
type Counted<'s, M, C> = (RecordRef<'s, M, C>, [u64; COLUMNS]);

/// Runs a closure when it is dropped, also in a panic. So no core waits for ever for one that has failed.
struct Finally<F: FnMut()>(F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Progress of the run, on which cores wait, and the longest chain that a writer has met.
#[repr(C)]
struct Progress<M: Machine> {
    line: M::Line,
    reading: Word,
    written: Word,
    read: Word,
    longest: Word,
}

// SAFETY: the fields are a line and words, for which zeros are a valid value.
unsafe impl<M: Machine> Zeroed for Progress<M> {}

struct Rig<M: Machine, P: Protocol<M>> {
    machine: Arc<M>,
    protocol: P,
    store: Store<M>,
    progress: Shared<Progress<M>>,
}

impl<M: Machine, P: Protocol<M, Words: Versioned>> Rig<M, P> {
    fn new(machine: M, kept_versions: KeptVersions) -> Self {
        Self::for_sessions(machine, kept_versions, SESSIONS)
    }

    fn for_sessions(machine: M, kept_versions: KeptVersions, sessions: usize) -> Self {
        let machine = Arc::new(machine);
        let arena = machine.arena();
        let options = ProtocolOptions { kept_versions, ..ProtocolOptions::default() };
        let protocol = P::create(arena, &options, sessions).unwrap();
        let progress = arena.place(Place::Any).unwrap();
        let options = StoreOptions {
            sessions,
            keep_versions: false,
            keep_digests: false,
            words: ProtocolWords::of::<P::Words>(),
            access: Default::default(),
        };
        let store = Store::new(machine.clone(), options).unwrap();
        let column = |i| Column::new(format!("count{i}"), ColumnType::Bytes(BYTES as u32));
        let columns = (0..COLUMNS).map(column).collect();
        let schema = Schema { tables: vec![TableSchema::new("rows", columns)] };
        store.create_tables(&schema, |_| ROWS).unwrap();
        let mut loader = StoreLoader::new(&store, 1);
        loader.load_dense(TABLE, ROWS, &|key, row| {
            row.chunks_exact_mut(BYTES).for_each(|column| column.copy_from_slice(&bytes(key)));
        });
        loader.finish().unwrap();
        Rig { machine, protocol, store, progress }
    }

    fn table(&self) -> &Table<M> {
        self.store.table(TABLE)
    }

    fn begin<'s>(&'s self, core: &M::Core, worker: &mut P::Worker<'s>, read_only: bool) {
        self.protocol.begin(core, worker, Txn { read_only, ..Txn::new(TxnId::new(0, 1)) });
    }

    fn commit<'s>(&'s self, core: &M::Core, worker: &mut P::Worker<'s>) -> Result<(), Abort> {
        let prepared = self.protocol.prepare(core, worker)?;
        self.protocol.commit(core, worker, prepared.least, &mut { NO_LOG });
        Ok(())
    }

    /// Reads the counts of row `key`.
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut P::Worker<'s>,
        key: u64,
        intent: Intent,
    ) -> Result<Counted<'s, M, P::Words>, Abort> {
        let record = RecordRef::checked(self.table().find(core, key).expect("loaded"));
        let mut row = [0; COLUMNS * BYTES];
        let columns = ColumnSet::first(COLUMNS);
        let head = self.protocol.read(core, worker, record, columns, intent, &mut row)?;
        assert_eq!(head.state, RowState::PRESENT);
        let counts = [0, 1].map(|i| {
            let column = &row[i * BYTES..(i + 1) * BYTES];
            let count = u64::from_le_bytes(column[..8].try_into().expect("8 bytes"));
            assert_eq!(column, bytes(count), "a mixture of versions");
            count
        });
        Ok((record, counts))
    }

    fn try_to_add_one<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut P::Worker<'s>,
        key: u64,
        column: usize,
    ) -> Result<RecordRef<'s, M, P::Words>, Abort> {
        let (record, counts) = self.read(core, worker, key, Intent::Update)?;
        let values = bytes(counts[column] + 1);
        let change = Change { columns: ColumnSet::one(column), values: &values, state: None };
        self.protocol.write(core, worker, record, change)?;
        self.commit(core, worker)?;
        Ok(record)
    }

    /// Adds one to a count, in as many attempts as it takes. The turns go through the rows and then their columns.
    fn add_one<'s>(&'s self, core: &M::Core, worker: &mut P::Worker<'s>, turn: u64) {
        let (key, column) = (turn % ROWS, (turn / ROWS) as usize % COLUMNS);
        let record = loop {
            self.begin(core, worker, false);
            match self.try_to_add_one(core, worker, key, column) {
                Ok(record) => break record,
                Err(_) => self.protocol.abort(core, worker),
            }
            core.pause(100);
        };
        let (line, longest) = (&self.progress.line, &self.progress.longest);
        let length = version_chain::length(core, &record);
        // Two concurrent writers may lose one of their findings. Later findings make up for it.
        if length > core.load(line, longest) {
            core.store(line, longest, length);
        }
    }

    /// Begins a transaction, and reads until all updates are written. It must see the loaded values, and no read
    /// may be refused.
    fn long_reader(&self, core: &M::Core) {
        let progress = &*self.progress;
        let _read = Finally(|| {
            core.store(&progress.line, &progress.read, 1);
            core.wake(&progress.line, &progress.read);
        });
        let mut worker = self.protocol.worker(self.store.epochs(), WRITERS);
        self.begin(core, &mut worker, true);
        core.store(&progress.line, &progress.reading, 1);
        core.wake(&progress.line, &progress.reading);
        while core.load(&progress.line, &progress.written) < WRITERS as u64 {
            for key in 0..ROWS {
                let seen = self.read(core, &mut worker, key, Intent::Read).expect("never refused");
                assert_eq!(seen.1, [key; COLUMNS]);
            }
            core.pause(1000);
        }
        self.commit(core, &mut worker).expect("it has only read");
    }

    /// Updates all rows in turn. When the reader has ended, updates only the first row.
    fn writer(&self, core: &M::Core, session: usize, updates: u64) {
        let progress = &*self.progress;
        let mut worker = self.protocol.worker(self.store.epochs(), session);
        core.wait_while(&progress.line, &progress.reading, |reading| reading == 0);
        let written = Finally(|| {
            core.fetch_add(&progress.line, &progress.written, 1);
        });
        for i in 0..updates {
            self.add_one(core, &mut worker, i);
        }
        drop(written);
        core.wait_while(&progress.line, &progress.read, |read| read == 0);
        for _ in 0..4 * SESSIONS {
            self.add_one(core, &mut worker, 0);
        }
    }

    /// Runs the reader and the writers. Returns the longest chain, the lengths of the chains at the end, and the
    /// growth of the arena.
    fn run(&self, updates: u64) -> (u64, Vec<u64>, u64) {
        let before = self.machine.arena().used();
        let mut bodies: Vec<Body<'_, M>> = Vec::new();
        for session in 0..WRITERS {
            bodies.push(Box::new(move |core| self.writer(core, session, updates)));
        }
        bodies.push(Box::new(|core| self.long_reader(core)));
        self.machine.run(bodies, vec![]).unwrap();
        let found = Mutex::new((0, Vec::new()));
        let last: Body<'_, M> = Box::new(|core| {
            let mut worker = self.protocol.worker(self.store.epochs(), 0);
            self.begin(core, &mut worker, true);
            let mut found = found.lock();
            for key in 0..ROWS {
                let (record, counts) = self.read(core, &mut worker, key, Intent::Read).unwrap();
                found.0 += counts.iter().map(|count| count - key).sum::<u64>();
                found.1.push(version_chain::length(core, &record));
            }
            self.protocol.abort(core, &mut worker);
        });
        self.machine.run(vec![last], vec![]).unwrap();
        let (added, chains) = found.into_inner();
        assert_eq!(added, WRITERS as u64 * (updates + 4 * SESSIONS as u64));
        (self.progress.longest.peek(), chains, self.machine.arena().used() - before)
    }

    fn stays_bounded(&self, updates: u64) {
        let (longest, left, grown) = self.run(updates);
        assert!(longest <= LONGEST, "a chain of {longest} versions");
        assert!(longest > 0, "the reader has kept a version of each row");
        assert_eq!(left[1..], [0; ROWS as usize - 1], "kept for nobody");
        // A session may hold free slots, and the versions that it has superseded since its last collection.
        let slots = SESSIONS as u64 * (2 * 64 + 16 + LONGEST);
        let allowed = slots * self.table().stride();
        assert!(grown <= allowed, "{grown} bytes, {allowed} allowed");
    }
}

fn explored(seed: u64) -> ExploredOptions {
    let schedule =
        if seed.is_multiple_of(2) { Schedule::Random } else { Schedule::Pct { depth: 3 } };
    ExploredOptions { seed, schedule, step_limit: 20_000_000, ..Default::default() }
}

fn explorer(seed: u64) -> Explored {
    Explored::new(explored(seed)).unwrap()
}

fn native() -> Native {
    Native::new(NativeOptions::default()).unwrap()
}

#[test]
fn under_adversarial_schedules() {
    for seed in 0..8 {
        for kept in [Needed, All] {
            Rig::<_, Mvcc<_>>::new(explorer(seed), kept).stays_bounded(1000);
            Rig::<_, Cicada<_>>::new(explorer(seed), kept).stays_bounded(1000);
            Rig::<_, Hekaton<_>>::new(explorer(seed), kept).stays_bounded(1000);
        }
        Rig::<_, DlDetectVersions<_>>::new(explorer(seed), All).stays_bounded(1000);
    }
}

#[test]
fn natively() {
    for kept in [Needed, All] {
        Rig::<_, Mvcc<_>>::new(native(), kept).stays_bounded(20_000);
        Rig::<_, Cicada<_>>::new(native(), kept).stays_bounded(20_000);
        Rig::<_, Hekaton<_>>::new(native(), kept).stays_bounded(20_000);
    }
    Rig::<_, DlDetectVersions<_>>::new(native(), All).stays_bounded(2000);
}

/// Returns the number of slots that 1000 updates take while there is one session. They are taken in lots.
fn slots_taken_alone<P: Protocol<Native, Words: Versioned>>(kept: KeptVersions) -> u64 {
    let rig = Rig::<Native, P>::for_sessions(native(), kept, 1);
    let before = rig.machine.arena().used();
    let body: Body<'_, Native> = Box::new(|core| {
        let mut worker = rig.protocol.worker(rig.store.epochs(), 0);
        (0..1000).for_each(|turn| rig.add_one(core, &mut worker, turn));
    });
    rig.machine.run(vec![body], vec![]).unwrap();
    assert_eq!(rig.progress.longest.peek(), 0, "nothing is left after a commit");
    (rig.machine.arena().used() - before) / rig.table().stride()
}

#[test]
fn no_version_is_kept_if_nobody_else_reads() {
    assert_eq!([Needed, All].map(slots_taken_alone::<Mvcc<_>>), [0, 16]);
    assert_eq!([Needed, All].map(slots_taken_alone::<Snapshot<_>>), [0, 16]);
    assert_eq!([Needed, All].map(slots_taken_alone::<Cicada<_>>), [0, 16]);
    assert_eq!([Needed, All].map(slots_taken_alone::<Hekaton<_>>), [0, 16]);
}

/// Garbage collection as in the papers' code stops at the oldest transaction.
#[test]
fn collection_up_to_the_oldest_does_not_stay_bounded() {
    let fault = Some(faults::COLLECTS_UP_TO_THE_OLDEST);
    for kept in [Needed, All] {
        let machine = Explored::new(ExploredOptions { fault, ..explored(0) }).unwrap();
        let (longest, ..) = Rig::<_, Mvcc<_>>::new(machine, kept).run(300);
        assert!(longest > 10 * LONGEST, "{longest}: this test could not fail");
    }
}
