//! Keys of index entries: 64-bit numbers where they fit, otherwise strings of bytes.
//!
//! An entry's key is a string of bytes if the index's columns and the rows' keys need more than 64 bits, or if the
//! rows' keys are bytes. It has the same order as the columns and the rows' keys. It consists of the bits of the
//! columns one after another, zeros up to a whole byte, and the row's key.

use crate::{
    ByteRange, ColumnType, IndexedColumn, Key, KeyKind, MAX_KEY_BYTES, OwnedKey, OwnedKeys,
    ReversedByteRange, SecondaryIndex,
};

/// The beginning of an entry's key: a string of bits, the first bit first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    /// Number of bits of the last byte that are not set yet.
    free: u32,
}

impl Bits {
    /// Appends the lowest `count` bits of `code`, the highest of them first.
    fn push(&mut self, code: u64, mut count: u32) {
        while count > 0 {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = 8;
            }
            let taken = count.min(self.free);
            let piece = (code >> (count - taken)) as u8 & (u8::MAX >> (8 - taken));
            let last = self.bytes.last_mut().expect("has bits to set");
            *last |= piece << (self.free - taken);
            self.free -= taken;
            count -= taken;
        }
    }

    /// Appends the code of a value, `None` for NULL. Returns none if the value needs more bits than the column has.
    fn push_value(&mut self, column: &IndexedColumn, value: Option<&[u8]>) -> Option<()> {
        if column.nullable {
            self.push(value.is_some().into(), 1);
        }
        match value {
            None if column.nullable => (0..column.bits).for_each(|_| self.push(0, 1)),
            None => return None,
            Some(value) if column.kind.is_bytes() => {
                column.padded(value)?.for_each(|byte| self.push(byte, 8));
            }
            Some(value) => self.push(column.code_of(value)?, column.bits),
        }
        Some(())
    }
}

impl SecondaryIndex {
    /// Returns the number of bits of the index's columns.
    fn column_bits(&self) -> u32 {
        self.columns.iter().map(IndexedColumn::width).sum()
    }

    /// Returns true if the keys of the index's entries are bytes.
    pub fn is_wide(&self) -> bool {
        self.base != KeyKind::Integer || self.column_bits() + self.key_bits.unwrap_or(0) > 64
    }

    /// Returns the number of bytes that a row's key takes in an entry's key.
    fn key_bytes(&self) -> usize {
        self.key_bits.map_or(0, |bits| bits.div_ceil(8) as usize)
    }

    /// Returns the largest number of bytes of an entry's key, for an index whose entries' keys are bytes.
    pub fn entry_bytes(&self) -> usize {
        self.column_bits().div_ceil(8) as usize + self.key_bytes()
    }

    /// Returns the type of the column in an entry's row, which holds the key of the base table's row.
    pub(crate) fn entry_column(base: KeyKind) -> ColumnType {
        match base {
            KeyKind::Integer => ColumnType::U64,
            KeyKind::Bytes { most } => ColumnType::Bytes(1 + u32::from(most)),
        }
    }

    /// Returns the key of the entry of row `key`, for keys of both kinds. `value_of` returns a column's value, `None`
    /// for NULL. None if a value, or the row's key, needs more bits than the index has for it.
    pub fn entry<'v>(
        &self,
        key: Key<'_>,
        value_of: impl Fn(usize) -> Option<&'v [u8]>,
    ) -> Option<OwnedKey> {
        if let (Key::Number(key), false) = (key, self.is_wide()) {
            return self.entry_of(key, value_of).map(OwnedKey::Number);
        }
        let mut bits = Bits::default();
        for column in &self.columns {
            bits.push_value(column, value_of(column.column))?;
        }
        let mut entry = bits.bytes;
        match (self.key_bits, key) {
            (None, _) => {}
            (Some(bits), Key::Number(key)) if bits < 64 && key >> bits != 0 => return None,
            (Some(_), Key::Number(key)) => {
                entry.extend(&key.to_be_bytes()[8 - self.key_bytes()..]);
            }
            (Some(_), Key::Bytes(key)) => entry.extend(key),
        }
        Some(OwnedKey::Bytes(entry))
    }

    /// Returns the row of the entry of row `key`.
    pub fn entry_row(&self, key: Key<'_>) -> Vec<u8> {
        match key {
            Key::Number(key) => key.to_le_bytes().into(),
            Key::Bytes(key) => {
                let mut row = vec![0; Self::entry_column(self.base).most_bytes()];
                row[0] = key.len() as u8;
                row[1..=key.len()].copy_from_slice(key);
                row
            }
        }
    }

    /// Returns the key of the base table's row to which the index entry `row` refers. A torn read may return any
    /// key; validation rejects it.
    pub fn row_key<'r>(&self, row: &'r [u8]) -> Key<'r> {
        match self.base {
            KeyKind::Integer => {
                Key::Number(u64::from_le_bytes(row.try_into().expect("an entry is a key")))
            }
            KeyKind::Bytes { most } => Key::Bytes(&row[1..=usize::from(row[0]).min(most.into())]),
        }
    }

    /// Returns true if the index has enough bits for `value` in its column number `at`.
    pub fn has_place_for(&self, at: usize, value: Option<&[u8]>) -> bool {
        Bits::default().push_value(&self.columns[at], value).is_some()
    }

    /// Returns the same range as [`SecondaryIndex::between`] for an index whose entries' keys are bytes. It takes
    /// values of the first columns, `None` for NULL. The index must have enough bits for them.
    pub fn between_values(
        &self,
        first: &[Option<Vec<u8>>],
        last: &[Option<Vec<u8>>],
    ) -> Result<OwnedKeys, ReversedByteRange> {
        let end = |values: &[Option<Vec<u8>>], fill: u64| {
            let mut bits = Bits::default();
            for (at, column) in self.columns.iter().enumerate() {
                match values.get(at) {
                    Some(value) => {
                        bits.push_value(column, value.as_deref()).expect("it has a place");
                    }
                    None => (0..column.width()).for_each(|_| bits.push(fill, 1)),
                }
            }
            bits.bytes
        };
        let (first, mut last) = (end(first, 0), end(last, u64::MAX));
        last.resize(self.entry_bytes(), u8::MAX);
        ByteRange::new(&first, &last)?;
        Ok(OwnedKeys::Bytes { first, last: Some(last) })
    }

    /// Returns what is wrong with the number of bits of the index, if anything is.
    pub(crate) fn check_bits(&self) -> Result<(), String> {
        let bits = self.column_bits() + self.key_bits.unwrap_or(0);
        let has_longer_keys =
            self.base == KeyKind::Integer && self.key_bits.is_some_and(|bits| bits > 64);
        if self.columns.is_empty() || self.entry_bytes() > MAX_KEY_BYTES || has_longer_keys {
            let most = MAX_KEY_BYTES * 8;
            return Err(format!(
                "an index of {bits} bits, allowed are 1 to {most}, in whole bytes"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, TableId, TableSchema, check_tables};

    fn schema(columns: &[(&str, u32)], key_bits: Option<u32>, keys: KeyKind) -> [TableSchema; 2] {
        let all =
            [("debt", ColumnType::I64), ("name", ColumnType::Bytes(12)), ("rate", ColumnType::F64)];
        let all = all.map(|(name, kind)| Column::new(name, kind)).to_vec();
        let mut base = TableSchema::new("base", all).with_indexes(&[TableId(1)]);
        base.key = keys;
        let index = TableSchema::index_of("index", (TableId(0), &base), columns, key_bits);
        [base, index]
    }

    #[test]
    fn wide_entries_are_ordered_as_their_columns_and_keys() {
        for keys in [KeyKind::Integer, KeyKind::Bytes { most: 9 }] {
            let tables = schema(&[("debt", 13), ("name", 96), ("rate", 64)], Some(61), keys);
            assert_eq!(check_tables(TableId(0), &tables), Ok(()));
            let index = tables[1].index_of.as_ref().unwrap();
            let bytes: [&[u8]; 4] = [b"", b"\0", b"a", b"a\0\xFFlonger"];
            let mut all = Vec::new();
            for debt in [-4096i64, -1, 0, 4095] {
                for name in [&[0; 12], b"a\0\0\0\0\0\0\0\0\0\0\0", b"a\0\0\0\0\0\0\0\0\0\0b"] {
                    for rate in [-1.5f64, 0.0, 2.5] {
                        for (at, key) in bytes.into_iter().enumerate() {
                            let key = match keys {
                                KeyKind::Integer => Key::Number(at as u64 * 1_000_003),
                                KeyKind::Bytes { .. } => Key::Bytes(key),
                            };
                            let (debt, rate) = (debt.to_le_bytes(), rate.to_le_bytes());
                            let values = [&debt[..], &name[..], &rate[..]];
                            let Some(OwnedKey::Bytes(entry)) =
                                index.entry(key, |column| Some(values[column]))
                            else {
                                panic!("it fits, and not into a number")
                            };
                            assert!(entry.len() <= index.entry_bytes());
                            let row = index.entry_row(key);
                            assert_eq!(index.row_key(&row), key);
                            all.push(entry);
                        }
                    }
                }
            }
            assert!(all.is_sorted_by(|a, b| a < b));
            let within = |first: &[Option<Vec<u8>>], last: &[Option<Vec<u8>>]| {
                let range = index.between_values(first, last).unwrap();
                let OwnedKeys::Bytes { first, last: Some(last) } = range else {
                    panic!("a range of bytes with two ends: {range:?}")
                };
                all.iter().filter(|entry| first <= **entry && **entry <= last).count()
            };
            let debt = |debt: i64| Some(debt.to_le_bytes().to_vec());
            assert_eq!(within(&[], &[]), all.len());
            assert_eq!(within(&[debt(0)], &[debt(0)]), 36);
            assert_eq!(
                within(&[debt(-1), Some(b"a\0\0\0\0\0\0\0\0\0\0\0".to_vec())], &[debt(0)]),
                60
            );
            assert!(index.between_values(&[debt(0)], &[debt(-1)]).is_err());
            assert!(index.has_place_for(0, debt(4095).as_deref()));
            assert!(!index.has_place_for(0, debt(4096).as_deref()));
        }
    }

    #[test]
    fn what_does_not_fit_into_the_longest_key_is_refused() {
        let message = |columns: &[(&str, u32)], key_bits, keys| {
            check_tables(TableId(0), &schema(columns, key_bits, keys)).map_err(|e| e.to_string())
        };
        let names = [("name", 96), ("debt", 64), ("rate", 64)];
        assert_eq!(message(&names, Some(64), KeyKind::Integer), Ok(()));
        assert_eq!(message(&names, Some(1), KeyKind::Bytes { most: 36 }), Ok(()));
        let long = message(&names, Some(1), KeyKind::Bytes { most: 37 }).unwrap_err();
        assert!(long.contains("520 bits"), "{long}");
        let long = message(&[("debt", 64)], Some(65), KeyKind::Integer).unwrap_err();
        assert!(long.contains("129 bits"), "{long}");
        // A unique index does not hold the rows' keys.
        assert_eq!(message(&names, None, KeyKind::Bytes { most: 64 }), Ok(()));
    }
}
