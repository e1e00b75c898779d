//! Secondary indexes. The entries of an index are rows like all others. The transaction that writes or reads
//! rows of the base table also writes or reads the entries.
//!
//! So the protocol isolates an index without further code: a lookup through an index is a scan of entries,
//! followed by reads of rows.

use super::{CHANGE, Sited, Work, added};
use crate::site::NextAccess;
use machine::{Core, Machine};
use protocols::{Change, faults};
use std::ops::ControlFlow;
use storage::Table;
use txn::{
    Abort, AbortReason, ColumnSet, Direction, ENTRY, Intent, Key, Keys, OwnedKey, SecondaryIndex,
    TableId, Visit,
};

/// A change of one index for one row: the old entry that must be deleted, the new entry that must be inserted,
/// or both.
struct Moved {
    index: TableId,
    unique: bool,
    from: Option<OwnedKey>,
    to: Option<OwnedKey>,
}

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Returns the changes in the indexes of `table` for a write to the row `key`. `before` holds the indexed
    /// columns of the existing row, if there is one. `after` holds the packed values of the columns that are
    /// written, or is `None` if the row is deleted.
    fn moved(
        &mut self,
        table: TableId,
        key: Key<'_>,
        before: Option<&[u8]>,
        after: Option<(ColumnSet, &[u8])>,
    ) -> Result<Vec<Moved>, Abort> {
        let home = self.table(table);
        let (layout, indexed) = (home.layout(), home.indexed_columns());
        let mut moved = Vec::with_capacity(home.schema().indexes.len());
        for &id in &home.schema().indexes {
            let index = self.table(id).schema().index_of.as_ref().expect("an index says of what");
            let old = |column| {
                layout.field(indexed, before.expect("a row that changes is there"), column)
            };
            let from = before.and_then(|_| index.entry(key, old));
            let to = match after {
                None => None,
                Some((columns, values)) => {
                    let value_of = |column| match columns.contains(ColumnSet::one(column)) {
                        true => layout.field(columns, values, column),
                        false => old(column),
                    };
                    let to = index.entry(key, value_of);
                    // The index has no place for a row with this value.
                    Some(to.ok_or(Abort::because(AbortReason::KeyOutsideIndex))?)
                }
            };
            if from != to {
                moved.push(Moved { index: id, unique: index.is_unique(), from, to });
            }
        }
        Ok(moved)
    }

    /// Applies the changes to the indexes. Returns false, with nothing changed, if a unique index already has
    /// an entry of another row.
    fn write_entries(&mut self, key: Key<'_>, moved: &[Moved]) -> Result<bool, Abort> {
        for entry in moved.iter().filter(|entry| entry.unique) {
            let Some(to) = &entry.to else { continue };
            let (record, _) = self.locate(entry.index, to.as_key(), Some(CHANGE))?;
            let head = self.read_record(record, ColumnSet::NONE, Intent::Update, &mut [])?;
            if head.state.is_present() {
                self.rows.refused_by = Some(entry.index);
                return Ok(false);
            }
        }
        for entry in moved {
            // An attempt whose reads are not consistent can find no entry here, or an entry where none can be.
            // It will not commit, so it continues as if the entries were right.
            if let Some(from) = &entry.from
                && !self.rows.core.is_planted(faults::INDEX_ENTRY_STAYS)
            {
                self.delete(entry.index, from.as_key())?;
            }
            let Some(to) = &entry.to else { continue };
            let row = self.index_of(entry.index).entry_row(key);
            self.insert(entry.index, to.as_key(), &row)?;
        }
        Ok(true)
    }

    /// Inserts the entries of a new row into the indexes of its table. Returns false if a unique index refuses.
    #[cold]
    pub(super) fn insert_entries(
        &mut self,
        table: TableId,
        key: Key<'_>,
        row: &[u8],
    ) -> Result<bool, Abort> {
        let all = self.table(table).layout().all();
        let moved = self.moved(table, key, None, Some((all, row)))?;
        self.write_entries(key, &moved)
    }

    /// Deletes the entries of a row from the indexes of its table. The row must be present and is about to be
    /// deleted.
    #[cold]
    pub(super) fn delete_entries(
        &mut self,
        table: TableId,
        key: Key<'_>,
        record: Sited<'s, M>,
    ) -> Result<(), Abort> {
        let (_, before) = self.read_indexed(table, record)?;
        let moved = self.moved(table, key, Some(&before), None)?;
        self.write_entries(key, &moved).map(|_| ())
    }

    /// Updates columns of which some are indexed.
    #[cold]
    pub(super) fn update_indexed(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        self.rows.refused_by = None;
        let (record, _) = self.locate(table, key, Some(CHANGE))?;
        let (is_present, before) = self.read_indexed(table, record)?;
        if !is_present {
            return Ok(false);
        }
        let moved = self.moved(table, key, Some(&before), Some((columns, values)))?;
        if !self.write_entries(key, &moved)? {
            return Ok(false);
        }
        self.with_held(record, (columns, values), |work, values| {
            work.write_record(record, Change { columns, values, state: None })
        })
    }

    /// Reads the indexed columns of a row that is going to change. Returns whether the row is present, and the
    /// columns in packed form.
    fn read_indexed(&mut self, table: TableId, at: Sited<'s, M>) -> Result<(bool, Vec<u8>), Abort> {
        let (layout, indexed) = (self.table(table).layout(), self.table(table).indexed_columns());
        let mut held = vec![0; layout.held_bytes(indexed)];
        let head = self.read_record(at, indexed, Intent::Update, &mut held)?;
        let is_present = head.state.is_present();
        if !layout.variable().intersects(indexed) {
            return Ok((is_present, held));
        }
        let mut packed = Vec::new();
        self.pack(at.site, layout, indexed, &held, &mut packed);
        Ok((is_present, packed))
    }

    pub(super) fn read_beside_scan(&mut self, beside: bool) {
        if let Some(recorder) = &mut self.rows.recorder {
            recorder.read_beside_scan(beside);
        }
    }

    /// Implements [`txn::Access::scan_index`].
    pub fn scan_index(
        &mut self,
        index: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        let base = self.base_of(index);
        let own = columns.and(added::own_columns(base));
        let mut row = vec![0; base.layout().held_bytes(own)];
        match range {
            Keys::Numbers(range) => {
                let ends = (range.first(), range.last());
                self.scan_rows(index, ends, direction, ENTRY, |work, _, _, entry| {
                    work.visit_entry(index, entry, (columns, &mut row), visit)
                })
            }
            Keys::Bytes(range) => {
                let ends = self.byte_ends(index, range);
                self.scan_rows(index, ends, direction, ENTRY, |work, _, _, entry| {
                    work.visit_entry(index, entry, (columns, &mut row), visit)
                })
            }
        }
    }

    fn index_of(&mut self, index: TableId) -> &'s SecondaryIndex {
        let schema = self.table(index).schema();
        let index_of = schema.index_of.as_ref();
        index_of.unwrap_or_else(|| panic!("table {:?} is no index", schema.name))
    }

    fn base_of(&mut self, index: TableId) -> &'s Table<M> {
        let base = self.index_of(index).table;
        self.table(base)
    }

    /// Reads the row that an entry refers to and visits it.
    fn visit_entry(
        &mut self,
        index: TableId,
        entry: &[u8],
        (columns, row): (ColumnSet, &mut [u8]),
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>, Abort> {
        let index = self.index_of(index);
        let key = index.row_key(entry);
        let base = self.table(index.table);
        let own = columns.and(added::own_columns(base));
        let next = NextAccess { columns: own, intent: Intent::Read, reads: true };
        let (record, _) = self.locate(index.table, key, Some(next))?;
        self.read_beside_scan(true);
        let head = self.read_record(record, own, Intent::Read, row)?;
        self.read_beside_scan(false);
        // If the entry's row is absent, the entry and the row were read at different moments. The attempt will
        // not commit.
        if !head.state.is_present() {
            return Ok(ControlFlow::Continue(()));
        }
        self.visit_scanned((record.site, index.table), key, columns, row, visit)
    }
}
