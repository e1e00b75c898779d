//! The loop that resumes the earliest core, and ends the run.

use crate::{
    core::SimCore,
    queue::{CORE_BITS, IDLE, core_of, time_of},
    world::World,
};
use corosensei::{Coroutine, CoroutineResult};
use machine::{RunError, fiber::PooledStack};
use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

pub(crate) type Fiber = Coroutine<(), u64, (), PooledStack>;

/// Rounds of services in a row that may leave every worker stuck before the run counts as deadlocked.
const PATIENCE: u32 = 1000;

/// A core's coroutine, on a line of the host's cache of its own.
#[repr(align(64))]
struct Berth(Option<Fiber>);

pub(crate) struct Scheduler<'a> {
    world: &'a World,
    cores: &'a [SimCore],
    berths: Vec<Berth>,
    workers: usize,
    live: usize,
    /// Service rounds since a worker did something.
    rounds: u32,
    running: Cell<usize>,
    panic: Option<Box<dyn Any + Send>>,
}

/// How a run ended: why it can't go on, or the first panic of a body.
pub(crate) struct Outcome {
    pub error: Option<RunError>,
    pub panic: Option<Box<dyn Any + Send>>,
}

enum Pause {
    Ended(usize),
    Idle,
    Stuck,
}

impl<'a> Scheduler<'a> {
    pub(crate) fn new(
        world: &'a World,
        cores: &'a [SimCore],
        fibers: Vec<Fiber>,
        workers: usize,
    ) -> Scheduler<'a> {
        let berths = fibers.into_iter().map(|fiber| Berth(Some(fiber))).collect();
        let running = Cell::new(0);
        Scheduler { world, cores, berths, workers, live: workers, rounds: 0, running, panic: None }
    }

    pub(crate) fn run(mut self) -> Outcome {
        if self.live == 0 {
            self.close(0);
        }
        let error = loop {
            match catch_unwind(AssertUnwindSafe(|| self.turns_in_tournament())) {
                Ok(Pause::Ended(core)) => self.ended(core),
                Ok(Pause::Idle) if self.berths.iter().all(|berth| berth.0.is_none()) => break None,
                Ok(Pause::Idle | Pause::Stuck) => break Some(self.deadlock()),
                Err(payload) => {
                    self.panic.get_or_insert(payload);
                    self.ended(self.running.get());
                }
            }
        };
        // What is left unwinds, and may still touch memory while it does.
        self.world.ending.set(true);
        self.berths.clear();
        Outcome { error, panic: self.panic }
    }

    /// As [`Scheduler::turns`], of which there is one for each number of the tournament's rounds.
    fn turns_in_tournament(&mut self) -> Pause {
        match self.world.queue.rounds() {
            1 => self.turns::<1>(),
            2 => self.turns::<2>(),
            3 => self.turns::<3>(),
            4 => self.turns::<4>(),
            5 => self.turns::<5>(),
            6 => self.turns::<6>(),
            7 => self.turns::<7>(),
            8 => self.turns::<8>(),
            9 => self.turns::<9>(),
            10 => self.turns::<10>(),
            11 => self.turns::<11>(),
            12 => self.turns::<12>(),
            rounds => unreachable!("{rounds} rounds are more than {CORE_BITS}"),
        }
    }

    /// Resumes one core after the other until something out of the ordinary happens.
    #[inline(never)]
    fn turns<const ROUNDS: usize>(&mut self) -> Pause {
        let world = self.world;
        let mut first = world.queue.first();
        if first == IDLE {
            return Pause::Idle;
        }
        let mut limit = world.queue.first_without(core_of(first));
        loop {
            let id = core_of(first);
            self.prefetch(limit);
            if id >= self.workers && self.is_stuck_after(id) {
                return Pause::Stuck;
            }
            self.running.set(id);
            let fiber = self.berths[id].0.as_mut().expect("only live cores have keys");
            world.limit.set(limit);
            match fiber.resume(()) {
                CoroutineResult::Yield(key) => {
                    // The earliest of the others, kept up to date when sleepers are woken. It goes next but
                    // where this core turns out to be earlier still: as a branch, which the host foresees,
                    // so that the next turn starts before this core's key is known to the last bit.
                    first = world.limit.get();
                    if key < first {
                        cold();
                        first = key;
                    }
                    if first == IDLE {
                        world.queue.set(id, key);
                        return Pause::Idle;
                    }
                    limit = world.queue.replay::<ROUNDS>(id, key, core_of(first));
                }
                CoroutineResult::Return(()) => return Pause::Ended(id),
            }
        }
    }

    /// The second-earliest core probably goes next: what it will touch had better be near by then.
    #[inline(always)]
    fn prefetch(&self, key: u64) {
        if key == IDLE {
            return;
        }
        let id = core_of(key);
        if let (Some(core), Some(berth)) = (self.cores.get(id), self.berths.get(id)) {
            prefetch(std::ptr::from_ref(core).cast());
            prefetch(std::ptr::from_ref(berth).cast());
            self.world.needs[id].prefetch();
        }
    }

    fn is_stuck_after(&mut self, service: usize) -> bool {
        let world = self.world;
        let asleep = world.waiting.is_asleep(service);
        let stuck =
            |i: usize| self.berths[i].0.is_none() || world.waiting.is_stuck(i, &world.queue);
        if !asleep || self.live == 0 || !(0..self.workers).all(stuck) {
            self.rounds = 0;
            return false;
        }
        self.rounds += 1;
        self.rounds > PATIENCE
    }

    fn ended(&mut self, core: usize) {
        let now = time_of(self.world.queue.key_of(core)).max(machine::Core::now(&self.cores[core]));
        self.world.queue.set(core, IDLE);
        self.berths[core].0 = None;
        if core < self.workers {
            self.live -= 1;
            if self.live == 0 {
                self.close(now);
            }
        }
    }

    /// The last worker has ended at `now`: services that sleep wake up for their last round.
    fn close(&mut self, now: u64) {
        let world = self.world;
        world.closing.set(true);
        for service in self.workers..self.cores.len() {
            if world.waiting.is_asleep(service) {
                let key = crate::queue::key(now, service).min(world.queue.key_of(service));
                world.queue.set(service, key);
            }
        }
    }

    fn deadlock(&self) -> RunError {
        let waits =
            (0..self.cores.len()).filter(|i| self.world.waiting.is_stuck(*i, &self.world.queue));
        let who = waits.map(|i| self.world.waiting.explain(i, &self.world.queue));
        RunError::Deadlock(who.collect())
    }
}

/// Marks a path as rare.
#[cold]
#[inline(never)]
fn cold() {}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    // SAFETY: a prefetch is a hint; any address will do.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast())
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn prefetch(_: *const u8) {}
