//! Draws throughput against cores as a line chart of characters.

use super::Terminal;
use super::grouping::{Group, Series, groups};
use super::numbers::rate;
use harness::run_record::RunRecord;

/// Number of lines of the plot area.
const ROWS: usize = 16;

/// Number of columns left of the plot: a number, a space and the axis.
const MARGIN: usize = 9;

/// Ratio of largest to smallest throughput above which the vertical axis is logarithmic.
const LOG_FROM: f64 = 30.0;

/// One mark for each protocol. Without colours only the marks distinguish two lines.
const MARKS: [char; 24] = [
    '●', '■', '▲', '◆', '○', '□', '△', '◇', '×', '+', '▼', '▽', '◐', '◧', '◭', '◈', '◎', '▣', '★',
    '☆', '◖', '◗', '◢', '◣',
];
const LETTERS: [char; 24] = [
    'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 'P', 'Q', 'R', 'S',
    'T', 'U', 'V', 'W', 'X',
];

/// ANSI colours of the lines. None of them is close to black or white.
const COLOURS: [u8; 6] = [34, 31, 32, 35, 36, 33];

/// Largest number of lines in one chart that readers can distinguish.
const MOST_LINES: usize = 6;

/// Returns one chart for each workload and machine in which a line has more than one point. If there are too many
/// lines, it shows those that end highest. Protocols that promise an isolation level come first.
pub fn chart(records: &[RunRecord], terminal: Terminal) -> String {
    let mut text = String::new();
    for mut group in groups(records) {
        if group.cores().len() > 1 {
            let left_out = keep_the_best(&mut group);
            text.push_str(&Plot::of(&group, terminal).text(&group, left_out));
        }
    }
    text
}

/// Keeps as many lines as readers can distinguish, in their order. Returns the number of lines left out.
fn keep_the_best(group: &mut Group<'_>) -> usize {
    let all = group.series.len();
    if all <= MOST_LINES {
        return 0;
    }
    let at_end = |series: &Series<'_>| {
        let last = series.records.last().expect("a line has points");
        let promised = !last.certificate.promised.is_empty();
        (promised, last.cores, last.throughput_txn_per_s)
    };
    let mut ends: Vec<_> = group.series.iter().map(at_end).collect();
    ends.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then(b.2.total_cmp(&a.2)));
    let least = ends[MOST_LINES - 1];
    group.series.retain(|series| {
        let end = at_end(series);
        (end.0, end.1) > (least.0, least.1)
            || (end.0, end.1) == (least.0, least.1) && end.2 >= least.2
    });
    all - group.series.len()
}

/// Contents of one character of the plot.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Empty,
    /// Bits of a braille character, and the first line that passes through it.
    Line {
        dots: u8,
        series: usize,
    },
    Mark {
        series: usize,
    },
}

/// A plot as a grid of characters.
struct Plot {
    terminal: Terminal,
    columns: usize,
    cells: Vec<Vec<Cell>>,
    cores: Vec<usize>,
    low: f64,
    high: f64,
    log: bool,
}

impl Plot {
    fn of(group: &Group<'_>, terminal: Terminal) -> Plot {
        let columns = terminal.width.clamp(40, 120) - MARGIN - 3;
        let all = || group.series.iter().flat_map(|s| &s.records).map(|r| r.throughput_txn_per_s);
        let least = all().filter(|&t| t > 0.0).fold(f64::INFINITY, f64::min);
        let high = all().fold(0.0, f64::max).max(1.0);
        let log = least.is_finite() && high / least > LOG_FROM;
        let low = if log { least } else { 0.0 };
        let mut plot = Plot {
            terminal,
            columns,
            cells: vec![vec![Cell::Empty; columns]; ROWS],
            cores: group.cores(),
            low,
            high,
            log,
        };
        for (i, series) in group.series.iter().enumerate() {
            let points: Vec<_> = series
                .records
                .iter()
                .filter(|r| r.throughput_txn_per_s > 0.0 || !log)
                .map(|r| (plot.column(r.cores), plot.row(r.throughput_txn_per_s)))
                .collect();
            plot.draw(&points, i);
        }
        plot
    }

    /// Returns the column of a number of cores. The horizontal axis is always logarithmic.
    fn column(&self, cores: usize) -> f64 {
        let (first, last) = (self.cores[0] as f64, self.cores[self.cores.len() - 1] as f64);
        (cores as f64 / first).ln() / (last / first).ln() * (self.columns - 1) as f64
    }

    /// Returns the row of a throughput. Rows count from the top.
    fn row(&self, throughput: f64) -> f64 {
        let share = if self.log {
            (throughput / self.low).ln() / (self.high / self.low).ln()
        } else {
            throughput / self.high
        };
        (1.0 - share) * (ROWS - 1) as f64
    }

    /// Returns the throughput that a row represents.
    fn value(&self, row: usize) -> f64 {
        let share = 1.0 - row as f64 / (ROWS - 1) as f64;
        if self.log { self.low * (self.high / self.low).powf(share) } else { self.high * share }
    }

    fn draw(&mut self, points: &[(f64, f64)], series: usize) {
        for pair in points.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            // A braille character is two dots wide and four dots high.
            let steps = ((x1 - x0) * 2.0).max((y1 - y0).abs() * 4.0).ceil().max(1.0) as usize;
            for step in 0..=steps {
                let share = step as f64 / steps as f64;
                self.dot(x0 + share * (x1 - x0), y0 + share * (y1 - y0), series);
            }
        }
        for &(x, y) in points {
            let cell = &mut self.cells[y.round() as usize][x.round() as usize];
            // Where points coincide, the first line's mark is shown. The table contains both.
            if !matches!(cell, Cell::Mark { .. }) {
                *cell = Cell::Mark { series };
            }
        }
    }

    /// Draws a dot. The coordinates of a character are those of its centre.
    fn dot(&mut self, x: f64, y: f64, series: usize) {
        let (column, row) = (x.round() as usize, y.round() as usize);
        let right = (x + 0.5).fract() >= 0.5;
        let down = ((y + 0.5).fract() * 4.0) as usize;
        // Unicode numbers the dots of the first three rows by columns, and then those of the last row.
        let bit =
            [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]][down][usize::from(right)];
        match &mut self.cells[row][column] {
            cell @ Cell::Empty => *cell = Cell::Line { dots: bit, series },
            Cell::Line { dots, .. } => *dots |= bit,
            Cell::Mark { .. } => {}
        }
    }

    fn text(&self, group: &Group<'_>, left_out: usize) -> String {
        let (vertical, corner, flat) =
            if self.terminal.unicode { ("┤", "└", "─") } else { ("|", "+", "-") };
        let scale = if self.log { ", logarithmic" } else { "" };
        let mut out = format!("{}: transactions a second{scale}\n", group.title);
        for (i, row) in self.cells.iter().enumerate() {
            let label = if i % 3 == 0 { rate(self.value(i)) } else { String::new() };
            out.push_str(&format!("{label:>width$} {vertical}", width = MARGIN - 2));
            let end = row.iter().rposition(|cell| *cell != Cell::Empty).map_or(0, |last| last + 1);
            for &cell in &row[..end] {
                self.push(&mut out, cell);
            }
            out.push('\n');
        }
        out.push_str(&format!("{:>width$} {corner}", "", width = MARGIN - 2));
        out.push_str(&flat.repeat(self.columns));
        out.push('\n');
        out.push_str(&self.core_labels());
        out.push_str(&self.legend(group, left_out));
        out.push('\n');
        out
    }

    fn push(&self, out: &mut String, cell: Cell) {
        let (character, series) = match cell {
            Cell::Empty => (' ', None),
            Cell::Mark { series } => (self.mark(series), Some(series)),
            Cell::Line { dots, series } => {
                let braille = char::from_u32(0x2800 + u32::from(dots)).expect("256 of them exist");
                (if self.terminal.unicode { braille } else { '.' }, Some(series))
            }
        };
        match series {
            Some(series) if self.terminal.colour => {
                let colour = COLOURS[series % COLOURS.len()];
                out.push_str(&format!("\x1b[{colour}m{character}\x1b[0m"));
            }
            _ => out.push(character),
        }
    }

    fn mark(&self, series: usize) -> char {
        let marks = if self.terminal.unicode { MARKS } else { LETTERS };
        marks[series % marks.len()]
    }

    /// Returns the numbers of cores, each below its column if there is room, and the word "cores" at the end.
    fn core_labels(&self) -> String {
        let mut line = String::new();
        for &cores in &self.cores {
            let label = cores.to_string();
            let middle = MARGIN + self.column(cores).round() as usize;
            let start = middle.saturating_sub(label.len() / 2);
            if line.is_empty() || start > line.len() {
                line = format!("{line:<start$}{label}");
            }
        }
        format!("{line}\n{:>width$}\n", "cores", width = MARGIN + self.columns)
    }

    fn legend(&self, group: &Group<'_>, left_out: usize) -> String {
        let (mut out, mut used) = (String::new(), 0);
        let mut put = |cell: Cell, name: &str| {
            let width = name.chars().count() + 5;
            if used > 0 && MARGIN + used + width > self.terminal.width {
                out.push('\n');
                used = 0;
            }
            out.push_str(&" ".repeat(if used == 0 { MARGIN } else { 3 }));
            self.push(&mut out, cell);
            out.push_str(&format!(" {name}"));
            used += width;
        };
        for (i, series) in group.series.iter().enumerate() {
            put(Cell::Mark { series: i }, &series.name);
        }
        if left_out > 0 {
            let others = if left_out == 1 { "other" } else { "others" };
            put(Cell::Empty, &format!("and {left_out} {others} in the table"));
        }
        out.push('\n');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::declarations;
    use protocols::ProtocolOptions;
    use std::collections::BTreeSet;

    #[test]
    fn every_protocol_has_a_mark_of_its_own() {
        let protocols = declarations(&ProtocolOptions::default()).len();
        for marks in [MARKS, LETTERS] {
            assert!(protocols <= marks.len(), "{protocols} protocols");
            assert_eq!(BTreeSet::from(marks).len(), marks.len());
        }
    }
}
