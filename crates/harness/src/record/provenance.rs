//! Where a record comes from: which program, when, how it was started, and what else the host did.

use serde::{Deserialize, Serialize};

/// The program, and how it was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// Version of the compiler that built it.
    pub rustc: String,
    /// Profile of the build: `release` or `debug`.
    pub profile: String,
    /// When this was measured: the begin, in UTC, `2026-01-31T23:59:59Z`.
    pub date: String,
    /// The words of the command line, quoted as a shell wants them.
    pub command_line: String,
}

/// What others did on the host beside this program, loading and certificate included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostLoad {
    /// Processes that ran or wanted to, the mean over a minute, at the begin. This program may be among them.
    pub load_average_at_begin: f64,
    /// The same at the end.
    pub load_average_at_end: f64,
    /// Share of the processors' time that others took meanwhile, 0 to 1: other processes, the system on their behalf, other
    /// guests of the hardware. None where it was too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
}

impl HostLoad {
    /// The share of the processors from which on others disturb what is measured natively.
    pub const DISTURBING: f64 = 0.05;
}
