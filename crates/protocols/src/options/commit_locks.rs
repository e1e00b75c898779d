//! Says how an optimistic commit behaves at a record that another transaction has locked.

use std::fmt;

/// Behaviour of an optimistic transaction at commit, at a record that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitLocks {
    /// It waits. All transactions lock in one order, so no wait lasts for ever (Silo 4.4).
    Wait,
    /// It aborts. Waiting creates convoys: a waiter keeps others waiting with all that it has locked (TicToc 5.1,
    /// and the code that the study of 2022 measured).
    Refuse,
    /// It waits for as long as so many PAUSE instructions take, and then aborts. No wait lasts, so the write set is
    /// locked in the order of the writes, and is not sorted (bounded spinning: Full story 3.3.1, opt7). MOCC keeps its
    /// order nevertheless, because its other locks need it.
    Bounded {
        /// Number of PAUSE instructions, 1 to [`MAX_PAUSES`].
        pauses: u32,
    },
    /// It unlocks all that it has locked, and begins again after a while, as long as all waits together are not longer than so many
    /// PAUSE instructions. Before each round it looks whether what it has read was overwritten, and then aborts without a lock.
    /// The write set is not sorted (the code of 2022 under SILO and TICTOC).
    Retry {
        /// As in [`CommitLocks::Bounded`].
        pauses: u32,
    },
}

/// Largest number of PAUSE instructions that a commit waits for a record: some ten milliseconds.
pub const MAX_PAUSES: u32 = 100_000;

impl CommitLocks {
    /// Returns true if the write set is sorted before it is locked.
    #[inline(always)]
    pub fn sorts(self) -> bool {
        matches!(self, CommitLocks::Wait | CommitLocks::Refuse)
    }

    /// Returns the number of PAUSE instructions after which a wait for a record ends, if waits are bounded.
    #[inline(always)]
    pub fn pauses(self) -> Option<u32> {
        match self {
            CommitLocks::Bounded { pauses } | CommitLocks::Retry { pauses } => Some(pauses),
            CommitLocks::Wait | CommitLocks::Refuse => None,
        }
    }

    /// Reads what [`CommitLocks::fmt`] writes. Returns `None` if `text` is none of the allowed values.
    pub(super) fn parse(text: &str) -> Option<CommitLocks> {
        let limited = |pauses: &str| pauses.parse().ok().filter(|n| (1..=MAX_PAUSES).contains(n));
        match text.split_once(':') {
            None if text == "wait" => Some(CommitLocks::Wait),
            None if text == "refuse" => Some(CommitLocks::Refuse),
            Some(("bounded", pauses)) => Some(CommitLocks::Bounded { pauses: limited(pauses)? }),
            Some(("retry", pauses)) => Some(CommitLocks::Retry { pauses: limited(pauses)? }),
            _ => None,
        }
    }
}

impl fmt::Display for CommitLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommitLocks::Wait => f.write_str("wait"),
            CommitLocks::Refuse => f.write_str("refuse"),
            CommitLocks::Bounded { pauses } => write!(f, "bounded:{pauses}"),
            CommitLocks::Retry { pauses } => write!(f, "retry:{pauses}"),
        }
    }
}
