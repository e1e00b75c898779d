//! The leaves that an optimistic transaction has scanned.
//!
//! Source: Tu, Zheng, Kohler, Liskov and Madden, SOSP 2013, section 4.6 (the node set). A scan notes each leaf
//! that overlaps its range, the empty ones too, with the count of insertions that its guard shows; at commit
//! the counts must be the same. Records that the transaction itself makes count as well, so its own
//! entries move on with them, if they were current just before.

use super::record_set::RecordSet;
use machine::{Machine, Zeroed};
use storage::GuardRef;
use txn::{Abort, AbortReason};

/// One scanned leaf: its guard, and the insertions counted when it was first scanned.
type Scanned<'s, M, C> = (GuardRef<'s, M, C>, u64);

/// A transaction's node set.
pub struct NodeSet<'s, M: Machine, C> {
    leaves: RecordSet<'s, M, C, Scanned<'s, M, C>>,
}

impl<M: Machine, C> Default for NodeSet<'_, M, C> {
    fn default() -> Self {
        NodeSet { leaves: RecordSet::default() }
    }
}

impl<'s, M: Machine, C: Zeroed + Send + Sync + 'static> NodeSet<'s, M, C> {
    /// True when no leaf was scanned.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// The leaf of `guard` is about to be read.
    pub fn observe(&mut self, core: &M::Core, guard: GuardRef<'s, M, C>) {
        // Scanned twice, it must still be as it was the first time.
        if self.leaves.find(&guard.record()).is_none() {
            self.leaves.push(guard.record(), (guard, guard.insertions(core)));
        }
    }

    /// The transaction has made a record in the leaf, which had counted `counted` insertions before. True if
    /// it has scanned the leaf: then the record's absence belongs into its read set.
    pub fn made(&mut self, guard: GuardRef<'s, M, C>, counted: u64) -> bool {
        self.moved_on(guard, counted)
    }

    /// The transaction has split the leaf, which had counted `counted` insertions before.
    pub fn split(
        &mut self,
        core: &M::Core,
        guard: GuardRef<'s, M, C>,
        right: GuardRef<'s, M, C>,
        counted: u64,
    ) {
        if self.moved_on(guard, counted) {
            self.observe(core, right);
        }
    }

    /// True if the leaf was scanned and was current until now.
    fn moved_on(&mut self, guard: GuardRef<'s, M, C>, counted: u64) -> bool {
        let Some(at) = self.leaves.find(&guard.record()) else { return false };
        let (_, seen) = self.leaves.value_mut(at);
        let current = *seen == counted;
        if current {
            *seen = counted + 1;
        }
        current
    }

    /// The ranges must be as they were scanned. Call with the write set locked.
    pub fn validate(&self, core: &M::Core) -> Result<(), Abort> {
        let same = |(_, (guard, seen)): (_, &Scanned<'s, M, C>)| guard.insertions(core) == *seen;
        if self.leaves.iter().all(same) {
            Ok(())
        } else {
            Err(Abort::because(AbortReason::Phantom))
        }
    }

    /// The guards of all scanned leaves.
    pub fn guards(&self) -> impl Iterator<Item = GuardRef<'s, M, C>> {
        self.leaves.iter().map(|(_, (guard, _))| *guard)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.leaves.clear();
    }
}
