//! Tests each anomaly of the catalogue in its smallest form: its verdict and its name.

use crate::script::{Script, by};
use kilocore_checker::{
    Certificate, Defect, Level, Phenomenon, Requirements, Verdict, check, exhaustive,
};
use txn::{History, TxnId, Version, WriteKind};

const INITIAL: Version = Version::INITIAL;
const X: u64 = 1;
const Y: u64 = 2;

fn first() -> TxnId {
    TxnId::new(0, 3)
}

fn second() -> TxnId {
    TxnId::new(1, 9)
}

/// Two concurrent transactions, a and b.
fn pair(
    fill_a: impl FnOnce(&mut crate::script::Draft),
    fill_b: impl FnOnce(&mut crate::script::Draft),
) -> Script {
    let mut script = Script::default();
    fill_a(script.txn(0, 3, 10, 20));
    fill_b(script.txn(1, 9, 11, 21));
    script
}

fn verdicts(history: &History) -> Certificate {
    let certificate = check(history, Requirements::STRICT);
    let expected = exhaustive::check(history, Requirements::STRICT);
    assert_eq!((certificate.serializable, certificate.strict), expected, "{certificate}");
    certificate
}

/// Asserts that the check fails with `phenomenon`, and returns the printed counter-example.
fn fails(script: &Script, phenomenon: Phenomenon) -> String {
    let certificate = verdicts(&script.history());
    let counterexample = certificate.counterexample.expect("a counter-example");
    let printed = counterexample.to_string();
    assert_eq!(certificate.serializable, Verdict::Fail, "{printed}");
    assert_eq!(counterexample.phenomenon, phenomenon, "{printed}");
    printed
}

fn passes(script: &Script) {
    let certificate = verdicts(&script.history());
    assert!(certificate.satisfies(Requirements::STRICT), "{certificate}");
    assert!(certificate.counterexample.is_none());
}

#[test]
fn nothing_happened() {
    passes(&Script::default());
}

#[test]
fn what_is_not_asked_is_not_checked() {
    let history = pair(|a| _ = a.write(X, INITIAL), |b| _ = b.write(X, INITIAL)).history();
    let certificate = check(&history, Requirements::NOTHING);
    assert_eq!(certificate.serializable.to_string(), "not checked");
    let certificate = check(&history, Requirements::SERIALIZABLE);
    assert_eq!(certificate.serializable.to_string(), "fail");
    assert_eq!(certificate.strict, Verdict::NotChecked);
}

#[test]
fn lost_update_as_a_cycle() {
    // Both read x. Then b overwrites the version that a wrote.
    let script = pair(
        |a| _ = a.read(X, INITIAL).write(X, INITIAL),
        |b| _ = b.read(X, INITIAL).write(X, by(first())),
    );
    let printed = fails(&script, Phenomenon::GSingle);
    assert!(printed.contains("shortest cycle, 2 transactions"), "{printed}");
}

#[test]
fn keys_of_bytes_are_printed_as_what_they_are() {
    let script = pair(|a| _ = a.write(X, INITIAL), |b| _ = b.write(X, INITIAL));
    let mut history = script.history();
    history.spelled.insert((crate::script::TABLE, X), b"a\x01\"".to_vec());
    history.spelled.insert((crate::script::TABLE, Y), b"elsewhere".to_vec());
    let printed = verdicts(&history).counterexample.expect("a counter-example").to_string();
    assert!(printed.contains("\ntable 0 key 1 is \"a\\x01\\\"\"\n"), "{printed}");
    assert!(!printed.contains("elsewhere"), "{printed}");
}

#[test]
fn lost_update_as_a_fork() {
    let script = pair(|a| _ = a.write(X, INITIAL), |b| _ = b.write(X, INITIAL));
    let printed = fails(&script, Phenomenon::LostUpdate);
    assert!(printed.contains("both T0.3 and T1.9 overwrote table 0 key 1"), "{printed}");
}

#[test]
fn write_skew_g2_item() {
    let script = pair(
        |a| _ = a.read(X, INITIAL).read(Y, INITIAL).write(X, INITIAL),
        |b| _ = b.read(X, INITIAL).read(Y, INITIAL).write(Y, INITIAL),
    );
    let certificate = verdicts(&script.history()).with_replay("kilocore explore --seed 7");
    let printed = certificate.counterexample.expect("a counter-example").to_string();
    let expected = "\
not serializable: G2-item, write skew: a cycle with two anti-dependencies or more
shortest cycle, 2 transactions:
  T0.3 before T1.9
    rw: the first read table 0 key 2 version loader, the second overwrote it with T1.9
  T1.9 before T0.3
    rw: the first read table 0 key 1 version loader, the second overwrote it with T0.3
transactions (* takes part):
  T0.3 from 10 to 20
  * read   table 0 key 1: loader
  * read   table 0 key 2: loader
  * write  table 0 key 1: T0.3 over loader
  T1.9 from 11 to 21
  * read   table 0 key 1: loader
  * read   table 0 key 2: loader
  * write  table 0 key 2: T1.9 over loader
replay with: kilocore explore --seed 7";
    assert_eq!(printed, expected);
}

#[test]
fn dirty_write_g0() {
    let script = pair(
        |a| _ = a.write(X, INITIAL).write(Y, by(second())),
        |b| _ = b.write(X, by(first())).write(Y, INITIAL),
    );
    fails(&script, Phenomenon::G0);
}

#[test]
fn dirty_write_between_two_writes_of_a_transaction() {
    let script = pair(
        |a| {
            a.write(X, INITIAL).write_nth(X, 2, by(second()), WriteKind::Update);
        },
        |b| _ = b.write(X, by(first())),
    );
    fails(&script, Phenomenon::G0);
}

#[test]
fn aborted_read_g1a() {
    let mut script = Script::default();
    script.txn(0, 3, 10, 20).read(X, by(second()));
    let printed = fails(&script, Phenomenon::G1a);
    assert!(printed.contains("T1.9 is not among the committed"), "{printed}");
}

#[test]
fn intermediate_read_g1b() {
    for coalesced in [false, true] {
        let script = pair(
            |a| {
                if coalesced {
                    a.write_nth(X, 2, INITIAL, WriteKind::Update);
                } else {
                    a.write(X, INITIAL).write_nth(X, 2, by(first()), WriteKind::Update);
                }
            },
            |b| _ = b.read(X, by(first())),
        );
        let printed = fails(&script, Phenomenon::G1b);
        assert!(printed.contains("replaced by T0.3#2"), "{printed}");
    }
}

#[test]
fn circular_information_flow_g1c() {
    let script = pair(
        |a| _ = a.write(X, INITIAL).read(Y, by(second())),
        |b| _ = b.write(Y, INITIAL).read(X, by(first())),
    );
    fails(&script, Phenomenon::G1c);
}

#[test]
fn read_skew_g_single() {
    // Transaction b sees a's y but not a's x.
    let script = pair(
        |a| _ = a.write(X, INITIAL).write(Y, INITIAL),
        |b| _ = b.read(X, INITIAL).read(Y, by(first())),
    );
    fails(&script, Phenomenon::GSingle);
}

#[test]
fn unrepeatable_read_of_one_record() {
    let script = pair(|a| _ = a.write(X, INITIAL), |b| _ = b.read(X, INITIAL).read(X, by(first())));
    fails(&script, Phenomenon::GSingle);
}

#[test]
fn absent_read_phantom_on_one_key() {
    // Each transaction finds the other's row absent, and inserts its own row.
    let script = pair(
        |a| _ = a.read_absent(X, INITIAL).insert(Y, INITIAL),
        |b| _ = b.read_absent(Y, INITIAL).insert(X, INITIAL),
    );
    let printed = fails(&script, Phenomenon::G2Item);
    assert!(printed.contains("read   table 0 key 1: loader, absent"), "{printed}");
}

#[test]
fn absence_left_by_a_delete_is_a_version() {
    let script = pair(
        |a| _ = a.delete(X, INITIAL).write(Y, INITIAL),
        |b| _ = b.read_absent(X, by(first())).read(Y, INITIAL),
    );
    fails(&script, Phenomenon::GSingle);
}

#[test]
fn stale_read_is_serializable_but_not_strict() {
    let mut script = Script::default();
    script.txn(0, 3, 10, 20).write(X, INITIAL);
    script.txn(1, 9, 21, 30).read(X, INITIAL);
    let certificate = verdicts(&script.history());
    assert_eq!((certificate.serializable, certificate.strict), (Verdict::Pass, Verdict::Fail));
    let counterexample = certificate.counterexample.expect("a counter-example");
    assert_eq!(counterexample.phenomenon, Phenomenon::RealTime);
    let printed = counterexample.to_string();
    assert!(printed.starts_with("serializable but not strict"), "{printed}");
    assert!(printed.contains("ended at 20, the second began at 21"), "{printed}");

    // Equal times are not ordered.
    script.drafts[1].begin = 20;
    passes(&script);
}

#[test]
fn stale_read_through_a_third_transaction() {
    // Transaction c read y before b wrote it, and b read x before a wrote it. c began after a had ended.
    let mut script = Script::default();
    script.txn(0, 1, 10, 20).write(X, INITIAL);
    script.txn(1, 1, 10, 40).read(X, INITIAL).write(Y, INITIAL);
    script.txn(2, 1, 30, 40).read(Y, INITIAL);
    let certificate = verdicts(&script.history());
    assert_eq!((certificate.serializable, certificate.strict), (Verdict::Pass, Verdict::Fail));
    let counterexample = certificate.counterexample.expect("a counter-example");
    let path: Vec<String> = counterexample.cycle.iter().map(|s| s.from.to_string()).collect();
    assert_eq!(path, ["T2.1", "T1.1", "T0.1"]);
}

#[test]
fn a_long_cycle_is_found_and_a_shorter_one_preferred() {
    // Each transaction reads the record that the next writes: a ring of anti-dependencies.
    let ring = |script: &mut Script, size: u64, base: u64| {
        for i in 0..size {
            let worker = script.drafts.len();
            let (own, next) = (base + i, base + (i + 1) % size);
            script.txn(worker, 1, base, 10_000).read(next, INITIAL).write(own, INITIAL);
        }
    };
    let mut script = Script::default();
    ring(&mut script, 50, 100);
    let cycle = |script: &Script| {
        check(&script.history(), Requirements::STRICT).counterexample.expect("one").cycle
    };
    assert_eq!(cycle(&script).len(), 50);
    ring(&mut script, 5, 1000);
    ring(&mut script, 9, 2000);
    assert_eq!(cycle(&script).len(), 5);
}

#[test]
fn wrong_histories_are_named() {
    let unwritten = pair(|a| _ = a.write(Y, INITIAL), |b| _ = b.read(X, by(first())));
    let forged = pair(|a| _ = a.write(X, INITIAL), |b| b.writes = vec![]);
    let mut forged = forged;
    forged.drafts[0].writes[0].version = by(second());
    let mut twice = pair(|a| _ = a.write(X, INITIAL), |b| _ = b.write(Y, INITIAL));
    twice.drafts[1].id = first();
    twice.drafts[1].writes.clear();
    let cases: [(Script, &str); 7] = [
        (unwritten, "T1.9 read table 0 key 1 version T0.3, which nobody wrote"),
        (forged, "which names another writer"),
        (twice, "two committed transactions are called T0.3"),
        (
            pair(|a| _ = a.write(X, by(TxnId::new(7, 7))), |_| ()),
            "overwrote table 0 key 1 version T7.7, which no committed transaction left there",
        ),
        (
            pair(|a| _ = a.insert(X, INITIAL), |b| _ = b.insert(X, by(first()))),
            "T1.9 inserted over table 0 key 1 version T0.3, where the row is present",
        ),
        (
            pair(|a| _ = a.delete(X, INITIAL), |b| _ = b.read(X, by(first()))),
            "T1.9 saw a row in table 0 key 1 version T0.3, where there is none",
        ),
        (
            pair(|a| _ = a.write(X, by(first())), |_| ()),
            "T0.3 installed table 0 key 1 version T0.3 over T0.3, its own later write",
        ),
    ];
    for (script, message) in cases {
        let printed = fails(&script, Phenomenon::Malformed);
        assert!(printed.contains(message), "{printed}");
    }
}

#[test]
fn a_clock_that_runs_backwards_spoils_strictness_alone() {
    let mut script = Script::default();
    script.txn(0, 3, 20, 10).write(X, INITIAL);
    let certificate = verdicts(&script.history());
    assert_eq!((certificate.serializable, certificate.strict), (Verdict::Pass, Verdict::Fail));
    assert!(matches!(
        certificate.counterexample.expect("one").defect,
        Some(Defect::BackwardClock { .. })
    ));
}

#[test]
fn writes_beyond_the_255th_share_a_version() {
    let mut script = Script::default();
    let draft = script.txn(0, 3, 10, 20);
    let id = draft.id;
    draft.write(X, INITIAL);
    for nth in 2..=300u64 {
        let version = |nth: u64| Version::new(id, nth.min(255) as u8);
        draft.write_nth(X, nth.min(255) as u8, version(nth - 1), WriteKind::Update);
    }
    script.txn(1, 9, 11, 21).read(X, Version::new(id, 255));
    passes(&script);
}

#[test]
fn four_thousand_workers() {
    let mut script = Script::default();
    let mut before = INITIAL;
    for worker in 0..4096 {
        let time = worker as u64 * 10;
        let draft = script.txn(worker, (1 << 39) - worker as u64, time, time + 5);
        draft.read(X, before).write(X, before);
        before = by(draft.id);
    }
    let certificate = check(&script.history(), Requirements::STRICT);
    assert!(certificate.satisfies(Requirements::STRICT), "{certificate}");
    assert_eq!((certificate.edges.ww, certificate.edges.wr, certificate.edges.rw), (4095, 4095, 0));
}

/// Returns the weakest level that the history does not reach, and the phenomenon reported for it.
fn weakest_broken(script: &Script) -> Option<(Level, Phenomenon)> {
    let history = script.history();
    let certificate = check(&history, Requirements::ALL);
    let weaker = (
        exhaustive::read_committed(&history),
        exhaustive::snapshot(&history, false),
        exhaustive::snapshot(&history, true),
    );
    let verdicts = (certificate.read_committed, certificate.snapshot, certificate.strong_snapshot);
    assert_eq!(verdicts, weaker, "{certificate}");
    certificate.counterexample.map(|c| (c.level, c.phenomenon))
}

#[test]
fn write_skew_is_snapshot_isolation() {
    let script = pair(
        |a| _ = a.read(X, INITIAL).read(Y, INITIAL).write(X, INITIAL),
        |b| _ = b.read(X, INITIAL).read(Y, INITIAL).write(Y, INITIAL),
    );
    assert_eq!(weakest_broken(&script), Some((Level::Serializable, Phenomenon::G2Item)));
}

#[test]
fn phantom_skew_is_snapshot_isolation() {
    let script = pair(
        |a| _ = a.scan(1, 9, &[]).insert(3, INITIAL),
        |b| _ = b.scan(1, 9, &[]).insert(4, INITIAL),
    );
    assert_eq!(weakest_broken(&script), Some((Level::Serializable, Phenomenon::G2)));
}

#[test]
fn read_skew_and_lost_updates_are_read_committed() {
    let read_skew = pair(
        |a| _ = a.write(X, INITIAL).write(Y, INITIAL),
        |b| _ = b.read(X, INITIAL).read(Y, by(first())),
    );
    let lost_update = pair(
        |a| _ = a.read(X, INITIAL).write(X, INITIAL),
        |b| _ = b.read(X, INITIAL).write(X, by(first())),
    );
    let unrepeatable =
        pair(|a| _ = a.write(X, INITIAL), |b| _ = b.read(X, INITIAL).read(X, by(first())));
    let phantom =
        pair(|a| _ = a.insert(X, INITIAL), |b| _ = b.scan(1, 9, &[]).read(X, by(first())));
    for script in [read_skew, lost_update, unrepeatable, phantom] {
        assert_eq!(weakest_broken(&script), Some((Level::Snapshot, Phenomenon::GSingle)));
    }
}

#[test]
fn a_long_fork_is_no_snapshot_isolation() {
    // Transactions a and b write one row each. c sees only a's row and d sees only b's row. No two
    // anti-dependencies are adjacent.
    let mut script = pair(|a| _ = a.write(X, INITIAL), |b| _ = b.write(Y, INITIAL));
    script.txn(2, 1, 10, 30).read(X, by(first())).read(Y, INITIAL);
    script.txn(3, 1, 10, 30).read(X, INITIAL).read(Y, by(second()));
    assert_eq!(weakest_broken(&script), Some((Level::Snapshot, Phenomenon::LongFork)));
    let certificate = check(&script.history(), Requirements::SNAPSHOT_ISOLATION);
    let printed = certificate.counterexample.expect("a counter-example").to_string();
    assert!(printed.starts_with("not snapshot isolation: long fork, "), "{printed}");
    assert!(printed.contains("shortest cycle, 4 transactions"), "{printed}");
}

#[test]
fn dirty_writes_and_dirty_reads_are_not_read_committed() {
    let g0 = pair(
        |a| _ = a.write(X, INITIAL).write(Y, by(second())),
        |b| _ = b.write(X, by(first())).write(Y, INITIAL),
    );
    let mut g1a = Script::default();
    g1a.txn(0, 3, 10, 20).read(X, by(second()));
    let g1b = pair(
        |a| _ = a.write(X, INITIAL).write_nth(X, 2, by(first()), WriteKind::Update),
        |b| _ = b.read(X, by(first())),
    );
    let g1c = pair(
        |a| _ = a.write(X, INITIAL).read(Y, by(second())),
        |b| _ = b.write(Y, INITIAL).read(X, by(first())),
    );
    let forked = pair(|a| _ = a.write(X, INITIAL), |b| _ = b.write(X, INITIAL));
    for (script, phenomenon) in [
        (g0, Phenomenon::G0),
        (g1a, Phenomenon::G1a),
        (g1b, Phenomenon::G1b),
        (g1c, Phenomenon::G1c),
        (forked, Phenomenon::LostUpdate),
    ] {
        assert_eq!(weakest_broken(&script), Some((Level::ReadCommitted, phenomenon)));
    }
}

#[test]
fn an_old_snapshot_is_a_snapshot() {
    let mut script = Script::default();
    script.txn(0, 3, 10, 20).write(X, INITIAL);
    script.txn(1, 9, 21, 30).read(X, INITIAL);
    assert_eq!(weakest_broken(&script), Some((Level::StrongSnapshot, Phenomenon::RealTime)));
    let certificate = check(&script.history(), Requirements::STRONG_SNAPSHOT);
    assert_eq!((certificate.snapshot, certificate.strong_snapshot), (Verdict::Pass, Verdict::Fail));
    assert_eq!(certificate.serializable, Verdict::NotChecked);
    let printed = certificate.counterexample.expect("a counter-example").to_string();
    assert!(printed.starts_with("snapshot isolation, but not of the latest snapshot"), "{printed}");
}

#[test]
fn weaker_levels_hold_where_stronger_ones_do() {
    let mut script = Script::default();
    script.txn(0, 3, 10, 20).read(X, INITIAL).write(X, INITIAL);
    script.txn(1, 9, 21, 30).read(X, by(first())).write(X, by(first()));
    assert_eq!(weakest_broken(&script), None);
    let certificate = check(&script.history(), Requirements::ALL);
    assert!(certificate.satisfies(Requirements::ALL), "{certificate}");
}
