//! Ranges of keys, for scans.

use std::fmt;

/// The keys from `first` to `last`, both included. A range has at least one key, whether or not there are rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyRange {
    first: u64,
    last: u64,
}

/// Error: the start of a range lies after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReversedRange {
    /// The start given.
    pub first: u64,
    /// The end given.
    pub last: u64,
}

impl fmt::Display for ReversedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a range from {} to {}: the start must not lie after the end",
            self.first, self.last
        )
    }
}

impl std::error::Error for ReversedRange {}

impl KeyRange {
    /// Every key.
    pub const ALL: KeyRange = KeyRange { first: 0, last: u64::MAX };

    /// A range of one key.
    #[inline]
    pub const fn one(key: u64) -> KeyRange {
        KeyRange { first: key, last: key }
    }

    /// Returns the range from `first` to `last`, both included.
    pub const fn new(first: u64, last: u64) -> Result<KeyRange, ReversedRange> {
        if first <= last {
            Ok(KeyRange { first, last })
        } else {
            Err(ReversedRange { first, last })
        }
    }

    /// Returns the least key.
    #[inline]
    pub const fn first(self) -> u64 {
        self.first
    }

    /// Returns the greatest key.
    #[inline]
    pub const fn last(self) -> u64 {
        self.last
    }

    /// Returns true if `key` is in the range.
    #[inline]
    pub const fn contains(self, key: u64) -> bool {
        self.first <= key && key <= self.last
    }
}

/// A range of byte keys from a first to a last key, both included, whether or not there are rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange<'k> {
    first: &'k [u8],
    last: Option<&'k [u8]>,
}

/// Error: the start of a range of byte keys lies after its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReversedByteRange {
    /// The start given.
    pub first: Vec<u8>,
    /// The end given.
    pub last: Vec<u8>,
}

impl fmt::Display for ReversedByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.first.escape_ascii(), self.last.escape_ascii());
        write!(f, "a range from \"{first}\" to \"{last}\": the start must not lie after the end")
    }
}

impl std::error::Error for ReversedByteRange {}

impl<'k> ByteRange<'k> {
    /// Every key.
    pub const ALL: ByteRange<'static> = ByteRange { first: &[], last: None };

    /// Returns the range from `first` to `last`, both included.
    pub fn new(first: &'k [u8], last: &'k [u8]) -> Result<ByteRange<'k>, ReversedByteRange> {
        if first <= last {
            Ok(ByteRange { first, last: Some(last) })
        } else {
            Err(ReversedByteRange { first: first.into(), last: last.into() })
        }
    }

    /// Returns the range from `first` to the table's last key.
    pub const fn from(first: &'k [u8]) -> ByteRange<'k> {
        ByteRange { first, last: None }
    }

    /// Returns the least key.
    #[inline]
    pub const fn first(&self) -> &'k [u8] {
        self.first
    }

    /// Returns the greatest key; none if the range extends to the table's last key.
    #[inline]
    pub const fn last(&self) -> Option<&'k [u8]> {
        self.last
    }
}

/// Returns the next key after `key` among the keys of at most `most` bytes; none after the last key.
pub fn byte_key_after(key: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut next = key.to_vec();
    if next.len() < most {
        next.push(0);
        return Some(next);
    }
    // There are no longer keys, so the next key differs from this one before its end.
    while next.pop_if(|byte| *byte == u8::MAX).is_some() {}
    *next.last_mut()? += 1;
    Some(next)
}

/// Returns the last key before `key` among the keys of at most `most` bytes; none before the empty key.
pub fn byte_key_before(key: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut before = key.to_vec();
    if *before.last()? == 0 {
        before.pop();
        return Some(before);
    }
    *before.last_mut()? -= 1;
    before.resize(most.max(key.len()), u8::MAX);
    Some(before)
}

/// The order in which a scan visits keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Ascending.
    Forward,
    /// Descending.
    Backward,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_starts_before_it_ends() {
        let one = KeyRange::new(7, 7).unwrap();
        assert!(one.contains(7) && !one.contains(6) && !one.contains(8));
        let text = KeyRange::new(8, 7).unwrap_err().to_string();
        assert_eq!(text, "a range from 8 to 7: the start must not lie after the end");
        assert!(KeyRange::ALL.contains(0) && KeyRange::ALL.contains(u64::MAX));
        assert!(ByteRange::new(b"a", b"a").is_ok() && ByteRange::new(b"a", b"a\0").is_ok());
        let text = ByteRange::new(b"b", b"a\xFF").unwrap_err().to_string();
        assert_eq!(text, r#"a range from "b" to "a\xff": the start must not lie after the end"#);
    }

    #[test]
    fn keys_of_bytes_have_neighbours() {
        // All keys of at most two bytes that consist of the smallest and largest byte values, in order.
        let bytes = [0u8, 1, 254, 255];
        let mut keys = vec![vec![]];
        for a in bytes {
            keys.push(vec![a]);
            keys.extend(bytes.map(|b| vec![a, b]));
        }
        assert!(keys.is_sorted());
        for pair in keys.windows(2) {
            let (after, before) = (byte_key_after(&pair[0], 2), byte_key_before(&pair[1], 2));
            let (after, before) = (after.unwrap(), before.unwrap());
            assert!(pair[0] < after && after <= pair[1], "{pair:?} {after:?}");
            assert!(pair[0] <= before && before < pair[1], "{pair:?} {before:?}");
            assert_eq!(byte_key_before(&after, 2).as_ref(), Some(&pair[0]));
            assert_eq!(byte_key_after(&before, 2).as_ref(), Some(&pair[1]));
        }
        assert_eq!(byte_key_before(b"", 2), None);
        assert_eq!(byte_key_after(b"\xFF\xFF", 2), None);
    }
}
