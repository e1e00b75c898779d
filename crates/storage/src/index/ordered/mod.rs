//! An ordered index: a B+tree with optimistic lock coupling.
//!
//! Source: Leis, Haubenschild and Neumann, "Optimistic lock coupling: a scalable and efficient general-purpose
//! synchronization method", IEEE Data Engineering Bulletin 2019. The tree is Bayer and McCreight's, with all entries
//! in leaves.
//!
//! # Structure
//!
//! ```text
//!                          head: offset of the root
//!                                     |
//!                      inner node: [ - | 40 | 90 ]             level 1
//!                                   /     |     \
//!         leaf, keys 0 to 39       40 to 89      90 to MAX     level 0
//!         [ 7 | 12 | 31 ]       [ 40 | 55 ]      [ ]
//! ```
//!
//! - Leaves are on level 0. A child's level is its parent's level minus 1.
//! - A leaf holds keys and their values, in ascending order of distinct keys.
//! - An inner node holds, for each child, the least key that belongs below it, in ascending order. The first of these
//!   keys is never read: everything less than the second key belongs below the first child.
//! - Every node has a version word with a latch bit and an obsolete bit (see `node.rs`).
//!
//! # Invariants
//!
//! They hold for all nodes that are not latched:
//! 1. The ranges of the leaves in the tree tile the key space: no gap and no overlap. A leaf holds only keys of its
//!    range.
//! 2. The way down from the root for a key leads to the leaf whose range holds the key.
//! 3. A node's words change only while it is latched, or before other sessions can reach it. Releasing the latch of a
//!    changed node changes its version. So if a node has the same unlatched version twice, it has not changed in
//!    between.
//! 4. A node that has left the tree is obsolete until its slot is a node of the tree again. A latch on it cannot be acquired.
//! 5. A node's responsibility can lose keys only while its parent is latched too (or the head is changed, for the
//!    root).
//!
//! # Readers
//!
//! A reader takes no latch. At each inner node it does the following:
//! 1. It reads the child's offset and validates the node's version. So the offset was in the node under that version.
//! 2. It reads the child's version, and waits if the child is latched.
//! 3. It validates the node's version again, and then continues with the child.
//!
//! Why this is right: let the node be responsible for the key under its version. Step 3 shows that the node has not
//! changed until after the child's version was read. So at that moment the child was still the node's child for the
//! key, and by invariant 5 it was responsible for the key under the version read. By induction this holds for the
//! leaf. The reader then reads the leaf's entries and validates the leaf's version. So the entries are those of one
//! moment, at which the leaf was responsible for the key. If a validation fails, the reader starts again at the root.
//!
//! The root needs no validated parent: the reader reads the head, then the root's version, then the head again. When
//! the root is replaced, the old root is latched and its version changes, so a later validation fails.
//!
//! # Writers
//!
//! Writers latch only the nodes that they change:
//! - Insert and remove latch one leaf. An insertion of several keys latches one leaf, too, and ends where the leaf does. All of
//!   them can wait for this latch, because they hold no other. After the wait the leaf can be obsolete or cover another
//!   range, so they check its range.
//! - A split latches the parent and the node. An unlink latches the nodes between the fork and the leaf, and the
//!   neighbour that takes over the range. Both try to change the versions that they have read on the way down, and
//!   start again or give up if a version has changed. They never wait while they hold a latch.
//!
//! So no writer waits while it holds a latch, and a deadlock is impossible. A latch that is acquired under a version
//! read before also proves that the node has not changed since.
//!
//! # Kept leaves
//!
//! A session keeps the leaf in which it has last found or made a record of a table, and begins its next search there
//! ([`OrderedIndex::seek_from`]). It may have kept the leaf for long, so the slot can be any node of the same tree by now,
//! or none. Why the search is right nevertheless: a slot that is no node of the tree is obsolete. A new node loses
//! this mark when it has its range and its entries, while the node from which they came is latched, and nothing can
//! prevent any more that it becomes part of the tree. So a node without the mark is responsible for the range that
//! is in it. The search reads the version, the level, the range and the entries, and validates the version, as at the
//! end of a descent. The session is pinned, so a leaf that it has found does not get another role before it is used.
//!
//! # Deviations and decisions
//!
//! - A leaf stores the range of keys that belongs to it. A session that has waited before it uses a leaf can check
//!   whether it is still the right leaf.
//! - There are no links between leaves. A scan descends again for each leaf, in either direction. This costs reads of
//!   cached inner nodes, and saves every repair of links.
//! - A node splits when it is full. If the new key comes last, the node is not halved: the new key starts the next
//!   node. So ascending keys leave full nodes behind. If it continues a sequence in the middle of a leaf, the keys behind
//!   it move, so that several ascending sequences leave full nodes behind too.
//! - Nodes never borrow or merge while they hold entries. A leaf that has become empty is removed, together with all
//!   ancestors that hold nothing else, and a neighbour takes over its range. So memory is bounded by the number of
//!   entries, independently of earlier inserts and deletes, and also for ever-growing keys. The height never shrinks.
//!   A removed slot is reused when no session can see it any more: the caller waits for the epochs.
//! - Keys are words, or bytes up to a length that is fixed for each tree (`index/key.rs`). The part of a key that does
//!   not fit into a word lies behind the node.
//! - Nodes lie in slots with a tail that belongs to the caller. The table keeps a leaf's guard there.

mod build;
mod node;
mod split;
mod unlink;

pub use unlink::Unlinking;

use super::key::TreeKey;
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
pub use node::MOST_ENTRIES;
use node::{MOST_KEYS, Node, NodeRef, capacity, node_at};
use std::marker::PhantomData;
use txn::Direction;

/// Head of the tree.
#[repr(C, align(64))]
struct Head<M: Machine> {
    /// Line of the head, which only a split of the root writes.
    line: M::Line,
    /// Offset of the root. It changes only while the old root is latched.
    root: Word,
}

// SAFETY: the type consists of a line and a word, and zeros are valid for both.
unsafe impl<M: Machine> Zeroed for Head<M> {}

/// Source of slots for nodes, [`OrderedIndex::slot_bytes`] each.
pub trait NodeSource {
    /// Returns a slot that no session can see.
    fn take(&mut self) -> Result<u64, OutOfMemory>;
    /// Takes back a slot that was taken and not used.
    fn give_back(&mut self, slot: u64);
}

/// B+tree that maps keys to offsets of records. A leaf is named by the offset of its slot.
pub struct OrderedIndex<M: Machine, K: TreeKey = u64> {
    arena: Arc<Arena>,
    head: Shared<Head<M>>,
    /// Bytes of a node's slot, its tail included.
    slot_bytes: u64,
    /// Size that all keys of the tree have in common.
    width: K::Width,
    machine: PhantomData<fn() -> M>,
}

/// Outcome of [`OrderedIndex::insert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// The key was inserted.
    Made,
    /// The key was already in the leaf, with this value.
    Existing(u64),
    /// The key no longer belongs to that leaf. The caller looks up its leaf again.
    Moved,
    /// The leaf has no room. The caller splits it and then looks up the key's leaf again.
    Full,
}

/// Copy of a leaf as it was at one moment.
#[derive(Clone, Debug)]
pub struct LeafCopy<K: TreeKey = u64> {
    /// Least key that belongs to the leaf.
    pub first: K,
    /// Greatest key that belongs to the leaf.
    pub last: K,
    /// Number of entries. The elements of `entries` beyond it have no meaning.
    count: usize,
    entries: [(K, u64); MOST_ENTRIES],
}

impl<K: TreeKey> LeafCopy<K> {
    /// Returns the copy of a leaf of at most one entry.
    pub(crate) fn of_one(first: K, last: K, entry: Option<(K, u64)>) -> LeafCopy<K> {
        let entries = [entry.unwrap_or((first, 0)); MOST_ENTRIES];
        LeafCopy { first, last, count: usize::from(entry.is_some()), entries }
    }

    /// Returns the leaf's keys and their values, in ascending order.
    pub fn entries(&self) -> &[(K, u64)] {
        &self.entries[..self.count]
    }
}

/// How a scan has come to a leaf: by a child of the node above it. The neighbour of this child is the next leaf, as long as the node
/// does not change.
#[derive(Clone, Copy, Debug)]
pub struct LeafPath {
    direction: Direction,
    above: Option<Step>,
}

impl LeafPath {
    /// False on machines that charge for look-ups, so that what a scan costs is not hidden.
    const fn is_kept<M: Machine>() -> bool {
        !M::MODELLED || M::MINIATURE
    }

    /// Returns the path of a scan that has come to no leaf yet.
    pub fn new(direction: Direction) -> LeafPath {
        LeafPath { direction, above: None }
    }

    /// Forgets how the scan has come to its leaf, because this is not the leaf of the key that it wants.
    pub fn forget(&mut self) {
        self.above = None;
    }
}

/// One node of a way down.
#[derive(Clone, Copy, Debug)]
struct Step {
    offset: u64,
    /// Version under which the node was read.
    version: u64,
    /// Number of the child that came next.
    child: usize,
}

impl<M: Machine, K: TreeKey> OrderedIndex<M, K> {
    /// Returns the bytes that an index for `rows` rows needs, with a tail of `tail_bytes` for each node.
    pub fn bytes_for(rows: u64, width: K::Width, tail_bytes: u64) -> u64 {
        let leaves = rows / capacity::<M>() as u64 + 1;
        (leaves + leaves / (capacity::<M>() as u64 - 1) + 1)
            .saturating_mul(Self::slot_bytes_with(width, tail_bytes))
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
        let head: Shared<Head<M>> = arena.place(Place::Any)?;
        let slot_bytes = Self::slot_bytes_with(width, tail_bytes);
        let root = arena.allocate(slot_bytes, 64, Place::Any)?;
        let ends = (K::least(width), K::greatest(width));
        node_at::<M, K>(arena, root, width).lay_out(0, ends, &[]);
        head.root.poke(root);
        Ok(OrderedIndex { arena: arena.clone(), head, slot_bytes, width, machine: PhantomData })
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

    /// Returns the root and the version under which it was the root. Returns none if the root has just been replaced.
    #[inline(always)]
    fn root(&self, core: &M::Core) -> Option<(u64, u64)> {
        let root = core.load(&self.head.line, &self.head.root);
        let version = self.at(root).begin_read(core)?;
        // After a root was split, the old root is only the left half of the tree. So the head is read again.
        (core.load(&self.head.line, &self.head.root) == root).then_some((root, version))
    }

    /// Descends once to the leaf of `key` and returns the leaf with its version. Calls `pass` for each inner node.
    /// Returns none if a validation failed and the caller must start again.
    #[inline(always)]
    fn try_descend(
        &self,
        core: &M::Core,
        key: K,
        mut pass: impl FnMut(Step),
    ) -> Option<(u64, u64)> {
        let (mut offset, mut version) = self.root(core)?;
        loop {
            let node = self.at(offset);
            if node.level(core) == 0 {
                return Some((offset, version));
            }
            let child = node.child_of(core, key);
            let below = node.value(core, child);
            if !node.is_still(core, version) {
                return None;
            }
            pass(Step { offset, version, child });
            let next = self.at(below);
            next.prefetch(core);
            let next_version = next.begin_read(core)?;
            if !node.is_still(core, version) {
                return None;
            }
            (offset, version) = (below, next_version);
        }
    }

    /// Returns the leaf of `key` and its version. Starts again only if another session has changed a node on the way.
    #[inline(always)]
    fn descend(&self, core: &M::Core, key: K) -> (u64, u64) {
        loop {
            if let Some(found) = self.try_descend(core, key, |_| ()) {
                return found;
            }
        }
    }

    /// Returns the way to the leaf of `key`, with the root first and the leaf last.
    fn way(&self, core: &M::Core, key: K) -> Vec<Step> {
        let mut way = Vec::new();
        loop {
            way.clear();
            if let Some((offset, version)) = self.try_descend(core, key, |step| way.push(step)) {
                way.push(Step { offset, version, child: 0 });
                return way;
            }
        }
    }

    /// Returns the leaf of `key`, and the value of `key` if the leaf holds it.
    #[inline]
    pub fn seek(&self, core: &M::Core, key: K) -> (u64, Option<u64>) {
        loop {
            let (offset, version) = self.descend(core, key);
            let leaf = self.at(offset);
            let value = leaf.position(core, key).ok().map(|at| leaf.value(core, at));
            if leaf.is_still(core, version) {
                return (offset, value);
            }
        }
    }

    /// Does the same as [`OrderedIndex::seek`], and looks at `leaf` first: a leaf of this tree, now or earlier.
    #[inline]
    pub fn seek_from(&self, core: &M::Core, leaf: u64, key: K) -> (u64, Option<u64>) {
        match self.seek_in(core, leaf, key) {
            Some(value) => (leaf, value),
            None => self.seek(core, key),
        }
    }

    /// Returns the value of `key` in `leaf`, or none if the key does not belong there or another session is changing it.
    #[inline(always)]
    fn seek_in(&self, core: &M::Core, leaf: u64, key: K) -> Option<Option<u64>> {
        let leaf = self.at(leaf);
        let version = leaf.begin_read(core)?;
        let anywhere = core.is_planted(faults::KEPT_LEAF_UNCHECKED);
        if leaf.level(core) != 0 || !(leaf.covers(core, key) || anywhere) {
            return None;
        }
        let value = leaf.position(core, key).ok().map(|at| leaf.value(core, at));
        leaf.is_still(core, version).then_some(value)
    }

    /// Returns the leaf to which `key` is likely to belong, for a scan that goes from leaf to leaf. The caller looks whether it does, and
    /// calls [`LeafPath::forget`] if not. Then the next leaf that is returned was that of its key during the call.
    pub fn leaf_along(&self, core: &M::Core, key: K, path: &mut LeafPath) -> u64 {
        if let Some(leaf) = self.neighbour(core, path) {
            return leaf;
        }
        loop {
            let mut above = None;
            if let Some((leaf, _)) = self.try_descend(core, key, |step| above = Some(step)) {
                path.above = if LeafPath::is_kept::<M>() { above } else { None };
                return leaf;
            }
        }
    }

    /// Goes on to the leaf beside the one that `path` has led to, if both are below the same node, and the node has not changed.
    #[inline(always)]
    fn neighbour(&self, core: &M::Core, path: &mut LeafPath) -> Option<u64> {
        let step = path.above.take()?;
        let node = self.at(step.offset);
        let child = match path.direction {
            Direction::Forward => step.child + 1,
            Direction::Backward => step.child.checked_sub(1)?,
        };
        if child >= node.count(core).min(MOST_ENTRIES) {
            return None;
        }
        let leaf = node.value(core, child);
        path.above = Some(Step { child, ..step });
        node.is_still(core, step.version).then_some(leaf)
    }

    /// Returns the value of `key`.
    #[inline]
    pub fn find(&self, core: &M::Core, key: K) -> Option<u64> {
        self.seek(core, key).1
    }

    /// Returns a copy of `leaf` as it is now, or none if `key` no longer belongs to it. Calls `beside` with the leaf's
    /// range. If the copy fails its validation, `beside` is called again. Its last call happens while the leaf does
    /// not change.
    pub fn read_leaf(
        &self,
        core: &M::Core,
        leaf: u64,
        key: K,
        beside: &mut dyn FnMut(K, K),
    ) -> Option<LeafCopy<K>> {
        let leaf = self.at(leaf);
        loop {
            let version = leaf.begin_read(core)?;
            let (first, last) = leaf.range(core);
            let belongs = first <= key && key <= last;
            let count = if belongs { leaf.count(core) } else { 0 };
            let mut copy = LeafCopy { first, last, count, entries: [(first, 0); MOST_ENTRIES] };
            for (at, entry) in copy.entries[..count].iter_mut().enumerate() {
                *entry = (leaf.key(core, at), leaf.value(core, at));
            }
            beside(first, last);
            if leaf.is_still(core, version) {
                return belongs.then_some(copy);
            }
        }
    }

    /// Inserts `key` into `leaf` if the key belongs there and the leaf has room. When that is certain, `prepare` runs
    /// under the leaf's latch, before other sessions can find the key. If `prepare` returns an error, the tree is
    /// unchanged.
    pub fn insert<E>(
        &self,
        core: &M::Core,
        leaf: u64,
        key: K,
        value: u64,
        prepare: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Insertion, E> {
        let leaf = self.at(leaf);
        if !leaf.latch(core) {
            return Ok(Insertion::Moved);
        }
        let outcome = match leaf.position(core, key) {
            _ if !leaf.covers(core, key) => Insertion::Moved,
            Ok(at) => Insertion::Existing(leaf.value(core, at)),
            Err(_) if leaf.is_full(core) => Insertion::Full,
            Err(at) => {
                let prepared = prepare();
                if prepared.is_ok() {
                    leaf.add(core, at, key, value);
                }
                leaf.unlatch_changed(core);
                return prepared.map(|()| Insertion::Made);
            }
        };
        leaf.unlatch(core);
        Ok(outcome)
    }

    /// Inserts `keys` into `leaf`, one after another, under one latch. Ends before the first key that does not belong to the leaf,
    /// is in it already, or finds no room. `make` returns the value of a key that is going to be inserted, before other sessions
    /// can find the key. If it returns an error, this key and those behind it are not inserted.
    pub fn insert_run<E>(
        &self,
        core: &M::Core,
        leaf: u64,
        keys: &mut dyn Iterator<Item = K>,
        make: &mut dyn FnMut(K) -> Result<u64, E>,
    ) -> Result<(), E> {
        let leaf = self.at(leaf);
        if !leaf.latch(core) {
            return Ok(());
        }
        let (mut changed, mut outcome) = (false, Ok(()));
        let anywhere = core.is_planted(faults::RUN_BEYOND_LEAF);
        for key in keys {
            if !(leaf.covers(core, key) || anywhere) || leaf.is_full(core) {
                break;
            }
            let Err(at) = leaf.position(core, key) else { break };
            match make(key) {
                Ok(value) => leaf.add(core, at, key, value),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
            changed = true;
        }
        match changed {
            true => leaf.unlatch_changed(core),
            false => leaf.unlatch(core),
        }
        outcome
    }

    /// Removes `key` if its value is `value`. Returns its leaf and whether the leaf is empty now. `prepare` runs
    /// first, under the latch of the leaf, with the leaf's name.
    pub fn remove(
        &self,
        core: &M::Core,
        key: K,
        value: u64,
        prepare: &mut dyn FnMut(u64),
    ) -> Option<(u64, bool)> {
        loop {
            let (offset, _) = self.descend(core, key);
            let leaf = self.at(offset);
            if !leaf.latch(core) {
                continue;
            }
            let found = leaf.position(core, key).ok().filter(|at| leaf.value(core, *at) == value);
            if let Some(at) = found {
                prepare(offset);
                leaf.take_out(core, at);
                let empty = leaf.count(core) == 0;
                leaf.unlatch_changed(core);
                return Some((offset, empty));
            }
            let covers = leaf.covers(core, key);
            leaf.unlatch(core);
            if covers {
                return None;
            }
        }
    }
}
