//! Simulates published measurements of real machines and reports the error.
//!
//! [`Measurements`] are the rows of a `throughput.csv`. Each row is one configuration with its measured throughput.
//! Every row becomes a simulation of the same scheme on a model of the same machine ([`Configuration`]). One factor
//! for each machine brings simulated throughputs to the measured scale. It is computed from the rows marked as
//! anchors. The remaining difference is the error ([`Outcome`]). No parameter is fitted for a scheme.
//!
//! | file | contents |
//! | --- | --- |
//! | `measurements` | reading the directory |
//! | `configuration` | from a row to a simulation |
//! | `placement` | sockets on which the measured program's loader placed the warehouses |
//! | `simulate` | running the simulations, several at a time |
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
pub use measurements::{Measurement, Measurements, Role, Skipped};
pub use outcome::{Block, Outcome, Ranks, Row, Scale};
pub use report::{to_csv, to_json, to_text};
pub use simulate::Simulation;

use machine::Word;

/// Options of a validation.
#[derive(Clone, Debug)]
pub struct ValidateOptions {
    /// Amount of simulation for each row.
    pub effort: Effort,
    /// Number of simulations at a time. Each uses one thread of the host.
    pub threads: usize,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Default for ValidateOptions {
    fn default() -> ValidateOptions {
        ValidateOptions { effort: Effort::Full, threads: 2, seed: 1 }
    }
}

/// Simulates every row of `measurements` that can be simulated, and compares the results. `stop` ends the validation
/// early with the rows done so far. `done` is called after every simulation with the number done, the total, and the
/// row's configuration.
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
