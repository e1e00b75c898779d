//! The scheduler: the loop that resumes the earliest core, and ends the run.
//!
//! # States of a core
//!
//! ```text
//!             resume                    suspend(key)
//!  ready ----------------> running ---------------------> ready
//!    ^                      |  |  \
//!    | wake, deadline       |  |   `-- body returns or panics ---> ended
//!    +------- parked <------+  |
//!    | key comes               |
//!    +------- asleep <---------+   (services only)
//! ```
//!
//! - Ready: the queue holds the core's key, the time of its next operation.
//! - Running: at most one core. Its key in the queue is stale until it suspends.
//! - Parked: the core waits for a write to a line. Its key is its deadline, or [`IDLE`] if it has none. A writer of
//!   the line gives it an earlier key (`waiting.rs`).
//! - Asleep: a service waits for its next round. Its key is the time of that round.
//! - Ended: the key is [`IDLE`] and the coroutine is gone.
//!
//! # Order
//!
//! Operations happen in the order of their keys, so in the order of modelled time, and ties go to the smaller core
//! number. While a core runs, `World::limit` holds the smallest key of all other cores. The core can go on without a
//! switch while its own key is below the limit. The limit is correct at any time: the other cores' keys change only
//! when the running core wakes one of them, and then it lowers the limit.
//!
//! Three kinds of operations can happen out of this order: operations on lines that the core holds, reads of words
//! that never change, and accesses to a body together with its head line. `core.rs` explains why this is sound. The
//! order depends only on modelled times, so a run gives the same result on any host.
//!
//! # End
//!
//! The run ends when all coroutines have ended. If the queue is empty before that, all remaining cores are parked
//! without a deadline, which is a deadlock. Services that sleep would hide it, because they always have a next key. So
//! the run also counts as deadlocked if services run [`PATIENCE`] rounds in a row while all workers are parked without
//! a deadline.

use crate::{
    core::SimCore,
    crews::Crews,
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

/// Number of rounds of services in a row after which the run counts as deadlocked if all workers stay stuck.
const PATIENCE: u32 = 1000;

/// Coroutine of a core, on a cache line of the host of its own.
#[repr(align(64))]
struct Berth(Option<Fiber>);

pub(crate) struct Scheduler<'a> {
    /// State that the cores share.
    world: &'a World,
    cores: &'a [SimCore],
    /// Coroutines by core number: workers first, then services. Empty for cores that have ended.
    berths: Vec<Berth>,
    /// Number of workers.
    workers: usize,
    /// Number of workers that have not ended.
    live: usize,
    /// Number of service rounds since a worker was last able to go on.
    rounds: u32,
    /// Core that was resumed last. It names the core whose body has panicked.
    running: Cell<usize>,
    /// First panic of a body.
    panic: Option<Box<dyn Any + Send>>,
}

/// Outcome of a run: the reason why it cannot go on, or the first panic of a body.
pub(crate) struct Outcome {
    pub error: Option<RunError>,
    pub panic: Option<Box<dyn Any + Send>>,
}

/// Reason why the loop of turns has paused.
enum Pause {
    /// The body of this core has returned.
    Ended(usize),
    /// No core has a key.
    Idle,
    /// Services keep running while no worker can go on.
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
        // The remaining coroutines unwind when they are dropped, and can still access memory meanwhile.
        self.world.ending.set(true);
        self.berths.clear();
        Outcome { error, panic: self.panic }
    }

    /// Calls [`Scheduler::turns`], of which there is one instance for each number of the tournament's rounds.
    fn turns_in_tournament(&mut self) -> Pause {
        if self.world.crews.as_ref().is_some_and(Crews::interrupt) {
            return self.turns_of_threads();
        }
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

    /// Resumes one core after the other until an event needs the caller: a core ends, no core has a key, or the
    /// workers are stuck.
    ///
    /// Invariant at the begin of each turn: `first` is the smallest key of all, and `limit` is the smallest key of the
    /// other cores.
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
                    // This is the smallest key of the other cores. It is kept up to date when parked cores are woken.
                    // That core goes next unless the core that has just run is still earlier. The choice is written as
                    // a branch, which the host predicts, so the next turn starts before this core's key is fully
                    // computed.
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

    /// Does the same as [`Scheduler::turns`] where members of crews are interrupted. A core's turn ends with its slice.
    fn turns_of_threads(&mut self) -> Pause {
        let world = self.world;
        let crews = world.crews.as_ref().expect("there are crews");
        loop {
            let first = world.queue.first();
            if first == IDLE {
                return Pause::Idle;
            }
            let id = core_of(first);
            let end = crews.end_of_slice(id);
            if end.is_some_and(|end| first >= end) {
                crews.interrupt_at(id, time_of(first), &world.queue);
                continue;
            }
            if id >= self.workers && self.is_stuck_after(id) {
                return Pause::Stuck;
            }
            self.running.set(id);
            if crews.takes_up(id) {
                self.cores[id].take_up();
            }
            let limit = world.queue.first_without(id);
            world.limit.set(limit.min(end.unwrap_or(IDLE)));
            match self.berths[id].0.as_mut().expect("only live cores have keys").resume(()) {
                CoroutineResult::Yield(key) => world.queue.set(id, key),
                CoroutineResult::Return(()) => return Pause::Ended(id),
            }
        }
    }

    /// Prefetches the state of the second-earliest core, which probably goes next.
    #[inline(always)]
    fn prefetch(&self, key: u64) {
        if key == IDLE {
            return;
        }
        let id = core_of(key);
        if let (Some(core), Some(berth)) = (self.cores.get(id), self.berths.get(id)) {
            prefetch(std::ptr::from_ref(core).cast());
            prefetch(std::ptr::from_ref(berth).cast());
            self.world.prefetch_for(id);
        }
    }

    /// Counts a round of `service` and returns true if the workers have been stuck for more than [`PATIENCE`] rounds.
    /// A round counts only if the service slept and all live workers are parked without a deadline.
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

    /// Marks `core` as ended, after its body returned or panicked.
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

    /// Starts the last round of the services, after the last worker has ended at `now`: services that sleep wake up.
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

    /// Returns the error that lists the cores that are stuck.
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
    // SAFETY: a prefetch is a hint, and any address is allowed.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast())
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn prefetch(_: *const u8) {}
