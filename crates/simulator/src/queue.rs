//! Which core goes next: a tournament of keys `time << 12 | core`.
//!
//! Each inner node holds the smaller of its children's keys, so the root is the next core's key and
//! carries its number. Replaying one core's matches touches one path; the losers on the winner's path
//! hold the second-earliest core, which is what the running core may not overtake.

use std::cell::Cell;

/// Bits of a key that name the core.
pub(crate) const CORE_BITS: u32 = 12;
/// Cores that a run may have.
pub(crate) const MAX_CORES: usize = 1 << CORE_BITS;
/// The key of a core that has nothing to do.
pub(crate) const IDLE: u64 = u64::MAX;

/// The key of `core` at `time`; ties go to the smaller number.
#[inline(always)]
pub(crate) fn key(time: u64, core: usize) -> u64 {
    time << CORE_BITS | core as u64
}

/// The time in a key.
#[inline(always)]
pub(crate) fn time_of(key: u64) -> u64 {
    key >> CORE_BITS
}

/// The core in a key.
#[inline(always)]
pub(crate) fn core_of(key: u64) -> usize {
    (key & (MAX_CORES as u64 - 1)) as usize
}

pub(crate) struct Tournament {
    /// Node 1 is the root; the leaf of core `i` is node `leaves + i`.
    nodes: Box<[Cell<u64>]>,
    leaves: usize,
}

impl Tournament {
    pub(crate) fn new(cores: usize) -> Tournament {
        let leaves = cores.next_power_of_two().max(2);
        Tournament { nodes: vec![Cell::new(IDLE); 2 * leaves].into_boxed_slice(), leaves }
    }

    /// The smallest key.
    #[inline(always)]
    pub(crate) fn first(&self) -> u64 {
        self.nodes[1].get()
    }

    /// The key of `core`.
    #[inline]
    pub(crate) fn key_of(&self, core: usize) -> u64 {
        self.nodes[self.leaf(core)].get()
    }

    /// The leaf of `core`: beyond it are only its ancestors, halves of its number.
    #[inline(always)]
    fn leaf(&self, core: usize) -> usize {
        assert!(core < self.leaves);
        self.leaves + core
    }

    /// A node's key. This is most of what a turn costs the host, so the one check is made at the leaf.
    #[inline(always)]
    fn node(&self, node: usize) -> &Cell<u64> {
        // SAFETY: callers start at a leaf, whose number and whose sibling's are below the length (`leaf`
        // checks), and from there only halve the number.
        unsafe { self.nodes.get_unchecked(node) }
    }

    /// How many matches a core has to win: the logarithm of the number of leaves.
    pub(crate) fn rounds(&self) -> usize {
        self.leaves.trailing_zeros() as usize
    }

    /// Gives `core` the key `key` and replays its matches, then looks past `first`, who has won: returns the
    /// smallest key of all others. In a tournament of so many rounds.
    ///
    /// With the number known, the compiler writes the matches one after the other; a loop would cost a fifth
    /// of a turn's instructions more. A function of its own, because within the scheduler's loop the compiler
    /// makes branches of the matches, which the host can't foresee.
    #[inline(never)]
    pub(crate) fn replay<const ROUNDS: usize>(&self, core: usize, key: u64, first: usize) -> u64 {
        debug_assert_eq!(ROUNDS, self.rounds());
        let leaf = self.leaf(core);
        let mut least = key;
        for round in 0..ROUNDS {
            self.node(leaf >> round).set(least);
            least = least.min(self.node(leaf >> round ^ 1).get());
        }
        self.node(1).set(least);
        debug_assert_eq!(core_of(least), first);
        self.first_without_in::<ROUNDS>(first)
    }

    /// The smallest key of all cores but `core`, in a tournament of so many rounds.
    #[inline(always)]
    fn first_without_in<const ROUNDS: usize>(&self, core: usize) -> u64 {
        let leaf = self.leaf(core);
        let mut least = IDLE;
        for round in 0..ROUNDS {
            least = least.min(self.node(leaf >> round ^ 1).get());
        }
        least
    }

    /// The smallest key of all cores but `core`.
    pub(crate) fn first_without(&self, core: usize) -> u64 {
        let mut node = self.leaf(core);
        let mut least = IDLE;
        while node > 1 {
            least = least.min(self.node(node ^ 1).get());
            node >>= 1;
        }
        least
    }

    /// Gives `core` the key `key` and replays its matches.
    pub(crate) fn set(&self, core: usize, key: u64) {
        let mut node = self.leaf(core);
        let mut least = key;
        while node > 1 {
            self.node(node).set(least);
            least = least.min(self.node(node ^ 1).get());
            node >>= 1;
        }
        self.node(1).set(least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_core_wins_and_ties_go_to_the_smaller_number() {
        let queue = Tournament::new(5);
        assert_eq!(queue.first(), IDLE);
        for (core, time) in [(0, 40), (1, 30), (2, 30), (3, 90), (4, 31)] {
            queue.set(core, key(time, core));
        }
        assert_eq!((core_of(queue.first()), time_of(queue.first())), (1, 30));
        assert_eq!(core_of(queue.first_without(1)), 2);
        queue.set(1, key(100, 1));
        assert_eq!((core_of(queue.first()), core_of(queue.first_without(2))), (2, 4));
        queue.set(2, IDLE);
        assert_eq!(core_of(queue.first()), 4);
        assert_eq!(queue.key_of(3), key(90, 3));
    }

    #[test]
    fn it_agrees_with_sorting() {
        let queue = Tournament::new(100);
        let mut keys = vec![IDLE; 100];
        let mut state = 1u64;
        for _ in 0..5000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let core = (state >> 33) as usize % 100;
            keys[core] = key(state >> 40, core);
            let first = *keys.iter().min().unwrap();
            let others = keys.iter().filter(|k| **k != first).min().copied().unwrap_or(IDLE);
            if state >> 20 & 1 == 0 {
                queue.set(core, keys[core]);
            } else {
                assert_eq!(queue.replay::<7>(core, keys[core], core_of(first)), others);
            }
            assert_eq!(queue.first(), first);
            assert_eq!(queue.first_without(core_of(first)), others);
        }
    }
}
