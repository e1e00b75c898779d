//! The operations that a closure can run on the database.

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

/// The time limit of an open transaction.
#[derive(Clone, Copy)]
pub(crate) struct Term {
    /// Time at which the attempt began.
    since: Instant,
    limit: Duration,
}

impl Term {
    /// Starts the clock now if there is a limit.
    #[inline]
    pub(crate) fn start(limit: Option<Duration>) -> Option<Term> {
        limit.map(|limit| Term { since: Instant::now(), limit })
    }

    /// Fails with [`Error::TransactionTooLong`] if the limit has passed.
    pub(crate) fn check(self) -> Result<(), Error> {
        match self.since.elapsed() > self.limit {
            true => Err(Error::TransactionTooLong { limit: self.limit }),
            false => Ok(()),
        }
    }
}

/// A running transaction. Rows can be accessed only through it.
///
/// The transaction sees its own writes. Other transactions do not see them before it has committed.
///
/// Every method fails with [`Error::ForeignTable`] if the table or field belongs to another database, and with
/// [`Error::TransactionTooLong`] if the time limit has passed. A key of the wrong kind or length fails with
/// [`Error::WrongKeyType`] or [`Error::KeyTooLong`]. Every method can also fail with [`Error::Conflict`]. Then
/// the closure should return the error with `?`, and it runs again.
pub struct Transaction<'t> {
    session: &'t mut dyn Session,
    /// Room in which a row or some of its columns are packed before a write.
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

    /// Returns the row `key`, or `None` if there is none.
    #[inline]
    pub fn get<'r>(&mut self, table: &'r Table, key: impl AsKey) -> Result<Option<Row<'r>>, Error> {
        self.read_row(table, key.as_key(), Intent::Read)
    }

    /// Returns the row `key` as [`Transaction::get`] does, for a row that the transaction is going to write. A
    /// locking protocol acquires the exclusive lock at once, because a later upgrade of a shared lock can fail.
    ///
    /// Fails with [`Error::ReadOnly`] in a transaction that was declared read-only.
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

    /// Inserts the row `key` with one value for each column, in the order of the table's columns.
    ///
    /// Fails with [`Error::DuplicateKey`] if there is a row `key`, and with [`Error::NotUnique`] if a unique
    /// index has an entry with the same values. In both cases nothing has changed, so the closure can go on,
    /// for example with an update. See [`Transaction::put`] for an insert or update in one call. A wrong number
    /// of values fails with [`Error::WrongCount`].
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

    /// Returns the error for the unique index that refused the last insert or update, if an index did.
    #[cold]
    fn not_unique(&self, table: TableId) -> Option<Error> {
        let index = self.catalogue.name_of(self.session.refused_by()?);
        Some(Error::NotUnique { table: self.catalogue.name_of(table), index })
    }

    /// Returns the reason why an update or addition changed nothing.
    #[cold]
    fn nothing_to_change(&self, table: TableId, key: Key<'_>) -> Error {
        let missing =
            || Error::MissingKey { table: self.catalogue.name_of(table), key: key.to_owned() };
        self.not_unique(table).unwrap_or_else(missing)
    }

    /// Inserts the row `key` with `values`, or overwrites it if it exists.
    ///
    /// Fails with [`Error::NotUnique`] if a unique index has an entry of another row with the same values, and
    /// with [`Error::WrongCount`] if there is not one value for each column.
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
            // The update found the row absent and the insert found it present. Only a transaction that cannot
            // commit sees both.
            return Err(Error::Conflict(txn::AbortReason::Validation));
        }
        Ok(())
    }

    /// Overwrites some columns of the row `key`, given in any order.
    ///
    /// Fails with [`Error::MissingKey`] if there is no such row, and with [`Error::NotUnique`] if a unique
    /// index has an entry of another row with the same values. Nothing has changed in these cases. A column
    /// that is given twice fails with [`Error::RepeatedColumn`].
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

    /// Adds to some columns of the row `key`, given in any order. The columns must hold integers. Sums wrap at
    /// 64 bits.
    ///
    /// With an optimistic protocol and its option `commit-updates`, the addition reads nothing before the
    /// commit. Transactions that add to the same row then do not conflict.
    ///
    /// Fails with [`Error::NotAnInteger`] if a column holds another type, and with [`Error::MissingKey`] if
    /// there is no such row. Nothing has changed in these cases.
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

    /// Deletes the row `key`. Returns false if there is no such row.
    pub fn delete(&mut self, table: &Table, key: impl AsKey) -> Result<bool, Error> {
        let (key, definition) = (key.as_key(), self.own(table)?);
        definition.check_key(key)?;
        self.check_writable(definition.id)?;
        Ok(self.session.delete(definition.id, key)?)
    }

    /// Visits the rows of an ordered table whose keys are in `range`, in ascending order, until `visit` breaks.
    /// The scan sees the transaction's own inserts, updates and deletes. No phantoms appear in the visited
    /// range: either no other transaction adds rows to it before this transaction ends, or this transaction
    /// does not commit.
    ///
    /// Keys of bytes are ordered byte by byte. A key comes before all longer keys that begin with it.
    ///
    /// Fails with [`Error::ReversedRange`] if the range starts after its end, with [`Error::WrongKeyType`] or
    /// [`Error::KeyTooLong`] if an end of the range cannot be a key of the table, and with
    /// [`Error::NotOrdered`] if the table has no order. See [`Database::create_ordered_table`] for an example.
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

    /// Visits rows as [`Transaction::scan`] does, in descending order, from the last key of the range to its
    /// first.
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

    /// Visits the rows whose indexed columns have the given values, in the order of the index, until `visit`
    /// breaks.
    ///
    /// `values` are values of the first columns of the index, or of all its columns. No phantoms appear among
    /// the visited rows, as with [`Transaction::scan`].
    ///
    /// Fails with [`Error::BeyondIndex`] if a value needs more bits than the index has for its column, and with
    /// [`Error::WrongCount`] if there are more values than indexed columns.
    pub fn find<'r>(
        &mut self,
        index: &'r Index,
        values: &[Value<'_>],
        visit: impl FnMut(Key<'_>, &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index(index, values, values, visit)
    }

    /// Visits rows as [`Transaction::find`] does, from the first row whose indexed columns begin with the
    /// values `first` to the last row whose indexed columns begin with the values `last`. An empty slice stands
    /// for the first or the last row of the index.
    ///
    /// Fails with [`Error::ReversedIndexRange`] if the range starts after its end, and with
    /// [`Error::BeyondIndex`] if no row can have these values.
    pub fn scan_index<'r>(
        &mut self,
        index: &'r Index,
        first: &[Value<'_>],
        last: &[Value<'_>],
        visit: impl FnMut(Key<'_>, &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index_towards(index, first, last, Direction::Forward, visit)
    }

    /// Visits rows as [`Transaction::scan_index`] does, in descending order, from the last row to the first.
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

    /// Returns one column of the row `key`, or `None` if there is no such row.
    #[inline]
    pub fn get_field<T: FixedValue>(
        &mut self,
        field: Field<T>,
        key: impl AsKey,
    ) -> Result<Option<T>, Error> {
        self.read_field(field, key.as_key(), Intent::Read)
    }

    /// Returns one column as [`Transaction::get_field`] does, for a row that the transaction is going to write.
    /// See [`Transaction::get_for_update`].
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

    /// Overwrites one column of the row `key`.
    ///
    /// Fails with [`Error::MissingKey`] if there is no such row, and with [`Error::NotUnique`] if a unique
    /// index has an entry of another row with the same values. Nothing has changed in these cases.
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

    /// Adds `delta` to one column of the row `key`, as [`Transaction::add`] does.
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

    /// Returns the table's definition. Fails if the table is foreign or the time limit has passed.
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

    /// Packs some columns into the buffer, in the order of the table's columns.
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

    /// Packs the deltas of some columns into the buffer, in the order of the table's columns.
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
