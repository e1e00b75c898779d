//! Implements `kilocore validate`: compares the simulated machine with measurements of a real one.

mod here;

use crate::arguments::whole;
use crate::destination::{self, Existing, is_stdout};
use crate::failure::{Ending, Failure};
use crate::origin::Origin;
use crate::{interrupt, screen};
use clap::Args;
use experiments::validate::{
    Configuration, Effort, Measurements, Observer, Outcome, Placement, ValidateError,
    ValidateOptions, run, to_csv, to_html, to_json, to_text,
};
use harness::run_record::write_whole;
use indicatif::ProgressBar;
use std::path::{Path, PathBuf};

/// Options of `kilocore validate`.
#[derive(Debug, Args)]
pub struct ValidateArguments {
    /// A directory with a throughput.csv, and a hardware.toml, numa_slit.csv and breakdown.csv if it has them [default:
    /// the rows that the program carries]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Shorter simulations
    #[arg(long)]
    pub quick: bool,
    /// Simulate only rows of at most so many cores
    #[arg(long, value_name = "CORES", value_parser = whole)]
    pub up_to: Option<u64>,
    /// Simulate only rows whose title contains the text, such as "SILO 4 warehouses" or "opt7,opt8" (one of both). May be
    /// repeated; then all must be contained. A title is platform, build, scheme, warehouses, cores and SMT
    #[arg(long, value_name = "TEXT")]
    pub only: Vec<String>,
    /// Sockets of the warehouses, where a row does not say: loader (of the thread that loads them, as measured) or home (of
    /// the worker that uses them)
    #[arg(long, value_name = "WHERE", default_value = "loader", value_parser = ["loader", "home"])]
    pub placement: String,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole)]
    pub seed: u64,
    /// Write the outcome as JSON, after every few rows; - is standard output. A file that exists is refused, except with
    /// --force or --resume
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the rows as CSV, - for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write a page with the measured and the simulated curves side by side
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Take over from the file of --json what was simulated already by the same build, with the same settings
    #[arg(long, requires = "json")]
    pub resume: bool,
    /// Compare with this computer instead of a directory: every protocol natively on 1 and 2 threads, and on a description
    /// of this computer, with YCSB and TPC-C
    #[arg(long, conflicts_with_all = ["directory", "placement", "html", "resume", "up_to"])]
    pub here: bool,
    /// With --here: a machine file that describes this computer [default: what kilocore machines probe finds]
    #[arg(long, value_name = "FILE", requires = "here")]
    pub machine: Option<String>,
    /// Overwrite the files that --json, --csv and --html name
    #[arg(long, conflicts_with = "resume")]
    pub force: bool,
}

/// Shows progress, and keeps what is done.
struct Desk<'a> {
    bar: ProgressBar,
    json: Option<&'a Path>,
}

impl Observer for Desk<'_> {
    fn simulated(&self, done: usize, total: usize, configuration: &Configuration) {
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(configuration.title());
    }

    fn so_far(&self, outcome: &Outcome) {
        let Some(path) = self.json.filter(|path| !is_stdout(path)) else { return };
        if let Err(error) = write_whole(path, to_json(outcome).as_bytes()) {
            self.bar.println(format!("{}: {error}", path.display()));
        }
    }
}

/// Simulates the measured rows and prints the error.
pub fn validate(asked: &ValidateArguments) -> Result<Ending, Failure> {
    let named = [
        ("--json", asked.json.as_deref()),
        ("--csv", asked.csv.as_deref()),
        ("--html", asked.html.as_deref()),
    ];
    let existing = match asked.force || asked.resume {
        true => Existing::Replaced,
        false => Existing::Refused("--resume to continue it"),
    };
    destination::check(&named, existing)?;
    if asked.here {
        return here::compare_here(asked);
    }
    let earlier = earlier(asked)?;
    let measurements = match &asked.directory {
        Some(directory) => Measurements::read(directory).map_err(refused)?,
        None => Measurements::carried(),
    };
    let options = ValidateOptions {
        effort: if asked.quick { Effort::Quick } else { Effort::Full },
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        seed: asked.seed,
        placement: if asked.placement == "home" { Placement::Home } else { Placement::Loader },
        only: asked.only.clone(),
        up_to_cores: asked.up_to,
        build: Origin::here().commit.to_owned(),
    };
    let stop = interrupt::listen()?;
    let desk =
        Desk { bar: screen::bar(measurements.rows.len() as u64), json: asked.json.as_deref() };
    let outcome = run(&measurements, &options, earlier.as_ref(), stop, &desk);
    desk.bar.finish_and_clear();
    let outcome = match outcome {
        Err(ValidateError::Interrupted) => {
            eprintln!("interrupted before a row was simulated");
            return Ok(Ending::Interrupted);
        }
        outcome => outcome.map_err(refused)?,
    };
    let outputs =
        [(&asked.json, to_json as fn(&_) -> _), (&asked.csv, to_csv), (&asked.html, to_html)];
    write(&outcome, &outputs, to_text)?;
    Ok(if outcome.interrupted { Ending::Interrupted } else { Ending::Good })
}

/// Returns the outcome in the file of `--json` that is to be continued.
fn earlier(asked: &ValidateArguments) -> Result<Option<Outcome>, Failure> {
    let Some(path) = asked.json.as_deref().filter(|path| asked.resume && path.exists()) else {
        return Ok(None);
    };
    let bad = |reason: String| {
        let path = path.display();
        Failure::refused(format!(
            "--resume: {path} is no outcome of this program: {reason}; allowed: --force to overwrite it"
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    Outcome::from_json(&text).map(Some).map_err(bad)
}

/// A file that an option names, and the form of the outcome in it.
type Output<'a, T> = (&'a Option<PathBuf>, fn(&T) -> String);

/// Writes the outcome to the files that were named, each in its form, and prints it as text if none of them is standard
/// output.
fn write<T>(
    outcome: &T,
    outputs: &[Output<'_, T>],
    to_text: fn(&T) -> String,
) -> Result<(), Failure> {
    let mut printed = false;
    for (path, form) in outputs {
        match path {
            Some(path) if is_stdout(path) => {
                screen::say(&form(outcome))?;
                printed = true;
            }
            Some(path) => write_whole(path, form(outcome).as_bytes())?,
            None => {}
        }
    }
    if printed { Ok(()) } else { screen::say(&to_text(outcome)) }
}

fn refused(error: ValidateError) -> Failure {
    Failure::refused(error.to_string())
}
