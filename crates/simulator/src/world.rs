//! State that the cores of a run share: caches, directory, memory, and waiting cores.
//!
//! # The directory
//!
//! Each line carries its own directory entry (`line.rs`). [`World::fetch`] is called when a core lacks a line, or may
//! not write it. It charges for the request and then changes the entry. The states of a line are:
//!
//! ```text
//!  untouched   version 0: no core has had the line
//!  exclusive   EXCLUSIVE: only the owner has the line, and can have changed it
//!  shared      sharers: cores in these clusters can have valid copies, and the shared cache can have the line
//! ```
//!
//! A line of any state can have been evicted from the shared cache. The fill stamp tells this: the cache has the line
//! as long as fewer lines than its capacity were filled since the line's last fetch. The request is answered by the
//! first of these that applies:
//! 1. Another core's private cache, if the line is exclusive and the owner still holds it: directory, trip to the
//!    owner, `owner_cycles`, transfer. A socket sends the line to the core that asks. A tile sends it by way of the
//!    directory.
//! 2. The shared cache, if it still has the line: latency, transfer. A write also invalidates the sharers, which takes
//!    the directory and a trip to the farthest sharer and back.
//! 3. Memory: the request queues for the memory of the line's home and for the link to it. No core shares the line
//!    then.
//!
//! On a machine of sockets each socket has a shared cache of its own. A request that the socket's own cache can answer
//! goes there instead of the line's home. A line that a core of another socket has written, and no longer holds, comes from
//! that socket's cache. A write to a line that the own socket shares with others needs the directory's permission, but no
//! data. If another socket reads a line that was written, the line also goes to memory, so the next write makes it return
//! there again.
//!
//! After a write the line is exclusive, with a new version, so all other copies are invalid. After a read it is
//! shared. If no other core has the line, the reader owns it, and with MESI (`exclusive_reads`) the line is exclusive.
//! "Exclusive" is what the directory knows: a private cache can still hold a line that memory has just served again.
//!
//! # Serialisation
//!
//! `busy` is the time until which a line serves no other request. A request that arrives earlier waits until then, so
//! requests for one line are served one after the other. A write or a transfer from an owner keeps the line busy until
//! it is done. A read from the shared cache keeps it busy only for `read_occupancy` cycles. Memories and links have queues
//! of the same kind.
//!
//! # Ways between sockets
//!
//! A line that moves from one socket to another occupies each link on the way (`ways.rs`), in the direction of the move.
//! The other direction is free meanwhile, unless the machine file says that both share the bandwidth (`directions_share`).
//! Requests and acknowledgements are short and occupy nothing. A line comes from
//! where it is: from the memory or the shared cache of its home, from the socket of the core that has changed it, or, if
//! it returns, from the socket that wrote it. If the machine file lists links, pairs of sockets can share them. So a socket
//! that has all data can't send more than its own links carry, however many sockets ask.
//!
//! A line that is written for the first time since it came from memory (`WRITTEN`) will return there once. The return
//! occupies the memory and the way at the time of the write. No core waits for it, but others queue behind it. It is not
//! charged when the line is evicted, because the model has no evictions: it notices only that a line is gone.
//!
//! A core enters these queues at the time of its turn, or at most a trip later. If it entered them at a later time, cores
//! with earlier turns would wait behind a request of the future.
//!
//! # Bodies
//!
//! The lines of a record's body have no entries of their own. The entry of the line that heads the record says where
//! they are (`body.rs`), and has one version for all of them. A core that writes a line of the body, while another core can
//! have copies of the body, changes this version. So a lock word on the head line can change hands, and the copies of columns
//! behind it stay valid. Which sockets have lines of bodies in their shared caches is kept by tables like those of the private
//! caches.

use crate::{
    body::{BodyState, Whereabouts},
    cache::{PrivateCaches, behind, identity},
    crews::Crews,
    line::{EXCLUSIVE, NOBODY, STAMP_MASK, SimLine, State, WAITERS, WRITTEN, next_version},
    model::{Model, Seat},
    queue::{Tournament, time_of},
    scheduler::prefetch,
    traffic::Traffic,
    waiting::Waiting,
};
use machine::{Arena, Breakdown, Movement, SettledRanges, StandIns, cold::Arc};
use std::{cell::Cell, io};

/// Number of cycles by which a place in a queue can be ahead of the cores: more than the longest trip takes.
const AHEAD: u64 = 2000;

/// Movements out of memory, out of a shared cache, out of another core's cache, and back to memory: near and far.
const MEMORY: (Movement, Movement) = (Movement::NearMemory, Movement::FarMemory);
const SHARED: (Movement, Movement) = (Movement::NearCache, Movement::FarCache);
const OWNER: (Movement, Movement) = (Movement::NearCore, Movement::FarCore);
const RETURN: (Movement, Movement) = (Movement::NearReturn, Movement::FarReturn);

/// Bit that distinguishes lines of a page table from other lines.
const PAGE_TABLE: u64 = 1 << 63;

/// Number of lines of a stack, from its top on, that a turn mostly touches: of a shallow stack, and of a deep one. The calls
/// of an engine are deeper than those of a loop that is written for the simulator. Lines behind the base would be fetched
/// for nothing, and displace others.
const SHALLOW_LINES: usize = 4;
const DEEP_LINES: usize = 12;
/// Bytes of a host's cache line.
const HOST_LINE: usize = 64;

/// Top of a stack: the address of its line, and 1 more if the stack is deep.
#[derive(Clone, Copy)]
pub(crate) struct Stack(*const u8);

impl Stack {
    #[inline(always)]
    pub(crate) fn new(top: *const u8, base: *const u8) -> Stack {
        let deep = (base as usize).wrapping_sub(top as usize) > DEEP_LINES * HOST_LINE;
        let within = top as usize % HOST_LINE;
        Stack(top.wrapping_sub(within).wrapping_add(usize::from(deep)))
    }

    #[inline(always)]
    fn is_deep(self) -> bool {
        !(self.0 as usize).is_multiple_of(HOST_LINE)
    }

    /// Asks the host to fetch `lines` lines from the top on.
    #[inline(always)]
    fn prefetch(self, lines: usize) {
        for line in 0..lines {
            prefetch(self.0.wrapping_add(HOST_LINE * line));
        }
    }
}

/// Addresses on the host of what a core touches in its next turn. They are packed, because a prefetch must not wait
/// for the addresses themselves.
#[repr(align(32))]
pub(crate) struct Needs {
    /// Top of the core's stack.
    pub stack: Cell<Stack>,
    /// Line that the core is about to use.
    pub line: Cell<*const SimLine>,
    /// Entry for that line in the core's private cache.
    pub entry: Cell<*const u8>,
    /// Time at which the core's store buffer is empty. It lies here because a core itself has no room left on its line.
    pub drained: Cell<u64>,
}

impl Needs {
    /// Returns the needs of a core that has not run yet: nothing.
    fn nothing() -> Needs {
        Needs {
            stack: Cell::new(Stack(std::ptr::null())),
            line: Cell::new(std::ptr::null()),
            entry: Cell::new(std::ptr::null()),
            drained: Cell::new(0),
        }
    }

    /// Asks the host to fetch what is named here, but for the stack.
    #[inline(always)]
    fn prefetch(&self) {
        prefetch(self.line.get().cast());
        prefetch(self.entry.get());
    }
}

/// Time of a core by category, on lines of the host of its own. Accesses of a transaction touch the first two.
#[repr(align(64))]
pub(crate) struct Stopwatch(pub Breakdown);

/// Number of lines of a stopwatch that a turn mostly touches.
const STOPWATCH_LINES: usize = 2;

/// State that the cores of a run share. All cores run on one thread, so cells suffice.
pub(crate) struct World {
    pub model: Model,
    /// The needs of each core in its next turn.
    pub needs: Box<[Needs]>,
    /// Time of each core by category.
    pub breakdowns: Box<[Stopwatch]>,
    pub arena: Arc<Arena>,
    /// Ranges of the arena whose parts lie on different nodes.
    settled: SettledRanges,
    /// Address at which the arena begins. It is kept here because every operation computes a line's offset from it.
    start: usize,
    pub queue: Tournament,
    pub waiting: Waiting,
    /// Fibers that share a core, if cores have several.
    pub crews: Option<Crews>,
    /// Smallest key of all cores except the running one. The running core may go on without a switch up to this key.
    pub limit: Cell<u64>,
    /// Number of cycles by which a core may run ahead of its turn on lines that it holds.
    pub lookahead: u64,
    pub l1: PrivateCaches,
    pub l2: Option<PrivateCaches>,
    /// Lines of bodies in the shared caches of the sockets, on a machine of sockets.
    socket_bodies: Option<PrivateCaches>,
    /// Caches of address translations.
    tlb: Option<PrivateCaches>,
    /// Objects that are longer on the modelled hardware than in the arena.
    stand_ins: StandIns,
    /// Number of lines filled from memory, over all runs.
    pub fills: Cell<u64>,
    /// Time until which each node's memory is busy, in 1/256 cycles.
    memories: Box<[Cell<u64>]>,
    /// Time until which each link is busy in one direction, in 1/256 cycles. Empty on a mesh.
    links: Box<[Cell<u64>]>,
    /// Number of lines moved in this run.
    pub traffic: Traffic,
    /// Number of shared-memory operations of this run.
    pub operations: Cell<u64>,
    pub ticks_per_second: u64,
    /// Value of the hardware counter.
    pub counter: Cell<u64>,
    /// Time until which the hardware counter is busy.
    pub counter_busy: Cell<u64>,
    /// Set while the run is being torn down. No core may wait any more.
    pub ending: Cell<bool>,
    /// Set once every worker has ended. Services run their last round.
    pub closing: Cell<bool>,
}

impl World {
    /// Bytes of the host that this state takes for each core, without caches.
    pub(crate) const BYTES_PER_CORE: usize = 2 * size_of::<u64>()
        + size_of::<Needs>()
        + size_of::<Stopwatch>()
        + Waiting::BYTES_PER_CORE
        + size_of::<Seat>();

    pub(crate) fn new(
        model: Model,
        arena: Arc<Arena>,
        fills: u64,
        ticks_per_second: u64,
        lookahead: bool,
    ) -> io::Result<World> {
        let cores = model.seats.len();
        let caches = |lines: usize| PrivateCaches::new(model.physical_cores(), lines);
        Ok(World {
            needs: (0..cores).map(|_| Needs::nothing()).collect(),
            breakdowns: (0..cores).map(|_| Stopwatch(Breakdown::new(true))).collect(),
            queue: Tournament::new(cores),
            waiting: Waiting::new(cores),
            crews: None,
            limit: Cell::new(0),
            lookahead: if lookahead { model.lookahead } else { 0 },
            l1: caches(model.l1_lines)?,
            l2: if model.l2_lines == 0 { None } else { Some(caches(model.l2_lines)?) },
            socket_bodies: if model.cache_per_node {
                Some(PrivateCaches::new(model.nodes as usize, model.node_lines)?)
            } else {
                None
            },
            tlb: if model.tlb_entries == 0 { None } else { Some(caches(model.tlb_entries)?) },
            stand_ins: arena.stand_ins(),
            fills: Cell::new(fills),
            memories: vec![Cell::new(0); model.nodes as usize].into_boxed_slice(),
            links: vec![Cell::new(0); model.links()].into_boxed_slice(),
            traffic: Traffic::default(),
            operations: Cell::new(0),
            ticks_per_second,
            counter: Cell::new(0),
            counter_busy: Cell::new(0),
            ending: Cell::new(false),
            closing: Cell::new(false),
            start: arena.address(0) as usize,
            settled: arena.settled(),
            model,
            arena,
        })
    }

    /// Asks the host to fetch what core `id` touches in its next turn. A core with a deep stack runs an engine, which also
    /// accounts for its time.
    #[inline(always)]
    pub(crate) fn prefetch_for(&self, id: usize) {
        let needs = &self.needs[id];
        let stack = needs.stack.get();
        if stack.is_deep() {
            stack.prefetch(DEEP_LINES);
            let stopwatch = std::ptr::from_ref(&self.breakdowns[id]).cast::<u8>();
            for line in 0..STOPWATCH_LINES {
                prefetch(stopwatch.wrapping_add(HOST_LINE * line));
            }
        } else {
            stack.prefetch(SHALLOW_LINES);
        }
        needs.prefetch();
    }

    /// Returns the memory node of `offset`.
    #[inline(always)]
    fn node_of(&self, offset: u64) -> u16 {
        let settled = if self.settled.is_empty() { None } else { self.settled.node_of(offset) };
        settled.unwrap_or_else(|| self.arena.node_of(offset))
    }

    #[inline(always)]
    pub(crate) fn count_operation(&self) {
        self.operations.set(self.operations.get() + 1);
    }

    /// Returns where the line's metadata lies in the arena. This offset names the line.
    #[inline(always)]
    pub(crate) fn offset(&self, line: &SimLine) -> u64 {
        (std::ptr::from_ref(line) as usize - self.start) as u64
    }

    /// Returns true if `physical` still has the line under `version` in a private cache.
    #[inline(always)]
    fn holds(&self, physical: u32, identity: u64, version: u32) -> bool {
        self.l1.holds(physical, identity, version)
            || self.l2.as_ref().is_some_and(|l2| l2.holds(physical, identity, version))
    }

    /// Returns the cycles in which the core at `seat` finds the physical address of `offset`.
    ///
    /// If its cache of translations lacks the page, the core reads the page table. An entry has 8 bytes, so eight
    /// neighbouring pages share a line. These lines compete with others for the second-level cache. The shared cache is
    /// taken to have them all: the lines of a page table are used far more often than those of its pages.
    pub(crate) fn translate(&self, seat: &Seat, offset: u64) -> u64 {
        let Some(tlb) = &self.tlb else { return 0 };
        let (m, core) = (&self.model, seat.physical());
        let page = self.stand_ins.address_of(offset) >> m.page_shift;
        let id = identity(page << 3);
        if tlb.holds(core, id, 1) {
            return 0;
        }
        tlb.fill(core, id, 1);
        let entries = identity(PAGE_TABLE | page & !7);
        match &self.l2 {
            Some(l2) if l2.holds(core, entries, 1) => m.l2,
            Some(l2) => {
                l2.fill(core, entries, 1);
                m.lookup + m.shared
            }
            None => m.lookup + m.shared,
        }
    }

    /// Returns the time, in 1/256 cycles, at which a request of time `now` takes its place in queues. A core can be ahead of
    /// all others by the wait for a line in great demand. Its place is then at most [`AHEAD`] cycles ahead of them, because
    /// cores that come with earlier requests would wait behind a place in the future.
    #[inline(always)]
    fn place(&self, now: u64) -> u64 {
        let others = time_of(self.limit.get()).saturating_add(AHEAD);
        now.min(others) << 8
    }

    /// Queues for the memory of `home`, and for the way from there. Returns the time at which both can move the line.
    fn queue_for_memory<const ORDERED: bool>(&self, seat: &Seat, home: u32, now: u64) -> u64 {
        let (place, time) = (self.place(now), self.model.memory_line_time);
        self.traffic.count(MEMORY, home != seat.node());
        let read = queue::<ORDERED>(&self.memories[home as usize], place, time);
        let moved = match self.links.is_empty() {
            true => read,
            false => read.max(self.queue_for_way::<ORDERED>(home, seat.node(), place)),
        };
        now.max(moved >> 8)
    }

    /// Queues for all links on the way from one node to another. Returns the time at which all can move a line. Times are
    /// in 1/256 cycles.
    ///
    /// A request takes its places in all queues at the same time. If it took each place when it has left the queue before,
    /// queues that requests pass in different orders would push each other's places into the future, and stand idle until
    /// then.
    fn queue_for_way<const ORDERED: bool>(&self, from: u32, to: u32, place: u64) -> u64 {
        self.model.way(from, to).iter().fold(place, |free, hop| {
            let link = &self.links[hop.link as usize];
            free.max(queue::<ORDERED>(link, place, u64::from(hop.line_time)))
        })
    }

    /// Returns the time at which a line that is `ready` at the node `from` can leave for the core at `seat`. The place in
    /// the queue is that of `arrived`, the time of the request: a line can be busy for long, and the way is free for
    /// others meanwhile.
    #[inline(always)]
    fn leave<const ORDERED: bool>(&self, from: u32, seat: &Seat, arrived: u64, ready: u64) -> u64 {
        if self.links.is_empty() || from == seat.node() {
            // Nothing queues, and a line is never ready before its request.
            return ready;
        }
        ready.max(self.queue_for_way::<ORDERED>(from, seat.node(), self.place(arrived)) >> 8)
    }

    /// Notes that the core at `seat` has written `line`. A line that is written for the first time since it came from
    /// memory will return there once.
    pub(crate) fn note_written(&self, seat: &Seat, line: &SimLine, identity: u64, now: u64) {
        line.set_flag(WRITTEN);
        self.write_back(seat, (self.offset(line), identity), 0, now);
    }

    /// Occupies what the return of line `part` of an object to its memory needs. No core waits for it. It is charged when
    /// the line becomes dirty, because most lines are never asked for again in a run.
    pub(crate) fn write_back(&self, seat: &Seat, (offset, id): (u64, u64), part: u64, now: u64) {
        let home = self.model.home(id, part, offset, |o| self.node_of(o));
        let place = self.place(now);
        self.traffic.count(RETURN, home != seat.node());
        self.queue_for_way::<true>(seat.node(), home, place);
        queue::<true>(&self.memories[home as usize], place, self.model.memory_line_time);
    }

    /// Returns the time at which the memory of `home` has served a line whose directory is asked at `start`. The request
    /// has `arrived` there before, if the line was busy. Its place in the queues is that of its arrival, as in
    /// [`World::leave`].
    #[inline(always)]
    fn served_by_memory<const ORDERED: bool>(
        &self,
        seat: &Seat,
        home: u32,
        arrived: u64,
        start: u64,
    ) -> u64 {
        let m = &self.model;
        let queued = self.queue_for_memory::<ORDERED>(seat, home, arrived + m.directory);
        let served = queued.max(start + m.directory);
        served + m.memory.max(m.directory) + m.shared.saturating_sub(m.directory) + m.transfer
    }

    /// Returns the node whose shared cache has the data of a line in state `s` that was not found in a private cache. The
    /// directory at `hub` knows it.
    #[inline(always)]
    fn cache_with_data(&self, seat: &Seat, hub: u32, s: &State) -> u32 {
        let m = &self.model;
        if !m.cache_per_node {
            hub
        } else if s.sharers & m.cluster_bit(seat.node()) != 0 {
            // The own socket has the line, and the directory only has to permit a write.
            seat.node()
        } else if s.flags & EXCLUSIVE != 0 {
            m.node_of(s.owner).unwrap_or(hub)
        } else {
            hub
        }
    }

    /// Returns the time of a line's trip from the node `from` to the core at `seat`, if the directory at `hub` was asked. A
    /// socket sends the line directly. On a chip of tiles it passes the directory's slice of the shared cache, from which a
    /// message to the core takes `trip`.
    #[inline(always)]
    fn trip_of_line(&self, from: u32, hub: u32, seat: &Seat, trip: u64) -> u64 {
        let m = &self.model;
        match m.cache_per_node {
            true => m.one_way(from, seat.node()),
            false => m.one_way(from, hub) + trip,
        }
    }

    /// Returns the times at which a shared cache has served a line in state `s` whose directory at `hub` is asked at
    /// `start`: as the directory sees it, and as the core sees it. The request has `arrived` at the directory before, if the
    /// line was busy. A message between the two takes `trip`.
    #[inline(always)]
    fn served_by_cache<const WRITE: bool, const ORDERED: bool>(
        &self,
        seat: &Seat,
        hub: u32,
        s: &State,
        (arrived, start): (u64, u64),
        trip: u64,
    ) -> (u64, u64) {
        let m = &self.model;
        let from = self.cache_with_data(seat, hub, s);
        self.traffic.count(SHARED, from != seat.node());
        let (mut done, mut arrives);
        if from == hub {
            done = self.leave::<ORDERED>(hub, seat, arrived, start + m.shared) + m.transfer;
            arrives = done + trip;
        } else if from == seat.node() {
            // No data move: the answer of the directory is all that the core waits for.
            done = start + m.directory;
            arrives = done + trip;
        } else {
            let ready = start + m.directory + m.one_way(hub, from) + m.shared;
            let sent = self.leave::<ORDERED>(from, seat, arrived, ready) + m.transfer;
            done = sent + m.one_way(from, hub);
            arrives = sent + self.trip_of_line(from, hub, seat, trip);
        }
        let others = s.sharers & !m.cluster_bit(seat.node());
        let alone = others == 0 && s.owner == seat.physical();
        if WRITE && !alone && s.sharers != 0 {
            let invalid = start + m.directory + 2 * m.farthest(hub, s.sharers);
            done = done.max(invalid);
            arrives = arrives.max(invalid + trip);
        }
        (done, arrives)
    }

    /// Moves a line that the core at `seat` lacks (or may not write) to the core, starting at `now` or later. Returns
    /// the time at which it has arrived.
    ///
    /// Reads of words that never change are not `ORDERED`. They neither wait for the line nor make other requests
    /// wait, because they can be simulated before earlier operations of other cores.
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
        let home = m.home(id, 0, offset, |o| self.node_of(o));
        let mine = m.cluster_bit(seat.node());
        let fills = self.fills.get();
        let cached = s.version != 0 && m.is_cached(s.stamp, fills);
        // A core that holds the line exclusively can have changed it, so the line must come from that core.
        let exclusive = s.flags & EXCLUSIVE != 0;
        let elsewhere = exclusive && s.owner != seat.physical();
        let owner_node = if elsewhere { m.node_of(s.owner) } else { None }
            .filter(|_| self.holds(s.owner, id, s.version));
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
        let arrives;
        if let Some(node) = owner_node {
            self.traffic.count(OWNER, node != seat.node());
            let ready = start + m.directory + m.one_way(hub, node) + m.owner;
            let sent = self.leave::<ORDERED>(node, seat, arrived, ready) + m.transfer;
            s.busy = sent + m.one_way(node, hub);
            arrives = sent + self.trip_of_line(node, hub, seat, trip);
            if !WRITE && m.cache_per_node && node != seat.node() {
                // The line goes to memory as well. The next write makes it return there once more.
                s.flags &= !WRITTEN;
            }
        } else if cached {
            let served =
                self.served_by_cache::<WRITE, ORDERED>(seat, hub, &s, (arrived, start), trip);
            s.busy = if WRITE { served.0 } else { start + m.read_occupancy };
            arrives = served.1;
        } else {
            s.busy = self.served_by_memory::<ORDERED>(seat, home, arrived, start);
            arrives = s.busy + trip;
            s.sharers = 0;
            s.flags &= !WRITTEN;
            s.body_shared = false;
            s.body = BodyState::IN_MEMORY;
            self.fills.set(fills + 1);
        }
        if !ORDERED {
            s.busy = busy;
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
        arrives
    }

    /// Puts the line into the private caches of the core at `seat`.
    #[inline]
    pub(crate) fn hold(&self, seat: &Seat, identity: u64, version: u32) {
        self.l1.fill(seat.physical(), identity, version);
        if let Some(l2) = &self.l2 {
            l2.fill(seat.physical(), identity, version);
        }
    }

    /// Returns the cycles that the core at `seat` needs for line `part` of a body. The core holds the record's head
    /// line, or has just read it, in state `s`. The line's new place is noted in `after`.
    ///
    /// `shared` is set for a write of lines of which other cores can have copies. A core that has such a line needs the
    /// directory's permission.
    pub(crate) fn body_line(
        &self,
        seat: &Seat,
        (s, shared): (&State, bool),
        after: &mut BodyState,
        (offset, head): (u64, u64),
        (part, now): (u64, u64),
    ) -> u64 {
        let m = &self.model;
        let id = behind(head, part);
        let version = body_version(s, part);
        let home = || m.home(head, part, offset, |o| self.node_of(o));
        let permission = || if shared { self.permission(seat, home()) } else { 0 };
        if let Some(cycles) = self.private_copy(seat, id, version) {
            return cycles + permission();
        }
        let (home, node) = (home(), seat.node());
        let socket_has = |socket: u32| match &self.socket_bodies {
            Some(bodies) => bodies.holds(socket, id, version),
            None => false,
        };
        let (near, at_home) = (socket_has(node), socket_has(home) || !m.cache_per_node);
        self.hold_body(seat, id, version);
        let trip = m.one_way(seat.node(), home);
        let arrived = now + m.lookup + trip;
        let leave = |node| self.leave::<true>(node, seat, arrived, arrived) - arrived;
        let owner = if s.owner == seat.physical() { None } else { m.node_of(s.owner) };
        let asked = arrived + m.directory;
        let from_memory =
            |queued: u64| m.lookup + 2 * trip + (queued - asked) + m.memory + m.shared + m.transfer;
        match (s.body.of(part), owner) {
            (Whereabouts::Memory, _) => {
                after.set(part, Whereabouts::Shared);
                self.fills.set(self.fills.get() + 1);
                from_memory(self.queue_for_memory::<true>(seat, home, asked))
            }
            (Whereabouts::Owner, Some(node)) => {
                self.traffic.count(OWNER, node != seat.node());
                // A line that another socket reads is written to memory, and within a socket it stays modified.
                if node != seat.node() {
                    after.set(part, Whereabouts::Shared);
                }
                let owned = m.directory + m.one_way(home, node) + m.owner;
                let back = self.trip_of_line(node, home, seat, trip);
                m.lookup + trip + owned + leave(node) + m.transfer + back
            }
            (Whereabouts::Shared | Whereabouts::Owner, _) if near || at_home => {
                self.traffic.count(SHARED, !near && home != node);
                let way = if near { 0 } else { 2 * trip + leave(home) };
                m.lookup + way + m.shared + m.transfer
            }
            (Whereabouts::Shared | Whereabouts::Owner, _) => {
                // The cache of the line's home has lost it, or never had it: lines of a group have one state. Memory has what was
                // written to it.
                // The core can be ahead of its turn here.
                from_memory(self.queue_for_memory::<false>(seat, home, asked))
            }
            (Whereabouts::Away, _) => {
                after.set(part, Whereabouts::Shared);
                self.traffic.count(OWNER, home != seat.node());
                // Where exactly the line is, is not known. It comes over the way from its home.
                let owned = m.directory + 2 * m.mean_trip + m.owner;
                m.lookup + 2 * trip + owned + leave(home) + m.transfer
            }
        }
    }

    /// Returns the cycles in which the core at `seat` reads its own copy of a line, if it has one.
    #[inline]
    fn private_copy(&self, seat: &Seat, identity: u64, version: u32) -> Option<u64> {
        if self.l1.holds(seat.physical(), identity, version) {
            return Some(self.model.l1);
        }
        self.l2.as_ref().filter(|l2| l2.holds(seat.physical(), identity, version))?;
        self.l1.fill(seat.physical(), identity, version);
        Some(self.model.l2)
    }

    /// Returns the cycles in which the core at `seat` gets the permission to write a line that it has, from the directory of
    /// `home`.
    #[inline]
    fn permission(&self, seat: &Seat, home: u32) -> u64 {
        2 * self.model.one_way(seat.node(), home) + self.model.directory
    }

    /// Puts a line of a body into the private caches of the core at `seat`, and into the shared cache of its socket.
    #[inline]
    pub(crate) fn hold_body(&self, seat: &Seat, identity: u64, version: u32) {
        self.hold(seat, identity, version);
        if let Some(bodies) = &self.socket_bodies {
            bodies.fill(seat.node(), identity, version);
        }
    }

    /// Increments the counter at the chip's centre. Returns its value before, and the time at which the answer
    /// arrives.
    pub(crate) fn count(&self, seat: &Seat, now: u64, occupancy: u64) -> (u64, u64) {
        let trip = self.model.one_way(seat.node(), self.model.centre);
        let done = (now + trip).max(self.counter_busy.get()) + occupancy;
        self.counter_busy.set(done);
        let value = self.counter.get();
        self.counter.set(value + 1);
        (value, done + trip)
    }

    /// Wakes the waiters of a line that was written, visibly from `time` on. Returns the earliest of their keys.
    #[cold]
    pub(crate) fn wake(&self, line: &SimLine, time: u64) -> u64 {
        line.clear_flag(WAITERS);
        self.waiting.wake(self.offset(line), time, &self.queue)
    }
}

/// Returns the version under which caches hold line `part` of a body whose head line has state `s`.
#[inline(always)]
pub(crate) fn body_version(s: &State, part: u64) -> u32 {
    // A cache holds no line under version 0.
    if part == 0 { s.version } else { s.body_hands + 1 }
}

/// Queues from `from` on for something that is needed for `time`. Returns the time at which it is free.
///
/// A request that is not `ORDERED` can be simulated before earlier requests of other cores. It takes its share, but does
/// not make those requests wait until its own time.
#[inline(always)]
fn queue<const ORDERED: bool>(busy: &Cell<u64>, from: u64, time: u64) -> u64 {
    let start = busy.get().max(from);
    busy.set(time + if ORDERED { start } else { busy.get() });
    start
}

/// Changes the state of a line that the core has acquired for writing: the line is exclusive and has a new version.
#[inline(always)]
fn written_by(s: &mut State, physical: u32, cluster: u32) {
    if s.owner != physical {
        s.body = s.body.after_change_of_owner();
        s.body_shared |= s.owner != NOBODY;
    }
    s.version = next_version(s.version);
    s.owner = physical;
    s.sharers = cluster;
    s.flags |= EXCLUSIVE;
}

/// Changes the state of a line that the core has read. If no other core has the line (`alone`), the reader owns it.
/// With `exclusive_reads` it may also write the line without asking.
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
