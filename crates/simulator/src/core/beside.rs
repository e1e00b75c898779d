//! The effect of SMT siblings on a thread: its local work takes longer, and its misses overlap less.
//!
//! `siblings.rs` has the factors. Here they are applied to the clock of one thread.

use super::SimCore;

impl SimCore {
    /// Spends `cycles` of local work, slowed down by SMT siblings.
    #[inline(always)]
    pub(super) fn spend(&self, cycles: u64) {
        self.clock.set(self.clock.get() + self.slowed(cycles));
    }

    /// Returns the cycles that local work of `cycles` takes beside the siblings that work now.
    #[inline(always)]
    pub(super) fn slowed(&self, cycles: u64) -> u64 {
        match &self.world.model.siblings {
            None => cycles,
            Some(siblings) => (cycles * siblings.slowdown(self.seat.get().physical())) >> 8,
        }
    }

    /// Returns the part of an overlapped miss that is waited for beside the siblings that work now. It is `part` for a thread alone.
    #[inline(always)]
    pub(super) fn part_of(&self, part: u64) -> u64 {
        let siblings = self.world.model.siblings.as_ref();
        siblings.map_or(part, |siblings| siblings.divided(self.seat.get().physical(), part))
    }
}
