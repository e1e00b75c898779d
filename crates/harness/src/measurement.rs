//! Runs one repetition of a measurement. All workers run for the same interval, and their counts are added.

use crate::{
    arrivals::ArrivalTimes,
    drive::{Length, Loop, Watcher},
    erased::{ErasedWorkload, Identity},
    law,
    measure::{Interval, WorkerReport},
    run::{HarnessError, Plan, Repetition, TablePlaces},
    serving::run_workers,
    steadiness,
    timeline::{Growth, Meter, SLICES, Slice, Timeline},
};
use engine::{
    Engine,
    admission::{Applicant, Limits},
};
use machine::{Body, Core, Machine, Place, Service, Sharing, Word, Zeroed, cold::Mutex};
use std::{cell::Cell, time::Instant};
use txn::{History, WorkerHistory};

/// Latencies up to this one, in seconds, find their place in memory that was filled in before a native run.
const LONGEST_LATENCY_S: f64 = 1.0;

/// Bytes that a worker of a growing workload uses in a second, at most: those of 250 thousand TPC-C transactions.
const GROWTH_BYTES_PER_S: f64 = 300e6;

/// Largest number of bytes that are filled in before a run, in all nodes together.
const MOST_FILLED_BYTES: u64 = 1 << 30;

/// Creates a session of an engine for one worker and runs the worker's loop in it. The other parameters are the
/// worker's identity, the length of the loop, and its settings. Returns the counts and, if it is recorded, the
/// history.
pub(crate) type WorkerLoop<'w, M> = dyn Fn(
        &dyn Engine<M>,
        &<M as Machine>::Core,
        Identity,
        &dyn Fn() -> Length,
        Loop<'_, M, &mut dyn Watcher>,
    ) -> (WorkerReport, WorkerHistory)
    + Sync
    + 'w;

/// Parameters of one repetition.
pub(crate) struct Measurement<'a, M: Machine> {
    pub plan: &'a Plan,
    /// The run ends as soon as possible when this is not zero.
    pub stop: &'a Word,
    pub machine: &'a M,
    /// An engine whose tables are loaded.
    pub engine: &'a dyn Engine<M>,
    pub workload: &'a dyn ErasedWorkload<M>,
    pub seed: u64,
}

/// Result of one worker.
struct Outcome {
    worker: usize,
    interval: Interval,
    report: WorkerReport,
    history: WorkerHistory,
}

/// Barrier at which native workers wait for each other.
#[repr(C, align(64))]
struct Gate<M: Machine> {
    line: M::Line,
    arrived: Word,
    begun: Word,
}

// SAFETY: the fields are a line and words, and all of them are valid as zeros.
unsafe impl<M: Machine> Zeroed for Gate<M> {}

impl<M: Machine> Gate<M> {
    /// Waits until all workers have arrived. Returns the same clock reading to all of them, so that they measure the
    /// same interval.
    fn open(&self, core: &M::Core, workers: usize) -> u64 {
        if core.fetch_add(&self.line, &self.arrived, 1) + 1 == workers as u64 {
            core.store(&self.line, &self.begun, core.now());
            core.wake(&self.line, &self.begun);
        }
        core.wait_while(&self.line, &self.begun, |begun| begun == 0)
    }
}

impl<M: Machine> Measurement<'_, M> {
    /// Runs the repetition.
    pub fn run(&self, worker_loop: &WorkerLoop<'_, M>) -> Result<Repetition, HarnessError> {
        let timeline = self.timeline();
        let gate = self.machine.arena().place::<Gate<M>>(Place::Any)?;
        let (arena, workers) = (self.machine.arena(), self.plan.workers());
        let limits = Limits::new(arena, workers, self.plan.admission)?;
        let permits = limits.as_ref().map(Limits::permits);
        self.fill_in_memory();
        let outcomes = Mutex::new(Vec::with_capacity(self.plan.workers()));
        let bodies = (0..workers)
            .map(|worker| -> Body<'_, M> {
                let (timeline, gate, outcomes) = (&timeline, &*gate, &outcomes);
                Box::new(move |core| {
                    let admission = Applicant::of(permits, worker);
                    let shared = (gate, timeline, admission);
                    let outcome = self.work(core, worker, worker_loop, shared);
                    outcomes.lock().push(outcome);
                })
            })
            .collect();
        let (started, operations) = (Instant::now(), self.machine.operations());
        let moved_before = self.machine.lines_moved().unwrap_or_default();
        let used_before = self.machine.arena().used();
        let sharing = match self.plan.time_slice_s {
            None => Sharing::fibers(self.plan.fibers),
            Some(slice_s) => Sharing::threads(self.plan.fibers, self.ticks(slice_s)),
        };
        let seats = (sharing, self.plan.servers);
        let mut services = self.services_of(&timeline);
        services.extend(limits.as_ref().and_then(|limits| limits.service(self.machine.clock_hz())));
        let owners_are_threads = self.plan.moves.table_owners == Some(TablePlaces::Threads);
        let movable = (self.workload.movable(), owners_are_threads);
        run_workers(self.machine, self.engine, seats, movable, bodies, services)?;
        let wall_s = started.elapsed().as_secs_f64();
        let executed = self.machine.operations().map(|now| now - operations.unwrap_or(0));
        let moved = self.machine.lines_moved().map(|now| now - moved_before);
        let grown_bytes = self.machine.arena().used().saturating_sub(used_before);
        let mut outcomes = outcomes.into_inner();
        outcomes.sort_by_key(|outcome| outcome.worker);
        let repetition = self.added_up(outcomes, timeline)?;
        let limit = permits.map(|permits| permits.limit() as u64);
        Ok(Repetition { wall_s, operations: executed, moved, grown_bytes, limit, ..repetition })
    }

    /// Fills in the memory that a growing workload will use, natively. Otherwise the run would measure how fast the system
    /// fills in pages, which depends on who had them before.
    fn fill_in_memory(&self) {
        if M::MODELLED || !self.workload.grows() {
            return;
        }
        let seconds = self.plan.warm_up_s + self.plan.measured_s;
        let bytes = (seconds * self.plan.workers() as f64 * GROWTH_BYTES_PER_S) as u64;
        let arena = self.machine.arena();
        arena.populate(bytes.min(MOST_FILLED_BYTES) / u64::from(arena.nodes()));
    }

    /// Creates the timeline that receives all counts. It grows if the plan asks for that.
    fn timeline(&self) -> Timeline {
        // A worker that puts transactions aside has several in flight.
        let one_each = self.plan.arrivals.is_none() && !self.plan.back_off.puts_aside();
        let growth = self.plan.growth.map(|growth| Growth {
            most_ticks: self.ticks(growth.most_s),
            most_busy_ticks: self.ticks(growth.most_busy_s),
            rule: growth.rule,
        });
        let timeline = Timeline::new(one_each.then_some(self.plan.workers()), growth, M::MODELLED);
        let timeline = timeline.ending_at(self.plan.commits);
        if M::MODELLED { timeline } else { timeline.with_room(self.ticks(LONGEST_LATENCY_S)) }
    }

    fn ticks(&self, seconds: f64) -> u64 {
        (seconds * self.machine.clock_hz() as f64) as u64
    }

    /// Runs one worker, from its session to its report.
    fn work(
        &self,
        core: &M::Core,
        worker: usize,
        worker_loop: &WorkerLoop<'_, M>,
        (gate, timeline, admission): (&Gate<M>, &Timeline, Applicant<'_, M>),
    ) -> Outcome {
        let (plan, seed) = (self.plan, self.seed);
        let interval = Cell::new(Interval { begin: 0, end: 0 });
        let length = || {
            let begun = if M::MODELLED { 0 } else { gate.open(core, plan.workers()) };
            let begin = begun + self.ticks(plan.warm_up_s);
            interval.set(Interval { begin, end: begin + self.ticks(plan.measured_s) });
            Length::Until(interval.get())
        };
        let identity = Identity { worker, workers: plan.workers(), seed, chosen: None };
        let hz = self.machine.clock_hz();
        let plan = Loop::<M, &mut dyn Watcher> {
            back_off: plan.back_off,
            seed: seed ^ (worker as u64) << 32,
            stop: if plan.commits.is_some() { timeline.reached() } else { self.stop },
            arrivals: plan
                .arrivals
                .map(|arrivals| ArrivalTimes::new(arrivals, worker, plan.workers(), seed, hz)),
            admission,
            watcher: &mut (),
            meter: Meter::new(timeline),
        };
        let (report, history) = worker_loop(self.engine, core, identity, &length, plan);
        Outcome { worker, interval: interval.get(), report, history }
    }

    fn services(&self) -> Vec<Service<'_, M>> {
        let interval_ticks = self.ticks(self.plan.epoch_interval_s).max(1);
        let services = self.engine.services().into_iter();
        services.map(|service| Service { interval_ticks, ..service }).collect()
    }

    /// Returns the services of a run that reports to `timeline`. If the workers look whether the first of them has reached
    /// a number of commits, the services tell them that the run was stopped.
    fn services_of<'a>(&'a self, timeline: &'a Timeline) -> Vec<Service<'a, M>> {
        let services = self.services();
        if self.plan.commits.is_none() {
            return services;
        }
        let telling = |Service { name, interval_ticks, tick }: Service<'a, M>| {
            let tick = Box::new(move |core: &M::Core| {
                tick(core);
                if self.stop.peek() != 0 {
                    timeline.reached().poke(1);
                }
            });
            Service { name, interval_ticks, tick }
        };
        services.into_iter().map(telling).collect()
    }

    /// Adds up the workers' results. Fields that only the whole run can provide are left blank.
    fn added_up(
        &self,
        outcomes: Vec<Outcome>,
        timeline: Timeline,
    ) -> Result<Repetition, HarnessError> {
        let (plan, clock) = (self.plan, self.machine.clock_hz());
        let mut total = WorkerReport::default();
        let begun =
            outcomes.first().map_or(0, |first| first.interval.begin) - self.ticks(plan.warm_up_s);
        outcomes.iter().for_each(|outcome| total.add(&outcome.report));
        let in_flight: Vec<u64> =
            outcomes.iter().flat_map(|o| o.report.in_flight_ticks.iter().copied()).collect();
        let interrupted = self.stop.peek() != 0;
        let (mut interval, slices, ended) = timeline.into_parts();
        if interrupted {
            // The interval that all workers have in common ends when the first worker ends.
            let shortest = outcomes.iter().map(|o| o.report.ended_at).min().unwrap_or(0);
            interval.end = shortest.clamp(interval.begin, interval.end);
        }
        let commits = steadiness::commits_of(&slices);
        let kept = match plan.growth {
            Some(_) if !interrupted => steadiness::mser(&commits),
            _ => 0,
        };
        let mut sum = Slice::default();
        slices.iter().skip(kept).for_each(|slice| sum.add(slice));
        total.set(&sum.counts);
        let left_out = (u128::from(interval.ticks()) * kept as u128 / SLICES as u128) as u64;
        let interval_ticks = interval.ticks() - left_out;
        let entered = entered(&slices[kept].entries, &in_flight, interval_ticks);
        let throughput = total.commits() as f64 * clock as f64 / interval_ticks.max(1) as f64;
        let broken_law = match plan.record_history && !interrupted {
            true => self.broken_law(total.all_commits)?,
            false => None,
        };
        let machine_s = total.ended_at.saturating_sub(begun) as f64 / clock as f64;
        let histories = || outcomes.into_iter().map(|outcome| outcome.history).collect();
        Ok(Repetition {
            total,
            counts: sum.counts,
            latencies: sum.latencies,
            entered,
            in_flight,
            // The slices of a run that was cut short have different lengths.
            steadiness: (!interrupted && plan.commits.is_none())
                .then(|| steadiness::judge(&commits, kept)),
            ended,
            ticks_per_second: clock,
            warm_up_ticks: interval.begin - begun + left_out,
            interval_ticks,
            throughput_txn_per_s: throughput,
            history: plan.record_history.then(|| History::of(histories(), self.engine.loaded())),
            wall_s: 0.0,
            machine_s,
            operations: None,
            moved: None,
            grown_bytes: 0,
            limit: None,
            interrupted,
            broken_law,
        })
    }

    fn broken_law(&self, committed: u64) -> Result<Option<String>, HarnessError> {
        let (cores, law) = (self.plan.cores, self.workload.conservation());
        let hands = (cores, self.services());
        Ok(law::broken(self.machine, self.engine, law, hands, cores, committed)?)
    }
}

/// Returns the ages of transactions at the begin of an interval of `ticks`. These are the ages of transactions that
/// `committed` later, and of transactions in flight at the end that are older than the interval is long.
fn entered(committed: &[u64], in_flight: &[u64], ticks: u64) -> Vec<u64> {
    let older = in_flight.iter().filter_map(|age| age.checked_sub(ticks));
    committed.iter().copied().chain(older).collect()
}
