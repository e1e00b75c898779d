//! Tests scanned ranges: the smallest phantoms, and random histories against the definition.

use crate::script::{Draft, Script, TABLE, by};
use kilocore_checker::{
    Certificate, Defect, Phenomenon, RecordVersion, Requirements, Verdict, check, exhaustive,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use txn::{Digest, Direction, History, LoadedTable, TxnId, Unmatched, Version, WriteKind};

const INITIAL: Version = Version::INITIAL;

fn first() -> TxnId {
    TxnId::new(0, 3)
}

fn second() -> TxnId {
    TxnId::new(1, 9)
}

/// Two concurrent transactions.
fn pair(fill_a: impl FnOnce(&mut Draft), fill_b: impl FnOnce(&mut Draft)) -> Script {
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
}

#[test]
fn both_claim_an_empty_range() {
    let script = pair(
        |a| _ = a.scan(0, 9, &[]).insert(4, INITIAL),
        |b| _ = b.scan(0, 9, &[]).insert(5, INITIAL),
    );
    let printed = fails(&script, Phenomenon::G2);
    assert!(printed.contains("G2, phantom"), "{printed}");
    assert!(printed.contains("* scan   table 0 keys 0 to 9"), "{printed}");
    let reason =
        "rw: the first scanned table 0 keys 0 to 9 and found none at 5, the second inserted";
    assert!(printed.contains(reason), "{printed}");
}

#[test]
fn ranges_that_do_not_meet_are_claimed_by_both() {
    passes(&pair(
        |a| _ = a.scan(0, 4, &[]).insert(4, INITIAL),
        |b| _ = b.scan(5, 9, &[]).insert(5, INITIAL),
    ));
    // Transaction b sees a's row, so it comes later.
    passes(&pair(
        |a| _ = a.scan(0, 9, &[]).insert(4, INITIAL),
        |b| _ = b.scan(0, 9, &[(4, by(first()), true)]).insert(5, INITIAL),
    ));
}

#[test]
fn a_scan_comes_before_an_insert_that_it_did_not_see_and_after_what_it_saw() {
    // Transaction b has seen a's update of 1, but not a's insert of 2.
    let script = pair(
        |a| _ = a.write(1, INITIAL).insert(2, INITIAL),
        |b| _ = b.scan(0, 9, &[(1, by(first()), true)]),
    );
    fails(&script, Phenomenon::GSingle);
    passes(&pair(
        |a| _ = a.write(1, INITIAL).insert(2, INITIAL),
        |b| _ = b.scan(0, 9, &[(1, by(first()), true), (2, by(first()), true)]),
    ));
    passes(&pair(
        |a| _ = a.write(1, INITIAL).insert(2, INITIAL),
        |b| _ = b.scan(0, 9, &[(1, INITIAL, true)]),
    ));
}

#[test]
fn a_scan_that_was_broken_off_says_nothing_of_the_rest() {
    passes(&pair(
        |a| _ = a.write(1, INITIAL).insert(2, INITIAL),
        |b| _ = b.scan(0, 1, &[(1, by(first()), true)]),
    ));
}

#[test]
fn absent_rows_are_listed_with_their_versions() {
    // The row at 2 was inserted and deleted before. The scan met the absent record that remained.
    let mut script = Script::default();
    script.txn(0, 1, 1, 2).insert(2, INITIAL);
    script.txn(0, 2, 3, 4).delete(2, by(TxnId::new(0, 1)));
    script.txn(1, 1, 5, 6).scan(0, 9, &[(2, by(TxnId::new(0, 2)), false)]);
    passes(&script);
    // If the scan had met nothing, it would come before the insert, which had ended before the scan began.
    let mut script = Script::default();
    script.txn(0, 1, 1, 2).insert(2, INITIAL);
    script.txn(1, 1, 5, 6).scan(0, 9, &[]);
    let certificate = verdicts(&script.history());
    assert_eq!((certificate.serializable, certificate.strict), (Verdict::Pass, Verdict::Fail));
}

#[test]
fn own_writes_are_seen_or_come_later() {
    // First scanned, then inserted. Then the other way round: inserted, then scanned.
    passes(&pair(|a| _ = a.scan(0, 9, &[]).insert(4, INITIAL), |_| ()));
    passes(&pair(|a| _ = a.insert(4, INITIAL).scan(0, 9, &[(4, by(first()), true)]), |_| ()));
    // Transaction a scanned before b's insert, then updated the row that b inserted.
    let script =
        pair(|a| _ = a.scan(0, 9, &[]).write(4, by(second())), |b| _ = b.insert(4, INITIAL));
    fails(&script, Phenomenon::GSingle);
}

#[test]
fn a_scan_that_misses_what_was_loaded_is_a_defect() {
    for fill in [
        |b: &mut Draft| _ = b.read(4, INITIAL),
        |b: &mut Draft| _ = b.write(4, INITIAL),
        |b: &mut Draft| _ = b.delete(4, INITIAL),
    ] {
        let script = pair(|a| _ = a.scan(0, 9, &[]), fill);
        let certificate = verdicts(&script.history());
        let counterexample = certificate.counterexample.expect("a counter-example");
        let missed = Defect::MissedRow { reader: first(), table: TABLE, key: 4 };
        assert_eq!(counterexample.defect, Some(missed));
        assert!(counterexample.to_string().contains("missed the row that was loaded there"));
    }
    passes(&pair(|a| _ = a.scan(0, 9, &[]), |b| _ = b.read_absent(4, INITIAL)));
}

/// Returns the history's list of loaded rows, for a table that had rows at these keys.
fn loaded(extents: &[(u64, u64)]) -> Vec<LoadedTable> {
    vec![LoadedTable { table: TABLE, extents: extents.to_vec(), spelled: vec![] }]
}

#[test]
fn a_scan_that_misses_a_loaded_row_that_nobody_else_names_is_a_defect() {
    let mut script = pair(|a| _ = a.scan(2, 9, &[(3, INITIAL, true)]), |_| ());
    passes(&script);
    script.loaded = loaded(&[(0, 1), (3, 3), (10, 12)]);
    passes(&script);
    script.loaded = loaded(&[(0, 1), (3, 4)]);
    let certificate = verdicts(&script.history());
    let missed = Defect::MissedRow { reader: first(), table: TABLE, key: 4 };
    assert_eq!(certificate.counterexample.expect("a counter-example").defect, Some(missed));
}

#[test]
fn a_row_was_there_at_the_start_or_was_not() {
    let both = |fill_a: fn(&mut Draft), fill_b: fn(&mut Draft), present| {
        let script = pair(fill_a, fill_b);
        let certificate = verdicts(&script.history());
        let counterexample = certificate.counterexample.expect("a counter-example");
        let told = Defect::InitialContradicted { id: second(), table: TABLE, key: 4, present };
        assert_eq!(counterexample.defect, Some(told), "{counterexample}");
    };
    // Both transactions read the row, and one of them found it absent.
    both(|a| _ = a.read(4, INITIAL), |b| _ = b.read_absent(4, INITIAL), false);
    both(|a| _ = a.read_absent(4, INITIAL), |b| _ = b.scan(0, 9, &[(4, INITIAL, true)]), true);
    // One transaction read an absence that the other updated or deleted, or a row over which the other
    // inserted.
    both(|a| _ = a.read_absent(4, INITIAL), |b| _ = b.write(4, INITIAL), true);
    both(|a| _ = a.read_absent(4, INITIAL), |b| _ = b.delete(4, INITIAL), true);
    both(|a| _ = a.read(4, INITIAL), |b| _ = b.insert(4, INITIAL), false);
}

#[test]
fn values_are_those_that_the_writer_left() {
    let [left, other] = [&b"left"[..], b"other"].map(Digest::of);
    let read = |wrote: Digest, version: Version, got: Digest| {
        let mut script = pair(|a| _ = a.write(4, INITIAL), |b| _ = b.read(4, version));
        script.drafts[0].writes[0].values = wrote;
        script.drafts[1].reads[0].values = got;
        let certificate = verdicts(&script.history());
        certificate.counterexample.map(|found| found.defect)
    };
    let by_first = by(first());
    for (wrote, got) in
        [(left, left), (left, Digest::UNKNOWN), (Digest::UNKNOWN, left), (left, left)]
    {
        assert_eq!(read(wrote, by_first, got), None);
    }
    assert_eq!(read(left, INITIAL, Digest::LOADED), None);
    for (version, got) in [(by_first, other), (by_first, Digest::LOADED), (INITIAL, left)] {
        let at = RecordVersion { table: TABLE, key: 4, version };
        let told = Defect::ValuesContradicted { reader: second(), at };
        assert_eq!(read(left, version, got), Some(Some(told)));
    }
}

#[test]
fn what_was_asked_for_is_installed_and_nothing_else() {
    for installed in [false, true] {
        let mut history = pair(|a| _ = a.write(4, INITIAL), |_| ()).history();
        let (id, table, key) = (first(), TABLE, 7);
        history.workers[0].unmatched.push(Unmatched { id, table, key, installed });
        let found = verdicts(&history).counterexample.expect("a counter-example").defect;
        assert_eq!(found, Some(Defect::UnmatchedWrite { id, table, key, installed }));
    }
}

#[test]
fn what_was_loaded_decides_what_was_there_at_the_start() {
    for (fill, there) in [
        ((|a: &mut Draft| _ = a.read(4, INITIAL)) as fn(&mut Draft), true),
        (|a| _ = a.write(4, INITIAL), true),
        (|a| _ = a.read_absent(4, INITIAL), false),
        (|a| _ = a.insert(4, INITIAL), false),
    ] {
        for known in [&[(0, 9)][..], &[(0, 3), (5, 9)]] {
            let mut script = pair(fill, |_| ());
            script.loaded = loaded(known);
            let certificate = verdicts(&script.history());
            assert_eq!(certificate.serializable == Verdict::Pass, there == (known.len() == 1));
        }
    }
}

#[test]
fn a_scan_lists_keys_of_its_range_in_order_and_once() {
    let met = |keys: &[u64]| keys.iter().map(|key| (*key, INITIAL, true)).collect::<Vec<_>>();
    for wrong in [&[10][..], &[3, 3], &[1, 3, 2]] {
        let script = pair(|a| _ = a.scan(0, 9, &met(wrong)), |_| ());
        let printed = fails(&script, Phenomenon::Malformed);
        assert!(printed.contains("where it does not belong"), "{printed}");
    }
    passes(&pair(|a| _ = a.scan(0, 9, &met(&[1, 2, 3])), |_| ()));
    let backward = pair(|a| _ = a.scan(0, 9, &met(&[3, 2, 1])), |_| ());
    assert_eq!(backward.drafts[0].scans[0].direction, Direction::Backward);
    passes(&backward);
}

/// An access of a transaction: writes a key, or scans a range.
#[derive(Clone, Debug)]
enum Access {
    Write(u64),
    Scan(u64, u64, bool),
}

const KEYS: u64 = 8;

/// Keys below this number are loaded.
const LOADED: u64 = 3;

type Plan = (usize, u64, Vec<Access>, usize);

/// Generates what the history states about the loaded rows: nothing, the truth, or something wrong.
fn told() -> impl Strategy<Value = Vec<LoadedTable>> {
    prop_oneof![
        3 => Just(vec![]),
        3 => Just(loaded(&[(0, LOADED - 1)])),
        1 => Just(loaded(&[(0, LOADED)])),
        1 => Just(loaded(&[(0, 0), (LOADED - 1, LOADED - 1)])),
    ]
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let access = prop_oneof![
        3 => (0..KEYS).prop_map(Access::Write),
        2 => (0..KEYS, 0..KEYS, any::<bool>())
            .prop_map(|(a, b, forward)| Access::Scan(a.min(b), a.max(b), forward)),
    ];
    let accesses = prop::collection::vec(access, 1..4);
    let ago = prop_oneof![3 => Just(0), 2 => 0..4usize];
    prop::collection::vec((0..3usize, 0..40u64, accesses, ago), 0..=6)
}

/// The records that exist: version of each, and whether its row is present.
type State = BTreeMap<u64, (Version, bool)>;

/// Executes the plans one after another. Each plan scans the state of some transactions ago.
fn executed(plans: &[Plan]) -> Script {
    let mut script = Script::default();
    let loaded: State = (0..LOADED).map(|key| (key, (INITIAL, true))).collect();
    let mut states = vec![loaded];
    for (index, (worker, around, accesses, ago)) in plans.iter().enumerate() {
        let point = 50 + index as u64 * 10;
        let draft = script.txn(*worker, index as u64 + 1, point - around, point + around);
        let mut now = states.last().expect("one at least").clone();
        for access in accesses {
            match *access {
                Access::Write(key) => {
                    let (version, present) = now.get(&key).copied().unwrap_or((INITIAL, false));
                    let own = version.writer() == draft.id;
                    let nth = if own { version.nth() + 1 } else { 1 };
                    let kind = match (present, index % 2 == 0) {
                        (false, _) => WriteKind::Insert,
                        (true, true) => WriteKind::Delete,
                        (true, false) => WriteKind::Update,
                    };
                    draft.write_nth(key, nth, version, kind);
                    let written = (Version::new(draft.id, nth), kind != WriteKind::Delete);
                    now.insert(key, written);
                }
                Access::Scan(low, high, forward) => {
                    let mut seen = states[states.len() - 1 - (*ago).min(states.len() - 1)].clone();
                    let own = now.iter().filter(|(_, (v, _))| v.writer() == draft.id);
                    seen.extend(own.map(|(key, state)| (*key, *state)));
                    let range = seen.range(low..=high);
                    let mut met: Vec<_> = range.map(|(key, (v, p))| (*key, *v, *p)).collect();
                    if !forward {
                        met.reverse();
                    }
                    draft.scan(low, high, &met);
                }
            }
        }
        states.push(now);
    }
    script
}

fn compare(script: &Script) -> Result<(), TestCaseError> {
    let history = script.history();
    let certificate = check(&history, Requirements::STRICT);
    let expected = exhaustive::check(&history, Requirements::STRICT);
    prop_assert_eq!((certificate.serializable, certificate.strict), expected, "{}", certificate);
    if let Some(counterexample) = certificate.counterexample {
        prop_assert!(counterexample.cycle.iter().all(|step| !step.links.is_empty()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn current_scans_pass(mut plans in plans()) {
        plans.iter_mut().for_each(|plan| plan.3 = 0);
        let mut script = executed(&plans);
        script.loaded = loaded(&[(0, LOADED - 1)]);
        let certificate = check(&script.history(), Requirements::STRICT);
        prop_assert!(certificate.satisfies(Requirements::STRICT), "{}", certificate);
    }

    #[test]
    fn old_scans_get_the_verdict_of_the_definition(plans in plans(), told in told()) {
        let mut script = executed(&plans);
        script.loaded = told;
        compare(&script)?;
    }

    #[test]
    fn scans_that_forget_a_key_get_the_verdict_of_the_definition(
        plans in plans(),
        forgotten in (0..20usize, 0..20usize),
        told in told(),
    ) {
        let mut script = executed(&plans);
        script.loaded = told;
        let drafts = script.drafts.iter_mut().filter(|d| d.scans.iter().any(|s| s.reads > 0));
        let mut drafts: Vec<&mut Draft> = drafts.collect();
        let count = drafts.len().max(1);
        if let Some(draft) = drafts.get_mut(forgotten.0 % count) {
            let at = draft.scans.iter().position(|s| s.reads > 0).expect("filtered");
            let scan = draft.scans[at];
            draft.reads.remove(scan.first_read + forgotten.1 % scan.reads);
            draft.scans[at].reads -= 1;
            draft.scans[at + 1..].iter_mut().for_each(|s| s.first_read -= 1);
        }
        compare(&script)?;
    }
}
