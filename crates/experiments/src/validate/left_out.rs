//! Says how much of a platform's agreement comes from its fitted constant: the error if the platform is left out of the fit,
//! so that it takes the constant of the others.
//!
//! The one-core rows are simulated again. There the constant has its largest part of the time, because nobody waits.

use super::simulate::{self, Told};
use super::statistics::median;
use super::{Configuration, Measurements, Row, ValidateError, ValidateOptions, Work};
use machine::Word;
use serde::{Deserialize, Serialize};

/// Error of a platform with its own constant, and with that of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Name of the platform.
    pub platform: String,
    /// Cycles for each record, fitted to the platform.
    pub own_cycles: u64,
    /// Mean of the other platforms' cycles.
    pub others_cycles: u64,
    /// Number of one-core rows.
    pub rows: usize,
    /// Median of |ln| over these rows with the platform's own constant.
    pub median_abs_ln: f64,
    /// The same with the others' constant.
    pub median_abs_ln_left_out: f64,
}

/// Returns the errors of all platforms that have a constant of their own, if others have one, too. `rows` are the simulated
/// rows. Returns none if it was interrupted.
pub fn errors(
    measurements: &Measurements,
    work: &[Work],
    rows: &[Row],
    options: &ValidateOptions,
    stop: &Word,
) -> Result<Option<Vec<LeftOut>>, ValidateError> {
    let mut all = Vec::new();
    for own in work.iter().filter(|work| work.is_fitted()) {
        let others = work.iter().filter(|other| other.is_fitted() && other.machine != own.machine);
        let one_core = rows
            .iter()
            .filter(|row| row.measured.platform == own.platform && row.measured.cores == 1);
        let (Some(others_cycles), one_core) =
            (super::work::mean_cycles(others), one_core.collect::<Vec<_>>())
        else {
            continue;
        };
        if one_core.is_empty() {
            continue;
        }
        let again =
            |row: &&Row| Configuration::of(&row.measured, measurements, options, others_cycles);
        let configurations: Vec<Configuration> = one_core.iter().map(again).collect();
        let known = vec![None; configurations.len()];
        let told: Told<'_> = (&|_, _, _| {}, &|_| {});
        let simulated = simulate::all(configurations, known, options.threads, stop, told)?;
        if simulated.iter().any(Option::is_none) {
            return Ok(None);
        }
        let size = |row: &Row| row.ln_error.abs();
        let with_own: Vec<f64> = one_core.iter().map(|row| size(row)).collect();
        let with_others: Vec<f64> = simulated.iter().flatten().map(size).collect();
        all.push(LeftOut {
            platform: own.platform.clone(),
            own_cycles: own.cycles,
            others_cycles,
            rows: with_own.len(),
            median_abs_ln: median(&with_own).unwrap_or(0.0),
            median_abs_ln_left_out: median(&with_others).unwrap_or(0.0),
        });
    }
    Ok(Some(all))
}
