//! Reasons why a transaction did not commit.

use std::fmt;

/// Reason that a protocol, the engine or the procedure itself gives for ending an attempt.
///
/// Every abort has a reason. Reports count attempts by reason, and a retry loop asks [`AbortReason::is_retryable`].
///
/// It is a word wide: then a result of a row's head or an abort is moved by whole words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u64)]
pub enum AbortReason {
    /// A lock was held in a conflicting mode, and the protocol does not wait for it (NO_WAIT, or an optimistic
    /// protocol at commit). Under ARIA, a transaction before this one in the batch has written the same record.
    LockConflict,
    /// The requester was younger than a conflicting holder (WAIT_DIE).
    Died,
    /// An older transaction took the lock away (WOUND_WAIT), or a cascading abort reached this transaction.
    Wounded,
    /// The transaction was the victim of a deadlock.
    Deadlock,
    /// The transaction waited longer than the protocol's limit.
    Timeout,
    /// The operation came too late for its timestamp (timestamp ordering).
    TimestampOrder,
    /// A record that was read had changed or was locked when the read set was validated.
    Validation,
    /// A scanned range or an absent key had changed when it was validated.
    Phantom,
    /// The record's slot was being given back while it was accessed. A retry looks the key up again.
    RecordRetired,
    /// The arena has no room for another record or version.
    OutOfMemory,
    /// The transaction accessed a key of a partition that it had not declared at its begin.
    UndeclaredPartition,
    /// The table's index has no place for the key, because it was made for certain keys only.
    KeyOutsideIndex,
    /// The transaction was to change something that the table's schema declares constant: a constant column, or the
    /// set of rows of a table that has constant columns. Where partitions are stored apart, tables that are in all of them
    /// are constant.
    ConstantData,
    /// The procedure asked for the rollback (TPC-C's 1 % of NewOrder, or a closure's error).
    User,
    /// The run was asked to stop before the transaction could commit.
    Stopped,
}

impl AbortReason {
    /// Every reason, in the order in which reports list them.
    pub const ALL: [AbortReason; 15] = [
        AbortReason::LockConflict,
        AbortReason::Died,
        AbortReason::Wounded,
        AbortReason::Deadlock,
        AbortReason::Timeout,
        AbortReason::TimestampOrder,
        AbortReason::Validation,
        AbortReason::Phantom,
        AbortReason::RecordRetired,
        AbortReason::OutOfMemory,
        AbortReason::UndeclaredPartition,
        AbortReason::KeyOutsideIndex,
        AbortReason::ConstantData,
        AbortReason::User,
        AbortReason::Stopped,
    ];

    /// Returns true if running the same procedure again can succeed.
    pub const fn is_retryable(self) -> bool {
        !matches!(
            self,
            AbortReason::OutOfMemory
                | AbortReason::UndeclaredPartition
                | AbortReason::KeyOutsideIndex
                | AbortReason::ConstantData
                | AbortReason::User
                | AbortReason::Stopped
        )
    }

    /// Returns the name used in records and reports, for example `lock_conflict`.
    pub const fn name(self) -> &'static str {
        match self {
            AbortReason::LockConflict => "lock_conflict",
            AbortReason::Died => "died",
            AbortReason::Wounded => "wounded",
            AbortReason::Deadlock => "deadlock",
            AbortReason::Timeout => "timeout",
            AbortReason::TimestampOrder => "timestamp_order",
            AbortReason::Validation => "validation",
            AbortReason::Phantom => "phantom",
            AbortReason::RecordRetired => "record_retired",
            AbortReason::OutOfMemory => "out_of_memory",
            AbortReason::UndeclaredPartition => "undeclared_partition",
            AbortReason::KeyOutsideIndex => "key_outside_index",
            AbortReason::ConstantData => "constant_data",
            AbortReason::User => "user",
            AbortReason::Stopped => "stopped",
        }
    }
}

impl fmt::Display for AbortReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An attempt that did not commit. Every access returns it through `?`, up to the retry loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// Reason for the abort.
    pub reason: AbortReason,
}

impl Abort {
    /// Returns an abort for `reason`.
    #[inline]
    pub const fn because(reason: AbortReason) -> Abort {
        Abort { reason }
    }

    /// Returns the abort with which a procedure asks for its own rollback.
    #[inline]
    pub const fn user() -> Abort {
        Abort::because(AbortReason::User)
    }
}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transaction aborted: {}", self.reason)
    }
}

impl std::error::Error for Abort {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_name() {
        let mut names: Vec<_> = AbortReason::ALL.iter().map(|r| r.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), AbortReason::ALL.len());
    }
}
