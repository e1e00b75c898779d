//! Crews: the fibers that share a core. One fiber of a crew runs until it waits, pauses, ends or lets others run.
//!
//! So a crew has a holder while one of its fibers is between two such points, and the scheduler chooses no other fiber
//! of the crew meanwhile. Fibers of different crews interleave as cores do.

use std::cell::Cell;

/// The workers of a run by crew.
pub(in crate::explored) struct Crews {
    workers: usize,
    /// Number of fibers of a crew.
    fibers: usize,
    /// Worker that holds the crew, by crew.
    holders: Vec<Cell<Option<usize>>>,
}

impl Crews {
    /// Divides workers into crews of `fibers` workers each. The last crew can be smaller.
    pub fn of(workers: usize, fibers: usize) -> Crews {
        let fibers = fibers.max(1);
        let holders = (0..workers.div_ceil(fibers)).map(|_| Cell::new(None)).collect();
        Crews { workers, fibers, holders }
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Returns true if cores have several fibers.
    pub fn has_several(&self) -> bool {
        self.fibers > 1
    }

    /// Returns the holder of the crew of core `id`. Services have no crew.
    fn holder(&self, id: usize) -> Option<&Cell<Option<usize>>> {
        self.holders.get(id / self.fibers).filter(|_| id < self.workers)
    }

    /// Returns true if no other fiber of the crew holds it.
    #[inline]
    pub fn allows(&self, id: usize) -> bool {
        !self.has_several()
            || self.holder(id).is_none_or(|holder| holder.get().is_none_or(|other| other == id))
    }

    /// Makes core `id` the holder of its crew.
    #[inline]
    pub fn enter(&self, id: usize) {
        if self.has_several()
            && let Some(holder) = self.holder(id)
        {
            holder.set(Some(id));
        }
    }

    /// Notes that core `id` lets the other fibers of its crew run.
    #[inline]
    pub fn leave(&self, id: usize) {
        if let Some(holder) = self.holder(id)
            && holder.get() == Some(id)
        {
            holder.set(None);
        }
    }
}
