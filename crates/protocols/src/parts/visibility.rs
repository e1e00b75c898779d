//! Which version of a record a transaction sees, and whether it would see the same later.
//!
//! Source: Larson et al., VLDB 2011, 2.5 (tables 1 and 2), 2.6 (updates), 3.2 (validation). A version is valid from its
//! begin until its end. Both are timestamps, or name the session whose transaction is about to put one there
//! ([`transaction_states`]); the versions that are not decided yet stand above the others
//! ([`undecided_versions`]). A transaction that is preparing is believed to commit: what it has written before the
//! read time is read, and what it has overwritten is not, at the price of a commit dependency.
//!
//! The end of a record's newest version is infinite, or names the writer that has announced another one: the first
//! writer wins. An announced version that is not placed until its writer has committed (it removes the record,
//! or there was no memory to keep the old version beside it) can't be believed, and is waited for.
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
use storage::{GuardRef, RecordRef, RowState};
use txn::{Abort, AbortReason};

/// The words of a record, and of a version.
#[repr(C)]
pub struct Validity {
    latch: Word,
    /// Older versions, and the begin of this one.
    pub chain: Chain,
    /// Its end; zero for infinity.
    pub end: Word,
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

/// The read time of who reads nothing but the latest.
pub const LATEST: u64 = u64::MAX;

/// A session's read time, and its way to the latches.
pub struct Viewpoint<M: Machine> {
    /// The session's number.
    pub session: usize,
    /// What was committed by then is seen.
    pub time: u64,
    /// Whom its transaction depends on.
    pub believed: Believed,
    /// The way to latches.
    pub latcher: Latcher<M>,
}

/// When the version began; none if it is not known whether it ever will have begun. Call with the record latched.
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

/// What a look at a latched record comes to.
enum Look<T> {
    Found(T),
    /// Not before that session shows another state.
    After(usize, State),
}

impl<M: Machine> Viewpoint<M> {
    /// For session `session`, with no read time yet.
    pub fn new(latches: &LatchNodes, session: usize) -> Viewpoint<M> {
        Viewpoint {
            session,
            time: 0,
            believed: Believed::default(),
            latcher: latches.latcher(session),
        }
    }

    /// Takes the record's latch.
    pub fn latch(&self, core: &M::Core, record: &Record<'_, M>) {
        self.latcher.latch(core, record.line(), record.cc().latch());
    }

    /// Latches the record and says which version is visible, with its begin. Whoever has written it and is not decided
    /// is believed.
    pub fn latch_visible<'s>(
        &mut self,
        core: &M::Core,
        record: &Record<'s, M>,
        dependencies: &CommitDependencies<M>,
    ) -> Result<(Record<'s, M>, u64), Abort> {
        loop {
            self.latch(core, record);
            let look = self.look(core, record, dependencies);
            if let Ok(Look::Found(found)) = look {
                return Ok(found);
            }
            self.unlatch(core, record);
            if let Look::After(session, state) = look? {
                dependencies.states.wait_while(core, session, state);
            }
        }
    }

    fn look<'s>(
        &mut self,
        core: &M::Core,
        record: &Record<'s, M>,
        dependencies: &CommitDependencies<M>,
    ) -> Result<Look<(Record<'s, M>, u64)>, Abort> {
        let states = &dependencies.states;
        let end = core.load_relaxed(record.line(), &record.cc().end);
        let passes = core.is_planted(faults::HEKATON_PASSES_ANNOUNCED);
        let looks = self.time != LATEST && !passes;
        let announced = named(end).filter(|other| *other != self.session && looks);
        if let Some(other) = announced {
            match states.get(core, other) {
                state @ State::Drawing => return Ok(Look::After(other, state)),
                state @ (State::Preparing(end) | State::Committed(end)) if end <= self.time => {
                    return Ok(Look::After(other, state));
                }
                _ => {}
            }
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

    /// Latches the record for a write, or says that another was first: has announced one, or has written one that is
    /// not visible.
    pub fn latch_for_write(
        &mut self,
        core: &M::Core,
        record: &Record<'_, M>,
        dependencies: &CommitDependencies<M>,
    ) -> Result<(), Abort> {
        let (version, _) = self.latch_visible(core, record, dependencies)?;
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

    /// The version of the record that has this begin must be valid at `time` still: the end timestamp of the session's
    /// own transaction, which it has drawn.
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
                // Its absence has been passed on, so nobody would be stopped here from writing over it.
                _ if state == RowState::RETIRED => {
                    return Err(Abort::because(AbortReason::RecordRetired));
                }
                Look::Found(true) => return Ok(()),
                Look::Found(false) => return Err(Abort::because(AbortReason::Validation)),
                Look::After(session, state) => states.wait_while(core, session, state),
            }
        }
    }

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
                // Superseded so long ago that nobody needs it, or written by somebody who has aborted.
                None => return Look::Found(false),
            }
        }
        let end = core.load_relaxed(version.line(), &version.cc().end);
        Look::Found(match named(end) {
            None => end == 0 || end > time,
            Some(other) => match states.get(core, other) {
                state @ State::Drawing => return Look::After(other, state),
                State::Preparing(end) | State::Committed(end) => end > time,
                // Its end timestamp will be later; or it has never been.
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

/// Nobody is active who is older than an absence that leaves with its record (it had no history), so its begin need not be
/// remembered.
pub struct Unremembered;

impl<M: Machine> Absences<M, Validity> for Unremembered {
    fn start(&self, core: &M::Core, record: &Record<'_, M>, _: Option<GuardRef<'_, M, Validity>>) {
        core.store_relaxed(record.line(), &record.cc().chain.wts, 0);
        core.store_relaxed(record.line(), &record.cc().end, 0);
    }

    fn remember(&self, _: &M::Core, _: &Record<'_, M>, _: Option<GuardRef<'_, M, Validity>>) {}

    fn pass_on(_: &M::Core, _: GuardRef<'_, M, Validity>, _: GuardRef<'_, M, Validity>) {}
}
