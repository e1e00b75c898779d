//! What other sessions may do to a running transaction that depends on some and that others depend on.
//!
//! One word, the *fate* of an attempt, says whether it waits for a lock, whether it must abort, whether it is
//! committing, and how many of its requests stand behind conflicting ones (the commit semaphore of Guo et al.,
//! SIGMOD 2021). As all of that is one word, an attempt begins to commit only if nothing stands in its way at
//! that very moment, and from then on nobody can put anything in its way or call it.
//!
//! The timestamp is drawn when it is first needed, by whoever needs it (the paper's optimization 4), and stays
//! through all retries.
//!
//! All of it is done under the latch of a lock in whose list the session has a request, so the attempt cannot
//! end meanwhile.

use super::timestamp_allocator::{TimestampAllocator, TimestampSource};
use crate::faults;
use machine::{Core, Machine, Word, Zeroed};

/// Set while the session waits for a lock.
const WAITING: u64 = 1;
/// Set when the attempt must abort.
const CALLED: u64 = 2;
/// Set once the attempt commits and cannot be called any more.
const COMMITTING: u64 = 4;
/// One request that stands behind a conflicting one. They are counted above the flags.
const BLOCKED: u64 = 8;

/// What others may know of a session.
#[repr(C, align(64))]
pub struct DependentSession<M: Machine> {
    line: M::Line,
    fate: Word,
    /// 0 while there is none.
    timestamp: Word,
}

// SAFETY: a line and words.
unsafe impl<M: Machine> Zeroed for DependentSession<M> {}

impl<M: Machine> DependentSession<M> {
    /// An attempt begins. The session stands in no list.
    #[inline]
    pub fn begin(&self, core: &M::Core, is_new: bool) {
        core.store(&self.line, &self.fate, 0);
        if is_new {
            core.store(&self.line, &self.timestamp, 0);
        }
    }

    /// Whether the attempt must abort.
    #[inline]
    pub fn is_called(&self, core: &M::Core) -> bool {
        core.load(&self.line, &self.fate) & CALLED != 0
    }

    /// Tells the attempt to abort; false if it commits already.
    pub fn call(&self, core: &M::Core) -> bool {
        let called = self.unless_committing(core, |fate| fate | CALLED);
        core.wake(&self.line, &self.fate);
        called
    }

    /// One more of its requests stands behind another; false if it commits already.
    pub fn block(&self, core: &M::Core) -> bool {
        self.unless_committing(core, |fate| fate + BLOCKED)
    }

    fn unless_committing(&self, core: &M::Core, change: impl Fn(u64) -> u64) -> bool {
        let mut seen = core.load(&self.line, &self.fate);
        while seen & COMMITTING == 0 {
            let wanted = change(seen);
            if wanted == seen {
                return true;
            }
            match core.cas(&self.line, &self.fate, seen, wanted) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// One of its requests no longer stands behind another.
    pub fn unblock(&self, core: &M::Core) {
        core.fetch_add(&self.line, &self.fate, BLOCKED.wrapping_neg());
        core.wake(&self.line, &self.fate);
    }

    /// It is about to wait for a lock.
    pub fn expects_grant(&self, core: &M::Core) {
        core.fetch_add(&self.line, &self.fate, WAITING);
    }

    /// It need not wait any more.
    pub fn granted(&self, core: &M::Core) {
        core.fetch_add(&self.line, &self.fate, WAITING.wrapping_neg());
        core.wake(&self.line, &self.fate);
    }

    /// Waits until it is granted what it waits for; false if the attempt must abort.
    pub fn until_granted(&self, core: &M::Core) -> bool {
        let waits = |fate| fate & (WAITING | CALLED) == WAITING;
        core.wait_while(&self.line, &self.fate, waits) & CALLED == 0
    }

    /// Waits until none of its requests stands behind another, and commits from then on; false if the attempt
    /// must abort.
    pub fn begin_commit(&self, core: &M::Core) -> bool {
        let at_once = core.is_planted(faults::BAMBOO_WITHOUT_WAITING);
        loop {
            let waits = |fate| !at_once && fate >= BLOCKED && fate & CALLED == 0;
            let fate = core.wait_while(&self.line, &self.fate, waits);
            if fate & CALLED != 0 {
                return false;
            }
            // Who has not waited is told later that it need not.
            let committing = if at_once { fate | COMMITTING } else { COMMITTING };
            // Fails when an older reader has just come before one of its writes, or when it is called.
            if core.cas(&self.line, &self.fate, fate, committing).is_ok() {
                return true;
            }
        }
    }

    /// Its timestamp, drawn if it has none.
    pub fn timestamp(
        &self,
        core: &M::Core,
        allocator: &TimestampAllocator<M>,
        source: &mut TimestampSource,
    ) -> u64 {
        let seen = core.load(&self.line, &self.timestamp);
        if seen != 0 {
            return seen;
        }
        // A counter in hardware begins with 0, which is none here.
        let drawn = allocator.draw(core, source) + 1;
        // Somebody may have come first, in another list.
        core.cas(&self.line, &self.timestamp, 0, drawn).map_or_else(|seen| seen, |_| drawn)
    }
}
