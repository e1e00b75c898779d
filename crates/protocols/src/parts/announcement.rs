//! Announced writes under snapshot isolation: who is refused because of them, and who waits.
//!
//! Source: Berenson et al., SIGMOD 1995, 4.2 (first committer wins, here first updater); Larson et al., VLDB 2011, 2.5. A
//! record carries at most one announced write, under a latch: the session that made it, and whether that is
//! about to commit. A later writer is refused. A reader looks past it, unless it may be a commit that its
//! snapshot must have.

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
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// Set in an announcement when its transaction is about to commit.
const MARKED: u64 = 1;

/// A session's snapshot, and its way to announce writes.
pub struct Announcer<M: Machine> {
    /// The session's number.
    pub session: usize,
    /// What was stamped by then is seen.
    pub begin: u64,
    /// The way to latches.
    pub latcher: Latcher<M>,
}

impl<M: Machine> Announcer<M> {
    /// For session `session`, with no snapshot yet.
    pub fn new(latches: &LatchNodes, session: usize) -> Announcer<M> {
        Announcer { session, begin: 0, latcher: latches.latcher(session) }
    }

    fn own(&self) -> u64 {
        (self.session as u64 + 1) << 1
    }

    /// Takes the record's latch.
    pub fn latch(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        self.latcher.latch(core, record.line(), record.cc().latch());
    }

    /// The session of another that is about to commit a write to the record, whose latch is held.
    pub fn other_committing(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Times>,
    ) -> Option<usize> {
        let announced = core.load_relaxed(record.line(), &record.cc().pending);
        let other = announced & MARKED != 0 && announced & !MARKED != self.own();
        other.then(|| (announced >> 1) as usize - 1)
    }

    /// Latches the record when no commit is under way there that the snapshot must have.
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
                // Whoever comes after that one is later still.
                return self.latch(core, record);
            }
        }
    }

    /// Latches the record for a write, or says that another was first: has announced one, or has committed one since
    /// the begin.
    pub fn latch_for_write(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Times>,
    ) -> Result<(), Abort> {
        self.latch(core, record);
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
