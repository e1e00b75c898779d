//! Visibility: which version of a record a transaction sees, and whether it would see the same
//! version later.
//!
//! Source: Larson et al., VLDB 2011, 2.5 (tables 1 and 2), 2.6 (updates), 3.2 (validation).
//!
//! A version is valid from its begin until its end. Both are timestamps, or name the session whose
//! transaction is about to write a timestamp there ([`transaction_states`]). Versions that are not
//! decided yet are above the others in the chain ([`undecided_versions`]).
//!
//! A preparing transaction is believed to commit. If its end timestamp is not after the read time,
//! its versions are read and the versions that it has overwritten are not. The reader pays for this
//! with a commit dependency.
//!
//! The end of a record's newest version is infinite, or names the writer that has announced another
//! version. The first writer wins. Some announced versions are placed only after their writer has
//! committed: those that remove the record, those without memory to keep the old version beside
//! them, and those of a transaction that runs alone. Such a version cannot be believed, so the reader
//! waits for it.
//!
//! [`transaction_states`]: super::transaction_states
//! [`undecided_versions`]: super::undecided_versions

use super::{
    absence_times::Absences,
    announced_writes::Announces,
    commit_dependencies::{Believed, CommitDependencies},
    prewrite::too_late,
    queue_latch::{LatchNodes, Latcher},
    transaction_states::{State, TransactionStates, name_of, named},
    version_chain::{self, Chain, Versioned},
};
use crate::faults;
use machine::{Core, Machine, Word, Zeroed};
use storage::{GuardRef, RecordRef, RowHead, RowState};
use txn::{Abort, AbortReason, ColumnSet};

/// The words of a record, and of a version.
#[repr(C)]
pub struct Validity {
    latch: Word,
    /// Older versions, and the begin of this version.
    pub chain: Chain,
    /// End of this version: a timestamp or a name, and 0 for infinity.
    pub end: Word,
    /// In a record: twice the number of changes of its newest version's values, plus one during a change.
    changes: Word,
}

// SAFETY: words.
unsafe impl Zeroed for Validity {}

impl Versioned for Validity {
    #[inline(always)]
    fn chain(&self) -> &Chain {
        &self.chain
    }

    #[inline(always)]
    fn latch(&self) -> &Word {
        &self.latch
    }
}

type Record<'s, M> = RecordRef<'s, M, Validity>;

/// Changes the values of the record's newest version by `change`. Readers without the latch notice it. Called with the
/// record latched.
#[inline(always)]
pub fn change<M: Machine, T>(
    core: &M::Core,
    record: &Record<'_, M>,
    change: impl FnOnce() -> T,
) -> T {
    let (line, changes) = (record.line(), &record.cc().changes);
    let before = core.load_relaxed(line, changes);
    core.store_relaxed(line, changes, before + 1);
    core.fence_release();
    let done = change();
    core.store(line, changes, before + 2);
    done
}

/// Read time of a transaction that reads only the latest versions.
pub const LATEST: u64 = u64::MAX;

/// A session's read time, and its access to the latches.
pub struct Viewpoint<M: Machine> {
    /// Number of the session.
    pub session: usize,
    /// Read time: the transaction sees what was committed by then.
    pub time: u64,
    /// The sessions that its transaction depends on.
    pub believed: Believed,
    /// Acquires and releases latches.
    pub latcher: Latcher<M>,
}

/// Returns when the version began. None if it is not decided whether it will ever have begun.
/// Called with the record latched.
pub fn begin_of<M: Machine>(
    core: &M::Core,
    version: &Record<'_, M>,
    states: &TransactionStates<M>,
) -> Option<u64> {
    let word = version_chain::wts(core, version);
    match named(word).map(|session| states.get(core, session)) {
        None => Some(word),
        Some(State::Preparing(begin) | State::Committed(begin)) => Some(begin),
        Some(State::Active | State::Drawing | State::Aborted) => None,
    }
}

/// Result of a look at a latched record.
enum Look<T> {
    /// The look has succeeded.
    Found(T),
    /// Look again after that session shows another state than this one.
    After(usize, State),
}

impl<M: Machine> Viewpoint<M> {
    /// Creates the viewpoint of session `session`, with no read time yet.
    pub fn new(latches: &LatchNodes, session: usize) -> Viewpoint<M> {
        Viewpoint {
            session,
            time: 0,
            believed: Believed::default(),
            latcher: latches.latcher(session),
        }
    }

    /// Acquires the record's latch.
    pub fn latch(&self, core: &M::Core, record: &Record<'_, M>) {
        self.latcher.latch(core, record.line(), record.cc().latch());
    }

    /// Copies the newest version without the latch, if it is visible and decided. Returns its head and its begin. Returns
    /// none if the caller must look under the latch.
    ///
    /// **Why it is right.** Whoever changes the values of a record's newest version makes `changes` odd before, and even
    /// again afterwards, with fences in between. If the reader finds the same even number before and after, then all that
    /// it has loaded and copied in between was there at one moment. So its answer is that of a latched reader.
    pub fn read_newest(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        states: &TransactionStates<M>,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Option<(RowHead, u64)> {
        let (line, words) = (record.line(), record.cc());
        let changes = core.load(line, &words.changes);
        let begin = core.load(line, &words.chain.wts);
        let visible = named(begin).is_none() && begin <= self.time;
        if changes & 1 != 0 || !visible || self.commit_under_way(core, record, states).is_some() {
            return None;
        }
        let head = record.copy_out(core, columns, out);
        core.fence_acquire();
        let trusts = core.is_planted(faults::HEKATON_TRUSTS_COPIES);
        let same = trusts || core.load_relaxed(line, &words.changes) == changes;
        same.then_some((head, begin))
    }

    /// Returns the session that has announced a write to the record's newest version and may commit it with an end that
    /// the read time includes, with that session's state. Such a write cannot be believed, so a reader waits for it.
    #[inline(always)]
    fn commit_under_way(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        states: &TransactionStates<M>,
    ) -> Option<(usize, State)> {
        let end = core.load(record.line(), &record.cc().end);
        let passes = core.is_planted(faults::HEKATON_PASSES_ANNOUNCED);
        let looks = self.time != LATEST && !passes;
        let other = named(end).filter(|other| *other != self.session && looks)?;
        match states.get(core, other) {
            State::Drawing => Some((other, State::Drawing)),
            state @ (State::Preparing(end) | State::Committed(end)) if end <= self.time => {
                Some((other, state))
            }
            _ => None,
        }
    }

    /// Latches the record and returns the visible version, with its begin. A writer of that version
    /// that is not decided yet is believed.
    pub fn latch_visible<'s>(
        &mut self,
        core: &M::Core,
        record: &Record<'s, M>,
        dependencies: &CommitDependencies<M>,
    ) -> Result<(Record<'s, M>, u64), Abort> {
        self.latch(core, record);
        self.visible(core, record, dependencies)
    }

    /// Does the rest of [`Viewpoint::latch_visible`]. Called with the record latched.
    fn visible<'s>(
        &mut self,
        core: &M::Core,
        record: &Record<'s, M>,
        dependencies: &CommitDependencies<M>,
    ) -> Result<(Record<'s, M>, u64), Abort> {
        loop {
            let look = self.look(core, record, dependencies);
            if let Ok(Look::Found(found)) = look {
                return Ok(found);
            }
            self.unlatch(core, record);
            if let Look::After(session, state) = look? {
                dependencies.states.wait_while(core, session, state);
            }
            self.latch(core, record);
        }
    }

    /// Looks for the visible version. Called with the record latched.
    fn look<'s>(
        &mut self,
        core: &M::Core,
        record: &Record<'s, M>,
        dependencies: &CommitDependencies<M>,
    ) -> Result<Look<(Record<'s, M>, u64)>, Abort> {
        let states = &dependencies.states;
        if let Some((other, state)) = self.commit_under_way(core, record, states) {
            return Ok(Look::After(other, state));
        }
        let mut version = *record;
        loop {
            let begin = version_chain::wts(core, &version);
            match named(begin) {
                None if begin <= self.time => return Ok(Look::Found((version, begin))),
                None => {}
                Some(other) => match states.get(core, other) {
                    state @ State::Drawing => return Ok(Look::After(other, state)),
                    State::Preparing(begin) if begin <= self.time => {
                        dependencies.believe(core, &mut self.believed, self.session, other)?;
                        return Ok(Look::Found((version, begin)));
                    }
                    State::Committed(begin) if begin <= self.time => {
                        return Ok(Look::Found((version, begin)));
                    }
                    _ => {}
                },
            }
            let older = version_chain::older(core, &version);
            version = older.expect("a version was collected although a transaction may read it");
        }
    }

    /// Latches the record for a write. Returns an error without the latch if another session was first: it has announced a
    /// write, its version is not visible, or it holds the latch. A writer does not queue for the latch
    /// ([`super::announcement::Announcer::latch_for_write`] says why).
    pub fn latch_for_write(
        &mut self,
        core: &M::Core,
        record: &Record<'_, M>,
        dependencies: &CommitDependencies<M>,
    ) -> Result<(), Abort> {
        if !self.latcher.try_latch(core, record.line(), record.cc().latch()) {
            return Err(Abort::because(AbortReason::LockConflict));
        }
        let (version, _) = self.visible(core, record, dependencies)?;
        let refusal = if core.load_relaxed(record.line(), &record.cc().end) != 0 {
            Abort::because(AbortReason::LockConflict)
        } else if version.identity() != record.identity() {
            too_late()
        } else {
            return Ok(());
        };
        self.unlatch(core, record);
        Err(refusal)
    }

    /// Checks that the record's version with this begin is still valid at `time`. That is the end
    /// timestamp of the session's own transaction, which it has drawn.
    pub fn validate(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        states: &TransactionStates<M>,
        begin: u64,
        time: u64,
    ) -> Result<(), Abort> {
        loop {
            self.latch(core, record);
            let look = Self::is_valid(core, record, states, begin, time);
            let state = record.head(core).state;
            self.unlatch(core, record);
            match look {
                // The absence of a retired record has been passed on. Later writes go to another
                // record, so this one does not show them.
                _ if state == RowState::RETIRED => {
                    return Err(Abort::because(AbortReason::RecordRetired));
                }
                Look::Found(true) => return Ok(()),
                Look::Found(false) => return Err(Abort::because(AbortReason::Validation)),
                Look::After(session, state) => states.wait_while(core, session, state),
            }
        }
    }

    /// Checks whether the version with this begin is valid at `time`. Called with the record
    /// latched.
    fn is_valid(
        core: &M::Core,
        record: &Record<'_, M>,
        states: &TransactionStates<M>,
        begin: u64,
        time: u64,
    ) -> Look<bool> {
        let mut version = *record;
        loop {
            let begun = begin_of(core, &version, states);
            if begun == Some(begin) {
                break;
            }
            match version_chain::older(core, &version) {
                Some(older) => version = older,
                // Superseded so long ago that no transaction needs it, or its writer has aborted.
                None => return Look::Found(false),
            }
        }
        let end = core.load_relaxed(version.line(), &version.cc().end);
        Look::Found(match named(end) {
            None => end == 0 || end > time,
            Some(other) => match states.get(core, other) {
                state @ State::Drawing => return Look::After(other, state),
                State::Preparing(end) | State::Committed(end) => end > time,
                // An active writer's end timestamp will be later. An aborted writer's version has
                // never existed.
                State::Active | State::Aborted => true,
            },
        })
    }
}

impl<M: Machine> Announces<M, Validity> for Viewpoint<M> {
    fn announce(&self, core: &M::Core, record: &Record<'_, M>) {
        core.store_relaxed(record.line(), &record.cc().end, name_of(self.session));
    }

    fn withdraw(&self, core: &M::Core, record: &Record<'_, M>) {
        self.latch(core, record);
        core.store_relaxed(record.line(), &record.cc().end, 0);
        self.unlatch(core, record);
    }

    fn unlatch(&self, core: &M::Core, record: &Record<'_, M>) {
        self.latcher.unlatch(core, record.line(), record.cc().latch());
    }
}

/// The rule for absences of retired records: they are not remembered. A record is retired only
/// without a history. So no active transaction is older than its absence, and the begin of the
/// absence is not needed.
pub struct Unremembered;

impl<M: Machine> Absences<M, Validity> for Unremembered {
    fn start(&self, core: &M::Core, record: &Record<'_, M>, _: Option<GuardRef<'_, M, Validity>>) {
        core.store_relaxed(record.line(), &record.cc().chain.wts, 0);
        core.store_relaxed(record.line(), &record.cc().end, 0);
    }

    fn remember(&self, _: &M::Core, _: &Record<'_, M>, _: Option<GuardRef<'_, M, Validity>>) {}

    fn pass_on(_: &M::Core, _: GuardRef<'_, M, Validity>, _: GuardRef<'_, M, Validity>) {}
}
