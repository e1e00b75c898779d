//! Reports the cache lines that simulated transactions move, by build and scheme.

use super::report::aligned;
use super::statistics::median;
use super::{Outcome, Row};
use machine::Movement;
use std::collections::BTreeMap;

/// Returns a table of the lines that a committed transaction moves: for each platform, build and scheme the medians over
/// the rows, by kind of movement. Returns nothing if no row counted lines.
pub(super) fn table(outcome: &Outcome) -> String {
    let mut groups: BTreeMap<(&str, &str, &str), Vec<&Row>> = BTreeMap::new();
    for row in outcome.rows.iter().filter(|row| !row.lines_per_txn.is_empty()) {
        let m = &row.measured;
        groups.entry((&m.platform, &m.variant, &m.scheme)).or_default().push(row);
    }
    if groups.is_empty() {
        return String::new();
    }
    let names = ["lines a transaction moves", "variant", "scheme", "rows"].map(str::to_owned);
    let kinds = Movement::ALL.iter().map(|kind| kind.name().replace('_', " "));
    let mut lines = vec![names.into_iter().chain(kinds).collect::<Vec<_>>()];
    for ((platform, variant, scheme), rows) in groups {
        let named = [platform.to_owned(), variant.to_owned(), scheme.to_owned()];
        let moved = Movement::ALL.iter().map(|kind| {
            let of = |row: &&Row| row.lines_per_txn.get(kind.name()).copied().unwrap_or(0.0);
            let lines = median(&rows.iter().map(of).collect::<Vec<_>>());
            format!("{:.1}", lines.unwrap_or(0.0))
        });
        lines.push(named.into_iter().chain([rows.len().to_string()]).chain(moved).collect());
    }
    aligned(&lines, 3) + "\n"
}
