//! The operations that write, on top of those that read.

use crate::{
    AsKey, ColumnValue, Error, Field, IntegerValue, KeyBounds, ReadTransaction, Row, RowValues,
    Table, Value, table::Definition,
};
use std::ops::{ControlFlow, Deref, DerefMut};
use txn::{ColumnSet, Direction, Intent, Key, OwnedKey, TableId};

/// Number of rows that a range delete reads before it deletes them.
const DELETED_AT_A_TIME: usize = 256;

/// A running transaction. Rows can be accessed only through it.
///
/// The transaction sees its own writes. Other transactions do not see them before it has committed. Methods that read are
/// those of [`ReadTransaction`], and all methods can fail as described there.
pub struct Transaction<'t>(pub(crate) ReadTransaction<'t>);

impl<'t> Deref for Transaction<'t> {
    type Target = ReadTransaction<'t>;

    fn deref(&self) -> &ReadTransaction<'t> {
        &self.0
    }
}

impl<'t> DerefMut for Transaction<'t> {
    fn deref_mut(&mut self) -> &mut ReadTransaction<'t> {
        &mut self.0
    }
}

impl<'t> Transaction<'t> {
    pub(crate) fn new(reading: ReadTransaction<'t>) -> Transaction<'t> {
        Transaction(reading)
    }

    /// Returns the row `key` as [`ReadTransaction::get`] does, for a row that the transaction is going to write. A
    /// locking protocol acquires the exclusive lock at once, because a later upgrade of a shared lock can fail.
    #[inline]
    pub fn get_for_update<'r>(
        &mut self,
        table: &'r Table,
        key: impl AsKey,
    ) -> Result<Option<Row<'r>>, Error> {
        self.0.read_row(table, key.as_key(), Intent::Update)
    }

    /// Inserts the row `key` with `values`: values in the order of the table's columns, values with names, or a struct. See
    /// [`RowValues`].
    ///
    /// Fails with [`Error::DuplicateKey`] if there is a row `key`, and with [`Error::NotUnique`] if a unique
    /// index has an entry with the same values. In both cases nothing has changed, so the closure can go on,
    /// for example with an update. See [`Transaction::put`] for an insert or update in one call. A wrong number
    /// of values fails with [`Error::WrongCount`].
    pub fn insert(
        &mut self,
        table: &Table,
        key: impl AsKey,
        values: &(impl RowValues + ?Sized),
    ) -> Result<(), Error> {
        let (key, definition) = (key.as_key(), self.pack_row(table, values)?);
        definition.check_key(key)?;
        match self.0.session.insert(definition.id, key, self.0.buffer)? {
            true => Ok(()),
            false => Err(self.not_inserted(table, key)),
        }
    }

    /// Returns the reason why the last insertion has changed nothing.
    #[cold]
    pub(crate) fn not_inserted(&self, table: &Table, key: Key<'_>) -> Error {
        let duplicate = || Error::DuplicateKey { table: table.name().into(), key: key.to_owned() };
        self.not_unique(table.definition().id).unwrap_or_else(duplicate)
    }

    /// Returns the error for the unique index that refused the last insert or update, if an index did.
    #[cold]
    fn not_unique(&self, table: TableId) -> Option<Error> {
        let index = self.0.catalogue.name_of(self.0.session.refused_by()?);
        Some(Error::NotUnique { table: self.0.catalogue.name_of(table), index })
    }

    /// Returns the reason why an update or addition changed nothing.
    #[cold]
    fn nothing_to_change(&self, table: TableId, key: Key<'_>) -> Error {
        let missing =
            || Error::MissingKey { table: self.0.catalogue.name_of(table), key: key.to_owned() };
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
        values: &(impl RowValues + ?Sized),
    ) -> Result<(), Error> {
        let (key, definition) = (key.as_key(), self.pack_row(table, values)?);
        definition.check_key(key)?;
        let (id, all) = (definition.id, definition.every());
        if !self.0.session.update(id, key, all, self.0.buffer)?
            && (self.0.session.refused_by().is_some()
                || !self.0.session.insert(id, key, self.0.buffer)?)
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
        let (key, definition) = (key.as_key(), self.0.own(table)?);
        definition.check_key(key)?;
        let columns = self.pack_columns(definition, values)?;
        if self.0.session.update(definition.id, key, columns, self.0.buffer)? {
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
        let (key, definition) = (key.as_key(), self.0.own(table)?);
        definition.check_key(key)?;
        let columns = self.pack_deltas(definition, deltas)?;
        if self.0.session.add(definition.id, key, columns, self.0.buffer)? {
            return Ok(());
        }
        Err(self.nothing_to_change(definition.id, key))
    }

    /// Deletes the row `key`. Returns false if there is no such row.
    pub fn delete(&mut self, table: &Table, key: impl AsKey) -> Result<bool, Error> {
        let (key, definition) = (key.as_key(), self.0.own(table)?);
        definition.check_key(key)?;
        Ok(self.0.session.delete(definition.id, key)?)
    }

    /// Deletes the rows of an ordered table whose keys are in `range`. Returns their number. No other transaction adds
    /// rows to the range before this transaction ends, or this transaction does not commit. Errors are those of
    /// [`ReadTransaction::scan`].
    pub fn delete_range(&mut self, table: &Table, range: impl KeyBounds) -> Result<u64, Error> {
        let definition = self.0.own(table)?;
        let mut rest = definition.range(range.bounds())?;
        let mut deleted = 0;
        while let Some(keys) = rest.take() {
            let mut met: Vec<OwnedKey> = Vec::new();
            let none = ColumnSet::NONE;
            let ends = keys.as_keys();
            self.0.session.scan(definition.id, ends, Direction::Forward, none, &mut |key, _| {
                met.push(key.to_owned());
                match met.len() < DELETED_AT_A_TIME {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?;
            for key in &met {
                deleted += u64::from(self.0.session.delete(definition.id, key.as_key())?);
            }
            if met.len() == DELETED_AT_A_TIME {
                rest =
                    met.last().and_then(|last| definition.beyond(keys, last, Direction::Forward));
            }
        }
        Ok(deleted)
    }

    /// Returns one column as [`ReadTransaction::get_field`] does, for a row that the transaction is going to write.
    /// See [`Transaction::get_for_update`].
    #[inline]
    pub fn get_field_for_update<T: ColumnValue>(
        &mut self,
        field: Field<T>,
        key: impl AsKey,
    ) -> Result<Option<T>, Error> {
        self.0.read_field(field, key.as_key(), Intent::Update)
    }

    /// Overwrites one column of the row `key`.
    ///
    /// Fails with [`Error::MissingKey`] if there is no such row, and with [`Error::NotUnique`] if a unique
    /// index has an entry of another row with the same values. Nothing has changed in these cases.
    #[inline]
    pub fn set_field<'v, T: ColumnValue>(
        &mut self,
        field: Field<T>,
        key: impl AsKey,
        value: impl Into<Value<'v>>,
    ) -> Result<(), Error> {
        let key = key.as_key();
        self.0.check_field(field, key)?;
        let value = value.into();
        self.0.buffer.clear();
        if !field.encode_word(value, self.0.buffer) {
            let column = field.columns.iter().next().unwrap_or_default();
            self.0.catalogue.table(field.table).definition().encode(
                column,
                value,
                self.0.buffer,
            )?;
        }
        if self.0.session.update(field.table, key, field.columns, self.0.buffer)? {
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
        self.0.check_field(field, key)?;
        if self.0.session.add(field.table, key, field.columns, &delta.to_le_bytes())? {
            return Ok(());
        }
        Err(self.nothing_to_change(field.table, key))
    }

    /// Packs a whole row into the buffer.
    fn pack_row<'r>(
        &mut self,
        table: &'r Table,
        values: &(impl RowValues + ?Sized),
    ) -> Result<&'r Definition, Error> {
        let definition = self.0.own(table)?;
        self.0.buffer.clear();
        definition.pack_row(values, self.0.buffer)?;
        Ok(definition)
    }

    /// Packs some columns into the buffer, in the order of the table's columns.
    fn pack_columns(
        &mut self,
        definition: &Definition,
        values: &[(&str, Value<'_>)],
    ) -> Result<ColumnSet, Error> {
        let columns = definition.columns(values.iter().map(|(name, _)| *name))?;
        self.0.buffer.clear();
        for column in columns.iter() {
            let name = &definition.schema.columns[column].name;
            let given = values.iter().find(|(given, _)| given == name);
            let (_, value) = given.expect("every column of the set was given");
            definition.encode(column, *value, self.0.buffer)?;
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
        self.0.buffer.resize(deltas.len() * 8, 0);
        for (name, delta) in deltas {
            let column = definition.column(name)?;
            definition.check_integer(column)?;
            let at = columns.iter().take_while(|other| *other < column).count() * 8;
            self.0.buffer[at..at + 8].copy_from_slice(&delta.to_le_bytes());
        }
        Ok(columns)
    }
}
