//! Whether a thread that changes a word must look for sleepers, and how that changes.
//!
//! Hardly any word is ever waited for, so a change must cost next to nothing while nobody sleeps. A change is seen and a
//! sleeper is found if both sides execute a full barrier between their two steps (Dekker's argument):
//!
//! ```text
//! sleeper: is counted        | barrier | looks at the word, and sleeps unless it has changed
//! waker:   changes the word  | barrier | looks at the count, and wakes whoever is counted
//! ```
//!
//! The waker's barrier costs some tens of cycles a change, so it is executed only while [`Attention`] is asked for:
//!
//! | state | a waker | how it is left |
//! | --- | --- | --- |
//! | `UNASKED` | goes on after one comparison | a sleeper: to `ASKING` |
//! | `ASKING` | executes its barrier and looks at the counts | by a sleeper's barrier for all threads ([`super::barrier`]): to `ASKED` |
//! | `ASKED` | the same | a waker that has found no sleeper many times: to `LEAVING` |
//! | `LEAVING` | the same | nobody is counted: to `UNASKED`; somebody is: to `ASKED`. A sleeper: to `ASKED` |
//!
//! Why no change is slept through. A waker that reads anything but `UNASKED` executes its barrier, and Dekker's argument holds as it
//! stands. A waker that reads `UNASKED` read it before the barrier for all threads that led to the `ASKED` on which
//! the sleeper relies, as no later read returns the older state. It had changed the word before that read, so the
//! barrier has made the change visible, and the sleeper, which looks afterwards, sees it.
//!
//! Why a sleeper can rely on `ASKED`. It is counted, executes a barrier, and then reads the state. The thread that
//! leaves writes `LEAVING`, executes a barrier, and then reads the count. So the sleeper has read `LEAVING`, or the other
//! one reads a sleeper and returns to `ASKED`. In the first case the sleeper writes `ASKED` itself, or it finds `UNASKED` and asks
//! anew. One thread leaves at a time, under a latch: with two, the first could take the second's `LEAVING` for its own.
//!
//! The barrier for all threads interrupts every processor that runs a thread of the process. It was executed for each sleep once, which took
//! half of the time of 16 threads on two processors under DL_DETECT; now it is executed when sleeping begins.

use super::barrier;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

const UNASKED: u32 = 0;
const ASKING: u32 = 1;
const ASKED: u32 = 2;
const LEAVING: u32 = 3;

/// So many looks in a row of one thread that find no sleeper anywhere end it: a millisecond or more of transactions.
pub(super) const LOOKS_IN_VAIN: u32 = 1 << 12;

/// On a line of its own: all threads that change words look at it.
#[repr(align(128))]
pub(super) struct Attention {
    state: AtomicU32,
    /// Threads that sleep or are about to.
    sleepers: AtomicU32,
    leaving: Mutex<()>,
}

impl Attention {
    pub const fn new() -> Attention {
        Attention {
            state: AtomicU32::new(UNASKED),
            sleepers: AtomicU32::new(0),
            leaving: Mutex::new(()),
        }
    }

    /// Whether a thread that has changed a word must look for sleepers.
    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        self.state.load(Ordering::Relaxed) != UNASKED
    }

    /// Whether somebody sleeps, or is about to.
    pub fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) != 0
    }

    /// Counts the calling thread as a sleeper, who then looks at its word and sleeps. False if this system has no barrier for all threads:
    /// then a change can be overlooked that was made within the moment in which a store is on its way.
    ///
    /// What the thread is counted in beside this must be written before.
    pub fn enter(&self) -> bool {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // The count is visible before the state and the word are read.
        barrier::for_this_thread();
        loop {
            match self.state.load(Ordering::Acquire) {
                ASKED => return true,
                LEAVING => self.change(LEAVING, ASKED),
                _ => {
                    self.change(UNASKED, ASKING);
                    if !barrier::for_all_threads() {
                        return false;
                    }
                    self.change(ASKING, ASKED);
                }
            }
        }
    }

    /// Takes the calling thread from the count.
    pub fn exit(&self) {
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Called by a waker that has found no sleepers for long.
    pub fn leave(&self) {
        let Some(_alone) = self.leaving.try_lock() else { return };
        self.change(ASKED, LEAVING);
        // The state is visible before the count is read.
        barrier::for_this_thread();
        self.change(LEAVING, if self.has_sleepers() { ASKED } else { UNASKED });
    }

    /// From `state` to `next`, if it is still that.
    fn change(&self, state: u32, next: u32) {
        let _ = self.state.compare_exchange(state, next, Ordering::AcqRel, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_asked_for_with_the_first_sleeper_and_left_after_the_last() {
        let attention = Attention::new();
        assert!(!attention.is_asked());
        let guarded = attention.enter();
        assert!(attention.is_asked() && attention.has_sleepers());
        attention.leave();
        assert!(attention.is_asked());
        attention.exit();
        assert!(attention.is_asked() && !attention.has_sleepers());
        attention.leave();
        // Without a barrier for all threads it is asked for ever.
        assert_eq!(attention.is_asked(), !guarded);
        attention.enter();
        assert!(attention.is_asked());
    }
}
