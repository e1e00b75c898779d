//! Defines the catalogue. Each anomaly is two or three scripted transactions and a test that recognises the anomaly
//! in their results.
//!
//! Source: the tests of Hermitage (Kleppmann, "Testing the I in ACID", 2014), which follow Adya, Liskov and O'Neil,
//! ICDE 2000, and Berenson et al., SIGMOD 1995. Two anomalies are added here. They cover promises that every level
//! makes beyond its definition: a row read for update is not updated by another transaction meanwhile, and a key is
//! not inserted twice. An anomaly is recognised by the values that transactions saw, without their histories. It is
//! therefore evidence that does not depend on the checker.

use protocols::Isolation;
use txn::{Abort, AbortReason, Access, ColumnSet, Direction, Intent, KeyRange, TableId};

/// The table of all scripts.
pub(super) const TABLE: TableId = TableId(0);
/// The two loaded rows, with their values.
pub(super) const LOADED: [(u64, i64); 2] = [(X, 10), (Y, 20)];
const X: u64 = 1;
const Y: u64 = 2;
/// Two keys without rows.
const P: u64 = 3;
const Q: u64 = 4;
const ALL_KEYS: [u64; 4] = [X, Y, P, Q];

/// An anomaly of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// Write cycles: dirty writes.
    G0,
    /// Aborted reads.
    G1a,
    /// Intermediate reads.
    G1b,
    /// Circular information flow.
    G1c,
    /// Observed transaction vanishes.
    Otv,
    /// Predicate-many-preceders: a range gains a row between two scans.
    Pmp,
    /// Lost update.
    P4,
    /// Read skew.
    GSingle,
    /// Write skew.
    G2Item,
    /// Write skew through ranges: phantoms.
    G2,
    /// Lost update, although both transactions read the row for update.
    LostForUpdate,
    /// Two transactions insert the same key, and both succeed.
    InsertedTwice,
}

/// Expectation for an anomaly at an isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// The level forbids the anomaly.
    Never,
    /// The level allows the anomaly, and it must show. Otherwise the level is stronger than declared, or the test is
    /// blind.
    Seen,
    /// The level allows the anomaly, but it need not show.
    Possible,
}

/// One access of a scripted transaction.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u64),
    ReadForUpdate(u64),
    Write(u64, i64),
    Insert(u64, i64),
    Scan,
    Abort,
}
use Step::{Insert, Read, ReadForUpdate, Scan, Write};

/// Results of a committed transaction: the rows of each of its reads, scans and inserts, in order.
pub(super) type Seen = Vec<Vec<(u64, i64)>>;

impl Anomaly {
    /// All anomalies, in the order of reports.
    pub const ALL: [Anomaly; 12] = [
        Anomaly::G0,
        Anomaly::G1a,
        Anomaly::G1b,
        Anomaly::G1c,
        Anomaly::Otv,
        Anomaly::Pmp,
        Anomaly::P4,
        Anomaly::GSingle,
        Anomaly::G2Item,
        Anomaly::G2,
        Anomaly::LostForUpdate,
        Anomaly::InsertedTwice,
    ];

    /// Returns the anomaly's name in the literature.
    pub const fn name(self) -> &'static str {
        match self {
            Anomaly::G0 => "G0",
            Anomaly::G1a => "G1a",
            Anomaly::G1b => "G1b",
            Anomaly::G1c => "G1c",
            Anomaly::Otv => "OTV",
            Anomaly::Pmp => "PMP",
            Anomaly::P4 => "P4",
            Anomaly::GSingle => "G-single",
            Anomaly::G2Item => "G2-item",
            Anomaly::G2 => "G2",
            Anomaly::LostForUpdate => "P4-update",
            Anomaly::InsertedTwice => "insert-twice",
        }
    }

    /// Returns a short description of the anomaly.
    pub const fn description(self) -> &'static str {
        match self {
            Anomaly::G0 => "dirty write: of two transactions each wins one row",
            Anomaly::G1a => "aborted read",
            Anomaly::G1b => "intermediate read",
            Anomaly::G1c => "circular information flow: each of two reads what the other wrote",
            Anomaly::Otv => "observed transaction vanishes: seen in one row, not in the next",
            Anomaly::Pmp => "predicate-many-preceders: a second scan finds a row more",
            Anomaly::P4 => "lost update: both read the row before either writes it",
            Anomaly::GSingle => "read skew: a transaction is seen in one of two rows",
            Anomaly::G2Item => "write skew: each reads both rows and writes one",
            Anomaly::G2 => "phantom skew: both scan, neither finds what the other inserts",
            Anomaly::LostForUpdate => "lost update, although both read the row for update",
            Anomaly::InsertedTwice => "two insert one key, and both are told that they did",
        }
    }

    /// Returns what to expect of the anomaly at `isolation` (from the tables of Adya and Berenson).
    pub const fn expectation(self, isolation: Isolation) -> Expectation {
        use Anomaly::{G0, G1a, G1b, G1c, G2, G2Item, InsertedTwice, LostForUpdate, Otv};
        match (isolation, self) {
            (Isolation::Serializable, _) => Expectation::Never,
            (Isolation::Snapshot, G2Item | G2) => Expectation::Seen,
            (Isolation::Snapshot, _) => Expectation::Never,
            (Isolation::ReadCommitted, G0 | G1a | G1b | G1c | LostForUpdate | InsertedTwice) => {
                Expectation::Never
            }
            // No protocol here installs writes in such a way that a reader can read between two of them without
            // waiting.
            (Isolation::ReadCommitted, Otv) => Expectation::Possible,
            // Even without concurrency control, writes are buffered until the commit.
            (Isolation::None, G1a | G1b | G1c) => Expectation::Possible,
            _ => Expectation::Seen,
        }
    }

    const fn scripts(self) -> &'static [&'static [Step]] {
        match self {
            Anomaly::G0 => &[&[Write(X, 11), Write(Y, 21)], &[Write(X, 12), Write(Y, 22)]],
            Anomaly::G1a => &[&[Write(X, 101), Step::Abort], &[Read(X), Read(X)]],
            Anomaly::G1b => &[&[Write(X, 101), Write(X, 11)], &[Read(X), Read(X)]],
            Anomaly::G1c => &[&[Write(X, 11), Read(Y)], &[Write(Y, 22), Read(X)]],
            Anomaly::Otv => {
                &[&[Write(X, 11), Write(Y, 21)], &[Write(X, 12), Write(Y, 22)], &[Read(X), Read(Y)]]
            }
            Anomaly::Pmp => &[&[Scan, Scan], &[Insert(P, 30)]],
            Anomaly::P4 => &[&[Read(X), Write(X, 11)], &[Read(X), Write(X, 12)]],
            Anomaly::GSingle => &[&[Read(X), Read(Y)], &[Write(X, 12), Write(Y, 22)]],
            Anomaly::G2Item => {
                &[&[Read(X), Read(Y), Write(X, 11)], &[Read(X), Read(Y), Write(Y, 22)]]
            }
            Anomaly::G2 => &[&[Scan, Insert(P, 30)], &[Scan, Insert(Q, 42)]],
            Anomaly::LostForUpdate => {
                &[&[ReadForUpdate(X), Write(X, 11)], &[ReadForUpdate(X), Write(X, 12)]]
            }
            Anomaly::InsertedTwice => &[&[Insert(P, 30)], &[Insert(P, 42)]],
        }
    }

    /// Returns the number of transactions in the script.
    pub(super) fn transactions(self) -> usize {
        self.scripts().len()
    }

    /// Runs transaction number `number` and records its results in `seen`.
    pub(super) fn run(
        self,
        number: usize,
        access: &mut dyn Access,
        seen: &mut Seen,
    ) -> Result<(), Abort> {
        seen.clear();
        for step in self.scripts()[number] {
            match *step {
                Read(key) => seen.push(read(access, key, Intent::Read)?.into_iter().collect()),
                ReadForUpdate(key) => {
                    seen.push(read(access, key, Intent::Update)?.into_iter().collect());
                }
                Write(key, value) => {
                    access.update(TABLE, key.into(), ColumnSet::one(0), &value.to_le_bytes())?;
                }
                Insert(key, value) => {
                    let inserted = access.insert(TABLE, key.into(), &value.to_le_bytes())?;
                    seen.push(inserted.then_some((key, value)).into_iter().collect());
                }
                Scan => {
                    let mut rows = Vec::new();
                    let range = KeyRange::new(X, Q).expect("in order");
                    access.scan(
                        TABLE,
                        range.into(),
                        Direction::Forward,
                        ColumnSet::one(0),
                        &mut |k, v| {
                            rows.push((k.number(), value_of(v)));
                            std::ops::ControlFlow::Continue(())
                        },
                    )?;
                    seen.push(rows);
                }
                Step::Abort => return Err(Abort::because(AbortReason::User)),
            }
        }
        Ok(())
    }

    /// Returns whether the anomaly shows in the results of the committed transactions and in the remaining rows.
    pub(super) fn shows(self, seen: &[Option<Seen>], left: &[(u64, i64)]) -> bool {
        let both = seen.iter().all(Option::is_some);
        // Returns the value that read number `read` of transaction `t` saw. All scripts read existing rows.
        let saw = |t: usize, read: usize| {
            let rows = seen[t].as_ref().map(|seen| &seen[read]);
            rows.and_then(|rows| rows.first()).map(|row| row.1)
        };
        let scanned = |t: usize, scan: usize, key: u64| {
            let rows = seen[t].as_ref().map(|seen| &seen[scan]);
            rows.is_some_and(|rows| rows.iter().any(|row| row.0 == key))
        };
        let value = |key: u64| left.iter().find(|row| row.0 == key).map(|row| row.1);
        match self {
            Anomaly::G0 => {
                both && (value(X), value(Y)) != (Some(11), Some(21))
                    && (value(X), value(Y)) != (Some(12), Some(22))
            }
            Anomaly::G1a => (0..2).any(|read| saw(1, read) == Some(101)) || value(X) == Some(101),
            Anomaly::G1b => (0..2).any(|read| saw(1, read) == Some(101)),
            Anomaly::G1c => saw(0, 0) == Some(22) && saw(1, 0) == Some(11),
            Anomaly::Otv => {
                // The observed transaction is visible in x, but neither its value nor a later one is visible in y.
                let last = if value(X) == Some(11) { (11, 21) } else { (12, 22) };
                match (saw(2, 0), saw(2, 1)) {
                    (Some(x), Some(y)) if x == last.0 => y != last.1,
                    (Some(x), Some(y)) => x != 10 && y == 20,
                    _ => false,
                }
            }
            Anomaly::Pmp => seen[0].is_some() && !scanned(0, 0, P) && scanned(0, 1, P),
            Anomaly::P4 | Anomaly::LostForUpdate => {
                both && saw(0, 0) == Some(10) && saw(1, 0) == Some(10)
            }
            Anomaly::InsertedTwice => both && scanned(0, 0, P) && scanned(1, 0, P),
            Anomaly::GSingle => {
                let skewed = [(Some(10), Some(22)), (Some(12), Some(20))];
                skewed.contains(&(saw(0, 0), saw(0, 1)))
            }
            Anomaly::G2Item => both && saw(0, 1) == Some(20) && saw(1, 0) == Some(10),
            Anomaly::G2 => both && !scanned(0, 0, Q) && !scanned(1, 0, P),
        }
    }
}

fn value_of(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

fn read(access: &mut dyn Access, key: u64, intent: Intent) -> Result<Option<(u64, i64)>, Abort> {
    let mut value = [0; 8];
    let found = access.read_with(TABLE, key.into(), ColumnSet::one(0), intent, &mut value)?;
    Ok(found.then(|| (key, value_of(&value))))
}

/// Returns all rows. The caller must be the only transaction in the database.
pub(super) fn rows(access: &mut dyn Access) -> Result<Vec<(u64, i64)>, Abort> {
    let mut rows = Vec::new();
    for key in ALL_KEYS {
        rows.extend(read(access, key, Intent::Read)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saw(values: &[i64]) -> Option<Seen> {
        Some(values.iter().map(|&value| vec![(0, value)]).collect())
    }

    #[test]
    fn anomalies_are_told_from_what_is_right() {
        let left = |x, y| vec![(X, x), (Y, y)];
        let shows =
            |anomaly: Anomaly, seen: &[Option<Seen>], x, y| anomaly.shows(seen, &left(x, y));
        assert!(shows(Anomaly::G0, &[saw(&[]), saw(&[])], 11, 22));
        assert!(!shows(Anomaly::G0, &[saw(&[]), saw(&[])], 12, 22));
        assert!(!shows(Anomaly::G0, &[saw(&[]), None], 11, 21));
        assert!(shows(Anomaly::G1a, &[None, saw(&[10, 101])], 10, 20));
        assert!(shows(Anomaly::G1a, &[None, saw(&[10, 10])], 101, 20));
        assert!(!shows(Anomaly::G1a, &[None, saw(&[10, 10])], 10, 20));
        assert!(shows(Anomaly::G1b, &[saw(&[]), saw(&[101, 11])], 11, 20));
        assert!(!shows(Anomaly::G1b, &[saw(&[]), saw(&[10, 11])], 11, 20));
        assert!(shows(Anomaly::G1c, &[saw(&[22]), saw(&[11])], 11, 22));
        assert!(!shows(Anomaly::G1c, &[saw(&[20]), saw(&[11])], 11, 22));
        let otv =
            |x, y, last| shows(Anomaly::Otv, &[saw(&[]), saw(&[]), saw(&[x, y])], last, last + 10);
        assert!(otv(12, 21, 12) && otv(12, 20, 12) && otv(11, 20, 12) && otv(11, 22, 11));
        assert!(!otv(11, 21, 12) && !otv(11, 22, 12) && !otv(12, 22, 12) && !otv(10, 22, 12));
        assert!(shows(Anomaly::P4, &[saw(&[10]), saw(&[10])], 12, 20));
        assert!(!shows(Anomaly::P4, &[saw(&[10]), saw(&[11])], 12, 20));
        assert!(!shows(Anomaly::P4, &[saw(&[10]), None], 11, 20));
        assert!(shows(Anomaly::LostForUpdate, &[saw(&[10]), saw(&[10])], 12, 20));
        assert!(shows(Anomaly::GSingle, &[saw(&[10, 22]), saw(&[])], 12, 22));
        assert!(!shows(Anomaly::GSingle, &[saw(&[10, 20]), saw(&[])], 12, 22));
        assert!(shows(Anomaly::G2Item, &[saw(&[10, 20]), saw(&[10, 20])], 11, 22));
        assert!(!shows(Anomaly::G2Item, &[saw(&[10, 22]), saw(&[10, 20])], 11, 22));
        let scans = |keys: &[&[u64]]| -> Option<Seen> {
            Some(keys.iter().map(|keys| keys.iter().map(|&key| (key, 0)).collect()).collect())
        };
        assert!(shows(Anomaly::Pmp, &[scans(&[&[X, Y], &[X, Y, P]]), saw(&[])], 10, 20));
        assert!(!shows(Anomaly::Pmp, &[scans(&[&[X, Y, P], &[X, Y, P]]), saw(&[])], 10, 20));
        assert!(shows(Anomaly::G2, &[scans(&[&[X, Y]]), scans(&[&[X, Y]])], 10, 20));
        assert!(shows(Anomaly::InsertedTwice, &[scans(&[&[P]]), scans(&[&[P]])], 10, 20));
        assert!(!shows(Anomaly::InsertedTwice, &[scans(&[&[P]]), scans(&[&[]])], 10, 20));
        assert!(!shows(Anomaly::G2, &[scans(&[&[X, Y]]), scans(&[&[X, Y, P]])], 10, 20));
    }

    #[test]
    fn every_level_forbids_what_stronger_ones_allow_and_more() {
        let levels = [
            Isolation::None,
            Isolation::ReadCommitted,
            Isolation::Snapshot,
            Isolation::Serializable,
        ];
        for anomaly in Anomaly::ALL {
            let forbidden = levels.map(|level| anomaly.expectation(level) == Expectation::Never);
            assert!(forbidden.is_sorted(), "{}", anomaly.name());
        }
    }
}
