//! Index of a table in key order: one of two trees, with the same interface.
//!
//! Both trees keep the same contract, which the table's code relies on:
//! - Leaves tile the key space. Every key belongs to exactly one leaf at any time.
//! - A leaf is named by the offset of its slot. The name can become stale at any time, so every operation that takes a
//!   leaf also takes a key, and reports if the key no longer belongs to the leaf.
//! - Callbacks (`prepare`, `announce`, `bequeath`) run under the latch of the leaves that they are told, before
//!   another session can find what changes. `prepare` of an insertion and `announce` count it in the leaf's guard before they
//!   read anything that other sessions write. The fence of that count (`Guard::count_insertion`) comes after the latch, so
//!   what a session wrote before it read the leaf without the latch is visible then. Before `bequeath` the trees have a fence of
//!   their own.
//! - A slot that has left the tree can still be read by sessions that found it before. The caller reuses it only when
//!   the epochs allow it.

#[cfg(test)]
mod tests;

use super::{
    OrderedIndex, RedBlackTree, TreeKey,
    ordered::{Insertion, LeafCopy, LeafPath, NodeSource, Unlinking},
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};

/// One of the trees. The documentation of each tree describes what a method does and when it runs its callbacks.
pub enum Tree<M: Machine, K: TreeKey = u64> {
    /// [`OrderedIndex`], the usual one: a B+tree.
    BTree(OrderedIndex<M, K>),
    /// [`RedBlackTree`], with one node for each key.
    RedBlack(RedBlackTree<M, K>),
}

/// Calls a method of the tree that was chosen.
macro_rules! chosen {
    ($tree:expr, $it:ident => $call:expr) => {
        match $tree {
            Tree::BTree($it) => $call,
            Tree::RedBlack($it) => $call,
        }
    };
}

/// Wraps a function that runs once into the form in which the trees take it: behind a pointer. So the code of a tree
/// is compiled once for each machine and type of key, and not again for every protocol that calls it.
fn once<A, T>(call: impl FnOnce(A) -> T) -> impl FnMut(A) -> T {
    let mut call = Some(call);
    move |arguments| call.take().expect("a tree runs what it is given once")(arguments)
}

impl<M: Machine, K: TreeKey> Tree<M, K> {
    /// Returns the bytes that an index for `rows` rows needs, with a tail of `tail_bytes` for each node.
    pub fn bytes_for(red_black: bool, rows: u64, width: K::Width, tail_bytes: u64) -> u64 {
        match red_black {
            false => OrderedIndex::<M, K>::bytes_for(rows, width, tail_bytes),
            true => RedBlackTree::<M, K>::bytes_for(rows, width, tail_bytes),
        }
    }

    /// Makes an empty index whose slots end in tails of `tail_bytes`.
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

    /// Returns the size that all keys of the tree have in common.
    #[inline(always)]
    pub fn width(&self) -> K::Width {
        chosen!(self, tree => tree.width())
    }

    /// Returns where the caller's tail starts in a slot.
    #[inline(always)]
    pub fn tail(&self) -> u64 {
        chosen!(self, tree => tree.tail())
    }

    /// Returns the bytes of a node's slot, its tail included.
    pub fn slot_bytes(&self) -> u64 {
        chosen!(self, tree => tree.slot_bytes())
    }

    /// Returns the leaf of `key`, and the value of `key` if the leaf holds it.
    #[inline(always)]
    pub fn seek(&self, core: &M::Core, key: K) -> (u64, Option<u64>) {
        chosen!(self, tree => tree.seek(core, key))
    }

    /// Does the same as [`Tree::seek`]. `leaf` is where the key is likely to be.
    #[inline(always)]
    pub fn seek_from(&self, core: &M::Core, leaf: u64, key: K) -> (u64, Option<u64>) {
        match self {
            Tree::BTree(tree) => tree.seek_from(core, leaf, key),
            Tree::RedBlack(tree) => tree.seek(core, key),
        }
    }

    /// Returns the leaf to which `key` is likely to belong: [`OrderedIndex::leaf_along`].
    #[inline(always)]
    pub fn leaf_along(&self, core: &M::Core, key: K, path: &mut LeafPath) -> u64 {
        match self {
            Tree::BTree(tree) => tree.leaf_along(core, key, path),
            Tree::RedBlack(tree) => tree.seek(core, key).0,
        }
    }

    /// Returns the value of `key`.
    #[inline(always)]
    pub fn find(&self, core: &M::Core, key: K) -> Option<u64> {
        chosen!(self, tree => tree.find(core, key))
    }

    /// Returns a copy of `leaf` as it is now, or none if `key` no longer belongs to it. Calls `beside` with the leaf's
    /// range at a moment when the leaf does not change. If `beside` is called several times, only its last call
    /// counts.
    pub fn read_leaf(
        &self,
        core: &M::Core,
        leaf: u64,
        key: K,
        beside: &mut dyn FnMut(K, K),
    ) -> Option<LeafCopy<K>> {
        chosen!(self, tree => tree.read_leaf(core, leaf, key, beside))
    }

    /// Inserts `key` into `leaf` if the key belongs there and the leaf has room.
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

    /// Inserts `keys` into `leaf`, as far as they belong there, are new, and find room: [`OrderedIndex::insert_run`]. A leaf
    /// of a red-black tree holds one key at most, so no key is inserted there.
    pub fn insert_run<E>(
        &self,
        core: &M::Core,
        leaf: u64,
        keys: &mut dyn Iterator<Item = K>,
        make: &mut dyn FnMut(K) -> Result<u64, E>,
    ) -> Result<(), E> {
        match self {
            Tree::BTree(tree) => tree.insert_run(core, leaf, keys, make),
            Tree::RedBlack(_) => Ok(()),
        }
    }

    /// Splits a full `leaf` to make room for `key`.
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

    /// Removes `key` if its value is `value`. Returns its leaf and whether the leaf is empty now.
    pub fn remove(
        &self,
        core: &M::Core,
        key: K,
        value: u64,
        prepare: impl FnOnce(u64),
    ) -> Option<(u64, bool)> {
        chosen!(self, tree => tree.remove(core, key, value, &mut once(prepare)))
    }

    /// Removes `leaf`, to which `key` belongs, from the tree if it is empty.
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

    /// Builds the tree of an index that was empty so far. No other thread runs.
    pub fn build(&self, entries: impl Iterator<Item = (K, u64)>) -> Result<(), OutOfMemory> {
        chosen!(self, tree => tree.build(entries))
    }
}
