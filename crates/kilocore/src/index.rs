//! Secondary indexes: what they are made of, their handles, and ranges of their entries.

use crate::{Error, Table, Value};
use txn::{KeyRange, SecondaryIndex, TableId, TableSchema};

/// A secondary index to be made, with [`Database::create_indexed_table`](crate::Database::create_indexed_table).
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions<'d> {
    /// Its name, which is no table's and no other index's.
    pub name: &'d str,
    /// Columns of the table, in the order in which they decide, each with the bits that its values need: any number for
    /// integers, signed ones included, 64 for floating-point numbers, 8 a byte for bytes.
    pub columns: &'d [(&'d str, u32)],
    /// Bits of the keys of rows, which tell rows with the same values apart; none if no two rows may have the same
    /// values. All bits together are 64 at most.
    pub key_bits: Option<u32>,
}

impl IndexOptions<'_> {
    /// The schema of an index of table `id`.
    pub(crate) fn schema(&self, id: TableId, table: &TableSchema) -> Result<TableSchema, Error> {
        if let Some((name, _)) = self.columns.iter().find(|(name, _)| table.column(name).is_none())
        {
            let allowed = table.columns.iter().map(|column| column.name.clone()).collect();
            let (table, given) = (table.name.clone(), (*name).into());
            return Err(Error::UnknownColumn { table, given, allowed });
        }
        Ok(TableSchema::index_of(self.name, (id, table), self.columns, self.key_bits))
    }
}

/// A secondary index of a table: a handle, cheap to clone. Made by [`Table::index`].
#[derive(Clone, Debug)]
pub struct Index {
    table: Table,
    entries: Table,
}

impl Index {
    pub(crate) fn new(table: Table, entries: Table) -> Index {
        Index { table, entries }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.entries.name()
    }

    /// The table whose rows it finds.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Whether no two rows may have the same values.
    pub fn is_unique(&self) -> bool {
        self.definition().is_unique()
    }

    pub(crate) fn id(&self) -> TableId {
        self.entries.definition().id
    }

    fn definition(&self) -> &SecondaryIndex {
        let index_of = &self.entries.definition().schema.index_of;
        index_of.as_ref().expect("an index says of what")
    }

    /// The entries from the first that begins with the values `first` to the last that begins with `last`.
    pub(crate) fn range(&self, first: &[Value<'_>], last: &[Value<'_>]) -> Result<KeyRange, Error> {
        let (first, last) = (self.codes(first)?, self.codes(last)?);
        let range = self.definition().between(&first, &last);
        range.map_err(|_| Error::ReversedIndexRange { index: self.name().into() })
    }

    /// How `values` of the first columns are encoded in entries.
    fn codes(&self, values: &[Value<'_>]) -> Result<Vec<u64>, Error> {
        let columns = &self.definition().columns;
        if values.len() > columns.len() {
            let (given, allowed) = (values.len(), columns.len());
            return Err(Error::WrongCount { table: self.name().into(), given, allowed });
        }
        let definition = self.table.definition();
        let code = |(value, indexed): (&Value<'_>, &txn::IndexedColumn)| {
            let mut bytes = vec![0; indexed.kind.bytes()];
            definition.encode(indexed.column, *value, &mut bytes)?;
            indexed.encode(&bytes).ok_or_else(|| Error::BeyondIndex {
                index: self.name().into(),
                column: definition.schema.columns[indexed.column].name.clone(),
                bits: indexed.bits,
            })
        };
        values.iter().zip(columns).map(code).collect()
    }
}
