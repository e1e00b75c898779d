//! What a session and the fiber that works for it need for jobs: values that they hand to each other, and panics that come back.

use machine::Machine;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A value that a job uses on another core while its session waits, or does not use the value.
pub(crate) struct Handed<T>(pub T);

// SAFETY: only one core uses the value at a time, and the mailbox orders their uses. Nothing in it is bound to a thread: a site
// or a session refers to shared memory, to memory of its own, and to the core that uses it, which is exchanged.
unsafe impl<T> Send for Handed<T> {}

/// Does `work`, and returns its panic. On a modelled machine a panic is not caught, because it ends the whole run.
pub(crate) fn caught<M: Machine, R>(work: impl FnOnce() -> R) -> std::thread::Result<R> {
    if M::MODELLED { Ok(work()) } else { catch_unwind(AssertUnwindSafe(work)) }
}
