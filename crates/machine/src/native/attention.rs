//! Decides whether a thread that changes a word must look for sleepers.
//!
//! Hardly any word is ever waited for, so a change must cost almost nothing while no thread sleeps. In general,
//! no wake-up is lost if both sides execute a full barrier between their two steps (Dekker's argument):
//!
//! ```text
//! sleeper: is counted        | barrier | looks at the word, and sleeps unless it has changed
//! waker:   changes the word  | barrier | looks at the count, and wakes the counted threads
//! ```
//!
//! The waker's barrier costs some tens of cycles per change. So a waker executes it only while [`Attention`] is
//! asked for:
//!
//! | state | a waker | how the state is left |
//! | --- | --- | --- |
//! | `UNASKED` | continues after one comparison | a sleeper: to `ASKING` |
//! | `ASKING` | executes its barrier, reads counts | a sleeper, by a [barrier for all](super::barrier): to `ASKED` |
//! | `ASKED` | the same | a waker that has found no sleeper many times: to `LEAVING` |
//! | `LEAVING` | the same | no thread is counted: to `UNASKED`. A thread is counted, or a sleeper: to `ASKED` |
//!
//! No sleeper misses a change. There are two cases for the waker.
//!
//! - It reads any state but `UNASKED`. Then it executes its barrier, and Dekker's argument holds directly.
//! - It reads `UNASKED`. The sleeper relies on an `ASKED` that follows a barrier for all threads. The waker's
//!   read precedes that barrier, because no later read returns the older state. The waker has changed the word
//!   before that read. So the barrier has made the change visible, and the sleeper, which reads the word
//!   afterwards, sees it.
//!
//! A sleeper can rely on `ASKED`: the sleeper is counted, executes a barrier, and then reads the state. The
//! thread that leaves writes `LEAVING`, executes a barrier, and then reads the count. By Dekker's argument at
//! least one of the two sees the other's write.
//!
//! - If the sleeper reads `LEAVING`, it writes `ASKED` itself, or it finds `UNASKED` and asks again.
//! - Otherwise the leaving thread sees that a sleeper is counted, and it returns to `ASKED`.
//!
//! Only one thread leaves at a time, under a latch. With two, the first could take the second's `LEAVING` for
//! its own.
//!
//! The barrier for all threads interrupts every processor that runs a thread of the process. An earlier version
//! executed it for each sleep. That took half of the time of 16 threads on two processors under DL_DETECT. Now
//! it is executed only when sleeping begins.

use super::barrier;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

const UNASKED: u32 = 0;
const ASKING: u32 = 1;
const ASKED: u32 = 2;
const LEAVING: u32 = 3;

/// Number of consecutive looks of one thread that find no sleeper anywhere, after which the thread ends
/// attention. It corresponds to a millisecond or more of transactions.
pub(super) const LOOKS_IN_VAIN: u32 = 1 << 12;

/// Shared state of wakers and sleepers. It has cache lines of its own, because all threads that change words
/// read it.
#[repr(align(128))]
pub(super) struct Attention {
    state: AtomicU32,
    /// Number of threads that sleep or are about to sleep.
    sleepers: AtomicU32,
    /// Latch of the thread that is in state `LEAVING`.
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

    /// Returns true if a thread that has changed a word must look for sleepers.
    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        self.state.load(Ordering::Relaxed) != UNASKED
    }

    /// Returns true if a thread sleeps or is about to sleep.
    pub fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) != 0
    }

    /// Counts the calling thread as a sleeper. Afterwards the thread reads its word and sleeps.
    ///
    /// Returns false if this system has no barrier for all threads. Then the sleeper can miss a change that is
    /// still on its way to memory.
    ///
    /// If the thread is also counted elsewhere, it must have written that count before.
    pub fn enter(&self) -> bool {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // The count must be visible before the state and the word are read.
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

    /// Removes the calling thread from the count.
    pub fn exit(&self) {
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends attention if there are no sleepers. A waker calls this if it has found no sleepers for a long time.
    pub fn leave(&self) {
        let Some(_alone) = self.leaving.try_lock() else { return };
        self.change(ASKED, LEAVING);
        // The state must be visible before the count is read.
        barrier::for_this_thread();
        self.change(LEAVING, if self.has_sleepers() { ASKED } else { UNASKED });
    }

    /// Changes the state from `state` to `next`, if it still is `state`.
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
        // Without a barrier for all threads attention is never left.
        assert_eq!(attention.is_asked(), !guarded);
        attention.enter();
        assert!(attention.is_asked());
    }
}
