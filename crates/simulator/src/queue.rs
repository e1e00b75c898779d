//! The queue of cores: a tournament of keys `time << 12 | core`.
//!
//! Invariant: each inner node holds the smaller of its children's keys. So the root holds the smallest key, which also
//! carries the number of the core that goes next.
//!
//! ```text
//!               [12]              node 1, the root
//!          [12]      [30]         nodes 2 and 3
//!       [12]  [40] [90]  [30]     nodes 4 to 7: the leaves of cores 0 to 3
//! ```
//!
//! If a core's key changes, only the nodes on the way from its leaf to the root change: the core's matches are
//! replayed. The siblings of the winner's way hold the losers of its matches. The smallest of these is the
//! second-earliest core's key. The running core must not overtake it.

use std::cell::Cell;

/// Number of bits of a key that hold the core's number.
pub(crate) const CORE_BITS: u32 = 12;
/// Largest number of cores of a run, services included. If cores have several fibers, each counts.
pub const MAX_CORES: usize = 1 << CORE_BITS;
/// Key of a core that has nothing to do. It is greater than all other keys.
pub(crate) const IDLE: u64 = u64::MAX;

/// Returns the key of `core` at `time`. Ties go to the smaller number.
#[inline(always)]
pub(crate) fn key(time: u64, core: usize) -> u64 {
    time << CORE_BITS | core as u64
}

/// Returns the time in a key.
#[inline(always)]
pub(crate) fn time_of(key: u64) -> u64 {
    key >> CORE_BITS
}

/// Returns the core in a key.
#[inline(always)]
pub(crate) fn core_of(key: u64) -> usize {
    (key & (MAX_CORES as u64 - 1)) as usize
}

/// Tournament of the cores' keys.
pub(crate) struct Tournament {
    /// Keys of the nodes. Node 1 is the root, the children of node `n` are `2n` and `2n + 1`, and the leaf of core `i`
    /// is node `leaves + i`.
    nodes: Box<[Cell<u64>]>,
    /// Number of leaves, a power of two.
    leaves: usize,
}

impl Tournament {
    pub(crate) fn new(cores: usize) -> Tournament {
        let leaves = cores.next_power_of_two().max(2);
        Tournament { nodes: vec![Cell::new(IDLE); 2 * leaves].into_boxed_slice(), leaves }
    }

    /// Returns the smallest key.
    #[inline(always)]
    pub(crate) fn first(&self) -> u64 {
        self.nodes[1].get()
    }

    /// Returns the key of `core`.
    #[inline]
    pub(crate) fn key_of(&self, core: usize) -> u64 {
        self.nodes[self.leaf(core)].get()
    }

    /// Returns the leaf of `core`. From there callers visit only its ancestors, whose numbers are halves of its
    /// number.
    #[inline(always)]
    fn leaf(&self, core: usize) -> usize {
        assert!(core < self.leaves);
        self.leaves + core
    }

    /// Returns a node's key. This access is most of what a turn costs the host, so the only check is made at the leaf.
    #[inline(always)]
    fn node(&self, node: usize) -> &Cell<u64> {
        // SAFETY: callers start at a leaf and then only halve the number. `leaf` checks that the leaf's number, and
        // with it its sibling's, is below the length.
        unsafe { self.nodes.get_unchecked(node) }
    }

    /// Returns how many matches a core has to win: the binary logarithm of the number of leaves.
    pub(crate) fn rounds(&self) -> usize {
        self.leaves.trailing_zeros() as usize
    }

    /// Gives `core` the key `key` and replays its matches. Then returns the smallest key of all cores except `first`,
    /// which must be the winner. `ROUNDS` must be the number of rounds of this tournament.
    ///
    /// `ROUNDS` is a constant so that the compiler writes the matches one after the other. A loop would cost a fifth
    /// of a turn's instructions more. The function is not inlined, because within the scheduler's loop the compiler
    /// turns the matches into branches that the host cannot predict.
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

    /// Returns the smallest key of all cores except `core`, in a tournament of `ROUNDS` rounds.
    #[inline(always)]
    fn first_without_in<const ROUNDS: usize>(&self, core: usize) -> u64 {
        let leaf = self.leaf(core);
        let mut least = IDLE;
        for round in 0..ROUNDS {
            least = least.min(self.node(leaf >> round ^ 1).get());
        }
        least
    }

    /// Returns the smallest key of all cores except `core`.
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
