//! Implements `kilocore run`: measures protocols on one machine, one configuration after the other.

use crate::arguments::{
    Defaults, Facts, MachineChoice, Outputs, RunArguments, Task, WorkloadCommand, access_options,
    check_owners, check_seeds, check_servers, options_to_run, owners, protocols_at,
    protocols_under, protocols_with_executors, serves_beside_workers,
};
use crate::destination::{self, Existing};
use crate::failure::{Ending, Failure};
use crate::measurement::{Configuration, Evidence, Measured};
use crate::origin::Origin;
use crate::screen::Progress;
use crate::{interrupt, notes, report, screen};
use checker::export::{Format, export};
use harness::arrivals::{Arrivals, Process};
use harness::run::Growth;
use harness::run_record::{MachineKind, RunRecord, write_whole};
use harness::steadiness::Rule;
use protocols::ProtocolOptions;
use std::path::Path;
use txn::{History, Workload};

/// Measures protocols on `workload`, as the command's options say.
pub fn run(workload: &WorkloadCommand<RunArguments>) -> Result<Ending, Failure> {
    let asked = workload.command();
    let machine = MachineChoice::load(&asked.machine)?;
    let (protocols, isolation) = protocols_at(&asked.cc, asked.isolation.as_deref())?;
    let protocols = protocols_under(&asked.architecture, &asked.cc, protocols)?;
    let partitions =
        owners(&asked.architecture, &workload.declared(), asked.partitions.as_deref())?;
    let protocol_options =
        options_to_run(&asked.timestamps, &asked.cc_option, &protocols, &[&machine])?;
    let protocol_options = ProtocolOptions { isolation, ..protocol_options };
    let small_pages = asks_for_small_pages(asked, &machine)?;
    let access = access_options(&asked.engine_option, &[&machine])?;
    machine.check_cores(&asked.cores)?;
    check_seeds(asked.seed, ("--repeat", asked.repeat))?;
    let cores = numbers_of_cores(asked, &machine);
    check_servers(&asked.architecture, asked.servers, &cores)?;
    let beside = serves_beside_workers(&asked.architecture, asked.servers);
    let moves = asked.moves.of(&asked.architecture, machine.kind() == MachineKind::Simulated)?;
    let protocols = protocols_with_executors(moves.executors, &asked.cc, protocols)?;
    let beside = (moves.executors as u64, u64::from(beside));
    machine.check_fibers(asked.fibers, beside, &cores)?;
    check_owners(partitions, asked.servers, &cores)?;
    check_aside(asked)?;
    let recorded = asked.certify || asked.history.is_some();
    let mut configurations = Vec::new();
    for &cores in &cores {
        let usual = Length::usual(&machine, cores);
        // A requested length is used exactly. A history is kept in memory, so a recorded run has a fixed length too.
        let exact = asked.seconds.is_some()
            || asked.warm_up.is_some()
            || asked.commits.is_some()
            || recorded;
        let length = if exact || asked.arrivals.is_some() { usual.exact() } else { usual };
        for &protocol in &protocols {
            configurations.push(Configuration {
                machine: machine.clone(),
                architecture: asked.architecture.clone(),
                protocol,
                protocol_options: protocol_options.clone(),
                access,
                partitions,
                cores,
                fibers: asked.fibers as usize,
                time_slice_s: asked.time_slice,
                servers: asked.servers.map(|servers| servers as usize),
                moves,
                warm_up_s: asked.warm_up.unwrap_or(length.warm_up_s),
                measured_s: asked.seconds.unwrap_or(length.measured_s),
                growth: length.growth,
                commits: asked.commits,
                small_pages,
                repetitions: asked.repeat as usize,
                seed: asked.seed,
                breakdown: asked.breakdown,
                arrivals: arrivals(asked),
                back_off: asked.back_off,
                admission: asked.admission,
                evidence: if recorded { Evidence::Measured } else { Evidence::None },
                keep_history: asked.history.is_some(),
            });
        }
    }
    if asked.history.is_some() && (configurations.len() != 1 || asked.repeat != 1) {
        return Err(Failure::refused(format!(
            "--history: {} runs are asked for; allowed: one protocol, one number of cores, --repeat 1",
            configurations.len() as u64 * asked.repeat
        )));
    }
    workload.perform(Defaults::Usual, Job { asked, configurations })
}

/// Fails if workers are to put transactions aside and to wait for arrivals.
fn check_aside(asked: &RunArguments) -> Result<(), Failure> {
    if asked.back_off.puts_aside() && asked.arrivals.is_some() {
        return Err(Failure::refused(
            "--back-off aside: a worker attempts the next transaction meanwhile, but with --arrivals it waits for that one to arrive; allowed with --arrivals: wait"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Returns the numbers of cores that were asked for, or the usual one.
fn numbers_of_cores(asked: &RunArguments, machine: &MachineChoice) -> Vec<usize> {
    let usual = match machine.kind() {
        MachineKind::Native => machine.cores(),
        _ => machine.cores().min(64),
    };
    match asked.cores.is_empty() {
        true => vec![usual],
        false => asked.cores.iter().map(|&n| n as usize).collect(),
    }
}

/// Returns whether native tables should have small pages. Fails on a simulated machine, whose file names its pages.
fn asks_for_small_pages(asked: &RunArguments, machine: &MachineChoice) -> Result<bool, Failure> {
    let small_pages = asked.pages == "small";
    if small_pages && machine.kind() != MachineKind::Native {
        let name = machine.name();
        return Err(Failure::refused(format!(
            "--pages small: the pages of {name} are in its machine file; allowed with it: huge"
        )));
    }
    Ok(small_pages)
}

/// Default limit of the busy time of a simulated run, summed over its cores. The host takes a few times as long.
const MOST_BUSY_S: f64 = 8.0;

/// Default lengths of a measurement.
#[derive(Clone, Copy)]
struct Length {
    warm_up_s: f64,
    measured_s: f64,
    growth: Option<Growth>,
}

impl Length {
    /// Returns lengths that begin short and adapt. A simulated core does a hundred thousand transactions in a second,
    /// so a run with few cores must be longer to give a reliable number. The host's cost depends on the number of
    /// transactions, so a run with many cores must be shorter.
    fn usual(machine: &MachineChoice, cores: usize) -> Length {
        let (warm_up_s, measured_s, most_s) = match machine.kind() {
            MachineKind::Native => (0.3, 1.0, 4.0),
            _ => (0.0002, 0.001 * (64.0 / cores as f64).max(1.0), 1.0),
        };
        let (most_busy_s, together_s) = (MOST_BUSY_S, f64::INFINITY);
        let growth = Growth { most_s, most_busy_s, together_s, rule: Rule::default() };
        Length { warm_up_s, measured_s, growth: Some(growth) }
    }

    fn exact(self) -> Length {
        Length { growth: None, ..self }
    }
}

/// Returns the arrivals of an open loop, if one was requested.
fn arrivals(asked: &RunArguments) -> Option<Arrivals> {
    let process = match asked.arrivals.as_deref()? {
        "fixed" => Process::Fixed,
        _ => Process::Poisson,
    };
    Some(Arrivals { process, rate_txn_per_s: asked.rate? })
}

struct Job<'a> {
    asked: &'a RunArguments,
    configurations: Vec<Configuration>,
}

impl Task for Job<'_> {
    type Output = Ending;

    fn fewest_workers(&self) -> Option<u64> {
        self.configurations.iter().map(|configuration| configuration.cores as u64).min()
    }

    fn perform<W: Workload>(self, workload: &W, facts: &Facts) -> Result<Ending, Failure> {
        let history = HistoryFile::parsed(self.asked)?;
        check_files(self.asked)?;
        let outputs = Outputs::new(self.asked.json.clone(), self.asked.csv.clone());
        let stop = interrupt::listen()?;
        let origin = Origin::here();
        let earlier = if self.asked.resume { outputs.earlier()? } else { Vec::new() };
        let all = self.configurations.len();
        let progress = Progress::of(all, all as u64);
        let mut measured: Vec<Measured> = Vec::new();
        let mut failure = None;
        for configuration in &self.configurations {
            let (name, cores) = (configuration.protocol, configuration.cores);
            progress.begin(format!("{name} on {cores} cores"));
            let known = earlier.iter().find(|r| configuration.is_of(workload, facts, &origin, r));
            let found = match known {
                Some(known) => Ok(Some(Measured::earlier(known.clone()))),
                None => configuration.measure(workload, facts, &origin, stop),
            };
            match found {
                Ok(Some(found)) => {
                    progress.done(&found.line(), 1);
                    measured.push(found);
                    let records: Vec<RunRecord> = records(&measured);
                    failure = outputs.keep(&records).err();
                }
                Ok(None) => {}
                // Earlier measurements are kept.
                Err(error) => failure = Some(error),
            }
            if failure.is_some() || interrupt::requested() {
                break;
            }
        }
        progress.finish();
        if measured.is_empty()
            && let Some(failure) = failure
        {
            return Err(failure);
        }
        if let Some(file) = history {
            file.write(measured.iter().find_map(|measured| measured.history.as_ref()))?;
        }
        let ending = self.report(&outputs, &measured)?;
        failure.map_or(Ok(ending), Err)
    }
}

/// Returns the records of the measurements.
fn records(measured: &[Measured]) -> Vec<RunRecord> {
    measured.iter().map(|m| m.record.clone()).collect()
}

/// Checks that the files can be written and that none is overwritten by mistake, so that no measurement is lost.
fn check_files(asked: &RunArguments) -> Result<(), Failure> {
    let existing = match asked.force || asked.resume {
        true => Existing::Replaced,
        false if asked.history.is_some() => Existing::Refused(""),
        false => Existing::Refused("--resume to continue the file of --json"),
    };
    let named = [
        ("--json", asked.json.as_deref()),
        ("--csv", asked.csv.as_deref()),
        ("--history", asked.history.as_deref()),
    ];
    destination::check(&named, existing)
}

/// Destination and format of a history.
struct HistoryFile<'a> {
    path: &'a Path,
    format: Format,
}

impl<'a> HistoryFile<'a> {
    /// Returns the file and format that were requested, if there are any.
    fn parsed(asked: &'a RunArguments) -> Result<Option<HistoryFile<'a>>, Failure> {
        let Some(path) = asked.history.as_deref() else { return Ok(None) };
        let format = asked.history_format.parse();
        let format =
            format.map_err(|error| Failure::refused(format!("--history-format: {error}")))?;
        Ok(Some(HistoryFile { path, format }))
    }

    fn write(&self, history: Option<&History>) -> Result<(), Failure> {
        let Some(history) = history else { return Ok(()) };
        let text = export(history, self.format);
        let text = text.map_err(|error| Failure::refused(format!("--history: {error}")))?;
        Ok(write_whole(self.path, text.as_bytes())?)
    }
}

impl Job<'_> {
    fn report(&self, outputs: &Outputs, measured: &[Measured]) -> Result<Ending, Failure> {
        let interrupted = interrupt::requested();
        if interrupted && measured.is_empty() {
            eprintln!("interrupted before anything was measured");
            return Ok(Ending::Interrupted);
        }
        let records = records(measured);
        outputs.close(&records)?;
        let mut notes = notes::certificates(measured, true);
        notes.push_str(&notes::laws(measured, true));
        notes.push_str(&notes::arrivals(&records));
        notes.push_str(&notes::littles_law(&records));
        if outputs.take_stdout() {
            eprint!("{notes}");
        } else {
            let terminal = screen::terminal();
            let mut text = report::table(&records, terminal);
            if self.asked.breakdown {
                text.push_str(&notes::breakdown(&records));
                text.push_str(&notes::procedures(&records));
            }
            screen::say(&format!("{text}{notes}"))?;
        }
        let broken = records.iter().any(|record| record.certificate.breaks_promise())
            || !notes::laws(measured, false).is_empty();
        Ok(match (broken, interrupted) {
            (true, _) => Ending::Broken,
            (false, true) => Ending::Interrupted,
            (false, false) => Ending::Good,
        })
    }
}
