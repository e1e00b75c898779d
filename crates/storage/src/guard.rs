//! Guards: they protect the range of keys of a leaf of an ordered table against phantoms.
//!
//! Every key that a transaction has looked up has a record, even if its row is absent. So a transaction that has
//! scanned a range can miss a row only if a new record is made in the range later. Each leaf of an ordered index
//! therefore carries a guard: the protocol's words, as in a record, and a count of the records that were made in the
//! leaf's range.
//!
//! The guard is separate from the leaf's own version. That version also changes when records leave the leaf, which
//! cannot cause a phantom.

use crate::Record;
use machine::{Core, Machine};

/// Guard of a leaf. It lies in the leaf's slot. For everything that a protocol does with a record's words a guard
/// works like a record, but it has no row.
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

    /// Returns the guard as a record: for its name, its line and its words.
    #[inline(always)]
    pub fn record(&self) -> Record<'s, M> {
        self.0
    }

    /// Returns the line on which the guard's words and the count of insertions lie.
    #[inline(always)]
    pub fn line(&self) -> &'s M::Line {
        self.0.line()
    }

    /// Returns how often the range has gained a record or lost a part to another leaf. The count is raised before the
    /// new record or the new leaf can be found.
    #[inline(always)]
    pub fn insertions(&self, core: &M::Core) -> u64 {
        core.load(self.line(), self.0.key_word())
    }

    /// Raises the count by 1 and returns the count before. The caller holds the leaf's latch.
    pub(crate) fn count_insertion(&self, core: &M::Core) -> u64 {
        let before = core.load_relaxed(self.line(), self.0.key_word());
        core.store(self.line(), self.0.key_word(), before + 1);
        // This fence orders the store, and the latching of the leaf before it, before the later loads of the guard's words. If a
        // transaction raises a timestamp in the guard and then still reads the old count, or the leaf without the latch, the
        // raised timestamp is visible here after the fence (`weak-memory/tests/orders.rs` tries all orders).
        core.fence();
        before
    }
}
