//! Formats the outcome as text for readers, as CSV and as JSON.

use super::breakdown::{MAPPING, simulated};
use super::{LeftOut, Outcome, Role, Row, traffic};
use machine::Movement;
use std::fmt::Write;

/// Returns the whole outcome as JSON.
pub fn to_json(outcome: &Outcome) -> String {
    let mut text = serde_json::to_string_pretty(outcome).expect("names, numbers and lists of them");
    text.push('\n');
    text
}

/// Returns the outcome as CSV, one line per row.
pub fn to_csv(outcome: &Outcome) -> String {
    let mut text = String::from(
        "platform,variant,scheme,warehouses,cores,smt,thread_steps,numa,placement,split,measured_txn_per_s,simulated_txn_per_s,\
         ln_error,measured_abort_ratio,simulated_abort_ratio,steady",
    );
    for (name, _) in MAPPING {
        let _ = write!(text, ",measured_{name},simulated_{name}");
    }
    for movement in Movement::ALL {
        let _ = write!(text, ",lines_{}", movement.name());
    }
    text.push('\n');
    for row in &outcome.rows {
        let m = &row.measured;
        let steady = row.steady.map_or(String::new(), |steady| steady.to_string());
        let steps: Vec<String> = m.threads.steps.iter().map(u64::to_string).collect();
        let _ = write!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{:.0},{:.0},{:.3},{:.5},{:.5},{steady}",
            m.platform,
            m.variant,
            m.scheme,
            m.warehouses,
            m.cores,
            m.threads.smt(),
            steps.join("-"),
            m.numa,
            row.placement,
            split(row),
            m.throughput_txn_per_s,
            row.simulated_txn_per_s,
            row.ln_error,
            m.abort_ratio,
            row.simulated_abort_ratio,
        );
        for (name, ours) in MAPPING {
            let measured = row.measured_breakdown.get(name);
            let measured = measured.map_or(String::new(), |share| format!("{share:.4}"));
            let _ = write!(text, ",{measured},{:.4}", simulated(row, ours));
        }
        for movement in Movement::ALL {
            let lines = row.lines_per_txn.get(movement.name());
            let lines = lines.map_or(String::new(), |lines| format!("{lines:.2}"));
            let _ = write!(text, ",{lines}");
        }
        text.push('\n');
    }
    text
}

fn split(row: &Row) -> &'static str {
    match row.measured.split {
        Role::Anchor => "anchor",
        Role::Scored => "scored",
    }
}

/// Returns tables and a summary as text.
pub fn to_text(outcome: &Outcome) -> String {
    let mut text = rows(outcome);
    text.push('\n');
    text.push_str(&blocks(outcome));
    text.push('\n');
    text.push_str(&traffic::table(outcome));
    text.push_str(&ranks(outcome));
    text.push('\n');
    text.push_str(&peaks(outcome));
    text.push_str(&categories(outcome));
    text.push_str(&constants(outcome));
    if let Some(all) = outcome.blocks.last() {
        let _ = writeln!(
            text,
            "error of {} rows: median |ln| {:.2} (a factor of {:.2}), 90th percentile {:.2} (a factor of {:.2})",
            all.rows,
            all.median_abs_ln,
            all.median_abs_ln.exp(),
            all.p90_abs_ln,
            all.p90_abs_ln.exp()
        );
    }
    text.push('\n');
    text.push_str(&goals(outcome));
    let unsteady = outcome.rows.iter().filter(|row| row.steady == Some(false)).count();
    if unsteady > 0 {
        let _ =
            writeln!(text, "{unsteady} simulated rows had not reached a steady state (marked ~)");
    }
    for (what, skipped) in [
        ("left out", &outcome.skipped),
        ("left out of the shares of time", &outcome.skipped_breakdowns),
    ] {
        if !skipped.is_empty() {
            let _ = writeln!(text, "{what}: {skipped}");
        }
    }
    for note in &outcome.notes {
        let _ = writeln!(text, "note: {note}");
    }
    if outcome.interrupted {
        text.push_str("interrupted: what is above was done before\n");
    }
    text
}

/// Returns a line for each platform's constant, their number, and what they contribute.
fn constants(outcome: &Outcome) -> String {
    let mut text = String::new();
    for work in &outcome.work {
        let from = match work.anchors {
            0 => work.from.clone(),
            anchors => format!("{anchors} {}", work.from),
        };
        let (cycles, ns) = (work.cycles, work.ns_per_transaction);
        let (platform, machine) = (&work.platform, &work.machine);
        let _ = writeln!(
            text,
            "work of procedures on {platform} ({machine}): {cycles} cycles a record, {ns:.0} ns a transaction, from {from}"
        );
    }
    let _ = writeln!(text, "{}", fitted(outcome));
    for left in &outcome.left_out {
        let _ = writeln!(text, "{}", without(left));
    }
    text
}

/// Returns the number of fitted constants in words.
pub(super) fn fitted(outcome: &Outcome) -> String {
    let count = outcome.work.iter().filter(|work| work.is_fitted()).count();
    format!(
        "fitted constants: {count} (the work of procedures on each platform with one-core rows)"
    )
}

/// Returns the error of a platform without its own constant in words.
pub(super) fn without(left: &LeftOut) -> String {
    let LeftOut { platform, own_cycles, others_cycles, rows, .. } = left;
    let (own, others) = (left.median_abs_ln, left.median_abs_ln_left_out);
    format!(
        "{platform} left out of the fit: {others_cycles} instead of {own_cycles} cycles a record, median |ln| {others:.2} \
         instead of {own:.2} over {rows} one-core rows"
    )
}

/// Returns the table of the peaks, or nothing if there are none.
fn peaks(outcome: &Outcome) -> String {
    let names = ["peak", "scheme", "measured at", "simulated at", "steps"].map(str::to_owned);
    let mut lines = vec![names.to_vec()];
    lines.extend(outcome.peaks.iter().map(|peak| {
        vec![
            peak.setting.clone(),
            peak.scheme.clone(),
            peak.measured_cores.to_string(),
            peak.simulated_cores.to_string(),
            peak.steps.to_string(),
        ]
    }));
    if lines.len() == 1 { String::new() } else { aligned(&lines, 2) + "\n" }
}

/// Returns the table of the errors of the categories of time, or nothing if no shares were measured.
fn categories(outcome: &Outcome) -> String {
    if outcome.categories.is_empty() {
        return String::new();
    }
    let names = [
        "share of time",
        "ours",
        "rows",
        "difference",
        "relative",
        "one core",
        "difference",
        "relative",
    ];
    let mut lines = vec![names.map(str::to_owned).to_vec()];
    for category in &outcome.categories {
        let number =
            |found: Option<f64>| found.map_or("-".to_owned(), |found| format!("{found:.2}"));
        let (all, one) = (&category.all, &category.one_core);
        lines.push(vec![
            category.category.clone(),
            category.ours.join(" + "),
            all.rows.to_string(),
            number(all.median_difference),
            number(all.median_relative),
            one.rows.to_string(),
            number(one.median_difference),
            number(one.median_relative),
        ]);
    }
    aligned(&lines, 2) + "\n"
}

fn rows(outcome: &Outcome) -> String {
    let mut lines = vec![
        [
            "platform",
            "variant",
            "scheme",
            "wh",
            "cores",
            "SMT",
            "memory",
            "measured/s",
            "simulated/s",
            "ln",
            "aborts",
            "sim.",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for row in &outcome.rows {
        let m = &row.measured;
        let anchor = if m.split == Role::Anchor { " anchor" } else { "" };
        let unsteady = if row.steady == Some(false) { "~" } else { "" };
        let forced = if m.numa == "all" { String::new() } else { format!("{}: ", m.numa) };
        lines.push(vec![
            m.platform.clone(),
            m.variant.clone(),
            format!("{}{anchor}", m.scheme),
            m.warehouses.to_string(),
            m.cores.to_string(),
            m.threads.smt().to_string(),
            format!("{forced}{}", row.placement),
            format!("{:.0}", m.throughput_txn_per_s),
            format!("{unsteady}{:.0}", row.simulated_txn_per_s),
            format!("{:+.2}", row.ln_error),
            format!("{:.3}", m.abort_ratio),
            format!("{:.3}", row.simulated_abort_ratio),
        ]);
    }
    aligned(&lines, 3)
}

fn blocks(outcome: &Outcome) -> String {
    let mut lines = vec![
        ["block", "", "", "rows", "median |ln|", "p90 |ln|", "mean ln", "abort error", "p90"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for block in &outcome.blocks {
        let name = if block.scheme.is_empty() { "all" } else { &block.platform };
        lines.push(vec![
            name.to_owned(),
            block.variant.clone(),
            block.scheme.clone(),
            block.rows.to_string(),
            format!("{:.2}", block.median_abs_ln),
            format!("{:.2}", block.p90_abs_ln),
            format!("{:+.2}", block.mean_ln),
            format!("{:.3}", block.median_abort_ratio_error),
            format!("{:.3}", block.p90_abort_ratio_error),
        ]);
    }
    aligned(&lines, 3)
}

fn ranks(outcome: &Outcome) -> String {
    let mut lines = vec![
        ["order of schemes", "", "", "wh", "cores", "pairs", "Kendall"].map(str::to_owned).to_vec(),
    ];
    for ranks in &outcome.ranks {
        let number = |n: u64| if n == 0 { String::new() } else { n.to_string() };
        let name = if ranks.cores == 0 { "all" } else { &ranks.platform };
        let forced = if ranks.numa == "all" { "" } else { &ranks.numa };
        lines.push(vec![
            name.to_owned(),
            ranks.variant.clone(),
            forced.to_owned(),
            number(ranks.warehouses),
            number(ranks.cores),
            ranks.pairs.to_string(),
            ranks.kendall.map_or("-".to_owned(), |k| format!("{k:+.2}")),
        ]);
    }
    aligned(&lines, 3)
}

fn goals(outcome: &Outcome) -> String {
    let mut lines = vec![["goal", "over", "found", "wanted", ""].map(str::to_owned).to_vec()];
    for goal in &outcome.goals {
        let bound = if goal.at_least { ">=" } else { "<=" };
        let reached = match goal.is_reached() {
            Some(true) => "reached",
            Some(false) => "missed",
            None => "no rows",
        };
        lines.push(vec![
            goal.what.clone(),
            goal.over.to_string(),
            goal.found.map_or("-".to_owned(), |found| format!("{found:.3}")),
            format!("{bound} {:.3}", goal.wanted),
            reached.to_owned(),
        ]);
    }
    aligned(&lines, 1)
}

/// Aligns columns to equal width. The first `left` columns are left-aligned, the others right-aligned.
pub(crate) fn aligned(lines: &[Vec<String>], left: usize) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..lines[0].len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in lines {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| match column < left {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            })
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
