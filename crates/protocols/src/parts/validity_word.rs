//! A word that says from when to when a version is valid.
//!
//! Source: Yu, Pavlo, Sanchez and Devadas, SIGMOD 2016, section 4.1.
//!
//! ```text
//! | locked: 1 bit | rts - wts: 15 bits | wts: 48 bits |
//! ```

/// Set while a committing transaction owns the record.
pub const LOCKED: u64 = 1 << 63;
const WTS_BITS: u32 = 48;
const WTS_MASK: u64 = (1 << WTS_BITS) - 1;
const DELTA_MAX: u64 = (1 << 15) - 1;

/// From when on the version is valid.
#[inline(always)]
pub fn wts(word: u64) -> u64 {
    word & WTS_MASK
}

/// Up to when the version is known to be valid.
#[inline(always)]
pub fn rts(word: u64) -> u64 {
    wts(word) + ((word >> WTS_BITS) & DELTA_MAX)
}

/// Both.
#[inline(always)]
pub fn times(word: u64) -> (u64, u64) {
    (wts(word), rts(word))
}

/// `word` with `rts` raised to `timestamp`. Where the difference has no room `wts` moves up with it, which
/// other readers take for a new version: a needless abort, never a missed one.
#[inline]
pub fn extended(word: u64, timestamp: u64) -> u64 {
    let delta = timestamp - wts(word);
    let shift = delta.saturating_sub(DELTA_MAX);
    (word & LOCKED) | ((delta - shift) << WTS_BITS) | (wts(word) + shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_keeps_wts_until_the_difference_has_no_room() {
        let word = extended(100, 100 + DELTA_MAX);
        assert_eq!((wts(word), rts(word)), (100, 100 + DELTA_MAX));
        let word = extended(word, 100 + DELTA_MAX + 5);
        assert_eq!((wts(word), rts(word)), (105, 105 + DELTA_MAX));
        assert_eq!(extended(7 | LOCKED, 9) & LOCKED, LOCKED);
    }
}
