//! Secondary indexes: they find the rows that have given values in some columns, in the order of those values.
//!
//! An index is a table of its own, in key order. It has one row, an *entry*, for each row of its base table. The
//! entry's key consists of the row's values in the index's columns, in an encoding that keeps their order, and of
//! the row's key. The entry's row holds that key again. So the protocol isolates index entries and protects scanned
//! ranges of an index as for any table, and an abort leaves the index as it was. The architecture maintains the
//! index.

use crate::{
    Column, ColumnSet, ColumnType, KeyKind, KeyRange, MAX_KEY_BYTES, ReversedRange, SchemaError,
    TableId, TableSchema,
};

/// Columns of the entries of every index: the key of the row that the entry is about.
pub const ENTRY: ColumnSet = ColumnSet::one(0);

/// One column of an index, and the number of bits that it takes in an entry's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedColumn {
    /// Number of the column in the base table.
    pub column: usize,
    /// Type of its values.
    pub kind: ColumnType,
    /// True if a row can have no value in the column. NULL comes before all values.
    pub nullable: bool,
    /// Number of bits of a value in the key. An integer that needs more bits cannot be in the table. Floating-point
    /// numbers need all their bits. Bytes and text need eight bits for each byte, and eight more for the length if
    /// it is variable: a value that is longer cannot be in the table.
    pub bits: u32,
}

impl IndexedColumn {
    /// Returns the number of bits that the column takes in the key: one more than [`IndexedColumn::bits`] if it is
    /// nullable.
    pub fn width(&self) -> u32 {
        self.bits + u32::from(self.nullable)
    }

    /// Returns the column's part of a key, which is greater for a greater value. None if the value needs more bits,
    /// or if it is NULL and the column has no NULL.
    ///
    /// `value` is a value as [`RowLayout::fields`](crate::RowLayout::fields) returns it, of a column that takes at
    /// most 64 bits.
    pub fn encode(&self, value: Option<&[u8]>) -> Option<u64> {
        let Some(value) = value else { return self.nullable.then_some(0) };
        let code = self.code_of(value)?;
        Some(if self.nullable { 1 << self.bits | code } else { code })
    }

    /// Returns the code of a value. None if it needs more bits.
    pub(crate) fn code_of(&self, value: &[u8]) -> Option<u64> {
        let number = || value.iter().rev().fold(0, |code, byte| code << 8 | u64::from(*byte));
        // The sign of a negative number fills the bits above it.
        let missing = 64 - value.len() as u32 * 8;
        let signed = || (((number() << missing) as i64) >> missing) as u64;
        // Negative floats are stored as sign and magnitude: their order is reversed, and they go below the others.
        let float = |sign: u64| match number() & sign {
            0 => number() | sign,
            _ => !number() & (sign | (sign - 1)),
        };
        let code = match self.kind {
            // Half of the codes are for negative numbers.
            kind if kind.is_signed() => signed().wrapping_add(1 << (self.bits - 1)),
            ColumnType::F64 => float(1 << 63),
            ColumnType::F32 => float(1 << 31),
            kind if kind.is_bytes() => self.padded(value)?.fold(0, |code, byte| code << 8 | byte),
            _ => number(),
        };
        (self.bits == 64 || code >> self.bits == 0).then_some(code)
    }

    /// Returns the bytes of a value of bytes or text in the key. A value of variable length is followed by zeros and
    /// its length, so that it comes before all longer values that begin with it. None if it is too long.
    pub(crate) fn padded<'v>(&self, value: &'v [u8]) -> Option<impl Iterator<Item = u64> + 'v> {
        let length = self.kind.is_variable().then_some(value.len() as u64);
        let room = (self.bits / 8) as usize - usize::from(length.is_some());
        let zeros = room.checked_sub(value.len())?;
        let bytes = value.iter().map(|byte| u64::from(*byte));
        Some(bytes.chain(std::iter::repeat_n(0, zeros)).chain(length))
    }

    fn is_sound(&self) -> bool {
        match self.kind {
            ColumnType::F64 => self.bits == 64,
            ColumnType::F32 => self.bits == 32,
            kind if kind.is_variable() => {
                let bytes = (self.bits / 8) as usize;
                let fits = (2..=MAX_KEY_BYTES).contains(&bytes) && bytes <= kind.most_bytes() + 1;
                self.bits.is_multiple_of(8) && fits
            }
            ColumnType::Bytes(n) => n <= MAX_KEY_BYTES as u32 && self.bits == n * 8,
            number => (1..=number.most_bytes() as u32 * 8).contains(&self.bits),
        }
    }
}

/// Definition of a secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondaryIndex {
    /// The base table.
    pub table: TableId,
    /// Its columns, the most significant first.
    pub columns: Vec<IndexedColumn>,
    /// Number of bits of the base table's keys, which distinguish rows with equal values. None in a unique index,
    /// where no two rows have equal values.
    pub key_bits: Option<u32>,
    /// Type of the base table's keys.
    pub base: KeyKind,
}

impl SecondaryIndex {
    /// Returns true if no two rows may have the same values.
    pub fn is_unique(&self) -> bool {
        self.key_bits.is_none()
    }

    /// Returns the index's columns as a set.
    pub fn column_set(&self) -> ColumnSet {
        self.columns.iter().fold(ColumnSet::NONE, |set, c| set.with(ColumnSet::one(c.column)))
    }

    /// Returns the key of the entry of row `key`, for an index that is not wide. `value_of` returns a column's value,
    /// `None` for NULL. None if a value, or the row's key, needs more bits than the index has for it.
    pub fn entry_of<'v>(
        &self,
        key: u64,
        value_of: impl Fn(usize) -> Option<&'v [u8]>,
    ) -> Option<u64> {
        let mut entry = 0u64;
        for column in &self.columns {
            let code = column.encode(value_of(column.column))?;
            entry = shifted(entry, column.width()) | code;
        }
        match self.key_bits {
            Some(bits) if bits < 64 && key >> bits != 0 => None,
            Some(bits) => Some(shifted(entry, bits) | key),
            None => Some(entry),
        }
    }

    /// Returns the range of entries from the first one whose columns begin with the codes `first` to the last one
    /// whose columns begin with `last`. Codes are those of [`IndexedColumn::encode`]. Fewer codes than columns may
    /// be given.
    pub fn between(&self, first: &[u64], last: &[u64]) -> Result<KeyRange, ReversedRange> {
        let end = |codes: &[u64], fill: u64| {
            let mut entry = 0;
            for (at, column) in self.columns.iter().enumerate() {
                let most = u64::MAX >> (64 - column.width());
                entry = shifted(entry, column.width()) | codes.get(at).map_or(fill & most, |c| *c);
            }
            let bits = self.key_bits.unwrap_or(0);
            shifted(entry, bits) | (fill & u64::MAX.checked_shr(64 - bits).unwrap_or(0))
        };
        KeyRange::new(end(first, 0), end(last, u64::MAX))
    }

    /// Returns the range of the entries whose columns begin with `codes`.
    pub fn equal(&self, codes: &[u64]) -> KeyRange {
        self.between(codes, codes).expect("the first entry is not behind the last")
    }

    /// Returns what is wrong with the index, if anything is.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.check_bits()?;
        if let Some(column) = self.columns.iter().find(|column| !column.is_sound()) {
            let IndexedColumn { column, kind, bits, .. } = column;
            return Err(format!("an index cannot hold column {column} ({kind}) in {bits} bits"));
        }
        let repeated = |(at, column): (usize, &IndexedColumn)| {
            self.columns[..at].iter().any(|other| other.column == column.column)
        };
        if self.columns.iter().enumerate().any(repeated) {
            return Err("an index with a column given twice".into());
        }
        Ok(())
    }
}

fn shifted(entry: u64, bits: u32) -> u64 {
    entry.checked_shl(bits).unwrap_or(0)
}

impl TableSchema {
    /// Returns an index of the table number `base`, whose schema is `schema`, by columns given as names and bits.
    /// The rows' keys distinguish rows with equal values. They take `key_bits` bits, or, if keys are bytes, as many
    /// as the keys have. Without `key_bits` the index is unique.
    ///
    /// # Panics
    /// Panics if the base table has no such column.
    pub fn index_of(
        name: impl Into<String>,
        (base, schema): (TableId, &TableSchema),
        columns: &[(&str, u32)],
        key_bits: Option<u32>,
    ) -> TableSchema {
        let indexed = |(column, bits): &(&str, u32)| {
            let number = schema.column(column).unwrap_or_else(|| {
                panic!("table {:?} has no column {column:?} to be indexed", schema.name)
            });
            let Column { kind, nullable, .. } = schema.columns[number];
            IndexedColumn { column: number, kind, nullable, bits: *bits }
        };
        let columns = columns.iter().map(indexed).collect();
        let entry = vec![Column::new("key", SecondaryIndex::entry_column(schema.key))];
        let key_bits = key_bits.map(|bits| match schema.key {
            KeyKind::Integer => bits,
            KeyKind::Bytes { most } => u32::from(most) * 8,
        });
        let index = SecondaryIndex { table: base, columns, key_bits, base: schema.key };
        let table = TableSchema::new(name, entry).ordered();
        let table = match index.is_wide() {
            true => table.keyed_by_bytes(index.entry_bytes()),
            false => table,
        };
        TableSchema { index_of: Some(index), ..table }
    }

    /// Returns the same table with the secondary indexes `tables`.
    pub fn with_indexes(mut self, tables: &[TableId]) -> TableSchema {
        self.indexes = tables.to_vec();
        self
    }
}

/// Returns the columns of table `base` that have indexes among `tables`.
pub fn indexed_columns(tables: &[TableSchema], base: TableId) -> ColumnSet {
    let indexes = tables.iter().filter_map(|table| table.index_of.as_ref());
    let of_it = indexes.filter(|index| index.table == base);
    of_it.fold(ColumnSet::NONE, |set, index| set.with(index.column_set()))
}

/// Checks tables that are created together and numbered from `first` on. Checks each table, and that tables and
/// their indexes name each other.
pub fn check_tables(first: TableId, tables: &[TableSchema]) -> Result<(), SchemaError> {
    tables.iter().try_for_each(TableSchema::check)?;
    let fail = |message: String| Err(SchemaError(message));
    let table_of = |id: TableId| tables.get(id.0.wrapping_sub(first.0) as usize);
    for (at, table) in tables.iter().enumerate() {
        let id = TableId(first.0.wrapping_add(at as u16));
        for index in &table.indexes {
            let there = table_of(*index).and_then(|other| other.index_of.as_ref());
            if there.is_none_or(|index| index.table != id) {
                let name = &table.name;
                return fail(format!("table {name:?}: table {} is no index of it", index.0));
            }
        }
        let Some(index) = &table.index_of else { continue };
        let base = table_of(index.table);
        if base.is_none_or(|base| !base.indexes.contains(&id)) {
            let name = &table.name;
            return fail(format!("index {name:?}: its table does not name it"));
        }
        let columns = base.map_or(&[][..], |base| &base.columns[..]);
        let fits = |c: &IndexedColumn| {
            columns
                .get(c.column)
                .is_some_and(|its| (its.kind, its.nullable) == (c.kind, c.nullable))
        };
        if !index.columns.iter().all(fits) {
            return fail(format!("index {:?}: its table has other columns", table.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> TableSchema {
        let columns = [
            ("room", ColumnType::U64),
            ("debt", ColumnType::I64),
            ("code", ColumnType::Bytes(2)),
            ("rate", ColumnType::F64),
        ];
        TableSchema::new("people", columns.map(|(name, kind)| Column::new(name, kind)).to_vec())
    }

    fn index(columns: &[(&str, u32)], key_bits: Option<u32>) -> TableSchema {
        TableSchema::index_of("index", (TableId(0), &people()), columns, key_bits)
    }

    #[test]
    fn entries_are_ordered_as_their_columns() {
        let schema = index(&[("code", 16), ("debt", 12), ("room", 8)], Some(20));
        let by = schema.index_of.as_ref().unwrap();
        let mut all = Vec::new();
        for code in [*b"\0\0", *b"ab", *b"b\0"] {
            for debt in [-2048i64, -1, 0, 5, 2047] {
                for room in [0u64, 255] {
                    for key in [0u64, (1 << 20) - 1] {
                        let (debt, room) = (debt.to_le_bytes(), room.to_le_bytes());
                        let values = [&room[..], &debt[..], &code[..]];
                        all.push(by.entry_of(key, |column| Some(values[column])).expect("it fits"));
                    }
                }
            }
        }
        assert!(all.is_sorted_by(|a, b| a < b));
        let [code, debt, _] = by.columns[..] else { panic!() };
        let range = by.equal(&[code.encode(Some(b"ab")).unwrap()]);
        assert_eq!(all.iter().filter(|entry| range.contains(**entry)).count(), 20);
        let zero = debt.encode(Some(&0i64.to_le_bytes())).unwrap();
        let code = code.encode(Some(b"ab")).unwrap();
        let range = by.between(&[code, zero], &[code]).unwrap();
        assert_eq!(all.iter().filter(|entry| range.contains(**entry)).count(), 12);
        assert!(by.between(&[code], &[0]).is_err());
    }

    #[test]
    fn numbers_keep_their_order_and_their_bounds() {
        let schema = index(&[("rate", 64)], None);
        let rate = schema.index_of.unwrap().columns[0];
        let rates = [f64::NEG_INFINITY, -2.5, -1e-300, -0.0, 0.0, 1e-300, 2.5, f64::INFINITY];
        let codes = rates.map(|rate_| rate.encode(Some(&rate_.to_le_bytes())).unwrap());
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
        let schema = index(&[("debt", 8)], Some(8));
        let by = schema.index_of.unwrap();
        let entry = |debt: i64, key| {
            let debt = debt.to_le_bytes();
            by.entry_of(key, |_| Some(&*Box::leak(Box::new(debt))))
        };
        assert!(entry(-128, 0) == Some(0) && entry(127, 255) == Some(0xFFFF));
        assert!(entry(128, 0).is_none() && entry(-129, 0).is_none() && entry(0, 256).is_none());
    }

    #[test]
    fn what_cannot_be_an_index_is_said() {
        let message = |columns: &[(&str, u32)], key_bits| {
            index(columns, key_bits).check().unwrap_err().to_string()
        };
        assert!(index(&[("room", 40)], Some(25)).check().is_ok());
        assert!(message(&[("room", 64), ("code", 16)], Some(440)).contains("520 bits"));
        assert!(message(&[("rate", 32)], None).contains("column 3 (f64) in 32 bits"));
        assert!(message(&[("room", 8), ("room", 8)], None).contains("twice"));
        let linked = |indexes: &[TableId]| {
            let base = people().with_indexes(indexes);
            let tables = [base, index(&[("room", 8)], None)];
            check_tables(TableId(0), &tables).map_err(|error| error.to_string())
        };
        assert_eq!(linked(&[TableId(1)]), Ok(()));
        assert!(linked(&[]).unwrap_err().contains("does not name it"));
        assert!(linked(&[TableId(1), TableId(2)]).unwrap_err().contains("table 2 is no index"));
    }
}
