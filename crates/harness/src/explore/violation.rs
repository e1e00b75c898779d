//! Defines the violations that a schedule can show.

use checker::Certificate;
use machine::RunError;
use std::fmt;

/// A violation in a schedule.
#[derive(Debug)]
pub enum Violation {
    /// The history does not satisfy the protocol's promise.
    Certificate(Box<Certificate>),
    /// The workload's conservation law does not hold.
    Conservation(String),
    /// The oldest transaction died.
    OldestDied {
        /// Timestamp of the transaction.
        timestamp: u64,
    },
    /// A transaction that must come before another has a later epoch.
    EpochOrder {
        /// The transaction that must come first, and its epoch.
        first: (txn::TxnId, u64),
        /// The other transaction, and its epoch.
        second: (txn::TxnId, u64),
    },
    /// Transactions were deadlock victims in a workload that can have no deadlocks.
    FalseDeadlock {
        /// Number of victims.
        victims: u64,
    },
    /// More transactions were admitted at the same time than the limit allows.
    Overadmitted {
        /// Largest number of transactions that were admitted at the same time.
        admitted: usize,
        /// Largest limit in force.
        limit: usize,
    },
    /// The run did not end.
    Stuck(RunError),
    /// Values outside records are lost or in two places.
    Memory(String),
    /// The run panicked.
    Panic(String),
}

impl Violation {
    /// Returns the detector's name, as reports print it.
    pub fn detector(&self) -> &'static str {
        match self {
            Violation::Certificate(_) => "certificate",
            Violation::Conservation(_) => "conservation law",
            Violation::OldestDied { .. } => "the oldest never dies",
            Violation::EpochOrder { .. } => "epoch order",
            Violation::FalseDeadlock { .. } => "no false deadlock",
            Violation::Overadmitted { .. } => "admission",
            Violation::Stuck(_) => "progress",
            Violation::Memory(_) => "memory",
            Violation::Panic(_) => "panic",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Certificate(certificate) => match &certificate.counterexample {
                Some(counterexample) => counterexample.fmt(f),
                None => write!(f, "serializable: {}", certificate.serializable),
            },
            Violation::Conservation(law) => f.write_str(law),
            Violation::OldestDied { timestamp } => {
                write!(f, "the transaction with timestamp {timestamp} died, and none was older")
            }
            Violation::EpochOrder { first, second } => write!(
                f,
                "{} must come before {}, but committed in epoch {} and the other in epoch {}",
                first.0, second.0, first.1, second.1
            ),
            Violation::FalseDeadlock { victims } => {
                write!(f, "{victims} victims of deadlocks, though all locks are taken in one order")
            }
            Violation::Overadmitted { admitted, limit } => {
                write!(
                    f,
                    "{admitted} transactions were admitted at the same time, under a limit of {limit}"
                )
            }
            Violation::Stuck(error) => error.fmt(f),
            Violation::Memory(message) | Violation::Panic(message) => f.write_str(message),
        }
    }
}
