//! The one critical section of a database, for schemes that have one: what the papers compare with.

use super::queue_latch::{LatchNodes, Latcher};
use machine::{Arena, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

#[repr(C, align(64))]
struct Latch<M: Machine> {
    line: M::Line,
    tail: Word,
}

// SAFETY: a line and a word.
unsafe impl<M: Machine> Zeroed for Latch<M> {}

/// A critical section, under a [`super::queue_latch`].
pub struct CriticalSection<M: Machine> {
    latch: Shared<Latch<M>>,
    nodes: LatchNodes,
}

impl<M: Machine> CriticalSection<M> {
    /// For `sessions` sessions.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Self, OutOfMemory> {
        let latch = arena.place(Place::Any)?;
        Ok(CriticalSection { latch, nodes: LatchNodes::new::<M>(arena, sessions)? })
    }

    /// The way in for session `slot`.
    pub fn entrance(&self, slot: usize) -> Entrance<'_, M> {
        Entrance { latch: &self.latch, latcher: self.nodes.latcher(slot), inside: false }
    }
}

/// A session's way into a critical section.
pub struct Entrance<'s, M: Machine> {
    latch: &'s Latch<M>,
    latcher: Latcher<M>,
    inside: bool,
}

impl<M: Machine> Entrance<'_, M> {
    /// Waits until nobody else is inside, and enters.
    pub fn enter(&mut self, core: &M::Core) {
        self.latcher.latch(core, &self.latch.line, &self.latch.tail);
        self.inside = true;
    }

    /// Leaves, if the session is inside.
    pub fn leave(&mut self, core: &M::Core) {
        if std::mem::take(&mut self.inside) {
            self.latcher.unlatch(core, &self.latch.line, &self.latch.tail);
        }
    }
}
