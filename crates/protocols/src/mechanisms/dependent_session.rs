//! A session whose transaction depends on others, and on which others depend: the state that other sessions change.
//!
//! Source: Guo et al., SIGMOD 2021 (the commit semaphore; optimization 4).
//!
//! **State.** One word, the *fate* of an attempt, has three flags and a counter:
//!
//! ```text
//! bit 63 ... 3         2            1        0
//! | blocked requests | COMMITTING | CALLED | WAITING |
//! ```
//!
//! - `WAITING`: the session waits for a lock.
//! - `CALLED`: the attempt must abort.
//! - `COMMITTING`: the attempt commits, and cannot be called any more.
//! - Blocked requests: the number of the attempt's requests that stand behind conflicting ones. This is the paper's
//!   commit semaphore.
//!
//! **Why it is right.** All of this is one word, and an attempt begins to commit by a compare-and-swap from a word
//! without flags and blocked requests. So at that moment nothing stands in its way. Afterwards no session can call it
//! or block it, because [`DependentSession::call`] and [`DependentSession::block`] fail once `COMMITTING` is set.
//!
//! The timestamp is drawn when it is first needed, by the session that needs it (the paper's optimization 4). It stays
//! through all retries.
//!
//! Other sessions do all of this under the latch of a lock in whose list this session has a request. So the attempt
//! cannot end meanwhile.

use super::timestamp_allocator::{TimestampAllocator, TimestampSource};
use crate::faults;
use machine::{Core, Machine, Word, Zeroed};

/// Set in a fate while the session waits for a lock.
const WAITING: u64 = 1;
/// Set in a fate when the attempt must abort.
const CALLED: u64 = 2;
/// Set in a fate once the attempt commits and cannot be called any more.
const COMMITTING: u64 = 4;
/// Counted in a fate for each request that stands behind a conflicting one. The count stands above the flags.
const BLOCKED: u64 = 8;

/// Part of a session's state that other sessions can reach.
#[repr(C, align(64))]
pub struct DependentSession<M: Machine> {
    /// Cache line of these words.
    line: M::Line,
    /// Flags and count of the running attempt. The session waits on this word.
    fate: Word,
    /// Timestamp of the transaction; 0 while it has none. Changes from 0 once, and then stays through all retries.
    timestamp: Word,
}

// SAFETY: `DependentSession` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for DependentSession<M> {}

impl<M: Machine> DependentSession<M> {
    /// Begins an attempt. The session stands in no list. `is_new` says that the attempt is no retry.
    #[inline]
    pub fn begin(&self, core: &M::Core, is_new: bool) {
        core.store(&self.line, &self.fate, 0);
        if is_new {
            core.store(&self.line, &self.timestamp, 0);
        }
    }

    /// Returns whether the attempt must abort.
    #[inline]
    pub fn is_called(&self, core: &M::Core) -> bool {
        core.load(&self.line, &self.fate) & CALLED != 0
    }

    /// Tells the attempt to abort. Returns false if it commits already.
    pub fn call(&self, core: &M::Core) -> bool {
        let called = self.unless_committing(core, |fate| fate | CALLED);
        core.wake(&self.line, &self.fate);
        called
    }

    /// Counts one more request that stands behind a conflicting one. Returns false if the attempt commits already.
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

    /// Counts one request fewer that stands behind a conflicting one.
    pub fn unblock(&self, core: &M::Core) {
        core.fetch_add(&self.line, &self.fate, BLOCKED.wrapping_neg());
        core.wake(&self.line, &self.fate);
    }

    /// Begins a wait for a lock.
    pub fn expects_grant(&self, core: &M::Core) {
        core.fetch_add(&self.line, &self.fate, WAITING);
    }

    /// Ends the wait for a lock.
    pub fn granted(&self, core: &M::Core) {
        core.fetch_add(&self.line, &self.fate, WAITING.wrapping_neg());
        core.wake(&self.line, &self.fate);
    }

    /// Waits for the grant. Returns false if the attempt must abort.
    pub fn until_granted(&self, core: &M::Core) -> bool {
        let waits = |fate| fate & (WAITING | CALLED) == WAITING;
        core.wait_while(&self.line, &self.fate, waits) & CALLED == 0
    }

    /// Waits until none of the attempt's requests stands behind a conflicting one, and makes the attempt commit from
    /// then on. Returns false if the attempt must abort.
    pub fn begin_commit(&self, core: &M::Core) -> bool {
        let at_once = core.is_planted(faults::BAMBOO_WITHOUT_WAITING);
        loop {
            let waits = |fate| !at_once && fate >= BLOCKED && fate & CALLED == 0;
            let fate = core.wait_while(&self.line, &self.fate, waits);
            if fate & CALLED != 0 {
                return false;
            }
            // With the planted bug it has not waited, and later calls of `unblock` still count down: keep the count.
            let committing = if at_once { fate | COMMITTING } else { COMMITTING };
            // Fails if an older reader has just come before one of its writes, or if the attempt is called.
            if core.cas(&self.line, &self.fate, fate, committing).is_ok() {
                return true;
            }
        }
    }

    /// Returns the transaction's timestamp, and draws it if there is none.
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
        // A hardware counter begins with 0, but here 0 stands for no timestamp.
        let drawn = allocator.draw(core, source) + 1;
        // Another session can have drawn the timestamp first, under the latch of another list.
        core.cas(&self.line, &self.timestamp, 0, drawn).map_or_else(|seen| seen, |_| drawn)
    }
}
