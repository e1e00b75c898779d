//! A word that holds the time in which a version is valid.
//!
//! Source: Yu, Pavlo, Sanchez and Devadas, SIGMOD 2016, section 4.1.
//!
//! ```text
//! | locked: 1 bit | rts - wts: 15 bits | wts: 48 bits |
//! ```

use super::tid_word::TidRecord;
use machine::{Core, Machine};
use storage::GuardRef;

/// Lock bit: set while a committing transaction has the record locked.
pub const LOCKED: u64 = 1 << 63;
const WTS_BITS: u32 = 48;
const WTS_MASK: u64 = (1 << WTS_BITS) - 1;
const DELTA_MAX: u64 = (1 << 15) - 1;

/// Returns the time from which the version is valid.
#[inline(always)]
pub fn wts(word: u64) -> u64 {
    word & WTS_MASK
}

/// Returns the time up to which the version is known to be valid.
#[inline(always)]
pub fn rts(word: u64) -> u64 {
    wts(word) + ((word >> WTS_BITS) & DELTA_MAX)
}

/// Returns `wts` and `rts`.
#[inline(always)]
pub fn times(word: u64) -> (u64, u64) {
    (wts(word), rts(word))
}

/// Returns `word` with `rts` raised to `timestamp`. If the difference does not fit into its bits,
/// `wts` is raised too. Other readers take that for a new version. This causes a needless abort,
/// never a missed one.
#[inline]
pub fn extended(word: u64, timestamp: u64) -> u64 {
    let delta = timestamp - wts(word);
    let shift = delta.saturating_sub(DELTA_MAX);
    (word & LOCKED) | ((delta - shift) << WTS_BITS) | (wts(word) + shift)
}

/// Returns the times of a leaf's range: `wts` of the last record that left it, `rts` of its last
/// scan.
#[inline]
pub fn load<M: Machine, C: TidRecord>(core: &M::Core, guard: GuardRef<'_, M, C>) -> u64 {
    core.load(guard.line(), guard.cc().word())
}

/// Raises each of a range's times to at least that of `least`.
pub fn raise<M: Machine, C: TidRecord>(
    core: &M::Core,
    guard: GuardRef<'_, M, C>,
    least: (u64, u64),
) {
    let mut now = load(core, guard);
    while wts(now) < least.0 || rts(now) < least.1 {
        let both = extended(wts(now).max(least.0), rts(now).max(least.1));
        match core.cas(guard.line(), guard.cc().word(), now, both) {
            Ok(_) => return,
            Err(changed) => now = changed,
        }
    }
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
