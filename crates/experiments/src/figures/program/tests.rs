//! Tests that runs of the measured program find their measurements and their simulations.

use super::*;
use harness::run_record::RunRecord;

const QUICK: Length = Length { effort: Effort::Quick, busy_s: Some(0.001), seed: 1 };

#[test]
fn measurements_are_found_under_the_names_of_one_thing() {
    let all = Program::new("hpe", "optimised", "SILO", 4, 56);
    let last = Program::new("hpe", "opt8", "SILO", 4, 56);
    let found = last.measured().expect("figure 8a has the point");
    assert_eq!(all.measured(), Some(found.clone()));
    assert!((4e6..5e6).contains(&found.throughput_txn_per_s), "{found:?}");
    // The loader of the released program places warehouses otherwise.
    assert_eq!(Program { placement: Placement::Home, ..last }.measured(), None);
    // The directory has a part of the points.
    assert_eq!(Program::new("hpe", "opt8", "SILO", 4, 1344).measured(), None);
    let far = Program {
        numa: "remote",
        remote_pct: (0, 0),
        ..Program::new("hpe", "numa-isolated", "SILO", 1568, 1568)
    };
    assert!(far.measured().is_some());
}

#[test]
fn a_build_without_a_simulation_says_why_and_keeps_its_measurements() {
    let plain = Program::new("hpe", "no-such-build", "NO_WAIT", 4, 28);
    let why = plain.unable().expect("there is no such build");
    assert_eq!(why, "of the build no-such-build, which is unknown");
    assert!(Program::new("hpe", "original", "NO_WAIT", 4, 28).measured().is_some());
    assert_eq!(Program::new("hpe", "opt8", "NO_WAIT", 4, 28).unable(), None);
}

#[test]
fn a_record_is_recognised_by_its_title_and_its_length() {
    let run = Program::new("power9", "optimised", "NO_WAIT", 4, 2);
    let stop = Word::new(0);
    let record = run.simulate(QUICK, 61, &stop).unwrap().expect("nobody stopped it");
    assert!(record.throughput_txn_per_s > 0.0 && record.commits > 0);
    assert_eq!(work_cycles_of(&record), Some(61));
    assert!(run.is_of(&record) && run.is_as_long(QUICK, &record));
    assert!(!run.is_as_long(Length { busy_s: None, ..QUICK }, &record));
    assert!(!run.is_as_long(Length { seed: 2, ..QUICK }, &record));
    let spread = Program { order: "spread1", ..run.clone() };
    assert!(!spread.is_of(&record) && !run.is_of(&RunRecord::blank()));
}

#[test]
fn schemes_have_the_same_interval_if_there_is_a_warehouse_for_each_core() {
    let first_s = |scheme, warehouses| {
        let run = Program::new("hpe", "opt8", scheme, warehouses, 28);
        let length = Length { effort: Effort::Quick, busy_s: None, seed: 1 };
        run.configuration(length, 0).unwrap().plan.measured_s
    };
    assert_eq!(first_s("DL_DETECT", 28), first_s("SILO", 28));
    // A scheme that waits until a timeout needs an interval that is long beside it.
    assert!(first_s("DL_DETECT", 4) > first_s("SILO", 4));
}
