//! A machine whose words obey the C11 memory model. It runs a program in every execution that the model allows.
//!
//! `Explored` interleaves operations, but each operation takes effect at once, for all cores. Real cores can
//! see a relaxed store late, and they can see stores to two words in different orders. Only enumerating those
//! executions shows whether Release is needed.
//!
//! [loom](https://docs.rs/loom) enumerates the executions for its own atomics. Here each
//! [`Word`](::machine::Word) that more than one core accesses stands for one of those atomics. So latches,
//! version chains and whole protocols run under loom in the same code that runs natively.
//!
//! The model is bounded: few cores (three), few operations, and a limited number of preemptions, at which a
//! core that could continue has to let another one run. [`WeakMemory`] lists what is not modelled.

mod core;
mod machine;
mod model;

pub use self::core::WeakCore;
pub use self::machine::WeakMemory;
pub use self::model::{Bounds, Fault, Verdict, check};
