//! Secondary indexes: their options, their handles, and ranges of their entries.

use crate::{Error, Table, Value};
use txn::{OwnedKeys, SecondaryIndex, TableId, TableSchema};

/// Describes a secondary index that [`Database::create_indexed_table`](crate::Database::create_indexed_table)
/// creates.
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions<'d> {
    /// Name of the index. No table and no other index of the database can have the same name.
    pub name: &'d str,
    /// Indexed columns of the table, in the order in which they are compared. Each comes with the number of
    /// bits that its values need: any number for integers, including signed ones, 64 for floating-point
    /// numbers, and 8 per byte for bytes.
    pub columns: &'d [(&'d str, u32)],
    /// Number of bits for the key of the row. The key tells rows with the same values apart. `None` makes the
    /// index unique: no two rows can then have the same values.
    ///
    /// Keys that are bytes are always stored whole, whatever number is given. Columns and key together have at
    /// most 64 bytes. An index of at most 64 bits over a table with integer keys is the fastest.
    pub key_bits: Option<u32>,
}

impl IndexOptions<'_> {
    /// Returns the schema of this index of table `id`. Fails with [`Error::UnknownColumn`] if the table lacks a
    /// column.
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

/// A handle of a secondary index. It is cheap to clone. Made by [`Table::index`].
#[derive(Clone, Debug)]
pub struct Index {
    /// Table whose rows the index finds.
    table: Table,
    /// Table of the index entries, which the engine maintains.
    entries: Table,
}

impl Index {
    pub(crate) fn new(table: Table, entries: Table) -> Index {
        Index { table, entries }
    }

    /// Returns the name of the index.
    pub fn name(&self) -> &str {
        self.entries.name()
    }

    /// Returns the table whose rows the index finds.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns true if no two rows can have the same values in the indexed columns.
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

    /// Returns the range of entries from the first that begins with the values `first` to the last that begins
    /// with `last`.
    pub(crate) fn range(
        &self,
        first: &[Value<'_>],
        last: &[Value<'_>],
    ) -> Result<OwnedKeys, Error> {
        let (first, last) = (self.stored(first)?, self.stored(last)?);
        let (index, reversed) =
            (self.definition(), || Error::ReversedIndexRange { index: self.name().into() });
        if index.is_wide() {
            return index.between_values(&first, &last).map_err(|_| reversed());
        }
        let codes = |values: &[Vec<u8>]| {
            let codes =
                values.iter().zip(&index.columns).map(|(value, column)| column.encode(value));
            codes.collect::<Option<Vec<u64>>>().expect("they have a place")
        };
        let range = index.between(&codes(&first), &codes(&last));
        range.map(OwnedKeys::Numbers).map_err(|_| reversed())
    }

    /// Encodes `values` of the first indexed columns as rows hold them. Fails if a value does not fit into the
    /// index.
    fn stored(&self, values: &[Value<'_>]) -> Result<Vec<Vec<u8>>, Error> {
        let columns = &self.definition().columns;
        if values.len() > columns.len() {
            let (given, allowed) = (values.len(), columns.len());
            return Err(Error::WrongCount { table: self.name().into(), given, allowed });
        }
        let definition = self.table.definition();
        let stored = |(at, value): (usize, &Value<'_>)| {
            let indexed = &columns[at];
            let mut bytes = vec![0; indexed.kind.bytes()];
            definition.encode(indexed.column, *value, &mut bytes)?;
            if self.definition().has_place_for(at, &bytes) {
                return Ok(bytes);
            }
            Err(Error::BeyondIndex {
                index: self.name().into(),
                column: definition.schema.columns[indexed.column].name.clone(),
                bits: indexed.bits,
            })
        };
        values.iter().enumerate().map(stored).collect()
    }
}
