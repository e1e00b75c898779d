//! What physical cores hold in their private caches: direct-mapped arrays of fingerprints of
//! (line, version).
//!
//! An entry is good while the line still has the version it had when it was fetched; a core that takes a
//! line for writing changes its version, so nobody keeps lists of sharers to invalidate. Fingerprints have
//! 8 bits: the version's count in full, up to 256 changes of hands, and of two lines that meet in an entry
//! one pair of 256 is taken for the same, which costs too few cycles then and nothing else (0.4 % more
//! modelled throughput in results/README.md). Wider ones cost the host its own second-level cache at a
//! thousand cores.

use crate::slab::Slab;
use std::{cell::Cell, io};

/// The index comes from the low bits of an identity, the fingerprint from the highest ones.
const TAG_SHIFT: u32 = 56;
/// Odd, so that each of 256 versions has a fingerprint of its own.
const VERSION_STEP: u8 = 0x9D;

/// The identity of a line, spread over 64 bits. `offset` is where the line's metadata lies in the arena.
#[inline(always)]
pub(crate) fn identity(offset: u64) -> u64 {
    let x = (offset >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    // The low bits of a product depend on few bits of its factor: fold the high ones in.
    (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// The identity of line `part` of the body behind a line: in the set beside it, as lines that follow each
/// other are in hardware. Its entry then mostly lies on the same line of the host's cache, too.
#[inline(always)]
pub(crate) fn behind(identity: u64, part: u64) -> u64 {
    identity.wrapping_add(part)
}

/// The private caches of one level, a cache per physical core, one behind the other.
pub(crate) struct PrivateCaches {
    entries: Slab,
    lines: usize,
}

impl PrivateCaches {
    /// Caches of about `lines` lines each, at least one; they hold nothing yet.
    pub(crate) fn new(cores: usize, lines: usize) -> io::Result<PrivateCaches> {
        let lines = if lines.is_power_of_two() { lines } else { lines.next_power_of_two() / 2 };
        let lines = lines.max(1);
        Ok(PrivateCaches { entries: Slab::new(cores * lines)?, lines })
    }

    #[inline(always)]
    fn entry(&self, core: u32, identity: u64) -> &Cell<u8> {
        &self.entries[core as usize * self.lines + (identity as usize & (self.lines - 1))]
    }

    #[inline(always)]
    fn fingerprint(identity: u64, version: u32) -> u8 {
        let tag = (identity >> TAG_SHIFT) as u8;
        // 0 is kept for entries that hold nothing.
        tag.wrapping_add((version as u8).wrapping_mul(VERSION_STEP)).max(1)
    }

    /// True when `core` holds the line under `version`. Version 0 is never held.
    #[inline(always)]
    pub(crate) fn holds(&self, core: u32, identity: u64, version: u32) -> bool {
        let fingerprint = Self::fingerprint(identity, version);
        version != 0 && self.entry(core, identity).get() == fingerprint
    }

    /// From now on `core` holds the line under `version`, in place of whatever was there.
    #[inline(always)]
    pub(crate) fn fill(&self, core: u32, identity: u64, version: u32) {
        self.entry(core, identity).set(Self::fingerprint(identity, version));
    }

    /// Where on the host the entry lies, for prefetching.
    #[inline(always)]
    pub(crate) fn address(&self, core: u32, identity: u64) -> *const u8 {
        std::ptr::from_ref(self.entry(core, identity)).cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_versions_until_displaced() {
        let caches = PrivateCaches::new(3, 512).unwrap();
        let id = identity(4096);
        assert!(!caches.holds(1, id, 7));
        caches.fill(1, id, 7);
        assert!(caches.holds(1, id, 7));
        assert!((1..200).all(|n| !caches.holds(1, id, 7 + n)));
        let displacing = (1..).map(|n| identity(4096 + 16 * n)).find(|i| i & 511 == id & 511);
        caches.fill(1, displacing.unwrap(), 3);
        assert!(!caches.holds(1, id, 7) && caches.holds(1, displacing.unwrap(), 3));
        assert!(!caches.holds(2, id, 7) && !caches.holds(2, id, 0));
    }

    #[test]
    fn identities_spread_over_the_sets() {
        let mut counts = [0u32; 512];
        for n in 0..512 * 64 {
            counts[(identity(4096 + 128 * n) & 511) as usize] += 1;
        }
        assert!(counts.iter().all(|c| (20..140).contains(c)), "{counts:?}");
    }
}
