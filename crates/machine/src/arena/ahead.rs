//! Has the system fill in pages before they are handed out, so that no transaction waits for them.

use super::{Arena, FIRST_OFFSET, HUGE_PAGE, PAGE, Region};
use crate::pages;
use std::sync::atomic::Ordering;

/// Pages that the system has filled in before they are handed out.
#[derive(Default)]
pub(super) struct Ahead {
    /// First free offset at the last call of [`Arena::populate_ahead`].
    next: u64,
    /// End of the pages that are filled in.
    end: u64,
}

/// Least and largest number of bytes that are filled in ahead.
const AHEAD: std::ops::RangeInclusive<u64> = 2 * HUGE_PAGE..=16 * HUGE_PAGE;

impl Arena {
    /// Has the system fill in pages that will probably be handed out soon: twice as many as since the last call, between 4 MiB and
    /// 32 MiB in each node, and none in a node that has handed out nothing since. Otherwise the first access to each page
    /// waits until the system has filled it with zeros. Has no effect on systems other than Linux 5.14 and later.
    ///
    /// For a service, beside the cores that use the memory.
    pub fn populate_ahead(&self) {
        for (node, region) in (1..).zip(&self.mapping.regions) {
            let next = region.next.load(Ordering::Relaxed);
            let before = std::mem::replace(&mut region.ahead.lock().next, next);
            let grown = next.saturating_sub(before);
            // At the first call nothing is known of the growth.
            if grown == 0 || grown == next {
                continue;
            }
            let wanted = (2 * grown).clamp(*AHEAD.start(), *AHEAD.end());
            self.populate_through(region, node << self.node_shift, next + wanted);
        }
    }

    /// Has the system fill in the next `bytes` bytes that each node will hand out, of the nodes that have handed out any.
    /// Has no effect on systems other than Linux 5.14 and later.
    ///
    /// For measurements of programs whose data grows. Where a virtual machine gives unused memory back to its host, the first
    /// access to a page can take twenty times as long as to one that was freed a moment ago.
    pub fn populate(&self, bytes: u64) {
        for (node, region) in (0..).zip(&self.mapping.regions) {
            let first = (node << self.node_shift).max(FIRST_OFFSET);
            let next = region.next.load(Ordering::Relaxed);
            if next > first {
                self.populate_through(region, (node + 1) << self.node_shift, next + bytes);
            }
        }
    }

    /// Has the system fill in the pages of `region` up to offset `to`, as far as they are free and not filled in. The region's
    /// node ends at `end`.
    fn populate_through(&self, region: &Region, end: u64, to: u64) {
        let mut ahead = region.ahead.lock();
        let next = region.next.load(Ordering::Relaxed);
        let from = ahead.end.max(next.next_multiple_of(PAGE));
        let limit = region.end.load(Ordering::Relaxed).min(end);
        let to = to.next_multiple_of(HUGE_PAGE).min(limit / PAGE * PAGE);
        if from < to && pages::populate(self.address(from), to - from) {
            ahead.end = to;
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn the_pages_ahead_of_a_growing_arena_are_filled_in() {
        use super::*;
        use crate::{ArenaOptions, Place};

        let arena = Arena::new(&ArenaOptions::default()).unwrap();
        let is_filled = |offset: u64| {
            let mut resident = 0;
            let page = arena.address(offset / PAGE * PAGE);
            // SAFETY: the page lies in the arena's mapping, and there is room for one answer.
            let known = unsafe { libc::mincore(page.cast(), PAGE as usize, &mut resident) };
            known == 0 && resident & 1 == 1
        };
        let first = arena.allocate(PAGE, 64, Place::Any).unwrap();
        let (near, far) = (first + *AHEAD.start() / 2, first + 4 * *AHEAD.end());
        arena.populate_ahead();
        assert!(!is_filled(near), "nothing is known of the growth");
        arena.allocate(PAGE, 64, Place::Any).unwrap();
        arena.populate_ahead();
        // An older system fills in nothing.
        let ahead = arena.mapping.regions[0].ahead.lock().end;
        assert!(ahead == 0 || ahead > near && ahead < far);
        assert_eq!(is_filled(near), ahead > 0);
        assert!(!is_filled(far));
        arena.allocate(*AHEAD.end(), 64, Place::Any).unwrap();
        arena.populate_ahead();
        assert_eq!(is_filled(first + 2 * *AHEAD.end() - 2 * HUGE_PAGE), ahead > 0);
        let last = first + 4 * *AHEAD.end();
        assert!(!is_filled(last));
        arena.populate(3 * *AHEAD.end());
        assert_eq!(is_filled(last), ahead > 0);
    }
}
