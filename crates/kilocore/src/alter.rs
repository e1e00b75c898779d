//! Changes of a table's columns while the database is in use.

use crate::{ColumnType, Database, Error, Table, Value, table::Definition};
use txn::{Column, ColumnSet, MAX_COLUMNS, TableSchema};

/// Describes a change of a table's columns, and makes it. Made by [`Database::alter`].
///
/// Transactions go on meanwhile. A change is no part of a transaction, and it does not rewrite rows. Rows that are there
/// have the default value in a column that was added. Added columns lie outside the row, so an access to them takes
/// another look-up. A column that was dropped cannot be accessed any more. Its memory stays with its rows.
///
/// Handles of the table that were made before go on as if nothing had been added. If a column was dropped, they fail with
/// [`Error::TableChanged`].
///
/// ```
/// # use kilocore::{ColumnType::{I16, Text, U64}, Database, Error, Options, Value};
/// # let db = Database::open(Options::default())?;
/// let people = db.table("people").column("room", U64).column("name", Text).create()?;
/// db.transact(|tx| tx.insert(&people, 1, &[3u64.into(), "Ada".into()]))?;
/// let people = db.alter(&people).add("floor", I16, 2).add_nullable("note", Text).drop("room").apply()?;
/// let row = db.read_only(|tx| {
///     let row = tx.get(&people, 1)?.ok_or("gone")?;
///     Ok((row.get::<i16>("floor")?, row.get::<Option<String>>("note")?, row.get::<String>("name")?))
/// })?;
/// assert_eq!(row, (2, None, "Ada".into()));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `apply`"]
pub struct TableChange<'d> {
    db: &'d Database,
    table: &'d Table,
    /// Columns to add, and their default values.
    added: Vec<(Column, Value<'d>)>,
    /// Names of columns to drop.
    dropped: Vec<String>,
}

impl<'d> TableChange<'d> {
    pub(crate) fn new(db: &'d Database, table: &'d Table) -> TableChange<'d> {
        TableChange { db, table, added: Vec::new(), dropped: Vec::new() }
    }

    /// Adds a column in which every row has a value. Rows that are there have the value `default`.
    pub fn add(
        mut self,
        name: impl Into<String>,
        kind: ColumnType,
        default: impl Into<Value<'d>>,
    ) -> Self {
        self.added.push((Column::new(name, kind), default.into()));
        self
    }

    /// Adds a column in which a row can have no value. Rows that are there have none.
    pub fn add_nullable(mut self, name: impl Into<String>, kind: ColumnType) -> Self {
        self.added.push((Column::new(name, kind).nullable(), Value::Null));
        self
    }

    /// Drops a column.
    pub fn drop(mut self, name: impl Into<String>) -> Self {
        self.dropped.push(name.into());
        self
    }

    /// Makes the change, and returns a handle of the table with its new columns.
    ///
    /// Fails with [`Error::UnknownColumn`] if a column to drop does not exist, with [`Error::InvalidTable`] if it is in an
    /// index or the last one, or if the table cannot have the columns to add, with the errors of a write if a default value
    /// does not fit its column, and with [`Error::TableDropped`] or [`Error::TableChanged`] if the handle is outdated.
    pub fn apply(self) -> Result<Table, Error> {
        let columns = self.added.iter().map(|(column, _)| column.clone()).collect();
        let schema = TableSchema::new(self.table.name(), columns);
        // A table of the new columns alone knows how their values are checked and packed.
        let alone = Table::new(0, self.table.definition().id, schema, Vec::new());
        let mut defaults = Vec::new();
        for (at, (_, value)) in self.added.iter().enumerate() {
            alone.definition().encode(at, *value, &mut defaults)?;
        }
        let columns = alone.definition().schema.columns.clone();
        self.db.change_table(self.table, (columns, defaults), &self.dropped)
    }
}

/// Returns the columns of the next version of a definition, and those of them that are dropped.
pub(crate) fn changed(
    latest: &Definition,
    added: &[Column],
    dropped: &[String],
) -> Result<(TableSchema, ColumnSet), Error> {
    let mut schema = latest.schema.clone();
    let fail = |message: String| {
        Err(Error::InvalidTable { message: format!("table {:?}: {message}", latest.schema.name) })
    };
    let mut gone = latest.dropped;
    for name in dropped {
        let number = latest.column(name)?;
        if latest.is_indexed(number) {
            return fail(format!("column {name:?} is in an index and cannot be dropped"));
        }
        gone = gone.with(ColumnSet::one(number));
    }
    for column in added {
        let there = schema.columns.iter().enumerate().any(|(number, other)| {
            other.name == column.name && !gone.contains(ColumnSet::one(number))
        });
        if there {
            return fail(format!("column {:?} exists already", column.name));
        }
        schema.columns.push(column.clone());
    }
    let count = schema.columns.len();
    if count > MAX_COLUMNS {
        return fail(format!("{count} columns, dropped ones included; allowed are {MAX_COLUMNS}"));
    }
    if gone == ColumnSet::first(count) {
        return fail("the last column cannot be dropped".into());
    }
    Ok((schema, gone))
}
