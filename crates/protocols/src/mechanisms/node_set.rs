//! A node set: the leaves that an optimistic transaction has scanned.
//!
//! Source: Tu, Zheng, Kohler, Liskov and Madden, SOSP 2013, section 4.6 (the node set).
//!
//! The guard of a leaf counts the insertions into the leaf's range. A scan notes each leaf that overlaps its range, the
//! empty ones too, with this count. At commit the counts must be the same. An insertion is counted before its record
//! can be found, so equal counts mean that no phantom has appeared in the scanned ranges.
//!
//! Records that the transaction itself makes count as well. So its own entry advances with each of them, if it was
//! current just before. An entry that was not current stays behind, and validation fails.

use super::record_set::RecordSet;
use machine::{Machine, Zeroed};
use storage::GuardRef;
use txn::{Abort, AbortReason};

/// One scanned leaf: its guard, and its count of insertions when it was first scanned. The count includes the later
/// insertions of the transaction itself.
type Scanned<'s, M, C> = (GuardRef<'s, M, C>, u64);

/// Node set of a transaction.
pub struct NodeSet<'s, M: Machine, C> {
    /// One entry for each leaf scanned.
    leaves: RecordSet<'s, M, C, Scanned<'s, M, C>>,
}

impl<M: Machine, C> Default for NodeSet<'_, M, C> {
    fn default() -> Self {
        NodeSet { leaves: RecordSet::default() }
    }
}

impl<'s, M: Machine, C: Zeroed + Send + Sync + 'static> NodeSet<'s, M, C> {
    /// Returns whether no leaf was scanned.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Notes the leaf of `guard`, which is about to be read.
    pub fn observe(&mut self, core: &M::Core, guard: GuardRef<'s, M, C>) {
        // A leaf that is scanned twice must still be as it was the first time.
        if self.leaves.find(&guard.record()).is_none() {
            self.leaves.push(guard.record(), (guard, guard.insertions(core)));
        }
    }

    /// Called when the transaction has made a record in the leaf, which had counted `counted` insertions before.
    /// Returns true if the leaf was scanned and current. Then the record's absence belongs into the read set.
    pub fn made(&mut self, guard: GuardRef<'s, M, C>, counted: u64) -> bool {
        self.moved_on(guard, counted)
    }

    /// Called when the transaction has split the leaf, which had counted `counted` insertions before.
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

    /// Advances the entry of the leaf. Returns whether the leaf was scanned and was current until now.
    fn moved_on(&mut self, guard: GuardRef<'s, M, C>, counted: u64) -> bool {
        let Some(at) = self.leaves.find(&guard.record()) else { return false };
        let (_, seen) = self.leaves.value_mut(at);
        let current = *seen == counted;
        if current {
            *seen = counted + 1;
        }
        current
    }

    /// Checks that the ranges are as they were scanned. Call with the write set locked.
    pub fn validate(&self, core: &M::Core) -> Result<(), Abort> {
        let same = |(_, (guard, seen)): (_, &Scanned<'s, M, C>)| guard.insertions(core) == *seen;
        if self.leaves.iter().all(same) {
            Ok(())
        } else {
            Err(Abort::because(AbortReason::Phantom))
        }
    }

    /// Returns the guards of all scanned leaves.
    pub fn guards(&self) -> impl Iterator<Item = GuardRef<'s, M, C>> {
        self.leaves.iter().map(|(_, (guard, _))| *guard)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.leaves.clear();
    }
}
