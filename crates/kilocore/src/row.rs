//! A row that a transaction has read.

use crate::{ColumnValue, Error, Table, table::Definition};
use std::fmt;

/// Largest row that is kept inline, in bytes. Longer rows are kept on the heap.
const INLINE_BYTES: usize = 64;

enum Bytes {
    Inline([u8; INLINE_BYTES]),
    Heap(Box<[u8]>),
}

/// A copy of a row. Later writes do not change it.
pub struct Row<'t> {
    definition: &'t Definition,
    bytes: Bytes,
}

impl<'t> Row<'t> {
    /// Makes a row of zeros.
    #[inline]
    pub(crate) fn zeros(table: &'t Table) -> Row<'t> {
        let definition = table.definition();
        let bytes = match definition.row_bytes() {
            0..=INLINE_BYTES => Bytes::Inline([0; INLINE_BYTES]),
            length => Bytes::Heap(vec![0; length].into_boxed_slice()),
        };
        Row { definition, bytes }
    }

    /// Makes a row from its packed bytes.
    pub(crate) fn packed(table: &'t Table, bytes: &[u8]) -> Row<'t> {
        let mut row = Row::zeros(table);
        row.packed_mut().copy_from_slice(bytes);
        row
    }

    #[inline]
    pub(crate) fn packed_mut(&mut self) -> &mut [u8] {
        match &mut self.bytes {
            Bytes::Inline(bytes) => &mut bytes[..self.definition.row_bytes()],
            Bytes::Heap(bytes) => bytes,
        }
    }

    #[inline]
    fn place(&self, column: usize) -> &[u8] {
        let place = self.definition.place(column);
        match &self.bytes {
            Bytes::Inline(bytes) => &bytes[place],
            Bytes::Heap(bytes) => &bytes[place],
        }
    }

    /// Returns the value of `column`. The column must be readable as a `T`: `u64`, `i64`, `f64`, `[u8; N]` or
    /// `Vec<u8>`.
    ///
    /// Fails with [`Error::UnknownColumn`] if there is no such column, and with [`Error::WrongType`] if its
    /// type is another.
    #[inline]
    pub fn get<T: ColumnValue>(&self, column: &str) -> Result<T, Error> {
        let index = self.definition.column(column)?;
        self.definition.check_type::<T>(index)?;
        Ok(T::from_bytes(self.place(index)))
    }

    /// Returns the bytes of `column`, which must hold bytes. Fails as [`Row::get`] does.
    pub fn bytes(&self, column: &str) -> Result<&[u8], Error> {
        let index = self.definition.column(column)?;
        self.definition.check_type::<Vec<u8>>(index)?;
        Ok(self.place(index))
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use txn::ColumnType::{Bytes, F64, I64, U64};
        let mut map = f.debug_map();
        for (index, column) in self.definition.schema.columns.iter().enumerate() {
            let place = self.place(index);
            match column.kind {
                U64 => map.entry(&column.name, &u64::from_bytes(place)),
                I64 => map.entry(&column.name, &i64::from_bytes(place)),
                F64 => map.entry(&column.name, &f64::from_bytes(place)),
                Bytes(_) => map.entry(&column.name, &place),
            };
        }
        map.finish()
    }
}
