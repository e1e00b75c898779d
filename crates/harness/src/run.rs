//! A measurement: an engine is made and loaded, workers run for an interval, their counts are added up.

use crate::{
    arrivals::{ArrivalTimes, Arrivals},
    drive::{BackOff, Length, Loop, Watcher, drive},
    erased::{ErasedWorkload, Identity},
    law,
    measure::{Interval, Latencies, Meter, SLICES, WorkerReport},
};
use architectures::{Architecture, Dataset, EngineError, EngineOptions, Session, SharedEverything};
use hdrhistogram::Histogram;
use machine::{
    Body, Core, Machine, Native, OutOfMemory, Place, RunError, Service, Word, Zeroed,
    cold::{Arc, Mutex},
};
use protocols::{
    IsolationError, Protocol, ProtocolOptions,
    registry::{Visitor, with_protocol},
};
use simulator::Simulated;
use std::{cell::Cell, fmt, time::Instant};
use txn::{History, Workload};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
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

/// One repetition's counts.
pub struct Repetition {
    /// All workers' counts.
    pub total: WorkerReport,
    /// Latencies, in ticks.
    pub latencies: Histogram<u64>,
    /// Ticks in a second of the machine's clock.
    pub ticks_per_second: u64,
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

impl Repetition {
    /// True when the last half of the interval ran at the speed of the first half, within 10 % plus
    /// what chance explains. None where too little was committed to tell.
    pub fn is_steady(&self) -> Option<bool> {
        let half = |slices: &[u64]| slices.iter().sum::<u64>() as f64;
        let first = half(&self.total.slices[..SLICES / 2]);
        let last = half(&self.total.slices[SLICES / 2..]);
        if first + last < 200.0 {
            return None;
        }
        let chance = 3.0 * (first + last).sqrt();
        Some((first - last).abs() <= 0.10 * (first + last) / 2.0 + chance)
    }
}

/// A measurement that can't be made.
#[derive(Debug)]
pub enum HarnessError {
    /// No protocol of that name.
    UnknownProtocol(String),
    /// The protocol cannot give that level of isolation.
    Isolation(IsolationError),
    /// The engine or its tables.
    Engine(EngineError),
    /// The run itself.
    Run(RunError),
}

impl fmt::Display for HarnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HarnessError::UnknownProtocol(name) => write!(f, "unknown protocol {name:?}"),
            HarnessError::Isolation(error) => error.fmt(f),
            HarnessError::Engine(error) => error.fmt(f),
            HarnessError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HarnessError {}

impl From<IsolationError> for HarnessError {
    fn from(error: IsolationError) -> Self {
        HarnessError::Isolation(error)
    }
}

impl From<EngineError> for HarnessError {
    fn from(error: EngineError) -> Self {
        HarnessError::Engine(error)
    }
}

impl From<OutOfMemory> for HarnessError {
    fn from(error: OutOfMemory) -> Self {
        HarnessError::Engine(EngineError::OutOfMemory(error))
    }
}

impl From<RunError> for HarnessError {
    fn from(error: RunError) -> Self {
        HarnessError::Run(error)
    }
}

/// Machines that measurements are made on.
pub trait Measurable: Machine {
    /// Runs every repetition of `job`. A concrete machine's, so that it is compiled here and not once more in
    /// every program that measures.
    fn measure(name: &str, job: Job<'_, Self>) -> Result<Vec<Repetition>, HarnessError>;
}

macro_rules! measurable {
    ($($machine:ty),*) => {$(
        impl Measurable for $machine {
            fn measure(name: &str, job: Job<'_, Self>) -> Result<Vec<Repetition>, HarnessError> {
                let options = &job.plan.protocol_options;
                with_protocol(name, options, job).unwrap_or_else(|_| unknown(name))
            }
        }
    )*};
}

measurable!(Native, Simulated);

fn unknown<T>(name: &str) -> Result<T, HarnessError> {
    Err(HarnessError::UnknownProtocol(name.to_owned()))
}

/// Runs `plan` on machines made by `make` from a seed. `stop` ends it early; `done` hears of every
/// repetition. Natively one engine serves all repetitions (loading is dear) unless histories are
/// recorded or the workload [grows](Workload::grows); where time is modelled each gets a machine and a seed of
/// its own.
pub fn run<M: Measurable, W: Workload>(
    make: &dyn Fn(u64) -> Result<M, OutOfMemory>,
    workload: &W,
    plan: &Plan,
    stop: &Word,
    done: &mut dyn FnMut(&Repetition),
) -> Result<Vec<Repetition>, HarnessError> {
    let job = Job { make, workload, plan, stop, done };
    // What is built to find mistakes, with debug assertions, measures nothing either.
    if const { M::MODELLED || !W::COMPILED || cfg!(debug_assertions) } {
        return M::measure(&plan.protocol, job);
    }
    with_protocol::<M, _>(&plan.protocol, &plan.protocol_options, Compiled { job, workload })
        .unwrap_or_else(|_| unknown(&plan.protocol))
}

/// What to measure, on which machines.
pub struct Job<'a, M: Machine> {
    make: &'a dyn Fn(u64) -> Result<M, OutOfMemory>,
    workload: &'a dyn ErasedWorkload<M>,
    plan: &'a Plan,
    stop: &'a Word,
    done: &'a mut dyn FnMut(&Repetition),
}

/// One worker's loop in a session of one protocol: on whose behalf, how long, and how.
type WorkerLoop<'w, M, A> = dyn for<'s> Fn(
        &'s <M as Machine>::Core,
        &mut <A as Architecture<M>>::Session<'s>,
        Identity,
        &dyn Fn() -> Length,
        Loop<'_, &mut dyn Watcher>,
    ) -> WorkerReport
    + Sync
    + 'w;

impl<M: Machine> Visitor<M> for Job<'_, M> {
    type Output = Result<Vec<Repetition>, HarnessError>;

    fn visit<P: Protocol<M>>(self) -> Self::Output {
        let workload = self.workload;
        self.repeat::<P>(&|core, session, identity, open, plan| {
            workload.drive(core, session, identity, open, plan)
        })
    }
}

/// A job whose loop is compiled for its protocol.
struct Compiled<'a, M: Machine, W> {
    job: Job<'a, M>,
    workload: &'a W,
}

impl<M: Machine, W: Workload> Visitor<M> for Compiled<'_, M, W> {
    type Output = Result<Vec<Repetition>, HarnessError>;

    fn visit<P: Protocol<M>>(self) -> Self::Output {
        if const { P::ONE_COPY } {
            return self.job.visit::<P>();
        }
        let workload = self.workload;
        self.job.repeat::<P>(&|core, session, identity, open, plan| {
            let mut client = workload.client(identity.worker, identity.workers, identity.seed);
            let Loop { back_off, seed, stop, arrivals, watcher: _, meter } = plan;
            let plan = Loop { back_off, seed, stop, arrivals, watcher: (), meter };
            drive(core, session, &mut client, open(), plan)
        })
    }
}

impl<M: Machine> Job<'_, M> {
    fn repeat<P: Protocol<M>>(
        self,
        worker_loop: &WorkerLoop<'_, M, SharedEverything<M, P>>,
    ) -> Result<Vec<Repetition>, HarnessError> {
        P::check_isolation(&self.plan.protocol_options)?;
        let mut repetitions = Vec::new();
        let mut kept: Option<(Arc<M>, SharedEverything<M, P>)> = None;
        for number in 0..self.plan.repetitions.max(1) {
            if self.stop.peek() != 0 {
                break;
            }
            let seed = self.plan.seed.wrapping_add(number as u64);
            let fresh = M::MODELLED || self.plan.record_history || self.workload.grows();
            let (machine, engine) = match kept.take().filter(|_| !fresh) {
                Some(kept) => kept,
                None => {
                    let machine = Arc::new((self.make)(seed)?);
                    let engine = self.engine::<P>(&machine)?;
                    (machine, engine)
                }
            };
            let repetition = self.measure(&*machine, &engine, seed, worker_loop)?;
            (self.done)(&repetition);
            repetitions.push(repetition);
            kept = Some((machine, engine));
        }
        Ok(repetitions)
    }
}

#[repr(C, align(64))]
struct Gate<M: Machine> {
    line: M::Line,
    arrived: Word,
    begun: Word,
}

// SAFETY: a line and words, valid as zeros.
unsafe impl<M: Machine> Zeroed for Gate<M> {}

/// The options of a protocol that runs `workload`: with as many partition locks as that has partitions, where
/// no number is given.
pub(crate) fn fitted(options: &ProtocolOptions, data: &dyn Dataset) -> ProtocolOptions {
    let partitions = options.partitions.or_else(|| Some(data.schema().partitions()));
    ProtocolOptions { partitions, ..options.clone() }
}

impl<M: Machine> Job<'_, M> {
    fn engine<P: Protocol<M>>(
        &self,
        machine: &Arc<M>,
    ) -> Result<SharedEverything<M, P>, HarnessError> {
        let options = EngineOptions {
            protocol: fitted(&self.plan.protocol_options, self.workload),
            sessions: self.plan.cores + 1,
            record_history: self.plan.record_history,
            purge_batch: 64,
            // Set again at the run, when a core can tell the clock's rate.
            epoch_interval_ticks: 0,
        };
        let engine = SharedEverything::create(machine.clone(), &options)?;
        engine.load(self.workload, self.plan.load_threads)?;
        Ok(engine)
    }

    fn measure<'w, A: Architecture<M> + 'w>(
        &self,
        machine: &M,
        engine: &A,
        seed: u64,
        worker_loop: &WorkerLoop<'w, M, A>,
    ) -> Result<Repetition, HarnessError> {
        let (plan, stop) = (self.plan, self.stop);
        let latencies = Latencies::default();
        let gate = machine.arena().place::<Gate<M>>(Place::Any)?;
        let reports = Mutex::new(Vec::with_capacity(plan.cores));
        let clock = machine.clock_hz();
        let ticks = |seconds: f64| (seconds * clock as f64) as u64;
        let bodies = (0..plan.cores)
            .map(|worker| -> Body<'_, M> {
                let (latencies, gate, reports) = (&latencies, &gate, &reports);
                Box::new(move |core| {
                    let mut session = engine.session(core, worker);
                    let interval = Cell::new(Interval { begin: 0, end: 0 });
                    let length = || {
                        let begun = if M::MODELLED { 0 } else { open(core, gate, plan.cores) };
                        let begin = begun + ticks(plan.warm_up_s);
                        interval.set(Interval { begin, end: begin + ticks(plan.measured_s) });
                        Length::Until(interval.get())
                    };
                    let identity = Identity { worker, workers: plan.cores, seed };
                    let plan = Loop::<&mut dyn Watcher> {
                        back_off: plan.back_off,
                        seed: seed ^ (worker as u64) << 32,
                        stop,
                        arrivals: plan.arrivals.map(|arrivals| {
                            ArrivalTimes::new(arrivals, worker, plan.cores, seed, clock)
                        }),
                        watcher: &mut (),
                        meter: Meter::new(latencies),
                    };
                    let report = worker_loop(core, &mut session, identity, &length, plan);
                    let interval = interval.get();
                    reports.lock().push((worker, interval, report, session.take_history()));
                })
            })
            .collect();
        let services = || {
            let interval_ticks = ticks(plan.epoch_interval_s).max(1);
            let services = engine.services().into_iter();
            services.map(|service| Service { interval_ticks, ..service }).collect()
        };
        let (started, operations) = (Instant::now(), machine.operations());
        let used_before = machine.arena().used();
        machine.run(bodies, services())?;
        let wall_s = started.elapsed().as_secs_f64();
        let executed = machine.operations().map(|now| now - operations.unwrap_or(0));
        let grown_bytes = machine.arena().used().saturating_sub(used_before);
        let mut reports = reports.into_inner();
        reports.sort_by_key(|(worker, ..)| *worker);
        let mut total = WorkerReport::default();
        let mut interval_ticks = ticks(plan.measured_s);
        let interrupted = self.stop.peek() != 0;
        if interrupted {
            // The interval that all workers have in common ends with the first of them.
            let shortest =
                reports.iter().map(|(_, i, r, _)| r.ended_at.saturating_sub(i.begin)).min();
            interval_ticks = shortest.unwrap_or(0).min(interval_ticks);
        }
        let begun = reports.first().map_or(0, |(_, i, ..)| i.begin - ticks(plan.warm_up_s));
        reports.iter().for_each(|(_, _, report, _)| total.add(report));
        let machine_s = total.ended_at.saturating_sub(begun) as f64 / clock as f64;
        let throughput = total.commits() as f64 * clock as f64 / interval_ticks.max(1) as f64;
        let (slot, committed) = (plan.cores, total.all_commits);
        let broken_law = match plan.record_history && !interrupted {
            true => {
                let hands = (plan.cores, services());
                let law = self.workload.conservation();
                law::broken(machine, engine, law, hands, slot, committed)?
            }
            false => None,
        };
        let history = plan
            .record_history
            .then(|| History::of(reports.into_iter().map(|(.., history)| history).collect()));
        Ok(Repetition {
            total,
            latencies: latencies.into_inner(),
            ticks_per_second: clock,
            interval_ticks,
            throughput_txn_per_s: throughput,
            history,
            wall_s,
            machine_s,
            operations: executed,
            grown_bytes,
            interrupted,
            broken_law,
        })
    }
}

/// Waits until all workers are there and returns one clock reading for all: they measure the same interval.
fn open<M: Machine>(core: &M::Core, gate: &Gate<M>, workers: usize) -> u64 {
    if core.fetch_add(&gate.line, &gate.arrived, 1) + 1 == workers as u64 {
        core.store(&gate.line, &gate.begun, core.now());
    }
    core.wait_while(&gate.line, &gate.begun, |begun| begun == 0)
}
