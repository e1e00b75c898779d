//! Shapes: how the records of one kind lie in memory, that is, what each byte of a slot holds.
//!
//! A table has one shape for its records. If its rows have two parts ([`crate::HotColumns`]), it has another shape for the
//! second parts. If it keeps an order, it has another one for the guards of its leaves. A record needs only its shape
//! and no other part of its table, so shapes know no index.

use crate::{
    access_options::{AccessOptions, ColumnLookup, StateLine, look_up},
    column_runs::{ColumnRuns, KeptRuns},
    hot_columns::HotColumns,
    index_pointers::PointerCopies,
    key_layout::key_words,
    lines::{HALF_LINE, LineSet, Lines},
    record::{Header, LINE_BYTES, Record},
    values,
};
use machine::{
    Arena, Machine, OutOfMemory, Word, Zeroed,
    cold::{Arc, OnceLock},
};
use std::{any::TypeId, marker::PhantomData};
use txn::{
    ColumnSet, Digest, Intent, KeyKind, Partitioning, Payload, RowLayout, Share, TableId,
    TableSchema,
};

/// Words that a protocol keeps in each record of one store: how many bytes, and of which type.
#[derive(Clone, Debug)]
pub struct ProtocolWords {
    bytes: usize,
    of: TypeId,
    /// Identifies the store: no two stores share this allocation.
    store: Arc<u8>,
}

impl ProtocolWords {
    /// Returns the words of a protocol that keeps a `C`, for one store.
    pub fn of<C: Zeroed + 'static>() -> ProtocolWords {
        const {
            assert!(align_of::<C>() <= align_of::<u64>(), "a protocol's words are words");
            assert!(size_of::<C>().is_multiple_of(8), "a protocol's words are words");
        }
        ProtocolWords { bytes: size_of::<C>(), of: TypeId::of::<C>(), store: Arc::default() }
    }

    /// Returns the bytes of a record that has these words, without its key and its row.
    pub fn record_bytes<M: Machine>(&self) -> usize {
        size_of::<Header<M>>() - size_of::<Word>() + self.bytes
    }

    /// Returns the number of bytes of the words.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if the words are a `C`.
    #[inline(always)]
    pub(crate) fn are<C: 'static>(&self) -> bool {
        self.of == TypeId::of::<C>()
    }
}

/// Kind of thing that a record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A row, or the first part of one.
    Row,
    /// The second part of a row. It lies behind the first part in the same slot.
    SecondPart,
    /// A range of keys. The record has words of the protocol and no row.
    Guard,
}

/// Rows `0..count` that exist by rule at consecutive slots, on modelled machines only. A row that was never touched
/// costs nothing, because untouched memory already holds a present row.
#[derive(Clone)]
pub(crate) struct Dense {
    /// Offset of slot 0, which is row 0 unless the store has a share of the rows.
    pub first: u64,
    pub count: u64,
    /// Rule of the table and share of its rows that exist, if not all of them do.
    pub share: Option<(Partitioning, Share)>,
    /// Bytes of all slots.
    pub bytes: u64,
    /// Bytes of one slot.
    pub stride: u64,
}

impl Dense {
    /// Returns the offset of the slot of row `key`, if it exists by rule.
    #[inline(always)]
    pub fn offset_of(&self, key: u64) -> Option<u64> {
        if key >= self.count {
            return None;
        }
        let slot = match self.share {
            None => key,
            Some((rule, share)) if share.has(rule, key) => share.slot(rule, key),
            Some(_) => return None,
        };
        Some(self.first + slot * self.stride)
    }

    /// Returns the key of a slot, or none if the slot is empty.
    #[inline(always)]
    pub fn key_of(&self, slot: u64) -> Option<u64> {
        let Some((rule, share)) = self.share else { return Some(slot) };
        let key = share.key(rule, slot);
        (key < self.count && share.has(rule, key)).then_some(key)
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> u64 {
        self.bytes / self.stride
    }
}

/// Layout of the records of one kind.
pub struct Shape<M: Machine> {
    id: TableId,
    schema: Arc<TableSchema>,
    role: Role,
    layout: RowLayout,
    /// Options by which accesses are executed.
    access: AccessOptions,
    /// Columns that are read without the protocol.
    uncontrolled: ColumnSet,
    /// Set if some accesses need more than a call of the protocol with the columns that they name.
    special: bool,
    /// Set if the protocol's words lie on a line of their own.
    words_apart: bool,
    words: ProtocolWords,
    keep_versions: bool,
    keep_digests: bool,
    keeps_columns: bool,
    byte_keys: bool,
    /// First word behind the protocol's words. Here lies the version, where it is kept, then the digest of the loaded
    /// row, where it is kept, then the columns.
    body: usize,
    /// Word of the slot at which the columns begin.
    columns: usize,
    /// Word of the slot at which a key of bytes lies, behind the columns.
    key_bytes: usize,
    lines: Lines,
    /// How the columns lie that accesses name.
    runs: KeptRuns,
    /// Bytes of one slot, the second part included.
    stride: u64,
    arena: Arc<Arena>,
    /// Rows that exist by rule, if any. Set at most once.
    dense: OnceLock<Dense>,
    /// Set if rows are parts into hot and cold columns.
    parts: Option<Box<HotColumns<M>>>,
    /// Pointers to the table's index, if accesses follow them.
    pointers: Option<PointerCopies<M>>,
    machine: PhantomData<fn() -> M>,
}

/// Words that the records of a store have in addition to key, row and columns.
#[derive(Clone, Debug)]
pub(crate) struct Extras {
    pub words: ProtocolWords,
    pub keep_versions: bool,
    pub keep_digests: bool,
    pub access: AccessOptions,
}

impl Extras {
    /// Returns the number of words between the protocol's words and the columns.
    fn words_before_columns(&self) -> usize {
        usize::from(self.keep_versions) + usize::from(self.keep_digests)
    }
}

impl<M: Machine> Shape<M> {
    /// Returns the bytes of one record slot of `schema`, all parts included.
    pub(crate) fn stride_of(schema: &TableSchema, extras: &Extras) -> u64 {
        let all = ColumnSet::first(schema.columns.len());
        let first = Self::part_stride(schema, all.without(schema.hot), extras);
        match schema.hot.is_empty() {
            true => first,
            false => first + Self::part_stride(schema, schema.hot, extras),
        }
    }

    /// Returns the bytes of the part of a record slot that holds the columns `part`.
    pub(crate) fn part_stride(schema: &TableSchema, part: ColumnSet, extras: &Extras) -> u64 {
        let keeps_columns = M::KEEPS_OPAQUE || schema.payload == Payload::Stored;
        let columns = if keeps_columns { RowLayout::of_part(schema, part).words() } else { 0 };
        let words = columns + extras.words_before_columns() + key_words(schema);
        let bytes = (size_of::<Header<M>>() + extras.words.bytes + words * 8) as u64;
        // On a native machine every record starts on a line of its own, so that neighbours do not contend by accident,
        // unless the table says that its rows share lines.
        // On a modelled machine a line lies beside its metadata, so only the host's memory counts.
        let unit = match (M::MODELLED, schema.shares_lines) {
            (true, _) => 16,
            (false, true) => HALF_LINE,
            (false, false) => LINE_BYTES,
        };
        bytes.next_multiple_of(unit as u64)
    }

    /// Returns the shape of a table's records.
    pub(crate) fn of_rows(
        arena: &Arc<Arena>,
        id: TableId,
        schema: TableSchema,
        extras: &Extras,
    ) -> Self {
        let parts = HotColumns::of(arena, id, &schema, extras);
        let part =
            parts.as_ref().map_or(ColumnSet::first(schema.columns.len()), HotColumns::first_part);
        let stride = Self::stride_of(&schema, extras);
        let shape = Shape::new(arena, id, schema, Role::Row, part, extras);
        Shape { stride, parts: parts.map(Box::new), ..shape }
    }

    /// Returns the shape of the second parts of a table's rows, which hold the columns `part`.
    pub(crate) fn of_second_parts(
        arena: &Arc<Arena>,
        id: TableId,
        schema: TableSchema,
        part: ColumnSet,
        extras: &Extras,
    ) -> Self {
        Shape::new(arena, id, schema, Role::SecondPart, part, extras)
    }

    /// Returns the shape of the guards of table `id`, whose records have the words `words`.
    pub(crate) fn of_guards(arena: &Arc<Arena>, id: TableId, words: &ProtocolWords) -> Self {
        let (schema, extras) = Self::guards(words);
        Shape::new(arena, id, schema, Role::Guard, ColumnSet::NONE, &extras)
    }

    /// Returns the bytes of a guard.
    pub(crate) fn guard_bytes(words: &ProtocolWords) -> u64 {
        let (schema, extras) = Self::guards(words);
        Self::stride_of(&schema, &extras)
    }

    fn guards(words: &ProtocolWords) -> (TableSchema, Extras) {
        (
            TableSchema::new("guards", Vec::new()),
            Extras {
                words: words.clone(),
                keep_versions: false,
                keep_digests: false,
                access: AccessOptions::default(),
            },
        )
    }

    fn new(
        arena: &Arc<Arena>,
        id: TableId,
        schema: TableSchema,
        role: Role,
        part: ColumnSet,
        extras: &Extras,
    ) -> Self {
        let layout = RowLayout::of_part(&schema, part);
        let keeps_columns = M::KEEPS_OPAQUE || schema.payload == Payload::Stored;
        let body = (size_of::<Header<M>>() + extras.words.bytes) / 8;
        let columns = body + extras.words_before_columns();
        let key_bytes = columns + if keeps_columns { layout.words() } else { 0 };
        let uncontrolled = extras.access.uncontrolled(&schema, part);
        let stride = Self::part_stride(&schema, part, extras);
        let straddle = !M::MODELLED && !stride.is_multiple_of(LINE_BYTES as u64);
        Shape {
            id,
            role,
            access: extras.access,
            uncontrolled,
            words_apart: role != Role::Guard && extras.access.state == StateLine::Own,
            special: extras.access.are_special() || !uncontrolled.is_empty(),
            words: extras.words.clone(),
            keep_versions: extras.keep_versions,
            keep_digests: extras.keep_digests,
            keeps_columns,
            byte_keys: schema.key != KeyKind::Integer,
            body,
            columns,
            key_bytes,
            lines: Lines::new(&layout, columns * 8, straddle),
            runs: KeptRuns::new(),
            stride,
            arena: arena.clone(),
            dense: OnceLock::new(),
            parts: None,
            pointers: None,
            machine: PhantomData,
            layout,
            schema: Arc::new(schema),
        }
    }

    /// Returns true if some accesses to these records need more than a call of the protocol with the columns that they
    /// name: a reading without it, a copy of the whole record, or a look-up in the catalogue.
    #[inline(always)]
    pub fn is_special(&self) -> bool {
        self.special
    }

    /// Returns true if the protocol's words lie on a line of their own. It has an effect on modelled machines.
    #[inline(always)]
    pub(crate) fn words_apart(&self) -> bool {
        self.words_apart
    }

    /// Returns true if `columns` are read without the protocol.
    #[inline]
    pub fn is_uncontrolled(&self, columns: ColumnSet) -> bool {
        !columns.is_empty() && self.uncontrolled.contains(columns)
    }

    /// Returns true if a read with `intent` copies the whole record.
    #[inline]
    pub fn reads_records(&self, intent: Intent) -> bool {
        self.access.copies.read_records(intent) && self.layout.apart().is_empty()
    }

    /// Returns true if an update writes the whole record.
    #[inline]
    pub fn writes_records(&self) -> bool {
        self.access.copies.write_records() && self.layout.apart().is_empty()
    }

    /// Returns how accesses are executed.
    #[inline]
    pub fn access(&self) -> AccessOptions {
        self.access
    }

    /// Returns the same shape with the pointers to the table's index that its accesses follow.
    pub(crate) fn with_pointers(self, arena: &Arc<Arena>) -> Result<Self, OutOfMemory> {
        let pointers = PointerCopies::of(arena, self.access.pointers)?;
        Ok(Shape { pointers, ..self })
    }

    /// Follows the pointer to the table's index, and finds `columns` in the catalogue by their names, if that is how
    /// accesses find rows and columns.
    #[inline]
    pub fn look_up(&self, core: &M::Core, columns: ColumnSet) {
        if let Some(pointers) = &self.pointers {
            pointers.follow(core);
        }
        if self.access.columns == ColumnLookup::Catalogue {
            look_up::<M>(core, &self.schema, columns);
        }
    }

    /// Returns the number of the table. The second parts of its rows have a number of their own.
    #[inline(always)]
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Returns the number of the table, also for the second parts of its rows.
    pub fn table_id(&self) -> TableId {
        match self.is_second_part() {
            false => self.id,
            true => HotColumns::<M>::table_of(self.id),
        }
    }

    /// Returns the table's schema.
    #[inline(always)]
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// Returns the lines of a record that accesses to `columns` touch, the front included.
    #[inline(always)]
    pub fn lines_of(&self, columns: ColumnSet) -> LineSet {
        match columns.only() {
            Some(column) if column < self.layout.columns() => return self.lines.of_one(column),
            Some(_) => {}
            None => {
                if let Some(runs) = self.runs_of(columns) {
                    return runs.lines();
                }
            }
        }
        // Columns that were added to the table are in another one.
        self.lines.of(columns.and(self.layout.all()))
    }

    /// Returns how `columns` lie in a record. None if too many sets of columns are used, so that not all of them are kept.
    #[inline(always)]
    pub fn runs_of(&self, columns: ColumnSet) -> Option<&ColumnRuns> {
        self.runs.of(&self.layout, &self.lines, columns)
    }

    /// Returns the layout of the columns in a record.
    #[inline(always)]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// Returns the digest of a row that is given in held form. It covers values outside the record.
    pub fn digest_of(&self, held: &[u8]) -> Digest {
        if self.layout.apart().is_empty() {
            return Digest::of(held);
        }
        Digest::of(&self.peek_packed(self.layout.all(), held))
    }

    /// Returns `columns` of a row in packed form, given in held form. For recorders and logs: this is no access of the
    /// modelled machine.
    pub fn peek_packed(&self, columns: ColumnSet, held: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(held.len());
        let read = |word, out: &mut Vec<u8>| values::peek::<M>(&self.arena, word, out);
        self.layout.pack(columns, held, &mut packed, read);
        packed
    }

    /// Returns the layout of the columns of a whole row when they are packed.
    pub fn row_layout(&self) -> &RowLayout {
        self.hot_columns().map_or(&self.layout, HotColumns::row_layout)
    }

    /// Returns the two parts of the rows, if they have two.
    #[inline(always)]
    pub fn hot_columns(&self) -> Option<&HotColumns<M>> {
        self.parts.as_deref()
    }

    /// Returns true if the records are the second parts of a table's rows.
    pub fn is_second_part(&self) -> bool {
        self.role == Role::SecondPart
    }

    #[inline(always)]
    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// Returns the bytes of one record slot, header and padding included.
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// Returns the bytes that one record takes on modelled hardware. There it has its values, begins on a line of its own,
    /// and has no modelled lines beside it.
    pub(crate) fn modelled_stride(&self) -> u64 {
        let missing = if self.keeps_columns { 0 } else { self.layout.words() as u64 * 8 };
        (self.stride - size_of::<M::Line>() as u64 + missing).next_multiple_of(64)
    }

    /// Returns the arena in which the records lie.
    #[inline(always)]
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Returns true if records keep the identity of their version (recorded runs).
    #[inline(always)]
    pub fn keeps_versions(&self) -> bool {
        self.keep_versions
    }

    /// Returns true if recorders also look at the values of rows.
    #[inline(always)]
    pub fn keeps_digests(&self) -> bool {
        self.keep_digests && self.keeps_columns
    }

    /// Returns false if values are charged for but not kept (opaque tables on a simulated machine).
    #[inline(always)]
    pub fn keeps_columns(&self) -> bool {
        M::KEEPS_OPAQUE || self.keeps_columns
    }

    /// Returns true if keys are bytes.
    #[inline(always)]
    pub fn has_byte_keys(&self) -> bool {
        self.byte_keys
    }

    /// Returns true if the records belong to the store that was made for these words.
    #[inline(always)]
    pub fn is_of(&self, words: &ProtocolWords) -> bool {
        Arc::ptr_eq(&self.words.store, &words.store)
    }

    /// Returns true if the protocol keeps a `C` in these records.
    #[inline(always)]
    pub fn holds<C: 'static>(&self) -> bool {
        self.words.are::<C>()
    }

    /// Returns the word of a slot at which the version lies.
    #[inline(always)]
    pub(crate) fn version_at(&self) -> usize {
        self.body
    }

    /// Returns the word of a slot at which the digest of the loaded row lies.
    pub(crate) fn digest_at(&self) -> usize {
        self.body + usize::from(self.keep_versions)
    }

    /// Returns the word of a slot at which the columns begin.
    #[inline(always)]
    pub(crate) fn columns_at(&self) -> usize {
        self.columns
    }

    /// Returns the words of a slot that hold a key of bytes: the number of the first word, and how many there are.
    #[inline(always)]
    pub(crate) fn key_bytes_at(&self) -> (usize, usize) {
        (self.key_bytes, key_words(&self.schema))
    }

    #[inline(always)]
    pub(crate) fn dense(&self) -> Option<&Dense> {
        if M::MODELLED { self.dense.get() } else { None }
    }

    /// Returns the key of the record at `address` if that record exists by rule.
    #[inline(always)]
    pub(crate) fn dense_key(&self, address: *const u8) -> Option<u64> {
        let dense = self.dense()?;
        let distance = self.arena.offset_of(address).wrapping_sub(dense.first);
        if distance < dense.bytes { dense.key_of(distance / dense.stride) } else { None }
    }

    /// Makes rows exist by rule from here on. Must be called at most once.
    pub(crate) fn set_dense(&self, dense: Dense) {
        if self.dense.set(dense).is_err() {
            panic!("table {:?} was loaded densely twice", self.schema.name);
        }
    }

    /// Returns the record at `offset`.
    ///
    /// # Safety
    /// `offset` must have been handed out by this shape's arena, aligned to 16 bytes, with this shape's
    /// stride behind it, and must only ever have been used for slots of this shape.
    #[inline(always)]
    pub unsafe fn slot_at(&self, offset: u64) -> Record<'_, M> {
        // SAFETY: the caller promises that a slot of this shape starts at `offset`.
        unsafe { Record::from_raw(self, self.arena.address(offset)) }
    }
}
