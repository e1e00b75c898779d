//! What was found once, and where more sessions or longer schedules are needed than elsewhere.

use crate::{exploration, passes};
use harness::explore::Exploration;
use protocols::ProtocolOptions;
use workloads::micro::counters::Counters;
use workloads::ycsb::Ycsb;

/// Waits have no limit, so nothing is found by their end.
fn patient(protocol: &str, schedules: u64) -> Exploration {
    let protocol_options = ProtocolOptions { lock_timeout_ns: None, ..Default::default() };
    Exploration { protocol_options, ..exploration(protocol, &[], schedules) }
}

/// A search marked a session as visited when it came by an edge to an attempt of it that had ended, and
/// then did not follow an edge to the running one. Needs more sessions than other bugs; a simulated
/// run of twelve cores stood still because of it.
#[test]
fn an_ended_attempt_does_not_hide_the_next() {
    let asked = Exploration { workers: 8, procedures: 8, ..patient("DL_DETECT", 1500) };
    passes(&Ycsb::varied, &asked);
}

/// Queues behave otherwise when many stand in them: a circle may have many members, and a bug may need more
/// sessions than a schedule has by default.
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
    long_queues_of_hstore: "HSTORE";
}

/// Once the record of a deleted row had left its index, a record made later for the same key began at
/// timestamp zero, and a transaction with an old timestamp saw the deletion without the other writes of
/// the transaction that deleted. Needs unrecorded runs, long enough for timestamps to drift apart.
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

/// Back-offs used to last a few steps under random schedules, however long they were meant to be: six
/// transactions of timestamp ordering, each reading two counters before it writes them, refused one another
/// 97,000 times for 36 commits, beyond the limit on steps.
#[test]
fn transactions_that_refuse_one_another_come_to_an_end() {
    let asked = exploration("TIMESTAMP", &[], 1);
    let asked = Exploration { first_seed: 901_440, workers: 6, procedures: 6, ..asked };
    let aborts = passes(&Counters::varied, &asked).aborts;
    assert!(aborts < 10_000, "{aborts} aborts");
}
