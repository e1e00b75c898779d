//! Columns that were added to a table after it was made.
//!
//! They are in tables of their own, whose rows have the same keys ([`txn::AddedTo`]). The transaction that reads or writes
//! a row also reads or writes its rows there, so the protocol isolates them without further code. Tables to which nothing
//! was added pay nothing.
//!
//! **Invariants.**
//!
//! 1. A row has values in an added table only if it is present itself. A row that is inserted or deleted loses what an
//!    added table has under its key. So values that were written by a transaction that knew of the added columns cannot
//!    return after the row was deleted by one that did not.
//! 2. A transaction that reads or writes added columns also reads whether the row is present. So it conflicts with the
//!    transactions that insert or delete the row.

use super::Work;
use machine::Machine;
use std::{convert::Infallible, ops::ControlFlow};
use storage::{AddedColumns, Table};
use txn::{Abort, ColumnSet, Intent, Key, TableId, Visit};

/// Returns the columns of `home` itself, without those that were added.
pub(super) fn own_columns<M: Machine>(home: &Table<M>) -> ColumnSet {
    ColumnSet::first(home.schema().columns.len())
}

/// Returns true if `columns` of `home` include added ones.
pub(super) fn are_added<M: Machine>(home: &Table<M>, columns: ColumnSet) -> bool {
    !own_columns(home).contains(columns)
}

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Implements [`txn::Access::read_with`] for columns of which some were added.
    #[cold]
    pub(super) fn read_added(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        let home = self.table(table);
        let own = columns.and(own_columns(home));
        let (values, mut rest) = out.split_at_mut(home.row_layout().held_bytes(own));
        if !self.read(table, key, own, intent, values)? {
            return Ok(false);
        }
        for added in home.added() {
            let wanted = added.of(columns);
            if wanted.is_empty() {
                continue;
            }
            self.check_held(added.table, wanted);
            let layout = self.table(added.table).row_layout();
            let (values, behind) = rest.split_at_mut(layout.held_bytes(wanted));
            rest = behind;
            if !self.read(added.table, key, wanted, intent, values)? {
                let (mut packed, mut held) = (Vec::new(), Vec::new());
                self.append_defaults(added, wanted, &mut packed);
                let Ok(()) = layout.hold(wanted, &packed, &mut held, |_| Ok::<u64, Infallible>(0));
                values.copy_from_slice(&held);
            }
        }
        Ok(true)
    }

    /// Implements [`txn::Access::fetch`] for columns of which some were added.
    #[cold]
    pub(super) fn fetch_added(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut Vec<u8>,
    ) -> Result<bool, Abort> {
        let own = columns.and(own_columns(self.table(table)));
        if !self.fetch(table, key, own, intent, out)? {
            return Ok(false);
        }
        self.append_added(table, key, columns, intent, out)?;
        Ok(true)
    }

    /// Appends the added columns among `columns` of a present row to `out`.
    fn append_added(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut Vec<u8>,
    ) -> Result<(), Abort> {
        for added in self.table(table).added() {
            let wanted = added.of(columns);
            if wanted.is_empty() {
                continue;
            }
            let mut values = Vec::new();
            match self.fetch(added.table, key, wanted, intent, &mut values)? {
                true => out.extend_from_slice(&values),
                false => self.append_defaults(added, wanted, out),
            }
        }
        Ok(())
    }

    /// Appends the default values of `columns` of an added table.
    fn append_defaults(&mut self, added: AddedColumns, columns: ColumnSet, out: &mut Vec<u8>) {
        let home = self.table(added.table);
        let defaults = &home.schema().added_to.as_ref().expect("it was added").defaults;
        let layout = home.row_layout();
        for (column, value) in layout.fields(layout.all(), defaults) {
            if columns.contains(ColumnSet::one(column)) {
                layout.push(out, column, value);
            }
        }
    }

    /// Implements [`txn::Access::update`] for columns of which some were added.
    #[cold]
    pub(super) fn update_added(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        let home = self.table(table);
        let own = columns.and(own_columns(home));
        let (own_values, mut rest) = values.split_at(home.row_layout().packed_bytes(own, values));
        let is_present = match own.is_empty() {
            true => self.fetch(table, key, own, Intent::Read, &mut Vec::new())?,
            false => self.update(table, key, own, own_values)?,
        };
        if !is_present {
            return Ok(false);
        }
        for added in home.added() {
            let written = added.of(columns);
            if written.is_empty() {
                continue;
            }
            let layout = self.table(added.table).row_layout();
            let (values, behind) = rest.split_at(layout.packed_bytes(written, rest));
            rest = behind;
            if !self.update(added.table, key, written, values)? {
                let mut row = Vec::new();
                self.append_defaults(added, layout.all(), &mut row);
                let row = layout.replaced(&row, written, values);
                self.insert(added.table, key, &row)?;
            }
        }
        Ok(true)
    }

    /// Inserts the added columns of a row that has just been inserted. `rest` are their values in packed form. If there
    /// are none, the row has the default values.
    pub(super) fn insert_added(
        &mut self,
        table: TableId,
        key: Key<'_>,
        mut rest: &[u8],
    ) -> Result<(), Abort> {
        for added in self.table(table).added() {
            self.delete(added.table, key)?;
            if rest.is_empty() {
                continue;
            }
            let layout = self.table(added.table).row_layout();
            let (values, behind) = rest.split_at(layout.packed_bytes(layout.all(), rest));
            rest = behind;
            self.insert(added.table, key, values)?;
        }
        Ok(())
    }

    /// Deletes the added columns of a row that has just been deleted.
    pub(super) fn delete_added(&mut self, table: TableId, key: Key<'_>) -> Result<(), Abort> {
        for added in self.table(table).added() {
            self.delete(added.table, key)?;
        }
        Ok(())
    }

    /// Visits a row that a scan has reached, with `columns` in packed form. `held` are those of them that were not added,
    /// in held form, as they were read at site number `site`.
    pub(super) fn visit_scanned(
        &mut self,
        (site, table): (usize, TableId),
        key: Key<'_>,
        columns: ColumnSet,
        held: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>, Abort> {
        let home = self.table(table);
        if !are_added(home, columns) {
            return Ok(self.visit_packed(site, home, columns, held, |row| visit(key, row)));
        }
        let own = columns.and(own_columns(home));
        let mut row = Vec::new();
        self.pack(site, home.row_layout(), own, held, &mut row);
        self.read_beside_scan(true);
        let appended = self.append_added(table, key, columns, Intent::Read, &mut row);
        self.read_beside_scan(false);
        appended?;
        Ok(visit(key, &row))
    }
}
