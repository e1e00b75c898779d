//! WOUND-WAIT: an older requester wounds a younger one, and a younger requester waits.
//!
//! Source: Rosenkrantz, Stearns and Lewis, TODS 1978 (WOUND-WAIT). Waiters stand oldest first, in a
//! [`super::cancellable_queue`]. A waiter is woken when it is granted the lock or when it is
//! wounded. Waits go only from younger to older transactions, or end with a wound, so they form no
//! deadlock cycle.

use super::cancellable_queue::{CALLED, Policy, SharedSession, WAITING};
use machine::{Core, Machine};
use txn::AbortReason;

/// The rule by which a requester treats the requests that it meets.
#[derive(Clone, Copy, Debug)]
pub struct Wound {
    timestamp: u64,
}

impl Wound {
    /// Creates the rule of a transaction with this timestamp.
    #[inline(always)]
    pub fn by(timestamp: u64) -> Wound {
        Wound { timestamp }
    }

    /// Returns the transaction's timestamp.
    #[inline(always)]
    pub fn timestamp(self) -> u64 {
        self.timestamp
    }

    /// Returns true if it wounds a transaction with timestamp `other`.
    #[inline(always)]
    pub fn wounds(self, other: u64) -> bool {
        self.timestamp < other
    }
}

impl<M: Machine> Policy<M> for Wound {
    const BY_NAME: bool = true;
    const MEETS_ALL: bool = false;

    fn meets(&mut self, core: &M::Core, other: &SharedSession<M>, name: u64) {
        if self.wounds(name) {
            other.call(core);
        }
    }

    fn until_told(
        &mut self,
        core: &M::Core,
        session: &SharedSession<M>,
    ) -> Result<(), AbortReason> {
        core.wait_while(&session.line, &session.fate, |fate| fate & (WAITING | CALLED) == WAITING);
        Ok(())
    }
}
