//! Provides the random numbers of one worker. The same seed gives the same numbers on any machine.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The increment of splitmix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// One worker's stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Returns the stream of `worker` in a run with `seed`. The streams of different workers are unrelated.
    pub fn of_worker(seed: u64, worker: usize) -> Stream {
        let run = mix(seed.wrapping_add(GOLDEN));
        let own = mix(run.wrapping_add(GOLDEN.wrapping_mul(worker as u64 + 1)));
        Stream(Xoshiro256PlusPlus::seed_from_u64(own))
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a number in `0..n`. No number is more likely than another by more than n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Returns the index of one of `shares`, which add up to 1. A share of 0 is never chosen.
    #[inline]
    pub(crate) fn pick(&mut self, shares: &[f64]) -> usize {
        let mut dice = self.unit();
        let mut last = 0;
        for (i, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            if dice < share {
                return i;
            }
            dice -= share;
            last = i;
        }
        last
    }
}

/// Computes the output function of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_and_worker_decide_the_stream() {
        let draw = |seed, worker| {
            let mut s = Stream::of_worker(seed, worker);
            [s.bits(), s.bits(), s.bits()]
        };
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
        // A worker of the next seed does not have the stream of the next worker of this seed.
        assert_ne!(draw(1, 1), draw(2, 0));
    }

    #[test]
    fn numbers_stay_in_range_and_reach_its_ends() {
        let mut s = Stream::of_worker(7, 3);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[s.below(5) as usize] = true;
            let u = s.unit();
            assert!((0.0..1.0).contains(&u));
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(s.below(1), 0);
    }
}
