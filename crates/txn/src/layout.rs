//! Layouts: the place and the form of each column in a record.

use crate::{Column, ColumnSet, ColumnType, TableSchema};

/// Place of one column, in 64-bit words from the start of the row's columns.
///
/// Every column starts on a word of its own. A row that another thread may be writing can be read soundly only by
/// copying it word by word. Such a copy never tears a neighbouring column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSpan {
    /// First word.
    pub word: u32,
    /// Length of the value, in bytes.
    pub bytes: u32,
}

impl ColumnSpan {
    /// Returns the number of words that the column occupies.
    #[inline]
    pub const fn words(self) -> usize {
        // The sum cannot overflow, and a division that rounds up in general takes twice the instructions.
        (self.bytes as usize + 7) >> 3
    }
}

/// Form in which a record holds a column: see [`crate::Column`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The value.
    Fixed,
    /// A byte that is 1 if there is a value, then the value.
    Nullable,
    /// The value's length plus 1, then the value. NULL is allowed if the flag is set.
    Short(bool),
    /// A word that names the value. NULL is allowed if the flag is set.
    Apart(bool),
}

impl Form {
    fn of(column: &Column) -> Form {
        match column.kind.is_variable() {
            false if column.nullable => Form::Nullable,
            false => Form::Fixed,
            true if column.is_apart() => Form::Apart(column.nullable),
            true => Form::Short(column.nullable),
        }
    }
}

/// The places and the forms of a table's columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLayout {
    spans: Vec<ColumnSpan>,
    forms: Vec<Form>,
    all: ColumnSet,
    integers: ColumnSet,
    variable: ColumnSet,
    apart: ColumnSet,
    /// Columns whose values fill their words. In held form they lie as in the record.
    filled: ColumnSet,
    words: usize,
    bytes: usize,
}

impl RowLayout {
    /// Returns the layout of a whole row of `table`.
    pub fn of(table: &TableSchema) -> RowLayout {
        RowLayout::of_part(table, ColumnSet::first(table.columns.len()))
    }

    /// Returns the layout of a part of a row, which has the columns `all`. They keep the numbers that they have in
    /// `table`.
    pub fn of_part(table: &TableSchema, all: ColumnSet) -> RowLayout {
        let mut spans = Vec::with_capacity(table.columns.len());
        let (mut words, mut bytes) = (0, 0);
        let none = ColumnSet::NONE;
        let (mut integers, mut variable, mut apart, mut filled) = (none, none, none, none);
        for (number, column) in table.columns.iter().enumerate() {
            let one = ColumnSet::one(number);
            if !all.contains(one) {
                spans.push(ColumnSpan { word: words as u32, bytes: 0 });
                continue;
            }
            if matches!(column.kind, ColumnType::U64 | ColumnType::I64) && !column.nullable {
                integers = integers.with(one);
            }
            if column.kind.is_variable() {
                variable = variable.with(one);
            }
            if column.is_apart() {
                apart = apart.with(one);
            }
            let span = ColumnSpan { word: words as u32, bytes: column.held_bytes() as u32 };
            if span.bytes.is_multiple_of(8) {
                filled = filled.with(one);
            }
            words += span.words();
            bytes += column.held_bytes();
            spans.push(span);
        }
        let forms = table.columns.iter().map(Form::of).collect();
        RowLayout { spans, forms, all, integers, variable, apart, filled, words, bytes }
    }

    /// Returns the span of column number `column`.
    #[inline]
    pub fn span(&self, column: usize) -> ColumnSpan {
        self.spans[column]
    }

    /// Returns the spans of `columns`. Columns that follow each other both in a record and in held form are one span.
    #[inline]
    pub fn runs(&self, columns: ColumnSet) -> impl Iterator<Item = ColumnSpan> {
        let mut rest = columns.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let first = rest.trailing_zeros();
            let mut span = self.spans[first as usize];
            // The number of columns from `first` on that are all in the set and filled.
            let filled = ((rest & self.filled.0) >> first).trailing_ones();
            if filled > 1 {
                let last = (first + filled - 1) as usize;
                let end = self.spans[last].word as usize + self.spans[last].words();
                span.bytes = ((end - span.word as usize) * 8) as u32;
                // `filled` is less than 64 unless all 64 columns are.
                rest &= u64::MAX.checked_shl(first + filled).unwrap_or(0);
            } else {
                rest &= rest - 1;
            }
            Some(span)
        })
    }

    /// Returns the form of column number `column`.
    #[inline]
    pub(crate) fn form(&self, column: usize) -> Form {
        self.forms[column]
    }

    /// Returns the number of columns of the table. A layout of a part of a row has only some of them.
    pub fn columns(&self) -> usize {
        self.spans.len()
    }

    /// Returns all columns of the layout.
    #[inline]
    pub fn all(&self) -> ColumnSet {
        self.all
    }

    /// Returns the columns to which can be added: 64-bit integers without NULL.
    #[inline]
    pub fn integers(&self) -> ColumnSet {
        self.integers
    }

    /// Returns the columns whose values have different lengths. For all others the held form is the packed form.
    #[inline]
    pub fn variable(&self) -> ColumnSet {
        self.variable
    }

    /// Returns the columns whose values lie outside the record.
    #[inline]
    pub fn apart(&self) -> ColumnSet {
        self.apart
    }

    /// Returns the number of words of a whole row.
    #[inline]
    pub fn words(&self) -> usize {
        self.words
    }

    /// Returns the number of bytes of a whole row in held form.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of bytes of `columns` in held form.
    #[inline]
    pub fn held_bytes(&self, columns: ColumnSet) -> usize {
        columns.iter().map(|c| self.spans[c].bytes as usize).sum()
    }

    /// Copies the columns of `part` from `values` of `columns` to `out`, both in held form. Returns the number of
    /// bytes copied.
    pub fn gather(
        &self,
        (columns, values): (ColumnSet, &[u8]),
        part: ColumnSet,
        out: &mut [u8],
    ) -> usize {
        let (mut from, mut to) = (0, 0);
        for column in columns.iter() {
            let bytes = self.spans[column].bytes as usize;
            if part.contains(ColumnSet::one(column)) {
                out[to..to + bytes].copy_from_slice(&values[from..from + bytes]);
                to += bytes;
            }
            from += bytes;
        }
        to
    }

    /// Copies values of `part` to their places among values of `columns`, both in held form.
    pub fn scatter(&self, part: (ColumnSet, &[u8]), columns: ColumnSet, out: &mut [u8]) {
        let (mut from, mut to) = (0, 0);
        for column in columns.iter() {
            let bytes = self.spans[column].bytes as usize;
            if part.0.contains(ColumnSet::one(column)) {
                out[to..to + bytes].copy_from_slice(&part.1[from..from + bytes]);
                from += bytes;
            }
            to += bytes;
        }
    }
}
