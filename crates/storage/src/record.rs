//! One record: key, row state, the protocol's words, body. This module is also the one place that copies rows.
//!
//! ```text
//! | line | key | row state | line of the body | protocol's words | [version] | [digest] | columns ... | [key] |
//! ```
//!
//! The record's [`Shape`] knows where the parts behind the header lie. Only the protocol knows the type of its words.
//! It accesses them through its own view of the record, [`RecordRef`](crate::RecordRef).
//!
//! An optimistic reader copies a body while a writer can be changing it. In Rust this is a data race, and undefined,
//! unless every word is copied atomically. So bodies consist of words, and [`Record::copy_out`] and
//! [`Record::install`] copy them with relaxed operations. A torn read is possible. A reader that needs a consistent
//! copy validates it afterwards with the protocol's own word, as in a seqlock: an acquire fence, then a second read of
//! that word.

use crate::{
    LineSet, Values,
    shape::{Role, Shape},
};
use machine::{Category, Core, Machine, Runs, Word};
use std::ptr::NonNull;
use txn::{ColumnSet, ColumnSpan, Digest, RowLayout, TableId, Version};

/// Bytes of a cache line of the host.
pub(crate) const LINE_BYTES: usize = 64;

/// Number of words that are copied from slot to slot at a time.
const COPY_WORDS: usize = 32;

/// Fixed front of a record. If all bytes are zero, the record is a present row that no transaction has touched.
#[repr(C)]
pub(crate) struct Header<M: Machine> {
    /// Line of the key, the row state and the version. Mostly of the protocol's words, too.
    line: M::Line,
    /// The record's key, or a digest of a key of bytes. In a guard: the count of insertions.
    key: Word,
    /// The [`RowState`] of the row.
    pub(crate) row: Word,
    /// Line of the columns.
    body_line: M::Line,
    /// Line of the protocol's words, if they have their own ([`crate::StateLine`]).
    words_line: M::Line,
}

/// State of a row. Zero is present, so that untouched memory holds present rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RowState(pub u64);

impl RowState {
    /// The row is present.
    pub const PRESENT: RowState = RowState(0);
    /// The row is absent: never inserted, or deleted. The record stands for the absence, so reads of absent keys are
    /// protected like reads of rows.
    pub const ABSENT: RowState = RowState(1);
    /// The record is being removed from its index. The key must be looked up again.
    pub const RETIRED: RowState = RowState(3);
    /// The record's memory has been freed and is not yet reused. This state occurs only where memory is quarantined.
    pub const FREED: RowState = RowState(5);

    /// Returns true if the row is present.
    #[inline]
    pub fn is_present(self) -> bool {
        self == RowState::PRESENT
    }
}

/// State and version of a row, read along with every copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RowHead {
    /// State of the row.
    pub state: RowState,
    /// Version of the row, which names its writer. It is [`Version::INITIAL`] where versions are not kept.
    pub version: Version,
    /// Place that the state comes from.
    pub origin: Origin,
}

/// Place that a row's state comes from. It is as wide as the other fields of a [`RowHead`], so that a head is moved by whole words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u64)]
pub enum Origin {
    /// The record.
    #[default]
    Record,
    /// A write that the transaction itself has made.
    OwnWrite,
}

/// Name of a record. It is the same on every machine and in every run. It also defines the lock order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordName {
    /// Table of the record.
    pub table: TableId,
    /// Offset of the record in the arena.
    pub offset: u64,
}

/// Record, as all protocols see it. A reference stays valid as long as the store: slots are reused only for records of
/// the same shape, and hold only atomic words. So a stale reference can read a wrong row, but never wrong memory.
pub struct Record<'s, M: Machine> {
    /// Shape of the slot.
    shape: &'s Shape<M>,
    /// Start of the slot. The shape's stride lies behind it in the same arena.
    header: NonNull<Header<M>>,
}

impl<M: Machine> Clone for Record<'_, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Record<'_, M> {}

// SAFETY: the type holds a shared reference to a shape and a pointer to words of the shape's arena. All of these words
// are atomic.
unsafe impl<M: Machine> Send for Record<'_, M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Sync for Record<'_, M> {}

impl<'s, M: Machine> Record<'s, M> {
    /// Returns the record at `slot`.
    ///
    /// # Safety
    /// `slot` must be the start of a record slot of `shape`, with the shape's stride behind it.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(shape: &'s Shape<M>, slot: *mut u8) -> Self {
        // SAFETY: `slot` lies inside the arena's mapping, so it is not null.
        Record { shape, header: unsafe { NonNull::new_unchecked(slot.cast()) } }
    }

    #[inline(always)]
    fn header(&self) -> &'s Header<M> {
        // SAFETY: by the contract of `from_raw` the pointer is the start of a record slot. Slots live as long as the
        // shape's arena.
        unsafe { self.header.as_ref() }
    }

    /// Returns `count` words of the slot, from word number `first` on, counted from the start of the slot.
    #[inline(always)]
    fn words(&self, first: usize, count: usize) -> &'s [Word] {
        // SAFETY: the shape places versions, columns and keys within its stride, and all of them are words.
        unsafe { std::slice::from_raw_parts(self.header.as_ptr().cast::<Word>().add(first), count) }
    }

    /// Returns the words of a column.
    #[inline(always)]
    fn column_words(&self, span: ColumnSpan) -> &'s [Word] {
        self.words(self.shape.columns_at() + span.word as usize, span.words())
    }

    /// Returns the words of the columns, as far as `runs` lie in them.
    #[inline(always)]
    fn body_words(&self, runs: &Runs) -> &'s [Word] {
        self.words(self.shape.columns_at(), runs.words())
    }

    /// Returns the word of the version, where versions are kept.
    #[inline(always)]
    fn version_word(&self) -> &'s Word {
        &self.words(self.shape.version_at(), 1)[0]
    }

    /// Returns the address at which the protocol's words begin.
    #[inline(always)]
    pub(crate) fn protocol_words(&self) -> *const u8 {
        // SAFETY: the protocol's words lie behind the header, within the stride.
        unsafe { self.header.as_ptr().add(1).cast() }
    }

    /// Returns the words of a key of bytes. They lie behind all other parts.
    pub(crate) fn key_bytes_words(&self) -> &'s [Word] {
        let (first, count) = self.shape.key_bytes_at();
        self.words(first, count)
    }

    /// Returns the line of the body.
    pub(crate) fn body_line(&self) -> &'s M::Line {
        &self.header().body_line
    }

    /// Returns the shape of the table to which the record belongs.
    #[inline(always)]
    pub fn table(&self) -> &'s Shape<M> {
        self.shape
    }

    /// Returns the line on which the protocol's words lie. Mostly the key and the row state lie there, too.
    #[inline(always)]
    pub fn line(&self) -> &'s M::Line {
        match M::MODELLED && self.shape.words_apart() {
            true => &self.header().words_line,
            false => &self.header().line,
        }
    }

    /// Returns the record's name.
    #[inline(always)]
    pub fn name(&self) -> RecordName {
        RecordName {
            table: self.shape.id(),
            offset: self.shape.arena().offset_of(self.header.as_ptr().cast()),
        }
    }

    /// Returns the address as a number. It is equal for the same record. Use it only for look-ups within one process.
    #[inline(always)]
    pub fn identity(&self) -> usize {
        self.header.as_ptr() as usize
    }

    /// Returns the record's key.
    #[inline(always)]
    pub fn key(&self, core: &M::Core) -> u64 {
        match self.shape.dense_key(self.header.as_ptr().cast()) {
            Some(key) => key,
            None => core.load_const(&self.header().line, &self.header().key),
        }
    }

    /// Returns true if the record is the guard of a range. A guard has words of the protocol and no row.
    #[inline]
    pub fn is_guard(&self) -> bool {
        self.shape.role() == Role::Guard
    }

    /// Returns the word of the key. A guard counts insertions in it.
    #[inline(always)]
    pub(crate) fn key_word(&self) -> &'s Word {
        &self.header().key
    }

    /// Returns the row's current state and version.
    #[inline(always)]
    pub fn head(&self, core: &M::Core) -> RowHead {
        let header = self.header();
        let version = match self.shape.keeps_versions() {
            true => Version(core.load_relaxed(&header.line, self.version_word())),
            false => Version::INITIAL,
        };
        let state = RowState(core.load_relaxed(&header.line, &header.row));
        if M::QUARANTINES {
            assert_ne!(state, RowState::FREED, "a record is used whose memory has been given back");
        }
        RowHead { state, version, origin: Origin::Record }
    }

    /// Copies `columns` into `out`, packed, and returns the head. The copy is made word by word. If a writer is active
    /// at the same time, the result can be a torn read, which the caller must detect. If the row is not present,
    /// nothing is copied.
    #[inline(always)]
    pub fn copy_out(&self, core: &M::Core, columns: ColumnSet, out: &mut [u8]) -> RowHead {
        let head = self.head(core);
        if head.state.is_present() {
            self.copy_held(core, columns, columns, out);
        }
        head
    }

    /// Copies those columns of `columns` that are in `held` to their places in `out`, which has room for all of
    /// `columns`. This function does not check whether the row is present.
    #[inline(always)]
    pub fn copy_held(&self, core: &M::Core, columns: ColumnSet, held: ColumnSet, out: &mut [u8]) {
        let header = self.header();
        // Moving the data that the procedure asked for is its useful work, so the time counts as useful for every
        // caller.
        let before = core.account(Category::Useful);
        let mut rest = out;
        if !M::MODELLED && held.contains(columns) {
            if let Some(column) = columns.only() {
                let span = self.shape.layout().span(column);
                let into = &mut rest[..span.bytes as usize];
                core.copy_out(&header.body_line, 0, self.column_words(span), into);
                core.account(before);
                return;
            }
            if let Some(runs) = self.shape.runs_of(columns) {
                let runs = runs.runs();
                core.copy_runs_out(&header.body_line, self.body_words(runs), runs, rest);
                core.account(before);
                return;
            }
        }
        for column in columns.iter() {
            let span = self.shape.layout().span(column);
            let (first, bytes) = (span.word as usize, span.bytes as usize);
            let (into, behind) = rest.split_at_mut(bytes);
            rest = behind;
            if !held.contains(ColumnSet::one(column)) {
                continue;
            }
            if self.shape.keeps_columns() {
                core.copy_out(&header.body_line, first * 8, self.column_words(span), into);
            } else {
                core.touch(&header.body_line, first * 8, bytes, false);
            }
        }
        core.account(before);
    }

    /// Writes `columns` from the front of `values`, the state if it changes, and the version where versions are kept. The caller
    /// excludes other writers and makes sure that optimistic readers detect the change. A record that retires keeps
    /// its version, because it stands for the same absence as before.
    #[inline(always)]
    pub fn install(
        &self,
        core: &M::Core,
        columns: ColumnSet,
        values: &[u8],
        state: Option<RowState>,
        version: Version,
    ) {
        let header = self.header();
        if self.shape.keeps_versions() {
            self.install_version(core, state, version);
        }
        if let Some(state) = state {
            core.store_relaxed(&header.line, &header.row, state.0);
        }
        if !M::MODELLED {
            if let Some(column) = columns.only() {
                let span = self.shape.layout().span(column);
                let from = &values[..span.bytes as usize];
                core.copy_in(&header.body_line, 0, self.column_words(span), from);
                return;
            }
            if let Some(runs) = self.shape.runs_of(columns) {
                let runs = runs.runs();
                core.copy_runs_in(&header.body_line, self.body_words(runs), runs, values);
                return;
            }
        }
        self.install_each(core, columns, values);
    }

    /// Writes the version, unless the record retires.
    #[cold]
    fn install_version(&self, core: &M::Core, state: Option<RowState>, version: Version) {
        if state != Some(RowState::RETIRED) {
            core.store_relaxed(&self.header().line, self.version_word(), version.0);
        }
    }

    /// Writes `columns` one by one. It is apart from the usual ways to write them, which are shorter.
    #[inline(never)]
    fn install_each(&self, core: &M::Core, columns: ColumnSet, values: &[u8]) {
        let (header, mut rest) = (self.header(), values);
        for column in columns.iter() {
            let span = self.shape.layout().span(column);
            let (first, bytes) = (span.word as usize, span.bytes as usize);
            let (from, behind) = rest.split_at(bytes);
            rest = behind;
            if self.shape.keeps_columns() {
                core.copy_in(&header.body_line, first * 8, self.column_words(span), from);
            } else {
                core.touch(&header.body_line, first * 8, bytes, true);
            }
        }
    }

    /// Copies the row's state and version into another slot of the same table. The caller excludes writers of this row
    /// and users of that slot.
    pub fn copy_head_to(&self, core: &M::Core, slot: &Record<'_, M>) {
        let head = self.head(core);
        let line = &slot.header().line;
        core.store_relaxed(line, &slot.header().row, head.state.0);
        if self.shape.keeps_versions() {
            core.store_relaxed(line, slot.version_word(), head.version.0);
        }
    }

    /// Copies `columns` into another slot of the same table, whether or not the row is present. The caller excludes
    /// writers of this row and users of that slot.
    pub fn copy_columns_to(&self, core: &M::Core, slot: &Record<'_, M>, columns: ColumnSet) {
        if !M::MODELLED
            && let Some(runs) = self.shape.runs_of(columns)
        {
            for run in runs.runs().iter() {
                let (word, bytes) = (run.words().start as u32, run.place().len() as u32);
                self.copy_span_to(core, slot, ColumnSpan { word, bytes });
            }
            return;
        }
        for column in columns.iter() {
            self.copy_span_to(core, slot, self.shape.layout().span(column));
        }
    }

    fn copy_span_to(&self, core: &M::Core, slot: &Record<'_, M>, span: ColumnSpan) {
        let (from, to) = (&self.header().body_line, &slot.header().body_line);
        let (offset, bytes) = (span.word as usize * 8, span.bytes as usize);
        if !self.shape.keeps_columns() {
            core.touch(from, offset, bytes, false);
            core.touch(to, offset, bytes, true);
            return;
        }
        let (source, target) = (self.column_words(span), slot.column_words(span));
        let mut buffer = [0; COPY_WORDS * 8];
        for first in (0..source.len()).step_by(COPY_WORDS) {
            let part = first..(first + COPY_WORDS).min(source.len());
            let copied = &mut buffer[..part.len() * 8];
            core.copy_out(from, offset + first * 8, &source[part.clone()], copied);
            core.copy_in(to, offset + first * 8, &target[part], copied);
        }
    }

    /// Asks the host to fetch the lines that an access to `columns` will touch.
    #[inline(always)]
    pub fn prefetch(&self, core: &M::Core, columns: ColumnSet) {
        let record = self.header.as_ptr().cast::<u8>().cast_const();
        // Positions are counted from the start of the line in which the record begins.
        let skew = record.addr() % LINE_BYTES;
        let base = record.wrapping_sub(skew);
        let front = skew + self.shape.columns_at() * 8;
        core.prefetch(base, front);
        core.prefetch_line(&self.header().line);
        // Columns lie in order, so a line that was fetched for the column before is not fetched again.
        let mut fetched = front.next_multiple_of(LINE_BYTES);
        for column in columns.and(self.shape.layout().all()).iter() {
            let span = self.shape.layout().span(column);
            let from = front + span.word as usize * 8;
            let to = from + span.bytes as usize;
            core.prefetch_body(self.body_line(), span.word as usize * 8, span.bytes as usize);
            if fetched < to {
                let first = fetched.max(from - from % LINE_BYTES);
                core.prefetch(base.wrapping_add(first), to - first);
                fetched = to.next_multiple_of(LINE_BYTES);
            }
        }
    }

    /// Asks the host to fetch the line of the protocol's words, for a protocol that is going to use them and not the row.
    pub fn prefetch_words(&self, core: &M::Core) {
        core.prefetch(self.header.as_ptr().cast::<u8>().cast_const(), self.shape.columns_at() * 8);
        core.prefetch_line(self.line());
    }

    /// Asks the host to fetch these lines of the record ([`Shape::lines_of`]).
    #[inline(always)]
    pub fn prefetch_lines(&self, core: &M::Core, lines: LineSet) {
        let base = self.header.as_ptr().cast::<u8>().cast_const();
        lines.each(|line| core.prefetch(base.wrapping_add(line * LINE_BYTES), 1));
    }

    /// Asks the host to fetch those values of `columns` that lie outside the record. Reads the words that name them
    /// without the protocol, because a wrong guess costs only time.
    #[inline]
    pub fn prefetch_values(&self, core: &M::Core, values: &Values<M>, columns: ColumnSet) {
        let layout = self.shape.layout();
        for column in layout.apart().iter() {
            if columns.contains(ColumnSet::one(column)) {
                let word = &self.column_words(layout.span(column))[0];
                values.prefetch(core, core.load_relaxed(self.line(), word));
            }
        }
    }

    /// Sets up a record that no other session can reach yet.
    pub(crate) fn initialise(&self, key: u64, state: RowState) {
        let header = self.header();
        header.key.poke(key);
        header.row.poke(state.0);
        if self.shape.keeps_versions() {
            self.version_word().poke(Version::INITIAL.0);
        }
        if let Some(second) = self.second() {
            second.initialise(key, state);
        }
    }

    /// Returns the kept version for a recorder. This is no access of the modelled machine.
    pub(crate) fn kept_version(&self) -> Version {
        Version(self.version_word().peek())
    }

    /// Returns all columns in held form, for a recorder. This is no access of the modelled machine. The caller excludes
    /// writers.
    pub fn kept_row(&self) -> Vec<u8> {
        let layout = self.shape.layout();
        let mut row = Vec::with_capacity(layout.bytes());
        for column in layout.all().iter() {
            let span = layout.span(column);
            let from = row.len();
            row.extend(self.column_words(span).iter().flat_map(|word| word.peek().to_le_bytes()));
            row.truncate(from + span.bytes as usize);
        }
        row
    }

    /// Returns the words that name the values outside the record, if the row is present. Of a row in two parts these
    /// are the words of one part. Meant for audits when no session exists.
    pub(crate) fn kept_values(&self) -> Vec<u64> {
        let layout = self.shape.layout();
        if layout.apart().is_empty() || !RowState(self.header().row.peek()).is_present() {
            return Vec::new();
        }
        layout.references(layout.all(), &self.kept_row()).collect()
    }

    /// Returns the digest that a recorder notes for a row. `head` and `row` are what was read of it, with all columns
    /// packed.
    pub fn digest(&self, head: RowHead, row: &[u8]) -> Digest {
        let digest = self.shape.digest_of(row);
        if head.version != Version::INITIAL {
            return digest;
        }
        let loaded = self.words(self.shape.digest_at(), 1)[0].peek();
        // Memory that has never been touched holds rows of zeros.
        let is_loaded = match loaded {
            0 => row.iter().all(|byte| *byte == 0),
            _ => digest.to_word() == loaded,
        };
        if is_loaded { Digest::LOADED } else { digest }
    }

    /// Sets the version of a record that no other session can reach yet.
    pub(crate) fn begin_with_version(&self, version: Version) {
        self.version_word().poke(version.0);
    }

    /// Returns the second part of the record, which lies behind this part, if the table has records in two parts.
    #[inline(always)]
    pub fn second(&self) -> Option<Record<'s, M>> {
        self.shape.hot_columns().map(|parts| parts.second(self))
    }

    /// Marks the memory of a record that no session can reach any more.
    pub(crate) fn mark_freed(&self) {
        self.header().row.poke(RowState::FREED.0);
        if let Some(second) = self.second() {
            second.mark_freed();
        }
    }

    /// Sets all columns of a record that no other session uses.
    pub(crate) fn fill(&self, row: &[u8]) {
        let whole = self.shape.row_layout();
        self.fill_from(row, whole);
        if let Some(second) = self.second() {
            second.fill_from(row, whole);
        }
    }

    /// Sets those columns of a packed row that lie in this part of the record.
    fn fill_from(&self, row: &[u8], whole: &RowLayout) {
        let mut start = 0;
        for column in whole.all().iter() {
            let skipped = whole.span(column).bytes as usize;
            if !self.shape.layout().all().contains(ColumnSet::one(column)) {
                start += skipped;
                continue;
            }
            let span = self.shape.layout().span(column);
            let words = self.column_words(span);
            let bytes = &row[start..start + span.bytes as usize];
            for (word, chunk) in words.iter().zip(bytes.chunks(8)) {
                let mut last = [0; 8];
                last[..chunk.len()].copy_from_slice(chunk);
                word.poke(u64::from_le_bytes(last));
            }
            start += span.bytes as usize;
        }
        if self.shape.keeps_digests() {
            let digest = self.shape.digest_of(&self.kept_row());
            self.words(self.shape.digest_at(), 1)[0].poke(digest.to_word());
        }
    }

    /// Returns true if the record has the key `key`. Called by index probes.
    #[inline(always)]
    pub(crate) fn has_key(&self, core: &M::Core, key: u64) -> bool {
        core.load_const(&self.header().line, &self.header().key) == key
    }
}
