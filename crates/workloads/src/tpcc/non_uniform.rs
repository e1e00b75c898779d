//! Implements the non-uniform distribution NURand (clause 2.1.6) and its constants.

use crate::stream::Stream;

/// The constants C, one for each field that is drawn by NURand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NonUniform {
    customer: u64,
    item: u64,
    name: u64,
}

/// Returns true if the run's constant for names differs from the loader's by 65 to 119, but not by 96 or 112
/// (2.1.6.1).
fn is_far_enough(load: u64, run: u64) -> bool {
    let distance = load.abs_diff(run);
    (65..=119).contains(&distance) && distance != 96 && distance != 112
}

impl NonUniform {
    /// Returns the constants of the initial population and of the runs on it.
    pub(super) fn pair(stream: &mut Stream) -> (NonUniform, NonUniform) {
        let mut draw = || NonUniform {
            customer: stream.below(1024),
            item: stream.below(8192),
            name: stream.below(256),
        };
        let (load, mut run) = (draw(), draw());
        while !is_far_enough(load.name, run.name) {
            run = draw();
        }
        (load, run)
    }

    /// Draws one of `customers` customer numbers.
    #[inline]
    pub(super) fn customer(&self, stream: &mut Stream, customers: u64) -> u64 {
        draw(stream, 1023, self.customer, customers)
    }

    /// Draws one of `items` item numbers.
    #[inline]
    pub(super) fn item(&self, stream: &mut Stream, items: u64) -> u64 {
        draw(stream, 8191, self.item, items)
    }

    /// Draws one of `names` last-name numbers.
    #[inline]
    pub(super) fn name(&self, stream: &mut Stream, names: u64) -> u64 {
        draw(stream, 255, self.name, names)
    }
}

/// Computes NURand(A, 0, count - 1).
#[inline]
fn draw(stream: &mut Stream, a: u64, c: u64, count: u64) -> u64 {
    ((stream.below(a + 1) | stream.below(count)) + c) % count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_keep_their_distance() {
        for worker in 0..500 {
            let (load, run) = NonUniform::pair(&mut Stream::of_worker(1, worker));
            assert!(is_far_enough(load.name, run.name));
            assert!(run.customer < 1024 && run.item < 8192 && run.name < 256);
        }
        assert!(!is_far_enough(0, 96) && !is_far_enough(112, 0) && is_far_enough(0, 119));
        assert!(!is_far_enough(0, 64) && !is_far_enough(120, 0) && is_far_enough(65, 0));
    }

    #[test]
    fn draws_are_skewed_as_the_formula_says_and_move_with_the_constant() {
        let count = |c| {
            let mut counts = vec![0u32; 3000];
            let mut stream = Stream::of_worker(1, 0);
            (0..300_000).for_each(|_| counts[draw(&mut stream, 1023, c, 3000) as usize] += 1);
            counts
        };
        let (zero, moved) = (count(0), count(17));
        assert!(zero.iter().zip(moved.iter().cycle().skip(17)).all(|(a, b)| a == b));
        // Because ten bits are or-ed, numbers whose low bits are all set are the most likely.
        assert!(zero[1023] > 10 * zero[1024].max(1));
        let mut few = Stream::of_worker(1, 0);
        assert!((0..1000).all(|_| draw(&mut few, 255, 200, 3) < 3));
    }
}
