//! Tests the table of anomalies: every protocol, every level that it gives, every anomaly.

use kilocore_harness::anomalies::{Anomaly, Expectation, Outcome, Search, search};
use machine::Explored;
use protocols::{
    Isolation, ProtocolOptions, faults,
    registry::{declarations, levels},
};

fn search_for(anomaly: Anomaly, isolation: Option<Isolation>, schedules: u64) -> Search {
    let protocol_options = ProtocolOptions { isolation, ..Default::default() };
    Search { anomaly, protocol_options, fault: None, first_seed: 1, schedules, certify: true }
}

/// Forbidden anomalies never show, and those that characterise a weaker level do.
#[test]
fn the_table_is_as_expected() {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    for (declaration, levels) in declared.iter().zip(levels::<Explored>()) {
        for level in levels {
            let isolation = Some(*level).filter(|level| *level != Isolation::None);
            for anomaly in Anomaly::ALL {
                let outcome = search(declaration.name, search_for(anomaly, isolation, 1000));
                let outcome = outcome.expect("can run");
                let (name, what) = (declaration.name, anomaly.name());
                assert!(outcome.is_as_expected(anomaly), "{name} {level} {what}: {outcome:?}");
                assert_eq!(outcome.isolation, *level);
            }
        }
    }
}

fn outcome_of_bug(name: &str, anomaly: Anomaly) -> Outcome {
    let planted = faults::named(name).expect("it is planted");
    let asked = search_for(anomaly, None, 5000);
    let protocol_options = (planted.options)(asked.protocol_options);
    let fault = Some(planted.fault());
    let asked = Search { protocol_options, fault, certify: false, ..asked };
    search(planted.protocol, asked).expect("can run")
}

/// No protocol of the registry reads uncommitted data. A planted bug that bypasses the write set shows that the tests
/// for dirty reads can detect them.
#[test]
fn dirty_reads_show_where_writes_bypass_the_protocol() {
    for anomaly in [Anomaly::G1a, Anomaly::G1b, Anomaly::G1c] {
        let outcome = outcome_of_bug("bypassing_writes", anomaly);
        assert!(outcome.seen_at.is_some(), "{}: {outcome:?}", anomaly.name());
        assert!(!outcome.is_as_expected(anomaly), "it is forbidden");
    }
}

#[test]
fn planted_bugs_show_their_anomalies() {
    for (bug, anomaly) in [
        ("snapshot_last_updater_wins", Anomaly::P4),
        ("snapshot_reads_past_commits", Anomaly::GSingle),
        ("ssn_without_exclusion", Anomaly::G2Item),
        ("phantom_uncertified_range", Anomaly::G2),
        ("mvcc_without_read_marks", Anomaly::G2Item),
        ("phantom_by_returned_keys", Anomaly::G2),
    ] {
        let outcome = outcome_of_bug(bug, anomaly);
        assert!(outcome.seen_at.is_some(), "{bug} {}: {outcome:?}", anomaly.name());
    }
}

/// The planted bug reduces SILO's read committed to the bare definition of that level.
#[test]
fn updates_without_validation_are_lost_under_read_committed() {
    for anomaly in [Anomaly::LostForUpdate, Anomaly::InsertedTwice] {
        let asked = search_for(anomaly, Some(Isolation::ReadCommitted), 5000);
        let fault = Some(faults::UPDATES_UNVALIDATED);
        let outcome = search("SILO", Search { fault, ..asked }).expect("can run");
        assert!(outcome.seen_at.is_some(), "{}: {outcome:?}", anomaly.name());
        assert!(!outcome.is_as_expected(anomaly), "it is forbidden");
    }
}

#[test]
fn a_seed_replays() {
    let isolation = Some(Isolation::ReadCommitted);
    let seen = |first_seed, schedules| {
        let wanted = Search { first_seed, ..search_for(Anomaly::P4, isolation, schedules) };
        search("SILO", wanted).expect("can run").seen_at
    };
    let seed = seen(1, 1000).expect("it shows");
    assert_eq!(seen(seed, 1), Some(seed));
    assert_eq!(Anomaly::P4.expectation(Isolation::ReadCommitted), Expectation::Seen);
}
