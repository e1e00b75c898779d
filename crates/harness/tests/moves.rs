//! Tests workloads under an architecture that moves transactions between native threads.

use engine::EngineError;
use kilocore_harness::run::{HarnessError, Moves, Plan, Repetition, run};
use machine::{Native, NativeOptions, Word};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use txn::{
    Abort, AbortReason, Access, Action, Client, Column, ColumnSet, ColumnType, Intent, Loader,
    MayMove, Movable, Partitioning, Schema, TableId, TableSchema, Workload,
};

const TABLE: TableId = TableId(0);
const PARTITIONS: u64 = 2;

/// The number of the procedure, over all workers, that panics while it has locked a row of each partition.
static PANICS: AtomicU64 = AtomicU64::new(u64::MAX);

/// The row that the first action of a transaction increments. It is at another owner if it is not 0.
static STRAYS: AtomicU64 = AtomicU64::new(0);

/// The tests use these numbers one after another.
static IN_USE: Mutex<()> = Mutex::new(());

/// Each transaction increments a row of each partition.
struct Pairs<const MOVES: bool>;

// SAFETY: a procedure has only its inputs and buffers of its own on its stack.
unsafe impl MayMove for Pairs<true> {}

impl<const MOVES: bool> Workload for Pairs<MOVES>
where
    Pairs<MOVES>: Promise,
{
    type Client = Incrementing;
    const COMPILED: bool = false;
    const MOVABLE: Option<Movable> = <Self as Promise>::GIVEN;

    fn schema(&self) -> Schema {
        let table = TableSchema::new("rows", vec![Column::new("value", ColumnType::U64)]);
        let rule = Partitioning::Modulo { partitions: PARTITIONS };
        Schema { tables: vec![table.partitioned(rule)] }
    }

    fn rows(&self, _: TableId) -> u64 {
        PARTITIONS
    }

    fn load(&self, loader: &mut dyn Loader) {
        loader.load_dense(TABLE, PARTITIONS, &|_, _| ());
    }

    fn client(&self, _: usize, _: usize, _: u64) -> Incrementing {
        Incrementing
    }
}

/// The promise of a workload, or none.
trait Promise {
    const GIVEN: Option<Movable>;
}

impl Promise for Pairs<true> {
    const GIVEN: Option<Movable> = Some(Movable::of::<Self>());
}

impl Promise for Pairs<false> {
    const GIVEN: Option<Movable> = None;
}

#[derive(Clone)]
struct Incrementing;

impl Client for Incrementing {
    fn next(&mut self) {}

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        if access.splits() {
            // Sessions and executors panic in turn.
            let panics = PANICS.load(Ordering::Relaxed) % PARTITIONS;
            let other = STRAYS.load(Ordering::Relaxed);
            return access.run_actions(&mut [
                Action::new((TABLE, 0), 0, &mut |access| {
                    increment(access, other)?;
                    if panics == 0 { may_panic() } else { Ok(()) }
                }),
                Action::new((TABLE, 1), 0, &mut |access| {
                    increment(access, 1)?;
                    if panics == 1 { may_panic() } else { Ok(()) }
                }),
            ]);
        }
        (0..PARTITIONS).try_for_each(|key| increment(access, key))?;
        may_panic()
    }
}

fn increment<A: Access + ?Sized>(access: &mut A, key: u64) -> Result<(), Abort> {
    let mut row = [0; 8];
    access.read_with(TABLE, key.into(), ColumnSet::one(0), Intent::Update, &mut row)?;
    let value = u64::from_le_bytes(row) + 1;
    access.update(TABLE, key.into(), ColumnSet::one(0), &value.to_le_bytes()).map(|_| ())
}

fn may_panic() -> Result<(), Abort> {
    let left = PANICS.fetch_sub(1, Ordering::Relaxed);
    assert!(left != 1, "on purpose");
    Ok(())
}

fn measured<W: Workload>(
    workload: &W,
    protocol: &str,
    executors: usize,
) -> Result<Vec<Repetition>, HarnessError> {
    let architecture = "data_oriented".to_owned();
    let moves = Moves { executors, table_owners: None };
    let plan = Plan { architecture, moves, warm_up_s: 0.0, ..Plan::new(protocol, 2, 0.2) };
    let native = |_| Native::new(NativeOptions::default());
    run(&native, workload, &plan, &Word::new(0), &mut |_| {})
}

#[test]
fn a_workload_that_promises_nothing_does_not_move() {
    let Err(HarnessError::Engine(error)) = measured(&Pairs::<false>, "NO_WAIT", 0) else {
        panic!("its procedures could hold anything");
    };
    assert_eq!(error, EngineError::NotMovable { architecture: "data_oriented" });
    assert!(error.to_string().contains("Workload::MOVABLE"), "{error}");
}

/// The other worker goes on to the end of the run, so the locks of the procedure that panicked were released: under DL_DETECT
/// it would wait for them.
#[test]
fn a_procedure_that_panics_keeps_no_lock_on_any_core() {
    let _alone = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    for (protocol, executors) in [("DL_DETECT", 0), ("NO_WAIT", 0), ("NO_WAIT", 2), ("WAIT_DIE", 2)]
    {
        let run = || measured(&Pairs::<true>, protocol, executors);
        PANICS.store(u64::MAX, Ordering::Relaxed);
        let committed = run().expect("it runs")[0].total.commits();
        assert!(committed > 0, "{protocol}");
        let runs_after_a_panic = || {
            PANICS.store(20, Ordering::Relaxed);
            let Err(payload) = catch_unwind(AssertUnwindSafe(run)) else {
                panic!("the panic reaches the caller");
            };
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose"));
            u64::MAX - PANICS.load(Ordering::Relaxed)
        };
        // On a busy machine the other worker can have no processor until the run ends. With a lock kept it stops every time.
        let later: Vec<u64> =
            (0..20).map(|_| runs_after_a_panic()).take_while(|n| *n <= 5).collect();
        assert!(
            later.len() < 20,
            "{protocol}: the other worker has run {later:?} procedures since"
        );
    }
}

/// An action accesses the data of one owner. A session's own action must not access what an executor has, either.
#[test]
fn an_action_that_accesses_the_data_of_another_owner_aborts() {
    let _alone = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    PANICS.store(u64::MAX, Ordering::Relaxed);
    STRAYS.store(1, Ordering::Relaxed);
    let ran = measured(&Pairs::<true>, "NO_WAIT", 2);
    STRAYS.store(0, Ordering::Relaxed);
    let total = &ran.expect("it runs")[0].total;
    assert_eq!(total.commits(), 0);
    assert!(total.aborted_for(AbortReason::UndeclaredPartition) > 0);
}

#[test]
fn protocols_that_know_one_wait_have_no_executors() {
    let Err(HarnessError::Engine(error)) = measured(&Pairs::<true>, "DL_DETECT", 1) else {
        panic!("a transaction would wait at two places");
    };
    assert!(error.to_string().ends_with("NO_WAIT, WAIT_DIE, 2V_NO_WAIT"), "{error}");
}
