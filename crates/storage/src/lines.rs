//! Which cache lines of a record an access touches, worked out once for each column and set of columns.

use crate::record::LINE_BYTES;
use txn::{ColumnSet, RowLayout};

/// Natively, slots of rows that share lines begin at multiples of this many bytes. So two small rows lie on one line, and a
/// row of 96 bytes touches two lines, as it does where it begins on a line of its own.
pub(crate) const HALF_LINE: usize = LINE_BYTES / 2;
/// Number of lines that are visited without a branch for each: a record's head, and a column of three lines.
const FEW: usize = 4;

/// Lines of a record. Lines behind the first 64 are left out.
///
/// Most accesses touch a few lines, and a number that varies with the columns, which a processor does not predict. So the first
/// lines are listed, and the last one is repeated where there are fewer. To fetch it again costs less than a branch that is
/// predicted wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSet {
    first: [u8; FEW],
    /// The lines behind the first ones: bit `i` stands for line `i` from the record's start.
    rest: u64,
}

impl LineSet {
    /// Returns the set of the lines whose bits are set, and of line 0 if none is.
    fn of(lines: u64) -> LineSet {
        let last = lines.checked_ilog2().unwrap_or(0) as u8;
        let mut set = LineSet { first: [last; FEW], rest: lines };
        for line in &mut set.first {
            if set.rest != 0 {
                *line = set.rest.trailing_zeros() as u8;
                set.rest &= set.rest - 1;
            }
        }
        set
    }

    /// Calls `visit` with the number of each line. The last one can come several times.
    #[inline(always)]
    pub fn each(self, mut visit: impl FnMut(usize)) {
        self.first.iter().for_each(|line| visit(usize::from(*line)));
        let mut rest = self.rest;
        while rest != 0 {
            visit(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// The lines of a table's record slots.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Lines up to the columns, as bits.
    front: u64,
    /// Lines of each column, by its number, as bits.
    columns: Box<[u64]>,
    /// Lines of each column with those up to the columns.
    alone: Box<[LineSet]>,
}

impl Lines {
    /// Returns the lines of slots whose columns begin at byte `start`. If `straddle` is set, a slot can begin in the middle of
    /// a line. Then a column counts for all lines that it touches in either case.
    pub fn new(layout: &RowLayout, start: usize, straddle: bool) -> Lines {
        let lines_of = |from: usize, to: usize| {
            let shift = if straddle { HALF_LINE } else { 0 };
            between(from, to) | between(from + shift, to + shift)
        };
        let lines = |column| {
            let span = layout.span(column);
            let from = start + span.word as usize * 8;
            lines_of(from, from + span.bytes as usize)
        };
        let front = lines_of(0, start);
        let columns: Box<[u64]> = (0..layout.columns()).map(lines).collect();
        let alone = columns.iter().map(|column| LineSet::of(front | column)).collect();
        Lines { front, columns, alone }
    }

    /// Returns the lines up to the columns, and those of one column.
    #[inline(always)]
    pub fn of_one(&self, column: usize) -> LineSet {
        self.alone[column]
    }

    /// Returns the lines up to the columns, and those of `columns`.
    pub fn of(&self, columns: ColumnSet) -> LineSet {
        LineSet::of(columns.iter().fold(self.front, |all, column| all | self.columns[column]))
    }
}

/// Returns the lines from byte `from` to byte `to`, as bits.
fn between(from: usize, to: usize) -> u64 {
    let below = |line: usize| 1u64.checked_shl(line as u32).map_or(u64::MAX, |bit| bit - 1);
    below(to.div_ceil(LINE_BYTES)) & !below(from / LINE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_set_is_visited() {
        for lines in [1, 0b11, 0b1101, 0b1111, 0b1_1111, 1 << 63, u64::MAX, u64::MAX << 9] {
            let mut visited = 0;
            LineSet::of(lines).each(|line| visited |= 1 << line);
            assert_eq!(visited, lines, "{lines:b}");
        }
        let mut none = Vec::new();
        LineSet::of(0).each(|line| none.push(line));
        assert_eq!(none, [0; FEW]);
    }

    #[test]
    fn a_range_of_bytes_has_the_lines_that_it_touches() {
        assert_eq!(between(0, 1), 0b1);
        assert_eq!(between(60, 68), 0b11);
        assert_eq!(between(64, 128), 0b10);
        assert_eq!(between(64, 129), 0b110);
        assert_eq!(between(0, 64 * 80), u64::MAX);
        assert_eq!(between(64 * 70, 64 * 80), 0);
    }
}
