//! Tests of multi-version protocols with little or no memory for old versions. Transactions must still commit, and
//! must still be serializable.

use kilocore_protocols::{
    Change, CommitLog, Protocol, ProtocolOptions, Txn, cicada::Cicada, hekaton::Hekaton,
    mvcc::Mvcc, ssn::Ssn,
};
use machine::{
    Body, Core, Explored, ExploredOptions, Machine, Schedule, Word,
    cold::{Arc, Mutex},
};
use storage::{ProtocolWords, RecordRef, Store, StoreLoader, StoreOptions, Table};
use txn::{
    Abort, Column, ColumnSet, ColumnType, Intent, Loader, Schema, TableId, TableSchema, TxnId,
    Version,
};

const TABLE: TableId = TableId(0);
const ROWS: u64 = 2;
const WORKERS: usize = 3;
/// Initial value of each row.
const FUNDS: i64 = 3;
const NO_LOG: CommitLog<'static> = CommitLog { version: Version::INITIAL, writes: None };

struct Rig<P: Protocol<Explored>> {
    machine: Arc<Explored>,
    protocol: P,
    store: Store<Explored>,
}

impl<P: Protocol<Explored>> Rig<P> {
    /// Creates a database with memory for `versions` old versions. Slots for them come in lots.
    fn new(seed: u64, versions: u64) -> Self {
        let schedule =
            if seed.is_multiple_of(2) { Schedule::Random } else { Schedule::Pct { depth: 3 } };
        let options =
            ExploredOptions { seed, schedule, step_limit: 2_000_000, ..Default::default() };
        let machine = Arc::new(Explored::new(options).unwrap());
        let protocol = P::create(machine.arena(), &ProtocolOptions::default(), WORKERS).unwrap();
        let options = StoreOptions {
            sessions: WORKERS,
            keep_versions: false,
            keep_digests: false,
            words: ProtocolWords::of::<P::Words>(),
            access: Default::default(),
        };
        let store = Store::new(machine.clone(), options).unwrap();
        let columns = vec![Column::new("funds", ColumnType::I64)];
        let schema = Schema { tables: vec![TableSchema::new("rows", columns)] };
        store.create_tables(&schema, |_| ROWS).unwrap();
        let mut loader = StoreLoader::new(&store, 1);
        loader.load_dense(TABLE, ROWS, &|_, row| row.copy_from_slice(&FUNDS.to_le_bytes()));
        loader.finish().unwrap();
        let stride = store.table(TABLE).stride();
        machine.arena().limit(0, versions * stride);
        Rig { machine, protocol, store }
    }

    fn table(&self) -> &Table<Explored> {
        self.store.table(TABLE)
    }

    fn read<'s>(
        &'s self,
        core: &<Explored as Machine>::Core,
        worker: &mut P::Worker<'s>,
        key: u64,
        intent: Intent,
    ) -> Result<i64, Abort> {
        let record = RecordRef::checked(self.table().find(core, key).expect("loaded"));
        let mut row = [0; 8];
        self.protocol.read(core, worker, record, ColumnSet::one(0), intent, &mut row)?;
        Ok(i64::from_le_bytes(row))
    }

    fn write<'s>(
        &'s self,
        core: &<Explored as Machine>::Core,
        worker: &mut P::Worker<'s>,
        key: u64,
        funds: i64,
    ) -> Result<(), Abort> {
        let record = RecordRef::checked(self.table().find(core, key).expect("loaded"));
        let values = funds.to_le_bytes();
        let change = Change { columns: ColumnSet::one(0), values: &values, state: None };
        self.protocol.write(core, worker, record, change).map(|_| ())
    }

    /// Runs one transaction. Returns the result of `body` if it commits.
    fn transact<'s>(
        &'s self,
        core: &<Explored as Machine>::Core,
        worker: &mut P::Worker<'s>,
        body: impl FnOnce(&mut P::Worker<'s>) -> Result<i64, Abort>,
    ) -> Result<i64, Abort> {
        self.protocol.begin(core, worker, Txn::new(TxnId::new(0, 1)));
        let attempt = body(worker).and_then(|result| {
            let prepared = self.protocol.prepare(core, worker)?;
            self.protocol.commit(core, worker, prepared.least, &mut { NO_LOG });
            Ok(result)
        });
        if attempt.is_err() {
            self.protocol.abort(core, worker);
            core.pause(50);
        }
        attempt
    }

    /// Takes one from row `key` if the sum of both rows is positive. Returns the sum.
    fn withdraw<'s>(
        &'s self,
        core: &<Explored as Machine>::Core,
        worker: &mut P::Worker<'s>,
        key: u64,
    ) -> Result<i64, Abort> {
        self.transact(core, worker, |worker| {
            let other = self.read(core, worker, 1 - key, Intent::Read)?;
            let own = self.read(core, worker, key, Intent::Update)?;
            if own + other > 0 {
                self.write(core, worker, key, own - 1)?;
            }
            Ok(own + other)
        })
    }

    /// Moves one from the first row to the second.
    fn move_one<'s>(
        &'s self,
        core: &<Explored as Machine>::Core,
        worker: &mut P::Worker<'s>,
    ) -> Result<i64, Abort> {
        self.transact(core, worker, |worker| {
            for (key, change) in [(0, -1), (1, 1)] {
                let funds = self.read(core, worker, key, Intent::Update)?;
                self.write(core, worker, key, funds + change)?;
            }
            Ok(0)
        })
    }

    /// Returns the sum of both rows.
    fn look<'s>(
        &'s self,
        core: &<Explored as Machine>::Core,
        worker: &mut P::Worker<'s>,
    ) -> Result<i64, Abort> {
        self.transact(core, worker, |worker| {
            let first = self.read(core, worker, 0, Intent::Read)?;
            Ok(first + self.read(core, worker, 1, Intent::Read)?)
        })
    }

    /// All workers withdraw, move and look until nothing is left. Returns the sums that the withdrawals have found,
    /// and the memory used.
    fn run(&self) -> (Vec<i64>, u64) {
        let before = self.machine.arena().used();
        let withdrawn = Mutex::new(Vec::new());
        let turn = Word::new(0);
        let bodies = (0..WORKERS)
            .map(|session| -> Body<'_, Explored> {
                let (withdrawn, turn) = (&withdrawn, &turn);
                Box::new(move |core| {
                    let mut worker = self.protocol.worker(self.store.epochs(), session);
                    let mut seen = 2 * FUNDS;
                    while seen > 0 {
                        turn.poke(turn.peek() + 1);
                        let withdrawn_from = match turn.peek() % 3 {
                            2 => self.move_one(core, &mut worker).and(Ok(0)),
                            key => self.withdraw(core, &mut worker, key),
                        };
                        withdrawn.lock().extend(withdrawn_from.into_iter().filter(|sum| *sum > 0));
                        if let Ok(sum) = self.look(core, &mut worker) {
                            assert!(sum <= seen, "{sum} after {seen}");
                            seen = sum;
                        }
                    }
                    assert_eq!(seen, 0);
                })
            })
            .collect();
        self.machine.run(bodies, vec![]).unwrap();
        let mut withdrawn = withdrawn.into_inner();
        withdrawn.sort_unstable();
        (withdrawn, self.machine.arena().used() - before)
    }
}

fn nobody_takes_what_is_not_there<P: Protocol<Explored>>() {
    let all: Vec<i64> = (1..=2 * FUNDS).collect();
    for seed in 0..3000 {
        // No version, one session's lot, or enough.
        let versions = [0, 16, 1000][seed as usize % 3];
        let rig = Rig::<P>::new(seed, versions);
        let (withdrawn, grown) = rig.run();
        assert_eq!(withdrawn, all, "seed {seed}");
        assert!(grown <= versions * rig.table().stride(), "{grown} bytes");
    }
}

#[test]
fn under_mvcc() {
    nobody_takes_what_is_not_there::<Mvcc<_>>();
}

#[test]
fn under_ssn() {
    nobody_takes_what_is_not_there::<Ssn<_>>();
}

#[test]
fn under_hekaton() {
    nobody_takes_what_is_not_there::<Hekaton<_>>();
}

#[test]
fn under_cicada() {
    nobody_takes_what_is_not_there::<Cicada<_>>();
}
