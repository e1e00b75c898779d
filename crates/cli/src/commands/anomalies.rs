//! Implements `kilocore explore --anomalies`: shows which anomalies occur under each protocol and isolation level.

use super::explore::{blocks::THREAD_NAME, silence_explorers};
use super::list::columns;
use crate::arguments::{AnomaliesArguments, check_seeds, protocols_at};
use crate::failure::{Ending, Failure};
use crate::{interrupt, screen, suggestion};
use harness::anomalies::{Anomaly, Expectation, Outcome, Search, search};
use harness::run::HarnessError;
use machine::Native;
use machine::cold::Mutex;
use protocols::{Isolation, ProtocolOptions, registry};
use std::thread;

/// A protocol at one of its isolation levels.
type Row = (&'static str, Isolation);

/// Searches for anomalies, prints the table, and reports every result that is not as expected.
pub fn anomalies(asked: &AnomaliesArguments) -> Result<Ending, Failure> {
    if !asked.anomalies {
        let message = "explore: nothing to explore; allowed: a workload, or --anomalies";
        return Err(Failure::refused(message));
    }
    check_seeds(asked.seed, ("--schedules", asked.schedules))?;
    let rows = rows(asked)?;
    let shown = wanted(asked.only.as_deref())?;
    interrupt::listen()?;
    silence_explorers();
    let cells: Vec<(Row, Anomaly)> =
        rows.iter().flat_map(|row| shown.iter().map(|anomaly| (*row, *anomaly))).collect();
    let outcomes = outcomes(&cells, asked)?;
    if outcomes.iter().any(Option::is_none) {
        screen::say("interrupted\n")?;
        return Ok(Ending::Interrupted);
    }
    let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    screen::say(&table(&rows, &shown, &outcomes))?;
    let mut ending = Ending::Good;
    for (((protocol, isolation), anomaly), outcome) in cells.iter().zip(&outcomes) {
        if outcome.is_as_expected(*anomaly) {
            continue;
        }
        ending = Ending::Broken;
        screen::say(&complaint(protocol, *isolation, *anomaly, outcome))?;
    }
    Ok(ending)
}

/// Returns the requested rows: each protocol at each of its levels, or only at the named level.
fn rows(asked: &AnomaliesArguments) -> Result<Vec<Row>, Failure> {
    let (names, level) = protocols_at(&asked.cc, asked.isolation.as_deref())?;
    let declared = registry::declarations::<Native>(&ProtocolOptions::default());
    let levels = registry::levels::<Native>();
    let levels_of = |name: &str| {
        let at = declared.iter().position(|declaration| declaration.name == name);
        at.map_or(&[][..], |at| levels[at])
    };
    let named = |own: &Isolation| level.is_none_or(|level| level == *own);
    let rows = names.into_iter().flat_map(|name| {
        levels_of(name).iter().filter(move |own| named(own)).map(move |own| (name, *own))
    });
    Ok(rows.collect())
}

fn wanted(only: Option<&str>) -> Result<Vec<Anomaly>, Failure> {
    let Some(name) = only else { return Ok(Anomaly::ALL.to_vec()) };
    let found = Anomaly::ALL.into_iter().find(|a| a.name().eq_ignore_ascii_case(name));
    let known = Anomaly::ALL.map(Anomaly::name);
    let unknown = || Failure::refused(suggestion::unknown("anomaly", name, &known));
    found.map(|anomaly| vec![anomaly]).ok_or_else(unknown)
}

/// Returns the result of each cell, computed on two threads. It is none for cells that an interruption left out.
fn outcomes(
    cells: &[(Row, Anomaly)],
    asked: &AnomaliesArguments,
) -> Result<Vec<Option<Outcome>>, HarnessError> {
    let bar = screen::bar(cells.len() as u64);
    let next = Mutex::new(0..cells.len());
    let found = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(at) = next.lock().next().filter(|_| !interrupt::requested()) else { return };
            let ((protocol, isolation), anomaly) = cells[at];
            let isolation = Some(isolation).filter(|level| *level != Isolation::None);
            let search_for = Search {
                anomaly,
                protocol_options: ProtocolOptions { isolation, ..ProtocolOptions::default() },
                fault: None,
                first_seed: asked.seed,
                schedules: asked.schedules,
                certify: true,
            };
            let outcome = search(protocol, search_for);
            found.lock().push((at, outcome));
            bar.inc(1);
        }
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(2));
    thread::scope(|scope| {
        for _ in 0..threads {
            let named = thread::Builder::new().name(THREAD_NAME.into());
            named.spawn_scoped(scope, work).expect("the system gives a thread");
        }
    });
    bar.finish_and_clear();
    let mut outcomes: Vec<Option<Outcome>> = cells.iter().map(|_| None).collect();
    for (at, outcome) in found.into_inner() {
        outcomes[at] = Some(outcome?);
    }
    Ok(outcomes)
}

/// Returns the text of a cell: whether the anomaly was seen and whether that is expected. The table has a legend.
fn cell(anomaly: Anomaly, outcome: &Outcome) -> String {
    let as_expected = outcome.is_as_expected(anomaly);
    match (anomaly.expectation(outcome.isolation), outcome.seen_at) {
        _ if outcome.failure.is_some() => "BROKEN".to_owned(),
        (_, Some(seed)) if as_expected => format!("seen@{seed}"),
        (_, Some(seed)) => format!("SEEN@{seed}"),
        (Expectation::Never, None) => "never".to_owned(),
        (_, None) if as_expected => "unseen".to_owned(),
        (_, None) => "UNSEEN".to_owned(),
    }
}

fn table(rows: &[Row], anomalies: &[Anomaly], outcomes: &[Outcome]) -> String {
    let header = ["protocol", "isolation"].into_iter().map(str::to_owned);
    let mut lines = vec![header.chain(anomalies.iter().map(|a| a.name().to_owned())).collect()];
    for ((protocol, isolation), outcomes) in rows.iter().zip(outcomes.chunks(anomalies.len())) {
        let name = [(*protocol).to_owned(), isolation.to_string()].into_iter();
        let cells = anomalies.iter().zip(outcomes).map(|(a, outcome)| cell(*a, outcome));
        lines.push(name.chain(cells).collect::<Vec<String>>());
    }
    let mut text = columns(lines);
    let schedules = outcomes.iter().map(|outcome| outcome.schedules).max().unwrap_or(0);
    text.push_str(&format!(
        "\nnever: forbidden, and not seen in {schedules} schedules. seen@S: allowed, and seen at seed S. unseen: allowed, \
         and not seen in {schedules} schedules.\nIn capitals: not as it must be.\n"
    ));
    for anomaly in anomalies {
        text.push_str(&format!("  {:12}  {}\n", anomaly.name(), anomaly.description()));
    }
    text
}

/// Returns a description of an unexpected result, and a command that repeats it.
fn complaint(protocol: &str, isolation: Isolation, anomaly: Anomaly, outcome: &Outcome) -> String {
    let name = anomaly.name();
    let (seed, what) = match (&outcome.failure, outcome.seen_at) {
        (Some((seed, failure)), _) => (*seed, failure.to_string()),
        (None, Some(seed)) => (seed, format!("{name} shows, and is forbidden")),
        (None, None) => {
            let schedules = outcome.schedules;
            return format!(
                "\n{protocol} at {isolation}: {name} is allowed and must show, and does not in {schedules} schedules\n"
            );
        }
    };
    let level = match isolation {
        Isolation::None => String::new(),
        level => format!(" --isolation {level}"),
    };
    format!(
        "\n{protocol} at {isolation}: {what}\nreplay with: kilocore explore --anomalies --cc {protocol}{level} \
         --only {name} --seed {seed} --schedules 1\n"
    )
}
