//! What a session does with a table in key order: seeking, making records in leaves, splitting and unlinking leaves.

use super::{Index, Table};
use crate::{
    Guard, Leaf, LeafRows, Placed, Record, Sought, Space,
    index::{
        ByteKey, TreeKey,
        key::KEY_BUFFER,
        ordered::{Insertion, NodeSource, Unlinking},
    },
    key_layout::digest,
    ordered_rows::OrderedRows,
    record::RowState,
};
use machine::{Core, Machine, OutOfMemory};
use txn::{Abort, AbortReason, LoadedTable};

/// Nodes that a session takes from the arena at a time.
const NODES_PER_CHUNK: u64 = 16;

/// A kind of key that tables in key order may have.
pub trait OrderedKey: TreeKey {
    /// The index of a table with such keys, if it is in their order.
    fn rows<M: Machine>(index: &Index<M>) -> Option<&OrderedRows<M, Self>>;

    /// What stands for the key in its record, and wherever a number has to.
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

/// A session's slots for nodes of one table.
struct Nodes<'t, M: Machine> {
    table: &'t Table<M>,
    space: &'t mut Space,
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

/// Why a record could not be made or a leaf not be split.
struct NotMade(Abort);

impl From<OutOfMemory> for NotMade {
    fn from(_: OutOfMemory) -> Self {
        NotMade(Abort::because(AbortReason::OutOfMemory))
    }
}

/// Tables in key order. A session stays pinned from the look-up of a leaf to its last use.
impl<M: Machine> Table<M> {
    /// True when ranges of the table can be scanned, by keys of 64 bits.
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

    /// What its keys have in common.
    ///
    /// # Panics
    /// If it is not in order of such keys; so do the methods below.
    #[inline(always)]
    pub fn width<K: OrderedKey>(&self) -> K::Width {
        self.ordered::<K>().tree.width()
    }

    /// The record of `key`, or the leaf into which it belongs.
    #[inline]
    pub fn seek<K: OrderedKey>(&self, core: &M::Core, key: K) -> Sought<'_, M> {
        let rows = self.ordered::<K>();
        match rows.tree.seek(core, key) {
            (_, Some(offset)) => Sought::Found(self.record_at(offset)),
            (leaf, None) => Sought::Absent(rows.leaf(leaf)),
        }
    }

    /// The leaf into which `key` belongs.
    pub fn leaf_of<K: OrderedKey>(&self, core: &M::Core, key: K) -> Leaf<'_, M> {
        let rows = self.ordered::<K>();
        rows.leaf(rows.tree.seek(core, key).0)
    }

    /// What `leaf` holds just now; none if `key` does not belong into it any more.
    pub fn read_leaf<K: OrderedKey>(
        &self,
        core: &M::Core,
        leaf: Leaf<'_, M>,
        key: K,
    ) -> Option<LeafRows<'_, M, K>> {
        let (rows, mut aside) = (self.ordered::<K>(), Vec::new());
        // Records retire, and are made, under the leaf's latch: what is aside goes with what is in the leaf.
        let copy = rows.tree.read_leaf(core, leaf.offset, key, &mut |first, last| {
            aside = rows.aside.within(first..=last);
        })?;
        Some(LeafRows::new(self.shape(), copy, aside))
    }

    /// Makes a record for `key`, its row absent, if the key still belongs into `leaf`. `prepare` sets up the
    /// protocol's words of it just before others can find it; by then the leaf's guard has counted it, and
    /// `prepare` is told how many insertions it had counted before. If it refuses, there is no record.
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

    /// Makes room for `key` in a full `leaf`. `announce` is told the guard of the leaf that is to take over
    /// the upper part of the range, and how many insertions the leaf's guard had counted; by then it has
    /// counted one more. Nobody else can reach either range then. If it refuses, nothing has happened.
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

    /// Takes the retired record of `key` out of the index. `remember` is told the guard of its leaf before; nobody else
    /// changes the leaf meanwhile. False if it was not there. The slot may be used again two epochs later.
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

    /// The leaf into which `key` belongs, if nothing is in there.
    pub fn empty_leaf_of<K: OrderedKey>(&self, core: &M::Core, key: K) -> Option<Leaf<'_, M>> {
        let leaf = self.leaf_of(core, key);
        let copy = self.ordered::<K>().tree.read_leaf(core, leaf.offset, key, &mut |_, _| ())?;
        copy.entries().is_empty().then_some(leaf)
    }

    /// Takes an empty leaf, into which `key` belongs, out of the index. `bequeath` is told its guard and that
    /// of the leaf that takes over its range; by then the first has counted an insertion. False if others
    /// were in the way. The slots go to `space`, to be used again two epochs later.
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
                // Read after the unlinking: who still found the leaf was pinned by then.
                let epoch = current_epoch();
                slots.into_iter().for_each(|slot| space.nodes.retire(epoch, slot));
            }
        }
        true
    }

    /// Rows `key..` were loaded at consecutive slots.
    pub(crate) fn note_loaded(&self, key: u64, offset: u64, count: u64) {
        self.ordered::<u64>().note_loaded((key, key + (count - 1)), offset, count);
    }

    /// The rows that have been loaded, if the run is recorded and the table in order.
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

    /// Builds the index of the rows that were loaded, if it is in order.
    pub(crate) fn finish_loading(&self) -> Result<(), OutOfMemory> {
        match &self.index {
            Index::Ordered(rows) => rows.finish_loading(self.stride()),
            Index::OrderedBytes(rows) => rows.finish_loading(self.stride()),
            Index::Hash(_) | Index::Perfect(_) => Ok(()),
        }
    }
}
