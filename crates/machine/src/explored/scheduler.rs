//! The state of one run: the state of each core, and the data that the next decision depends on.
//!
//! A core is `Ready`, `Blocked` (it waits for a word), `Asleep` (a service between ticks) or `Ended`. A write
//! to a word makes the cores that are blocked on it ready again. `count_step` compares the step with `horizon`.
//! Only when the horizon is reached is a decision made, so most steps cost one comparison.

mod choice;
mod crews;
mod news;

pub(super) use self::crews::Crews;
use self::news::{News, Writers};
use super::{
    ExploredOptions, Payload, Schedule, Switch, Trace,
    random::{self, Random},
    switches::List,
};
use crate::{Arena, Fault, NEVER, Word};
use std::cell::{Cell, RefCell};

/// Reason why a run stopped.
pub(super) enum Stop {
    Done,
    Deadlock(Vec<String>),
    StepLimit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Can continue, or can at least test whether it can.
    Ready,
    /// Waits for a word to be written.
    Blocked,
    /// A service between two ticks.
    Asleep,
    Ended,
}

struct ScheduledCore {
    state: Cell<State>,
    /// If blocked: address of the word waited for, its value, and the deadline.
    address: Cell<usize>,
    value: Cell<u64>,
    deadline: Cell<u64>,
    /// The cores that have written that word since.
    writers: Writers,
    /// If asleep: step of the next tick. If ready: step before which other cores go first.
    due: Cell<u64>,
    /// Set if the service ticks for the last time.
    last_tick: Cell<bool>,
    /// PCT: priority. The ready core with the highest priority runs.
    priority: Cell<u64>,
}

/// PCT: priorities lie in three bands. From highest to lowest: at the start of a core, after a drawn change,
/// and after a back-off.
const STARTED: u64 = 1 << 63;
const CHANGED: u64 = 1 << 62;

/// Number of steps without a switch after which PCT assumes that a core spins for another one.
const UNFAIR_STEPS: u64 = 20_000;

/// PCT: number of steps after which each back-off draws the priorities of all cores anew. Before, the core that backs off gets
/// the lowest one, so cores that back off take turns in the same order each time. Transactions that abort each other in this
/// order would do so for ever. A random priority for the core that backs off alone is not enough: sooner or later the holder of a
/// latch draws one that is so low that the cores that spin for the latch need millions of draws to get below it.
const LONG_RUN: u64 = 100_000;

/// Number of ticks of each service that all workers can wait through before the run counts as deadlocked.
const IDLE_TICKS: u64 = 1000;

/// Longest stretch of [`Schedule::Random`], as a power of two.
const LONGEST_STRETCH: u64 = 7;

/// Longest back-off of [`Schedule::Random`], in steps.
const LONGEST_BACK_OFF: u64 = 4096;

/// State of one run.
pub(super) struct Scheduler {
    cores: Vec<ScheduledCore>,
    workers: usize,
    crews: Crews,
    services: Vec<&'static str>,
    /// Number of cores that have not ended.
    alive: Cell<usize>,
    workers_alive: Cell<usize>,
    /// Number of cores that are blocked.
    blocked: Cell<usize>,
    news: News,
    random: Random,
    schedule: Schedule,
    pub steps: Cell<u64>,
    clock: Cell<u64>,
    /// Step at which the next decision is due.
    horizon: Cell<u64>,
    step_limit: u64,
    pub overtakes: bool,
    pub fault: Option<Fault>,
    /// The core that `hand_over` has chosen.
    next: Cell<Option<usize>>,
    running: Cell<Option<usize>>,
    /// Step at which the running core was switched to.
    running_since: Cell<u64>,
    /// Random: a stretch has up to 2 to this power steps.
    stretch: u64,
    /// PCT: steps of the changes to come. The last element is the next change.
    changes: RefCell<Vec<u64>>,
    /// PCT: lowest priority so far. The next core that backs off gets one less.
    lowest: Cell<u64>,
    /// Mean number of steps between two ticks of a service, as a power of two.
    service_pace: u64,
    /// Ticks that services have made while all workers waited.
    idle_ticks: Cell<u64>,
    /// Set if blocked cores have tested their conditions again since the last wait that ended.
    retested: Cell<bool>,
    pub stopped: Cell<Option<Stop>>,
    pub panic: Cell<Option<Payload>>,
    tearing_down: Cell<bool>,
    /// Set if the thread was already panicking when the run started. The thread's panic state then says nothing
    /// about the cores.
    panicking_before: bool,
    pub trace: Trace,
    /// The schedule as a list of switches, if it is recorded or was given.
    pub list: Option<Box<List>>,
}

impl Scheduler {
    pub fn start(
        options: &ExploredOptions,
        run: u64,
        arena: &Arena,
        crews: Crews,
        services: Vec<&'static str>,
        given: Option<Vec<Switch>>,
    ) -> Scheduler {
        let workers = crews.workers();
        let random = Random::seeded(options.seed, run);
        let stretch = random.below(LONGEST_STRETCH + 1);
        let service_pace = 3 + random.below(6);
        let core = |id| ScheduledCore {
            state: Cell::new(if id < workers { State::Ready } else { State::Asleep }),
            address: Cell::new(0),
            value: Cell::new(0),
            deadline: Cell::new(NEVER),
            writers: Writers::default(),
            due: Cell::new(if id < workers { 0 } else { random.below(2 << service_pace) }),
            last_tick: Cell::new(false),
            priority: Cell::new(STARTED | random.next()),
        };
        let cores: Vec<ScheduledCore> = (0..workers + services.len()).map(core).collect();
        let mut changes = Vec::new();
        if let Schedule::Pct { depth } = options.schedule {
            let steps = options.expected_steps.unwrap_or_else(|| 2 << random.below(13)).max(1);
            changes.extend((1..depth).map(|_| 1 + random.below(steps)));
            changes.sort_unstable_by_key(|&step| std::cmp::Reverse(step));
        }
        let lists = options.trace || given.is_some();
        let list = lists.then(|| Box::new(List::start(cores.len(), given)));
        let arena_base = arena.address(0).addr();
        let arena_bytes = options.arena.reserve_bytes as usize;
        Scheduler {
            alive: Cell::new(cores.len()),
            workers_alive: Cell::new(workers),
            blocked: Cell::new(0),
            news: News::default(),
            cores,
            workers,
            crews,
            services,
            random,
            schedule: options.schedule,
            steps: Cell::new(0),
            clock: Cell::new(0),
            horizon: Cell::new(0),
            step_limit: options.step_limit,
            overtakes: options.overtakes.unwrap_or_else(|| random::coin(options.seed)),
            fault: options.fault,
            next: Cell::new(None),
            running: Cell::new(None),
            running_since: Cell::new(0),
            stretch,
            changes: RefCell::new(changes),
            lowest: Cell::new(CHANGED),
            service_pace,
            idle_ticks: Cell::new(0),
            retested: Cell::new(false),
            stopped: Cell::new(None),
            panic: Cell::new(None),
            tearing_down: Cell::new(false),
            panicking_before: std::thread::panicking(),
            trace: Trace::start(options.trace, arena_base, arena_bytes),
            list,
        }
    }

    /// Counts a step. Returns true if a decision is due.
    #[inline(always)]
    pub fn count_step(&self) -> bool {
        let step = self.steps.get() + 1;
        self.steps.set(step);
        self.clock.set(self.clock.get().saturating_add(1));
        step >= self.horizon.get()
    }

    /// Returns the clock. It counts steps, and jumps if every core waits for time to pass.
    pub fn clock(&self) -> u64 {
        self.clock.get()
    }

    pub fn advance_clock(&self, to: u64) {
        self.clock.set(self.clock.get().max(to));
    }

    pub fn tearing_down(&self) -> bool {
        self.tearing_down.get()
    }

    pub fn over_limit(&self) -> bool {
        self.steps.get() > self.step_limit
    }

    /// Returns true if the running core unwinds, or if it waits while another core unwinds. The thread cannot
    /// tell these apart.
    pub fn unwinding(&self) -> bool {
        std::thread::panicking() && !self.panicking_before
    }

    /// Begins the teardown. From now on no core is scheduled any more.
    pub fn tear_down(&self) {
        self.tearing_down.set(true);
        self.horizon.set(0);
    }

    /// Records a panic. Only the first one is kept.
    pub fn panicked(&self, payload: Payload) {
        let first = self.panic.take().unwrap_or(payload);
        self.panic.set(Some(first));
    }

    /// Returns the core that [`Scheduler::hand_over`] chose.
    pub fn next(&self) -> Option<usize> {
        self.next.get()
    }

    /// Chooses the next core on behalf of core `id`.
    pub fn hand_over(&self, id: usize) -> Option<usize> {
        let next = self.choose(Some(id));
        self.next.set(next);
        next
    }

    /// Notes that core `writer` has written a word.
    #[inline(always)]
    pub fn written(&self, writer: usize, word: &Word) {
        if self.blocked.get() != 0 || self.has_news() {
            self.ready_all(writer, std::ptr::from_ref(word).addr());
        }
    }

    #[inline(never)]
    fn ready_all(&self, writer: usize, address: usize) {
        self.note_writer(writer, address);
        for core in &self.cores {
            if core.state.get() == State::Blocked && core.address.get() == address {
                self.unblock(core);
                if matches!(self.schedule, Schedule::Pct { .. }) {
                    self.horizon.set(0);
                }
            }
        }
    }

    fn unblock(&self, core: &ScheduledCore) {
        core.state.set(State::Ready);
        core.due.set(0);
        self.blocked.set(self.blocked.get() - 1);
    }

    /// Blocks core `id` until the word is written or the deadline has passed.
    pub fn block(&self, id: usize, word: &Word, value: u64, deadline: u64) {
        let core = &self.cores[id];
        self.crews.leave(id);
        core.state.set(State::Blocked);
        core.address.set(std::ptr::from_ref(word).addr());
        // Cores that have written before have not ended this wait.
        self.listen(id);
        core.value.set(value);
        core.deadline.set(deadline);
        self.blocked.set(self.blocked.get() + 1);
    }

    /// Notes that a wait of core `id` has ended, so the run makes progress. If the core that ended the wait has
    /// itself ended without announcing it, returns that core.
    #[inline]
    pub fn wait_ended(&self, id: usize) -> Option<usize> {
        self.retested.set(false);
        if id < self.workers {
            self.idle_ticks.set(0);
        }
        self.heard(id)
    }

    /// Notes that core `id` backs off for `ticks`. Other cores go first.
    pub fn step_back(&self, id: usize, ticks: u64) {
        self.crews.leave(id);
        if let Some(list) = &self.list {
            list.gave_way.set(true);
        }
        match self.schedule {
            Schedule::Random => {
                let mut steps = 1 + self.random.below(1 << self.random.below(LONGEST_STRETCH + 1));
                // A long back-off must sometimes last its full time. If it were always cut short, transactions
                // that refuse each other could do so for ever, as they would on no other machine.
                if ticks >> LONGEST_STRETCH != 0 && self.random.chance(2) {
                    steps = ticks.min(LONGEST_BACK_OFF);
                }
                self.cores[id].due.set(self.steps.get() + steps);
            }
            Schedule::Pct { .. } => self.fall_to_the_bottom(id),
        }
    }

    /// Notes that core `id` lets other fibers of its crew run. Returns false if it has none.
    pub fn switch_fiber(&self, id: usize) -> bool {
        if let Some(list) = self.list.as_ref().filter(|_| self.crews.has_several()) {
            list.gave_way.set(true);
        }
        self.crews.leave(id);
        self.crews.has_several()
    }

    /// Returns the number of the core that executes fiber `id`, if fibers can move.
    pub fn host(&self, id: usize) -> Option<usize> {
        self.crews.host(id)
    }

    /// Moves fiber `id` to the crew of core `to`.
    pub fn move_to(&self, id: usize, to: usize) {
        if let Some(list) = &self.list {
            list.moved.set(true);
        }
        self.crews.move_to(id, to);
    }

    /// Returns true if core `id` can execute an operation now.
    fn is_ready(&self, id: usize) -> bool {
        self.cores[id].state.get() == State::Ready && self.crews.allows(id)
    }

    /// Gives core `id` the lowest priority, so that all others go first. In a long run the cores are put in a random order instead.
    fn fall_to_the_bottom(&self, id: usize) {
        if self.steps.get() >= LONG_RUN {
            return self.draw_priorities();
        }
        let lowest = self.lowest.get() - 1;
        self.lowest.set(lowest);
        self.cores[id].priority.set(lowest);
    }

    /// Draws the priorities of all cores anew.
    fn draw_priorities(&self) {
        let draw = |core: &ScheduledCore| core.priority.set(self.random.below(CHANGED));
        self.cores.iter().for_each(draw);
    }

    /// Ends a tick of service `id`. Returns false if it was the last tick.
    pub fn sleep(&self, id: usize) -> bool {
        let core = &self.cores[id];
        if core.last_tick.get() {
            return false;
        }
        core.state.set(State::Asleep);
        core.due.set(self.steps.get() + 1 + self.random.below(2 << self.service_pace));
        true
    }

    /// Notes that core `id` has ended.
    pub fn end(&self, id: usize) {
        self.crews.leave(id);
        self.cores[id].state.set(State::Ended);
        self.alive.set(self.alive.get() - 1);
        if id < self.workers {
            self.workers_alive.set(self.workers_alive.get() - 1);
        }
    }
}
