//! Formats the outcome as an HTML page that needs no network: goals, blocks, and measured and simulated curves side by
//! side.

use super::curves::{Curves, Setting, curves};
use super::report::{fitted, without};
use super::{Outcome, Row};
use std::fmt::Write;

/// Colours of the schemes, in the order of their first appearance. They differ for people who see colours otherwise
/// (Okabe and Ito).
const COLOURS: [&str; 9] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c6d31",
    "#7f7f7f",
];

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}\
td:first-child,th:first-child{text-align:left}.missed{color:#b00020}.reached{color:#00692b}\
.pair{display:flex;flex-wrap:wrap;gap:1em}svg{max-width:100%;height:auto}h2{margin-top:2em}";

/// Returns the page of an outcome.
pub fn to_html(outcome: &Outcome) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>Simulated and measured</title><style>{STYLE}</style></head>\n<body>\n\
         <h1>Simulated and measured throughput</h1>\n"
    );
    page.push_str(&introduction(outcome));
    page.push_str(&goals(outcome));
    page.push_str(&blocks(outcome));
    page.push_str(&categories(outcome));
    let schemes = schemes(&outcome.rows);
    for Curves { setting, rows } in curves(&outcome.rows) {
        if rows.iter().any(|row| row.measured.cores != rows[0].measured.cores) {
            page.push_str(&pair(&setting, &rows, &schemes));
        }
    }
    page.push_str("</body></html>\n");
    page
}

fn introduction(outcome: &Outcome) -> String {
    let mut text = String::from("<p>");
    for work in &outcome.work {
        let anchors = if work.is_fitted() { format!("{} ", work.anchors) } else { String::new() };
        let _ = write!(
            text,
            "On {} the procedures' own work costs {} cycles for each record, {:.0} ns a transaction, from {anchors}{}. ",
            escaped(&work.platform),
            work.cycles,
            work.ns_per_transaction,
            escaped(&work.from)
        );
    }
    for line in [fitted(outcome)].into_iter().chain(outcome.left_out.iter().map(without)) {
        let _ = write!(text, "{}. ", escaped(&line));
    }
    let unsteady = outcome.rows.iter().filter(|row| row.steady == Some(false)).count();
    let _ = write!(
        text,
        "Hollow points had not reached a steady state ({unsteady} of {} rows). \
         Warehouses lie {}, where the row does not say. Seed {}.",
        outcome.rows.len(),
        outcome.placement.name(),
        outcome.seed
    );
    if !outcome.skipped.is_empty() {
        let _ = write!(text, " Left out: {}.", escaped(&outcome.skipped.to_string()));
    }
    for note in &outcome.notes {
        let _ = write!(text, " Note: {}.", escaped(note));
    }
    text.push_str("</p>\n");
    text
}

fn goals(outcome: &Outcome) -> String {
    let mut text = String::from(
        "<h2>Goals</h2>\n<table><tr><th>goal</th><th>over</th><th>found</th><th>wanted</th></tr>\n",
    );
    for goal in &outcome.goals {
        let bound = if goal.at_least { "at least" } else { "at most" };
        let class = match goal.is_reached() {
            Some(true) => "reached",
            Some(false) => "missed",
            None => "",
        };
        let found = goal.found.map_or("-".to_owned(), |found| format!("{found:.3}"));
        let (what, over, wanted) = (escaped(&goal.what), goal.over, goal.wanted);
        let _ = writeln!(
            text,
            "<tr><td>{what}</td><td>{over}</td><td class=\"{class}\">{found}</td><td>{bound} {wanted:.3}</td></tr>"
        );
    }
    text.push_str("</table>\n");
    text
}

fn blocks(outcome: &Outcome) -> String {
    let mut text = String::from(
        "<h2>Blocks</h2>\n<p>ln is that of simulated over measured throughput: 0.69 is twice too fast.</p>\n\
         <table><tr><th>block</th><th>rows</th><th>median |ln|</th><th>90th percentile</th><th>mean ln</th>\
         <th>abort ratio, median error</th><th>90th percentile</th></tr>\n",
    );
    for block in &outcome.blocks {
        let name = match block.scheme.as_str() {
            "" => "all".to_owned(),
            scheme => format!("{} {} {scheme}", block.platform, block.variant),
        };
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{:.2}</td><td>{:.2}</td><td>{:+.2}</td><td>{:.3}</td><td>{:.3}</td></tr>",
            escaped(&name),
            block.rows,
            block.median_abs_ln,
            block.p90_abs_ln,
            block.mean_ln,
            block.median_abort_ratio_error,
            block.p90_abort_ratio_error
        );
    }
    text.push_str("</table>\n");
    text
}

/// Returns the table of the errors of the categories of time, or nothing if no shares were measured.
fn categories(outcome: &Outcome) -> String {
    if outcome.categories.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<h2>Shares of time</h2>\n<p>Medians of the difference between the simulated and the measured share, and of the same \
         relative to the measured share where that is at least 0.02.</p>\n\
         <table><tr><th>measured category</th><th>ours</th><th>rows</th><th>difference</th><th>relative</th>\
         <th>rows of one core</th><th>difference</th><th>relative</th></tr>\n",
    );
    let number = |found: Option<f64>| found.map_or("-".to_owned(), |found| format!("{found:.2}"));
    for category in &outcome.categories {
        let (name, ours) = (escaped(&category.category), escaped(&category.ours.join(" + ")));
        let _ = write!(text, "<tr><td>{name}</td><td>{ours}</td>");
        for error in [&category.all, &category.one_core] {
            let (away, relative) = (number(error.median_difference), number(error.median_relative));
            let _ = write!(text, "<td>{}</td><td>{away}</td><td>{relative}</td>", error.rows);
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n");
    text
}

/// Returns the schemes in the order of their first rows.
fn schemes(rows: &[Row]) -> Vec<&str> {
    let mut schemes: Vec<&str> = Vec::new();
    for row in rows {
        if !schemes.contains(&row.measured.scheme.as_str()) {
            schemes.push(&row.measured.scheme);
        }
    }
    schemes
}

/// A point of a chart. It is hollow if its simulation was not steady.
struct Point {
    x: f64,
    y: f64,
    hollow: bool,
}

/// Returns the measured and the simulated curves of one setting, on the same axes.
fn pair(setting: &Setting, rows: &[&Row], schemes: &[&str]) -> String {
    let measured = |row: &Row| row.measured.throughput_txn_per_s;
    let simulated = |row: &Row| row.simulated_txn_per_s.max(1.0);
    let values: Vec<f64> = rows.iter().flat_map(|row| [measured(row), simulated(row)]).collect();
    let cores: Vec<f64> = rows.iter().map(|row| row.measured.cores as f64).collect();
    let axes = Axes { x: range(&cores), y: range(&values) };
    let series = |of: &dyn Fn(&Row) -> Point| -> Vec<(usize, Vec<Point>)> {
        let own = |scheme: &str| -> Vec<Point> {
            let mut own: Vec<&&Row> =
                rows.iter().filter(|row| row.measured.scheme == scheme).collect();
            own.sort_by_key(|row| row.measured.cores);
            own.into_iter().map(|row| of(row)).collect()
        };
        let all = schemes.iter().enumerate().map(|(at, scheme)| (at, own(scheme)));
        all.filter(|(_, points)| !points.is_empty()).collect()
    };
    let left =
        series(&|row| Point { x: row.measured.cores as f64, y: measured(row), hollow: false });
    let right = series(&|row| Point {
        x: row.measured.cores as f64,
        y: simulated(row),
        hollow: row.steady == Some(false),
    });
    format!(
        "<h2>{}</h2>\n<div class=\"pair\">{}{}</div>\n",
        escaped(&setting.title()),
        axes.chart("measured", &left, schemes),
        axes.chart("simulated", &right, schemes)
    )
}

/// Returns the smallest and the largest value.
fn range(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    (least, most.max(least * 1.1))
}

/// Logarithmic axes of a chart.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
}

impl Axes {
    const WIDTH: f64 = 520.0;
    const HEIGHT: f64 = 340.0;
    const LEFT: f64 = 60.0;
    const RIGHT: f64 = 100.0;
    const TOP: f64 = 30.0;
    const BOTTOM: f64 = 40.0;

    fn at_x(&self, x: f64) -> f64 {
        let share = (x / self.x.0).ln() / (self.x.1 / self.x.0).ln();
        Self::LEFT + share * (Self::WIDTH - Self::LEFT - Self::RIGHT)
    }

    fn at_y(&self, y: f64) -> f64 {
        let share = (y / self.y.0).ln() / (self.y.1 / self.y.0).ln();
        Self::HEIGHT - Self::BOTTOM - share * (Self::HEIGHT - Self::TOP - Self::BOTTOM)
    }

    fn chart(&self, title: &str, series: &[(usize, Vec<Point>)], names: &[&str]) -> String {
        let mut svg = format!(
            "<svg viewBox=\"0 0 {} {}\" width=\"{}\" font-size=\"11\" font-family=\"sans-serif\" role=\"img\">\
             <title>{title}</title><text x=\"{}\" y=\"16\" font-size=\"13\">{title}, transactions a second</text>",
            Self::WIDTH,
            Self::HEIGHT,
            Self::WIDTH,
            Self::LEFT
        );
        self.draw_grid(&mut svg);
        for (row, (colour, points)) in series.iter().enumerate() {
            let stroke = COLOURS[colour % COLOURS.len()];
            let path: Vec<String> = points
                .iter()
                .map(|point| format!("{:.1},{:.1}", self.at_x(point.x), self.at_y(point.y)))
                .collect();
            let _ = write!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"1.6\"/>",
                path.join(" ")
            );
            for point in points {
                let fill = if point.hollow { "#fff" } else { stroke };
                let (x, y) = (self.at_x(point.x), self.at_y(point.y));
                let _ = write!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{fill}\" stroke=\"{stroke}\">\
                     <title>{}: {} cores, {:.0}/s</title></circle>",
                    escaped(names[*colour]),
                    point.x,
                    point.y
                );
            }
            let (x, y) = (Self::WIDTH - Self::RIGHT + 10.0, Self::TOP + 14.0 * row as f64 + 8.0);
            let name = escaped(names[*colour]);
            let _ = write!(svg, "<text x=\"{x}\" y=\"{y}\" fill=\"{stroke}\">{name}</text>");
        }
        svg.push_str("</svg>");
        svg
    }

    /// Draws lines at powers of two of the cores, and at 1, 2 and 5 times powers of ten of the throughput.
    fn draw_grid(&self, svg: &mut String) {
        let (right, bottom) = (Self::WIDTH - Self::RIGHT, Self::HEIGHT - Self::BOTTOM);
        let mut cores = 1.0;
        while cores <= self.x.1 {
            if cores >= self.x.0 {
                let x = self.at_x(cores);
                let _ = write!(
                    svg,
                    "<path d=\"M{x:.1} {}V{bottom}\" stroke=\"#e5e5e5\"/>\
                     <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{cores}</text>",
                    Self::TOP,
                    bottom + 16.0
                );
            }
            cores *= 4.0;
        }
        let mut power = 10f64.powf(self.y.0.log10().floor());
        while power <= self.y.1 {
            for value in [1.0, 2.0, 5.0].map(|digit| digit * power) {
                if (self.y.0..=self.y.1).contains(&value) {
                    let y = self.at_y(value);
                    let _ = write!(
                        svg,
                        "<path d=\"M{} {y:.1}H{right}\" stroke=\"#e5e5e5\"/>\
                         <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                        Self::LEFT,
                        Self::LEFT - 6.0,
                        y + 4.0,
                        short(value)
                    );
                }
            }
            power *= 10.0;
        }
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">hardware threads</text>",
            f64::midpoint(Self::LEFT, right),
            Self::HEIGHT - 6.0
        );
    }
}

/// Returns a number in thousands or millions.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{} M", v / 1e6),
        v if v >= 1e3 => format!("{} k", v / 1e3),
        v => format!("{v}"),
    }
}

/// Escapes the characters that have a meaning in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_the_page() {
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }

    #[test]
    fn axes_map_their_ends_to_the_edges() {
        let axes = Axes { x: (1.0, 1568.0), y: (1e4, 1e8) };
        assert_eq!((axes.at_x(1.0), axes.at_x(1568.0)), (60.0, 420.0));
        assert_eq!((axes.at_y(1e4), axes.at_y(1e8)), (300.0, 30.0));
        assert_eq!(
            (axes.at_y(1e6).round(), short(2e6), short(5e3)),
            (165.0, "2 M".into(), "5 k".into())
        );
    }
}
