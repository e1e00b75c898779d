//! Records when events of a run happened. The measured interval is divided into equal slices with separate counts and
//! latencies.
//!
//! Slices serve two purposes. They show whether a run was steady ([`crate::steadiness`]), and they allow its begin to
//! be left out afterwards. A run that may be longer than planned is doubled at its end unless it may stop there. Two
//! slices then become one, so that there are always [`SLICES`] of them.

use crate::{
    measure::{Counts, Interval, WorkerReport},
    steadiness::{self, Rule},
};
use hdrhistogram::Histogram;
use machine::{Core, Spent, Word, cold::Mutex};
use txn::AbortReason;

/// Number of slices of the measured interval.
pub const SLICES: usize = 80;

/// Number of latencies that a native worker collects before it hands them over.
const BATCH: usize = 64;

/// One slice of the measured interval, for all workers together.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Counts of the slice.
    pub counts: Counts,
    /// Latencies of committed transactions, in ticks.
    pub latencies: Histogram<u64>,
    /// Ages in ticks, at the begin of the slice, of transactions that began before the slice and committed in it or
    /// later.
    pub entries: Vec<u64>,
}

impl Default for Slice {
    fn default() -> Slice {
        // Three digits keep errors below 0.1 %. The histogram grows with the largest value.
        let latencies = Histogram::new(3).expect("three digits are allowed");
        Slice { counts: Counts::default(), latencies, entries: Vec::new() }
    }
}

impl Slice {
    /// Adds the contents of a later slice. The entries of the later slice are not added.
    pub fn add(&mut self, other: &Slice) {
        self.counts.add(&other.counts);
        self.latencies.add(&other.latencies).expect("it grows with what is added");
    }
}

/// Limits on the length of a run, and the rule for its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Maximum length of the interval, in ticks.
    pub most_ticks: u64,
    /// Maximum number of busy ticks of all workers together, where they are measured. This is what a simulation costs
    /// its host.
    pub most_busy_ticks: u64,
    /// Conditions for the run to end.
    pub rule: Rule,
}

/// Reason for the length of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The run had a fixed length.
    AsAsked,
    /// The run was steady and long enough for its latencies.
    Steady,
    /// The run reached its maximum length.
    AtLimit,
    /// A worker had committed as many transactions as were asked for.
    AtCommits,
}

impl Ended {
    /// Returns the reason's name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Ended::AsAsked => "as asked",
            Ended::Steady => "steady",
            Ended::AtLimit => "at the limit",
            Ended::AtCommits => "at the commits of the first worker",
        }
    }
}

/// Counts and latencies of all workers of a run, by time. Workers hand them over in small batches.
pub struct Timeline {
    /// Number of workers, each of which always has one transaction. None in an open loop, and if workers put transactions
    /// aside.
    workers: Option<usize>,
    growth: Option<Growth>,
    /// Number of latencies that a worker collects. It is one where time is modelled, because a decision there must
    /// take everything into account.
    batch: usize,
    /// Number of commits of one worker, in the interval, with which the run ends. Until then the interval grows.
    quota: Option<u64>,
    /// Set when a worker has reached the quota.
    reached: Word,
    state: Mutex<State>,
}

struct State {
    interval: Interval,
    /// Slices, each of which is created when the first value is put into it or behind it.
    slices: Vec<Slice>,
    /// Empty histograms for slices that are still to be created.
    spare: Vec<Histogram<u64>>,
    /// Reason for the end, set when a worker has found that the run is over.
    ended: Option<Ended>,
}

impl Default for Timeline {
    /// Creates the timeline of a run that ends by itself. Everything counts.
    fn default() -> Timeline {
        Timeline::new(None, None, false)
    }
}

impl Timeline {
    /// Creates the timeline of a run of `workers`, which may grow. Where time is `modelled`, growth depends only on
    /// what the workers did.
    pub fn new(workers: Option<usize>, growth: Option<Growth>, modelled: bool) -> Timeline {
        let whole = Interval { begin: 0, end: u64::MAX };
        let (slices, spare) = (Vec::new(), Vec::new());
        let state = Mutex::new(State { interval: whole, slices, spare, ended: None });
        let batch = if modelled { 1 } else { BATCH };
        Timeline { workers, growth, batch, quota: None, reached: Word::new(0), state }
    }

    /// Returns the timeline with memory for latencies of up to `most_ticks`. This call also has the system fill in its
    /// pages. Otherwise workers allocate the memory while they are measured, and wait for the pages.
    pub fn with_room(self, most_ticks: u64) -> Timeline {
        let mut state = self.state.into_inner();
        state.slices.reserve_exact(SLICES);
        state.spare.resize_with(SLICES, || {
            // It grows to the largest value, and what clears it writes to all of it.
            let mut roomy = Slice::default().latencies;
            let _ = roomy.record(most_ticks);
            roomy.clear();
            roomy
        });
        Timeline { state: Mutex::new(state), ..self }
    }

    /// Returns the timeline of a run that ends when the first worker has committed `quota` transactions in the
    /// interval. The interval grows until then.
    pub fn ending_at(self, quota: Option<u64>) -> Timeline {
        Timeline { quota, ..self }
    }

    /// Returns a word that is not zero once a worker has reached the quota. All workers then end.
    pub fn reached(&self) -> &Word {
        &self.reached
    }

    /// Ends the interval, because a worker has reached the quota at `now`. Only the first call has an effect.
    #[cold]
    fn reach_quota(&self, now: u64) {
        let mut state = self.state.lock();
        if state.ended.is_none() {
            state.ended = Some(Ended::AtCommits);
            state.interval.end = now.max(state.interval.begin + 1);
            self.reached.poke(1);
        }
    }

    /// Returns the final interval, its slices, and the reason for its end.
    pub fn into_parts(self) -> (Interval, Vec<Slice>, Ended) {
        let State { interval, mut slices, ended, .. } = self.state.into_inner();
        slices.resize_with(SLICES, Slice::default);
        (interval, slices, ended.unwrap_or(Ended::AsAsked))
    }

    /// Sets the interval. All workers pass the same interval, and only the first call has an effect.
    fn open(&self, interval: Interval) {
        let mut state = self.state.lock();
        if state.interval.end == u64::MAX {
            state.interval = interval;
        }
    }

    /// Returns the slice or part of the run in which `now` lies. The first worker that reaches the end decides
    /// whether the run ends.
    fn place(&self, now: u64) -> Place {
        let mut state = self.state.lock();
        while now >= state.interval.end {
            state.ended = match (state.ended, self.quota) {
                (None, None) => self.ends(&state),
                (ended, _) => ended,
            };
            if state.ended.is_some() {
                return Place { since: state.interval.end, until: u64::MAX, part: Part::After };
            }
            state.double();
        }
        let Interval { begin, .. } = state.interval;
        if now < begin {
            return Place { since: 0, until: begin, part: Part::Before };
        }
        let slice = state.slice_at(now);
        Place { since: state.begin_of(slice), until: state.end_of(slice), part: Part::Within }
    }

    /// Returns the reason why the interval is over, or none if it continues.
    fn ends(&self, state: &State) -> Option<Ended> {
        let Some(Growth { most_ticks, most_busy_ticks, rule }) = self.growth else {
            return Some(Ended::AsAsked);
        };
        let ticks = state.interval.ticks();
        if steadiness::suffices(&state.slices, ticks, self.workers, &rule) {
            return Some(Ended::Steady);
        }
        let busy: u64 = state.slices.iter().map(|slice| slice.counts.busy_ticks()).sum();
        (ticks * 2 > most_ticks || busy * 2 > most_busy_ticks).then_some(Ended::AtLimit)
    }
}

impl State {
    fn slice_at(&self, now: u64) -> usize {
        let passed = u128::from(now.saturating_sub(self.interval.begin)) * SLICES as u128;
        ((passed / u128::from(self.interval.ticks().max(1))) as usize).min(SLICES - 1)
    }

    /// Returns the first tick after `slice`.
    fn end_of(&self, slice: usize) -> u64 {
        self.begin_of(slice + 1)
    }

    fn begin_of(&self, slice: usize) -> u64 {
        let passed = u128::from(self.interval.ticks()) * slice as u128;
        self.interval.begin + passed.div_ceil(SLICES as u128) as u64
    }

    /// Records that a transaction that began at `intended` has committed at `now`. It entered each slice that began
    /// in between.
    fn enter(&mut self, intended: u64, now: u64) {
        let first = match intended < self.interval.begin {
            true => 0,
            false => self.slice_at(intended) + 1,
        };
        for slice in first..=self.slice_at(now) {
            let age = self.begin_of(slice) - intended;
            self.reach(slice).entries.push(age);
        }
    }

    /// Returns the slice with this number. Creates it if necessary.
    fn reach(&mut self, slice: usize) -> &mut Slice {
        while self.slices.len() <= slice {
            let next = match self.spare.pop() {
                Some(latencies) => Slice { latencies, ..Slice::default() },
                None => Slice::default(),
            };
            self.slices.push(next);
        }
        &mut self.slices[slice]
    }

    /// Doubles the length of the interval and of its slices.
    fn double(&mut self) {
        self.interval.end += self.interval.ticks();
        let short = std::mem::take(&mut self.slices);
        for (i, mut slice) in short.into_iter().enumerate() {
            if i % 2 == 0 {
                self.slices.push(slice);
                continue;
            }
            self.slices[i / 2].add(&slice);
            slice.latencies.clear();
            self.spare.push(slice.latencies);
        }
    }

    fn put(&mut self, at: u64, counts: &Counts, latencies: &mut Vec<u64>) {
        let slice = self.slice_at(at);
        let slice = self.reach(slice);
        slice.counts.add(counts);
        for ticks in latencies.drain(..) {
            // The histogram resizes itself. Only a value beyond 64 bits could fail.
            let _ = slice.latencies.record(ticks);
        }
    }
}

/// Part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The warm-up.
    Before,
    /// The measured interval.
    Within,
    /// The time after the end of the interval.
    After,
}

/// A slice, or the time before or after all slices.
struct Place {
    since: u64,
    until: u64,
    part: Part,
}

/// Counter of one worker.
pub struct Meter<'a> {
    timeline: &'a Timeline,
    /// Time from which on the timeline must be asked again.
    until: u64,
    part: Part,
    /// Begin of the slice to which the counts belong. After the interval it is the interval's end.
    since: u64,
    counts: Counts,
    latencies: Vec<u64>,
    /// Sum of the counts that were handed over.
    total: Counts,
    /// Time by category at the last hand-over.
    spent: Spent,
    /// Time that aborted attempts had waited by then.
    waited_in_vain: u64,
    /// Page faults of the thread at that time.
    page_faults: Option<u64>,
    /// Number of commits in the interval that are missing from the quota. Never zero before, if there is no quota.
    missing: u64,
    /// Ages of the transactions in flight at the end.
    in_flight_ticks: Vec<u64>,
}

impl<'a> Meter<'a> {
    /// Creates a meter that hands over to `timeline`.
    pub fn new(timeline: &'a Timeline) -> Meter<'a> {
        Meter {
            timeline,
            until: u64::MAX,
            part: Part::Within,
            since: 0,
            counts: Counts::default(),
            latencies: Vec::with_capacity(timeline.batch),
            total: Counts::default(),
            spent: Spent::default(),
            waited_in_vain: 0,
            page_faults: None,
            missing: timeline.quota.unwrap_or(u64::MAX),
            in_flight_ticks: Vec::new(),
        }
    }

    /// Counts only in `interval`, which the timeline can make longer.
    pub(crate) fn open(&mut self, interval: Interval) {
        self.timeline.open(interval);
        (self.part, self.until) = (Part::Before, 0);
    }

    /// Returns whether the interval has ended by `now` and will not be made longer.
    #[inline(always)]
    pub(crate) fn is_over<C: Core>(&mut self, core: &C, now: u64) -> bool {
        self.follow(core, now);
        self.part == Part::After
    }

    /// Returns whether the interval has begun by `now`.
    #[inline(always)]
    pub(crate) fn has_begun<C: Core>(&mut self, core: &C, now: u64) -> bool {
        self.follow(core, now);
        self.part != Part::Before
    }

    /// Returns the end of the interval, as far as it is known.
    pub(crate) fn end(&self) -> u64 {
        self.timeline.state.lock().interval.end
    }

    /// Counts a commit at `now` of a procedure whose intended begin was `intended`.
    #[inline(always)]
    pub(crate) fn committed<C: Core>(&mut self, core: &C, kind: usize, intended: u64, now: u64) {
        self.follow(core, now);
        match self.part {
            Part::Before => {}
            Part::Within => {
                if intended < self.since {
                    self.enter(intended, now);
                }
                self.counts.committed(kind);
                self.latencies.push(now - intended);
                if self.latencies.len() >= self.timeline.batch {
                    self.hand_over();
                }
                self.missing -= 1;
                if self.missing == 0 {
                    self.timeline.reach_quota(now);
                }
            }
            Part::After => self.leave_in_flight(intended, self.since),
        }
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, intended: u64, now: u64) {
        self.timeline.state.lock().enter(intended, now);
    }

    /// Counts an attempt that was aborted at `now`.
    pub(crate) fn aborted<C: Core>(&mut self, core: &C, reason: AbortReason, now: u64) {
        self.follow(core, now);
        if self.part == Part::Within {
            self.counts.aborted(reason);
        }
    }

    /// Records that a procedure with the intended begin `intended` will not be tried again. `wanted_to_go_on` is set
    /// if it was stopped only by the end of the run.
    pub(crate) fn given_up(&mut self, intended: u64, now: u64, wanted_to_go_on: bool) {
        match self.part {
            Part::Before => {}
            Part::Within if wanted_to_go_on => self.leave_in_flight(intended, now),
            Part::Within => self.counts.given_up_ticks += now - intended,
            Part::After => self.leave_in_flight(intended, self.since),
        }
    }

    /// Counts ticks that were spent outside of transactions.
    #[inline(always)]
    pub(crate) fn between(&mut self, ticks: u64) {
        self.counts.between_ticks += ticks;
    }

    fn leave_in_flight(&mut self, intended: u64, end: u64) {
        if intended < end {
            self.in_flight_ticks.push(end - intended);
        }
    }

    /// Hands over at the end of a slice.
    #[inline(always)]
    fn follow<C: Core>(&mut self, core: &C, now: u64) {
        if now >= self.until {
            self.turn(core, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn turn<C: Core>(&mut self, core: &C, now: u64) {
        self.stop_watch(core, now);
        self.hand_over();
        let Place { since, until, part } = self.timeline.place(now);
        (self.since, self.until, self.part) = (since, until, part);
        self.counts = Counts::default();
    }

    /// Counts page faults since the last hand-over, and the time by category.
    fn stop_watch<C: Core>(&mut self, core: &C, now: u64) {
        let faults = core.page_faults();
        self.counts.page_faults =
            faults.zip(self.page_faults).map(|(now, before)| now.saturating_sub(before));
        self.page_faults = faults;
        let breakdown = core.breakdown();
        if !breakdown.enabled() {
            return;
        }
        let spent = breakdown.read(now);
        let passed = std::array::from_fn(|i| spent[i].saturating_sub(self.spent[i]));
        self.counts.spent = Some(passed);
        self.spent = spent;
        let in_vain = breakdown.waited_in_vain();
        self.counts.waited_in_vain_ticks = in_vain - self.waited_in_vain;
        self.waited_in_vain = in_vain;
    }

    /// Hands over the collected counts and latencies.
    fn hand_over(&mut self) {
        if self.part == Part::Within {
            self.timeline.state.lock().put(self.since, &self.counts, &mut self.latencies);
            self.total.add(&self.counts);
        }
        self.counts = Counts::default();
    }

    /// Hands over the rest when the worker has stopped, and stores the sums in `report`.
    pub(crate) fn close<C: Core>(&mut self, core: &C, report: &mut WorkerReport) {
        self.stop_watch(core, report.ended_at);
        self.hand_over();
        report.set(&self.total);
        report.in_flight_ticks = std::mem::take(&mut self.in_flight_ticks);
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
