//! Explains why one transaction must come before another, from their own reads and writes.

use crate::defect::{RecordVersion, show};
use crate::graph::Dependency;
use crate::numbering::Numbering;
use crate::scans::misses;
use std::fmt;
use txn::{KeyRange, TableId, Version};

/// One reason why a transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The two transactions accessed the same record.
    Dependency {
        /// Kind of the dependency.
        kind: Dependency,
        /// Table of the record.
        table: TableId,
        /// Key of the record.
        key: u64,
        /// For ww and rw, the version that the second transaction overwrote. For wr, the version that it
        /// read.
        version: Version,
        /// For ww and rw, the version that the second transaction installed.
        installed: Option<Version>,
    },
    /// The first transaction scanned a range and saw no row at a key of it. The second inserted the first row
    /// there.
    Range {
        /// Table that was scanned.
        table: TableId,
        /// The range that was scanned.
        range: KeyRange,
        /// The key that was inserted.
        key: u64,
        /// The version that was inserted.
        installed: Version,
    },
    /// The first transaction ended before the second began.
    RealTime {
        /// Time when the first ended.
        end: u64,
        /// Time when the second began.
        begin: u64,
    },
}

impl Link {
    /// Returns the version that both transactions accessed.
    pub fn met_at(&self) -> Option<RecordVersion> {
        match *self {
            Link::Dependency { table, key, version, .. } => {
                Some(RecordVersion { table, key, version })
            }
            Link::Range { table, key, .. } => {
                Some(RecordVersion { table, key, version: Version::INITIAL })
            }
            Link::RealTime { .. } => None,
        }
    }

    /// Returns the kind of dependency. Returns `None` for real time.
    pub fn kind(&self) -> Option<Dependency> {
        match *self {
            Link::Dependency { kind, .. } => Some(kind),
            Link::Range { .. } => Some(Dependency::Anti),
            Link::RealTime { .. } => None,
        }
    }

    /// Returns true for an anti-dependency on a scanned range.
    pub fn is_of_range(&self) -> bool {
        matches!(self, Link::Range { .. })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Link::RealTime { end, begin } => {
                write!(f, "real time: the first ended at {end}, the second began at {begin}")
            }
            Link::Range { table, range, key, installed } => write!(
                f,
                "rw: the first scanned table {} keys {} to {} and found none at {key}, the second \
                 inserted it with {}",
                table.0,
                range.first(),
                range.last(),
                show(installed)
            ),
            Link::Dependency { kind, table, key, version, installed } => {
                let (first, second) = match kind {
                    Dependency::Write => ("wrote", "overwrote it"),
                    Dependency::Read => ("wrote", "read it"),
                    Dependency::Anti => ("read", "overwrote it"),
                };
                let at = RecordVersion { table, key, version };
                write!(f, "{}: the first {first} {at}, the second {second}", kind.as_str())?;
                match installed {
                    Some(installed) => write!(f, " with {}", show(installed)),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Returns all direct dependencies of `later` on `earlier`, the most severe first: ww, wr, rw.
pub(crate) fn links(numbering: &Numbering<'_>, earlier: u32, later: u32) -> Vec<Link> {
    let id = numbering.id(earlier);
    let mut links = Vec::new();
    let mut overwrites = Vec::new();
    for w in numbering.writes(later) {
        let link = |kind| Link::Dependency {
            kind,
            table: w.table,
            key: w.key,
            version: w.overwritten,
            installed: Some(w.version),
        };
        if w.overwritten.writer() == id {
            links.push(link(Dependency::Write));
        }
        overwrites.push(((w.table, w.key, w.overwritten), link(Dependency::Anti)));
    }
    for r in numbering.reads(later).iter().filter(|r| r.version.writer() == id) {
        links.push(Link::Dependency {
            kind: Dependency::Read,
            table: r.table,
            key: r.key,
            version: r.version,
            installed: None,
        });
    }
    overwrites.sort_by_key(|&(name, _)| name);
    for r in numbering.reads(earlier).iter().filter(|r| r.version.writer() != id) {
        let name = (r.table, r.key, r.version);
        if let Ok(at) = overwrites.binary_search_by_key(&name, |&(name, _)| name) {
            links.push(overwrites[at].1);
        }
    }
    let (worker, scans) = numbering.scans(earlier);
    for w in numbering.writes(later).iter().filter(|w| w.overwritten == Version::INITIAL) {
        let missed = scans.iter().filter(|scan| misses(worker, scan, w.table, w.key));
        links.extend(missed.map(|scan| Link::Range {
            table: w.table,
            range: scan.range,
            key: w.key,
            installed: w.version,
        }));
    }
    let mut distinct: Vec<Link> = Vec::with_capacity(links.len());
    for link in links {
        if distinct.last() != Some(&link) {
            distinct.push(link);
        }
    }
    distinct
}
