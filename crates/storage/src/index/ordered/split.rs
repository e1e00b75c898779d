//! Splits: a full node moves its upper entries to a new node on its right.
//!
//! The left half keeps its slot, so offsets that other sessions hold stay valid, for a smaller range. A node is split
//! only if its parent has room for another child. So a session that needs room in a full leaf first splits the highest
//! full node of the run of full nodes that ends with the leaf, and then starts again. If that node is the root, a new
//! root is put above it.
//!
//! A split changes, in this order, under the latches of the parent and the node:
//! 1. the new right node, which no other session can reach yet,
//! 2. the left node's count and range,
//! 3. the right node's version: from here on a session that has kept the name of its slot can reach it,
//! 4. the parent, which gets the separator and the right node (or the head, which gets the new root).
//!
//! While these steps run, both old nodes are latched, so no reader can validate a version read before or in between. See
//! the readers' argument in `ordered/mod.rs`.

use super::{NodeRef, NodeSource, OrderedIndex, Step, TreeKey};
use machine::{Core, Machine, OutOfMemory};

impl<M: Machine, K: TreeKey> OrderedIndex<M, K> {
    /// Splits `leaf`, and the full ancestors that are in the way, so that there is room for `key`. Does nothing if
    /// this is no longer needed. Calls `announce` with the leaf and the new leaf that takes over its upper part, under
    /// the leaf's latch and before other sessions can find the new one. If `announce` returns an error, the leaf is
    /// not split.
    pub fn split<E: From<OutOfMemory>>(
        &self,
        core: &M::Core,
        leaf: u64,
        key: K,
        source: &mut dyn NodeSource,
        announce: &mut dyn FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let way = self.way(core, key);
            let last = way.len() - 1;
            // The node to split is the highest full node below which all nodes of the way are full.
            let full = |step: &&Step| self.at(step.offset).is_full(core);
            let run = way.iter().rev().take_while(full).count();
            if way[last].offset != leaf || run == 0 {
                return Ok(());
            }
            let at = last + 1 - run;
            let right = source.take()?;
            let above = match at {
                0 => match source.take() {
                    Ok(slot) => slot,
                    Err(error) => {
                        source.give_back(right);
                        return Err(error.into());
                    }
                },
                _ => 0,
            };
            let mut told = Ok(());
            let done = self.try_split(core, &way[..=at], key, right, above, || {
                if at == last {
                    told = announce(leaf, right);
                }
                told.is_ok()
            });
            if !done {
                source.give_back(right);
                if above != 0 {
                    source.give_back(above);
                }
            }
            told?;
            if done && at == last {
                return Ok(());
            }
        }
    }

    /// Returns the place from which on the entries of a full node move to the new one, and the least key of the new one.
    ///
    /// - A key that comes last starts the new node. In a leaf it will be alone there. An inner node must have a child, so the
    ///   last child moves.
    /// - A key in the upper half that directly follows the key before it probably continues a sequence, for example the
    ///   orders of a district. Then the keys behind it move: from now on the sequence comes last in its leaf, fills leaf after
    ///   leaf, and moves no entries.
    /// - Otherwise the upper half moves.
    fn cut(&self, core: &M::Core, node: NodeRef<'_, M, K>, key: K) -> (usize, K) {
        let (level, count) = (node.level(core), node.count(core));
        if key > node.key(core, count - 1) {
            return match level {
                0 => (count, key),
                _ => (count - 1, node.key(core, count - 1)),
            };
        }
        let half = count / 2;
        let mut at = half;
        if level == 0
            && let Err(place) = node.position(core, key)
            && place > half
            && node.key(core, place - 1).after(self.width) == Some(key)
        {
            at = place;
        }
        (at, node.key(core, at))
    }

    /// Splits the last node of `way`, whose parent has room, if the parent and the node have not changed and
    /// `announce` agrees. Returns false if nothing was split.
    fn try_split(
        &self,
        core: &M::Core,
        way: &[Step],
        key: K,
        right: u64,
        above: u64,
        announce: impl FnOnce() -> bool,
    ) -> bool {
        let last = way.len() - 1;
        let parent = last.checked_sub(1).map(|at| self.at(way[at].offset));
        if let Some(parent) = parent
            && !parent.try_latch(core, way[last - 1].version)
        {
            return false;
        }
        let node = self.at(way[last].offset);
        let latched = node.try_latch(core, way[last].version);
        let is_root = || core.load(&self.head.line, &self.head.root) == way[last].offset;
        let may = latched && (parent.is_some() || is_root()) && announce();
        if !may {
            if latched {
                node.unlatch(core);
            }
            if let Some(parent) = parent {
                parent.unlatch(core);
            }
            return false;
        }
        let (level, (first, end)) = (node.level(core), node.range(core));
        let (at, separator) = self.cut(core, node, key);
        let new = self.at(right);
        new.initialise(core, level, separator, end);
        node.move_to(core, at, new);
        node.set_last(core, separator.before(self.width).unwrap_or(separator));
        new.publish(core);
        match parent {
            Some(parent) => parent.add(core, way[last - 1].child + 1, separator, right),
            None => {
                let root = self.at(above);
                root.initialise(core, level + 1, K::least(self.width), K::greatest(self.width));
                root.add(core, 0, first, way[last].offset);
                root.add(core, 1, separator, right);
                root.publish(core);
                core.store(&self.head.line, &self.head.root, above);
            }
        }
        node.unlatch_changed(core);
        if let Some(parent) = parent {
            parent.unlatch_changed(core);
        }
        true
    }
}
