//! Explores many short runs under adversarial schedules and checks each of them in several ways.
//!
//! A schedule is checked against:
//!
//! - the certificate that the protocol promises
//! - the workload's conservation law, if the protocol promises serializability (weaker levels may break it)
//! - the invariant that the oldest transaction never dies
//! - deadlocks that are reported where none is possible
//! - its end: no deadlock, no livelock, no panic
//! - the limit on the number of transactions that run at the same time
//! - the memory of values outside records: none is lost, none is used twice
//!
//! Every fourth schedule runs without recording. Of the others, every fourth runs without recording values. Recording
//! changes what happens between accesses and can hide a bug. In another fourth no record retires, and the invariant
//! of the oldest transaction is checked. In every fourth of all kinds memory runs out. Of seven blocks of 128 schedules the second one
//! needs permits ([`engine::admission`]).

mod ages;
mod judgement;
mod limited;
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

use crate::{
    erased::ErasedWorkload,
    run::{HarnessError, TablePlaces},
};
use engine::{AccessOptions, EngineError, admission::AdmissionPolicy, registry};
use judgement::{How, Judgement};
use machine::{Explored, ExploredOptions, Fault, Schedule, Word, cold::Arc};
use protocols::{ProtocolOptions, faults};
use std::{any::Any, ops::ControlFlow};
use txn::{History, Workload};

/// Parameters of an exploration.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Name of the architecture.
    pub architecture: String,
    /// Name of the protocol.
    pub protocol: String,
    /// Name of a planted bug. The bug determines the protocol.
    pub mutant: Option<String>,
    /// The protocol's options.
    pub protocol_options: ProtocolOptions,
    /// Options by which the engine executes accesses.
    pub access: AccessOptions,
    /// Number of owners, for an architecture that stores partitions apart. None for as many as the workload of each
    /// schedule has partitions.
    pub partitions: Option<u64>,
    /// Seed of the first schedule. The following seeds count up.
    pub first_seed: u64,
    /// Number of schedules to run.
    pub schedules: u64,
    /// Number of workers.
    pub workers: usize,
    /// Number of workers that share a core as fibers. The scheduler then switches between them only where one waits or lets
    /// others run.
    pub fibers: usize,
    /// Number of cores that only serve other cores, beside those of the workers, under an architecture that delegates work.
    /// None if each core serves beside its workers.
    pub servers: Option<usize>,
    /// Number of fibers beside each worker that run actions of its transactions, where transactions move. None if the schedule
    /// decides.
    pub executors: Option<usize>,
    /// Places of the owners of tables, where transactions move. None if the schedule decides.
    pub table_owners: Option<TablePlaces>,
    /// Number of procedures of each worker.
    pub procedures: u64,
    /// Limit on the number of transactions that run at the same time. None if the schedule decides.
    pub admission: Option<AdmissionPolicy>,
    /// Set if workers put transactions aside in half of the schedules with a limit that they draw. Not for workloads whose
    /// clients draw by what the last procedure has seen, because that one may not have committed.
    pub puts_aside: bool,
    /// Number of steps after which a schedule counts as a livelock.
    pub step_limit: u64,
    /// Set if schedules are judged by strict serializability, regardless of the protocol's promise.
    pub demand_strict: bool,
    /// Set if schedules are also judged by the order of commit epochs, where the protocol has epochs. This check
    /// finds some bugs sooner than the certificate does. It is off for a bug that is planted for the certificate to
    /// find.
    pub epoch_order: bool,
}

impl Default for Exploration {
    fn default() -> Self {
        Exploration {
            architecture: registry::DEFAULT.to_owned(),
            protocol: String::new(),
            mutant: None,
            protocol_options: ProtocolOptions::default(),
            access: AccessOptions::default(),
            partitions: None,
            first_seed: 1,
            schedules: 1000,
            workers: 3,
            fibers: 1,
            servers: None,
            executors: None,
            table_owners: None,
            procedures: 4,
            admission: None,
            puts_aside: false,
            step_limit: 2_000_000,
            demand_strict: false,
            epoch_order: true,
        }
    }
}

impl Exploration {
    /// Returns the exploration adjusted to the planted bug, and the fault to switch on. The bug determines the
    /// protocol, the options and the promise. Without a planted bug the exploration is unchanged.
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
        exploration.puts_aside |= name == faults::PERMIT_KEPT_OVER_ABORT.0;
        Ok((exploration, Some(planted.fault())))
    }
}

/// Result of an exploration.
#[derive(Debug)]
pub struct Explorations {
    /// Number of schedules that were run and judged.
    pub schedules: u64,
    /// Number of shared-memory operations in the schedules.
    pub operations: u64,
    /// Number of transactions committed in the schedules.
    pub commits: u64,
    /// Number of attempts aborted in the schedules.
    pub aborts: u64,
    /// The first schedule with a violation.
    pub finding: Option<Finding>,
}

/// A schedule with a violation.
#[derive(Debug)]
pub struct Finding {
    /// Seed that replays the schedule.
    pub seed: u64,
    /// The violation.
    pub violation: Violation,
}

/// Runs and judges the schedules of `exploration` until the first violation. `workload` makes the workload of a
/// schedule from its seed. `stop` ends the exploration early. `progress` is called after every schedule with the
/// totals so far.
pub fn explore<W: Workload>(
    workload: &dyn Fn(u64) -> W,
    exploration: &Exploration,
    stop: &Word,
    progress: &mut dyn FnMut(&Explorations),
) -> Result<Explorations, HarnessError> {
    let make = |seed| -> Box<dyn ErasedWorkload<Explored>> { Box::new(workload(seed)) };
    explore_any(&make, exploration, stop, progress)
}

/// Runs the schedules of `exploration` and passes each recorded history to `visit`, with its seed. Ends when `visit`
/// returns a break. Judges nothing, so that another checker can judge the histories.
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

/// Does the work of [`explore`], compiled once for all workloads.
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

/// Explorers for reuse, one for each kind of schedule. The kind is fixed when an explorer is created.
pub(crate) struct Explorers {
    fault: Option<Fault>,
    /// Set if all steps are recorded.
    trace: bool,
    kept: Vec<Arc<Explored>>,
}

impl Explorers {
    /// Creates an empty pool. `fault` is switched on in all its explorers.
    pub fn new(fault: Option<Fault>) -> Explorers {
        Explorers { fault, trace: false, kept: Vec::new() }
    }

    /// Creates an empty pool whose explorers record all steps.
    pub fn tracing(fault: Option<Fault>) -> Explorers {
        Explorers { trace: true, ..Explorers::new(fault) }
    }

    /// Returns an explorer for the schedule of `seed`. Half the seeds switch at random and half change priorities,
    /// because the two find different bugs.
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

    /// Returns an explorer to the pool. No other owner should hold it, because only an unshared explorer can be
    /// renewed.
    pub fn give(&mut self, explorer: Arc<Explored>) {
        self.kept.push(explorer);
    }
}

pub(crate) fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
