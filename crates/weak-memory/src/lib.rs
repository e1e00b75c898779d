//! A machine whose words obey the memory model of C11, run in every execution that it allows.
//!
//! `Explored` interleaves operations, but each operation takes effect at once, for all cores. Real cores may see a
//! relaxed store late, and may see stores to two words in different orders. Only enumerating those executions shows
//! whether Release is needed. [loom](https://docs.rs/loom) enumerates them for its own
//! atomics. Here each [`Word`](::machine::Word) that more than one core touches stands for one of those, so latches, version
//! chains and whole protocols run under it in the very text that runs natively.
//!
//! What is bounded: few cores (three), few operations, and how often a core that could go on has to stand back.
//! What is not modelled is said in [`WeakMemory`].

mod core;
mod machine;
mod model;

pub use self::core::WeakCore;
pub use self::machine::WeakMemory;
pub use self::model::{Bounds, Fault, Verdict, check};
