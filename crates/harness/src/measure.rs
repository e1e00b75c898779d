//! What a worker counts, and how workers' counts add up.

use machine::{Category, Spent};
use txn::AbortReason;

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
}

/// What was counted in some part of the measured interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Committed procedures, by kind.
    pub commits: [u64; KINDS],
    /// Aborted attempts, by reason, in the order of [`AbortReason::ALL`].
    pub aborts: [u64; AbortReason::ALL.len()],
    /// Time by category, in ticks, where it was kept.
    pub spent: Option<Spent>,
    /// Ticks between the end of a transaction and the begin of the next one, in a closed loop: drawing it.
    pub between_ticks: u64,
    /// Ticks from first attempt to end of transactions that ended without a commit, because they asked for it.
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

    /// Commits of all kinds.
    pub fn commits(&self) -> u64 {
        self.commits.iter().sum()
    }

    /// Ticks in which workers did not wait, as far as that was kept.
    pub fn busy_ticks(&self) -> u64 {
        let busy = |category: &&Category| {
            !matches!(category, Category::Wait | Category::BackOff | Category::Idle)
        };
        let Some(spent) = self.spent else { return 0 };
        Category::ALL.iter().filter(busy).map(|category| spent[*category as usize]).sum()
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Counts) {
        let add = |into: &mut [u64], from: &[u64]| {
            into.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        };
        add(&mut self.commits, &other.commits);
        add(&mut self.aborts, &other.aborts);
        if let Some(spent) = other.spent {
            add(self.spent.get_or_insert_default(), &spent);
        }
        self.between_ticks += other.between_ticks;
        self.given_up_ticks += other.given_up_ticks;
    }
}

/// What one worker counted, or all of them.
#[derive(Clone, Debug, Default)]
pub struct WorkerReport {
    /// Committed procedures, by kind.
    pub commits: [u64; KINDS],
    /// Committed procedures of all kinds, before and after the interval too.
    pub all_commits: u64,
    /// Aborted attempts, by reason, in the order of [`AbortReason::ALL`].
    pub aborts: [u64; AbortReason::ALL.len()],
    /// Clock at the end.
    pub ended_at: u64,
    /// Transactions that had arrived and not begun at the begin of the interval; only in an open loop.
    pub waiting_at_begin: u64,
    /// The same at its end.
    pub waiting_at_end: u64,
    /// How long a transaction had been in flight, in ticks, that had begun when the interval ended and had not
    /// committed.
    pub in_flight_ticks: Option<u64>,
}

impl WorkerReport {
    /// Attempts aborted for `reason`.
    pub fn aborted_for(&self, reason: AbortReason) -> u64 {
        let at = AbortReason::ALL.iter().position(|r| *r == reason);
        self.aborts[at.expect("ALL has every reason")]
    }

    /// Commits of all kinds.
    pub fn commits(&self) -> u64 {
        self.commits.iter().sum()
    }

    /// Takes commits and aborts from `counts`.
    pub(crate) fn set(&mut self, counts: &Counts) {
        (self.commits, self.aborts) = (counts.commits, counts.aborts);
    }

    /// Adds another worker's counts. Which transactions were in flight is no sum.
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
