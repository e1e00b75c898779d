//! One node of the tree: a line with a key, the range that starts with it, a value, and its neighbours; behind it the
//! rests of keys that are longer than a word.

use crate::index::key::TreeKey;
use machine::{Arena, Core, Machine, Word, Zeroed};
use std::{cmp::Ordering, ops::Deref};

/// In the word of the parent, offsets being even: the node is red.
const RED: u64 = 1;

/// A node owns the keys from its own to `last`. `value` is that of its key, 0 if it has none.
#[repr(C)]
pub(super) struct Node<M: Machine> {
    line: M::Line,
    key: Word,
    last: Word,
    value: Word,
    left: Word,
    right: Word,
    /// The parent, and the node's colour.
    parent: Word,
}

// SAFETY: a line and words, valid as zeros.
unsafe impl<M: Machine> Zeroed for Node<M> {}

/// Where a node keeps the rest of its key, and of the last that it owns.
const KEY: usize = 0;
const LAST: usize = 1;
/// Keys of which a node may have to keep the rests.
pub(super) const MOST_KEYS: usize = 2;

/// A node and the rests of its keys.
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

/// The node at `offset`.
#[inline(always)]
pub(super) fn node_at<M: Machine, K: TreeKey>(
    arena: &Arena,
    offset: u64,
    width: K::Width,
) -> NodeRef<'_, M, K> {
    let behind = offset + size_of::<Node<M>>() as u64;
    // SAFETY: offsets in the tree come from its own node slots, which hold a node and the rests of its keys and never
    // anything else there.
    unsafe {
        NodeRef {
            node: arena.at::<Node<M>>(offset),
            rests: K::rests(arena, behind, width, MOST_KEYS),
        }
    }
}

impl<M: Machine> Node<M> {
    /// Sets the parent of a node that is laid out; nothing else runs.
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

    /// The child on one side.
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

/// What a node does with keys.
impl<M: Machine, K: TreeKey> NodeRef<'_, M, K> {
    /// Sets up a node that nobody can reach yet: red, without value and without neighbours.
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

    /// As [`NodeRef::initialise`], with everything and without a core: nothing else runs.
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

    /// How its key compares with `key`.
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

    /// Takes all keys from a node that leaves the tree.
    pub fn own_nothing(&self, core: &M::Core, least: K) {
        self.set_last(core, least);
        debug_assert_ne!(self.key(core), least, "the least node stays");
    }

    /// True when `key` belongs to this node.
    #[inline(always)]
    pub fn owns(&self, core: &M::Core, key: K) -> bool {
        self.key(core) <= key && key <= self.last(core)
    }
}
