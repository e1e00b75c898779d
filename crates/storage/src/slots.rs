//! Slots of one size: those that a session may use, and those it has given up but others may still see.

use machine::{Arena, OutOfMemory, Place};
use std::collections::VecDeque;

/// A session's slots. Taken from the arena in chunks, used again two epochs after they were given up.
#[derive(Default)]
pub struct Slots {
    next: u64,
    end: u64,
    free: Vec<u64>,
    retired: VecDeque<(u64, u64)>,
    quarantined: VecDeque<u64>,
}

/// Slots that one session may use, and slots it has given up but that others may still see: those of
/// records, and those of the nodes of an ordered index.
#[derive(Default)]
pub struct Space {
    /// Slots of records.
    pub records: Slots,
    /// Slots of nodes.
    pub nodes: Slots,
}

impl Space {
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.nodes.is_empty()
    }
}

/// Slots that wait in quarantine before the first of them is used again.
const QUARANTINE: usize = 4;

impl Slots {
    /// Number of slots waiting for their epoch to pass.
    pub fn retired(&self) -> usize {
        self.retired.len()
    }

    /// Gives the slot at `offset` up in `epoch`.
    pub fn retire(&mut self, epoch: u64, offset: u64) {
        self.retired.push_back((epoch, offset));
    }

    /// Takes a slot back that nobody has seen.
    pub(crate) fn give_back(&mut self, offset: u64) {
        self.free.push(offset);
    }

    /// Turns what is left of the chunk into free slots.
    pub(crate) fn free_rest(&mut self, stride: u64) {
        while self.next < self.end {
            self.free.push(self.next);
            self.next += stride;
        }
    }

    /// Makes the slots usable again that nobody can see in epoch `now`.
    pub(crate) fn reclaim(&mut self, now: u64, is_past: impl Fn(u64, u64) -> bool) {
        while let Some(&(epoch, offset)) = self.retired.front()
            && is_past(epoch, now)
        {
            self.retired.pop_front();
            self.free.push(offset);
        }
    }

    /// As [`Slots::reclaim`], but by way of a quarantine. `mark` is told of every slot that enters it.
    pub(crate) fn quarantine(
        &mut self,
        now: u64,
        is_past: impl Fn(u64, u64) -> bool,
        mark: impl Fn(u64),
    ) {
        while let Some(&(epoch, offset)) = self.retired.front()
            && is_past(epoch, now)
        {
            self.retired.pop_front();
            mark(offset);
            self.quarantined.push_back(offset);
            if self.quarantined.len() > QUARANTINE {
                self.free.extend(self.quarantined.pop_front());
            }
        }
    }

    /// A free slot, or the next one of the chunk.
    #[inline]
    pub(crate) fn pop(&mut self, stride: u64) -> Option<u64> {
        if let Some(offset) = self.free.pop() {
            return Some(offset);
        }
        let offset = self.next;
        (offset < self.end).then(|| {
            self.next += stride;
            offset
        })
    }

    /// Takes a chunk of `slots` slots from the arena. The one before must be used up.
    pub(crate) fn refill(
        &mut self,
        arena: &Arena,
        stride: u64,
        slots: u64,
    ) -> Result<(), OutOfMemory> {
        debug_assert_eq!(self.next, self.end, "a chunk is forgotten");
        self.next = arena.allocate(slots * stride, 64, Place::Any)?;
        self.end = self.next + slots * stride;
        Ok(())
    }

    /// Takes over all slots of another session.
    pub(crate) fn absorb(&mut self, mut other: Slots, stride: u64) {
        other.free_rest(stride);
        self.free.append(&mut other.free);
        self.quarantined.append(&mut other.quarantined);
        self.retired.append(&mut other.retired);
        // Reclaiming goes from the front, so the oldest must stand there.
        self.retired.make_contiguous().sort_unstable();
    }

    /// All free slots but `keep`, if there are more than twice as many.
    pub(crate) fn surplus(&mut self, keep: usize) -> Slots {
        let many = self.free.len() > 2 * keep;
        let free = if many { self.free.split_off(keep) } else { Vec::new() };
        Slots { free, ..Slots::default() }
    }

    /// True when there are none of any kind.
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.end
            && self.free.is_empty()
            && self.retired.is_empty()
            && self.quarantined.is_empty()
    }
}
