//! Scans in the order of integer keys that are compiled for the protocol, so that reading a row is no call of unknown code.

use super::{LocalSite, presence};
use machine::Machine;
use protocols::Protocol;
use std::ops::ControlFlow;
use storage::{LeafPath, Table};
use txn::{Abort, ColumnSet, Direction, Intent, Key, KeyRange, TableId, Visit};

impl<'s, M: Machine, P: Protocol<M>> LocalSite<'s, M, P> {
    /// Scans the rows of `range` as [`txn::Access::scan`] does, if that is possible at once: rows must be one record each, in the order
    /// of integer keys, and hold all values of the columns, and the accesses must not be special. Otherwise returns `None`, has done
    /// nothing, and leaves the scan to [`crate::rows`].
    pub fn scan_numbers(
        &mut self,
        table: TableId,
        range: KeyRange,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<Option<()>, Abort> {
        let home = self.data.table(table);
        let special = !home.has_whole_rows() || home.unreadable_columns().intersects(columns);
        if special || !home.is_ordered() {
            return Ok(None);
        }
        let layout = home.layout();
        let mut row = std::mem::take(&mut self.held);
        row.clear();
        row.resize(layout.held_bytes(columns), 0);
        let mut packed = std::mem::take(&mut self.packed);
        let visited = match layout.variable().intersects(columns) {
            true => {
                let worked_out;
                let packing = match home.shape().runs_of(columns) {
                    Some(runs) => runs.packing(),
                    None => {
                        worked_out = layout.packing(columns);
                        &worked_out
                    }
                };
                let visit = &mut |key: Key<'_>, held: &[u8]| {
                    packed.clear();
                    packing.pack(held, &mut packed, |_, _| unreachable!("the record holds all"));
                    visit(key, &packed)
                };
                self.visit_numbers(home, range, direction, (columns, &mut row), visit)
            }
            false => self.visit_numbers(home, range, direction, (columns, &mut row), visit),
        };
        (self.held, self.packed) = (row, packed);
        visited.map(Some)
    }

    fn visit_numbers(
        &mut self,
        home: &'s Table<M>,
        range: KeyRange,
        direction: Direction,
        (columns, row): (ColumnSet, &mut [u8]),
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        self.protocol.approach_range_directly(home.schema(), range)?;
        let (ends, forward) = ((range.first(), range.last()), direction == Direction::Forward);
        let mut at = if forward { ends.0 } else { ends.1 };
        let mut path = LeafPath::new(direction);
        loop {
            let rows = self.data.leaf(&mut self.protocol, home.id(), at, &mut path)?;
            let mut left = rows.records(rows.not_visited(ends, at, direction));
            while let Some((key, record)) = if forward { left.next() } else { left.next_back() } {
                // SAFETY: the record was found in the owner's store.
                let read =
                    unsafe { self.protocol.read_directly(record, columns, Intent::Read, row) };
                if presence(read)? && visit(Key::Number(key), row) == ControlFlow::Break(()) {
                    return Ok(());
                }
            }
            match rows.beyond(ends, direction, ()) {
                Some(next) => at = next,
                None => return Ok(()),
            }
        }
    }
}
