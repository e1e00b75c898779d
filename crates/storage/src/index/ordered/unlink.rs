//! Taking an empty leaf out, and with it the ancestors that hold nothing else.

use super::{OrderedIndex, Step, TreeKey};
use machine::{Core, Machine};

/// The outcome of [`OrderedIndex::unlink`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlinking {
    /// These slots have left the tree; who has found them before may still be looking at them.
    Done(Vec<u64>),
    /// The leaf is not empty, has left already, or is the only one.
    Unneeded,
    /// Others were changing the tree just there: try again later.
    Busy,
}

impl<M: Machine, K: TreeKey> OrderedIndex<M, K> {
    /// Takes `leaf`, into which `key` belongs, out of the tree if it is empty. A neighbour takes over its
    /// range; `bequeath` is told the leaf and that neighbour, under the latches of both, before anybody can
    /// find the leaf's range there. Takes no latch that it would have to wait for.
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
        // Others may be at work; what they change in the fork is noticed when it is latched.
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
        // Nothing that was read on the way can have changed: all of it is latched in the versions read. Of
        // what lies between the fork and the heir, the heir's own range tells whether it still is next.
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
            // The heir's branch starts where the leaf's did.
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

    /// The leaf at the near edge of a neighbouring branch: the first one of a branch to the right, the last
    /// one of a branch to the left.
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
