//! Secondary indexes: what they are made of, their handles, and ranges of their entries.

use crate::{Error, Table, Value};
use txn::{OwnedKeys, SecondaryIndex, TableId, TableSchema};

/// A secondary index to be made, with [`Database::create_indexed_table`](crate::Database::create_indexed_table).
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions<'d> {
    /// Its name, which is no table's and no other index's.
    pub name: &'d str,
    /// Columns of the table, in the order in which they decide, each with the bits that its values need: any number for
    /// integers, signed ones included, 64 for floating-point numbers, 8 a byte for bytes.
    pub columns: &'d [(&'d str, u32)],
    /// Bits of the keys of rows, which tell rows with the same values apart; none if no two rows may have the same
    /// values. Keys that are bytes are taken whole, whatever number is given. Columns and keys together are 64 bytes at
    /// most; an index of up to 64 bits over a table with integer keys is the quickest.
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

    /// `values` of the first columns as rows hold them.
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
