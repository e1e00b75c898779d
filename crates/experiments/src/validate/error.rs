//! What keeps a validation from running, in one line each.

use harness::run::HarnessError;
use simulator::DescriptionError;
use std::fmt;

/// A validation that can't run.
#[derive(Debug)]
pub enum ValidateError {
    /// A file that can't be read.
    Unreadable {
        /// Its path.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// Columns that must be there.
    MissingColumns {
        /// The file.
        file: String,
        /// Their names.
        missing: Vec<&'static str>,
    },
    /// A value that a column does not allow.
    BadValue {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The column.
        column: &'static str,
        /// What stands there.
        given: String,
        /// What may stand there.
        allowed: String,
    },
    /// A line with too few or too many values.
    RaggedLine {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// Values there.
        values: usize,
        /// Values in the first line.
        columns: usize,
    },
    /// A file without a single row.
    NoRows {
        /// The file.
        file: String,
    },
    /// Rows, but none that can be simulated.
    NothingLeft {
        /// The file.
        file: String,
        /// Why, with counts.
        skipped: String,
    },
    /// A machine file.
    Machine(DescriptionError),
    /// A simulation.
    Simulation {
        /// Which.
        what: String,
        /// What happened.
        error: HarnessError,
    },
    /// It was stopped before a single row was simulated.
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
