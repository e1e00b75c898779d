//! One critical section for a whole database. The papers compare other schemes with it.
//!
//! At most one session is inside at any time. The others wait at a latch ([`super::queue_latch`]).

use super::queue_latch::{LatchNodes, Latcher};
use machine::{Arena, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

#[repr(C, align(64))]
struct Latch<M: Machine> {
    /// Cache line of the word.
    line: M::Line,
    /// The word of the latch.
    tail: Word,
}

// SAFETY: `Latch` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Latch<M> {}

/// A critical section, protected by a [`super::queue_latch`].
pub struct CriticalSection<M: Machine> {
    latch: Shared<Latch<M>>,
    nodes: LatchNodes,
}

impl<M: Machine> CriticalSection<M> {
    /// Creates a critical section for `sessions` sessions.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Self, OutOfMemory> {
        let latch = arena.place(Place::Any)?;
        Ok(CriticalSection { latch, nodes: LatchNodes::new::<M>(arena, sessions)? })
    }

    /// Returns the entrance of session `slot`.
    pub fn entrance(&self, slot: usize) -> Entrance<'_, M> {
        Entrance { latch: &self.latch, latcher: self.nodes.latcher(slot), inside: false }
    }
}

/// A session's way into a critical section.
pub struct Entrance<'s, M: Machine> {
    latch: &'s Latch<M>,
    latcher: Latcher<M>,
    /// Set while the session holds the latch.
    inside: bool,
}

impl<M: Machine> Entrance<'_, M> {
    /// Waits until no other session is inside, and enters.
    pub fn enter(&mut self, core: &M::Core) {
        self.latcher.latch(core, &self.latch.line, &self.latch.tail);
        self.inside = true;
    }

    /// Leaves if the session is inside.
    pub fn leave(&mut self, core: &M::Core) {
        if std::mem::take(&mut self.inside) {
            self.latcher.unlatch(core, &self.latch.line, &self.latch.tail);
        }
    }
}
