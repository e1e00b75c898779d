//! Explores limits on the number of transactions that run at the same time, under every protocol and architecture.

use crate::{exploration, passes};
use engine::admission::AdmissionPolicy;
use kilocore_harness::explore::Exploration;
use protocols::{Isolation, ProtocolOptions, registry::declarations};
use workloads::{micro::counters::Counters, smallbank::SmallBank, ycsb::Ycsb};

/// Of seven blocks of 128 schedules the second one has a limit: fixed, changing, or adaptive.
const FIRST_LIMITED: u64 = 128;
const NEXT_LIMITED: u64 = FIRST_LIMITED + 7 * 128;

fn isolating() -> Vec<&'static str> {
    let declared = declarations::<machine::Explored>(&ProtocolOptions::default());
    let isolating = declared.into_iter().filter(|one| one.isolation != Isolation::None);
    isolating.map(|one| one.name).collect()
}

#[test]
fn every_protocol_runs_under_limits() {
    for protocol in isolating() {
        let limited = Exploration {
            first_seed: FIRST_LIMITED,
            workers: 4,
            ..exploration(protocol, &[], 128)
        };
        passes(&Counters::varied, &limited);
        passes(
            &SmallBank::varied,
            &Exploration { first_seed: NEXT_LIMITED, puts_aside: true, ..limited },
        );
    }
}

#[test]
fn architectures_run_under_limits() {
    let pairs = [
        ("several_sites", "SILO"),
        ("partitioned_serial", "NO_CC"),
        ("delegation", "NO_WAIT"),
        ("data_oriented", "NO_WAIT"),
    ];
    for (architecture, protocol) in pairs {
        let architecture = architecture.to_owned();
        let limited = Exploration {
            architecture,
            first_seed: FIRST_LIMITED,
            workers: 4,
            ..exploration(protocol, &[], 128)
        };
        passes(&Ycsb::varied, &limited);
        passes(&Ycsb::varied, &Exploration { fibers: 2, first_seed: NEXT_LIMITED, ..limited });
    }
}

/// One transaction at a time, and batches of at most two, in every schedule.
#[test]
fn tight_limits_do_not_stop_batches_and_queues() {
    for protocol in ["ARIA", "HSTORE", "DL_DETECT"] {
        for limit in [1, 2] {
            let admission = Some(AdmissionPolicy::Fixed(limit));
            let asked = Exploration { admission, workers: 4, ..exploration(protocol, &[], 256) };
            passes(&Counters::varied, &asked);
        }
    }
}
