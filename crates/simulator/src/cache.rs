//! Private caches of physical cores: direct-mapped arrays of fingerprints of (line, version).
//!
//! An entry is valid while the line still has the version under which it was fetched. A core that acquires a line for
//! writing changes its version, so all other copies become invalid at once. No list of sharers is needed to invalidate
//! them.
//!
//! Fingerprints have 8 bits. They distinguish up to 256 consecutive versions of a line. If two lines fall on the same
//! entry, one pair of (line, version) in 256 is taken for the other. Then the model charges too few cycles and has no
//! other error (0.4 % more modelled throughput in results/diary.md). With wider fingerprints the tables of a thousand
//! cores would not fit into the host's second-level cache.

use crate::slab::Slab;
use std::{cell::Cell, io};

/// Shift that leaves the bits of an identity for the fingerprint. The index comes from its low bits, the fingerprint
/// from its highest.
const TAG_SHIFT: u32 = 56;
/// Factor of the version in a fingerprint. It is odd, so each of 256 versions has a fingerprint of its own.
const VERSION_STEP: u8 = 0x9D;

/// Returns the identity of a line, spread over 64 bits. `offset` is where the line's metadata lies in the arena.
#[inline(always)]
pub(crate) fn identity(offset: u64) -> u64 {
    let x = (offset >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    // The low bits of a product depend on few bits of its factors, so the high bits are folded in.
    (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// Returns the identity of line `part` of the body behind a line. It lies in the next set, as consecutive lines do in
/// hardware. So its entry mostly lies on the same cache line of the host, too.
#[inline(always)]
pub(crate) fn behind(identity: u64, part: u64) -> u64 {
    identity.wrapping_add(part)
}

/// Private caches of one level, one cache per physical core, one behind the other.
pub(crate) struct PrivateCaches {
    /// Fingerprints, `lines` for each core. 0 is an entry that holds nothing.
    entries: Slab,
    /// Number of entries of a cache, a power of two.
    lines: usize,
}

impl PrivateCaches {
    /// Makes caches of about `lines` lines each, at least one line. They hold nothing yet.
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
        // 0 is reserved for entries that hold nothing.
        tag.wrapping_add((version as u8).wrapping_mul(VERSION_STEP)).max(1)
    }

    /// Returns true if `core` holds the line under `version`. Version 0 is never held.
    #[inline(always)]
    pub(crate) fn holds(&self, core: u32, identity: u64, version: u32) -> bool {
        let fingerprint = Self::fingerprint(identity, version);
        version != 0 && self.entry(core, identity).get() == fingerprint
    }

    /// Notes that `core` holds the line under `version` from now on, in place of the entry's former line.
    #[inline(always)]
    pub(crate) fn fill(&self, core: u32, identity: u64, version: u32) {
        self.entry(core, identity).set(Self::fingerprint(identity, version));
    }

    /// Returns where the entry lies on the host, for prefetching.
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
