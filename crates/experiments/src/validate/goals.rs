//! Judges an outcome by the numbers that the model should reach.
//!
//! A goal summarises one kind of error over the scored rows of one regime, so that a good regime can't hide a bad one.

use super::CategoryError;
use super::outcome::{NOISE, Row};
use super::peaks::{Curve, groups};
use super::statistics::{Concordance, median, quantile};
use serde::{Deserialize, Serialize};

/// A number that the model should reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// Error that is summarised, and the rows over which.
    pub what: String,
    /// Number of rows, pairs or points.
    pub over: usize,
    /// Number that was found. None if there are no such rows.
    pub found: Option<f64>,
    /// Number that should be reached.
    pub wanted: f64,
    /// Set if the number should be at least as large. Otherwise it should be at most as large.
    pub at_least: bool,
}

impl Goal {
    fn at_most(what: &str, values: &[f64], of: fn(&[f64]) -> Option<f64>, wanted: f64) -> Goal {
        let (what, over, found) = (what.to_owned(), values.len(), of(values));
        Goal { what, over, found, wanted, at_least: false }
    }

    /// Returns true if the goal is reached, or none if there are no such rows.
    pub fn is_reached(&self) -> Option<bool> {
        let found = self.found?;
        Some(if self.at_least { found >= self.wanted } else { found <= self.wanted })
    }
}

/// Number of warehouses up to which workers meet at the same records.
const FEW_WAREHOUSES: u64 = 16;

fn ninetieth(values: &[f64]) -> Option<f64> {
    quantile(values, 0.9)
}

fn largest(values: &[f64]) -> Option<f64> {
    quantile(values, 1.0)
}

/// Returns the goals with what `rows` reach, and their `categories` of time. Only scored rows count.
pub(super) fn goals(rows: &[Row], categories: &[CategoryError]) -> Vec<Goal> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.is_scored()).collect();
    let errors = |of: &dyn Fn(&Row) -> bool, error: fn(&Row) -> f64| -> Vec<f64> {
        rows.iter().filter(|row| of(row)).map(|row| error(row).abs()).collect()
    };
    let throughput = |of: &dyn Fn(&Row) -> bool| errors(of, |row| row.ln_error);
    let all_aborts = errors(&|_| true, |row| row.abort_ratio_error);
    let curves = Curve::all(&rows);
    let beyond: Vec<f64> = curves.iter().flat_map(|curve| curve.beyond_the_peak()).collect();
    let shares: Vec<f64> =
        categories.iter().filter_map(|category| category.one_core.median_relative).collect();
    let shifts: Vec<f64> = curves.iter().filter_map(|curve| curve.shift()).collect();
    vec![
        Goal::at_most(
            "median |ln|, up to 56 cores",
            &throughput(&|row| row.measured.cores <= 56),
            median,
            0.18,
        ),
        Goal::at_most(
            "median |ln|, from 784 cores on",
            &throughput(&|row| row.measured.cores >= 784),
            median,
            0.30,
        ),
        Goal::at_most("90th percentile of |ln|", &throughput(&|_| true), ninetieth, 2f64.ln()),
        Goal::at_most("median error of the abort ratio", &all_aborts, median, 0.05),
        Goal::at_most("90th percentile of the same", &all_aborts, ninetieth, 0.1),
        order(
            "order of schemes (Kendall), few warehouses, from 16 cores on",
            &rows,
            |row| row.measured.warehouses <= FEW_WAREHOUSES && row.measured.cores >= 16,
            0.8,
        ),
        order(
            "order of schemes (Kendall), many warehouses",
            &rows,
            |row| row.measured.warehouses > FEW_WAREHOUSES,
            0.6,
        ),
        Goal::at_most("median shift of the peak, in steps of cores", &shifts, median, 1.0),
        Goal::at_most(
            "largest |ln| at 2 and 4 times the peak's cores",
            &beyond,
            largest,
            1.5f64.ln(),
        ),
        Goal::at_most(
            "largest |ln| of HSTORE to SILO, from 112 cores on",
            &hstore_to_silo(&rows),
            largest,
            1.2f64.ln(),
        ),
        Goal::at_most(
            "largest of the categories' median relative errors of their time, one core",
            &shares,
            largest,
            0.3,
        ),
    ]
}

/// Returns the goal for the order of the schemes over the rows of a regime.
fn order(what: &str, rows: &[&Row], of: impl Fn(&Row) -> bool, wanted: f64) -> Goal {
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| of(row)).collect();
    let mut all = Concordance::default();
    for group in groups(&rows, |row| row.measured.cores) {
        let pair = |row: &&Row| (row.measured.throughput_txn_per_s, row.simulated_txn_per_s);
        all.add(Concordance::of(&group.iter().map(pair).collect::<Vec<_>>(), NOISE));
    }
    let (what, over, found) = (what.to_owned(), all.pairs(), all.kendall());
    Goal { what, over, found, wanted, at_least: true }
}

/// Returns the errors of the ratio between HSTORE and SILO, from 112 cores on.
fn hstore_to_silo(rows: &[&Row]) -> Vec<f64> {
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.measured.cores >= 112).collect();
    let groups = groups(&rows, |row| row.measured.cores).into_iter();
    groups
        .filter_map(|group| {
            let of = |scheme: &str| group.iter().find(|row| row.measured.scheme == scheme);
            Some((of("HSTORE")?.ln_error - of("SILO")?.ln_error).abs())
        })
        .collect()
}

#[cfg(test)]
mod tests;
