//! Limits on waiting for a lock where every conflict waits.

use crate::{Deadlocks, ProtocolOptions};

/// The limits say which waits are allowed, when a waiter searches for a deadlock, and when it gives up.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Set if a transaction waits only for a lock beyond all locks that it holds. Then nobody searches.
    pub key_order: bool,
    /// Time before the first search and between searches, in nanoseconds.
    pub search_ns: u64,
    /// Longest wait, in nanoseconds, if there is one.
    pub timeout_ns: Option<u64>,
}

impl Limits {
    /// Returns the limits that `options` ask for.
    pub fn of(options: &ProtocolOptions) -> Limits {
        Limits {
            key_order: options.deadlocks == Deadlocks::KeyOrder,
            search_ns: options.deadlock_search_ns,
            timeout_ns: options.lock_timeout_ns,
        }
    }
}
