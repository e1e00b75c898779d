//! Writes of a transaction that are not installed yet.
//!
//! Every protocol here buffers a transaction's writes and installs them at commit. The locking
//! protocols do so too. They hold the lock, so no other transaction can see the difference. This
//! copies the same bytes as an in-place update with a before-image. An abort clears the set and
//! undoes nothing. Reads of own writes are answered in one place.
//!
//! Several functions must be called with the record protected: no other transaction can change the
//! record meanwhile.

use super::record_set::RecordSet;
use crate::{Change, CommitLog, Image, Images, faults};
use machine::{Core, Machine, Zeroed};
use std::ops::Range;
use storage::{Origin, RecordRef, RowHead, RowState};
use txn::{
    Abort, AbortReason, ColumnSet, Digest, MAX_COLUMNS, RowLayout, Version, Write, WriteKind,
    add_words,
};

/// Values of columns to which nothing is added yet.
static ZEROS: [u8; MAX_COLUMNS * 8] = [0; MAX_COLUMNS * 8];

/// The pending write to one record.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Columns that the write changes.
    columns: ColumnSet,
    /// The columns whose values are added to the present ones. A subset of `columns`.
    added: ColumnSet,
    /// State in which the write leaves the row. None for an update, which keeps the state.
    state: Option<RowState>,
    /// Offset of the values in the set's buffer. They are packed in the order of the columns.
    start: usize,
}

impl Pending {
    /// Returns true if the write changes the row, whatever is there: it leaves a row, and does not only announce a write.
    #[inline(always)]
    fn surely_changes(&self) -> bool {
        match self.state {
            Some(state) => state.is_present(),
            None => !self.columns.is_empty(),
        }
    }

    /// Returns the place of the value of `column`, which must be a column of the write.
    #[inline]
    fn place_of(&self, column: usize, layout: &RowLayout) -> Range<usize> {
        let from = self.start + layout.held_bytes(below(self.columns, column));
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
    /// Returns the index of the write to `record`, if there is one.
    #[inline(always)]
    pub fn find(&self, record: &RecordRef<'s, M, C>) -> Option<usize> {
        self.records.find(record)
    }

    /// Adds an empty write to `record`, which changes nothing yet. Returns its index.
    pub fn announce(&mut self, record: RecordRef<'s, M, C>) -> usize {
        let start = self.values.len();
        let none = ColumnSet::NONE;
        self.records.push(record, Pending { columns: none, added: none, state: None, start })
    }

    /// Adds `change` to the set. `at` is the record's write if it has one already.
    #[inline(always)]
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
        self.put_again(record, at, change);
    }

    /// Adds `change` to the write at `at`. It is apart from the first write to a record, which is shorter.
    #[inline(never)]
    fn put_again(&mut self, record: RecordRef<'s, M, C>, at: usize, change: Change<'_>) {
        let before = *self.records.get(at).1;
        let state = change.state.or(before.state);
        let mut pending = Pending { state, ..before };
        if before.columns.is_empty() {
            // The write is only announced so far.
            pending.start = self.values.len();
            pending.columns = change.columns;
            self.values.extend_from_slice(change.values);
        } else if before.columns == change.columns {
            let place = before.start..before.start + change.values.len();
            self.values[place].copy_from_slice(change.values);
            pending.added = ColumnSet::NONE;
        } else {
            pending = self.merge(record.table().layout(), pending, change);
        }
        *self.records.value_mut(at) = pending;
    }

    /// Adds the columns of `change` to those of `before`. Returns the write to all of them.
    fn merge(&mut self, layout: &RowLayout, before: Pending, change: Change<'_>) -> Pending {
        let columns = before.columns.with(change.columns);
        let mut start = before.start;
        if !before.columns.contains(change.columns) {
            // The write has more columns than before, so its values move to a larger place at the
            // buffer's end.
            start = self.values.len();
            for column in columns.iter() {
                let bytes = layout.span(column).bytes as usize;
                let home = self.values.len();
                self.values.resize(home + bytes, 0);
                if before.columns.contains(ColumnSet::one(column)) {
                    let skip = layout.held_bytes(below(before.columns, column));
                    let from = before.start + skip;
                    self.values.copy_within(from..from + bytes, home);
                }
            }
        }
        let mut from = 0;
        for column in change.columns.iter() {
            let bytes = layout.span(column).bytes as usize;
            let to = start + layout.held_bytes(below(columns, column));
            self.values[to..to + bytes].copy_from_slice(&change.values[from..from + bytes]);
            from += bytes;
        }
        let added = before.added.without(change.columns);
        Pending { columns, added, start, ..before }
    }

    /// Adds `deltas` to `columns` of the record. `at` is the record's write if it has one already.
    /// A delta is added to the pending value of a column if there is one, and otherwise to the
    /// value that will be there at commit.
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
        let values = &ZEROS[..record.table().layout().held_bytes(fresh)];
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

    /// Turns the additions of the write at `at` into plain values. Called with the record
    /// protected.
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

    /// Returns the row's state as the transaction sees it. `below` is the state without its own
    /// write.
    #[inline]
    pub fn state_over(&self, at: Option<usize>, below: RowState) -> RowState {
        at.and_then(|at| self.records.get(at).1.state).unwrap_or(below)
    }

    /// Overlays the write at `at` on a row that was read into `out` as `head`.
    #[inline]
    pub fn overlay(&self, at: usize, columns: ColumnSet, out: &mut [u8], head: RowHead) -> RowHead {
        let (record, pending) = self.records.get(at);
        let state = pending.state.unwrap_or(head.state);
        if state.is_present() && !pending.columns.and(columns).is_empty() {
            self.overlay_values(record.table().layout(), pending, columns, out);
        }
        // A result that shows part of the row below is a read of that row, even if the transaction
        // writes other columns.
        let written = pending.columns.without(pending.added);
        let own = pending.state.is_some() || !columns.is_empty() && written.contains(columns);
        let origin = if own { Origin::OwnWrite } else { Origin::Record };
        RowHead { state, version: head.version, origin }
    }

    fn overlay_values(
        &self,
        layout: &RowLayout,
        pending: &Pending,
        columns: ColumnSet,
        out: &mut [u8],
    ) {
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

    /// Aborts if the write is an update and its row is not present any more. Called at commit with
    /// the record protected.
    #[inline]
    pub fn check_presence(&self, core: &M::Core, at: usize) -> Result<(), Abort> {
        let (record, pending) = self.records.get(at);
        if pending.state.is_none() && !record.head(core).state.is_present() {
            return Err(Abort::because(AbortReason::Validation));
        }
        Ok(())
    }

    /// Returns the head that the write at `at` finds and the state in which it leaves the row. None
    /// if it changes nothing. Called with the record protected.
    #[inline]
    pub fn outcome(&self, core: &M::Core, at: usize) -> Option<(RowHead, RowState)> {
        let (record, pending) = self.records.get(at);
        if pending.columns.is_empty() && pending.state.is_none() {
            return None;
        }
        let before = record.head(core);
        let after = pending.state.unwrap_or(before.state);
        // The row was inserted and deleted again, so nothing changes.
        let undone = before.state == RowState::ABSENT && after == RowState::ABSENT;
        (!undone).then_some((before, after))
    }

    /// Installs all writes and reports them to the log. Called with all records protected.
    #[inline(always)]
    pub fn install_all(&self, core: &M::Core, log: &mut CommitLog<'_>) {
        for (at, (record, pending)) in self.records.iter().enumerate() {
            self.install_one(core, (at, record, pending), log);
        }
    }

    /// Installs the write at `at` and reports it to the log. Called with the record protected.
    #[inline]
    pub fn install(&self, core: &M::Core, at: usize, log: &mut CommitLog<'_>) {
        let (record, pending) = self.records.get(at);
        self.install_one(core, (at, record, pending), log);
    }

    #[inline(always)]
    fn install_one(
        &self,
        core: &M::Core,
        (at, record, pending): (usize, RecordRef<'s, M, C>, &Pending),
        log: &mut CommitLog<'_>,
    ) {
        // If nobody is told what the write overwrites, the row is not looked at. A machine that is modelled looks at it, because that
        // load is part of its costs.
        match !M::MODELLED && log.writes.is_none() && pending.surely_changes() {
            true => {
                let values = &self.values[pending.start..];
                record.install(core, pending.columns, values, pending.state, log.version);
            }
            false => self.install_and_tell(core, at, log),
        }
    }

    #[inline(never)]
    fn install_and_tell(&self, core: &M::Core, at: usize, log: &mut CommitLog<'_>) {
        let Some(outcome) = self.outcome(core, at) else { return };
        if at == 1 && core.is_planted(faults::WRITE_LEFT_OUT) {
            return;
        }
        self.tell(core, at, outcome, self.left_by(at), log);
        self.place(core, at, log.version);
    }

    /// Returns the digest of the row that the write at `at` will leave, for the recorded history.
    /// Called with the record protected and before the write is installed.
    #[inline]
    pub fn left_by(&self, at: usize) -> Digest {
        match self.records.get(at).0.table().keeps_digests() {
            true => self.digest_left_by(at),
            false => Digest::UNKNOWN,
        }
    }

    #[inline(never)]
    fn digest_left_by(&self, at: usize) -> Digest {
        let (record, pending) = self.records.get(at);
        let (layout, mut row) = (record.table().layout(), record.kept_row());
        let values = (pending.columns, &self.values[pending.start..]);
        layout.scatter(values, layout.all(), &mut row);
        record.table().digest_of(&row)
    }

    /// Reports the write at `at` to the log. It has this [`WriteSet::outcome`] and leaves a row
    /// with these `values`.
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
            // A retired record represents the same absence as before.
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

    /// Reports all writes that will be installed to a log. Called with all records protected.
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

    /// Reports the write at `at` to a log. It has this [`WriteSet::outcome`] and no additions left.
    /// `overwritten` copies columns of the row that it finds.
    pub fn tell_image(
        &self,
        at: usize,
        (found, left): (RowHead, RowState),
        overwritten: &mut dyn FnMut(ColumnSet, &mut [u8]),
        log: &mut Images<'_, 's, M>,
    ) {
        if !found.state.is_present() && !left.is_present() {
            // The record is retired, and represents the same absence as before.
            return;
        }
        let (record, pending) = self.records.get(at);
        let (layout, kind) = (record.table().layout(), kind_of(found.state, left));
        let columns = match kind {
            WriteKind::Delete => layout.all(),
            WriteKind::Insert | WriteKind::Update => pending.columns,
        };
        let bytes = layout.held_bytes(columns);
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

    /// Writes the row's columns and state as `version`, without a report to a log. Called with the
    /// record protected.
    #[inline(always)]
    pub fn place(&self, core: &M::Core, at: usize, version: Version) {
        let (record, pending) = self.records.get(at);
        let values = &self.values[pending.start..];
        record.install(core, pending.columns, values, pending.state, version);
    }

    /// Writes the result of the write at `at` on a row in state `below` into `slot`. Needed by
    /// protocols that expose uncommitted writes. Returns the columns that it overwrites. Returns
    /// `None` and leaves the slot unchanged if the write changes nothing.
    pub fn show_in(
        &self,
        core: &M::Core,
        at: usize,
        below: RowState,
        slot: &RecordRef<'s, M, C>,
        version: Version,
    ) -> Option<ColumnSet> {
        let (_, pending) = self.records.get(at);
        let state = pending.state.unwrap_or(below);
        let undone = below == RowState::ABSENT && state == RowState::ABSENT;
        if undone || (pending.columns.is_empty() && pending.state.is_none()) {
            return None;
        }
        let values = &self.values[pending.start..];
        slot.install(core, pending.columns, values, Some(state), version);
        Some(pending.columns)
    }

    /// Returns the records of the writes, in order.
    #[inline]
    pub fn records(&self) -> impl DoubleEndedIterator<Item = RecordRef<'s, M, C>> {
        self.records.iter().map(|(record, _)| record)
    }

    /// Returns true if the write at `at` changes the row, whatever is there, and leaves one.
    #[inline(always)]
    pub fn surely_changes(&self, at: usize) -> bool {
        self.records.get(at).1.surely_changes()
    }

    /// Returns true if a write retires its record.
    pub fn retires(&self) -> bool {
        self.records.iter().any(|(_, pending)| pending.state == Some(RowState::RETIRED))
    }

    /// Returns the columns that the write at `at` overwrites.
    #[inline]
    pub fn columns(&self, at: usize) -> ColumnSet {
        self.records.get(at).1.columns
    }

    /// Returns the record at `at`.
    #[inline]
    pub fn record(&self, at: usize) -> RecordRef<'s, M, C> {
        self.records.get(at).0
    }

    /// Sorts by record name, the order in which optimistic protocols lock.
    pub fn sort(&mut self) {
        self.records.sort();
    }

    /// Returns the number of records with a write.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns true if there are no writes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Removes all writes.
    #[inline]
    pub fn clear(&mut self) {
        self.records.clear();
        self.values.clear();
    }
}

/// Writes to the shared record at once, without a write set. Used by planted bugs. Returns false
/// and writes nothing if an update meets an absent row.
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

/// Returns the kind of the whole change: a delete and an insert of the same key make an update.
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
