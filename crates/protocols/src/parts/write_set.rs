//! Writes that are not installed yet.
//!
//! Every protocol here buffers a transaction's writes and installs them at commit, the locking ones too
//! (they hold the lock, so nobody can tell): the same bytes are copied as with an in-place update and
//! a before-image, an abort forgets instead of undoing, and reads of own writes are answered in one place.

use super::record_set::RecordSet;
use crate::{Change, CommitLog};
use machine::{Core, Machine, Zeroed};
use storage::{RecordRef, RowHead, RowState};
use txn::{Abort, AbortReason, ColumnSet, Write, WriteKind};

/// What is to be written to one record.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    columns: ColumnSet,
    state: Option<RowState>,
    start: usize,
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
        self.records.push(record, Pending { columns: ColumnSet::NONE, state: None, start })
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
            let pending = Pending { columns: change.columns, state: change.state, start };
            self.records.push(record, pending);
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
        *self.records.value_mut(at) = Pending { columns, state, start };
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
        let changes_nothing = pending.columns.is_empty() && pending.state.is_none();
        let state = pending.state.unwrap_or(head.state);
        if state.is_present() {
            let mut to = 0;
            for column in columns.iter() {
                let bytes = layout.span(column).bytes as usize;
                if pending.columns.contains(ColumnSet::one(column)) {
                    let from = pending.start + layout.packed_bytes(below(pending.columns, column));
                    out[to..to + bytes].copy_from_slice(&self.values[from..from + bytes]);
                }
                to += bytes;
            }
        }
        RowHead { state, version: head.version, own: !changes_nothing }
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
        let (record, pending) = self.records.get(at);
        let Some((before, after)) = self.outcome(core, at) else { return };
        if let Some(writes) = log.writes.as_deref_mut() {
            // What the transaction did as a whole: a delete and an insert of one key make an update.
            let kind = match (before.state.is_present(), after.is_present()) {
                (false, true) => WriteKind::Insert,
                (true, false) => WriteKind::Delete,
                _ => WriteKind::Update,
            };
            let (table, key) = (record.table().id(), record.history_key(core));
            let (version, overwritten) = (log.version, before.version);
            writes.push(Write { table, key, version, overwritten, kind });
        }
        let bytes = record.table().layout().packed_bytes(pending.columns);
        let values = &self.values[pending.start..pending.start + bytes];
        record.install(core, pending.columns, values, pending.state, log.version);
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

/// The columns of `set` below number `column`.
#[inline]
fn below(set: ColumnSet, column: usize) -> ColumnSet {
    ColumnSet(set.0 & ((1 << column) - 1))
}
