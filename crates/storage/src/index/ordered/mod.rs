//! An ordered index: a B+tree with optimistic lock coupling.
//!
//! Source: Leis, Haubenschild and Neumann, "Optimistic lock coupling: a scalable and efficient general-purpose
//! synchronization method", IEEE Data Engineering Bulletin 2019; the tree is Bayer and McCreight's with all
//! entries in leaves. Readers descend without a latch: each node's version is validated after the child's
//! has been read. Writers latch only what they change.
//!
//! Deviations and decisions:
//! - A leaf knows the range of keys that belongs into it, so that who has waited before touching it can tell
//!   whether it is still the right one. There are no links between leaves: a scan goes down again
//!   for each leaf, in either direction, which costs cached inner nodes and saves every repair of links.
//! - A node splits when it is full; a node whose new key comes last is not halved, the new key starts the
//!   next node, so ascending keys leave full nodes behind.
//! - Nodes never borrow or merge while anything is in them. A leaf that has become empty is taken out, with
//!   all ancestors that hold nothing else, and a neighbour takes over its range. So memory is bounded by the
//!   entries there are, whatever was inserted and deleted before, and for ever-growing keys too.
//!   What was taken out is used again when nobody can see it any more: the caller waits for the epochs.
//! - Keys are words, or bytes up to a length that is fixed for each tree (`index/key.rs`); what does not fit
//!   into a word lies behind the node.
//! - Nodes lie in slots with a tail that belongs to the caller (the table keeps a guard there).

mod build;
mod node;
mod split;
mod unlink;

pub use unlink::Unlinking;

use super::key::TreeKey;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
use node::{MOST_ENTRIES, MOST_KEYS, Node, NodeRef, capacity, node_at};
use std::marker::PhantomData;

/// Where the tree starts.
#[repr(C, align(64))]
struct Head<M: Machine> {
    line: M::Line,
    root: Word,
}

// SAFETY: a line and a word, valid as zeros.
unsafe impl<M: Machine> Zeroed for Head<M> {}

/// Slots for nodes, [`OrderedIndex::slot_bytes`] each.
pub trait NodeSource {
    /// A slot that nobody can see.
    fn take(&mut self) -> Result<u64, OutOfMemory>;
    /// A slot that was taken and not used.
    fn give_back(&mut self, slot: u64);
}

/// The index: from keys to offsets of records. A leaf is named by the offset of its slot.
pub struct OrderedIndex<M: Machine, K: TreeKey = u64> {
    arena: Arc<Arena>,
    head: Shared<Head<M>>,
    slot_bytes: u64,
    width: K::Width,
    machine: PhantomData<fn() -> M>,
}

/// The outcome of [`OrderedIndex::insert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// The key is in.
    Made,
    /// The key was there, with this value.
    Existing(u64),
    /// The key does not belong into that leaf any more: look for its leaf again.
    Moved,
    /// The leaf has no room: split it, then look for the key's leaf again.
    Full,
}

/// What a leaf held at one moment.
#[derive(Clone, Debug)]
pub struct LeafCopy<K: TreeKey = u64> {
    /// The least key that belongs into it.
    pub first: K,
    /// The greatest key that belongs into it.
    pub last: K,
    count: usize,
    entries: [(K, u64); MOST_ENTRIES],
}

impl<K: TreeKey> LeafCopy<K> {
    /// A leaf of one entry at most.
    pub(crate) fn of_one(first: K, last: K, entry: Option<(K, u64)>) -> LeafCopy<K> {
        let entries = [entry.unwrap_or((first, 0)); MOST_ENTRIES];
        LeafCopy { first, last, count: usize::from(entry.is_some()), entries }
    }

    /// Its keys and their values, ascending.
    pub fn entries(&self) -> &[(K, u64)] {
        &self.entries[..self.count]
    }
}

/// One node of a way down.
#[derive(Clone, Copy)]
struct Step {
    offset: u64,
    version: u64,
    /// Which child came next.
    child: usize,
}

impl<M: Machine, K: TreeKey> OrderedIndex<M, K> {
    /// Bytes that an index for `rows` rows needs, with a tail of `tail_bytes` for each node.
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

    /// An empty index whose slots end in tails of `tail_bytes`.
    pub fn new(arena: &Arc<Arena>, width: K::Width, tail_bytes: u64) -> Result<Self, OutOfMemory> {
        let head: Shared<Head<M>> = arena.place(Place::Any)?;
        let slot_bytes = Self::slot_bytes_with(width, tail_bytes);
        let root = arena.allocate(slot_bytes, 64, Place::Any)?;
        let ends = (K::least(width), K::greatest(width));
        node_at::<M, K>(arena, root, width).lay_out(0, ends, &[]);
        head.root.poke(root);
        Ok(OrderedIndex { arena: arena.clone(), head, slot_bytes, width, machine: PhantomData })
    }

    /// What its keys have in common.
    #[inline(always)]
    pub fn width(&self) -> K::Width {
        self.width
    }

    /// Where the caller's tail starts in a slot.
    #[inline(always)]
    pub fn tail(&self) -> u64 {
        Self::tail_with(self.width)
    }

    /// Bytes of a node's slot, its tail included.
    pub fn slot_bytes(&self) -> u64 {
        self.slot_bytes
    }

    #[inline(always)]
    fn at(&self, offset: u64) -> NodeRef<'_, M, K> {
        node_at(&self.arena, offset, self.width)
    }

    /// The root and the version under which it was the root; none if it has just been replaced.
    #[inline(always)]
    fn root(&self, core: &M::Core) -> Option<(u64, u64)> {
        let root = core.load(&self.head.line, &self.head.root);
        let version = self.at(root).begin_read(core)?;
        // A root that has been split is the left half of what it was.
        (core.load(&self.head.line, &self.head.root) == root).then_some((root, version))
    }

    /// One way down to the leaf of `key`, telling `pass` each inner node; none if it must begin again.
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

    /// The leaf of `key`, and its version. Begins again only when others have changed something.
    #[inline(always)]
    fn descend(&self, core: &M::Core, key: K) -> (u64, u64) {
        loop {
            if let Some(found) = self.try_descend(core, key, |_| ()) {
                return found;
            }
        }
    }

    /// The way to the leaf of `key`, root first, leaf last.
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

    /// The leaf of `key`, and the value of `key` if it is in there.
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

    /// The value of `key`.
    #[inline]
    pub fn find(&self, core: &M::Core, key: K) -> Option<u64> {
        self.seek(core, key).1
    }

    /// A copy of `leaf` as it is just now; none if `key` does not belong into it any more. `beside` is told its range while
    /// nobody changes it: the last time, if it is told several times.
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

    /// Puts `key` into `leaf` if it belongs there and has room. `prepare` runs under the leaf's latch when
    /// that is certain, before anybody can find the key; if it refuses, nothing has happened.
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
                // What others did to the tail before they looked at this leaf is visible from here on.
                core.fence();
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

    /// Takes `key` out if its value is `value`, and returns its leaf and whether that is empty now. `prepare`
    /// runs before, under the latch of the leaf, whose name it is given.
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
