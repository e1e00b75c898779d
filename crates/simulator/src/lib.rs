//! Simulated: a [`Machine`](machine::Machine) of up to thousands of modelled cores with modelled time.
//!
//! The simulation is execution-driven. The program under the model really runs: each core is a coroutine, and all
//! coroutines share one thread of the host. Operations on shared memory are charged by the state of the line and by
//! distance. All other work is charged by what the caller reports. The same seed gives the same bits on any host.
//!
//! The model includes private caches (direct-mapped), a shared cache with capacity, a directory, transfer and
//! serialisation of lines, distance on a mesh or between sockets, memory latency and bandwidth of each node, bandwidth
//! of the links that a line passes between sockets, lines that are written back, SMT as a static slow-down, and waiting
//! on a line.
//!
//! The model does not include instructions, branch prediction, the instruction cache, TLBs, queues on a mesh, and weak
//! memory orders. It also does not keep the state of each line of a record's body separately: the line that heads the
//! record stands for them.
//!
//! # How an operation is simulated
//!
//! 1. A core calls an operation on a line (`core.rs`). If the core is the earliest, or holds the line and can run
//!    ahead, it goes on at once. Otherwise it suspends its coroutine with its key, `time << 12 | core`.
//! 2. The scheduler (`scheduler.rs`) resumes the core with the smallest key, which the tournament (`queue.rs`) holds
//!    at its root.
//! 3. The core checks its private caches (`cache.rs`). On a miss it asks the directory (`world.rs`), which keeps the
//!    state of each line in the line itself (`line.rs`) and computes the cost from the tables of the machine
//!    (`model.rs`).
//! 4. The core's clock advances by the cost. Cores that wait for a write to a line are parked in `waiting.rs`.

mod body;
mod cache;
mod core;
mod crews;
mod description;
mod line;
mod looks;
mod model;
pub mod probe;
mod queue;
mod scheduler;
mod siblings;
mod simulated;
mod slab;
mod traffic;
mod waiting;
mod ways;
mod world;

pub use crate::core::{HEADER_BYTES, SimCore};
pub use description::{
    CacheDescription, CoreDescription, CounterDescription, DescriptionError, LevelDescription,
    LinkDescription, MachineDescription, MeshDescription, SharedCacheDescription,
    SocketsDescription, USUAL_LINE_BYTES, WholeMachine, assumed_smt_throughput, builtin_names,
};
pub use line::SimLine;
pub use model::Homes;
pub use queue::MAX_CORES;
pub use simulated::{Simulated, SimulatedOptions};
