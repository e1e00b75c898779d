//! Defines the options of commands. The options of workloads are declared by the workloads.

use super::architectures::{architecture, partitions};
use super::moves::MovesArguments;
use super::numbers::{count, fibers, rate, seconds, seconds_or_none, whole};
use clap::Args;
use engine::admission::{AdmissionPolicy, NotAnAdmission};
use engine::registry::DEFAULT;
use harness::back_off::{BackOff, NotABackOff};
use harness::explore::Script;
use std::path::PathBuf;

/// Parses a rule for the number of transactions that run at the same time.
fn admission(text: &str) -> Result<AdmissionPolicy, String> {
    text.parse().map_err(|error: NotAnAdmission| error.to_string())
}

/// Parses a rule for aborted transactions.
fn back_off(text: &str) -> Result<BackOff, String> {
    text.parse().map_err(|error: NotABackOff| error.to_string())
}

/// Arguments of `run`: the configurations, the measurement, and the files for the records.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Measurement")]
pub struct RunArguments {
    /// Protocols, separated by commas, or all (NO_CC too: it checks nothing and measures the harness)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "all")]
    pub cc: Vec<String>,
    /// Architecture, which decides who executes an access; kilocore list names them all
    #[arg(long, value_name = "NAME", default_value = DEFAULT, visible_alias = "arch", value_parser = architecture)]
    pub architecture: String,
    /// Number of owners of data, if the architecture stores partitions apart: owner P mod N has partition P [default: as
    /// many as the workload has partitions, at most one for each core]
    #[arg(long, value_name = "N", value_parser = partitions)]
    pub partitions: Option<String>,
    /// Number of workers on each core: fibers, of which another one runs while one waits
    #[arg(long, value_name = "N", default_value = "1", value_parser = fibers)]
    pub fibers: u64,
    /// The workers of a core (--fibers) are threads, which the core interrupts after S seconds each; natively the system decides
    /// when
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_slice: Option<f64>,
    /// Number of cores that only serve other cores, if the architecture delegates work [default: each core serves and
    /// executes]
    #[arg(long, value_name = "N", value_parser = count)]
    pub servers: Option<u64>,
    #[command(flatten)]
    pub moves: MovesArguments,
    /// Numbers of cores, separated by commas [default: all natively, 64 simulated]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = count)]
    pub cores: Vec<u64>,
    /// native, a machine's name, or the path of a machine file
    #[arg(long, value_name = "MACHINE", default_value = "native")]
    pub machine: String,
    /// Measured seconds, of the machine's time, exactly [default: until the run is steady, up to 4 natively, to 8 busy core seconds simulated]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Instead of seconds: measure until the first worker has committed N transactions, as the program of 2022 does
    #[arg(long, value_name = "N", value_parser = count, conflicts_with_all = ["seconds", "arrivals"])]
    pub commits: Option<u64>,
    /// Seconds before them that don't count, exactly [default: until the run is steady]
    #[arg(long, value_name = "S", value_parser = seconds_or_none)]
    pub warm_up: Option<f64>,
    /// Number of repetitions of each configuration; all take the lengths of the first
    #[arg(long, value_name = "R", default_value = "1", value_parser = count)]
    pub repeat: u64,
    /// Seed of everything random; repetition i uses seed + i
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole)]
    pub seed: u64,
    /// Open loop: transactions arrive so, free workers or not, and latency counts from their arrival
    #[arg(long, value_name = "HOW", requires = "rate", value_parser = ["poisson", "fixed"])]
    pub arrivals: Option<String>,
    /// Number of arrivals in a second of the machine's time, at all workers together
    #[arg(long, value_name = "TXN_PER_S", requires = "arrivals", value_parser = rate)]
    pub rate: Option<f64>,
    /// serializable, snapshot or read-committed, if the protocols give it (kilocore list); --cc all is
    /// then every one that does [default: each protocol's own]
    #[arg(long, value_name = "LEVEL")]
    pub isolation: Option<String>,
    /// Source of timestamps: mutex, atomic, batchN, clock, hardware
    #[arg(long, value_name = "HOW", default_value = "atomic")]
    pub timestamps: String,
    /// Rule for a transaction that was aborted. With `wait` (or wait:FIRST:CAP) the worker waits and attempts it again. With
    /// `aside` (or aside:MOST:BOUND) the worker puts it aside and attempts others until a random time has passed. Times are
    /// written as 500ns or 100us. `wait` is wait:500ns:50us, and `aside` is aside:10:100us, the rule of DBx1000
    #[arg(long, value_name = "RULE", default_value = "wait", value_parser = back_off)]
    pub back_off: BackOff,
    /// Limit on the number of transactions that run at the same time; others wait for a permit, and the wait counts in their
    /// latency. A number, or `adaptive`: the number that commits most. `adaptive:1ms` looks at the rate of commits every
    /// millisecond.
    #[arg(long, value_name = "RULE", default_value = "off", value_parser = admission)]
    pub admission: AdmissionPolicy,
    /// An option of protocols; kilocore list names them all. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub cc_option: Vec<String>,
    /// An option of the engine's accesses; kilocore list names them all. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub engine_option: Vec<String>,
    /// Pages of the tables natively: huge if the system has them, or small. A simulated machine's file says what pages it
    /// has
    #[arg(long, value_name = "SIZE", default_value = "huge", value_parser = ["huge", "small"])]
    pub pages: String,
    /// Record and check the history of what is measured, and judge the workload's law after it (natively that
    /// costs throughput and memory)
    #[arg(long)]
    pub certify: bool,
    /// Keep a time breakdown natively too, at some cost (simulated runs always have one), and print it, with the
    /// shares of the procedures that committed
    #[arg(long)]
    pub breakdown: bool,
    /// Write the records as JSON, after each configuration; - is standard output, and then nothing else goes there. A
    /// file that exists is refused, except with --force or --resume
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Take over from the file of --json what was measured already by the same build, with the same settings; the
    /// files of --json and --csv then hold that and the rest
    #[arg(long, requires = "json", conflicts_with = "history")]
    pub resume: bool,
    /// Overwrite the files that --json, --csv and --history name
    #[arg(long, conflicts_with = "resume")]
    pub force: bool,
    /// Write the records as CSV; - is standard output, and then nothing else goes there
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Record and check the history of the one run that is asked for, and write it for another checker
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// In which format: elle-append, elle-register, dbcop
    #[arg(long, value_name = "FORMAT", default_value = "elle-append", requires = "history")]
    pub history_format: String,
}

/// Arguments of `compare`: the configurations, and the directory for the report.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Comparison")]
pub struct CompareArguments {
    /// Protocols, separated by commas, or all
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "all")]
    pub cc: Vec<String>,
    /// The machine to simulate beside the native one: a name, or the path of a machine file
    #[arg(long, value_name = "MACHINE", default_value = "graphite")]
    pub machine: String,
    /// Simulated numbers of cores [default: 1,4,16,64,256,1024, as far as the machine has them]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = count)]
    pub cores: Vec<u64>,
    /// Folder for the report: page, records as JSON, table. A report that is there is refused, except with --force or
    /// --resume [default: kilocore-report, whose report is replaced]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Overwrite the report in the folder
    #[arg(long, conflicts_with = "resume")]
    pub force: bool,
    /// Take over from the folder what was measured already by the same build, with the same settings
    #[arg(long)]
    pub resume: bool,
    /// A coarse look: shorter runs on fewer cores
    #[arg(long)]
    pub quick: bool,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole)]
    pub seed: u64,
    /// serializable, snapshot or read-committed, if the protocols give it (kilocore list); --cc all is
    /// then every one that does [default: each protocol's own]
    #[arg(long, value_name = "LEVEL")]
    pub isolation: Option<String>,
    /// Source of timestamps: mutex, atomic, batchN, clock
    #[arg(long, value_name = "HOW", default_value = "atomic")]
    pub timestamps: String,
    /// Rule for a transaction that was aborted. With `wait` (or wait:FIRST:CAP) the worker waits and attempts it again. With
    /// `aside` (or aside:MOST:BOUND) the worker puts it aside and attempts others until a random time has passed. Times are
    /// written as 500ns or 100us. `wait` is wait:500ns:50us, and `aside` is aside:10:100us, the rule of DBx1000
    #[arg(long, value_name = "RULE", default_value = "wait", value_parser = back_off)]
    pub back_off: BackOff,
    /// An option of protocols; kilocore list names them all. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub cc_option: Vec<String>,
    /// An option of the engine's accesses; kilocore list names them all. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub engine_option: Vec<String>,
}

/// Options of `explore --anomalies`: the anomalies to look for, the place, and the length of the search.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Anomalies")]
pub struct AnomaliesArguments {
    /// For each protocol and level of isolation: which anomalies show, beside those that are forbidden
    #[arg(long)]
    pub anomalies: bool,
    /// Protocols, separated by commas, or all
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "all",
        requires = "anomalies"
    )]
    pub cc: Vec<String>,
    /// serializable, snapshot or read-committed, if the protocols give it [default: every level they give]
    #[arg(long, value_name = "LEVEL", requires = "anomalies")]
    pub isolation: Option<String>,
    /// Only this anomaly, such as G2-item [default: all]
    #[arg(long, value_name = "NAME", requires = "anomalies")]
    pub only: Option<String>,
    /// Schedules for each, until it shows
    #[arg(long, value_name = "N", default_value = "2000", value_parser = count, requires = "anomalies")]
    pub schedules: u64,
    /// Seed of the first schedule; the next ones count up
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole, requires = "anomalies")]
    pub seed: u64,
}

/// Arguments of `explore`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Exploration")]
pub struct ExploreArguments {
    /// Protocols, separated by commas, or all. NO_CC must fail
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "all")]
    pub cc: Vec<String>,
    /// Instead of protocols: a planted bug, or all of them, which must be found
    #[arg(long, value_name = "NAME", conflicts_with = "cc")]
    pub mutant: Option<String>,
    /// Architecture, which decides who executes an access; kilocore list names them all
    #[arg(long, value_name = "NAME", default_value = DEFAULT, visible_alias = "arch", value_parser = architecture)]
    pub architecture: String,
    /// Schedules for each
    #[arg(long, value_name = "N", default_value = "10000", value_parser = count)]
    pub schedules: u64,
    /// Seed of the first schedule; the next ones count up
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole)]
    pub seed: u64,
    /// Workers of a schedule
    #[arg(long, value_name = "N", default_value = "3", value_parser = count)]
    pub workers: u64,
    /// Workers that share a core as fibers
    #[arg(long, value_name = "N", default_value = "1", value_parser = fibers)]
    pub fibers: u64,
    /// Cores that only serve other cores, besides those of the workers, if the architecture delegates work
    #[arg(long, value_name = "N", value_parser = count)]
    pub servers: Option<u64>,
    #[command(flatten)]
    pub moves: MovesArguments,
    /// Procedures of each worker
    #[arg(long, value_name = "N", default_value = "4", value_parser = count)]
    pub procedures: u64,
    /// Limit on the number of transactions that run at the same time: off, a number, or adaptive [default: a seventh of the seeds
    /// draw one, also one that changes]
    #[arg(long, value_name = "RULE", value_parser = admission)]
    pub admission: Option<AdmissionPolicy>,
    /// serializable, snapshot or read-committed, if the protocols give it (kilocore list); --cc all is
    /// then every one that does [default: each protocol's own]
    #[arg(long, value_name = "LEVEL")]
    pub isolation: Option<String>,
    /// Tell what goes wrong step by step, with names and values, in the smallest schedule that shows the same
    #[arg(long)]
    pub trace: bool,
    /// Run the schedule that --trace has spelled out, of the workload of --seed, and tell it
    #[arg(long, value_name = "SCRIPT", conflicts_with = "schedules")]
    pub script: Option<Script>,
    /// Judge nothing; write the history of each schedule into this folder, for another checker, and what ours says of
    /// them into verdicts.jsonl. A folder that has files is refused, except with --force
    #[arg(long, value_name = "DIR", conflicts_with_all = ["trace", "script"])]
    pub histories: Option<PathBuf>,
    /// Overwrite files in the folder of --histories
    #[arg(long, requires = "histories")]
    pub force: bool,
    /// In which format: elle-append, elle-register, dbcop
    #[arg(long, value_name = "FORMAT", default_value = "dbcop", requires = "histories")]
    pub history_format: String,
    /// Source of timestamps: mutex, atomic, batchN, clock
    #[arg(long, value_name = "HOW", default_value = "atomic")]
    pub timestamps: String,
    /// An option of protocols; kilocore list names them all. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub cc_option: Vec<String>,
    /// An option of the engine's accesses; kilocore list names them all. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub engine_option: Vec<String>,
}
