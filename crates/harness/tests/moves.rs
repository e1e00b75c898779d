//! Tests workloads under an architecture that moves transactions between native threads.

use engine::EngineError;
use kilocore_harness::run::{HarnessError, Plan, Repetition, run};
use machine::{Native, NativeOptions, Word};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
};
use txn::{
    Abort, Access, Client, Column, ColumnSet, ColumnType, Intent, Loader, MayMove, Movable,
    Partitioning, Schema, TableId, TableSchema, Workload,
};

const TABLE: TableId = TableId(0);
const PARTITIONS: u64 = 2;

/// The number of the procedure, over all workers, that panics while it has locked a row of each partition.
static PANICS: AtomicU64 = AtomicU64::new(u64::MAX);

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
        for key in 0..PARTITIONS {
            let mut row = [0; 8];
            access.read_with(TABLE, key.into(), ColumnSet::one(0), Intent::Update, &mut row)?;
            let value = u64::from_le_bytes(row) + 1;
            access.update(TABLE, key.into(), ColumnSet::one(0), &value.to_le_bytes())?;
        }
        let left = PANICS.fetch_sub(1, Ordering::Relaxed);
        assert!(left != 1, "on purpose");
        Ok(())
    }
}

fn measured<W: Workload>(workload: &W, protocol: &str) -> Result<Vec<Repetition>, HarnessError> {
    let architecture = "data_oriented".to_owned();
    let plan = Plan { architecture, warm_up_s: 0.0, ..Plan::new(protocol, 2, 0.2) };
    let native = |_| Native::new(NativeOptions::default());
    run(&native, workload, &plan, &Word::new(0), &mut |_| {})
}

#[test]
fn a_workload_that_promises_nothing_does_not_move() {
    let Err(HarnessError::Engine(error)) = measured(&Pairs::<false>, "NO_WAIT") else {
        panic!("its procedures could hold anything");
    };
    assert_eq!(error, EngineError::NotMovable { architecture: "data_oriented" });
    assert!(error.to_string().contains("Workload::MOVABLE"), "{error}");
}

/// The other worker goes on to the end of the run, so the locks of the procedure that panicked were released: under DL_DETECT
/// it would wait for them.
#[test]
fn a_procedure_that_panics_keeps_no_lock_on_any_core() {
    for protocol in ["DL_DETECT", "NO_WAIT"] {
        PANICS.store(u64::MAX, Ordering::Relaxed);
        let committed = measured(&Pairs::<true>, protocol).expect("it runs")[0].total.commits();
        assert!(committed > 0, "{protocol}");
        PANICS.store(20, Ordering::Relaxed);
        let caught = catch_unwind(AssertUnwindSafe(|| measured(&Pairs::<true>, protocol)));
        let Err(payload) = caught else { panic!("the panic reaches the caller") };
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose"));
        let later = u64::MAX - PANICS.load(Ordering::Relaxed);
        assert!(later > 100, "{protocol}: the other worker has run {later} procedures since");
    }
}
