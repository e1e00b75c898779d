//! Defines the certificate: the verdicts that are reported next to a throughput.

use crate::Counterexample;
use std::fmt;
use txn::History;

/// The outcome of one question about a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The history has the property.
    Pass,
    /// The history does not have the property.
    Fail,
    /// The property was not checked.
    NotChecked,
}

impl Verdict {
    pub(crate) fn from_passed(passed: bool) -> Verdict {
        if passed { Verdict::Pass } else { Verdict::Fail }
    }

    /// Returns the word used in tables and run records: `pass`, `fail`, `not checked`.
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

/// The levels to check. The same type states what a protocol promises.
///
/// A protocol that promises only serializability can still be checked for strictness. In that case check with
/// [`Requirements::ALL`], then call [`Certificate::satisfies`] with the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirements {
    /// Read committed (Adya's PL-2): no dirty writes, no dirty reads and no circular information flow.
    pub read_committed: bool,
    /// Snapshot isolation (Berenson et al. 1995), with a snapshot of any point in time.
    pub snapshot: bool,
    /// Snapshot isolation, with the snapshot taken when the transaction began (Daudjee and Salem 2006).
    pub strong_snapshot: bool,
    /// Equivalence to a serial execution (Adya's PL-3, where predicates are ranges of keys).
    pub serializable: bool,
    /// Equivalence to a serial execution that keeps real-time order: a transaction that ended before another
    /// one began comes first (Papadimitriou 1979; Bernstein, Hadzilacos & Goodman 1987).
    pub strict: bool,
}

impl Requirements {
    /// Requires nothing.
    pub const NOTHING: Requirements = Requirements {
        read_committed: false,
        snapshot: false,
        strong_snapshot: false,
        serializable: false,
        strict: false,
    };
    /// Requires only read committed.
    pub const READ_COMMITTED: Requirements =
        Requirements { read_committed: true, ..Requirements::NOTHING };
    /// Requires only snapshot isolation.
    pub const SNAPSHOT_ISOLATION: Requirements =
        Requirements { snapshot: true, ..Requirements::NOTHING };
    /// Requires snapshot isolation of the latest snapshot.
    pub const STRONG_SNAPSHOT: Requirements =
        Requirements { strong_snapshot: true, ..Requirements::SNAPSHOT_ISOLATION };
    /// Requires only serializability.
    pub const SERIALIZABLE: Requirements =
        Requirements { serializable: true, ..Requirements::NOTHING };
    /// Requires serializability and real-time order.
    pub const STRICT: Requirements = Requirements { strict: true, ..Requirements::SERIALIZABLE };
    /// Requires every level.
    pub const ALL: Requirements = Requirements {
        read_committed: true,
        snapshot: true,
        strong_snapshot: true,
        serializable: true,
        strict: true,
    };

    /// Returns true if `level` is required.
    pub const fn asks_for(&self, level: Level) -> bool {
        match level {
            Level::ReadCommitted => self.read_committed,
            Level::Snapshot => self.snapshot,
            Level::StrongSnapshot => self.strong_snapshot,
            Level::Serializable => self.serializable,
            Level::Strict => self.strict,
        }
    }
}

/// An isolation level that can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// [`Requirements::read_committed`].
    ReadCommitted,
    /// [`Requirements::snapshot`].
    Snapshot,
    /// [`Requirements::strong_snapshot`].
    StrongSnapshot,
    /// [`Requirements::serializable`].
    Serializable,
    /// [`Requirements::strict`].
    Strict,
}

impl Level {
    /// All levels. Each level implies the levels before it, with an exception: serializability implies only
    /// snapshot isolation of some point in time, without the strong snapshot.
    pub const ALL: [Level; 5] = [
        Level::ReadCommitted,
        Level::Snapshot,
        Level::StrongSnapshot,
        Level::Serializable,
        Level::Strict,
    ];

    /// Returns the description of a history that does not reach this level.
    pub const fn denial(self) -> &'static str {
        match self {
            Level::ReadCommitted => "not read committed",
            Level::Snapshot => "not snapshot isolation",
            Level::StrongSnapshot => "snapshot isolation, but not of the latest snapshot",
            Level::Serializable => "not serializable",
            Level::Strict => "serializable but not strict",
        }
    }
}

/// Number of dependencies found, by kind. Two transactions can depend on each other through several records,
/// and each record counts. Dependencies on the loader don't count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Number of write dependencies (the version order).
    pub ww: u64,
    /// Number of read dependencies.
    pub wr: u64,
    /// Number of anti-dependencies.
    pub rw: u64,
}

impl EdgeCounts {
    /// Returns the sum of all kinds.
    pub const fn total(&self) -> u64 {
        self.ww + self.wr + self.rw
    }
}

/// The result of [`check`](crate::check) for a history.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Verdict on read committed: no dirty writes, dirty reads or circular information flow.
    pub read_committed: Verdict,
    /// Verdict on snapshot isolation: every transaction read from a snapshot and no update was lost.
    pub snapshot: Verdict,
    /// Verdict on strong snapshot isolation: each snapshot was taken at the transaction's begin.
    pub strong_snapshot: Verdict,
    /// Verdict on serializability: the history is equivalent to a serial execution.
    pub serializable: Verdict,
    /// Verdict on strictness: the history is equivalent to a serial execution that keeps real-time order.
    pub strict: Verdict,
    /// Number of committed transactions.
    pub transactions: u64,
    /// Number of their reads.
    pub reads: u64,
    /// Number of their writes.
    pub writes: u64,
    /// Number of dependencies between them.
    pub edges: EdgeCounts,
    /// Number of [`Defect`](crate::Defect)s. The counter-example shows the earliest of them.
    pub defects: u64,
    /// Reason of a failure. `None` if nothing failed.
    pub counterexample: Option<Counterexample>,
}

impl Certificate {
    /// Returns the certificate of a run whose history is not checked.
    pub fn unchecked(history: &History) -> Certificate {
        Certificate {
            read_committed: Verdict::NotChecked,
            snapshot: Verdict::NotChecked,
            strong_snapshot: Verdict::NotChecked,
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

    /// Returns true if every level in `promised` was checked and passed.
    pub fn satisfies(&self, promised: Requirements) -> bool {
        let mut levels = Level::ALL.into_iter().filter(|level| promised.asks_for(*level));
        levels.all(|level| self.verdict(level) == Verdict::Pass)
    }

    /// Returns the verdict on `level`.
    pub const fn verdict(&self, level: Level) -> Verdict {
        match level {
            Level::ReadCommitted => self.read_committed,
            Level::Snapshot => self.snapshot,
            Level::StrongSnapshot => self.strong_snapshot,
            Level::Serializable => self.serializable,
            Level::Strict => self.strict,
        }
    }

    pub(crate) fn set(&mut self, level: Level, passed: bool) {
        let verdict = match level {
            Level::ReadCommitted => &mut self.read_committed,
            Level::Snapshot => &mut self.snapshot,
            Level::StrongSnapshot => &mut self.strong_snapshot,
            Level::Serializable => &mut self.serializable,
            Level::Strict => &mut self.strict,
        };
        *verdict = Verdict::from_passed(passed);
    }

    /// Appends the command that replays the run to the counter-example, if there is one.
    pub fn with_replay(mut self, command: impl Into<String>) -> Certificate {
        if let Some(counterexample) = &mut self.counterexample {
            counterexample.replay = Some(command.into());
        }
        self
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, verdict) in [
            ("read committed", self.read_committed),
            ("snapshot", self.snapshot),
            ("strong snapshot", self.strong_snapshot),
        ] {
            if verdict != Verdict::NotChecked {
                write!(f, "{name}: {verdict}, ")?;
            }
        }
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
