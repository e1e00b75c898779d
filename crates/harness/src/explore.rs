//! Exploration: many short runs under adversarial schedules, each checked in every way there is.
//!
//! A schedule is judged by the certificate that the protocol promises, by the workload's conservation law (if it
//! promises serializability: weaker levels may well break it), by
//! the invariant that the oldest transaction never dies, by deadlocks found where none can be, and by its end: no dead-lock, no live-lock, no panic.
//! Every fourth schedule runs without recording, and of the others every fourth without a look at values: either changes
//! what happens between accesses, and may hide a bug. In another fourth no record retires, and it is watched who dies.
//! In every fourth of all kinds memory runs out.

mod ages;
mod judgement;
mod notes;
pub mod replay;
mod script;
mod shrink;
mod story;
mod values;
mod violation;

pub use script::Script;
pub use story::{Story, trace};
pub use violation::Violation;

use crate::{erased::ErasedWorkload, run::HarnessError};
use engine::{EngineError, registry};
use judgement::{How, Judgement};
use machine::{Explored, ExploredOptions, Fault, Schedule, Word, cold::Arc};
use protocols::{ProtocolOptions, faults};
use std::{any::Any, ops::ControlFlow};
use txn::{History, Workload};

/// What to explore.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Name of the architecture.
    pub architecture: String,
    /// Name of the protocol.
    pub protocol: String,
    /// Name of a planted bug, which says what protocol it is in.
    pub mutant: Option<String>,
    /// The protocol's options.
    pub protocol_options: ProtocolOptions,
    /// Seed of the first schedule; the following ones count up.
    pub first_seed: u64,
    /// Schedules to run.
    pub schedules: u64,
    /// Workers.
    pub workers: usize,
    /// Procedures of each worker.
    pub procedures: u64,
    /// Steps after which a schedule counts as a live-lock.
    pub step_limit: u64,
    /// Judge by strict serializability, whatever the protocol promises.
    pub demand_strict: bool,
    /// Judge by the order of commit epochs as well, where the protocol has such. It sees some bugs sooner
    /// than the certificate does, so it is off where a bug is planted for the certificate to find.
    pub epoch_order: bool,
}

impl Default for Exploration {
    fn default() -> Self {
        Exploration {
            architecture: registry::DEFAULT.to_owned(),
            protocol: String::new(),
            mutant: None,
            protocol_options: ProtocolOptions::default(),
            first_seed: 1,
            schedules: 1000,
            workers: 3,
            procedures: 4,
            step_limit: 2_000_000,
            demand_strict: false,
            epoch_order: true,
        }
    }
}

impl Exploration {
    /// The same in the protocol, with the options and by the promise of the planted bug, if there is one; and what is
    /// to be switched on.
    fn with_bug(&self) -> Result<(Exploration, Option<Fault>), HarnessError> {
        let mut exploration = self.clone();
        let Some(name) = &self.mutant else { return Ok((exploration, None)) };
        let planted = faults::named(name);
        let planted = planted.ok_or_else(|| EngineError::UnknownProtocol(name.clone()))?;
        exploration.protocol = planted.protocol.to_owned();
        if exploration.architecture == registry::DEFAULT {
            exploration.architecture = planted.architecture.to_owned();
        }
        exploration.workers = exploration.workers.max(planted.least.0);
        exploration.procedures = exploration.procedures.max(planted.least.1);
        exploration.protocol_options = (planted.options)(exploration.protocol_options);
        exploration.demand_strict |= planted.strict;
        Ok((exploration, Some(planted.fault())))
    }
}

/// What an exploration did.
#[derive(Debug)]
pub struct Explorations {
    /// Schedules that ran to their judgement.
    pub schedules: u64,
    /// Shared-memory operations in them.
    pub operations: u64,
    /// Transactions committed in them.
    pub commits: u64,
    /// Attempts aborted in them.
    pub aborts: u64,
    /// The first schedule that went wrong.
    pub finding: Option<Finding>,
}

/// A schedule that went wrong.
#[derive(Debug)]
pub struct Finding {
    /// The seed that replays it.
    pub seed: u64,
    /// What went wrong.
    pub violation: Violation,
}

/// Explores. `workload` makes the workload of a schedule from its seed. `stop` ends it early, `progress`
/// hears of every schedule and of what happened so far.
pub fn explore<W: Workload>(
    workload: &dyn Fn(u64) -> W,
    exploration: &Exploration,
    stop: &Word,
    progress: &mut dyn FnMut(&Explorations),
) -> Result<Explorations, HarnessError> {
    let make = |seed| -> Box<dyn ErasedWorkload<Explored>> { Box::new(workload(seed)) };
    explore_any(&make, exploration, stop, progress)
}

/// Runs the schedules of `exploration` and hands the history of each that is recorded to `visit`, with its seed; ends when
/// that says so. Nothing is judged: another checker can do that as well.
pub fn histories<W: Workload>(
    workload: &dyn Fn(u64) -> W,
    exploration: &Exploration,
    visit: &mut dyn FnMut(u64, &History) -> ControlFlow<()>,
) -> Result<(), HarnessError> {
    let (exploration, fault) = exploration.with_bug()?;
    let mut explorers = Explorers::new(fault);
    for number in 0..exploration.schedules {
        let seed = exploration.first_seed.wrapping_add(number);
        let workload: Box<dyn ErasedWorkload<Explored>> = Box::new(workload(seed));
        let how = How::default();
        let one = Judgement { workload: &*workload, exploration: &exploration, seed, how };
        let history = one.history(&mut explorers)?;
        if history.is_some_and(|history| visit(seed, &history).is_break()) {
            break;
        }
    }
    Ok(())
}

/// Makes the workload of a schedule from its seed.
type Make<'w> = dyn Fn(u64) -> Box<dyn ErasedWorkload<Explored>> + 'w;

/// As [`explore`], once for all workloads.
fn explore_any(
    workload: &Make<'_>,
    exploration: &Exploration,
    stop: &Word,
    progress: &mut dyn FnMut(&Explorations),
) -> Result<Explorations, HarnessError> {
    let (exploration, fault) = exploration.with_bug()?;
    let mut explorers = Explorers::new(fault);
    let mut total =
        Explorations { schedules: 0, operations: 0, commits: 0, aborts: 0, finding: None };
    for number in 0..exploration.schedules {
        if stop.peek() != 0 {
            break;
        }
        let seed = exploration.first_seed.wrapping_add(number);
        let workload = workload(seed);
        let how = How::default();
        let one = Judgement { workload: &*workload, exploration: &exploration, seed, how };
        let violation = one.run(&mut explorers, &mut total)?;
        total.schedules += 1;
        total.finding = violation.map(|violation| Finding { seed, violation });
        progress(&total);
        if total.finding.is_some() {
            break;
        }
    }
    Ok(total)
}

/// Explorers that are used again: one of each kind of schedule, which is fixed when an explorer is made.
pub(crate) struct Explorers {
    fault: Option<Fault>,
    /// Whether all steps are recorded.
    trace: bool,
    kept: Vec<Arc<Explored>>,
}

impl Explorers {
    /// None yet; `fault` is switched on in all of them.
    pub fn new(fault: Option<Fault>) -> Explorers {
        Explorers { fault, trace: false, kept: Vec::new() }
    }

    /// The same, and all steps are recorded.
    pub fn tracing(fault: Option<Fault>) -> Explorers {
        Explorers { trace: true, ..Explorers::new(fault) }
    }

    /// One for the schedule of `seed`. Half the seeds switch at random, half change priorities: they find different
    /// bugs.
    pub fn take(&mut self, seed: u64, step_limit: u64) -> Result<Arc<Explored>, HarnessError> {
        let schedule = match seed % 4 {
            0 | 1 => Schedule::Random,
            2 => Schedule::Pct { depth: 2 },
            _ => Schedule::Pct { depth: 3 },
        };
        let at = self.kept.iter().position(|machine| machine.options().schedule == schedule);
        Ok(match at.map(|at| self.kept.swap_remove(at)) {
            None => {
                let (fault, trace) = (self.fault, self.trace);
                let usual = ExploredOptions::default();
                let options = ExploredOptions { seed, schedule, step_limit, fault, trace, ..usual };
                Arc::new(Explored::new(options)?)
            }
            Some(mut machine) => {
                if let Some(explorer) = Arc::get_mut(&mut machine) {
                    explorer.renew(seed)?;
                }
                machine
            }
        })
    }

    /// Takes it back, when nobody else holds it.
    pub fn give(&mut self, explorer: Arc<Explored>) {
        self.kept.push(explorer);
    }
}

pub(crate) fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
