//! One node of the tree: a head line, lines of keys, lines of values, all in order of the keys, and behind them the
//! rests of keys that are longer than a word.
//!
//! A node's version word carries a latch bit and an obsolete bit. Readers take no latch: they remember the
//! version, read words that others may be changing, and believe what they have read only if the version
//! is still the same. Writers store with release, so that who has read a new word finds a new version.

use crate::index::key::{LINE_WORDS, TreeKey, WordLine};
use machine::{Arena, Core, Machine, Word, Zeroed};
use std::{cmp::Ordering, ops::Deref};

/// Lines of keys, and as many of values.
const LINES: usize = 2;
/// The most entries of a node on any machine.
pub(super) const MOST_ENTRIES: usize = LINES * LINE_WORDS;
/// Set in a version while a writer is at work.
const LATCHED: u64 = 1;
/// Set in a version when the node has left the tree.
const OBSOLETE: u64 = 2;
/// What a change adds to a version.
const CHANGE: u64 = 4;

/// Where a node keeps the rest of the first key of its range, and of the last: behind those of its entries.
const FIRST: usize = MOST_ENTRIES;
const LAST: usize = MOST_ENTRIES + 1;
/// Keys of which a node may have to keep the rests.
pub(super) const MOST_KEYS: usize = MOST_ENTRIES + 2;

/// A leaf holds keys and record offsets. An inner node holds, for each child, the least key below it; the
/// first of these is never looked at.
#[repr(C)]
pub(super) struct Node<M: Machine> {
    line: M::Line,
    version: Word,
    level: Word,
    count: Word,
    first: Word,
    last: Word,
    spare: [Word; 3],
    keys: [WordLine<M>; LINES],
    values: [WordLine<M>; LINES],
}

// SAFETY: lines and words, valid as zeros.
unsafe impl<M: Machine> Zeroed for Node<M> {}

/// Entries that a node has room for. Few where runs are short, so that they split and merge all the same.
pub(super) const fn capacity<M: Machine>() -> usize {
    if M::MINIATURE { 3 } else { MOST_ENTRIES }
}

/// A node and the rests of its keys.
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
    /// The version to validate against, once no writer is at work; none when the node has left the tree.
    #[inline(always)]
    pub fn begin_read(&self, core: &M::Core) -> Option<u64> {
        let version = core.wait_while(&self.line, &self.version, |v| v & LATCHED != 0);
        (version & OBSOLETE == 0).then_some(version)
    }

    /// True when nothing has changed since the version was `version`.
    #[inline(always)]
    pub fn is_still(&self, core: &M::Core, version: u64) -> bool {
        core.fence_acquire();
        core.load_relaxed(&self.line, &self.version) == version
    }

    /// Takes the latch, waiting for it; false when the node has left the tree.
    pub fn latch(&self, core: &M::Core) -> bool {
        loop {
            let Some(version) = self.begin_read(core) else { return false };
            if self.try_latch(core, version) {
                return true;
            }
        }
    }

    /// Takes the latch if the version is still `version`.
    pub fn try_latch(&self, core: &M::Core, version: u64) -> bool {
        core.cas(&self.line, &self.version, version, version | LATCHED).is_ok()
    }

    /// Gives the latch back of a node that was not changed.
    pub fn unlatch(&self, core: &M::Core) {
        let version = core.load_relaxed(&self.line, &self.version);
        core.store(&self.line, &self.version, version & !LATCHED);
        core.wake(&self.line, &self.version);
    }

    /// Gives the latch back of a node that was changed.
    pub fn unlatch_changed(&self, core: &M::Core) {
        let version = core.load_relaxed(&self.line, &self.version);
        core.store(&self.line, &self.version, (version & !LATCHED) + CHANGE);
        core.wake(&self.line, &self.version);
    }

    /// Gives the latch back of a node that has left the tree.
    pub fn unlatch_obsolete(&self, core: &M::Core) {
        let version = core.load_relaxed(&self.line, &self.version);
        core.store(&self.line, &self.version, ((version & !LATCHED) + CHANGE) | OBSOLETE);
        core.wake(&self.line, &self.version);
    }

    /// 0 for a leaf.
    #[inline(always)]
    pub fn level(&self, core: &M::Core) -> u64 {
        core.load_relaxed(&self.line, &self.level)
    }

    /// Number of entries.
    #[inline(always)]
    pub fn count(&self, core: &M::Core) -> usize {
        core.load_relaxed(&self.line, &self.count) as usize
    }

    /// True when there is no room for another entry.
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

/// What a node does with keys.
impl<M: Machine, K: TreeKey> NodeRef<'_, M, K> {
    /// Sets up a node that nobody can reach yet.
    pub fn initialise(&self, core: &M::Core, level: u64, first: K, last: K) {
        // Versions go on where the slot's last node stopped.
        let version = core.load_relaxed(&self.line, &self.version);
        core.store_relaxed(&self.line, &self.version, (version & !(LATCHED | OBSOLETE)) + CHANGE);
        core.store_relaxed(&self.line, &self.level, level);
        core.store_relaxed(&self.line, &self.count, 0);
        core.store_relaxed(&self.line, &self.first, first.prefix());
        core.store_relaxed(&self.line, &self.last, last.prefix());
        first.store(core, self.rests, FIRST);
        last.store(core, self.rests, LAST);
    }

    /// As [`NodeRef::initialise`], with its entries and without a core: nothing else runs.
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

    /// The keys that belong into this leaf, both ends included. Kept for leaves only.
    #[inline(always)]
    pub fn range(&self, core: &M::Core) -> (K, K) {
        let first = core.load_relaxed(&self.line, &self.first);
        let last = core.load_relaxed(&self.line, &self.last);
        (K::load(core, first, self.rests, FIRST), K::load(core, last, self.rests, LAST))
    }

    /// True when `key` belongs into this leaf.
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

    /// How key number `at` compares with `key`.
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

    /// `from`, and as many as there are keys from place `from` on that are below.
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

    /// Where `key` is in this leaf, or the place where it belongs.
    #[inline(always)]
    pub fn position(&self, core: &M::Core, key: K) -> Result<usize, usize> {
        let at = self.below(core, 0, |other| self.compare(core, other, key).is_lt());
        let is_here = at < self.count(core) && self.compare(core, at, key).is_eq();
        if is_here { Ok(at) } else { Err(at) }
    }

    /// The place of the child below which `key` belongs.
    #[inline(always)]
    pub fn child_of(&self, core: &M::Core, key: K) -> usize {
        self.below(core, 1, |other| self.compare(core, other, key).is_le()) - 1
    }

    /// Adds an entry at `at`. The latch is held and there is room.
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

    /// Takes the entry at `at` out. The latch is held.
    pub fn take_out(&self, core: &M::Core, at: usize) {
        self.take_out_apart(core, at, at);
    }

    /// Takes out the key at one place and the value at another.
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
