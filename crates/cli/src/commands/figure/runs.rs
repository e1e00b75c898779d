//! Simulates the runs of figures, one on each thread. A run that several figures have is simulated once.

use super::folder::FigureFolder;
use super::work::Work;
use crate::arguments::{Facts, MachineChoice};
use crate::failure::Failure;
use crate::interrupt;
use crate::measurement::{Configuration, Evidence, Measured};
use crate::origin::Origin;
use crate::screen::Progress;
use engine::AccessOptions;
use engine::admission::AdmissionPolicy;
use experiments::figures::{Effort, Figure, Length, Point, Program, Setting, growth};
use harness::back_off::BackOff;
use harness::run::Moves;
use harness::run_record::{RunRecord, settings};
use machine::Word;
use machine::cold::Mutex;
use protocols::ProtocolOptions;
use simulator::MachineDescription;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use workloads::Options;
use workloads::registry::{Listed, Visitor, with_workload};

/// A run and the machine on which it is simulated.
struct Run {
    machine: &'static str,
    point: Point,
    way: Way,
}

/// Settings of the simulation of a run.
enum Way {
    Setting(Setting, Box<Configuration>),
    Program(Program),
}

impl Run {
    /// Returns whether the run is that of `point` in a figure on `machine`. Some points name their machine themselves.
    fn is_of(&self, machine: &str, point: &Point) -> bool {
        self.machine == point.machine().unwrap_or(machine) && self.point == *point
    }
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
        let own = |run: &Run| run.is_of(figure.machine, &place.point);
        if let Some(at) = runs.iter().position(own) {
            found.extend(records[at].clone());
        }
    }
    found
}

/// Simulates the runs of all figures that `known` does not have. Keeps the records of each figure as they come. Ends
/// early if `stop` is set.
pub fn measure(
    folders: &[FigureFolder],
    lengths: Length,
    known: Vec<RunRecord>,
    stop: &Word,
) -> Result<Runs, Failure> {
    let (effort, runs) = (lengths.effort, distinct(folders, lengths)?);
    let cost = |run: &Run| 1 + run.point.cores() as u64 / 64;
    let progress = Progress::of(runs.len(), runs.iter().map(cost).sum());
    let origin = Origin::here();
    let programs = runs.iter().filter_map(|run| match &run.way {
        Way::Program(program) => Some(program),
        Way::Setting(..) => None,
    });
    let work = Work::of(&programs.collect::<Vec<_>>(), &known, lengths, &origin, stop)?;
    // Large machines run first, so that no thread is left with a long run at the end.
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(runs[at].point.cores()));
    let records: Mutex<Vec<Option<RunRecord>>> = Mutex::new(vec![None; runs.len()]);
    let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || {
        // Relaxed is enough: only the number matters, and the records are passed under the mutex.
        while let Some(&at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            if interrupt::requested() || failure.lock().is_some() {
                return;
            }
            let run = &runs[at];
            let (name, cores) = (run.point.protocol(), run.point.cores());
            progress.begin(format!("{name} on {cores} cores"));
            let found = simulate(run, (&known, &work), lengths, &origin, stop).and_then(|found| {
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
    for folder in folders {
        let places = folder.figure.places(effort);
        if places.iter().any(|place| run.is_of(folder.figure.machine, &place.point)) {
            folder.keep(&records_of(runs, records, folder.figure, effort))?;
        }
    }
    Ok(())
}

/// Returns the runs of all figures that can be simulated, each once.
fn distinct(folders: &[FigureFolder], lengths: Length) -> Result<Vec<Run>, Failure> {
    let mut runs: Vec<Run> = Vec::new();
    for folder in folders {
        let machine = folder.figure.machine;
        for place in folder.figure.places(lengths.effort) {
            let point = place.point;
            let machine = point.machine().unwrap_or(machine);
            if point.unable().is_some() || runs.iter().any(|run| run.is_of(machine, &point)) {
                continue;
            }
            let way = match &point {
                Point::Program(program) => Way::Program(program.clone()),
                Point::Setting(setting) => {
                    let description = MachineDescription::load(machine)?;
                    let protocol = setting.protocol_options().map_err(Failure::refused)?;
                    let access = setting.access_options().map_err(Failure::refused)?;
                    let made = configuration(setting, description, (protocol, access), lengths);
                    Way::Setting(setting.clone(), Box::new(made))
                }
            };
            runs.push(Run { machine, point, way });
        }
    }
    Ok(runs)
}

fn configuration(
    setting: &Setting,
    machine: MachineDescription,
    (protocol_options, access): (ProtocolOptions, AccessOptions),
    lengths: Length,
) -> Configuration {
    let Length { effort, busy_s, seed } = lengths;
    let (measured_s, growth) = growth(effort, setting, &machine, busy_s);
    let given = machine.name.clone();
    Configuration {
        machine: MachineChoice::Simulated { description: Arc::new(machine), given },
        architecture: setting.architecture.to_owned(),
        protocol: setting.protocol,
        protocol_options,
        access,
        partitions: None,
        fibers: 1,
        time_slice_s: None,
        servers: (setting.servers > 0).then_some(setting.servers),
        moves: Moves::default(),
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
        admission: AdmissionPolicy::Off,
        evidence: Evidence::None,
        keep_history: false,
    }
}

/// Returns the measurement of `run`, from the known records or from a simulation, and whether it is fresh. Returns
/// none if it was stopped.
fn simulate(
    run: &Run,
    (known, work): (&[RunRecord], &Work),
    lengths: Length,
    origin: &Origin,
    stop: &Word,
) -> Result<Option<(Measured, bool)>, Failure> {
    let (setting, configuration) = match &run.way {
        Way::Setting(setting, configuration) => (setting, configuration.as_ref()),
        Way::Program(program) => {
            return match super::work::known(program, known, lengths, origin) {
                Some(record) => Ok(Some((Measured::earlier(record.clone()), false))),
                None => work.simulate(program, lengths, origin, stop),
            };
        }
    };
    let simulation = Simulation { setting, configuration, known, origin, stop };
    match with_workload(setting.workload, simulation) {
        Ok(outcome) => outcome,
        Err(_) => Err(Failure::refused(format!("no workload {}", setting.workload))),
    }
}

struct Simulation<'a> {
    setting: &'a Setting,
    configuration: &'a Configuration,
    known: &'a [RunRecord],
    origin: &'a Origin,
    stop: &'a Word,
}

impl Visitor for Simulation<'_> {
    type Output = Result<Option<(Measured, bool)>, Failure>;

    fn visit<W: Listed>(self) -> Self::Output {
        let refused = |error: workloads::OptionError| Failure::refused(error.to_string());
        let configuration = self.configuration;
        let options = W::Options::default().changed(&self.setting.options).map_err(refused)?;
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
