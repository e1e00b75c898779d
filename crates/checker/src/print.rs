//! Prints a counter-example as text.

use crate::counterexample::{Counterexample, Involved, Phenomenon};
use crate::defect::show;
use std::{cmp::Ordering, fmt};
use txn::{Direction, Scan, TableId, WriteKind};

/// Number of accesses of one transaction that are printed even if they have no part in the cycle.
const SHOWN_ACCESSES: usize = 32;
/// Number of reasons that are printed for one step.
const SHOWN_LINKS: usize = 4;
/// Number of steps, and of transactions, that are printed.
const SHOWN_STEPS: usize = 64;

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.level.denial();
        match &self.defect {
            Some(_) if self.phenomenon == Phenomenon::Malformed => writeln!(f, "wrong history:")?,
            _ => writeln!(f, "{what}: {}, {}", self.phenomenon, self.phenomenon.description())?,
        }
        if let Some(defect) = &self.defect {
            writeln!(f, "  {defect}")?;
        }
        if !self.cycle.is_empty() {
            let shortest = if self.shortest { "shortest" } else { "a short (not surely shortest)" };
            writeln!(f, "{shortest} cycle, {} transactions:", self.cycle.len())?;
        }
        for (index, step) in self.cycle.iter().enumerate().take(SHOWN_STEPS) {
            write!(f, "  {} before {}", step.from, step.to)?;
            match self.against_time(index) {
                Some((end, begin)) => {
                    writeln!(f, ", although that ended at {end} and this began at {begin}")?
                }
                None => writeln!(f)?,
            }
            for link in step.links.iter().take(SHOWN_LINKS) {
                writeln!(f, "    {link}")?;
            }
            left_off(f, "    ", step.links.len(), SHOWN_LINKS, "reasons")?;
        }
        left_off(f, "  ", self.cycle.len(), SHOWN_STEPS, "steps")?;
        if !self.transactions.is_empty() {
            writeln!(f, "transactions (* takes part):")?;
        }
        let parts = self.parts();
        for t in self.transactions.iter().take(SHOWN_STEPS) {
            t.print(f, &parts)?;
        }
        left_off(f, "  ", self.transactions.len(), SHOWN_STEPS, "transactions")?;
        let spelled = parts.iter().filter_map(|part| Some((part, self.spelled.get(part)?)));
        let mut before = None;
        for ((table, key), spelled) in spelled.take(SHOWN_ACCESSES) {
            if before.replace((table, key)) != Some((table, key)) {
                writeln!(f, "table {} key {key} is \"{}\"", table.0, spelled.escape_ascii())?;
            }
        }
        match &self.replay {
            Some(command) => write!(f, "replay with: {command}"),
            None => Ok(()),
        }
    }
}

fn left_off(
    f: &mut fmt::Formatter<'_>,
    indent: &str,
    all: usize,
    shown: usize,
    what: &str,
) -> fmt::Result {
    match all.checked_sub(shown) {
        Some(more) if more > 0 => writeln!(f, "{indent}and {more} more {what}"),
        _ => Ok(()),
    }
}

impl Counterexample {
    /// Returns the end of the second transaction and the begin of the first, for a step that contradicts real
    /// time.
    fn against_time(&self, index: usize) -> Option<(u64, u64)> {
        let count = self.transactions.len();
        let (from, to) = (&self.transactions[index], &self.transactions[(index + 1) % count]);
        (to.end < from.begin).then_some((to.end, from.begin))
    }

    /// Returns the records at which the transactions met, sorted. Table and key are those of the history.
    pub fn parts(&self) -> Vec<(TableId, u64)> {
        use crate::defect::Defect as D;
        let steps = self.cycle.iter().take(SHOWN_STEPS);
        let links = steps.flat_map(|step| step.links.iter().take(SHOWN_LINKS));
        let mut parts: Vec<_> =
            links.filter_map(|link| link.met_at()).map(|at| (at.table, at.key)).collect();
        match self.defect {
            Some(
                D::ForeignVersion { at, .. }
                | D::OwnOrder { at, .. }
                | D::RepeatedVersion { at }
                | D::AbortedRead { at, .. }
                | D::IntermediateRead { at, .. }
                | D::UnwrittenRead { at, .. }
                | D::PresenceContradicted { at, .. }
                | D::ValuesContradicted { at, .. }
                | D::ForkedVersion { overwritten: at, .. }
                | D::UnknownPredecessor { overwritten: at, .. }
                | D::KindContradicted { overwritten: at, .. },
            ) => parts.push((at.table, at.key)),
            Some(
                D::MissedRow { table, key, .. }
                | D::DisorderedScan { table, key, .. }
                | D::InitialContradicted { table, key, .. }
                | D::UnmatchedWrite { table, key, .. },
            ) => parts.push((table, key)),
            Some(
                D::RepeatedTransaction { .. } | D::LoadersIdentity { .. } | D::BackwardClock { .. },
            )
            | None => {}
        }
        parts.sort_unstable();
        parts
    }
}

/// Compares the position of a record with a scanned range.
fn scanned_against(scan: &Scan, (table, key): (TableId, u64)) -> Ordering {
    let at = (table, key);
    if at < (scan.table, scan.range.first()) {
        Ordering::Less
    } else if at > (scan.table, scan.range.last()) {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

impl Involved {
    fn print(&self, f: &mut fmt::Formatter<'_>, parts: &[(TableId, u64)]) -> fmt::Result {
        write!(f, "  {} from {} to {}", self.id, self.begin, self.end)?;
        match self.commit_timestamp {
            0 => writeln!(f)?,
            timestamp => writeln!(f, ", commit timestamp {timestamp}")?,
        }
        for scan in &self.scans {
            let range = parts.binary_search_by(|part| scanned_against(scan, *part));
            let mark = if range.is_ok() { '*' } else { ' ' };
            let (table, first, last) = (scan.table.0, scan.range.first(), scan.range.last());
            let backward = if scan.direction == Direction::Backward { ", backward" } else { "" };
            writeln!(f, "  {mark} scan   table {table} keys {first} to {last}{backward}")?;
        }
        let mut shown = 0;
        let mut mark = |table: TableId, key: u64| {
            let takes_part = parts.binary_search(&(table, key)).is_ok();
            shown += 1;
            (takes_part || shown <= SHOWN_ACCESSES).then_some(if takes_part { '*' } else { ' ' })
        };
        let mut more = 0;
        for r in &self.reads {
            let Some(mark) = mark(r.table, r.key) else {
                more += 1;
                continue;
            };
            let absent = if r.present { "" } else { ", absent" };
            let version = show(r.version);
            writeln!(f, "  {mark} read   table {} key {}: {version}{absent}", r.table.0, r.key)?;
        }
        for w in &self.writes {
            let Some(mark) = mark(w.table, w.key) else {
                more += 1;
                continue;
            };
            let verb = match w.kind {
                WriteKind::Update => "write ",
                WriteKind::Insert => "insert",
                WriteKind::Delete => "delete",
            };
            let (table, key) = (w.table.0, w.key);
            let (version, overwritten) = (show(w.version), show(w.overwritten));
            writeln!(f, "  {mark} {verb} table {table} key {key}: {version} over {overwritten}")?;
        }
        left_off(f, "    ", more, 0, "accesses elsewhere")
    }
}
