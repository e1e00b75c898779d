//! How the program ends: well, or with one line about why not.

use harness::record::RecordError;
use harness::run::HarnessError;
use simulator::DescriptionError;
use std::fmt;
use std::process::ExitCode;

/// How a command that ran came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// Everything as it should be.
    Good = 0,
    /// A promise was broken, or a planted bug was not found.
    Broken = 1,
    /// Nothing was done, because of what was asked for.
    Refused = 2,
    /// Stopped by the user; what was measured is kept. The number is what shells expect after Ctrl-C.
    Interrupted = 130,
}

impl Ending {
    /// The process's exit code.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}

/// Why a command did not run. Displays as one line that names the input and what is allowed.
#[derive(Debug)]
pub enum Failure {
    /// What was asked for can't be done.
    Refused(String),
    /// Who read the output has gone: nothing to complain about.
    ReaderGone,
}

impl Failure {
    /// What was asked for can't be done.
    pub fn refused(message: impl Into<String>) -> Failure {
        Failure::Refused(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Whoever wrote the message: it is one line.
            Failure::Refused(message) => f.write_str(&message.replace('\n', "; ")),
            Failure::ReaderGone => f.write_str("the output's reader has gone"),
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Failure {
        Failure::refused(error.to_string())
    }
}

impl From<HarnessError> for Failure {
    fn from(error: HarnessError) -> Failure {
        let text = error.to_string();
        // An arena knows bytes, not what they are for.
        Failure::refused(match text.starts_with("out of memory") {
            true => format!("the workload's tables do not fit into the machine: {text}"),
            false => text,
        })
    }
}

impl From<DescriptionError> for Failure {
    fn from(error: DescriptionError) -> Failure {
        Failure::refused(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::refused(format!("cannot write the output: {error}")),
        }
    }
}
