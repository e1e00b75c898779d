//! Describes the quality of a record's numbers.

use serde::{Deserialize, Serialize};

/// Latencies of committed transactions, in nanoseconds of the machine's time. A transaction in flight at the end
/// counts as lasting longer than its age ([`crate::survival`]). None where too few transactions were seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median: 50 % of the procedures took no longer.
    pub p50: Option<u64>,
    /// 90 % took no longer.
    pub p90: Option<u64>,
    /// 99 % took no longer.
    pub p99: Option<u64>,
    /// 99.9 % took no longer.
    pub p999: Option<u64>,
    /// Longest latency.
    pub max: Option<u64>,
    /// Names of those values that are lower bounds, because the run was too short to know more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<String>,
}

impl Latency {
    /// Returns whether the value called `name` is a lower bound.
    pub fn is_at_least(&self, name: &str) -> bool {
        self.at_least.iter().any(|bound| bound == name)
    }
}

/// Transactions that had begun and not committed when measuring ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InFlight {
    /// Number of transactions in all repetitions.
    pub count: u64,
    /// Age of the oldest, in nanoseconds of the machine's time.
    pub oldest_ns: u64,
}

/// Limit on the number of transactions that run at the same time ([`engine::admission`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmissionRecord {
    /// The rule, as on the command line: a number, or `adaptive`.
    pub rule: String,
    /// Limit at the end of each repetition.
    pub limits_at_end: Vec<u64>,
}

/// Results on the steadiness of the throughput ([`crate::steadiness`]). With several repetitions, those of the least
/// steady one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadinessRecord {
    /// Half width of the 95 % confidence interval of the throughput, by batch means, as a share of it.
    pub half_width: f64,
    /// Change from the first to the last half of the interval, as a share of the throughput. Positive if it rises.
    pub drift: f64,
    /// Means of the batches, in transactions per second.
    pub batch_means_txn_per_s: Vec<f64>,
    /// Reason for the length of the run: `as asked`, `steady`, or `at the limit` of its allowed length.
    pub ended: String,
}

/// Result of Little's law. In a closed loop every worker is always in a transaction, so the number of workers is the
/// rate of commits times the mean latency (Little, "A proof for the queuing formula L = λW", Operations Research
/// 9(3), 1961). Time between transactions, and time in transactions that end without a commit, is counted in
/// addition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LittlesLaw {
    /// Number of workers that throughput and mean latency account for.
    pub accounted_workers: f64,
    /// Actual number of workers, as a multiple of the accounted number.
    pub factor: f64,
    /// Set if the factor is at most [`crate::steadiness::LITTLE_FACTOR`] from one.
    pub holds: bool,
}

/// Limits of a run whose length adapts, in seconds of the machine's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Adapted {
    /// Initial length.
    pub first_s: f64,
    /// Maximum length, warm-up included.
    pub most_s: f64,
    /// Maximum busy time, summed over the workers. None for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_busy_s: Option<f64>,
    /// Maximum length of all repetitions together. None for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together_s: Option<f64>,
}

/// A law of the workload that does not hold after a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLaw {
    /// Seed of the run.
    pub seed: u64,
    /// Description of the violation.
    pub law: String,
}
