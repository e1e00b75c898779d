//! Versions in their places before it is decided whether they have ever been.
//!
//! Source: Larson et al., VLDB 2011, 2.6, 3.1 and 3.3 (new versions, postprocessing). A transaction that is about to
//! commit places its versions under its session's name instead of a begin, so that others may read them, and write
//! over them, while it is not decided. When it has committed the names become timestamps, at the version's begin and
//! at the end of the one before; when it has aborted the versions are taken back.
//! The newest version lies in the record itself, so versions are taken back in the order opposite to that in which
//! they were placed: who has written over what is taken back has believed it, must abort as well, and goes first.

use super::{
    announced_writes::Announces,
    transaction_states::{State, TransactionStates, name_of, named},
    version_chain,
    version_collector::VersionCollector,
    visibility::{Validity, Viewpoint, begin_of},
    write_set::WriteSet,
};
use crate::{CommitLog, Images};
use machine::{Core, Machine};
use storage::{RecordRef, RowHead, RowState};
use txn::{Abort, ColumnSet, Digest, Version};

type Record<'s, M> = RecordRef<'s, M, Validity>;

/// What was done for a write.
enum Placement<'s, M: Machine> {
    /// The version is in its place.
    Placed {
        /// When the version before it began.
        before: u64,
        /// What was found, and what is left.
        outcome: (RowHead, RowState),
        /// The row that it holds.
        values: Digest,
    },
    /// It will be put there after the decision, or there is none. With the slot for the version before it, if that is
    /// kept.
    Deferred(Option<Record<'s, M>>),
}

/// What a transaction that is about to commit has done for its writes, in their order.
pub struct Placements<'s, M: Machine> {
    list: Vec<Placement<'s, M>>,
}

impl<M: Machine> Default for Placements<'_, M> {
    fn default() -> Self {
        Placements { list: Vec::new() }
    }
}

/// A transaction that places versions, settles them, or takes them back.
pub struct Placer<'a, 's, M: Machine> {
    /// Its session.
    pub viewpoint: &'a Viewpoint<M>,
    /// What it writes. Every record in it carries its announcement, or its version.
    pub writes: &'a WriteSet<'s, M, Validity>,
    /// Where slots come from, and go.
    pub collector: &'a mut VersionCollector<'s, M, Validity>,
    /// What becomes of others.
    pub states: &'a TransactionStates<M>,
}

/// A version is written: a retired record stands for the same absence as before.
fn is_version(outcome: &(RowHead, RowState)) -> bool {
    outcome.1 != RowState::RETIRED
}

impl<'s, M: Machine> Placer<'_, 's, M> {
    /// Places the versions under the session's name, as far as there are slots for those before them.
    pub fn place(&mut self, core: &M::Core, placements: &mut Placements<'s, M>, version: Version) {
        let Placer { viewpoint, writes, collector, states } = self;
        for at in 0..writes.len() {
            let record = writes.record(at);
            let slot = writes.outcome(core, at).filter(is_version).and_then(|_| {
                collector.slot_for(core, &viewpoint.latcher, states.now(core), &record).ok()
            });
            viewpoint.latch(core, &record);
            let outcome = writes.outcome(core, at).filter(is_version);
            placements.list.push(match (slot, outcome) {
                (Some(slot), Some(outcome)) => {
                    // None if it has been believed and has aborted: then this one will never have been either.
                    let before = begin_of(core, &record, states).unwrap_or(0);
                    let values = writes.left_by(at);
                    supersede(core, &record, writes.columns(at), &slot, viewpoint.session);
                    writes.place(core, at, version);
                    Placement::Placed { before, outcome, values }
                }
                (slot, _) => Placement::Deferred(slot),
            });
            viewpoint.unlatch(core, &record);
        }
    }

    /// Makes sure that the other versions can be put in their places: what is undecided before them must be decided.
    /// `end` is the end timestamp.
    pub fn reserve(
        &mut self,
        core: &M::Core,
        placements: &mut Placements<'s, M>,
        end: u64,
    ) -> Result<(), Abort> {
        let Placer { viewpoint, writes, collector, states } = self;
        for (at, placement) in placements.list.iter_mut().enumerate() {
            if let Placement::Deferred(slot @ None) = placement {
                let record = writes.record(at);
                viewpoint.latch(core, &record);
                settle(core, &record, states);
                viewpoint.unlatch(core, &record);
                *slot = collector.reserve_for(core, &viewpoint.latcher, end, writes, at)?;
            }
        }
        Ok(())
    }

    /// Tells a log of the writes. The transaction is about to commit, and has not said so yet: until then the versions
    /// that its own have followed stay behind them, and nobody who has written over its own can commit.
    pub fn tell_images(
        &self,
        core: &M::Core,
        placements: &Placements<'s, M>,
        log: &mut Images<'_, 's, M>,
    ) {
        let Placer { viewpoint, writes, .. } = self;
        for (at, placement) in placements.list.iter().enumerate() {
            let record = writes.record(at);
            viewpoint.latch(core, &record);
            let (version, outcome) = match placement {
                Placement::Placed { outcome, .. } => {
                    (followed(core, &record, viewpoint.session), Some(*outcome))
                }
                Placement::Deferred(_) => (record, writes.outcome(core, at)),
            };
            if let Some(outcome) = outcome {
                let mut before = |columns, out: &mut [u8]| {
                    version_chain::copy_version(core, &record, &version, columns, out);
                };
                writes.tell_image(at, outcome, &mut before, log);
            }
            viewpoint.unlatch(core, &record);
        }
    }

    /// The transaction has committed: puts its end timestamp where it is named, and the other versions in their places.
    /// True when it is time to collect.
    pub fn settle(
        &mut self,
        core: &M::Core,
        placements: &Placements<'s, M>,
        end: u64,
        log: &mut CommitLog<'_>,
    ) -> bool {
        let Placer { viewpoint, writes, collector, states } = self;
        let mut due = false;
        for (at, placement) in placements.list.iter().enumerate() {
            let record = writes.record(at);
            viewpoint.latch(core, &record);
            settle(core, &record, states);
            match placement {
                Placement::Placed { before, outcome, values } => {
                    writes.tell(core, at, *outcome, *values, log);
                    due |= collector.superseded(core, record, *before, end);
                }
                Placement::Deferred(slot) => {
                    let before = version_chain::wts(core, &record);
                    if writes.outcome(core, at).as_ref().is_some_and(is_version) {
                        let columns = writes.columns(at);
                        version_chain::supersede(core, &record, columns, slot.as_ref());
                        core.store_relaxed(record.line(), &record.cc().chain.wts, end);
                    }
                    if let Some(slot) = slot {
                        core.store_relaxed(slot.line(), &slot.cc().end, end);
                        due |= collector.superseded(core, record, before, end);
                    }
                    writes.install(core, at, log);
                    core.store_relaxed(record.line(), &record.cc().end, 0);
                }
            }
            viewpoint.unlatch(core, &record);
        }
        due
    }

    /// The transaction has aborted: takes back its versions, and the announcements of those that it had not placed.
    pub fn take_back(&mut self, core: &M::Core, placements: &Placements<'s, M>) {
        for at in 0..self.writes.len() {
            let record = self.writes.record(at);
            let slot = match placements.list.get(at) {
                Some(Placement::Placed { .. }) => Some(take_back(core, &record, self.viewpoint)),
                Some(Placement::Deferred(slot)) => {
                    self.viewpoint.withdraw(core, &record);
                    *slot
                }
                None => {
                    self.viewpoint.withdraw(core, &record);
                    None
                }
            };
            if let Some(slot) = slot {
                self.collector.slots.give(&slot);
            }
        }
    }
}

impl<M: Machine> Placements<'_, M> {
    /// True before anything was placed.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.list.clear();
    }
}

/// Makes room for a version of the record, of which `columns` are going to be overwritten: keeps the present one in
/// `slot`, and lets `session`'s begin, which takes the place of its announcement. Call with the record latched.
fn supersede<M: Machine>(
    core: &M::Core,
    record: &Record<'_, M>,
    columns: ColumnSet,
    slot: &Record<'_, M>,
    session: usize,
) {
    let name = name_of(session);
    version_chain::supersede(core, record, columns, Some(slot));
    core.store_relaxed(slot.line(), &slot.cc().end, name);
    core.store_relaxed(record.line(), &record.cc().chain.wts, name);
    core.store_relaxed(record.line(), &record.cc().end, 0);
}

/// Puts timestamps where sessions are named that have committed: below them nothing is undecided. Call with the
/// record latched.
fn settle<M: Machine>(core: &M::Core, record: &Record<'_, M>, states: &TransactionStates<M>) {
    let mut version = *record;
    while let Some(session) = named(version_chain::wts(core, &version)) {
        let below = version_chain::older(core, &version);
        let below = below.expect("what was there before an undecided version stays");
        if let State::Committed(begin) = states.get(core, session) {
            core.store_relaxed(version.line(), &version.cc().chain.wts, begin);
            core.store_relaxed(below.line(), &below.cc().end, begin);
        }
        version = below;
    }
}

/// The version that was the newest before `session` placed its own, which is undecided. Call with the record latched.
fn followed<'s, M: Machine>(
    core: &M::Core,
    record: &Record<'s, M>,
    session: usize,
) -> Record<'s, M> {
    let (mut version, name) = (*record, name_of(session));
    loop {
        let own = version_chain::wts(core, &version) == name;
        let below = version_chain::older(core, &version);
        version = below.expect("what was there before an undecided version stays");
        if own {
            return version;
        }
    }
}

/// Takes back the version of the record that `viewpoint`'s session has placed, once all have gone that were placed
/// above it. Returns the slot, to which nobody refers any more.
fn take_back<'s, M: Machine>(
    core: &M::Core,
    record: &Record<'s, M>,
    viewpoint: &Viewpoint<M>,
) -> Record<'s, M> {
    let (line, begin) = (record.line(), &record.cc().chain.wts);
    let name = name_of(viewpoint.session);
    loop {
        viewpoint.latch(core, record);
        if version_chain::wts(core, record) == name {
            let slot = version_chain::restore(core, record);
            viewpoint.unlatch(core, record);
            return slot;
        }
        viewpoint.unlatch(core, record);
        core.wait_while(line, begin, |now| now != name);
    }
}
