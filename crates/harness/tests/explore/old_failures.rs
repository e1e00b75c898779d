//! Tests former failures, and cases that need more sessions or longer schedules than usual.

use crate::{exploration, passes};
use kilocore_harness::explore::Exploration;
use protocols::ProtocolOptions;
use workloads::micro::counters::Counters;
use workloads::smallbank::SmallBank;
use workloads::ycsb::Ycsb;

/// Returns an exploration in which waits have no time limit, so that no timeout hides a deadlock.
fn patient(protocol: &str, schedules: u64) -> Exploration {
    let protocol_options = ProtocolOptions { lock_timeout_ns: None, ..Default::default() };
    Exploration { protocol_options, ..exploration(protocol, &[], schedules) }
}

/// A search marked a session as visited when it reached it by an edge to an attempt that had ended. It then did not
/// follow an edge to the running attempt. The bug needs more sessions than other bugs. It made a simulated run of
/// twelve cores stand still.
#[test]
fn an_ended_attempt_does_not_hide_the_next() {
    let asked = Exploration { workers: 8, procedures: 8, ..patient("DL_DETECT", 1500) };
    passes(&Ycsb::varied, &asked);
}

/// Tests long queues. A deadlock cycle can have many members, and a bug can need more sessions than a schedule has by
/// default.
macro_rules! long_queues {
    ($($test:ident: $protocol:literal);* $(;)?) => {$(
        #[test]
        fn $test() {
            for workers in [6, 8, 10] {
                let asked = Exploration { workers, procedures: 6, ..patient($protocol, 400) };
                passes(&Counters::varied, &asked);
            }
        }
    )*};
}

long_queues! {
    long_queues_of_dl_detect: "DL_DETECT";
    long_queues_of_wait_die: "WAIT_DIE";
    long_queues_of_wound_wait: "WOUND_WAIT";
    long_queues_of_bamboo: "BAMBOO";
    long_queues_of_plor: "PLOR";
    long_queues_of_ordered_2pl: "ORDERED_2PL";
    long_queues_of_hstore: "HSTORE";
    long_queues_of_aria: "ARIA";
}

/// The record of a deleted row had left its index, and a record created later for the same key began at timestamp
/// zero. A transaction with an old timestamp then saw the deletion without the other writes of the deleting
/// transaction. The bug needs unrecorded runs that are long enough for timestamps to drift apart.
macro_rules! fresh_records {
    ($($test:ident: $protocol:literal);* $(;)?) => {$(
        #[test]
        fn $test() {
            let asked = exploration($protocol, &[], 8000);
            passes(&Counters::varied, &Exploration { workers: 4, procedures: 12, ..asked });
        }
    )*};
}

fresh_records! {
    a_fresh_record_is_no_older_than_the_retired_one_in_timestamp: "TIMESTAMP";
    a_fresh_record_is_no_older_than_the_retired_one_in_tictoc: "TICTOC";
    a_fresh_record_is_no_older_than_the_retired_one_in_mvcc: "MVCC";
}

/// Back-offs used to last only a few steps under random schedules, regardless of their intended length. Six
/// transactions of timestamp ordering each read two counters before writing them. They aborted each other 97,000
/// times for 36 commits, which exceeded the step limit.
#[test]
fn transactions_that_refuse_one_another_come_to_an_end() {
    let asked = exploration("TIMESTAMP", &[], 1);
    let asked = Exploration { first_seed: 901_440, workers: 6, procedures: 6, ..asked };
    let aborts = passes(&Counters::varied, &asked).aborts;
    assert!(aborts < 10_000, "{aborts} aborts");
}

/// Transactions aborted each other in the same order for ever, as the lowest priority after each back-off made the cores take
/// turns. The explorer then gave the core that backs off a random priority after many steps. That ended some of these runs, but
/// the holder of a latch could draw a priority so low that the cores that spun for the latch never got below it.
#[test]
fn schedules_by_priority_become_fair_in_the_end() {
    let spinning = [("waiting-writers", "in-turn"), ("latch", "spin")];
    for protocol in ["TIMESTAMP", "MVCC"] {
        let asked = exploration(protocol, &spinning, 1);
        passes(&Ycsb::varied, &Exploration { first_seed: 756_762, workers: 5, ..asked });
    }
    let bounded = [("commit-locks", "bounded:26"), ("commit-updates", "on")];
    let asked = exploration("TICTOC", &bounded, 1);
    passes(&SmallBank::varied, &Exploration { first_seed: 762_798, workers: 6, ..asked });
}
