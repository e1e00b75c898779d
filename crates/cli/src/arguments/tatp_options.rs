//! TATP's options, set over its defaults.

use super::numbers::{real, whole};
use clap::Args;
use workloads::tatp::{PRESETS, TatpOptions};

/// TATP's options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct TatpArguments {
    /// Settings by name, to which further options are changes
    #[arg(long, value_name = "NAME", value_parser = PRESETS.map(|(name, _)| name))]
    preset: Option<String>,
    /// Subscribers [default: 100k]
    #[arg(long, value_name = "N", value_parser = whole)]
    subscribers: Option<u64>,
    /// Draw every subscriber as often as any other
    #[arg(long)]
    uniform: bool,
    /// Share of GET_SUBSCRIBER_DATA [default: 0.35]
    #[arg(long, value_name = "X", value_parser = real)]
    get_subscriber_data: Option<f64>,
    /// Share of GET_NEW_DESTINATION [default: 0.10]
    #[arg(long, value_name = "X", value_parser = real)]
    get_new_destination: Option<f64>,
    /// Share of GET_ACCESS_DATA [default: 0.35]
    #[arg(long, value_name = "X", value_parser = real)]
    get_access_data: Option<f64>,
    /// Share of UPDATE_SUBSCRIBER_DATA [default: 0.02]
    #[arg(long, value_name = "X", value_parser = real)]
    update_subscriber_data: Option<f64>,
    /// Share of UPDATE_LOCATION [default: 0.14]
    #[arg(long, value_name = "X", value_parser = real)]
    update_location: Option<f64>,
    /// Share of INSERT_CALL_FORWARDING; what the shares leave is DELETE_CALL_FORWARDING [default: 0.02]
    #[arg(long, value_name = "X", value_parser = real)]
    insert_call_forwarding: Option<f64>,
    /// Partitions, by subscriber modulo their number [default: 1]
    #[arg(long, value_name = "N", value_parser = whole)]
    partitions: Option<u64>,
    /// Keep books of what is inserted, deleted and moved: one more row is written
    #[arg(long)]
    audit: bool,
}

impl TatpArguments {
    /// `default`, or the preset, with what was said in its place.
    pub fn over(&self, default: TatpOptions) -> TatpOptions {
        let default = self.preset.as_deref().and_then(TatpOptions::preset).unwrap_or(default);
        let update = self.update_subscriber_data.unwrap_or(default.update_subscriber_data);
        let insert = self.insert_call_forwarding.unwrap_or(default.insert_call_forwarding);
        TatpOptions {
            subscribers: self.subscribers.unwrap_or(default.subscribers),
            uniform: self.uniform || default.uniform,
            get_subscriber_data: self.get_subscriber_data.unwrap_or(default.get_subscriber_data),
            get_new_destination: self.get_new_destination.unwrap_or(default.get_new_destination),
            get_access_data: self.get_access_data.unwrap_or(default.get_access_data),
            update_subscriber_data: update,
            update_location: self.update_location.unwrap_or(default.update_location),
            insert_call_forwarding: insert,
            partitions: self.partitions.unwrap_or(default.partitions),
            audit: self.audit || default.audit,
        }
    }
}
