//! Simulates the runs of figures, one on each thread. A run that several figures have is simulated once.

use super::folder::FigureFolder;
use crate::arguments::{Facts, MachineChoice};
use crate::failure::Failure;
use crate::interrupt;
use crate::measurement::{Configuration, Evidence, Measured};
use crate::origin::Origin;
use crate::screen::Progress;
use experiments::figures::{Effort, Figure, Setting, growth};
use harness::back_off::BackOff;
use harness::run_record::{RunRecord, settings};
use machine::Word;
use machine::cold::Mutex;
use protocols::ProtocolOptions;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use workloads::Options;
use workloads::registry::{Listed, Visitor, with_workload};

/// A run and the machine on which it is simulated.
struct Run {
    machine: &'static str,
    setting: Setting,
    configuration: Configuration,
}

/// Amount and seed of the simulations.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    /// Grid and usual lengths.
    pub effort: Effort,
    /// Largest busy time of a run in core seconds, if it is not the usual one.
    pub busy_s: Option<f64>,
    /// Seed of everything random.
    pub seed: u64,
}

/// Runs with their records.
pub struct Runs {
    runs: Vec<Run>,
    records: Vec<Option<RunRecord>>,
}

impl Runs {
    /// Returns the records of `figure`, in the order of its runs.
    pub fn records_of(&self, figure: &Figure, effort: Effort) -> Vec<RunRecord> {
        records_of(&self.runs, &self.records, figure, effort)
    }
}

fn records_of(
    runs: &[Run],
    records: &[Option<RunRecord>],
    figure: &Figure,
    effort: Effort,
) -> Vec<RunRecord> {
    let mut found: Vec<RunRecord> = Vec::new();
    for place in figure.places(effort) {
        let same = |run: &Run| run.machine == figure.machine && run.setting == place.setting;
        if let Some(at) = runs.iter().position(same) {
            found.extend(records[at].clone());
        }
    }
    found
}

/// Simulates the runs of all figures that `known` does not have. Keeps the records of each figure as they come. Ends
/// early if `stop` is set.
pub fn measure(
    folders: &[FigureFolder],
    lengths: Lengths,
    known: Vec<RunRecord>,
    stop: &Word,
) -> Result<Runs, Failure> {
    let (effort, runs) = (lengths.effort, distinct(folders, lengths)?);
    let cost = |run: &Run| 1 + run.configuration.cores as u64 / 64;
    let progress = Progress::of(runs.len(), runs.iter().map(cost).sum());
    let origin = Origin::here();
    // Large machines run first, so that no thread is left with a long run at the end.
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(runs[at].configuration.cores));
    let records: Mutex<Vec<Option<RunRecord>>> = Mutex::new(vec![None; runs.len()]);
    let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || {
        // Relaxed is enough: only the number matters, and the records are passed under the mutex.
        while let Some(&at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            if interrupt::requested() || failure.lock().is_some() {
                return;
            }
            let run = &runs[at];
            let (name, cores) = (run.setting.protocol, run.setting.cores);
            progress.begin(format!("{name} on {cores} cores"));
            let found = simulate(run, &known, &origin, stop).and_then(|found| {
                let Some((measured, fresh)) = found else { return Ok(()) };
                progress.done(&measured.line(), cost(run));
                let mut records = records.lock();
                records[at] = Some(measured.record);
                if fresh { keep(folders, effort, &runs, &records, run) } else { Ok(()) }
            });
            if let Err(error) = found {
                *failure.lock() = Some(error);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(runs.len().max(1));
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    progress.finish();
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok(Runs { runs, records: records.into_inner() }),
    }
}

/// Writes the records of the figures that have `run`.
fn keep(
    folders: &[FigureFolder],
    effort: Effort,
    runs: &[Run],
    records: &[Option<RunRecord>],
    run: &Run,
) -> Result<(), Failure> {
    for folder in folders.iter().filter(|folder| folder.figure.machine == run.machine) {
        let places = folder.figure.places(effort);
        if places.iter().any(|place| place.setting == run.setting) {
            folder.keep(&records_of(runs, records, folder.figure, effort))?;
        }
    }
    Ok(())
}

/// Returns the runs of all figures, each once.
fn distinct(folders: &[FigureFolder], lengths: Lengths) -> Result<Vec<Run>, Failure> {
    let mut runs: Vec<Run> = Vec::new();
    for folder in folders {
        let machine = folder.figure.machine;
        let choice = MachineChoice::load(machine)?;
        for place in folder.figure.places(lengths.effort) {
            let setting = place.setting;
            if runs.iter().any(|run| run.machine == machine && run.setting == setting) {
                continue;
            }
            let options = setting.protocol_options().map_err(Failure::refused)?;
            let configuration = configuration(&setting, &choice, options, lengths);
            runs.push(Run { machine, setting, configuration });
        }
    }
    Ok(runs)
}

fn configuration(
    setting: &Setting,
    machine: &MachineChoice,
    protocol_options: ProtocolOptions,
    lengths: Lengths,
) -> Configuration {
    let Lengths { effort, busy_s, seed } = lengths;
    let (measured_s, growth) = growth(effort, setting, busy_s);
    Configuration {
        machine: machine.clone(),
        architecture: engine::registry::DEFAULT.to_owned(),
        protocol: setting.protocol,
        protocol_options,
        access: Default::default(),
        commits: None,
        small_pages: false,
        cores: setting.cores,
        warm_up_s: if busy_s.is_none() { effort.pick(0.0002, 0.0) } else { 0.0 },
        measured_s,
        growth: Some(growth),
        repetitions: 1,
        seed,
        breakdown: false,
        arrivals: None,
        back_off: BackOff::default(),
        evidence: Evidence::None,
        keep_history: false,
    }
}

/// Returns the measurement of `run`, from the known records or from a simulation, and whether it is fresh. Returns
/// none if it was stopped.
fn simulate(
    run: &Run,
    known: &[RunRecord],
    origin: &Origin,
    stop: &Word,
) -> Result<Option<(Measured, bool)>, Failure> {
    match with_workload(run.setting.workload, Simulation { run, known, origin, stop }) {
        Ok(outcome) => outcome,
        Err(_) => Err(Failure::refused(format!("no workload {}", run.setting.workload))),
    }
}

struct Simulation<'a> {
    run: &'a Run,
    known: &'a [RunRecord],
    origin: &'a Origin,
    stop: &'a Word,
}

impl Visitor for Simulation<'_> {
    type Output = Result<Option<(Measured, bool)>, Failure>;

    fn visit<W: Listed>(self) -> Self::Output {
        let refused = |error: workloads::OptionError| Failure::refused(error.to_string());
        let configuration = &self.run.configuration;
        let options = W::Options::default().changed(&self.run.setting.options).map_err(refused)?;
        let facts = Facts { name: W::NAME, options: settings(options.list()) };
        let workload = W::with(options).map_err(refused)?;
        let known =
            self.known.iter().find(|r| configuration.is_of(&workload, &facts, self.origin, r));
        if let Some(known) = known {
            return Ok(Some((Measured::earlier(known.clone()), false)));
        }
        let measured = configuration.measure(&workload, &facts, self.origin, self.stop)?;
        // A run that was stopped is simulated again by the next command.
        Ok(measured.filter(|m| !m.record.interrupted).map(|measured| (measured, true)))
    }
}
