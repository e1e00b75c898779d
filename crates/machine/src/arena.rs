//! Shared memory that is addressed by 64-bit offsets.
//!
//! An arena reserves address space once. The system fills in pages when they are touched first. Offsets are
//! handed out from the front to the back of the reservation, and `Region::next` is the first offset that is
//! still free.
//!
//! A record is identified by its offset and never by a pointer. So a simulation is deterministic wherever the
//! arena lies, and several processes could map the same arena.
//!
//! If there are several memory nodes, each has an equal part of the offsets, whose size is a power of two. The
//! node of an offset is therefore its upper bits.

mod ahead;

use crate::{
    Zeroed,
    cold::{Arc, Mutex},
    pages::{self, Mapped},
    settled::{SettledRange, SettledRanges},
    stand_ins::StandIns,
};
use ahead::Ahead;
use std::{
    fmt,
    ops::Deref,
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

/// First offset that is handed out. Offset 0 is never handed out: it stands for "none" in chains and slots.
const FIRST_OFFSET: u64 = 4096;
const HUGE_PAGE: u64 = 2 << 20;
/// Size of a page. A larger page of the system only makes clearing slower.
const PAGE: u64 = 4096;
/// The least that is reserved for a node if the system refuses more, times two, in bytes.
const LEAST_RESERVED: u64 = 128 << 20;

/// Memory node on which an allocation should lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Place {
    /// The arena's own node: the first one, or the one given to [`Arena::on`].
    #[default]
    Any,
    /// This memory node.
    Node(u16),
}

/// Options of an arena.
#[derive(Clone, Debug)]
pub struct ArenaOptions {
    /// Address space to reserve, in bytes. It costs nothing until it is touched. If the system refuses so much
    /// (`ulimit -v`, strict overcommit), the arena reserves what the system grants, at least 64 MiB a node.
    pub reserve_bytes: u64,
    /// Number of memory nodes. Each gets an equal part of the offsets.
    pub nodes: u16,
    /// Set if the arena asks for huge pages. The request has no effect if the system has none.
    pub huge_pages: bool,
    /// Set if most pages are read before they are written, as where the memory models that of another machine. The first access
    /// to a small page then costs a sixth, if two threads of the process have a processor each.
    pub read_first: bool,
    /// Node beside which each session runs, in the order of their numbers. Further sessions run beside the last one's.
    /// Memory that belongs to a session lies on its node ([`Arena::beside`]). `None` if sessions have no node.
    pub session_nodes: Option<Arc<[u16]>>,
    /// Socket on which each session runs, in the order of their numbers ([`Arena::socket_of`]). `None` if that is not known,
    /// or if there are no sockets.
    pub session_sockets: Option<Arc<[u16]>>,
    /// Node on which the rows of each partition should lie, by the number of the partition. None if rows lie where
    /// their table does.
    pub partition_nodes: Option<Arc<[u16]>>,
}

impl Default for ArenaOptions {
    fn default() -> Self {
        ArenaOptions {
            reserve_bytes: 1 << 40,
            nodes: 1,
            huge_pages: false,
            read_first: false,
            session_nodes: None,
            session_sockets: None,
            partition_nodes: None,
        }
    }
}

/// Error: there is no room for an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Number of bytes asked for.
    pub asked: u64,
    /// Number of bytes that were left.
    pub left: u64,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of memory: {} bytes asked for, {} left", self.asked, self.left)
    }
}

impl std::error::Error for OutOfMemory {}

/// The part of an arena's offsets that belongs to one memory node.
struct Region {
    /// First offset that is still free.
    next: AtomicU64,
    /// End of the offsets that can be handed out. [`Arena::limit`] lowers it.
    end: AtomicU64,
    /// Number of bytes in `released`.
    released_bytes: AtomicU64,
    /// Extents that were given back: offset and length, in the order of their offsets. No two of them touch.
    released: Mutex<Vec<(u64, u64)>>,
    ahead: Mutex<Ahead>,
}

impl Region {
    fn new(next: u64, end: u64) -> Region {
        Region {
            next: AtomicU64::new(next),
            end: AtomicU64::new(end),
            released_bytes: AtomicU64::new(0),
            released: Mutex::new(Vec::new()),
            ahead: Mutex::default(),
        }
    }

    /// Takes `bytes` bytes from an extent that was given back, the first one with room.
    #[cold]
    fn reuse(&self, bytes: u64, align: u64) -> Option<u64> {
        let mut released = self.released.lock();
        let fits = |(offset, length): &(u64, u64)| {
            offset.next_multiple_of(align) + bytes <= offset + length
        };
        let at = released.iter().position(fits)?;
        let (offset, length) = released.remove(at);
        let start = offset.next_multiple_of(align);
        let (before, behind) = ((offset, start - offset), (start + bytes, offset + length));
        if behind.0 < behind.1 {
            released.insert(at, (behind.0, behind.1 - behind.0));
        }
        if before.1 > 0 {
            released.insert(at, before);
        }
        self.released_bytes.fetch_sub(bytes, Ordering::Relaxed);
        Some(start)
    }

    /// Takes an extent back.
    fn release(&self, offset: u64, length: u64) {
        let mut released = self.released.lock();
        let at = released.partition_point(|(other, _)| *other < offset);
        released.insert(at, (offset, length));
        // Extents that touch become one.
        for left in [at, at.saturating_sub(1)] {
            if let Some(&(second, more)) = released.get(left + 1)
                && released[left].0 + released[left].1 == second
            {
                released[left].1 += more;
                released.remove(left + 1);
            }
        }
        self.released_bytes.fetch_add(length, Ordering::Relaxed);
    }
}

/// A reservation of address space, handed out from front to back. Single allocations are not given back. The
/// storage layer reuses freed memory, slot by slot. What a [recording](Arena::recording) handle has handed out can be
/// given back as a whole.
///
/// An `Arena` is a handle. [`Arena::on`] makes another handle of the same memory, with another node of its own.
pub struct Arena {
    base: NonNull<u8>,
    bytes: u64,
    /// Binary logarithm of the bytes per node: an offset shifted right by this is its node.
    node_shift: u32,
    huge_pages: bool,
    /// The node that [`Place::Any`] means.
    node: u16,
    session_nodes: Option<Arc<[u16]>>,
    mapping: Arc<Mapping>,
    /// Extents that this handle has handed out, if it records them.
    extents: Option<Mutex<Vec<(u64, u64)>>>,
}

// SAFETY: the arena hands out disjoint memory through atomics. The values in it are `Sync` by the bounds of
// `Shared` and [`Arena::at`].
unsafe impl Send for Arena {}
// SAFETY: as for `Send`.
unsafe impl Sync for Arena {}

/// The memory itself. All handles share it.
struct Mapping {
    base: NonNull<u8>,
    bytes: u64,
    mapped: Mapped,
    regions: Vec<Region>,
    partition_nodes: Option<Arc<[u16]>>,
    session_sockets: Option<Arc<[u16]>>,
    settled: Mutex<SettledRanges>,
    stand_ins: Mutex<StandIns>,
}

// SAFETY: a mapping is used only through an arena.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

impl Arena {
    /// Reserves address space. Fails if the system refuses even a small amount.
    pub fn new(options: &ArenaOptions) -> Result<Arena, OutOfMemory> {
        let nodes = u64::from(options.nodes.max(1));
        let asked = (options.reserve_bytes.max(HUGE_PAGE) / nodes).next_power_of_two();
        let mapped = if options.read_first { Mapped::AtOnce } else { Mapped::Privately };
        let (base, per_node) = Self::reserve(asked, nodes, mapped)?;
        let bytes = per_node * nodes;
        pages::advise_huge(base.as_ptr(), bytes, options.huge_pages);
        let regions = (0..nodes)
            .map(|n| {
                let first = n * per_node + if n == 0 { FIRST_OFFSET } else { 0 };
                Region::new(first, (n + 1) * per_node)
            })
            .collect();
        Ok(Arena {
            base,
            bytes,
            node_shift: per_node.trailing_zeros(),
            huge_pages: options.huge_pages,
            node: 0,
            session_nodes: options.session_nodes.clone(),
            mapping: Arc::new(Mapping {
                base,
                bytes,
                mapped,
                regions,
                partition_nodes: options.partition_nodes.clone(),
                session_sockets: options.session_sockets.clone(),
                settled: Mutex::default(),
                stand_ins: Mutex::default(),
            }),
            extents: None,
        })
    }

    /// Reserves `asked` bytes, a power of two, for each of `nodes` nodes. If the system refuses, it reserves half of
    /// the largest power of two that the system grants. The other half is left for the rest of the process, which has
    /// to share the limit.
    fn reserve(asked: u64, nodes: u64, mapped: Mapped) -> Result<(NonNull<u8>, u64), OutOfMemory> {
        let mut per_node = asked;
        loop {
            let bytes = per_node * nodes;
            match pages::reserve(bytes, mapped) {
                Some(base) if per_node == asked => return Ok((base, per_node)),
                Some(base) => {
                    // SAFETY: the reservation was made just now, and nothing refers to it.
                    unsafe { pages::release(base, bytes) };
                    let half = per_node / 2;
                    let base = pages::reserve(half * nodes, mapped);
                    let refused = OutOfMemory { asked: half * nodes, left: 0 };
                    return base.map(|base| (base, half)).ok_or(refused);
                }
                None if per_node > LEAST_RESERVED => per_node /= 2,
                None => return Err(OutOfMemory { asked: asked * nodes, left: 0 }),
            }
        }
    }

    /// Returns a handle of the same memory whose own node is `node`. Panics if there is no such node.
    pub fn on(&self, node: u16) -> Arc<Arena> {
        assert!(node < self.nodes(), "node {node} of {}", self.nodes());
        let (session_nodes, mapping) = (self.session_nodes.clone(), self.mapping.clone());
        Arc::new(Arena { node, session_nodes, mapping, extents: None, ..*self })
    }

    /// Returns a handle of the same memory that records what it hands out, for [`Arena::release`].
    pub fn recording(&self) -> Arc<Arena> {
        let extents = Some(Mutex::default());
        let (session_nodes, mapping) = (self.session_nodes.clone(), self.mapping.clone());
        Arc::new(Arena { session_nodes, mapping, extents, ..*self })
    }

    /// Gives back everything that this handle has handed out, filled with zeros. Returns the number of bytes. Does nothing
    /// if the handle does not record.
    ///
    /// # Safety
    /// Nothing may refer to the memory any more.
    pub unsafe fn release(&self) -> u64 {
        let Some(extents) = &self.extents else { return 0 };
        let mut total = 0;
        for (offset, length) in std::mem::take(&mut *extents.lock()) {
            // SAFETY: this handle has handed the range out, and the caller promises that nothing refers to it.
            unsafe { self.clear(offset, length) };
            self.mapping.regions[usize::from(self.node_of(offset))].release(offset, length);
            total += length;
        }
        total
    }

    /// Fills a range with zeros.
    ///
    /// # Safety
    /// The range was handed out, and nothing refers to it.
    unsafe fn clear(&self, offset: u64, length: u64) {
        let (first, end) = (offset.next_multiple_of(PAGE), (offset + length) / PAGE * PAGE);
        let zero = |from: u64, to: u64| {
            // SAFETY: the caller promises that the range lies in the arena and is not used.
            unsafe { self.address(from).write_bytes(0, (to - from) as usize) };
        };
        if first >= end {
            return zero(offset, offset + length);
        }
        zero(offset, first);
        zero(end, offset + length);
        // SAFETY: whole pages of a range that was handed out and is not used.
        unsafe { pages::clear(self.address(first), end - first, self.mapping.mapped) };
    }

    /// Returns where memory that belongs to session number `session` should lie.
    pub fn beside(&self, session: usize) -> Place {
        let Some(nodes) = &self.session_nodes else { return Place::Any };
        let node = nodes.get(session).or(nodes.last()).copied().unwrap_or(0);
        Place::Node(node.min(self.nodes() - 1))
    }

    /// Returns the socket on which session number `session` runs, if that is known. Sessions of a socket share a cache.
    pub fn socket_of(&self, session: usize) -> Option<u16> {
        let sockets = self.mapping.session_sockets.as_ref()?;
        sockets.get(session).or(sockets.last()).copied()
    }

    /// Returns a handle of the same memory whose own node is that of session number `session`.
    pub fn near(&self, session: usize) -> Arc<Arena> {
        match self.beside(session) {
            Place::Node(node) => self.on(node),
            Place::Any => self.on(self.node),
        }
    }

    /// Hands out `bytes` bytes for each of `sessions` sessions, which follow each other. Each part lies beside its session,
    /// if sessions have nodes. `bytes` must be a multiple of 64.
    pub fn allocate_for_sessions(&self, bytes: u64, sessions: usize) -> Result<u64, OutOfMemory> {
        let first = self.allocate(bytes * sessions as u64, 64, Place::Any)?;
        if self.session_nodes.is_some() && bytes > 0 {
            let node = |session| match self.beside(session) {
                Place::Node(node) => node,
                Place::Any => self.node,
            };
            let nodes = (0..sessions).map(node).collect();
            self.settle(SettledRange { first, unit_bytes: bytes, nodes }, false);
        }
        Ok(first)
    }

    /// Asks the system to fill in the pages of each node from its memory node of the same number. The request
    /// has no effect if the system has no such node. Pages then lie on the node of the core that touches them
    /// first.
    pub(crate) fn bind_nodes(&self) {
        for node in 0..usize::from(self.nodes()) {
            let start = self.address((node as u64) << self.node_shift);
            pages::prefer_node(start, 1 << self.node_shift, node);
        }
    }

    /// Returns the node on which the rows of each partition should lie, by the number of the partition.
    pub fn partition_nodes(&self) -> Option<&Arc<[u16]>> {
        self.mapping.partition_nodes.as_ref()
    }

    /// Lets the units of a range that was handed out lie on their nodes. On real hardware this asks the system to fill
    /// in their pages from there. The request has no effect if the system has no such node. Panics if a part of the
    /// range was settled before.
    pub fn settle(&self, range: SettledRange, is_hardware: bool) {
        if is_hardware {
            for (unit, node) in (0..).zip(range.nodes.iter()) {
                let first = (range.first + unit * range.unit_bytes).next_multiple_of(PAGE);
                let end = (range.first + (unit + 1) * range.unit_bytes).next_multiple_of(PAGE);
                if first < end && end <= self.bytes {
                    pages::prefer_node(self.address(first), end - first, usize::from(*node));
                }
            }
        }
        self.mapping.settled.lock().add(range);
    }

    /// Notes that `count` objects from the offset `first` on, of `bytes` bytes each, stand for objects of `modelled_bytes`
    /// bytes.
    pub fn stand_for(&self, first: u64, count: u64, bytes: u64, modelled_bytes: u64) {
        self.mapping.stand_ins.lock().add(first, count, bytes, modelled_bytes);
    }

    /// Returns the objects that stand for longer ones.
    pub fn stand_ins(&self) -> StandIns {
        self.mapping.stand_ins.lock().clone()
    }

    /// Returns the ranges that were settled.
    pub fn settled(&self) -> SettledRanges {
        self.mapping.settled.lock().clone()
    }

    /// Hands out `bytes` zeroed bytes, aligned to `align` (a power of two), and returns their offset.
    pub fn allocate(&self, bytes: u64, align: u64, place: Place) -> Result<u64, OutOfMemory> {
        let node = match place {
            Place::Any => self.node,
            Place::Node(node) => node,
        };
        let region = &self.mapping.regions[usize::from(node)];
        let align =
            if self.huge_pages && bytes >= HUGE_PAGE { align.max(HUGE_PAGE) } else { align };
        if region.released_bytes.load(Ordering::Relaxed) >= bytes
            && let Some(start) = region.reuse(bytes, align)
        {
            self.record(start, bytes);
            return Ok(start);
        }
        let mut next = region.next.load(Ordering::Relaxed);
        loop {
            let start = next.next_multiple_of(align);
            let end = region.end.load(Ordering::Relaxed);
            if bytes > end.saturating_sub(start) {
                return Err(OutOfMemory { asked: bytes, left: end.saturating_sub(next) });
            }
            // Relaxed suffices: the claim only needs to be unique. The code that passes the offset to another
            // core publishes the memory.
            match region.next.compare_exchange_weak(
                next,
                start + bytes,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.record(start, bytes);
                    return Ok(start);
                }
                Err(now) => next = now,
            }
        }
    }

    /// Records what was handed out, if the handle records.
    fn record(&self, start: u64, bytes: u64) {
        if let Some(extents) = &self.extents {
            extents.lock().push((start, bytes));
        }
    }

    /// Returns the number of bytes that the arena's own node can still hand out.
    pub fn left(&self) -> u64 {
        let region = &self.mapping.regions[usize::from(self.node)];
        let fresh =
            region.end.load(Ordering::Relaxed).saturating_sub(region.next.load(Ordering::Relaxed));
        fresh + region.released_bytes.load(Ordering::Relaxed)
    }

    /// Asks for huge pages in a range that was handed out. They reduce faults and misses for memory that will
    /// mostly be touched, and use more memory for the part that will not. The request has no effect if the
    /// system has no huge pages.
    pub fn prefer_huge_pages(&self, offset: u64, bytes: u64) {
        let first = offset.next_multiple_of(HUGE_PAGE);
        let end = (offset + bytes) / HUGE_PAGE * HUGE_PAGE;
        if first < end {
            pages::advise_huge(self.address(first), end - first, true);
        }
    }

    /// Limits what node `node` can still hand out to `bytes`. For embedders with a memory limit.
    pub fn limit(&self, node: u16, bytes: u64) {
        let region = &self.mapping.regions[node as usize];
        let next = region.next.load(Ordering::Relaxed);
        let end = region.end.load(Ordering::Relaxed);
        region.end.store(end.min(next.saturating_add(bytes)), Ordering::Relaxed);
    }

    /// Removes the limit of [`Arena::limit`], so that node `node` can hand out its whole reservation again.
    pub fn lift_limit(&self, node: u16) {
        let end = (u64::from(node) + 1) << self.node_shift;
        self.mapping.regions[node as usize].end.store(end, Ordering::Relaxed);
    }

    /// Returns every page to the system and makes the arena empty and zero again. For explorers that run
    /// thousands of schedules. It needs exclusive use, so that nothing can still refer to the arena. Panics if
    /// there are other handles.
    pub fn reset(&mut self) {
        let per_node = 1u64 << self.node_shift;
        let mapping = Arc::get_mut(&mut self.mapping).expect("no other handle");
        for (n, region) in mapping.regions.iter_mut().enumerate() {
            let start = n as u64 * per_node + if n == 0 { FIRST_OFFSET } else { 0 };
            let used = region.next.get_mut();
            let length = *used - start;
            // SAFETY: this arena handed out the range, which begins at a multiple of 4096, and nothing lies behind it. The
            // call has exclusive use of the arena.
            unsafe { pages::clear(self.base.as_ptr().add(start as usize), length, mapping.mapped) };
            *used = start;
            region.released.get_mut().clear();
            *region.ahead.get_mut() = Ahead::default();
            *region.released_bytes.get_mut() = 0;
            *region.end.get_mut() = (n as u64 + 1) * per_node;
        }
        *mapping.settled.get_mut() = SettledRanges::default();
    }

    /// Returns the address of `offset`. The address can be used if the offset comes from [`Arena::allocate`].
    /// An offset beyond the reservation has an address outside of it.
    #[inline(always)]
    pub fn address(&self, offset: u64) -> *mut u8 {
        debug_assert!(offset < self.bytes, "offset {offset} lies outside the arena");
        self.base.as_ptr().wrapping_add(offset as usize)
    }

    /// Returns the offset of an address inside the arena.
    #[inline(always)]
    pub fn offset_of(&self, address: *const u8) -> u64 {
        (address as usize - self.base.as_ptr() as usize) as u64
    }

    /// Returns the value of type `T` at `offset`.
    ///
    /// # Safety
    /// This arena must have handed out `offset` with room and alignment for a `T`. The memory must never have
    /// been used as anything but a `T`. Fresh memory is all zeros, which is a valid `T`.
    #[inline(always)]
    pub unsafe fn at<T: Zeroed + Sync>(&self, offset: u64) -> &T {
        // SAFETY: the caller promises that the memory holds a `T` for as long as the arena lives.
        unsafe { &*self.address(offset).cast::<T>() }
    }

    /// Returns `count` consecutive values of type `T`, as [`Arena::at`] returns one.
    ///
    /// # Safety
    /// The conditions of [`Arena::at`] must hold for each of the values.
    #[inline(always)]
    pub unsafe fn slice_at<T: Zeroed + Sync>(&self, offset: u64, count: usize) -> &[T] {
        // SAFETY: the caller promises that the memory holds `count` values for as long as the arena lives.
        unsafe { std::slice::from_raw_parts(self.address(offset).cast::<T>(), count) }
    }

    /// Allocates a `T` of zeros on cache lines of its own.
    pub fn place<T: Zeroed + Sync>(
        self: &Arc<Self>,
        place: Place,
    ) -> Result<Shared<T>, OutOfMemory> {
        let align = (align_of::<T>() as u64).max(64);
        let bytes = (size_of::<T>() as u64).next_multiple_of(64);
        let offset = self.allocate(bytes, align, place)?;
        Ok(Shared {
            value: NonNull::new(self.address(offset).cast::<T>()).expect("inside a mapping"),
            arena: self.clone(),
        })
    }

    /// Returns the memory node on which `offset` lies.
    #[inline(always)]
    pub fn node_of(&self, offset: u64) -> u16 {
        (offset >> self.node_shift) as u16
    }

    /// Returns the number of memory nodes.
    pub fn nodes(&self) -> u16 {
        self.mapping.regions.len() as u16
    }

    /// Returns the number of bytes handed out and not given back.
    pub fn used(&self) -> u64 {
        let per_node = 1u64 << self.node_shift;
        let used = |(n, r): (usize, &Region)| {
            let released = r.released_bytes.load(Ordering::Relaxed);
            r.next.load(Ordering::Relaxed) - n as u64 * per_node - released
        };
        self.mapping.regions.iter().enumerate().map(used).sum()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping. Arenas keep it alive, and `Shared` keeps an arena alive while
        // anything refers to it.
        unsafe { pages::release(self.base, self.bytes) };
    }
}

/// A value that lives in an arena and keeps the arena alive.
pub struct Shared<T> {
    value: NonNull<T>,
    arena: Arc<Arena>,
}

impl<T> Shared<T> {
    /// Returns the offset of the value.
    pub fn offset(&self) -> u64 {
        self.arena.offset_of(self.value.as_ptr().cast())
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the pointer was made from a valid `T` in an arena that `self` keeps alive. Only shared
        // references to it exist.
        unsafe { self.value.as_ref() }
    }
}

// SAFETY: this is a shared reference with an owner. It is sound for values that can be shared between threads.
unsafe impl<T: Sync> Send for Shared<T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Sync> Sync for Shared<T> {}

/// Returns the number of bytes of memory that a program can still use according to the system. This is the
/// smaller of what is available and what the control group allows. `None` if neither is known.
pub fn available_memory() -> Option<u64> {
    let field = |text: &str, name: &str| -> Option<u64> {
        let line = text.lines().find(|l| l.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
    };
    let system = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| field(&text, "MemAvailable:"));
    let group = (|| {
        let read = |file: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok();
        let limit = read("memory.max")?.trim().parse::<u64>().ok()?;
        let used = read("memory.current")?.trim().parse::<u64>().ok()?;
        Some(limit.saturating_sub(used))
    })();
    match (system, group) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Word;

    #[test]
    fn memory_is_zeroed_disjoint_and_aligned() {
        let arena = Arc::new(Arena::new(&ArenaOptions::default()).unwrap());
        let a = arena.place::<Word>(Place::Any).unwrap();
        let b = arena.place::<Word>(Place::Any).unwrap();
        a.poke(7);
        assert_eq!((a.peek(), b.peek()), (7, 0));
        assert!(a.offset() >= FIRST_OFFSET && a.offset().abs_diff(b.offset()) >= 64);
        assert_eq!(arena.offset_of(arena.address(a.offset())), a.offset());
    }

    #[test]
    fn nodes_are_told_apart_by_offset() {
        let options = ArenaOptions { nodes: 4, ..ArenaOptions::default() };
        let arena = Arena::new(&options).unwrap();
        for node in 0..4 {
            let offset = arena.allocate(100, 8, Place::Node(node)).unwrap();
            assert_eq!(arena.node_of(offset), node);
        }
    }

    #[test]
    fn a_handle_places_on_its_node_and_keeps_the_memory() {
        let options = ArenaOptions { nodes: 3, ..ArenaOptions::default() };
        let arena = Arc::new(Arena::new(&options).unwrap());
        arena.bind_nodes();
        let there = arena.on(2);
        let words = [0, 1, 2].map(|node| arena.place::<Word>(Place::Node(node)).unwrap());
        let word = there.place::<Word>(Place::Any).unwrap();
        assert_eq!(words.each_ref().map(|word| arena.node_of(word.offset())), [0, 1, 2]);
        assert_eq!((there.node_of(word.offset()), arena.on(0).nodes()), (2, 3));
        let first = arena.allocate(8, 8, Place::Any).unwrap();
        assert_eq!(arena.node_of(first), 0);
        // SAFETY: the offset was just allocated, and the memory is used as a word only.
        unsafe { there.at::<Word>(first) }.poke(4);
        // SAFETY: the offset was just allocated, and the memory is used as a word only.
        assert_eq!(unsafe { arena.at::<Word>(first) }.peek(), 4);
        drop((arena, words, there));
        word.poke(5);
        assert_eq!(word.peek(), 5);
    }

    #[test]
    fn sessions_have_a_node_where_that_is_said() {
        let options = ArenaOptions { nodes: 2, ..ArenaOptions::default() };
        assert_eq!(Arena::new(&options).unwrap().beside(5), Place::Any);
        let options = ArenaOptions { session_nodes: Some([0, 0, 0, 0, 1].into()), ..options };
        let arena = Arena::new(&options).unwrap();
        let nodes = [0, 3, 4, 7, 8].map(|session| arena.beside(session));
        assert_eq!(nodes, [0, 0, 1, 1, 1].map(Place::Node));
    }

    #[test]
    fn a_full_arena_says_what_is_left() {
        let arena = Arena::new(&ArenaOptions::default()).unwrap();
        arena.limit(0, 1000);
        arena.allocate(900, 8, Place::Any).unwrap();
        let error = arena.allocate(200, 8, Place::Any).unwrap_err();
        assert_eq!(error.asked, 200);
        assert!(error.left <= 100 && arena.left() == error.left);
    }

    #[test]
    fn what_is_given_back_is_zero_and_handed_out_again() {
        let arena = Arena::new(&ArenaOptions::default()).unwrap();
        let recording = arena.recording();
        let before = arena.used();
        let offsets: Vec<u64> =
            (0..4).map(|_| recording.allocate(10_048, 64, Place::Any).unwrap()).collect();
        let other = arena.allocate(64, 64, Place::Any).unwrap();
        for offset in &offsets {
            // SAFETY: the offset was just allocated, and the memory is used as a word only.
            unsafe { arena.at::<Word>(*offset + 9_992) }.poke(7);
        }
        // SAFETY: nothing refers to the memory.
        assert_eq!(unsafe { recording.release() }, 40_192);
        assert!(arena.used() < before + 1_000);
        let again = arena.allocate(35_000, 64, Place::Any).unwrap();
        assert_eq!(again, offsets[0], "the four extents have become one");
        let small = arena.allocate(1_000, 64, Place::Any).unwrap();
        assert!(small > again && small < other);
        let far = arena.allocate(35_000, 64, Place::Any).unwrap();
        assert!(far > other);
        for offset in (again..again + 35_000).step_by(8) {
            // SAFETY: the offset was just allocated, and the memory is used as a word only.
            assert_eq!(unsafe { arena.at::<Word>(offset) }.peek(), 0);
        }
    }

    #[test]
    fn a_reset_arena_is_fresh() {
        for (read_first, bytes) in [(false, 64u64), (false, 8 << 20), (true, 64), (true, 8 << 20)] {
            let options = ArenaOptions { read_first, ..ArenaOptions::default() };
            let mut arena = Arena::new(&options).unwrap();
            let offset = arena.allocate(bytes, 64, Place::Any).unwrap();
            // SAFETY: the offset was just allocated, and the memory is used as a word only.
            unsafe { arena.at::<Word>(offset) }.poke(9);
            arena.reset();
            let again = arena.allocate(bytes, 64, Place::Any).unwrap();
            assert_eq!(offset, again);
            // SAFETY: the offset was just allocated, and the memory is used as a word only.
            assert_eq!(unsafe { arena.at::<Word>(again) }.peek(), 0);
            arena.reset();
        }
    }
}
