//! Tables in key order: the tree, the guards of its leaves, and the operations of a session on both.

use crate::{
    Absence, Guard, ProtocolWords, Record, Shape,
    aside::Aside,
    index::{Tree, TreeKey, ordered::LeafCopy},
    shape::Extras,
};
use machine::{
    Arena, Machine, OutOfMemory,
    cold::{Arc, Mutex},
};
use std::ops::{Range, RangeInclusive};
use txn::{Direction, TableId};

/// Rows with consecutive keys that were loaded at consecutive slots.
struct Loaded<K> {
    first: K,
    last: K,
    offset: u64,
    count: u64,
}

/// Index of an ordered table. The guard of a leaf lies behind the leaf, in the same slot.
pub struct OrderedRows<M: Machine, K: TreeKey = u64> {
    pub(crate) tree: Tree<M, K>,
    guards: Shape<M>,
    /// Rows that were loaded and are not in the tree yet. Empty once loading has finished.
    loaded: Mutex<Vec<Loaded<K>>>,
    /// Extents of keys that have been loaded, ascending, in recorded runs.
    kept: Option<Mutex<Vec<(K, K)>>>,
    /// Versions of the absences whose records have retired.
    pub(crate) aside: Aside<K>,
}

impl<M: Machine, K: TreeKey> OrderedRows<M, K> {
    /// Returns the bytes that the index of `rows` rows needs.
    pub fn bytes_for(red_black: bool, rows: u64, width: K::Width, words: &ProtocolWords) -> u64 {
        Tree::<M, K>::bytes_for(red_black, rows, width, Shape::<M>::guard_bytes(words))
    }

    /// Makes the empty index of table `id`.
    pub(crate) fn new(
        arena: &Arc<Arena>,
        id: TableId,
        red_black: bool,
        width: K::Width,
        Extras { words, keep_versions, .. }: &Extras,
    ) -> Result<Self, OutOfMemory> {
        Ok(OrderedRows {
            tree: Tree::new(red_black, arena, width, Shape::<M>::guard_bytes(words))?,
            guards: Shape::of_guards(arena, id, words),
            loaded: Mutex::new(Vec::new()),
            kept: keep_versions.then(Mutex::default),
            aside: Aside::new(*keep_versions),
        })
    }

    #[inline(always)]
    pub(crate) fn guard(&self, leaf: u64) -> Guard<'_, M> {
        // SAFETY: a leaf's slot has room for a guard behind the node, and this room is never used for anything else.
        Guard::new(unsafe { self.guards.slot_at(leaf + self.tree.tail()) })
    }

    #[inline(always)]
    pub(crate) fn leaf(&self, offset: u64) -> Leaf<'_, M> {
        Leaf { offset, guard: self.guard(offset) }
    }

    /// Notes that the row with key `first` was loaded at `offset`, and the `count - 1` rows with the next keys, up to
    /// `last`, at the slots that follow.
    pub fn note_loaded(&self, (first, last): (K, K), offset: u64, count: u64) {
        self.loaded.lock().push(Loaded { first, last, offset, count });
    }

    /// Returns the keys that have been loaded, as extents in which no key is missing. Returns none unless the run is
    /// recorded.
    pub fn kept(&self) -> Option<Vec<(K, K)>> {
        let width = self.tree.width();
        let mut extents: Vec<(K, K)> = Vec::new();
        for (first, last) in self.kept.as_ref()?.lock().iter().copied() {
            match extents.last_mut() {
                Some(before) if before.1.after(width) == Some(first) => before.1 = last,
                _ => extents.push((first, last)),
            }
        }
        Some(extents)
    }

    /// Builds the index of the rows that were loaded. Their slots are `stride` bytes long.
    pub fn finish_loading(&self, stride: u64) -> Result<(), OutOfMemory> {
        let mut loaded = std::mem::take(&mut *self.loaded.lock());
        loaded.sort_unstable_by_key(|extent| extent.first);
        let apart = |pair: &[Loaded<K>]| pair[0].last < pair[1].first;
        assert!(loaded.windows(2).all(apart), "a loader gives every key once");
        let width = self.tree.width();
        if let Some(kept) = &self.kept {
            kept.lock().extend(loaded.iter().map(|extent| (extent.first, extent.last)));
        }
        let entries = loaded.iter().flat_map(|extent| {
            let keys = std::iter::successors(Some(extent.first), |key| key.after(width));
            keys.zip((0..extent.count).map(|i| extent.offset + i * stride))
        });
        if loaded.is_empty() { Ok(()) } else { self.tree.build(entries) }
    }
}

/// Leaf of an ordered table. It stands for a range of keys, which can change at any time.
pub struct Leaf<'s, M: Machine> {
    pub(crate) offset: u64,
    pub(crate) guard: Guard<'s, M>,
}

impl<M: Machine> Clone for Leaf<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Leaf<'_, M> {}

impl<'s, M: Machine> Leaf<'s, M> {
    /// Returns the leaf's guard.
    #[inline(always)]
    pub fn guard(&self) -> Guard<'s, M> {
        self.guard
    }
}

/// Copy of a leaf of a table as it was at one moment.
pub struct LeafRows<'s, M: Machine, K: TreeKey = u64> {
    shape: &'s Shape<M>,
    copy: LeafCopy<K>,
    aside: Vec<(K, Absence)>,
}

impl<'s, M: Machine, K: TreeKey> LeafRows<'s, M, K> {
    pub(crate) fn new(shape: &'s Shape<M>, copy: LeafCopy<K>, aside: Vec<(K, Absence)>) -> Self {
        LeafRows { shape, copy, aside }
    }

    /// Returns the keys in the leaf's range whose records had retired by then, ascending. The list is empty unless the
    /// run is recorded.
    pub fn aside(&self) -> &[(K, Absence)] {
        &self.aside
    }

    /// Returns those of [`LeafRows::aside`] that are within `range`.
    pub fn aside_within(&self, range: &RangeInclusive<K>) -> &[(K, Absence)] {
        &self.aside[positions(&self.aside, range)]
    }

    /// Returns the least and the greatest key that belong to the leaf.
    #[inline(always)]
    pub fn range(&self) -> (K, K) {
        (self.copy.first, self.copy.last)
    }

    /// Returns the keys that a scan of the keys between `ends` visits in the leaf, which it has reached at the key `at`.
    #[inline(always)]
    pub fn not_visited(&self, ends: (K, K), at: K, direction: Direction) -> RangeInclusive<K> {
        // A leaf that has taken over its neighbour's range by a merge can contain keys that were already visited there.
        match direction {
            Direction::Forward => at..=ends.1,
            Direction::Backward => ends.0..=at,
        }
    }

    /// Returns the key at which a scan of the keys between `ends` goes on behind the leaf. None if the leaf reaches the end of the range.
    #[inline(always)]
    pub fn beyond(&self, ends: (K, K), direction: Direction, width: K::Width) -> Option<K> {
        let (first, last) = self.range();
        let beyond = match direction {
            Direction::Forward if last >= ends.1 => return None,
            Direction::Forward => last.after(width),
            Direction::Backward if first <= ends.0 => return None,
            Direction::Backward => first.before(width),
        };
        Some(beyond.expect("there are keys between a leaf and the end of the range"))
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.copy.entries().len()
    }

    /// Returns true if there is no key.
    pub fn is_empty(&self) -> bool {
        self.copy.entries().is_empty()
    }

    /// Returns the numbers of the keys that are within `range`.
    pub fn within(&self, range: &RangeInclusive<K>) -> Range<usize> {
        positions(self.copy.entries(), range)
    }

    /// Returns the keys that are within `range`, and their records.
    #[inline(always)]
    pub fn records(
        &self,
        range: RangeInclusive<K>,
    ) -> impl DoubleEndedIterator<Item = (K, Record<'s, M>)> {
        let shape = self.shape;
        // SAFETY: the leaves of a table's tree hold only offsets of slots of the table's shape.
        self.copy.entries()[self.within(&range)]
            .iter()
            .map(move |(key, offset)| (*key, unsafe { shape.slot_at(*offset) }))
    }

    /// Returns key number `at`, in ascending order, and its record.
    #[inline]
    pub fn get(&self, at: usize) -> (K, Record<'s, M>) {
        let (key, offset) = self.copy.entries()[at];
        // SAFETY: the leaves of a table's tree hold only offsets of slots of the table's shape.
        (key, unsafe { self.shape.slot_at(offset) })
    }
}

/// Returns the positions of the keys that are within `range`, among `entries` in ascending order.
fn positions<K: Ord, T>(entries: &[(K, T)], range: &RangeInclusive<K>) -> Range<usize> {
    let first = entries.partition_point(|(key, _)| key < range.start());
    let end = entries.partition_point(|(key, _)| key <= range.end());
    first..end.max(first)
}

/// Outcome of a look-up in an ordered table.
pub enum Sought<'s, M: Machine> {
    /// The key has a record, in this leaf.
    Found(Record<'s, M>, Leaf<'s, M>),
    /// The key has no record, and it belongs to this leaf.
    Absent(Leaf<'s, M>),
}

/// Outcome of [`Table::make_in`](crate::Table::make_in).
pub enum Placed<'s, M: Machine> {
    /// A record was made. Its row is absent.
    Made(Record<'s, M>),
    /// The key already has a record.
    Existing(Record<'s, M>),
    /// The key belongs to another leaf by now.
    Moved,
    /// The leaf has no room.
    Full,
}
