//! Defines what a worker counts, and how the counts of workers are added.

use machine::{Category, Spent};
use txn::AbortReason;

/// Number of kinds of procedures that are counted separately.
pub const KINDS: usize = 8;

/// Measured part of a run, in ticks of the machine's clock. It is the same for every worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// End of the warm-up.
    pub begin: u64,
    /// End of the run.
    pub end: u64,
}

impl Interval {
    /// Returns the length in ticks.
    pub fn ticks(&self) -> u64 {
        self.end - self.begin
    }
}

/// Counts from a part of the measured interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Committed procedures, by kind.
    pub commits: [u64; KINDS],
    /// Aborted attempts, by reason, in the order of [`AbortReason::ALL`].
    pub aborts: [u64; AbortReason::ALL.len()],
    /// Time by category, in ticks, where it is measured.
    pub spent: Option<Spent>,
    /// Number of ticks that aborted attempts waited, where it is measured. `spent` has them under [`Category::Wait`].
    pub waited_in_vain_ticks: u64,
    /// Page faults of the workers' threads, where the machine counts them.
    pub page_faults: Option<u64>,
    /// Number of ticks between the end of a transaction and the begin of the next one, in a closed loop. This is the
    /// time to draw the next transaction.
    pub between_ticks: u64,
    /// Number of ticks from the first attempt to the end of transactions that ended without a commit at their own
    /// request.
    pub given_up_ticks: u64,
}

impl Counts {
    pub(crate) fn committed(&mut self, kind: usize) {
        self.commits[kind] += 1;
    }

    pub(crate) fn aborted(&mut self, reason: AbortReason) {
        let at = AbortReason::ALL.iter().position(|r| *r == reason);
        self.aborts[at.expect("ALL has every reason")] += 1;
    }

    /// Returns the number of commits of all kinds.
    pub fn commits(&self) -> u64 {
        self.commits.iter().sum()
    }

    /// Returns the number of ticks in which workers did not wait, as far as it was measured.
    pub fn busy_ticks(&self) -> u64 {
        let busy = |category: &&Category| {
            !matches!(category, Category::Wait | Category::BackOff | Category::Idle)
        };
        let Some(spent) = self.spent else { return 0 };
        Category::ALL.iter().filter(busy).map(|category| spent[*category as usize]).sum()
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Counts) {
        let add = |into: &mut [u64], from: &[u64]| {
            into.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        };
        add(&mut self.commits, &other.commits);
        add(&mut self.aborts, &other.aborts);
        if let Some(spent) = other.spent {
            add(self.spent.get_or_insert_default(), &spent);
        }
        if let Some(faults) = other.page_faults {
            *self.page_faults.get_or_insert_default() += faults;
        }
        self.waited_in_vain_ticks += other.waited_in_vain_ticks;
        self.between_ticks += other.between_ticks;
        self.given_up_ticks += other.given_up_ticks;
    }
}

/// Counts of one worker, or of all workers.
#[derive(Clone, Debug, Default)]
pub struct WorkerReport {
    /// Committed procedures, by kind.
    pub commits: [u64; KINDS],
    /// Committed procedures of all kinds, including those before and after the interval.
    pub all_commits: u64,
    /// Aborted attempts, by reason, in the order of [`AbortReason::ALL`].
    pub aborts: [u64; AbortReason::ALL.len()],
    /// Clock value at the end.
    pub ended_at: u64,
    /// Number of transactions that had arrived and not begun at the begin of the interval. Only used in an open loop.
    pub waiting_at_begin: u64,
    /// The same number at the end of the interval.
    pub waiting_at_end: u64,
    /// Ages in ticks of the transactions that had begun and not committed when the interval ended.
    pub in_flight_ticks: Vec<u64>,
}

impl WorkerReport {
    /// Returns the number of attempts aborted for `reason`.
    pub fn aborted_for(&self, reason: AbortReason) -> u64 {
        let at = AbortReason::ALL.iter().position(|r| *r == reason);
        self.aborts[at.expect("ALL has every reason")]
    }

    /// Returns the number of commits of all kinds.
    pub fn commits(&self) -> u64 {
        self.commits.iter().sum()
    }

    /// Copies commits and aborts from `counts`.
    pub(crate) fn set(&mut self, counts: &Counts) {
        (self.commits, self.aborts) = (counts.commits, counts.aborts);
    }

    /// Adds another worker's counts. Transactions in flight are not added, because they have no sum.
    pub fn add(&mut self, other: &WorkerReport) {
        let add = |into: &mut [u64], from: &[u64]| {
            into.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        };
        add(&mut self.commits, &other.commits);
        self.all_commits += other.all_commits;
        add(&mut self.aborts, &other.aborts);
        self.ended_at = self.ended_at.max(other.ended_at);
        self.waiting_at_begin += other.waiting_at_begin;
        self.waiting_at_end += other.waiting_at_end;
    }
}
