//! The footprint of a transaction under optimistic concurrency control: its read set, node set and write set.
//!
//! At commit the transaction locks the write set and validates what it has read. Then it installs its writes, or unlocks the records.

use super::{
    node_set::NodeSet,
    pauses::Pauses,
    record_set::RecordSet,
    tid_word::{self, TidRecord},
    write_set::WriteSet,
};
use crate::{CommitLocks, CommitLog, faults};
use machine::{Category, Core, Machine};
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// A row that was read, and the word under which it was read.
pub struct Observed<'s, M: Machine, C> {
    /// Record of the row.
    pub record: RecordRef<'s, M, C>,
    /// The word, with its lock bit clear.
    pub word: u64,
    /// Set if the transaction has written the row right after this read. A lock on it is its own then, and the write set need not
    /// be searched. Most writes follow the read of their row.
    pub is_written: bool,
}

/// Read set, node set and write set of a transaction.
pub struct Footprint<'s, M: Machine, C> {
    /// The read set.
    pub reads: Vec<Observed<'s, M, C>>,
    /// The node set.
    pub leaves: NodeSet<'s, M, C>,
    /// The write set.
    pub writes: WriteSet<'s, M, C>,
    /// The records of both sets, if reads are locked too ([`Footprint::lock_all`]). Otherwise empty.
    all: RecordSet<'s, M, C, ()>,
    /// Number of locked records. They are the first ones of `all`, or of the write set if `all` is empty, and no others.
    locked: usize,
}

impl<'s, M: Machine, C: TidRecord> Footprint<'s, M, C> {
    pub(super) fn empty() -> Self {
        Footprint {
            reads: Vec::new(),
            leaves: NodeSet::default(),
            writes: WriteSet::default(),
            all: RecordSet::default(),
            locked: 0,
        }
    }

    /// Locks the write set in its order, and checks that updated rows are present. If the set is sorted, all
    /// transactions lock in the same order. Passes each record's word from before to `each`.
    #[inline]
    pub fn lock_writes(
        &mut self,
        core: &M::Core,
        commit_locks: CommitLocks,
        mut each: impl FnMut(u64),
    ) -> Result<(), Abort> {
        if let CommitLocks::Retry { .. } = commit_locks {
            self.lock_in_rounds(core, commit_locks, Footprint::lock_written)?;
            // Other transactions change no word of a locked record.
            for at in 0..self.writes.len() {
                let record = self.writes.record(at);
                each(core.load_relaxed(record.line(), record.cc().word()) & !C::LOCKED);
            }
            return Ok(());
        }
        self.lock_each_written(core, commit_locks, each)
    }

    #[inline(always)]
    fn lock_each_written(
        &mut self,
        core: &M::Core,
        commit_locks: CommitLocks,
        mut each: impl FnMut(u64),
    ) -> Result<(), Abort> {
        for at in 0..self.writes.len() {
            each(tid_word::lock(core, &self.writes.record(at), commit_locks)?);
            self.locked = at + 1;
            self.writes.check_presence(core, at)?;
        }
        Ok(())
    }

    /// As [`Footprint::lock_each_written`], for one round.
    fn lock_written(&mut self, core: &M::Core, commit_locks: CommitLocks) -> Result<(), Abort> {
        self.lock_each_written(core, commit_locks, |_| ())
    }

    /// Locks by `lock` in rounds, as [`CommitLocks::Retry`] says. A round that meets another transaction's lock is undone before the
    /// next one. So nobody waits for a transaction that waits, and the number of rounds is limited.
    #[cold]
    fn lock_in_rounds(
        &mut self,
        core: &M::Core,
        commit_locks: CommitLocks,
        lock: fn(&mut Self, &M::Core, CommitLocks) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let mut pauses = Pauses::default();
        loop {
            self.check_versions(core)?;
            match lock(self, core, commit_locks) {
                Err(abort) if abort.reason == AbortReason::LockConflict => {}
                other => return other,
            }
            if !core.is_planted(faults::RETRY_KEEPS_LOCKS) {
                self.unlock(core);
            }
            self.locked = 0;
            let before = core.account(Category::Wait);
            let goes_on = pauses.wait(core, commit_locks.pauses());
            core.account(before);
            if !goes_on {
                return Err(Abort::because(AbortReason::LockConflict));
            }
        }
    }

    /// Aborts if a version that was read has been overwritten, and could not be validated. Nothing is locked for this.
    fn check_versions(&self, core: &M::Core) -> Result<(), Abort> {
        let is_overwritten = |read: &Observed<'s, M, C>| {
            let now = core.load(read.record.line(), read.record.cc().word());
            C::is_overwritten(read.word, now)
        };
        let decisive = |read: &&Observed<'s, M, C>| read.is_written || !C::OUTLASTS;
        match self.reads.iter().filter(decisive).any(is_overwritten) {
            true => Err(Abort::because(AbortReason::Validation)),
            false => Ok(()),
        }
    }

    /// Locks the records that were read together with the write set, as [`Footprint::lock_writes`] does, and in one order.
    /// Then no other transaction can change them, and another transaction's lock never stands for a change. Without sorting
    /// the order is that of the accesses, as in the code of 2022.
    #[cold]
    pub fn lock_all(&mut self, core: &M::Core, commit_locks: CommitLocks) -> Result<(), Abort> {
        // A read for update is among the reads. Only blind writes are not.
        let read = self.reads.iter().map(|read| read.record);
        for record in read.chain(self.writes.records()) {
            if self.all.find(&record).is_none() {
                self.all.push(record, ());
            }
        }
        if commit_locks.sorts() {
            self.all.sort();
        }
        match commit_locks {
            CommitLocks::Retry { .. } => {
                self.lock_in_rounds(core, commit_locks, Footprint::lock_gathered)?;
            }
            _ => self.lock_gathered(core, commit_locks)?,
        }
        (0..self.writes.len()).try_for_each(|at| self.writes.check_presence(core, at))
    }

    /// Locks the records of both sets.
    fn lock_gathered(&mut self, core: &M::Core, commit_locks: CommitLocks) -> Result<(), Abort> {
        for at in 0..self.all.len() {
            tid_word::lock(core, &self.all.get(at).0, commit_locks)?;
            self.locked = at + 1;
        }
        Ok(())
    }

    /// Returns whether the version that was read is still the newest, and no other transaction has locked it.
    #[inline]
    pub fn is_current(&self, core: &M::Core, read: &Observed<'s, M, C>) -> bool {
        let now = core.load(read.record.line(), read.record.cc().word());
        let is_locked = now & C::LOCKED != 0 && !core.is_planted(faults::SILO_WITHOUT_LOCK_CHECK);
        let is_own = || {
            read.is_written
                || self.writes.find(&read.record).is_some()
                || self.all.find(&read.record).is_some()
        };
        now & !C::LOCKED == read.word && (!is_locked || is_own())
    }

    /// Checks that everything that was read is current. Call with the write set locked.
    #[inline]
    pub fn validate(&self, core: &M::Core) -> Result<(), Abort> {
        if !self.reads.iter().all(|read| self.is_current(core, read)) {
            return Err(Abort::because(AbortReason::Validation));
        }
        self.leaves.validate(core)
    }

    /// Returns whether there is nothing to validate.
    #[inline(always)]
    pub(super) fn reads_nothing(&self) -> bool {
        self.reads.is_empty() && self.leaves.is_empty()
    }

    /// Returns the largest of `first` and the words read.
    #[inline]
    pub fn newest_read(&self, first: u64) -> u64 {
        self.reads.iter().map(|read| read.word).fold(first, u64::max)
    }

    pub(super) fn install(&mut self, core: &M::Core, word: u64, log: &mut CommitLog<'_>) {
        for at in 0..self.writes.len() {
            self.writes.settle(core, at);
        }
        self.writes.install_all(core, log);
        for record in self.writes.records() {
            core.store(record.line(), record.cc().word(), word);
        }
        if self.all.is_empty() {
            return wake(core, self.writes.records());
        }
        let read = self.all.iter().map(|(record, _)| record);
        unlock(core, read.filter(|record| self.writes.find(record).is_none()));
        wake(core, self.all.iter().map(|(record, _)| record));
    }

    pub(super) fn unlock(&mut self, core: &M::Core) {
        if self.all.is_empty() {
            let locked = || self.writes.records().take(self.locked);
            unlock(core, locked());
            return wake(core, locked());
        }
        let locked = || self.all.iter().map(|(record, _)| record).take(self.locked);
        unlock(core, locked());
        wake(core, locked());
    }

    pub(super) fn clear(&mut self) {
        self.locked = 0;
        self.all.clear();
        self.reads.clear();
        self.leaves.clear();
        self.writes.clear();
    }
}

/// Unlocks records without a change.
#[inline]
fn unlock<'s, M: Machine, C: TidRecord>(
    core: &M::Core,
    records: impl Iterator<Item = RecordRef<'s, M, C>>,
) {
    for record in records {
        let (line, word) = (record.line(), record.cc().word());
        let held = core.load_relaxed(line, word);
        core.store(line, word, held & !C::LOCKED);
    }
}

/// Wakes the sessions that wait for one of `records`. Called once all of them are unlocked, because a woken session can
/// need several.
#[inline]
fn wake<'s, M: Machine, C: TidRecord>(
    core: &M::Core,
    records: impl Iterator<Item = RecordRef<'s, M, C>>,
) {
    core.wake_each(records.map(|record| (record.line(), record.cc().word())));
}
