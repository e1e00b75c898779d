//! Formats the outcome as an HTML page that needs no network: goals, blocks, and measured and simulated curves side by
//! side.

use super::curves::{Curves, Setting, curves};
use super::report::{fitted, without};
use super::{Outcome, Row};
use crate::figures::Scale;
use crate::figures::picture::{Axis, Series, chart, escaped, styles};
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}\
td:first-child,th:first-child{text-align:left}.missed{color:#b00020}.reached{color:#00692b}\
.pair{display:flex;flex-wrap:wrap;gap:1em}svg{flex:1 1 26em;min-width:0;height:auto}h2{margin-top:2em}";

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

/// Returns the measured and the simulated curves of one setting, on the same axes.
fn pair(setting: &Setting, rows: &[&Row], schemes: &[&str]) -> String {
    let measured = |row: &Row| (row.measured.throughput_txn_per_s / 1e6, true);
    let simulated = |row: &Row| (row.simulated_txn_per_s.max(1.0) / 1e6, row.steady != Some(false));
    let values = rows.iter().flat_map(|row| [measured(row).0, simulated(row).0]);
    let cores = Axis::of(Scale::Log, rows.iter().map(|row| row.measured.cores as f64));
    let throughput = Axis::of(Scale::Log, values);
    let charts = [
        ("measured", curves_of(rows, schemes, &measured)),
        ("simulated", curves_of(rows, schemes, &simulated)),
    ];
    let label = "Throughput (million txn/s)";
    let charts = charts.map(|(title, series)| {
        chart(title, &series, ("Hardware threads", &cores), (label, &throughput)).to_svg()
    });
    let title = escaped(&setting.title());
    format!("<h2>{title}</h2>\n<div class=\"pair\">{}</div>\n", charts.concat())
}

/// Returns a curve for each scheme that has rows. `value` returns a row's value, and whether it is sure.
fn curves_of(rows: &[&Row], schemes: &[&str], value: &dyn Fn(&Row) -> (f64, bool)) -> Vec<Series> {
    let curve = |(scheme, style): (&&str, _)| {
        let mut own: Vec<&&Row> =
            rows.iter().filter(|row| row.measured.scheme == *scheme).collect();
        own.sort_by_key(|row| row.measured.cores);
        let point = |row: &&Row| {
            let (value, is_sure) = value(row);
            (row.measured.cores as f64, value, is_sure)
        };
        let points: Vec<_> = own.into_iter().map(point).collect();
        Series { name: (*scheme).to_owned(), style, points, measured: Vec::new() }
    };
    let all = schemes.iter().zip(styles(schemes)).map(curve);
    all.filter(|series| !series.points.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::outcome::invented::row;

    #[test]
    fn a_setting_has_its_measured_and_simulated_curves() {
        let rows = [row("SILO", 1, 1e6, 2e6), row("SILO", 8, 5e6, 4e6), row("<b>", 8, 1e6, 1e6)];
        let rows: Vec<&Row> = rows.iter().collect();
        let page = pair(&Setting::of(&rows[0].measured), &rows, &["TICTOC", "<b>", "SILO"]);
        assert_eq!(page.matches("<svg ").count(), 2);
        assert_eq!(page.matches(">SILO</text>").count(), 2);
        assert!(page.contains("&lt;b&gt;</text>") && !page.contains("<b>"), "{page}");
        assert!(!page.contains("TICTOC") && !page.contains("NaN"));
        let one = curves_of(&rows, &["SILO"], &|row| (row.ln_error, false));
        assert_eq!((one[0].points.len(), one[0].points[1].0, one[0].points[1].2), (2, 8.0, false));
    }
}
