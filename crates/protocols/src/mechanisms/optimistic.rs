//! A frame for optimistic concurrency control. [`Rules`] decide what makes reads valid.
//!
//! Source: Kung and Robinson 1981; record by record as in Tu et al., SOSP 2013, section 4.
//!
//! Each record has a word, which holds a version and a lock bit. A transaction passes through three phases:
//!
//! 1. **Read.** It reads without writing shared memory, and notes the word under which it found each row. It buffers
//!    its own writes.
//! 2. **Validate** ([`Rules::prepare`]). It locks the records that it is to write, and validates what it has read.
//! 3. **Write.** It installs its writes, with a new version in each word, which unlocks the records.
//!
//! Protocols differ in what a version is, when a transaction is serialized, and what makes its reads valid. [`Rules`]
//! hold these differences.
//!
//! **Ranges.** A scan notes the leaves that it meets ([`NodeSet`](super::node_set::NodeSet)). They are validated with the reads.
//!
//! **Additions**, on demand (commit-time updates: Huang, Qian, Kohler, Liskov and Shrira, VLDB 2020). An addition is
//! kept in the write set. It is applied to the row when it is installed, under the row's lock. Nothing is read for it
//! before, so nothing is validated. A read of the same row is a read like any other. Deviation: theirs is any function
//! of the row, ours is the sum.
//!
//! **Read committed**, on demand. Reads and ranges are not noted, except rows that are read for update.

use super::{
    footprint::{Footprint, Observed},
    tid_word::{self, ReadLocks, TidRecord},
    write_set::write_through,
};
use crate::{
    Change, CommitLocks, CommitLog, Declaration, Delegated, Images, Isolation, Prepared, Protocol,
    ProtocolOptions, Txn, faults,
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::{Epochs, GuardRef, Origin, RecordRef, RowHead, RowState};
use txn::{Abort, ColumnSet, Intent};

/// Outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All writes are installed, with this timestamp.
    Committed(u64),
    /// Nothing is installed.
    Aborted,
}

/// Rules of a protocol: what versions are, and what makes reads valid.
pub trait Rules<M: Machine>: Sized + Send + Sync + 'static {
    /// The word in each record, and all else that the protocol keeps there.
    type Words: TidRecord;
    /// State of a session, besides its read set and its write set.
    type Own<'s>: Send
    where
        M: 's;

    /// Behaviour of a commit at a record that another transaction has locked, unless the options say otherwise.
    const COMMIT_LOCKS: CommitLocks = CommitLocks::Refuse;

    /// As [`Protocol::DELEGATED`].
    const DELEGATED: Delegated = Delegated::Nothing;

    /// As [`Protocol::ENTRY_BLOCKS`].
    const ENTRY_BLOCKS: u64 = 0;

    /// Returns how a read waits for the record's lock, if a record is locked while it is copied. Otherwise a copy that a writer has
    /// disturbed is repeated.
    #[inline(always)]
    fn read_locks(&self) -> Option<ReadLocks> {
        None
    }

    /// As [`Protocol::declare`], at the protocol's own level.
    fn declare() -> Declaration;

    /// As [`Protocol::knobs`].
    fn knobs() -> &'static [&'static str];

    /// As [`Protocol::levels`].
    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable, Isolation::ReadCommitted]
    }

    /// Creates the shared state.
    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory>;

    /// Creates the state of session number `session`.
    fn own<'s>(&'s self, epochs: &'s Epochs<M>, session: usize) -> Self::Own<'s>;

    /// Begins an attempt.
    #[inline(always)]
    fn begin<'s>(&'s self, core: &M::Core, own: &mut Self::Own<'s>, txn: Txn<'_>) {
        let _ = (core, own, txn);
    }

    /// Called before a row is read.
    #[inline(always)]
    fn approach<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Self::Own<'s>,
        record: RecordRef<'s, M, Self::Words>,
        intent: Intent,
    ) -> Result<(), Abort> {
        let _ = (core, own, record, intent);
        Ok(())
    }

    /// Checks whether the transaction may have read the version of `word` at all.
    #[inline(always)]
    fn admit(&self, own: &Self::Own<'_>, word: u64) -> Result<(), Abort> {
        let _ = (own, word);
        Ok(())
    }

    /// Locks the write set, and validates what was read. Returns the commit timestamp.
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Self::Own<'s>,
        sets: &mut Footprint<'s, M, Self::Words>,
    ) -> Result<u64, Abort>;

    /// Returns up to which commit timestamp the reads stay valid, if they were validated for `timestamp`. `None` means
    /// that they can be overwritten at any time.
    #[inline(always)]
    fn valid_through(timestamp: u64) -> Option<u64> {
        let _ = timestamp;
        None
    }

    /// As [`Protocol::confirm`]: validates the reads once more, when the write sets at all sites of the transaction are
    /// locked.
    fn confirm<'s>(
        &'s self,
        core: &M::Core,
        sets: &mut Footprint<'s, M, Self::Words>,
        timestamp: u64,
    ) -> Result<(), Abort> {
        let _ = timestamp;
        // The locks at all sites must be visible before any read is validated.
        core.fence();
        sets.validate(core)
    }

    /// Returns the word of a version installed at `timestamp`.
    #[inline(always)]
    fn version_at(timestamp: u64) -> u64 {
        timestamp
    }

    /// Called when the attempt has ended. The records are unlocked, and `sets` is about to be cleared.
    #[inline(always)]
    fn ended<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Self::Own<'s>,
        sets: &Footprint<'s, M, Self::Words>,
        end: End,
    ) {
        let _ = (core, own, sets, end);
    }

    /// As [`Protocol::epoch_of`].
    fn epoch_of(commit_timestamp: u64) -> Option<u64> {
        let _ = commit_timestamp;
        None
    }

    /// Returns the first word of a record made for an absent key, in the range of `guard` or in a table without order.
    /// `None` keeps the word that the slot's last record has left.
    fn first_word(
        &self,
        core: &M::Core,
        guard: Option<GuardRef<'_, M, Self::Words>>,
    ) -> Option<u64> {
        // In a leaf the word must be known: the transaction can have read the absence by scanning the range.
        let _ = core;
        guard.map(|_| 0)
    }

    /// Passes what is known of the range of `from` on to the range of `to`. Called when a leaf splits or merges.
    fn pass_on(
        &self,
        core: &M::Core,
        from: GuardRef<'_, M, Self::Words>,
        to: GuardRef<'_, M, Self::Words>,
    ) {
        let _ = (core, from, to);
    }

    /// As [`Protocol::retire`].
    fn retire(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Self::Words>,
        guard: Option<GuardRef<'_, M, Self::Words>>,
    ) {
        let _ = (core, record, guard);
    }
}

/// State of a session.
pub struct Worker<'s, M: Machine, R: Rules<M>> {
    /// State that the rules keep.
    own: R::Own<'s>,
    /// Footprint of the running attempt.
    sets: Footprint<'s, M, R::Words>,
}

/// The protocol whose rules of validation are `R`.
pub struct Optimistic<R> {
    rules: R,
    /// Set if all reads are noted. Otherwise only reads for update are.
    validates: bool,
    /// Set if additions are applied at commit.
    adds_at_commit: bool,
}

impl<R> Optimistic<R> {
    /// Returns whether a blind update finds its row. A row that is found is not read: its presence is checked under the
    /// lock at commit. An absence becomes part of the read set, because the caller is told of it.
    #[inline(always)]
    fn finds<'s, M: Machine>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        record: RecordRef<'s, M, R::Words>,
        at: Option<usize>,
    ) -> Result<bool, Abort>
    where
        R: Rules<M>,
    {
        if worker.sets.writes.state_over(at, record.head(core).state).is_present() {
            return Ok(true);
        }
        self.read_absence(core, worker, record)
    }

    /// Reads whether a row is present. It is apart, because most blind updates find their rows.
    #[cold]
    fn read_absence<'s, M: Machine>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        record: RecordRef<'s, M, R::Words>,
    ) -> Result<bool, Abort>
    where
        R: Rules<M>,
    {
        let none = ColumnSet::NONE;
        Ok(self.read(core, worker, record, none, Intent::Read, &mut [])?.state.is_present())
    }

    /// Adds `change` to the write set. `at` is the record's write if it has one already.
    #[inline(always)]
    fn put<'s, M: Machine>(
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        record: RecordRef<'s, M, R::Words>,
        at: Option<usize>,
        change: Change<'_>,
    ) where
        R: Rules<M>,
    {
        worker.sets.writes.put(core, record, at, change);
        if let Some(read) = worker.sets.reads.last_mut() {
            read.is_written |= read.record.identity() == record.identity();
        }
    }
}

impl<M: Machine, R: Rules<M>> Protocol<M> for Optimistic<R> {
    const ENTRY_BLOCKS: u64 = R::ENTRY_BLOCKS;
    const DELEGATED: Delegated = R::DELEGATED;
    type Words = R::Words;
    type Worker<'s>
        = Worker<'s, M, R>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        R::declare().at_level_of(options)
    }

    fn settled(options: ProtocolOptions) -> ProtocolOptions {
        let commit_locks = options.commit_locks.or(Some(R::COMMIT_LOCKS));
        ProtocolOptions { commit_locks, ..options }
    }

    fn levels() -> &'static [Isolation] {
        R::levels()
    }

    fn knobs() -> &'static [&'static str] {
        R::knobs()
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let rules = R::create(arena, options, sessions)?;
        let validates = options.asks_for_full_isolation();
        Ok(Optimistic { rules, validates, adds_at_commit: options.commit_updates })
    }

    fn worker<'s>(&'s self, epochs: &'s Epochs<M>, session: usize) -> Worker<'s, M, R> {
        Worker { own: self.rules.own(epochs, session), sets: Footprint::empty() }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, R>, txn: Txn<'_>) {
        self.rules.begin(core, &mut worker.own, txn);
    }

    #[inline(always)]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        record: RecordRef<'s, M, R::Words>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        self.rules.approach(core, &mut worker.own, record, intent)?;
        let (word, head) = match self.rules.read_locks() {
            None => tid_word::read_consistently(core, &record, columns, out),
            Some(locks) => tid_word::read_locked(core, &record, locks, columns, out)?,
        };
        let for_update = intent == Intent::Update && !core.is_planted(faults::UPDATES_UNVALIDATED);
        if self.validates || for_update {
            self.rules.admit(&worker.own, word)?;
            worker.sets.reads.push(Observed { record, word, is_written: false });
        }
        Ok(match worker.sets.writes.find(&record) {
            None => head,
            Some(at) => {
                let head = worker.sets.writes.overlay(at, columns, out, head);
                match head.origin == Origin::OwnWrite
                    && core.is_planted(faults::READS_PAST_OWN_WRITES)
                {
                    true => record.copy_out(core, columns, out),
                    false => head,
                }
            }
        })
    }

    /// A copy that no writer has disturbed is valid by itself. A writer holds the locks of all its records until it has installed all
    /// of them, so who reads one of its writes alone finds the others installed or locked.
    #[inline(always)]
    fn read_alone(
        &self,
        core: &M::Core,
        record: RecordRef<'_, M, R::Words>,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Option<RowHead> {
        match self.rules.read_locks() {
            None => Some(tid_word::read_consistently(core, &record, columns, out).1),
            Some(_) => None,
        }
    }

    #[inline]
    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        record: RecordRef<'s, M, R::Words>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        if core.is_planted(faults::BYPASSING_WRITES) {
            return Ok(write_through(core, &record, change));
        }
        let at = worker.sets.writes.find(&record);
        if change.state.is_none() && !self.finds(core, worker, record, at)? {
            return Ok(false);
        }
        Self::put(core, worker, record, at, change);
        Ok(true)
    }

    #[inline(always)]
    fn write_absent<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        record: RecordRef<'s, M, R::Words>,
        change: Change<'_>,
    ) -> Result<RowHead, Abort> {
        let (none, intent) = (ColumnSet::NONE, Intent::Update);
        let found = self.read(core, worker, record, none, intent, &mut [])?;
        if found.state == RowState::ABSENT {
            let at = worker.sets.writes.find(&record);
            Self::put(core, worker, record, at, change);
        }
        Ok(found)
    }

    #[inline(always)]
    fn adds_at_commit(&self) -> bool {
        self.adds_at_commit
    }

    #[inline]
    fn add<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        record: RecordRef<'s, M, R::Words>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        let at = worker.sets.writes.find(&record);
        if !self.finds(core, worker, record, at)? {
            return Ok(false);
        }
        worker.sets.writes.add(core, record, at, columns, deltas);
        Ok(true)
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        guard: GuardRef<'s, M, R::Words>,
    ) -> Result<(), Abort> {
        if self.validates && !core.is_planted(faults::PHANTOM_BY_RETURNED_KEYS) {
            worker.sets.leaves.observe(core, guard);
        }
        Ok(())
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        guard: GuardRef<'s, M, R::Words>,
        record: RecordRef<'s, M, R::Words>,
        counted: u64,
    ) -> Result<(), Abort> {
        self.prepare_record(core, &record, Some(guard));
        if worker.sets.leaves.made(guard, counted) {
            // No other transaction can find the record yet, so this access need not be charged.
            let word = core.load_relaxed(record.line(), record.cc().word());
            worker.sets.reads.push(Observed { record, word, is_written: false });
        }
        if core.is_planted(faults::PHANTOM_FRESH_START) {
            self.prepare_record(core, &record, None);
        }
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        guard: GuardRef<'s, M, R::Words>,
        right: GuardRef<'s, M, R::Words>,
        counted: u64,
    ) -> Result<(), Abort> {
        self.rules.pass_on(core, guard, right);
        worker.sets.leaves.split(core, guard, right, counted);
        Ok(())
    }

    fn prepares_metadata<'s>(&'s self, worker: &Worker<'s, M, R>) -> bool {
        !worker.sets.writes.is_empty()
    }

    #[inline]
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
    ) -> Result<Prepared, Abort> {
        if core.is_planted(faults::SILO_ADDS_UNLOCKED) {
            (0..worker.sets.writes.len()).for_each(|at| worker.sets.writes.settle(core, at));
        }
        let least = self.rules.prepare(core, &mut worker.own, &mut worker.sets)?;
        let through = match worker.sets.reads_nothing() {
            // There is nothing that can become invalid: what the transaction writes is locked.
            true => Some(u64::MAX),
            false => R::valid_through(least),
        };
        Ok(Prepared { least, through })
    }

    fn confirm<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        timestamp: u64,
    ) -> Result<(), Abort> {
        self.rules.confirm(core, &mut worker.sets, timestamp)
    }

    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        log: &mut Images<'_, 's, M>,
    ) {
        let writes = &mut worker.sets.writes;
        (0..writes.len()).for_each(|at| writes.settle(core, at));
        writes.tell_images(core, log);
    }

    #[inline]
    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        let Worker { own, sets } = worker;
        sets.install(core, R::version_at(timestamp), log);
        self.rules.ended(core, own, sets, End::Committed(timestamp));
        sets.clear();
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, R>) {
        let Worker { own, sets } = worker;
        sets.unlock(core);
        self.rules.ended(core, own, sets, End::Aborted);
        sets.clear();
    }

    fn epoch_of(commit_timestamp: u64) -> Option<u64> {
        R::epoch_of(commit_timestamp)
    }

    fn merge(
        &self,
        core: &M::Core,
        gone: GuardRef<'_, M, R::Words>,
        heir: GuardRef<'_, M, R::Words>,
    ) {
        if !core.is_planted(faults::TICTOC_MERGE_FORGETS_SCANS) {
            self.rules.pass_on(core, gone, heir);
        }
    }

    fn prepare_record(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, R::Words>,
        guard: Option<GuardRef<'_, M, R::Words>>,
    ) {
        if let Some(word) = self.rules.first_word(core, guard) {
            core.store(record.line(), record.cc().word(), word);
        }
    }

    fn retire(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, R::Words>,
        guard: Option<GuardRef<'_, M, R::Words>>,
    ) {
        self.rules.retire(core, record, guard);
    }
}
