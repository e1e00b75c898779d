//! Scans of ranges whose rows several sites have, each in key order.
//!
//! A scan reads a leaf at each site, and visits the rows of all leaves in the order of their keys, up to the end of the leaf
//! that ends first. Then it reads the next leaves where they have ended.

use super::{Sited, Work, tree_key::ScannedKey};
use machine::Machine;
use std::ops::ControlFlow;
use storage::{Absence, LeafPath, LeafRows, Record, Table};
use txn::{Abort, ColumnSet, Direction, TableId};

/// An item that a scan meets at a key.
enum Met<'s, M: Machine> {
    /// A record, and the number of its site.
    Record(usize, Record<'s, M>),
    /// An absence whose record has retired. Met in recorded runs only.
    Absence(Absence),
}

/// The leaf of one site that a scan has reached.
struct Cursor<'s, M: Machine, K: ScannedKey> {
    site: usize,
    rows: LeafRows<'s, M, K>,
    path: LeafPath,
}

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Reads the records between `ends` at all of `sites`. Returns the ends of the range that was covered, which
    /// is shorter if `visit` breaks.
    pub(super) fn visit_merged_rows<K: ScannedKey>(
        &mut self,
        (sites, table): (&[usize], TableId),
        ends: (K, K),
        direction: Direction,
        (columns, row): (ColumnSet, &mut [u8]),
        mut visit: impl FnMut(&mut Self, usize, K, &[u8]) -> Result<ControlFlow<()>, Abort>,
    ) -> Result<(K, K), Abort> {
        let home = self.table(table);
        let forward = direction == Direction::Forward;
        let mut at = if forward { ends.0 } else { ends.1 };
        let mut cursors = self.cursors((sites, table), ends, (at, direction))?;
        loop {
            let turn = |cursor: &Cursor<'s, M, K>| match (cursor.rows.range(), forward) {
                ((_, last), true) => last,
                ((first, _), false) => first,
            };
            let turns = cursors.iter().map(turn);
            let until = match forward {
                true => turns.min().map_or(ends.1, |last| last.min(ends.1)),
                false => turns.max().map_or(ends.0, |first| first.max(ends.0)),
            };
            let within = if forward { (at, until) } else { (until, at) };
            for (key, met) in in_order(&cursors, within, direction) {
                match met {
                    Met::Record(site, record) => {
                        let at = Sited { site, record };
                        if self.visit_row(at, key, (columns, row), &mut visit)?.is_break() {
                            return Ok(if forward { (ends.0, key) } else { (key, ends.1) });
                        }
                    }
                    Met::Absence(absence) => self.note_absence_aside(home, key, absence),
                }
            }
            let width = home.width::<K>();
            let next = match forward {
                true if until >= ends.1 => return Ok(ends),
                true => until.after(width),
                false if until <= ends.0 => return Ok(ends),
                false => until.before(width),
            };
            at = next.expect("there are keys between a leaf and the end of the range");
            for cursor in cursors.iter_mut().filter(|cursor| turn(cursor) == until) {
                let site = self.sites.site(cursor.site);
                cursor.rows = K::leaf(site, table, at, &mut cursor.path)?;
            }
        }
    }

    /// Announces a scan between `ends` and reads the leaf of `at`, at each of `sites`.
    fn cursors<K: ScannedKey>(
        &mut self,
        (sites, table): (&[usize], TableId),
        ends: (K, K),
        (at, direction): (K, Direction),
    ) -> Result<Vec<Cursor<'s, M, K>>, Abort> {
        let schema = self.table(table).schema();
        let read = |&number: &usize| {
            let site = self.sites.site(number);
            site.approach(schema, K::approached(ends))?;
            let mut path = LeafPath::new(direction);
            let rows = K::leaf(site, table, at, &mut path)?;
            Ok(Cursor { site: number, rows, path })
        };
        sites.iter().map(read).collect()
    }

    /// Records that a scan has passed over the absence of a key.
    fn note_absence_aside<K: ScannedKey>(&mut self, home: &Table<M>, key: K, absence: Absence) {
        if let Some(recorder) = &mut self.rows.recorder {
            key.met(home, absence.number, recorder);
            recorder.absent(home.id(), absence.number, absence.version);
        }
    }
}

/// Returns what the leaves of `cursors` have at keys `within` these, in the direction of the scan.
fn in_order<'s, M: Machine, K: ScannedKey>(
    cursors: &[Cursor<'s, M, K>],
    (first, last): (K, K),
    direction: Direction,
) -> Vec<(K, Met<'s, M>)> {
    let mut met = Vec::new();
    for Cursor { site, rows, .. } in cursors {
        let records = (0..rows.len()).map(|number| rows.get(number));
        met.extend(records.map(|(key, record)| (key, Met::Record(*site, record))));
        met.extend(rows.aside().iter().map(|(key, absence)| (*key, Met::Absence(*absence))));
    }
    met.retain(|(key, _)| first <= *key && *key <= last);
    met.sort_unstable_by_key(|(key, _)| *key);
    if direction == Direction::Backward {
        met.reverse();
    }
    met
}
