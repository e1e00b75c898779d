//! Commit dependencies: who has believed a transaction that is not decided yet, and so may commit only after it.
//!
//! Source: Larson et al., VLDB 2011, 2.7 (`CommitDepCounter`, `AbortNow`, `CommitDepSet`). A transaction counts those that
//! it depends on, and enters itself into the set of each. Whoever is decided empties its set and tells all in it: one
//! less to wait for, and if it has aborted, abort as well.
//! Both enter first and look then, with a full fence between: the dependent enters itself and looks whether the
//! other is decided by now; the other is decided and then empties its set. So no dependency is entered too late to be
//! told of. Dependencies go from later end timestamps to earlier ones, and waits with them: in no circle.
//!
//! A session runs one transaction at a time, so a set is a bit for each session, and a transaction that aborts takes
//! itself out of the sets in which it still is. Deviation: where it is too late for that it waits until
//! it has been told, so that nobody tells the session's next transaction instead.

use super::transaction_states::{State, TransactionStates};
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
use txn::{Abort, AbortReason};

/// Added to a session's word by each transaction that it has believed and that has aborted; below are counted those
/// that are not decided.
const ABORT_NOW: u64 = 1 << 32;
const COUNTER: u64 = ABORT_NOW - 1;

#[repr(C, align(64))]
struct Cell<M: Machine> {
    line: M::Line,
    word: Word,
}

// SAFETY: a line and a word, both valid as zeros.
unsafe impl<M: Machine> Zeroed for Cell<M> {}

/// A transaction that was believed has aborted.
fn deceived() -> Abort {
    Abort::because(AbortReason::Wounded)
}

/// The dependencies of all sessions.
pub struct CommitDependencies<M: Machine> {
    /// What becomes of those that are believed.
    pub states: TransactionStates<M>,
    /// Whom each session's transaction waits for: how many, and whether to abort.
    awaited: Vec<Shared<Cell<M>>>,
    /// Who depends on each session's transaction, 64 sessions to a word.
    dependents: Vec<Vec<Shared<Cell<M>>>>,
}

/// The sessions that a transaction depends on, for the transaction itself.
#[derive(Default)]
pub struct Believed {
    sessions: Vec<usize>,
}

impl<M: Machine> CommitDependencies<M> {
    /// For `sessions` sessions.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Self, OutOfMemory> {
        let row = |words| (0..words).map(|_| arena.place(Place::Any)).collect::<Result<_, _>>();
        let dependents = (0..sessions).map(|_| row(sessions.div_ceil(64)));
        Ok(CommitDependencies {
            states: TransactionStates::new(arena, sessions)?,
            dependents: dependents.collect::<Result<_, _>>()?,
            awaited: row(sessions)?,
        })
    }

    /// Session `own` has found `other` preparing and believes that it will commit. Its name stays where it was found
    /// during the call (the caller has the latch).
    pub fn believe(
        &self,
        core: &M::Core,
        believed: &mut Believed,
        own: usize,
        other: usize,
    ) -> Result<(), Abort> {
        let (set, bit) = (&self.dependents[other][own / 64], 1 << (own % 64));
        if core.load(&set.line, &set.word) & bit != 0 {
            return Ok(());
        }
        let awaited = &self.awaited[own];
        core.fetch_add(&awaited.line, &awaited.word, 1);
        // Nobody else sets this bit, so a sum is a union.
        core.fetch_add(&set.line, &set.word, bit);
        believed.sessions.push(other);
        // Entered before the state is looked at, see above.
        core.fence();
        match self.states.get(core, other) {
            _ if core.is_planted(faults::HEKATON_LOSES_DEPENDENCIES) => Ok(()),
            State::Committed(_) => {
                self.withdraw(core, own, other);
                Ok(())
            }
            State::Aborted => Err(deceived()),
            _ => Ok(()),
        }
    }

    /// Takes `own` out of the set of `other`, unless it has been taken out to be told.
    fn withdraw(&self, core: &M::Core, own: usize, other: usize) {
        let (set, bit) = (&self.dependents[other][own / 64], 1 << (own % 64));
        let mut now = core.load(&set.line, &set.word);
        while now & bit != 0 {
            match core.cas(&set.line, &set.word, now, now & !bit) {
                Ok(_) => {
                    let awaited = &self.awaited[own];
                    core.fetch_add(&awaited.line, &awaited.word, u64::MAX);
                    core.wake(&awaited.line, &awaited.word);
                    return;
                }
                Err(changed) => now = changed,
            }
        }
    }

    /// Waits until all that session `own` has believed are decided, or one has aborted.
    pub fn wait(&self, core: &M::Core, own: usize, believed: &Believed) -> Result<(), Abort> {
        if believed.sessions.is_empty() {
            return Ok(());
        }
        let awaited = &self.awaited[own];
        let undecided = |word| word & COUNTER != 0 && word < ABORT_NOW;
        match core.wait_while(&awaited.line, &awaited.word, undecided) {
            0 => Ok(()),
            _ => Err(deceived()),
        }
    }

    /// The transaction of `own` is over and depends on nobody any more.
    pub fn forget(&self, core: &M::Core, own: usize, believed: &mut Believed) {
        if believed.sessions.is_empty() {
            return;
        }
        for other in believed.sessions.drain(..) {
            self.withdraw(core, own, other);
        }
        let awaited = &self.awaited[own];
        core.wait_while(&awaited.line, &awaited.word, |word| word & COUNTER != 0);
        core.store(&awaited.line, &awaited.word, 0);
    }

    /// The transaction of `own` is decided, for all to see: tells who depends on it.
    pub fn tell(&self, core: &M::Core, own: usize, committed: bool) {
        // Decided before the set is emptied, see above.
        core.fence();
        let news = if committed { u64::MAX } else { ABORT_NOW - 1 };
        for (at, set) in self.dependents[own].iter().enumerate() {
            if core.load(&set.line, &set.word) == 0 {
                continue;
            }
            let mut sessions = core.swap(&set.line, &set.word, 0);
            while sessions != 0 {
                let awaited = &self.awaited[at * 64 + sessions.trailing_zeros() as usize];
                core.fetch_add(&awaited.line, &awaited.word, news);
                core.wake(&awaited.line, &awaited.word);
                sessions &= sessions - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Native, NativeOptions};

    fn dependencies(machine: &Native, sessions: usize) -> CommitDependencies<Native> {
        CommitDependencies::new(machine.arena(), sessions).unwrap()
    }

    /// Session 69 believes 0 and 70; what then becomes of them is told. What it hears, and what its next transaction
    /// hears.
    fn heard(decided: [State; 2]) -> (Result<(), Abort>, Result<(), Abort>) {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let dependencies = dependencies(&machine, 71);
        let mut believed = Believed::default();
        for other in [0, 70, 0] {
            dependencies.states.prepare(&core, other);
            dependencies.believe(&core, &mut believed, 69, other).unwrap();
        }
        assert_eq!(believed.sessions, [0, 70]);
        for (other, state) in [0, 70].into_iter().zip(decided) {
            dependencies.states.decide(&core, other, state);
            dependencies.tell(&core, other, state != State::Aborted);
        }
        let first = dependencies.wait(&core, 69, &believed);
        dependencies.forget(&core, 69, &mut believed);
        dependencies.states.prepare(&core, 1);
        dependencies.believe(&core, &mut believed, 69, 1).unwrap();
        dependencies.tell(&core, 1, true);
        (first, dependencies.wait(&core, 69, &believed))
    }

    #[test]
    fn all_that_were_believed_must_commit() {
        let committed = State::Committed(5);
        assert_eq!(heard([committed, committed]), (Ok(()), Ok(())));
        assert_eq!(heard([State::Aborted, committed]), (Err(deceived()), Ok(())));
        assert_eq!(heard([State::Aborted, State::Aborted]), (Err(deceived()), Ok(())));
    }

    #[test]
    fn who_is_decided_already_is_not_waited_for() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let dependencies = dependencies(&machine, 2);
        let mut believed = Believed::default();
        for (state, result) in [(State::Committed(5), Ok(())), (State::Aborted, Err(deceived()))] {
            dependencies.states.decide(&core, 1, state);
            assert_eq!(dependencies.believe(&core, &mut believed, 0, 1), result);
            // Ends, though nobody tells.
            dependencies.forget(&core, 0, &mut believed);
        }
        assert!(believed.sessions.is_empty());
    }
}
