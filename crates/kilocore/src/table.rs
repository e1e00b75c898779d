//! Handles of tables and of their columns.

use crate::{ColumnType, ColumnValue, Error, FixedValue, Index, Value};
use machine::cold::Arc;
use std::{fmt, marker::PhantomData};
use txn::{Column, ColumnSet, KeyKind, TableId, TableSchema};

/// A handle of one table of one database. It is cheap to clone, and any thread can use it.
///
/// A handle does not keep its database open.
#[derive(Clone)]
pub struct Table(Arc<Definition>);

/// Everything that a table's handle knows. It does not change after the table has been created.
pub(crate) struct Definition {
    /// Number of its database, unique in the process.
    pub database: u64,
    pub id: TableId,
    pub schema: TableSchema,
    /// Offset of each column in a packed row, in bytes. The last element is the length of a row.
    offsets: Vec<usize>,
    /// Entry tables of its secondary indexes.
    indexes: Vec<Table>,
}

impl Definition {
    /// Returns the set of all columns.
    #[inline]
    pub fn all(&self) -> ColumnSet {
        ColumnSet::first(self.schema.columns.len())
    }

    /// Returns the length of a packed row, in bytes.
    #[inline]
    pub fn row_bytes(&self) -> usize {
        self.offsets[self.schema.columns.len()]
    }

    /// Returns the byte range of column number `column` in a packed row.
    #[inline]
    pub fn place(&self, column: usize) -> std::ops::Range<usize> {
        self.offsets[column]..self.offsets[column + 1]
    }

    /// Returns the number of the column `name`.
    #[inline]
    pub fn column(&self, name: &str) -> Result<usize, Error> {
        self.schema.column(name).ok_or_else(|| self.unknown_column(name))
    }

    /// Returns the set of the columns with these names. Fails if a name is unknown or given twice.
    pub fn columns<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<ColumnSet, Error> {
        let mut columns = ColumnSet::NONE;
        for name in names {
            let one = ColumnSet::one(self.column(name)?);
            if columns.contains(one) {
                let table = self.schema.name.clone();
                return Err(Error::RepeatedColumn { table, column: name.into() });
            }
            columns = columns.with(one);
        }
        Ok(columns)
    }

    /// Checks that column number `column` holds integers.
    #[inline]
    pub fn check_integer(&self, column: usize) -> Result<(), Error> {
        let Column { name, kind } = &self.schema.columns[column];
        if matches!(kind, ColumnType::U64 | ColumnType::I64) {
            return Ok(());
        }
        let (table, column) = (self.schema.name.clone(), name.clone());
        Err(Error::NotAnInteger { table, column, holds: *kind })
    }

    #[cold]
    fn unknown_column(&self, name: &str) -> Error {
        let allowed = self.schema.columns.iter().map(|column| column.name.clone()).collect();
        Error::UnknownColumn { table: self.schema.name.clone(), given: name.into(), allowed }
    }

    #[cold]
    pub fn wrong_type(&self, column: usize, given: String) -> Error {
        let Column { name, kind } = self.schema.columns[column].clone();
        Error::WrongType { table: self.schema.name.clone(), column: name, given, allowed: kind }
    }

    /// Checks that the table is in key order, so that ranges can be scanned.
    pub fn check_ordered(&self) -> Result<(), Error> {
        match self.schema.index.is_ordered() {
            true => Ok(()),
            false => Err(Error::NotOrdered { table: self.schema.name.clone() }),
        }
    }

    /// Checks that column number `column` can be read as a `T`.
    #[inline]
    pub fn check_type<T: ColumnValue>(&self, column: usize) -> Result<(), Error> {
        if T::fits(self.schema.columns[column].kind) {
            return Ok(());
        }
        Err(self.wrong_type(column, T::type_name()))
    }

    /// Checks `value` and writes it into `place`, which must be as long as the column. Short bytes are padded
    /// with zeros.
    #[inline]
    pub fn encode(&self, column: usize, value: Value<'_>, place: &mut [u8]) -> Result<(), Error> {
        match (self.schema.columns[column].kind, value) {
            (ColumnType::U64, Value::U64(value)) => place.copy_from_slice(&value.to_le_bytes()),
            (ColumnType::I64, Value::I64(value)) => place.copy_from_slice(&value.to_le_bytes()),
            (ColumnType::F64, Value::F64(value)) => place.copy_from_slice(&value.to_le_bytes()),
            (ColumnType::Bytes(_), Value::Bytes(bytes)) if bytes.len() <= place.len() => {
                let (front, rest) = place.split_at_mut(bytes.len());
                front.copy_from_slice(bytes);
                rest.fill(0);
            }
            (ColumnType::Bytes(allowed), Value::Bytes(bytes)) => {
                return Err(Error::TooLong {
                    table: self.schema.name.clone(),
                    column: self.schema.columns[column].name.clone(),
                    given: bytes.len(),
                    allowed: allowed as usize,
                });
            }
            _ => return Err(self.wrong_type(column, value.type_name())),
        }
        Ok(())
    }
}

impl Table {
    /// Makes the handle of table number `id` with the given entry tables of its indexes.
    pub(crate) fn new(
        database: u64,
        id: TableId,
        schema: TableSchema,
        indexes: Vec<Table>,
    ) -> Table {
        let mut offsets = vec![0];
        for column in &schema.columns {
            offsets.push(offsets[offsets.len() - 1] + column.kind.bytes());
        }
        Table(Arc::new(Definition { database, id, schema, offsets, indexes }))
    }

    #[inline]
    pub(crate) fn definition(&self) -> &Definition {
        &self.0
    }

    /// Returns the name of the table.
    pub fn name(&self) -> &str {
        &self.0.schema.name
    }

    /// Returns true if this is the entry table of an index. Only the engine writes these tables.
    pub(crate) fn is_index(&self) -> bool {
        self.0.schema.index_of.is_some()
    }

    /// Returns the secondary index `name`. Fails with [`Error::UnknownIndex`] if there is none.
    pub fn index(&self, name: &str) -> Result<Index, Error> {
        let found = self.0.indexes.iter().find(|index| index.name() == name).cloned();
        let entries = found.ok_or_else(|| Error::UnknownIndex {
            table: self.name().into(),
            given: name.into(),
            allowed: self.0.indexes.iter().map(|index| index.name().into()).collect(),
        })?;
        Ok(Index::new(self.clone(), entries))
    }

    /// Returns the name and type of each column, in order.
    pub fn columns(&self) -> impl Iterator<Item = (&str, ColumnType)> {
        self.0.schema.columns.iter().map(|column| (column.name.as_str(), column.kind))
    }

    /// Returns a typed handle of one column. An access through it looks up no names and does not copy the whole
    /// row.
    ///
    /// Fails with [`Error::UnknownColumn`] if there is no such column, and with [`Error::WrongType`] if the
    /// column cannot be read as a `T`.
    ///
    /// ```
    /// # use kilocore::{ColumnType, Database, Error, Options};
    /// # let db = Database::open(Options::default())?;
    /// let hits = db.create_table("hits", &[("count", ColumnType::U64)])?;
    /// let count = hits.field::<u64>("count")?;
    /// assert!(matches!(hits.field::<i64>("count"), Err(Error::WrongType { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn field<T: FixedValue>(&self, column: &str) -> Result<Field<T>, Error> {
        let index = self.0.column(column)?;
        self.0.check_type::<T>(index)?;
        let Definition { database, id: table, .. } = *self.0;
        let (keys, columns) = (self.0.schema.key, ColumnSet::one(index));
        Ok(Field { database, table, keys, columns, value: PhantomData })
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A handle of one column whose values are of type `T`. Made by [`Table::field`], and used by
/// [`Transaction::get_field`](crate::Transaction::get_field) and similar methods.
pub struct Field<T> {
    pub(crate) database: u64,
    pub(crate) table: TableId,
    pub(crate) keys: KeyKind,
    pub(crate) columns: ColumnSet,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").field("table", &self.table.0).finish_non_exhaustive()
    }
}
