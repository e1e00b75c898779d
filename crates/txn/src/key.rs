//! Keys of rows and of index entries: numbers or bytes. All keys of a table are of one kind.

use crate::{ByteRange, KeyRange};
use std::fmt;

/// A key, which is a number or bytes.
///
/// Its display form is a number in digits, or bytes in quotes with all bytes that are not printable ASCII escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key<'k> {
    /// A number.
    Number(u64),
    /// Bytes.
    Bytes(&'k [u8]),
}

impl<'k> Key<'k> {
    /// Returns the number. The caller must know that the table's keys are numbers: bytes panic.
    #[inline]
    pub fn number(self) -> u64 {
        match self {
            Key::Number(number) => number,
            Key::Bytes(_) => panic!("the key {self} is bytes, not a number"),
        }
    }

    /// Returns the bytes. The caller must know that the table's keys are bytes: a number panics.
    #[inline]
    pub fn bytes(self) -> &'k [u8] {
        match self {
            Key::Bytes(bytes) => bytes,
            Key::Number(number) => panic!("the key {number} is a number, not bytes"),
        }
    }

    /// Returns a copy of the key that owns its memory.
    pub fn to_owned(self) -> OwnedKey {
        match self {
            Key::Number(number) => OwnedKey::Number(number),
            Key::Bytes(bytes) => OwnedKey::Bytes(bytes.into()),
        }
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Number(number) => write!(f, "{number}"),
            Key::Bytes(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
        }
    }
}

impl From<u64> for Key<'_> {
    #[inline(always)]
    fn from(number: u64) -> Self {
        Key::Number(number)
    }
}

impl<'k> From<&'k [u8]> for Key<'k> {
    #[inline]
    fn from(bytes: &'k [u8]) -> Self {
        Key::Bytes(bytes)
    }
}

impl<'k, const N: usize> From<&'k [u8; N]> for Key<'k> {
    #[inline]
    fn from(bytes: &'k [u8; N]) -> Self {
        Key::Bytes(bytes)
    }
}

impl<'k> From<&'k str> for Key<'k> {
    #[inline]
    fn from(text: &'k str) -> Self {
        Key::Bytes(text.as_bytes())
    }
}

/// A key that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnedKey {
    /// A number.
    Number(u64),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl OwnedKey {
    /// Returns a key that borrows from this one.
    #[inline]
    pub fn as_key(&self) -> Key<'_> {
        match self {
            OwnedKey::Number(number) => Key::Number(*number),
            OwnedKey::Bytes(bytes) => Key::Bytes(bytes),
        }
    }
}

impl fmt::Display for OwnedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_key().fmt(f)
    }
}

/// A range of keys for a scan, which are numbers or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys<'k> {
    /// Numbers.
    Numbers(KeyRange),
    /// Bytes.
    Bytes(ByteRange<'k>),
}

impl From<KeyRange> for Keys<'_> {
    #[inline]
    fn from(range: KeyRange) -> Self {
        Keys::Numbers(range)
    }
}

impl<'k> From<ByteRange<'k>> for Keys<'k> {
    #[inline]
    fn from(range: ByteRange<'k>) -> Self {
        Keys::Bytes(range)
    }
}

/// A range of keys that owns its ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedKeys {
    /// Numbers.
    Numbers(KeyRange),
    /// Bytes, from `first` to `last`, both included, or to the table's last key if `last` is none.
    Bytes {
        /// The least key.
        first: Vec<u8>,
        /// The greatest key, not less than the least.
        last: Option<Vec<u8>>,
    },
}

impl OwnedKeys {
    /// Returns a range that borrows from this one.
    pub fn as_keys(&self) -> Keys<'_> {
        match self {
            OwnedKeys::Numbers(range) => Keys::Numbers(*range),
            OwnedKeys::Bytes { first, last: None } => Keys::Bytes(ByteRange::from(first)),
            OwnedKeys::Bytes { first, last: Some(last) } => {
                Keys::Bytes(ByteRange::new(first, last).expect("a range has its first key first"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_print_as_people_write_them() {
        let keys = [Key::from(17), "kilo\"core".into(), (&[0, 0xFF]).into()];
        let texts = keys.map(|key| key.to_string());
        assert_eq!(texts, ["17", r#""kilo\"core""#, r#""\x00\xff""#]);
        for (key, text) in keys.into_iter().zip(texts) {
            assert_eq!((key.to_owned().as_key(), key.to_owned().to_string()), (key, text));
        }
    }
}
