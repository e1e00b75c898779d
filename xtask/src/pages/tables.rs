//! Writes the tables of all records.

mod admission;
mod checks;
mod comparisons;
mod limit;
mod native;
mod scale;
mod simulated;

use super::numbers::three;
use super::records::{Record, Results, Runs};
use crate::results::command;

/// Returns all pages of tables by their names.
pub fn all(results: &Results) -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![
        ("native", native::page(results)?),
        ("simulated", simulated::page(results)?),
        ("checks", checks::page(results)?),
        ("comparisons", comparisons::page(results)?),
        ("admission", admission::page(results)?),
    ])
}

/// A column: its title, and the text of its cell in the row of a protocol.
struct Column<'a> {
    title: String,
    cell: Box<dyn Fn(&str) -> String + 'a>,
}

impl<'a> Column<'a> {
    fn new(title: impl Into<String>, cell: impl Fn(&str) -> String + 'a) -> Column<'a> {
        Column { title: title.into(), cell: Box::new(cell) }
    }
}

/// Returns a table with a row for each name.
fn table(first: &str, names: &[String], columns: &[Column<'_>]) -> String {
    let titles = columns.iter().map(|column| column.title.clone());
    let mut text = row(std::iter::once(first.to_owned()).chain(titles));
    text.push_str(&row(std::iter::repeat_n("---".to_owned(), columns.len() + 1)));
    for name in names {
        let cells = columns.iter().map(|column| (column.cell)(name));
        text.push_str(&row(std::iter::once(name.clone()).chain(cells)));
    }
    text.push('\n');
    text
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Returns a throughput in units of `unit` transactions a second, with the record's marks.
fn rate(record: Option<&Record>, unit: f64) -> String {
    record.map_or(String::new(), |record| {
        format!("{}{}", record.marks(), three(record.throughput_txn_per_s / unit))
    })
}

/// Returns p50, p99 and p99.9 in microseconds.
fn latency(record: Option<&Record>) -> String {
    let Some(record) = record else { return String::new() };
    let of = &record.latency_ns;
    let all = [("p50", of.p50), ("p99", of.p99), ("p999", of.p999)];
    let texts = all.map(|(name, ns)| {
        let bound = if of.at_least.iter().any(|known| known == name) { "≥" } else { "" };
        ns.map_or("–".to_owned(), |ns| format!("{bound}{}", three(ns / 1e3)))
    });
    texts.join(" / ")
}

/// Returns a sentence on where the records come from: file, command, lengths, build, host, and how many are steady.
fn origin(runs: &Runs, said: Option<&str>) -> String {
    let first = &runs.records[0];
    let name = runs.file.trim_end_matches(".json");
    let line = said.map(str::to_owned).or_else(|| command(name)).unwrap_or_default();
    let distinct = |of: &dyn Fn(&Record) -> String| {
        let mut all: Vec<String> = runs.records.iter().map(of).collect();
        all.sort();
        all.dedup();
        all.join(", ")
    };
    let ms = |seconds: f64| three(seconds * 1e3);
    let lengths = match runs.records.iter().all(|r| r.measured_s == first.measured_s) {
        true => format!("{} ms after {} ms", ms(first.measured_s), ms(first.warm_up_s)),
        false => "of various lengths".to_owned(),
    };
    let repetitions = distinct(&|r| r.repetitions.to_string());
    let steady = runs.records.iter().filter(|r| r.steady == Some(true)).count();
    let commit: String = distinct(&|r| r.commit.chars().take(7).collect());
    format!(
        "[`{file}`](../{file}), by `{line}`: repetitions {repetitions}, {lengths}, commit {commit}, host {}. {steady} of {} \
         results are steady.\n\n",
        distinct(&|r| r.host.split(',').next().unwrap_or_default().to_owned()),
        runs.records.len(),
        file = runs.file,
    )
}
