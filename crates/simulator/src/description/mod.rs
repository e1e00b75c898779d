//! What a machine file says: plain numbers about hardware, each with a unit in its name.

mod builtin;
mod check;
mod error;
mod show;

pub use builtin::builtin_names;
pub use error::DescriptionError;

use serde::{Deserialize, Serialize};

/// Hardware, as a machine file describes it. Exactly one of `mesh` and `sockets` is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineDescription {
    /// The name by which it is loaded.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// Clock of its cores, in MHz; one cycle of it is one tick of a core's clock.
    pub clock_mhz: u64,
    /// Size of the pages that the measured system used.
    pub page_bytes: u64,
    /// What one core is like.
    pub core: CoreDescription,
    /// The first-level data cache of each core.
    pub l1: CacheDescription,
    /// The second-level cache of each core, where it is private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2: Option<CacheDescription>,
    /// The last level, shared by a socket or, in slices, by all tiles.
    pub shared_cache: SharedCacheDescription,
    /// A chip of tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<MeshDescription>,
    /// Sockets, in one chassis or several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<SocketsDescription>,
    /// A counter in hardware, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_counter: Option<CounterDescription>,
}

/// One core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreDescription {
    /// Misses on neighbouring lines that overlap; 1 in order.
    pub memory_parallelism: f64,
    /// What a read-modify-write costs on a line that the core already owns, in cycles.
    pub atomic_cycles: u64,
    /// Bytes that a copy within the first-level cache moves in a cycle.
    pub copy_bytes_per_cycle: u64,
    /// Throughput of a core with 1, 2, ... threads on it, as a multiple of one thread's.
    pub smt_throughput: Vec<f64>,
}

/// A private cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheDescription {
    /// Capacity in KiB.
    pub size_kib: u64,
    /// Cycles from load to use.
    pub latency_cycles: u64,
}

/// The last-level cache and its directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedCacheDescription {
    /// Capacity in KiB, of a tile's slice or of a socket.
    pub size_kib: u64,
    /// Cycles from a request's arrival to the data, trips on a socket's own network included.
    pub latency_cycles: u64,
    /// Cycles in which the directory decides, when the data come from elsewhere.
    pub directory_cycles: u64,
    /// Cycles that it takes more to get a line out of another core's private cache, distance apart.
    pub owner_cycles: u64,
    /// Cycles for which a shared read keeps a line from other requests.
    pub read_occupancy_cycles: u64,
    /// A read of a line that nobody else holds gets it exclusively (MESI), or not (MSI).
    pub exclusive_reads: bool,
}

/// A chip of tiles on a square two-dimensional mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshDescription {
    /// Tiles, one core each.
    pub tiles: u64,
    /// Cycles from a tile to its neighbour.
    pub hop_cycles: u64,
    /// Cycles until the rest of a line has followed its first bytes.
    pub line_transfer_cycles: u64,
    /// A run on fewer cores happens on a chip of as many tiles, not in a corner of the whole.
    pub fitted: bool,
    /// What memory takes from a tile's own controller, in ns.
    pub memory_latency_ns: f64,
    /// What one tile's controller delivers, in GB/s.
    pub memory_bandwidth_gbps: f64,
}

/// Sockets with private memory each, all of it shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketsDescription {
    /// How many.
    pub count: u64,
    /// Physical cores of each.
    pub cores_per_socket: u64,
    /// Sockets in a chassis.
    pub chassis_sockets: u64,
    /// The order in which threads take a socket's cores: `[2]` puts two on each core at once, `[2, 4, 8]`
    /// two on each core of the socket first, then two more, then four. The last is the most a core has.
    pub thread_steps: Vec<u64>,
    /// Within a chassis, the level (its number in `level`) between each two sockets.
    pub within_chassis: Vec<Vec<u64>>,
    /// The level between sockets of different chassis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_chassis: Option<u64>,
    /// The level between sockets in the same position of different chassis, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_position: Option<u64>,
    /// Distances, a socket's own memory first.
    pub level: Vec<LevelDescription>,
}

/// A distance between sockets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelDescription {
    /// Its name in reports.
    pub name: String,
    /// From load to use of memory at this distance, in ns, with the machine idle.
    pub latency_ns: f64,
    /// What a whole socket reads from one other over this distance, in GB/s.
    pub bandwidth_gbps: f64,
}

/// A counter at the chip's centre, incremented by a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterDescription {
    /// Cycles between two increments.
    pub occupancy_cycles: u64,
}

/// Bytes of a cache line, on every machine.
pub const LINE_BYTES: u64 = 64;

impl MachineDescription {
    /// Hardware threads: how many workers a run may have.
    pub fn cores(&self) -> usize {
        match (&self.mesh, &self.sockets) {
            (Some(mesh), _) => mesh.tiles as usize,
            (None, Some(s)) => (s.count * s.cores_per_socket * s.threads_per_core()) as usize,
            (None, None) => 0,
        }
    }

    /// Memory nodes: sockets, or one where the chip's memory is the same distance from everywhere.
    pub fn memory_nodes(&self) -> usize {
        self.sockets.as_ref().map_or(1, |s| s.count as usize)
    }

    /// Ticks in a second.
    pub fn ticks_per_second(&self) -> u64 {
        self.clock_mhz * 1_000_000
    }

    /// The file's text: TOML that loads back to the same description.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a description has nothing that TOML can't say")
    }

    /// Cycles of `ns` nanoseconds, rounded.
    pub(crate) fn cycles(&self, ns: f64) -> u64 {
        // Multiplication, division and truncation are exact in IEEE 754, so every host agrees.
        (ns * self.clock_mhz as f64 / 1000.0 + 0.5) as u64
    }

    /// Cycles, in 1/256, that a line takes of something that delivers `gbps` GB/s.
    pub(crate) fn line_time_256(&self, gbps: f64) -> u64 {
        (LINE_BYTES as f64 / gbps * self.clock_mhz as f64 / 1000.0 * 256.0 + 0.5) as u64
    }
}

impl SocketsDescription {
    /// Hardware threads of a core.
    pub fn threads_per_core(&self) -> u64 {
        self.thread_steps.last().copied().unwrap_or(1)
    }

    /// The level between two sockets, as a number in `level`.
    pub fn level_between(&self, a: u64, b: u64) -> usize {
        let (position_a, position_b) = (a % self.chassis_sockets, b % self.chassis_sockets);
        let level = if a / self.chassis_sockets == b / self.chassis_sockets {
            self.within_chassis[position_a as usize][position_b as usize]
        } else {
            let between = self.between_chassis.unwrap_or(0);
            if position_a == position_b { self.same_position.unwrap_or(between) } else { between }
        };
        level as usize
    }
}
