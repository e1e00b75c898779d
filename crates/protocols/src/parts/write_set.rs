//! Writes that are not installed yet.
//!
//! Every protocol here buffers a transaction's writes and installs them at commit, the locking ones too
//! (they hold the lock, so nobody can tell): the same bytes are copied as with an in-place update and
//! a before-image, an abort forgets instead of undoing, and reads of own writes are answered in one place.

use super::record_set::RecordSet;
use crate::{Change, CommitLog, Image, Images, faults};
use machine::{Core, Machine, Zeroed};
use std::ops::Range;
use storage::{RecordRef, RowHead, RowState};
use txn::{
    Abort, AbortReason, ColumnSet, Digest, MAX_COLUMNS, RowLayout, Version, Write, WriteKind,
    add_words,
};

/// The values of columns to which nothing is added yet.
static ZEROS: [u8; MAX_COLUMNS * 8] = [0; MAX_COLUMNS * 8];

/// What is to be written to one record.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    columns: ColumnSet,
    /// Those of the columns whose values are to be added to what is there.
    added: ColumnSet,
    state: Option<RowState>,
    start: usize,
}

impl Pending {
    /// Where the value of `column` lies, one of its columns.
    #[inline]
    fn place_of(&self, column: usize, layout: &RowLayout) -> Range<usize> {
        let from = self.start + layout.packed_bytes(below(self.columns, column));
        from..from + layout.span(column).bytes as usize
    }
}

/// A transaction's writes, by record, with their values packed in one buffer.
pub struct WriteSet<'s, M: Machine, C> {
    records: RecordSet<'s, M, C, Pending>,
    values: Vec<u8>,
}

impl<M: Machine, C> Default for WriteSet<'_, M, C> {
    fn default() -> Self {
        WriteSet { records: RecordSet::default(), values: Vec::new() }
    }
}

impl<'s, M: Machine, C: Zeroed + Send + Sync + 'static> WriteSet<'s, M, C> {
    /// Where the write to `record` is, if there is one.
    #[inline(always)]
    pub fn find(&self, record: &RecordRef<'s, M, C>) -> Option<usize> {
        self.records.find(record)
    }

    /// Announces a write to `record`, without changing anything yet.
    pub fn announce(&mut self, record: RecordRef<'s, M, C>) -> usize {
        let start = self.values.len();
        let none = ColumnSet::NONE;
        self.records.push(record, Pending { columns: none, added: none, state: None, start })
    }

    /// Adds `change`, to the write at `at` if the record has one already.
    pub fn put(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
        at: Option<usize>,
        change: Change<'_>,
    ) {
        core.copied(change.values.len());
        let Some(at) = at else {
            let start = self.values.len();
            self.values.extend_from_slice(change.values);
            let Change { columns, state, .. } = change;
            let added = ColumnSet::NONE;
            self.records.push(record, Pending { columns, added, state, start });
            return;
        };
        let layout = record.table().layout();
        let before = *self.records.get(at).1;
        let columns = before.columns.with(change.columns);
        let mut start = before.start;
        if !before.columns.contains(change.columns) {
            // More columns than before: a longer home for all of them, at the end.
            start = self.values.len();
            for column in columns.iter() {
                let bytes = layout.span(column).bytes as usize;
                let home = self.values.len();
                self.values.resize(home + bytes, 0);
                if before.columns.contains(ColumnSet::one(column)) {
                    let skip = layout.packed_bytes(below(before.columns, column));
                    let from = before.start + skip;
                    self.values.copy_within(from..from + bytes, home);
                }
            }
        }
        let mut from = 0;
        for column in change.columns.iter() {
            let bytes = layout.span(column).bytes as usize;
            let to = start + layout.packed_bytes(below(columns, column));
            self.values[to..to + bytes].copy_from_slice(&change.values[from..from + bytes]);
            from += bytes;
        }
        let state = change.state.or(before.state);
        let added = before.added.without(change.columns);
        *self.records.value_mut(at) = Pending { columns, added, state, start };
    }

    /// Adds `deltas` to `columns` of the write at `at`, if the record has one already: to the value where one is
    /// to be written, else to what will be there.
    pub fn add(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
        at: Option<usize>,
        columns: ColumnSet,
        deltas: &[u8],
    ) {
        let Some(at) = at else {
            let change = Change { columns, values: deltas, state: None };
            self.put(core, record, None, change);
            self.records.value_mut(self.len() - 1).added = columns;
            return;
        };
        let fresh = columns.without(self.records.get(at).1.columns);
        let values = &ZEROS[..record.table().layout().packed_bytes(fresh)];
        self.put(core, record, Some(at), Change { columns: fresh, values, state: None });
        core.copied(deltas.len() - values.len());
        let pending = self.records.value_mut(at);
        pending.added = pending.added.with(fresh);
        let pending = *pending;
        for (column, delta) in columns.iter().zip(deltas.chunks(8)) {
            let place = pending.place_of(column, record.table().layout());
            add_words(&mut self.values[place], delta);
        }
    }

    /// Turns what is to be added by the write at `at` into what is to be written. Call with the record protected.
    #[inline(always)]
    pub fn settle(&mut self, core: &M::Core, at: usize) {
        if !self.records.get(at).1.added.is_empty() {
            self.settle_additions(core, at);
        }
    }

    #[cold]
    fn settle_additions(&mut self, core: &M::Core, at: usize) {
        let (record, pending) = self.records.get(at);
        let pending = *pending;
        for column in pending.added.iter() {
            let (mut there, one) = ([0; 8], ColumnSet::one(column));
            record.copy_held(core, one, one, &mut there);
            let place = pending.place_of(column, record.table().layout());
            add_words(&mut self.values[place], &there);
        }
        self.records.value_mut(at).added = ColumnSet::NONE;
    }

    /// What the transaction itself sees of the row's state, given what lies below its own write.
    #[inline]
    pub fn state_over(&self, at: Option<usize>, below: RowState) -> RowState {
        at.and_then(|at| self.records.get(at).1.state).unwrap_or(below)
    }

    /// Lays the write at `at` over a row that was read as `head` into `out`.
    pub fn overlay(&self, at: usize, columns: ColumnSet, out: &mut [u8], head: RowHead) -> RowHead {
        let (record, pending) = self.records.get(at);
        let layout = record.table().layout();
        let state = pending.state.unwrap_or(head.state);
        if state.is_present() {
            let mut to = 0;
            for column in columns.iter() {
                let bytes = layout.span(column).bytes as usize;
                let out = &mut out[to..to + bytes];
                if pending.added.contains(ColumnSet::one(column)) {
                    add_words(out, &self.values[pending.place_of(column, layout)]);
                } else if pending.columns.contains(ColumnSet::one(column)) {
                    out.copy_from_slice(&self.values[pending.place_of(column, layout)]);
                }
                to += bytes;
            }
        }
        // What shows something of the row below is a read of that, whatever else the transaction writes to it.
        let written = pending.columns.without(pending.added);
        let own = pending.state.is_some() || !columns.is_empty() && written.contains(columns);
        RowHead { state, version: head.version, own }
    }

    /// An update needs its row still to be there when the transaction commits. Call with the record
    /// protected.
    #[inline]
    pub fn check_presence(&self, core: &M::Core, at: usize) -> Result<(), Abort> {
        let (record, pending) = self.records.get(at);
        if pending.state.is_none() && !record.head(core).state.is_present() {
            return Err(Abort::because(AbortReason::Validation));
        }
        Ok(())
    }

    /// What the write at `at` finds and the state in which it leaves its row; none if it changes nothing.
    /// Call with the record protected.
    #[inline]
    pub fn outcome(&self, core: &M::Core, at: usize) -> Option<(RowHead, RowState)> {
        let (record, pending) = self.records.get(at);
        if pending.columns.is_empty() && pending.state.is_none() {
            return None;
        }
        let before = record.head(core);
        let after = pending.state.unwrap_or(before.state);
        // Inserted and deleted again: nothing happened.
        let undone = before.state == RowState::ABSENT && after == RowState::ABSENT;
        (!undone).then_some((before, after))
    }

    /// Installs the write at `at` and tells the log. Call with the record protected.
    #[inline]
    pub fn install(&self, core: &M::Core, at: usize, log: &mut CommitLog<'_>) {
        let Some(outcome) = self.outcome(core, at) else { return };
        if at == 1 && core.is_planted(faults::WRITE_LEFT_OUT) {
            return;
        }
        self.tell(core, at, outcome, self.left_by(at), log);
        self.place(core, at, log.version);
    }

    /// What the write at `at` will make of the row, for who records it. Call with the record protected, and what it is to
    /// overwrite still in it.
    pub fn left_by(&self, at: usize) -> Digest {
        let (record, pending) = self.records.get(at);
        if !record.table().keeps_digests() {
            return Digest::UNKNOWN;
        }
        let (layout, mut row) = (record.table().layout(), record.kept_row());
        let values = (pending.columns, &self.values[pending.start..]);
        layout.scatter(values, layout.all(), &mut row);
        Digest::of(&row)
    }

    /// Tells the log of the write at `at`, which has this [`WriteSet::outcome`], and leaves a row of these `values`.
    #[inline]
    pub fn tell(
        &self,
        core: &M::Core,
        at: usize,
        (before, after): (RowHead, RowState),
        values: Digest,
        log: &mut CommitLog<'_>,
    ) {
        let record = self.record(at);
        if before.state == RowState::ABSENT && after == RowState::RETIRED {
            // It stands for the same absence as before.
            return;
        }
        if let Some(writes) = log.writes.as_deref_mut() {
            let kind = kind_of(before.state, after);
            let (table, key) = (record.table().id(), record.history_key(core));
            let (version, overwritten) = (log.version, before.version);
            let values = if after.is_present() { values } else { Digest::UNKNOWN };
            writes.push(Write { table, key, version, overwritten, kind, values });
        }
    }

    /// Tells a log what will be installed. Call with all records protected.
    pub fn tell_images(&self, core: &M::Core, log: &mut Images<'_, 's, M>) {
        for at in 0..self.len() {
            if let Some(outcome) = self.outcome(core, at) {
                let record = self.record(at);
                let mut before =
                    |columns, out: &mut [u8]| record.copy_held(core, columns, columns, out);
                self.tell_image(at, outcome, &mut before, log);
            }
        }
    }

    /// Tells a log of the write at `at`, which has this [`WriteSet::outcome`] and nothing to add any more. `overwritten`
    /// copies columns of the row that it finds.
    pub fn tell_image(
        &self,
        at: usize,
        (found, left): (RowHead, RowState),
        overwritten: &mut dyn FnMut(ColumnSet, &mut [u8]),
        log: &mut Images<'_, 's, M>,
    ) {
        if !found.state.is_present() && !left.is_present() {
            // A record is retired, and stands for the same absence as before.
            return;
        }
        let (record, pending) = self.records.get(at);
        let (layout, kind) = (record.table().layout(), kind_of(found.state, left));
        let columns = match kind {
            WriteKind::Delete => layout.all(),
            WriteKind::Insert | WriteKind::Update => pending.columns,
        };
        let bytes = layout.packed_bytes(columns);
        let mut before = Vec::new();
        if kind != WriteKind::Insert {
            before.resize(bytes, 0);
            overwritten(columns, &mut before);
        }
        let after = match kind {
            WriteKind::Delete => &[],
            WriteKind::Insert | WriteKind::Update => {
                &self.values[pending.start..pending.start + bytes]
            }
        };
        log(Image { record: record.record(), kind, columns, before: &before, after });
    }

    /// Writes the row's columns and state, as `version`, and tells nobody. Call with the record protected.
    #[inline]
    pub fn place(&self, core: &M::Core, at: usize, version: Version) {
        let (record, pending) = self.records.get(at);
        let bytes = record.table().layout().packed_bytes(pending.columns);
        let values = &self.values[pending.start..pending.start + bytes];
        record.install(core, pending.columns, values, pending.state, version);
    }

    /// Puts what the write at `at` makes of a row in state `below` into `slot`, for others to see before it is
    /// installed. The columns that it overwrites; none if it changes nothing, and the slot stays as it is.
    pub fn show_in(
        &self,
        core: &M::Core,
        at: usize,
        below: RowState,
        slot: &RecordRef<'s, M, C>,
        version: Version,
    ) -> Option<ColumnSet> {
        let (record, pending) = self.records.get(at);
        let state = pending.state.unwrap_or(below);
        let undone = below == RowState::ABSENT && state == RowState::ABSENT;
        if undone || (pending.columns.is_empty() && pending.state.is_none()) {
            return None;
        }
        let bytes = record.table().layout().packed_bytes(pending.columns);
        let values = &self.values[pending.start..pending.start + bytes];
        slot.install(core, pending.columns, values, Some(state), version);
        Some(pending.columns)
    }

    /// The records to be written, in order.
    #[inline]
    pub fn records(&self) -> impl DoubleEndedIterator<Item = RecordRef<'s, M, C>> {
        self.records.iter().map(|(record, _)| record)
    }

    /// The columns that the write at `at` overwrites.
    #[inline]
    pub fn columns(&self, at: usize) -> ColumnSet {
        self.records.get(at).1.columns
    }

    /// The record at `at`.
    #[inline]
    pub fn record(&self, at: usize) -> RecordRef<'s, M, C> {
        self.records.get(at).0
    }

    /// Sorts by name, the order in which optimistic protocols lock.
    pub fn sort(&mut self) {
        self.records.sort();
    }

    /// Number of records to be written.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True when nothing is to be written.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Forgets everything.
    #[inline]
    pub fn clear(&mut self) {
        self.records.clear();
        self.values.clear();
    }
}

/// Writes to the shared record at once, past every write set: planted bugs do. False, with nothing written, when an
/// update meets an absent row.
pub(crate) fn write_through<M: Machine, C: Zeroed + Send + Sync + 'static>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    change: Change<'_>,
) -> bool {
    let there = record.head(core).state.is_present() || change.state.is_some();
    if there {
        record.install(core, change.columns, change.values, change.state, Version::INITIAL);
    }
    there
}

/// What was done as a whole: a delete and an insert of one key make an update.
fn kind_of(before: RowState, after: RowState) -> WriteKind {
    match (before.is_present(), after.is_present()) {
        (false, true) => WriteKind::Insert,
        (true, false) => WriteKind::Delete,
        _ => WriteKind::Update,
    }
}

/// The columns of `set` below number `column`.
#[inline]
fn below(set: ColumnSet, column: usize) -> ColumnSet {
    ColumnSet(set.0 & ((1 << column) - 1))
}
