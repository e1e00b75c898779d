//! A row that a transaction has read.

use crate::{ColumnType, ColumnValue, Error, Table, TableRow, table::Definition, value::Mismatch};
use std::{fmt, time::SystemTime};

/// Largest row that is kept inline, in bytes. Longer rows are kept on the heap.
const INLINE_BYTES: usize = 64;

enum Bytes<'b> {
    Inline([u8; INLINE_BYTES], usize),
    Heap(Vec<u8>),
    /// The place where a scan has copied the row.
    Scanned(&'b [u8]),
}

/// A copy of a row. Later writes do not change it.
pub struct Row<'t> {
    definition: &'t Definition,
    /// All columns in packed form.
    bytes: Bytes<'t>,
}

impl<'t> Row<'t> {
    /// Makes a row of a table whose columns all have a fixed length. `read` reads its bytes. Returns none if `read` returns false.
    #[inline]
    pub(crate) fn read<E>(
        table: &'t Table,
        read: impl FnOnce(&mut [u8]) -> Result<bool, E>,
    ) -> Result<Option<Row<'t>>, E> {
        let definition = table.definition();
        let (present, bytes) = match definition.layout.bytes() {
            length @ 0..=INLINE_BYTES => {
                let mut inline = [0; INLINE_BYTES];
                (read(&mut inline[..length])?, Bytes::Inline(inline, length))
            }
            length => {
                let mut heap = vec![0; length];
                (read(&mut heap)?, Bytes::Heap(heap))
            }
        };
        Ok(present.then_some(Row { definition, bytes }))
    }

    /// Makes a row from its packed bytes.
    pub(crate) fn packed(table: &'t Table, bytes: &[u8]) -> Row<'t> {
        let bytes = match bytes.len() {
            length @ 0..=INLINE_BYTES => {
                let mut inline = [0; INLINE_BYTES];
                inline[..length].copy_from_slice(bytes);
                Bytes::Inline(inline, length)
            }
            _ => Bytes::Heap(bytes.to_vec()),
        };
        Row { definition: table.definition(), bytes }
    }

    /// Makes a row for the visitor of a scan, without a copy.
    #[inline]
    pub(crate) fn scanned(table: &'t Table, bytes: &'t [u8]) -> Row<'t> {
        Row { definition: table.definition(), bytes: Bytes::Scanned(bytes) }
    }

    /// Returns the value of column number `column`, `None` for NULL.
    #[inline]
    fn value(&self, column: usize) -> Option<&[u8]> {
        let bytes = match &self.bytes {
            Bytes::Inline(bytes, length) => &bytes[..*length],
            Bytes::Heap(bytes) => &bytes[..],
            Bytes::Scanned(bytes) => bytes,
        };
        self.definition.value_in(bytes, column)
    }

    /// Returns the value of `column`. See [`ColumnValue`] for the types that it can be read as.
    ///
    /// Fails with [`Error::UnknownColumn`] if there is no such column, with [`Error::WrongType`] if its type is
    /// another, and with [`Error::UnexpectedNull`] if the column has no value and `T` is no [`Option`].
    #[inline]
    pub fn get<T: ColumnValue>(&self, column: &str) -> Result<T, Error> {
        let index = self.definition.column(column)?;
        self.definition.check_type::<T>(index)?;
        self.definition.read(index, self.value(index))
    }

    /// Makes a struct that derives `Row` from the row. Fails as [`Row::get`] does.
    pub fn to<R: TableRow>(&self) -> Result<R, Error> {
        R::from_row(self)
    }

    /// Returns the bytes of `column`, which must hold bytes or text. Fails as [`Row::get`] does.
    pub fn bytes(&self, column: &str) -> Result<&[u8], Error> {
        let index = self.definition.column(column)?;
        self.definition.check_type::<Vec<u8>>(index)?;
        self.value(index).ok_or_else(|| self.definition.mismatch(index, Mismatch::Null))
    }

    /// Returns the text of `column` without a copy. Fails as [`Row::get`] does.
    pub fn text(&self, column: &str) -> Result<&str, Error> {
        let index = self.definition.column(column)?;
        self.definition.check_type::<String>(index)?;
        let bytes = self.value(index).ok_or(Mismatch::Null);
        let text = bytes.and_then(crate::value::text_of);
        text.map_err(|mismatch| self.definition.mismatch(index, mismatch))
    }

    /// Returns true if `column` has no value. Fails with [`Error::UnknownColumn`] if there is no such column.
    pub fn is_null(&self, column: &str) -> Result<bool, Error> {
        Ok(self.value(self.definition.column(column)?).is_none())
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (index, column) in self.definition.visible() {
            let Some(bytes) = self.value(index) else {
                map.entry(&column.name, &format_args!("NULL"));
                continue;
            };
            let value: Box<dyn fmt::Debug> = match column.kind {
                ColumnType::Bool => shown::<bool>(bytes, column.kind),
                kind if u64::fits(kind) => shown::<u64>(bytes, kind),
                kind if i64::fits(kind) => shown::<i64>(bytes, kind),
                kind if f64::fits(kind) => shown::<f64>(bytes, kind),
                kind if String::fits(kind) => shown::<String>(bytes, kind),
                ColumnType::Timestamp => shown::<SystemTime>(bytes, column.kind),
                kind => shown::<Vec<u8>>(bytes, kind),
            };
            map.entry(&column.name, &value);
        }
        map.finish()
    }
}

/// Returns a value for [`fmt::Debug`].
fn shown<T: ColumnValue + fmt::Debug + 'static>(
    bytes: &[u8],
    kind: ColumnType,
) -> Box<dyn fmt::Debug> {
    match T::read(Some(bytes), kind) {
        Ok(value) => Box::new(value),
        Err(_) => Box::new(bytes.to_vec()),
    }
}
