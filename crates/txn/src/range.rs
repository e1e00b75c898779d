//! Ranges of keys, for scans.

use std::fmt;

/// The keys from `first` to `last`, both included: at least one, whether there are rows or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyRange {
    first: u64,
    last: u64,
}

/// A range was asked for whose start lies after its end.
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

    /// One key.
    #[inline]
    pub const fn one(key: u64) -> KeyRange {
        KeyRange { first: key, last: key }
    }

    /// The keys from `first` to `last`, both included.
    pub const fn new(first: u64, last: u64) -> Result<KeyRange, ReversedRange> {
        if first <= last {
            Ok(KeyRange { first, last })
        } else {
            Err(ReversedRange { first, last })
        }
    }

    /// The least key.
    #[inline]
    pub const fn first(self) -> u64 {
        self.first
    }

    /// The greatest key.
    #[inline]
    pub const fn last(self) -> u64 {
        self.last
    }

    /// True when `key` is one of them.
    #[inline]
    pub const fn contains(self, key: u64) -> bool {
        self.first <= key && key <= self.last
    }
}

/// The keys of bytes from a first to a last one, both included, whether there are rows or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange<'k> {
    first: &'k [u8],
    last: Option<&'k [u8]>,
}

/// A range of keys of bytes was asked for whose start lies after its end.
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

    /// The keys from `first` to `last`, both included.
    pub fn new(first: &'k [u8], last: &'k [u8]) -> Result<ByteRange<'k>, ReversedByteRange> {
        if first <= last {
            Ok(ByteRange { first, last: Some(last) })
        } else {
            Err(ReversedByteRange { first: first.into(), last: last.into() })
        }
    }

    /// The keys from `first` on.
    pub const fn from(first: &'k [u8]) -> ByteRange<'k> {
        ByteRange { first, last: None }
    }

    /// The least key.
    #[inline]
    pub const fn first(&self) -> &'k [u8] {
        self.first
    }

    /// The greatest key; none where the range ends with the table's.
    #[inline]
    pub const fn last(&self) -> Option<&'k [u8]> {
        self.last
    }
}

/// The key just behind `key` among those of `most` bytes at most; none behind the last.
pub fn byte_key_after(key: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut next = key.to_vec();
    if next.len() < most {
        next.push(0);
        return Some(next);
    }
    // Longer ones there are not: the next one differs before the end.
    while next.pop_if(|byte| *byte == u8::MAX).is_some() {}
    *next.last_mut()? += 1;
    Some(next)
}

/// The key just before `key` among those of `most` bytes at most; none before the empty one.
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
        // All keys of two bytes at most of a small alphabet's ends, in order.
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
