//! Which timestamps are in use, and so which old versions somebody can still read.
//!
//! Every session shows the timestamp of its running transaction in a word of its own. Beside them stands the
//! frontier: no transaction begins below it any more. Who collects raises the frontier first and looks at
//! the sessions then; a transaction shows its timestamp first and looks at the frontier then, and draws
//! another one if it is too late. With a full fence between each one's two steps, one of them notices the
//! other. So what a look has found stays true for ever: below its frontier there is nobody but whom it saw.
//!
//! The oldest transaction alone is not asked (as the papers' code does): it would keep everything that was
//! overwritten since it began, although it can read but one version of each row.

use machine::{
    Arena, Core, Machine, OutOfMemory, Place, Shared, TimedOut, Word, Zeroed, cold::Arc,
};

#[repr(C, align(64))]
struct Slot<M: Machine> {
    line: M::Line,
    timestamp: Word,
}

// SAFETY: a line and a word, both valid as zeros.
unsafe impl<M: Machine> Zeroed for Slot<M> {}

/// A session without a transaction. Timestamp 0 belongs to the loader.
const IDLE: u64 = 0;

/// The timestamps of all sessions, and the frontier.
pub struct ActiveTimestamps<M: Machine> {
    frontier: Shared<Slot<M>>,
    sessions: Vec<Shared<Slot<M>>>,
}

/// What a look at the active timestamps has found.
#[derive(Clone, Debug, Default)]
pub struct Needed {
    /// Nobody begins below.
    frontier: u64,
    /// Who has begun, in order.
    active: Vec<u64>,
}

impl Needed {
    /// True if somebody reads, or may come to read, at a timestamp from `begin` to below `end`.
    #[inline]
    pub fn between(&self, begin: u64, end: u64) -> bool {
        let first = self.active.partition_point(|active| *active < begin);
        end > self.frontier || self.active.get(first).is_some_and(|active| *active < end)
    }

    /// The timestamp below which nobody begins.
    pub fn frontier(&self) -> u64 {
        self.frontier
    }

    /// The timestamp below which nobody reads.
    pub fn oldest(&self) -> u64 {
        self.active.first().map_or(self.frontier, |first| self.frontier.min(*first))
    }
}

impl<M: Machine> ActiveTimestamps<M> {
    /// Room for `sessions` sessions, none of them active.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Self, OutOfMemory> {
        let frontier = arena.place(Place::Any)?;
        let own = |slot| arena.place(arena.beside(slot));
        let sessions = (0..sessions).map(own).collect::<Result<_, _>>()?;
        Ok(ActiveTimestamps { frontier, sessions })
    }

    /// Number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// A transaction of session number `session` begins with a timestamp from `draw`, which must give a
    /// larger one every time.
    #[inline]
    pub fn enter(&self, core: &M::Core, session: usize, mut draw: impl FnMut() -> u64) -> u64 {
        let slot = &self.sessions[session];
        // Ends without anybody's help: each turn draws a larger timestamp.
        loop {
            let timestamp = draw();
            core.store(&slot.line, &slot.timestamp, timestamp);
            core.wake(&slot.line, &slot.timestamp);
            // Shown before the frontier is looked at, see above.
            core.fence();
            if timestamp >= core.load(&self.frontier.line, &self.frontier.timestamp) {
                return timestamp;
            }
        }
    }

    /// The transaction of session number `session` is over.
    #[inline]
    pub fn leave(&self, core: &M::Core, session: usize) {
        let slot = &self.sessions[session];
        core.store(&slot.line, &slot.timestamp, IDLE);
        core.wake(&slot.line, &slot.timestamp);
    }

    /// The timestamp below which nobody begins, as it is now.
    pub fn frontier(&self, core: &M::Core) -> u64 {
        core.load(&self.frontier.line, &self.frontier.timestamp)
    }

    /// Lets nobody begin below `timestamp` any more, and sees who has begun.
    pub fn look(&self, core: &M::Core, timestamp: u64, needed: &mut Needed) {
        let (line, word) = (&self.frontier.line, &self.frontier.timestamp);
        let mut frontier = core.load(line, word);
        while frontier < timestamp {
            match core.cas(line, word, frontier, timestamp) {
                Ok(_) => frontier = timestamp,
                Err(now) => frontier = now,
            }
        }
        // Raised before the sessions are looked at, see above.
        core.fence();
        needed.frontier = frontier;
        needed.active.clear();
        for slot in &self.sessions {
            let active = core.load(&slot.line, &slot.timestamp);
            if active != IDLE {
                needed.active.push(active);
            }
        }
        needed.active.sort_unstable();
    }

    /// Waits until nobody is left who began from `begin` to below `end`, which the frontier must have
    /// passed; gives up at `deadline`.
    pub fn wait_until_gone(
        &self,
        core: &M::Core,
        begin: u64,
        end: u64,
        deadline: u64,
    ) -> Result<(), TimedOut> {
        for slot in &self.sessions {
            let here = |active: u64| (begin.max(IDLE + 1)..end).contains(&active);
            core.wait_while_until(&slot.line, &slot.timestamp, deadline, here)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{ArenaOptions, Native, NativeOptions};

    #[test]
    fn sessions_lie_on_their_nodes() {
        let arena =
            ArenaOptions { nodes: 2, sessions_per_node: Some(2), ..ArenaOptions::default() };
        let machine = Native::new(NativeOptions { arena, ..NativeOptions::default() }).unwrap();
        // What all look at is on the node of who asks.
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
        // The frontier does not come back for somebody who is late.
        active.look(&core, 8, &mut needed);
        assert_eq!((needed.frontier, needed.oldest()), (20, 5));
        assert_eq!(needed.active, [5, 20]);
        active.leave(&core, 0);
        active.look(&core, 30, &mut needed);
        assert_eq!((needed.oldest(), needed.active.len()), (20, 1));
    }

    #[test]
    fn one_old_reader_needs_one_version_of_each_row() {
        let needed = Needed { frontier: 100, active: vec![5, 50] };
        assert!(needed.between(0, 6) && needed.between(5, 6) && needed.between(40, 100));
        assert!(!needed.between(6, 50) && !needed.between(0, 5) && !needed.between(51, 100));
        assert!(needed.between(51, 101), "who begins now may read it");
    }
}
