//! Sessions that wait for the decision of a prewrite, in the order of their timestamps.
//!
//! Source: the code of *The Full Story of 1000 Cores* (Bang et al., 2022), in which each record of TIMESTAMP and MVCC has a list of
//! requests that wait, and each requester waits for a flag of its own. The order is that of Bernstein and Goodman 1981.
//!
//! **Structure.** Each session has one node, because it waits for one record at a time. A record names the first node of its queue by
//! arena offset (0 is none). The nodes are linked in the order of their timestamps. The record's latch protects the queue.
//!
//! **A decision** takes nodes out from the front: all readers before the first writer, and that writer. It tells each of them by a write
//! to the node. The others are not disturbed. So a decision costs as much as it serves, and each decision lets somebody go on. Who enters
//! walks past all that wait with earlier timestamps.
//!
//! **Why the order is right.** A reader waits for the prewrites of earlier transactions. When those before the first writer that waits
//! have been decided, none is left that an earlier reader must wait for. A later reader must wait for that writer, too.

use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;

/// Number of PAUSE instructions between two looks of a session that waits, in the code of 2022.
const PAUSES: u64 = 15;

/// A session's place in a queue.
#[repr(C, align(64))]
struct Node<M: Machine> {
    line: M::Line,
    /// Offset of the next node in the same queue; 0 at its end.
    next: Word,
    /// Timestamp of the transaction that waits.
    timestamp: Word,
    /// 1 if the transaction waits in order to write, 0 if in order to read.
    writes: Word,
    /// 1 until the session may go on. The session waits on this word.
    waits: Word,
}

// SAFETY: a line and words, valid as zeros.
unsafe impl<M: Machine> Zeroed for Node<M> {}

/// The nodes of all sessions.
pub struct Turns<M: Machine> {
    arena: Arc<Arena>,
    first: u64,
    count: usize,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> Turns<M> {
    /// Allocates nodes for `sessions` sessions.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Turns<M>, OutOfMemory> {
        let count = sessions.max(1);
        let first = arena.allocate_for_sessions(size_of::<Node<M>>() as u64, count)?;
        Ok(Turns { arena: arena.clone(), first, count, machine: PhantomData })
    }

    /// Returns session number `session`'s way into queues. A session must have only one.
    pub fn of(&self, session: usize) -> Turn<M> {
        assert!(session < self.count, "session {session} of {}", self.count);
        let node = self.first + (session * size_of::<Node<M>>()) as u64;
        Turn { arena: self.arena.clone(), node, machine: PhantomData }
    }
}

/// One session's way into the queues of records, one at a time.
pub struct Turn<M: Machine> {
    arena: Arc<Arena>,
    node: u64,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> Turn<M> {
    fn at(&self, node: u64) -> &Node<M> {
        // SAFETY: offsets in queues are those of the nodes that `Turns::new` has placed.
        unsafe { self.arena.at::<Node<M>>(node) }
    }

    /// Enters the queue whose first node `head` names. Called with the record latched. After the latch is released, the session must
    /// call [`Turn::wait`].
    pub(super) fn enter(
        &self,
        core: &M::Core,
        line: &M::Line,
        head: &Word,
        timestamp: u64,
        writes: bool,
    ) {
        let own = self.at(self.node);
        core.store_relaxed(&own.line, &own.timestamp, timestamp);
        core.store_relaxed(&own.line, &own.writes, u64::from(writes));
        core.store_relaxed(&own.line, &own.waits, 1);
        let (mut before, mut after) = (0, core.load_relaxed(line, head));
        while after != 0 {
            let other = self.at(after);
            if core.load_relaxed(&other.line, &other.timestamp) > timestamp {
                break;
            }
            (before, after) = (after, core.load_relaxed(&other.line, &other.next));
        }
        core.store_relaxed(&own.line, &own.next, after);
        match before {
            0 => core.store_relaxed(line, head, self.node),
            _ => core.store_relaxed(&self.at(before).line, &self.at(before).next, self.node),
        }
    }

    /// Waits until a decision lets the session go on.
    pub(super) fn wait(&self, core: &M::Core) {
        let own = self.at(self.node);
        core.wait_looking(&own.line, &own.waits, PAUSES, |waits| waits != 0);
    }

    /// Lets the readers in front and the first writer go on. Returns that writer's timestamp, or 0 if none waits. Called with the record
    /// latched.
    pub(super) fn pass(&self, core: &M::Core, line: &M::Line, head: &Word) -> u64 {
        let mut next = core.load_relaxed(line, head);
        let mut writer = 0;
        while next != 0 && writer == 0 {
            let node = self.at(next);
            next = core.load_relaxed(&node.line, &node.next);
            if core.load_relaxed(&node.line, &node.writes) != 0 {
                writer = core.load_relaxed(&node.line, &node.timestamp);
            }
            if writer == 0 || !core.is_planted(faults::TURN_IS_TAKEN_TWICE) {
                core.store_relaxed(line, head, next);
            }
            if writer == 0 && core.is_planted(faults::TURNS_SKIP_READERS) {
                continue;
            }
            core.store(&node.line, &node.waits, 0);
            core.wake(&node.line, &node.waits);
        }
        writer
    }
}
