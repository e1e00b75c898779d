//! The index of a table in key order, whichever was chosen.

#[cfg(test)]
mod tests;

use super::{
    OrderedIndex, RedBlackTree, TreeKey,
    ordered::{Insertion, LeafCopy, NodeSource, Unlinking},
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};

/// One of the trees. What each method does, and which of its arguments' calls run when, say the trees.
pub enum Tree<M: Machine, K: TreeKey = u64> {
    /// [`OrderedIndex`], the usual one.
    BTree(OrderedIndex<M, K>),
    /// [`RedBlackTree`], one node a key.
    RedBlack(RedBlackTree<M, K>),
}

/// Calls the method of the tree that was chosen.
macro_rules! chosen {
    ($tree:expr, $it:ident => $call:expr) => {
        match $tree {
            Tree::BTree($it) => $call,
            Tree::RedBlack($it) => $call,
        }
    };
}

/// A call that runs once, in the form that trees take it in: behind a pointer, so that their code is compiled
/// once for a machine and a kind of key, and not once more for every protocol that calls.
fn once<A, T>(call: impl FnOnce(A) -> T) -> impl FnMut(A) -> T {
    let mut call = Some(call);
    move |arguments| call.take().expect("a tree runs what it is given once")(arguments)
}

impl<M: Machine, K: TreeKey> Tree<M, K> {
    /// Bytes that an index for `rows` rows needs, with a tail of `tail_bytes` for each node.
    pub fn bytes_for(red_black: bool, rows: u64, width: K::Width, tail_bytes: u64) -> u64 {
        match red_black {
            false => OrderedIndex::<M, K>::bytes_for(rows, width, tail_bytes),
            true => RedBlackTree::<M, K>::bytes_for(rows, width, tail_bytes),
        }
    }

    /// An empty index whose slots end in tails of `tail_bytes`.
    pub fn new(
        red_black: bool,
        arena: &Arc<Arena>,
        width: K::Width,
        tail_bytes: u64,
    ) -> Result<Tree<M, K>, OutOfMemory> {
        Ok(match red_black {
            false => Tree::BTree(OrderedIndex::new(arena, width, tail_bytes)?),
            true => Tree::RedBlack(RedBlackTree::new(arena, width, tail_bytes)?),
        })
    }

    /// What its keys have in common.
    #[inline(always)]
    pub fn width(&self) -> K::Width {
        chosen!(self, tree => tree.width())
    }

    /// Where the caller's tail starts in a slot.
    #[inline(always)]
    pub fn tail(&self) -> u64 {
        chosen!(self, tree => tree.tail())
    }

    /// Bytes of a node's slot, its tail included.
    pub fn slot_bytes(&self) -> u64 {
        chosen!(self, tree => tree.slot_bytes())
    }

    /// The leaf of `key`, and the value of `key` if it is in there.
    #[inline(always)]
    pub fn seek(&self, core: &M::Core, key: K) -> (u64, Option<u64>) {
        chosen!(self, tree => tree.seek(core, key))
    }

    /// The value of `key`.
    #[inline(always)]
    pub fn find(&self, core: &M::Core, key: K) -> Option<u64> {
        chosen!(self, tree => tree.find(core, key))
    }

    /// A copy of `leaf` as it is just now; none if `key` does not belong into it any more. `beside` is told its range while
    /// nobody changes it.
    pub fn read_leaf(
        &self,
        core: &M::Core,
        leaf: u64,
        key: K,
        beside: &mut dyn FnMut(K, K),
    ) -> Option<LeafCopy<K>> {
        chosen!(self, tree => tree.read_leaf(core, leaf, key, beside))
    }

    /// Puts `key` into `leaf` if it belongs there and has room.
    pub fn insert<E>(
        &self,
        core: &M::Core,
        leaf: u64,
        key: K,
        value: u64,
        prepare: impl FnOnce() -> Result<(), E>,
    ) -> Result<Insertion, E> {
        let mut prepare = once(|()| prepare());
        chosen!(self, tree => tree.insert(core, leaf, key, value, &mut || prepare(())))
    }

    /// Makes room for `key` in a full `leaf`.
    pub fn split<E: From<OutOfMemory>>(
        &self,
        core: &M::Core,
        leaf: u64,
        key: K,
        source: &mut dyn NodeSource,
        announce: impl FnOnce(u64, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut announce = once(|(leaf, right)| announce(leaf, right));
        let mut announce = |leaf, right| announce((leaf, right));
        chosen!(self, tree => tree.split(core, leaf, key, source, &mut announce))
    }

    /// Takes `key` out if its value is `value`, and returns its leaf and whether that is empty now.
    pub fn remove(
        &self,
        core: &M::Core,
        key: K,
        value: u64,
        prepare: impl FnOnce(u64),
    ) -> Option<(u64, bool)> {
        chosen!(self, tree => tree.remove(core, key, value, &mut once(prepare)))
    }

    /// Takes `leaf`, into which `key` belongs, out of the tree if it is empty.
    pub fn unlink(
        &self,
        core: &M::Core,
        leaf: u64,
        key: K,
        bequeath: impl FnOnce(u64, u64),
    ) -> Unlinking {
        let mut bequeath = once(|(gone, heir)| bequeath(gone, heir));
        chosen!(self, tree => tree.unlink(core, leaf, key, &mut |gone, heir| bequeath((gone, heir))))
    }

    /// Makes the tree of an index that was empty so far. Nothing else runs.
    pub fn build(&self, entries: impl Iterator<Item = (K, u64)>) -> Result<(), OutOfMemory> {
        chosen!(self, tree => tree.build(entries))
    }
}
