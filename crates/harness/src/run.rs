//! A measurement: an engine is made and loaded, workers run for an interval, their counts are added up.

use crate::{
    arrivals::Arrivals,
    drive::{BackOff, Loop, drive},
    engines::Engines,
    erased::ErasedWorkload,
    measure::{Counts, WorkerReport},
    measurement::{Measurement, WorkerLoop},
    steadiness::{Rule, Steadiness},
    timeline::Ended,
};
use engine::{
    Dataset, Engine, EngineError, EngineOptions, Session, TypedEngine,
    registry::{EngineVisitor, with_engine},
};
use hdrhistogram::Histogram;
use machine::{Machine, OutOfMemory, RunError, Word, cold::Arc};
use protocols::ProtocolOptions;
use std::{any::Any, fmt};
use storage::StoreError;
use txn::{History, Workload};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the architecture.
    pub architecture: String,
    /// Name of the protocol.
    pub protocol: String,
    /// Its options.
    pub protocol_options: ProtocolOptions,
    /// Workers, one a core.
    pub cores: usize,
    /// Warm-up before the measured interval, in seconds of the machine's time.
    pub warm_up_s: f64,
    /// The measured interval, in seconds of the machine's time.
    pub measured_s: f64,
    /// How warm-up and interval adapt; none for exactly those above.
    pub growth: Option<Growth>,
    /// How often.
    pub repetitions: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Record histories.
    pub record_history: bool,
    /// What a worker does after an abort.
    pub back_off: BackOff,
    /// How transactions arrive in an open loop; none for a closed one.
    pub arrivals: Option<Arrivals>,
    /// Threads that load natively.
    pub load_threads: usize,
    /// Seconds of the machine's time between two epochs.
    pub epoch_interval_s: f64,
}

/// A run that ends when it is known to be steady. Its interval is doubled until then, and what of it was not steady yet
/// counts as warm-up ([`crate::steadiness`]). The repetitions after the first take its lengths as they have become, and are
/// not made if all would take too long together. In a closed loop only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The longest interval, warm-up included, in seconds of the machine's time.
    pub most_s: f64,
    /// The longest time in which workers do not wait, in seconds of the machine's time summed over them: what a simulation
    /// costs its host. Heeded where time is modelled.
    pub most_busy_s: f64,
    /// The longest that all repetitions may take together, in seconds of the machine's time.
    pub together_s: f64,
    /// What has to hold for the run to end.
    pub rule: Rule,
}

/// One repetition's counts.
pub struct Repetition {
    /// All workers' counts, in the measured interval unless they say otherwise.
    pub total: WorkerReport,
    /// What else was counted there.
    pub counts: Counts,
    /// Latencies of what committed, in ticks.
    pub latencies: Histogram<u64>,
    /// The ages in ticks of the transactions that were in flight when the interval began, but for those that ended without
    /// a commit.
    pub entered: Vec<u64>,
    /// The ages in ticks of the transactions that were in flight when the interval ended.
    pub in_flight: Vec<u64>,
    /// Whether the run was steady; none if it was interrupted.
    pub steadiness: Option<Steadiness>,
    /// Why it was not longer.
    pub ended: Ended,
    /// Ticks in a second of the machine's clock.
    pub ticks_per_second: u64,
    /// Length of the warm-up in ticks, with what was left out of the interval because it was not steady yet.
    pub warm_up_ticks: u64,
    /// Length of the measured interval in ticks; shorter than planned after an interruption.
    pub interval_ticks: u64,
    /// Committed procedures a second.
    pub throughput_txn_per_s: f64,
    /// The history, where it was recorded: warm-up included.
    pub history: Option<History>,
    /// Host's time of the run in seconds, loading left out.
    pub wall_s: f64,
    /// Machine's time of the run in seconds, warm-up included.
    pub machine_s: f64,
    /// Shared-memory operations, where they are counted.
    pub operations: Option<u64>,
    /// Bytes that the arena gave out during the run: for versions, inserted rows, nodes of indexes. Not what
    /// was loaded.
    pub grown_bytes: u64,
    /// The run was stopped before its end.
    pub interrupted: bool,
    /// What is broken of the workload's law, which is judged after recorded runs.
    pub broken_law: Option<String>,
}

/// A measurement that can't be made.
#[derive(Debug)]
pub enum HarnessError {
    /// The engine or its tables.
    Engine(EngineError),
    /// The run itself.
    Run(RunError),
}

impl fmt::Display for HarnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HarnessError::Engine(error) => error.fmt(f),
            HarnessError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HarnessError {}

impl From<EngineError> for HarnessError {
    fn from(error: EngineError) -> Self {
        HarnessError::Engine(error)
    }
}

impl From<OutOfMemory> for HarnessError {
    fn from(error: OutOfMemory) -> Self {
        HarnessError::Engine(EngineError::Store(StoreError::OutOfMemory(error)))
    }
}

impl From<RunError> for HarnessError {
    fn from(error: RunError) -> Self {
        HarnessError::Run(error)
    }
}

/// Runs `plan` on machines made by `make` from a seed. `stop` ends it early; `done` hears of every
/// repetition. Natively one engine serves all repetitions (loading is dear) unless histories are
/// recorded or the workload [grows](Workload::grows); where time is modelled each gets a machine and a seed of
/// its own.
pub fn run<M: Engines, W: Workload>(
    make: &dyn Fn(u64) -> Result<M, OutOfMemory>,
    workload: &W,
    plan: &Plan,
    stop: &Word,
    done: &mut dyn FnMut(&Repetition),
) -> Result<Vec<Repetition>, HarnessError> {
    let job = Job { make, workload, plan, stop };
    // What is built to find mistakes, with debug assertions, measures nothing either.
    if const { M::MODELLED || !W::COMPILED || cfg!(debug_assertions) } {
        return job.repeat(&*any_loop(workload), done);
    }
    let Plan { architecture, protocol, protocol_options, .. } = plan;
    let compiled = Compiled { workload };
    let worker_loop = with_engine::<M, _>(architecture, protocol, protocol_options, compiled)?;
    job.repeat(&*worker_loop, done)
}

/// The loop of `workload`'s workers in any session.
fn any_loop<M: Machine>(workload: &dyn ErasedWorkload<M>) -> Box<WorkerLoop<'_, M>> {
    Box::new(|engine, core, identity, open, plan| {
        let mut session = engine.session(core, identity.worker);
        let report = workload.drive(core, &mut *session, identity, open, plan);
        (report, session.take_history())
    })
}

/// A workload whose loop is compiled for an engine's type.
struct Compiled<'w, W> {
    workload: &'w W,
}

impl<'w, M: Machine, W: Workload> EngineVisitor<M> for Compiled<'w, W> {
    type Output = Box<WorkerLoop<'w, M>>;

    fn visit<E: TypedEngine<M>>(self) -> Self::Output {
        let workload = self.workload;
        if const { !E::LOOPS } {
            return any_loop(workload);
        }
        Box::new(move |engine, core, identity, open, plan| {
            let engine: &dyn Any = engine;
            let engine: &E = engine.downcast_ref().expect("the loop is run in engines of its type");
            let mut session = engine.typed_session(core, identity.worker);
            let mut client = workload.client(identity.worker, identity.workers, identity.seed);
            let Loop { back_off, seed, stop, arrivals, watcher: _, meter } = plan;
            let plan = Loop { back_off, seed, stop, arrivals, watcher: (), meter };
            let report = drive(core, &mut session, &mut client, open(), plan);
            (report, session.take_history())
        })
    }
}

/// What to measure, on which machines.
struct Job<'a, M: Machine> {
    make: &'a dyn Fn(u64) -> Result<M, OutOfMemory>,
    workload: &'a dyn ErasedWorkload<M>,
    plan: &'a Plan,
    stop: &'a Word,
}

impl<M: Engines> Job<'_, M> {
    fn repeat(
        &self,
        worker_loop: &WorkerLoop<'_, M>,
        done: &mut dyn FnMut(&Repetition),
    ) -> Result<Vec<Repetition>, HarnessError> {
        let mut repetitions: Vec<Repetition> = Vec::new();
        let mut kept: Option<(Arc<M>, Arc<dyn Engine<M>>)> = None;
        for number in 0..self.plan.repetitions.max(1) {
            if self.stop.peek() != 0 {
                break;
            }
            let Some(plan) = self.next_plan(&repetitions) else {
                break;
            };
            let seed = self.plan.seed.wrapping_add(number as u64);
            let fresh = M::MODELLED || self.plan.record_history || self.workload.grows();
            let (machine, engine) = match kept.take().filter(|_| !fresh) {
                Some(kept) => kept,
                None => {
                    let machine = Arc::new((self.make)(seed)?);
                    let engine = self.engine(&machine)?;
                    (machine, engine)
                }
            };
            let measurement = Measurement {
                plan: &plan,
                stop: self.stop,
                machine: &*machine,
                engine: &*engine,
                workload: self.workload,
                seed,
            };
            let repetition = measurement.run(worker_loop)?;
            done(&repetition);
            repetitions.push(repetition);
            kept = Some((machine, engine));
        }
        Ok(repetitions)
    }

    /// How to measure once more after `done`; none if that would take too long.
    fn next_plan(&self, done: &[Repetition]) -> Option<Plan> {
        let plan = self.plan.clone();
        // Who arrives when is counted from the begin of the run.
        let growth = plan.growth.filter(|_| plan.arrivals.is_none());
        let (Some(first), Some(limits)) = (done.first(), growth) else {
            return Some(Plan { growth, ..plan });
        };
        let seconds = |ticks: u64| ticks as f64 / first.ticks_per_second as f64;
        let (warm_up_s, measured_s) = (seconds(first.warm_up_ticks), seconds(first.interval_ticks));
        let together_s = (warm_up_s + measured_s) * (done.len() + 1) as f64;
        let affordable = together_s <= limits.together_s;
        affordable.then_some(Plan { warm_up_s, measured_s, growth: None, ..plan })
    }

    fn engine(&self, machine: &Arc<M>) -> Result<Arc<dyn Engine<M>>, HarnessError> {
        let options = EngineOptions {
            protocol: fitted(&self.plan.protocol_options, self.workload),
            sessions: self.plan.cores + 1,
            record_history: self.plan.record_history,
            record_values: self.plan.record_history,
            purge_batch: 64,
            // Set again at the run, when a core can tell the clock's rate.
            epoch_interval_ticks: 0,
        };
        let engine = M::engine(&self.plan.architecture, &self.plan.protocol, machine, &options)?;
        engine.load(self.workload, self.plan.load_threads)?;
        Ok(engine)
    }
}

/// The options of a protocol that runs `workload`: with as many partition locks as that has partitions, where
/// no number is given.
pub(crate) fn fitted(options: &ProtocolOptions, data: &dyn Dataset) -> ProtocolOptions {
    let partitions = options.partitions.or_else(|| Some(data.schema().partitions()));
    ProtocolOptions { partitions, ..options.clone() }
}
