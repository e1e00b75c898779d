//! Invented records for tests of checks: each check gets records with which it holds, and others with which it does not.

use super::{Data, Figure, Line, Verdict};
use harness::run_record::RunRecord;

/// A record with a throughput in millions.
pub(super) fn run(throughput: f64) -> RunRecord {
    RunRecord { throughput_txn_per_s: throughput * 1e6, commits: 100, ..RunRecord::blank() }
}

/// A record that spends its time by shares.
pub(super) fn spent(shares: &[(&str, f64)]) -> RunRecord {
    let shares = shares.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect();
    RunRecord { breakdown: Some(shares), ..run(1.0) }
}

pub(super) fn line(name: &str, points: &[(f64, f64)]) -> Line {
    let points = points.iter().map(|(x, y)| (*x, run(*y))).collect();
    Line { name: name.to_owned(), points, ..Line::default() }
}

pub(super) fn verdict(figure: &Figure, check: usize, lines: &[Line]) -> Verdict {
    figure.checks[check].judged(figure, &Data::of(lines)).verdict
}

/// Asserts the verdict of a check with `good` and with `bad` records.
pub(super) fn both(figure: &Figure, check: usize, good: &[Line], bad: &[Line]) {
    let saw = figure.checks[check].judged(figure, &Data::of(good)).saw;
    assert_eq!(verdict(figure, check, good), Verdict::Holds, "{} {check}: {saw}", figure.number);
    let saw = figure.checks[check].judged(figure, &Data::of(bad)).saw;
    assert_eq!(verdict(figure, check, bad), Verdict::Fails, "{} {check}: {saw}", figure.number);
}

/// Returns a line for each scheme with one value at `x`.
pub(super) fn at(x: f64, values: &[(&str, f64)]) -> Vec<Line> {
    values.iter().map(|(name, value)| line(name, &[(x, *value)])).collect()
}
