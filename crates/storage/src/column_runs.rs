//! How some columns of a table lie in its records, worked out once for all accesses that name the same columns.
//!
//! A procedure names the same few sets of columns again and again. For each of them [`ColumnRuns`] says which words are to
//! be copied, which cache lines they touch, and how the copy is packed. [`KeptRuns`] keeps these answers in a shape.

use crate::lines::{LineSet, Lines};
use machine::{Runs, cold::OnceLock};
use txn::{ColumnSet, Packing, RowLayout};

/// Number of sets of columns for which a shape has room, a power of two. TPC-C names up to 15 sets of one table.
const PLACES: usize = 64;
/// Number of places at which a set can be.
const NEAR: usize = 4;

/// How some columns lie in a record.
#[derive(Debug)]
pub struct ColumnRuns {
    columns: ColumnSet,
    /// The words of the columns. Columns that follow each other are one run.
    runs: Runs,
    lines: LineSet,
    packing: Packing,
}

impl ColumnRuns {
    fn of(layout: &RowLayout, lines: &Lines, columns: ColumnSet) -> ColumnRuns {
        ColumnRuns {
            columns,
            runs: Runs::new(layout.runs(columns).map(|span| (span.word, span.bytes))),
            lines: lines.of(columns.and(layout.all())),
            packing: layout.packing(columns),
        }
    }

    /// Returns the words of the columns, in order. Columns that follow each other are one run.
    #[inline(always)]
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Returns the lines that an access to the columns touches ([`crate::Shape::lines_of`]).
    #[inline(always)]
    pub fn lines(&self) -> LineSet {
        self.lines
    }

    /// Returns how the columns are packed.
    #[inline(always)]
    pub fn packing(&self) -> &Packing {
        &self.packing
    }
}

/// The runs of those sets of columns that are used. The first sets that need a place have it for ever, because the sets that
/// procedures name do not change.
#[derive(Debug)]
pub(crate) struct KeptRuns(Box<[OnceLock<ColumnRuns>; PLACES]>);

impl KeptRuns {
    pub fn new() -> KeptRuns {
        KeptRuns(Box::new([const { OnceLock::new() }; PLACES]))
    }

    /// Returns the runs of `columns`, or none if other sets have their places.
    #[inline(always)]
    pub fn of(&self, layout: &RowLayout, lines: &Lines, columns: ColumnSet) -> Option<&ColumnRuns> {
        let spread = columns.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let first = (spread >> (u64::BITS - PLACES.trailing_zeros())) as usize;
        for near in 0..NEAR {
            let place = &self.0[(first + near) % PLACES];
            let runs = match place.get() {
                Some(runs) => runs,
                None => Self::fill(place, layout, lines, columns),
            };
            // Another session can have filled the place for another set meanwhile.
            if runs.columns == columns {
                return Some(runs);
            }
        }
        None
    }

    #[cold]
    fn fill<'p>(
        place: &'p OnceLock<ColumnRuns>,
        layout: &RowLayout,
        lines: &Lines,
        columns: ColumnSet,
    ) -> &'p ColumnRuns {
        place.get_or_init(|| ColumnRuns::of(layout, lines, columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txn::{Column, ColumnType, TableSchema};

    #[test]
    fn runs_are_those_of_the_layout_for_every_set() {
        let column = |at: u32| {
            let kind = if at % 3 == 2 { ColumnType::Bytes(at) } else { ColumnType::U64 };
            Column::new(format!("c{at}"), kind)
        };
        let layout = RowLayout::of(&TableSchema::new("t", (0..9).map(column).collect()));
        let lines = Lines::new(&layout, 40, false);
        let kept = KeptRuns::new();
        let mut known = 0;
        for set in 0..1 << 9 {
            let columns = ColumnSet(set);
            // A set that has no place is answered by none, and never with the runs of another one.
            let Some(runs) = kept.of(&layout, &lines, columns) else { continue };
            known += 1;
            let bytes = runs.runs().bytes();
            assert_eq!(bytes, layout.held_bytes(columns));
            assert_eq!(runs.packing().held_bytes(), bytes);
            assert_eq!(runs.lines(), lines.of(columns));
        }
        assert!(known > PLACES / 2 && known <= PLACES, "{known}");
    }
}
