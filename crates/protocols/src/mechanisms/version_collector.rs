//! One session's part of garbage collection: it keeps the versions that it supersedes, and collects
//! them.
//!
//! The session gathers versions in the order in which they ended. When it has gathered many, or
//! when a chain has become long, it looks which transactions are active. Then it removes from the
//! chains the versions that no transaction can read.
//!
//! With many sessions a session first uses the look that another one has published. If this lets it remove half of its versions, it
//! does not look itself. So the number of looks does not grow with the number of sessions.
//!
//! If a look is due with the versions that a transaction is about to supersede, the session looks before it installs the writes
//! instead of afterwards. Then it need not keep those versions that no transaction can read: they are overwritten in place, and
//! cost neither a slot nor a copy nor a collection. This is right because the result of a look stays true, and because the look
//! knows of all transactions that begin before the writes' timestamp. On one thread nearly no version is kept so. With more than a few
//! sessions an older transaction runs nearly always, and it could read nearly every version. There the look would only make others wait
//! longer for the writes, so it is made afterwards. The option `keep-versions=all` keeps all versions until they are collected, as the
//! papers' code does.
//!
//! A version that a transaction can read is looked at again when every transaction that began
//! before the version's end has gone. A chain that is written again loses such versions earlier,
//! because each visit prunes the whole chain. So after each collection a chain holds at most one
//! version for each transaction that is older than the chain's newest version.
//!
//! When a session ends, the versions that it has not collected stay until the record's next writer
//! collects them. When memory is exhausted, a writer waits for the readers of the version that it
//! is about to overwrite.

use super::{
    active_timestamps::{ActiveTimestamps, Needed},
    prewrite::{Decider, Prewritten, too_late},
    queue_latch::{LatchNodes, Latcher},
    version_chain::{self, Chain, VersionPool, VersionSlots, Versioned},
    write_set::WriteSet,
};
use crate::{CommitLog, KeptVersions, LatchKind, faults};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use std::collections::VecDeque;
use storage::{RecordRef, RowState};
use txn::{Abort, AbortReason, TableId};

/// A wait for readers times out after a second divided by this. That is longer than a busy computer
/// keeps a thread from running. With a shorter wait, writers would abort for lack of memory that is
/// about to be freed.
const WAITS_PER_SECOND: u64 = 4;
/// Largest number of sessions with which a session looks before it installs its writes. A run has a session more than workers. On YCSB
/// (theta 0.8, modelled cores) MVCC gains 28 % with 2 workers and 13 % with 3. Without this limit it gained 7 % with 4 and lost 5 % with 8,
/// and SNAPSHOT gained nothing from 4 on.
const FEW: usize = 4;
/// Number of records by which a collection fetches lines ahead. Most of them have left the caches.
const AHEAD: usize = 4;

/// State that the sessions of a multi-version protocol share: active timestamps, free slots, and
/// latches.
pub struct Versions<M: Machine> {
    /// Timestamps of the transactions that read.
    pub active: ActiveTimestamps<M>,
    pool: VersionPool,
    arena: Arc<Arena>,
    kept: KeptVersions,
    /// Nodes of the latches.
    pub latches: LatchNodes,
}

impl<M: Machine> Versions<M> {
    /// Creates the shared state for `sessions` sessions, none of them active.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Self, OutOfMemory> {
        Self::with_latches(arena, sessions, LatchKind::Usual)
    }

    /// Does the same as [`Versions::new`], for latches of `kind`.
    pub fn with_latches(
        arena: &Arc<Arena>,
        sessions: usize,
        kind: LatchKind,
    ) -> Result<Self, OutOfMemory> {
        let active = ActiveTimestamps::new(arena, sessions)?;
        let latches = LatchNodes::of_kind::<M>(arena, sessions, kind)?;
        let (pool, kept) = (VersionPool::default(), KeptVersions::All);
        Ok(Versions { active, pool, arena: arena.clone(), kept, latches })
    }

    /// Sets which superseded versions [`VersionCollector::reserve_all`] keeps: all of them, unless this says otherwise.
    pub fn keeping(self, kept: KeptVersions) -> Self {
        Versions { kept, ..self }
    }

    /// Creates the collector of session number `session`, with nothing to collect yet.
    pub fn collector<C>(&self, session: usize) -> VersionCollector<'_, M, C> {
        VersionCollector {
            slots: VersionSlots::of(&self.pool, self.arena.beside(session)),
            active: &self.active,
            needed: Needed::default(),
            superseded: Vec::new(),
            kept: VecDeque::new(),
            gone: Vec::new(),
            reserved: Vec::new(),
            lot: first_lot(session, lot_of(self.active.sessions())),
            long: false,
            looks_first: self.kept == KeptVersions::Needed
                && (M::MINIATURE || self.active.sessions() <= FEW),
            looked: false,
            alone: false,
        }
    }
}

/// Returns the number of versions that a session gathers between two looks at the active timestamps. A look reads a line
/// of every session. So there is one look for as many versions as there are sessions.
fn lot_of(sessions: usize) -> usize {
    sessions.clamp(1, 256)
}

/// Returns the number of versions that session number `session` gathers before its first look, of `lot` later on.
/// Sessions that begin together would otherwise all look at the same time, and wait for each other's lines.
fn first_lot(session: usize, lot: usize) -> usize {
    // Fibonacci hashing spreads consecutive numbers evenly.
    let spread = (session as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    1 + ((spread * lot as u64) >> 32) as usize
}

/// The version of `record` that was the newest from `begin` until this session superseded it at `end`.
struct Superseded<'s, M: Machine, C> {
    record: RecordRef<'s, M, C>,
    begin: u64,
    end: u64,
}

/// A session's superseded versions, and its free slots.
pub struct VersionCollector<'s, M: Machine, C> {
    /// Free slots for future versions.
    pub slots: VersionSlots<'s>,
    active: &'s ActiveTimestamps<M>,
    /// The active timestamps, as the last look found them.
    needed: Needed,
    /// Versions that were superseded since the last look.
    superseded: Vec<Superseded<'s, M, C>>,
    /// Versions that a transaction could read at the last look, in the order of their ends.
    kept: VecDeque<Superseded<'s, M, C>>,
    /// Slots that were just removed from a chain. Empty between calls.
    gone: Vec<RecordRef<'s, M, C>>,
    /// For each prepared write the slot for the version that it supersedes, if that version is
    /// kept.
    reserved: Vec<Option<RecordRef<'s, M, C>>>,
    /// Number of superseded versions with which the next look is due.
    lot: usize,
    /// Set if a chain has become long, so that another session's look is not enough.
    long: bool,
    /// Set if a look that is due with a commit is made before the writes are installed.
    looks_first: bool,
    /// Set if it was made so for the running commit. Then it knows about all versions that have been superseded.
    looked: bool,
    /// Set if that look has found nobody who reads a version from before the commit.
    alone: bool,
}

impl<'s, M: Machine, C: Versioned> VersionCollector<'s, M, C> {
    /// Returns a slot for the newest version of `record`. If memory is exhausted, it collects
    /// first. `timestamp` is one that has been drawn.
    pub fn slot_for(
        &mut self,
        core: &M::Core,
        latcher: &Latcher<M>,
        timestamp: u64,
        record: &RecordRef<'s, M, C>,
    ) -> Result<RecordRef<'s, M, C>, OutOfMemory> {
        if let Ok(slot) = self.slots.take(record) {
            return Ok(slot);
        }
        self.look_and_collect(core, latcher, timestamp);
        self.slots.take(record)
    }

    /// Reserves a slot for the version of `record` that is going to be superseded at `timestamp`,
    /// the running transaction's. Returns `None` if no transaction can read that version. The
    /// caller must exclude other writers.
    pub fn reserve(
        &mut self,
        core: &M::Core,
        latcher: &Latcher<M>,
        timestamp: u64,
        record: &RecordRef<'s, M, C>,
    ) -> Result<Option<RecordRef<'s, M, C>>, OutOfMemory> {
        self.slot_for(core, latcher, timestamp, record).map(Some).or_else(|exhausted| {
            // Without memory only one version can exist. Earlier transactions that can read it
            // never wait for this one.
            let begin = version_chain::wts(core, record);
            let deadline = core.now() + core.ticks_per_second() / WAITS_PER_SECOND;
            let gone = self.active.wait_until_gone(core, begin, timestamp, deadline);
            gone.map(|()| None).map_err(|_| exhausted)
        })
    }

    /// Does the same as [`VersionCollector::reserve`] for the version that the write at `at`
    /// supersedes, if it does.
    pub fn reserve_for(
        &mut self,
        core: &M::Core,
        latcher: &Latcher<M>,
        timestamp: u64,
        writes: &WriteSet<'s, M, C>,
        at: usize,
    ) -> Result<Option<RecordRef<'s, M, C>>, Abort> {
        let record = writes.record(at);
        match writes.outcome(core, at) {
            None => Ok(None),
            // A retired record takes its history along, so no transaction may need an older version
            // of it.
            Some((_, RowState::RETIRED)) => {
                let alone = self.forget_history(core, latcher, timestamp, &record);
                if alone { Ok(None) } else { Err(too_late()) }
            }
            Some(_) if self.looked && !self.is_needed(core, &record, timestamp) => Ok(None),
            Some(_) => self
                .reserve(core, latcher, timestamp, &record)
                .map_err(|_| Abort::because(AbortReason::OutOfMemory)),
        }
    }

    /// Does the same as [`VersionCollector::reserve`] for all versions that the writes supersede.
    /// They stay reserved until [`VersionCollector::install`] uses them or
    /// [`VersionCollector::give_back`] returns them.
    pub fn reserve_all(
        &mut self,
        core: &M::Core,
        latcher: &Latcher<M>,
        timestamp: u64,
        writes: &WriteSet<'s, M, C>,
    ) -> Result<(), Abort> {
        if self.look_before(core, timestamp, writes) {
            return Ok(());
        }
        for at in 0..writes.len() {
            let slot = self.reserve_for(core, latcher, timestamp, writes, at)?;
            self.reserved.push(slot);
        }
        Ok(())
    }

    /// Looks at the active timestamps before the writes are installed at `timestamp`, if a look is due with them and few sessions run.
    /// Returns true if no version is to be reserved for any of them.
    #[inline]
    pub fn look_before(
        &mut self,
        core: &M::Core,
        timestamp: u64,
        writes: &WriteSet<'s, M, C>,
    ) -> bool {
        self.looked = self.looks_first && self.look_is_due(core, writes.len());
        self.alone = false;
        if self.looked {
            self.active.look(core, timestamp, &mut self.needed);
            self.alone = !is_needed::<M>(core, &self.needed, 0, timestamp);
        }
        self.alone && !writes.retires()
    }

    /// Returns true if a look is due with `more` versions and few sessions run, and if that look has found no transaction but the one
    /// that reads at `own`. `timestamp` is one that has been drawn.
    pub fn is_alone(&mut self, core: &M::Core, own: u64, timestamp: u64, more: usize) -> bool {
        if !self.looks_first || !self.look_is_due(core, more) {
            return false;
        }
        self.active.look(core, timestamp, &mut self.needed);
        self.needed.is_only(own)
    }

    /// Returns true if versions are to be collected because of the look before the writes were installed.
    pub fn has_looked(&self) -> bool {
        self.looked && !self.superseded.is_empty()
    }

    /// Returns whether the session must look at the active timestamps when it has superseded `more` versions.
    #[inline]
    fn look_is_due(&self, core: &M::Core, more: usize) -> bool {
        let gathered = self.superseded.len() + more;
        more > 0 && gathered >= self.lot && 2 * self.ended(self.active.floor(core)) < gathered
    }

    /// Returns the number of gathered versions that ended at `floor` or before.
    fn ended(&self, floor: u64) -> usize {
        self.superseded.partition_point(|version| version.end <= floor)
    }

    /// Returns whether a transaction could, at the last look, read the newest version of `record`, which is superseded at `end`.
    #[inline]
    fn is_needed(&self, core: &M::Core, record: &RecordRef<'s, M, C>, end: u64) -> bool {
        is_needed::<M>(core, &self.needed, version_chain::wts(core, record), end)
    }

    /// Returns the reserved slots to the free ones.
    pub fn give_back(&mut self) {
        self.reserved.drain(..).flatten().for_each(|slot| self.slots.give(&slot));
    }

    /// Installs the prepared writes at `timestamp`, above the versions that they supersede, and
    /// removes their announcements. Calls `installed` for each record under its latch, with the
    /// slot of the version before, if that is kept. Returns true when it is time to collect.
    pub fn install(
        &mut self,
        core: &M::Core,
        decider: Decider<'_, M>,
        timestamp: u64,
        writes: &WriteSet<'s, M, C>,
        log: &mut CommitLog<'_>,
        installed: impl Fn(&RecordRef<'s, M, C>, Option<&RecordRef<'s, M, C>>),
    ) -> bool
    where
        C: Prewritten,
    {
        let mut due = false;
        for at in 0..writes.len() {
            let record = writes.record(at);
            let (line, words) = (record.line(), record.cc());
            decider.latcher.latch(core, line, words.latch());
            let slot = self.reserved.get(at).copied().flatten();
            due |= self.supersede(core, writes, at, slot, timestamp);
            installed(&record, slot.as_ref());
            writes.install(core, at, log);
            decider.decide(core, &record);
            decider.latcher.unlatch_and_wake(core, line, words.latch(), words.pending());
        }
        self.reserved.clear();
        due || self.has_looked()
    }

    /// Keeps the version that the write at `at` supersedes in `slot`, if there is one. The write is
    /// installed at `timestamp`. Returns true when it is time to collect. Called with the record
    /// latched.
    fn supersede(
        &mut self,
        core: &M::Core,
        writes: &WriteSet<'s, M, C>,
        at: usize,
        slot: Option<RecordRef<'s, M, C>>,
        timestamp: u64,
    ) -> bool {
        let record = writes.record(at);
        let (line, Chain { wts, .. }) = (record.line(), record.cc().chain());
        let has_history = version_chain::length(core, &record) != 0;
        if self.alone && !has_history && writes.surely_changes(at) {
            core.store_relaxed(line, wts, timestamp);
            return false;
        }
        // A retired record represents the same absence as before.
        let makes_a_version = |(_, after)| after != RowState::RETIRED;
        if !writes.outcome(core, at).is_some_and(makes_a_version) {
            return false;
        }
        let begin = core.load_relaxed(line, wts);
        version_chain::supersede(core, &record, writes.columns(at), slot.as_ref());
        core.store_relaxed(line, wts, timestamp);
        // Older versions can be there that no session collects any more, so that the chain is visited even if it has not grown.
        (slot.is_some() || has_history) && self.superseded(core, record, begin, timestamp)
    }

    /// Notes that this session has superseded the version of `record` that was the newest from
    /// `begin` to `end`. Returns true when it is time to collect: there are enough versions, or a
    /// chain has become too long. Called with the record latched.
    #[inline]
    pub fn superseded(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
        begin: u64,
        end: u64,
    ) -> bool {
        self.long |= version_chain::length(core, &record) >= 2 * self.active.sessions() as u64;
        self.superseded.push(Superseded { record, begin, end });
        self.long || self.superseded.len() >= self.lot
    }

    /// Forgets the versions and the slots of table number `table`, which is being dropped.
    pub fn forget_table(&mut self, table: TableId) {
        self.superseded.retain(|version| version.record.table().table_id() != table);
        self.kept.retain(|version| version.record.table().table_id() != table);
        self.slots.forget_table(table);
    }

    /// Collects what no transaction reads according to a published look, or to the look of this commit. Looks at the active
    /// timestamps itself if that is not much. `timestamp` is one that has been drawn.
    pub fn collect(&mut self, core: &M::Core, latcher: &Latcher<M>, timestamp: u64) {
        self.lot = lot_of(self.active.sessions());
        if std::mem::take(&mut self.looked) {
            self.long = false;
            return self.collect_first(core, latcher, self.superseded.len());
        }
        let floor = self.active.floor(core);
        let ended = self.ended(floor);
        if self.long || 2 * ended < self.superseded.len() {
            return self.look_and_collect(core, latcher, timestamp);
        }
        self.needed.above(floor);
        self.collect_first(core, latcher, ended);
    }

    /// Looks at the active timestamps and collects. `timestamp` is one that has been drawn.
    fn look_and_collect(&mut self, core: &M::Core, latcher: &Latcher<M>, timestamp: u64) {
        self.long = false;
        self.active.look(core, timestamp, &mut self.needed);
        self.collect_first(core, latcher, self.superseded.len());
    }

    /// Collects the first `count` superseded versions, as far as they are not needed, and those that were needed before.
    fn collect_first(&mut self, core: &M::Core, latcher: &Latcher<M>, count: usize) {
        let mut superseded = std::mem::take(&mut self.superseded);
        for at in 0..count {
            if let Some(later) = superseded.get(at + AHEAD) {
                later.record.prefetch_words(core);
            }
            let Superseded { record, begin, end } = superseded[at];
            if self.prune(core, latcher, &record, begin) {
                self.kept.push_back(Superseded { record, begin, end });
            }
        }
        superseded.drain(..count);
        self.superseded = superseded;
        // The readers of all these versions have gone.
        let oldest = self.needed.oldest();
        while self.kept.front().is_some_and(|version| version.end <= oldest) {
            let Some(version) = self.kept.pop_front() else { break };
            self.prune(core, latcher, &version.record, version.begin);
        }
    }

    /// Removes all older versions of `record`. Returns false if a transaction can read one of them.
    pub fn forget_history(
        &mut self,
        core: &M::Core,
        latcher: &Latcher<M>,
        timestamp: u64,
        record: &RecordRef<'s, M, C>,
    ) -> bool {
        if version_chain::length(core, record) != 0 {
            self.active.look(core, timestamp, &mut self.needed);
            self.prune(core, latcher, record, 0);
        }
        version_chain::length(core, record) == 0
    }

    /// Removes the versions that no transaction could read at the last look from the record's
    /// chain. Returns true if the version written at `of` stays.
    fn prune(
        &mut self,
        core: &M::Core,
        latcher: &Latcher<M>,
        record: &RecordRef<'s, M, C>,
        of: u64,
    ) -> bool {
        if version_chain::length(core, record) == 0 {
            return false;
        }
        let (line, latch) = (record.line(), record.cc().latch());
        let is_needed = |begin, end| is_needed::<M>(core, &self.needed, begin, end);
        latcher.latch(core, line, latch);
        let stays = version_chain::prune(core, record, is_needed, of, &mut self.gone);
        latcher.unlatch(core, line, latch);
        self.gone.drain(..).for_each(|slot| self.slots.give(&slot));
        stays
    }
}

/// Returns whether a transaction could, at the look that found `needed`, read a version that is the newest from `begin` to `end`.
#[inline]
fn is_needed<M: Machine>(core: &M::Core, needed: &Needed, begin: u64, end: u64) -> bool {
    match core {
        _ if core.is_planted(faults::MVCC_COLLECTS_UNDER_READERS) => end > needed.frontier(),
        _ if core.is_planted(faults::COLLECTS_UP_TO_THE_OLDEST) => end > needed.oldest(),
        _ => needed.between(begin, end),
    }
}
