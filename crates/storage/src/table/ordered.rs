//! Operations of a session on a table in key order: seeking, making records in leaves, splitting and unlinking leaves.

use super::{Index, Table};
use crate::{
    Guard, Leaf, LeafRows, Placed, Record, Sought, Space,
    index::{
        ByteKey, TreeKey,
        key::KEY_BUFFER,
        ordered::{Insertion, LeafPath, NodeSource, Unlinking},
    },
    key_layout::digest,
    ordered_rows::OrderedRows,
    record::RowState,
};
use machine::{Core, Machine, OutOfMemory};
use txn::{Abort, AbortReason, LoadedTable};

/// Number of nodes that a session takes from the arena at a time.
const NODES_PER_CHUNK: u64 = 16;

/// Type of key that tables in key order can have.
pub trait OrderedKey: TreeKey {
    /// Returns the index of a table with keys of this type, if the table is in their order.
    fn rows<M: Machine>(index: &Index<M>) -> Option<&OrderedRows<M, Self>>;

    /// Returns the number that represents the key in its record, and wherever else a number is needed.
    fn number<M: Machine>(self, core: &M::Core, width: Self::Width) -> u64;
}

impl OrderedKey for u64 {
    #[inline(always)]
    fn rows<M: Machine>(index: &Index<M>) -> Option<&OrderedRows<M>> {
        match index {
            Index::Ordered(rows) => Some(rows),
            _ => None,
        }
    }

    #[inline(always)]
    fn number<M: Machine>(self, _: &M::Core, (): ()) -> u64 {
        self
    }
}

impl OrderedKey for ByteKey {
    fn rows<M: Machine>(index: &Index<M>) -> Option<&OrderedRows<M, ByteKey>> {
        match index {
            Index::OrderedBytes(rows) => Some(rows),
            _ => None,
        }
    }

    fn number<M: Machine>(self, core: &M::Core, width: usize) -> u64 {
        let mut buffer = KEY_BUFFER;
        let key = self.bytes(width, &mut buffer);
        core.copied(key.len());
        digest(key)
    }
}

/// Slots of a session for nodes of one table.
struct Nodes<'t, M: Machine> {
    table: &'t Table<M>,
    space: &'t mut Space,
    /// Bytes of one node's slot.
    bytes: u64,
}

impl<M: Machine> NodeSource for Nodes<'_, M> {
    fn take(&mut self) -> Result<u64, OutOfMemory> {
        let bytes = self.bytes;
        if let Some(slot) = self.space.nodes.pop(bytes) {
            return Ok(slot);
        }
        if let Some(slot) = self.table.take_surplus(self.space, |space| space.nodes.pop(bytes)) {
            return Ok(slot);
        }
        self.space.nodes.refill(self.table.arena(), bytes, NODES_PER_CHUNK)?;
        Ok(self.space.nodes.pop(bytes).expect("just filled"))
    }

    fn give_back(&mut self, slot: u64) {
        self.space.nodes.give_back(slot);
    }
}

/// Reason why a record could not be made or a leaf could not be split.
struct NotMade(Abort);

impl From<OutOfMemory> for NotMade {
    fn from(_: OutOfMemory) -> Self {
        NotMade(Abort::because(AbortReason::OutOfMemory))
    }
}

/// Operations on tables in key order. A session stays pinned from the look-up of a leaf to its last use.
impl<M: Machine> Table<M> {
    /// Returns true if ranges of the table can be scanned, by keys of 64 bits.
    #[inline(always)]
    pub fn is_ordered(&self) -> bool {
        matches!(&self.index, Index::Ordered(_))
    }

    #[inline(always)]
    fn ordered<K: OrderedKey>(&self) -> &OrderedRows<M, K> {
        match K::rows(&self.index) {
            Some(rows) => rows,
            None => panic!("table {:?} has no ordered index of such keys", self.schema().name),
        }
    }

    /// Returns the size that all keys of the table have in common.
    ///
    /// # Panics
    /// If the table is not in order of keys of this type. The methods below panic in the same case.
    #[inline(always)]
    pub fn width<K: OrderedKey>(&self) -> K::Width {
        self.ordered::<K>().tree.width()
    }

    /// Returns the record of `key`, or the leaf to which the key belongs.
    #[inline]
    pub fn seek<K: OrderedKey>(&self, core: &M::Core, key: K) -> Sought<'_, M> {
        let rows = self.ordered::<K>();
        self.sought(rows, rows.tree.seek(core, key))
    }

    /// Does the same as [`Table::seek`]. `near` is the leaf where the key is likely to be: one that an earlier search in this table
    /// has returned.
    #[inline]
    pub fn seek_from<K: OrderedKey>(
        &self,
        core: &M::Core,
        near: Leaf<'_, M>,
        key: K,
    ) -> Sought<'_, M> {
        let rows = self.ordered::<K>();
        self.sought(rows, rows.tree.seek_from(core, near.offset, key))
    }

    /// Returns what a search in the tree has found: a leaf, and the offset of the key's record.
    #[inline(always)]
    fn sought<'s, K: OrderedKey>(
        &'s self,
        rows: &'s OrderedRows<M, K>,
        (leaf, offset): (u64, Option<u64>),
    ) -> Sought<'s, M> {
        match offset {
            Some(offset) => Sought::Found(self.record_at(offset), rows.leaf(leaf)),
            None => Sought::Absent(rows.leaf(leaf)),
        }
    }

    /// Returns the leaf to which `key` belongs.
    pub fn leaf_of<K: OrderedKey>(&self, core: &M::Core, key: K) -> Leaf<'_, M> {
        let rows = self.ordered::<K>();
        rows.leaf(rows.tree.seek(core, key).0)
    }

    /// Returns the leaf to which `key` is likely to belong, for a scan that goes from leaf to leaf. [`Table::read_leaf`] tells whether it
    /// does. If not, the caller calls [`LeafPath::forget`] before it asks again.
    pub fn leaf_along<K: OrderedKey>(
        &self,
        core: &M::Core,
        key: K,
        path: &mut LeafPath,
    ) -> Leaf<'_, M> {
        let rows = self.ordered::<K>();
        rows.leaf(rows.tree.leaf_along(core, key, path))
    }

    /// Returns what `leaf` holds now, or none if `key` no longer belongs to it.
    pub fn read_leaf<K: OrderedKey>(
        &self,
        core: &M::Core,
        leaf: Leaf<'_, M>,
        key: K,
    ) -> Option<LeafRows<'_, M, K>> {
        let (rows, mut aside) = (self.ordered::<K>(), Vec::new());
        // Records are made and removed under the leaf's latch. So the absences that are set aside are consistent with
        // the copy of the leaf.
        let copy = rows.tree.read_leaf(core, leaf.offset, key, &mut |first, last| {
            aside = rows.aside.within(first..=last);
        })?;
        Some(LeafRows::new(self.shape(), copy, aside))
    }

    /// Makes a record for `key`, with an absent row, if the key still belongs to `leaf`. `prepare` sets up the
    /// record's protocol words just before other sessions can find the record. At that moment the leaf's guard has
    /// already counted the insertion. `prepare` gets the number of insertions that the guard had counted before. If
    /// `prepare` returns an error, no record is made.
    pub fn make_in<'s, K: OrderedKey>(
        &'s self,
        core: &M::Core,
        space: &mut Space,
        leaf: Leaf<'s, M>,
        key: K,
        prepare: impl FnOnce(Record<'s, M>, u64) -> Result<(), Abort>,
    ) -> Result<Placed<'s, M>, Abort> {
        let offset = self.take_slot(space).map_err(|error| NotMade::from(error).0)?;
        let record = self.record_at(offset);
        let rows = self.ordered::<K>();
        record.initialise(key.number::<M>(core, rows.tree.width()), RowState::ABSENT);
        let inserted = rows.tree.insert(core, leaf.offset, key, offset, || {
            let before = leaf.guard.count_insertion(core);
            prepare(record, before)?;
            rows.aside.take(|| key, &record);
            Ok(())
        });
        if inserted != Ok(Insertion::Made) {
            space.records.give_back(offset);
        }
        Ok(match inserted? {
            Insertion::Made => Placed::Made(record),
            Insertion::Existing(other) => Placed::Existing(self.record_at(other)),
            Insertion::Moved => Placed::Moved,
            Insertion::Full => Placed::Full,
        })
    }

    /// Makes records with absent rows for `keys`, in this order, and adds them to `made`. Ends before the first key that does not
    /// belong to `leaf`, has a record, or finds no room. `prepare` does the same as for [`Table::make_in`], for each record. If it
    /// returns an error, the records of the keys before stay made.
    pub fn make_run<'s>(
        &'s self,
        core: &M::Core,
        space: &mut Space,
        leaf: Leaf<'s, M>,
        keys: impl Iterator<Item = u64> + Clone,
        made: &mut Vec<Record<'s, M>>,
        mut prepare: impl FnMut(Record<'s, M>, u64) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let rows = self.ordered::<u64>();
        let mut next = made.len();
        // Slots are taken before the latch, because that can take long.
        for key in keys.clone() {
            let Ok(offset) = self.take_slot(space) else { break };
            let record = self.record_at(offset);
            record.initialise(key, RowState::ABSENT);
            made.push(record);
        }
        let mut keys = keys.take(made.len() - next);
        let outcome = rows.tree.insert_run(core, leaf.offset, &mut keys, &mut |key| {
            let record = made[next];
            prepare(record, leaf.guard.count_insertion(core))?;
            rows.aside.take(|| key, &record);
            next += 1;
            Ok(record.name().offset)
        });
        made.drain(next..).for_each(|record| space.records.give_back(record.name().offset));
        outcome
    }

    /// Splits a full `leaf` to make room for `key`. `announce` gets the guard of the new leaf that takes over the
    /// upper part of the range, and the number of insertions that the leaf's guard had counted. At that moment the
    /// leaf's guard has counted one more. No other session can reach either range then. If `announce` returns an
    /// error, the leaf is not split.
    pub fn split_leaf<'s, K: OrderedKey>(
        &'s self,
        core: &M::Core,
        space: &mut Space,
        leaf: Leaf<'s, M>,
        key: K,
        announce: impl FnOnce(Guard<'s, M>, u64) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let rows = self.ordered::<K>();
        let bytes = rows.tree.slot_bytes();
        let mut nodes = Nodes { table: self, space, bytes };
        let split = rows.tree.split(core, leaf.offset, key, &mut nodes, |_, right| {
            let before = leaf.guard.count_insertion(core);
            announce(rows.guard(right), before).map_err(NotMade)
        });
        split.map_err(|NotMade(abort)| abort)
    }

    /// Removes the retired record of `key` from the index. Before that, `remember` gets the guard of its leaf, and no
    /// other session changes the leaf meanwhile. Returns false if the record was not in the index. The slot can be
    /// reused two epochs later.
    pub fn unlink_from_leaf<K: OrderedKey>(
        &self,
        core: &M::Core,
        (key, record): (K, &Record<'_, M>),
        remember: impl FnOnce(Guard<'_, M>),
    ) -> bool {
        let (rows, offset) = (self.ordered::<K>(), record.name().offset);
        let removed = rows.tree.remove(core, key, offset, |leaf| {
            rows.aside.put(|| key, record);
            remember(rows.guard(leaf));
        });
        removed.is_some()
    }

    /// Returns the leaf to which `key` belongs, if the leaf is empty.
    pub fn empty_leaf_of<K: OrderedKey>(&self, core: &M::Core, key: K) -> Option<Leaf<'_, M>> {
        let leaf = self.leaf_of(core, key);
        let copy = self.ordered::<K>().tree.read_leaf(core, leaf.offset, key, &mut |_, _| ())?;
        copy.entries().is_empty().then_some(leaf)
    }

    /// Removes an empty leaf, to which `key` belongs, from the index. `bequeath` gets its guard and the guard of the
    /// leaf that takes over its range. At that moment the first guard has counted an insertion. Returns false if other
    /// sessions were in the way. The slots go to `space`, and can be reused two epochs later.
    pub fn unlink_leaf<K: OrderedKey>(
        &self,
        core: &M::Core,
        space: &mut Space,
        leaf: Leaf<'_, M>,
        key: K,
        current_epoch: impl FnOnce() -> u64,
        bequeath: impl FnOnce(Guard<'_, M>, Guard<'_, M>),
    ) -> bool {
        let rows = self.ordered::<K>();
        let outcome = rows.tree.unlink(core, leaf.offset, key, |gone, heir| {
            let (gone, heir) = (rows.guard(gone), rows.guard(heir));
            gone.count_insertion(core);
            bequeath(gone, heir);
        });
        match outcome {
            Unlinking::Busy => return false,
            Unlinking::Unneeded => {}
            Unlinking::Done(slots) => {
                // The epoch is read after the unlinking, so every session that still found the leaf had pinned an
                // epoch by then.
                let epoch = current_epoch();
                slots.into_iter().for_each(|slot| space.nodes.retire(epoch, slot));
            }
        }
        true
    }

    /// Notes that `count` rows, with the keys from `key` on, were loaded at consecutive slots.
    pub(crate) fn note_loaded(&self, key: u64, offset: u64, count: u64) {
        self.ordered::<u64>().note_loaded((key, key + (count - 1)), offset, count);
    }

    /// Returns the rows that have been loaded, if the run is recorded and the table is in key order.
    pub fn loaded(&self) -> Option<LoadedTable> {
        let (mut extents, mut spelled, mut buffer) = (Vec::new(), Vec::new(), Self::key_buffer());
        match &self.index {
            Index::Ordered(rows) => extents = rows.kept()?,
            Index::OrderedBytes(rows) => {
                let width = rows.tree.width();
                for (first, last) in rows.kept()? {
                    let next = |key: &ByteKey| key.after(width).filter(|key| *key <= last);
                    let keys = std::iter::successors(Some(first), next);
                    spelled
                        .extend(keys.map(|key| self.shape().bytes_of(key, &mut buffer).to_vec()));
                }
            }
            Index::Hash(_) | Index::Perfect(_) => return None,
        }
        Some(LoadedTable { table: self.id(), extents, spelled })
    }

    /// Builds the index of the rows that were loaded, if the table is in key order.
    pub(crate) fn finish_loading(&self) -> Result<(), OutOfMemory> {
        match &self.index {
            Index::Ordered(rows) => rows.finish_loading(self.stride()),
            Index::OrderedBytes(rows) => rows.finish_loading(self.stride()),
            Index::Hash(_) | Index::Perfect(_) => Ok(()),
        }
    }
}
