//! One node of the tree: a head line, lines of keys, lines of values, all in the order of the keys, and behind them
//! the rests of keys that are longer than a word.
//!
//! ```text
//!  | version, level, count, first, last | 16 key prefixes | 16 values | [rests of 18 keys] |
//! ```
//!
//! A node's version word has a latch bit, an obsolete bit, and a counter of changes above them. These are its
//! transitions:
//!
//! ```text
//!                                      unlatch
//!    v (free) --- try_latch ---> v | LATCHED ----> v                    nothing was changed
//!                                      unlatch_changed
//!                                v | LATCHED ----> v + CHANGE           the node was changed
//!                                      unlatch_obsolete
//!                                v | LATCHED ----> v + CHANGE | OBSOLETE   the node has left the tree
//! ```
//!
//! Readers take no latch. A reader reads the version, then words that a writer can be changing, then the version
//! again. It uses the words only if both versions are equal and have no latch bit.
//!
//! Why this is right: a writer sets the latch bit before it stores anything, and it stores with release. A reader that
//! has read a new word executes an acquire fence before it reads the version again. So it sees the latch bit or a
//! later version, and its validation fails. If a slot is reused, the new node continues with the versions of the old
//! one, so a stale version never becomes valid again. The slot stays obsolete until the new node has its entries.

use crate::index::key::{LINE_WORDS, TreeKey, WordLine};
use machine::{Arena, Core, Machine, Word, Zeroed};
use std::{cmp::Ordering, ops::Deref};

/// Number of lines of keys. There are as many lines of values.
const LINES: usize = 2;
/// Largest number of entries of a node on any machine.
pub const MOST_ENTRIES: usize = LINES * LINE_WORDS;
/// Set in a version while a writer holds the latch.
const LATCHED: u64 = 1;
/// Set in a version once the node has left the tree.
const OBSOLETE: u64 = 2;
/// Number that each change adds to a version.
const CHANGE: u64 = 4;

/// Places where a node keeps the rests of the first and the last key of its range: behind the rests of its entries.
const FIRST: usize = MOST_ENTRIES;
const LAST: usize = MOST_ENTRIES + 1;
/// Number of keys whose rests a node can have to keep.
pub(super) const MOST_KEYS: usize = MOST_ENTRIES + 2;

/// Node of the tree. A leaf holds keys and record offsets. An inner node holds, for each child, the least key that
/// belongs below it. The first of these keys is never read.
#[repr(C)]
pub(super) struct Node<M: Machine> {
    line: M::Line,
    /// Counter of changes with the bits [`LATCHED`] and [`OBSOLETE`].
    version: Word,
    /// 0 for a leaf; otherwise the level of the children plus 1. Never changes while the node is in the tree.
    level: Word,
    /// Number of entries, at most `capacity`.
    count: Word,
    /// Prefix of the least key that belongs to a leaf.
    first: Word,
    /// Prefix of the greatest key that belongs to a leaf.
    last: Word,
    spare: [Word; 3],
    /// Prefixes of the keys of the first `count` entries, in ascending order.
    keys: [WordLine<M>; LINES],
    /// Values of a leaf's keys, or offsets of an inner node's children.
    values: [WordLine<M>; LINES],
}

// SAFETY: the type consists of lines and words, and zeros are valid for all of them.
unsafe impl<M: Machine> Zeroed for Node<M> {}

/// Returns the number of entries for which a node has room. It is small where runs are short, so that nodes still
/// split and merge.
pub(super) const fn capacity<M: Machine>() -> usize {
    if M::MINIATURE { 3 } else { MOST_ENTRIES }
}

/// Node with the rests of its keys.
pub(super) struct NodeRef<'n, M: Machine, K: TreeKey> {
    node: &'n Node<M>,
    rests: K::Rest<'n, M>,
}

impl<M: Machine, K: TreeKey> Clone for NodeRef<'_, M, K> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine, K: TreeKey> Copy for NodeRef<'_, M, K> {}

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
    /// Returns the version to validate against, after waiting until no writer holds the latch. Returns none if the
    /// node has left the tree.
    #[inline(always)]
    pub fn begin_read(&self, core: &M::Core) -> Option<u64> {
        let version = core.wait_while(&self.line, &self.version, |v| v & LATCHED != 0);
        (version & OBSOLETE == 0).then_some(version)
    }

    /// Returns true if the node has not changed since its version was `version`.
    #[inline(always)]
    pub fn is_still(&self, core: &M::Core, version: u64) -> bool {
        core.fence_acquire();
        core.load_relaxed(&self.line, &self.version) == version
    }

    /// Acquires the latch, waiting for it. Returns false if the node has left the tree.
    pub fn latch(&self, core: &M::Core) -> bool {
        loop {
            let Some(version) = self.begin_read(core) else { return false };
            if self.try_latch(core, version) {
                return true;
            }
        }
    }

    /// Acquires the latch if the version is still `version`. Never waits.
    pub fn try_latch(&self, core: &M::Core, version: u64) -> bool {
        core.cas(&self.line, &self.version, version, version | LATCHED).is_ok()
    }

    /// Releases the latch of a node that was not changed.
    pub fn unlatch(&self, core: &M::Core) {
        let version = core.load_relaxed(&self.line, &self.version);
        core.store(&self.line, &self.version, version & !LATCHED);
        core.wake(&self.line, &self.version);
    }

    /// Releases the latch of a node that was changed.
    pub fn unlatch_changed(&self, core: &M::Core) {
        let version = core.load_relaxed(&self.line, &self.version);
        core.store(&self.line, &self.version, (version & !LATCHED) + CHANGE);
        core.wake(&self.line, &self.version);
    }

    /// Releases the latch of a node that has left the tree, and marks the node as obsolete.
    pub fn unlatch_obsolete(&self, core: &M::Core) {
        let version = core.load_relaxed(&self.line, &self.version);
        core.store(&self.line, &self.version, ((version & !LATCHED) + CHANGE) | OBSOLETE);
        core.wake(&self.line, &self.version);
    }

    /// Returns the level, 0 for a leaf.
    #[inline(always)]
    pub fn level(&self, core: &M::Core) -> u64 {
        core.load_relaxed(&self.line, &self.level)
    }

    /// Returns the number of entries.
    #[inline(always)]
    pub fn count(&self, core: &M::Core) -> usize {
        core.load_relaxed(&self.line, &self.count) as usize
    }

    /// Returns true if there is no room for another entry.
    pub fn is_full(&self, core: &M::Core) -> bool {
        self.count(core) >= capacity::<M>()
    }

    #[inline(always)]
    fn prefix(&self, core: &M::Core, at: usize) -> u64 {
        let line = &self.keys[at / LINE_WORDS];
        core.load_relaxed(&line.line, &line.words[at % LINE_WORDS])
    }

    #[inline(always)]
    pub fn value(&self, core: &M::Core, at: usize) -> u64 {
        let line = &self.values[at / LINE_WORDS];
        core.load_relaxed(&line.line, &line.words[at % LINE_WORDS])
    }

    fn set_value(&self, core: &M::Core, at: usize, value: u64) {
        let line = &self.values[at / LINE_WORDS];
        core.store(&line.line, &line.words[at % LINE_WORDS], value);
    }

    fn set_count(&self, core: &M::Core, count: usize) {
        core.store(&self.line, &self.count, count as u64);
    }

    /// Asks the host to fetch the node.
    #[inline(always)]
    pub fn prefetch(&self, core: &M::Core) {
        core.prefetch(std::ptr::from_ref(self).cast(), size_of::<Node<M>>());
    }
}

/// Operations of a node on keys.
impl<M: Machine, K: TreeKey> NodeRef<'_, M, K> {
    /// Sets up a node that no other session can reach yet. Its slot is obsolete, if it was used before.
    pub fn initialise(&self, core: &M::Core, level: u64, first: K, last: K) {
        core.store_relaxed(&self.line, &self.level, level);
        core.store_relaxed(&self.line, &self.count, 0);
        core.store_relaxed(&self.line, &self.first, first.prefix());
        core.store_relaxed(&self.line, &self.last, last.prefix());
        first.store(core, self.rests, FIRST);
        last.store(core, self.rests, LAST);
    }

    /// Lets sessions use a node that has been set up and got its entries. A session that has kept the name of the slot can
    /// reach it from now on, so the caller then puts the node into the tree, and nothing can prevent that any more.
    pub fn publish(&self, core: &M::Core) {
        // Versions continue where the slot's last node stopped.
        let version = core.load_relaxed(&self.line, &self.version);
        core.store(&self.line, &self.version, (version & !(LATCHED | OBSOLETE)) + CHANGE);
    }

    /// Like [`NodeRef::initialise`], with the entries and without a core. No other thread runs.
    pub fn lay_out(&self, level: u64, range: (K, K), entries: &[(K, u64)]) {
        self.level.poke(level);
        self.count.poke(entries.len() as u64);
        self.first.poke(range.0.prefix());
        self.last.poke(range.1.prefix());
        range.0.poke(self.rests, FIRST);
        range.1.poke(self.rests, LAST);
        for (at, (key, value)) in entries.iter().enumerate() {
            self.keys[at / LINE_WORDS].words[at % LINE_WORDS].poke(key.prefix());
            key.poke(self.rests, at);
            self.values[at / LINE_WORDS].words[at % LINE_WORDS].poke(*value);
        }
    }

    /// Returns the first and the last key that belong to this leaf. The range is kept for leaves only.
    #[inline(always)]
    pub fn range(&self, core: &M::Core) -> (K, K) {
        let first = core.load_relaxed(&self.line, &self.first);
        let last = core.load_relaxed(&self.line, &self.last);
        (K::load(core, first, self.rests, FIRST), K::load(core, last, self.rests, LAST))
    }

    /// Returns true if `key` belongs to this leaf.
    #[inline(always)]
    pub fn covers(&self, core: &M::Core, key: K) -> bool {
        let (first, last) = self.range(core);
        first <= key && key <= last
    }

    pub fn set_first(&self, core: &M::Core, first: K) {
        core.store(&self.line, &self.first, first.prefix());
        first.store(core, self.rests, FIRST);
    }

    pub fn set_last(&self, core: &M::Core, last: K) {
        core.store(&self.line, &self.last, last.prefix());
        last.store(core, self.rests, LAST);
    }

    #[inline(always)]
    pub fn key(&self, core: &M::Core, at: usize) -> K {
        K::load(core, self.prefix(core, at), self.rests, at)
    }

    /// Compares key number `at` with `key`.
    #[inline(always)]
    pub fn compare(&self, core: &M::Core, at: usize, key: K) -> Ordering {
        let order = self.prefix(core, at).cmp(&key.prefix());
        if order.is_eq() { K::compare(core, self.rests, at, key) } else { order }
    }

    fn set_key(&self, core: &M::Core, at: usize, key: K) {
        let line = &self.keys[at / LINE_WORDS];
        core.store(&line.line, &line.words[at % LINE_WORDS], key.prefix());
        key.store(core, self.rests, at);
    }

    /// Returns the first place from `from` on whose key is not below, by binary search. `below` returns whether the
    /// key at a place is below.
    #[inline(always)]
    fn below(&self, core: &M::Core, from: usize, below: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (from, self.count(core));
        while low < high {
            let middle = (low + high) / 2;
            match below(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Returns the place of `key` in this leaf. If the leaf does not hold the key, returns the place where it belongs
    /// as the error.
    #[inline(always)]
    pub fn position(&self, core: &M::Core, key: K) -> Result<usize, usize> {
        let count = self.count(core);
        if !M::MODELLED
            && (1..=MOST_ENTRIES).contains(&count)
            && self.compare(core, count - 1, key).is_lt()
        {
            // Many keys grow, so the new key comes last.
            return Err(count);
        }
        let at = self.below(core, 0, |other| self.compare(core, other, key).is_lt());
        let is_here = at < self.count(core) && self.compare(core, at, key).is_eq();
        if is_here { Ok(at) } else { Err(at) }
    }

    /// Returns the place of the child below which `key` belongs.
    #[inline(always)]
    pub fn child_of(&self, core: &M::Core, key: K) -> usize {
        self.below(core, 1, |other| self.compare(core, other, key).is_le()) - 1
    }

    /// Adds an entry at `at`. The caller holds the latch, and there is room.
    pub fn add(&self, core: &M::Core, at: usize, key: K, value: u64) {
        let count = self.count(core);
        for i in (at..count).rev() {
            self.set_key(core, i + 1, self.key(core, i));
            self.set_value(core, i + 1, self.value(core, i));
        }
        self.set_key(core, at, key);
        self.set_value(core, at, value);
        self.set_count(core, count + 1);
    }

    /// Removes the entry at `at`. The caller holds the latch.
    pub fn take_out(&self, core: &M::Core, at: usize) {
        self.take_out_apart(core, at, at);
    }

    /// Removes the key at one place and the value at another. The caller holds the latch.
    pub fn take_out_apart(&self, core: &M::Core, key_at: usize, value_at: usize) {
        let count = self.count(core);
        for i in key_at + 1..count {
            self.set_key(core, i - 1, self.key(core, i));
        }
        for i in value_at + 1..count {
            self.set_value(core, i - 1, self.value(core, i));
        }
        self.set_count(core, count - 1);
    }

    /// Moves the entries from `at` on to the empty node `right`.
    pub fn move_to(&self, core: &M::Core, at: usize, right: NodeRef<'_, M, K>) {
        let count = self.count(core);
        for i in at..count {
            right.set_key(core, i - at, self.key(core, i));
            right.set_value(core, i - at, self.value(core, i));
        }
        right.set_count(core, count - at);
        self.set_count(core, at);
    }
}
