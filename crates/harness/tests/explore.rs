//! The explorer against every protocol, and against known bugs.

use harness::explore::{Exploration, Explorations, Violation, explore};
use harness::run::HarnessError;
use harness::variation;
use machine::{Explored, RunError, Word};
use protocols::{
    Isolation, Knob, ProtocolOptions, Readers,
    mutants::MUTANTS,
    registry::{declarations, levels},
};
use workloads::micro::counters::Counters;

fn run(exploration: &Exploration) -> Explorations {
    let stop = Word::new(0);
    explore(&variation::counters, exploration, &stop, &mut |_| {}).expect("can run")
}

fn run_ranges(exploration: &Exploration) -> harness::explore::Explorations {
    let stop = Word::new(0);
    explore(&variation::ranges, exploration, &stop, &mut |_| {}).expect("can run")
}

fn run_smallbank(exploration: &Exploration) -> Explorations {
    let stop = Word::new(0);
    explore(&variation::smallbank, exploration, &stop, &mut |_| {}).expect("can run")
}

fn passes(protocol: &str) {
    for timestamps in ["atomic", "batch4", "clock"] {
        let exploration = Exploration {
            protocol: protocol.into(),
            protocol_options: ProtocolOptions {
                timestamps: timestamps.parse().unwrap(),
                ..Default::default()
            },
            schedules: 400,
            ..Exploration::default()
        };
        let outcome = run(&exploration);
        if let Some(finding) = outcome.finding {
            panic!("{protocol} {timestamps} seed {}: {}", finding.seed, finding.violation);
        }
        assert_eq!(outcome.schedules, 400);
        assert!(outcome.commits > 0);
    }
}

/// Every option of the protocol with deadlock detection, the search alone at work.
fn passes_with(knobs: &[(&str, &str)], workload: &dyn Fn(u64) -> Counters) -> Explorations {
    let mut protocol_options = ProtocolOptions { lock_timeout_ns: None, ..Default::default() };
    for (name, value) in knobs {
        Knob::named(name).expect("a knob").set(&mut protocol_options, value).unwrap();
    }
    let exploration = Exploration {
        protocol: "DL_DETECT".into(),
        protocol_options,
        schedules: 4000,
        workers: 4,
        ..Exploration::default()
    };
    let outcome = explore(workload, &exploration, &Word::new(0), &mut |_| {}).expect("can run");
    if let Some(finding) = outcome.finding {
        panic!("{knobs:?} seed {}: {}", finding.seed, finding.violation);
    }
    outcome
}

#[test]
fn dl_detect_passes() {
    passes("DL_DETECT");
    for knobs in [
        &[][..],
        &[("waits-for", "central")],
        &[("deadlock-search", "100ns")],
        &[("lock-timeout", "0ns")],
        &[("deadlock-preset", "2022")],
    ] {
        assert!(passes_with(knobs, &variation::counters).aborts > 0);
    }
}

/// A search marked a session as visited when it came by an edge to an attempt of it that had ended, and
/// then did not follow an edge to the running one. Needs more sessions than other bugs; a simulated
/// run of twelve cores stood still because of it.
#[test]
fn an_ended_attempt_does_not_hide_the_next() {
    let exploration = Exploration {
        protocol: "DL_DETECT".into(),
        protocol_options: ProtocolOptions { lock_timeout_ns: None, ..Default::default() },
        schedules: 1500,
        workers: 8,
        procedures: 8,
        ..Exploration::default()
    };
    let outcome = explore(&variation::ycsb, &exploration, &Word::new(0), &mut |_| {});
    if let Some(finding) = outcome.expect("can run").finding {
        panic!("seed {}: {}", finding.seed, finding.violation);
    }
}

#[test]
fn locks_in_order_need_no_victims() {
    for knobs in [&[][..], &[("waits-for", "central")], &[("deadlocks", "key-order")]] {
        assert_eq!(passes_with(knobs, &variation::counters_in_order).aborts, 0);
    }
    // Nor do others hang when nobody searches: what is out of order does not wait.
    assert!(passes_with(&[("deadlocks", "key-order")], &variation::counters).aborts > 0);
}

#[test]
fn no_wait_passes() {
    passes("NO_WAIT");
}

/// A form of a protocol, on counters and on ranges.
fn form_passes(protocol: &str, knobs: &[(&str, &str)]) {
    let mut protocol_options = ProtocolOptions::default();
    for (name, value) in knobs {
        Knob::named(name).expect("a knob").set(&mut protocol_options, value).unwrap();
    }
    let exploration = Exploration {
        protocol: protocol.into(),
        protocol_options,
        schedules: 1500,
        workers: 4,
        ..Exploration::default()
    };
    for outcome in [run(&exploration), run_ranges(&exploration)] {
        if let Some(finding) = outcome.finding {
            panic!("{protocol} {knobs:?} seed {}: {}", finding.seed, finding.violation);
        }
        assert!(outcome.commits > 0 && outcome.aborts > 0, "{protocol} {knobs:?}");
    }
}

#[test]
fn locks_pass_wherever_they_are_and_whatever_they_are() {
    for protocol in ["NO_WAIT", "WAIT_DIE"] {
        form_passes(protocol, &[("locks", "central")]);
        form_passes(protocol, &[("locks", "central"), ("lock-buckets", "1")]);
        form_passes(protocol, &[("locks", "partition"), ("lock-buckets", "4")]);
    }
    form_passes("NO_WAIT", &[("lock-form", "list")]);
    for placement in ["record", "central"] {
        for form in ["counter", "list"] {
            let at_commit = ("write-locks", "commit");
            form_passes("NO_WAIT", &[at_commit, ("locks", placement), ("lock-form", form)]);
        }
    }
}

#[test]
fn mutants_of_locks_elsewhere_or_later_are_caught() {
    certificate_or_law("no_wait_never_upgrades");
    let violation = mutant("lock_table_without_names");
    assert!(matches!(violation, Violation::Stuck(RunError::StepLimit(_))), "{violation}");
}

fn certificate_or_law(name: &str) {
    let violation = mutant(name);
    let caught = matches!(violation, Violation::Certificate(_) | Violation::Conservation(_));
    assert!(caught, "{name}: {violation}");
}

/// Strictly serializable whatever the timestamps come from: readers on versions need a counter, and take it.
#[test]
fn readers_on_versions_pass_beside_writers_that_lock() {
    form_passes("DL_DETECT", &[("readers", "versions")]);
    form_passes("DL_DETECT", &[("readers", "versions"), ("deadlocks", "key-order")]);
    for timestamps in ["batch4", "clock"] {
        let outcome = run(&Exploration {
            protocol: "DL_DETECT".into(),
            protocol_options: ProtocolOptions {
                timestamps: timestamps.parse().unwrap(),
                readers: Readers::Versions,
                ..Default::default()
            },
            schedules: 1500,
            ..Exploration::default()
        });
        assert!(outcome.finding.is_none(), "{timestamps}: {:?}", outcome.finding);
    }
    certificate_or_law("readers_past_committing_writers");
    certificate_or_law("readers_before_late_marks");
}

#[test]
fn mocc_passes() {
    passes("MOCC");
    for threshold in ["0", "1", "64"] {
        form_passes("MOCC", &[("hot-threshold", threshold)]);
    }
    certificate_or_law("mocc_trusts_locks");
    let violation = mutant("mocc_waits_out_of_order");
    assert!(matches!(violation, Violation::Stuck(RunError::Deadlock(_))), "{violation}");
}

#[test]
fn wait_die_passes() {
    passes("WAIT_DIE");
}

#[test]
fn wound_wait_passes() {
    passes("WOUND_WAIT");
}

#[test]
fn bamboo_passes() {
    passes("BAMBOO");
    for retire in ["0", "50", "100"] {
        form_passes("BAMBOO", &[("retire", retire)]);
    }
    certificate_or_law("bamboo_without_waiting");
    certificate_or_law("bamboo_without_cascade");
    certificate_or_law("bamboo_keeps_early_images");
}

#[test]
fn timestamp_passes() {
    passes("TIMESTAMP");
}

#[test]
fn mvcc_passes() {
    passes("MVCC");
}

#[test]
fn snapshot_passes() {
    passes("SNAPSHOT");
}

#[test]
fn ssn_passes() {
    passes("SSN");
    // Here write skew lives.
    let exploration =
        Exploration { protocol: "SSN".into(), schedules: 4000, ..Exploration::default() };
    let outcome = run_smallbank(&exploration);
    if let Some(finding) = outcome.finding {
        panic!("SSN seed {}: {}", finding.seed, finding.violation);
    }
}

#[test]
fn hekaton_passes() {
    passes("HEKATON");
    // Here many are believed, and some of them abort.
    let exploration = Exploration {
        protocol: "HEKATON".into(),
        schedules: 4000,
        workers: 4,
        ..Exploration::default()
    };
    let outcome = explore(&variation::ycsb, &exploration, &Word::new(0), &mut |_| {});
    if let Some(finding) = outcome.expect("can run").finding {
        panic!("HEKATON seed {}: {}", finding.seed, finding.violation);
    }
}

#[test]
fn hekaton_mutants_are_caught() {
    let violation = mutant("hekaton_loses_dependencies");
    assert!(matches!(violation, Violation::Stuck(RunError::Deadlock(_))), "{violation}");
    let violation = mutant("hekaton_validates_at_begin");
    assert!(matches!(violation, Violation::Certificate(_)), "{violation}");
    let exploration = Exploration {
        mutant: Some("hekaton_without_waiting".into()),
        schedules: 100_000,
        ..Exploration::default()
    };
    let outcome = explore(&variation::ycsb, &exploration, &Word::new(0), &mut |_| {});
    let violation = outcome.expect("can run").finding.expect("finds the bug").violation;
    assert!(violation.to_string().contains("G1a, aborted read"), "{violation}");
}

#[test]
fn cicada_passes() {
    passes("CICADA");
    for option in ["contention-order", "precheck"] {
        form_passes("CICADA", &[(option, "off")]);
    }
}

#[test]
fn cicada_mutants_are_caught() {
    for name in ["cicada_reads_past_pending", "cicada_installs_late", "cicada_called_strict"] {
        let violation = mutant(name);
        assert!(matches!(violation, Violation::Certificate(_)), "{name}: {violation}");
    }
    let exploration = Exploration {
        mutant: Some("cicada_without_rts_check".into()),
        schedules: 100_000,
        ..Exploration::default()
    };
    let violation = run_smallbank(&exploration).finding.expect("finds the bug").violation;
    assert!(matches!(violation, Violation::Certificate(_)), "{violation}");
}

#[test]
fn two_version_no_wait_passes() {
    passes("2V_NO_WAIT");
}

#[test]
fn occ_passes() {
    passes("OCC");
    form_passes("OCC", &[("validation", "central")]);
    let violation = mutant("occ_validates_outside");
    assert!(matches!(violation, Violation::Certificate(_)), "{violation}");
}

#[test]
fn hstore_passes() {
    passes("HSTORE");
    for (older, aborts) in [("goes-first", false), ("aborts", true)] {
        for partitions in ["workload", "1", "2"] {
            let mut protocol_options = ProtocolOptions::default();
            for (name, value) in [("older-at-partition", older), ("partitions", partitions)] {
                Knob::named(name).expect("a knob").set(&mut protocol_options, value).unwrap();
            }
            let exploration = Exploration {
                protocol: "HSTORE".into(),
                protocol_options,
                schedules: 2000,
                workers: 4,
                ..Exploration::default()
            };
            let outcome = run(&exploration);
            if let Some(finding) = outcome.finding {
                panic!("{older} {partitions} seed {}: {}", finding.seed, finding.violation);
            }
            // Who waits in the order of timestamps never aborts, but for records that retire.
            assert!(aborts || outcome.aborts < outcome.commits / 20, "{outcome:?}");
            assert!(!aborts || outcome.aborts > 0);
        }
    }
}

/// Queues behave otherwise when many stand in them: a circle may have many members, and a bug may need more
/// sessions than a schedule has by default.
#[test]
fn long_queues_pass() {
    for protocol in ["DL_DETECT", "WAIT_DIE", "WOUND_WAIT", "BAMBOO", "HSTORE"] {
        for workers in [6, 8, 10] {
            let outcome = run(&Exploration {
                protocol: protocol.into(),
                protocol_options: ProtocolOptions { lock_timeout_ns: None, ..Default::default() },
                schedules: 400,
                workers,
                procedures: 6,
                ..Exploration::default()
            });
            if let Some(finding) = outcome.finding {
                panic!("{protocol} {workers} seed {}: {}", finding.seed, finding.violation);
            }
        }
    }
}

/// A procedure that is rolled back leaves nothing behind, under any protocol.
#[test]
fn rolled_back_procedures_leave_nothing() {
    for declared in declarations::<Explored>(&ProtocolOptions::default()) {
        if declared.isolation == Isolation::None {
            continue;
        }
        let exploration = Exploration {
            protocol: declared.name.into(),
            schedules: 1000,
            ..Exploration::default()
        };
        let rolled_back = &variation::counters_rolled_back;
        let outcome = explore(rolled_back, &exploration, &Word::new(0), &mut |_| {});
        if let Some(finding) = outcome.expect("can run").finding {
            panic!("{} seed {}: {}", declared.name, finding.seed, finding.violation);
        }
    }
}

#[test]
fn hstore_mutants_are_caught() {
    let violation = mutant("hstore_takes_from_running");
    assert!(matches!(violation, Violation::Certificate(_) | Violation::Conservation(_)));
    let violation = mutant("hstore_never_goes_first");
    assert!(matches!(violation, Violation::Stuck(RunError::Deadlock(_))), "{violation}");
    let exploration = Exploration {
        mutant: Some("hstore_without_rollback".into()),
        schedules: 1000,
        ..Exploration::default()
    };
    let rolled_back = &variation::counters_rolled_back;
    let outcome = explore(rolled_back, &exploration, &Word::new(0), &mut |_| {});
    let finding = outcome.expect("can run").finding.expect("finds the bug");
    assert!(matches!(finding.violation, Violation::Conservation(_)), "{}", finding.violation);
}

#[test]
fn silo_passes() {
    passes("SILO");
}

#[test]
fn tictoc_passes() {
    passes("TICTOC");
}

#[test]
fn ranges_pass_under_every_protocol() {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    for protocol in declared.iter().filter(|d| d.isolation == Isolation::Serializable) {
        let exploration = Exploration {
            protocol: protocol.name.into(),
            schedules: 1500,
            ..Exploration::default()
        };
        let outcome = run_ranges(&exploration);
        if let Some(finding) = outcome.finding {
            panic!("{} seed {}: {}", protocol.name, finding.seed, finding.violation);
        }
        assert_eq!(outcome.schedules, 1500);
    }
}

#[test]
fn planted_phantoms_are_caught() {
    for planted in MUTANTS.iter().filter(|mutant| mutant.workload == "ranges") {
        let outcome = run_ranges(&Exploration {
            mutant: Some(planted.name.into()),
            schedules: 100_000,
            // In fewer and shorter transactions one of them takes a hundred thousand schedules to show.
            workers: 4,
            procedures: 6,
            ..Exploration::default()
        });
        let finding = outcome.finding.unwrap_or_else(|| panic!("{} is found", planted.name));
        let by = finding.violation.detector();
        let right = by == "certificate" || by == "conservation law";
        assert!(right, "{}: {}", planted.name, finding.violation);
    }
}

#[test]
fn rooms_pass_under_every_protocol() {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    for protocol in declared.iter().filter(|d| d.isolation == Isolation::Serializable) {
        let exploration = Exploration {
            protocol: protocol.name.into(),
            schedules: 1500,
            ..Exploration::default()
        };
        let outcome = explore(&variation::rooms, &exploration, &Word::new(0), &mut |_| {});
        let outcome = outcome.expect("can run");
        if let Some(finding) = outcome.finding {
            panic!("{} seed {}: {}", protocol.name, finding.seed, finding.violation);
        }
        assert_eq!(outcome.schedules, 1500);
    }
}

#[test]
fn keys_of_bytes_will_do_under_every_protocol() {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    for protocol in declared.iter().filter(|d| d.isolation == Isolation::Serializable) {
        let exploration = Exploration {
            protocol: protocol.name.into(),
            schedules: 1000,
            ..Exploration::default()
        };
        let spelled = &variation::counters_spelled;
        let outcome = explore(spelled, &exploration, &Word::new(0), &mut |_| {}).expect("can run");
        if let Some(finding) = outcome.finding {
            panic!("{} seed {}: {}", protocol.name, finding.seed, finding.violation);
        }
        assert_eq!(outcome.schedules, 1000);
    }
}

#[test]
fn ranges_of_bytes_pass_under_every_protocol() {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    for protocol in declared.iter().filter(|d| d.isolation == Isolation::Serializable) {
        let exploration = Exploration {
            protocol: protocol.name.into(),
            schedules: 1000,
            ..Exploration::default()
        };
        let spelled = &variation::ranges_spelled;
        let outcome = explore(spelled, &exploration, &Word::new(0), &mut |_| {}).expect("can run");
        if let Some(finding) = outcome.finding {
            panic!("{} seed {}: {}", protocol.name, finding.seed, finding.violation);
        }
        assert_eq!(outcome.schedules, 1000);
    }
}

/// The certificate is right about ranges of bytes: it finds phantoms in them.
#[test]
fn a_phantom_among_bytes_is_caught() {
    for planted in ["phantom_by_returned_keys", "phantom_unasked_insertion"] {
        let exploration = Exploration {
            mutant: Some(planted.into()),
            schedules: 100_000,
            workers: 4,
            procedures: 6,
            ..Exploration::default()
        };
        let spelled = &variation::ranges_spelled;
        let outcome = explore(spelled, &exploration, &Word::new(0), &mut |_| {}).expect("can run");
        let finding = outcome.finding.unwrap_or_else(|| panic!("{planted} is found"));
        let by = finding.violation.detector();
        assert!(by == "certificate" || by == "conservation law", "{}", finding.violation);
    }
}

#[test]
fn an_index_that_is_not_kept_up_breaks_a_law() {
    let exploration = Exploration {
        mutant: Some("index_entry_stays".into()),
        schedules: 1000,
        ..Exploration::default()
    };
    let outcome = explore(&variation::rooms, &exploration, &Word::new(0), &mut |_| {});
    let violation = outcome.expect("can run").finding.expect("finds the bug").violation;
    assert!(matches!(violation, Violation::Conservation(_)), "{violation}");
}

/// What is promised at a weaker level is kept, by every protocol that gives it; and it is weaker indeed.
#[test]
fn weaker_levels_pass_and_are_weaker() {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    let gives = declared.iter().zip(levels::<Explored>());
    let all = gives.flat_map(|(d, levels)| levels.iter().map(|level| (d.name, *level)));
    let strong = [Isolation::Serializable, Isolation::None];
    for (protocol, level) in all.filter(|(_, level)| !strong.contains(level)) {
        let options = ProtocolOptions { isolation: Some(level), ..Default::default() };
        let exploration = Exploration {
            protocol: protocol.into(),
            protocol_options: options,
            schedules: 1500,
            ..Exploration::default()
        };
        for outcome in [run(&exploration), run_ranges(&exploration), run_smallbank(&exploration)] {
            if let Some(finding) = outcome.finding {
                panic!("{protocol} {level} seed {}: {}", finding.seed, finding.violation);
            }
            assert!(outcome.schedules == 1500 && outcome.commits > 0);
        }
        let demanding = Exploration { demand_strict: true, ..exploration };
        let finding = run_smallbank(&demanding).finding;
        let violation = finding.expect("it is not serializable").violation;
        assert!(matches!(violation, Violation::Certificate(_)), "{protocol} {level}: {violation}");
    }
}

#[test]
fn levels_that_cannot_be_given_are_refused() {
    let isolation = Some(Isolation::ReadCommitted);
    let exploration = Exploration {
        protocol: "HSTORE".into(),
        protocol_options: ProtocolOptions { isolation, ..Default::default() },
        ..Exploration::default()
    };
    let outcome = explore(&variation::counters, &exploration, &Word::new(0), &mut |_| {});
    let error = outcome.expect_err("refused");
    assert!(matches!(error, HarnessError::Isolation(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "HSTORE cannot give isolation read-committed; it gives: serializable"
    );
}

fn violation_of(exploration: &Exploration) -> Violation {
    run(exploration).finding.unwrap_or_else(|| panic!("{exploration:?} finds the bug")).violation
}

#[test]
fn no_cc_is_caught() {
    let exploration =
        Exploration { protocol: "NO_CC".into(), schedules: 1000, ..Exploration::default() };
    violation_of(&exploration);
}

fn mutant(name: &str) -> Violation {
    violation_of(&Exploration {
        mutant: Some(name.into()),
        // Its cycle takes three transactions of as many workers: with one more they meet sooner.
        workers: if name == "batches_called_strict" { 4 } else { 3 },
        schedules: 100_000,
        epoch_order: name == "silo_early_epoch",
        ..Exploration::default()
    })
}

/// Those that need no shape of their own; each is caught by the detector that it names.
#[test]
fn planted_bugs_are_caught_by_their_detectors() {
    let names = [
        "retry_gets_fresh_timestamp",
        "reads_past_own_writes",
        "update_without_upgrade",
        "unsorted_write_locks",
        "timestamps_cut_short",
        "tictoc_extends_locked",
        "validation_skipped",
        "batches_called_strict",
        "silo_early_epoch",
        "memory_used_again_early",
    ];
    for name in names {
        let planted = MUTANTS.iter().find(|mutant| mutant.name == name).expect("it is planted");
        let violation = mutant(name);
        let right = planted.detector.names().contains(&violation.detector());
        assert!(right, "{name}: {violation}");
    }
}

#[test]
fn bypassing_writes_break_a_conservation_law() {
    assert!(matches!(mutant("bypassing_writes"), Violation::Conservation(_)));
}

#[test]
fn inverted_wait_die_kills_the_oldest() {
    assert!(matches!(mutant("wait_die_inverted"), Violation::OldestDied { .. }));
}

#[test]
fn silo_without_lock_check_gets_no_certificate() {
    let violation = mutant("silo_without_lock_check");
    assert!(matches!(violation, Violation::Certificate(_)), "{violation}");
}

#[test]
fn deadlocks_that_nobody_searches_for_are_noticed() {
    for name in ["dl_detect_without_search", "dl_detect_without_readers_ahead"] {
        let violation = mutant(name);
        assert!(matches!(violation, Violation::Stuck(RunError::Deadlock(_))), "{violation}");
    }
}

#[test]
fn stale_edges_make_victims_without_a_deadlock() {
    let exploration = Exploration {
        mutant: Some("dl_detect_stale_edges".into()),
        schedules: 100_000,
        ..Exploration::default()
    };
    let outcome = explore(&variation::counters_in_order, &exploration, &Word::new(0), &mut |_| {});
    let finding = outcome.expect("can run").finding.expect("finds the bug");
    assert!(matches!(finding.violation, Violation::FalseDeadlock { .. }), "{}", finding.violation);
}

#[test]
fn mvcc_that_does_not_await_writers_gets_no_certificate() {
    let violation = mutant("mvcc_reads_past_writers");
    assert!(matches!(violation, Violation::Certificate(_)), "{violation}");
}

#[test]
fn mvcc_without_read_marks_gets_no_certificate() {
    let violation = mutant("mvcc_without_read_marks");
    assert!(matches!(violation, Violation::Certificate(_)), "{violation}");
}

#[test]
fn mvcc_that_collects_under_readers_is_missing_versions() {
    let violation = mutant("mvcc_collects_under_readers");
    let Violation::Panic(message) = &violation else { panic!("{violation}") };
    assert!(message.contains("a version was collected"), "{message}");
}

#[test]
fn torn_snapshots_and_lost_updates_get_no_certificate() {
    for name in ["snapshot_last_updater_wins", "snapshot_reads_past_commits"] {
        let violation = mutant(name);
        assert!(matches!(violation, Violation::Certificate(_)), "{violation}");
        assert!(violation.to_string().starts_with("not snapshot isolation"), "{violation}");
    }
}

#[test]
fn safety_nets_with_holes_get_no_certificate() {
    for planted in MUTANTS.iter().filter(|mutant| mutant.workload == "smallbank") {
        let outcome = run_smallbank(&Exploration {
            mutant: Some(planted.name.into()),
            schedules: 100_000,
            ..Exploration::default()
        });
        let violation = outcome.finding.expect("the bug is found").violation;
        assert!(matches!(violation, Violation::Certificate(_)), "{}: {violation}", planted.name);
    }
}

#[test]
fn uncertified_writes_get_no_certificate() {
    let violation = mutant("two_version_uncertified");
    assert!(matches!(violation, Violation::Certificate(_)), "{violation}");
}

#[test]
fn protocols_that_promise_no_strictness_really_lack_it() {
    for (protocol, timestamps) in
        [("TICTOC", "atomic"), ("TIMESTAMP", "batch4"), ("MVCC", "batch4"), ("SSN", "atomic")]
    {
        let violation = violation_of(&Exploration {
            protocol: protocol.into(),
            protocol_options: ProtocolOptions {
                timestamps: timestamps.parse().unwrap(),
                ..Default::default()
            },
            // TICTOC needs a record whose rts was extended far beyond others' before it was written.
            schedules: 20_000,
            workers: 4,
            procedures: 12,
            demand_strict: true,
            ..Exploration::default()
        });
        assert!(matches!(violation, Violation::Certificate(_)), "{protocol}: {violation}");
    }
}

#[test]
fn a_failing_seed_replays() {
    let mutant = |first_seed, schedules| {
        run(&Exploration {
            mutant: Some("silo_without_lock_check".into()),
            first_seed,
            schedules,
            epoch_order: false,
            ..Exploration::default()
        })
    };
    let found = mutant(1, 100_000).finding.expect("the bug is found");
    let again = mutant(found.seed, 1).finding.expect("the seed replays it");
    assert_eq!(again.seed, found.seed);
    assert_eq!(again.violation.to_string(), found.violation.to_string());
}

/// Once the record of a deleted row had left its index, a record made later for the same key began at
/// timestamp zero, and a transaction with an old timestamp saw the deletion without the other writes of
/// the transaction that deleted. Needs unrecorded runs, long enough for timestamps to drift apart.
#[test]
fn a_fresh_record_is_no_older_than_the_retired_one() {
    for protocol in ["TIMESTAMP", "TICTOC", "MVCC"] {
        let outcome = run(&Exploration {
            protocol: protocol.into(),
            schedules: 8000,
            workers: 4,
            procedures: 12,
            ..Exploration::default()
        });
        if let Some(finding) = outcome.finding {
            panic!("{protocol} seed {}: {}", finding.seed, finding.violation);
        }
    }
}

/// Back-offs used to last a few steps under random schedules, however long they were meant to be: six
/// transactions of timestamp ordering, each reading two counters before it writes them, refused one another
/// 97,000 times for 36 commits, beyond the limit on steps.
#[test]
fn transactions_that_refuse_one_another_come_to_an_end() {
    let outcome = run(&Exploration {
        protocol: "TIMESTAMP".into(),
        first_seed: 901_440,
        schedules: 1,
        workers: 6,
        procedures: 6,
        ..Exploration::default()
    });
    assert!(outcome.finding.is_none() && outcome.aborts < 10_000, "{} aborts", outcome.aborts);
}
