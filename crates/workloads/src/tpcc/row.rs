//! Accesses values in packed rows, and rows that always exist.

use super::columns::Part;
use txn::{Abort, Access, Intent, TableId};

/// Buffer size in bytes. It is larger than any part of a row that a transaction reads at once.
pub(super) const BUFFER: usize = 640;

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
