//! `Explored`: no time, an adversarial scheduler instead.
//!
//! Cores are coroutines on the calling thread. Before every shared-memory operation a seeded scheduler
//! may hand over to another core, so every sequentially consistent interleaving can happen, and the same
//! seed and options give the same one, step for step. Weak memory orders are not explored.
//!
//! - `explored/scheduler.rs` knows what each core is up to; `explored/scheduler/choice.rs` decides who goes
//!   next, and what happens when nobody can;
//! - `explored/core.rs` is a core: it asks before each operation;
//! - `explored/trace.rs` says what was executed, `explored/switches.rs` who handed over to whom;
//! - here: the machine, and how a run starts, ends and is torn down.

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
    Arena, ArenaOptions, Body, Fault, Machine, OutOfMemory, RunError, Service,
    cold::{Arc, Mutex},
    fiber::{PooledStack, StackPool},
};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use scheduler::{Scheduler, Stop};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};
use trace::Trace;

/// Who executes the next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// A core drawn at random runs for a while, then the next one. How long is drawn too: the seed
    /// chooses, per run, between a switch at every operation and stretches of up to 128 of them, because
    /// switching all the time hardly ever delays anybody for long.
    Random,
    /// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized
    /// scheduler with probabilistic guarantees of finding bugs, ASPLOS 2010): the runnable core with the
    /// highest random priority runs; at `depth - 1` random steps the running core drops below all others.
    /// Finds a bug of that depth with a probability of at least 1 / (cores × steps^(depth-1)).
    ///
    /// Deviations: a core that backs off drops to the lowest priority, and so does one that runs 20,000
    /// steps without a break, or retry loops would starve the core they wait for. Steps waited for a
    /// word do not count as runnable.
    Pct {
        /// Ordering constraints that the bug needs; 2 or 3 finds most.
        depth: u32,
    },
}

/// How an explorer is made. Together with the bodies it determines every step of a run.
#[derive(Clone, Debug)]
pub struct ExploredOptions {
    /// Determines the schedule.
    pub seed: u64,
    /// How the next core is chosen.
    pub schedule: Schedule,
    /// Steps of a run, over which [`Schedule::Pct`] spreads its changes: take [`Explored::steps`] of an
    /// earlier run. None draws a magnitude between 2 and 8192 from the seed. Never adapted behind
    /// your back: a seed replays the same schedule whatever ran before.
    pub expected_steps: Option<u64>,
    /// Steps after which a run is given up with [`RunError::StepLimit`].
    pub step_limit: u64,
    /// What [`Core::overtakes`](crate::Core::overtakes) says. None draws it from the seed.
    pub overtakes: Option<bool>,
    /// The bug that is switched on.
    pub fault: Option<Fault>,
    /// Record every step, for [`Explored::trace`], and the switches, for [`Explored::switches`].
    pub trace: bool,
    /// The arena of everything shared.
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

/// The machine whose scheduler wants your program to fail.
///
/// - The clock counts steps. It jumps when all wait and somebody has a deadline, over back-offs, and now
///   and then to a deadline although others could go on, as if they had been slow.
/// - [`Service::interval_ticks`] is ignored: how often a service ticks is drawn from the seed, from every few
///   steps to every few hundred. It also ticks, at random, while all workers wait; when they have sat
///   out a thousand ticks of each service that is a deadlock.
/// - A core waits until its word is written. A condition that looks at other words as well may oversleep
///   their changes, as it may natively, but is tested again before a deadlock is announced.
/// - After a panic in a body the others go on while they can; then the panic reaches the caller.
pub struct Explored {
    options: ExploredOptions,
    arena: Arc<Arena>,
    /// Runs since the seed was set: each gets a schedule of its own.
    runs: AtomicU64,
    running: AtomicBool,
    steps: AtomicU64,
    trace_hash: AtomicU64,
    operations: AtomicU64,
    /// Where the last run's clock stopped: the next one's goes on from there.
    clock: AtomicU64,
    trace: Mutex<Vec<Step>>,
    switches: Mutex<Vec<Switch>>,
    /// The list that the next run follows.
    given: Mutex<Option<Vec<Switch>>>,
}

/// Bytes of a core's stack. Only touched pages take memory.
const STACK_BYTES: usize = 1 << 20;

thread_local! {
    /// Stacks belong to the thread that runs cores on them, which keeps `Explored` free to move.
    static STACKS: StackPool = StackPool::new(STACK_BYTES);
}

impl Explored {
    /// An explorer with an arena of its own.
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

    /// As good as a fresh explorer with this seed, but cheaper. If something still holds on to the arena
    /// it keeps the old one, and the explorer gets another.
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

    /// What it was made with, and the seed of the last [`Explored::renew`].
    pub fn options(&self) -> &ExploredOptions {
        &self.options
    }

    /// Steps of the last run: operations, tests of a waiting core, looks at the clock, back-offs.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// A hash over the steps of the last run: who did what, with which value. Equal for equal schedules
    /// of a program that is deterministic but for them.
    pub fn trace_hash(&self) -> u64 {
        self.trace_hash.load(Ordering::Relaxed)
    }

    /// The steps of the last run, if [`ExploredOptions::trace`] asked for them.
    pub fn trace(&self) -> Vec<Step> {
        self.trace.lock().clone()
    }

    /// The last run as a list of switches, if [`ExploredOptions::trace`] asked for it or the run followed a list. To
    /// follow it gives the same run, of a program that is deterministic but for its schedule.
    pub fn switches(&self) -> Vec<Switch> {
        self.switches.lock().clone()
    }

    /// The next run follows `switches` instead of drawing its schedule. A switch that cannot be made, because things
    /// go another way than where it was listed, is passed over.
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

    fn run<'a>(
        &self,
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
        let scheduler =
            Scheduler::start(&self.options, run, &self.arena, workers.len(), names, given);
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

    /// Steps of all runs, which includes looks at the clock and back-offs.
    fn operations(&self) -> Option<u64> {
        Some(self.operations.load(Ordering::Relaxed))
    }
}

struct Busy<'a>(&'a AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Thrown through a core that must end because the run can't go on. No panic hook sees it.
struct Teardown;

/// The first panic of a run, on its way to the caller.
type Payload = Box<dyn Any + Send>;

type Fiber = Coroutine<(), (), (), PooledStack>;

/// The coroutines of a run. None of them outlives it.
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
        // SAFETY: what `body` borrows lives for 'a, which is longer than the call of `Machine::run` that
        // owns `self`; `Cores::drop` ends each coroutine, or leaks it, stack and all, never to be resumed.
        // A leaked coroutine touches nothing any more; memory it owns stays as it is for ever.
        let fiber = unsafe { Fiber::with_stack_unchecked(stack, main) };
        self.fibers.push(Some(fiber));
        Ok(())
    }

    /// Resumes core `id`; true when it has ended.
    fn resume(&mut self, id: usize) -> bool {
        let fiber = self.fibers[id].as_mut().expect("a core that has ended is never chosen");
        let ended = matches!(fiber.resume(()), CoroutineResult::Return(()));
        if ended {
            self.fibers[id] = None;
        }
        ended
    }

    /// Runs cores as the scheduler says, until it stops.
    fn run(&mut self) {
        let mut next = self.scheduler.choose(None);
        while let Some(id) = next {
            next =
                if self.resume(id) { self.scheduler.choose(None) } else { self.scheduler.next() };
        }
    }
}

/// Turns that cores get during teardown without one of them coming to its end.
const FRUITLESS_TURNS: u32 = 16;

impl Drop for Cores {
    /// Ends what still runs: each core unwinds from where it stands, so destructors run. Those may touch
    /// shared memory, and wait for what another core still holds, so all get several turns. One that waits
    /// in vain in a destructor (for a latch whose holder died without releasing it) is leaked.
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
