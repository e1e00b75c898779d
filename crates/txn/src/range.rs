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
    }
}
