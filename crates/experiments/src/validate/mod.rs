//! Simulates published measurements of real machines and reports the error.
//!
//! [`Measurements`] are the rows of a `throughput.csv`. Each row is one configuration with its measured throughput.
//! Every row becomes a simulation of the same scheme on a model of the same machine ([`Configuration`]). One constant of
//! each platform is fitted to the rows marked as anchors: the cost of the procedures' own work ([`Work`]). The remaining
//! difference is the error ([`Outcome`]). No parameter is fitted for a scheme.
//!
//! | file | contents |
//! | --- | --- |
//! | `measurements` | reading the directory |
//! | `table` | reading a CSV file |
//! | `breakdown` | shares of time, measured and simulated |
//! | `configuration` | from a row to a simulation |
//! | `platforms` | from the name of a platform to a machine |
//! | `thread_order` | order in which threads take cores |
//! | `placement` | sockets on which the measured program's loader placed the warehouses |
//! | `work` | the fitted constant |
//! | `left_out` | the error without the fitted constant |
//! | `simulate` | running the simulations, several at a time |
//! | `outcome` | errors, by row and by block |
//! | `goals` | the numbers that the model should reach |
//! | `peaks` | numbers of cores at which schemes are fastest |
//! | `statistics` | median, percentile, rank correlation |
//! | `curves` | rows that belong to one setting |
//! | `report` | the outcome as text, CSV and JSON |
//! | `traffic` | the lines that transactions move |
//! | `page` | the outcome as a page with curves |

mod breakdown;
mod builds;
mod configuration;
mod curves;
mod error;
mod goals;
mod left_out;
mod measurements;
mod outcome;
mod page;
mod peaks;
mod placement;
mod platforms;
mod report;
mod simulate;
pub mod statistics;
mod table;
mod thread_order;
mod traffic;
mod work;

pub use breakdown::{Breakdowns, CategoryError, ShareError};
pub use configuration::{Configuration, Effort};
pub use error::ValidateError;
pub use goals::Goal;
pub use left_out::LeftOut;
pub use measurements::{Measurement, Measurements, Role, Skipped};
pub use outcome::{Block, Outcome, Ranks, Row};
pub use page::to_html;
pub use peaks::Peak;
pub use placement::Placement;
pub use platforms::{Platform, Platforms};
pub(crate) use report::aligned;
pub use report::{to_csv, to_json, to_text};
pub use simulate::Simulation;
pub use thread_order::ThreadOrder;
pub use work::Work;

// Figures use these items too.
pub(crate) use breakdown::{CARRIED as CARRIED_BREAKDOWN, MAPPING, Shares, shares_of};
pub(crate) use measurements::CARRIED as CARRIED_THROUGHPUT;
pub(crate) use simulate::one as simulate_one;
pub(crate) use table::{Line, Table};
pub(crate) use work::fit as fit_work;

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
    /// Placement of the warehouses, where the row does not say.
    pub placement: Placement,
    /// Texts that a row's title must contain ([`Configuration::title`]), in any spelling of capitals. Each may name
    /// several alternatives, separated by commas.
    pub only: Vec<String>,
    /// Largest number of cores of a row. None if there is no limit.
    pub up_to_cores: Option<u64>,
    /// Version of the program. Only results of the same version are taken over.
    pub build: String,
}

impl Default for ValidateOptions {
    fn default() -> ValidateOptions {
        ValidateOptions {
            effort: Effort::Full,
            threads: 2,
            seed: 1,
            placement: Placement::Loader,
            only: Vec::new(),
            up_to_cores: None,
            build: String::new(),
        }
    }
}

impl ValidateOptions {
    fn leave_out(&self, title: &str) -> bool {
        let title = title.to_lowercase();
        let named = |texts: &String| {
            texts.split(',').any(|text| title.contains(text.to_lowercase().as_str()))
        };
        !self.only.iter().all(named)
    }
}

/// Receives what happens during a validation.
pub trait Observer: Sync {
    /// Called after every simulation with the number done, the total, and the row's configuration.
    fn simulated(&self, done: usize, total: usize, configuration: &Configuration);

    /// Called from time to time with the outcome so far, so that it can be kept.
    fn so_far(&self, outcome: &Outcome);
}

/// Simulates every row of `measurements` that can be simulated, and compares the results. Rows of `earlier` are taken
/// over if they have the same measurement, the same options and the same build. `stop` ends the validation early with the
/// rows done so far.
pub fn run(
    measurements: &Measurements,
    options: &ValidateOptions,
    earlier: Option<&Outcome>,
    stop: &Word,
    observer: &dyn Observer,
) -> Result<Outcome, ValidateError> {
    let mut skipped = measurements.skipped.clone();
    let mut configurations = Vec::new();
    let work = work::fit(measurements, options, stop)?;
    for row in &measurements.rows {
        if let Some(most) = options.up_to_cores.filter(|most| row.cores > *most) {
            skipped.add(format!("with more than {most} cores"));
            continue;
        }
        let own = work.iter().find(|work| work.platform == row.platform);
        let cycles = own.map_or(0, |work| work.cycles);
        let configuration = Configuration::of(row, measurements, options, cycles);
        match options.leave_out(&configuration.title()) {
            true => skipped.add("not asked for"),
            false => configurations.push(configuration),
        }
    }
    if configurations.is_empty() {
        return Err(ValidateError::NothingLeft {
            file: measurements.file.clone(),
            skipped: skipped.to_string(),
        });
    }
    let earlier = earlier.filter(|outcome| outcome.is_of(options) && outcome.work == work);
    let known: Vec<Option<Row>> = configurations
        .iter()
        .map(|configuration| {
            let rows = earlier?.rows.iter();
            let mut same = rows.filter(|row| row.measured == configuration.measured);
            same.next().cloned()
        })
        .collect();
    let rest = |mut rows: Vec<Row>, interrupted| {
        for row in &mut rows {
            row.measured_breakdown = measurements.breakdowns.of(&row.measured);
        }
        let outcome = Outcome::of(rows, (work.clone(), skipped.clone()), options, interrupted);
        let notes = measurements.platforms.iter().flat_map(|platform| platform.notes.clone());
        let skipped_breakdowns = measurements.breakdowns.skipped.clone();
        Outcome { notes: notes.collect(), skipped_breakdowns, ..outcome }
    };
    let keep = |rows: Vec<Row>| observer.so_far(&rest(rows, true));
    let done = |done, total, configuration: &_| observer.simulated(done, total, configuration);
    let rows = simulate::all(configurations, known, options.threads, stop, (&done, &keep))?;
    let interrupted = rows.iter().any(Option::is_none);
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    if rows.is_empty() {
        return Err(ValidateError::Interrupted);
    }
    let mut outcome = rest(rows, interrupted);
    if !interrupted {
        let left_out = left_out::errors(measurements, &work, &outcome.rows, options, stop)?;
        outcome.interrupted = left_out.is_none();
        outcome.left_out = left_out.unwrap_or_default();
    }
    Ok(outcome)
}
