//! Defects: what no execution of a correct store can have recorded, whatever the serial order.

use std::fmt;
use txn::{TableId, TxnId, Version, WriteKind};

/// One version of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordVersion {
    /// Table of the record.
    pub table: TableId,
    /// Key of the record.
    pub key: u64,
    /// The version.
    pub version: Version,
}

/// An entry of a history that is wrong in itself or contradicts another one, apart from cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Two committed transactions bear the same identity.
    RepeatedTransaction {
        /// The identity.
        id: TxnId,
    },
    /// A committed transaction bears an identity of the loader's.
    LoadersIdentity {
        /// The identity.
        id: TxnId,
    },
    /// A transaction ended before it began. It concerns strictness alone.
    BackwardClock {
        /// The transaction.
        id: TxnId,
        /// When it began.
        begin: u64,
        /// When it ended.
        end: u64,
    },
    /// A write installed a version that names another writer.
    ForeignVersion {
        /// The transaction that wrote.
        writer: TxnId,
        /// What it installed.
        at: RecordVersion,
    },
    /// A write follows a later write, or itself, of the same transaction.
    OwnOrder {
        /// The transaction.
        writer: TxnId,
        /// What it installed.
        at: RecordVersion,
        /// The version that it claims to follow.
        overwritten: Version,
    },
    /// A version was installed twice.
    RepeatedVersion {
        /// The version.
        at: RecordVersion,
    },
    /// Two writes follow the same version: the version order forks, one update is lost
    /// (P4 of Berenson et al., "A critique of ANSI SQL isolation levels", SIGMOD 1995).
    ForkedVersion {
        /// The version that both overwrote.
        overwritten: RecordVersion,
        /// The versions that both installed.
        versions: [Version; 2],
    },
    /// A read of a version whose writer did not commit: Adya's G1a.
    AbortedRead {
        /// Who read it.
        reader: TxnId,
        /// What was read.
        at: RecordVersion,
    },
    /// A read of a version that was not its writer's last: Adya's G1b.
    IntermediateRead {
        /// Who read it.
        reader: TxnId,
        /// What was read.
        at: RecordVersion,
        /// The writer's later version.
        later: Version,
    },
    /// A read of a version that its committed writer never wrote to that record.
    UnwrittenRead {
        /// Who read it.
        reader: TxnId,
        /// What was read.
        at: RecordVersion,
    },
    /// A write follows a version that no committed transaction left there: the version order is
    /// broken.
    UnknownPredecessor {
        /// Who wrote.
        writer: TxnId,
        /// What was overwritten.
        overwritten: RecordVersion,
    },
    /// A read saw a row in a version that is a delete, or none in one that is not.
    PresenceContradicted {
        /// Who read it.
        reader: TxnId,
        /// What was read.
        at: RecordVersion,
        /// Whether the read saw a row.
        present: bool,
    },
    /// Two transactions met the same row before anybody had written it, and one found it present, the other absent. Or a
    /// transaction met it otherwise than the load had left it.
    InitialContradicted {
        /// The transaction that met the row, or found none.
        id: TxnId,
        /// The table.
        table: TableId,
        /// Key of the row.
        key: u64,
        /// True if the transaction met a row, false if it found none.
        present: bool,
    },
    /// A read got values that are not those of the version that it names: somebody else's, or no longer those.
    ValuesContradicted {
        /// The transaction that read.
        reader: TxnId,
        /// The version that the read names.
        at: RecordVersion,
    },
    /// A transaction committed without a write that it was asked for, or with one that it was not asked for.
    UnmatchedWrite {
        /// The transaction.
        id: TxnId,
        /// The table.
        table: TableId,
        /// Key of the record.
        key: u64,
        /// True if it was installed and never asked for.
        installed: bool,
    },
    /// A scan did not list a row that had been in its range before the run.
    MissedRow {
        /// Who scanned.
        reader: TxnId,
        /// The table.
        table: TableId,
        /// Key of the row.
        key: u64,
    },
    /// A scan listed a key out of its range, twice, or out of order.
    DisorderedScan {
        /// Who scanned.
        reader: TxnId,
        /// The table.
        table: TableId,
        /// The key.
        key: u64,
    },
    /// An insert of a row that was present, or an update or delete of one that was not.
    KindContradicted {
        /// Who wrote.
        writer: TxnId,
        /// What was overwritten.
        overwritten: RecordVersion,
        /// What the write claims to have done.
        kind: WriteKind,
    },
}

impl Defect {
    /// The transactions to look at, at most two; one of them may not have committed.
    pub fn transactions(&self) -> Vec<TxnId> {
        let mut ids = match *self {
            Defect::RepeatedTransaction { id }
            | Defect::LoadersIdentity { id }
            | Defect::InitialContradicted { id, .. }
            | Defect::UnmatchedWrite { id, .. }
            | Defect::BackwardClock { id, .. } => vec![id],
            Defect::MissedRow { reader, .. } | Defect::DisorderedScan { reader, .. } => {
                vec![reader]
            }
            Defect::RepeatedVersion { at } => vec![at.version.writer()],
            Defect::ForkedVersion { versions, .. } => versions.map(|v| v.writer()).to_vec(),
            Defect::ForeignVersion { writer, at } | Defect::OwnOrder { writer, at, .. } => {
                vec![writer, at.version.writer()]
            }
            Defect::AbortedRead { reader, at }
            | Defect::IntermediateRead { reader, at, .. }
            | Defect::UnwrittenRead { reader, at }
            | Defect::ValuesContradicted { reader, at }
            | Defect::PresenceContradicted { reader, at, .. } => vec![at.version.writer(), reader],
            Defect::UnknownPredecessor { writer, overwritten }
            | Defect::KindContradicted { writer, overwritten, .. } => {
                vec![overwritten.version.writer(), writer]
            }
        };
        ids.dedup();
        ids
    }
}

/// The defects of a history: how many, and the earliest.
#[derive(Default)]
pub(crate) struct Findings {
    count: u64,
    earliest_time: u64,
    /// The defect whose transaction ended first.
    pub earliest: Option<Defect>,
    /// The first transaction that ends before it begins, which concerns strictness alone.
    pub clock: Option<Defect>,
}

impl Findings {
    /// Adds a defect of a transaction that ended at `time`.
    pub fn report(&mut self, time: u64, defect: Defect) {
        self.count += 1;
        if self.earliest.is_none() || time < self.earliest_time {
            self.earliest = Some(defect);
            self.earliest_time = time;
        }
    }

    /// Adds a defect that concerns strictness alone.
    pub fn report_clock(&mut self, defect: Defect) {
        self.clock.get_or_insert(defect);
    }

    /// All but those of the clock.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Defect::RepeatedTransaction { id } => {
                write!(f, "two committed transactions are called {id}")
            }
            Defect::LoadersIdentity { id } => {
                write!(f, "a committed transaction bears the loader's identity {:#x}", id.0)
            }
            Defect::BackwardClock { id, begin, end } => {
                write!(f, "{id} ended at {end}, before it began at {begin}")
            }
            Defect::ForeignVersion { writer, at } => {
                write!(f, "{writer} installed {at}, which names another writer")
            }
            Defect::OwnOrder { writer, at, overwritten } => {
                write!(f, "{writer} installed {at} over {}, its own later write", show(overwritten))
            }
            Defect::RepeatedVersion { at } => write!(f, "{at} was installed twice"),
            Defect::ForkedVersion { overwritten, versions: [a, b] } => {
                write!(f, "both {} and {} overwrote {overwritten}", show(a), show(b))
            }
            Defect::AbortedRead { reader, at } => write!(
                f,
                "{reader} read {at}, but {} is not among the committed transactions",
                at.version.writer()
            ),
            Defect::IntermediateRead { reader, at, later } => {
                write!(f, "{reader} read {at}, which its writer replaced by {}", show(later))
            }
            Defect::UnwrittenRead { reader, at } => {
                write!(f, "{reader} read {at}, which nobody wrote")
            }
            Defect::UnknownPredecessor { writer, overwritten } => write!(
                f,
                "{writer} overwrote {overwritten}, which no committed transaction left there"
            ),
            _ => self.fmt_contradiction(f),
        }
    }
}

impl Defect {
    /// Prints those defects that contradict another entry of the history, or what was there before the run.
    fn fmt_contradiction(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Defect::PresenceContradicted { reader, at, present } => {
                let (saw, was) = if present { ("a row", "none") } else { ("no row", "one") };
                write!(f, "{reader} saw {saw} in {at}, where there is {was}")
            }
            Defect::InitialContradicted { id, table, key, present } => {
                let (met, was) = if present { ("a row", "none") } else { ("no row", "one") };
                write!(
                    f,
                    "{id} met {met} at key {key} of table {}, where there was {was} at the start",
                    table.0
                )
            }
            Defect::ValuesContradicted { reader, at } => {
                write!(f, "{reader} read {at} with values that its writer did not leave there")
            }
            Defect::UnmatchedWrite { id, table, key, installed } => {
                let what = match installed {
                    true => "installed a write that it was not asked for",
                    false => "was asked for a write that it did not install",
                };
                write!(f, "{id} {what}, at key {key} of table {}", table.0)
            }
            Defect::MissedRow { reader, table, key } => write!(
                f,
                "{reader} scanned table {} over key {key} and missed the row that was loaded there",
                table.0
            ),
            Defect::DisorderedScan { reader, table, key } => write!(
                f,
                "{reader} scanned table {} and met key {key} where it does not belong",
                table.0
            ),
            Defect::KindContradicted { writer, overwritten, kind } => {
                let (did, was) = match kind {
                    WriteKind::Insert => ("inserted over", "present"),
                    WriteKind::Update => ("updated", "absent"),
                    WriteKind::Delete => ("deleted", "absent"),
                };
                write!(f, "{writer} {did} {overwritten}, where the row is {was}")
            }
            _ => unreachable!("told where the others are"),
        }
    }
}

impl fmt::Display for RecordVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {} key {} version {}", self.table.0, self.key, show(self.version))
    }
}

/// `loader`, or the writer with the number of its write when it is not the first: `T3.17#2`.
pub(crate) fn show(version: Version) -> impl fmt::Display {
    struct Shown(Version);
    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match (self.0, self.0.nth()) {
                (Version::INITIAL, _) | (_, 1) => write!(f, "{}", self.0.writer()),
                (version, nth) => write!(f, "{}#{nth}", version.writer()),
            }
        }
    }
    Shown(version)
}
