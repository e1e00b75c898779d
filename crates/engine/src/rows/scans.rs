//! Scans of ranges of tables in key order.
//!
//! A scan reads leaf after leaf. It announces each leaf to the protocol before it reads the leaf, so that the
//! protocol can prevent phantoms.

use super::{Place, Sited, Work, added, recorder::Recorder, tree_key::ScannedKey, undeclared};
use machine::{Category, Core, Machine};
use std::ops::{ControlFlow, RangeInclusive};
use storage::{Absence, ByteKey, LeafPath, LeafRows, Table};
use txn::{
    Abort, ByteRange, ColumnSet, Direction, Intent, Key, KeyKind, Keys, MAX_KEY_BYTES, TableId,
    Visit,
};

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Implements [`txn::Access::scan`].
    pub fn scan(
        &mut self,
        table: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        let home = self.table(table);
        let own = columns.and(added::own_columns(home));
        // A row whose held form is its packed form is visited where it was read.
        let in_place = own == columns && !home.row_layout().variable().intersects(columns);
        match range {
            Keys::Numbers(range) => {
                let ends = (range.first(), range.last());
                self.scan_rows(table, ends, direction, own, |work, site, key, row| match in_place {
                    true => Ok(visit(Key::Number(key), row)),
                    false => {
                        work.visit_scanned((site, table), Key::Number(key), columns, row, visit)
                    }
                })
            }
            Keys::Bytes(range) => {
                let ends = self.byte_ends(table, range);
                let mut buffer = Table::<M>::key_buffer();
                self.scan_rows(table, ends, direction, own, |work, site, key, row| {
                    let key = home.shape().bytes_of(key, &mut buffer);
                    work.rows.core.copied(key.len());
                    match in_place {
                        true => Ok(visit(Key::Bytes(key), row)),
                        false => {
                            work.visit_scanned((site, table), Key::Bytes(key), columns, row, visit)
                        }
                    }
                })
            }
        }
    }

    /// Returns the first and the last key of a range of a table with byte keys.
    pub(super) fn byte_ends(&mut self, table: TableId, range: ByteRange<'_>) -> (ByteKey, ByteKey) {
        let (home, core) = (self.table(table), self.rows.core);
        let greatest = [u8::MAX; MAX_KEY_BYTES];
        let last = range.last().unwrap_or_else(|| match home.schema().key {
            KeyKind::Bytes { most } => &greatest[..most.into()],
            KeyKind::Integer => &[],
        });
        (home.byte_key(core, range.first()), home.byte_key(core, last))
    }

    /// Scans the keys between `ends`, and records the scan if the run is recorded. `visit` also gets access to
    /// the session, and the number of the row's site.
    pub(super) fn scan_rows<K: ScannedKey>(
        &mut self,
        table: TableId,
        ends: (K, K),
        direction: Direction,
        columns: ColumnSet,
        visit: impl FnMut(&mut Self, usize, K, &[u8]) -> Result<ControlFlow<()>, Abort>,
    ) -> Result<(), Abort> {
        let (own, home) = (self.rows.version(), self.table(table));
        if let Some(recorder) = &mut self.rows.recorder {
            recorder.begin_scan(own);
        }
        let mut row = std::mem::take(&mut self.rows.scanned);
        row.clear();
        row.resize(home.layout().held_bytes(columns), 0);
        let covered = match self.sites.of_range(table, K::approached(ends)) {
            Place::One(site) => {
                self.visit_rows((site, table), ends, direction, (columns, &mut row), visit)
            }
            Place::Several(sites) => {
                let at = (&*sites, table);
                self.visit_merged_rows(at, ends, direction, (columns, &mut row), visit)
            }
            Place::Undeclared => Err(undeclared()),
        };
        self.rows.scanned = row;
        let covered = covered?;
        if let Some(recorder) = &mut self.rows.recorder {
            K::covered(home, covered, direction, recorder);
        }
        Ok(())
    }

    /// Reads the records between `ends`, which are all at one site, leaf by leaf. Returns the ends of the range that was
    /// covered, which is shorter if `visit` breaks.
    fn visit_rows<K: ScannedKey>(
        &mut self,
        (site, table): (usize, TableId),
        ends: (K, K),
        direction: Direction,
        (columns, row): (ColumnSet, &mut [u8]),
        mut visit: impl FnMut(&mut Self, usize, K, &[u8]) -> Result<ControlFlow<()>, Abort>,
    ) -> Result<(K, K), Abort> {
        let home = self.table(table);
        self.sites.site(site).approach(home.schema(), K::approached(ends))?;
        let (forward, width) = (direction == Direction::Forward, home.width::<K>());
        let mut at = if forward { ends.0 } else { ends.1 };
        let mut path = LeafPath::new(direction);
        loop {
            let rows = K::leaf(self.sites.site(site), table, at, &mut path)?;
            let within = rows.not_visited(ends, at, direction);
            let mut passed_over = PassedOver::new(&rows, &within, direction);
            let mut left = rows.within(&within);
            while let Some(number) = if forward { left.next() } else { left.next_back() } {
                let (key, record) = rows.get(number);
                if let Some(recorder) = &mut self.rows.recorder {
                    passed_over.up_to(Some(key), home, recorder);
                }
                let at = Sited { site, record };
                if self.visit_row(at, key, (columns, row), &mut visit)?.is_break() {
                    return Ok(if forward { (ends.0, key) } else { (key, ends.1) });
                }
            }
            if let Some(recorder) = &mut self.rows.recorder {
                passed_over.up_to(None, home, recorder);
            }
            match rows.beyond(ends, direction, width) {
                Some(next) => at = next,
                None => return Ok(ends),
            }
        }
    }
}

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Reads a record that a scan has reached, and calls `visit` if the record is present.
    #[inline(always)]
    pub(super) fn visit_row<K: ScannedKey>(
        &mut self,
        at: Sited<'s, M>,
        key: K,
        (columns, row): (ColumnSet, &mut [u8]),
        visit: &mut impl FnMut(&mut Self, usize, K, &[u8]) -> Result<ControlFlow<()>, Abort>,
    ) -> Result<ControlFlow<()>, Abort> {
        let core = self.rows.core;
        if let Some(recorder) = &mut self.rows.recorder {
            key.met(
                self.rows.store.table(at.record.table().id()),
                at.record.history_key(core),
                recorder,
            );
        }
        let head = self.read_controlled(at, columns, Intent::Read, row)?;
        core.account(Category::Useful);
        match head.state.is_present() {
            true => visit(self, at.site, key, row),
            false => Ok(ControlFlow::Continue(())),
        }
    }
}

/// Keys of a leaf whose records have retired and that a recorded scan has not passed over yet.
struct PassedOver<'r, K> {
    keys: &'r [(K, Absence)],
    direction: Direction,
}

impl<'r, K: ScannedKey> PassedOver<'r, K> {
    /// Selects those keys of a leaf that are within `range`, for a scan in `direction`.
    fn new<M: Machine>(
        rows: &'r LeafRows<'_, M, K>,
        range: &RangeInclusive<K>,
        direction: Direction,
    ) -> Self {
        PassedOver { keys: rows.aside_within(range), direction }
    }

    /// Records the keys that the scan has passed over on its way to `key`, or to the end of the leaf if there
    /// is no `key`.
    fn up_to<M: Machine>(&mut self, key: Option<K>, home: &Table<M>, recorder: &mut Recorder) {
        let forward = self.direction == Direction::Forward;
        loop {
            let next = if forward { self.keys.split_first() } else { self.keys.split_last() };
            let Some(((at, absence), rest)) = next else { return };
            if key.is_some_and(|key| if forward { *at >= key } else { *at <= key }) {
                return;
            }
            at.met(home, absence.number, recorder);
            recorder.absent(home.id(), absence.number, absence.version);
            self.keys = rest;
        }
    }
}
