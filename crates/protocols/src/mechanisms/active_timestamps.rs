//! Timestamps of the running transactions. They tell which old versions a transaction can still read.
//!
//! **State.** Each session has a word of its own, with the timestamp of its running transaction, or 0 (`IDLE`). Beside
//! these words stands the *frontier*, a timestamp that only grows. No transaction begins below the frontier.
//!
//! **Steps.**
//!
//! - A transaction that begins stores its timestamp in its session's word, and then reads the frontier. If its
//!   timestamp is below the frontier, it draws another one and repeats both steps.
//! - A collector raises the frontier, and then reads the words of all sessions.
//!
//! **Why it is right.** Each side has a full fence between its store and its load, so at least one side sees the
//! store of the other: the transaction sees the raised frontier, or the collector sees the timestamp. So the result of
//! a look stays true for ever: below its frontier, only those transactions can run that the look has seen.
//!
//! **The floor.** A look reads a line of every session. With many sessions the result is shared: whoever has looked publishes
//! the *floor*, a timestamp below which no transaction reads. This stays true for ever, as the result of a look does. The floor only
//! grows. Who reads it afterwards also sees that the transactions below it have ended, because their sessions' stores were seen by the
//! look, and the look precedes the publication.
//!
//! **Why the oldest timestamp alone is not enough.** The papers' code asks for the oldest transaction only. This would
//! keep every version that was overwritten since that transaction began, although it can read only one version of
//! each row.

use crate::faults;
use machine::{
    Arena, Core, Machine, OutOfMemory, Place, Shared, TimedOut, Word, Zeroed, cold::Arc,
};

#[repr(C, align(64))]
struct TimestampWord<M: Machine> {
    /// Cache line of the word.
    line: M::Line,
    /// The frontier, or the timestamp of a session's running transaction.
    timestamp: Word,
}

// SAFETY: `TimestampWord` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for TimestampWord<M> {}

/// Shown by a session that runs no transaction. Timestamp 0 belongs to the loader.
const IDLE: u64 = 0;
/// Number of sessions from which on the result of a look is shared. With fewer, a look costs little more than reading the floor.
const SHARED_LOOKS: usize = 16;
/// Number of sessions by which a look fetches lines ahead. Other cores have written nearly all of them.
const AHEAD: usize = 8;

/// The timestamps of all sessions, and the frontier.
pub struct ActiveTimestamps<M: Machine> {
    /// Only grows. No transaction begins below it.
    frontier: Shared<TimestampWord<M>>,
    /// By session number. Only the session itself writes its word.
    sessions: Vec<Shared<TimestampWord<M>>>,
    /// Only grows. No transaction reads below it. None if looks are not shared.
    floor: Option<Shared<TimestampWord<M>>>,
}

/// Result of a look at the active timestamps.
#[derive(Clone, Debug, Default)]
pub struct Needed {
    /// Timestamp below which no transaction begins.
    frontier: u64,
    /// Timestamps of the transactions that had begun, in ascending order.
    active: Vec<u64>,
}

impl Needed {
    /// Becomes the result of a look that found nobody below `floor`, and does not tell who is above it.
    pub fn above(&mut self, floor: u64) {
        self.frontier = floor;
        self.active.clear();
    }

    /// Returns whether a transaction reads, or can come to read, at a timestamp from `begin` to below `end`.
    #[inline]
    pub fn between(&self, begin: u64, end: u64) -> bool {
        let first = self.active.partition_point(|active| *active < begin);
        end > self.frontier || self.active.get(first).is_some_and(|active| *active < end)
    }

    /// Returns whether the transaction at `own` was the only one that had begun.
    pub fn is_only(&self, own: u64) -> bool {
        self.active == [own]
    }

    /// Returns the timestamp below which no transaction begins.
    pub fn frontier(&self) -> u64 {
        self.frontier
    }

    /// Returns the timestamp below which no transaction reads.
    pub fn oldest(&self) -> u64 {
        self.active.first().map_or(self.frontier, |first| self.frontier.min(*first))
    }
}

impl<M: Machine> ActiveTimestamps<M> {
    /// Creates words for `sessions` sessions, none of them active.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Self, OutOfMemory> {
        let frontier = arena.place(Place::Any)?;
        let own = |session| arena.place(arena.beside(session));
        let is_shared = M::MINIATURE || sessions >= SHARED_LOOKS;
        let sessions = (0..sessions).map(own).collect::<Result<_, _>>()?;
        let floor = is_shared.then(|| arena.place(Place::Any)).transpose()?;
        Ok(ActiveTimestamps { frontier, sessions, floor })
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Begins a transaction of session number `session`, and returns its timestamp. `draw` supplies timestamps, and
    /// must give a larger one at every call.
    #[inline]
    pub fn enter(&self, core: &M::Core, session: usize, mut draw: impl FnMut() -> u64) -> u64 {
        let session = &self.sessions[session];
        // Each turn draws a larger timestamp, so the loop ends without the help of another session.
        loop {
            let timestamp = draw();
            core.store(&session.line, &session.timestamp, timestamp);
            core.wake(&session.line, &session.timestamp);
            // The timestamp must be visible before the frontier is read: see the module's page.
            core.fence();
            if timestamp >= core.load(&self.frontier.line, &self.frontier.timestamp) {
                return timestamp;
            }
        }
    }

    /// Ends the transaction of session number `session`.
    #[inline]
    pub fn leave(&self, core: &M::Core, session: usize) {
        let session = &self.sessions[session];
        core.store(&session.line, &session.timestamp, IDLE);
        core.wake(&session.line, &session.timestamp);
    }

    /// Returns the present frontier, below which no transaction begins.
    pub fn frontier(&self, core: &M::Core) -> u64 {
        core.load(&self.frontier.line, &self.frontier.timestamp)
    }

    /// Raises the frontier to `timestamp` if it is lower, and returns the frontier. What the caller reads or does
    /// afterwards, it does after that.
    pub fn raise(&self, core: &M::Core, timestamp: u64) -> u64 {
        let frontier = raise_word(core, &self.frontier, timestamp);
        // The frontier must be raised before the sessions are read: see the module's page.
        core.fence();
        frontier
    }

    /// Returns a timestamp below which no transaction reads: the highest that a look has published. It is 0 if looks are not shared.
    pub fn floor(&self, core: &M::Core) -> u64 {
        self.floor.as_ref().map_or(0, |floor| core.load(&floor.line, &floor.timestamp))
    }

    /// Raises the frontier to `timestamp` if it is lower, and collects the active timestamps into `needed`. Raises the floor to what
    /// they leave.
    pub fn look(&self, core: &M::Core, timestamp: u64, needed: &mut Needed) {
        let looks_first = core.is_planted(faults::LOOKS_BEFORE_THE_FRONTIER);
        if !looks_first {
            needed.frontier = self.raise(core, timestamp);
        }
        needed.active.clear();
        for (at, session) in self.sessions.iter().enumerate() {
            if let Some(later) = self.sessions.get(at + AHEAD) {
                core.prefetch_line(&later.line);
                core.prefetch(std::ptr::from_ref(&**later).cast(), size_of::<Word>());
            }
            let active = core.load(&session.line, &session.timestamp);
            if active != IDLE {
                needed.active.push(active);
            }
        }
        if looks_first {
            needed.frontier = self.raise(core, timestamp);
        }
        needed.active.sort_unstable();
        if let Some(floor) = &self.floor {
            match core.is_planted(faults::MVCC_COLLECTS_UNDER_READERS) {
                true => raise_word(core, floor, needed.frontier),
                false => raise_word(core, floor, needed.oldest()),
            };
        }
    }

    /// Waits until no transaction is left that began from `begin` to below `end`. The frontier must have passed `end`.
    /// Gives up at `deadline`.
    pub fn wait_until_gone(
        &self,
        core: &M::Core,
        begin: u64,
        end: u64,
        deadline: u64,
    ) -> Result<(), TimedOut> {
        for session in &self.sessions {
            let here = |active: u64| (begin.max(IDLE + 1)..end).contains(&active);
            core.wait_while_until(&session.line, &session.timestamp, deadline, here)?;
        }
        Ok(())
    }
}

/// Raises the timestamp in `word` to `timestamp` if it is lower, and returns what it is then.
fn raise_word<M: Machine>(core: &M::Core, word: &TimestampWord<M>, timestamp: u64) -> u64 {
    let (line, word) = (&word.line, &word.timestamp);
    let mut found = core.load(line, word);
    while found < timestamp {
        match core.cas(line, word, found, timestamp) {
            Ok(_) => found = timestamp,
            Err(now) => found = now,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{ArenaOptions, Native, NativeOptions};

    #[test]
    fn sessions_lie_on_their_nodes() {
        let arena = ArenaOptions {
            nodes: 2,
            session_nodes: Some([0, 0, 1].into()),
            ..ArenaOptions::default()
        };
        let machine = Native::new(NativeOptions { arena, ..NativeOptions::default() }).unwrap();
        // The words that all sessions read lie on the node of the caller.
        let arena = machine.arena().on(1);
        let active = ActiveTimestamps::<Native>::new(&arena, 4).unwrap();
        let nodes: Vec<u16> =
            active.sessions.iter().map(|session| arena.node_of(session.offset())).collect();
        assert_eq!(nodes, [0, 0, 1, 1]);
        assert_eq!(arena.node_of(active.frontier.offset()), 1);
    }

    #[test]
    fn nobody_begins_below_the_frontier() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let active = ActiveTimestamps::<Native>::new(machine.arena(), 3).unwrap();
        let mut needed = Needed::default();
        assert_eq!(active.enter(&core, 0, || 5), 5);
        active.look(&core, 20, &mut needed);
        let mut drawn = 17;
        let begun = active.enter(&core, 1, || {
            drawn += 1;
            drawn
        });
        assert_eq!(begun, 20);
        // The frontier does not fall for a late collector.
        active.look(&core, 8, &mut needed);
        assert_eq!((needed.frontier, needed.oldest()), (20, 5));
        assert_eq!(needed.active, [5, 20]);
        active.leave(&core, 0);
        active.look(&core, 30, &mut needed);
        assert_eq!((needed.oldest(), needed.active.len()), (20, 1));
    }

    #[test]
    fn many_sessions_share_the_result_of_a_look() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let few = ActiveTimestamps::<Native>::new(machine.arena(), SHARED_LOOKS - 1).unwrap();
        few.look(&core, 20, &mut Needed::default());
        assert_eq!(few.floor(&core), 0);
        let many = ActiveTimestamps::<Native>::new(machine.arena(), SHARED_LOOKS).unwrap();
        many.enter(&core, 3, || 7);
        many.look(&core, 20, &mut Needed::default());
        assert_eq!(many.floor(&core), 7, "that transaction can read its versions");
        many.leave(&core, 3);
        many.look(&core, 15, &mut Needed::default());
        assert_eq!(many.floor(&core), 20, "the frontier, which did not fall");
        let mut needed = Needed::default();
        needed.above(many.floor(&core));
        assert!(!needed.between(5, 20) && needed.between(5, 21));
    }

    #[test]
    fn one_old_reader_needs_one_version_of_each_row() {
        let needed = Needed { frontier: 100, active: vec![5, 50] };
        assert!(needed.between(0, 6) && needed.between(5, 6) && needed.between(40, 100));
        assert!(!needed.between(6, 50) && !needed.between(0, 5) && !needed.between(51, 100));
        assert!(needed.between(51, 101), "who begins now may read it");
    }
}
