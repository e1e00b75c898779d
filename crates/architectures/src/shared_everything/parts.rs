//! Accesses to records in two parts: each goes to the part or the parts whose columns it names.

use super::{Record, SharedEverythingSession};
use machine::{Core, Machine};
use protocols::{Change, Protocol, faults};
use storage::{RowState, Split};
use txn::{Abort, ColumnSet, Intent};

impl<'s, M: Machine, P: Protocol<M>> SharedEverythingSession<'s, M, P> {
    /// Reads `columns`; the first part tells whether there is a row if none are named. An attempt that finds one part and
    /// not the other will not commit.
    pub(super) fn read_parts(
        &mut self,
        record: Record<'s, M, P>,
        split: &'s Split<M, P::Record>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        let first = columns.without(split.columns());
        if first == columns {
            return Ok(self.protocol_read(record, columns, intent, out)?.state.is_present());
        }
        let (second, often) = (split.second(&record), columns.without(first));
        if first.is_empty() {
            return Ok(self.protocol_read(second, columns, intent, out)?.state.is_present());
        }
        let all = columns;
        let mut part = std::mem::take(&mut self.part);
        part.resize(out.len(), 0);
        let mut read = |record, columns| {
            let bytes = split.row_layout().packed_bytes(columns);
            let head = self.protocol_read(record, columns, intent, &mut part[..bytes])?;
            if head.state.is_present() {
                split.scatter((columns, &part), all, out);
            }
            Ok(head.state.is_present())
        };
        let found = match read(record, first) {
            Ok(true) => read(second, often),
            other => other,
        };
        self.part = part;
        found
    }

    /// Runs `write` on each part of which `columns` are written, with their values.
    fn each_part(
        &mut self,
        record: Record<'s, M, P>,
        split: &'s Split<M, P::Record>,
        (columns, values): (ColumnSet, &[u8]),
        mut write: impl FnMut(&mut Self, Record<'s, M, P>, ColumnSet, &[u8]) -> Result<bool, Abort>,
    ) -> Result<bool, Abort> {
        let first = columns.without(split.columns());
        if first == columns {
            return write(self, record, columns, values);
        }
        let (second, often) = (split.second(&record), columns.without(first));
        if first.is_empty() {
            return write(self, second, columns, values);
        }
        let mut part = std::mem::take(&mut self.part);
        part.resize(values.len(), 0);
        let mut write = |record, of| {
            let bytes = split.gather((columns, values), of, &mut part);
            write(self, record, of, &part[..bytes])
        };
        let written = match write(record, first) {
            Ok(true) => write(second, often),
            other => other,
        };
        self.part = part;
        written
    }

    /// Updates columns of either part or of both.
    pub(super) fn write_parts(
        &mut self,
        record: Record<'s, M, P>,
        split: &'s Split<M, P::Record>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let Change { columns, values, state } = change;
        self.each_part(record, split, (columns, values), |s, record, columns, values| {
            s.protocol_write(record, Change { columns, values, state })
        })
    }

    /// Adds to columns of either part or of both.
    pub(super) fn add_to_parts(
        &mut self,
        record: Record<'s, M, P>,
        split: &'s Split<M, P::Record>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        self.each_part(record, split, (columns, deltas), |s, record, columns, deltas| {
            s.protocol_add(record, columns, deltas)
        })
    }

    /// Gives the second part of a row that is deleted, or whose record retires, the state of the first.
    pub(super) fn end_second(
        &mut self,
        record: Record<'s, M, P>,
        state: RowState,
    ) -> Result<(), Abort> {
        let Some(second) = record.second() else { return Ok(()) };
        if state == RowState::ABSENT && self.core.is_planted(faults::SPLIT_ROW_HALF_DELETED) {
            return Ok(());
        }
        let state = Some(state);
        let change = Change { columns: ColumnSet::NONE, values: &[], state };
        self.protocol_write(second, change).map(|_| ())
    }
}
