//! Estimates latencies of transactions of which some had not ended when measuring ended.
//!
//! Only committed transactions have a latency. Where some transactions take as long as the run, the unfinished ones
//! are the long ones, and a percentile of the others means little. A transaction in flight at the end therefore
//! counts with what is known of it: it takes longer than its age. It is *censored*. The distribution is estimated by
//! the method of Kaplan and Meier ("Nonparametric estimation from incomplete observations", Journal of the American
//! Statistical Association 53, 1958). Of the transactions that last at least x, the estimated share that ends at x is
//! the observed share among those that were observed for that long. A transaction that began before measuring did
//! counts from its age at that time (*delayed entry*: Klein and Moeschberger, "Survival Analysis", section 4.6).
//! Before that age its end could not have been observed. Beyond the age of the oldest transaction in flight, nothing
//! is known if no transaction has ended later. A percentile there is a lower bound.

use hdrhistogram::Histogram;

/// Number of values that must lie beyond a percentile for it to be reported.
pub const BEYOND: f64 = 10.0;

/// An estimated latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Value in ticks.
    pub ticks: f64,
    /// Set if the value is only a lower bound. The true value can then be larger by an unknown amount.
    pub at_least: bool,
}

/// A distribution of latencies.
#[derive(Clone, Debug)]
pub struct Survival {
    /// Latencies, ascending, each with the share of transactions that last longer.
    steps: Vec<(u64, f64)>,
    /// Share of transactions whose end is unknown.
    rest: f64,
    /// Longest observed duration.
    longest: u64,
    observed: u64,
}

impl Survival {
    /// Builds the distribution from latencies of `ended` transactions, ages of those `in_flight` at the end, and ages
    /// of those that had `entered` before measuring began.
    pub fn new(ended: &Histogram<u64>, in_flight: &[u64], entered: &[u64]) -> Survival {
        let (mut ages, mut entries) = (in_flight.to_vec(), entered.to_vec());
        ages.sort_unstable();
        entries.sort_unstable();
        let entered_last = entries.last().copied().unwrap_or(0);
        let observed = ended.len() + ages.len() as u64;
        let mut censored = ages.iter().peekable();
        let mut late = entries.iter().peekable();
        let (mut at_risk, mut lasting) = (observed - entries.len() as u64, 1.0);
        let mut steps = Vec::new();
        for recorded in ended.iter_recorded() {
            let (value, count) = (recorded.value_iterated_to(), recorded.count_at_value());
            // A transaction observed for exactly this time was still at risk of ending then.
            while censored.next_if(|age| **age < value).is_some() {
                at_risk = at_risk.saturating_sub(1);
            }
            while late.next_if(|age| **age < value).is_some() {
                at_risk += 1;
            }
            // Values of a histogram are rounded up. A transaction that entered at the same time can seem to enter
            // later.
            at_risk = at_risk.max(count);
            // If no other transaction is observed that long, and another is yet to enter, the rest is not known to
            // end here.
            if at_risk > count || value >= entered_last {
                lasting *= 1.0 - count as f64 / at_risk as f64;
            }
            at_risk -= count;
            steps.push((value, lasting));
        }
        let ended_last = steps.last().map_or(0, |(value, _)| *value);
        let longest = ended_last.max(ages.last().copied().unwrap_or(0));
        let rest = if at_risk > 0 { lasting } else { 0.0 };
        Survival { steps, rest, longest, observed }
    }

    /// Returns the latency that a share `quantile` of the transactions does not exceed. Returns None if fewer than
    /// [`BEYOND`] transactions are expected to exceed it.
    pub fn quantile(&self, quantile: f64) -> Option<Estimate> {
        // The tolerance covers rounding errors: 1 - 0.99 is not exactly a hundredth.
        if self.observed as f64 * (1.0 - quantile) < BEYOND - 1e-6 {
            return None;
        }
        let beyond = 1.0 - quantile + 1e-12;
        let at = self.steps.partition_point(|(_, lasting)| *lasting > beyond);
        Some(match self.steps.get(at) {
            Some((value, _)) => Estimate { ticks: *value as f64, at_least: false },
            None => Estimate { ticks: self.longest as f64, at_least: true },
        })
    }

    /// Returns the mean. A transaction whose end is unknown counts as ending when it was seen last. The mean is a
    /// lower bound if this affects more than a hundredth of the transactions. Returns None for fewer than twice
    /// [`BEYOND`] transactions.
    pub fn mean(&self) -> Option<Estimate> {
        if (self.observed as f64) < 2.0 * BEYOND {
            return None;
        }
        let (mut from, mut lasting, mut area) = (0u64, 1.0, 0.0);
        for (value, left) in &self.steps {
            area += lasting * (value - from) as f64;
            (from, lasting) = (*value, *left);
        }
        area += self.rest * (self.longest - from) as f64;
        Some(Estimate { ticks: area, at_least: self.rest > 0.01 })
    }

    /// Returns the longest observed duration, or None if nothing was observed. It is a lower bound if a transaction
    /// in flight at the end had lasted that long.
    pub fn longest(&self) -> Option<Estimate> {
        let ended_last = self.steps.last().map_or(0, |(value, _)| *value);
        let at_least = self.longest > ended_last;
        (self.observed > 0).then_some(Estimate { ticks: self.longest as f64, at_least })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("three digits are allowed");
        values.into_iter().for_each(|value| histogram.record(value).expect("small"));
        histogram
    }

    fn ticks(estimate: Option<Estimate>) -> f64 {
        let estimate = estimate.expect("told");
        assert!(!estimate.at_least, "{estimate:?}");
        estimate.ticks
    }

    #[test]
    fn without_anything_in_flight_percentiles_are_the_usual_ones() {
        let all = Survival::new(&ended(1..=1000), &[], &[]);
        assert_eq!([0.5, 0.9, 0.99].map(|q| ticks(all.quantile(q))), [500.0, 900.0, 990.0]);
        assert!((ticks(all.mean()) - 500.5).abs() < 1e-6);
        assert_eq!(ticks(all.longest()), 1000.0);
        assert_eq!(all.quantile(0.999), None, "one sample beyond");
    }

    #[test]
    fn the_example_of_kaplan_and_meier_comes_out() {
        // Section 2 of their paper: deaths at 0.8, 3.1, 5.4, 9.2 and losses at 1.0, 2.7, 7.0, 12.1 (in tenths).
        let found = Survival::new(&ended([8, 31, 54, 92]), &[10, 27, 70, 121], &[]);
        let expected = [(8, 7.0 / 8.0), (31, 7.0 / 10.0), (54, 21.0 / 40.0), (92, 21.0 / 80.0)];
        for (found, expected) in found.steps.iter().zip(expected) {
            assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-9, "{found:?}");
        }
        assert!((found.rest - 21.0 / 80.0).abs() < 1e-9 && found.longest == 121);
    }

    #[test]
    fn what_never_commits_makes_percentiles_lower_bounds() {
        // The other transactions commit at once. From them alone the p99 would be ten.
        let starving = vec![50_000; 100];
        let found = Survival::new(&ended(std::iter::repeat_n(10, 900)), &starving, &[]);
        assert_eq!(ticks(found.quantile(0.5)), 10.0);
        let bound = Some(Estimate { ticks: 50_000.0, at_least: true });
        assert_eq!((found.quantile(0.99), found.longest()), (bound, bound));
        let mean = found.mean().expect("enough");
        assert!(mean.at_least && (mean.ticks - 5009.0).abs() < 1.0, "{mean:?}");
    }

    #[test]
    fn what_has_just_begun_says_nothing() {
        let young = vec![1; 64];
        let found = Survival::new(&ended(1..=10_000), &young, &[]);
        for (quantile, near) in [(0.5, 5000.0), (0.99, 9900.0), (0.999, 9990.0)] {
            let found = ticks(found.quantile(quantile));
            assert!((found / near - 1.0).abs() < 0.002, "{quantile} {found}");
        }
        assert!(!found.mean().expect("enough").at_least);
    }

    #[test]
    fn a_window_on_a_steady_stream_shows_the_stream() {
        // There are 512 workers. One transaction in twenty takes 1000, the others take 10. The window covers 700 of
        // an endless run.
        let (begin, end) = (10_000u64, 10_700u64);
        let (mut seen, mut flying, mut entered) = (Vec::new(), Vec::new(), Vec::new());
        let mut state = 1;
        for _ in 0..512 {
            let mut now = 0;
            while now < end {
                let long = crate::drive::next_random(&mut state).is_multiple_of(20);
                let (from, to) = (now, now + if long { 1000 } else { 10 });
                now = to;
                if to >= begin && from < begin {
                    entered.push(begin - from);
                }
                match to {
                    _ if to < begin => {}
                    _ if to < end => seen.push(to - from),
                    _ => flying.push(end - from),
                }
            }
        }
        let truth = (19.0 * 10.0 + 1000.0) / 20.0;
        let off = |found: Survival| (found.mean().expect("enough").ticks / truth - 1.0).abs();
        let seen = ended(seen);
        let known = off(Survival::new(&seen, &flying, &entered));
        assert!(known < 0.15, "{known}");
        let forgotten = off(Survival::new(&seen, &flying, &[]));
        assert!(forgotten > 3.0 * known, "{forgotten} {known}");
    }

    #[test]
    fn of_nothing_nothing_is_told() {
        let nothing = Survival::new(&ended([]), &[], &[]);
        assert_eq!((nothing.quantile(0.5), nothing.mean(), nothing.longest()), (None, None, None));
        // One of a thousand has committed. Half of them take longer than the time for which they were observed.
        let one = Survival::new(&ended([5]), &[70; 999], &[]);
        assert_eq!(one.quantile(0.5), Some(Estimate { ticks: 70.0, at_least: true }));
    }
}
