//! SILO's TID word: a lock bit, and the identity of the last writer's commit.
//!
//! ```text
//! | epoch: 31 bits | sequence: 32 bits | locked: 1 bit |
//! ```

use crate::CommitLocks;
use machine::{Core, Machine, Word, Zeroed};
use storage::{RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet};

/// Set while a committing transaction owns the record.
pub const LOCKED: u64 = 1;

/// The word and its line are found through the record.
pub trait TidRecord: Zeroed + Send + Sync + 'static {
    /// The bit that is set while a committing transaction owns the record.
    const LOCKED: u64 = LOCKED;

    /// The TID word.
    fn word(&self) -> &Word;
}

/// The first TID of `epoch` that is larger than `last`.
#[inline]
pub fn next_tid(epoch: u64, last: u64) -> u64 {
    let next = (last & !LOCKED) + 2;
    next.max(epoch << 33)
}

/// The epoch of a TID.
#[inline]
pub fn epoch_of(tid: u64) -> u64 {
    tid >> 33
}

/// Copies a consistent row: waits while a writer has the record locked, copies, and begins again if the
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
        // Relaxed is enough behind the fence: the copies above can't move below it.
        if core.load_relaxed(line, word) == before {
            return (before, head);
        }
    }
}

/// Locks the record to commit, or refuses if another has it and `commit_locks` says so. Returns the word
/// from before.
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
            CommitLocks::Refuse => core.load(line, word),
        };
        if free & C::LOCKED != 0 {
            return Err(Abort::because(AbortReason::LockConflict));
        }
        if core.cas(line, word, free, free | C::LOCKED).is_ok() {
            return Ok(free);
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
