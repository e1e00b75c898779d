//! Tests transactions that run alone in their partitions. The protocol does nothing, so whatever isolates transactions is
//! the architecture's.

use crate::{divided::Divided, exploration, passes};
use kilocore_harness::explore::Exploration;
use txn::Workload;
use workloads::micro::{
    counters::Counters, hot_cold::HotCold, notes::Notes, ranges::Ranges, rooms::Rooms,
};
use workloads::{smallbank::SmallBank, tatp::Tatp, tpcb::Tpcb, tpcc::Tpcc, ycsb::Ycsb};

const ARCHITECTURE: &str = "partitioned_serial";

fn alone(schedules: u64) -> Exploration {
    let architecture = ARCHITECTURE.to_owned();
    Exploration { architecture, ..exploration("NO_CC", &[], schedules) }
}

/// Explores a workload with three workers and with four.
fn explore<W: Workload>(make: &dyn Fn(u64) -> W, schedules: u64) {
    passes(make, &alone(schedules));
    passes(make, &Exploration { workers: 4, first_seed: 1 << 20, ..alone(schedules) });
}

#[test]
fn counters() {
    explore(&Counters::varied, 2000);
    explore(&Counters::varied_in_order, 500);
    explore(&Counters::varied_rolled_back, 1000);
    explore(&Counters::varied_spelled, 500);
}

#[test]
fn ycsb() {
    explore(&Ycsb::varied, 1000);
}

#[test]
fn smallbank() {
    explore(&SmallBank::varied, 1000);
}

#[test]
fn tpcc() {
    explore(&Tpcc::varied, 300);
}

#[test]
fn tatp_and_tpcb() {
    explore(&Tatp::varied, 500);
    explore(&Tpcb::varied, 300);
}

#[test]
fn hot_cold() {
    explore(&HotCold::varied, 500);
}

/// No transaction aborts, while each of these protocols aborts some of the same transactions.
#[test]
fn nobody_gives_way() {
    // In these schedules there is enough memory, and records retire.
    let within = |asked: Exploration| Exploration { first_seed: 128 + 20, schedules: 44, ..asked };
    let serial = passes(&Counters::varied, &within(alone(1)));
    assert!(serial.aborts == 0 && serial.commits > 400, "{serial:?}");
    for protocol in ["NO_WAIT", "SILO"] {
        let aborts = passes(&Counters::varied, &within(exploration(protocol, &[], 1))).aborts;
        assert!(aborts > 0, "{protocol}");
    }
}

/// Fewer owners than the workload has partitions, and more partitions than the workload has.
#[test]
fn numbers_of_partitions() {
    let owners = |partitions| Exploration { partitions: Some(partitions), ..alone(200) };
    passes(&|_| Counters::varied(3 * 64), &owners(3));
    passes(&|_| Counters::varied(3 * 64), &owners(1));
    for (asked, told) in [(0, "partitions is 0;"), (5, "partitions is 5; allowed: 1 to 4")] {
        let make = |_| Counters::varied(3 * 64);
        let refused = kilocore_harness::explore::explore(
            &make,
            &owners(asked),
            &machine::Word::new(0),
            &mut |_| {},
        );
        let error = refused.expect_err("so many partitions are refused").to_string();
        assert!(error.starts_with(told), "{error}");
    }
}

/// A scan over several partitions must see the rows of all of them in the order of their keys.
#[test]
fn ranges_over_several_partitions() {
    explore(&|seed| Divided::varied(seed, Ranges::varied), 2000);
    explore(&|seed| Divided::varied(seed, Ranges::varied_spelled), 1000);
}

#[test]
fn indexes_and_texts_over_several_partitions() {
    explore(&|seed| Divided::varied(seed, Rooms::varied), 1000);
    explore(&|seed| Divided::varied(seed, Notes::varied), 1000);
}
