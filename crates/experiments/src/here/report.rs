//! Formats the comparison with the machine at hand.

use super::{HereOutcome, HereRow};
use crate::validate::aligned;
use std::fmt::Write;

/// Returns the outcome as JSON.
pub fn to_json(outcome: &HereOutcome) -> String {
    let mut text = serde_json::to_string_pretty(outcome).expect("names, numbers and lists of them");
    text.push('\n');
    text
}

/// Returns the rows as CSV.
pub fn to_csv(outcome: &HereOutcome) -> String {
    let mut text = String::from(
        "workload,protocol,threads,native_txn_per_s,native_spread,without_work_txn_per_s,simulated_txn_per_s,ln_error,anchor\n",
    );
    for row in &outcome.rows {
        let _ = writeln!(
            text,
            "{},{},{},{:.0},{:.3},{:.0},{:.0},{:.3},{}",
            row.workload,
            row.protocol,
            row.threads,
            row.native_txn_per_s,
            row.native_spread,
            row.without_work_txn_per_s,
            row.simulated_txn_per_s,
            row.ln_error,
            row.anchor
        );
    }
    text
}

/// Returns a table and a summary.
pub fn to_text(outcome: &HereOutcome) -> String {
    let names = ["workload", "protocol", "threads", "native/s", "spread", "simulated/s", "ln"];
    let mut lines = vec![names.map(str::to_owned).to_vec()];
    lines.extend(outcome.rows.iter().map(line));
    let mut text = aligned(&lines, 2);
    let _ = writeln!(text, "\nsimulated machine: {}", outcome.machine);
    for (workload, ns) in &outcome.work_ns {
        let _ = writeln!(
            text,
            "work of procedures of {workload}: {ns:.0} ns a transaction, from NO_CC on one thread"
        );
    }
    let scored = outcome.rows.iter().filter(|row| !row.anchor).count();
    let (median, p90) = (outcome.median_abs_ln, outcome.p90_abs_ln);
    let _ = writeln!(
        text,
        "error of {scored} rows: median |ln| {median:.2} (a factor of {:.2}), 90th percentile {p90:.2} (a factor of {:.2})",
        median.exp(),
        p90.exp()
    );
    if outcome.interrupted {
        text.push_str("interrupted: what is above was done before\n");
    }
    text
}

fn line(row: &HereRow) -> Vec<String> {
    let anchor = if row.anchor { " anchor" } else { "" };
    vec![
        row.workload.to_owned(),
        format!("{}{anchor}", row.protocol),
        row.threads.to_string(),
        format!("{:.0}", row.native_txn_per_s),
        format!("{:.0} %", 100.0 * row.native_spread),
        format!("{:.0}", row.simulated_txn_per_s),
        format!("{:+.2}", row.ln_error),
    ]
}
