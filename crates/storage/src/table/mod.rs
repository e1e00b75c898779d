//! A table: its layout, its index, and the slots of its records.
//!
//! A record is found through the index, which maps a key to the offset of a slot. If a transaction looks up a key
//! without a record, the table makes a record whose row is absent. So an absence can be locked and validated like a
//! row. When this record is no longer needed, it retires: a session marks it, removes it from the index, and its slot
//! is reused two epochs later.

mod byte_keys;
mod ordered;
mod walk;

pub use ordered::OrderedKey;
pub use walk::Piece;

use crate::{
    ProtocolWords, Record, Space,
    aside::Aside,
    hot_columns::HotColumns,
    index::{ByteKey, HashIndex, PerfectIndex},
    key_layout::ordered_width,
    ordered_rows::OrderedRows,
    record::RowState,
    shape::{Dense, Extras, Shape},
    values,
};
use machine::{
    Arena, Machine, OutOfMemory, Place, SettledRange,
    cold::{Arc, Mutex, OnceLock},
};
use txn::{ColumnSet, IndexKind, KeyKind, MAX_COLUMNS, RowLayout, Share, TableId, TableSchema};

/// Number of slots that a session takes from the arena at a time, unless records are very long.
const SLOTS_PER_CHUNK: u64 = 64;

/// Largest number of bytes of rows by rule that get huge pages. Rows in a table of this size will soon all be touched,
/// and with huge pages a page fault is paid once in 2 MiB. Larger tables stay sparse.
const MOSTLY_TOUCHED: u64 = 2 << 30;

/// One table of a store: how its records lie, how they are found, and where new records go.
pub struct Table<M: Machine> {
    shape: Shape<M>,
    index: Index<M>,
    /// Columns that are in a secondary index.
    indexed_columns: ColumnSet,
    /// Columns that a record does not hold in packed form: those whose values have different lengths, and those that
    /// were added to the table.
    indirect_columns: ColumnSet,
    /// The indirect columns, and those whose accesses the shape calls special.
    special_columns: ColumnSet,
    /// The special columns without those of variable length.
    unfetchable_columns: ColumnSet,
    /// The unfetchable columns, and those whose values lie outside records.
    unreadable_columns: ColumnSet,
    /// The special columns, those that are in a secondary index, and the constant ones.
    involved_columns: ColumnSet,
    /// Set if keys are numbers and each row is one record.
    whole_rows: bool,
    /// Set if an insert of a row is a look-up, a read and a write of one record.
    plain_inserts: bool,
    /// Columns that were added after the table was made, in the order of their numbers. Empty in most tables.
    added: OnceLock<Box<[OnceLock<AddedColumns>]>>,
    /// Slots that sessions have left to other sessions.
    spaces: Mutex<Vec<Space>>,
    /// Absences of tables without order, by key. A key of bytes is stored as its digest and its bytes.
    aside: Aside<(u64, Vec<u8>)>,
}

/// Columns that were added to a table. They are in a table of their own: see [`txn::AddedTo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedColumns {
    /// The table that holds them.
    pub table: TableId,
    /// Number that the first of them has in the table to which they were added.
    pub first: usize,
    /// Number of columns.
    pub count: usize,
}

impl AddedColumns {
    /// Returns the added columns among `columns`, with the numbers that they have in their own table.
    pub fn of(&self, columns: ColumnSet) -> ColumnSet {
        columns.shifted_down(self.first).and(ColumnSet::first(self.count))
    }
}

/// Outcome of a look-up that makes a record for an absent key.
pub enum Found<'s, M: Machine> {
    /// The key had a record.
    Existing(Record<'s, M>),
    /// The key had no record. This record was made, and its row is absent.
    Made(Record<'s, M>),
}

/// Index of a table. It is public only for the trait `OrderedKey`, and no code outside this crate names it.
pub enum Index<M: Machine> {
    Hash(HashIndex<M>),
    Perfect(PerfectIndex<M>),
    Ordered(Box<OrderedRows<M>>),
    OrderedBytes(Box<OrderedRows<M, ByteKey>>),
}

impl<M: Machine> Index<M> {
    /// Makes an empty index, sized for `rows` rows of table `id`, whose records have `extras`.
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

    /// Returns the bytes of an index for `rows` rows.
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
    /// Returns the bytes that `rows` rows of `schema` need, index included.
    pub(crate) fn bytes_for(schema: &TableSchema, rows: u64, extras: &Extras) -> u64 {
        let index = Index::<M>::bytes_for(schema, rows, &extras.words);
        let row = Shape::<M>::stride_of(schema, extras) + values::expected_bytes::<M>(schema);
        rows.saturating_mul(row).saturating_add(index)
    }

    /// Makes an empty table that is sized for `rows` rows.
    pub(crate) fn new(
        arena: &Arc<Arena>,
        id: TableId,
        schema: TableSchema,
        rows: u64,
        extras: &Extras,
    ) -> Result<Self, OutOfMemory> {
        // The table's memory can be given back when the table is dropped.
        let arena = &arena.recording();
        let index = Index::new(arena, id, &schema, rows, extras)?;
        let whole_rows = schema.key == KeyKind::Integer && schema.hot.is_empty();
        let shape = Shape::of_rows(arena, id, schema, extras).with_pointers(arena)?;
        // A table has no columns with the numbers of those that will be added to it.
        let added_columns = ColumnSet(!shape.row_layout().all().0);
        let indirect_columns = shape.row_layout().variable().with(added_columns);
        let special_columns = match extras.access.are_special() {
            true => ColumnSet(u64::MAX),
            false => indirect_columns
                .with(extras.access.uncontrolled(shape.schema(), shape.row_layout().all())),
        };
        let unfetchable_columns = match extras.access.are_special() {
            true => special_columns,
            false => special_columns.without(shape.row_layout().variable()),
        };
        let unreadable_columns = unfetchable_columns.with(shape.row_layout().apart());
        let involved_columns = special_columns.with(shape.schema().constant);
        let plain_inserts = whole_rows
            && shape.schema().indexes.is_empty()
            && shape.schema().constant.is_empty()
            && shape.row_layout().apart().is_empty()
            && unfetchable_columns.and(shape.row_layout().all()).is_empty();
        Ok(Table {
            index,
            shape,
            indexed_columns: ColumnSet::NONE,
            indirect_columns,
            special_columns,
            unfetchable_columns,
            unreadable_columns,
            involved_columns,
            whole_rows,
            plain_inserts,
            added: OnceLock::new(),
            spaces: Mutex::new(Vec::new()),
            aside: Aside::new(extras.keep_versions),
        })
    }

    /// Adds `count` columns, which table number `table` holds. Only one thread may do this at a time. Panics if the table
    /// would have more than [`MAX_COLUMNS`] columns.
    pub(crate) fn add_columns(&self, table: TableId, count: usize) {
        let places = || (0..MAX_COLUMNS).map(|_| OnceLock::new()).collect();
        let added = self.added.get_or_init(places);
        let first = self.added().last().map_or(self.schema().columns.len(), |a| a.first + a.count);
        assert!(
            first + count <= MAX_COLUMNS,
            "table {:?} has too many columns",
            self.schema().name
        );
        let place = added.iter().find(|place| place.get().is_none()).expect("one place a column");
        place.set(AddedColumns { table, first, count }).expect("the place was empty");
    }

    /// Returns the columns that were added, in the order of their numbers.
    pub fn added(&self) -> impl Iterator<Item = AddedColumns> + '_ {
        let places = self.added.get().into_iter().flatten();
        places.map_while(|place| place.get().copied())
    }

    /// Returns true if columns were added.
    #[inline]
    pub fn has_added_columns(&self) -> bool {
        self.added.get().is_some()
    }

    /// Returns the same table with secondary indexes on `columns`.
    pub(crate) fn with_indexed_columns(mut self, columns: ColumnSet) -> Self {
        self.indexed_columns = columns;
        self.involved_columns = self.involved_columns.with(columns);
        self
    }

    /// Returns the columns that are in a secondary index.
    #[inline(always)]
    pub fn indexed_columns(&self) -> ColumnSet {
        self.indexed_columns
    }

    /// Gives the memory of the table back. Returns the number of bytes.
    ///
    /// # Safety
    /// The table is not used any more, and nothing refers to its records.
    pub(crate) unsafe fn release(&self) -> u64 {
        self.spaces.lock().clear();
        // SAFETY: the caller promises that nothing refers to the table's memory.
        unsafe { self.arena().release() }
    }

    /// Returns the columns that a record does not hold in packed form: those whose values have different lengths, and
    /// those that were added to the table.
    #[inline(always)]
    pub fn indirect_columns(&self) -> ColumnSet {
        self.indirect_columns
    }

    /// Returns the columns whose reading involves more than a call of the protocol with them: the indirect ones, and
    /// those that [`Shape::is_special`] is about.
    #[inline(always)]
    pub fn special_columns(&self) -> ColumnSet {
        self.special_columns
    }

    /// Returns the columns whose reading involves more than a call of the protocol and the conversion of values of variable
    /// length.
    #[inline(always)]
    pub fn unfetchable_columns(&self) -> ColumnSet {
        self.unfetchable_columns
    }

    /// Returns the columns whose reading in held form involves more than a call of the protocol.
    #[inline(always)]
    pub fn unreadable_columns(&self) -> ColumnSet {
        self.unreadable_columns
    }

    /// Returns the columns whose update involves more than a call of the protocol with them: the special ones, those that
    /// are in a secondary index, and the constant ones.
    #[inline(always)]
    pub fn involved_columns(&self) -> ColumnSet {
        self.involved_columns
    }

    /// Returns the shape of the table's records.
    #[inline(always)]
    pub fn shape(&self) -> &Shape<M> {
        &self.shape
    }

    /// Returns the two parts of the rows, if they have two.
    #[inline(always)]
    pub fn hot_columns(&self) -> Option<&HotColumns<M>> {
        self.shape.hot_columns()
    }

    /// Returns the layout of the columns of a whole row when they are packed.
    pub fn row_layout(&self) -> &RowLayout {
        self.shape.row_layout()
    }

    /// Returns true if keys are numbers and each row is one record. Then [`Table::find`] leads to the whole row.
    #[inline(always)]
    pub fn has_whole_rows(&self) -> bool {
        self.whole_rows
    }

    /// Returns true if an insert of a row is a look-up, a read and a write of one record: keys are numbers, each row is one
    /// record that holds all of its values, there are no secondary indexes, no constant columns and no added ones, and
    /// no access is special.
    #[inline(always)]
    pub fn has_plain_inserts(&self) -> bool {
        self.plain_inserts && !self.has_added_columns()
    }

    /// Returns false for a key that has no place in the index, so that a row with this key can never exist.
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

    /// Returns the table's number.
    #[inline(always)]
    pub fn id(&self) -> TableId {
        self.shape.id()
    }

    /// Returns the table's schema.
    #[inline(always)]
    pub fn schema(&self) -> &TableSchema {
        self.shape.schema()
    }

    /// Returns the layout of the columns in a record. If rows have two parts: in the first part.
    #[inline(always)]
    pub fn layout(&self) -> &RowLayout {
        self.shape.layout()
    }

    /// Returns the bytes of one record slot, header and padding included.
    pub fn stride(&self) -> u64 {
        self.shape.stride()
    }

    /// Returns the arena in which the records lie.
    #[inline(always)]
    pub fn arena(&self) -> &Arc<Arena> {
        self.shape.arena()
    }

    /// Returns false if values are charged for but not kept (opaque tables on a simulated machine).
    #[inline(always)]
    pub fn keeps_columns(&self) -> bool {
        self.shape.keeps_columns()
    }

    /// Returns true if keys are bytes.
    #[inline(always)]
    pub fn has_byte_keys(&self) -> bool {
        self.shape.has_byte_keys()
    }

    #[inline(always)]
    pub(crate) fn record_at(&self, offset: u64) -> Record<'_, M> {
        // SAFETY: offsets come from this table's index, its spaces or its dense range. All of them are slots of this
        // table.
        unsafe { self.shape.slot_at(offset) }
    }

    /// Returns the key of the record at `offset`, or the digest of its key of bytes.
    #[inline(always)]
    fn key_at(&self, core: &M::Core, offset: u64) -> u64 {
        self.record_at(offset).key(core)
    }

    /// Returns the record of `key`, if the index has one.
    #[inline(always)]
    pub fn find(&self, core: &M::Core, key: u64) -> Option<Record<'_, M>> {
        if let Some(offset) = self.shape.dense().and_then(|dense| dense.offset_of(key)) {
            match &self.index {
                Index::Hash(index) => index.touch(core, key),
                Index::Perfect(index) => index.touch(core, key),
                _ => self.without_hash(),
            }
            return Some(self.record_at(offset));
        }
        let offset = match &self.index {
            Index::Hash(index) => index.find(core, key, |o| self.record_at(o).has_key(core, key)),
            Index::Perfect(index) => index.find(core, key),
            Index::Ordered(rows) => rows.tree.find(core, key),
            Index::OrderedBytes(_) => self.without_hash(),
        }?;
        Some(self.record_at(offset))
    }

    /// Returns the record of `key`. If there is none, makes a record whose row is absent, so that the absence can be
    /// locked and validated like a row. `prepare` sets up the protocol's words of a new record just before other
    /// sessions can find it. Only for tables without order, and for keys that have a place.
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
            Index::Hash(index) => {
                index.insert(core, (key, offset), is_key, |o| self.key_at(core, o), prepare)
            }
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

    /// Returns a slot that another session has left over.
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

    /// Returns the bytes of a node of the index, if the index has nodes.
    fn node_stride(&self) -> u64 {
        match &self.index {
            Index::Ordered(rows) => rows.tree.slot_bytes(),
            Index::OrderedBytes(rows) => rows.tree.slot_bytes(),
            Index::Hash(_) | Index::Perfect(_) => 1,
        }
    }

    /// Frees the retired slots of a session that no session can see in epoch `now`. If the session then has more than
    /// twice `keep` free slots, all but `keep` of them are left to other sessions.
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

    /// Returns true if `record` can be removed from the index. Records that exist by rule cannot.
    pub fn is_unlinkable(&self, record: &Record<'_, M>) -> bool {
        self.shape.dense_key(record.identity() as *const u8).is_none()
    }

    /// Removes a retired record from the index. Its slot can be reused two epochs later. Only for tables without
    /// order.
    pub fn unlink(&self, core: &M::Core, record: &Record<'_, M>) -> bool {
        let (key, offset) = (record.key(core), record.name().offset);
        self.aside.put(|| (key, record.kept_key_bytes()), record);
        match &self.index {
            Index::Hash(index) => index.remove(core, key, offset),
            Index::Perfect(index) => index.remove(core, key, offset),
            _ => self.without_hash(),
        }
    }

    /// Returns space for a session, with the slots that earlier sessions left over.
    pub fn take_space(&self) -> Space {
        self.spaces.lock().pop().unwrap_or_default()
    }

    /// Takes a session's space back.
    pub fn return_space(&self, space: Space) {
        self.spaces.lock().push(space);
    }

    /// Asks the host to fetch the buckets of `keys`.
    #[inline(always)]
    pub fn prefetch_buckets(&self, core: &M::Core, keys: impl Iterator<Item = u64>) {
        match &self.index {
            Index::Hash(index) => keys.for_each(|key| index.prefetch(core, key)),
            Index::Perfect(index) => keys.for_each(|key| index.prefetch(core, key)),
            Index::Ordered(_) | Index::OrderedBytes(_) => {}
        }
    }

    /// Calls `visit` with each item and the record that its key most likely has ([`Table::guess`]), if it has one. Buckets are
    /// fetched ahead, and `between` is called while some are on their way. Returns false, and does nothing, if keys are not found by
    /// their hash.
    #[inline(always)]
    pub fn guess_by_hash<'s, T>(
        &'s self,
        core: &M::Core,
        items: &[T],
        key_of: impl Fn(&T) -> u64,
        between: impl FnMut(),
        mut visit: impl FnMut(&T, Record<'s, M>),
    ) -> bool {
        let Index::Hash(index) = &self.index else { return false };
        index.guess_each(core, items, key_of, between, |item, offset| {
            visit(item, self.record_at(offset));
        });
        true
    }

    /// Returns the record that `key` most likely has, judged by its bucket alone. It is used to prefetch the record.
    #[inline(always)]
    pub fn guess(&self, core: &M::Core, key: u64) -> Option<Record<'_, M>> {
        if M::MODELLED
            && let Some(offset) = self.shape.dense().and_then(|dense| dense.offset_of(key))
        {
            return Some(self.record_at(offset));
        }
        match &self.index {
            Index::Hash(index) => index.guess(core, key).map(|offset| self.record_at(offset)),
            Index::Perfect(index) => index.find(core, key).map(|offset| self.record_at(offset)),
            Index::Ordered(_) | Index::OrderedBytes(_) => None,
        }
    }

    /// Makes the rows of `share` among `0..count` exist by rule, at consecutive slots. Returns the offset of the first
    /// one. Only on modelled machines, once, before anything is inserted.
    pub(crate) fn make_dense(&self, share: Share, count: u64) -> Result<u64, OutOfMemory> {
        self.must_have_place_for(count);
        let rule = self.schema().partitioning;
        let all = share.slots(rule, count);
        let bytes = all * self.stride();
        let slots = self.arena().allocate(bytes.max(1), 64, Place::Any)?;
        if bytes <= MOSTLY_TOUCHED {
            self.arena().prefer_huge_pages(slots, bytes);
        }
        let stride = self.stride();
        if M::MODELLED && bytes != 0 {
            self.arena().stand_for(slots, all, stride, self.shape.modelled_stride());
        }
        let share = (!share.is_whole()).then_some((rule, share));
        let dense = Dense { first: slots, count, share, bytes, stride };
        self.shape.set_dense(dense.clone());
        if let Some(parts) = self.hot_columns() {
            let first = slots + parts.distance();
            parts.behind().set_dense(Dense { first, ..dense });
        }
        Ok(slots)
    }

    /// Checks that a loader gives the table only keys for which it was declared.
    fn must_have_place_for(&self, count: u64) {
        let name = &self.schema().name;
        let fits = count == 0 || self.has_place_for(count - 1);
        assert!(fits, "table {name:?} is loaded with key {}, beyond its index", count - 1);
    }

    /// Returns where the words of a direct-addressed index lie, if they lie with the rows `0..count`. Each of `nodes` has
    /// `unit` rows. Returns `None` for other indexes, and if there are words for other keys.
    pub(crate) fn settled_words(
        &self,
        count: u64,
        unit: u64,
        nodes: &Arc<[u16]>,
    ) -> Option<SettledRange> {
        match &self.index {
            Index::Perfect(index) if index.keys() == count => {
                Some(index.settled(unit, nodes.clone()))
            }
            _ => None,
        }
    }

    /// Takes `count` consecutive slots.
    pub(crate) fn take_extent(&self, count: u64) -> Result<u64, OutOfMemory> {
        self.arena().allocate((count * self.stride()).max(1), 64, Place::Any)
    }

    /// Stores a row in the slot at `offset` and adds it to the index, while other threads load other keys.
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
            // An ordered index is built later, from all rows together.
            return Ok(());
        }
        let is_key = |o| self.record_at(o).has_key(core, key);
        let inserted = match &self.index {
            Index::Hash(index) => {
                index.insert(core, (key, offset), is_key, |o| self.key_at(core, o), || ())?
            }
            Index::Perfect(index) => index.insert(core, key, offset, || ()),
            _ => self.without_hash(),
        };
        inserted.expect("a loader gives every key once");
        Ok(())
    }

    /// Like [`Table::load_at`], in a slot of its own and without a core. No other thread runs.
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
            Index::Hash(index) => self.index_alone(index, key, &record),
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

    /// Adds a record to the index, without a core. No other thread runs.
    fn index_alone(
        &self,
        index: &HashIndex<M>,
        key: u64,
        record: &Record<'_, M>,
    ) -> Result<(), OutOfMemory> {
        let key_of = |offset| self.record_at(offset).key_word().peek();
        index.insert_alone(key, record.name().offset, key_of)
    }

    /// Sets the columns of a row that exists by rule. No other thread runs.
    pub(crate) fn fill_dense(&self, key: u64, row: &[u8]) {
        let offset = self.shape.dense().and_then(|dense| dense.offset_of(key));
        self.record_at(offset.expect("loaded densely before")).fill(row);
    }
}
