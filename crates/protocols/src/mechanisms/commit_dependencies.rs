//! Commit dependencies: a transaction that has believed an undecided one may commit only after it.
//!
//! Source: Larson et al., VLDB 2011, 2.7 (`CommitDepCounter`, `AbortNow`, `CommitDepSet`).
//!
//! A transaction *believes* another one if it reads or overwrites its undecided versions, as if they were committed.
//! Then it depends on the other. Each session has two structures for the transaction that it runs:
//!
//! - a counter (`awaited`) of the undecided transactions on which its transaction depends, and above it a count of
//!   those that have aborted;
//! - a set (`dependents`) of the sessions whose transactions depend on its transaction.
//!
//! A session runs one transaction at a time, so a set needs one bit for each session.
//!
//! A dependent adds 1 to its own counter, enters itself into the other's set, and then reads the other's state. A
//! decided transaction first publishes its state, and then empties its set. It tells each session in the set: the
//! counter falls by 1, and if the transaction has aborted, the dependent must abort too.
//!
//! **Why no dependent is missed.** Both sides have a full fence between their two steps. So the dependent sees that the
//! other is decided, or the other finds the dependent in its set.
//!
//! **Why there is no deadlock.** Dependencies go from later end timestamps to earlier ones, and so do the waits. They
//! form no cycle.
//!
//! A transaction that aborts withdraws from the sets in which it still is. Deviation: where it is too late to withdraw,
//! because the set has been emptied, it waits until it has been told. Otherwise the session's next transaction would be
//! told instead.

use super::transaction_states::{State, TransactionStates};
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
use txn::{Abort, AbortReason};

/// Added to a session's word for each believed transaction that has aborted. The bits below count the believed
/// transactions that are not decided.
const ABORT_NOW: u64 = 1 << 32;
/// The bits of a session's word that count undecided transactions.
const COUNTER: u64 = ABORT_NOW - 1;

#[repr(C, align(64))]
struct Cell<M: Machine> {
    /// Cache line of the word.
    line: M::Line,
    /// A counter with aborts above it, or a part of a set.
    word: Word,
}

// SAFETY: `Cell` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Cell<M> {}

/// Returns the abort of a transaction that has believed one that aborted.
fn deceived() -> Abort {
    Abort::because(AbortReason::Wounded)
}

/// The dependencies of all sessions.
pub struct CommitDependencies<M: Machine> {
    /// States of the transactions, from which dependents learn what becomes of those that they believe.
    pub states: TransactionStates<M>,
    /// For each session the number of undecided transactions on which its transaction depends, and above it
    /// (times `ABORT_NOW`) the number of aborted ones. The first is never less than the number of sets that hold the
    /// session's bit.
    awaited: Vec<Shared<Cell<M>>>,
    /// For each session the set of sessions whose transactions depend on its transaction, 64 sessions to a word.
    dependents: Vec<Vec<Shared<Cell<M>>>>,
}

/// Sessions on which a transaction depends. Kept by the transaction itself.
#[derive(Default)]
pub struct Believed {
    /// In the order in which their transactions were believed.
    sessions: Vec<usize>,
}

impl<M: Machine> CommitDependencies<M> {
    /// Creates the structures for `sessions` sessions.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Self, OutOfMemory> {
        let row = |words| (0..words).map(|_| arena.place(Place::Any)).collect::<Result<_, _>>();
        let dependents = (0..sessions).map(|_| row(sessions.div_ceil(64)));
        Ok(CommitDependencies {
            states: TransactionStates::new(arena, sessions)?,
            dependents: dependents.collect::<Result<_, _>>()?,
            awaited: row(sessions)?,
        })
    }

    /// Makes session `own` depend on `other`, which it has found preparing and believes to commit. The caller holds the
    /// latch under which it found the name of `other`, so the name stays there during the call.
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
        // No other session sets this bit, so adding it sets it.
        core.fetch_add(&set.line, &set.word, bit);
        believed.sessions.push(other);
        // The entry must be visible before the state is read: see the module's page.
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

    /// Takes `own` out of the set of `other`, unless `other` has emptied its set in order to tell.
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

    /// Waits until all transactions that session `own` has believed are decided, or until one of them has aborted.
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

    /// Ends all dependencies of the transaction of `own`, which is over.
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

    /// Tells the dependents of `own` the outcome. The state of its transaction has been decided and published before.
    pub fn tell(&self, core: &M::Core, own: usize, committed: bool) {
        // The state must be visible before the set is emptied: see the module's page.
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

    /// Lets session 69 believe sessions 0 and 70, decides these as given, and tells it. Returns what session 69 hears,
    /// and what its next transaction hears.
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
            // The call returns although no session tells anything.
            dependencies.forget(&core, 0, &mut believed);
        }
        assert!(believed.sessions.is_empty());
    }
}
