//! Announced writes under snapshot isolation: which transactions they refuse, and which transactions wait for them.
//!
//! Source: Berenson et al., SIGMOD 1995, 4.2 (first committer wins, here first updater); Larson et al., VLDB 2011, 2.5.
//!
//! A record carries at most one announced write, in its `pending` word. The word names the session that made it, and
//! says whether that session is about to commit (a *mark*). A latch protects the word:
//!
//! ```text
//! 0  -- announce -->  session  -- mark -->  session + MARKED  -- install or withdraw -->  0
//! ```
//!
//! - A writer that meets the announced write of another session aborts.
//! - A reader reads past an announced write that is not marked. Its stamp will be drawn later, so it will be greater
//!   than the snapshot of the reader ([`super::commit_clock`]).
//! - A reader that meets a mark asks the clock for that commit's stamp. If its snapshot must have the commit, the
//!   reader waits for the outcome. Otherwise it reads past the announced write.

use super::{
    announced_writes::Announces,
    commit_clock::CommitClock,
    prewrite::too_late,
    queue_latch::{LatchNodes, Latcher},
    version_chain::{self, Versioned},
    version_times::Times,
};
use crate::faults;
use machine::{Core, Machine};
use storage::{RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet};

/// Set in an announcement when its transaction is about to commit.
const MARKED: u64 = 1;

/// A session's snapshot, and its way to announce writes.
pub struct Announcer<M: Machine> {
    /// Number of the session.
    pub session: usize,
    /// The snapshot: the transaction sees the versions that were stamped up to this time.
    pub begin: u64,
    /// The session's way to take latches.
    pub latcher: Latcher<M>,
}

impl<M: Machine> Announcer<M> {
    /// Creates the state for session `session`, with no snapshot yet.
    pub fn new(latches: &LatchNodes, session: usize) -> Announcer<M> {
        Announcer { session, begin: 0, latcher: latches.latcher(session) }
    }

    fn own(&self) -> u64 {
        (self.session as u64 + 1) << 1
    }

    /// Acquires the record's latch.
    pub fn latch(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        self.latcher.latch(core, record.line(), record.cc().latch());
    }

    /// Returns the number of another session that is about to commit a write to the record, if there is one. The caller
    /// holds the record's latch.
    pub fn other_committing(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Times>,
    ) -> Option<usize> {
        let announced = core.load_relaxed(record.line(), &record.cc().pending);
        let other = announced & MARKED != 0 && announced & !MARKED != self.own();
        other.then(|| (announced >> 1) as usize - 1)
    }

    /// Latches the record at a moment when no commit that the snapshot must have is under way there.
    pub fn latch_settled(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Times>,
        clock: &CommitClock<M>,
    ) {
        loop {
            self.latch(core, record);
            let Some(other) = self.other_committing(core, record) else { return };
            self.unlatch(core, record);
            if clock.is_later(core, other, self.begin) {
                // Every commit that marks the record after this one draws a later stamp still.
                return self.latch(core, record);
            }
        }
    }

    /// Copies the newest version without the latch, if the snapshot has it and no other transaction is about to commit a
    /// write there. Returns the version's head, and the stamp of its writer. Returns none if the caller must look under
    /// the latch.
    ///
    /// **Why it is right.** A commit marks its writes, draws its stamp, issues a release fence, and only then changes the
    /// version's stamp and values. It removes the mark last. The reader looks twice for a mark and for a stamp that is
    /// later than its snapshot: before it copies, and after.
    ///
    /// - *The version was complete.* Before the copy the reader looked for a mark, and then read the version's stamp. If
    ///   the mark of that version's writer had still been to come, its stamp would be later than the snapshot. So the mark
    ///   had come and gone, and the values were there.
    /// - *The copy has nothing newer.* The mark of a later commit precedes its values, with the release fence in between.
    ///   The reader looks after its copy, with an acquire fence in between. So if the copy had a value of that commit, the
    ///   reader would find the mark. If the mark is gone by then, the reader finds the later stamp, which was stored before
    ///   the mark was removed.
    pub fn read_newest(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Times>,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Option<(RowHead, u64)> {
        let written = self.newest_visible(core, record)?;
        let head = record.copy_out(core, columns, out);
        core.fence_acquire();
        let trusts = core.is_planted(faults::SNAPSHOT_TRUSTS_COPIES);
        let same = trusts || self.newest_visible(core, record) == Some(written);
        same.then_some((head, written))
    }

    /// Returns the stamp of the newest version, if the snapshot has it and no other transaction is about to commit a
    /// write there. The record need not be latched.
    #[inline(always)]
    fn newest_visible(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) -> Option<u64> {
        let (line, words) = (record.line(), record.cc());
        let announced = core.load(line, &words.pending);
        let committing = announced & MARKED != 0 && announced & !MARKED != self.own();
        let written = core.load(line, &words.chain.wts);
        (!committing && written <= self.begin).then_some(written)
    }

    /// Latches the record for a write. Fails if another transaction was first: if it has announced a write there, has
    /// committed one since this transaction's snapshot, or holds the latch.
    ///
    /// **Why a writer does not queue for the latch.** Its snapshot ages in the queue. When a crowd of a thousand sessions
    /// wants one record, each has waited for half a millisecond when its turn comes. Another transaction has committed a
    /// write there since, so nearly all are refused, come back, and queue again. Such a crowd never ends by itself
    /// (`results/diary.md`). Refused at once, they come back with a fresh snapshot.
    pub fn latch_for_write(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Times>,
    ) -> Result<(), Abort> {
        if !self.latcher.try_latch(core, record.line(), record.cc().latch()) {
            return Err(Abort::because(AbortReason::LockConflict));
        }
        let announced = core.load_relaxed(record.line(), &record.cc().pending);
        let first_wins = !core.is_planted(faults::SNAPSHOT_LAST_UPDATER_WINS);
        let refusal = if announced != 0 && announced != self.own() {
            Abort::because(AbortReason::LockConflict)
        } else if first_wins && version_chain::wts(core, record) > self.begin {
            too_late()
        } else {
            return Ok(());
        };
        self.unlatch(core, record);
        Err(refusal)
    }

    /// Marks the announced write as about to be committed.
    pub fn mark(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        self.latch(core, record);
        core.store_relaxed(record.line(), &record.cc().pending, self.own() | MARKED);
        self.unlatch(core, record);
    }
}

impl<M: Machine> Announces<M, Times> for Announcer<M> {
    fn announce(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        core.store_relaxed(record.line(), &record.cc().pending, self.own());
    }

    fn withdraw(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        core.store(record.line(), &record.cc().pending, 0);
    }

    fn unlatch(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        self.latcher.unlatch(core, record.line(), record.cc().latch());
    }
}
