//! The certificate: the verdicts that stand beside a throughput.

use crate::Counterexample;
use std::fmt;
use txn::History;

/// The outcome of one question about a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not hold.
    Fail,
    /// It was not asked.
    NotChecked,
}

impl Verdict {
    pub(crate) fn from_passed(passed: bool) -> Verdict {
        if passed { Verdict::Pass } else { Verdict::Fail }
    }

    /// The words used in tables and run records: `pass`, `fail`, `not checked`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::NotChecked => "not checked",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What to check, and equally what a protocol promises.
///
/// A protocol that promises serializability alone may well be asked about strictness too:
/// check with [`Requirements::STRICT`], then ask [`Certificate::satisfies`] with the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirements {
    /// Equivalent to some serial execution (Adya's PL-3; his predicates are ranges of keys).
    pub serializable: bool,
    /// Equivalent to a serial execution that keeps real-time order: a transaction that ended before
    /// another began comes first (Papadimitriou 1979; Bernstein, Hadzilacos & Goodman 1987).
    pub strict: bool,
}

impl Requirements {
    /// Asks for nothing.
    pub const NOTHING: Requirements = Requirements { serializable: false, strict: false };
    /// Serializability alone.
    pub const SERIALIZABLE: Requirements = Requirements { serializable: true, strict: false };
    /// Serializability and real-time order.
    pub const STRICT: Requirements = Requirements { serializable: true, strict: true };
}

/// How many dependencies were found, by kind. Two transactions may depend on each other through
/// several records; each counts. Dependencies on the loader don't count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Write dependencies: the version order.
    pub ww: u64,
    /// Read dependencies.
    pub wr: u64,
    /// Anti-dependencies.
    pub rw: u64,
}

impl EdgeCounts {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.ww + self.wr + self.rw
    }
}

/// What [`check`](crate::check) found out about a history.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Is it equivalent to a serial execution?
    pub serializable: Verdict,
    /// Is it equivalent to a serial execution that keeps real-time order?
    pub strict: Verdict,
    /// Committed transactions.
    pub transactions: u64,
    /// Their reads.
    pub reads: u64,
    /// Their writes.
    pub writes: u64,
    /// Dependencies between them.
    pub edges: EdgeCounts,
    /// Number of [`Defect`](crate::Defect)s, of which the counter-example shows the earliest.
    pub defects: u64,
    /// Why something failed; none when nothing did.
    pub counterexample: Option<Counterexample>,
}

impl Certificate {
    /// The certificate of a run whose history is not to be checked.
    pub fn unchecked(history: &History) -> Certificate {
        Certificate {
            serializable: Verdict::NotChecked,
            strict: Verdict::NotChecked,
            transactions: history.len() as u64,
            reads: history.workers.iter().map(|w| w.reads.len() as u64).sum(),
            writes: history.workers.iter().map(|w| w.writes.len() as u64).sum(),
            edges: EdgeCounts::default(),
            defects: 0,
            counterexample: None,
        }
    }

    /// True when everything that was `promised` was checked and passed.
    pub fn satisfies(&self, promised: Requirements) -> bool {
        (!promised.serializable || self.serializable == Verdict::Pass)
            && (!promised.strict || self.strict == Verdict::Pass)
    }

    /// Has the counter-example, if any, end with the command that replays it.
    pub fn with_replay(mut self, command: impl Into<String>) -> Certificate {
        if let Some(counterexample) = &mut self.counterexample {
            counterexample.replay = Some(command.into());
        }
        self
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "serializable: {}, strict: {} ({} transactions, {} reads, {} writes, {} dependencies)",
            self.serializable,
            self.strict,
            self.transactions,
            self.reads,
            self.writes,
            self.edges.total()
        )?;
        match &self.counterexample {
            Some(counterexample) => write!(f, "\n{counterexample}"),
            None => Ok(()),
        }
    }
}
