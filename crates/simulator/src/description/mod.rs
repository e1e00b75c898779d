//! Machine descriptions: what a machine file contains. All figures are plain numbers about hardware, each with its
//! unit in its name.

mod builtin;
mod check;
mod error;
mod link;
mod part;
mod show;
mod triangle;

pub use builtin::builtin_names;
pub use error::DescriptionError;

use machine::{USUAL_CLOCK_READ_CYCLES, USUAL_PAUSE_CYCLES, USUAL_YIELD_CYCLES};
use serde::{Deserialize, Serialize};

/// Hardware, as a machine file describes it. Exactly one of `mesh` and `sockets` is present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineDescription {
    /// Name by which the machine is loaded.
    pub name: String,
    /// Description in one line.
    pub title: String,
    /// Clock of the cores, in MHz. One cycle of it is one tick of a core's clock.
    pub clock_mhz: u64,
    /// Size of the pages that the measured system used.
    pub page_bytes: u64,
    /// Bytes of a cache line, the unit that caches, links and memories move: 64 or 128.
    #[serde(default = "usual_line", skip_serializing_if = "is_usual_line")]
    pub line_bytes: u64,
    /// Properties of one core.
    pub core: CoreDescription,
    /// The first-level data cache of each core.
    pub l1: CacheDescription,
    /// The second-level cache of each core, where it is private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2: Option<CacheDescription>,
    /// The second level of each core's cache of address translations. Without it translations cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tlb: Option<TlbDescription>,
    /// The last level, shared by a socket or, in slices, by all tiles.
    pub shared_cache: SharedCacheDescription,
    /// Chip of tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<MeshDescription>,
    /// Sockets, in one chassis or several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<SocketsDescription>,
    /// Hardware counter, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_counter: Option<CounterDescription>,
}

/// Description of one core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreDescription {
    /// Number of misses on neighbouring lines that overlap. It is 1 for an in-order core.
    pub memory_parallelism: f64,
    /// Number of lines that a core fetches at the same time ahead of their use, if the program prefetches them. It is 0 for
    /// a core that ignores prefetches.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prefetched_lines: u64,
    /// Number of lines whose stores can wait in a thread's store buffer. It is 0 for a core that waits for each store.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub store_buffer_lines: u64,
    /// Additional cycles of a read-modify-write on a line that the core already owns.
    pub atomic_cycles: u64,
    /// Bytes that a copy within the first-level cache moves in a cycle.
    pub copy_bytes_per_cycle: u64,
    /// Cycles of the instructions of one access to a record, apart from its operations on shared memory and its copies. The
    /// operations that follow on the same record are part of the access.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub record_access_cycles: u64,
    /// Cycles in which a program that measures itself reads the clock and converts it to nanoseconds.
    #[serde(default = "usual_clock_read")]
    pub clock_read_cycles: u64,
    /// Cycles of the instruction by which a spinning thread lets its siblings run: PAUSE on x86-64.
    #[serde(default = "usual_pause")]
    pub pause_cycles: u64,
    /// Cycles of a call of the operating system by which a thread yields its processor and finds that nothing else is to run.
    #[serde(default = "usual_yield")]
    pub yield_cycles: u64,
    /// Time by which the operating system wakes a sleeping thread late, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late_wake_up_ns: u64,
    /// Throughput of a core with 1, 2, ... threads on it, as a multiple of one thread's.
    pub smt_throughput: Vec<f64>,
    /// Share of `memory_parallelism` and of `prefetched_lines` that each of 1, 2, ... working threads of a core has: threads can
    /// divide the window in which a core reorders instructions, and its fill buffers. The last number holds for more threads. If
    /// it is left out, each thread has all of both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub smt_parallelism: Vec<f64>,
}

/// Returns true for 0, which machine files leave out.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn usual_clock_read() -> u64 {
    USUAL_CLOCK_READ_CYCLES
}

fn usual_pause() -> u64 {
    USUAL_PAUSE_CYCLES
}

fn usual_yield() -> u64 {
    USUAL_YIELD_CYCLES
}

/// Description of a cache of address translations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbDescription {
    /// Number of pages whose translations it holds.
    pub entries: u64,
}

/// Returns the throughput of a core with 1, 2, ... `threads` threads, as a multiple of one thread's, where nothing is known:
/// 1.3 for two, 0.1 more for each other. It is an assumption.
pub fn assumed_smt_throughput(threads: usize) -> Vec<f64> {
    (0..threads as u32).map(|n| if n == 0 { 1.0 } else { f64::from(12 + n) / 10.0 }).collect()
}

/// Description of a private cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheDescription {
    /// Capacity in KiB.
    pub size_kib: u64,
    /// Cycles from load to use.
    pub latency_cycles: u64,
}

/// Description of the last-level cache and its directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedCacheDescription {
    /// Capacity in KiB, of a tile's slice or of a socket.
    pub size_kib: u64,
    /// Cycles from a request's arrival to the data, trips on a socket's own network included.
    pub latency_cycles: u64,
    /// Cycles in which the directory decides, if the data come from elsewhere.
    pub directory_cycles: u64,
    /// Additional cycles to get a line out of another core's private cache, without the distance.
    pub owner_cycles: u64,
    /// Cycles for which a shared read keeps a line from other requests.
    pub read_occupancy_cycles: u64,
    /// Set if a read of a line that no other core holds gets it exclusively (MESI). Otherwise it does not (MSI).
    pub exclusive_reads: bool,
}

/// Description of a chip of tiles on a square two-dimensional mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshDescription {
    /// Number of tiles, with one core each.
    pub tiles: u64,
    /// Cycles from a tile to its neighbour.
    pub hop_cycles: u64,
    /// Cycles until the rest of a line has followed its first bytes.
    pub line_transfer_cycles: u64,
    /// Set if a run on fewer cores happens on a chip with only that many tiles. Otherwise it happens in a corner of
    /// the whole chip.
    pub fitted: bool,
    /// Latency of memory from a tile's own controller, in ns.
    pub memory_latency_ns: f64,
    /// Bandwidth of one tile's controller, in GB/s.
    pub memory_bandwidth_gbps: f64,
}

/// Description of sockets that have memory of their own. Every core can access all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketsDescription {
    /// Number of sockets.
    pub count: u64,
    /// Number of physical cores of a socket that has all of them.
    pub cores_per_socket: u64,
    /// Number of physical cores of each socket, where some have fewer, for example because a hypervisor reserves
    /// cores. Empty if all sockets have `cores_per_socket`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores_by_socket: Vec<u64>,
    /// Number of sockets in a chassis.
    pub chassis_sockets: u64,
    /// Order in which threads take a socket's cores. `[2]` puts two threads on each core at once. `[2, 4, 8]` first
    /// puts two on each core of the socket, then two more, then four. The last number is the number of threads that a
    /// core has.
    pub thread_steps: Vec<u64>,
    /// Level (its number in `level`) between each two sockets within a chassis.
    pub within_chassis: Vec<Vec<u64>>,
    /// Level between sockets of different chassis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_chassis: Option<u64>,
    /// Level between sockets in the same position of different chassis, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_position: Option<u64>,
    /// Levels of distance, with a socket's own memory first.
    pub level: Vec<LevelDescription>,
    /// Links between sockets. If the list is empty, each two sockets have a link of their own with their level's bandwidth.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<LinkDescription>,
    /// The machine of which these sockets are a part. Idle sockets have no core or cache in a run, but lines pass their
    /// links. None for a whole machine.
    #[serde(skip)]
    pub part_of: Option<WholeMachine>,
}

/// The sockets of a machine of which a description is a part.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeMachine {
    /// Number of all sockets.
    pub count: u64,
    /// Number of sockets in a chassis.
    pub chassis_sockets: u64,
    /// Numbers that the part's sockets have in the whole machine.
    pub sockets: Vec<u64>,
}

/// Description of equal links between sockets, or between sockets and what lies between them. A link carries
/// `bandwidth_gbps` in each direction at the same time, or in both together (`directions_share`). The texts in the lists are explained in
/// `crates/simulator/src/description/link.rs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkDescription {
    /// Name in reports.
    pub name: String,
    /// Bandwidth of one link, in GB/s.
    pub bandwidth_gbps: f64,
    /// Set if both directions together have that bandwidth.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directions_share: bool,
    /// Links that each chassis has: `"0-1"`, `"*-controller"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within_chassis: Vec<String>,
    /// Links that each two chassis have: `"controller-controller"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between_chassis: Vec<String>,
    /// Links that exist once, with the numbers of sockets in the whole machine: `"0-4"`, `"*-crossbar"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within_machine: Vec<String>,
}

/// Description of a level of distance between sockets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelDescription {
    /// Name in reports.
    pub name: String,
    /// Latency from load to use of memory at this distance, in ns, on an idle machine.
    pub latency_ns: f64,
    /// Bandwidth with which a whole socket reads memory at this distance, in GB/s. For other sockets than the own one it is
    /// that of the link between the two, unless the file lists links.
    pub bandwidth_gbps: f64,
}

/// Description of a counter at the chip's centre, incremented by a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterDescription {
    /// Cycles between two increments.
    pub occupancy_cycles: u64,
}

/// Bytes of a cache line where a machine file does not say.
pub const USUAL_LINE_BYTES: u64 = 64;

fn usual_line() -> u64 {
    USUAL_LINE_BYTES
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_usual_line(bytes: &u64) -> bool {
    *bytes == USUAL_LINE_BYTES
}

impl MachineDescription {
    /// Returns the number of hardware threads, which is the largest number of workers of a run.
    pub fn cores(&self) -> usize {
        match (&self.mesh, &self.sockets) {
            (Some(mesh), _) => mesh.tiles as usize,
            (None, Some(s)) => {
                let cores: u64 = (0..s.count).map(|socket| s.cores_of(socket)).sum();
                (cores * s.threads_per_core()) as usize
            }
            (None, None) => 0,
        }
    }

    /// Returns the number of memory nodes: one per socket, or a single one if the chip's memory is equally far from
    /// everywhere.
    pub fn memory_nodes(&self) -> usize {
        self.sockets.as_ref().map_or(1, |s| s.count as usize)
    }

    /// Returns the number of ticks in a second.
    pub fn ticks_per_second(&self) -> u64 {
        self.clock_mhz * 1_000_000
    }

    /// Returns the text of the machine file: TOML that loads back to the same description.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a description has nothing that TOML can't say")
    }

    /// Returns the cycles of `ns` nanoseconds, rounded.
    pub(crate) fn cycles(&self, ns: f64) -> u64 {
        // Multiplication, division and truncation are exactly defined in IEEE 754, so all hosts get the same result.
        (ns * self.clock_mhz as f64 / 1000.0 + 0.5) as u64
    }

    /// Returns the time, in 1/256 cycles, that a line takes at `gbps` GB/s.
    pub(crate) fn line_time_256(&self, gbps: f64) -> u64 {
        (self.line_bytes as f64 / gbps * self.clock_mhz as f64 / 1000.0 * 256.0 + 0.5) as u64
    }
}

impl SocketsDescription {
    /// Returns the number of hardware threads of a core.
    pub fn threads_per_core(&self) -> u64 {
        self.thread_steps.last().copied().unwrap_or(1)
    }

    /// Returns the number of physical cores of a socket.
    pub fn cores_of(&self, socket: u64) -> u64 {
        self.cores_by_socket.get(socket as usize).copied().unwrap_or(self.cores_per_socket)
    }

    /// Returns the number of hardware threads of a socket.
    pub fn threads_of(&self, socket: u64) -> u64 {
        self.cores_of(socket) * self.threads_per_core()
    }

    /// Returns the socket of a thread. Threads fill one socket after the other, whatever the order within it.
    pub fn socket_of_thread(&self, thread: u64) -> u64 {
        let mut before = 0;
        let full = (0..self.count).take_while(|socket| {
            before += self.threads_of(*socket);
            before <= thread
        });
        (full.count() as u64).min(self.count - 1)
    }

    /// Returns the level between two sockets, as a number in `level`.
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
