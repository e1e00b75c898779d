//! Implements `kilocore validate`: compares the simulated machine with measurements of a real one.

use crate::arguments::whole;
use crate::destination::{self, Existing, is_stdout};
use crate::failure::{Ending, Failure};
use crate::{interrupt, screen};
use clap::Args;
use experiments::validate::{
    Configuration, Effort, Measurements, Outcome, ValidateError, ValidateOptions, run, to_csv,
    to_json, to_text,
};
use harness::run_record::write_whole;
use std::path::PathBuf;

/// Options of `kilocore validate`.
#[derive(Debug, Args)]
pub struct ValidateArguments {
    /// A directory with a throughput.csv [default: the rows that the program carries]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Rows of few cores, for less time
    #[arg(long)]
    pub quick: bool,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole)]
    pub seed: u64,
    /// Write the outcome as JSON, - for standard output. A file that exists is refused, except with --force
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the rows as CSV, - for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Overwrite the files that --json and --csv name
    #[arg(long)]
    pub force: bool,
}

/// Simulates the measured rows and prints the error.
pub fn validate(asked: &ValidateArguments) -> Result<Ending, Failure> {
    let outputs = [(&asked.json, to_json as fn(&Outcome) -> String), (&asked.csv, to_csv)];
    let named = [("--json", asked.json.as_deref()), ("--csv", asked.csv.as_deref())];
    destination::check(&named, Existing::forced(asked.force))?;
    let measurements = match &asked.directory {
        Some(directory) => Measurements::read(directory).map_err(refused)?,
        None => Measurements::carried(),
    };
    let options = ValidateOptions {
        effort: if asked.quick { Effort::Quick } else { Effort::Full },
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        seed: asked.seed,
    };
    let stop = interrupt::listen()?;
    let bar = screen::bar(measurements.rows.len() as u64);
    let done = |done: usize, total: usize, configuration: &Configuration| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(configuration.title());
    };
    let outcome = run(&measurements, &options, stop, &done);
    bar.finish_and_clear();
    let outcome = match outcome {
        Err(ValidateError::Interrupted) => {
            eprintln!("interrupted before a row was simulated");
            return Ok(Ending::Interrupted);
        }
        outcome => outcome.map_err(refused)?,
    };
    let mut printed = false;
    for (path, form) in outputs {
        match path.as_deref() {
            Some(path) if is_stdout(path) => {
                screen::say(&form(&outcome))?;
                printed = true;
            }
            Some(path) => write_whole(path, form(&outcome).as_bytes())?,
            None => {}
        }
    }
    if !printed {
        screen::say(&to_text(&outcome))?;
    }
    Ok(if outcome.interrupted { Ending::Interrupted } else { Ending::Good })
}

fn refused(error: ValidateError) -> Failure {
    Failure::refused(error.to_string())
}
