//! What one physical core holds in its private caches: direct-mapped arrays of fingerprints of
//! (line, version).
//!
//! An entry is good while the line still has the version it had when it was fetched; a core that takes a
//! line for writing changes its version, so nobody keeps lists of sharers to invalidate. Fingerprints have
//! 16 bits, so one probe of 65,536 that should miss hits; it costs too few cycles then, and nothing else.
//! Wider ones would cost the host its own second-level cache at a thousand cores.

use crate::slab::Slab;
use std::{cell::Cell, io};

/// The index comes from the low bits of an identity, the fingerprint from the high ones.
const TAG_SHIFT: u32 = 32;

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
    /// Caches of about `lines` lines each; they hold nothing yet.
    pub(crate) fn new(cores: usize, lines: usize) -> io::Result<PrivateCaches> {
        let lines = if lines.is_power_of_two() { lines } else { lines.next_power_of_two() / 2 };
        Ok(PrivateCaches { entries: Slab::new(cores * lines)?, lines })
    }

    /// The cache of a physical core; None where there is no such level or no such core.
    #[inline(always)]
    pub(crate) fn get(&self, core: u32) -> Option<PrivateCache<'_>> {
        let start = core as usize * self.lines;
        let entries = self.entries.get(start..start + self.lines)?;
        if entries.is_empty() { None } else { Some(PrivateCache { entries }) }
    }
}

/// One private cache.
#[derive(Clone, Copy)]
pub(crate) struct PrivateCache<'a> {
    entries: &'a [Cell<u16>],
}

impl<'a> PrivateCache<'a> {
    #[inline(always)]
    fn entry(self, identity: u64) -> &'a Cell<u16> {
        // A power of two long, so the mask keeps the index inside.
        &self.entries[(identity as usize) & (self.entries.len() - 1)]
    }

    #[inline(always)]
    fn fingerprint(identity: u64, version: u32) -> u16 {
        let mixed = (identity >> TAG_SHIFT) as u32 ^ version.wrapping_mul(0x9E37_79B1);
        // 0 is kept for entries that hold nothing.
        ((mixed ^ (mixed >> 16)) as u16).max(1)
    }

    /// True when the line is held under `version`. Version 0 is never held.
    #[inline(always)]
    pub(crate) fn holds(self, identity: u64, version: u32) -> bool {
        version != 0 && self.entry(identity).get() == Self::fingerprint(identity, version)
    }

    /// From now on the line is held under `version`, in place of whatever was there.
    #[inline(always)]
    pub(crate) fn fill(self, identity: u64, version: u32) {
        self.entry(identity).set(Self::fingerprint(identity, version));
    }

    /// Where on the host the entry lies, for prefetching.
    #[inline(always)]
    pub(crate) fn address(self, identity: u64) -> *const u8 {
        std::ptr::from_ref(self.entry(identity)).cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_versions_until_displaced() {
        let caches = PrivateCaches::new(3, 512).unwrap();
        let cache = caches.get(1).unwrap();
        let id = identity(4096);
        assert!(!cache.holds(id, 7));
        cache.fill(id, 7);
        assert!(cache.holds(id, 7) && !cache.holds(id, 8));
        let displacing = (1..).map(|n| identity(4096 + 16 * n)).find(|i| i & 511 == id & 511);
        cache.fill(displacing.unwrap(), 3);
        assert!(!cache.holds(id, 7));
        assert!(caches.get(3).is_none());
        assert!(!caches.get(2).unwrap().holds(id, 7));
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
