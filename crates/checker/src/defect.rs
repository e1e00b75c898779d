//! Defines defects: records that no execution of a correct store can produce, in any serial order.

use std::fmt;
use txn::{TableId, TxnId, Version, WriteKind};

/// One version of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordVersion {
    /// Table of the record.
    pub table: TableId,
    /// Key of the record.
    pub key: u64,
    /// Version of the record.
    pub version: Version,
}

/// An entry of a history that is wrong in itself or contradicts another entry. Cycles are not defects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Two committed transactions have the same identity.
    RepeatedTransaction {
        /// The shared identity.
        id: TxnId,
    },
    /// A committed transaction has an identity that belongs to the loader.
    LoadersIdentity {
        /// The identity.
        id: TxnId,
    },
    /// A transaction ended before it began. This defect affects only strictness.
    BackwardClock {
        /// The transaction.
        id: TxnId,
        /// Time when it began.
        begin: u64,
        /// Time when it ended.
        end: u64,
    },
    /// A write installed a version that names another writer.
    ForeignVersion {
        /// The transaction that wrote.
        writer: TxnId,
        /// The installed version.
        at: RecordVersion,
    },
    /// A write follows a later write of the same transaction, or itself.
    OwnOrder {
        /// The transaction that wrote.
        writer: TxnId,
        /// The installed version.
        at: RecordVersion,
        /// The version that the write claims to follow.
        overwritten: Version,
    },
    /// A version was installed twice.
    RepeatedVersion {
        /// The repeated version.
        at: RecordVersion,
    },
    /// Two writes follow the same version: the version order forks and one update is lost (P4 of Berenson et
    /// al., "A critique of ANSI SQL isolation levels", SIGMOD 1995).
    ForkedVersion {
        /// The version that both writes overwrote.
        overwritten: RecordVersion,
        /// The versions that the two writes installed.
        versions: [Version; 2],
    },
    /// A transaction read a version whose writer did not commit: Adya's G1a.
    AbortedRead {
        /// The transaction that read.
        reader: TxnId,
        /// The version that was read.
        at: RecordVersion,
    },
    /// A transaction read a version that was not its writer's last: Adya's G1b.
    IntermediateRead {
        /// The transaction that read.
        reader: TxnId,
        /// The version that was read.
        at: RecordVersion,
        /// A later version of the same writer.
        later: Version,
    },
    /// A transaction read a version that its committed writer never wrote to that record.
    UnwrittenRead {
        /// The transaction that read.
        reader: TxnId,
        /// The version that was read.
        at: RecordVersion,
    },
    /// A write follows a version that no committed transaction left in that record: the version order is
    /// broken.
    UnknownPredecessor {
        /// The transaction that wrote.
        writer: TxnId,
        /// The version that was overwritten.
        overwritten: RecordVersion,
    },
    /// A read saw a row in a version that is a delete, or saw no row in a version that is not a delete.
    PresenceContradicted {
        /// The transaction that read.
        reader: TxnId,
        /// The version that was read.
        at: RecordVersion,
        /// Set if the read saw a row.
        present: bool,
    },
    /// Two transactions accessed the same row before its first write. One found it present, the other found
    /// it absent. Or a transaction found the row in a state that differs from the loaded state.
    InitialContradicted {
        /// The transaction that found the row, or found no row.
        id: TxnId,
        /// Table of the row.
        table: TableId,
        /// Key of the row.
        key: u64,
        /// Set if the transaction found a row, false if it found none.
        present: bool,
    },
    /// A read returned values that differ from those of the version that it names. They belong to another
    /// version, or were overwritten meanwhile.
    ValuesContradicted {
        /// The transaction that read.
        reader: TxnId,
        /// The version that the read names.
        at: RecordVersion,
    },
    /// A transaction committed without a requested write, or with a write that was never requested.
    UnmatchedWrite {
        /// The transaction.
        id: TxnId,
        /// Table of the record.
        table: TableId,
        /// Key of the record.
        key: u64,
        /// Set if the write was installed but never requested.
        installed: bool,
    },
    /// A scan did not list a row that was in its range before the run.
    MissedRow {
        /// The transaction that scanned.
        reader: TxnId,
        /// Table of the row.
        table: TableId,
        /// Key of the row.
        key: u64,
    },
    /// A scan listed a key that is out of its range, listed it twice, or listed it out of order.
    DisorderedScan {
        /// The transaction that scanned.
        reader: TxnId,
        /// The scanned table.
        table: TableId,
        /// The wrongly listed key.
        key: u64,
    },
    /// A transaction inserted a row that was present, or updated or deleted a row that was absent.
    KindContradicted {
        /// The transaction that wrote.
        writer: TxnId,
        /// The version that was overwritten.
        overwritten: RecordVersion,
        /// The operation that the write claims to be.
        kind: WriteKind,
    },
}

impl Defect {
    /// Returns the transactions to inspect, at most two. Some of them have possibly not committed.
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

/// The defects of a history: their number, and the earliest.
#[derive(Default)]
pub(crate) struct Findings {
    count: u64,
    earliest_time: u64,
    /// The defect whose transaction ended first.
    pub earliest: Option<Defect>,
    /// The first transaction that ends before it begins. It affects only strictness.
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

    /// Adds a defect that affects only strictness.
    pub fn report_clock(&mut self, defect: Defect) {
        self.clock.get_or_insert(defect);
    }

    /// Returns the number of defects without those reported by `report_clock`.
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
    /// Formats the defects that contradict another entry of the history or the state before the run.
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

/// Formats a version as `loader`, or as its writer. The number of the write follows if it is not the first:
/// `T3.17#2`.
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
