//! Tests that every planted bug is caught by the detector that it names, with one test for each bug.

use crate::{exploration, explored, violation};
use kilocore_harness::explore::{
    Exploration,
    Violation::{self, Panic, Stuck},
};
use machine::RunError::{Deadlock, StepLimit};
use protocols::faults::{self, Detector};
use workloads::micro::counters::Counters;
use workloads::micro::notes::Notes;
use workloads::micro::ranges::Ranges;
use workloads::micro::rooms::Rooms;
use workloads::smallbank::SmallBank;
use workloads::tatp::Tatp;
use workloads::tpcc::Tpcc;
use workloads::ycsb::Ycsb;

/// Names of bugs. A name can be followed by what is known of the violation: its kind, a part of its text, and the
/// number of schedules within which it is found.
macro_rules! bugs {
    ($($bug:ident $([$violation:pat])? $(, $said:literal)? $(, within $schedules:literal)?);* $(;)?) => {
        const BUGS: &[&str] = &[$(stringify!($bug)),*];
        $(
            #[test]
            fn $bug() {
                let schedules = [$($schedules,)? 100_000][0];
                let violation = caught(stringify!($bug), schedules);
                let known: &[bool] = &[
                    $(matches!(violation, $violation),)?
                    $(violation.to_string().contains($said),)?
                ];
                assert!(!known.contains(&false), "{violation}");
            }
        )*
    };
}

bugs! {
    bypassing_writes;
    reads_past_own_writes;
    memory_used_again_early;
    announced_before;
    guesses_in_moved_buckets;
    kept_leaf_unchecked;
    run_beyond_leaf;
    values_used_again_early;
    values_retired_too_early;
    rolled_back_values_stay;
    deleted_values_stay;
    moved_before_copied, within 10_000;
    reads_moved_buckets [Stuck(StepLimit(_))], within 10_000;
    changing_columns_uncontrolled;
    split_row_half_deleted;
    index_entry_stays, within 1000;
    write_left_out, "a write that it did not install";
    votes_unconfirmed;
    sites_draw_their_own_ages;
    latches_released_early, within 1000;
    latched_as_declared [Stuck(Deadlock(_))], within 1000;
    partition_left_unlatched, within 1000;
    latches_kept_after_rollback [Stuck(Deadlock(_))], within 1000;
    permit_lost [Stuck(Deadlock(_))], within 1000;
    permit_kept_over_abort [Stuck(Deadlock(_))], within 1000;
    retries_without_a_permit, within 4000;
    permits_beyond_the_limit, within 1000;
    spare_permit_stays [Stuck(Deadlock(_))];
    spare_permit_doubled, within 1000;
    settler_forgets [Stuck(Deadlock(_))], within 4000;
    late_payment_takes [Stuck(Deadlock(_))], within 10_000;
    protects_itself, within 1000;
    prepares_itself, within 1000;
    ends_itself, within 1000;
    request_stays_behind, within 1000;
    stays_where_it_is, within 1000;
    releases_elsewhere, within 1000;
    looks_once, within 20_000;
    reassigns_from_afar, within 20_000;
    loses_a_failure, within 1000;
    sleeps_without_looking, within 1000;

    no_wait_never_upgrades;
    no_wait_trusts_a_look;
    no_wait_takes_back [Stuck(StepLimit(_))];
    update_without_upgrade;
    lock_table_without_names [Stuck(StepLimit(_))];
    wait_die_inverted;
    retry_gets_fresh_timestamp;
    dl_detect_without_search [Stuck(Deadlock(_))];
    dl_detect_without_readers_ahead [Stuck(Deadlock(_))];
    dl_detect_stale_edges;
    overtakes_owners [Stuck(StepLimit(_))];
    overtaken_meets_nobody [Stuck(Deadlock(_))];
    overtaken_leaves_unseen [Stuck(Deadlock(_))];
    readers_past_committing_writers;
    readers_before_late_marks;
    bamboo_without_waiting;
    bamboo_without_cascade;
    bamboo_keeps_early_images;
    plor_beside_readers;
    plor_spares_readers [Stuck(Deadlock(_))];
    plor_reads_exclusive;
    plor_commits_wounded;
    ordered_as_planned [Stuck(Deadlock(_))];
    ordered_by_key_alone [Stuck(Deadlock(_))];
    ordered_waits_while_running [Stuck(Deadlock(_))];
    ordered_trusts_plans;
    two_version_uncertified;
    two_version_trusts_a_look;
    hstore_takes_from_running;
    hstore_never_goes_first [Stuck(Deadlock(_))];
    hstore_starts_at_once;
    hstore_overtakes_in_part [Stuck(Deadlock(_))];
    hstore_without_rollback, within 1000;

    timestamps_cut_short;
    batches_called_strict;
    mvcc_reads_past_writers;
    mvcc_without_read_marks;
    prewrite_forgets_queue [Stuck(Deadlock(_))];
    turn_is_taken_twice [Stuck(Deadlock(_))];
    turns_skip_readers [Stuck(Deadlock(_))];
    mvcc_collects_under_readers [Panic(_)], "a version was collected";
    looks_before_the_frontier [Panic(_)], "a version was collected";
    cicada_without_rts_check;
    cicada_reads_past_pending;
    cicada_installs_late;
    cicada_called_strict;

    snapshot_last_updater_wins, "not snapshot isolation";
    snapshot_reads_past_commits, "not snapshot isolation";
    snapshot_trusts_copies;
    ssn_without_exclusion;
    ssn_without_read_stamps;
    ssn_without_waiting;
    hekaton_trusts_copies;
    hekaton_without_waiting, "G1a, aborted read";
    hekaton_loses_dependencies [Stuck(Deadlock(_))];
    hekaton_validates_at_begin;
    hekaton_passes_announced;
    restores_versions_alone, "values that its writer did not leave there";

    silo_without_lock_check;
    silo_early_epoch;
    silo_adds_unlocked, within 2000;
    unsorted_write_locks;
    bounded_wait_lasts [Stuck(Deadlock(_))];
    retry_keeps_locks [Stuck(Deadlock(_))];
    occ_validates_outside;
    tictoc_extends_locked;
    validation_skipped;
    aria_ignores_reads;
    aria_commits_contested;
    aria_decides_early;
    aria_ends_early;
    aria_ignores_fresh;
    aria_stays [Stuck(Deadlock(_))];
    mocc_trusts_locks;
    mocc_waits_out_of_order [Stuck(Deadlock(_))];

    phantom_by_returned_keys;
    phantom_ignores_empty_range;
    phantom_unasked_insertion;
    phantom_unread_absence;
    phantom_fresh_start;
    phantom_forgotten_half;
    phantom_uncertified_range;
    absence_forgets_readers;
    mvcc_merge_forgets_scans;
    cicada_merge_forgets_scans;
    cicada_reads_retired;
    tictoc_merge_forgets_scans;
    tictoc_older_than_absence;
}

#[test]
fn none_is_missing() {
    let mut planted: Vec<_> = faults::all().map(|planted| planted.name).collect();
    let mut bugs = BUGS.to_vec();
    planted.sort_unstable();
    bugs.sort_unstable();
    assert_eq!(bugs, planted);
}

fn with_bug(name: &str, schedules: u64) -> Exploration {
    Exploration { mutant: Some(name.into()), epoch_order: false, ..exploration("", &[], schedules) }
}

/// With fewer and shorter transactions, a phantom can take a hundred thousand schedules to show.
fn with_phantom(name: &str, schedules: u64) -> Exploration {
    Exploration { workers: 4, procedures: 6, ..with_bug(name, schedules) }
}

/// Returns the violation, which must be found by the detector that the bug names.
fn caught(name: &str, schedules: u64) -> Violation {
    let planted = faults::named(name).expect("it is planted");
    let asked = Exploration {
        // The cycle takes three transactions of three workers. With one more worker they meet sooner.
        workers: if name == "batches_called_strict" { 4 } else { 3 },
        epoch_order: planted.detector == Detector::EpochOrder,
        ..with_bug(name, schedules)
    };
    let violation = match (planted.workload, planted.detector) {
        ("counters", Detector::Rollback) => violation(&Counters::varied_rolled_back, &asked),
        ("counters", Detector::NoFalseDeadlock) => violation(&Counters::varied_in_order, &asked),
        ("counters", _) => violation(&Counters::varied, &asked),
        ("ranges", _) => violation(&Ranges::varied, &with_phantom(name, schedules)),
        ("notes", _) => violation(&Notes::varied, &asked),
        ("rooms", _) => violation(&Rooms::varied, &asked),
        ("smallbank", _) => violation(&SmallBank::varied, &asked),
        ("tatp", _) => violation(&Tatp::varied, &asked),
        ("tpcc", _) => violation(&Tpcc::varied, &asked),
        ("ycsb", _) => violation(&Ycsb::varied, &asked),
        (other, _) => panic!("no shape for bugs that show in {other}"),
    };
    let by = violation.detector();
    assert!(planted.detector.names().contains(&by), "caught by {by}: {violation}");
    violation
}

/// Tests that the certificate also finds phantoms in ranges of bytes.
macro_rules! among_bytes {
    ($($test:ident: $bug:literal);* $(;)?) => {$(
        #[test]
        fn $test() {
            let violation = violation(&Ranges::varied_spelled, &with_phantom($bug, 100_000));
            let by = violation.detector();
            assert!(by == "certificate" || by == "conservation law", "{violation}");
        }
    )*};
}

among_bytes! {
    returned_keys_among_bytes: "phantom_by_returned_keys";
    unasked_insertion_among_bytes: "phantom_unasked_insertion";
}

/// NO_CC has no concurrency control, so a violation must be found.
#[test]
fn no_cc_is_caught() {
    violation(&Counters::varied, &exploration("NO_CC", &[], 1000));
}

#[test]
fn a_failing_seed_replays() {
    let bug = |first_seed, schedules| {
        let asked = with_bug("silo_without_lock_check", schedules);
        explored(&Counters::varied, &Exploration { first_seed, ..asked }).finding
    };
    let found = bug(1, 100_000).expect("the bug is found");
    let again = bug(found.seed, 1).expect("the seed replays it");
    assert_eq!(again.seed, found.seed);
    assert_eq!(again.violation.to_string(), found.violation.to_string());
}
