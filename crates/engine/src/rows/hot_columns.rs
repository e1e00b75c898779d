//! Whole rows and parts rows. Each access goes to the part or parts that hold the columns it names.
//!
//! A parts row has two records: the first part holds the cold columns, the second part the hot ones. Both parts
//! are present or both are absent, in every consistent state.

use super::{Sited, Work};
use machine::{Core, Machine};
use protocols::{Change, faults};
use storage::{HotColumns, RowState};
use txn::{Abort, ColumnSet, Intent};

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Reads `columns`. If there are none, it reads the first part, which shows whether there is a row. An
    /// attempt that finds one part present and the other one absent will not commit.
    #[inline(always)]
    pub(super) fn read_row(
        &mut self,
        at: Sited<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        let Some((parts, second, hot)) = second_of(at, columns) else {
            return Ok(self.read_record(at, columns, intent, out)?.state.is_present());
        };
        if hot == columns {
            return Ok(self.read_record(second, columns, intent, out)?.state.is_present());
        }
        let all = columns;
        let mut part = std::mem::take(&mut self.rows.part);
        part.resize(out.len(), 0);
        let mut read = |record, columns| {
            let bytes = parts.row_layout().held_bytes(columns);
            let head = self.read_record(record, columns, intent, &mut part[..bytes])?;
            if head.state.is_present() {
                parts.row_layout().scatter((columns, &part), all, out);
            }
            Ok(head.state.is_present())
        };
        let found = match read(at, columns.without(hot)) {
            Ok(true) => read(second, hot),
            other => other,
        };
        self.rows.part = part;
        found
    }

    /// Announces to the protocol that the attempt is going to access `columns`: one part, or both.
    pub(super) fn plan_row(&mut self, at: Sited<'s, M>, columns: ColumnSet, intent: Intent) {
        let columns = columns.and(at.record.table().row_layout().all());
        let second = second_of(at, columns);
        if second.as_ref().is_none_or(|(.., hot)| *hot != columns) {
            self.plan_record(at, intent);
        }
        if let Some((_, second, _)) = second {
            self.plan_record(second, intent);
        }
    }

    /// Writes columns of one part or of both.
    pub(super) fn write_row(
        &mut self,
        at: Sited<'s, M>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let Change { columns, values, state } = change;
        self.each_part(at, (columns, values), |work, at, columns, values| {
            work.write_record(at, Change { columns, values, state })
        })
    }

    /// Adds to columns of one part or of both.
    pub(super) fn add_to_row(
        &mut self,
        at: Sited<'s, M>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        self.each_part(at, (columns, deltas), |work, at, columns, deltas| {
            work.add_to_record(at, columns, deltas)
        })
    }

    /// Sets the state of both parts of a row that is deleted or whose record retires.
    pub(super) fn end_row(&mut self, at: Sited<'s, M>, state: RowState) -> Result<(), Abort> {
        let state = Some(state);
        let change = Change { columns: ColumnSet::NONE, values: &[], state };
        self.write_record(at, change)?;
        let stays = state == Some(RowState::ABSENT)
            && self.rows.core.is_planted(faults::SPLIT_ROW_HALF_DELETED);
        if let Some(second) = at.record.second().filter(|_| !stays) {
            self.write_record(Sited { record: second, ..at }, change)?;
        }
        Ok(())
    }

    /// Runs `write` on each part that has some of `columns`, with the values for that part.
    fn each_part(
        &mut self,
        at: Sited<'s, M>,
        (columns, values): (ColumnSet, &[u8]),
        mut write: impl FnMut(&mut Self, Sited<'s, M>, ColumnSet, &[u8]) -> Result<bool, Abort>,
    ) -> Result<bool, Abort> {
        let Some((parts, second, hot)) = second_of(at, columns) else {
            return write(self, at, columns, values);
        };
        if hot == columns {
            return write(self, second, columns, values);
        }
        let mut part = std::mem::take(&mut self.rows.part);
        part.resize(values.len(), 0);
        let mut write = |record, of| {
            let bytes = parts.row_layout().gather((columns, values), of, &mut part);
            write(self, record, of, &part[..bytes])
        };
        let written = match write(at, columns.without(hot)) {
            Ok(true) => write(second, hot),
            other => other,
        };
        self.rows.part = part;
        written
    }
}

/// Returns the second part of a parts row and those of `columns` that are in it. Returns `None` if the row is
/// not parts or none of `columns` are in its second part.
fn second_of<'s, M: Machine>(
    at: Sited<'s, M>,
    columns: ColumnSet,
) -> Option<(&'s HotColumns<M>, Sited<'s, M>, ColumnSet)> {
    let parts = at.record.table().hot_columns()?;
    let hot = columns.without(columns.without(parts.columns()));
    let second = Sited { record: parts.second(&at.record), ..at };
    (!hot.is_empty()).then_some((parts, second, hot))
}
