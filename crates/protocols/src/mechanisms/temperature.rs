//! Temperature of a record: an approximate counter of the aborts that it causes.
//!
//! Source: Wang and Kimura, VLDB 2016 (the temperature of a page); Morris, CACM 1978 (approximate
//! counting).
//!
//! Each abort raises the counter `c` by 1 with probability 2^-c. So the counter is about the
//! logarithm of the number of aborts. A hot record's counter is hardly ever written, and a lost
//! update does no harm. The counter holds for a window of epochs and starts again from 0 in the
//! next window, so records cool down.

use machine::{Core, Machine, Word, Zeroed};

/// The counter, with the window that it belongs to: `| window: 56 bits | counter: 8 bits |`
#[repr(transparent)]
pub struct Temperature(Word);

// SAFETY: a word.
unsafe impl Zeroed for Temperature {}

const COUNTER_BITS: u32 = 8;

/// Number of epochs in a window. On real hardware a window lasts seconds.
const EPOCHS: u64 = 64;

/// Returns the window to which an epoch belongs.
pub fn window_of(epoch: u64) -> u64 {
    epoch / EPOCHS
}

impl Temperature {
    /// Returns about the binary logarithm of the number of aborts in `window`. `line` is the cache
    /// line of the counter.
    #[inline]
    pub fn get<M: Machine>(&self, core: &M::Core, line: &M::Line, window: u64) -> u64 {
        let word = core.load_relaxed(line, &self.0);
        if word >> COUNTER_BITS == window { word & ((1 << COUNTER_BITS) - 1) } else { 0 }
    }

    /// Counts an abort. `random` holds bits that change from call to call.
    pub fn raise<M: Machine>(&self, core: &M::Core, line: &M::Line, window: u64, random: &mut u64) {
        // xorshift64: good enough to toss coins, and the same on every machine.
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let counter = self.get::<M>(core, line, window);
        if counter < u64::from(random.trailing_zeros()) + 1 {
            core.store_relaxed(line, &self.0, window << COUNTER_BITS | (counter + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Native, NativeOptions};

    #[test]
    fn it_counts_about_the_logarithm_and_cools_down() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let (core, temperature) = (machine.core(0), Temperature(Word::new(0)));
        let mut random = 42;
        let mut after = Vec::new();
        for failures in 1..=4096 {
            temperature.raise::<Native>(&core, &(), 3, &mut random);
            if [1, 64, 4096].contains(&failures) {
                after.push(temperature.get::<Native>(&core, &(), 3));
            }
        }
        assert_eq!(after[0], 1);
        assert!((4..=9).contains(&after[1]) && (9..=15).contains(&after[2]), "{after:?}");
        assert_eq!(temperature.get::<Native>(&core, &(), 4), 0);
        assert_ne!(window_of(0), window_of(EPOCHS));
    }
}
