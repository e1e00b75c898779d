//! The machine layer: all concurrent code in Kilocore runs on it.
//!
//! A [`Machine`] hands out [`Core`]s. Data structures and protocols are generic over the machine and access
//! shared memory only through a core. The same code therefore runs on several machines:
//!
//! - [`Native`]: real atomics, without extra cost.
//! - [`Explored`]: an adversarial scheduler that looks for wrong interleavings.
//! - the crate `simulator`: modelled hardware with modelled time.
//!
//! Two rules make this possible:
//!
//! 1. Code accesses a shared word through a core, and passes the [`Line`] that models the word's cache line.
//! 2. All waiting goes through a core. A native thread then sleeps, a simulated core lets time pass, and an
//!    explored core switches to another fiber.

mod arena;
mod breakdown;
pub mod cold;
mod core;
#[cfg(feature = "explored")]
mod explored;
pub mod fiber;
mod lines_moved;
pub mod mailbox;
mod native;
mod pages;
mod runs;
mod settled;
mod stand_ins;
mod word;

pub use arena::{Arena, ArenaOptions, OutOfMemory, Place, Shared, available_memory};
pub use breakdown::{Breakdown, Category, Spent};
pub use core::{
    Body, Core, Fault, Line, Machine, NEVER, RunError, Service, Sharing, Tick, TimedOut,
    USUAL_CLOCK_READ_CYCLES, USUAL_PAUSE_CYCLES, USUAL_YIELD_CYCLES,
};
#[cfg(feature = "explored")]
pub use explored::{
    Explored, ExploredCore, ExploredOptions, Moment, Operation, Schedule, Step, Switch,
};
pub use lines_moved::{LinesMoved, Movement};
pub use native::{Native, NativeCore, NativeOptions};
pub use runs::{Run, Runs};
pub use settled::{SettledRange, SettledRanges};
pub use stand_ins::StandIns;
pub use word::{Word, Zeroed};
