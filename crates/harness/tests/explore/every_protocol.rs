//! Tests every protocol that promises an isolation level on the workloads that find most bugs, with one test for each
//! pair.

use crate::{exploration, passes};
use kilocore_harness::explore::Exploration;
use machine::Explored;
use protocols::{Isolation, ProtocolOptions, registry::declarations};
use workloads::micro::counters::Counters;
use workloads::micro::notes::Notes;
use workloads::micro::ranges::Ranges;
use workloads::micro::rooms::Rooms;

macro_rules! every_protocol {
    (
        $names:ident: $isolation:ident, in $tests:tt;
        $($module:ident: $protocol:literal),* $(,)?
    ) => {
        const $names: (Isolation, &[&str]) = (Isolation::$isolation, &[$($protocol),*]);
        $(mod $module {
            every_protocol! { @tests $protocol $tests }
        })*
    };
    (@tests $protocol:literal [$($test:ident),*]) => {
        $(
            #[test]
            fn $test() {
                super::$test($protocol);
            }
        )*
    };
}

every_protocol! {
    SERIALIZABLE: Serializable,
    in [counters, counters_rolled_back, counters_spelled, ranges, ranges_spelled, rooms, notes];
    dl_detect: "DL_DETECT",
    no_wait: "NO_WAIT",
    wait_die: "WAIT_DIE",
    wound_wait: "WOUND_WAIT",
    bamboo: "BAMBOO",
    plor: "PLOR",
    ordered_2pl: "ORDERED_2PL",
    two_version_no_wait: "2V_NO_WAIT",
    timestamp: "TIMESTAMP",
    mvcc: "MVCC",
    ssn: "SSN",
    hekaton: "HEKATON",
    cicada: "CICADA",
    occ: "OCC",
    hstore: "HSTORE",
    silo: "SILO",
    tictoc: "TICTOC",
    mocc: "MOCC",
    aria: "ARIA",
}

every_protocol! {
    SNAPSHOTS: Snapshot, in [counters, counters_rolled_back];
    snapshot: "SNAPSHOT",
}

#[test]
fn none_is_missing() {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    for (isolation, named) in [SERIALIZABLE, SNAPSHOTS] {
        let mut names: Vec<_> =
            declared.iter().filter(|d| d.isolation == isolation).map(|d| d.name).collect();
        let mut named = named.to_vec();
        names.sort_unstable();
        named.sort_unstable();
        assert_eq!(named, names, "{isolation}");
    }
    let others = declared.iter().filter(|d| ![SERIALIZABLE.0, SNAPSHOTS.0].contains(&d.isolation));
    let others: Vec<_> = others.map(|d| (d.name, d.isolation)).collect();
    assert_eq!(others, [("NO_CC", Isolation::None)]);
}

fn counters(protocol: &str) {
    for timestamps in ["atomic", "batch4", "clock"] {
        let protocol_options =
            ProtocolOptions { timestamps: timestamps.parse().unwrap(), ..Default::default() };
        let asked = Exploration { protocol_options, ..exploration(protocol, &[], 400) };
        passes(&Counters::varied, &asked);
    }
}

/// A procedure that is rolled back must leave no changes behind.
fn counters_rolled_back(protocol: &str) {
    passes(&Counters::varied_rolled_back, &exploration(protocol, &[], 600));
}

/// Uses keys of bytes.
fn counters_spelled(protocol: &str) {
    passes(&Counters::varied_spelled, &exploration(protocol, &[], 600));
}

fn ranges(protocol: &str) {
    passes(&Ranges::varied, &exploration(protocol, &[], 900));
}

fn ranges_spelled(protocol: &str) {
    passes(&Ranges::varied_spelled, &exploration(protocol, &[], 600));
}

fn rooms(protocol: &str) {
    passes(&Rooms::varied, &exploration(protocol, &[], 900));
}

/// Uses values of variable length, and NULL.
fn notes(protocol: &str) {
    passes(&Notes::varied, &exploration(protocol, &[], 900));
}
