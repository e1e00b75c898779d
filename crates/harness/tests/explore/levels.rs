//! Tests isolation levels weaker than serializable. Every protocol that gives such a level keeps its promise, and the
//! level is really weaker.

use crate::{exploration, passes, violation};
use engine::EngineError;
use kilocore_harness::{
    explore::{Exploration, Violation, explore},
    run::HarnessError,
};
use machine::{Explored, Word};
use protocols::{
    Isolation::{self, ReadCommitted, Serializable, Snapshot},
    ProtocolOptions,
    registry::{declarations, levels},
};
use workloads::micro::counters::Counters;
use workloads::micro::ranges::Ranges;
use workloads::smallbank::SmallBank;

macro_rules! weaker {
    ($($level:ident: $protocol:literal, $isolation:ident);* $(;)?) => {
        const WEAKER: &[(&str, Isolation)] = &[$(($protocol, $isolation)),*];
        $(
            #[test]
            fn $level() {
                passes_and_is_weaker($protocol, $isolation);
            }
        )*
    };
}

weaker! {
    dl_detect: "DL_DETECT", ReadCommitted;
    no_wait: "NO_WAIT", ReadCommitted;
    wait_die: "WAIT_DIE", ReadCommitted;
    wound_wait: "WOUND_WAIT", ReadCommitted;
    plor: "PLOR", ReadCommitted;
    ordered_2pl: "ORDERED_2PL", ReadCommitted;
    two_version_no_wait: "2V_NO_WAIT", ReadCommitted;
    snapshot: "SNAPSHOT", Snapshot;
    hekaton_snapshot: "HEKATON", Snapshot;
    hekaton_read_committed: "HEKATON", ReadCommitted;
    occ: "OCC", ReadCommitted;
    silo: "SILO", ReadCommitted;
    tictoc: "TICTOC", ReadCommitted;
}

#[test]
fn none_is_missing() {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    let gives = declared.iter().zip(levels::<Explored>());
    let all = gives.flat_map(|(d, levels)| levels.iter().map(|level| (d.name, *level)));
    let strong = [Serializable, Isolation::None];
    let weaker: Vec<_> = all.filter(|(_, level)| !strong.contains(level)).collect();
    assert_eq!(WEAKER, weaker, "in the order of the registry");
}

fn passes_and_is_weaker(protocol: &str, level: Isolation) {
    let protocol_options = ProtocolOptions { isolation: Some(level), ..Default::default() };
    let asked = Exploration { protocol_options, ..exploration(protocol, &[], 1500) };
    passes(&Counters::varied, &asked);
    passes(&Ranges::varied, &asked);
    passes(&SmallBank::varied, &asked);
    // The write skew of snapshot isolation needs more schedules than the others' anomalies.
    let demanding = Exploration { demand_strict: true, schedules: 4_000, ..asked };
    let violation = violation(&SmallBank::varied, &demanding);
    assert!(matches!(violation, Violation::Certificate(_)), "{violation}");
}

#[test]
fn levels_that_cannot_be_given_are_refused() {
    let isolation = Some(ReadCommitted);
    let protocol_options = ProtocolOptions { isolation, ..Default::default() };
    let asked = Exploration { protocol_options, ..exploration("HSTORE", &[], 1000) };
    let outcome = explore(&Counters::varied, &asked, &Word::new(0), &mut |_| {});
    let error = outcome.expect_err("refused");
    assert!(matches!(error, HarnessError::Engine(EngineError::Isolation(_))), "{error}");
    assert_eq!(
        error.to_string(),
        "HSTORE cannot give isolation read-committed; it gives: serializable"
    );
}
