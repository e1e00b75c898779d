//! Accesses values in packed rows, and rows that always exist.

use super::columns::{self, Part};
use crate::fold::{BLOCK, fold};
use txn::{Abort, Access, ColumnSet, Intent, RowLayout, TableId};

/// Buffer size in bytes. It is larger than any [`Part`] of a row that a transaction reads at once.
pub(super) const BUFFER: usize = 192;

/// Length of an integer that can be NULL, in a packed row.
const NULLABLE_BYTES: usize = 9;

/// Returns the integer at word number `at` of a packed row that begins with integers.
#[inline]
pub(super) fn word(row: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(row[at * 8..at * 8 + 8].try_into().expect("eight bytes"))
}

/// Returns the signed integer at word number `at`: an amount in cents, or a quantity.
#[inline]
pub(super) fn amount(row: &[u8], at: usize) -> i64 {
    word(row, at) as i64
}

/// Sets the integers at the beginning of a packed row.
#[inline]
pub(super) fn put(row: &mut [u8], words: &[u64]) {
    for (place, word) in row.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
}

/// Returns integers as a packed row.
#[inline]
pub(super) fn packed<const N: usize, const BYTES: usize>(words: [u64; N]) -> [u8; BYTES] {
    const { assert!(N * 8 == BYTES) };
    let mut row = [0; BYTES];
    put(&mut row, &words);
    row
}

/// Returns an integer that can be NULL as it is packed.
#[inline]
pub(super) fn nullable(value: Option<u64>) -> [u8; NULLABLE_BYTES] {
    let mut packed = [0; NULLABLE_BYTES];
    packed[0] = value.is_some().into();
    packed[1..].copy_from_slice(&value.unwrap_or(0).to_le_bytes());
    packed
}

/// Appends a row to `out`, column after column. Columns that the layout lacks are left out, so one rule serves the
/// full schema and the small one.
pub(super) struct Row<'r> {
    layout: &'r RowLayout,
    out: &'r mut Vec<u8>,
    next: usize,
}

impl<'r> Row<'r> {
    /// Begins a row at the end of `out`.
    #[inline]
    pub fn new(layout: &'r RowLayout, out: &'r mut Vec<u8>) -> Row<'r> {
        Row { layout, out, next: 0 }
    }

    /// Appends the value of the next column. `None` is NULL.
    #[inline]
    pub fn value(&mut self, value: Option<&[u8]>) -> &mut Self {
        if self.layout.all().contains(ColumnSet::one(self.next)) {
            self.layout.push(self.out, self.next, value);
        }
        self.next += 1;
        self
    }

    /// Appends the next integers, of columns that the layout has.
    #[inline]
    pub fn numbers(&mut self, numbers: &[u64]) -> &mut Self {
        let columns = columns::span(self.next, self.next + numbers.len() - 1);
        assert!(self.layout.integers().contains(columns), "columns {columns:?} are integers");
        for number in numbers {
            self.out.extend_from_slice(&number.to_le_bytes());
        }
        self.next += numbers.len();
        self
    }

    /// Appends an integer or NULL.
    #[inline]
    pub fn number_or_null(&mut self, number: Option<u64>) -> &mut Self {
        self.value(number.map(u64::to_le_bytes).as_ref().map(|bytes| &bytes[..]))
    }

    /// Appends a text.
    #[inline]
    pub fn text(&mut self, text: &[u8]) -> &mut Self {
        self.value(Some(text))
    }
}

/// Reads a part of a row that was loaded and is never deleted. Even an attempt that is doomed to abort finds
/// it.
#[inline]
pub(super) fn fetch<'b, A: Access + ?Sized>(
    access: &mut A,
    (table, key): (TableId, u64),
    part: Part,
    intent: Intent,
    buffer: &'b mut [u8; BUFFER],
) -> Result<&'b mut [u8], Abort> {
    let out = &mut buffer[..part.bytes];
    if !access.read_with(table, key.into(), part.set, intent, out)? {
        lost(table, key);
    }
    Ok(out)
}

/// Buffers for rows that transactions read.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    full: bool,
    /// Columns that lie in the record.
    pub fixed: [u8; BUFFER],
    /// Columns of any type, packed.
    any: Vec<u8>,
}

impl Buffers {
    /// Makes buffers for rows of the full schema, or of the small one.
    pub fn new(full: bool) -> Buffers {
        Buffers { full, fixed: [0; BUFFER], any: Vec::new() }
    }

    /// Reads `part` of a row, and in the full schema `texts` too, which come behind it.
    /// Returns `None` if there is no such row.
    #[inline]
    pub fn find<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (table, key): (TableId, u64),
        (part, texts): (Part, Part),
        intent: Intent,
    ) -> Result<Option<&[u8]>, Abort> {
        let texts = if self.full { texts } else { Part::NONE };
        let (columns, out) =
            (part.set.with(texts.set), &mut self.fixed[..part.bytes + texts.bytes]);
        let found = access.read_with(table, key.into(), columns, intent, out)?;
        Ok(found.then_some(out))
    }

    /// Does the same for a row that was loaded and is never deleted.
    #[inline]
    pub fn read<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (table, key): (TableId, u64),
        columns: (Part, Part),
        intent: Intent,
    ) -> Result<&[u8], Abort> {
        match self.find(access, (table, key), columns, intent)? {
            Some(row) => Ok(row),
            None => lost(table, key),
        }
    }

    /// Reads columns of any type of a row that was loaded and is never deleted. They come packed.
    pub fn fetch<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (table, key): (TableId, u64),
        columns: ColumnSet,
        intent: Intent,
    ) -> Result<&[u8], Abort> {
        match access.fetch(table, key.into(), columns, intent, &mut self.any)? {
            true => Ok(&self.any),
            false => lost(table, key),
        }
    }
}

/// Adds `deltas` to a part of a row that was loaded and is never deleted. All columns of the part must be
/// integers.
#[inline]
pub(super) fn increase<A: Access + ?Sized>(
    access: &mut A,
    (table, key): (TableId, u64),
    part: Part,
    deltas: &[u8],
) -> Result<(), Abort> {
    if !access.add(table, key.into(), part.set, deltas)? {
        lost(table, key);
    }
    Ok(())
}

#[cold]
fn lost(table: TableId, key: u64) -> ! {
    panic!("row {key} of table {} was loaded and never deleted, yet is not found", table.0)
}

/// A digest of the values read. It exists so that the compiler keeps the reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Digest {
    /// Adds `bytes` to the digest.
    #[inline]
    pub(super) fn add(&mut self, bytes: &[u8]) {
        if bytes.len() >= BLOCK {
            self.0 = fold(self.0, bytes);
            return;
        }
        let (words, rest) = bytes.as_chunks::<8>();
        let mut digest = self.0;
        for word in words {
            digest = digest.rotate_left(5) ^ u64::from_le_bytes(*word);
        }
        for byte in rest {
            digest = digest.rotate_left(5) ^ u64::from(*byte);
        }
        self.0 = digest;
    }
}
