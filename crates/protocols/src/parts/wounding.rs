//! The older wounds the younger, and the younger waits.
//!
//! Source: Rosenkrantz, Stearns and Lewis, TODS 1978 (WOUND-WAIT). Waiters stand oldest first, in a
//! [`super::cancellable_queue`]; whoever waits is told when its turn has come or when it is wounded.

use super::cancellable_queue::{CALLED, Policy, Session, WAITING};
use machine::{Core, Machine};
use txn::AbortReason;

/// What a requester does to whom it meets.
#[derive(Clone, Copy, Debug)]
pub struct Wound {
    timestamp: u64,
}

impl Wound {
    /// By a transaction of this timestamp.
    #[inline(always)]
    pub fn by(timestamp: u64) -> Wound {
        Wound { timestamp }
    }

    /// Its timestamp.
    #[inline(always)]
    pub fn timestamp(self) -> u64 {
        self.timestamp
    }

    /// Whether it wounds a transaction of timestamp `other`.
    #[inline(always)]
    pub fn wounds(self, other: u64) -> bool {
        self.timestamp < other
    }
}

impl<M: Machine> Policy<M> for Wound {
    const BY_NAME: bool = true;
    const MEETS_ALL: bool = false;

    fn meets(&mut self, core: &M::Core, other: &Session<M>, name: u64) {
        if self.wounds(name) {
            other.call(core);
        }
    }

    fn until_told(&mut self, core: &M::Core, session: &Session<M>) -> Result<(), AbortReason> {
        core.wait_while(&session.line, &session.fate, |fate| fate & (WAITING | CALLED) == WAITING);
        Ok(())
    }
}
