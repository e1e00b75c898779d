//! Accesses to rows by their keys.

use super::{CHANGE, Found, Rows, Sited, Work, added};
use crate::site::{Name, NextAccess};
use machine::{Category, Core, Machine};
use protocols::Change;
use storage::{Appended, Record, RowState};
use txn::{Abort, AbortReason, ColumnSet, Intent, Key, TableId};

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Implements [`txn::Access::read_with`].
    pub fn read(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        if added::are_added(self.table(table), columns) {
            return self.read_added(table, key, columns, intent, out);
        }
        let (record, _) =
            self.locate(table, key, Some(NextAccess { columns, intent, reads: true }))?;
        self.check_held(table, columns);
        self.read_row(record, columns, intent, out)
    }

    /// Panics if a record of `table` does not hold the values of `columns`.
    pub(super) fn check_held(&self, table: TableId, columns: ColumnSet) {
        let home = self.table(table);
        let held = !home.row_layout().apart().intersects(columns);
        let name = &home.schema().name;
        assert!(held, "table {name:?}: a column whose values lie outside the record is fetched");
    }

    /// Implements [`txn::Access::update`].
    pub fn update(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        if added::are_added(self.table(table), columns) {
            return self.update_added(table, key, columns, values);
        }
        self.check_constant(table, |constant| !constant.intersects(columns))?;
        if self.table(table).indexed_columns().intersects(columns) {
            return self.update_indexed(table, key, columns, values);
        }
        self.rows.refused_by = None;
        let (record, _) = self.locate(
            table,
            key,
            Some(NextAccess { columns, intent: Intent::Update, reads: false }),
        )?;
        self.with_held(record, (columns, values), |work, values| {
            work.write_row(record, Change { columns, values, state: None })
        })
    }

    /// Implements [`txn::Access::add`] for the case that [`Work::adds_blindly`] returns true.
    pub fn add(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        self.check_constant(table, |constant| !constant.intersects(columns))?;
        self.rows.refused_by = None;
        let (record, _) = self.locate(
            table,
            key,
            Some(NextAccess { columns, intent: Intent::Update, reads: false }),
        )?;
        self.add_to_row(record, columns, deltas)
    }

    /// Returns true if the protocol can add to `columns` without reading them. Panics if a column does not hold
    /// integers. Additions to indexed columns need a read, because moving an index entry requires the value.
    pub fn adds_blindly(&mut self, table: TableId, columns: ColumnSet) -> bool {
        let home = self.table(table);
        if added::are_added(home, columns) {
            let mut added = home.added();
            let are_integers =
                added.all(|a| self.table(a.table).row_layout().integers().contains(a.of(columns)));
            let name = &home.schema().name;
            assert!(are_integers, "columns {columns:?} of table {name:?} do not all hold integers");
            return false;
        }
        assert!(
            home.row_layout().integers().contains(columns),
            "columns {columns:?} of table {:?} do not all hold integers",
            home.schema().name
        );
        self.sites.site(0).adds_at_commit() && !home.indexed_columns().intersects(columns)
    }

    /// Inserts a row and its entries in the indexes of its table.
    pub fn insert(&mut self, table: TableId, key: Key<'_>, row: &[u8]) -> Result<bool, Abort> {
        self.check_constant(table, ColumnSet::is_empty)?;
        self.rows.refused_by = None;
        let (record, found) = self.locate(table, key, Some(CHANGE))?;
        self.insert_located((table, key), (record, found), row)
    }

    /// Inserts a row into the record of its key, which [`crate::site::LocalSite::make_run`] has made at the only site.
    pub fn insert_in_made(
        &mut self,
        (table, key): (TableId, u64),
        record: Record<'s, M>,
        row: &[u8],
    ) -> Result<bool, Abort> {
        self.rows.refused_by = None;
        let found = Found { site: 0, table, name: Name::Number(key) };
        self.purge_later(&found);
        self.insert_located((table, Key::Number(key)), (Sited { site: 0, record }, found), row)
    }

    /// Inserts a row, as [`Work::insert`] does, into the record of its key.
    fn insert_located(
        &mut self,
        (table, key): (TableId, Key<'_>),
        (record, found): (Sited<'s, M>, Found),
        row: &[u8],
    ) -> Result<bool, Abort> {
        let head = self.read_record(record, ColumnSet::NONE, Intent::Update, &mut [])?;
        if head.state.is_present() {
            return Ok(false);
        }
        let home = self.table(table);
        if !home.schema().indexes.is_empty() && !self.insert_entries(table, key, row)? {
            return Ok(false);
        }
        let state = Some(RowState::PRESENT);
        let columns = home.row_layout().all();
        let own = match home.has_added_columns() {
            false => row,
            true => &row[..home.row_layout().packed_bytes(columns, row)],
        };
        let inserted = self.with_held(record, (columns, own), |work, values| {
            work.write_row(record, Change { columns, values, state })
        })?;
        self.rows.purge.inserted(found);
        if home.has_added_columns() {
            self.insert_added(table, key, &row[own.len()..])?;
        }
        Ok(inserted)
    }

    /// Deletes a row and its entries in the indexes of its table.
    pub fn delete(&mut self, table: TableId, key: Key<'_>) -> Result<bool, Abort> {
        self.check_constant(table, ColumnSet::is_empty)?;
        let (record, found) = self.locate(table, key, Some(CHANGE))?;
        let head = self.read_record(record, ColumnSet::NONE, Intent::Update, &mut [])?;
        if !head.state.is_present() {
            return Ok(false);
        }
        if !self.table(table).schema().indexes.is_empty() {
            self.delete_entries(table, key, record)?;
        }
        self.end_row(record, RowState::ABSENT)?;
        self.purge_later(&found);
        if self.table(table).has_added_columns() {
            self.delete_added(table, key)?;
        }
        Ok(true)
    }

    /// Implements [`txn::Access::append`].
    pub fn append(&mut self, row: &[u8]) -> Result<(), Abort> {
        let Rows { core, store, session, appended, .. } = &mut *self.rows;
        let appended =
            appended.get_or_insert_with(|| Appended::new(store.machine().arena(), *session));
        core.account(Category::Useful);
        core.compute_access();
        let room = appended.append::<M>(core, row, store.system_memory());
        room.map_err(|_| Abort::because(AbortReason::OutOfMemory))
    }

    /// Fails if the constant columns of `table` do not allow a change.
    fn check_constant(
        &self,
        table: TableId,
        allow: impl FnOnce(ColumnSet) -> bool,
    ) -> Result<(), Abort> {
        match allow(self.table(table).schema().constant) {
            true => Ok(()),
            false => Err(Abort::because(AbortReason::ConstantData)),
        }
    }

    /// Writes to a record, or to one part of a row with hot columns.
    pub(super) fn write_record(
        &mut self,
        at: Sited<'s, M>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        self.rows.charge_access(&at.record);
        self.note_values(&at.record, &change);
        if self.sites.site(at.site).write(at.record, change)? {
            if change.state.is_some() || !change.columns.is_empty() {
                self.note_write(at.record, change.state);
            }
            return Ok(true);
        }
        self.note_absence(at)
    }

    /// Adds to a record, or to one part of a row with hot columns.
    pub(super) fn add_to_record(
        &mut self,
        at: Sited<'s, M>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        self.rows.charge_access(&at.record);
        if self.sites.site(at.site).add(at.record, columns, deltas)? {
            self.note_write(at.record, None);
            return Ok(true);
        }
        self.note_absence(at)
    }

    /// Reads a record that the protocol has found absent. The read distinguishes an absent record from a
    /// retired one, and it records the absence in the history.
    fn note_absence(&mut self, at: Sited<'s, M>) -> Result<bool, Abort> {
        self.read_record(at, ColumnSet::NONE, Intent::Read, &mut [])?;
        Ok(false)
    }
}
