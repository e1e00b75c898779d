//! Computes the numbers that summarise errors.

/// Returns the middle value, or the mean of the two in the middle, or None if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the value below which a share `q` of `values` lies, interpolated linearly between neighbours (as
/// spreadsheets and NumPy do by default). Returns None if there are no values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len().checked_sub(1)?) as f64 * q;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64))
}

/// Returns the mean, or None if there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Number of pairs on which two orders agree or disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Concordance {
    /// Number of pairs in the same order in both.
    pub agree: usize,
    /// Number of pairs in opposite orders.
    pub disagree: usize,
    /// Number of pairs that count but are equal in the second.
    pub tied: usize,
}

impl Concordance {
    /// Compares every pair whose first values differ by more than the share `least` of the smaller one. Closer values
    /// differ only by measurement noise.
    pub fn of(pairs: &[(f64, f64)], least: f64) -> Concordance {
        let mut found = Concordance::default();
        for (i, a) in pairs.iter().enumerate() {
            for b in &pairs[i + 1..] {
                if a.0.max(b.0) <= a.0.min(b.0) * (1.0 + least) {
                    continue;
                }
                if a.1 == b.1 {
                    found.tied += 1;
                } else if (a.0 < b.0) == (a.1 < b.1) {
                    found.agree += 1;
                } else {
                    found.disagree += 1;
                }
            }
        }
        found
    }

    /// Adds the pairs of another group.
    pub fn add(&mut self, other: Concordance) {
        self.agree += other.agree;
        self.disagree += other.disagree;
        self.tied += other.tied;
    }

    /// Returns the number of pairs that count.
    pub fn pairs(&self) -> usize {
        self.agree + self.disagree + self.tied
    }

    /// Returns Kendall's rank correlation, from -1 to 1, or None without pairs.
    pub fn kendall(&self) -> Option<f64> {
        let difference = self.agree as f64 - self.disagree as f64;
        (self.pairs() > 0).then(|| difference / self.pairs() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_percentile_by_hand() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(quantile(&[7.0], 0.9), Some(7.0));
        // Eleven values 0..=10: the ninth tenth is the value 9.
        let values: Vec<f64> = (0..=10).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.9), Some(9.0));
        // 0.9 of the way over three gaps is 2.7: 30 + 0.7 * 10.
        let near = quantile(&[40.0, 10.0, 20.0, 30.0], 0.9).unwrap();
        assert!((near - 37.0).abs() < 1e-9);
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn rank_correlation_by_hand() {
        let same = [(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)];
        assert_eq!(Concordance::of(&same, 0.0).kendall(), Some(1.0));
        let reverse = [(1.0, 30.0), (2.0, 20.0), (3.0, 10.0)];
        assert_eq!(Concordance::of(&reverse, 0.0).kendall(), Some(-1.0));
        // Of the six pairs of 1 2 3 4 against 1 3 2 4, one disagrees: (5 - 1) / 6.
        let swapped = [(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)];
        assert_eq!(Concordance::of(&swapped, 0.0).kendall(), Some(4.0 / 6.0));
    }

    #[test]
    fn pairs_within_the_noise_do_not_count_and_ties_do() {
        // 100 and 114 differ by less than 15 %, 100 and 116 by more.
        let pairs = [(100.0, 2.0), (114.0, 1.0)];
        assert_eq!(Concordance::of(&pairs, 0.15).kendall(), None);
        let pairs = [(100.0, 2.0), (116.0, 1.0)];
        assert_eq!(Concordance::of(&pairs, 0.15).kendall(), Some(-1.0));
        let tied = [(100.0, 2.0), (200.0, 2.0), (400.0, 3.0)];
        let found = Concordance::of(&tied, 0.15);
        assert_eq!((found.pairs(), found.kendall()), (3, Some(2.0 / 3.0)));
    }
}
