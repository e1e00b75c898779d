//! SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). Its state is a
//! single word, so seeding a run costs nothing.

use std::cell::Cell;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Draws a bit from the seed alone. It takes no number of a run's sequence.
pub(super) fn coin(seed: u64) -> bool {
    mix(seed ^ GOLDEN) & 1 == 0
}

pub(super) struct Random(Cell<u64>);

impl Random {
    /// Makes the generator for run `run` under `seed`.
    pub fn seeded(seed: u64, run: u64) -> Random {
        Random(Cell::new(mix(seed.wrapping_add(GOLDEN)) ^ mix(run)))
    }

    pub fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(GOLDEN);
        self.0.set(state);
        mix(state)
    }

    /// Returns a number below `bound`, which must not be 0. The bias is below `bound` / 2^64.
    #[inline]
    pub fn below(&self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns true with a probability of 1 / `one_in`.
    #[inline]
    pub fn chance(&self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}
