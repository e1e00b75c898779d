//! What a closure may do to the database.

use crate::{
    AsKey, Error, Field, FixedValue, Index, IntegerValue, KeyBounds, Row, Table, Value,
    database::Catalogue, keys::check_key, table::Definition,
};
use engine::Session;
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};
use txn::{ColumnSet, Direction, Intent, Key, TableId};

/// How long a transaction may stay open.
#[derive(Clone, Copy)]
pub(crate) struct Term {
    since: Instant,
    limit: Duration,
}

impl Term {
    /// From now on, if there is a limit.
    #[inline]
    pub(crate) fn start(limit: Option<Duration>) -> Option<Term> {
        limit.map(|limit| Term { since: Instant::now(), limit })
    }

    /// Fails when the time has passed.
    pub(crate) fn check(self) -> Result<(), Error> {
        match self.since.elapsed() > self.limit {
            true => Err(Error::TransactionTooLong { limit: self.limit }),
            false => Ok(()),
        }
    }
}

/// A running transaction: the only way to rows. It sees its own writes, and nobody else does before it
/// has committed.
pub struct Transaction<'t> {
    session: &'t mut dyn Session,
    buffer: &'t mut Vec<u8>,
    catalogue: &'t Catalogue,
    read_only: bool,
    term: Option<Term>,
}

impl<'t> Transaction<'t> {
    pub(crate) fn new(
        session: &'t mut dyn Session,
        buffer: &'t mut Vec<u8>,
        catalogue: &'t Catalogue,
        read_only: bool,
        term: Option<Term>,
    ) -> Transaction<'t> {
        Transaction { session, buffer, catalogue, read_only, term }
    }

    /// The row `key`, if there is one.
    #[inline]
    pub fn get<'r>(&mut self, table: &'r Table, key: impl AsKey) -> Result<Option<Row<'r>>, Error> {
        self.read_row(table, key.as_key(), Intent::Read)
    }

    /// As [`Transaction::get`], for a row that the transaction is going to write: protocols that lock take
    /// the stronger lock at once, instead of failing to exchange it later.
    #[inline]
    pub fn get_for_update<'r>(
        &mut self,
        table: &'r Table,
        key: impl AsKey,
    ) -> Result<Option<Row<'r>>, Error> {
        self.check_writable(table.definition().id)?;
        self.read_row(table, key.as_key(), Intent::Update)
    }

    #[inline]
    fn read_row<'r>(
        &mut self,
        table: &'r Table,
        key: Key<'_>,
        intent: Intent,
    ) -> Result<Option<Row<'r>>, Error> {
        let definition = self.own(table)?;
        definition.check_key(key)?;
        let mut row = Row::zeros(table);
        let (id, all) = (definition.id, definition.all());
        let present = self.session.read_with(id, key, all, intent, row.packed_mut())?;
        Ok(present.then_some(row))
    }

    /// Adds the row `key` with one value for each column, in their order.
    ///
    /// Fails with [`Error::DuplicateKey`] when there is such a row; nothing has changed then, so the closure
    /// may go on, with an update for example. See [`Transaction::put`] for both in one.
    pub fn insert(
        &mut self,
        table: &Table,
        key: impl AsKey,
        values: &[Value<'_>],
    ) -> Result<(), Error> {
        let (key, definition) = (key.as_key(), self.pack_row(table, values)?);
        definition.check_key(key)?;
        if self.session.insert(definition.id, key, self.buffer)? {
            return Ok(());
        }
        let refused = self.not_unique(definition.id);
        Err(refused.unwrap_or_else(|| Error::DuplicateKey {
            table: table.name().into(),
            key: key.to_owned(),
        }))
    }

    /// The error that a unique index of the table has refused the last insert or update with, if one has.
    #[cold]
    fn not_unique(&self, table: TableId) -> Option<Error> {
        let index = self.catalogue.name_of(self.session.refused_by()?);
        Some(Error::NotUnique { table: self.catalogue.name_of(table), index })
    }

    /// Why an update has changed nothing.
    #[cold]
    fn nothing_to_change(&self, table: TableId, key: Key<'_>) -> Error {
        let missing =
            || Error::MissingKey { table: self.catalogue.name_of(table), key: key.to_owned() };
        self.not_unique(table).unwrap_or_else(missing)
    }

    /// Makes `values` the row `key`, whether there is one already or not.
    pub fn put(
        &mut self,
        table: &Table,
        key: impl AsKey,
        values: &[Value<'_>],
    ) -> Result<(), Error> {
        let (key, definition) = (key.as_key(), self.pack_row(table, values)?);
        definition.check_key(key)?;
        let (id, all) = (definition.id, definition.all());
        if !self.session.update(id, key, all, self.buffer)?
            && (self.session.refused_by().is_some()
                || !self.session.insert(id, key, self.buffer)?)
        {
            if let Some(error) = self.not_unique(id) {
                return Err(error);
            }
            // What was absent is present now: only a transaction that cannot commit sees both.
            return Err(Error::Conflict(txn::AbortReason::Validation));
        }
        Ok(())
    }

    /// Overwrites some columns of the row `key`, in any order. Fails with [`Error::MissingKey`], having
    /// changed nothing, when there is no such row.
    pub fn update(
        &mut self,
        table: &Table,
        key: impl AsKey,
        values: &[(&str, Value<'_>)],
    ) -> Result<(), Error> {
        let (key, definition) = (key.as_key(), self.own(table)?);
        definition.check_key(key)?;
        self.check_writable(definition.id)?;
        let columns = self.pack_columns(definition, values)?;
        if self.session.update(definition.id, key, columns, self.buffer)? {
            return Ok(());
        }
        Err(self.nothing_to_change(definition.id, key))
    }

    /// Adds to some columns of the row `key`, which hold integers, in any order, wrapping at 64 bits. With an
    /// optimistic protocol and its option `commit-updates` nothing is read for it, so transactions that add to the
    /// same row do not conflict.
    ///
    /// Fails with [`Error::NotAnInteger`] when a column holds something else, and with [`Error::MissingKey`] when
    /// there is no such row; nothing has changed then.
    pub fn add(
        &mut self,
        table: &Table,
        key: impl AsKey,
        deltas: &[(&str, i64)],
    ) -> Result<(), Error> {
        let (key, definition) = (key.as_key(), self.own(table)?);
        definition.check_key(key)?;
        self.check_writable(definition.id)?;
        let columns = self.pack_deltas(definition, deltas)?;
        if self.session.add(definition.id, key, columns, self.buffer)? {
            return Ok(());
        }
        Err(self.nothing_to_change(definition.id, key))
    }

    /// Removes the row `key`. False when there is no such row.
    pub fn delete(&mut self, table: &Table, key: impl AsKey) -> Result<bool, Error> {
        let (key, definition) = (key.as_key(), self.own(table)?);
        definition.check_key(key)?;
        self.check_writable(definition.id)?;
        Ok(self.session.delete(definition.id, key)?)
    }

    /// Visits the rows of an ordered table whose keys are in `range`, in ascending order, until `visit` breaks. The scan sees
    /// the transaction's own inserts, updates and deletes. No phantoms appear in the visited range: either no other
    /// transaction adds rows to it before this transaction ends, or this transaction does not commit.
    ///
    /// Bytes are in order byte by byte, where a key comes before all that begin with it.
    ///
    /// Fails with [`Error::ReversedRange`] when the range starts after its end, with [`Error::WrongKeyType`] or
    /// [`Error::KeyTooLong`] when an end cannot be a key of the table, and with [`Error::NotOrdered`] when the table
    /// has no order. See [`Database::create_ordered_table`] for an example.
    ///
    /// [`Database::create_ordered_table`]: crate::Database::create_ordered_table
    pub fn scan<'r>(
        &mut self,
        table: &'r Table,
        range: impl KeyBounds,
        visit: impl FnMut(Key<'_>, &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_towards(table, &range, Direction::Forward, visit)
    }

    /// As [`Transaction::scan`], from the last key of the range to its first.
    pub fn scan_backward<'r>(
        &mut self,
        table: &'r Table,
        range: impl KeyBounds,
        visit: impl FnMut(Key<'_>, &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_towards(table, &range, Direction::Backward, visit)
    }

    fn scan_towards<'r>(
        &mut self,
        table: &'r Table,
        range: &impl KeyBounds,
        direction: Direction,
        mut visit: impl FnMut(Key<'_>, &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let definition = self.own(table)?;
        let Some(range) = definition.range(range.bounds())? else { return Ok(()) };
        let (id, all) = (definition.id, definition.all());
        self.session.scan(id, range.as_keys(), direction, all, &mut |key, bytes| {
            visit(key, &Row::packed(table, bytes))
        })?;
        Ok(())
    }

    /// Visits the rows whose indexed columns have the values given, of the first columns or of all, in the order of
    /// the index, until `visit` breaks off. Others that would be among them do not come either, as with
    /// [`Transaction::scan`].
    pub fn find<'r>(
        &mut self,
        index: &'r Index,
        values: &[Value<'_>],
        visit: impl FnMut(Key<'_>, &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index(index, values, values, visit)
    }

    /// As [`Transaction::find`], from the first row whose indexed columns begin with the values `first` to the last whose
    /// begin with `last`. No values stand for the first and the last row there is.
    ///
    /// Fails with [`Error::ReversedIndexRange`] when the range starts after its end, and with
    /// [`Error::BeyondIndex`] when no row can have such values.
    pub fn scan_index<'r>(
        &mut self,
        index: &'r Index,
        first: &[Value<'_>],
        last: &[Value<'_>],
        visit: impl FnMut(Key<'_>, &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index_towards(index, first, last, Direction::Forward, visit)
    }

    /// As [`Transaction::scan_index`], from the last row to the first.
    pub fn scan_index_backward<'r>(
        &mut self,
        index: &'r Index,
        first: &[Value<'_>],
        last: &[Value<'_>],
        visit: impl FnMut(Key<'_>, &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index_towards(index, first, last, Direction::Backward, visit)
    }

    fn scan_index_towards<'r>(
        &mut self,
        index: &'r Index,
        first: &[Value<'_>],
        last: &[Value<'_>],
        direction: Direction,
        mut visit: impl FnMut(Key<'_>, &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let table = index.table();
        let all = self.own(table)?.all();
        let range = index.range(first, last)?;
        self.session.scan_index(
            index.id(),
            range.as_keys(),
            direction,
            all,
            &mut |key, bytes| visit(key, &Row::packed(table, bytes)),
        )?;
        Ok(())
    }

    /// One column of the row `key`, if there is such a row.
    #[inline]
    pub fn get_field<T: FixedValue>(
        &mut self,
        field: Field<T>,
        key: impl AsKey,
    ) -> Result<Option<T>, Error> {
        self.read_field(field, key.as_key(), Intent::Read)
    }

    /// As [`Transaction::get_field`], for a row that the transaction is going to write.
    #[inline]
    pub fn get_field_for_update<T: FixedValue>(
        &mut self,
        field: Field<T>,
        key: impl AsKey,
    ) -> Result<Option<T>, Error> {
        self.check_writable(field.table)?;
        self.read_field(field, key.as_key(), Intent::Update)
    }

    #[inline]
    fn read_field<T: FixedValue>(
        &mut self,
        field: Field<T>,
        key: Key<'_>,
        intent: Intent,
    ) -> Result<Option<T>, Error> {
        self.check_field(field, key)?;
        let mut bytes = T::zeros();
        let out = bytes.as_mut();
        let present = self.session.read_with(field.table, key, field.columns, intent, out)?;
        Ok(present.then(|| T::from_bytes(bytes.as_ref())))
    }

    /// Overwrites one column of the row `key`. Fails with [`Error::MissingKey`] when there is no such row.
    #[inline]
    pub fn set_field<T: FixedValue>(
        &mut self,
        field: Field<T>,
        key: impl AsKey,
        value: T,
    ) -> Result<(), Error> {
        let key = key.as_key();
        self.check_field(field, key)?;
        self.check_writable(field.table)?;
        if self.session.update(field.table, key, field.columns, value.to_bytes().as_ref())? {
            return Ok(());
        }
        Err(self.nothing_to_change(field.table, key))
    }

    /// Adds to one column of the row `key`, as [`Transaction::add`] does.
    #[inline]
    pub fn add_field<T: IntegerValue>(
        &mut self,
        field: Field<T>,
        key: impl AsKey,
        delta: i64,
    ) -> Result<(), Error> {
        let key = key.as_key();
        self.check_field(field, key)?;
        self.check_writable(field.table)?;
        if self.session.add(field.table, key, field.columns, &delta.to_le_bytes())? {
            return Ok(());
        }
        Err(self.nothing_to_change(field.table, key))
    }

    #[inline]
    fn own<'r>(&self, table: &'r Table) -> Result<&'r Definition, Error> {
        self.check_term()?;
        let definition = table.definition();
        if definition.database == self.catalogue.database {
            return Ok(definition);
        }
        Err(Error::ForeignTable { table: table.name().into() })
    }

    #[inline]
    fn check_field<T>(&self, field: Field<T>, key: Key<'_>) -> Result<(), Error> {
        self.check_term()?;
        if field.database == self.catalogue.database {
            return check_key(field.keys, key, || self.catalogue.name_of(field.table));
        }
        Err(Error::ForeignTable { table: format!("number {}", field.table.0) })
    }

    #[inline]
    fn check_term(&self) -> Result<(), Error> {
        self.term.map_or(Ok(()), Term::check)
    }

    #[inline]
    fn check_writable(&self, table: TableId) -> Result<(), Error> {
        if self.read_only {
            return Err(Error::ReadOnly { table: self.catalogue.name_of(table) });
        }
        Ok(())
    }

    /// Packs a whole row into the buffer.
    fn pack_row<'r>(
        &mut self,
        table: &'r Table,
        values: &[Value<'_>],
    ) -> Result<&'r Definition, Error> {
        let definition = self.own(table)?;
        self.check_writable(definition.id)?;
        let allowed = definition.schema.columns.len();
        if values.len() != allowed {
            let given = values.len();
            return Err(Error::WrongCount { table: table.name().into(), given, allowed });
        }
        self.buffer.resize(definition.row_bytes(), 0);
        for (column, value) in values.iter().enumerate() {
            definition.encode(column, *value, &mut self.buffer[definition.place(column)])?;
        }
        Ok(definition)
    }

    /// Packs some columns into the buffer, in the order of the table.
    fn pack_columns(
        &mut self,
        definition: &Definition,
        values: &[(&str, Value<'_>)],
    ) -> Result<ColumnSet, Error> {
        let columns = definition.columns(values.iter().map(|(name, _)| *name))?;
        let length = columns.iter().map(|column| definition.place(column).len()).sum();
        self.buffer.resize(length, 0);
        for (name, value) in values {
            let column = definition.column(name)?;
            let below = columns.iter().take_while(|other| *other < column);
            let start: usize = below.map(|other| definition.place(other).len()).sum();
            let end = start + definition.place(column).len();
            definition.encode(column, *value, &mut self.buffer[start..end])?;
        }
        Ok(columns)
    }

    /// Packs what is to be added to some columns into the buffer, in the order of the table.
    fn pack_deltas(
        &mut self,
        definition: &Definition,
        deltas: &[(&str, i64)],
    ) -> Result<ColumnSet, Error> {
        let columns = definition.columns(deltas.iter().map(|(name, _)| *name))?;
        self.buffer.resize(deltas.len() * 8, 0);
        for (name, delta) in deltas {
            let column = definition.column(name)?;
            definition.check_integer(column)?;
            let at = columns.iter().take_while(|other| *other < column).count() * 8;
            self.buffer[at..at + 8].copy_from_slice(&delta.to_le_bytes());
        }
        Ok(columns)
    }
}
