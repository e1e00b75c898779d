//! Blocking primitives of the operating system, for cold paths only: loading, starting, reporting.
//!
//! Never on a path that a simulated core or an explored schedule runs: there all waiting goes
//! through a [`Core`](crate::Core).

pub use parking_lot::{Condvar, Mutex, RwLock};
pub use std::sync::{Arc, OnceLock};
