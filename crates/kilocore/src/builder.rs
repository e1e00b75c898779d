//! The description of a table that is being created.

use crate::{ColumnType, Database, Error, IndexOptions, Table, TableRow, index::IndexSpec};
use txn::{Column, ColumnSet, IndexKind, KeyKind, TableSchema};

/// Number of rows for which a table has room in its index at first, if the caller gives no number. The index grows with
/// the rows.
const FIRST_ROWS: u64 = 64;

/// Describes a table, and creates or opens it. Made by [`Database::table`].
///
/// ```
/// # use kilocore::{ColumnType::{Text, TextUpTo, U64}, Database, Error, Options};
/// # let db = Database::open(Options::default())?;
/// let people = db
///     .table("people")
///     .key(TextUpTo(32)) // without it, keys are 64-bit integers
///     .column("room", U64)
///     .nullable("nickname", Text)
///     .ordered() // in key order, so that ranges can be scanned
///     .index("by_room", ["room"])
///     .create()?;
/// db.transact(|tx| tx.insert(&people, "ada@example.org", &[3u64.into(), None::<&str>.into()]))?;
/// # let found = db.read_only(|tx| Ok(tx.get(&people, "ada@example.org")?.is_some()))?;
/// # assert!(found);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `create` or `open`"]
pub struct TableBuilder<'d> {
    db: &'d Database,
    schema: TableSchema,
    /// Type of the keys.
    key: ColumnType,
    indexes: Vec<IndexSpec>,
    /// Names of the hot columns.
    hot: Vec<String>,
    /// Number of rows that must fit into memory, if the caller gave one.
    rows: Option<u64>,
}

impl<'d> TableBuilder<'d> {
    pub(crate) fn new(db: &'d Database, name: &str) -> TableBuilder<'d> {
        let schema = TableSchema::new(name, Vec::new());
        let (key, indexes, hot) = (ColumnType::U64, Vec::new(), Vec::new());
        TableBuilder { db, schema, key, indexes, hot, rows: None }
    }

    /// Sets the type of the keys. The default is `U64`. Also allowed are `TextUpTo(n)`, `VarBytesUpTo(n)` and `Bytes(n)`
    /// for `n` from 1 to 64: keys of at most `n` bytes. They are ordered byte by byte.
    pub fn key(mut self, key: ColumnType) -> Self {
        self.key = key;
        self
    }

    /// Adds a column in which every row has a value.
    pub fn column(mut self, name: impl Into<String>, kind: ColumnType) -> Self {
        self.schema.columns.push(Column::new(name, kind));
        self
    }

    /// Adds a column in which a row can have no value ([`Value::Null`](crate::Value::Null)).
    pub fn nullable(mut self, name: impl Into<String>, kind: ColumnType) -> Self {
        self.schema.columns.push(Column::new(name, kind).nullable());
        self
    }

    /// Adds columns, given as names and types, in which every row has a value.
    pub fn columns<'n>(self, columns: impl IntoIterator<Item = &'n (&'n str, ColumnType)>) -> Self {
        columns.into_iter().fold(self, |table, (name, kind)| table.column(*name, *kind))
    }

    /// Adds the columns of a struct that derives `Row`. See [`TableRow`].
    pub fn row<R: TableRow>(self) -> Self {
        R::columns().into_iter().fold(self, |table, (name, kind, nullable)| match nullable {
            true => table.nullable(name, kind),
            false => table.column(name, kind),
        })
    }

    /// Keeps the rows in key order, so that [`ReadTransaction::scan`](crate::ReadTransaction::scan) can visit ranges of keys. A
    /// look-up of one key takes a little longer than in a table without order.
    ///
    /// ```
    /// # use kilocore::{ColumnType, Database, Error, Options, Value};
    /// # use std::ops::ControlFlow;
    /// # let db = Database::open(Options::default())?;
    /// let orders = db.table("orders").column("amount", ColumnType::I64).ordered().create()?;
    /// db.transact(|tx| (10..20).try_for_each(|key| tx.insert(&orders, key, &[Value::I64(5)])))?;
    /// let sum = db.read_only(|tx| {
    ///     let mut sum = 0;
    ///     tx.scan(&orders, 12..=14, |_, row| {
    ///         sum += row.get::<i64>("amount").unwrap_or(0);
    ///         ControlFlow::Continue(())
    ///     })?;
    ///     Ok(sum)
    /// })?;
    /// assert_eq!(sum, 15);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn ordered(mut self) -> Self {
        self.schema.index = IndexKind::Ordered;
        self
    }

    /// Makes the table for the keys `0..keys` only. It finds a row faster than any other table. An access to another key
    /// fails with [`Error::KeyOutsideIndex`]. If the index does not fit into memory, [`TableBuilder::create`] fails with
    /// [`Error::TooLarge`] before it allocates anything.
    pub fn dense(mut self, keys: u64) -> Self {
        self.schema.index = IndexKind::Perfect { keys };
        self
    }

    /// Splits the rows into hot and cold columns. `columns` names the hot ones, which change often. A transaction that
    /// writes only columns of one part does not conflict with a transaction that accesses only the other part of the
    /// same row. Each part must have at least one column.
    ///
    /// ```
    /// # use kilocore::{ColumnType::{I64, Text}, Database, Error, Options, Value};
    /// # let db = Database::open(Options::default())?;
    /// let shops = db.table("shops").column("name", Text).column("takings", I64).hot(&["takings"]).create()?;
    /// db.transact(|tx| tx.insert(&shops, 1, &["The Corner".into(), Value::I64(0)]))?;
    /// db.transact(|tx| tx.add(&shops, 1, &[("takings", 12)]))?; // no conflict with readers of names
    /// # Ok::<(), Error>(())
    /// ```
    pub fn hot(mut self, columns: &[&str]) -> Self {
        self.hot.extend(columns.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Adds a secondary index over `columns`, the most significant first. It finds rows by the values of these columns,
    /// and every write of a transaction updates it. See [`ReadTransaction::find`](crate::ReadTransaction::find).
    ///
    /// The order of an index is that of its columns' values, and for equal values that of the keys. NULL comes before
    /// all values. Text and bytes are ordered byte by byte, and they need a largest length (`TextUpTo`, `VarBytesUpTo`
    /// or `Bytes`). An entry has at most 64 bytes, the key included: [`TableBuilder::index_with`] makes shorter ones.
    pub fn index<'n>(
        mut self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        self.indexes.push(IndexSpec::whole(name.into(), columns, false));
        self
    }

    /// Adds a secondary index as [`TableBuilder::index`] does, in which no two rows may have the same values. NULL counts
    /// as a value here: at most one row has it.
    pub fn unique<'n>(
        mut self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        self.indexes.push(IndexSpec::whole(name.into(), columns, true));
        self
    }

    /// Adds a secondary index whose entries have the given numbers of bits. An index of at most 64 bits over a table with
    /// integer keys is the fastest. A write whose values need more bits fails with [`Error::KeyOutsideIndex`].
    ///
    /// ```
    /// # use kilocore::{ColumnType::U64, Database, Error, IndexOptions, Options, Value};
    /// # use std::ops::ControlFlow;
    /// # let db = Database::open(Options::default())?;
    /// let people = db
    ///     .table("people")
    ///     .column("room", U64)
    ///     .column("badge", U64)
    ///     .index_with(IndexOptions { name: "by_room", columns: &[("room", 16)], key_bits: Some(32) })
    ///     .index_with(IndexOptions { name: "by_badge", columns: &[("badge", 64)], key_bits: None })
    ///     .create()?;
    /// db.transact(|tx| {
    ///     tx.insert(&people, 7, &[Value::U64(3), Value::U64(1007)])?;
    ///     let again = tx.insert(&people, 8, &[Value::U64(3), Value::U64(1007)]);
    ///     assert!(matches!(again, Err(Error::NotUnique { .. })));
    ///     tx.insert(&people, 8, &[Value::U64(3), Value::U64(1008)])
    /// })?;
    /// let by_room = people.index("by_room")?;
    /// let mut found = Vec::new();
    /// db.transact(|tx| {
    ///     found.clear();
    ///     tx.find(&by_room, &[Value::U64(3)], |key, _| {
    ///         found.push(key.number());
    ///         ControlFlow::Continue(())
    ///     })
    /// })?;
    /// assert_eq!(found, [7, 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn index_with(mut self, index: IndexOptions<'_>) -> Self {
        self.indexes.push(IndexSpec::of(index));
        self
    }

    /// Sizes the index for `rows` rows from the start. Otherwise a hash index begins small and grows with the rows, a little
    /// at each insert. If the rows do not fit into memory, [`TableBuilder::create`] fails with [`Error::TooLarge`] before
    /// it allocates anything. The table can hold more rows than that: the index then grows.
    pub fn sized_for(mut self, rows: u64) -> Self {
        self.rows = Some(rows);
        self
    }

    /// Creates the table.
    ///
    /// Any thread can do this at any time, also inside a transaction's closure. The new table is not part of a
    /// transaction: it stays if the transaction rolls back.
    ///
    /// Fails with [`Error::TableExists`] if the name is taken, with [`Error::InvalidTable`] if no table can have this name
    /// or these columns, keys or indexes, with [`Error::UnknownColumn`] if an index or [`TableBuilder::hot`] names a
    /// column that the table does not have, and with [`Error::TooLarge`] or [`Error::OutOfMemory`] if the memory does not
    /// suffice.
    pub fn create(self) -> Result<Table, Error> {
        let TableBuilder { db, mut schema, key, indexes, hot, rows } = self;
        schema.key = key_kind(&schema.name, key)?;
        for name in hot {
            let column = column_of(&schema, &name)?;
            // A column number of 64 or more shifts out of range here. `create_table` rejects a schema with that many
            // columns.
            let one = ColumnSet(1u64.checked_shl(column as u32).unwrap_or(0));
            schema.hot = schema.hot.with(one);
        }
        let must_fit = rows.is_some() || matches!(schema.index, IndexKind::Perfect { .. });
        let sized = match schema.index {
            IndexKind::Hash => FIRST_ROWS,
            _ => 0,
        };
        db.create_table(schema, &indexes, rows.unwrap_or(sized), must_fit)
    }

    /// Returns the table of this name, which must exist. The rest of the description is not used. Fails with
    /// [`Error::UnknownTable`] if there is none.
    pub fn open(self) -> Result<Table, Error> {
        self.db.find_table(&self.schema.name)
    }
}

/// Returns the number of the column `name`.
pub(crate) fn column_of(schema: &TableSchema, name: &str) -> Result<usize, Error> {
    schema.column(name).ok_or_else(|| Error::UnknownColumn {
        table: schema.name.clone(),
        given: name.into(),
        allowed: schema.columns.iter().map(|column| column.name.clone()).collect(),
    })
}

/// Returns the kind of keys that a table with keys of type `key` has.
fn key_kind(table: &str, key: ColumnType) -> Result<KeyKind, Error> {
    match key {
        ColumnType::U64 => Ok(KeyKind::Integer),
        ColumnType::TextUpTo(most) | ColumnType::VarBytesUpTo(most) | ColumnType::Bytes(most) => {
            Ok(KeyKind::Bytes { most: most.min(255) as u8 })
        }
        other => Err(Error::InvalidTable {
            message: format!(
                "table {table:?}: keys of type {other}; allowed are u64, and text or bytes of at most 64 bytes"
            ),
        }),
    }
}
