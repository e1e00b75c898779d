//! One session's part in old versions: it keeps those that it supersedes, and collects them.
//!
//! They gather in the order in which they ended. When a lot of them has, or a chain has become long, the session
//! looks who is active and takes out of their chains what nobody can read. What somebody can read is looked at
//! again when everybody has gone who began before its end. A chain that is written again sheds such
//! versions earlier, as every visit prunes a chain as a whole; so, after each lot, it holds at most one
//! version for each transaction that is older than its newest.
//! When a session ends, what it has not collected stays until the record's next writer does. Where memory has
//! come to its end, a writer waits for the readers of the version that it is to overwrite.

use super::{
    active_timestamps::{ActiveTimestamps, Needed},
    prewrite::{Prewritten, too_late},
    queue_latch::{LatchNodes, Latcher},
    version_chain::{self, VersionPool, VersionSlots, Versioned},
    write_set::WriteSet,
};
use crate::{CommitLog, faults};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use std::collections::VecDeque;
use storage::{RecordRef, RowState};
use txn::{Abort, AbortReason};

/// A wait for readers is given up after a second divided by this: longer than a busy computer keeps a thread
/// from running, or writers would fail for want of memory that is about to be given back.
const WAITS_PER_SECOND: u64 = 4;

/// What the sessions of a multi-version protocol share: who reads, where old versions lie, and how to latch records.
pub struct Versions<M: Machine> {
    /// Who reads, at which timestamps.
    pub active: ActiveTimestamps<M>,
    pool: VersionPool,
    /// The way to latches.
    pub latches: LatchNodes,
}

impl<M: Machine> Versions<M> {
    /// Room for `sessions` sessions, none of them active.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Self, OutOfMemory> {
        let active = ActiveTimestamps::new(arena, sessions)?;
        let latches = LatchNodes::new::<M>(arena, sessions)?;
        Ok(Versions { active, pool: VersionPool::default(), latches })
    }

    /// For a session, which has nothing to collect yet.
    pub fn collector<C>(&self) -> VersionCollector<'_, M, C> {
        VersionCollector {
            slots: VersionSlots::of(&self.pool),
            active: &self.active,
            needed: Needed::default(),
            superseded: Vec::new(),
            kept: VecDeque::new(),
            gone: Vec::new(),
            reserved: Vec::new(),
        }
    }
}

/// The version of `record` that was the newest from `begin` until this session superseded it at `end`.
struct Superseded<'s, M: Machine, C> {
    record: RecordRef<'s, M, C>,
    begin: u64,
    end: u64,
}

/// A session's superseded versions, and its free slots.
pub struct VersionCollector<'s, M: Machine, C> {
    /// Slots for versions to come.
    pub slots: VersionSlots<'s>,
    active: &'s ActiveTimestamps<M>,
    needed: Needed,
    /// Since the last look at the active timestamps.
    superseded: Vec<Superseded<'s, M, C>>,
    /// Those that somebody could read at the last look, in order of their ends.
    kept: VecDeque<Superseded<'s, M, C>>,
    /// Slots just taken out of a chain.
    gone: Vec<RecordRef<'s, M, C>>,
    /// For each prepared write the slot for the version that it supersedes, if there is to be one.
    reserved: Vec<Option<RecordRef<'s, M, C>>>,
}

impl<'s, M: Machine, C: Versioned> VersionCollector<'s, M, C> {
    /// A slot for the newest version of `record`, at a time when `timestamp` has been drawn; if need be out of what
    /// can be collected.
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
        self.collect(core, latcher, timestamp);
        self.slots.take(record)
    }

    /// A slot for the version of `record` that is to be superseded at `timestamp`, the running transaction's;
    /// none if nobody can read that version. The caller keeps other writers out.
    pub fn reserve(
        &mut self,
        core: &M::Core,
        latcher: &Latcher<M>,
        timestamp: u64,
        record: &RecordRef<'s, M, C>,
    ) -> Result<Option<RecordRef<'s, M, C>>, OutOfMemory> {
        self.slot_for(core, latcher, timestamp, record).map(Some).or_else(|exhausted| {
            // As memory is, one version must do. Who began earlier and could read it never waits for us.
            let begin = version_chain::wts(core, record);
            let deadline = core.now() + core.ticks_per_second() / WAITS_PER_SECOND;
            let gone = self.active.wait_until_gone(core, begin, timestamp, deadline);
            gone.map(|()| None).map_err(|_| exhausted)
        })
    }

    /// As [`VersionCollector::reserve`], for the version that the write at `at` supersedes, if it does.
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
            // An absence that leaves with its record leaves no history behind: nobody may need it any more.
            Some((_, RowState::RETIRED)) => {
                let alone = self.forget_history(core, latcher, timestamp, &record);
                if alone { Ok(None) } else { Err(too_late()) }
            }
            Some(_) => self
                .reserve(core, latcher, timestamp, &record)
                .map_err(|_| Abort::because(AbortReason::OutOfMemory)),
        }
    }

    /// As [`VersionCollector::reserve`], for all versions that the writes supersede. They stay reserved until they are
    /// used by [`VersionCollector::install`] or given back.
    pub fn reserve_all(
        &mut self,
        core: &M::Core,
        latcher: &Latcher<M>,
        timestamp: u64,
        writes: &WriteSet<'s, M, C>,
    ) -> Result<(), Abort> {
        for at in 0..writes.len() {
            let slot = self.reserve_for(core, latcher, timestamp, writes, at)?;
            self.reserved.push(slot);
        }
        Ok(())
    }

    /// Gives back what was reserved.
    pub fn give_back(&mut self) {
        self.reserved.drain(..).flatten().for_each(|slot| self.slots.give(&slot));
    }

    /// Installs the prepared writes at `timestamp`, above the versions that they supersede, and takes their announcements
    /// away. Tells `installed` of each record under its latch, and where the version before is kept, if it is. True when
    /// it is time to collect.
    pub fn install(
        &mut self,
        core: &M::Core,
        latcher: &Latcher<M>,
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
            latcher.latch(core, line, words.latch());
            let slot = self.reserved[at];
            due |= self.supersede(core, writes, at, slot, timestamp);
            installed(&record, slot.as_ref());
            writes.install(core, at, log);
            core.store(line, words.pending(), 0);
            latcher.unlatch_and_wake(core, line, words.latch(), words.pending());
        }
        self.reserved.clear();
        due
    }

    /// Keeps the version in `slot`, if there is one, that the write at `at` supersedes as it is installed at
    /// `timestamp`. True when it is time to collect. Call with the record latched.
    fn supersede(
        &mut self,
        core: &M::Core,
        writes: &WriteSet<'s, M, C>,
        at: usize,
        slot: Option<RecordRef<'s, M, C>>,
        timestamp: u64,
    ) -> bool {
        // A retired record stands for the same absence as before.
        let makes_a_version = |(_, after)| after != RowState::RETIRED;
        if !writes.outcome(core, at).is_some_and(makes_a_version) {
            return false;
        }
        let record = writes.record(at);
        let begin = version_chain::wts(core, &record);
        version_chain::supersede(core, &record, writes.columns(at), slot.as_ref());
        core.store_relaxed(record.line(), &record.cc().chain().wts, timestamp);
        slot.is_some() && self.superseded(core, record, begin, timestamp)
    }

    /// This session has superseded the version of `record` that was the newest from `begin` to `end`. True
    /// when it is time to collect: a look reads a line of every session, so there is one for that many
    /// versions, unless chains become too long meanwhile. Call with the record latched.
    #[inline]
    pub fn superseded(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
        begin: u64,
        end: u64,
    ) -> bool {
        let sessions = self.active.sessions();
        let long = version_chain::length(core, &record) >= 2 * sessions as u64;
        self.superseded.push(Superseded { record, begin, end });
        long || self.superseded.len() >= sessions.clamp(2, 1024)
    }

    /// Looks who is active, at a time when `timestamp` has been drawn, and collects.
    pub fn collect(&mut self, core: &M::Core, latcher: &Latcher<M>, timestamp: u64) {
        self.active.look(core, timestamp, &mut self.needed);
        let mut superseded = std::mem::take(&mut self.superseded);
        for version in superseded.drain(..) {
            if self.prune(core, latcher, &version.record, version.begin) {
                self.kept.push_back(version);
            }
        }
        self.superseded = superseded;
        // The readers of all these have gone.
        let oldest = self.needed.oldest();
        while self.kept.front().is_some_and(|version| version.end <= oldest) {
            let Some(version) = self.kept.pop_front() else { break };
            self.prune(core, latcher, &version.record, version.begin);
        }
    }

    /// Takes out all older versions of `record`. False if somebody can read one of them.
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

    /// Takes out of the record's chain what nobody could read at the last look. True if the version
    /// written at `of` stays.
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
        let needed = &self.needed;
        let is_needed = |begin, end| match core {
            _ if core.is_planted(faults::MVCC_COLLECTS_UNDER_READERS) => end > needed.frontier(),
            _ if core.is_planted(faults::COLLECTS_UP_TO_THE_OLDEST) => end > needed.oldest(),
            _ => needed.between(begin, end),
        };
        latcher.latch(core, line, latch);
        let stays = version_chain::prune(core, record, is_needed, of, &mut self.gone);
        latcher.unlatch(core, line, latch);
        self.gone.drain(..).for_each(|slot| self.slots.give(&slot));
        stays
    }
}
