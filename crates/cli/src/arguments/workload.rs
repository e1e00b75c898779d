//! Workloads by name, each with its own options.

use super::bank_options::{SmallBankArguments, TpcbArguments};
use super::micro_options::{
    HotColdArguments, KeyValueArguments, LongReaderArguments, SitesArguments,
};
use super::tatp_options::TatpArguments;
use super::tpcc_options::TpccArguments;
use super::workload_options::{
    CountersArguments, RangesArguments, RoomsArguments, TpccAccessesArguments, YcsbArguments,
};
use crate::failure::Failure;
use clap::{Args, Subcommand};
use harness::record::{Settings, settings};
use txn::Workload;
use workloads::OptionError;
use workloads::micro::counters::{Counters, CountersOptions};
use workloads::micro::hot_cold::{HotCold, HotColdOptions};
use workloads::micro::key_value::{KeyValue, KeyValueOptions};
use workloads::micro::long_reader::{LongReader, LongReaderOptions};
use workloads::micro::ranges::{Ranges, RangesOptions};
use workloads::micro::rooms::{Rooms, RoomsOptions};
use workloads::micro::sites::{Sites, SitesOptions};
use workloads::micro::timestamps::Timestamps;
use workloads::smallbank::{SmallBank, SmallBankOptions};
use workloads::tatp::{Tatp, TatpOptions};
use workloads::tpcb::{Tpcb, TpcbOptions};
use workloads::tpcc::{Tpcc, TpccOptions};
use workloads::tpcc_accesses::{TpccAccesses, TpccAccessesOptions};
use workloads::ycsb::{Ycsb, YcsbOptions};

/// A workload, its options, and those of the command.
#[derive(Debug, Subcommand)]
pub enum WorkloadCommand<C: Args> {
    /// Independent reads, updates, inserts and scans of one table; YCSB's A to F are presets
    #[command(
        after_help = "Example: kilocore run ycsb --cc SILO --records 1M --theta 0.6 --read-ratio 0.5\n         kilocore run ycsb --preset e --records 100k"
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
    /// Scans, and inserts and deletes that depend on them, under laws that a phantom breaks
    #[command(
        after_help = "Example: kilocore run ranges --cc NO_WAIT --keys 4096 --span 16 --certify"
    )]
    Ranges {
        /// Options of the workload.
        #[command(flatten)]
        options: RangesArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// People found through secondary indexes that others change, under laws that an index breaks
    #[command(
        after_help = "Example: kilocore run rooms --cc NO_WAIT --people 10000 --rooms 1000 --certify"
    )]
    Rooms {
        /// Options of the workload.
        #[command(flatten)]
        options: RoomsArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// TPC-C: five transactions on the nine tables of a wholesale supplier
    #[command(
        after_help = "Example: kilocore run tpcc --cc SILO,TICTOC --warehouses 4 --mix narrow"
    )]
    Tpcc {
        /// Options of the workload.
        #[command(flatten)]
        options: TpccArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// A stand-in for the accesses of TPC-C's orders and payments: no TPC-C
    #[command(
        after_help = "Example: kilocore run tpcc-accesses --machine superdome-flex --cores 1,56 --warehouses 4"
    )]
    TpccAccesses {
        /// Options of the workload.
        #[command(flatten)]
        options: TpccAccessesArguments,
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
    /// A bank's deposits, checks and payments, among which write skew can happen
    #[command(
        name = "smallbank",
        after_help = "Example: kilocore run smallbank --cc SILO --accounts 18000 --hot-accounts 1000 --hot-share 0.9"
    )]
    SmallBank {
        /// Options of the workload.
        #[command(flatten)]
        options: SmallBankArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// Ten records, some of a hot set, some of other partitions
    #[command(after_help = "Example: kilocore run hot-cold --cc NO_WAIT,SILO --updates")]
    HotCold {
        /// Options of the workload.
        #[command(flatten)]
        options: HotColdArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// N rows of one site, or one of it and the others of all sites
    #[command(
        after_help = "Example: kilocore run sites --cc SILO --sites 24 --multisite 0.2 --updates"
    )]
    Sites {
        /// Options of the workload.
        #[command(flatten)]
        options: SitesArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// 1, 10 or 100 random rows of a table of keys and values
    #[command(after_help = "Example: kilocore run key-value --cc SILO --preset 10mb --accesses 10")]
    KeyValue {
        /// Options of the workload.
        #[command(flatten)]
        options: KeyValueArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// Scans over a tenth of a table beside short updates
    #[command(
        after_help = "Example: kilocore run long-reader --cc MVCC,SILO --machine graphite --cores 16 --long-readers 2"
    )]
    LongReader {
        /// Options of the workload.
        #[command(flatten)]
        options: LongReaderArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// TATP: seven transactions of a mobile network's register, many of which find nothing
    #[command(after_help = "Example: kilocore run tatp --cc SILO --subscribers 100k")]
    Tatp {
        /// Options of the workload.
        #[command(flatten)]
        options: TatpArguments,
        /// Options of the command.
        #[command(flatten)]
        command: C,
    },
    /// TPC-B: an account, a teller and a branch get an amount, the history a row
    #[command(after_help = "Example: kilocore run tpcb --cc NO_WAIT --branches 24 --remote 0.15")]
    Tpcb {
        /// Options of the workload.
        #[command(flatten)]
        options: TpcbArguments,
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
            "ranges" => settings(RangesOptions::default().list()),
            "rooms" => settings(RoomsOptions::default().list()),
            "tpcc" => settings(TpccOptions::default().list()),
            "tpcc-accesses" => settings(TpccAccessesOptions::default().list()),
            "smallbank" => settings(SmallBankOptions::default().list()),
            "hot-cold" => settings(HotColdOptions::default().list()),
            "sites" => settings(SitesOptions::default().list()),
            "key-value" => settings(KeyValueOptions::default().list()),
            "long-reader" => settings(LongReaderOptions::default().list()),
            "tatp" => settings(TatpOptions::default().list()),
            "tpcb" => settings(TpcbOptions::default().list()),
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
            | WorkloadCommand::Ranges { command, .. }
            | WorkloadCommand::Rooms { command, .. }
            | WorkloadCommand::Tpcc { command, .. }
            | WorkloadCommand::TpccAccesses { command, .. }
            | WorkloadCommand::Timestamps { command }
            | WorkloadCommand::SmallBank { command, .. }
            | WorkloadCommand::HotCold { command, .. }
            | WorkloadCommand::Sites { command, .. }
            | WorkloadCommand::KeyValue { command, .. }
            | WorkloadCommand::LongReader { command, .. }
            | WorkloadCommand::Tatp { command, .. }
            | WorkloadCommand::Tpcb { command, .. } => command,
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
            WorkloadCommand::Ranges { options, .. } => {
                let options = options.over(RangesOptions::default());
                let facts = Facts { name: "ranges", options: settings(options.list()) };
                task.perform(&Ranges::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::Rooms { options, .. } => {
                let options = options.over(RoomsOptions::default());
                let facts = Facts { name: "rooms", options: settings(options.list()) };
                task.perform(&Rooms::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::Tpcc { options, .. } => {
                let options = options.options();
                let facts = Facts { name: "tpcc", options: settings(options.list()) };
                task.perform(&Tpcc::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::TpccAccesses { options, .. } => {
                let options = options.over(TpccAccessesOptions::default());
                let facts = Facts { name: "tpcc-accesses", options: settings(options.list()) };
                task.perform(&TpccAccesses::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::Timestamps { .. } => {
                let facts = Facts { name: "timestamps", options: Settings::new() };
                task.perform(&Timestamps, &facts)
            }
            WorkloadCommand::SmallBank { options, .. } => {
                let options = options.over(SmallBankOptions::default());
                let facts = Facts { name: "smallbank", options: settings(options.list()) };
                task.perform(&SmallBank::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::HotCold { options, .. } => {
                let options = options.over(HotColdOptions::default());
                let facts = Facts { name: "hot-cold", options: settings(options.list()) };
                task.perform(&HotCold::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::Sites { options, .. } => {
                let options = options.over(SitesOptions::default());
                let facts = Facts { name: "sites", options: settings(options.list()) };
                task.perform(&Sites::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::KeyValue { options, .. } => {
                let options = options.over(KeyValueOptions::default());
                let facts = Facts { name: "key-value", options: settings(options.list()) };
                task.perform(&KeyValue::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::LongReader { options, .. } => {
                let options = options.over(LongReaderOptions::default());
                let facts = Facts { name: "long-reader", options: settings(options.list()) };
                task.perform(&LongReader::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::Tatp { options, .. } => {
                let options = options.over(TatpOptions::default());
                let facts = Facts { name: "tatp", options: settings(options.list()) };
                task.perform(&Tatp::new(options).map_err(refused)?, &facts)
            }
            WorkloadCommand::Tpcb { options, .. } => {
                let options = options.over(TpcbOptions::default());
                let facts = Facts { name: "tpcb", options: settings(options.list()) };
                task.perform(&Tpcb::new(options).map_err(refused)?, &facts)
            }
        }
    }
}
