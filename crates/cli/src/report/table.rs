//! Formats records as a table for the terminal.

use super::Terminal;
use super::grouping::groups;
use super::marks::{Mark, spread};
use super::numbers::{duration_ns, observed, percent, promise, rate};
use super::settings::settings;
use comfy_table::{Cell, CellAlignment, Table, presets};
use harness::run_record::{MachineKind, RunRecord, SpreadOf};
use std::collections::BTreeMap;

const HEADER: [&str; 9] =
    ["protocol", "cores", "txn/s", "spread", "aborts", "p50", "p99", "promises", "observed"];

/// Columns that contain numbers.
const NUMBERS: std::ops::Range<usize> = 1..7;

/// Returns one table for each workload and machine, with one row for each record: throughput, aborts, latency,
/// promise and observed isolation. A sign in the row marks a reservation about a number (`Mark`).
pub fn table(records: &[RunRecord], terminal: Terminal) -> String {
    let mut out = String::new();
    for group in groups(records) {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_header(HEADER);
        for (number, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 1));
            if NUMBERS.contains(&number) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut notes = Notes::default();
        // Rows before which a rule is drawn. Rules separate numbers of cores.
        let mut rules = vec![];
        for cores in group.cores() {
            rules.push(table.row_count());
            for series in &group.series {
                for record in series.records.iter().filter(|r| r.cores == cores) {
                    table.add_row(row(&series.name, record, terminal));
                    notes.of(record);
                }
            }
        }
        out.push_str(&format!("{}\n", group.title));
        let text = table.to_string();
        let width = text.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
        let rule = if terminal.unicode { "─" } else { "-" }.repeat(width);
        for (i, line) in text.lines().enumerate() {
            // The header is line 0, and row 0 is line 1.
            if i > 0 && rules.contains(&(i - 1)) {
                out.push_str(&format!("{rule}\n"));
            }
            out.push_str(&format!("{line}\n"));
        }
        out.push_str(&notes.text(group.kind, terminal));
        out.push_str(&settings(&group, terminal));
        out.push('\n');
    }
    // Padding at the end of lines is invisible and longer than some terminals are wide.
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn row(name: &str, record: &RunRecord, terminal: Terminal) -> Vec<Cell> {
    let marks = Mark::all(record);
    let sign = |mark: Mark| if marks.contains(&mark) { mark.sign(terminal.unicode) } else { "" };
    let plus_minus = if terminal.unicode { "±" } else { "+-" };
    let absent = if terminal.unicode { "–" } else { "-" };
    let latency = |name: &str, ns: Option<u64>| {
        let Some(ns) = ns else { return absent.to_owned() };
        let bound = record.latency_ns.is_at_least(name);
        let sign = if bound { Mark::LowerBound.sign(terminal.unicode) } else { "" };
        let text = format!("{sign}{}", duration_ns(ns as f64));
        if terminal.unicode { text } else { text.replace('µ', "u") }
    };
    let unsteady = [sign(Mark::NotSteady), sign(Mark::TooFew)].concat();
    [
        format!("{name}{}{}{}", sign(Mark::Interrupted), sign(Mark::Disturbed), sign(Mark::Little)),
        record.cores.to_string(),
        format!("{unsteady}{}", rate(record.throughput_txn_per_s)),
        spread(record).map_or(absent.to_owned(), |half| format!("{plus_minus}{}", narrow(half))),
        narrow(record.abort_ratio),
        latency("p50", record.latency_ns.p50),
        latency("p99", record.latency_ns.p99),
        promise(&record.certificate.promised).into(),
        observed(&record.certificate).into(),
    ]
    .into_iter()
    .map(Cell::new)
    .collect()
}

/// Formats a percentage without a space, so that nine columns fit into 80 characters.
fn narrow(share: f64) -> String {
    percent(share).replace(' ', "")
}

/// Notes below a table.
#[derive(Default)]
struct Notes {
    /// Marks by their signs. Two marks can have the same sign.
    marks: BTreeMap<&'static str, Mark>,
    batches: bool,
    repetitions: bool,
    strict: bool,
    operations: f64,
    wall_s: f64,
}

impl Notes {
    fn of(&mut self, record: &RunRecord) {
        for mark in Mark::all(record) {
            self.marks.entry(mark.sign(false)).or_insert(mark);
        }
        self.batches |= spread(record).is_some() && record.spread.of == SpreadOf::Batches;
        self.repetitions |= record.repetitions > 1;
        self.strict |= record.certificate.promised.strict;
        if let (Some(per_s), Some(wall_s)) = (record.operations_per_wall_s, record.wall_s) {
            self.operations += per_s * wall_s;
            self.wall_s += wall_s;
        }
    }

    fn text(&self, kind: MachineKind, terminal: Terminal) -> String {
        let mut lines = Vec::new();
        let mut marks: Vec<Mark> = self.marks.values().copied().collect();
        marks.sort_unstable();
        for mark in marks {
            lines.push(format!("{} {}", mark.sign(terminal.unicode), mark.meaning()));
        }
        let seeds = match kind {
            MachineKind::Simulated => "seeds",
            _ => "repetitions",
        };
        match (self.repetitions, self.batches) {
            (true, true) => lines.push(format!(
                "Spread: half of what {seeds} differ by; of one run, the 95 % confidence interval."
            )),
            (true, false) => lines.push(format!("Spread: half of what {seeds} differ by.")),
            (false, true) => {
                lines.push("Spread: the 95 % confidence interval within the run.".into())
            }
            (false, false) => {}
        }
        if self.strict {
            lines.push("Strict: serializable in an order that keeps that of real time.".into());
        }
        if kind == MachineKind::Simulated && self.wall_s > 0.0 {
            lines.push(format!(
                "Times are simulated; the host took {:.1} s, at {} operations a second.",
                self.wall_s,
                rate(self.operations / self.wall_s)
            ));
        }
        lines.into_iter().map(|line| line + "\n").collect()
    }
}
