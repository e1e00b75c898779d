//! Derives dependencies from scanned ranges, including from the keys that a scan did not list.
//!
//! A scan lists every record that it met, including absent rows. Those are reads like any others. For every
//! other key in its range the scan states that there was no record, so the key had never had a row. The scan
//! has read that key's first version, the initial absence, and comes before the transaction that inserted the
//! row first. This is Adya's predicate anti-dependency (1999, section 4.4), for predicates that are ranges of
//! keys and for the first version of each key. For all later versions the key has a record, which a scan must
//! list.
//!
//! Keys that ever had a row are sorted once. A scan looks only at those in its range. So the time is linear
//! in the number of keys that scans list, plus those that they miss because the rows came later.

use crate::certificate::EdgeCounts;
use crate::defect::{Defect, Findings};
use crate::graph::{Dependency, EdgeList};
use crate::numbering::Numbering;
use txn::{Direction, LoadedTable, Read, Scan, TableId, Version, WorkerHistory, WriteKind};

/// The origin of a key's first row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// The row existed before the run.
    Loaded,
    /// This transaction inserted the row where there had never been a row.
    Inserted(u32),
}

/// Adds the dependencies that follow from the scans of a history.
pub(crate) fn dependencies(
    numbering: &Numbering<'_>,
    found: &mut Findings,
    edges: &mut EdgeList,
    counts: &mut EdgeCounts,
) {
    let mut scanned: Vec<TableId> =
        numbering.workers().flat_map(|(_, w)| w.scans.iter().map(|scan| scan.table)).collect();
    scanned.sort_unstable();
    scanned.dedup();
    if scanned.is_empty() {
        return;
    }
    let origins = origins(numbering, &scanned);
    let mut listed = Vec::new();
    for (first, worker) in numbering.workers() {
        for (index, t) in worker.transactions.iter().enumerate() {
            let transaction = first + index as u32;
            for scan in worker.scans_of(index) {
                listed.clear();
                listed.extend(worker.reads_in(scan).iter().map(|r| r.key));
                if let Some(key) = disorder(worker, scan) {
                    let (reader, table) = (t.id, scan.table);
                    found.report(t.end, Defect::DisorderedScan { reader, table, key });
                    continue;
                }
                if scan.direction == Direction::Backward {
                    listed.reverse();
                }
                for key in missed(numbering, scan, &listed) {
                    let (reader, table) = (t.id, scan.table);
                    found.report(t.end, Defect::MissedRow { reader, table, key });
                }
                let start = (scan.table, scan.range.first());
                let from = origins.partition_point(|(table, key, _)| (*table, *key) < start);
                let mut next = listed.iter().copied().peekable();
                for &(table, key, origin) in &origins[from..] {
                    if table != scan.table || !scan.range.contains(key) {
                        break;
                    }
                    while next.next_if(|listed| *listed < key).is_some() {}
                    if next.peek() == Some(&key) {
                        continue;
                    }
                    match origin {
                        Origin::Inserted(other) if other == transaction => {}
                        Origin::Inserted(other) => {
                            counts.rw += 1;
                            edges.push(transaction, other, Dependency::Anti);
                        }
                        Origin::Loaded => {
                            found.report(t.end, Defect::MissedRow { reader: t.id, table, key });
                        }
                    }
                }
            }
        }
    }
}

/// Returns the keys of rows that were loaded into the range of `scan` and are not among the `listed` keys, in
/// ascending order.
fn missed(numbering: &Numbering<'_>, scan: &Scan, listed: &[u64]) -> impl Iterator<Item = u64> {
    let (loaded, range) = (numbering.loaded(scan.table).into_iter(), scan.range);
    let loaded = loaded.flat_map(move |loaded: &LoadedTable| loaded.within(range));
    let mut listed = listed.iter().copied().peekable();
    loaded.filter(move |key| {
        while listed.next_if(|listed| listed < key).is_some() {}
        listed.peek() != Some(key)
    })
}

/// Returns the keys of the scanned tables that ever had a row, with the origin of each, sorted.
fn origins(numbering: &Numbering<'_>, scanned: &[TableId]) -> Vec<(TableId, u64, Origin)> {
    let is_scanned = |table: TableId| scanned.binary_search(&table).is_ok();
    // If the loaded rows of a table are unknown, the rows that a transaction found in their initial version
    // count as loaded.
    let is_guessed = |table: TableId| is_scanned(table) && numbering.loaded(table).is_none();
    let mut origins = Vec::new();
    for (first, worker) in numbering.workers() {
        for index in 0..worker.transactions.len() {
            for w in worker.writes_of(index) {
                if w.overwritten == Version::INITIAL && is_scanned(w.table) {
                    let origin = match w.kind {
                        WriteKind::Insert => Origin::Inserted(first + index as u32),
                        WriteKind::Update | WriteKind::Delete => Origin::Loaded,
                    };
                    if origin != Origin::Loaded || is_guessed(w.table) {
                        origins.push((w.table, w.key, origin));
                    }
                }
            }
        }
        let loaded = |r: &&Read| r.present && r.version == Version::INITIAL && is_guessed(r.table);
        let loaded = worker.reads.iter().filter(loaded);
        origins.extend(loaded.map(|r| (r.table, r.key, Origin::Loaded)));
    }
    origins.sort_unstable();
    origins.dedup();
    origins
}

/// Returns a key that a scan lists although it is out of the range or out of order.
pub(crate) fn disorder(worker: &WorkerHistory, scan: &Scan) -> Option<u64> {
    let mut before = None;
    worker.reads_in(scan).iter().find_map(|r| {
        let behind = before.is_none_or(|before| match scan.direction {
            Direction::Forward => before < r.key,
            Direction::Backward => before > r.key,
        });
        before = Some(r.key);
        let right = behind && r.table == scan.table && scan.range.contains(r.key);
        (!right).then_some(r.key)
    })
}

/// Returns true if `scan` covers `key` and does not list it, which states that the key had never had a row.
pub(crate) fn misses(worker: &WorkerHistory, scan: &Scan, table: TableId, key: u64) -> bool {
    scan.table == table
        && scan.range.contains(key)
        && worker.reads_in(scan).iter().all(|r| r.key != key)
}
