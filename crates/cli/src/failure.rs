//! Defines how the program ends: with an exit code, and with a one-line message after a failure.

use harness::run::HarnessError;
use harness::run_record::RecordError;
use simulator::DescriptionError;
use std::fmt;
use std::process::ExitCode;

/// Result of a command that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// Everything is as expected.
    Good = 0,
    /// A promise was broken, or a planted bug was not found.
    Broken = 1,
    /// Nothing was done, because the request was not valid.
    Refused = 2,
    /// Stopped by the user. Finished measurements are kept. The number is what shells expect after Ctrl-C.
    Interrupted = 130,
}

impl Ending {
    /// Returns the process's exit code.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}

/// Reason why a command did not run. Displays as one line that names the input and the allowed values.
#[derive(Debug)]
pub enum Failure {
    /// The request can't be satisfied.
    Refused(String),
    /// The reader of the output has closed it. This is not an error.
    ReaderGone,
}

impl Failure {
    /// Creates a failure for a request that can't be satisfied.
    pub fn refused(message: impl Into<String>) -> Failure {
        Failure::Refused(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The message must be one line, regardless of its source.
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
        // The arena's error does not say what the bytes are for.
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
