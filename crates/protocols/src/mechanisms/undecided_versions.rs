//! Versions that are placed before their transaction is decided.
//!
//! Source: Larson et al., VLDB 2011, 2.6, 3.1 and 3.3 (new versions, postprocessing).
//!
//! A transaction that is about to commit places its versions with its session's name instead of a
//! begin. So other transactions can read them and overwrite them before the transaction is decided.
//! When it has committed, the names become timestamps: the begin of its version and the end of the
//! version before. When it has aborted, its versions are taken back.
//!
//! The newest version is in the record itself. So versions are taken back in the opposite order to
//! that in which they were placed. A transaction that has overwritten an aborted version has
//! believed it, so it must abort as well, and it takes its version back first.
//!
//! A transaction that runs alone places its versions after the decision. Then nobody can read the versions before them, and they need
//! not be kept. Who begins meanwhile waits for the decision where it would have believed the transaction.

use super::{
    announced_writes::Announces,
    transaction_states::{State, TransactionStates, name_of, named},
    version_chain,
    version_collector::VersionCollector,
    visibility::{Validity, Viewpoint, begin_of, change},
    write_set::WriteSet,
};
use crate::{CommitLog, Images};
use machine::{Core, Machine};
use storage::{RecordRef, RowHead, RowState};
use txn::{Abort, ColumnSet, Digest, Version};

type Record<'s, M> = RecordRef<'s, M, Validity>;

/// The outcome of placing a write.
enum Placement<'s, M: Machine> {
    /// The version is in its place.
    Placed {
        /// Timestamp at which the version before it began.
        before: u64,
        /// The head that the write found, and the state that it leaves.
        outcome: (RowHead, RowState),
        /// Digest of the row that the version holds.
        values: Digest,
    },
    /// The version will be placed after the decision, or the write makes none. Holds the slot for
    /// the version before it, if that version is kept.
    Deferred(Option<Record<'s, M>>),
}

/// Placements of a transaction that is about to commit, in the order of its write set.
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
    /// The transaction's session.
    pub viewpoint: &'a Viewpoint<M>,
    /// The write set. Every record in it carries the transaction's announcement or its version.
    pub writes: &'a WriteSet<'s, M, Validity>,
    /// Supplies slots, and takes them back.
    pub collector: &'a mut VersionCollector<'s, M, Validity>,
    /// States of all transactions.
    pub states: &'a TransactionStates<M>,
}

/// Returns true if the write makes a version. A retired record represents the same absence as
/// before.
fn is_version(outcome: &(RowHead, RowState)) -> bool {
    outcome.1 != RowState::RETIRED
}

impl<'s, M: Machine> Placer<'_, 's, M> {
    /// Places the versions with the session's name, as far as there are slots for the versions
    /// before them. Places none if no other transaction runs than this one, which reads at `begin`.
    pub fn place(
        &mut self,
        core: &M::Core,
        placements: &mut Placements<'s, M>,
        begin: u64,
        version: Version,
    ) {
        let Placer { viewpoint, writes, collector, states } = self;
        if collector.is_alone(core, begin, states.now(core), writes.len()) {
            return placements.list.resize_with(writes.len(), || Placement::Deferred(None));
        }
        for at in 0..writes.len() {
            let record = writes.record(at);
            let slot = writes.outcome(core, at).filter(is_version).and_then(|_| {
                collector.slot_for(core, &viewpoint.latcher, states.now(core), &record).ok()
            });
            viewpoint.latch(core, &record);
            let outcome = writes.outcome(core, at).filter(is_version);
            placements.list.push(match (slot, outcome) {
                (Some(slot), Some(outcome)) => {
                    // None if that version's transaction was believed and has aborted. Then this
                    // transaction aborts too, and the value is not used.
                    let before = begin_of(core, &record, states).unwrap_or(0);
                    let values = writes.left_by(at);
                    change(core, &record, || {
                        supersede(core, &record, writes.columns(at), &slot, viewpoint.session);
                        writes.place(core, at, version);
                    });
                    Placement::Placed { before, outcome, values }
                }
                (slot, _) => Placement::Deferred(slot),
            });
            viewpoint.unlatch(core, &record);
        }
    }

    /// Makes sure that the deferred versions can be placed after the decision. The undecided
    /// versions before them must be decided by now. `end` is the end timestamp.
    pub fn reserve(
        &mut self,
        core: &M::Core,
        placements: &mut Placements<'s, M>,
        end: u64,
    ) -> Result<(), Abort> {
        let Placer { viewpoint, writes, collector, states } = self;
        if collector.look_before(core, end, writes) {
            return Ok(());
        }
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

    /// Reports the writes to a log. Called when the transaction is about to commit, before its
    /// state shows that. Until then the versions before its own stay in the chains, and no
    /// transaction that has overwritten its versions can commit.
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

    /// Called after the transaction has committed. Writes its end timestamp where its session is
    /// named, and places the deferred versions. Returns true when it is time to collect.
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
                    let has_history = version_chain::length(core, &record) != 0;
                    change(core, &record, || {
                        if writes.outcome(core, at).as_ref().is_some_and(is_version) {
                            let columns = writes.columns(at);
                            version_chain::supersede(core, &record, columns, slot.as_ref());
                            core.store_relaxed(record.line(), &record.cc().chain.wts, end);
                        }
                        writes.install(core, at, log);
                        core.store_relaxed(record.line(), &record.cc().end, 0);
                    });
                    if let Some(slot) = slot {
                        core.store_relaxed(slot.line(), &slot.cc().end, end);
                    }
                    if slot.is_some() || has_history {
                        due |= collector.superseded(core, record, before, end);
                    }
                }
            }
            viewpoint.unlatch(core, &record);
        }
        due || collector.has_looked()
    }

    /// Called after the transaction has aborted. Takes back its versions, and withdraws the
    /// announcements of the writes that were not placed.
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
    /// Returns true before anything was placed.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Removes all placements.
    pub fn clear(&mut self) {
        self.list.clear();
    }
}

/// Makes room for a new version of the record, which will overwrite `columns`. Keeps the present
/// version in `slot`, and names `session` as the new begin. That name replaces the announcement.
/// Called with the record latched.
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

/// Replaces names of committed sessions by timestamps. Stops at the first version without a name,
/// because no version below it is undecided. Called with the record latched.
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

/// Returns the version that was the newest before `session` placed its own undecided one. Called
/// with the record latched.
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

/// Takes back the version that `viewpoint`'s session has placed, after all versions above it were
/// taken back. Returns the slot, to which nothing refers any more.
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
            let slot = change(core, record, || version_chain::restore(core, record));
            viewpoint.unlatch(core, record);
            return slot;
        }
        viewpoint.unlatch(core, record);
        core.wait_while(line, begin, |now| now != name);
    }
}
