//! What can go wrong in a schedule.

use checker::Certificate;
use machine::RunError;
use std::fmt;

/// What can go wrong.
#[derive(Debug)]
pub enum Violation {
    /// The history is not what the protocol promises.
    Certificate(Box<Certificate>),
    /// The workload's law does not hold.
    Conservation(String),
    /// A transaction died although it was the oldest.
    OldestDied {
        /// Its timestamp.
        timestamp: u64,
    },
    /// Of two transactions one must come first, and bears the later epoch.
    EpochOrder {
        /// The one that must come first, and its epoch.
        first: (txn::TxnId, u64),
        /// The other, and its epoch.
        second: (txn::TxnId, u64),
    },
    /// Transactions were made victims of deadlocks in a workload that can have none.
    FalseDeadlock {
        /// How many.
        victims: u64,
    },
    /// The run came to no end.
    Stuck(RunError),
    /// Something panicked.
    Panic(String),
}

impl Violation {
    /// The detector's name, as reports print it.
    pub fn detector(&self) -> &'static str {
        match self {
            Violation::Certificate(_) => "certificate",
            Violation::Conservation(_) => "conservation law",
            Violation::OldestDied { .. } => "the oldest never dies",
            Violation::EpochOrder { .. } => "epoch order",
            Violation::FalseDeadlock { .. } => "no false deadlock",
            Violation::Stuck(_) => "progress",
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
            Violation::Stuck(error) => error.fmt(f),
            Violation::Panic(message) => f.write_str(message),
        }
    }
}
