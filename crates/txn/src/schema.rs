//! Tables: their columns, their keys, and how they are stored.

use crate::{
    Column, MAX_VALUE_BYTES, Partitioning,
    secondary::{SecondaryIndex, check_tables},
};
use std::fmt;

/// A table's number in its schema. It is stable for the life of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u16);

/// Largest number of columns of a table.
pub const MAX_COLUMNS: usize = 62;

/// Largest number of keys of a perfect index.
const MAX_PERFECT_KEYS: u64 = 1 << 40;

/// The importance of a table's values to the workload that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Values are stored and come back on every machine.
    Stored,
    /// The workload never looks at the values. A simulated machine charges for moving them and keeps none, so a
    /// table can be larger than the host's memory. Natively the values are stored as usual.
    Opaque,
}

/// The index by which a table finds the record of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IndexKind {
    /// By hash: the fastest for single keys. The table cannot be scanned.
    #[default]
    Hash,
    /// By an array with one place for each key in `0..keys` ("perfect" hash). A look-up reads one cache line. There
    /// is no place for any other key. The table cannot be scanned.
    Perfect {
        /// Number of keys that there is a place for.
        keys: u64,
    },
    /// In key order, by a B+tree: ranges can be scanned.
    Ordered,
    /// In key order, by a red-black tree, for comparison: ranges can be scanned.
    RedBlack,
}

impl IndexKind {
    /// Returns true if ranges can be scanned.
    pub const fn is_ordered(self) -> bool {
        matches!(self, IndexKind::Ordered | IndexKind::RedBlack)
    }
}

/// Largest number of bytes of a key.
pub const MAX_KEY_BYTES: usize = 64;

/// Type of a table's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum KeyKind {
    /// Unsigned 64-bit integers.
    #[default]
    Integer,
    /// Strings of at most `most` bytes, ordered byte by byte. A table with byte keys has no perfect index.
    Bytes {
        /// Largest number of bytes of a key, 1 to [`MAX_KEY_BYTES`].
        most: u8,
    },
}

/// A set of columns of one table, as a bit mask by column number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ColumnSet(pub u64);

impl ColumnSet {
    /// No column.
    pub const NONE: ColumnSet = ColumnSet(0);

    /// Every column, however many there are.
    pub const EVERY: ColumnSet = ColumnSet(u64::MAX);

    /// Returns the set of column number `index` alone.
    #[inline]
    pub const fn one(index: usize) -> ColumnSet {
        ColumnSet(1 << index)
    }

    /// Returns the set of the first `count` columns.
    #[inline]
    pub const fn first(count: usize) -> ColumnSet {
        ColumnSet((1u64 << count) - 1)
    }

    /// Returns the columns that are in either set.
    #[inline]
    pub const fn with(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 | other.0)
    }

    /// Returns true if a column is in both sets.
    #[inline]
    pub const fn intersects(self, other: ColumnSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns true if every column of `other` is in this set.
    #[inline]
    pub const fn contains(self, other: ColumnSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the columns of this set that are not in `other`.
    #[inline]
    pub const fn without(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 & !other.0)
    }

    /// Returns true if the set has no column.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of the only column, if the set has one.
    #[inline]
    pub const fn only(self) -> Option<usize> {
        match self.0.is_power_of_two() {
            true => Some(self.0.trailing_zeros() as usize),
            false => None,
        }
    }

    /// Returns the columns that are in both sets.
    #[inline]
    pub const fn and(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 & other.0)
    }

    /// Returns the set with `count` subtracted from each column number. Columns below number `count` are left out.
    #[inline]
    pub const fn shifted_down(self, count: usize) -> ColumnSet {
        ColumnSet(if count < 64 { self.0 >> count } else { 0 })
    }

    /// Returns the column numbers, ascending.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let index = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(index)
        })
    }
}

/// A table: its name, its columns, and how it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// Name, unique within the schema.
    pub name: String,
    /// Columns, in the order in which rows are packed.
    pub columns: Vec<Column>,
    /// The importance of the values to the workload.
    pub payload: Payload,
    /// Rule for the partition of a key, for protocols that lock partitions.
    pub partitioning: Partitioning,
    /// Type of the keys.
    pub key: KeyKind,
    /// The index by which the record of a key is found.
    pub index: IndexKind,
    /// Hot columns, which change hot and have their own words of concurrency control: a transaction that writes
    /// them does not conflict with one that reads the others. Empty if there are none.
    pub hot: ColumnSet,
    /// Set if rows share cache lines with their neighbours where that saves memory: natively they begin at multiples of 32
    /// bytes instead of 64. For small rows that are inserted, and then seldom contended.
    pub shares_lines: bool,
    /// Constant columns, which no transaction changes. A table that has some neither gains nor loses rows after it was
    /// loaded. A transaction that breaks this fails with
    /// [`AbortReason::ConstantData`](crate::AbortReason::ConstantData). So the engine can read these columns without
    /// concurrency control.
    pub constant: ColumnSet,
    /// The table's secondary indexes, which are tables too.
    pub indexes: Vec<TableId>,
    /// Definition of the secondary index, if this table is one. Only the architecture writes an index.
    pub index_of: Option<SecondaryIndex>,
    /// The table to which this table's columns were added, if it has been made for that. Only the architecture writes
    /// it.
    pub added_to: Option<AddedTo>,
}

/// Says that a table holds columns that were added to another table.
///
/// The rows of both tables have the same keys. A row here belongs to the row with the same key there. If there is none,
/// the row has the default values in the added columns. In the other table the columns have the numbers that follow
/// those of its own columns and of columns added before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedTo {
    /// The table to which columns were added.
    pub table: TableId,
    /// Default values of all columns, in packed form.
    pub defaults: Vec<u8>,
}

impl TableSchema {
    /// Returns a table of 64-bit keys whose values are stored, in one partition, with a hash index.
    pub fn new(name: impl Into<String>, columns: Vec<Column>) -> TableSchema {
        let (payload, partitioning) = (Payload::Stored, Partitioning::ONE);
        TableSchema {
            name: name.into(),
            columns,
            payload,
            partitioning,
            key: KeyKind::Integer,
            index: IndexKind::Hash,
            hot: ColumnSet::NONE,
            shares_lines: false,
            constant: ColumnSet::NONE,
            indexes: Vec::new(),
            index_of: None,
            added_to: None,
        }
    }

    /// Returns a table for `columns` that are added to table number `base`, whose schema is `schema`. `defaults` are
    /// their values in rows that have not been written since, in packed form.
    pub fn added_to(
        (base, schema): (TableId, &TableSchema),
        columns: Vec<Column>,
        defaults: Vec<u8>,
    ) -> TableSchema {
        let name = format!("{} (added: {})", schema.name, columns[0].name);
        TableSchema {
            key: schema.key,
            partitioning: schema.partitioning,
            added_to: Some(AddedTo { table: base, defaults }),
            ..TableSchema::new(name, columns)
        }
    }

    /// Returns the same table, divided by `partitioning`.
    pub fn partitioned(mut self, partitioning: Partitioning) -> TableSchema {
        self.partitioning = partitioning;
        self
    }

    /// Returns the same table with values that the workload never looks at.
    pub fn opaque(mut self) -> TableSchema {
        self.payload = Payload::Opaque;
        self
    }

    /// Returns the same table with rows in two parts: the `hot` columns and the others. [`TableSchema::check`]
    /// checks what is allowed.
    pub fn with_hot_columns(mut self, hot: ColumnSet) -> TableSchema {
        self.hot = hot;
        self
    }

    /// Returns the same table with `constant` columns. [`TableSchema::check`] checks what is allowed.
    pub fn with_constant_columns(mut self, constant: ColumnSet) -> TableSchema {
        self.constant = constant;
        self
    }

    /// Returns the same table with rows that share cache lines where that saves memory ([`TableSchema::shares_lines`]).
    pub fn sharing_lines(mut self) -> TableSchema {
        self.shares_lines = true;
        self
    }

    /// Returns the same table as a read-only one: all its columns are constant.
    pub fn read_only(self) -> TableSchema {
        let all = ColumnSet::first(self.columns.len());
        self.with_constant_columns(all)
    }

    /// Returns the same table with an ordered index.
    pub fn ordered(self) -> TableSchema {
        self.indexed(IndexKind::Ordered)
    }

    /// Returns the same table with the index `kind`.
    pub fn indexed(mut self, kind: IndexKind) -> TableSchema {
        self.index = kind;
        self
    }

    /// Returns the same table with byte keys of at most `most` bytes. [`TableSchema::check`] checks what is
    /// allowed.
    pub fn keyed_by_bytes(mut self, most: usize) -> TableSchema {
        // 255 is more than is allowed, so `check` still refuses any length that was too large.
        self.key = KeyKind::Bytes { most: most.min(255) as u8 };
        self
    }

    /// Returns the number of the column `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// Returns what is wrong with the table, if anything is.
    pub fn check(&self) -> Result<(), SchemaError> {
        let fail = |message: String| Err(SchemaError(format!("table {:?}: {message}", self.name)));
        if self.name.is_empty() {
            return fail("the name must not be empty".into());
        }
        if self.columns.is_empty() || self.columns.len() > MAX_COLUMNS {
            return fail(format!(
                "{} columns given, allowed are 1 to {MAX_COLUMNS}",
                self.columns.len()
            ));
        }
        if let IndexKind::Perfect { keys } = self.index
            && !(1..=MAX_PERFECT_KEYS).contains(&keys)
        {
            return fail(format!("an index of {keys} keys, allowed are 1 to {MAX_PERFECT_KEYS}"));
        }
        if let Some(Err(message)) = self.index_of.as_ref().map(SecondaryIndex::check) {
            return fail(message);
        }
        if let KeyKind::Bytes { most } = self.key {
            if most == 0 || usize::from(most) > MAX_KEY_BYTES {
                return fail(format!("keys of {most} bytes, allowed are 1 to {MAX_KEY_BYTES}"));
            }
            if matches!(self.index, IndexKind::Perfect { .. }) {
                return fail("a perfect index is one of numbers: keys of bytes have none".into());
            }
        }
        if !self.hot.is_empty() {
            let all = ColumnSet::first(self.columns.len());
            if !all.contains(self.hot) || self.hot == all {
                return fail("the columns that change often must be some of its columns".into());
            }
            let plain = self.key == KeyKind::Integer && !self.index.is_ordered();
            if !plain || !self.indexes.is_empty() || self.index_of.is_some() {
                return fail(
                    "columns that change often go with integer keys, no order, and no secondary \
                     index"
                        .into(),
                );
            }
        }
        let changeable = ColumnSet::first(self.columns.len()).without(self.hot);
        if !changeable.contains(self.constant) {
            return fail(
                "constant columns must be some of its columns, and none of the hot ones".into(),
            );
        }
        if !self.indexes.is_empty() && self.payload == Payload::Opaque {
            return fail("values that are not kept cannot be indexed".into());
        }
        if !self.partitioning.is_sound() {
            return fail(format!("{:?} given, all numbers must be 1 or more", self.partitioning));
        }
        self.check_columns()
    }

    /// Returns what is wrong with single columns, if anything is.
    fn check_columns(&self) -> Result<(), SchemaError> {
        let fail = |message: String| Err(SchemaError(format!("table {:?}: {message}", self.name)));
        for (i, column) in self.columns.iter().enumerate() {
            if self.columns[..i].iter().any(|c| c.name == column.name) {
                return fail(format!("column {:?} is given twice", column.name));
            }
            let bytes = column.kind.most_bytes();
            if bytes == 0 || bytes > MAX_VALUE_BYTES as usize {
                return fail(format!(
                    "column {:?} is {bytes} bytes long, allowed are 1 to {MAX_VALUE_BYTES}",
                    column.name
                ));
            }
            if column.kind.is_variable() && self.payload == Payload::Opaque {
                return fail(format!(
                    "column {:?}: values that are not kept have one length only",
                    column.name
                ));
            }
        }
        Ok(())
    }
}

/// All tables of a database, numbered by position.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Schema {
    /// The tables: `tables[i]` is `TableId(i)`.
    pub tables: Vec<TableSchema>,
}

impl Schema {
    /// Returns what is wrong with the tables, or with their references to each other, if anything is.
    pub fn check(&self) -> Result<(), SchemaError> {
        check_tables(TableId(0), &self.tables)
    }

    /// Returns the number of partitions into which the tables are divided.
    pub fn partitions(&self) -> u64 {
        self.tables.iter().map(|table| table.partitioning.partitions()).max().unwrap_or(1)
    }
}

/// Error: a table cannot exist, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError(pub String);

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SchemaError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnSpan, ColumnType, RowLayout};

    #[test]
    fn columns_start_on_words_of_their_own() {
        let table = TableSchema::new(
            "t",
            vec![
                Column::new("a", ColumnType::U64),
                Column::new("b", ColumnType::Bytes(3)),
                Column::new("c", ColumnType::Bytes(100)),
            ],
        );
        let layout = RowLayout::of(&table);
        assert_eq!(layout.span(1), ColumnSpan { word: 1, bytes: 3 });
        assert_eq!(layout.span(2), ColumnSpan { word: 2, bytes: 100 });
        assert_eq!((layout.words(), layout.bytes()), (15, 111));
        assert_eq!(layout.held_bytes(ColumnSet::one(0).with(ColumnSet::one(2))), 108);
        assert_eq!(layout.integers(), ColumnSet::one(0));
    }

    #[test]
    fn a_table_that_cannot_exist_is_named() {
        let twice = TableSchema::new(
            "t",
            vec![Column::new("a", ColumnType::U64), Column::new("a", ColumnType::U64)],
        );
        assert!(twice.check().unwrap_err().to_string().contains("\"a\" is given twice"));
        assert!(TableSchema::new("t", vec![]).check().is_err());
        let empty = TableSchema::new("t", vec![Column::new("a", ColumnType::Bytes(0))]);
        assert!(empty.check().unwrap_err().to_string().contains("0 bytes long"));
    }

    #[test]
    fn keys_of_bytes_have_their_limits() {
        let of = |most| {
            let columns = vec![Column::new("a", ColumnType::U64)];
            TableSchema::new("t", columns).keyed_by_bytes(most)
        };
        assert!(of(1).check().is_ok() && of(64).check().is_ok());
        for most in [0, 65, 300] {
            assert!(of(most).check().unwrap_err().to_string().contains("allowed are 1 to 64"));
        }
        assert!(of(8).ordered().check().is_ok());
        let perfect = of(8).indexed(IndexKind::Perfect { keys: 3 }).check();
        assert!(perfect.unwrap_err().to_string().contains("keys of bytes have none"));
    }

    #[test]
    fn a_table_with_hot_columns_has_two_parts_and_its_limits() {
        let columns = || {
            [("a", ColumnType::U64), ("b", ColumnType::Bytes(12)), ("c", ColumnType::I64)]
                .map(|(name, kind)| Column::new(name, kind))
                .to_vec()
        };
        let of = |hot| TableSchema::new("t", columns()).with_hot_columns(ColumnSet(hot));
        assert!(of(0b101).check().is_ok() && of(0).check().is_ok());
        for hot in [0b111, 0b1000, 0b1001] {
            let said = of(hot).check().unwrap_err().to_string();
            assert!(said.contains("must be some of its columns"), "{said}");
        }
        assert!(of(1).ordered().check().unwrap_err().to_string().contains("no order"));
        assert!(of(1).keyed_by_bytes(8).check().is_err());
        let layout = RowLayout::of_part(&of(0b101), ColumnSet(0b101));
        assert_eq!((layout.words(), layout.bytes(), layout.all()), (2, 16, ColumnSet(0b101)));
        assert_eq!(layout.span(2), ColumnSpan { word: 1, bytes: 8 });
        assert_eq!(layout.held_bytes(ColumnSet(0b100)), 8);
    }

    #[test]
    fn partitions_are_counted_from_one() {
        let table = TableSchema::new("t", vec![Column::new("a", ColumnType::U64)]);
        let of = |partitioning| table.clone().partitioned(partitioning);
        let none = of(Partitioning::Quotient { divisor: 0, partitions: 2 }).check();
        assert!(none.unwrap_err().to_string().contains("must be 1 or more"));
        let tables = vec![
            of(Partitioning::Hash { partitions: 3 }),
            of(Partitioning::Replicated { copies: 1 }),
        ];
        assert_eq!(Schema { tables }.partitions(), 3);
    }

    #[test]
    fn a_set_lists_its_columns_in_order() {
        let set = ColumnSet::one(5).with(ColumnSet::one(0));
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 5]);
        assert!(set.contains(ColumnSet::one(5)) && !set.contains(ColumnSet::one(1)));
        assert_eq!(set.without(ColumnSet::first(3)), ColumnSet::one(5));
    }
}
