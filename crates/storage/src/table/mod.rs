//! A table: its layout, its index, and the slots of its records.

mod byte_keys;
mod ordered;
mod walk;

pub use ordered::OrderedKey;
pub use walk::Piece;

use crate::{
    ProtocolWords, Record, Space,
    aside::Aside,
    index::{ByteKey, HashIndex, PerfectIndex},
    key_layout::ordered_width,
    ordered_rows::OrderedRows,
    record::RowState,
    shape::{Dense, Extras, Shape},
    split::Split,
};
use machine::{
    Arena, Machine, OutOfMemory, Place,
    cold::{Arc, Mutex},
};
use txn::{ColumnSet, IndexKind, KeyKind, RowLayout, TableId, TableSchema};

/// Slots that a session takes from the arena at a time, unless records are very long.
const SLOTS_PER_CHUNK: u64 = 64;

/// Rows by rule up to this many bytes will soon be touched all over, so they get huge pages, where a page
/// fault is paid once in 2 MiB; larger tables stay sparse.
const MOSTLY_TOUCHED: u64 = 2 << 30;

/// One table of a store: how its records lie, how they are found, and where new ones go.
pub struct Table<M: Machine> {
    shape: Shape<M>,
    index: Index<M>,
    indexed_columns: ColumnSet,
    /// Keys are numbers, and rows one record each.
    whole_rows: bool,
    spaces: Mutex<Vec<Space>>,
    /// Of tables without order, by key and, where they are bytes, by those.
    aside: Aside<(u64, Vec<u8>)>,
}

/// The outcome of a look-up that makes absent keys present as absences.
pub enum Found<'s, M: Machine> {
    /// There was a record.
    Existing(Record<'s, M>),
    /// There was none; this one was made, its row absent.
    Made(Record<'s, M>),
}

/// How a table's records are found. Named by nobody outside.
pub enum Index<M: Machine> {
    Hash(HashIndex<M>),
    Perfect(PerfectIndex<M>),
    Ordered(Box<OrderedRows<M>>),
    OrderedBytes(Box<OrderedRows<M, ByteKey>>),
}

impl<M: Machine> Index<M> {
    /// An empty index meant for `rows` rows of table `id`, whose records have `extras`.
    fn new(
        arena: &Arc<Arena>,
        id: TableId,
        schema: &TableSchema,
        rows: u64,
        extras: &Extras,
    ) -> Result<Self, OutOfMemory> {
        Ok(match schema.index {
            IndexKind::Hash => Index::Hash(HashIndex::new(arena, rows)?),
            IndexKind::Perfect { keys } => Index::Perfect(PerfectIndex::new(arena, keys)?),
            kind => {
                let red_black = kind == IndexKind::RedBlack;
                match ordered_width(schema) {
                    None => Index::Ordered(Box::new(OrderedRows::new(
                        arena,
                        id,
                        red_black,
                        (),
                        extras,
                    )?)),
                    Some(width) => Index::OrderedBytes(Box::new(OrderedRows::new(
                        arena, id, red_black, width, extras,
                    )?)),
                }
            }
        })
    }

    /// Bytes of an index for `rows` rows.
    fn bytes_for(schema: &TableSchema, rows: u64, words: &ProtocolWords) -> u64 {
        match schema.index {
            IndexKind::Hash => HashIndex::<M>::bytes_for(rows),
            IndexKind::Perfect { keys } => PerfectIndex::<M>::bytes_for(keys),
            kind => {
                let red_black = kind == IndexKind::RedBlack;
                match ordered_width(schema) {
                    None => OrderedRows::<M>::bytes_for(red_black, rows, (), words),
                    Some(width) => {
                        OrderedRows::<M, ByteKey>::bytes_for(red_black, rows, width, words)
                    }
                }
            }
        }
    }
}

impl<M: Machine> Table<M> {
    /// Bytes that `rows` rows of `schema` need, index included.
    pub(crate) fn bytes_for(schema: &TableSchema, rows: u64, extras: &Extras) -> u64 {
        let index = Index::<M>::bytes_for(schema, rows, &extras.words);
        rows.saturating_mul(Shape::<M>::stride_of(schema, extras)).saturating_add(index)
    }

    /// An empty table meant for `rows` rows.
    pub(crate) fn new(
        arena: &Arc<Arena>,
        id: TableId,
        schema: TableSchema,
        rows: u64,
        extras: &Extras,
    ) -> Result<Self, OutOfMemory> {
        let whole_rows = schema.key == KeyKind::Integer && schema.often.is_empty();
        Ok(Table {
            index: Index::new(arena, id, &schema, rows, extras)?,
            shape: Shape::of_rows(arena, id, schema, extras),
            indexed_columns: ColumnSet::NONE,
            whole_rows,
            spaces: Mutex::new(Vec::new()),
            aside: Aside::new(extras.keep_versions),
        })
    }

    /// The same table with secondary indexes on `columns`.
    pub(crate) fn with_indexed_columns(mut self, columns: ColumnSet) -> Self {
        self.indexed_columns = columns;
        self
    }

    /// The columns that are in a secondary index.
    #[inline(always)]
    pub fn indexed_columns(&self) -> ColumnSet {
        self.indexed_columns
    }

    /// How its records lie.
    #[inline(always)]
    pub fn shape(&self) -> &Shape<M> {
        &self.shape
    }

    /// The two parts of its rows, if they have two.
    #[inline(always)]
    pub fn split(&self) -> Option<&Split<M>> {
        self.shape.split()
    }

    /// Where the columns of a whole row lie when they are packed.
    pub fn row_layout(&self) -> &RowLayout {
        self.shape.row_layout()
    }

    /// True when keys are numbers and each row is one record: then [`Table::find`] leads to all of it.
    #[inline(always)]
    pub fn has_whole_rows(&self) -> bool {
        self.whole_rows
    }

    /// False for a key that has no place in the index, so that there can never be such a row.
    #[inline]
    pub fn has_place_for(&self, key: u64) -> bool {
        match &self.index {
            Index::Perfect(index) => key < index.keys(),
            Index::Hash(_) | Index::Ordered(_) | Index::OrderedBytes(_) => true,
        }
    }

    #[cold]
    fn without_hash(&self) -> ! {
        panic!("table {:?} has neither a hash index nor a perfect one", self.schema().name)
    }

    /// Its number.
    #[inline(always)]
    pub fn id(&self) -> TableId {
        self.shape.id()
    }

    /// Its schema.
    #[inline(always)]
    pub fn schema(&self) -> &TableSchema {
        self.shape.schema()
    }

    /// Where the columns lie in a record, in the first one of rows in two parts.
    #[inline(always)]
    pub fn layout(&self) -> &RowLayout {
        self.shape.layout()
    }

    /// Bytes of one record slot, header and padding included.
    pub fn stride(&self) -> u64 {
        self.shape.stride()
    }

    /// The arena in which its records lie.
    #[inline(always)]
    pub fn arena(&self) -> &Arc<Arena> {
        self.shape.arena()
    }

    /// False when values are charged for but not kept (opaque tables on a simulated machine).
    #[inline(always)]
    pub fn keeps_columns(&self) -> bool {
        self.shape.keeps_columns()
    }

    /// True when keys are bytes.
    #[inline(always)]
    pub fn has_byte_keys(&self) -> bool {
        self.shape.has_byte_keys()
    }

    #[inline(always)]
    pub(crate) fn record_at(&self, offset: u64) -> Record<'_, M> {
        // SAFETY: offsets come from this table's index, its spaces or its dense range: all slots of it.
        unsafe { self.shape.slot_at(offset) }
    }

    /// The record of `key`, if the index has one.
    #[inline(always)]
    pub fn find(&self, core: &M::Core, key: u64) -> Option<Record<'_, M>> {
        if let Some(dense) = self.shape.dense()
            && key < dense.count
        {
            match &self.index {
                Index::Hash(index) => index.touch(core, key),
                Index::Perfect(index) => index.touch(core, key),
                _ => self.without_hash(),
            }
            return Some(self.record_at(dense.first + key * self.stride()));
        }
        let offset = match &self.index {
            Index::Hash(index) => index.find(core, key, |o| self.record_at(o).has_key(core, key)),
            Index::Perfect(index) => index.find(core, key),
            Index::Ordered(rows) => rows.tree.find(core, key),
            Index::OrderedBytes(_) => self.without_hash(),
        }?;
        Some(self.record_at(offset))
    }

    /// The record of `key`; where there is none, one whose row is absent, so that the absence can be
    /// locked and validated like a row. `prepare` sets up the protocol's words of a fresh record just
    /// before others can find it. Of tables without order, and keys that have a place.
    pub fn find_or_make(
        &self,
        core: &M::Core,
        space: &mut Space,
        key: u64,
        prepare: impl FnOnce(&Record<'_, M>),
    ) -> Result<Found<'_, M>, OutOfMemory> {
        if let Some(record) = self.find(core, key) {
            return Ok(Found::Existing(record));
        }
        let offset = self.take_slot(space)?;
        let record = self.record_at(offset);
        record.initialise(key, RowState::ABSENT);
        let is_key = |o| self.record_at(o).has_key(core, key);
        let prepare = || {
            self.aside.take(|| (key, Vec::new()), &record);
            prepare(&record);
        };
        let inserted = match &self.index {
            Index::Hash(index) => index.insert(core, key, offset, is_key, prepare),
            Index::Perfect(index) => Ok(index.insert(core, key, offset, prepare)),
            _ => self.without_hash(),
        };
        match inserted {
            Ok(Ok(())) => Ok(Found::Made(record)),
            Ok(Err(other)) => {
                space.records.give_back(offset);
                Ok(Found::Existing(self.record_at(other)))
            }
            Err(error) => {
                space.records.give_back(offset);
                Err(error)
            }
        }
    }

    pub(crate) fn take_slot(&self, space: &mut Space) -> Result<u64, OutOfMemory> {
        if let Some(offset) = space.records.pop(self.stride()) {
            return Ok(offset);
        }
        let others = self.take_surplus(space, |space| space.records.pop(self.stride()));
        if let Some(offset) = others {
            return Ok(offset);
        }
        let slots = SLOTS_PER_CHUNK.min((1 << 20) / self.stride()).max(1);
        space.records.refill(self.arena(), self.stride(), slots)?;
        Ok(space.records.pop(self.stride()).expect("just filled"))
    }

    /// A slot that another session has left over.
    #[cold]
    pub(crate) fn take_surplus(
        &self,
        space: &mut Space,
        mut pop: impl FnMut(&mut Space) -> Option<u64>,
    ) -> Option<u64> {
        let mut spaces = self.spaces.lock();
        while let Some(other) = spaces.pop() {
            space.records.absorb(other.records, self.stride());
            space.nodes.absorb(other.nodes, self.node_stride());
            if let Some(offset) = pop(space) {
                return Some(offset);
            }
        }
        None
    }

    /// Bytes of a node of its index, if that has nodes.
    fn node_stride(&self) -> u64 {
        match &self.index {
            Index::Ordered(rows) => rows.tree.slot_bytes(),
            Index::OrderedBytes(rows) => rows.tree.slot_bytes(),
            Index::Hash(_) | Index::Perfect(_) => 1,
        }
    }

    /// Makes the slots of a session usable again that nobody can see in epoch `now`, and leaves all but
    /// `keep` of the free ones to other sessions, if it has twice as many.
    pub fn reclaim(
        &self,
        space: &mut Space,
        now: u64,
        is_past: impl Fn(u64, u64) -> bool,
        keep: usize,
    ) {
        if M::QUARANTINES {
            space.records.quarantine(now, &is_past, |offset| self.record_at(offset).mark_freed());
        } else {
            space.records.reclaim(now, &is_past);
        }
        space.nodes.reclaim(now, &is_past);
        if keep == 0 {
            space.records.free_rest(self.stride());
            space.nodes.free_rest(self.node_stride());
        }
        let surplus =
            Space { records: space.records.surplus(keep), nodes: space.nodes.surplus(keep) };
        if !surplus.is_empty() {
            self.spaces.lock().push(surplus);
        }
    }

    /// True when `record` can be taken out of the index (records that exist by rule cannot).
    pub fn is_unlinkable(&self, record: &Record<'_, M>) -> bool {
        self.shape.dense_key(record.identity() as *const u8).is_none()
    }

    /// Takes a retired record out of the index. Its slot may be used again two epochs later.
    /// Of tables without order.
    pub fn unlink(&self, core: &M::Core, record: &Record<'_, M>) -> bool {
        let (key, offset) = (record.key(core), record.name().offset);
        self.aside.put(|| (key, record.kept_key_bytes()), record);
        match &self.index {
            Index::Hash(index) => index.remove(core, key, offset),
            Index::Perfect(index) => index.remove(core, key, offset),
            _ => self.without_hash(),
        }
    }

    /// Space for a session, with whatever earlier sessions left over.
    pub fn take_space(&self) -> Space {
        self.spaces.lock().pop().unwrap_or_default()
    }

    /// Takes a session's space back.
    pub fn return_space(&self, space: Space) {
        self.spaces.lock().push(space);
    }

    /// Asks the host to fetch the bucket of `key`.
    #[inline(always)]
    pub fn prefetch_bucket(&self, core: &M::Core, key: u64) {
        match &self.index {
            Index::Hash(index) => index.prefetch(core, key),
            Index::Perfect(index) => index.prefetch(core, key),
            Index::Ordered(_) | Index::OrderedBytes(_) => {}
        }
    }

    /// The record that `key` most likely has, judged by its bucket alone: to prefetch it.
    #[inline(always)]
    pub fn guess(&self, core: &M::Core, key: u64) -> Option<Record<'_, M>> {
        match &self.index {
            Index::Hash(index) => index.guess(core, key).map(|offset| self.record_at(offset)),
            Index::Perfect(index) => index.find(core, key).map(|offset| self.record_at(offset)),
            Index::Ordered(_) | Index::OrderedBytes(_) => None,
        }
    }

    /// Makes rows `0..count` exist by rule. Only on modelled machines, once, before anything is inserted.
    pub(crate) fn make_dense(&self, count: u64) -> Result<(), OutOfMemory> {
        self.must_have_place_for(count);
        let bytes = count * self.stride();
        let first = self.arena().allocate(bytes.max(1), 64, Place::Any)?;
        if bytes <= MOSTLY_TOUCHED {
            self.arena().prefer_huge_pages(first, bytes);
        }
        let stride = self.stride();
        self.shape.set_dense(Dense { first, count, bytes, stride });
        if let Some(split) = self.split() {
            let first = first + split.distance();
            split.behind().set_dense(Dense { first, count, bytes, stride });
        }
        Ok(())
    }

    /// A loader gives a table no keys but those that it was declared for.
    fn must_have_place_for(&self, count: u64) {
        let name = &self.schema().name;
        let fits = count == 0 || self.has_place_for(count - 1);
        assert!(fits, "table {name:?} is loaded with key {}, beyond its index", count - 1);
    }

    /// Consecutive slots for `count` records.
    pub(crate) fn take_extent(&self, count: u64) -> Result<u64, OutOfMemory> {
        self.arena().allocate((count * self.stride()).max(1), 64, Place::Any)
    }

    /// Puts a row into a fresh slot and the index, while others load other keys.
    pub(crate) fn load_at(
        &self,
        core: &M::Core,
        offset: u64,
        key: u64,
        row: &[u8],
    ) -> Result<(), OutOfMemory> {
        let record = self.record_at(offset);
        record.initialise(key, RowState::PRESENT);
        record.fill(row);
        if self.is_ordered() {
            // Goes into the index with all others, when they are there.
            return Ok(());
        }
        let is_key = |o| self.record_at(o).has_key(core, key);
        let inserted = match &self.index {
            Index::Hash(index) => index.insert(core, key, offset, is_key, || ())?,
            Index::Perfect(index) => index.insert(core, key, offset, || ()),
            _ => self.without_hash(),
        };
        inserted.expect("a loader gives every key once");
        Ok(())
    }

    /// As [`Table::load_at`], in a slot of its own and without a core: nothing else runs.
    pub(crate) fn load_alone(&self, key: u64, row: &[u8]) -> Result<(), OutOfMemory> {
        let mut space = self.take_space();
        let offset = self.take_slot(&mut space);
        self.return_space(space);
        let record = self.record_at(offset?);
        record.initialise(key, RowState::PRESENT);
        if self.keeps_columns() {
            record.fill(row);
        }
        match &self.index {
            Index::Hash(index) => index.insert_alone(key, record.name().offset),
            Index::Perfect(index) => {
                index.insert_alone(key, record.name().offset);
                Ok(())
            }
            _ => {
                self.note_loaded(key, record.name().offset, 1);
                Ok(())
            }
        }
    }

    /// Sets the columns of a row that exists by rule; nothing else runs.
    pub(crate) fn fill_dense(&self, key: u64, row: &[u8]) {
        let dense = self.shape.dense().expect("loaded densely before");
        self.record_at(dense.first + key * self.stride()).fill(row);
    }
}
