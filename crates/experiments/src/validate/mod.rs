//! Simulates what others have measured on real machines, and reports the error.
//!
//! [`Measurements`] are rows of a `throughput.csv`: one a configuration, with the throughput that was measured. Every row
//! becomes a simulation of the same scheme on a model of the same machine ([`Configuration`]); one factor for
//! each machine, from the rows marked as anchors, brings simulated throughputs to the measured scale; what
//! is left is the error ([`Outcome`]). Nothing is fitted for a scheme.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `measurements` | reading the directory |
//! | `configuration` | from a row to a simulation |
//! | `placement` | where the measured program's loader put the warehouses |
//! | `simulate` | running the simulations, some at a time |
//! | `outcome` | errors, by row and by block |
//! | `statistics` | median, percentile, rank correlation |
//! | `report` | the outcome as text, CSV and JSON |

mod configuration;
mod error;
mod measurements;
mod outcome;
mod placement;
mod report;
mod simulate;
pub mod statistics;

pub use configuration::{Configuration, Effort};
pub use error::ValidateError;
pub use measurements::{Measurement, Measurements, Skipped, Split};
pub use outcome::{Block, Outcome, Ranks, Row, Scale};
pub use report::{to_csv, to_json, to_text};
pub use simulate::Simulation;

use machine::Word;

/// How to validate.
#[derive(Clone, Debug)]
pub struct ValidateOptions {
    /// How much is simulated of each row.
    pub effort: Effort,
    /// Simulations at a time, one thread of the host each.
    pub threads: usize,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for ValidateOptions {
    fn default() -> ValidateOptions {
        ValidateOptions { effort: Effort::Full, threads: 2, seed: 1 }
    }
}

/// Simulates every row of `measurements` that can be simulated, and compares. `stop` ends it early with what
/// is done; `done` hears of every simulation: how many are done, of how many, and of which row.
pub fn run(
    measurements: &Measurements,
    options: &ValidateOptions,
    stop: &Word,
    done: &(dyn Fn(usize, usize, &Configuration) + Sync),
) -> Result<Outcome, ValidateError> {
    let mut skipped = measurements.skipped.clone();
    let mut configurations = Vec::new();
    for row in &measurements.rows {
        match options.effort.leaves_out(row) {
            Some(why) => skipped.add(why),
            None => configurations.push(Configuration::of(row, options)?),
        }
    }
    if configurations.is_empty() {
        return Err(ValidateError::NothingLeft {
            file: measurements.file.clone(),
            skipped: skipped.to_string(),
        });
    }
    let simulated = simulate::all(configurations, options.threads, stop, done)?;
    Ok(Outcome::of(simulated, skipped, options, stop.peek() != 0))
}
