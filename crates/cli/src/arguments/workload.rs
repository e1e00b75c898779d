//! Workloads by name, each with its own options.

use super::numbers::{real, whole};
use crate::failure::Failure;
use clap::{Args, Subcommand};
use harness::record::{Settings, settings};
use txn::Workload;
use workloads::OptionError;
use workloads::micro::counters::{Counters, CountersOptions};
use workloads::micro::timestamps::Timestamps;
use workloads::ycsb::{Ycsb, YcsbOptions};

/// A workload, its options, and those of the command.
#[derive(Debug, Subcommand)]
pub enum WorkloadCommand<C: Args> {
    /// Independent reads and updates of one table's records, chosen by Zipf's law
    #[command(
        after_help = "Example: kilocore run ycsb --cc SILO --records 1M --theta 0.6 --read-ratio 0.5"
    )]
    Ycsb {
        /// Options of the workload.
        #[command(flatten)]
        options: YcsbArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// Increments, transfers, sums and moves under laws that a wrong protocol breaks
    #[command(
        after_help = "Example: kilocore run counters --cc NO_WAIT --counters 64 --transfers 0.5"
    )]
    Counters {
        /// Options of the workload.
        #[command(flatten)]
        options: CountersArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// Each transaction draws one timestamp and does nothing else
    #[command(
        after_help = "Example: kilocore run timestamps --cc NO_CC --machine graphite --cores 1,64,1024 --timestamps atomic"
    )]
    Timestamps {
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
}

/// What options are when nobody sets them.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// YCSB's.
    pub ycsb: YcsbOptions,
    /// The counters'.
    pub counters: CountersOptions,
}

/// What a record says of a workload.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Its name.
    pub name: &'static str,
    /// All its options.
    pub options: Settings,
}

impl Facts {
    /// The options that differ from the defaults, as they were on the command line.
    pub fn command_line(&self) -> String {
        let defaults = match self.name {
            "ycsb" => settings(YcsbOptions::default().list()),
            "counters" => settings(CountersOptions::default().list()),
            _ => Settings::new(),
        };
        let changed =
            self.options.iter().filter(|(name, value)| defaults.get(*name) != Some(value));
        let mut line = self.name.to_owned();
        for (name, value) in changed {
            match value.to_string().as_str() {
                "true" => line.push_str(&format!(" --{name}")),
                "false" => line.push_str(&format!(" --no-{name}")),
                value => line.push_str(&format!(" --{name} {value}")),
            }
        }
        line
    }
}

/// Something to do with a workload that is known by name only at run time.
pub trait Task {
    /// What comes of it.
    type Output;
    /// Does it with `workload`.
    fn perform<W: Workload>(self, workload: &W, facts: &Facts) -> Result<Self::Output, Failure>;
}

impl<C: Args> WorkloadCommand<C> {
    /// The options of the command.
    pub fn command(&self) -> &C {
        match self {
            WorkloadCommand::Ycsb { command, .. }
            | WorkloadCommand::Counters { command, .. }
            | WorkloadCommand::Timestamps { command } => command,
        }
    }

    /// Makes the workload and does `task` with it.
    pub fn perform<T: Task>(&self, defaults: Defaults, task: T) -> Result<T::Output, Failure> {
        let refused = |error: OptionError| {
            let dashes = if error.option.contains(' ') { "" } else { "--" };
            Failure::refused(format!("{dashes}{error}"))
        };
        match self {
            WorkloadCommand::Ycsb { options, .. } => {
                let options = options.over(defaults.ycsb);
                let facts = Facts { name: "ycsb", options: settings(options.list()) };
                task.perform(&Ycsb::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::Counters { options, .. } => {
                let options = options.over(defaults.counters);
                let facts = Facts { name: "counters", options: settings(options.list()) };
                task.perform(&Counters::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::Timestamps { .. } => {
                let facts = Facts { name: "timestamps", options: Settings::new() };
                task.perform(&Timestamps, &facts)
            }
        }
    }
}

/// YCSB's options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct YcsbArguments {
    /// Rows of the table [default: 1M]
    #[arg(long, value_name = "N", value_parser = whole)]
    records: Option<u64>,
    /// Fields of a row [default: 10]
    #[arg(long, value_name = "N", value_parser = whole)]
    fields: Option<u64>,
    /// Bytes of a field [default: 100]
    #[arg(long, value_name = "N", value_parser = whole)]
    field_bytes: Option<u64>,
    /// Skew of the keys, from 0 (uniform) to less than 1 [default: 0; compare: 0.6]
    #[arg(long, value_name = "X", value_parser = real)]
    theta: Option<f64>,
    /// Share of accesses that are reads, 0 to 1; the others are updates [default: 1; compare: 0.5]
    #[arg(long, value_name = "X", value_parser = real)]
    read_ratio: Option<f64>,
    /// Accesses of a transaction [default: 16]
    #[arg(long, value_name = "N", value_parser = whole)]
    accesses: Option<u64>,
    /// An update reads the field first, and writes what it makes of it
    #[arg(long)]
    read_modify_write: bool,
    /// A transaction may access a key twice
    #[arg(long)]
    no_distinct: bool,
    /// Don't announce a transaction's keys before the first access
    #[arg(long)]
    no_prefetch: bool,
    /// Declare transactions that drew no update read-only at their begin
    #[arg(long)]
    declare_read_only: bool,
}

impl YcsbArguments {
    fn over(&self, default: YcsbOptions) -> YcsbOptions {
        YcsbOptions {
            records: self.records.unwrap_or(default.records),
            fields: self.fields.unwrap_or(default.fields),
            field_bytes: self.field_bytes.unwrap_or(default.field_bytes),
            theta: self.theta.unwrap_or(default.theta),
            read_ratio: self.read_ratio.unwrap_or(default.read_ratio),
            accesses: self.accesses.unwrap_or(default.accesses),
            read_modify_write: self.read_modify_write || default.read_modify_write,
            distinct: !self.no_distinct && default.distinct,
            prefetch: !self.no_prefetch && default.prefetch,
            declare_read_only: self.declare_read_only || default.declare_read_only,
        }
    }
}

/// The counters' options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct CountersArguments {
    /// How many counters there are [default: 64; compare: 4096]
    #[arg(long, value_name = "N", value_parser = whole)]
    counters: Option<u64>,
    /// Tables that they are spread over [default: 1]
    #[arg(long, value_name = "N", value_parser = whole)]
    tables: Option<u64>,
    /// Counters of an increment or of a sum [default: 2]
    #[arg(long, value_name = "N", value_parser = whole)]
    accesses: Option<u64>,
    /// Skew of the choice, from 0 (uniform) to less than 1 [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    theta: Option<f64>,
    /// An increment may add to a counter twice
    #[arg(long)]
    no_distinct: bool,
    /// Read plainly, then update: a locking protocol has to upgrade its lock
    #[arg(long)]
    lock_upgrade: bool,
    /// Share of the procedures that are transfers [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    transfers: Option<f64>,
    /// Share of the procedures that are sums [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    sums: Option<f64>,
    /// Share of the procedures that are moves; what the shares leave are increments [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    moves: Option<f64>,
    /// Tokens, when there are moves [default: 0]
    #[arg(long, value_name = "N", value_parser = whole)]
    tokens: Option<u64>,
}

impl CountersArguments {
    fn over(&self, default: CountersOptions) -> CountersOptions {
        CountersOptions {
            counters: self.counters.unwrap_or(default.counters),
            tables: self.tables.unwrap_or(default.tables),
            accesses: self.accesses.unwrap_or(default.accesses),
            theta: self.theta.unwrap_or(default.theta),
            distinct: !self.no_distinct && default.distinct,
            lock_upgrade: self.lock_upgrade || default.lock_upgrade,
            transfers: self.transfers.unwrap_or(default.transfers),
            sums: self.sums.unwrap_or(default.sums),
            moves: self.moves.unwrap_or(default.moves),
            tokens: self.tokens.unwrap_or(default.tokens),
        }
    }
}
