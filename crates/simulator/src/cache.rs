//! What one physical core holds in its private caches: direct-mapped arrays of (line, version).
//!
//! An entry is good while the line still has the version it had when it was fetched; a core that takes a
//! line for writing changes its version, so nobody keeps lists of sharers to invalidate.

use crate::{line::VERSION_MASK, slab::Slab};
use std::{cell::Cell, io};

const VERSION_BITS: u32 = 14;
const TAG_SHIFT: u32 = 64 - 18;

/// The identity of a line, spread over 64 bits.
///
/// `offset` is where the line's metadata lies in the arena, `part` counts the lines of the body behind it.
#[inline(always)]
pub(crate) fn identity(offset: u64, part: u64) -> u64 {
    let x = ((offset >> 3) + part.wrapping_mul(0x2545_F491_4F6C_DD1D))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    // The low bits of a product depend on few bits of its factor: fold the high ones in.
    (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// The private caches of one level, a cache per physical core, one behind the other.
pub(crate) struct PrivateCaches {
    entries: Slab<Cell<u32>>,
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
    entries: &'a [Cell<u32>],
}

impl<'a> PrivateCache<'a> {
    #[inline(always)]
    fn entry(self, identity: u64) -> &'a Cell<u32> {
        // A power of two long, so the mask keeps the index inside.
        &self.entries[(identity as usize) & (self.entries.len() - 1)]
    }

    #[inline(always)]
    fn tag(identity: u64) -> u32 {
        ((identity >> TAG_SHIFT) as u32) << VERSION_BITS
    }

    /// The version under which the line is held; 0 where it is not.
    #[inline(always)]
    pub(crate) fn version(self, identity: u64) -> u32 {
        let entry = self.entry(identity).get();
        if entry & !VERSION_MASK == Self::tag(identity) { entry & VERSION_MASK } else { 0 }
    }

    /// From now on the line is held under `version`, in place of whatever was there.
    #[inline(always)]
    pub(crate) fn fill(self, identity: u64, version: u32) {
        self.entry(identity).set(Self::tag(identity) | version);
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
        let id = identity(4096, 0);
        assert_eq!(cache.version(id), 0);
        cache.fill(id, 7);
        assert_eq!(cache.version(id), 7);
        let displacing = (1..).map(|n| identity(4096 + 16 * n, 0)).find(|i| i & 511 == id & 511);
        cache.fill(displacing.unwrap(), 3);
        assert_eq!(cache.version(id), 0);
        assert!(caches.get(3).is_none());
        assert_eq!(caches.get(2).unwrap().version(id), 0);
    }

    #[test]
    fn identities_spread_over_the_sets() {
        let mut counts = [0u32; 512];
        for n in 0..512 * 64 {
            counts[(identity(4096 + 128 * n, 0) & 511) as usize] += 1;
        }
        assert!(counts.iter().all(|c| (20..140).contains(c)), "{counts:?}");
    }
}
