//! SILO's TID word: a lock bit, and the identity of the last writer's commit.
//!
//! ```text
//! | epoch: 31 bits | sequence: 32 bits | locked: 1 bit |
//! ```
//!
//! A reader copies a row without a lock: it reads the word before and after the copy. If the word
//! is unlocked and the same, the copy is not torn. A committing writer sets the lock bit, installs,
//! and stores a larger TID.

use super::pauses::Pauses;
use crate::{CommitLocks, faults};
use machine::{Category, Core, Machine, Word, Zeroed};
use storage::{RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet};

/// Lock bit of a TID word: set while a committing transaction has the record locked.
pub const LOCKED: u64 = 1;

/// Words of a record with a TID word among them.
pub trait TidRecord: Zeroed + Send + Sync + 'static {
    /// Lock bit of this protocol's word.
    const LOCKED: u64 = LOCKED;

    /// Set if a version that was read can still be valid after it was overwritten.
    const OUTLASTS: bool = false;

    /// Returns the TID word.
    fn word(&self) -> &Word;

    /// Returns true if the version that was read under `read` has been overwritten when the word is `now`.
    #[inline(always)]
    fn is_overwritten(read: u64, now: u64) -> bool {
        now & !Self::LOCKED != read
    }
}

/// Returns the first TID of `epoch` that is larger than `last`.
#[inline]
pub fn next_tid(epoch: u64, last: u64) -> u64 {
    let next = (last & !LOCKED) + 2;
    next.max(epoch << 33)
}

/// Returns the epoch of a TID.
#[inline]
pub fn epoch_of(tid: u64) -> u64 {
    tid >> 33
}

/// Copies a consistent row. Waits while a writer has the record locked, copies, and retries if the
/// word has changed meanwhile. Returns the word, unlocked, under which the copy is valid.
#[inline(always)]
pub fn read_consistently<M: Machine, C: TidRecord>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    columns: ColumnSet,
    out: &mut [u8],
) -> (u64, RowHead) {
    let (line, word) = (record.line(), record.cc().word());
    loop {
        let before = core.wait_while(line, word, |w| w & C::LOCKED != 0);
        let head = record.copy_out(core, columns, out);
        core.fence_acquire();
        // A relaxed load is enough behind the fence: the copies above cannot move below it.
        if core.load_relaxed(line, word) == before {
            return (before, head);
        }
    }
}

/// How a read waits for the lock of a record that is locked while it is copied.
#[derive(Clone, Copy)]
pub enum ReadLocks {
    /// The read waits as a commit does.
    AsCommits(CommitLocks),
    /// The read waits in a queue for as long as it takes. A thread in it looks at intervals and yields its processor.
    InTurn,
}

/// Copies a row under the record's lock, for which it waits as `locks` says. Returns the word, unlocked, under which the
/// copy is valid.
///
/// The lock's holder waits for nothing, so readers only wait for committing transactions and for each other's copies.
#[cold]
pub fn read_locked<M: Machine, C: TidRecord>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    locks: ReadLocks,
    columns: ColumnSet,
    out: &mut [u8],
) -> Result<(u64, RowHead), Abort> {
    let before = match locks {
        ReadLocks::AsCommits(commit_locks) => lock(core, record, commit_locks)?,
        ReadLocks::InTurn => lock_in_turn(core, record),
    };
    let head = record.copy_out(core, columns, out);
    core.store(record.line(), record.cc().word(), before);
    core.wake(record.line(), record.cc().word());
    Ok((before, head))
}

/// Locks the record as [`ReadLocks::InTurn`] says. Returns the word as it was before.
///
/// The word has no queue. Whoever is the first to find it unlocked locks it, and then lets the time pass in which the first of a
/// queue would have noticed its turn.
fn lock_in_turn<M: Machine, C: TidRecord>(core: &M::Core, record: &RecordRef<'_, M, C>) -> u64 {
    let (line, word) = (record.line(), record.cc().word());
    loop {
        let free = core.wait_yielding(line, word, |w| w & C::LOCKED != 0);
        if core.cas(line, word, free, free | C::LOCKED).is_ok() {
            core.notice_turn();
            return free;
        }
    }
}

/// Locks the record to commit. With [`CommitLocks::Refuse`] and [`CommitLocks::Retry`] aborts if another transaction has it
/// locked, and with [`CommitLocks::Bounded`] if that lasts. Returns the word as it was before.
#[inline(always)]
pub fn lock<M: Machine, C: TidRecord>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    commit_locks: CommitLocks,
) -> Result<u64, Abort> {
    let (line, word) = (record.line(), record.cc().word());
    loop {
        let free = match commit_locks {
            CommitLocks::Wait => core.wait_to_take(line, word, |w| w & C::LOCKED != 0),
            CommitLocks::Refuse | CommitLocks::Retry { .. } => core.load(line, word),
            CommitLocks::Bounded { .. } => wait_bounded(core, record, commit_locks)?,
        };
        if free & C::LOCKED != 0 {
            return Err(Abort::because(AbortReason::LockConflict));
        }
        if core.cas(line, word, free, free | C::LOCKED).is_ok() {
            return Ok(free);
        }
    }
}

/// Returns the word when the record is not locked. Looks again after each of [`Pauses`], and aborts after the last.
///
/// A compare-and-swap that fails after this begins another wait. It fails only because another transaction has
/// committed or has acquired the lock, so some transaction has gone on meanwhile.
fn wait_bounded<M: Machine, C: TidRecord>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    commit_locks: CommitLocks,
) -> Result<u64, Abort> {
    let (line, word) = (record.line(), record.cc().word());
    if core.is_planted(faults::BOUNDED_WAIT_LASTS) {
        return Ok(core.wait_while(line, word, |w| w & C::LOCKED != 0));
    }
    let mut pauses = Pauses::default();
    loop {
        let found = core.load(line, word);
        if found & C::LOCKED == 0 {
            return Ok(found);
        }
        let before = core.account(Category::Wait);
        let goes_on = pauses.wait(core, commit_locks.pauses());
        core.account(before);
        if !goes_on {
            return Err(Abort::because(AbortReason::LockConflict));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tids_grow_and_carry_their_epoch() {
        let first = next_tid(7, 0);
        assert_eq!((epoch_of(first), first & LOCKED), (7, 0));
        let second = next_tid(7, first | LOCKED);
        assert!(second > first && epoch_of(second) == 7 && second & LOCKED == 0);
        assert_eq!(epoch_of(next_tid(8, second)), 8);
        assert!(next_tid(6, second) > second);
    }
}
