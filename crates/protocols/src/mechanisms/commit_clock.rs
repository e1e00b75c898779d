//! The clock of snapshots: one counter of commit stamps, and the stamps of the commits that are under way.
//!
//! Source: Larson et al., VLDB 2011, 2.4 and 4.2 (timestamps of commits, transactions that are preparing).
//!
//! A transaction reads the counter when it begins, which is one load. This value is its snapshot: it sees the versions
//! that were stamped up to then. A transaction that commits takes these steps, and shows its state in a word of its
//! session:
//!
//! ```text
//!       announce           mark the writes, draw             end
//! IDLE ----------> DRAWING ----------------------> stamp ---------> IDLE
//! ```
//!
//! The writes are marked before the stamp is drawn, and installed or withdrawn before the session shows `IDLE` again.
//!
//! **Why it is right.** A reader that finds a mark calls [`CommitClock::is_later`] with its own time. The call waits
//! while the session shows `DRAWING`, and then compares the stamp with that time. If the stamp is not later, it waits
//! for the outcome. A reader that finds no mark reads past the write: the stamp has not been drawn yet, so it will be
//! later than any time known now.
//!
//! Waiting goes to earlier stamps only, so there is no deadlock cycle.

use machine::{
    Arena, Category, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc,
};

#[repr(C, align(64))]
struct Cell<M: Machine> {
    /// Cache line of the word.
    line: M::Line,
    /// The counter, or the state that a session shows.
    word: Word,
}

// SAFETY: `Cell` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Cell<M> {}

/// Shown by a session that is not committing.
const IDLE: u64 = 0;
/// Shown by a session that is about to draw a stamp. Timestamp 1 is never a stamp.
const DRAWING: u64 = 1;

/// The counter of stamps, and the state that each session shows.
pub struct CommitClock<M: Machine> {
    /// The last stamp drawn. Only grows.
    last: Shared<Cell<M>>,
    /// By session number: `IDLE`, `DRAWING`, or the stamp of the commit under way. Only the session itself writes it.
    sessions: Vec<Shared<Cell<M>>>,
}

impl<M: Machine> CommitClock<M> {
    /// Creates a clock at which only the loader has committed.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<CommitClock<M>, OutOfMemory> {
        let last: Shared<Cell<M>> = arena.place(Place::Any)?;
        last.word.poke(DRAWING);
        let own = |session| arena.place(arena.beside(session));
        let sessions = (0..sessions).map(own).collect::<Result<_, _>>()?;
        Ok(CommitClock { last, sessions })
    }

    /// Returns the last stamp drawn.
    #[inline]
    pub fn now(&self, core: &M::Core) -> u64 {
        let before = core.account(Category::TimestampAllocation);
        let now = core.load(&self.last.line, &self.last.word);
        core.account(before);
        now
    }

    /// Shows that session number `session` is going to mark its writes and to draw a stamp.
    #[inline]
    pub fn announce(&self, core: &M::Core, session: usize) {
        let cell = &self.sessions[session];
        core.store(&cell.line, &cell.word, DRAWING);
    }

    /// Draws a stamp later than all before. The session has announced itself and marked its writes.
    #[inline]
    pub fn draw(&self, core: &M::Core, session: usize) -> u64 {
        let before = core.account(Category::TimestampAllocation);
        let stamp = core.fetch_add(&self.last.line, &self.last.word, 1) + 1;
        core.account(before);
        let cell = &self.sessions[session];
        core.store(&cell.line, &cell.word, stamp);
        core.wake(&cell.line, &cell.word);
        stamp
    }

    /// Shows that the session has committed or given up, and has removed its marks.
    #[inline]
    pub fn end(&self, core: &M::Core, session: usize) {
        let cell = &self.sessions[session];
        core.store(&cell.line, &cell.word, IDLE);
        core.wake(&cell.line, &cell.word);
    }

    /// Called when a mark of `session` was found. Returns true if that commit's stamp is later than `time`. Otherwise
    /// waits until that commit is decided, and returns false: the caller must look for the mark again. Waiting goes to
    /// earlier stamps only, so there is no deadlock cycle.
    pub fn is_later(&self, core: &M::Core, session: usize, time: u64) -> bool {
        let cell = &self.sessions[session];
        let stamp = core.wait_while(&cell.line, &cell.word, |shown| shown == DRAWING);
        if stamp > time {
            return true;
        }
        if stamp != IDLE {
            core.wait_while(&cell.line, &cell.word, |shown| shown == stamp);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Native, NativeOptions};

    #[test]
    fn stamps_are_later_than_all_times_known_before() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let clock = CommitClock::<Native>::new(machine.arena(), 2).unwrap();
        let begin = clock.now(&core);
        clock.announce(&core, 1);
        let stamp = clock.draw(&core, 1);
        assert!(stamp > begin && stamp > DRAWING && clock.now(&core) == stamp);
        assert!(clock.is_later(&core, 1, begin));
        clock.end(&core, 1);
        assert!(!clock.is_later(&core, 1, begin), "decided: look again");
        clock.announce(&core, 0);
        assert!(clock.draw(&core, 0) > stamp);
    }
}
