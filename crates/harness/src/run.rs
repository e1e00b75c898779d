//! Performs a measurement: creates and loads an engine, runs workers for an interval, and adds up their counts.

use crate::{
    arrivals::Arrivals,
    back_off::BackOff,
    engines::Engines,
    erased::ErasedWorkload,
    measure::{Counts, WorkerReport},
    measurement::{Measurement, WorkerLoop},
    serving::{Seating, check_interruptible, check_movable},
    steadiness::{Rule, Steadiness},
    timeline::Ended,
};
use engine::{
    AccessOptions, Dataset, Engine, EngineError, EngineOptions, MovingOptions, TableOwners,
    admission::AdmissionPolicy,
};
use hdrhistogram::Histogram;
use machine::{LinesMoved, Machine, OutOfMemory, RunError, Word, cold::Arc};
use protocols::ProtocolOptions;
use std::fmt;
use storage::StoreError;
use txn::{History, Workload};

/// Parameters of a measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the architecture.
    pub architecture: String,
    /// Name of the protocol.
    pub protocol: String,
    /// Options of the protocol.
    pub protocol_options: ProtocolOptions,
    /// Options by which the engine executes accesses.
    pub access: AccessOptions,
    /// Number of owners, for an architecture that stores partitions apart. None for as many as the workload has
    /// partitions, and at most one for each core.
    pub partitions: Option<u64>,
    /// Number of cores.
    pub cores: usize,
    /// Number of workers on each core. They share it as fibers ([`Machine::run_fibers`]).
    pub fibers: usize,
    /// Longest time for which one worker of a core keeps it while others are ready, in seconds of the machine's time. The workers of
    /// a core are then threads. None if they are fibers.
    pub time_slice_s: Option<f64>,
    /// Number of cores that only serve other cores, under an architecture that delegates work. None if each core serves
    /// beside its workers.
    pub servers: Option<usize>,
    /// Options of an architecture whose transactions move.
    pub moves: Moves,
    /// Warm-up before the measured interval, in seconds of the machine's time.
    pub warm_up_s: f64,
    /// Length of the measured interval, in seconds of the machine's time.
    pub measured_s: f64,
    /// Rules by which warm-up and interval adapt, or none for exactly the lengths above.
    pub growth: Option<Growth>,
    /// Number of transactions that one worker commits in the measured interval, after which the run ends. The
    /// interval is then as long as that takes. None if the lengths above decide.
    pub commits: Option<u64>,
    /// Number of repetitions.
    pub repetitions: usize,
    /// Seed of every random choice.
    pub seed: u64,
    /// Set if histories are recorded.
    pub record_history: bool,
    /// Back-off of a worker after an abort.
    pub back_off: BackOff,
    /// Limit on the number of transactions that run at the same time.
    pub admission: AdmissionPolicy,
    /// Arrivals of transactions in an open loop, or none for a closed loop.
    pub arrivals: Option<Arrivals>,
    /// Number of threads that load the tables natively.
    pub load_threads: usize,
    /// Seconds of the machine's time between two epochs.
    pub epoch_interval_s: f64,
}

impl Plan {
    /// Returns a plan of one run of `protocol` with a worker on each of `cores` cores under the defaults: a closed loop, a warm-up and an
    /// interval of `seconds` of the machine's time each, and no history.
    pub fn new(protocol: &str, cores: usize, seconds: f64) -> Plan {
        Plan {
            architecture: engine::registry::DEFAULT.to_owned(),
            protocol: protocol.to_owned(),
            protocol_options: ProtocolOptions::default(),
            access: AccessOptions::default(),
            partitions: None,
            cores,
            fibers: 1,
            time_slice_s: None,
            servers: None,
            moves: Moves::default(),
            warm_up_s: seconds,
            measured_s: seconds,
            growth: None,
            commits: None,
            repetitions: 1,
            seed: 1,
            record_history: false,
            back_off: BackOff::default(),
            admission: AdmissionPolicy::Off,
            arrivals: None,
            load_threads: 1,
            epoch_interval_s: 0.04,
        }
    }

    /// Returns the number of workers on all cores.
    pub fn workers(&self) -> usize {
        self.seating().workers()
    }

    /// Returns the places of workers and servers.
    pub fn seating(&self) -> Seating {
        Seating { fibers: self.fibers, cores: self.cores, dedicated: self.servers }
    }
}

/// Options of an architecture whose transactions move. The default asks for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Number of fibers beside each worker that run actions of its transactions.
    pub executors: usize,
    /// Places of the owners of tables, or none if the owner of a partition has all tables.
    pub table_owners: Option<TablePlaces>,
}

impl Moves {
    /// Returns the engine's options for the tables of `data`, on `cores` cores.
    pub(crate) fn options(self, data: &dyn Dataset, cores: usize) -> MovingOptions {
        let owners = |places: TablePlaces| TableOwners {
            tables: data.schema().tables.len(),
            cores,
            apart: places == TablePlaces::Apart,
        };
        MovingOptions { executors: self.executors, table_owners: self.table_owners.map(owners) }
    }
}

/// Places of the owners of a partition's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TablePlaces {
    /// The core of the partition.
    Together,
    /// Different cores.
    Apart,
    /// The core of the partition, as with [`TablePlaces::Together`]. Each owner is a thread, and a modelled core pays for switches
    /// between threads. This is the naive scheme of ATraPos: a worker for each partition of each table. Elsewhere they are
    /// fibers.
    Threads,
}

/// A run that ends when it is known to be steady. Its interval is doubled until then. Slices that were not yet steady
/// count as warm-up ([`crate::steadiness`]). Later repetitions use the lengths found in the first one, and are
/// skipped if all together would take too long. Closed loops only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Maximum interval, warm-up included, in seconds of the machine's time.
    pub most_s: f64,
    /// Maximum time in which workers do not wait, summed over the workers, in seconds of the machine's time. This is
    /// what a simulation costs its host. Used only where time is modelled.
    pub most_busy_s: f64,
    /// Maximum length of all repetitions together, in seconds of the machine's time.
    pub together_s: f64,
    /// Conditions for the run to end.
    pub rule: Rule,
}

/// Results of one repetition.
pub struct Repetition {
    /// Counts of all workers, in the measured interval unless stated otherwise.
    pub total: WorkerReport,
    /// Further counts from the interval.
    pub counts: Counts,
    /// Latencies of committed transactions, in ticks.
    pub latencies: Histogram<u64>,
    /// Ages in ticks of the transactions in flight when the interval began, without those that ended without a
    /// commit.
    pub entered: Vec<u64>,
    /// Ages in ticks of the transactions in flight when the interval ended.
    pub in_flight: Vec<u64>,
    /// Steadiness of the run, or none if it was interrupted.
    pub steadiness: Option<Steadiness>,
    /// Reason why the run was not longer.
    pub ended: Ended,
    /// Number of ticks per second of the machine's clock.
    pub ticks_per_second: u64,
    /// Length of the warm-up in ticks, including slices that were left out of the interval as not yet steady.
    pub warm_up_ticks: u64,
    /// Length of the measured interval in ticks. It is shorter than planned after an interruption.
    pub interval_ticks: u64,
    /// Committed procedures per second.
    pub throughput_txn_per_s: f64,
    /// History including the warm-up, where it was recorded.
    pub history: Option<History>,
    /// The host's time for the run in seconds, without loading.
    pub wall_s: f64,
    /// The machine's time for the run in seconds, warm-up included.
    pub machine_s: f64,
    /// Number of shared-memory operations, where they are counted.
    pub operations: Option<u64>,
    /// Number of cache lines moved, where they are counted.
    pub moved: Option<LinesMoved>,
    /// Number of bytes that the arena allocated during the run, for versions, inserted rows and nodes of indexes.
    /// Loaded data is not included.
    pub grown_bytes: u64,
    /// Limit on the number of transactions at the end, if there was one.
    pub limit: Option<u64>,
    /// Set if the run was stopped before its end.
    pub interrupted: bool,
    /// Violation of the workload's law, which is checked after recorded runs.
    pub broken_law: Option<String>,
}

/// Reason why a measurement failed.
#[derive(Debug)]
pub enum HarnessError {
    /// An error of the engine or its tables.
    Engine(EngineError),
    /// An error of the run.
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

/// Runs `plan` on machines that `make` creates from a seed. `stop` ends the run early. `done` is called after every
/// repetition. Natively one engine serves all repetitions, because loading is expensive. Each repetition gets a new
/// engine if histories are recorded or the workload [grows](Workload::grows). Where time is modelled, each repetition
/// gets its own machine and seed.
pub fn run<M: Engines, W: Workload>(
    make: &dyn Fn(u64) -> Result<M, OutOfMemory>,
    workload: &W,
    plan: &Plan,
    stop: &Word,
    done: &mut dyn FnMut(&Repetition),
) -> Result<Vec<Repetition>, HarnessError> {
    let job = Job { make, workload, plan, stop };
    let worker_loop = M::compiled_loop(plan, workload)?.unwrap_or_else(|| any_loop(workload));
    job.repeat(&*worker_loop, done)
}

/// Returns the loop of `workload`'s workers for any session type.
fn any_loop<M: Machine>(workload: &dyn ErasedWorkload<M>) -> Box<WorkerLoop<'_, M>> {
    Box::new(|engine, core, identity, open, plan| {
        let mut session = engine.session(core, identity.worker);
        let report = workload.drive(core, &mut *session, identity, open, plan);
        (report, session.take_history())
    })
}

/// A measurement and the machines on which it runs.
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

    /// Returns the plan of the repetition after `done`, or none if it would take too long.
    fn next_plan(&self, done: &[Repetition]) -> Option<Plan> {
        let plan = self.plan.clone();
        if plan.commits.is_some() {
            return Some(Plan { growth: None, ..plan });
        }
        // Arrival times are counted from the begin of the run, so an open loop cannot adapt its length.
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
        check_movable(&self.plan.architecture, self.workload.movable())?;
        if self.plan.time_slice_s.is_some() {
            check_interruptible(&self.plan.architecture)?;
        }
        let options = EngineOptions {
            access: self.plan.access,
            protocol: fitted(&self.plan.protocol_options, self.workload),
            sessions: self.plan.workers() + 1,
            partitions: owners(
                self.plan.partitions,
                self.workload,
                self.plan.seating().most_owners(),
            )?,
            fibers: self.plan.fibers,
            dedicated_servers: self.plan.servers.is_some(),
            moving: self.plan.moves.options(self.workload, self.plan.cores),
            record_history: self.plan.record_history,
            record_values: self.plan.record_history,
            purge_batch: 64,
            // The interval is set for each run, when the clock's rate is known.
            epoch_interval_ticks: 0,
        };
        let engine = M::engine(&self.plan.architecture, &self.plan.protocol, machine, &options)?;
        engine.load(self.workload, self.plan.load_threads)?;
        Ok(engine)
    }
}

/// Returns the number of owners for an architecture that stores partitions apart. It is at most the number of partitions
/// of the workload and at most `limit`, and as many if none is given.
pub(crate) fn owners(
    given: Option<u64>,
    data: &dyn Dataset,
    limit: usize,
) -> Result<u64, EngineError> {
    let most = data.schema().partitions().min(limit as u64);
    match given {
        Some(given) if !(1..=most).contains(&given) => Err(EngineError::Partitions { given, most }),
        _ => Ok(given.unwrap_or(most)),
    }
}

/// Returns the options of a protocol that runs `workload`. If no number of partition locks is given, it is the number
/// of the workload's partitions.
pub(crate) fn fitted(options: &ProtocolOptions, data: &dyn Dataset) -> ProtocolOptions {
    let partitions = options.partitions.or_else(|| Some(data.schema().partitions()));
    ProtocolOptions { partitions, ..options.clone() }
}
