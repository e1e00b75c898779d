//! Crews: the fibers that share a core. One fiber of a crew runs until it waits, pauses, ends or lets others run.
//!
//! So a crew has a holder while one of its fibers is between two such points, and the scheduler chooses no other fiber
//! of the crew meanwhile. Fibers of different crews interleave as cores do.
//!
//! A fiber that moves leaves its crew and belongs to another one from then on.

use crate::Sharing;
use std::cell::Cell;

/// The workers of a run by crew.
pub(in crate::explored) struct Crews {
    sharing: Sharing,
    /// Number of the crew of each worker.
    crews: Vec<Cell<usize>>,
    /// Worker that holds the crew, by crew.
    holders: Vec<Cell<Option<usize>>>,
}

impl Crews {
    /// Divides workers into crews. The last crew can be smaller.
    pub fn of(workers: usize, sharing: Sharing) -> Crews {
        let holders = (0..workers.div_ceil(sharing.count())).map(|_| Cell::new(None)).collect();
        let crews = (0..workers).map(|id| Cell::new(id / sharing.count())).collect();
        Crews { sharing, crews, holders }
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.crews.len()
    }

    /// Returns true if cores can have several fibers.
    #[inline]
    pub fn has_several(&self) -> bool {
        // Threads are interrupted anywhere, as if each had a core of its own.
        self.sharing.slice_ticks().is_none()
            && (self.sharing.count() > 1 || self.sharing.can_move())
    }

    /// Returns the holder of the crew of core `id`. Services have no crew.
    fn holder(&self, id: usize) -> Option<&Cell<Option<usize>>> {
        self.crews.get(id).map(|crew| &self.holders[crew.get()])
    }

    /// Returns the number of the crew of worker `id`, if workers can move.
    pub fn host(&self, id: usize) -> Option<usize> {
        self.crews.get(id).filter(|_| self.sharing.can_move()).map(Cell::get)
    }

    /// Makes worker `id` leave its crew and belong to crew `to`.
    pub fn move_to(&self, id: usize, to: usize) {
        assert!(self.sharing.can_move(), "the fibers of this run cannot move");
        assert!(to < self.holders.len(), "core {to} of {}", self.holders.len());
        self.leave(id);
        self.crews[id].set(to);
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
