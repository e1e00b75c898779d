//! Tests transactions that commit in two phases at three sites. Each site has its own data and protocol. A protocol
//! keeps its promise across sites, or it is refused with the reason.

use crate::{exploration, passes};
use engine::{EngineError, EngineOptions};
use kilocore_harness::{engines::Engines, explore::Exploration};
use machine::{Explored, ExploredOptions, cold::Arc};
use protocols::{Isolation, ProtocolOptions, registry::declarations};
use workloads::micro::counters::Counters;
use workloads::micro::ranges::Ranges;
use workloads::micro::rooms::Rooms;
use workloads::smallbank::SmallBank;
use workloads::tpcc::Tpcc;

const ARCHITECTURE: &str = "several_sites";

fn across_sites(protocol: &str, schedules: u64) -> Exploration {
    let architecture = ARCHITECTURE.to_owned();
    Exploration { architecture, ..exploration(protocol, &[], schedules) }
}

macro_rules! across_sites {
    ($($module:ident: $protocol:literal),* $(,)?) => {
        const TESTED: &[&str] = &[$($protocol),*];
        $(mod $module {
            #[test]
            fn counters() {
                super::passes(&super::Counters::varied, &super::across_sites($protocol, 1000));
            }

            #[test]
            fn ranges() {
                super::passes(&super::Ranges::varied, &super::across_sites($protocol, 1000));
            }

            #[test]
            fn rooms() {
                super::passes(&super::Rooms::varied, &super::across_sites($protocol, 500));
            }

            #[test]
            fn smallbank() {
                super::passes(&super::SmallBank::varied, &super::across_sites($protocol, 1000));
            }

            #[test]
            fn tpcc() {
                super::passes(&super::Tpcc::varied, &super::across_sites($protocol, 200));
            }
        })*
    };
}

across_sites! {
    no_wait: "NO_WAIT",
    wait_die: "WAIT_DIE",
    ordered_2pl: "ORDERED_2PL",
    two_version_no_wait: "2V_NO_WAIT",
    timestamp: "TIMESTAMP",
    occ: "OCC",
    hstore: "HSTORE",
    silo: "SILO",
    tictoc: "TICTOC",
}

#[test]
fn none_is_missing() {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    let able = declared.iter().filter(|d| d.one_site.is_none() && d.isolation != Isolation::None);
    let mut able: Vec<_> = able.map(|d| d.name).collect();
    let mut tested = TESTED.to_vec();
    able.sort_unstable();
    tested.sort_unstable();
    assert_eq!(tested, able);
}

#[test]
fn the_others_are_refused_with_the_reason() {
    for declaration in declarations::<Explored>(&ProtocolOptions::default()) {
        let Some(expected) = declaration.one_site else { continue };
        let machine = Arc::new(Explored::new(ExploredOptions::default()).unwrap());
        let options = EngineOptions {
            purge_batch: 1,
            epoch_interval_ticks: 50,
            ..EngineOptions::for_sessions(2)
        };
        match Explored::engine(ARCHITECTURE, declaration.name, &machine, &options) {
            Err(EngineError::OneSite { protocol, reason }) => {
                assert_eq!((protocol, reason), (declaration.name, expected));
            }
            Err(other) => panic!("{}: {other}", declaration.name),
            Ok(_) => panic!("{} was not refused", declaration.name),
        }
    }
}
