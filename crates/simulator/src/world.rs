//! What the cores of a run share: caches, directory, memory, and who waits for what.

use crate::{
    cache::{PrivateCaches, behind},
    line::{
        BODY_AWAY, BODY_COLD, BODY_DIRTY, EXCLUSIVE, STAMP_MASK, SimLine, State, WAITERS,
        next_version,
    },
    model::{Model, Seat},
    queue::Tournament,
    scheduler::prefetch,
    waiting::Waiting,
};
use machine::{Arena, cold::Arc};
use std::{cell::Cell, io};

/// Lines of a stack that a turn mostly stays within, from its top on.
const STACK_LINES: usize = 4;

/// Where on the host lies what a core touches when it goes next: packed, because whoever prefetches it
/// must not wait for the addresses.
#[repr(align(32))]
pub(crate) struct Needs {
    /// The top of its stack.
    pub stack: Cell<*const u8>,
    /// The line that it is about to use.
    pub line: Cell<*const SimLine>,
    /// Its own cache's entry for that line.
    pub entry: Cell<*const u8>,
}

impl Needs {
    /// A core that has not gone yet needs nothing.
    fn nothing() -> Needs {
        Needs {
            stack: Cell::new(std::ptr::null()),
            line: Cell::new(std::ptr::null()),
            entry: Cell::new(std::ptr::null()),
        }
    }

    /// Asks the host for it.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        let stack = self.stack.get();
        for line in 0..STACK_LINES {
            prefetch(stack.wrapping_add(64 * line));
        }
        prefetch(self.line.get().cast());
        prefetch(self.entry.get());
    }
}

pub(crate) struct World {
    pub model: Model,
    /// What each core needs next.
    pub needs: Box<[Needs]>,
    pub arena: Arc<Arena>,
    /// Where the arena begins: what names a line is asked for at every operation.
    start: usize,
    pub queue: Tournament,
    pub waiting: Waiting,
    /// The earliest key of all cores but the one that runs: up to it that one may go on.
    pub limit: Cell<u64>,
    /// How far ahead of its turn a core may use lines that it holds, in cycles.
    pub lookahead: u64,
    pub l1: PrivateCaches,
    pub l2: Option<PrivateCaches>,
    /// Lines filled from memory, over all runs.
    pub fills: Cell<u64>,
    /// Until when each node's memory is busy, in 1/256 cycles.
    memories: Box<[Cell<u64>]>,
    /// Until when the link from each node to each node is busy, in 1/256 cycles.
    links: Box<[Cell<u64>]>,
    /// Shared-memory operations of this run.
    pub operations: Cell<u64>,
    pub ticks_per_second: u64,
    pub counter: Cell<u64>,
    pub counter_busy: Cell<u64>,
    /// The run is being torn down: nobody may wait any more.
    pub ending: Cell<bool>,
    /// Every worker has ended: services do their last round.
    pub closing: Cell<bool>,
}

impl World {
    /// The host's bytes of what is kept here for each core, caches apart.
    pub(crate) const BYTES_PER_CORE: usize =
        2 * size_of::<u64>() + size_of::<Needs>() + Waiting::BYTES_PER_CORE + size_of::<Seat>();

    pub(crate) fn new(
        model: Model,
        arena: Arc<Arena>,
        fills: u64,
        ticks_per_second: u64,
        lookahead: bool,
    ) -> io::Result<World> {
        let cores = model.seats.len();
        let caches = |lines: usize| PrivateCaches::new(model.physical_cores(), lines);
        let links = if model.cache_per_node { (model.nodes * model.nodes) as usize } else { 0 };
        Ok(World {
            needs: (0..cores).map(|_| Needs::nothing()).collect(),
            queue: Tournament::new(cores),
            waiting: Waiting::new(cores),
            limit: Cell::new(0),
            lookahead: if lookahead { model.lookahead } else { 0 },
            l1: caches(model.l1_lines)?,
            l2: if model.l2_lines == 0 { None } else { Some(caches(model.l2_lines)?) },
            fills: Cell::new(fills),
            memories: vec![Cell::new(0); model.nodes as usize].into_boxed_slice(),
            links: vec![Cell::new(0); links].into_boxed_slice(),
            operations: Cell::new(0),
            ticks_per_second,
            counter: Cell::new(0),
            counter_busy: Cell::new(0),
            ending: Cell::new(false),
            closing: Cell::new(false),
            start: arena.address(0) as usize,
            model,
            arena,
        })
    }

    #[inline(always)]
    pub(crate) fn count_operation(&self) {
        self.operations.set(self.operations.get() + 1);
    }

    /// Where the line's metadata lies in the arena: what names it.
    #[inline(always)]
    pub(crate) fn offset(&self, line: &SimLine) -> u64 {
        (std::ptr::from_ref(line) as usize - self.start) as u64
    }

    /// True when `physical` still has the line under `version` in a private cache.
    #[inline(always)]
    fn holds(&self, physical: u32, identity: u64, version: u32) -> bool {
        self.l1.holds(physical, identity, version)
            || self.l2.as_ref().is_some_and(|l2| l2.holds(physical, identity, version))
    }

    /// Waits for the memory of `home`, and for the link to it, to have moved a line.
    fn queue_for_memory(&self, seat: &Seat, home: u32, now: u64) -> u64 {
        let wait = |busy: &Cell<u64>, from: u64, time: u64| {
            let start = busy.get().max(from);
            busy.set(start + time);
            start
        };
        let mut at = wait(&self.memories[home as usize], now << 8, self.model.memory_line_time);
        let link_time = self.model.link_time(home, seat.node());
        if link_time != 0 {
            at = wait(&self.links[(home * self.model.nodes + seat.node()) as usize], at, link_time);
        }
        at >> 8
    }

    /// When the memory of `home` has served a line whose directory is asked at `start`.
    #[inline(always)]
    fn served_by_memory(&self, seat: &Seat, home: u32, start: u64) -> u64 {
        let m = &self.model;
        let served = self.queue_for_memory(seat, home, start + m.directory);
        served + m.memory.max(m.directory) + m.shared.saturating_sub(m.directory) + m.transfer
    }

    /// Moves a line that the core at `seat` lacks (or may not write) into its hands, at `now` at the
    /// earliest. Returns when it is there.
    ///
    /// Reads of what does not change are not `ORDERED`: they neither wait for the line nor keep others
    /// waiting, because they may be simulated before what others do earlier.
    #[inline(never)]
    pub(crate) fn fetch<const WRITE: bool, const ORDERED: bool>(
        &self,
        seat: &Seat,
        line: &SimLine,
        (offset, id): (u64, u64),
        now: u64,
    ) -> u64 {
        let m = &self.model;
        let mut s = line.state();
        let home = m.home(id, 0, offset, |o| self.arena.node_of(o));
        let mine = m.cluster_bit(seat.node());
        let fills = self.fills.get();
        let touched = s.version != 0;
        let cached = touched && m.is_cached(s.stamp, fills);
        // Whoever holds it alone may have changed it, so it must come from there.
        let exclusive = s.flags & EXCLUSIVE != 0;
        let elsewhere = exclusive && s.owner != seat.physical();
        let owner_node = if elsewhere { m.node_of(s.owner) } else { None };
        let owner_node = owner_node.filter(|_| self.holds(s.owner, id, s.version));
        let own_cache = m.cache_per_node
            && match owner_node {
                Some(node) => node == seat.node(),
                None => cached && s.sharers & mine != 0 && (!WRITE || s.sharers == mine),
            };
        let hub = if own_cache { seat.node() } else { home };
        let trip = m.one_way(seat.node(), hub);
        let arrived = now + m.lookup + trip;
        let busy = s.busy;
        let start = if ORDERED { arrived.max(busy) } else { arrived };
        let done;
        if let Some(node) = owner_node {
            done = start + m.directory + 2 * m.one_way(hub, node) + m.owner + m.transfer;
            s.busy = done;
        } else if cached {
            let others = s.sharers & !mine;
            let alone = others == 0 && s.owner == seat.physical();
            let data = start + m.shared + m.transfer;
            if WRITE && !alone && s.sharers != 0 {
                let invalidated = start + m.directory + 2 * m.farthest(hub, s.sharers);
                done = invalidated.max(data);
                s.busy = done;
            } else {
                done = data;
                s.busy = if WRITE { done } else { start + m.read_occupancy };
            }
        } else {
            done = self.served_by_memory(seat, home, start);
            s.busy = done;
            s.sharers = 0;
            s.flags |= BODY_COLD;
            self.fills.set(fills + 1);
        }
        if !ORDERED {
            s.busy = busy;
        }
        // What the body's lines did in the meantime is told by the line that heads them.
        if cached && m.cache_per_node && s.sharers & mine == 0 {
            s.flags |= BODY_AWAY;
        }
        s.stamp = m.stamp(self.fills.get()) & STAMP_MASK;
        if WRITE {
            written_by(&mut s, seat.physical(), mine);
        } else {
            let alone = s.sharers == 0 && owner_node.is_none();
            read_by(&mut s, seat.physical(), mine, (alone, m.exclusive_reads));
        }
        line.set_state(&s);
        self.hold(seat, id, s.version);
        done + trip
    }

    /// The core at `seat` has the line in its private caches from now on.
    #[inline]
    pub(crate) fn hold(&self, seat: &Seat, identity: u64, version: u32) {
        self.l1.fill(seat.physical(), identity, version);
        if let Some(l2) = &self.l2 {
            l2.fill(seat.physical(), identity, version);
        }
    }

    /// Cycles that the core at `seat` needs for line `part` of a body whose record's line it holds, or
    /// has just read, in state `s`.
    pub(crate) fn body_line(
        &self,
        seat: &Seat,
        s: &State,
        (offset, head): (u64, u64),
        part: u64,
        now: u64,
    ) -> u64 {
        let m = &self.model;
        let id = behind(head, part);
        if self.l1.holds(seat.physical(), id, s.version) {
            return m.l1;
        }
        if let Some(l2) = &self.l2
            && l2.holds(seat.physical(), id, s.version)
        {
            self.l1.fill(seat.physical(), id, s.version);
            return m.l2;
        }
        self.hold(seat, id, s.version);
        let home = m.home(head, part, offset, |o| self.arena.node_of(o));
        let trip = m.one_way(seat.node(), home);
        if s.flags & BODY_COLD != 0 {
            self.fills.set(self.fills.get() + 1);
            let arrived = now + m.lookup + trip + m.directory;
            let queued = self.queue_for_memory(seat, home, arrived) - arrived;
            let cold = queued + m.memory + m.shared + m.transfer;
            return m.lookup + 2 * trip + cold;
        }
        let dirty = s.flags & BODY_DIRTY != 0;
        let elsewhere = dirty && s.owner != seat.physical();
        let holder = if elsewhere { m.node_of(s.owner) } else { None };
        if let Some(node) = holder {
            let owned = m.directory + 2 * m.one_way(home, node) + m.owner;
            return m.lookup + 2 * trip + owned + m.transfer;
        }
        if s.flags & BODY_AWAY != 0 {
            return m.lookup + 2 * trip + m.directory + 2 * m.mean_trip + m.owner + m.transfer;
        }
        let near = m.cache_per_node && s.sharers & m.cluster_bit(seat.node()) != 0;
        m.lookup + if near { 0 } else { 2 * trip } + m.shared + m.transfer
    }

    /// The value of the counter at the chip's centre, and when the answer is back.
    pub(crate) fn count(&self, seat: &Seat, now: u64, occupancy: u64) -> (u64, u64) {
        let trip = self.model.one_way(seat.node(), self.model.centre);
        let done = (now + trip).max(self.counter_busy.get()) + occupancy;
        self.counter_busy.set(done);
        let value = self.counter.get();
        self.counter.set(value + 1);
        (value, done + trip)
    }

    /// A line with waiters was written, visibly from `time` on: wakes them. Returns the earliest key.
    #[cold]
    pub(crate) fn wake(&self, line: &SimLine, time: u64) -> u64 {
        line.clear_flag(WAITERS);
        self.waiting.wake(self.offset(line), time, &self.queue)
    }
}

/// The line is the core's alone, and changed.
#[inline(always)]
fn written_by(s: &mut State, physical: u32, cluster: u32) {
    if s.owner != physical && s.flags & BODY_DIRTY != 0 {
        s.flags = s.flags & !BODY_DIRTY | BODY_AWAY;
    }
    s.version = next_version(s.version);
    s.owner = physical;
    s.sharers = cluster;
    s.flags |= EXCLUSIVE;
}

/// The core has the line too. One that nobody else has is its own, and where `exclusive_reads` say so
/// it may be written without asking.
#[inline(always)]
fn read_by(s: &mut State, physical: u32, cluster: u32, (alone, exclusive_reads): (bool, bool)) {
    s.version = s.version.max(1);
    s.flags &= !EXCLUSIVE;
    if alone {
        s.owner = physical;
        s.flags |= if exclusive_reads { EXCLUSIVE } else { 0 };
    }
    s.sharers |= cluster;
}
