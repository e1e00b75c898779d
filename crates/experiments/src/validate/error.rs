//! Defines the errors that prevent a validation, each with a one-line message.

use harness::run::HarnessError;
use simulator::DescriptionError;
use std::fmt;

/// Reason why a validation failed.
#[derive(Debug)]
pub enum ValidateError {
    /// A file that can't be read.
    Unreadable {
        /// Path of the file.
        file: String,
        /// Error reported by the system.
        reason: String,
    },
    /// Required columns are missing.
    MissingColumns {
        /// Path of the file.
        file: String,
        /// Names of the columns.
        missing: Vec<&'static str>,
    },
    /// A value that a column does not allow.
    BadValue {
        /// Path of the file.
        file: String,
        /// Line number, counted from 1.
        line: usize,
        /// Name of the column.
        column: &'static str,
        /// Value that was given.
        given: String,
        /// Values that are allowed.
        allowed: String,
    },
    /// A line with too few or too many values.
    RaggedLine {
        /// Path of the file.
        file: String,
        /// Line number, counted from 1.
        line: usize,
        /// Number of values in the line.
        values: usize,
        /// Number of values in the first line.
        columns: usize,
    },
    /// A `hardware.toml`, or the `numa_slit.csv` beside it, that describes no machine.
    BadHardware {
        /// Path of the file.
        file: String,
        /// Key or line.
        key: String,
        /// The problem, and what is allowed.
        problem: String,
    },
    /// A file without a single row.
    NoRows {
        /// Path of the file.
        file: String,
    },
    /// There are rows, but none of them can be simulated.
    NothingLeft {
        /// Path of the file.
        file: String,
        /// Reasons, with counts.
        skipped: String,
    },
    /// An error in a machine file.
    Machine(DescriptionError),
    /// A simulation failed.
    Simulation {
        /// Title of the simulation.
        what: String,
        /// The error.
        error: HarnessError,
    },
    /// The validation was stopped before any row was simulated.
    Interrupted,
}

impl fmt::Display for ValidateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValidateError::Unreadable { file, reason } => write!(
                f,
                "cannot read {file}: {reason}; allowed: a directory with a throughput.csv"
            ),
            ValidateError::MissingColumns { file, missing } => {
                write!(f, "{file}, line 1: no column {}", missing.join(", "))
            }
            ValidateError::BadValue { file, line, column, given, allowed } => {
                write!(f, "{file}, line {line}: {column} is {given:?}; allowed: {allowed}")
            }
            ValidateError::RaggedLine { file, line, values, columns } => {
                write!(f, "{file}, line {line}: {values} values; allowed: {columns}, as in line 1")
            }
            ValidateError::BadHardware { file, key, problem } => {
                write!(f, "{file}: {key}: {problem}")
            }
            ValidateError::NoRows { file } => write!(f, "{file}: no rows below line 1"),
            ValidateError::NothingLeft { file, skipped } => {
                write!(f, "{file}: no row that can be simulated ({skipped})")
            }
            ValidateError::Machine(error) => error.fmt(f),
            ValidateError::Simulation { what, error } => write!(f, "{what}: {error}"),
            ValidateError::Interrupted => f.write_str("interrupted before a row was simulated"),
        }
    }
}

impl std::error::Error for ValidateError {}

impl From<DescriptionError> for ValidateError {
    fn from(error: DescriptionError) -> ValidateError {
        ValidateError::Machine(error)
    }
}
