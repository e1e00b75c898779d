//! Describes the origin of a record: the program, the time, the command line, and the load on the host.

use serde::{Deserialize, Serialize};

/// The program, and the way in which it was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// Version of the compiler that built it.
    pub rustc: String,
    /// Profile of the build: `release` or `debug`.
    pub profile: String,
    /// Begin of the measurement in UTC, in the form `2026-01-31T23:59:59Z`.
    pub date: String,
    /// Words of the command line, quoted for a shell.
    pub command_line: String,
}

/// Load on the host, including the time of loading and of certification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostLoad {
    /// Mean number over one minute of processes that ran or wanted to run, at the begin. It may include this program.
    pub load_average_at_begin: f64,
    /// The same number at the end.
    pub load_average_at_end: f64,
    /// Share of the processors' time that others took during the run, 0 to 1. Others are other processes, the system
    /// on their behalf, and other guests of the hardware. None if the run was too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
}

impl HostLoad {
    /// Share of the processors above which others disturb native measurements.
    pub const DISTURBING: f64 = 0.05;
}
