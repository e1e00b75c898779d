//! Simulated: a [`Machine`](machine::Machine) of up to thousands of modelled cores with modelled time.
//!
//! Execution-driven: the program under the model really runs, one coroutine a core, all on one thread of
//! the host; what it does to shared memory is charged by the state of the line and by distance, and
//! everything else is charged by what the caller says. The same seed gives the same bits on any host.
//!
//! What is modelled: private caches (direct-mapped), a shared cache with capacity, a directory, transfer
//! and serialisation of lines, distance on a mesh or between sockets, memory latency and bandwidth of
//! each node, bandwidth of links between sockets, SMT as a static slow-down, waiting on a line.
//!
//! What is not: instructions, branch prediction, the instruction cache, TLBs, queues on a mesh, weak
//! memory orders, and the state of each line of a record's body apart (the line that heads the record
//! speaks for them).

mod cache;
mod core;
mod description;
mod line;
mod model;
pub mod probe;
mod queue;
mod scheduler;
mod simulated;
mod slab;
mod waiting;
mod world;

pub use crate::core::{HEADER_BYTES, SimCore};
pub use description::{
    CacheDescription, CoreDescription, CounterDescription, DescriptionError, LINE_BYTES,
    LevelDescription, MachineDescription, MeshDescription, SharedCacheDescription,
    SocketsDescription, builtin_names,
};
pub use line::SimLine;
pub use model::Homes;
pub use simulated::{Simulated, SimulatedOptions};
