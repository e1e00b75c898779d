//! `Simulated`: the machine whose cores are coroutines and whose time is modelled.
//!
//! Each call of `run` makes the cores, their caches and their coroutines, lets the scheduler run them, and keeps the
//! clock, the fills and the counter for the next run. The state of lines lies in the arena, so it also lasts from run
//! to run.

use crate::{
    core::SimCore,
    crews::Crews,
    description::MachineDescription,
    line::{LATEST_BUSY, SimLine},
    model::{Homes, Model},
    queue::{MAX_CORES, key},
    scheduler::{Fiber, Scheduler},
    world::World,
};
use machine::{
    Arena, ArenaOptions, Body, LinesMoved, Machine, OutOfMemory, RunError, Service, Sharing,
    cold::{Arc, Mutex},
    fiber::StackPool,
};
use std::{panic::resume_unwind, rc::Rc};

/// Options with which a simulated machine is made.
#[derive(Clone, Debug)]
pub struct SimulatedOptions {
    /// Seed from which everything random follows.
    pub seed: u64,
    /// Set to let cores run a little ahead on lines that they hold. This is faster, and sound (see [`SimCore`]).
    pub lookahead: bool,
    /// Address space for all shared memory, in bytes. It costs nothing until it is touched.
    pub reserve_bytes: u64,
    /// Set to put the arena on huge pages of the host, if the host has them. This is 1.2 to 1.4 times faster, but a
    /// touched record then makes its 2 MiB resident. So turn it off for tables that would not fit into memory as a
    /// whole. The option changes where objects lie in the arena, and so changes results a little. Whether the host has
    /// huge pages does not change results.
    pub huge_pages: bool,
    /// Place of memory on a machine of several sockets.
    pub homes: Homes,
    /// Set to place a session's memory on the socket of the worker with the same number, if memory is placed by node.
    /// Otherwise it lies on the first socket, like all memory that is not placed.
    pub sessions_at_home: bool,
    /// Node on which the rows of each partition lie, by the number of the partition, if memory is placed by node. None
    /// if rows lie where their table does.
    pub partition_nodes: Option<Arc<[u16]>>,
    /// Number of cycles within which all cores start. In lock-step they would hand lines over in turn.
    pub start_spread_cycles: u64,
    /// Address space of each core's stack on the host, in bytes.
    pub stack_bytes: usize,
}

impl Default for SimulatedOptions {
    fn default() -> Self {
        SimulatedOptions {
            seed: 1,
            lookahead: true,
            reserve_bytes: 1 << 40,
            huge_pages: true,
            homes: Homes::default(),
            sessions_at_home: false,
            partition_nodes: None,
            start_spread_cycles: 1000,
            stack_bytes: 256 * 1024,
        }
    }
}

/// State that lasts from one run to the next.
#[derive(Clone, Copy, Default)]
struct Past {
    clock: u64,
    fills: u64,
    counter: u64,
    runs: u64,
    operations: u64,
    moved: LinesMoved,
}

/// Machine of modelled hardware.
pub struct Simulated {
    description: Arc<MachineDescription>,
    options: SimulatedOptions,
    arena: Arc<Arena>,
    /// Held during a run. Only one run at a time is possible, because the state of the lines belongs to the machine.
    running: Mutex<()>,
    past: Mutex<Past>,
}

impl Simulated {
    /// Makes a machine as described, with an arena of its own. The arena has one node, or one node per socket if pages
    /// are placed by node.
    pub fn new(
        description: Arc<MachineDescription>,
        options: SimulatedOptions,
    ) -> Result<Simulated, OutOfMemory> {
        let nodes = match options.homes {
            Homes::ByNode => description.memory_nodes() as u16,
            Homes::Interleaved => 1,
        };
        let at_home = options.homes == Homes::ByNode && options.sessions_at_home;
        let session_sockets: Option<Arc<[u16]>> = description.sockets.as_ref().map(|s| {
            let threads = 0..description.cores() as u64;
            threads.map(|thread| s.socket_of_thread(thread) as u16).collect()
        });
        let arena = Arena::new(&ArenaOptions {
            reserve_bytes: options.reserve_bytes,
            nodes,
            huge_pages: options.huge_pages,
            // Lines begin with zeros, which the first access reads. With huge pages first accesses are rare, and a shared mapping
            // has huge pages only on some systems.
            read_first: !options.huge_pages,
            session_nodes: session_sockets.clone().filter(|_| at_home),
            session_sockets,
            partition_nodes: options.partition_nodes.clone().filter(|_| nodes > 1),
        })?;
        Ok(Simulated {
            description,
            options,
            arena: Arc::new(arena),
            running: Mutex::default(),
            past: Mutex::default(),
        })
    }

    /// Returns the description of the modelled hardware.
    pub fn description(&self) -> &Arc<MachineDescription> {
        &self.description
    }

    /// Returns the options with which the machine was made.
    pub fn options(&self) -> &SimulatedOptions {
        &self.options
    }

    /// Returns the modelled clock at the end of the last run. The next run starts there.
    pub fn clock(&self) -> u64 {
        self.past.lock().clock
    }

    /// Returns the number of lines fetched from memory so far.
    pub fn memory_fills(&self) -> u64 {
        self.past.lock().fills
    }

    /// Returns the bytes of the host for the scheduler state and the first-level cache model of one core. Its stack
    /// comes on top.
    pub fn state_bytes_per_core(&self) -> usize {
        let lines = self.description.l1.size_kib * 1024 / self.description.line_bytes;
        let l1 = lines as usize * size_of::<u8>();
        size_of::<SimCore>() + size_of::<Option<Fiber>>() + World::BYTES_PER_CORE + l1
    }
}

impl Machine for Simulated {
    type Line = SimLine;
    type Core = SimCore;
    const KEEPS_OPAQUE: bool = false;
    const MODELLED: bool = true;

    fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    fn clock_hz(&self) -> u64 {
        self.description.ticks_per_second()
    }

    fn run_fibers<'a>(
        &self,
        sharing: Sharing,
        bodies: Vec<Body<'a, Self>>,
        services: Vec<Service<'a, Self>>,
    ) -> Result<(), RunError> {
        let workers = bodies.len();
        let total = workers + services.len();
        let available = (self.description.cores() * sharing.count()).min(MAX_CORES);
        if workers > available || total > MAX_CORES {
            return Err(RunError::TooManyCores { asked: total, available });
        }
        let _alone = self.running.lock();
        let mut past = *self.past.lock();
        if past.clock > LATEST_BUSY / 2 {
            let seconds = LATEST_BUSY / 2 / self.clock_hz();
            return Err(RunError::System(format!(
                "the modelled clock of this machine has run for too long; allowed: runs that start within its \
                 first {seconds} s"
            )));
        }
        past.runs += 1;
        let (seated, homes) = ((workers, sharing), self.options.homes);
        let model = Model::new(&self.description, seated, services.len(), homes);
        let hz = self.description.ticks_per_second();
        let mut world =
            World::new(model, self.arena.clone(), past.fills, hz, self.options.lookahead)
                .map_err(|e| RunError::System(format!("the modelled caches: {e}")))?;
        world.crews = Crews::of(workers, sharing, &self.arena, hz)
            .map_err(|e| RunError::System(format!("the stacks of fibers that move: {e}")))?;
        let world = Rc::new(world);
        world.counter.set(past.counter);
        let chance = |i: usize| shuffle(self.options.seed ^ shuffle(past.runs << 32 | i as u64));
        let start = |i| past.clock + chance(i) % self.options.start_spread_cycles.max(1);
        let core = |i| SimCore::new(i, start(i), world.clone());
        let cores: Vec<SimCore> = (0..total).map(core).collect();
        let stacks = StackPool::new(self.options.stack_bytes);
        let mut fibers = Vec::with_capacity(total);
        let mut bodies = bodies.into_iter();
        let mut services = services.into_iter();
        for core in &cores {
            let stack = stacks.take().map_err(|e| RunError::System(format!("a stack: {e}")))?;
            let fiber = match bodies.next() {
                Some(body) => fiber(stack, core, move |core| {
                    let _turn = core.join_crew();
                    body(core);
                }),
                None => {
                    let service = services.next().expect("as many cores as bodies and services");
                    let world = &*world;
                    fiber(stack, core, move |core| serve(core, &service, world))
                }
            };
            fibers.push(fiber);
            world.queue.set(core.index(), key(machine::Core::now(core), core.index()));
        }
        let outcome = Scheduler::new(&world, &cores, fibers, workers).run();
        past.clock = cores.iter().map(machine::Core::now).max().unwrap_or(past.clock);
        past.operations += world.operations.get();
        past.moved += world.traffic.lines_moved();
        past.fills = world.fills.get();
        past.counter = world.counter.get();
        *self.past.lock() = past;
        if let Some(payload) = outcome.panic {
            resume_unwind(payload);
        }
        outcome.error.map_or(Ok(()), Err)
    }

    fn operations(&self) -> Option<u64> {
        Some(self.past.lock().operations)
    }

    fn lines_moved(&self) -> Option<LinesMoved> {
        Some(self.past.lock().moved)
    }
}

/// Calls `service` again and again until the last worker has ended, and once more after that.
fn serve(core: &SimCore, service: &Service<'_, Simulated>, world: &World) {
    loop {
        core.sleep_between_rounds(service.interval_ticks);
        let last = world.closing.get();
        (service.tick)(core);
        if last {
            break;
        }
    }
}

/// Makes a coroutine that runs `body` on `core`.
fn fiber<'b>(
    stack: machine::fiber::PooledStack,
    core: &'b SimCore,
    body: impl FnOnce(&SimCore) + 'b,
) -> Fiber {
    let run = move |yielder: &crate::core::Turn, ()| {
        core.started(yielder);
        body(core);
    };
    // SAFETY: the scheduler drops every coroutine before `run` returns. So everything that `run` borrows (the core,
    // the body's own borrows) outlives the coroutine.
    unsafe { Fiber::with_stack_unchecked(stack, run) }
}

/// Returns SplitMix64's output for `x`: every bit of the result depends on every bit of `x`.
fn shuffle(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
