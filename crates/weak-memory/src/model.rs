//! Every execution of a body, one after the other.

use crate::machine::{Covered, WeakMemory, locked};
use machine::cold::Arc as Shared;
use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// How far a model goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How often in an execution a core that could go on has to stand back.
    pub preemptions: usize,
    /// Executions after which it is enough.
    pub executions: usize,
    /// Operations of an execution after which it is taken for endless.
    pub operations: usize,
    /// A fault of the hardware's, to see that a test would notice.
    pub fault: Option<Fault>,
}

/// What a core may leave out: where a test finds nothing wrong then, it says nothing about orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Full fences do nothing.
    NoFences,
    /// Stores order nothing.
    RelaxedStores,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { preemptions: 2, executions: 20_000, operations: 20_000, fault: None }
    }
}

/// How far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Executions.
    pub executions: u64,
    /// These are all within the bound on preemptions.
    pub complete: bool,
    /// Words that cores touched beside each other.
    pub words: usize,
}

/// More words than were known have to be loom's.
struct Missed;

/// Runs `body` on a machine of its own in every execution within `bounds`. A panic in it, which is what a test
/// wants to see, goes on in the caller.
pub fn check(bounds: Bounds, body: impl Fn(Shared<WeakMemory>) + Send + Sync + 'static) -> Verdict {
    let covered: Covered = Arc::new(Mutex::new(BTreeSet::new()));
    let body = Arc::new(body);
    loop {
        let executions = Arc::new(AtomicU64::new(0));
        let (all, body, count) = (covered.clone(), body.clone(), executions.clone());
        let mut builder = loom::model::Builder::new();
        builder.max_branches = bounds.operations;
        builder.max_permutations = Some(bounds.executions);
        builder.checkpoint_interval = bounds.executions.max(1);
        builder.preemption_bound = Some(bounds.preemptions);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            builder.check(move || {
                count.fetch_add(1, Ordering::Relaxed);
                let machine = WeakMemory::new(all.clone(), bounds.fault).expect("address space");
                let machine = Shared::new(machine);
                body(machine.clone());
                if machine.has_missed() {
                    resume_unwind(Box::new(Missed));
                }
            });
        }));
        match ended {
            Err(payload) if payload.is::<Missed>() => {}
            Err(payload) => resume_unwind(payload),
            Ok(()) => {
                let executions = executions.load(Ordering::Relaxed);
                return Verdict {
                    executions,
                    complete: executions < bounds.executions as u64,
                    words: locked(&covered).len(),
                };
            }
        }
    }
}
