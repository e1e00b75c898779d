//! The options of the micro-benchmarks that papers describe, each set of them over its defaults.

use super::numbers::{real, whole};
use clap::Args;
use workloads::micro::hot_cold::{self, HotColdOptions};
use workloads::micro::key_value::{self, KeyValueOptions};
use workloads::micro::long_reader::LongReaderOptions;
use workloads::micro::sites::{self, SitesOptions};

/// The options of hot and cold records.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct HotColdArguments {
    /// Settings by name, to which further options are changes
    #[arg(long, value_name = "NAME", value_parser = hot_cold::PRESETS.map(|(name, _)| name))]
    preset: Option<String>,
    /// Records [default: 1M]
    #[arg(long, value_name = "N", value_parser = whole)]
    records: Option<u64>,
    /// How many of them are hot [default: 16]
    #[arg(long, value_name = "N", value_parser = whole)]
    hot_records: Option<u64>,
    /// Hot records are next to one another; else they are spread over the table
    #[arg(long)]
    packed: bool,
    /// Records of a transaction [default: 10]
    #[arg(long, value_name = "N", value_parser = whole)]
    accesses: Option<u64>,
    /// How many of them are hot ones [default: 2]
    #[arg(long, value_name = "N", value_parser = whole)]
    hot_accesses: Option<u64>,
    /// How many of the cold ones are other partitions' [default: 0]
    #[arg(long, value_name = "N", value_parser = whole)]
    remote: Option<u64>,
    /// Partitions, equal ranges of keys [default: 1]
    #[arg(long, value_name = "N", value_parser = whole)]
    partitions: Option<u64>,
    /// Update the records; else they are read
    #[arg(long)]
    updates: bool,
    /// A transaction accesses its records in the order of their keys
    #[arg(long)]
    key_order: bool,
}

impl HotColdArguments {
    /// `default`, or the preset, with what was said in its place.
    pub fn over(&self, default: HotColdOptions) -> HotColdOptions {
        let default = self.preset.as_deref().and_then(HotColdOptions::preset).unwrap_or(default);
        HotColdOptions {
            records: self.records.unwrap_or(default.records),
            hot_records: self.hot_records.unwrap_or(default.hot_records),
            packed: self.packed || default.packed,
            accesses: self.accesses.unwrap_or(default.accesses),
            hot_accesses: self.hot_accesses.unwrap_or(default.hot_accesses),
            remote: self.remote.unwrap_or(default.remote),
            partitions: self.partitions.unwrap_or(default.partitions),
            updates: self.updates || default.updates,
            key_order: self.key_order || default.key_order,
        }
    }
}

/// The options of rows of sites.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct SitesArguments {
    /// Settings by name, to which further options are changes
    #[arg(long, value_name = "NAME", value_parser = sites::PRESETS.map(|(name, _)| name))]
    preset: Option<String>,
    /// Sites, each of them a partition [default: 24]
    #[arg(long, value_name = "N", value_parser = whole)]
    sites: Option<u64>,
    /// Rows of a site [default: 10k]
    #[arg(long, value_name = "N", value_parser = whole)]
    site_rows: Option<u64>,
    /// Bytes of a row [default: 250]
    #[arg(long, value_name = "N", value_parser = whole)]
    row_bytes: Option<u64>,
    /// Rows of a transaction [default: 10]
    #[arg(long, value_name = "N", value_parser = whole)]
    accesses: Option<u64>,
    /// Share of the transactions that are multisite, 0 to 1 [default: 0.2]
    #[arg(long, value_name = "X", value_parser = real)]
    multisite: Option<f64>,
    /// Skew of the rows, from 0 (uniform) to less than 1 [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    theta: Option<f64>,
    /// Update the rows; else they are read
    #[arg(long)]
    updates: bool,
}

impl SitesArguments {
    /// `default`, or the preset, with what was said in its place.
    pub fn over(&self, default: SitesOptions) -> SitesOptions {
        let default = self.preset.as_deref().and_then(SitesOptions::preset).unwrap_or(default);
        SitesOptions {
            sites: self.sites.unwrap_or(default.sites),
            site_rows: self.site_rows.unwrap_or(default.site_rows),
            row_bytes: self.row_bytes.unwrap_or(default.row_bytes),
            accesses: self.accesses.unwrap_or(default.accesses),
            multisite: self.multisite.unwrap_or(default.multisite),
            theta: self.theta.unwrap_or(default.theta),
            updates: self.updates || default.updates,
        }
    }
}

/// The options of keys and values.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct KeyValueArguments {
    /// Settings by name, to which further options are changes
    #[arg(long, value_name = "NAME", value_parser = key_value::PRESETS.map(|(name, _)| name))]
    preset: Option<String>,
    /// Rows of the table [default: 1M]
    #[arg(long, value_name = "N", value_parser = whole)]
    records: Option<u64>,
    /// Rows of a transaction [default: 1]
    #[arg(long, value_name = "N", value_parser = whole)]
    accesses: Option<u64>,
    /// Update the rows; else they are read
    #[arg(long)]
    updates: bool,
    /// Values are strings of 50 bytes; else numbers of 8
    #[arg(long)]
    strings: bool,
}

impl KeyValueArguments {
    /// `default`, or the preset, with what was said in its place.
    pub fn over(&self, default: KeyValueOptions) -> KeyValueOptions {
        let default = self.preset.as_deref().and_then(KeyValueOptions::preset).unwrap_or(default);
        KeyValueOptions {
            records: self.records.unwrap_or(default.records),
            accesses: self.accesses.unwrap_or(default.accesses),
            updates: self.updates || default.updates,
            strings: self.strings || default.strings,
        }
    }
}

/// The long readers' options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct LongReaderArguments {
    /// Rows of the table [default: 100k]
    #[arg(long, value_name = "N", value_parser = whole)]
    records: Option<u64>,
    /// Sections, one of which a long reader scans [default: 10]
    #[arg(long, value_name = "N", value_parser = whole)]
    sections: Option<u64>,
    /// Bytes of a row beside its amount [default: 92]
    #[arg(long, value_name = "N", value_parser = whole)]
    filler_bytes: Option<u64>,
    /// Workers that are long readers, the others only update; 0 binds none [default: 1]
    #[arg(long, value_name = "N", value_parser = whole)]
    long_readers: Option<u64>,
    /// Share of the transactions that are long readers, where no worker is bound [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    long_share: Option<f64>,
    /// Skew of an update's rows within their section, from 0 (uniform) to less than 1 [default: 0]
    #[arg(long, value_name = "X", value_parser = real)]
    theta: Option<f64>,
}

impl LongReaderArguments {
    /// `default`, with what was said in its place.
    pub fn over(&self, default: LongReaderOptions) -> LongReaderOptions {
        LongReaderOptions {
            records: self.records.unwrap_or(default.records),
            sections: self.sections.unwrap_or(default.sections),
            filler_bytes: self.filler_bytes.unwrap_or(default.filler_bytes),
            long_readers: self.long_readers.unwrap_or(default.long_readers),
            long_share: self.long_share.unwrap_or(default.long_share),
            theta: self.theta.unwrap_or(default.theta),
        }
    }
}
