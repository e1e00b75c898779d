//! Errors of machine files, each in one line.

use std::fmt;

/// Reason why a machine file cannot be used. It is displayed as one line: file, line, key, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescriptionError {
    /// No machine of this name is built in, and no file with this name exists.
    Unknown {
        /// Name that was requested.
        name: String,
        /// Built-in machine with the most similar name.
        nearest: &'static str,
        /// Names of the built-in machines.
        known: Vec<&'static str>,
    },
    /// The file cannot be read.
    Unreadable {
        /// Name of the file.
        file: String,
        /// Message of the system.
        reason: String,
    },
    /// A value is missing, unknown, or outside of what is allowed.
    Invalid {
        /// Name of the file.
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// Key, with its table, for example `l1.size_kib`.
        key: String,
        /// The problem, and the values that are allowed.
        problem: String,
    },
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DescriptionError::Unknown { name, nearest, known } => {
                write!(
                    f,
                    "unknown machine '{name}': did you mean '{nearest}'? known are {}, or a path to a .toml file",
                    known.join(", ")
                )
            }
            DescriptionError::Unreadable { file, reason } => write!(f, "{file}: {reason}"),
            DescriptionError::Invalid { file, line, key, problem } => {
                write!(f, "{file}:{line}: {key}: {problem}")
            }
        }
    }
}

impl std::error::Error for DescriptionError {}
