//! Records as a table for the terminal.

use super::Terminal;
use super::grouping::groups;
use super::numbers::{certificate, duration_ns, percent, rate};
use comfy_table::{Cell, CellAlignment, Table, presets};
use harness::record::{MachineKind, RunRecord};

const HEADER: [&str; 8] =
    ["protocol", "cores", "txn/s", "spread", "aborts", "p50", "p99", "certificate"];

/// One table for each workload and machine, one row for each record: throughput, aborts, latency,
/// certificate.
pub fn table(records: &[RunRecord], terminal: Terminal) -> String {
    let mut out = String::new();
    for group in groups(records) {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_header(HEADER);
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        for column in 1..7 {
            let column = table.column_mut(column).expect("the header has eight columns");
            column.set_cell_alignment(CellAlignment::Right);
        }
        let mut notes = Notes::default();
        // Rows of the table before which a rule is drawn: it parts numbers of cores.
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
            // The header is line 0, row 0 is line 1.
            if i > 0 && rules.contains(&(i - 1)) {
                out.push_str(&format!("{rule}\n"));
            }
            out.push_str(&format!("{line}\n"));
        }
        out.push_str(&notes.text(group.kind));
        out.push('\n');
    }
    // Padding at the end of lines is invisible, and longer than some terminals are wide.
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn row(name: &str, record: &RunRecord, terminal: Terminal) -> Vec<Cell> {
    let mark = if record.interrupted { "*" } else { "" };
    let spread = if record.repetitions > 1 {
        let half = narrow(record.spread.relative / 2.0);
        if terminal.unicode { format!("±{half}") } else { format!("+-{half}") }
    } else {
        String::new()
    };
    let micro = |text: String| if terminal.unicode { text } else { text.replace('µ', "u") };
    let latency = |ns: u64| micro(duration_ns(ns as f64));
    [
        format!("{name}{mark}"),
        record.cores.to_string(),
        rate(record.throughput_txn_per_s),
        spread,
        narrow(record.abort_ratio),
        latency(record.latency_ns.p50),
        latency(record.latency_ns.p99),
        certificate(&record.certificate).into(),
    ]
    .into_iter()
    .map(Cell::new)
    .collect()
}

/// A percentage without the space: eight columns are to fit into 80 characters.
fn narrow(share: f64) -> String {
    percent(share).replace(' ', "")
}

/// What has to be said below a table.
#[derive(Default)]
struct Notes {
    interrupted: bool,
    operations: f64,
    wall_s: f64,
}

impl Notes {
    fn of(&mut self, record: &RunRecord) {
        self.interrupted |= record.interrupted;
        if let (Some(per_s), Some(wall_s)) = (record.operations_per_wall_s, record.wall_s) {
            self.operations += per_s * wall_s;
            self.wall_s += wall_s;
        }
    }

    fn text(&self, kind: MachineKind) -> String {
        let mut text = String::new();
        if self.interrupted {
            text.push_str("* interrupted: fewer repetitions than asked for\n");
        }
        if kind == MachineKind::Simulated && self.wall_s > 0.0 {
            text.push_str(&format!(
                "Times are simulated; the host took {:.1} s, at {} operations a second.\n",
                self.wall_s,
                rate(self.operations / self.wall_s)
            ));
        }
        text
    }
}
