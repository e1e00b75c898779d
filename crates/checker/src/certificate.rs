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
/// check with [`Requirements::ALL`], then ask [`Certificate::satisfies`] with the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirements {
    /// Read committed (Adya's PL-2): neither dirty writes nor dirty reads nor circular information flow.
    pub read_committed: bool,
    /// Snapshot isolation (Berenson et al. 1995), of some snapshot.
    pub snapshot: bool,
    /// Snapshot isolation, of the snapshot when the transaction began (Daudjee and Salem 2006).
    pub strong_snapshot: bool,
    /// Equivalent to some serial execution (Adya's PL-3; his predicates are ranges of keys).
    pub serializable: bool,
    /// Equivalent to a serial execution that keeps real-time order: a transaction that ended before
    /// another began comes first (Papadimitriou 1979; Bernstein, Hadzilacos & Goodman 1987).
    pub strict: bool,
}

impl Requirements {
    /// Asks for nothing.
    pub const NOTHING: Requirements = Requirements {
        read_committed: false,
        snapshot: false,
        strong_snapshot: false,
        serializable: false,
        strict: false,
    };
    /// Read committed alone.
    pub const READ_COMMITTED: Requirements =
        Requirements { read_committed: true, ..Requirements::NOTHING };
    /// Snapshot isolation alone.
    pub const SNAPSHOT_ISOLATION: Requirements =
        Requirements { snapshot: true, ..Requirements::NOTHING };
    /// Snapshot isolation of the latest snapshot.
    pub const STRONG_SNAPSHOT: Requirements =
        Requirements { strong_snapshot: true, ..Requirements::SNAPSHOT_ISOLATION };
    /// Serializability alone.
    pub const SERIALIZABLE: Requirements =
        Requirements { serializable: true, ..Requirements::NOTHING };
    /// Serializability and real-time order.
    pub const STRICT: Requirements = Requirements { strict: true, ..Requirements::SERIALIZABLE };
    /// Asks for everything.
    pub const ALL: Requirements = Requirements {
        read_committed: true,
        snapshot: true,
        strong_snapshot: true,
        serializable: true,
        strict: true,
    };

    /// Whether it asks for `level`.
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

/// What can be asked of a history.
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
    /// All levels. Each implies those before it, but serializability a snapshot of some time only.
    pub const ALL: [Level; 5] = [
        Level::ReadCommitted,
        Level::Snapshot,
        Level::StrongSnapshot,
        Level::Serializable,
        Level::Strict,
    ];

    /// What a history is that does not reach it.
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
    /// Is it free of dirty writes, dirty reads and circular information flow?
    pub read_committed: Verdict,
    /// Did everybody read from a snapshot, and is no update lost?
    pub snapshot: Verdict,
    /// Were the snapshots those of the begins?
    pub strong_snapshot: Verdict,
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

    /// True when everything that was `promised` was checked and passed.
    pub fn satisfies(&self, promised: Requirements) -> bool {
        let mut levels = Level::ALL.into_iter().filter(|level| promised.asks_for(*level));
        levels.all(|level| self.verdict(level) == Verdict::Pass)
    }

    /// The verdict on `level`.
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
