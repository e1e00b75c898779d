//! What a worker counts, and how workers' counts add up.

use hdrhistogram::Histogram;
use machine::{Spent, cold::Mutex};
use txn::AbortReason;

/// Parts into which the measured interval is divided, to see whether it was steady.
pub const SLICES: usize = 8;

/// Kinds of procedures that are counted apart.
pub const KINDS: usize = 8;

/// The measured part of a run, in ticks of the machine's clock, the same for every worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// End of the warm-up.
    pub begin: u64,
    /// End of the run.
    pub end: u64,
}

impl Interval {
    /// Length, in ticks.
    pub fn ticks(&self) -> u64 {
        self.end - self.begin
    }

    /// The slice in which `now` lies.
    pub fn slice(&self, now: u64) -> usize {
        let passed = u128::from(now.saturating_sub(self.begin)) * SLICES as u128;
        ((passed / u128::from(self.ticks().max(1))) as usize).min(SLICES - 1)
    }
}

/// Latencies of all workers, in ticks. Workers hand theirs over in small batches.
pub struct Latencies {
    histogram: Mutex<Histogram<u64>>,
}

impl Default for Latencies {
    fn default() -> Self {
        // Three digits: errors below 0.1 %. It grows with the largest value.
        let histogram = Histogram::new(3).expect("three digits are allowed");
        Latencies { histogram: Mutex::new(histogram) }
    }
}

impl Latencies {
    /// What was recorded.
    pub fn into_inner(self) -> Histogram<u64> {
        self.histogram.into_inner()
    }
}

const BATCH: usize = 64;

/// One worker's way to record latencies.
pub struct Meter<'a> {
    latencies: &'a Latencies,
    batch: Vec<u64>,
}

impl<'a> Meter<'a> {
    /// A meter that hands over to `latencies`.
    pub fn new(latencies: &'a Latencies) -> Meter<'a> {
        Meter { latencies, batch: Vec::with_capacity(BATCH) }
    }

    /// Records one latency, in ticks.
    #[inline]
    pub fn record(&mut self, ticks: u64) {
        self.batch.push(ticks);
        if self.batch.len() == BATCH {
            self.flush();
        }
    }

    /// Hands over what has gathered.
    pub fn flush(&mut self) {
        let mut histogram = self.latencies.histogram.lock();
        for ticks in self.batch.drain(..) {
            // It resizes itself; only a value beyond 64 bits could fail.
            let _ = histogram.record(ticks);
        }
    }
}

/// What one worker counted.
#[derive(Clone, Debug, Default)]
pub struct WorkerReport {
    /// Committed procedures, by kind.
    pub commits: [u64; KINDS],
    /// Committed procedures of all kinds, before and after the interval too.
    pub all_commits: u64,
    /// Aborted attempts, by reason, in the order of [`AbortReason::ALL`].
    pub aborts: [u64; AbortReason::ALL.len()],
    /// Commits by slice of the interval.
    pub slices: [u64; SLICES],
    /// Time by category, in ticks, where it was kept.
    pub spent: Option<Spent>,
    /// Clock at the end.
    pub ended_at: u64,
    /// Transactions that had arrived and not begun at the begin of the interval; only in an open loop.
    pub waiting_at_begin: u64,
    /// The same at its end.
    pub waiting_at_end: u64,
}

impl WorkerReport {
    pub(crate) fn committed(&mut self, kind: usize, slice: usize) {
        self.commits[kind] += 1;
        self.slices[slice] += 1;
    }

    pub(crate) fn aborted(&mut self, reason: AbortReason) {
        let at = AbortReason::ALL.iter().position(|r| *r == reason);
        self.aborts[at.expect("ALL has every reason")] += 1;
    }

    /// Attempts aborted for `reason`.
    pub fn aborted_for(&self, reason: AbortReason) -> u64 {
        let at = AbortReason::ALL.iter().position(|r| *r == reason);
        self.aborts[at.expect("ALL has every reason")]
    }

    /// Commits of all kinds.
    pub fn commits(&self) -> u64 {
        self.commits.iter().sum()
    }

    /// Adds another worker's counts.
    pub fn add(&mut self, other: &WorkerReport) {
        let add = |into: &mut [u64], from: &[u64]| {
            into.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        };
        add(&mut self.commits, &other.commits);
        self.all_commits += other.all_commits;
        add(&mut self.aborts, &other.aborts);
        add(&mut self.slices, &other.slices);
        if let Some(spent) = other.spent {
            add(self.spent.get_or_insert_default(), &spent);
        }
        self.ended_at = self.ended_at.max(other.ended_at);
        self.waiting_at_begin += other.waiting_at_begin;
        self.waiting_at_end += other.waiting_at_end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_the_interval() {
        let interval = Interval { begin: 100, end: 180 };
        assert_eq!(interval.slice(100), 0);
        assert_eq!(interval.slice(109), 0);
        assert_eq!(interval.slice(110), 1);
        assert_eq!(interval.slice(179), SLICES - 1);
        assert_eq!(interval.slice(500), SLICES - 1);
    }

    #[test]
    fn latencies_arrive_in_full() {
        let latencies = Latencies::default();
        let mut meter = Meter::new(&latencies);
        for ticks in 1..=1000 {
            meter.record(ticks);
        }
        meter.flush();
        let histogram = latencies.into_inner();
        assert_eq!(histogram.len(), 1000);
        assert!(histogram.value_at_quantile(0.5).abs_diff(500) <= 1);
    }
}
