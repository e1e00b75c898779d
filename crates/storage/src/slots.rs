//! Slots of one size: the slots that a session can use, and the slots that it has retired.
//!
//! A slot passes through these states:
//!
//! ```text
//!               pop                      retire                 reclaim, two epochs later
//!  chunk, free -----> used by a record -----------> retired -----------------------------> free
//! ```
//!
//! A retired slot can still be read by other sessions that found it before it left its index. So it is reused only
//! when these sessions have left the epoch (see `reclaim`). In runs that look for use after free, a slot spends some
//! more time in a quarantine between "retired" and "free".

use machine::{Arena, OutOfMemory, Place};
use std::collections::VecDeque;

/// Slots of a session. The session takes them from the arena in chunks, and reuses a slot two epochs after it was
/// retired.
#[derive(Default)]
pub struct Slots {
    /// Offset of the first unused slot of the current chunk.
    next: u64,
    /// End of the current chunk. The chunk is used up when `next` is equal to `end`.
    end: u64,
    /// Slots that no session can see.
    free: Vec<u64>,
    /// Retired slots with the epoch in which each was retired, in order of these epochs: [`Slots::reclaim`] reads from
    /// the front.
    retired: VecDeque<(u64, u64)>,
    /// Slots that no session should see any more, and that are not reused yet, so that wrong accesses can be detected.
    quarantined: VecDeque<u64>,
}

/// Slots of one session in one table: slots of records, and slots of the nodes of an ordered index.
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

/// Number of slots that wait in quarantine before the first of them is reused.
const QUARANTINE: usize = 4;

impl Slots {
    /// Returns the number of slots that wait until their epoch has passed.
    pub fn retired(&self) -> usize {
        self.retired.len()
    }

    /// Retires the slot at `offset` in `epoch`.
    pub fn retire(&mut self, epoch: u64, offset: u64) {
        self.retired.push_back((epoch, offset));
    }

    /// Takes back a slot that no other session has seen.
    pub(crate) fn give_back(&mut self, offset: u64) {
        self.free.push(offset);
    }

    /// Turns the unused rest of the chunk into free slots.
    pub(crate) fn free_rest(&mut self, stride: u64) {
        while self.next < self.end {
            self.free.push(self.next);
            self.next += stride;
        }
    }

    /// Frees the retired slots that no session can see in epoch `now`.
    pub(crate) fn reclaim(&mut self, now: u64, is_past: impl Fn(u64, u64) -> bool) {
        while let Some(&(epoch, offset)) = self.retired.front()
            && is_past(epoch, now)
        {
            self.retired.pop_front();
            self.free.push(offset);
        }
    }

    /// Like [`Slots::reclaim`], but moves the slots through a quarantine. Calls `mark` for every slot that enters it.
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

    /// Returns a free slot, or the next slot of the chunk.
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

    /// Takes a chunk of `slots` slots from the arena. The current chunk must be used up.
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
        // `reclaim` reads from the front, so the oldest retired slot must come first.
        self.retired.make_contiguous().sort_unstable();
    }

    /// Removes and returns all free slots except `keep`, if there are more than twice as many as `keep`.
    pub(crate) fn surplus(&mut self, keep: usize) -> Slots {
        let many = self.free.len() > 2 * keep;
        let free = if many { self.free.split_off(keep) } else { Vec::new() };
        Slots { free, ..Slots::default() }
    }

    /// Returns the offsets of all slots, in whatever state.
    pub(crate) fn offsets(&self, stride: u64) -> impl Iterator<Item = u64> + '_ {
        let rest = (self.next..self.end).step_by(stride as usize);
        let retired = self.retired.iter().map(|(_, offset)| *offset);
        rest.chain(self.free.iter().copied()).chain(retired).chain(self.quarantined.iter().copied())
    }

    /// Returns true if there are no slots in any state.
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.end
            && self.free.is_empty()
            && self.retired.is_empty()
            && self.quarantined.is_empty()
    }
}
