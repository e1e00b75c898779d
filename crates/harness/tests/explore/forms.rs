//! Tests protocols in the forms that their options give them. Some tests use the workload that stresses a form most.

use crate::{exploration, options, passes, set};
use kilocore_harness::explore::Exploration;
use protocols::ProtocolOptions;
use workloads::micro::counters::Counters;
use workloads::micro::hot_cold::HotCold;
use workloads::micro::ranges::Ranges;
use workloads::micro::sites::Sites;
use workloads::smallbank::SmallBank;
use workloads::ycsb::Ycsb;

/// Tests each form of a protocol on counters and on ranges.
macro_rules! forms {
    ($($form:ident: $protocol:literal [$(($knob:literal, $value:literal)),*]);* $(;)?) => {$(
        #[test]
        fn $form() {
            form_passes($protocol, &[$(($knob, $value)),*]);
        }
    )*};
}

forms! {
    no_wait_central: "NO_WAIT" [("locks", "central")];
    no_wait_one_bucket: "NO_WAIT" [("locks", "central"), ("lock-buckets", "1")];
    no_wait_by_partition: "NO_WAIT" [("locks", "partition"), ("lock-buckets", "4")];
    wait_die_central: "WAIT_DIE" [("locks", "central")];
    wait_die_one_bucket: "WAIT_DIE" [("locks", "central"), ("lock-buckets", "1")];
    wait_die_by_partition: "WAIT_DIE" [("locks", "partition"), ("lock-buckets", "4")];
    no_wait_listed: "NO_WAIT" [("lock-form", "list")];
    no_wait_under_mutexes: "NO_WAIT" [("lock-form", "list"), ("latch", "mutex")];
    no_wait_under_spinning: "NO_WAIT" [("lock-form", "list"), ("latch", "spin")];
    no_wait_under_queues: "NO_WAIT" [("lock-form", "list"), ("latch", "queue")];
    wait_die_under_mutexes: "WAIT_DIE" [("latch", "mutex")];
    wait_die_under_elided_latches: "WAIT_DIE" [("latch", "elided")];
    no_wait_under_elided_latches: "NO_WAIT" [("lock-form", "list"), ("latch", "elided")];
    hstore_under_elided_latches: "HSTORE" [("latch", "elided")];
    wait_die_under_spinning: "WAIT_DIE" [("latch", "spin")];
    wait_die_under_queues: "WAIT_DIE" [("latch", "queue")];
    no_wait_at_commit:
        "NO_WAIT" [("write-locks", "commit"), ("locks", "record"), ("lock-form", "counter")];
    no_wait_at_commit_listed:
        "NO_WAIT" [("write-locks", "commit"), ("locks", "record"), ("lock-form", "list")];
    no_wait_at_commit_central:
        "NO_WAIT" [("write-locks", "commit"), ("locks", "central"), ("lock-form", "counter")];
    no_wait_at_commit_central_listed:
        "NO_WAIT" [("write-locks", "commit"), ("locks", "central"), ("lock-form", "list")];
    dl_detect_under_mutexes: "DL_DETECT" [("latch", "mutex")];
    dl_detect_under_spinning: "DL_DETECT" [("latch", "spin")];
    dl_detect_under_yielding_queues: "DL_DETECT" [("latch", "yielding")];
    dl_detect_under_elided_latches: "DL_DETECT" [("latch", "elided")];
    dl_detect_readers_on_versions: "DL_DETECT" [("readers", "versions")];
    dl_detect_readers_on_versions_under_spinning:
        "DL_DETECT" [("readers", "versions"), ("latch", "spin")];
    dl_detect_readers_on_versions_in_order:
        "DL_DETECT" [("readers", "versions"), ("deadlocks", "key-order")];
    bamboo_retires_nothing: "BAMBOO" [("retire", "0")];
    bamboo_retires_half: "BAMBOO" [("retire", "50")];
    bamboo_retires_everything: "BAMBOO" [("retire", "100")];
    plor_at_commit: "PLOR" [("write-locks", "commit")];
    ordered_2pl_descending: "ORDERED_2PL" [("plan-order", "descending")];
    aria_in_order: "ARIA" [("reordering", "off")];
    cicada_unsorted: "CICADA" [("contention-order", "off")];
    cicada_without_precheck: "CICADA" [("precheck", "off")];
    mvcc_keeps_all_versions: "MVCC" [("keep-versions", "all")];
    snapshot_keeps_all_versions: "SNAPSHOT" [("keep-versions", "all")];
    ssn_keeps_all_versions: "SSN" [("keep-versions", "all")];
    hekaton_keeps_all_versions: "HEKATON" [("keep-versions", "all")];
    cicada_keeps_all_versions: "CICADA" [("keep-versions", "all")];
    cicada_regulated: "CICADA" [("contention-regulation", "1ms")];
    silo_bounded: "SILO" [("commit-locks", "bounded:26")];
    silo_hardly_patient: "SILO" [("commit-locks", "bounded:1")];
    tictoc_bounded: "TICTOC" [("commit-locks", "bounded:26")];
    silo_in_rounds: "SILO" [("commit-locks", "retry:26")];
    silo_in_one_round: "SILO" [("commit-locks", "retry:1")];
    tictoc_in_rounds: "TICTOC" [("commit-locks", "retry:26")];
    occ_in_rounds: "OCC" [("commit-locks", "retry:26")];
    occ_locks_reads_in_rounds: "OCC" [("read-locks", "on"), ("commit-locks", "retry:26")];
    occ_locks_reads_in_turn:
        "OCC" [("read-locks", "on"), ("commit-locks", "bounded:26"), ("latch", "yielding")];
    mocc_in_rounds: "MOCC" [("commit-locks", "retry:26"), ("hot-threshold", "1")];
    no_wait_under_yielding_queues: "NO_WAIT" [("lock-form", "list"), ("latch", "yielding")];
    mvcc_in_turn: "MVCC" [("waiting-writers", "in-turn")];
    timestamp_in_turn: "TIMESTAMP" [("waiting-writers", "in-turn")];
    mvcc_in_turn_under_spinning: "MVCC" [("waiting-writers", "in-turn"), ("latch", "spin")];
    mvcc_under_queues: "MVCC" [("latch", "queue")];
    mvcc_under_elided_latches: "MVCC" [("waiting-writers", "in-turn"), ("latch", "elided")];
    timestamp_under_mutexes: "TIMESTAMP" [("waiting-writers", "in-turn"), ("latch", "mutex")];
    timestamp_under_yielding_queues: "TIMESTAMP" [("latch", "yielding")];
    mvcc_without_queue: "MVCC" [("waiting-writers", "no-queue")];
    timestamp_without_queue: "TIMESTAMP" [("waiting-writers", "no-queue")];
    occ_locks_reads: "OCC" [("read-locks", "on")];
    occ_locks_reads_bounded: "OCC" [("read-locks", "on"), ("commit-locks", "bounded:26")];
    occ_bounded: "OCC" [("commit-locks", "bounded:26")];
    occ_that_refuses: "OCC" [("commit-locks", "refuse")];
    occ_central_bounded: "OCC" [("validation", "central"), ("commit-locks", "bounded:26")];
    mocc_bounded: "MOCC" [("commit-locks", "bounded:26"), ("hot-threshold", "1")];
    occ_central: "OCC" [("validation", "central")];
    mocc_all_hot: "MOCC" [("hot-threshold", "0")];
    mocc_soon_hot: "MOCC" [("hot-threshold", "1")];
    mocc_seldom_hot: "MOCC" [("hot-threshold", "64")];
    mocc_that_refuses: "MOCC" [("commit-locks", "refuse"), ("hot-threshold", "1")];
    mocc_without_retrospection: "MOCC" [("retrospective-locks", "off"), ("hot-threshold", "1")];
}

fn form_passes(protocol: &str, knobs: &[(&str, &str)]) {
    let asked = Exploration { workers: 4, ..exploration(protocol, knobs, 1500) };
    for outcome in [passes(&Counters::varied, &asked), passes(&Ranges::varied, &asked)] {
        assert!(outcome.aborts > 0, "{protocol} {knobs:?}");
    }
}

/// Strict serializability must hold for every source of timestamps. Readers on versions need a counter, so they use
/// one regardless of the option.
#[test]
fn readers_on_versions_take_a_counter() {
    for timestamps in ["batch4", "clock"] {
        let timestamps = timestamps.parse().unwrap();
        let protocol_options =
            ProtocolOptions { timestamps, ..options(&[("readers", "versions")]) };
        let asked = Exploration { protocol_options, ..exploration("DL_DETECT", &[], 1500) };
        passes(&Counters::varied, &asked);
    }
}

/// Tests deadlock detection by the search alone: waits have no time limit unless a knob sets one.
macro_rules! searches {
    ($($search:ident: $victims:ident [$(($knob:literal, $value:literal))?]);* $(;)?) => {$(
        #[test]
        fn $search() {
            $victims(&[$(($knob, $value))?]);
        }
    )*};
}

searches! {
    search_by_core: out_of_order [];
    search_in_one_graph: out_of_order [("waits-for", "central")];
    search_after_100ns: out_of_order [("deadlock-search", "100ns")];
    waits_of_no_time: out_of_order [("lock-timeout", "0ns")];
    search_of_2022: out_of_order [("deadlock-preset", "2022")];
    // There is no search, and no deadlock either: a request out of key order does not wait.
    no_search: out_of_order [("deadlocks", "key-order")];
    search_by_core_in_order: in_order [];
    search_in_one_graph_in_order: in_order [("waits-for", "central")];
    no_search_in_order: in_order [("deadlocks", "key-order")];
}

fn search(knobs: &[(&str, &str)]) -> Exploration {
    let mut protocol_options = ProtocolOptions { lock_timeout_ns: None, ..Default::default() };
    set(&mut protocol_options, knobs);
    Exploration { protocol_options, workers: 4, ..exploration("DL_DETECT", &[], 4000) }
}

/// There are deadlocks, and each one must get a victim.
fn out_of_order(knobs: &[(&str, &str)]) {
    assert!(passes(&Counters::varied, &search(knobs)).aborts > 0);
}

/// There are no deadlocks, so there must be no victims.
fn in_order(knobs: &[(&str, &str)]) {
    assert_eq!(passes(&Counters::varied_in_order, &search(knobs)).aborts, 0);
}

/// Returns the number of aborts on workloads whose plans are complete, and which never run out of memory.
fn aborts_of_planned(protocol: &str, knobs: &[(&str, &str)]) -> [u64; 2] {
    let asked = Exploration { workers: 4, ..exploration(protocol, knobs, 1000) };
    let outcomes = [passes(&HotCold::varied, &asked), passes(&Sites::varied, &asked)];
    outcomes.map(|outcome| outcome.aborts)
}

/// A transaction whose plan names all that it accesses never aborts, whereas NO_WAIT aborts on the same schedules.
#[test]
fn complete_plans_never_abort() {
    for order in ["ascending", "descending"] {
        assert_eq!(aborts_of_planned("ORDERED_2PL", &[("plan-order", order)]), [0; 2], "{order}");
    }
    assert!(!aborts_of_planned("NO_WAIT", &[]).contains(&0));
}

/// Tests partition locks, at which an older transaction waits for the owner or aborts.
macro_rules! partitions {
    ($($form:ident: $older:literal, $partitions:literal);* $(;)?) => {$(
        #[test]
        fn $form() {
            partitions_pass($older, $partitions);
        }
    )*};
}

partitions! {
    older_goes_first: "goes-first", "workload";
    older_goes_first_in_one: "goes-first", "1";
    older_goes_first_in_two: "goes-first", "2";
    older_aborts: "aborts", "workload";
    older_aborts_in_one: "aborts", "1";
    older_aborts_in_two: "aborts", "2";
}

fn partitions_pass(older: &str, partitions: &str) {
    let knobs = [("older-at-partition", older), ("partitions", partitions)];
    let asked = Exploration { workers: 4, ..exploration("HSTORE", &knobs, 2000) };
    let outcome = passes(&Counters::varied, &asked);
    match older {
        // A transaction that waits in the order of timestamps never aborts, except when records retire or memory runs
        // out. In four schedules of sixteen nothing retires, and in three blocks of four there is enough memory.
        "goes-first" => {
            for block in (0..64).filter(|block| block / 4 % 4 != 1) {
                let alone = Exploration { first_seed: block * 16, schedules: 4, ..asked.clone() };
                assert_eq!(passes(&Counters::varied, &alone).aborts, 0, "from seed {}", block * 16);
            }
        }
        _ => assert!(outcome.aborts > 0),
    }
}

/// This workload is prone to write skew.
#[test]
fn ssn_keeps_accounts() {
    passes(&SmallBank::varied, &exploration("SSN", &[], 4000));
}

/// In this workload many transactions read uncommitted data speculatively, and some of the writers abort.
#[test]
fn hekaton_believes_the_right_ones() {
    passes(&Ycsb::varied, &Exploration { workers: 4, ..exploration("HEKATON", &[], 4000) });
}
