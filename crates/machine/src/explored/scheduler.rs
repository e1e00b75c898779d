//! The state of one run: what each core is up to, and what the next decision depends on.

mod choice;
mod news;

use self::news::{News, Writers};
use super::{
    ExploredOptions, Payload, Schedule, Switch, Trace,
    random::{self, Random},
    switches::List,
};
use crate::{Arena, Fault, NEVER, Word};
use std::cell::{Cell, RefCell};

/// Why a run stopped.
pub(super) enum Stop {
    Done,
    Deadlock(Vec<String>),
    StepLimit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Can go on, or can at least look whether it can.
    Ready,
    /// Waits for a word to be written.
    Blocked,
    /// A service between two ticks.
    Asleep,
    Ended,
}

struct Slot {
    state: Cell<State>,
    /// Blocked: the address waited for, the value there, and until when.
    address: Cell<usize>,
    value: Cell<u64>,
    deadline: Cell<u64>,
    /// Who has written that word since.
    writers: Writers,
    /// Asleep: the step of the next tick. Ready: the step before which others go first.
    due: Cell<u64>,
    /// A service that ticks for the last time.
    last_tick: Cell<bool>,
    /// PCT: the highest runs.
    priority: Cell<u64>,
}

/// PCT: priorities as a core starts with, drawn at a change, and after a back-off, lie in three bands.
const STARTED: u64 = 1 << 63;
const CHANGED: u64 = 1 << 62;

/// Steps after which PCT believes that a core spins for another one.
const UNFAIR_STEPS: u64 = 20_000;

/// Ticks of each service that all workers may sit out before they are said to be deadlocked.
const IDLE_TICKS: u64 = 1000;

/// The longest stretch of [`Schedule::Random`], as a power of two.
const LONGEST_STRETCH: u64 = 7;

/// The longest back-off of [`Schedule::Random`], in steps.
const LONGEST_BACK_OFF: u64 = 4096;

/// The state of one run.
pub(super) struct Scheduler {
    slots: Vec<Slot>,
    workers: usize,
    services: Vec<&'static str>,
    alive: Cell<usize>,
    workers_alive: Cell<usize>,
    blocked: Cell<usize>,
    news: News,
    random: Random,
    schedule: Schedule,
    pub steps: Cell<u64>,
    clock: Cell<u64>,
    /// The step at which the next decision is due.
    horizon: Cell<u64>,
    step_limit: u64,
    pub overtakes: bool,
    pub fault: Option<Fault>,
    next: Cell<Option<usize>>,
    running: Cell<Option<usize>>,
    running_since: Cell<u64>,
    /// Random: stretches last up to 2 to this power.
    stretch: u64,
    /// PCT: steps of the changes to come, the next one last.
    changes: RefCell<Vec<u64>>,
    /// PCT: the next core that backs off falls to this priority.
    lowest: Cell<u64>,
    /// Mean steps between two ticks of a service, as a power of two.
    service_pace: u64,
    idle_ticks: Cell<u64>,
    retested: Cell<bool>,
    pub stopped: Cell<Option<Stop>>,
    pub panic: Cell<Option<Payload>>,
    tearing_down: Cell<bool>,
    /// The thread was panicking when the run started, so that it is says nothing about the cores.
    panicking_before: bool,
    pub trace: Trace,
    /// The schedule as a list, where it is wanted or was given.
    pub list: Option<Box<List>>,
}

impl Scheduler {
    pub fn start(
        options: &ExploredOptions,
        run: u64,
        arena: &Arena,
        workers: usize,
        services: Vec<&'static str>,
        given: Option<Vec<Switch>>,
    ) -> Scheduler {
        let random = Random::seeded(options.seed, run);
        let stretch = random.below(LONGEST_STRETCH + 1);
        let service_pace = 3 + random.below(6);
        let slot = |id| Slot {
            state: Cell::new(if id < workers { State::Ready } else { State::Asleep }),
            address: Cell::new(0),
            value: Cell::new(0),
            deadline: Cell::new(NEVER),
            writers: Writers::default(),
            due: Cell::new(if id < workers { 0 } else { random.below(2 << service_pace) }),
            last_tick: Cell::new(false),
            priority: Cell::new(STARTED | random.next()),
        };
        let slots: Vec<Slot> = (0..workers + services.len()).map(slot).collect();
        let mut changes = Vec::new();
        if let Schedule::Pct { depth } = options.schedule {
            let steps = options.expected_steps.unwrap_or_else(|| 2 << random.below(13)).max(1);
            changes.extend((1..depth).map(|_| 1 + random.below(steps)));
            changes.sort_unstable_by_key(|&step| std::cmp::Reverse(step));
        }
        let lists = options.trace || given.is_some();
        let list = lists.then(|| Box::new(List::start(slots.len(), given)));
        let arena_base = arena.address(0).addr();
        let arena_bytes = options.arena.reserve_bytes as usize;
        Scheduler {
            alive: Cell::new(slots.len()),
            workers_alive: Cell::new(workers),
            blocked: Cell::new(0),
            news: News::default(),
            slots,
            workers,
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

    /// Counts a step; true when a decision is due.
    #[inline(always)]
    pub fn count_step(&self) -> bool {
        let step = self.steps.get() + 1;
        self.steps.set(step);
        self.clock.set(self.clock.get().saturating_add(1));
        step >= self.horizon.get()
    }

    /// The clock: counts steps, and jumps when everybody waits for time to pass.
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

    /// True when the running core unwinds (or one that waits while it unwinds: the thread can't tell).
    pub fn unwinding(&self) -> bool {
        std::thread::panicking() && !self.panicking_before
    }

    /// From now on nobody is scheduled any more.
    pub fn tear_down(&self) {
        self.tearing_down.set(true);
        self.horizon.set(0);
    }

    /// Keeps the first panic.
    pub fn panicked(&self, payload: Payload) {
        let first = self.panic.take().unwrap_or(payload);
        self.panic.set(Some(first));
    }

    /// The core that [`Scheduler::hand_over`] chose.
    pub fn next(&self) -> Option<usize> {
        self.next.get()
    }

    /// Chooses who goes on, on behalf of core `id`.
    pub fn hand_over(&self, id: usize) -> Option<usize> {
        let next = self.choose(Some(id));
        self.next.set(next);
        next
    }

    /// Core `writer` has written a word.
    #[inline(always)]
    pub fn written(&self, writer: usize, word: &Word) {
        if self.blocked.get() != 0 || self.has_news() {
            self.ready_all(writer, std::ptr::from_ref(word).addr());
        }
    }

    #[inline(never)]
    fn ready_all(&self, writer: usize, address: usize) {
        self.note_writer(writer, address);
        for slot in &self.slots {
            if slot.state.get() == State::Blocked && slot.address.get() == address {
                self.unblock(slot);
                if matches!(self.schedule, Schedule::Pct { .. }) {
                    self.horizon.set(0);
                }
            }
        }
    }

    fn unblock(&self, slot: &Slot) {
        slot.state.set(State::Ready);
        slot.due.set(0);
        self.blocked.set(self.blocked.get() - 1);
    }

    /// Core `id` waits until the word is written, or for the deadline.
    pub fn block(&self, id: usize, word: &Word, value: u64, deadline: u64) {
        let slot = &self.slots[id];
        slot.state.set(State::Blocked);
        slot.address.set(std::ptr::from_ref(word).addr());
        // Those that have written before have not ended this wait.
        self.listen(id);
        slot.value.set(value);
        slot.deadline.set(deadline);
        self.blocked.set(self.blocked.get() + 1);
    }

    /// A wait of core `id` came to its end: the run as a whole gets on. Who has ended it, is gone, and has told nobody.
    #[inline]
    pub fn wait_ended(&self, id: usize) -> Option<usize> {
        self.retested.set(false);
        if id < self.workers {
            self.idle_ticks.set(0);
        }
        self.heard(id)
    }

    /// Core `id` backs off for `ticks`: others go first.
    pub fn step_back(&self, id: usize, ticks: u64) {
        if let Some(list) = &self.list {
            list.gave_way.set(true);
        }
        match self.schedule {
            Schedule::Random => {
                let mut steps = 1 + self.random.below(1 << self.random.below(LONGEST_STRETCH + 1));
                // A long back-off gives up the field. Were it always cut short, transactions that refuse one
                // another could do so for ever, as they would nowhere else.
                if ticks >> LONGEST_STRETCH != 0 && self.random.chance(2) {
                    steps = ticks.min(LONGEST_BACK_OFF);
                }
                self.slots[id].due.set(self.steps.get() + steps);
            }
            Schedule::Pct { .. } => self.fall_to_the_bottom(id),
        }
    }

    fn fall_to_the_bottom(&self, id: usize) {
        self.lowest.set(self.lowest.get() - 1);
        self.slots[id].priority.set(self.lowest.get());
    }

    /// A tick of service `id` is over; false when it was the last.
    pub fn sleep(&self, id: usize) -> bool {
        let slot = &self.slots[id];
        if slot.last_tick.get() {
            return false;
        }
        slot.state.set(State::Asleep);
        slot.due.set(self.steps.get() + 1 + self.random.below(2 << self.service_pace));
        true
    }

    /// Core `id` has come to its end.
    pub fn end(&self, id: usize) {
        self.slots[id].state.set(State::Ended);
        self.alive.set(self.alive.get() - 1);
        if id < self.workers {
            self.workers_alive.set(self.workers_alive.get() - 1);
        }
    }
}
