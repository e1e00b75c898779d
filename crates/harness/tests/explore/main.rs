//! Runs the explorer against every protocol and against known bugs. All tests are in one binary, because linking
//! takes long.

mod accesses;
mod admission;
mod divided;
mod every_protocol;
mod fibers;
mod forms;
mod known_bugs;
mod levels;
mod old_failures;
mod owned;
mod partitioned_serial;
mod point_reads;
mod scripted;
mod several_sites;
mod stories;
mod strictness;

use kilocore_harness::explore::{Exploration, Explorations, Violation, explore};
use machine::Word;
use protocols::{Knob, ProtocolOptions};
use txn::Workload;

/// Explores a workload that `make` creates from each schedule's seed.
fn explored<W: Workload>(make: &dyn Fn(u64) -> W, exploration: &Exploration) -> Explorations {
    explore(make, exploration, &Word::new(0), &mut |_| {}).expect("can run")
}

/// Explores as [`explored`] does. No schedule may show a violation, and some transactions must commit.
fn passes<W: Workload>(make: &dyn Fn(u64) -> W, exploration: &Exploration) -> Explorations {
    let outcome = explored(make, exploration);
    if let Some(finding) = outcome.finding {
        let Exploration { protocol, protocol_options, .. } = exploration;
        panic!("{protocol} {protocol_options:?} seed {}: {}", finding.seed, finding.violation);
    }
    assert!(outcome.schedules == exploration.schedules && outcome.commits > 0, "{outcome:?}");
    outcome
}

/// Returns the first violation.
fn violation<W: Workload>(make: &dyn Fn(u64) -> W, exploration: &Exploration) -> Violation {
    let finding = explored(make, exploration).finding;
    finding.unwrap_or_else(|| panic!("{exploration:?} finds the bug")).violation
}

fn set(options: &mut ProtocolOptions, knobs: &[(&str, &str)]) {
    for (name, value) in knobs {
        Knob::named(name).expect("a knob").set(options, value).unwrap();
    }
}

/// Returns the default options with these knobs set.
fn options(knobs: &[(&str, &str)]) -> ProtocolOptions {
    let mut options = ProtocolOptions::default();
    set(&mut options, knobs);
    options
}

/// Returns the exploration of a protocol with these knobs.
fn exploration(protocol: &str, knobs: &[(&str, &str)], schedules: u64) -> Exploration {
    Exploration {
        protocol: protocol.into(),
        protocol_options: options(knobs),
        schedules,
        ..Exploration::default()
    }
}
