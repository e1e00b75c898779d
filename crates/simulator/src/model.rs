//! The model of a machine: a description turned into ticks and tables, for a run on a given number of cores.

use crate::description::{MachineDescription, MeshDescription};
use crate::siblings::Siblings;
use crate::ways::{Hop, Ways};
use machine::Sharing;

/// Number of fill stamps per capacity of the shared cache. With more stamps its replacement is modelled more finely.
const STAMPS_PER_CAPACITY: u64 = 4096;
/// Number of bits of a set of sharers.
const CLUSTERS: usize = 32;

/// Place of memory that is not placed on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Homes {
    /// Pages alternate over the sockets that the run's cores are on.
    #[default]
    Interleaved,
    /// Each node of the arena is a socket's memory.
    ByNode,
}

/// Seat of a core: where it sits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// Tile or socket of the core.
    node: u16,
    /// Physical core, which owns lines. SMT siblings share it.
    physical: u16,
}

impl Seat {
    fn at(node: u32, physical: u32) -> Seat {
        Seat { node: node as u16, physical: physical as u16 }
    }

    #[inline(always)]
    pub(crate) fn node(&self) -> u32 {
        u32::from(self.node)
    }

    #[inline(always)]
    pub(crate) fn physical(&self) -> u32 {
        u32::from(self.physical)
    }
}

enum Space {
    /// A mesh of tiles.
    Mesh {
        /// Row and column of each tile. Every operation asks for distances, and a table costs the host less than two
        /// divisions.
        places: Box<[(u8, u8)]>,
        /// Cycles from a tile to its neighbour.
        hop: u32,
    },
    /// Sockets.
    Sockets {
        /// Cycles of a message between each pair of nodes.
        one_way: Box<[u32]>,
        /// Links that a line passes.
        ways: Ways,
        /// Set if pages alternate over the nodes.
        page_homes: bool,
    },
}

/// All figures from which costs are computed, in cycles unless a field says otherwise.
pub(crate) struct Model {
    space: Space,
    /// Number of tiles or sockets of the run.
    pub nodes: u32,
    /// Seats of the cores, workers first.
    pub seats: Vec<Seat>,
    /// Node of each physical core.
    node_of_physical: Vec<u32>,
    /// Number of nodes of a cluster. A set of sharers has one bit for each cluster.
    cluster_nodes: u32,
    cluster_of_node: Box<[u8]>,
    /// Binary logarithm of the bytes of a line.
    pub line_shift: u32,
    /// Number of lines of a first-level cache.
    pub l1_lines: usize,
    /// Latency of a hit in the first-level cache.
    pub l1: u64,
    /// Number of lines of a private second-level cache, 0 if there is none.
    pub l2_lines: usize,
    /// Latency of a hit in the private second-level cache.
    pub l2: u64,
    /// Time after which the private caches have found that they do not have a line.
    pub lookup: u64,
    /// Latency of the shared cache, from a request's arrival to the data.
    pub shared: u64,
    /// Time in which the directory decides, if the data come from elsewhere.
    pub directory: u64,
    /// Additional time to get a line out of another core's private cache, without the distance.
    pub owner: u64,
    /// Time until the rest of a line has followed its first bytes.
    pub transfer: u64,
    /// Latency of a node's own memory, without the caches that were searched before.
    pub memory: u64,
    /// Time for which a shared read keeps a line from other requests.
    pub read_occupancy: u64,
    /// Additional time of a read-modify-write.
    pub atomic: u64,
    /// 256 / memory parallelism: the part, in 1/256, that each further miss of a row costs.
    pub overlapped: u64,
    /// Bytes that a copy moves in a cycle.
    pub copy_bytes: u64,
    /// Cycles of the instructions of an access to a record.
    pub record_access: u64,
    /// Cycles of the instruction by which a spinning thread lets its siblings run.
    pub pause: u64,
    /// Cycles of a call by which a thread yields its processor.
    pub yields: u64,
    /// Cycles by which a sleeping thread wakes up late.
    pub sleeps_longer: u64,
    /// Cycles of a reading of the clock.
    pub clock_read: u64,
    /// Share of a miss, in 1/256, that a core waits for if it prefetches the line. It is 0 if cores ignore prefetches.
    pub prefetched: u64,
    /// Number of translations that a core's cache of them holds. It is 0 if translations cost nothing.
    pub tlb_entries: usize,
    /// Length of a page, as a binary logarithm.
    pub page_shift: u32,
    /// Number of cycles by which stores in the store buffer can be behind the core. It is 0 if the core waits for each
    /// store.
    pub store_backlog: u64,
    /// Time, in 1/256 cycles, for which a line keeps a node's memory busy.
    pub memory_line_time: u64,
    /// Set if each socket has a shared cache of its own. Tiles share one cache in slices.
    pub cache_per_node: bool,
    /// Number of lines that the shared cache of a node holds.
    pub node_lines: usize,
    /// Set if a read of a line that no other core holds gets it exclusively (MESI).
    pub exclusive_reads: bool,
    /// Number of fills per stamp, as a binary logarithm.
    stamp_shift: u32,
    /// Capacity of the shared caches, in stamps.
    capacity_stamps: u32,
    /// Number of cycles by which a core may run ahead on lines that it holds. It is 0 if SMT siblings or fibers share
    /// private caches.
    pub lookahead: u64,
    /// Threads that share a core, if there are any.
    pub siblings: Option<Siblings>,
    /// Mean time of a trip between two random nodes.
    pub mean_trip: u64,
    /// Time between two increments of the hardware counter, if there is one.
    pub counter_occupancy: Option<u64>,
    /// Node at the chip's centre, where the hardware counter is.
    pub centre: u32,
}

impl Model {
    /// Makes the model of a run with `workers` workers, which share cores as `sharing` says.
    pub(crate) fn new(
        description: &MachineDescription,
        (workers, sharing): (usize, Sharing),
        services: usize,
        homes: Homes,
    ) -> Model {
        let (d, cores) = (description, workers.div_ceil(sharing.count()));
        let (space, nodes, mut threads) = space_of(d, cores, homes);
        let mut seats = shared(&threads, workers, sharing.count());
        let runs_ahead = !sharing.can_move() && seats_by_physical(&seats).iter().all(|n| *n < 2);
        seat_services(&mut seats, services, nodes);
        seat_services(&mut threads, services, nodes);
        let l2 = d.l2.as_ref().map_or(0, |l2| l2.latency_cycles);
        let lookup = l2.max(d.l1.latency_cycles);
        let shared_cache = &d.shared_cache;
        let cluster = nodes.div_ceil(CLUSTERS as u32);
        let (memory, bandwidth, transfer) = memory_of(d, lookup + shared_cache.latency_cycles);
        let lines = |kib: u64| kib * 1024 / d.line_bytes;
        let capacity = lines(shared_cache.size_kib) * u64::from(nodes);
        let stamp_shift = (capacity / STAMPS_PER_CAPACITY).max(1).ilog2();
        let mut model = Model {
            space,
            nodes,
            node_of_physical: nodes_of_physical(&seats),
            seats,
            cluster_nodes: cluster,
            cluster_of_node: (0..nodes).map(|node| (node / cluster) as u8).collect(),
            line_shift: d.line_bytes.ilog2(),
            l1_lines: lines(d.l1.size_kib) as usize,
            l1: d.l1.latency_cycles,
            l2_lines: d.l2.as_ref().map_or(0, |l2| lines(l2.size_kib) as usize),
            l2,
            lookup,
            shared: shared_cache.latency_cycles,
            directory: shared_cache.directory_cycles,
            owner: shared_cache.owner_cycles,
            transfer,
            memory,
            read_occupancy: shared_cache.read_occupancy_cycles,
            atomic: d.core.atomic_cycles,
            overlapped: (256.0 / d.core.memory_parallelism) as u64,
            store_backlog: (d.core.store_buffer_lines as f64 * memory as f64
                / d.core.memory_parallelism) as u64,
            prefetched: 256u64.checked_div(d.core.prefetched_lines).unwrap_or(0),
            tlb_entries: d.tlb.as_ref().map_or(0, |tlb| tlb.entries as usize),
            page_shift: d.page_bytes.ilog2(),
            copy_bytes: d.core.copy_bytes_per_cycle,
            record_access: d.core.record_access_cycles,
            pause: d.core.pause_cycles,
            yields: d.core.yield_cycles,
            sleeps_longer: d.cycles(d.core.late_wake_up_ns as f64),
            clock_read: d.core.clock_read_cycles,
            memory_line_time: d.line_time_256(bandwidth),
            cache_per_node: d.sockets.is_some(),
            node_lines: lines(shared_cache.size_kib) as usize,
            exclusive_reads: shared_cache.exclusive_reads,
            stamp_shift,
            capacity_stamps: (capacity >> stamp_shift) as u32,
            // Another core's write reaches a line held here only after its own miss and the directory's answer.
            lookahead: if runs_ahead { lookup + shared_cache.directory_cycles } else { 0 },
            siblings: Siblings::of(d, &seats_by_physical(&threads)),
            mean_trip: 0,
            counter_occupancy: d.hardware_counter.as_ref().map(|c| c.occupancy_cycles),
            centre: 0,
        };
        model.place_centre();
        model
    }

    /// Finds the chip's centre and the mean length of a trip.
    fn place_centre(&mut self) {
        let nodes = self.nodes;
        if let Space::Mesh { .. } = self.space {
            let width = width_of(nodes);
            self.centre = ((width / 2) * width + width / 2).min(nodes - 1);
        }
        self.mean_trip = self.all_trips() / (u64::from(nodes) * u64::from(nodes));
    }

    /// Returns the sum of the cycles of all trips from every node to every node.
    fn all_trips(&self) -> u64 {
        match &self.space {
            Space::Mesh { places, hop } => {
                // A trip goes along a row and then along a column, so both parts can be summed separately. Summing
                // over a million pairs of tiles would take longer than many short runs.
                let along = |line_of: fn(&(u8, u8)) -> u8| {
                    let mut tiles = [0u64; 256];
                    places.iter().for_each(|place| tiles[usize::from(line_of(place))] += 1);
                    let lines = || tiles.iter().enumerate().filter(|(_, tiles)| **tiles != 0);
                    let to = |(a, n): (usize, &u64)| {
                        lines().map(|(b, m)| n * m * a.abs_diff(b) as u64).sum::<u64>()
                    };
                    lines().map(to).sum::<u64>()
                };
                u64::from(*hop) * (along(|place| place.0) + along(|place| place.1))
            }
            Space::Sockets { one_way, .. } => one_way.iter().copied().map(u64::from).sum(),
        }
    }

    /// Returns the cycles of a message from one node to another.
    #[inline(always)]
    pub(crate) fn one_way(&self, a: u32, b: u32) -> u64 {
        match &self.space {
            Space::Mesh { places, hop } => {
                let (a, b) = (places[a as usize], places[b as usize]);
                let hops = u32::from(a.0.abs_diff(b.0)) + u32::from(a.1.abs_diff(b.1));
                u64::from(hops * hop)
            }
            Space::Sockets { one_way, .. } => u64::from(one_way[(a * self.nodes + b) as usize]),
        }
    }

    /// Returns the links on the way from one node to another. Links of a mesh do not queue.
    #[inline]
    pub(crate) fn way(&self, from: u32, to: u32) -> &[Hop] {
        match &self.space {
            Space::Mesh { .. } => &[],
            Space::Sockets { ways, .. } => ways.between(from, to),
        }
    }

    /// Returns the number of links that queue. A link counts once for each direction, even if its directions share a queue.
    pub(crate) fn links(&self) -> usize {
        match &self.space {
            Space::Mesh { .. } => 0,
            Space::Sockets { ways, .. } => ways.links,
        }
    }

    /// Returns the node whose directory and memory are responsible for line `part` of the object that begins at
    /// `offset`.
    #[inline(always)]
    pub(crate) fn home(
        &self,
        identity: u64,
        part: u64,
        offset: u64,
        arena_node: impl Fn(u64) -> u16,
    ) -> u32 {
        let spread = |hash: u64| (((hash >> 32) * u64::from(self.nodes)) >> 32) as u32;
        match &self.space {
            Space::Mesh { .. } => {
                spread(identity.wrapping_add(part.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
            }
            Space::Sockets { page_homes: true, .. } => spread(crate::cache::identity(offset >> 9)),
            Space::Sockets { .. } => u32::from(arena_node(offset)).min(self.nodes - 1),
        }
    }

    /// Returns the bit that stands for a node in a set of sharers.
    #[inline(always)]
    pub(crate) fn cluster_bit(&self, node: u32) -> u32 {
        1 << self.cluster_of_node[node as usize]
    }

    /// Returns the time of the longest trip from `node` to one of the clusters in `sharers`.
    pub(crate) fn farthest(&self, node: u32, mut sharers: u32) -> u64 {
        let mut farthest = 0;
        while sharers != 0 {
            let cluster = sharers.trailing_zeros();
            sharers &= sharers - 1;
            let first = cluster * self.cluster_nodes;
            let last = (first + self.cluster_nodes - 1).min(self.nodes - 1);
            let trip = self.one_way(node, first).max(self.one_way(node, last));
            farthest = farthest.max(trip);
        }
        farthest
    }

    /// Returns the node of a physical core. Returns none for a core that only an earlier, larger run had.
    #[inline]
    pub(crate) fn node_of(&self, physical: u32) -> Option<u32> {
        self.node_of_physical.get(physical as usize).copied()
    }

    /// Returns the number of physical cores.
    pub(crate) fn physical_cores(&self) -> usize {
        self.node_of_physical.len()
    }

    /// Returns the stamp of a line that is filled after `fills` fills in all.
    #[inline]
    pub(crate) fn stamp(&self, fills: u64) -> u32 {
        (fills >> self.stamp_shift) as u32 & crate::line::STAMP_MASK
    }

    /// Returns true while the shared cache still has a line with this stamp.
    #[inline]
    pub(crate) fn is_cached(&self, stamp: u32, fills: u64) -> bool {
        self.stamp(fills).wrapping_sub(stamp) & crate::line::STAMP_MASK <= self.capacity_stamps
    }
}

/// Returns the space of a machine of which `cores` cores are used, the number of its nodes, and the seats of the cores.
fn space_of(d: &MachineDescription, cores: usize, homes: Homes) -> (Space, u32, Vec<Seat>) {
    match (&d.mesh, &d.sockets) {
        (Some(mesh), _) => seats_on_tiles(mesh, cores),
        (None, Some(_)) => seats_on_sockets(d, cores, homes),
        (None, None) => unreachable!("a description that was checked has one of them"),
    }
}

/// Returns the side of the smallest square with room for `tiles` tiles.
fn width_of(tiles: u32) -> u32 {
    (1..=tiles).find(|w| w * w >= tiles).expect("a square is large enough")
}

/// Seats workers on the tiles of a mesh, row by row.
fn seats_on_tiles(mesh: &MeshDescription, workers: usize) -> (Space, u32, Vec<Seat>) {
    let tiles = if mesh.fitted { workers.max(1) as u32 } else { mesh.tiles as u32 };
    let width = width_of(tiles);
    let seats = (0..workers as u32).map(|i| Seat::at(i, i)).collect();
    let place = |i: u32| ((i / width) as u8, (i % width) as u8);
    let places = (0..tiles).map(place).collect();
    (Space::Mesh { places, hop: mesh.hop_cycles as u32 }, tiles, seats)
}

/// Returns the latency and the bandwidth of a node's memory, in cycles and GB/s, and the cycles in which the rest of a
/// line follows. Where the description's figures are those of a whole access, the latency is without the `searched`
/// cycles of the caches.
fn memory_of(d: &MachineDescription, searched: u64) -> (u64, f64, u64) {
    match (&d.mesh, &d.sockets) {
        (Some(m), _) => {
            (d.cycles(m.memory_latency_ns), m.memory_bandwidth_gbps, m.line_transfer_cycles)
        }
        (None, Some(s)) => {
            let local = &s.level[0];
            (d.cycles(local.latency_ns).saturating_sub(searched), local.bandwidth_gbps, 0)
        }
        (None, None) => unreachable!("a description that was checked has one of them"),
    }
}

/// Returns the seats of `workers` workers, of which `fibers` share each of the given seats.
fn shared(seats: &[Seat], workers: usize, fibers: usize) -> Vec<Seat> {
    let each = seats.iter().flat_map(|seat| std::iter::repeat_n(*seat, fibers));
    each.take(workers).collect()
}

/// Seats services on cores of their own, beside the workers' cores, so that housekeeping does not disturb
/// measurements.
fn seat_services(seats: &mut Vec<Seat>, services: usize, nodes: u32) {
    let first = seats.iter().map(|s| s.physical() + 1).max().unwrap_or(0);
    for i in 0..services as u32 {
        seats.push(Seat::at((first + i) % nodes, first + i));
    }
}

fn nodes_of_physical(seats: &[Seat]) -> Vec<u32> {
    let physical = seats.iter().map(|s| s.physical as usize + 1).max().unwrap_or(1);
    let mut nodes = vec![0; physical];
    for seat in seats {
        nodes[seat.physical as usize] = seat.node();
    }
    nodes
}

/// Returns the number of the seats at each physical core.
fn seats_by_physical(seats: &[Seat]) -> Vec<u8> {
    let mut numbers = vec![0u8; nodes_of_physical(seats).len()];
    for seat in seats {
        numbers[usize::from(seat.physical)] = numbers[usize::from(seat.physical)].saturating_add(1);
    }
    numbers
}

fn seats_on_sockets(
    d: &MachineDescription,
    workers: usize,
    homes: Homes,
) -> (Space, u32, Vec<Seat>) {
    let s = d.sockets.as_ref().expect("the caller asked");
    let mut seats = Vec::with_capacity(workers);
    let mut first = 0;
    'all: for socket in 0..s.count {
        let (cores, mut before) = (s.cores_of(socket) as usize, 0);
        for step in &s.thread_steps {
            let step = *step as usize;
            for core in 0..cores {
                for _ in before..step {
                    if seats.len() == workers {
                        break 'all;
                    }
                    let physical = first + core;
                    seats.push(Seat::at(socket as u32, physical as u32));
                }
            }
            before = step;
        }
        first += cores;
    }
    let used = seats.iter().map(|seat| seat.node() + 1).max().unwrap_or(1);
    let nodes = if homes == Homes::ByNode { s.count as u32 } else { used };
    let local = d.cycles(s.level[0].latency_ns);
    let pairs = || (0..u64::from(nodes)).flat_map(|a| (0..u64::from(nodes)).map(move |b| (a, b)));
    let level = |(a, b)| &s.level[s.level_between(a, b)];
    let one_way = pairs().map(|p| (d.cycles(level(p).latency_ns).saturating_sub(local) / 2) as u32);
    let space = Space::Sockets {
        one_way: one_way.collect(),
        ways: Ways::new(d, s, nodes),
        page_homes: homes == Homes::Interleaved,
    };
    (space, nodes, seats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_a_mesh_away_from_each_other() {
        let graphite = MachineDescription::load("graphite").unwrap();
        let model = Model::new(&graphite, (1024, Sharing::fibers(1)), 1, Homes::Interleaved);
        assert_eq!((model.nodes, model.seats.len()), (1024, 1025));
        assert_eq!(model.one_way(0, 1023), 124);
        assert_eq!(model.one_way(33, 34), 2);
        // Two thirds of 32 hops, of 2 cycles each.
        assert_eq!(model.mean_trip, 42);
        assert_eq!(model.farthest(0, 1 << 31), 124);
        for tiles in [1, 5, 37, 64] {
            let some = Model::new(&graphite, (tiles, Sharing::fibers(1)), 0, Homes::Interleaved);
            let trips = (0..some.nodes).flat_map(|a| (0..some.nodes).map(move |b| (a, b)));
            assert_eq!(some.all_trips(), trips.map(|(a, b)| some.one_way(a, b)).sum::<u64>());
        }
        let small = Model::new(&graphite, (4, Sharing::fibers(1)), 0, Homes::Interleaved);
        assert_eq!((small.nodes, small.one_way(0, 3)), (4, 4));
    }

    #[test]
    fn sockets_are_filled_two_threads_a_core() {
        let flex = MachineDescription::load("superdome-flex").unwrap();
        let model = Model::new(&flex, (1568, Sharing::fibers(1)), 0, Homes::Interleaved);
        assert_eq!(model.nodes, 28);
        assert_eq!(
            (model.seats[1].physical, model.seats[55].node, model.seats[56].node),
            (0, 0, 1)
        );
        assert_eq!(model.siblings.as_ref().unwrap().slowdown(0), 394);
        assert_eq!(model.lookahead, 0);
        // (382.7 - 97) ns at 2.5 GHz, half of it each way.
        assert_eq!(model.one_way(0, 27), 357);
        let one = Model::new(&flex, (1, Sharing::fibers(1)), 0, Homes::Interleaved);
        assert_eq!((one.nodes, one.siblings.is_none(), one.lookahead), (1, true, 54));
    }
}
