//! What everything concurrent in Kilocore runs on.
//!
//! A [`Machine`] hands out [`Core`]s; data structures and protocols are generic over it and touch
//! shared memory only through a core. The same text then runs natively ([`Native`]: real atomics, no
//! cost), under an adversarial scheduler ([`Explored`]) and, in the crate `simulator`, on modelled
//! hardware with modelled time.
//!
//! Two rules make that work. Shared words are touched through a core, with the [`Line`] that models
//! the cache line they lie on. And all waiting goes through a core as well: a thread sleeps, a
//! simulated core lets time pass, a fiber switches.

mod arena;
mod breakdown;
pub mod cold;
mod core;
mod explored;
pub mod fiber;
mod native;
mod word;

pub use arena::{Arena, ArenaOptions, OutOfMemory, Place, Shared, available_memory};
pub use breakdown::{Breakdown, Category, Spent};
pub use core::{Body, Core, Fault, Line, Machine, NEVER, RunError, Service, Tick, TimedOut};
pub use explored::{
    Explored, ExploredCore, ExploredOptions, Moment, Operation, Schedule, Step, Switch,
};
pub use native::{Native, NativeCore, NativeOptions};
pub use word::{Word, Zeroed};
