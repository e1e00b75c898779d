//! Draws ranks by Zipf's law: rank r (from 0) with a probability proportional to 1 / (r + 1)^theta.
//!
//! The generator is that of Gray, Sundaresan, Englert, Baclawski and Weinberger ("Quickly Generating
//! Billion-Record Synthetic Databases", SIGMOD 1994, section 3), which YCSB and DBx1000 use too. It is exact
//! for the two most frequent ranks and replaces the sum by its integral for the rest.
//!
//! Deviations, none of which changes the distribution beyond rounding:
//! - zeta(n) is summed term by term only at its beginning. The rest uses the Euler-Maclaurin formula, whose
//!   error here is below that of adding ten million rounded terms. So ten million records cost a thousand
//!   powers instead of ten million.
//! - If 1 / (1 - theta) is a multiple of one half (theta 0.5, 0.6, 0.8, 0.9, 0.99, ...), the power of a draw
//!   is computed by multiplications and at most one square root. All of them are exactly rounded, and they
//!   are several times faster than a general power.
//! - Any other power of a draw is the exponential of a logarithm. Its relative errors of about 1e-14 move a
//!   rank by less than one in a table of billions.
//! - All other functions are from `libm`, so that the bits are the same on any machine.

use crate::stream::Stream;

/// Number of terms of zeta that are added individually.
const SUMMED: u64 = 1000;

/// Draws ranks in `0..n`. Rank 0 is the most frequent.
#[derive(Clone, Debug)]
pub struct Zipf {
    n: u64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Uniform,
    Skewed(Skew),
}

/// The constants of Gray's formula.
#[derive(Clone, Debug)]
struct Skew {
    zeta_n: f64,
    two_terms: f64,
    eta: f64,
    power: Power,
}

/// The power function with exponent 1 / (1 - theta).
#[derive(Clone, Copy, Debug)]
enum Power {
    Halves { whole: u32, half: bool },
    General(f64),
}

impl Zipf {
    /// Creates a generator of ranks in `0..n` with skew `theta`, which lies in [0, 1). A skew of 0 is
    /// uniform.
    ///
    /// # Panics
    /// Panics if `n` is 0 or `theta` lies outside of [0, 1). Workloads check their options before.
    pub fn new(n: u64, theta: f64) -> Zipf {
        assert!(n > 0, "there must be a rank to draw");
        assert!((0.0..1.0).contains(&theta), "theta must be at least 0 and less than 1");
        if theta == 0.0 || n == 1 {
            return Zipf { n, shape: Shape::Uniform };
        }
        let zeta_n = zeta(n, theta);
        let two_terms = zeta(2, theta);
        let rest = 1.0 - two_terms / zeta_n;
        // With two ranks no rank is left for the integral, and eta would be 0 / 0.
        let eta = if n == 2 { 0.0 } else { (1.0 - libm::pow(2.0 / n as f64, 1.0 - theta)) / rest };
        let power = Power::of(1.0 / (1.0 - theta));
        Zipf { n, shape: Shape::Skewed(Skew { zeta_n, two_terms, eta, power }) }
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u64 {
        self.n
    }

    /// Draws a rank.
    #[inline(always)]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match &self.shape {
            Shape::Uniform => stream.below(self.n),
            Shape::Skewed(skew) => skew.draw(self.n, stream),
        }
    }
}

impl Skew {
    fn draw(&self, n: u64, stream: &mut Stream) -> u64 {
        let Skew { zeta_n, two_terms, eta, power } = self;
        let u = stream.unit();
        let mass = u * zeta_n;
        if mass < 1.0 {
            0
        } else if mass < *two_terms {
            1
        } else {
            let rank = (n as f64 * power.raise(eta * u - eta + 1.0)) as u64;
            rank.min(n - 1)
        }
    }
}

impl Power {
    fn of(exponent: f64) -> Power {
        let doubled = libm::round(exponent * 2.0);
        // 1 / (1 - 0.8) is 5.000000000000001. A theta that a person types is never this close to a multiple
        // of one half by accident.
        if doubled <= 400.0 && libm::fabs(exponent * 2.0 - doubled) < 1e-10 * doubled {
            let doubled = doubled as u32;
            return Power::Halves { whole: doubled / 2, half: doubled % 2 == 1 };
        }
        Power::General(exponent)
    }

    #[inline]
    fn raise(self, base: f64) -> f64 {
        match self {
            Power::General(exponent) => libm::exp(exponent * libm::log(base)),
            Power::Halves { whole, half } => {
                let mut result = if half { libm::sqrt(base) } else { 1.0 };
                let (mut square, mut left) = (base, whole);
                while left > 0 {
                    if left & 1 == 1 {
                        result *= square;
                    }
                    square *= square;
                    left >>= 1;
                }
                result
            }
        }
    }
}

/// Returns the sum of 1 / i^theta for i from 1 to `n`, for theta in [0, 1).
pub fn zeta(n: u64, theta: f64) -> f64 {
    let term = |i: u64| libm::pow(i as f64, -theta);
    if n <= SUMMED {
        return (1..=n).rev().map(term).sum();
    }
    let (from, to) = (SUMMED as f64, n as f64);
    let head: f64 = (1..SUMMED).rev().map(term).sum();
    let (first, last) = (term(SUMMED), term(n));
    let rest = 1.0 - theta;
    // Computes (to^rest - from^rest) / rest, without cancellation if theta is close to 1.
    let integral = from * first * libm::expm1(rest * libm::log(to / from)) / rest;
    let slope = theta / 12.0 * (first / from - last / to);
    let cube = |x: f64| x * x * x;
    let bend =
        theta * (theta + 1.0) * (theta + 2.0) / 720.0 * (first / cube(from) - last / cube(to));
    head + integral + (first + last) / 2.0 + slope - bend
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequencies(n: u64, theta: f64, draws: usize) -> Vec<f64> {
        let zipf = Zipf::new(n, theta);
        let mut stream = Stream::of_worker(42, 0);
        let mut counts = vec![0u64; n as usize];
        for _ in 0..draws {
            counts[zipf.draw(&mut stream) as usize] += 1;
        }
        counts.iter().map(|&c| c as f64).collect()
    }

    #[test]
    fn zeta_is_the_sum_of_its_terms() {
        for theta in [0.0, 0.3, 0.6, 0.99, 0.999_999] {
            for n in [1, 2, 999, 1000, 1001, 1002, 5000, 300_000] {
                let direct: f64 = (1..=n).rev().map(|i| libm::pow(i as f64, -theta)).sum();
                let relative = (zeta(n, theta) / direct - 1.0).abs();
                assert!(relative < 1e-13, "n {n} theta {theta}: {relative:e}");
            }
        }
    }

    #[test]
    fn uniform_frequencies_pass_a_chi_square_test() {
        let draws = 1_000_000;
        let expected = draws as f64 / 1000.0;
        let chi_square: f64 = frequencies(1000, 0.0, draws)
            .iter()
            .map(|observed| (observed - expected).powi(2) / expected)
            .sum();
        // 999 degrees of freedom: mean 999, standard deviation 45.
        assert!((chi_square - 999.0).abs() < 4.5 * 45.0, "chi-square {chi_square}");
    }

    /// Returns the share of ranks below `k` according to Gray's formula, for k >= 2.
    fn gray_below(k: u64, n: u64, theta: f64) -> f64 {
        let rest = 1.0 - theta;
        let eta = (1.0 - (2.0 / n as f64).powf(rest)) / (1.0 - zeta(2, theta) / zeta(n, theta));
        1.0 + ((k as f64 / n as f64).powf(rest) - 1.0) / eta
    }

    #[test]
    fn skewed_frequencies_pass_a_chi_square_test_against_the_formula() {
        // Theta 0.7 uses the general power, the others use multiplications and roots.
        for theta in [0.5, 0.6, 0.7, 0.8, 0.9, 0.99] {
            let (n, draws) = (1000, 1_000_000);
            let observed = frequencies(n, theta, draws);
            let first = 1.0 / zeta(n, theta);
            let mut chi_square = 0.0;
            for (rank, observed) in observed.iter().enumerate() {
                let rank = rank as u64;
                let share = match rank {
                    0 => first,
                    1 => gray_below(2, n, theta) - first,
                    _ => gray_below(rank + 1, n, theta) - gray_below(rank, n, theta),
                };
                let expected = share * draws as f64;
                chi_square += (observed - expected).powi(2) / expected;
            }
            assert!((chi_square - 999.0).abs() < 4.5 * 45.0, "theta {theta}: {chi_square}");
        }
    }

    #[test]
    fn skewed_frequencies_follow_the_law() {
        for theta in [0.5, 0.7, 0.8, 0.99] {
            let (n, draws) = (10_000, 1_000_000);
            let observed = frequencies(n, theta, draws);
            let mut below = 0.0;
            for (rank, observed) in observed.iter().enumerate() {
                below += observed / draws as f64;
                let law = zeta(rank as u64 + 1, theta) / zeta(n, theta);
                let allowed = if rank < 2 { 0.0025 } else { 0.02 };
                assert!((below - law).abs() < allowed, "theta {theta} rank {rank}: {below} {law}");
                if rank > 900 {
                    break;
                }
            }
        }
    }

    #[test]
    fn the_papers_hot_spots_come_out() {
        // Abyss 3.3: a tenth of the records gets about 40 % of the accesses at 0.6, and 60 % at 0.8.
        for (theta, share) in [(0.6, 0.40), (0.8, 0.60)] {
            let observed = frequencies(100_000, theta, 200_000);
            let hot: f64 = observed[..10_000].iter().sum::<f64>() / 200_000.0;
            assert!((hot - share).abs() < 0.04, "theta {theta}: {hot}");
        }
    }

    #[test]
    fn few_ranks_work_too() {
        for n in 1..6 {
            for theta in [0.0, 0.3, 0.99] {
                let counts = frequencies(n, theta, 1000 * n as usize);
                assert!(counts.iter().all(|&c| c > 0.0), "n {n} theta {theta}: {counts:?}");
            }
        }
    }
}
