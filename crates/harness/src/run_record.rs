//! Defines the record of a run. It contains everything that is needed to judge the result, to repeat the run and to
//! redraw its charts.
//!
//! One [`RunRecord`] is one configuration: workload, protocol, architecture, machine, cores. `docs/run-record.md`
//! describes the JSON form for readers. Change both together. Increase [`SCHEMA_VERSION`] whenever a reader of the
//! old form would misread the new one.

mod csv;
mod file;
mod provenance;
mod quality;
mod summary;

pub use csv::to_csv;
pub use file::{
    RecordError, check_writable, read_json, to_json, write_csv, write_json, write_whole,
};
pub use provenance::{HostLoad, Provenance};
pub use quality::{
    Adapted, AdmissionRecord, BrokenLaw, InFlight, Latency, LittlesLaw, SteadinessRecord,
};
pub use summary::{Spread, SpreadOf, median};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use workloads::OptionValue;

/// Version of the schema that this build writes. It also reads earlier versions. Version 1 had no open loop, in which
/// latencies have another meaning. Up to version 2, latencies covered only committed transactions and were never left
/// out.
pub const SCHEMA_VERSION: u32 = 3;

/// Stands for a fact that this machine cannot provide. Zero is never used in its place.
pub const ABSENT: &str = "absent";

/// One configuration and its measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`SCHEMA_VERSION`] of the program that wrote the record.
    pub schema_version: u32,
    /// Name of the workload, for example `ycsb`.
    pub workload: String,
    /// All options of the workload, including defaults.
    pub workload_options: Settings,
    /// Name of the protocol in the papers' spelling: capitals and underscores.
    pub protocol: String,
    /// Options of the protocol, including `timestamp_allocation`.
    pub protocol_options: Settings,
    /// Name of the architecture, for example `shared_everything`.
    pub architecture: String,
    /// Options of the architecture.
    #[serde(default)]
    pub architecture_options: Settings,
    /// Name of the machine: `native`, or the name of a machine file.
    pub machine: String,
    /// Way in which the machine runs programs.
    pub machine_kind: MachineKind,
    /// The machine in one line: sockets, cores, clock, caches.
    pub machine_description: String,
    /// Number of cores used, with one worker on each.
    pub cores: usize,
    /// Placement of workers and memory.
    pub placement: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Git commit of the build, or `unknown`. The suffix `-dirty` marks a build from modified sources.
    pub commit: String,
    /// The program, and the way in which it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The computer that ran the program: processor, memory, operating system. For a simulation, the host.
    pub host: String,
    /// Load that other programs put on the host during the run. None where the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_load: Option<HostLoad>,
    /// Number of repetitions of the measurement.
    pub repetitions: usize,
    /// Length of each warm-up, in seconds of the machine's time. It includes slices that were left out as not yet
    /// steady.
    pub warm_up_s: f64,
    /// Length of each measured interval, in seconds of the machine's time.
    pub measured_s: f64,
    /// Limits between which the two lengths were chosen. None where they were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapted: Option<Adapted>,
    /// Committed procedures per second: the median over the repetitions.
    pub throughput_txn_per_s: f64,
    /// Spread of the repetitions.
    pub spread: Spread,
    /// Throughput of every repetition, in the order of running.
    pub repetition_throughputs_txn_per_s: Vec<f64>,
    /// Number of procedures committed in the measured intervals of all repetitions.
    pub commits: u64,
    /// The same number by the name of the procedure. None where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits_by_procedure: Option<BTreeMap<String, u64>>,
    /// Number of attempts aborted in the intervals, by reason, without those that the procedure asked for.
    pub aborts: BTreeMap<String, u64>,
    /// Number of attempts that ended because the procedure asked for it.
    pub user_aborts: u64,
    /// Share of all attempts that `aborts` counts: aborts / (commits + user_aborts + aborts).
    pub abort_ratio: f64,
    /// Time from a procedure's first attempt to its commit. In an open loop, the time from its arrival.
    pub latency_ns: Latency,
    /// Transactions that had begun and not committed when measuring ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
    /// Arrivals of procedures. None in a closed loop, where each procedure begins when the one before has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalRecord>,
    /// Limit on the number of transactions that run at the same time. None if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<AdmissionRecord>,
    /// Share of the workers' time by category, which sums to 1. None when it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<BTreeMap<String, f64>>,
    /// Share of the workers' time that aborted attempts waited. It is a part of `wait` in `breakdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_of_aborted: Option<f64>,
    /// Set if throughput did not change while it was measured and is known precisely enough ([`crate::steadiness`]).
    /// None if there were too few commits to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<bool>,
    /// Values from which steadiness was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steadiness: Option<SteadinessRecord>,
    /// Result of Little's law: whether throughput, latency and the number of workers are consistent. Closed loops
    /// only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub littles_law: Option<LittlesLaw>,
    /// The checker's verdicts on the run's history.
    pub certificate: Certificate,
    /// Violation of the workload's law, with its seed. None where the law holds or was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_law: Option<BrokenLaw>,
    /// Number of simulated operations on shared memory per second of the host's time. Simulations only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_per_wall_s: Option<f64>,
    /// The host's time for the simulation, in seconds. Simulations only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// Modelled time of the run, in seconds, warm-up included. Simulations only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_s: Option<f64>,
    /// Cache lines moved for each transaction that committed, by kind of movement, warm-up included. Simulations only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines_per_txn: Option<BTreeMap<String, f64>>,
    /// Page faults of the workers' threads in the measured intervals, for each transaction that committed there. Native runs
    /// with one worker on each core only, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_faults_per_txn: Option<f64>,
    /// Hardware counters of the measured intervals, where the system provides them.
    pub hardware_counters: HardwareCounters,
    /// Set if the run was stopped before all its repetitions were done. The numbers cover those that were done.
    pub interrupted: bool,
}

impl RunRecord {
    /// Sets the throughput, its spread and the number of repetitions from the throughput of each repetition.
    pub fn set_repetitions(&mut self, throughputs_txn_per_s: Vec<f64>) {
        self.repetitions = throughputs_txn_per_s.len();
        self.throughput_txn_per_s = median(&throughputs_txn_per_s);
        self.spread = Spread::of(&throughputs_txn_per_s);
        self.repetition_throughputs_txn_per_s = throughputs_txn_per_s;
    }

    /// Sets the counts of attempts, and the abort ratio computed from them.
    pub fn set_attempts(&mut self, commits: u64, aborts: BTreeMap<String, u64>, user_aborts: u64) {
        let aborted: u64 = aborts.values().sum();
        let attempts = commits + user_aborts + aborted;
        self.abort_ratio = if attempts == 0 { 0.0 } else { aborted as f64 / attempts as f64 };
        (self.commits, self.aborts, self.user_aborts) = (commits, aborts, user_aborts);
    }

    /// Returns whether other programs took so much of the host that they disturbed a native measurement. Modelled
    /// time cannot be disturbed.
    pub fn is_disturbed(&self) -> bool {
        let others = self.host_load.and_then(|load| load.others);
        self.machine_kind == MachineKind::Native
            && others.is_some_and(|share| share > HostLoad::DISTURBING)
    }

    /// Returns a record of the current version without measurements.
    pub fn blank() -> RunRecord {
        RunRecord {
            schema_version: SCHEMA_VERSION,
            workload: String::new(),
            workload_options: Settings::new(),
            protocol: String::new(),
            protocol_options: Settings::new(),
            architecture: String::new(),
            architecture_options: Settings::new(),
            machine: String::new(),
            machine_kind: MachineKind::Native,
            machine_description: String::new(),
            cores: 0,
            placement: String::new(),
            seed: 0,
            commit: "unknown".into(),
            provenance: None,
            host: String::new(),
            host_load: None,
            repetitions: 0,
            warm_up_s: 0.0,
            measured_s: 0.0,
            adapted: None,
            throughput_txn_per_s: 0.0,
            spread: Spread::default(),
            repetition_throughputs_txn_per_s: Vec::new(),
            commits: 0,
            commits_by_procedure: None,
            aborts: BTreeMap::new(),
            user_aborts: 0,
            abort_ratio: 0.0,
            latency_ns: Latency::default(),
            in_flight: None,
            arrivals: None,
            admission: None,
            breakdown: None,
            wait_of_aborted: None,
            steady: None,
            steadiness: None,
            littles_law: None,
            certificate: Certificate::default(),
            broken_law: None,
            operations_per_wall_s: None,
            wall_s: None,
            simulated_s: None,
            lines_per_txn: None,
            page_faults_per_txn: None,
            hardware_counters: HardwareCounters::Absent,
            interrupted: false,
        }
    }
}

/// Options by name.
pub type Settings = BTreeMap<String, Setting>;

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// A boolean option.
    Flag(bool),
    /// A count.
    Integer(u64),
    /// A ratio or a parameter of a distribution.
    Number(f64),
    /// A name.
    Text(String),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Flag(on) => write!(f, "{on}"),
            Setting::Integer(n) => write!(f, "{n}"),
            Setting::Number(x) => write!(f, "{x}"),
            Setting::Text(text) => f.write_str(text),
        }
    }
}

impl From<OptionValue> for Setting {
    fn from(value: OptionValue) -> Setting {
        match value {
            OptionValue::Integer(n) => Setting::Integer(n),
            OptionValue::Number(x) => Setting::Number(x),
            OptionValue::Flag(on) => Setting::Flag(on),
            OptionValue::Name(name) => Setting::Text(name.into()),
            OptionValue::Text(text) => Setting::Text(text),
        }
    }
}

/// Converts a workload's options into the form used in records.
pub fn settings(options: Vec<(&'static str, OptionValue)>) -> Settings {
    options.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// Way in which a machine runs programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineKind {
    /// Threads of the operating system in real time.
    Native,
    /// Modelled cores in modelled time.
    Simulated,
    /// Adversarial schedules, without time.
    Explored,
}

impl MachineKind {
    /// Returns the kind's name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            MachineKind::Native => "native",
            MachineKind::Simulated => "simulated",
            MachineKind::Explored => "explored",
        }
    }
}

/// Arrivals of procedures in an open loop, and the queues at the begin and the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalRecord {
    /// `poisson` or `fixed`.
    pub process: String,
    /// Number of arrivals at all workers per second of the machine's time.
    pub rate_txn_per_s: f64,
    /// Number of procedures, in all repetitions, that had arrived and not begun when measuring began.
    pub waiting_at_begin: u64,
    /// The same number when measuring ended.
    pub waiting_at_end: u64,
}

impl ArrivalRecord {
    /// Returns whether more procedures arrived than were served, by more than chance explains. The queue would then
    /// keep growing. `measured_s` is the length of all measured intervals together.
    pub fn overloaded(&self, measured_s: f64) -> bool {
        let arrived = self.rate_txn_per_s * measured_s;
        let grown = self.waiting_at_end.saturating_sub(self.waiting_at_begin) as f64;
        grown > 0.01 * arrived + 3.0 * arrived.sqrt()
    }
}

/// The checker's verdicts on a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// No transaction has read or overwritten uncommitted data.
    #[serde(default)]
    pub read_committed: Verdict,
    /// Every transaction has read from a snapshot, and no update is lost.
    #[serde(default)]
    pub snapshot: Verdict,
    /// Every snapshot contains everything that was committed when its transaction began.
    #[serde(default)]
    pub strong_snapshot: Verdict,
    /// A serial order explains everything that was read.
    pub serializable: Verdict,
    /// A serial order exists that keeps the order of transactions that did not overlap in time.
    pub strict: Verdict,
    /// Promises of the protocol.
    pub promised: Promise,
}

impl Certificate {
    /// Returns whether a promised level fails.
    pub fn breaks_promise(&self) -> bool {
        let promised = self.promised;
        [
            (promised.read_committed, self.read_committed),
            (promised.snapshot, self.snapshot),
            (promised.strong_snapshot, self.strong_snapshot),
            (promised.serializable, self.serializable),
            (promised.strict, self.strict),
        ]
        .contains(&(true, Verdict::Fail))
    }
}

/// Outcome of one check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The level holds.
    #[serde(rename = "pass")]
    Pass,
    /// The level is violated. The checker has a counter-example.
    #[serde(rename = "fail")]
    Fail,
    /// No history was recorded, or the check was not requested.
    #[default]
    #[serde(rename = "not checked")]
    NotChecked,
}

impl Verdict {
    /// Returns the verdict's name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::NotChecked => "not checked",
        }
    }
}

/// Promises of a protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// Set if runs are read committed. Stronger levels have their own fields.
    #[serde(default)]
    pub read_committed: bool,
    /// Set if runs satisfy snapshot isolation. Stronger levels have their own fields.
    #[serde(default)]
    pub snapshot: bool,
    /// Set if snapshots are always the latest ones.
    #[serde(default)]
    pub strong_snapshot: bool,
    /// Set if runs are serializable.
    pub serializable: bool,
    /// Set if runs are strictly serializable.
    pub strict: bool,
}

impl Promise {
    /// Returns whether nothing is promised.
    pub fn is_empty(self) -> bool {
        self == Promise::default()
    }
}

/// Counters of the processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum HardwareCounters {
    /// The system has no counters, or gives this program no access to them.
    #[serde(rename = "absent")]
    Absent,
    /// Values by the counter's name.
    #[serde(untagged)]
    Counted(BTreeMap<String, u64>),
}

#[cfg(test)]
mod tests;
