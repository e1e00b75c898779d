//! What protects a range of keys of an ordered table: the guard of a leaf.
//!
//! Every key that anybody has asked for has a record, so a transaction can only miss rows of a range it has
//! scanned if a record is made there later. Each leaf of an ordered index therefore carries a guard: words of
//! the protocol as a record has them, and a count of the records that were made in the leaf's range. The
//! guard is apart from the leaf's own version, which also changes when records leave.

use crate::Record;
use machine::{Core, Machine};

/// The guard of a leaf. It lies where the leaf lies, and is as good as a record for whatever a protocol does
/// with a record's words; it has no row.
pub struct Guard<'s, M: Machine>(Record<'s, M>);

impl<M: Machine> Clone for Guard<'_, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Guard<'_, M> {}

impl<'s, M: Machine> Guard<'s, M> {
    pub(crate) fn new(record: Record<'s, M>) -> Self {
        Guard(record)
    }

    /// The guard as a record: for its name, its line and its words.
    #[inline(always)]
    pub fn record(&self) -> Record<'s, M> {
        self.0
    }

    /// The line on which its words lie, and the count of insertions.
    #[inline(always)]
    pub fn line(&self) -> &'s M::Line {
        self.0.line()
    }

    /// How often the range has gained a record, or lost a part to another leaf. Counted before what is
    /// new can be found.
    #[inline(always)]
    pub fn insertions(&self, core: &M::Core) -> u64 {
        core.load(self.line(), self.0.key_word())
    }

    /// Counts one; returns the count before. The leaf's latch is held.
    pub(crate) fn count_insertion(&self, core: &M::Core) -> u64 {
        let before = core.load_relaxed(self.line(), self.0.key_word());
        core.store(self.line(), self.0.key_word(), before + 1);
        // Who raises a timestamp here and then finds the old count has raised it for all to see.
        core.fence();
        before
    }
}
