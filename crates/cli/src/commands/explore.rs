//! Implements `kilocore explore`: explores adversarial schedules on two threads of the host.

pub(super) mod blocks;
mod histories;
mod tracing;

use crate::arguments::{
    ExploreCommand, access_options, check_partitioned, check_seeds, check_servers,
    declarations_under, protocol_options, protocols_at, protocols_under, protocols_with_executors,
    table_places_name,
};
use crate::failure::{Ending, Failure};
use crate::measurement::{access_arguments, protocol_arguments};
use crate::report::rate;
use crate::{interrupt, screen, suggestion};
use harness::explore::{Exploration, Explorations, Finding};
use indicatif::ProgressBar;
use protocols::faults::{self, Detector, Planted};
use protocols::{Isolation, ProtocolOptions};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::time::Instant;
use txn::Workload;
use workloads::registry;
use workloads::variation::{Explorer, Form, KEY_ORDER, ROLLBACKS};

/// One protocol or planted bug to explore, and the expected result.
struct Subject {
    /// Name of the protocol or of the planted bug.
    name: &'static str,
    exploration: Exploration,
    /// Form of the workload, or none for the usual one.
    form: Option<Form>,
    /// Detectors of which one must find a violation. None if there must be no violation.
    must_fail: Option<Vec<&'static str>>,
}

/// Explores what `command` asks for.
pub fn explore(command: &ExploreCommand) -> Result<Ending, Failure> {
    let subjects = subjects(command)?;
    if let Some(folder) = &command.asked.histories {
        return histories::write(&subjects, command, folder);
    }
    interrupt::listen()?;
    silence_explorers();
    let mut ending = Ending::Good;
    let width = subjects.iter().map(|s| s.name.len()).max().unwrap_or(0);
    for subject in &subjects {
        if let Some(script) = &command.asked.script {
            if tracing::of_script(subject, command, script)? != Ending::Good {
                ending = Ending::Broken;
            }
            continue;
        }
        let bar = screen::bar(subject.exploration.schedules);
        bar.set_message(subject.name);
        let started = Instant::now();
        let explorer = Schedules { exploration: &subject.exploration, bar: &bar };
        let Ok(outcome) = registry::explore(command.workload, subject.form, explorer) else {
            unreachable!("the workload has the form")
        };
        let outcome = outcome?;
        let seconds = started.elapsed().as_secs_f64();
        bar.finish_and_clear();
        let verdict = match (&outcome.finding, &subject.must_fail) {
            (None, None) => "no violation".to_owned(),
            (None, Some(_)) if interrupt::requested() => "no violation so far".to_owned(),
            (None, Some(_)) => "NO VIOLATION, though there must be one".to_owned(),
            (Some(finding), None) => format!("VIOLATION at seed {}", finding.seed),
            (Some(finding), Some(_)) => {
                format!("violation at seed {}, as there must be", finding.seed)
            }
        };
        let mut text = format!(
            "{:width$}  {:>7} schedules  {:>7} commits  {:>7} aborts  {:>7} operations/s  {verdict}\n",
            subject.name,
            outcome.schedules,
            rate(outcome.commits as f64),
            rate(outcome.aborts as f64),
            rate(outcome.operations as f64 / seconds.max(1e-9)),
        );
        if let Some(finding) = &outcome.finding {
            text.push_str(&told(finding, subject, command));
        }
        screen::say(&text)?;
        if let Some(finding) = outcome.finding.as_ref().filter(|_| command.asked.trace) {
            screen::say(&tracing::of_seed(subject, command, finding.seed)?)?;
        }
        let as_it_must = match (&outcome.finding, &subject.must_fail) {
            (None, None) => true,
            (Some(found), Some(by)) => by.contains(&found.violation.detector()),
            (None, Some(_)) => interrupt::requested(),
            (Some(_), None) => false,
        };
        if !as_it_must {
            ending = Ending::Broken;
        }
        if interrupt::requested() {
            screen::say("interrupted\n")?;
            return Ok(if ending == Ending::Good { Ending::Interrupted } else { ending });
        }
    }
    Ok(ending)
}

/// All schedules of one subject.
struct Schedules<'a> {
    exploration: &'a Exploration,
    bar: &'a ProgressBar,
}

impl Explorer for Schedules<'_> {
    type Output = Result<Explorations, Failure>;

    fn explore<W: Workload>(self, of_seed: &(dyn Fn(u64) -> W + Sync)) -> Self::Output {
        blocks::explore(of_seed, self.exploration, self.bar)
    }
}

fn subjects(command: &ExploreCommand) -> Result<Vec<Subject>, Failure> {
    let asked = &command.asked;
    let (names, isolation) = protocols_at(&asked.cc, asked.isolation.as_deref())?;
    let names = protocols_under(&asked.architecture, &asked.cc, names)?;
    check_partitioned(&asked.architecture, &command.declared())?;
    check_servers(&asked.architecture, asked.servers, &[])?;
    let moves = asked.moves.of(&asked.architecture, false)?;
    let names = protocols_with_executors(moves.executors, &asked.cc, names)?;
    let machines = [&crate::arguments::MachineChoice::Native];
    let protocol_options =
        protocol_options(&asked.timestamps, &asked.cc_option, &names, &machines)?;
    let protocol_options = ProtocolOptions { isolation, ..protocol_options };
    check_seeds(asked.seed, ("--schedules", asked.schedules))?;
    if asked.workers > 64 {
        let workers = asked.workers;
        return Err(Failure::refused(format!("--workers is {workers}; allowed: 1 to 64")));
    }
    let exploration = Exploration {
        architecture: asked.architecture.clone(),
        protocol_options: protocol_options.clone(),
        access: access_options(&asked.engine_option, &[])?,
        first_seed: asked.seed,
        schedules: asked.schedules,
        workers: asked.workers as usize,
        fibers: asked.fibers as usize,
        servers: asked.servers.map(|servers| servers as usize),
        executors: asked.moves.executors.map(|_| moves.executors),
        table_owners: moves.table_owners,
        procedures: asked.procedures,
        admission: asked.admission,
        ..Exploration::default()
    };
    if let Some(name) = &asked.mutant {
        let subject = |planted: &Planted| Subject {
            name: planted.name,
            exploration: Exploration {
                mutant: Some(planted.name.into()),
                epoch_order: planted.detector == Detector::EpochOrder,
                ..exploration.clone()
            },
            form: form_showing(planted, command),
            must_fail: Some(planted.detector.names().to_vec()),
        };
        // `all` stands for the bugs that show in this workload. A bug that is named is tried in any workload.
        let all = |planted: &Planted| name == "all" && planted.workload == command.workload;
        let wanted = faults::all().filter(|planted| planted.name == name || all(planted));
        let wanted: Vec<Subject> = wanted.map(subject).collect();
        if wanted.is_empty() {
            let known: Vec<_> = faults::all().map(|planted| planted.name).chain(["all"]).collect();
            let allowed = "all, or one that kilocore list names";
            let text = suggestion::unknown_of_many("planted bug", name, &known, allowed);
            return Err(Failure::refused(text));
        }
        return Ok(wanted);
    }
    let declarations = declarations_under(&asked.architecture, &protocol_options);
    let promises_nothing =
        |name: &str| declarations.iter().any(|d| d.name == name && d.isolation == Isolation::None);
    let subject = |name: &'static str| Subject {
        name,
        exploration: Exploration { protocol: name.into(), ..exploration.clone() },
        form: command.form,
        // NO_CC has no concurrency control, so any kind of violation can come first.
        must_fail: promises_nothing(name)
            .then(|| vec!["certificate", "conservation law", "progress", "panic"]),
    };
    Ok(names.into_iter().map(subject).collect())
}

/// Returns the form of the workload in which `planted` shows, if there is one. Otherwise returns the requested form.
fn form_showing(planted: &Planted, command: &ExploreCommand) -> Option<Form> {
    let form = match planted.detector {
        Detector::NoFalseDeadlock => Some(KEY_ORDER),
        Detector::Rollback => Some(ROLLBACKS),
        _ => None,
    };
    form.filter(|form| command.forms.contains(form)).or(command.form)
}

/// Returns a description of the finding with its detector, and a command that repeats it.
fn told(finding: &Finding, subject: &Subject, command: &ExploreCommand) -> String {
    let replay = replay(subject, command, &format!("--seed {} --schedules 1", finding.seed));
    let violation = finding.violation.to_string();
    let lines: String = violation.lines().map(|line| format!("  {line}\n")).collect();
    let detector = finding.violation.detector();
    format!("  detector: {detector}\n{lines}  replay with: {replay}\n")
}

/// Returns the command that runs a schedule of `subject` again. `which` names the schedule.
fn replay(subject: &Subject, command: &ExploreCommand, which: &str) -> String {
    let (workload, asked) = (command.workload, &command.asked);
    let default = Exploration::default();
    let what = match &subject.exploration.mutant {
        Some(mutant) => format!("--mutant {mutant}"),
        None => format!("--cc {}", subject.name),
    };
    let mut replay = format!("kilocore explore {workload} {what} {which}");
    if subject.exploration.workers != default.workers {
        replay.push_str(&format!(" --workers {}", asked.workers));
    }
    if subject.exploration.fibers != default.fibers {
        replay.push_str(&format!(" --fibers {}", asked.fibers));
    }
    if let Some(servers) = subject.exploration.servers {
        replay.push_str(&format!(" --servers {servers}"));
    }
    if let Some(executors) = subject.exploration.executors {
        replay.push_str(&format!(" --executors {executors}"));
    }
    if let Some(places) = subject.exploration.table_owners {
        replay.push_str(&format!(" --table-owners {}", table_places_name(places)));
    }
    if subject.exploration.procedures != default.procedures {
        replay.push_str(&format!(" --procedures {}", asked.procedures));
    }
    if let Some(admission) = subject.exploration.admission {
        replay.push_str(&format!(" --admission {admission}"));
    }
    if subject.exploration.architecture != default.architecture {
        replay.push_str(&format!(" --architecture {}", asked.architecture));
    }
    if let Some(form) = command.form {
        replay.push_str(&format!(" {form}"));
    }
    if subject.exploration.protocol_options != default.protocol_options {
        let arguments = protocol_arguments(&subject.exploration.protocol_options);
        replay.push_str(&format!(" {arguments}"));
    }
    replay.push_str(&access_arguments(&subject.exploration.access));
    replay
}

/// Suppresses panic messages of explorer threads. A panic under an adversarial schedule is a finding and appears in
/// the report.
pub(super) fn silence_explorers() {
    let usual = take_hook();
    set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if std::thread::current().name() != Some(blocks::THREAD_NAME) {
            usual(info);
        }
    }));
}
