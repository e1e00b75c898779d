//! Blocking primitives of the operating system, for cold paths only: loading, starting, reporting.
//!
//! Code that a simulated core or an explored schedule runs must not use them. There all waiting goes through a
//! [`Core`](crate::Core).

pub use parking_lot::{Condvar, Mutex, RwLock};
pub use std::sync::{Arc, OnceLock};
