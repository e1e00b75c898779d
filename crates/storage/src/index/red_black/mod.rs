//! An ordered index for comparison: a red-black tree with one node for each key.
//!
//! Source: Cormen et al., "Introduction to Algorithms", chapter 13. It is the index of one of the systems in
//! "Micro-architectural analysis of in-memory OLTP: Revisited" (VLDB Journal 2021, 4.2.1). Every node lies on a line of
//! its own, so every step of a way down is a cache miss where the tree is larger than the cache.
//!
//! The whole tree is synchronised by one version, as a sequence lock (Boehm, "Can seqlocks get along with programming
//! language memory models?", MSPC 2012). A reader takes no latch. It reads the version, looks, and uses what it saw
//! only if the version is still the same. A writer latches the version.
//!
//! Why this is right: a rotation moves nodes that readers are passing. But a reader whose version is unchanged has
//! seen a tree that existed at one moment, so rotations need no argument of their own. The price is that one insertion
//! makes all readers look again. The studies that use this tree do not insert while they measure. A reader that has
//! failed [`PATIENCE`] times acquires the latch, so every read comes to an end.
//!
//! Decisions:
//! - A node owns the keys from its own key to the one before the next node's key. It corresponds to a leaf of
//!   [`OrderedIndex`](super::OrderedIndex). A leaf's guard there guards here the gap behind a key. A full leaf
//!   there corresponds here to a key without a node. So ranges are protected as precisely as keys lie, and the
//!   interface is the same.
//! - The node of the least key is always in the tree. It owns the keys that lie before all other nodes.
//! - A removed value leaves its node behind. The caller unlinks the node as it would unlink an empty leaf.
//! - A scan descends again for each key, so there are no links between neighbours to maintain.
//!
//! Invariants, while the tree is not latched:
//! - The ranges that the nodes own tile the key space.
//! - The rules of the colours hold (see `balance.rs`).
//! - The version changes with every change of the tree. A node's words change only under the latch.

mod balance;
mod node;
#[cfg(test)]
mod tests;

use super::key::TreeKey;
use super::ordered::{Insertion, LeafCopy, NodeSource, Unlinking};
use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
use node::{MOST_KEYS, Node, NodeRef, node_at};

/// Set in the version while a writer holds the latch.
const LATCHED: u64 = 1;
/// Number that each change adds to the version.
const CHANGE: u64 = 2;
/// Number of failed looks after which a reader acquires the latch.
const PATIENCE: usize = 8;
/// Limit of the steps of a way down. No way in a consistent tree is as long: it has at most twice the binary logarithm
/// of the number of nodes. A reader that meets a changing tree can walk in circles without the limit.
const MOST_STEPS: usize = 128;

/// Head of the tree, and its version.
#[repr(C, align(64))]
struct Head<M: Machine> {
    line: M::Line,
    /// Counter of changes with the bit [`LATCHED`].
    version: Word,
    /// Offset of the root. Never 0: the node of the least key stays.
    root: Word,
}

// SAFETY: the type consists of a line and words, and zeros are valid for all of them.
unsafe impl<M: Machine> Zeroed for Head<M> {}

/// Red-black tree that maps keys to offsets of records. A node is named by the offset of its slot.
pub struct RedBlackTree<M: Machine, K: TreeKey = u64> {
    arena: Arc<Arena>,
    head: Shared<Head<M>>,
    slot_bytes: u64,
    width: K::Width,
}

impl<M: Machine, K: TreeKey> RedBlackTree<M, K> {
    /// Returns the bytes that an index for `rows` rows needs, with a tail of `tail_bytes` for each node.
    pub fn bytes_for(rows: u64, width: K::Width, tail_bytes: u64) -> u64 {
        rows.saturating_add(1).saturating_mul(Self::slot_bytes_with(width, tail_bytes))
    }

    #[inline(always)]
    fn tail_with(width: K::Width) -> u64 {
        (size_of::<Node<M>>() as u64 + K::rest_bytes::<M>(width, MOST_KEYS)).next_multiple_of(64)
    }

    fn slot_bytes_with(width: K::Width, tail_bytes: u64) -> u64 {
        (Self::tail_with(width) + tail_bytes).next_multiple_of(64)
    }

    /// Makes an empty index whose slots end in tails of `tail_bytes`.
    pub fn new(arena: &Arc<Arena>, width: K::Width, tail_bytes: u64) -> Result<Self, OutOfMemory> {
        let head = arena.place(Place::Any)?;
        let slot_bytes = Self::slot_bytes_with(width, tail_bytes);
        let tree = RedBlackTree { arena: arena.clone(), head, slot_bytes, width };
        tree.build(std::iter::empty())?;
        Ok(tree)
    }

    /// Returns the size that all keys of the tree have in common.
    #[inline(always)]
    pub fn width(&self) -> K::Width {
        self.width
    }

    /// Returns where the caller's tail starts in a slot.
    #[inline(always)]
    pub fn tail(&self) -> u64 {
        Self::tail_with(self.width)
    }

    /// Returns the bytes of a node's slot, its tail included.
    pub fn slot_bytes(&self) -> u64 {
        self.slot_bytes
    }

    #[inline(always)]
    fn at(&self, offset: u64) -> NodeRef<'_, M, K> {
        node_at(&self.arena, offset, self.width)
    }

    fn latch(&self, core: &M::Core) {
        let head = &self.head;
        loop {
            let version = core.wait_while(&head.line, &head.version, |v| v & LATCHED != 0);
            if core.cas(&head.line, &head.version, version, version | LATCHED).is_ok() {
                return;
            }
        }
    }

    /// Releases the latch. `changed` says whether readers must look again.
    fn unlatch(&self, core: &M::Core, changed: bool) {
        let version = core.load_relaxed(&self.head.line, &self.head.version) & !LATCHED;
        let change = if changed { CHANGE } else { 0 };
        core.store(&self.head.line, &self.head.version, version + change);
        core.wake(&self.head.line, &self.head.version);
    }

    /// Returns what `look` sees of a tree that does not change meanwhile. `look` can also be called while another
    /// session changes the tree, and must come to an end then as well. Its result is then discarded.
    #[inline(always)]
    fn read<T>(&self, core: &M::Core, mut look: impl FnMut() -> T) -> T {
        for _ in 0..PATIENCE {
            let head = &self.head;
            let version = core.wait_while(&head.line, &head.version, |v| v & LATCHED != 0);
            let seen = look();
            core.fence_acquire();
            if core.load_relaxed(&head.line, &head.version) == version {
                return seen;
            }
        }
        self.latch(core);
        let seen = look();
        self.unlatch(core, false);
        seen
    }

    /// Returns the node that owns `key`. If another session changes the tree meanwhile, the result can be any node.
    #[inline(always)]
    fn owner(&self, core: &M::Core, key: K) -> u64 {
        let mut at = core.load_relaxed(&self.head.line, &self.head.root);
        let mut owner = at;
        for _ in 0..MOST_STEPS {
            if at == 0 {
                return owner;
            }
            let node = self.at(at);
            node.prefetch(core);
            let its = node.compare(core, key);
            if its.is_le() {
                owner = at;
                if its.is_eq() {
                    return owner;
                }
            }
            at = node.child(core, its.is_lt());
        }
        owner
    }

    /// Returns the node that owns `key`, and the value of `key` if it has one.
    #[inline]
    pub fn seek(&self, core: &M::Core, key: K) -> (u64, Option<u64>) {
        self.read(core, || {
            let owner = self.owner(core, key);
            let node = self.at(owner);
            let value = if node.compare(core, key).is_eq() { node.value(core) } else { 0 };
            (owner, (value != 0).then_some(value))
        })
    }

    /// Returns the value of `key`.
    #[inline]
    pub fn find(&self, core: &M::Core, key: K) -> Option<u64> {
        self.seek(core, key).1
    }

    /// Returns what `node` owns and holds now, or none if `key` no longer belongs to it. Calls `beside` with the
    /// node's range. If the look fails its validation, `beside` is called again. Its last call happens while the tree
    /// does not change.
    pub fn read_leaf(
        &self,
        core: &M::Core,
        node: u64,
        key: K,
        beside: &mut dyn FnMut(K, K),
    ) -> Option<LeafCopy<K>> {
        let node = self.at(node);
        let (first, last, value) = self.read(core, || {
            let seen = (node.key(core), node.last(core), node.value(core));
            beside(seen.0, seen.1);
            seen
        });
        let entry = (value != 0).then_some((first, value));
        (first <= key && key <= last).then(|| LeafCopy::of_one(first, last, entry))
    }

    /// Gives `key` its value if it has a node of its own, `node`. When that is certain, `prepare` runs under the
    /// latch, before other sessions can find the value. If `prepare` returns an error, the tree is unchanged.
    pub fn insert<E>(
        &self,
        core: &M::Core,
        node: u64,
        key: K,
        value: u64,
        prepare: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Insertion, E> {
        self.latch(core);
        let node = self.at(node);
        let outcome = match node.value(core) {
            _ if !node.owns(core, key) => Insertion::Moved,
            _ if node.compare(core, key).is_ne() => Insertion::Full,
            0 => {
                let prepared = prepare();
                if prepared.is_ok() {
                    node.set_value(core, value);
                }
                self.unlatch(core, true);
                return prepared.map(|()| Insertion::Made);
            }
            value => Insertion::Existing(value),
        };
        self.unlatch(core, false);
        Ok(outcome)
    }

    /// Makes a node for `key`, which `node` owns. Does nothing if this is no longer needed. Calls `announce` with the
    /// node and the new node that is to own the keys from `key` on, under the latch and before other sessions can find
    /// the new one. If `announce` returns an error, the tree is unchanged.
    pub fn split<E: From<OutOfMemory>>(
        &self,
        core: &M::Core,
        node: u64,
        key: K,
        source: &mut dyn NodeSource,
        announce: &mut dyn FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let right = source.take()?;
        self.latch(core);
        let owner = self.at(node);
        if !owner.owns(core, key) || owner.compare(core, key).is_eq() {
            self.unlatch(core, false);
            source.give_back(right);
            return Ok(());
        }
        let told = announce(node, right);
        if told.is_ok() {
            self.at(right).initialise(core, key, owner.last(core));
            owner.set_last(core, key.before(self.width).unwrap_or(key));
            self.link(core, right);
        } else {
            source.give_back(right);
        }
        self.unlatch(core, told.is_ok());
        told
    }

    /// Removes the value of `key` if it is `value`. Returns its node, which is empty now. `prepare` runs first, under
    /// the latch, with the node's name.
    pub fn remove(
        &self,
        core: &M::Core,
        key: K,
        value: u64,
        prepare: &mut dyn FnMut(u64),
    ) -> Option<(u64, bool)> {
        self.latch(core);
        let owner = self.owner(core, key);
        let node = self.at(owner);
        let found = node.compare(core, key).is_eq() && node.value(core) == value;
        if found {
            prepare(owner);
            node.set_value(core, 0);
        }
        self.unlatch(core, found);
        found.then_some((owner, true))
    }

    /// Removes `node`, which owns `key`, from the tree if it has no value. The node before it takes over its range.
    /// Calls `bequeath` with both, under the latch.
    pub fn unlink(
        &self,
        core: &M::Core,
        node: u64,
        key: K,
        bequeath: &mut dyn FnMut(u64, u64),
    ) -> Unlinking {
        self.latch(core);
        let gone = self.at(node);
        let before = gone.key(core).before(self.width);
        let unneeded = before.is_none() || !gone.owns(core, key) || gone.value(core) != 0;
        let Some(before) = before.filter(|_| !unneeded) else {
            self.unlatch(core, false);
            return Unlinking::Unneeded;
        };
        let heir = self.owner(core, before);
        core.fence();
        bequeath(node, heir);
        self.at(heir).set_last(core, gone.last(core));
        self.unlink_node(core, node);
        gone.own_nothing(core, K::least(self.width));
        self.unlatch(core, true);
        Unlinking::Done(vec![node])
    }

    /// Builds the balanced tree of an index that was empty so far. Entries come in ascending order of distinct keys.
    /// No other thread runs.
    pub fn build(&self, entries: impl Iterator<Item = (K, u64)>) -> Result<(), OutOfMemory> {
        let mut entries: Vec<(K, u64)> = entries.collect();
        let (least, greatest) = (K::least(self.width), K::greatest(self.width));
        if entries.first().is_none_or(|(key, _)| *key != least) {
            entries.insert(0, (least, 0));
        }
        // Full levels are black. The nodes below the last full level are red.
        let full = (entries.len() + 1).ilog2();
        let root = self.build_below(&entries, greatest, full)?;
        self.head.root.poke(root);
        Ok(())
    }

    /// Builds a subtree of `entries` with `full` full levels. The last entry's node owns all keys up to `last`.
    fn build_below(&self, entries: &[(K, u64)], last: K, full: u32) -> Result<u64, OutOfMemory> {
        if entries.is_empty() {
            return Ok(0);
        }
        let middle = entries.len() / 2;
        let (below, above) = (&entries[..middle], &entries[middle + 1..]);
        let node = self.arena.allocate(self.slot_bytes, 64, Place::Any)?;
        let just_before = |key: K| key.before(self.width);
        let own_last = above.first().and_then(|(key, _)| just_before(*key)).unwrap_or(last);
        let levels = full.saturating_sub(1);
        let left =
            self.build_below(below, just_before(entries[middle].0).unwrap_or(last), levels)?;
        let right = self.build_below(above, last, levels)?;
        self.at(node).lay_out(entries[middle], own_last, (left, right), full == 0);
        [left, right].into_iter().filter(|child| *child != 0).for_each(|child| {
            self.at(child).lay_below(node);
        });
        Ok(node)
    }
}
