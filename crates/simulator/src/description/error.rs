//! What is wrong with a machine file, in one line.

use std::fmt;

/// A machine file that can't be used. Displays as one line: file, line, key, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescriptionError {
    /// No machine of this name is built in, and no such file exists.
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in machine whose name comes closest.
        nearest: &'static str,
        /// Names of the built-in machines.
        known: Vec<&'static str>,
    },
    /// The file can't be read.
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// A value is missing, unknown, or outside of what is allowed.
    Invalid {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The key, with its table, for example `l1.size_kib`.
        key: String,
        /// What is wrong, and what is allowed.
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
