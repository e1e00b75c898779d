//! Draws the keys of one transaction, without repetition.

use crate::stream::Stream;
use crate::zipf::Zipf;

/// Number of keys up to which comparing with each of them is faster than looking them up.
const COMPARED: usize = 48;

/// Number of redraws after which a key next to the drawn key is taken. This limit is only reached if a
/// transaction wants nearly all of a skewed set of keys.
const REDRAWS: usize = 1000;

/// Draws sets of keys by Zipf's law, by default without repetition.
///
/// If a key equals another key of the transaction, it is drawn again, as in DBx1000.
#[derive(Clone, Debug)]
pub(crate) struct KeyDraw {
    zipf: Zipf,
    distinct: bool,
    /// Open-addressing table. An entry is valid only if its round is the current round, so the table never
    /// has to be cleared.
    seen: Vec<(u64, u64)>,
    round: u64,
    /// A bit for each drawn key, by its hash. A clear bit proves that a key was not drawn. Used without the table.
    filter: u64,
}

impl KeyDraw {
    /// Creates a generator that draws at most `most` keys at once.
    pub(crate) fn new(zipf: Zipf, most: usize, distinct: bool) -> KeyDraw {
        let slots = if distinct && most > COMPARED { (most * 2).next_power_of_two() } else { 0 };
        KeyDraw { zipf, distinct, seen: vec![(0, 0); slots], round: 0, filter: 0 }
    }

    /// Replaces `keys` by `count` newly drawn keys.
    #[inline]
    pub(crate) fn fill(&mut self, keys: &mut Vec<u64>, count: usize, stream: &mut Stream) {
        keys.resize(count, 0);
        self.round += 1;
        self.filter = 0;
        for at in 0..keys.len() {
            let mut key = self.zipf.draw(stream);
            if self.distinct && !self.is_first(key, &keys[..at]) {
                key = self.draw_another(key, &keys[..at], stream);
            }
            keys[at] = key;
        }
    }

    /// Draws a key that is not among `keys`, to replace `key`, which is.
    #[cold]
    fn draw_another(&mut self, mut key: u64, keys: &[u64], stream: &mut Stream) -> u64 {
        let mut redraws = 0;
        loop {
            redraws += 1;
            key = if redraws < REDRAWS {
                self.zipf.draw(stream)
            } else {
                (key + 1) % self.zipf.ranks()
            };
            if self.is_first(key, keys) {
                return key;
            }
        }
    }

    #[inline]
    fn is_first(&mut self, key: u64, keys: &[u64]) -> bool {
        if self.seen.is_empty() {
            let bit = 1 << (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58);
            let is_first = self.filter & bit == 0 || !keys.contains(&key);
            self.filter |= bit;
            return is_first;
        }
        let mask = self.seen.len() - 1;
        let mut slot = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 20 & mask;
        loop {
            let (round, present) = self.seen[slot];
            if round != self.round {
                self.seen[slot] = (self.round, key);
                return true;
            }
            if present == key {
                return false;
            }
            slot = (slot + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_drawn_twice_however_many_and_however_skewed() {
        let mut stream = Stream::of_worker(1, 0);
        for (records, count) in [(16, 16), (20, 10), (64, 64), (5000, 4096), (100, 49)] {
            for theta in [0.0, 0.99] {
                let mut draw = KeyDraw::new(Zipf::new(records, theta), count, true);
                let mut keys = Vec::new();
                for _ in 0..5 {
                    draw.fill(&mut keys, count, &mut stream);
                    let mut sorted = keys.clone();
                    sorted.sort_unstable();
                    sorted.dedup();
                    assert_eq!(sorted.len(), count, "records {records} theta {theta}");
                    assert!(sorted.iter().all(|&k| k < records));
                }
            }
        }
    }

    #[test]
    fn repetitions_happen_when_they_are_wanted() {
        let mut draw = KeyDraw::new(Zipf::new(4, 0.9), 16, false);
        let mut keys = Vec::new();
        draw.fill(&mut keys, 16, &mut Stream::of_worker(1, 0));
        assert_eq!(keys.len(), 16);
    }
}
