//! Unlinking: removes an empty leaf, and with it the ancestors that hold nothing else.
//!
//! ```text
//!              fork [ A | B | C ]          fork: lowest ancestor with more than one child
//!                     |   |
//!      heir's branch ...  x                x: ancestors of the leaf with one child, removed too
//!                     |   |
//!                  heir   leaf             heir: neighbouring leaf at the near edge of its branch
//! ```
//!
//! The neighbour ("heir") takes over the leaf's range. It is the next leaf to the right if the fork has a child there,
//! otherwise the next leaf to the left. The fork, the removed nodes and the heir are latched in the versions that were
//! read. So none of them has changed since. The nodes between the fork and the heir are not latched. Instead the
//! ranges are compared: if the heir's range is adjacent to the leaf's, the heir is still the right neighbour.
//!
//! The root is never removed: if no ancestor has more than one child, the leaf stays. All latches are only tried. If
//! one cannot be acquired, all are released and the outcome is [`Unlinking::Busy`].

use super::{OrderedIndex, Step, TreeKey};
use machine::{Core, Machine};

/// Outcome of [`OrderedIndex::unlink`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlinking {
    /// These slots have left the tree. Sessions that found them before can still read them.
    Done(Vec<u64>),
    /// The leaf is not empty, has already left the tree, or is the only one.
    Unneeded,
    /// Another session was changing the tree at this place. The caller tries again later.
    Busy,
}

impl<M: Machine, K: TreeKey> OrderedIndex<M, K> {
    /// Removes `leaf`, to which `key` belongs, from the tree if it is empty. A neighbour takes over its range. Calls
    /// `bequeath` with the leaf and that neighbour, under the latches of both, before other sessions can find the
    /// leaf's range in the neighbour. This function waits for no latch.
    pub fn unlink(
        &self,
        core: &M::Core,
        leaf: u64,
        key: K,
        bequeath: &mut dyn FnMut(u64, u64),
    ) -> Unlinking {
        let way = self.way(core, key);
        let last = way.len() - 1;
        if way[last].offset != leaf || self.at(leaf).count(core) != 0 {
            return Unlinking::Unneeded;
        }
        let shared = |step: &Step| self.at(step.offset).count(core) > 1;
        let Some(fork) = way[..last].iter().rposition(shared) else { return Unlinking::Unneeded };
        let (above, child) = (self.at(way[fork].offset), way[fork].child);
        let to_the_right = child + 1 < above.count(core);
        // Other sessions can change the fork meanwhile. Latching the fork in its version detects this.
        let neighbour = if to_the_right { Some(child + 1) } else { child.checked_sub(1) };
        let Some(neighbour) = neighbour else { return Unlinking::Busy };
        let Some(heir) = self.edge(core, &way[fork], neighbour, to_the_right) else {
            return Unlinking::Busy;
        };
        let mut latched = Vec::with_capacity(way.len() - fork + 1);
        for step in way[fork..].iter().chain([&heir]) {
            if !self.at(step.offset).try_latch(core, step.version) {
                latched.iter().for_each(|offset| self.at(*offset).unlatch(core));
                return Unlinking::Busy;
            }
            latched.push(step.offset);
        }
        // All nodes that were read on the way from the fork to the leaf, and the heir, are latched in the versions
        // read, so none of them has changed. The nodes between the fork and the heir are not latched. The heir's own
        // range shows whether it is still adjacent.
        let (gone, heir_node) = (self.at(leaf), self.at(heir.offset));
        let ((first, end), (heir_first, heir_end)) = (gone.range(core), heir_node.range(core));
        let adjacent = match to_the_right {
            true => end.after(self.width) == Some(heir_first),
            false => heir_end.after(self.width) == Some(first),
        };
        if !adjacent {
            latched.iter().for_each(|offset| self.at(*offset).unlatch(core));
            return Unlinking::Busy;
        }
        core.fence();
        bequeath(leaf, heir.offset);
        if to_the_right {
            heir_node.set_first(core, first);
            // The heir's branch starts where the leaf's branch did, so it takes over the leaf's separator.
            above.take_out_apart(core, child + 1, child);
        } else {
            heir_node.set_last(core, end);
            above.take_out(core, child);
        }
        heir_node.unlatch_changed(core);
        let gone: Vec<u64> = way[fork + 1..].iter().map(|step| step.offset).collect();
        gone.iter().for_each(|offset| self.at(*offset).unlatch_obsolete(core));
        above.unlatch_changed(core);
        Unlinking::Done(gone)
    }

    /// Returns the leaf at the near edge of a neighbouring branch: the first leaf of a branch to the right, or the
    /// last leaf of a branch to the left. Returns none if a validation failed.
    fn edge(
        &self,
        core: &M::Core,
        fork: &Step,
        neighbour: usize,
        to_the_right: bool,
    ) -> Option<Step> {
        let mut node = self.at(fork.offset);
        let mut version = fork.version;
        let mut child = neighbour;
        loop {
            let offset = node.value(core, child);
            if !node.is_still(core, version) {
                return None;
            }
            let next = self.at(offset);
            let next_version = next.begin_read(core)?;
            if !node.is_still(core, version) {
                return None;
            }
            if next.level(core) == 0 {
                return Some(Step { offset, version: next_version, child: 0 });
            }
            child = if to_the_right { 0 } else { next.count(core).saturating_sub(1) };
            (node, version) = (next, next_version);
        }
    }
}
