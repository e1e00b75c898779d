//! `Explored`: a machine without time and with an adversarial scheduler.
//!
//! Cores are coroutines on the calling thread. Before every shared-memory operation a seeded scheduler can
//! switch to another core. So every sequentially consistent interleaving can occur. The same seed and options
//! give the same interleaving, step for step. Weak memory orders are not explored (the crate `weak-memory` does
//! that).
//!
//! - `explored/scheduler.rs` holds the state of each core. `explored/scheduler/choice.rs` decides which core
//!   goes next, and what happens if none can. `explored/scheduler/news.rs` checks that ended waits are
//!   announced.
//! - `explored/core.rs` is a core, which asks the scheduler before each operation.
//! - `explored/trace.rs` records what was executed, `explored/switches.rs` which core switched to which.
//! - This file is the machine: it starts, ends and tears down runs.

mod core;
mod random;
mod scheduler;
mod switches;
#[cfg(test)]
mod tests;
mod trace;

pub use self::core::{ExploredCore, Moment};
pub use switches::Switch;
pub use trace::{Operation, Step};

use crate::{
    Arena, ArenaOptions, Body, Fault, Machine, OutOfMemory, RunError, Service, Sharing,
    cold::{Arc, Mutex},
    fiber::{PooledStack, StackPool},
};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use scheduler::{Crews, Scheduler, Stop};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};
use trace::Trace;

/// The choice of the core that executes the next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// A randomly drawn core runs for a number of steps, then another one. The number is drawn too. For each
    /// run, the seed chooses between a switch at every operation and stretches of up to 128 operations.
    /// Switching at every operation would hardly ever delay a core for long.
    Random,
    /// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler
    /// with probabilistic guarantees of finding bugs, ASPLOS 2010). The runnable core with the highest random
    /// priority runs. At `depth - 1` random steps the running core drops below all others. This finds a bug of
    /// that depth with a probability of at least 1 / (cores × steps^(depth-1)).
    ///
    /// Deviations: a core that backs off drops to the lowest priority, and after 100,000 steps of the run to a random low
    /// one. A core that runs 20,000 steps without a break drops to the lowest, too. Otherwise retry loops would starve the
    /// core that they wait for. A core that waits for a word does not count as runnable.
    Pct {
        /// Number of ordering constraints that the bug needs. 2 or 3 finds most bugs.
        depth: u32,
    },
}

/// Options of an explorer. Together with the bodies they determine every step of a run.
#[derive(Clone, Debug)]
pub struct ExploredOptions {
    /// Seed of the schedule.
    pub seed: u64,
    /// Strategy for choosing the next core.
    pub schedule: Schedule,
    /// Expected number of steps of a run, over which [`Schedule::Pct`] spreads its changes. Use
    /// [`Explored::steps`] of an earlier run. `None` draws a magnitude between 2 and 8192 from the seed.
    ///
    /// The explorer never adapts this value by itself: a seed replays the same schedule whatever ran before.
    pub expected_steps: Option<u64>,
    /// Number of steps after which a run ends with [`RunError::StepLimit`].
    pub step_limit: u64,
    /// Result of [`Core::overtakes`](crate::Core::overtakes). `None` draws it from the seed.
    pub overtakes: Option<bool>,
    /// The bug that is switched on, if any.
    pub fault: Option<Fault>,
    /// Set if every step is recorded, for [`Explored::trace`], and the switches, for [`Explored::switches`].
    pub trace: bool,
    /// Options of the arena for all shared data.
    pub arena: ArenaOptions,
}

impl Default for ExploredOptions {
    fn default() -> Self {
        ExploredOptions {
            seed: 0,
            schedule: Schedule::Random,
            expected_steps: None,
            step_limit: 1_000_000,
            overtakes: None,
            fault: None,
            trace: false,
            arena: ArenaOptions { reserve_bytes: 1 << 30, ..ArenaOptions::default() },
        }
    }
}

/// A machine whose scheduler tries to make the program fail.
///
/// - The clock counts steps. It jumps over back-offs, and to the next deadline if all cores wait. Sometimes it
///   jumps to a deadline although other cores could continue, as if they had been slow.
/// - [`Service::interval_ticks`] is ignored. The seed chooses how often a service ticks, from every few steps
///   to every few hundred. A service also ticks, at random, while all workers wait. If the workers wait through
///   a thousand ticks of each service, that is a deadlock.
/// - A core waits until its word is written. A condition that also reads other words can miss their changes, as
///   on a native machine. It is tested again before a deadlock is reported.
/// - After a panic in a body, the other bodies continue while they can. Then the panic propagates to the
///   caller.
pub struct Explored {
    options: ExploredOptions,
    arena: Arc<Arena>,
    /// Number of runs since the seed was set. Each run gets a schedule of its own.
    runs: AtomicU64,
    running: AtomicBool,
    steps: AtomicU64,
    trace_hash: AtomicU64,
    operations: AtomicU64,
    /// Value at which the last run's clock stopped. The next run's clock continues from there.
    clock: AtomicU64,
    trace: Mutex<Vec<Step>>,
    switches: Mutex<Vec<Switch>>,
    /// List of switches that the next run follows.
    given: Mutex<Option<Vec<Switch>>>,
}

/// Size of a core's stack in bytes. Only touched pages take memory.
const STACK_BYTES: usize = 1 << 20;

thread_local! {
    /// Stacks belong to the thread that runs cores on them. So an `Explored` can move between threads.
    static STACKS: StackPool = StackPool::new(STACK_BYTES);
}

impl Explored {
    /// Makes an explorer with an arena of its own.
    pub fn new(options: ExploredOptions) -> Result<Explored, OutOfMemory> {
        let arena = Arc::new(Arena::new(&options.arena)?);
        Ok(Explored {
            options,
            arena,
            runs: AtomicU64::new(0),
            running: AtomicBool::new(false),
            steps: AtomicU64::new(0),
            trace_hash: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            clock: AtomicU64::new(0),
            trace: Mutex::new(Vec::new()),
            switches: Mutex::new(Vec::new()),
            given: Mutex::new(None),
        })
    }

    /// Resets the explorer to the state of a new one with this seed, at a lower cost. If something still refers
    /// to the arena, it keeps the old arena, and the explorer gets a new one.
    pub fn renew(&mut self, seed: u64) -> Result<(), OutOfMemory> {
        match Arc::get_mut(&mut self.arena) {
            Some(arena) => arena.reset(),
            None => self.arena = Arc::new(Arena::new(&self.options.arena)?),
        }
        self.options.seed = seed;
        *self.runs.get_mut() = 0;
        *self.clock.get_mut() = 0;
        Ok(())
    }

    /// Returns the options, with the seed of the last [`Explored::renew`].
    pub fn options(&self) -> &ExploredOptions {
        &self.options
    }

    /// Returns the number of steps of the last run: operations, tests of a waiting core, reads of the clock,
    /// back-offs.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Returns a hash over the steps of the last run: which core did what, with which value. If the program is
    /// deterministic apart from its schedule, equal schedules have equal hashes.
    pub fn trace_hash(&self) -> u64 {
        self.trace_hash.load(Ordering::Relaxed)
    }

    /// Returns the steps of the last run, if [`ExploredOptions::trace`] was set.
    pub fn trace(&self) -> Vec<Step> {
        self.trace.lock().clone()
    }

    /// Returns the last run as a list of switches, if [`ExploredOptions::trace`] was set or the run followed a
    /// list. If the program is deterministic apart from its schedule, following the list gives the same run.
    pub fn switches(&self) -> Vec<Switch> {
        self.switches.lock().clone()
    }

    /// Makes the next run follow `switches` instead of drawing its schedule. A switch that is impossible,
    /// because the run differs from the one that was listed, is skipped.
    pub fn follow(&self, switches: Vec<Switch>) {
        *self.given.lock() = Some(switches);
    }

    fn remember(&self, scheduler: &Scheduler) {
        let steps = scheduler.steps.get();
        self.steps.store(steps, Ordering::Relaxed);
        self.operations.fetch_add(steps, Ordering::Relaxed);
        self.clock.store(scheduler.clock() + 1, Ordering::Relaxed);
        self.trace_hash.store(scheduler.trace.hash.get(), Ordering::Relaxed);
        if self.options.trace {
            *self.trace.lock() = scheduler.trace.steps.take();
        }
        if let Some(list) = &scheduler.list {
            *self.switches.lock() = list.take();
        }
    }
}

impl Machine for Explored {
    type Line = ();
    type Core = ExploredCore;
    const KEEPS_OPAQUE: bool = true;
    const MODELLED: bool = true;
    const QUARANTINES: bool = true;
    const MINIATURE: bool = true;

    fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    fn clock_hz(&self) -> u64 {
        core::TICKS_PER_SECOND
    }

    fn run_fibers<'a>(
        &self,
        sharing: Sharing,
        workers: Vec<Body<'a, Self>>,
        services: Vec<Service<'a, Self>>,
    ) -> Result<(), RunError> {
        if self.running.swap(true, Ordering::Acquire) {
            return Err(RunError::System("this explorer is running already".to_owned()));
        }
        let _busy = Busy(&self.running);
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let names = services.iter().map(|s| s.name).collect();
        let given = self.given.lock().take();
        let crews = Crews::of(workers.len(), sharing);
        let scheduler = Scheduler::start(&self.options, run, &self.arena, crews, names, given);
        let scheduler = Rc::new(scheduler);
        scheduler.advance_clock(self.clock.load(Ordering::Relaxed));
        let mut cores = Cores {
            fibers: Vec::with_capacity(workers.len() + services.len()),
            scheduler: scheduler.clone(),
        };
        for body in workers {
            cores.add(move |core| body(core))?;
        }
        for service in services {
            cores.add(move |core| {
                loop {
                    (service.tick)(core);
                    if !core.sleep() {
                        break;
                    }
                }
            })?;
        }
        cores.run();
        self.remember(&scheduler);
        drop(cores);
        if let Some(payload) = scheduler.panic.take() {
            resume_unwind(payload);
        }
        match scheduler.stopped.take() {
            None | Some(Stop::Done) => Ok(()),
            Some(Stop::Deadlock(who)) => Err(RunError::Deadlock(who)),
            Some(Stop::StepLimit) => Err(RunError::StepLimit(self.options.step_limit)),
        }
    }

    /// Returns the number of steps of all runs, which includes reads of the clock and back-offs.
    fn operations(&self) -> Option<u64> {
        Some(self.operations.load(Ordering::Relaxed))
    }
}

/// Marks the explorer as idle again when it drops.
struct Busy<'a>(&'a AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Panic payload that unwinds a core which must end because the run cannot continue. No panic hook sees it.
struct Teardown;

/// Payload of the first panic of a run, on its way to the caller.
type Payload = Box<dyn Any + Send>;

type Fiber = Coroutine<(), (), (), PooledStack>;

/// The coroutines of a run. None of them outlives this value.
struct Cores {
    fibers: Vec<Option<Fiber>>,
    scheduler: Rc<Scheduler>,
}

impl Cores {
    fn add<'a>(&mut self, body: impl FnOnce(&ExploredCore) + 'a) -> Result<(), RunError> {
        let stack = STACKS
            .with(StackPool::take)
            .map_err(|e| RunError::System(format!("no memory for the stack of a core: {e}")))?;
        let id = self.fibers.len();
        let scheduler = self.scheduler.clone();
        let main = move |yielder: &Yielder<(), ()>, ()| {
            let core = ExploredCore::start(id, scheduler.clone(), yielder);
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| {
                body(&core);
                core.has_told();
            })) && !payload.is::<Teardown>()
            {
                scheduler.panicked(payload);
            }
            scheduler.end(id);
        };
        // SAFETY: everything that `body` borrows lives for 'a, which is longer than the call of `Machine::run`
        // that owns `self`. `Cores::drop` ends each coroutine, or leaks it together with its stack and never
        // resumes it. A leaked coroutine accesses nothing any more, and the memory that it owns stays unchanged
        // for ever.
        let fiber = unsafe { Fiber::with_stack_unchecked(stack, main) };
        self.fibers.push(Some(fiber));
        Ok(())
    }

    /// Resumes core `id`. Returns true if it has ended.
    fn resume(&mut self, id: usize) -> bool {
        let fiber = self.fibers[id].as_mut().expect("a core that has ended is never chosen");
        let ended = matches!(fiber.resume(()), CoroutineResult::Return(()));
        if ended {
            self.fibers[id] = None;
        }
        ended
    }

    /// Runs cores in the order that the scheduler chooses, until it stops.
    fn run(&mut self) {
        let mut next = self.scheduler.choose(None);
        while let Some(id) = next {
            next =
                if self.resume(id) { self.scheduler.choose(None) } else { self.scheduler.next() };
        }
    }
}

/// Number of rounds that cores get during teardown in which no core ends.
const FRUITLESS_TURNS: u32 = 16;

impl Drop for Cores {
    /// Ends the cores that still run. Each core unwinds from its current position, so destructors run.
    /// Destructors can access shared memory and wait for a word that another core still holds, so all cores get
    /// several turns. A core whose destructor waits in vain (for a latch whose holder ended without releasing
    /// it) is leaked.
    fn drop(&mut self) {
        self.scheduler.tear_down();
        let mut fruitless = 0;
        while fruitless < FRUITLESS_TURNS {
            fruitless += 1;
            for id in 0..self.fibers.len() {
                let Some(fiber) = &self.fibers[id] else { continue };
                if !fiber.started() {
                    self.fibers[id] = None;
                } else if self.resume(id) {
                    fruitless = 0;
                }
            }
        }
        self.fibers.drain(..).flatten().for_each(std::mem::forget);
    }
}
