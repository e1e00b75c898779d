//! The time of snapshots: one counter of commits, and the stamps of those that are under way.
//!
//! Source: Larson et al., VLDB 2011, 2.4 and 4.2 (timestamps of commits, transactions that are preparing). A
//! transaction sees what was stamped by the time of its begin, which is a load. Who commits marks what it is
//! going to write, draws a stamp and shows it; between the mark and the stamp it shows that it is drawing. So whoever
//! finds a mark learns whether that commit is before or after a time, or waits until it does: if there was no
//! mark, the stamp was drawn later than any time known then.

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

/// Shown by a session that is not committing.
const IDLE: u64 = 0;
/// Shown by a session that is about to draw. Timestamp 1 is nobody's stamp.
const DRAWING: u64 = 1;

/// The counter, and what each session shows.
pub struct CommitClock<M: Machine> {
    last: Shared<Cell<M>>,
    sessions: Vec<Shared<Cell<M>>>,
}

impl<M: Machine> CommitClock<M> {
    /// A clock at which only the loader has committed.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<CommitClock<M>, OutOfMemory> {
        let last: Shared<Cell<M>> = arena.place(Place::Any)?;
        last.word.poke(DRAWING);
        let own = |slot| arena.place(arena.beside(slot));
        let sessions = (0..sessions).map(own).collect::<Result<_, _>>()?;
        Ok(CommitClock { last, sessions })
    }

    /// The last stamp drawn.
    #[inline]
    pub fn now(&self, core: &M::Core) -> u64 {
        let before = core.account(Category::TimestampAllocation);
        let now = core.load(&self.last.line, &self.last.word);
        core.account(before);
        now
    }

    /// Session number `session` is going to mark its writes and to draw.
    #[inline]
    pub fn announce(&self, core: &M::Core, session: usize) {
        let cell = &self.sessions[session];
        core.store(&cell.line, &cell.word, DRAWING);
    }

    /// A stamp later than all before, for the session that has announced itself and marked its writes.
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

    /// The session has committed or given up, and taken its marks away.
    #[inline]
    pub fn end(&self, core: &M::Core, session: usize) {
        let cell = &self.sessions[session];
        core.store(&cell.line, &cell.word, IDLE);
        core.wake(&cell.line, &cell.word);
    }

    /// A mark of `session` was found: true if its stamp is later than `time`. Otherwise waits until that commit is
    /// decided, and whoever asks must look for the mark again. Waiting goes to earlier stamps only, so it can't end
    /// in a circle.
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
