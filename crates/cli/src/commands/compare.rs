//! Implements `kilocore compare`, the main command. It measures every protocol on this computer's cores and on a
//! simulated machine. The result is a table, a chart and a page, with a certificate for every number.

mod schedule;

use crate::arguments::{
    CompareArguments, Defaults, Facts, MachineChoice, Task, WorkloadCommand, access_options,
    check_seeds, options_to_run, protocols_at,
};
use crate::destination::{self, Existing};
use crate::failure::{Ending, Failure};
use crate::measurement::{Configuration, Measured};
use crate::origin::Origin;
use crate::screen::Progress;
use crate::{interrupt, notes, report, screen};
use harness::run_record::{
    MachineKind, RunRecord, check_writable, read_json, to_json, write_whole,
};
use machine::Word;
use machine::cold::Mutex;
use protocols::ProtocolOptions;
use schedule::{native_configuration, native_cores, simulated_configuration, simulated_cores};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;
use txn::Workload;

/// Compares protocols on `workload`, as the command's options say.
pub fn compare(workload: &WorkloadCommand<CompareArguments>) -> Result<Ending, Failure> {
    let asked = workload.command();
    let simulated = MachineChoice::load(&asked.machine)?;
    if simulated.kind() == MachineKind::Native {
        return Err(Failure::refused(
            "--machine is native, which is always compared; allowed: a machine to simulate beside it",
        ));
    }
    let (protocols, isolation) = protocols_at(&asked.cc, asked.isolation.as_deref())?;
    let native = MachineChoice::Native;
    let machines = [&native, &simulated];
    let protocol_options =
        options_to_run(&asked.timestamps, &asked.cc_option, &protocols, &machines)?;
    let protocol_options = ProtocolOptions { isolation, ..protocol_options };
    let access = access_options(&asked.engine_option, &machines)?;
    simulated.check_cores(&asked.cores)?;
    let asked_for = |configuration| Configuration {
        protocol_options: protocol_options.clone(),
        access,
        seed: asked.seed,
        back_off: asked.back_off,
        ..configuration
    };
    let mut configurations = Vec::new();
    let each = native_cores(native.cores(), asked.quick);
    let count = each.len() * protocols.len();
    for &cores in &each {
        for protocol in &protocols {
            let configuration = native_configuration(protocol, cores, count, asked.quick);
            configurations.push(asked_for(configuration));
        }
    }
    for cores in simulated_cores(simulated.cores(), &asked.cores, asked.quick) {
        for protocol in &protocols {
            let configuration = simulated_configuration(&simulated, protocol, cores, asked.quick);
            configurations.push(asked_for(configuration));
        }
    }
    let most = configurations.iter().map(|one| one.repetitions as u64).max().unwrap_or(1);
    check_seeds(asked.seed, ("repetitions", most))?;
    workload.perform(Defaults::Compared, Job { asked, configurations })
}

struct Job<'a> {
    asked: &'a CompareArguments,
    configurations: Vec<Configuration>,
}

/// Results of the configurations, in their order.
type Results = Vec<Option<Result<Option<Measured>, Failure>>>;

impl Task for Job<'_> {
    type Output = Ending;

    fn fewest_workers(&self) -> Option<u64> {
        self.configurations.iter().map(|configuration| configuration.cores as u64).min()
    }

    fn perform<W: Workload>(self, workload: &W, facts: &Facts) -> Result<Ending, Failure> {
        let files = Files::checked(self.asked)?;
        let stop = interrupt::listen()?;
        let started = Instant::now();
        let earlier = match self.asked.resume && files.records.exists() {
            true => read_json(&files.records)?,
            false => Vec::new(),
        };
        let results = self.measure(workload, facts, stop, (&files, earlier));
        let mut measured = Vec::new();
        let mut failure = None;
        for result in results.into_iter().flatten() {
            match result {
                Ok(found) => measured.extend(found),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if measured.is_empty() {
            return match failure {
                Some(error) => Err(error),
                None => {
                    eprintln!("interrupted before anything was measured");
                    Ok(Ending::Interrupted)
                }
            };
        }
        let records: Vec<RunRecord> = measured.iter().map(|m| m.record.clone()).collect();
        let title = format!("kilocore compare {}", facts.command_line());
        files.write(&title, &records)?;
        let terminal = screen::terminal();
        let mut text = format!("{title}\n\n");
        text.push_str(&report::table(&records, terminal));
        text.push_str(&report::chart(&records, terminal));
        text.push_str(&notes::certificates(&measured, false));
        let broken_laws = notes::laws(&measured, false);
        text.push_str(&broken_laws);
        text.push_str(&notes::littles_law(&records));
        text.push_str(&format!(
            "{} of {} configurations in {:.0} s. Report: {}, records: {}\n",
            records.len(),
            self.configurations.len(),
            started.elapsed().as_secs_f64(),
            files.page.display(),
            files.records.display(),
        ));
        screen::say(&text)?;
        let broken = !broken_laws.is_empty()
            || records.iter().any(|record| record.certificate.breaks_promise());
        match failure {
            Some(error) => Err(error),
            None if broken => Ok(Ending::Broken),
            None if interrupt::requested() => Ok(Ending::Interrupted),
            None => Ok(Ending::Good),
        }
    }
}

impl Job<'_> {
    /// Runs native measurements alone, one after the other, and then simulations, two at a time.
    fn measure<W: Workload>(
        &self,
        workload: &W,
        facts: &Facts,
        stop: &Word,
        (files, earlier): (&Files, Vec<RunRecord>),
    ) -> Results {
        let origin = Origin::here();
        let cost = self.configurations.iter().map(schedule::expected_ms).sum();
        let progress = Progress::of(self.configurations.len(), cost);
        let results = Mutex::new(Results::new());
        results.lock().resize_with(self.configurations.len(), || None);
        let started = Instant::now();
        let one = |at: usize| {
            let planned = &self.configurations[at];
            let known = earlier.iter().find(|r| planned.is_of(workload, facts, &origin, r));
            let configuration = &schedule::hurried(planned, started.elapsed());
            let (name, cores) = (configuration.protocol, configuration.cores);
            progress.begin(format!("{name}, {cores} cores, {}", configuration.machine.name()));
            let outcome = match known {
                Some(known) => Ok(Some(Measured::earlier(known.clone()))),
                None => configuration.measure(workload, facts, &origin, stop),
            };
            if let Ok(Some(measured)) = &outcome {
                progress.done(&measured.line(), schedule::expected_ms(configuration));
            }
            let mut results = results.lock();
            results[at] = Some(outcome);
            // A record that can't be written fails its configuration now. Otherwise it would be missing at the end.
            if known.is_none()
                && let Err(error) = files.keep(&records(&results))
            {
                results[at] = Some(Err(error));
            }
            matches!(results[at], Some(Err(_)))
        };
        let kind = |at: &usize| self.configurations[*at].machine.kind();
        let (native, mut simulated): (Vec<usize>, Vec<usize>) =
            (0..self.configurations.len()).partition(|at| kind(at) == MachineKind::Native);
        let refused = native.into_iter().any(|at| interrupt::requested() || one(at));
        if !refused {
            // Long simulations run first, so that no thread is left with a long one at the end.
            simulated.reverse();
            let next = AtomicUsize::new(0);
            let threads = thread::available_parallelism().map_or(1, |n| n.get().min(2));
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        while !interrupt::requested()
                            && let Some(at) = simulated.get(next.fetch_add(1, Ordering::Relaxed))
                            && !one(*at)
                        {}
                    });
                }
            });
        }
        progress.finish();
        results.into_inner()
    }
}

/// Returns the records that exist so far, in the order of their configurations.
fn records(results: &Results) -> Vec<RunRecord> {
    let found = results.iter().flatten().filter_map(|result| result.as_ref().ok()?.as_ref());
    found.map(|measured| measured.record.clone()).collect()
}

/// Files of the report.
struct Files {
    page: PathBuf,
    records: PathBuf,
    table: PathBuf,
}

impl Files {
    /// Creates the folder and checks that its files can be written and that none is overwritten by mistake. A report of
    /// this program in the default folder may be replaced.
    fn checked(asked: &CompareArguments) -> Result<Files, Failure> {
        let folder = asked.out.as_deref().unwrap_or(Path::new("kilocore-report"));
        fs::create_dir_all(folder).map_err(|error| {
            Failure::refused(format!("{}: cannot be made a folder: {error}", folder.display()))
        })?;
        let files = Files {
            page: folder.join("index.html"),
            records: folder.join("records.json"),
            table: folder.join("table.txt"),
        };
        let all = [&files.page, &files.records, &files.table];
        let (own, there) =
            (read_json(&files.records).is_ok(), all.iter().any(|file| file.exists()));
        let replaced = asked.force || asked.resume || (asked.out.is_none() && own);
        if there && !replaced {
            let (found, other) = match own {
                true => ("the folder has a report", "--resume to continue it"),
                false => ("the folder has files of these names that are no report", ""),
            };
            let existing = Existing::Refused(other);
            destination::refuse("--out", folder, found, existing)?;
        }
        for file in all {
            check_writable(file)?;
        }
        Ok(files)
    }

    /// Writes all records that exist so far. After an error the file keeps its previous contents.
    fn keep(&self, records: &[RunRecord]) -> Result<(), Failure> {
        Ok(write_whole(&self.records, to_json(records).as_bytes())?)
    }

    fn write(&self, title: &str, records: &[RunRecord]) -> Result<(), Failure> {
        let plain = report::Terminal::default();
        self.keep(records)?;
        write_whole(&self.page, report::page(title, records).as_bytes())?;
        let table = report::table(records, plain) + &report::chart(records, plain);
        write_whole(&self.table, table.as_bytes())?;
        Ok(())
    }
}
