//! Implements `kilocore validate --here`: compares the simulated machine with this computer.

use super::{ValidateArguments, write};
use crate::failure::{Ending, Failure};
use crate::{interrupt, screen};
use experiments::here::{HereOptions, compare, to_csv, to_json, to_text};
use simulator::MachineDescription;
use simulator::probe::{ProbeOptions, probe};

/// Measures and simulates every protocol, and prints the error.
pub(super) fn compare_here(asked: &ValidateArguments) -> Result<Ending, Failure> {
    let stop = interrupt::listen()?;
    let machine = match &asked.machine {
        Some(name) => MachineDescription::load(name)?,
        None => probe(&ProbeOptions::default())?.description,
    };
    let available =
        std::thread::available_parallelism().map_or(1, usize::from).min(machine.cores());
    let (native_s, simulated_s) = if asked.quick { (0.1, 0.01) } else { (0.3, 0.05) };
    let options = HereOptions {
        threads: [1, 2].into_iter().filter(|threads| *threads <= available).collect(),
        native_s,
        simulated_s,
        seed: asked.seed,
        only: asked.only.clone(),
    };
    let bar = screen::bar(0);
    let told = |done: usize, total: usize, title: &str| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(title.to_owned());
    };
    let outcome = compare(&machine, &options, stop, &told);
    bar.finish_and_clear();
    let outcome = outcome.map_err(|error| Failure::refused(error.to_string()))?;
    write(&outcome, &[(&asked.json, to_json), (&asked.csv, to_csv)], to_text)?;
    Ok(if outcome.interrupted { Ending::Interrupted } else { Ending::Good })
}
