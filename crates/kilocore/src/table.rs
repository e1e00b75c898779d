//! Handles of tables and of their columns.

use crate::{ColumnType, ColumnValue, Error, Index, Value, value::Mismatch};
use machine::cold::Arc;
use std::{borrow::Cow, fmt, marker::PhantomData};
use txn::{Column, ColumnSet, KeyKind, RowLayout, TableId, TableSchema};

/// Largest column that is read without heap memory, in bytes. Each column of variable length whose values lie in the record is one.
pub(crate) const SMALL_BYTES: usize = 64;

/// A handle of one table of one database. It is cheap to clone, and any thread can use it.
///
/// A handle does not keep its database open. It keeps the columns that the table had when the handle was made. After a
/// column was dropped, older handles fail with [`Error::TableChanged`].
#[derive(Clone)]
pub struct Table(Arc<Definition>);

/// Everything that a table's handle knows: one version of the table's definition.
pub(crate) struct Definition {
    /// Number of its database, unique in the process.
    pub database: u64,
    pub id: TableId,
    /// Number of the definition's version. Each change of the table's columns makes another one.
    pub version: u64,
    /// All columns in the order of their numbers, with those that were added and those that were dropped since.
    pub schema: TableSchema,
    /// The columns that were dropped.
    pub dropped: ColumnSet,
    /// The form of its rows.
    pub layout: RowLayout,
    /// Offset in bytes of each column in a packed row whose columns all have a fixed length; empty otherwise.
    offsets: Vec<usize>,
    /// Entry tables of its secondary indexes.
    indexes: Vec<Table>,
}

impl Definition {
    /// Returns the set of all columns that were not dropped. Rows that are read have them.
    #[inline]
    pub fn all(&self) -> ColumnSet {
        self.every().without(self.dropped)
    }

    /// Returns the set of all columns, with those that were dropped. Rows that are written have them.
    #[inline]
    pub fn every(&self) -> ColumnSet {
        ColumnSet::first(self.schema.columns.len())
    }

    /// Returns the columns that were not dropped, with their numbers.
    pub fn visible(&self) -> impl Iterator<Item = (usize, &Column)> {
        self.all().iter().map(|number| (number, &self.schema.columns[number]))
    }

    /// Returns the value of column number `column` in a packed row, `None` for NULL.
    #[inline]
    pub fn value_in<'r>(&self, row: &'r [u8], column: usize) -> Option<&'r [u8]> {
        match self.offsets.get(column) {
            Some(offset) => self.layout.value(column, &row[*offset..]),
            None => self.layout.field(self.all(), row, column),
        }
    }

    /// Makes a value of column number `column` from its bytes, `None` for NULL.
    #[inline]
    pub fn read<T: ColumnValue>(&self, column: usize, bytes: Option<&[u8]>) -> Result<T, Error> {
        let kind = self.schema.columns[column].kind;
        T::read(bytes, kind).map_err(|mismatch| self.mismatch(column, mismatch))
    }

    /// Returns the error for a value that cannot be read as the type asked for.
    #[cold]
    pub fn mismatch(&self, column: usize, mismatch: Mismatch) -> Error {
        let (table, column) = (self.schema.name.clone(), self.schema.columns[column].name.clone());
        match mismatch {
            Mismatch::Null => Error::UnexpectedNull { table, column },
            Mismatch::NotUtf8 => Error::NotUtf8 { table, column },
        }
    }

    /// Returns true if this is a table of entries, or of columns that were added, of table number `base`.
    pub fn belongs_to(&self, base: TableId) -> bool {
        let index = self.schema.index_of.as_ref().map(|index| index.table);
        let added = self.schema.added_to.as_ref().map(|added| added.table);
        index == Some(base) || added == Some(base)
    }

    /// Returns true if column number `column` is in a secondary index.
    pub fn is_indexed(&self, column: usize) -> bool {
        let indexes = self.indexes.iter().filter_map(|table| table.0.schema.index_of.as_ref());
        indexes
            .fold(ColumnSet::NONE, |all, index| all.with(index.column_set()))
            .contains(ColumnSet::one(column))
    }

    /// Returns the number of the column `name`.
    #[inline]
    pub fn column(&self, name: &str) -> Result<usize, Error> {
        let named = self.schema.columns.iter().enumerate().rev();
        let mut named = named.filter(|(number, column)| {
            column.name == name && !self.dropped.contains(ColumnSet::one(*number))
        });
        named.next().map(|(number, _)| number).ok_or_else(|| self.unknown_column(name))
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
        let Column { name, kind, .. } = &self.schema.columns[column];
        if self.layout.integers().contains(ColumnSet::one(column)) {
            return Ok(());
        }
        let (table, column) = (self.schema.name.clone(), name.clone());
        Err(Error::NotAnInteger { table, column, holds: *kind })
    }

    #[cold]
    fn unknown_column(&self, name: &str) -> Error {
        let allowed = self.visible().map(|(_, column)| column.name.clone()).collect();
        Error::UnknownColumn { table: self.schema.name.clone(), given: name.into(), allowed }
    }

    #[cold]
    pub fn wrong_type(&self, column: usize, given: String) -> Error {
        let Column { name, kind, .. } = self.schema.columns[column].clone();
        Error::WrongType { table: self.schema.name.clone(), column: name, given, allowed: kind }
    }

    /// Returns true if the table is in key order, so that ranges can be scanned.
    pub fn is_ordered(&self) -> bool {
        self.schema.index.is_ordered()
    }

    /// Checks that column number `column` can be read as a `T`.
    #[inline]
    pub fn check_type<T: ColumnValue>(&self, column: usize) -> Result<(), Error> {
        if T::fits(self.schema.columns[column].kind) {
            return Ok(());
        }
        Err(self.wrong_type(column, T::type_name()))
    }

    /// Checks `value` and appends it to `out` in packed form.
    #[inline]
    pub fn encode(&self, column: usize, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
        let bytes = self.bytes_of(column, value)?;
        self.layout.push(out, column, bytes.as_deref());
        Ok(())
    }

    /// Returns the bytes of `value` in column number `column`, `None` for NULL. Fails if the column cannot hold the
    /// value.
    pub fn bytes_of<'v>(
        &self,
        column: usize,
        value: Value<'v>,
    ) -> Result<Option<Cow<'v, [u8]>>, Error> {
        let Column { kind, nullable, .. } = &self.schema.columns[column];
        Ok(Some(match value {
            Value::Null if *nullable => return Ok(None),
            Value::Null => return Err(self.refused(column, Refusal::Null)),
            Value::Text(text) if kind.is_bytes() => self.padded(column, text.as_bytes())?,
            Value::Bytes(bytes) if kind.is_text() && std::str::from_utf8(bytes).is_err() => {
                return Err(self.mismatch(column, Mismatch::NotUtf8));
            }
            Value::Bytes(bytes) if kind.is_bytes() => self.padded(column, bytes)?,
            Value::Bool(value) if *kind == ColumnType::Bool => vec![value.into()].into(),
            Value::Timestamp(micros) if *kind == ColumnType::Timestamp => {
                micros.to_le_bytes().to_vec().into()
            }
            Value::U64(number) => self.number(column, number.into())?,
            Value::I64(number) => self.number(column, number.into())?,
            Value::F64(number) => match kind {
                ColumnType::F64 => number.to_le_bytes().to_vec().into(),
                ColumnType::F32 if f64::from(number as f32) == number || number.is_nan() => {
                    (number as f32).to_le_bytes().to_vec().into()
                }
                ColumnType::F32 => return Err(self.refused(column, Refusal::Range(value))),
                _ => return Err(self.wrong_type(column, value.type_name())),
            },
            _ => return Err(self.wrong_type(column, value.type_name())),
        }))
    }

    /// Returns the bytes of an integer.
    fn number(&self, column: usize, number: i128) -> Result<Cow<'static, [u8]>, Error> {
        use ColumnType::{I16, I32, I64, U16, U32, U64};
        let kind = self.schema.columns[column].kind;
        let (least, most) = match kind {
            U16 => (0, u16::MAX.into()),
            U32 => (0, u32::MAX.into()),
            U64 => (0, u64::MAX.into()),
            I16 => (i16::MIN.into(), i16::MAX.into()),
            I32 => (i32::MIN.into(), i32::MAX.into()),
            I64 => (i64::MIN.into(), i64::MAX.into()),
            _ => return Err(self.wrong_type(column, "an integer".into())),
        };
        if !(least..=most).contains(&number) {
            return Err(self.refused(column, Refusal::Integer(number)));
        }
        Ok(number.to_le_bytes()[..kind.most_bytes()].to_vec().into())
    }

    /// Returns `bytes` as long as column number `column` demands. Short bytes are padded with zeros.
    fn padded<'v>(&self, column: usize, bytes: &'v [u8]) -> Result<Cow<'v, [u8]>, Error> {
        let kind = self.schema.columns[column].kind;
        if bytes.len() > kind.most_bytes() {
            return Err(self.refused(column, Refusal::Length(bytes.len())));
        }
        if kind.is_variable() || bytes.len() == kind.most_bytes() {
            return Ok(bytes.into());
        }
        let mut padded = bytes.to_vec();
        padded.resize(kind.most_bytes(), 0);
        Ok(padded.into())
    }

    /// Returns the error for a value of the right type that column number `column` cannot hold.
    #[cold]
    fn refused(&self, column: usize, refusal: Refusal<'_>) -> Error {
        let Column { name, kind, .. } = self.schema.columns[column].clone();
        let (table, column) = (self.schema.name.clone(), name);
        match refusal {
            Refusal::Null => Error::NotNullable { table, column },
            Refusal::Length(given) => {
                Error::TooLong { table, column, given, allowed: kind.most_bytes() }
            }
            Refusal::Integer(given) => {
                Error::OutOfRange { table, column, given: given.to_string(), allowed: kind }
            }
            Refusal::Range(value) => {
                let given = format!("{value:?}");
                Error::OutOfRange { table, column, given, allowed: kind }
            }
        }
    }
}

/// The reason why a column cannot hold a value of its type.
enum Refusal<'v> {
    Null,
    Length(usize),
    Integer(i128),
    Range(Value<'v>),
}

impl Table {
    /// Makes the handle of table number `id` with the given entry tables of its indexes.
    pub(crate) fn new(
        database: u64,
        id: TableId,
        schema: TableSchema,
        indexes: Vec<Table>,
    ) -> Table {
        Table::of((database, id, 0), (schema, ColumnSet::NONE), indexes)
    }

    /// Returns a handle of the same table with the next version of its definition.
    pub(crate) fn changed(&self, schema: TableSchema, dropped: ColumnSet) -> Table {
        let Definition { database, id, version, indexes, .. } = &*self.0;
        Table::of((*database, *id, version + 1), (schema, dropped), indexes.clone())
    }

    fn of(
        (database, id, version): (u64, TableId, u64),
        (schema, dropped): (TableSchema, ColumnSet),
        indexes: Vec<Table>,
    ) -> Table {
        let layout = RowLayout::of(&schema);
        let plain = layout.variable().is_empty() && dropped.is_empty();
        let count = if plain { schema.columns.len() } else { 0 };
        let offset = |column| layout.held_bytes(ColumnSet::first(column));
        let offsets = (0..count).map(offset).collect();
        Table(Arc::new(Definition {
            database,
            id,
            version,
            schema,
            dropped,
            layout,
            offsets,
            indexes,
        }))
    }

    #[inline]
    pub(crate) fn definition(&self) -> &Definition {
        &self.0
    }

    /// Returns the name of the table.
    pub fn name(&self) -> &str {
        &self.0.schema.name
    }

    /// Returns true if this is the entry table of an index, or holds columns that were added to a table. Only the engine
    /// writes these tables.
    pub(crate) fn is_internal(&self) -> bool {
        self.0.schema.index_of.is_some() || self.0.schema.added_to.is_some()
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
        self.0.visible().map(|(_, column)| (column.name.as_str(), column.kind))
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
    /// let hits = db.table("hits").columns(&[("count", ColumnType::U64)]).create()?;
    /// let count = hits.field::<u64>("count")?;
    /// assert!(matches!(hits.field::<i64>("count"), Err(Error::WrongType { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn field<T: ColumnValue>(&self, column: &str) -> Result<Field<T>, Error> {
        let index = self.0.column(column)?;
        self.0.check_type::<T>(index)?;
        let Definition { database, id: table, version, .. } = *self.0;
        let (keys, columns) = (self.0.schema.key, ColumnSet::one(index));
        let Column { kind, nullable, .. } = self.0.schema.columns[index];
        let bytes = self.0.layout.held_bytes(columns);
        Ok(Field {
            database,
            table,
            version,
            keys,
            is_ordered: self.0.is_ordered(),
            columns,
            kind,
            nullable,
            bytes,
            value: PhantomData,
        })
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A handle of one column whose values are of type `T`. Made by [`Table::field`], and used by
/// [`ReadTransaction::get_field`](crate::ReadTransaction::get_field) and similar methods.
pub struct Field<T> {
    pub(crate) database: u64,
    pub(crate) table: TableId,
    /// Version of the definition from which the field was made.
    pub(crate) version: u64,
    pub(crate) keys: KeyKind,
    pub(crate) is_ordered: bool,
    pub(crate) columns: ColumnSet,
    pub(crate) kind: ColumnType,
    pub(crate) nullable: bool,
    /// Number of bytes of the column in held form.
    pub(crate) bytes: usize,
    value: PhantomData<fn() -> T>,
}

impl<T: ColumnValue> Field<T> {
    /// Makes the value from the packed form of the column.
    #[inline]
    pub(crate) fn read(&self, packed: &[u8]) -> Result<T, Mismatch> {
        let value = match (self.kind.is_variable(), self.nullable) {
            (false, false) => Some(packed),
            (false, true) => (packed[0] != 0).then(|| &packed[1..]),
            (true, _) => txn::variable(packed),
        };
        T::read(value, self.kind)
    }

    /// Makes the value from the held form of the column, whose values must lie in the record.
    #[inline]
    pub(crate) fn read_held(&self, held: &[u8]) -> Result<T, Mismatch> {
        if !self.kind.is_variable() {
            return self.read(held);
        }
        let value = txn::held_value(held);
        T::read(if self.nullable { value } else { Some(value.unwrap_or(&[])) }, self.kind)
    }
}

impl<T> Field<T> {
    /// Returns true if values lie in the record and are small enough to be read without a buffer of the session.
    #[inline]
    pub(crate) fn is_small(&self) -> bool {
        self.bytes <= SMALL_BYTES && !self.kind.is_apart()
    }

    /// Appends a number to `out` if it has the type of the column, without a look at the table. Returns false, and
    /// appends nothing, if the value needs more work.
    #[inline]
    pub(crate) fn encode_word(&self, value: Value<'_>, out: &mut Vec<u8>) -> bool {
        let word = match (self.kind, value) {
            (ColumnType::U64, Value::U64(number)) => number,
            (ColumnType::I64, Value::I64(number)) => number as u64,
            (ColumnType::F64, Value::F64(number)) => number.to_bits(),
            _ => return false,
        };
        if !self.nullable {
            out.extend_from_slice(&word.to_le_bytes());
        }
        !self.nullable
    }
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
