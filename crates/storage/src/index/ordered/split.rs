//! Making room: a full node gives its upper entries to a new one on its right.

use super::{NodeSource, OrderedIndex, Step, TreeKey};
use machine::{Core, Machine, OutOfMemory};

impl<M: Machine, K: TreeKey> OrderedIndex<M, K> {
    /// Splits `leaf`, and the ancestors that are in the way, so that `key` finds room; does nothing if
    /// meanwhile that is not needed any more. `announce` is told the leaf and the one that is to take its
    /// upper part, under the leaf's latch and before anybody can find the new one; if it refuses, nothing
    /// has happened.
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
            // The node to split is the highest one that is full and has nothing but full ones below it.
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

    /// Splits the last node of `way`, whose parent has room, if nothing on the way has changed and
    /// `announce` agrees.
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
        let may = latched && (parent.is_some() || is_root()) && {
            core.fence();
            announce()
        };
        if !may {
            if latched {
                node.unlatch(core);
            }
            if let Some(parent) = parent {
                parent.unlatch(core);
            }
            return false;
        }
        let (level, count) = (node.level(core), node.count(core));
        let (first, end) = node.range(core);
        // A key that comes last starts the new node, alone if it may: an inner node must have a child.
        let comes_last = key > node.key(core, count - 1);
        let (at, separator) = match (comes_last, level) {
            (true, 0) => (count, key),
            (true, _) => (count - 1, node.key(core, count - 1)),
            (false, _) => (count / 2, node.key(core, count / 2)),
        };
        let new = self.at(right);
        new.initialise(core, level, separator, end);
        node.move_to(core, at, new);
        node.set_last(core, separator.before(self.width).unwrap_or(separator));
        match parent {
            Some(parent) => parent.add(core, way[last - 1].child + 1, separator, right),
            None => {
                let root = self.at(above);
                root.initialise(core, level + 1, K::least(self.width), K::greatest(self.width));
                root.add(core, 0, first, way[last].offset);
                root.add(core, 1, separator, right);
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
