//! One node of the tree: a line with a key, the range that starts with it, a value, and its neighbours. Behind it lie
//! the rests of keys that are longer than a word.

use crate::index::key::TreeKey;
use machine::{Arena, Core, Machine, Word, Zeroed};
use std::{cmp::Ordering, ops::Deref};

/// Set in the word of the parent if the node is red. Offsets are even, so this bit is free.
const RED: u64 = 1;

/// Node of the tree. It owns the keys from `key` to `last`.
#[repr(C)]
pub(super) struct Node<M: Machine> {
    line: M::Line,
    /// Prefix of the node's key. Never changes while the node is in the tree.
    key: Word,
    /// Prefix of the last key that the node owns.
    last: Word,
    /// Value of the node's key, 0 if it has none.
    value: Word,
    /// Offset of the left child, 0 if there is none. All keys below it are less than the node's key.
    left: Word,
    /// Offset of the right child, 0 if there is none. All keys below it are greater than the node's key.
    right: Word,
    /// Offset of the parent, 0 for the root, and the node's colour.
    parent: Word,
}

// SAFETY: the type consists of a line and words, and zeros are valid for all of them.
unsafe impl<M: Machine> Zeroed for Node<M> {}

/// Places where a node keeps the rests of its key and of the last key that it owns.
const KEY: usize = 0;
const LAST: usize = 1;
/// Number of keys whose rests a node can have to keep.
pub(super) const MOST_KEYS: usize = 2;

/// Node with the rests of its keys.
pub(super) struct NodeRef<'n, M: Machine, K: TreeKey> {
    node: &'n Node<M>,
    rests: K::Rest<'n, M>,
}

impl<M: Machine, K: TreeKey> Deref for NodeRef<'_, M, K> {
    type Target = Node<M>;

    #[inline(always)]
    fn deref(&self) -> &Node<M> {
        self.node
    }
}

/// Returns the node at `offset`.
#[inline(always)]
pub(super) fn node_at<M: Machine, K: TreeKey>(
    arena: &Arena,
    offset: u64,
    width: K::Width,
) -> NodeRef<'_, M, K> {
    let behind = offset + size_of::<Node<M>>() as u64;
    // SAFETY: offsets in the tree come from its own node slots. Each of them holds a node and the rests of its keys,
    // and never anything else in these places.
    unsafe {
        NodeRef {
            node: arena.at::<Node<M>>(offset),
            rests: K::rests(arena, behind, width, MOST_KEYS),
        }
    }
}

impl<M: Machine> Node<M> {
    /// Sets the parent of a node that is laid out. No other thread runs.
    pub fn lay_below(&self, parent: u64) {
        self.parent.poke(parent | (self.parent.peek() & RED));
    }

    #[inline(always)]
    pub fn value(&self, core: &M::Core) -> u64 {
        core.load_relaxed(&self.line, &self.value)
    }

    pub fn set_value(&self, core: &M::Core, value: u64) {
        core.store(&self.line, &self.value, value);
    }

    #[inline(always)]
    pub fn left(&self, core: &M::Core) -> u64 {
        core.load_relaxed(&self.line, &self.left)
    }

    #[inline(always)]
    pub fn right(&self, core: &M::Core) -> u64 {
        core.load_relaxed(&self.line, &self.right)
    }

    /// Returns the child on one side, 0 if there is none.
    pub fn child(&self, core: &M::Core, right: bool) -> u64 {
        if right { self.right(core) } else { self.left(core) }
    }

    pub fn set_child(&self, core: &M::Core, right: bool, child: u64) {
        core.store(&self.line, if right { &self.right } else { &self.left }, child);
    }

    pub fn parent(&self, core: &M::Core) -> u64 {
        core.load_relaxed(&self.line, &self.parent) & !RED
    }

    pub fn set_parent(&self, core: &M::Core, parent: u64) {
        let colour = core.load_relaxed(&self.line, &self.parent) & RED;
        core.store(&self.line, &self.parent, parent | colour);
    }

    pub fn is_red(&self, core: &M::Core) -> bool {
        core.load_relaxed(&self.line, &self.parent) & RED != 0
    }

    pub fn set_red(&self, core: &M::Core, red: bool) {
        let parent = self.parent(core);
        core.store(&self.line, &self.parent, parent | u64::from(red));
    }

    /// Asks the host to fetch the node.
    #[inline(always)]
    pub fn prefetch(&self, core: &M::Core) {
        core.prefetch(std::ptr::from_ref(self).cast(), size_of::<Node<M>>());
    }
}

/// Operations of a node on keys.
impl<M: Machine, K: TreeKey> NodeRef<'_, M, K> {
    /// Sets up a node that no other session can reach yet: red, without value and without neighbours.
    pub fn initialise(&self, core: &M::Core, key: K, last: K) {
        for (word, value) in [
            (&self.key, key.prefix()),
            (&self.last, last.prefix()),
            (&self.value, 0),
            (&self.left, 0),
            (&self.right, 0),
            (&self.parent, RED),
        ] {
            core.store_relaxed(&self.line, word, value);
        }
        key.store(core, self.rests, KEY);
        last.store(core, self.rests, LAST);
    }

    /// Like [`NodeRef::initialise`], with all words and without a core. No other thread runs.
    pub fn lay_out(&self, entry: (K, u64), last: K, children: (u64, u64), red: bool) {
        self.key.poke(entry.0.prefix());
        entry.0.poke(self.rests, KEY);
        self.value.poke(entry.1);
        self.last.poke(last.prefix());
        last.poke(self.rests, LAST);
        self.left.poke(children.0);
        self.right.poke(children.1);
        self.parent.poke(u64::from(red));
    }

    #[inline(always)]
    pub fn key(&self, core: &M::Core) -> K {
        K::load(core, core.load_relaxed(&self.line, &self.key), self.rests, KEY)
    }

    /// Compares the node's key with `key`.
    #[inline(always)]
    pub fn compare(&self, core: &M::Core, key: K) -> Ordering {
        let order = core.load_relaxed(&self.line, &self.key).cmp(&key.prefix());
        if order.is_eq() { K::compare(core, self.rests, KEY, key) } else { order }
    }

    #[inline(always)]
    pub fn last(&self, core: &M::Core) -> K {
        K::load(core, core.load_relaxed(&self.line, &self.last), self.rests, LAST)
    }

    pub fn set_last(&self, core: &M::Core, last: K) {
        core.store(&self.line, &self.last, last.prefix());
        last.store(core, self.rests, LAST);
    }

    /// Removes all keys from the range of a node that leaves the tree.
    pub fn own_nothing(&self, core: &M::Core, least: K) {
        self.set_last(core, least);
        debug_assert_ne!(self.key(core), least, "the least node stays");
    }

    /// Returns true if `key` belongs to this node.
    #[inline(always)]
    pub fn owns(&self, core: &M::Core, key: K) -> bool {
        self.key(core) <= key && key <= self.last(core)
    }
}
