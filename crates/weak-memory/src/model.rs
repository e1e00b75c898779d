//! Runs every execution of a body, one after the other.

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

/// Limits of a model.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Largest number of preemptions in an execution, at which a core that could continue lets another one run.
    pub preemptions: usize,
    /// Number of executions after which the check ends.
    pub executions: usize,
    /// Number of operations after which an execution counts as endless.
    pub operations: usize,
    /// A fault of the modelled hardware, to show that a test would notice it.
    pub fault: Option<Fault>,
}

/// An ordering that a core leaves out. A test that finds nothing wrong with a fault says nothing about memory
/// orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Full fences have no effect.
    NoFences,
    /// Stores are relaxed instead of releasing.
    RelaxedStores,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { preemptions: 2, executions: 20_000, operations: 20_000, fault: None }
    }
}

/// Extent of a finished check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Number of executions.
    pub executions: u64,
    /// Set if these are all executions within the bound on preemptions.
    pub complete: bool,
    /// Number of words that several cores accessed.
    pub words: usize,
}

/// Panic payload: more words than known must be loom's atomics, so the check starts again.
struct Missed;

/// Runs `body` on a new machine in every execution within `bounds`. A panic in it propagates to the caller, so
/// a test sees a failed assertion.
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
