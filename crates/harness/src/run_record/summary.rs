//! Summarises several repetitions as one number and its spread.

use serde::{Deserialize, Serialize};

/// Source of a spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpreadOf {
    /// The repetitions, from the slowest to the fastest.
    #[default]
    Repetitions,
    /// Batches within a single run: the 95 % confidence interval of its throughput.
    Batches,
}

impl SpreadOf {
    /// Returns the name in records.
    pub const fn name(self) -> &'static str {
        match self {
            SpreadOf::Repetitions => "repetitions",
            SpreadOf::Batches => "batches",
        }
    }
}

/// Spread of several repetitions, or precision of a single one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Slowest repetition or lower end of the interval, in transactions per second.
    pub min_txn_per_s: f64,
    /// Fastest repetition or upper end of the interval, in transactions per second.
    pub max_txn_per_s: f64,
    /// Difference of the two, as a share of the median.
    pub relative: f64,
    /// Source of the spread.
    #[serde(default)]
    pub of: SpreadOf,
}

impl Spread {
    /// Returns the spread of `values`, or zeros if there are none.
    pub fn of(values: &[f64]) -> Spread {
        let Some(min) = values.iter().copied().reduce(f64::min) else { return Spread::default() };
        let max = values.iter().copied().fold(min, f64::max);
        let middle = median(values);
        let relative = if middle > 0.0 { (max - min) / middle } else { 0.0 };
        Spread { min_txn_per_s: min, max_txn_per_s: max, relative, of: SpreadOf::Repetitions }
    }

    /// Returns the confidence interval of the throughput of one run. `half_width` is a share of the throughput.
    pub fn within(throughput_txn_per_s: f64, half_width: f64) -> Spread {
        Spread {
            min_txn_per_s: (throughput_txn_per_s * (1.0 - half_width)).max(0.0),
            max_txn_per_s: throughput_txn_per_s * (1.0 + half_width),
            relative: 2.0 * half_width,
            of: SpreadOf::Batches,
        }
    }
}

/// Returns the middle one of `values`, or the mean of the two in the middle, or 0 if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_the_order_and_one_outlier() {
        assert_eq!(median(&[3.0, 1000.0, 1.0]), 3.0);
        assert_eq!(median(&[4.0, 2.0]), 3.0);
        assert_eq!(median(&[]), 0.0);
        let spread = Spread::of(&[90.0, 100.0, 120.0]);
        assert_eq!((spread.min_txn_per_s, spread.max_txn_per_s), (90.0, 120.0));
        assert_eq!(spread.relative, 0.3);
        assert_eq!(Spread::of(&[0.0, 0.0]).relative, 0.0);
    }
}
