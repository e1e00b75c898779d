//! Secondary indexes: their options, their handles, and ranges of their entries.

use crate::{ColumnType, Error, Table, Value, builder::column_of};
use std::borrow::Cow;
use txn::{OwnedKeys, SecondaryIndex, TableId, TableSchema};

/// Describes a secondary index whose entries have given numbers of bits, for
/// [`TableBuilder::index_with`](crate::TableBuilder::index_with).
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions<'d> {
    /// Name of the index. No other index of the table can have the same name.
    pub name: &'d str,
    /// Indexed columns of the table, in the order in which they are compared. Each comes with the number of
    /// bits that its values need: any number for integers, including signed ones, all bits for floating-point
    /// numbers, and 8 per byte for bytes. Bytes and text of variable length need 8 bits more, for the length.
    pub columns: &'d [(&'d str, u32)],
    /// Number of bits for the key of the row. The key tells rows with the same values apart. `None` makes the
    /// index unique: no two rows can then have the same values.
    ///
    /// Keys that are bytes are always stored whole, whatever number is given. Columns and key together have at
    /// most 64 bytes. An index of at most 64 bits over a table with integer keys is the fastest.
    pub key_bits: Option<u32>,
}

/// A secondary index of a table that is being created.
#[derive(Clone, Debug)]
pub(crate) struct IndexSpec {
    pub name: String,
    /// Columns with the numbers of bits of their values. None for as many as the column's type has.
    columns: Vec<(String, Option<u32>)>,
    /// Number of bits for the key of the row; none in a unique index.
    key_bits: Option<u32>,
}

impl IndexSpec {
    /// Returns an index with room for all values of its columns.
    pub fn whole<'n>(
        name: String,
        columns: impl IntoIterator<Item = &'n str>,
        unique: bool,
    ) -> IndexSpec {
        let columns = columns.into_iter().map(|column| (column.to_owned(), None)).collect();
        IndexSpec { name, columns, key_bits: (!unique).then_some(u64::BITS) }
    }

    /// Returns an index with the given numbers of bits.
    pub fn of(index: IndexOptions<'_>) -> IndexSpec {
        let columns = index.columns.iter().map(|(name, bits)| ((*name).into(), Some(*bits)));
        IndexSpec { name: index.name.into(), columns: columns.collect(), key_bits: index.key_bits }
    }

    /// Returns the schema of this index of table `id`. Fails with [`Error::UnknownColumn`] if the table lacks a
    /// column, and with [`Error::InvalidTable`] if a column's values have no largest length.
    pub fn schema(&self, id: TableId, table: &TableSchema) -> Result<TableSchema, Error> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (name, bits) in &self.columns {
            let kind = table.columns[column_of(table, name)?].kind;
            let whole = (kind.most_bytes() + usize::from(kind.is_variable())) as u32 * 8;
            if bits.is_none() && matches!(kind, ColumnType::Text | ColumnType::VarBytes) {
                return Err(Error::InvalidTable {
                    message: format!(
                        "table {:?}, index {:?}: column {name:?} ({kind}) has no largest length; make it TextUpTo or \
                         VarBytesUpTo, or give the index a number of bits",
                        table.name, self.name
                    ),
                });
            }
            columns.push((name.as_str(), bits.unwrap_or(whole)));
        }
        Ok(TableSchema::index_of(&*self.name, (id, table), &columns, self.key_bits))
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
        let codes = |values: &[Option<Vec<u8>>]| {
            let pairs = values.iter().zip(&index.columns);
            let codes = pairs.map(|(value, column)| column.encode(value.as_deref()));
            codes.collect::<Option<Vec<u64>>>().expect("they have a place")
        };
        let range = index.between(&codes(&first), &codes(&last));
        range.map(OwnedKeys::Numbers).map_err(|_| reversed())
    }

    /// Encodes `values` of the first indexed columns, `None` for NULL. Fails if a value does not fit into the
    /// index.
    fn stored(&self, values: &[Value<'_>]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let columns = &self.definition().columns;
        if values.len() > columns.len() {
            let (given, allowed) = (values.len(), columns.len());
            return Err(Error::WrongCount { table: self.name().into(), given, allowed });
        }
        let definition = self.table.definition();
        let stored = |(at, value): (usize, &Value<'_>)| {
            let indexed = &columns[at];
            let bytes = definition.bytes_of(indexed.column, *value)?;
            if self.definition().has_place_for(at, bytes.as_deref()) {
                return Ok(bytes.map(Cow::into_owned));
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
