//! States of transactions: the state of each session's transaction, and its end timestamp.
//!
//! Source: Larson, Blanas, Diaconu, Freedman, Patel and Zwilling, VLDB 2011, 2.4 (states), 2.5 (how
//! a version is read whose timestamps are not written yet).
//!
//! A version's begin or end is a timestamp, or it names the session that is about to write a
//! timestamp there. The state of that session's transaction says how to treat the version:
//!
//! ```text
//! active -> drawing -> preparing (end timestamp) -> committed (end timestamp)
//!                                               \-> aborted
//! ```
//!
//! The clock counts commits. A transaction shows the state *drawing* before it draws its end
//! timestamp. So a session that finds its name does not take the transaction for active when its
//! end timestamp is already earlier than the clock. That session looks again when the end timestamp
//! is there, and no other session can delay it. (The paper leaves that moment open.)
//!
//! Names are written and removed under a record's latch. So a name found under the latch is that of
//! the running transaction.

use machine::{
    Arena, Category, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc,
};

#[repr(C, align(64))]
struct Cell<M: Machine> {
    line: M::Line,
    word: Word,
}

// SAFETY: a line and a word, both valid as zeros.
unsafe impl<M: Machine> Zeroed for Cell<M> {}

/// Set in a begin or an end that names a session. As a timestamp it is later than all others.
const NAME: u64 = 1 << 63;

/// Returns the begin or end that names `session`.
pub fn name_of(session: usize) -> u64 {
    NAME | session as u64
}

/// Returns the session that a begin or an end names. None if it is a timestamp.
#[inline]
pub fn named(word: u64) -> Option<usize> {
    (word & NAME != 0).then_some((word & !NAME) as usize)
}

/// The state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The session's transaction runs, or there is none. Its end timestamp will be later than any
    /// known now.
    Active,
    /// The end timestamp is being drawn.
    Drawing,
    /// The transaction is being validated, or waits for the transactions that it depends on.
    Preparing(u64),
    /// The transaction has committed.
    Committed(u64),
    /// The transaction is being rolled back.
    Aborted,
}

/// Bits of a session's word that hold the kind of state. The end timestamp is above them.
const KIND: u64 = 7;
const TIMESTAMP_SHIFT: u32 = 3;

impl State {
    fn word(self) -> u64 {
        match self {
            State::Active => 0,
            State::Drawing => 1,
            State::Aborted => 2,
            State::Preparing(end) => (end << TIMESTAMP_SHIFT) | 3,
            State::Committed(end) => (end << TIMESTAMP_SHIFT) | 4,
        }
    }

    fn of(word: u64) -> State {
        let end = word >> TIMESTAMP_SHIFT;
        match word & KIND {
            0 => State::Active,
            1 => State::Drawing,
            2 => State::Aborted,
            3 => State::Preparing(end),
            _ => State::Committed(end),
        }
    }
}

/// The clock, and the state of each session's transaction.
pub struct TransactionStates<M: Machine> {
    clock: Shared<Cell<M>>,
    sessions: Vec<Shared<Cell<M>>>,
}

impl<M: Machine> TransactionStates<M> {
    /// Creates a clock at which only the loader has committed, and `sessions` sessions.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<TransactionStates<M>, OutOfMemory> {
        let clock: Shared<Cell<M>> = arena.place(Place::Any)?;
        // Timestamp 0 belongs to the loader, and no transaction begins there.
        clock.word.poke(1);
        let own = |slot| arena.place(arena.beside(slot));
        let sessions = (0..sessions).map(own).collect::<Result<_, _>>()?;
        Ok(TransactionStates { clock, sessions })
    }

    /// Returns the last end timestamp that was drawn.
    #[inline]
    pub fn now(&self, core: &M::Core) -> u64 {
        let before = core.account(Category::TimestampAllocation);
        let now = core.load(&self.clock.line, &self.clock.word);
        core.account(before);
        now
    }

    /// Returns the state of the transaction that `session` runs.
    #[inline]
    pub fn get(&self, core: &M::Core, session: usize) -> State {
        let cell = &self.sessions[session];
        State::of(core.load(&cell.line, &cell.word))
    }

    /// Waits until the state of `session` differs from `state`.
    pub fn wait_while(&self, core: &M::Core, session: usize, state: State) {
        let cell = &self.sessions[session];
        core.wait_while(&cell.line, &cell.word, |word| State::of(word) == state);
    }

    fn show(&self, core: &M::Core, session: usize, state: State) {
        let cell = &self.sessions[session];
        core.store(&cell.line, &cell.word, state.word());
        core.wake(&cell.line, &cell.word);
    }

    /// Draws the end timestamp of the transaction of `session`. The transaction is preparing from
    /// here on.
    #[inline]
    pub fn prepare(&self, core: &M::Core, session: usize) -> u64 {
        self.show(core, session, State::Drawing);
        let before = core.account(Category::TimestampAllocation);
        let end = core.fetch_add(&self.clock.line, &self.clock.word, 1) + 1;
        core.account(before);
        self.show(core, session, State::Preparing(end));
        end
    }

    /// Commits or aborts the transaction, for every session that finds its name from here on.
    #[inline]
    pub fn decide(&self, core: &M::Core, session: usize, outcome: State) {
        self.show(core, session, outcome);
    }

    /// Ends the transaction. Its name must be gone from every record.
    #[inline]
    pub fn end(&self, core: &M::Core, session: usize) {
        self.show(core, session, State::Active);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Native, NativeOptions};

    #[test]
    fn states_are_read_as_they_are_shown() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let states = TransactionStates::<Native>::new(machine.arena(), 2).unwrap();
        let begin = states.now(&core);
        let end = states.prepare(&core, 1);
        assert!(end > begin && states.now(&core) == end);
        assert_eq!(states.get(&core, 1), State::Preparing(end));
        states.decide(&core, 1, State::Committed(end));
        assert_eq!(states.get(&core, 1), State::Committed(end));
        states.decide(&core, 1, State::Aborted);
        assert_eq!(states.get(&core, 1), State::Aborted);
        states.end(&core, 1);
        assert_eq!((states.get(&core, 1), states.get(&core, 0)), (State::Active, State::Active));
        assert_eq!(State::of(State::Drawing.word()), State::Drawing);
    }

    #[test]
    fn a_name_is_later_than_every_timestamp() {
        assert_eq!((named(name_of(0)), named(name_of(1500))), (Some(0), Some(1500)));
        assert_eq!((named(0), named((1 << 60) - 1)), (None, None));
        assert!(name_of(0) > 1 << 62);
    }
}
