//! When things happened in a run: the measured interval in equal slices, each with counts and latencies of its own.
//!
//! Slices serve two ends: to judge whether a run was steady ([`crate::steadiness`]), and to leave out its begin after
//! the fact. A run that may be longer than planned is doubled when its end is reached and nothing speaks for
//! stopping: two slices become one, so that there are always [`SLICES`] of them.

use crate::{
    measure::{Counts, Interval, WorkerReport},
    steadiness::{self, Rule},
};
use hdrhistogram::Histogram;
use machine::{Core, Spent, cold::Mutex};
use txn::AbortReason;

/// Parts into which the measured interval is divided.
pub const SLICES: usize = 80;

/// Latencies that a native worker gathers before it hands them over.
const BATCH: usize = 64;

/// One part of the measured interval: all workers together.
#[derive(Clone, Debug)]
pub struct Slice {
    /// What was counted.
    pub counts: Counts,
    /// Latencies of what committed, in ticks.
    pub latencies: Histogram<u64>,
    /// How old the transactions were, in ticks, that had begun before the slice did and committed in it or later.
    pub entries: Vec<u64>,
}

impl Default for Slice {
    fn default() -> Slice {
        // Three digits: errors below 0.1 %. It grows with the largest value.
        let latencies = Histogram::new(3).expect("three digits are allowed");
        Slice { counts: Counts::default(), latencies, entries: Vec::new() }
    }
}

impl Slice {
    /// Adds what a later slice holds. Those who enter are those of the earlier one.
    pub fn add(&mut self, other: &Slice) {
        self.counts.add(&other.counts);
        self.latencies.add(&other.latencies).expect("it grows with what is added");
    }
}

/// How long a run may become, and when it has been long enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The longest interval, in ticks.
    pub most_ticks: u64,
    /// The most ticks of all workers together in which they did something, where that is known: what a simulation costs
    /// its host.
    pub most_busy_ticks: u64,
    /// What has to hold for it to end.
    pub rule: Rule,
}

/// Why a run was as long as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was to be so long.
    AsAsked,
    /// It was steady, and latencies had their time.
    Steady,
    /// It could not become longer.
    AtLimit,
}

impl Ended {
    /// The words in records.
    pub const fn name(self) -> &'static str {
        match self {
            Ended::AsAsked => "as asked",
            Ended::Steady => "steady",
            Ended::AtLimit => "at the limit",
        }
    }
}

/// What all workers of a run did, and when. Workers hand it over in small batches.
pub struct Timeline {
    /// Of so many workers, which are always busy; none in an open loop.
    workers: Option<usize>,
    growth: Option<Growth>,
    /// Latencies that a worker gathers. One where time is modelled: there a decision has to know everything.
    batch: usize,
    state: Mutex<State>,
}

struct State {
    interval: Interval,
    /// Made when something is first put in.
    slices: Vec<Slice>,
    /// Somebody has seen that it is the end, and why.
    ended: Option<Ended>,
}

impl Default for Timeline {
    /// For a run that ends by itself: everything counts.
    fn default() -> Timeline {
        Timeline::new(None, None, false)
    }
}

impl Timeline {
    /// For a run of so many `workers`, which may grow. Where time is `modelled`, growing depends on what the workers did
    /// and on nothing else.
    pub fn new(workers: Option<usize>, growth: Option<Growth>, modelled: bool) -> Timeline {
        let whole = Interval { begin: 0, end: u64::MAX };
        let state = Mutex::new(State { interval: whole, slices: Vec::new(), ended: None });
        Timeline { workers, growth, batch: if modelled { 1 } else { BATCH }, state }
    }

    /// The interval, as long as it has become, its slices, and why it ended.
    pub fn into_parts(self) -> (Interval, Vec<Slice>, Ended) {
        let State { interval, mut slices, ended } = self.state.into_inner();
        slices.resize_with(SLICES, Slice::default);
        (interval, slices, ended.unwrap_or(Ended::AsAsked))
    }

    /// The interval is this one. All workers say the same; the first is heard.
    fn open(&self, interval: Interval) {
        let mut state = self.state.lock();
        if state.interval.end == u64::MAX {
            state.interval = interval;
        }
    }

    /// Where in the run `now` is. Who comes to the end first decides whether it is the end.
    fn place(&self, now: u64) -> Place {
        let mut state = self.state.lock();
        while now >= state.interval.end {
            state.ended = state.ended.or_else(|| self.ends(&state));
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

    /// Why the interval is over; none if it goes on.
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

    /// The first tick that is no longer in `slice`.
    fn end_of(&self, slice: usize) -> u64 {
        self.begin_of(slice + 1)
    }

    fn begin_of(&self, slice: usize) -> u64 {
        let passed = u128::from(self.interval.ticks()) * slice as u128;
        self.interval.begin + passed.div_ceil(SLICES as u128) as u64
    }

    /// A transaction that began at `intended` has committed at `now`: it entered each slice that began meanwhile.
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

    /// The slice of this number.
    fn reach(&mut self, slice: usize) -> &mut Slice {
        if self.slices.len() <= slice {
            self.slices.resize_with(slice + 1, Slice::default);
        }
        &mut self.slices[slice]
    }

    /// Makes the interval twice as long, and its slices too.
    fn double(&mut self) {
        self.interval.end += self.interval.ticks();
        let short = std::mem::take(&mut self.slices);
        for (i, slice) in short.into_iter().enumerate() {
            match i % 2 {
                0 => self.slices.push(slice),
                _ => self.slices[i / 2].add(&slice),
            }
        }
    }

    fn put(&mut self, at: u64, counts: &Counts, latencies: &mut Vec<u64>) {
        let slice = self.slice_at(at);
        let slice = self.reach(slice);
        slice.counts.add(counts);
        for ticks in latencies.drain(..) {
            // It resizes itself; only a value beyond 64 bits could fail.
            let _ = slice.latencies.record(ticks);
        }
    }
}

/// Where in a run a moment lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// In the warm-up.
    Before,
    /// In the measured interval.
    Within,
    /// Behind its end.
    After,
}

/// A slice, or what is before and behind all of them.
struct Place {
    since: u64,
    until: u64,
    part: Part,
}

/// One worker's way to count.
pub struct Meter<'a> {
    timeline: &'a Timeline,
    /// From here on the timeline has to be asked.
    until: u64,
    part: Part,
    /// Begin of the slice that the counts belong to; the end of the interval behind it.
    since: u64,
    counts: Counts,
    latencies: Vec<u64>,
    /// What was handed over.
    total: Counts,
    /// Time by category when it was handed over last.
    spent: Spent,
    /// What was in flight at the end, and for how long.
    in_flight_ticks: Option<u64>,
}

impl<'a> Meter<'a> {
    /// A meter that hands over to `timeline`.
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
            in_flight_ticks: None,
        }
    }

    /// Counts in `interval` only, or until the timeline makes it longer.
    pub(crate) fn open(&mut self, interval: Interval) {
        self.timeline.open(interval);
        (self.part, self.until) = (Part::Before, 0);
    }

    /// True when the interval has ended by `now` and stays as long as it is.
    #[inline(always)]
    pub(crate) fn is_over<C: Core>(&mut self, core: &C, now: u64) -> bool {
        self.follow(core, now);
        self.part == Part::After
    }

    /// True when the interval has begun by `now`.
    #[inline(always)]
    pub(crate) fn has_begun<C: Core>(&mut self, core: &C, now: u64) -> bool {
        self.follow(core, now);
        self.part != Part::Before
    }

    /// The end of the interval, as far as it is known.
    pub(crate) fn end(&self) -> u64 {
        self.timeline.state.lock().interval.end
    }

    /// A procedure has committed at `now` that was meant to begin at `intended`.
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
            }
            Part::After => self.leave_in_flight(intended, self.since),
        }
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, intended: u64, now: u64) {
        self.timeline.state.lock().enter(intended, now);
    }

    /// An attempt was aborted at `now`.
    pub(crate) fn aborted<C: Core>(&mut self, core: &C, reason: AbortReason, now: u64) {
        self.follow(core, now);
        if self.part == Part::Within {
            self.counts.aborted(reason);
        }
    }

    /// A procedure that was to begin at `intended` will not be tried again.
    pub(crate) fn given_up(&mut self, intended: u64, now: u64, wanted_to_go_on: bool) {
        match self.part {
            Part::Before => {}
            Part::Within if wanted_to_go_on => self.leave_in_flight(intended, now),
            Part::Within => self.counts.given_up_ticks += now - intended,
            Part::After => self.leave_in_flight(intended, self.since),
        }
    }

    /// So many ticks were spent on no transaction.
    #[inline(always)]
    pub(crate) fn between(&mut self, ticks: u64) {
        self.counts.between_ticks += ticks;
    }

    fn leave_in_flight(&mut self, intended: u64, end: u64) {
        if intended < end {
            self.in_flight_ticks = Some(end - intended);
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

    /// Counts the time since the last turn, by category.
    fn stop_watch<C: Core>(&mut self, core: &C, now: u64) {
        let breakdown = core.breakdown();
        if !breakdown.enabled() {
            return;
        }
        let spent = breakdown.read(now);
        let passed = std::array::from_fn(|i| spent[i].saturating_sub(self.spent[i]));
        self.counts.spent = Some(passed);
        self.spent = spent;
    }

    /// Hands over what has gathered.
    fn hand_over(&mut self) {
        if self.part == Part::Within {
            self.timeline.state.lock().put(self.since, &self.counts, &mut self.latencies);
            self.total.add(&self.counts);
        }
        self.counts = Counts::default();
    }

    /// The worker has stopped: the rest goes to the timeline, and the sums into `report`.
    pub(crate) fn close<C: Core>(&mut self, core: &C, report: &mut WorkerReport) {
        self.stop_watch(core, report.ended_at);
        self.hand_over();
        report.set(&self.total);
        report.in_flight_ticks = self.in_flight_ticks;
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
