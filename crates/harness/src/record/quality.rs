//! How far a record's numbers are to be believed.

use serde::{Deserialize, Serialize};

/// Latencies, in nanoseconds of the machine's time, of what committed, with what was in flight at the end counted as
/// lasting longer than it had ([`crate::survival`]). None where too few transactions were seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Half of the procedures took no longer.
    pub p50: Option<u64>,
    /// 90 % took no longer.
    pub p90: Option<u64>,
    /// 99 % took no longer.
    pub p99: Option<u64>,
    /// 99.9 % took no longer.
    pub p999: Option<u64>,
    /// The longest.
    pub max: Option<u64>,
    /// Which of these are lower bounds, by their names: the run was too short to know more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<String>,
}

impl Latency {
    /// True when the value called `name` is a lower bound.
    pub fn is_at_least(&self, name: &str) -> bool {
        self.at_least.iter().any(|bound| bound == name)
    }
}

/// Transactions that had begun when measuring ended, and had not committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InFlight {
    /// How many, of all repetitions.
    pub count: u64,
    /// How long the oldest had been in flight, in nanoseconds of the machine's time.
    pub oldest_ns: u64,
}

/// What was found out about the course of the throughput ([`crate::steadiness`]). With several repetitions, the worst of
/// them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadinessRecord {
    /// Half width of the 95 % confidence interval of the throughput, by batch means, as a share of it.
    pub half_width: f64,
    /// By how much the last half of the interval exceeds the first, as a share of the throughput.
    pub drift: f64,
    /// Means of the batches, in transactions a second.
    pub batch_means_txn_per_s: Vec<f64>,
    /// Why the run was as long as it was: `as asked`, `steady`, or `at the limit` of how long it might become.
    pub ended: String,
}

/// Little's law: in a closed loop all workers are always in a transaction, so their number is the rate of commits times
/// the mean latency (Little, "A proof for the queuing formula L = λW", Operations Research 9(3), 1961). What they do
/// between transactions, and in those that end without a commit, is counted beside.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LittlesLaw {
    /// How many workers throughput and mean latency account for.
    pub accounted_workers: f64,
    /// The workers there were, as a multiple of that.
    pub factor: f64,
    /// The factor is at most [`crate::steadiness::LITTLE_FACTOR`] from one.
    pub holds: bool,
}

/// Between which lengths a run was to become as long as it must, in seconds of the machine's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Adapted {
    /// How long it was at first.
    pub first_s: f64,
    /// How long it might become, warm-up included.
    pub most_s: f64,
    /// How long its workers might be busy, summed over them. None for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_busy_s: Option<f64>,
    /// How long all repetitions might take together. None for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together_s: Option<f64>,
}

/// A law of the workload that does not hold after a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLaw {
    /// Seed of the run.
    pub seed: u64,
    /// What does not hold.
    pub law: String,
}
