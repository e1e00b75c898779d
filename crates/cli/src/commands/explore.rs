//! `kilocore explore`: adversarial schedules, on two threads of the host.

pub(super) mod blocks;

use crate::arguments::{
    ExploreArguments, ExploreCommand, KeyChoice, protocol_options, protocols_at,
};
use crate::failure::{Ending, Failure};
use crate::measurement::protocol_arguments;
use crate::report::rate;
use crate::{interrupt, screen, suggestion};
use harness::explore::{Exploration, Finding};
use harness::variation;
use protocols::faults::{self, Detector, Planted};
use protocols::{Isolation, ProtocolOptions};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::time::Instant;

/// What is explored, and whether it must fail.
struct Subject {
    /// Name of the protocol or of the planted bug.
    name: &'static str,
    exploration: Exploration,
    /// Rows are accessed in the order of their keys.
    in_order: bool,
    /// Procedures are rolled back half way, now and then.
    rolled_back: bool,
    /// The detectors that must find something; None if nothing may be found.
    must_fail: Option<Vec<&'static str>>,
}

/// Explores what `command` says.
pub fn explore(command: &ExploreCommand) -> Result<Ending, Failure> {
    let (workload, asked) = match command {
        ExploreCommand::Counters(asked) => ("counters", asked),
        ExploreCommand::Ranges(asked) => ("ranges", asked),
        ExploreCommand::Rooms(asked) => ("rooms", asked),
        ExploreCommand::Ycsb(asked) => ("ycsb", asked),
        ExploreCommand::SmallBank(asked) => ("smallbank", asked),
        ExploreCommand::HotCold(asked) => ("hot-cold", asked),
        ExploreCommand::Sites(asked) => ("sites", asked),
        ExploreCommand::KeyValue(asked) => ("key-value", asked),
        ExploreCommand::LongReader(asked) => ("long-reader", asked),
        ExploreCommand::Tatp(asked) => ("tatp", asked),
        ExploreCommand::Tpcb(asked) => ("tpcb", asked),
        ExploreCommand::Tpcc(asked) => ("tpcc", asked),
    };
    let subjects = subjects(workload, asked)?;
    interrupt::listen()?;
    silence_explorers();
    let mut ending = Ending::Good;
    let width = subjects.iter().map(|s| s.name.len()).max().unwrap_or(0);
    for subject in &subjects {
        let bar = screen::bar(subject.exploration.schedules);
        bar.set_message(subject.name);
        let started = Instant::now();
        let outcome = match command {
            ExploreCommand::Counters(_) if subject.in_order => {
                blocks::explore(&variation::counters_in_order, &subject.exploration, &bar)
            }
            ExploreCommand::Counters(_) if subject.rolled_back => {
                blocks::explore(&variation::counters_rolled_back, &subject.exploration, &bar)
            }
            ExploreCommand::Counters(asked) if asked.keys == KeyChoice::Bytes => {
                blocks::explore(&variation::counters_spelled, &subject.exploration, &bar)
            }
            ExploreCommand::Counters(_) => {
                blocks::explore(&variation::counters, &subject.exploration, &bar)
            }
            ExploreCommand::Ranges(asked) if asked.keys == KeyChoice::Bytes => {
                blocks::explore(&variation::ranges_spelled, &subject.exploration, &bar)
            }
            ExploreCommand::Ranges(_) => {
                blocks::explore(&variation::ranges, &subject.exploration, &bar)
            }
            ExploreCommand::Rooms(_) => {
                blocks::explore(&variation::rooms, &subject.exploration, &bar)
            }
            ExploreCommand::Ycsb(_) if subject.in_order => {
                blocks::explore(&variation::ycsb_in_order, &subject.exploration, &bar)
            }
            ExploreCommand::Ycsb(asked) if asked.growing => {
                blocks::explore(&variation::ycsb_growing, &subject.exploration, &bar)
            }
            ExploreCommand::Ycsb(_) => {
                blocks::explore(&variation::ycsb, &subject.exploration, &bar)
            }
            ExploreCommand::SmallBank(_) => {
                blocks::explore(&variation::smallbank, &subject.exploration, &bar)
            }
            ExploreCommand::HotCold(_) => {
                blocks::explore(&variation::hot_cold, &subject.exploration, &bar)
            }
            ExploreCommand::Sites(_) => {
                blocks::explore(&variation::sites, &subject.exploration, &bar)
            }
            ExploreCommand::KeyValue(_) => {
                blocks::explore(&variation::key_value, &subject.exploration, &bar)
            }
            ExploreCommand::LongReader(_) => {
                blocks::explore(&variation::long_reader, &subject.exploration, &bar)
            }
            ExploreCommand::Tatp(_) => {
                blocks::explore(&variation::tatp, &subject.exploration, &bar)
            }
            ExploreCommand::Tpcb(_) => {
                blocks::explore(&variation::tpcb, &subject.exploration, &bar)
            }
            ExploreCommand::Tpcc(_) => {
                blocks::explore(&variation::tpcc, &subject.exploration, &bar)
            }
        }?;
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
            text.push_str(&told(finding, subject, workload, asked));
        }
        screen::say(&text)?;
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

fn subjects(workload: &str, asked: &ExploreArguments) -> Result<Vec<Subject>, Failure> {
    let (names, isolation) = protocols_at(&asked.cc, asked.isolation.as_deref())?;
    let machines = [&crate::arguments::MachineChoice::Native];
    let protocol_options =
        protocol_options(&asked.timestamps, &asked.cc_option, &names, &machines)?;
    let protocol_options = ProtocolOptions { isolation, ..protocol_options };
    if asked.key_order && ["ranges", "rooms"].contains(&workload) {
        let message = "--key-order: ranges are scanned in both directions; allowed: counters, ycsb";
        return Err(Failure::refused(message));
    }
    if asked.growing && workload != "ycsb" {
        return Err(Failure::refused(format!("--growing: {workload} is as it is; allowed: ycsb")));
    }
    if asked.keys == KeyChoice::Bytes {
        if !["counters", "ranges"].contains(&workload) {
            let message =
                format!("--keys bytes: {workload} has numbers; allowed: counters, ranges");
            return Err(Failure::refused(message));
        }
        if asked.key_order || asked.rollbacks {
            return Err(Failure::refused("--keys bytes: not with --key-order or --rollbacks"));
        }
    }
    if asked.workers > 64 {
        let workers = asked.workers;
        return Err(Failure::refused(format!("--workers is {workers}; allowed: 1 to 64")));
    }
    let exploration = Exploration {
        protocol_options: protocol_options.clone(),
        first_seed: asked.seed,
        schedules: asked.schedules,
        workers: asked.workers as usize,
        procedures: asked.procedures,
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
            in_order: asked.key_order || planted.detector == Detector::NoFalseDeadlock,
            rolled_back: asked.rollbacks || planted.detector == Detector::Rollback,
            must_fail: Some(planted.detector.names().to_vec()),
        };
        // All of them are those that show in this workload; by its name, any can be tried.
        let all = |planted: &Planted| name == "all" && planted.workload == workload;
        let wanted = faults::all().filter(|planted| planted.name == name || all(planted));
        let wanted: Vec<Subject> = wanted.map(subject).collect();
        if wanted.is_empty() {
            let known: Vec<_> = faults::all().map(|planted| planted.name).chain(["all"]).collect();
            return Err(Failure::refused(suggestion::unknown("planted bug", name, &known)));
        }
        return Ok(wanted);
    }
    let declarations = crate::arguments::declarations(&protocol_options);
    let promises_nothing =
        |name: &str| declarations.iter().any(|d| d.name == name && d.isolation == Isolation::None);
    let subject = |name: &'static str| Subject {
        name,
        exploration: Exploration { protocol: name.into(), ..exploration.clone() },
        in_order: asked.key_order,
        rolled_back: asked.rollbacks,
        // Without any control everything can go wrong, and whatever comes first is found.
        must_fail: promises_nothing(name)
            .then(|| vec!["certificate", "conservation law", "progress", "panic"]),
    };
    Ok(names.into_iter().map(subject).collect())
}

/// What was found, by whom, and how to see it again.
fn told(finding: &Finding, subject: &Subject, workload: &str, asked: &ExploreArguments) -> String {
    let default = Exploration::default();
    let what = match &subject.exploration.mutant {
        Some(mutant) => format!("--mutant {mutant}"),
        None => format!("--cc {}", subject.name),
    };
    let mut replay =
        format!("kilocore explore {workload} {what} --seed {} --schedules 1", finding.seed);
    if subject.exploration.workers != default.workers {
        replay.push_str(&format!(" --workers {}", asked.workers));
    }
    if subject.exploration.procedures != default.procedures {
        replay.push_str(&format!(" --procedures {}", asked.procedures));
    }
    if asked.key_order {
        replay.push_str(" --key-order");
    }
    if asked.rollbacks {
        replay.push_str(" --rollbacks");
    }
    if asked.growing {
        replay.push_str(" --growing");
    }
    if asked.keys == KeyChoice::Bytes {
        replay.push_str(" --keys bytes");
    }
    if subject.exploration.protocol_options != default.protocol_options {
        let arguments = protocol_arguments(&subject.exploration.protocol_options);
        replay.push_str(&format!(" {arguments}"));
    }
    let violation = finding.violation.to_string();
    let lines: String = violation.lines().map(|line| format!("  {line}\n")).collect();
    let detector = finding.violation.detector();
    format!("  detector: {detector}\n{lines}  replay with: {replay}\n")
}

/// A panic under an adversarial schedule is a finding, which is told in the report: not on the side.
pub(super) fn silence_explorers() {
    let usual = take_hook();
    set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if std::thread::current().name() != Some(blocks::THREAD_NAME) {
            usual(info);
        }
    }));
}
