//! Writes the table of a map: a row for each cell with its winner and the throughputs of all pairs.

use crate::figures::Line;
use crate::figures::map::{Cell, Grid};
use crate::figures::picture::escaped;
use std::fmt::Write;

/// Unit of the throughputs, in transactions per second.
const UNIT: f64 = 1e6;

/// Returns the table of the map called `title`.
pub(super) fn cells(title: &str, grid: &Grid, lines: &[&Line]) -> String {
    let names = lines.iter().map(|line| format!("<th>{}</th>", escaped(&line.name)));
    let mut html = format!(
        "<h3>{}: throughput (million txn/s)</h3>\n<table><tr><th>cores</th><th>records</th><th>{}</th><th>fastest</th>\
         <th>lead</th>{}</tr>\n",
        escaped(title),
        escaped(grid.across),
        names.collect::<String>()
    );
    for spot in grid.spots() {
        let x = grid.x(spot);
        let cell = Cell::of(lines, x);
        let fastest = cell.as_ref().map_or(String::new(), |cell| {
            format!("{} {}", cell.best.architecture, cell.best.protocol)
        });
        let lead = cell.as_ref().map_or(String::new(), Cell::lead_written);
        let _ = write!(
            html,
            "<tr><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td>",
            grid.cores[spot.block],
            escaped(grid.rows[spot.row]),
            escaped(grid.columns[spot.column]),
            escaped(&fastest),
            escaped(&lead)
        );
        for line in lines {
            let _ = write!(html, "<td class=\"n\">{}</td>", value(line, x, line.name == fastest));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table>\n");
    html
}

/// Returns the throughput of `line` at `x`. That of the winner is bold.
fn value(line: &Line, x: f64, wins: bool) -> String {
    let Some(record) = line.at(x) else { return String::new() };
    let mark = if record.steady == Some(true) { "" } else { "~" };
    let text = format!("{mark}{:.4}", record.throughput_txn_per_s / UNIT);
    if wins { format!("<b>{text}</b>") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::judging::line;

    #[test]
    fn a_row_has_the_winner_and_all_pairs() {
        const GRID: Grid =
            Grid { cores: &[4], rows: &["reads"], columns: &["0 %", "20 %"], across: "remote" };
        let lines = [line("SE SILO", &[(0.0, 3.0), (1.0, 2.0)]), line("PSE NO_CC", &[(0.0, 1.5)])];
        let html = cells("A chip", &GRID, &lines.each_ref());
        assert_eq!(html.matches("<tr>").count(), 3, "{html}");
        let first = "<td>SE SILO</td><td>2.00× PSE</td><td class=\"n\"><b>~3.0000</b></td><td class=\"n\">~1.5000</td>";
        assert!(html.contains(first), "{html}");
        let second = "<td>SE SILO</td><td>1 of 2 runs</td><td class=\"n\"><b>~2.0000</b></td><td class=\"n\"></td>";
        assert!(html.contains(second), "{html}");
    }
}
