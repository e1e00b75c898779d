//! Secondary indexes: an index's entries are rows like any others, written and read by the transaction that
//! writes and reads the rows of the base table.

use super::{Record, SharedEverythingSession};
use machine::{Core, Machine};
use protocols::{Change, Protocol, faults};
use std::ops::ControlFlow;
use storage::{RowState, Table};
use txn::{
    Abort, AbortReason, ByteRange, ColumnSet, Direction, ENTRY, Entry, EntryVisit, Intent,
    KeyRange, RowKey, RowLayout, SecondaryIndex, TableId, Visit,
};

/// An entry that is to go, one that is to come, or both: the index has another key for the row.
struct Moved {
    index: TableId,
    unique: bool,
    from: Option<Entry>,
    to: Option<Entry>,
}

/// The bytes of a column in packed `values` of `columns`.
fn value_in<'v>(
    layout: &RowLayout,
    columns: ColumnSet,
    values: &'v [u8],
    column: usize,
) -> &'v [u8] {
    let before = ColumnSet(columns.0 & ColumnSet::first(column).0);
    let start = layout.packed_bytes(before);
    &values[start..start + layout.span(column).bytes as usize]
}

impl<'s, M: Machine, P: Protocol<M>> SharedEverythingSession<'s, M, P> {
    /// What changes in the indexes of `table` when the row `key`, whose indexed columns were `before`, if there was
    /// one, gets the packed `values` of `columns`, or goes.
    fn moved(
        &self,
        table: TableId,
        key: RowKey<'_>,
        before: Option<&[u8]>,
        after: Option<(ColumnSet, &[u8])>,
    ) -> Result<Vec<Moved>, Abort> {
        let home = self.table(table);
        let (layout, indexed) = (home.layout(), home.indexed_columns());
        let mut moved = Vec::with_capacity(home.schema().indexes.len());
        for &id in &home.schema().indexes {
            let index = self.table(id).schema().index_of.as_ref().expect("an index says of what");
            let old = |column| {
                value_in(layout, indexed, before.expect("a row that changes is there"), column)
            };
            let from = before.and_then(|_| index.entry(key, old));
            let to = match after {
                None => None,
                Some((columns, values)) => {
                    let value_of = |column| match columns.contains(ColumnSet::one(column)) {
                        true => value_in(layout, columns, values, column),
                        false => old(column),
                    };
                    let to = index.entry(key, value_of);
                    // The index has no place for such a row.
                    Some(to.ok_or(Abort::because(AbortReason::KeyOutsideIndex))?)
                }
            };
            if from != to {
                moved.push(Moved { index: id, unique: index.is_unique(), from, to });
            }
        }
        Ok(moved)
    }

    /// Changes the indexes; false, with nothing changed, if a unique one has an entry of another row already.
    fn write_entries(&mut self, key: RowKey<'_>, moved: &[Moved]) -> Result<bool, Abort> {
        for entry in moved.iter().filter(|entry| entry.unique) {
            let record = match &entry.to {
                None => continue,
                Some(Entry::Number(to)) => self.record(entry.index, *to)?,
                Some(Entry::Bytes(to)) => self.byte_record(entry.index, to)?.0,
            };
            let head = self.protocol_read(record, ColumnSet::NONE, Intent::Update, &mut [])?;
            if head.state.is_present() {
                self.refused_by = Some(entry.index);
                return Ok(false);
            }
        }
        for entry in moved {
            // An attempt that reads what is not of one moment may find no entry, or find one where none can be. It
            // will not commit, and goes on as if all were right.
            match &entry.from {
                None => {}
                Some(_) if self.core.is_planted(faults::INDEX_ENTRY_STAYS) => {}
                Some(Entry::Number(from)) => drop(self.delete_row(entry.index, *from)?),
                Some(Entry::Bytes(from)) => drop(self.delete_by_bytes(entry.index, from)?),
            }
            let Some(to) = &entry.to else { continue };
            let row = self.index_of(entry.index).entry_row(key);
            match to {
                Entry::Number(to) => self.insert_row(entry.index, *to, &row)?,
                Entry::Bytes(to) => self.insert_by_bytes(entry.index, to, &row)?,
            };
        }
        Ok(true)
    }

    /// Puts the entries of a new row into the indexes of its table; false if a unique one refuses.
    #[cold]
    pub(super) fn insert_entries(
        &mut self,
        table: TableId,
        key: RowKey<'_>,
        row: &[u8],
    ) -> Result<bool, Abort> {
        let all = self.table(table).layout().all();
        let moved = self.moved(table, key, None, Some((all, row)))?;
        self.write_entries(key, &moved)
    }

    /// Takes the entries of a row that goes, and that is there, out of the indexes of its table.
    #[cold]
    pub(super) fn delete_entries(
        &mut self,
        table: TableId,
        key: RowKey<'_>,
        record: Record<'s, M, P>,
    ) -> Result<(), Abort> {
        let indexed = self.table(table).indexed_columns();
        let mut before = vec![0; self.table(table).layout().packed_bytes(indexed)];
        self.protocol_read(record, indexed, Intent::Update, &mut before)?;
        let moved = self.moved(table, key, Some(&before), None)?;
        self.write_entries(key, &moved).map(|_| ())
    }

    /// An update of indexed columns.
    #[cold]
    pub(super) fn update_indexed(
        &mut self,
        table: TableId,
        key: RowKey<'_>,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        self.refused_by = None;
        let record = match key {
            RowKey::Number(key) => self.record(table, key)?,
            RowKey::Bytes(key) => self.byte_record(table, key)?.0,
        };
        let indexed = self.table(table).indexed_columns();
        let mut before = vec![0; self.table(table).layout().packed_bytes(indexed)];
        let head = self.protocol_read(record, indexed, Intent::Update, &mut before)?;
        if !head.state.is_present() {
            return Ok(false);
        }
        let moved = self.moved(table, key, Some(&before), Some((columns, values)))?;
        if !self.write_entries(key, &moved)? {
            return Ok(false);
        }
        self.protocol_write(record, Change { columns, values, state: None })
    }

    /// Inserts a row, whatever indexes its table has.
    pub(super) fn insert_row(
        &mut self,
        table: TableId,
        key: u64,
        row: &[u8],
    ) -> Result<bool, Abort> {
        self.refused_by = None;
        let record = self.record(table, key)?;
        let head = self.protocol_read(record, ColumnSet::NONE, Intent::Update, &mut [])?;
        if head.state.is_present() {
            return Ok(false);
        }
        let home = self.table(table);
        if !home.schema().indexes.is_empty()
            && !self.insert_entries(table, RowKey::Number(key), row)?
        {
            return Ok(false);
        }
        let state = Some(RowState::PRESENT);
        let columns = home.row_layout().all();
        let change = Change { columns, values: row, state };
        let inserted = match home.split() {
            None => self.protocol_write(record, change)?,
            Some(split) => self.write_parts(record, split, change)?,
        };
        self.purge.inserted(table, key);
        Ok(inserted)
    }

    /// Deletes a row, whatever indexes its table has.
    pub(super) fn delete_row(&mut self, table: TableId, key: u64) -> Result<bool, Abort> {
        let record = self.record(table, key)?;
        let head = self.protocol_read(record, ColumnSet::NONE, Intent::Update, &mut [])?;
        if !head.state.is_present() {
            return Ok(false);
        }
        if !self.table(table).schema().indexes.is_empty() {
            self.delete_entries(table, RowKey::Number(key), record)?;
        }
        let state = Some(RowState::ABSENT);
        self.protocol_write(record, Change { columns: ColumnSet::NONE, values: &[], state })?;
        self.end_second(record, RowState::ABSENT)?;
        self.purge_later(table, key);
        Ok(true)
    }

    fn read_beside_scan(&mut self, beside: bool) {
        if let Some(recorder) = &mut self.recorder {
            recorder.read_beside_scan(beside);
        }
    }

    /// A scan of an index: the rows that its entries are about.
    pub(super) fn scan_entries(
        &mut self,
        index: TableId,
        range: KeyRange,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        let mut row = vec![0; self.base_of(index).layout().packed_bytes(columns)];
        let ends = (range.first(), range.last());
        self.scan_rows(index, ends, direction, ENTRY, |s, _, entry| {
            s.visit_entry(index, entry, (columns, &mut row), &mut |key, row| match key {
                RowKey::Number(key) => visit(key, row),
                RowKey::Bytes(_) => unreachable!("entries about keys of bytes are bytes"),
            })
        })
    }

    /// As [`SharedEverythingSession::scan_entries`], of an index whose entries' keys are bytes.
    pub(super) fn scan_wide_entries(
        &mut self,
        index: TableId,
        range: ByteRange<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut EntryVisit<'_>,
    ) -> Result<(), Abort> {
        let mut row = vec![0; self.base_of(index).layout().packed_bytes(columns)];
        let ends = self.byte_ends(index, range);
        self.scan_rows(index, ends, direction, ENTRY, |s, _, entry| {
            s.visit_entry(index, entry, (columns, &mut row), visit)
        })
    }

    fn index_of(&self, index: TableId) -> &'s SecondaryIndex {
        let schema = self.table(index).schema();
        let index_of = schema.index_of.as_ref();
        index_of.unwrap_or_else(|| panic!("table {:?} is no index", schema.name))
    }

    fn base_of(&self, index: TableId) -> &'s Table<M, P::Record> {
        self.table(self.index_of(index).table)
    }

    /// Reads the row that an entry is about.
    fn visit_entry(
        &mut self,
        index: TableId,
        entry: &[u8],
        (columns, row): (ColumnSet, &mut [u8]),
        visit: &mut EntryVisit<'_>,
    ) -> Result<ControlFlow<()>, Abort> {
        let index = self.index_of(index);
        let key = index.row_key(entry);
        let record = match key {
            RowKey::Number(key) => self.record(index.table, key)?,
            RowKey::Bytes(key) => self.byte_record(index.table, key)?.0,
        };
        self.read_beside_scan(true);
        let head = self.protocol_read(record, columns, Intent::Read, row)?;
        self.read_beside_scan(false);
        // An entry of a row that is not there is none of one moment with it: the attempt will not commit.
        let there = head.state.is_present();
        Ok(if there { visit(key, row) } else { ControlFlow::Continue(()) })
    }
}
