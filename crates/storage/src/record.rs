//! One record: key, row state, the protocol's words, body. And the one place that copies rows.
//!
//! ```text
//! | line | key | row state | line of the body | protocol's words | [version] | [digest] | columns ... | [key] |
//! ```
//!
//! Where the parts lie behind the header is the business of the record's [`Shape`]. What the protocol's words are, only
//! the protocol knows, through its own view of the record: [`RecordRef`](crate::RecordRef).
//!
//! An optimistic reader copies a body while its writer may be at work. In Rust that is a data race, and
//! undefined, unless every word is copied atomically; so bodies are words, [`Record::copy_out`] and
//! [`Record::install`] copy them with relaxed operations, and who needs a consistent copy validates
//! it afterwards by the protocol's own word (a seqlock's argument: acquire fence, then re-read).

use crate::shape::{Role, Shape};
use machine::{Category, Core, Machine, Word};
use std::ptr::NonNull;
use txn::{ColumnSet, ColumnSpan, Digest, RowLayout, TableId, Version};

/// Bytes of a line of the host.
const LINE_BYTES: usize = 64;

/// Words that are copied from slot to slot at a time.
const COPY_WORDS: usize = 32;

/// The fixed front of a record. All zeros is a present row that nobody has touched.
#[repr(C)]
pub(crate) struct Header<M: Machine> {
    line: M::Line,
    key: Word,
    pub(crate) row: Word,
    body_line: M::Line,
}

/// Whether a row is there. Zero is present, so that untouched memory holds present rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RowState(pub u64);

impl RowState {
    /// The row is there.
    pub const PRESENT: RowState = RowState(0);
    /// The row is not there: never inserted, or deleted. The record stands in for the absence, so
    /// reads of absent keys are protected as reads of rows are.
    pub const ABSENT: RowState = RowState(1);
    /// The record is being taken out of its index; look the key up again.
    pub const RETIRED: RowState = RowState(3);
    /// The record's memory has been given back, and nobody has it yet. Only where memory is quarantined.
    pub const FREED: RowState = RowState(5);

    /// True unless absent or retired.
    #[inline]
    pub fn is_present(self) -> bool {
        self == RowState::PRESENT
    }
}

/// What is read along with every copy of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RowHead {
    /// Whether the row was there.
    pub state: RowState,
    /// Who wrote it; [`Version::INITIAL`] where versions are not kept.
    pub version: Version,
    /// True when the state comes from the transaction's own write.
    pub own: bool,
}

/// The name of a record, the same on every machine and in every run; also the lock order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordName {
    /// Its table.
    pub table: TableId,
    /// Its offset in the arena.
    pub offset: u64,
}

/// A record, as all protocols see it. Valid as long as the store: slots are reused for records of the same shape
/// only, and hold nothing but atomic words, so a stale reference reads a wrong row, never wrong memory.
pub struct Record<'s, M: Machine> {
    shape: &'s Shape<M>,
    header: NonNull<Header<M>>,
}

impl<M: Machine> Clone for Record<'_, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Record<'_, M> {}

// SAFETY: it is a shared reference to a shape and to words of the shape's arena.
unsafe impl<M: Machine> Send for Record<'_, M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Sync for Record<'_, M> {}

impl<'s, M: Machine> Record<'s, M> {
    /// The record at `slot`.
    ///
    /// # Safety
    /// `slot` must be the start of a record slot of `shape`, with the shape's stride behind it.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(shape: &'s Shape<M>, slot: *mut u8) -> Self {
        // SAFETY: inside the arena's mapping, hence not null.
        Record { shape, header: unsafe { NonNull::new_unchecked(slot.cast()) } }
    }

    #[inline(always)]
    fn header(&self) -> &'s Header<M> {
        // SAFETY: by `from_raw` it is a record slot, and slots live as long as the shape's arena.
        unsafe { self.header.as_ref() }
    }

    /// `count` words of the slot from number `first` on, behind the header.
    #[inline(always)]
    fn words(&self, first: usize, count: usize) -> &'s [Word] {
        // SAFETY: the shape places versions, columns and keys within its stride, and all of them are words.
        unsafe { std::slice::from_raw_parts(self.header.as_ptr().cast::<Word>().add(first), count) }
    }

    /// The words of a column.
    #[inline(always)]
    fn column_words(&self, span: ColumnSpan) -> &'s [Word] {
        self.words(self.shape.columns_at() + span.word as usize, span.words())
    }

    /// The word of the version, where one is kept.
    #[inline(always)]
    fn version_word(&self) -> &'s Word {
        &self.words(self.shape.version_at(), 1)[0]
    }

    /// The protocol's words: where they begin.
    #[inline(always)]
    pub(crate) fn protocol_words(&self) -> *const u8 {
        // SAFETY: they lie behind the header, within the stride.
        unsafe { self.header.as_ptr().add(1).cast() }
    }

    /// The words of a key of bytes, behind everything else.
    pub(crate) fn key_bytes_words(&self) -> &'s [Word] {
        let (first, count) = self.shape.key_bytes_at();
        self.words(first, count)
    }

    /// The line of the body.
    pub(crate) fn body_line(&self) -> &'s M::Line {
        &self.header().body_line
    }

    /// The shape of the table it belongs to.
    #[inline(always)]
    pub fn table(&self) -> &'s Shape<M> {
        self.shape
    }

    /// The line on which the protocol's words, the key and the row state lie.
    #[inline(always)]
    pub fn line(&self) -> &'s M::Line {
        &self.header().line
    }

    /// Its name.
    #[inline(always)]
    pub fn name(&self) -> RecordName {
        RecordName {
            table: self.shape.id(),
            offset: self.shape.arena().offset_of(self.header.as_ptr().cast()),
        }
    }

    /// The address as a number: equal for the same record, for look-ups within one process only.
    #[inline(always)]
    pub fn identity(&self) -> usize {
        self.header.as_ptr() as usize
    }

    /// Its key.
    #[inline(always)]
    pub fn key(&self, core: &M::Core) -> u64 {
        match self.shape.dense_key(self.header.as_ptr().cast()) {
            Some(key) => key,
            None => core.load_const(&self.header().line, &self.header().key),
        }
    }

    /// True for the guard of a range, which has words of the protocol and no row.
    #[inline]
    pub fn is_guard(&self) -> bool {
        self.shape.role() == Role::Guard
    }

    /// The word of the key: a guard counts in it.
    #[inline(always)]
    pub(crate) fn key_word(&self) -> &'s Word {
        &self.header().key
    }

    /// The row's state and version, as they are just now.
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
        RowHead { state, version, own: false }
    }

    /// Copies `columns` into `out`, packed, and returns the head. Word by word: racing with a writer gives
    /// a mixture, which the caller must find out. Nothing is copied of a row that is not present.
    #[inline(always)]
    pub fn copy_out(&self, core: &M::Core, columns: ColumnSet, out: &mut [u8]) -> RowHead {
        let head = self.head(core);
        if head.state.is_present() {
            self.copy_held(core, columns, columns, out);
        }
        head
    }

    /// Copies those of `columns` that are among `held` into their places in `out`, which has room for all of
    /// `columns`; whether the row is present is not asked.
    #[inline(always)]
    pub fn copy_held(&self, core: &M::Core, columns: ColumnSet, held: ColumnSet, out: &mut [u8]) {
        let header = self.header();
        // Moving the data that the procedure asked for is its useful work, whoever does it.
        let before = core.account(Category::Useful);
        let mut start = 0;
        for column in columns.iter() {
            let span = self.shape.layout().span(column);
            let (first, bytes) = (span.word as usize, span.bytes as usize);
            let into = start..start + bytes;
            start += bytes;
            if !held.contains(ColumnSet::one(column)) {
                continue;
            }
            if self.shape.keeps_columns() {
                core.copy_out(
                    &header.body_line,
                    first * 8,
                    self.column_words(span),
                    &mut out[into],
                );
            } else {
                core.touch(&header.body_line, first * 8, bytes, false);
            }
        }
        core.account(before);
    }

    /// Writes `columns` from `values`, the state if it changes, and the version where one is kept.
    /// The caller excludes other writers and makes optimistic readers notice. A record that retires keeps its version: it
    /// stands for the same absence as before.
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
        if self.shape.keeps_versions() && state != Some(RowState::RETIRED) {
            core.store_relaxed(&header.line, self.version_word(), version.0);
        }
        if let Some(state) = state {
            core.store_relaxed(&header.line, &header.row, state.0);
        }
        let mut start = 0;
        for column in columns.iter() {
            let span = self.shape.layout().span(column);
            let (first, bytes) = (span.word as usize, span.bytes as usize);
            if self.shape.keeps_columns() {
                let from = &values[start..start + bytes];
                core.copy_in(&header.body_line, first * 8, self.column_words(span), from);
            } else {
                core.touch(&header.body_line, first * 8, bytes, true);
            }
            start += bytes;
        }
    }

    /// Copies the row's state and version into another slot of its table. The caller excludes writers of this
    /// row and users of that slot.
    pub fn copy_head_to(&self, core: &M::Core, slot: &Record<'_, M>) {
        let head = self.head(core);
        let line = slot.line();
        core.store_relaxed(line, &slot.header().row, head.state.0);
        if self.shape.keeps_versions() {
            core.store_relaxed(line, slot.version_word(), head.version.0);
        }
    }

    /// Copies `columns` into another slot of its table, whether or not the row is present. The caller
    /// excludes writers of this row and users of that slot.
    pub fn copy_columns_to(&self, core: &M::Core, slot: &Record<'_, M>, columns: ColumnSet) {
        let (from, to) = (&self.header().body_line, &slot.header().body_line);
        let mut buffer = [0; COPY_WORDS * 8];
        for column in columns.iter() {
            let span = self.shape.layout().span(column);
            let first = span.word as usize;
            if !self.shape.keeps_columns() {
                core.touch(from, first * 8, span.bytes as usize, false);
                core.touch(to, first * 8, span.bytes as usize, true);
                continue;
            }
            let end = first + span.words();
            for word in (first..end).step_by(COPY_WORDS) {
                let count = (end - word).min(COPY_WORDS);
                let at = self.shape.columns_at() + word;
                let bytes = &mut buffer[..count * 8];
                core.copy_out(from, word * 8, self.words(at, count), bytes);
                core.copy_in(to, word * 8, slot.words(at, count), bytes);
            }
        }
    }

    /// Asks the host to fetch what an access to `columns` will touch.
    #[inline(always)]
    pub fn prefetch(&self, core: &M::Core, columns: ColumnSet) {
        let front = self.shape.columns_at() * 8;
        let base = self.header.as_ptr().cast::<u8>().cast_const();
        core.prefetch(base, front);
        // Records start on lines of their own, so lines are counted from there. Columns lie in their order: what the one
        // before has fetched is not fetched again.
        let mut fetched = front.next_multiple_of(LINE_BYTES);
        for column in columns.iter() {
            let span = self.shape.layout().span(column);
            let from = front + span.word as usize * 8;
            let to = from + span.bytes as usize;
            if fetched < to {
                let first = fetched.max(from - from % LINE_BYTES);
                core.prefetch(base.wrapping_add(first), to - first);
                fetched = to.next_multiple_of(LINE_BYTES);
            }
        }
    }

    /// Sets up a record that nobody can reach yet.
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

    /// The version that is kept, on behalf of a recorder: no access of the machine's.
    pub(crate) fn kept_version(&self) -> Version {
        Version(self.version_word().peek())
    }

    /// All columns, packed, on behalf of a recorder: no access of the machine's. The caller excludes writers.
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

    /// What a recorder notes of the values of a row that it has read as `head`, all columns packed.
    pub fn digest(&self, head: RowHead, row: &[u8]) -> Digest {
        if head.version != Version::INITIAL {
            return Digest::of(row);
        }
        let loaded = self.words(self.shape.digest_at(), 1)[0].peek();
        let digest = Digest::of(row);
        // Memory that nobody has touched holds rows of zeros.
        let is_loaded = match loaded {
            0 => row.iter().all(|byte| *byte == 0),
            _ => digest.to_word() == loaded,
        };
        if is_loaded { Digest::LOADED } else { digest }
    }

    /// Sets the version of a record that nobody can reach yet.
    pub(crate) fn begin_with_version(&self, version: Version) {
        self.version_word().poke(version.0);
    }

    /// The part of the record that lies behind this one, in a table of records in two parts.
    #[inline(always)]
    pub fn second(&self) -> Option<Record<'s, M>> {
        self.shape.split().map(|split| split.second(self))
    }

    /// Marks the memory of a record that nobody can reach any more.
    pub(crate) fn mark_freed(&self) {
        self.header().row.poke(RowState::FREED.0);
        if let Some(second) = self.second() {
            second.mark_freed();
        }
    }

    /// Sets all columns of a record that nobody else uses.
    pub(crate) fn fill(&self, row: &[u8]) {
        let whole = self.shape.row_layout();
        self.fill_from(row, whole);
        if let Some(second) = self.second() {
            second.fill_from(row, whole);
        }
    }

    /// Sets those of the columns of a packed row that are in this part of it.
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
            let digest = Digest::of(&self.kept_row());
            self.words(self.shape.digest_at(), 1)[0].poke(digest.to_word());
        }
    }

    /// Compares the key on behalf of an index probe.
    #[inline(always)]
    pub(crate) fn has_key(&self, core: &M::Core, key: u64) -> bool {
        core.load_const(&self.header().line, &self.header().key) == key
    }
}
