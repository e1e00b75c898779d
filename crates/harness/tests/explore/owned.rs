//! Tests architectures in which each core alone works on the metadata of its records: servers do the work of transactions, or
//! transactions move.

use crate::{divided::Divided, exploration, passes};
use engine::{AccessOptions, OwnersWork, Shipping};
use kilocore_harness::explore::Exploration;
use machine::Explored;
use protocols::{ProtocolOptions, registry::declarations};
use txn::Workload;
use workloads::micro::{
    counters::Counters, hot_cold::HotCold, notes::Notes, ranges::Ranges, rooms::Rooms,
};
use workloads::{smallbank::SmallBank, tatp::Tatp, tpcb::Tpcb, tpcc::Tpcc, ycsb::Ycsb};

/// Explores `protocol` under `architecture`.
fn under(architecture: &str, protocol: &str, schedules: u64) -> Exploration {
    let architecture = architecture.to_owned();
    Exploration { architecture, ..exploration(protocol, &[], schedules) }
}

/// Returns the names of the protocols that run under `architecture`.
fn protocols(architecture: &str) -> Vec<&'static str> {
    let architecture = engine::registry::declaration(architecture).expect("it exists");
    let declared = declarations::<Explored>(&ProtocolOptions::default()).into_iter();
    let declared = declared.filter(|declared| engine::pair(&architecture, *declared).is_ok());
    declared.map(|declared| declared.name).collect()
}

/// Explores a workload: with one worker on each core, with several, and, if the architecture has servers, with servers on
/// cores of their own, and with whole operations shipped to servers.
fn explore<W: Workload>(architecture: &str, make: &dyn Fn(u64) -> W, schedules: u64) {
    let declared = engine::registry::declaration(architecture).expect("it exists");
    for protocol in protocols(architecture) {
        passes(make, &under(architecture, protocol, schedules));
        let asked = Exploration { workers: 4, ..under(architecture, protocol, schedules / 2) };
        passes(make, &Exploration { fibers: 2, first_seed: 1 << 20, ..asked.clone() });
        if declared.work == OwnersWork::Served {
            passes(make, &Exploration { servers: Some(2), first_seed: 1 << 21, ..asked.clone() });
            let access = AccessOptions { shipping: Shipping::Operations, ..asked.access };
            passes(make, &Exploration { access, first_seed: 1 << 22, ..asked });
        }
    }
}

#[test]
fn protocols_of_all_kinds_delegate() {
    let names = protocols("delegation");
    for protocol in ["NO_WAIT", "WAIT_DIE", "DL_DETECT", "2V_NO_WAIT", "SILO", "TICTOC"] {
        assert!(names.contains(&protocol), "{protocol}");
    }
}

#[test]
fn transactions_of_locking_protocols_move() {
    assert_eq!(protocols("data_oriented"), ["DL_DETECT", "NO_WAIT", "WAIT_DIE", "2V_NO_WAIT"]);
}

macro_rules! architectures {
    ($($architecture:ident)*) => {
        $(mod $architecture {
            use super::*;

            fn explore<W: Workload>(make: &dyn Fn(u64) -> W, schedules: u64) {
                super::explore(stringify!($architecture), make, schedules);
            }

            #[test]
            fn counters() {
                explore(&Counters::varied, 600);
                explore(&Counters::varied_in_order, 100);
                explore(&Counters::varied_rolled_back, 200);
                explore(&Counters::varied_spelled, 100);
            }

            #[test]
            fn ycsb() {
                explore(&Ycsb::varied, 400);
            }

            #[test]
            fn smallbank() {
                explore(&SmallBank::varied, 300);
            }

            #[test]
            fn tpcc() {
                explore(&Tpcc::varied, 80);
            }

            #[test]
            fn tatp_and_tpcb() {
                explore(&Tatp::varied, 150);
                explore(&Tpcb::varied, 100);
            }

            #[test]
            fn hot_cold() {
                explore(&HotCold::varied, 150);
            }

            #[test]
            fn ranges_over_several_partitions() {
                explore(&|seed| Divided::varied(seed, Ranges::varied), 400);
                explore(&|seed| Divided::varied(seed, Ranges::varied_spelled), 200);
            }

            #[test]
            fn indexes_and_texts_over_several_partitions() {
                explore(&|seed| Divided::varied(seed, Rooms::varied), 200);
                explore(&|seed| Divided::varied(seed, Notes::varied), 200);
            }
        })*
    };
}

architectures!(delegation data_oriented);

/// One server for all data, and fewer servers than there could be.
#[test]
fn numbers_of_servers() {
    for (partitions, servers) in [(1, None), (1, Some(1)), (2, None), (2, Some(3))] {
        let partitions = Some(partitions);
        let asked = Exploration { partitions, servers, ..under("delegation", "NO_WAIT", 150) };
        passes(&|_| Counters::varied(3 * 64), &asked);
    }
    let asked =
        Exploration { partitions: Some(3), servers: Some(2), ..under("delegation", "SILO", 1) };
    let make = |_| Counters::varied(3 * 64);
    let stop = machine::Word::new(0);
    let refused = kilocore_harness::explore::explore(&make, &asked, &stop, &mut |_| {});
    let error = refused.expect_err("each owner needs a server").to_string();
    assert!(error.starts_with("partitions is 3; allowed: 1 to 2"), "{error}");
}
