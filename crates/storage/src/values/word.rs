//! The word by which a record names a value outside of it.
//!
//! ```text
//! 0                                                NULL
//! | 7 bytes of value             | length    | 1 |  a value of at most 7 bytes, in the word itself
//! | offset / 16 (36 bits) | length (27 bits)  | 0 |  a value in a slot of the arena
//! ```
//!
//! The length is in the word, so one atomic load gives a place and a length that belong together.

/// Largest length of a value that lies in the word itself, in bytes.
const INLINE_BYTES: usize = 7;
/// Bits of the length of a value in a slot, above the lowest bit.
const LENGTH_BITS: u32 = 27;
/// Offsets of slots are multiples of this.
const ALIGNMENT: u64 = 16;

/// A word that names a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueWord {
    /// The value itself, and its length.
    Inline([u8; INLINE_BYTES], usize),
    /// The offset of the slot that holds the value, and the value's length.
    Slot(u64, usize),
}

impl ValueWord {
    /// Returns the word of `value` if it is short enough to lie in the word.
    pub fn inline(value: &[u8]) -> Option<u64> {
        let mut bytes = [0; 8];
        bytes.get_mut(1..=value.len())?.copy_from_slice(value);
        bytes[0] = 1 | (value.len() as u8) << 1;
        Some(u64::from_le_bytes(bytes))
    }

    /// Returns the word of a value of `length` bytes in the slot at `offset`.
    pub fn slot(offset: u64, length: usize) -> u64 {
        debug_assert!(offset.is_multiple_of(ALIGNMENT) && length >> LENGTH_BITS == 0);
        (offset / ALIGNMENT) << (LENGTH_BITS + 1) | (length as u64) << 1
    }

    /// Returns the meaning of a word that is not NULL.
    pub fn of(word: u64) -> ValueWord {
        if word & 1 == 0 {
            let length = (word >> 1) & ((1 << LENGTH_BITS) - 1);
            return ValueWord::Slot((word >> (LENGTH_BITS + 1)) * ALIGNMENT, length as usize);
        }
        let [head, bytes @ ..] = word.to_le_bytes();
        ValueWord::Inline(bytes, usize::from(head >> 1).min(INLINE_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_they_were_made_of() {
        for length in 0..=INLINE_BYTES {
            let value = &[9; INLINE_BYTES][..length];
            let word = ValueWord::inline(value).unwrap();
            let ValueWord::Inline(bytes, found) = ValueWord::of(word) else { panic!() };
            assert_eq!(&bytes[..found], value);
        }
        assert_eq!(ValueWord::inline(&[0; 8]), None);
        let (offset, length) = ((1 << 40) - ALIGNMENT, 1 << 20);
        let word = ValueWord::slot(offset, length);
        assert_eq!(ValueWord::of(word), ValueWord::Slot(offset, length));
        assert_ne!(ValueWord::inline(b"").unwrap(), 0, "an empty value is not NULL");
    }
}
