//! Schedules in which several workers share a core: one is interrupted only where it waits, ends a transaction or lets
//! others run.

use crate::{exploration, passes};
use kilocore_harness::explore::Exploration;
use machine::Explored;
use protocols::{Isolation, ProtocolOptions, registry::declarations};
use txn::Workload;
use workloads::micro::{counters::Counters, ranges::Ranges};
use workloads::tpcc::Tpcc;

fn fibers<W: Workload>(make: &dyn Fn(u64) -> W, schedules: u64) {
    for declared in declarations::<Explored>(&ProtocolOptions::default()) {
        if declared.isolation == Isolation::None {
            continue;
        }
        let alone = exploration(declared.name, &[], schedules);
        // All workers on one core, and two crews.
        passes(make, &Exploration { workers: 3, fibers: 3, ..alone.clone() });
        passes(make, &Exploration { workers: 4, fibers: 2, first_seed: 1 << 20, ..alone });
    }
}

#[test]
fn counters() {
    fibers(&Counters::varied, 100);
}

#[test]
fn ranges() {
    fibers(&Ranges::varied, 60);
}

#[test]
fn tpcc() {
    fibers(&Tpcc::varied, 20);
}

/// Two sessions of one core wait for each other's locks. The core goes on with one while the other one waits, so their
/// deadlock is found as that of two cores is.
#[test]
fn deadlocks_of_fibers_are_found() {
    let locks = exploration("DL_DETECT", &[], 300);
    let outcome = passes(&Counters::varied, &Exploration { workers: 2, fibers: 2, ..locks });
    assert!(outcome.aborts > 0, "{outcome:?}");
}
