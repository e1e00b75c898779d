//! The record of a run: everything that is needed to judge its number, to repeat it and to redraw it.
//!
//! One [`RunRecord`] is one configuration: workload, protocol, architecture, machine, cores. The JSON
//! form is described for its readers in `docs/run-record.md`; change both together, and
//! [`SCHEMA_VERSION`] whenever a reader of the old form would go wrong.

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
pub use quality::{Adapted, BrokenLaw, InFlight, Latency, LittlesLaw, SteadinessRecord};
pub use summary::{Spread, SpreadOf, median};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use workloads::OptionValue;

/// The version of the schema that this build writes. It reads those before too: the first knew no open loop, with which
/// latencies mean something else; up to the second, latencies were of what had committed alone and never left out.
pub const SCHEMA_VERSION: u32 = 3;

/// What stands for a fact that this machine cannot give. Never zero in its place.
pub const ABSENT: &str = "absent";

/// One configuration and what was measured with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Name of the workload: `ycsb`.
    pub workload: String,
    /// All options of the workload, the defaults too.
    pub workload_options: Settings,
    /// Name of the protocol in the papers' spelling: capitals and underscores.
    pub protocol: String,
    /// Options of the protocol, `timestamp_allocation` among them.
    pub protocol_options: Settings,
    /// Name of the architecture: `shared_everything`.
    pub architecture: String,
    /// Options of the architecture.
    #[serde(default)]
    pub architecture_options: Settings,
    /// Name of the machine: `native`, or that of a machine file.
    pub machine: String,
    /// How the machine runs programs.
    pub machine_kind: MachineKind,
    /// The machine in one line: sockets, cores, clock, caches.
    pub machine_description: String,
    /// Cores used, one worker on each.
    pub cores: usize,
    /// Where workers and memory were placed.
    pub placement: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Git commit of the build, with `-dirty` behind it if it was built from other sources, or `unknown`.
    pub commit: String,
    /// The program, and how it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The computer that ran it: processor, memory, operating system. For a simulation, the host.
    pub host: String,
    /// What else that did meanwhile. None where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_load: Option<HostLoad>,
    /// How often the measurement was repeated.
    pub repetitions: usize,
    /// Length of each warm-up, in seconds of the machine's time, with what was left out because it was not steady yet.
    pub warm_up_s: f64,
    /// Length of each measured interval, in seconds of the machine's time.
    pub measured_s: f64,
    /// Between which lengths of a run the two were found. None where they were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapted: Option<Adapted>,
    /// Committed procedures a second: the median over the repetitions.
    pub throughput_txn_per_s: f64,
    /// How far the repetitions lie apart.
    pub spread: Spread,
    /// Every repetition's throughput, in the order of running.
    pub repetition_throughputs_txn_per_s: Vec<f64>,
    /// Procedures committed in the measured intervals of all repetitions.
    pub commits: u64,
    /// The same, by the name of the procedure. None where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits_by_procedure: Option<BTreeMap<String, u64>>,
    /// Attempts aborted in them, by reason, without those that the procedure asked for.
    pub aborts: BTreeMap<String, u64>,
    /// Attempts that ended because the procedure asked for it.
    pub user_aborts: u64,
    /// Share of all attempts that `aborts` counts: aborts / (commits + user_aborts + aborts).
    pub abort_ratio: f64,
    /// From a procedure's first attempt to its commit; in an open loop from its arrival.
    pub latency_ns: Latency,
    /// What had begun and not committed when measuring ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
    /// How procedures arrived. None in a closed loop, where each begins when the one before has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalRecord>,
    /// Share of the workers' time by category; sums to 1. None when it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<BTreeMap<String, f64>>,
    /// Throughput did not move while it was measured, and is known well enough ([`crate::steadiness`]). None when too little
    /// was committed to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<bool>,
    /// What that is judged by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steadiness: Option<SteadinessRecord>,
    /// Whether throughput, latency and workers fit together. Closed loops only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub littles_law: Option<LittlesLaw>,
    /// What the checker found out about the run's history.
    pub certificate: Certificate,
    /// What is broken of the workload's law, and by which seed. None where it holds or was not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_law: Option<BrokenLaw>,
    /// Simulated operations on shared memory for each second of the host's time. Simulations only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_per_wall_s: Option<f64>,
    /// The host's time that the simulation took, in seconds. Simulations only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// The modelled time that passed, in seconds, warm-up included. Simulations only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_s: Option<f64>,
    /// Hardware counters of the measured intervals, where the system has them.
    pub hardware_counters: HardwareCounters,
    /// The run was stopped before all its repetitions were done; the numbers are of those that were.
    pub interrupted: bool,
}

impl RunRecord {
    /// Takes the throughput, its spread and the number of repetitions from each repetition's throughput.
    pub fn set_repetitions(&mut self, throughputs_txn_per_s: Vec<f64>) {
        self.repetitions = throughputs_txn_per_s.len();
        self.throughput_txn_per_s = median(&throughputs_txn_per_s);
        self.spread = Spread::of(&throughputs_txn_per_s);
        self.repetition_throughputs_txn_per_s = throughputs_txn_per_s;
    }

    /// Takes the counts of attempts, and the abort ratio from them.
    pub fn set_attempts(&mut self, commits: u64, aborts: BTreeMap<String, u64>, user_aborts: u64) {
        let aborted: u64 = aborts.values().sum();
        let attempts = commits + user_aborts + aborted;
        self.abort_ratio = if attempts == 0 { 0.0 } else { aborted as f64 / attempts as f64 };
        (self.commits, self.aborts, self.user_aborts) = (commits, aborts, user_aborts);
    }

    /// True when others took so much of the host that what was measured natively is theirs too. Modelled time is nobody's.
    pub fn is_disturbed(&self) -> bool {
        let others = self.host_load.and_then(|load| load.others);
        self.machine_kind == MachineKind::Native
            && others.is_some_and(|share| share > HostLoad::DISTURBING)
    }

    /// A record of this version in which nothing was measured yet.
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
            breakdown: None,
            steady: None,
            steadiness: None,
            littles_law: None,
            certificate: Certificate::default(),
            broken_law: None,
            operations_per_wall_s: None,
            wall_s: None,
            simulated_s: None,
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
    /// A switch.
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

/// A workload's options as a record keeps them.
pub fn settings(options: Vec<(&'static str, OptionValue)>) -> Settings {
    options.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// How a machine runs programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineKind {
    /// Threads of the operating system; time is real.
    Native,
    /// Modelled cores; time is modelled.
    Simulated,
    /// Adversarial schedules; there is no time.
    Explored,
}

impl MachineKind {
    /// The word in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            MachineKind::Native => "native",
            MachineKind::Simulated => "simulated",
            MachineKind::Explored => "explored",
        }
    }
}

/// How procedures arrived in an open loop, and whether they were served as they came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalRecord {
    /// `poisson` or `fixed`.
    pub process: String,
    /// Arrivals at all workers in a second of the machine's time.
    pub rate_txn_per_s: f64,
    /// Procedures that had arrived and not begun when measuring began, of all repetitions.
    pub waiting_at_begin: u64,
    /// The same when measuring ended.
    pub waiting_at_end: u64,
}

impl ArrivalRecord {
    /// True when more came than were served, by more than chance explains: the queue would go on growing.
    /// `measured_s` is the length of all measured intervals together.
    pub fn overloaded(&self, measured_s: f64) -> bool {
        let arrived = self.rate_txn_per_s * measured_s;
        let grown = self.waiting_at_end.saturating_sub(self.waiting_at_begin) as f64;
        grown > 0.01 * arrived + 3.0 * arrived.sqrt()
    }
}

/// What the checker says of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Nobody has read or overwritten what was not committed.
    #[serde(default)]
    pub read_committed: Verdict,
    /// Everybody has read from a snapshot, and no update is lost.
    #[serde(default)]
    pub snapshot: Verdict,
    /// The snapshots have all that was committed at the begin.
    #[serde(default)]
    pub strong_snapshot: Verdict,
    /// Some serial order explains everything that was read.
    pub serializable: Verdict,
    /// One such order keeps the order of transactions that did not overlap in time.
    pub strict: Verdict,
    /// What the protocol promises.
    pub promised: Promise,
}

impl Certificate {
    /// True when a verdict fails that the protocol promises to pass.
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

/// The outcome of one check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Holds.
    #[serde(rename = "pass")]
    Pass,
    /// Is broken; the checker has a counter-example.
    #[serde(rename = "fail")]
    Fail,
    /// No history was recorded, or nobody asked.
    #[default]
    #[serde(rename = "not checked")]
    NotChecked,
}

impl Verdict {
    /// The words in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::NotChecked => "not checked",
        }
    }
}

/// What a protocol promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// Its runs are read committed, and no more.
    #[serde(default)]
    pub read_committed: bool,
    /// They are snapshot isolation, and no more.
    #[serde(default)]
    pub snapshot: bool,
    /// They are so of the latest snapshots.
    #[serde(default)]
    pub strong_snapshot: bool,
    /// Its runs are serializable.
    pub serializable: bool,
    /// They are strictly serializable.
    pub strict: bool,
}

impl Promise {
    /// True when nothing is promised.
    pub fn is_empty(self) -> bool {
        self == Promise::default()
    }
}

/// What the processor counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum HardwareCounters {
    /// The system has none, or gives none to this program.
    #[serde(rename = "absent")]
    Absent,
    /// By the counter's name.
    #[serde(untagged)]
    Counted(BTreeMap<String, u64>),
}

#[cfg(test)]
mod tests;
