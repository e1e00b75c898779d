//! Tests random histories. Serial executions must pass. Mutated executions must get the same verdicts as from
//! trying all permutations.

use crate::script::{Draft, Script, TABLE};
use kilocore_checker::{Requirements, Verdict, check, exhaustive};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;
use txn::{Digest, Read, TxnId, Version, Write, WriteKind};

const KEYS: u64 = 4;
const WORKERS: usize = 3;
/// Time between two serialization points.
const PACE: u64 = 10;

/// One transaction: worker, gap in its attempts, time before and after its serialization point, accesses
/// (key, and whether it is a write).
type Plan = (usize, u64, u64, u64, Vec<(u64, bool)>);

fn plans(most: usize) -> impl Strategy<Value = Vec<Plan>> {
    let accesses = prop::collection::vec((0..KEYS, any::<bool>()), 0..5);
    let plan = (0..WORKERS, 1..1_000_000u64, 0..4 * PACE, 0..4 * PACE, accesses);
    prop::collection::vec(plan, 0..=most)
}

/// Generates plans with many records, few accesses and much overlap, which produce long cycles.
fn sparse_plans() -> impl Strategy<Value = Vec<Plan>> {
    let accesses = prop::collection::vec((0..24u64, any::<bool>()), 2..4);
    let plan = (0..WORKERS, 1..9u64, 0..12 * PACE, 0..12 * PACE, accesses);
    prop::collection::vec(plan, 0..=40)
}

/// Executes the plans one after another.
fn serial(plans: &[Plan]) -> Script {
    let mut script = Script::default();
    let mut state: BTreeMap<u64, (Version, bool)> = BTreeMap::new();
    let mut attempts = [0; WORKERS];
    for (index, (worker, gap, before, after, accesses)) in plans.iter().enumerate() {
        let point = 12 * PACE + index as u64 * PACE;
        attempts[*worker] += gap;
        let draft = script.txn(*worker, attempts[*worker], point - before, point + after);
        for &(key, write) in accesses {
            let (version, present) = state.get(&key).copied().unwrap_or((Version::INITIAL, true));
            let own = version.writer() == draft.id;
            if !write {
                if !own {
                    draft.reads.push(Read {
                        table: TABLE,
                        key,
                        version,
                        present,
                        values: Digest::UNKNOWN,
                    });
                }
                continue;
            }
            let nth = if own { version.nth() + 1 } else { 1 };
            let kind = match (present, key % 2 == 0 && gap % 3 == 0) {
                (false, _) => WriteKind::Insert,
                (true, true) => WriteKind::Delete,
                (true, false) => WriteKind::Update,
            };
            draft.write_nth(key, nth, version, kind);
            state.insert(key, (Version::new(draft.id, nth), kind != WriteKind::Delete));
        }
    }
    script
}

/// A change: its kind, and two numbers that choose its location.
type Mutation = (u8, usize, usize);

fn mutate(script: &mut Script, &(what, here, there): &Mutation) {
    let versions: Vec<(u64, Version)> = script
        .drafts
        .iter()
        .flat_map(|d| d.writes.iter().map(|w| (w.key, w.version)))
        .chain((0..KEYS).map(|key| (key, Version::INITIAL)))
        .collect();
    let some_version = |key: u64| {
        let of_key: Vec<Version> = versions.iter().filter(|v| v.0 == key).map(|v| v.1).collect();
        of_key[there % of_key.len()]
    };
    let drafts = &mut script.drafts;
    match what {
        // Change a read to another version: kind 0 chooses an existing version, kind 1 an aborted one.
        0 | 1 => {
            if let Some(read) = chosen(drafts.iter_mut().flat_map(|d| &mut d.reads), here) {
                let aborted = Version::new(TxnId::new(there % WORKERS, 2_000_000_000), 1);
                read.version = if what == 0 { some_version(read.key) } else { aborted };
            }
        }
        // Change the version that a write overwrote.
        2 => {
            if let Some(write) = chosen(drafts.iter_mut().flat_map(|d| &mut d.writes), here) {
                write.overwritten = some_version(write.key);
            }
        }
        3 => swap_writers(drafts, here, there),
        // Remove a transaction's writes, as if it had aborted.
        4 => {
            if let Some(draft) = chosen(drafts.iter_mut(), here) {
                draft.writes.clear();
            }
        }
        // Change a transaction's begin and end.
        _ => {
            if let Some(draft) = chosen(drafts.iter_mut(), here) {
                draft.begin = there as u64 % 100;
                draft.end = draft.begin + (there as u64 / 100) % 50;
            }
        }
    }
}

/// Returns an element of `all`, if there is any.
fn chosen<'a, T>(all: impl Iterator<Item = &'a mut T>, number: usize) -> Option<&'a mut T> {
    let mut all: Vec<_> = all.collect();
    let count = all.len().max(1);
    (number % count < all.len()).then(|| all.swap_remove(number % count))
}

/// Swaps two writers of a record in its version order.
fn swap_writers(drafts: &mut [Draft], here: usize, there: usize) {
    let mut writes: Vec<&mut Write> = drafts.iter_mut().flat_map(|d| &mut d.writes).collect();
    let count = writes.len().max(1);
    let (here, there) = (here % count, there % count);
    if here == there || writes[here].key != writes[there].key {
        return;
    }
    let (a, b) = (writes[here].overwritten, writes[there].overwritten);
    let (va, vb) = (writes[here].version, writes[there].version);
    let renamed = |v| match v {
        _ if v == va => vb,
        _ if v == vb => va,
        _ => v,
    };
    let key = writes[here].key;
    for write in writes.iter_mut().filter(|w| w.key == key) {
        write.overwritten = renamed(write.overwritten);
    }
    writes[here].overwritten = renamed(b);
    writes[there].overwritten = renamed(a);
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    prop::collection::vec((0..7u8, 0..10_000usize, 0..10_000usize), 0..4)
}

/// Returns the length of a shortest cycle, computed from the definitions and all pairs' shortest paths
/// (Floyd, "Algorithm 97", CACM 1962). Real time counts as edges if `real_time` is set.
fn shortest_cycle(script: &Script, real_time: bool) -> Option<usize> {
    let drafts = &script.drafts;
    let count = drafts.len();
    let depends = |a: &Draft, b: &Draft| {
        let installs = |r: &Read, w: &Write| w.key == r.key && w.version == r.version;
        let follows = |r: &Read, w: &Write| w.key == r.key && w.overwritten == r.version;
        real_time && a.end < b.begin
            || a.writes.iter().any(|w| {
                b.writes.iter().any(|v| v.key == w.key && v.overwritten == w.version)
                    || b.reads.iter().any(|r| installs(r, w))
            })
            || a.reads.iter().any(|r| b.writes.iter().any(|w| follows(r, w)))
    };
    let far = usize::MAX / 4;
    let mut distance = vec![vec![far; count]; count];
    for a in 0..count {
        for b in (0..count).filter(|&b| b != a && depends(&drafts[a], &drafts[b])) {
            distance[a][b] = 1;
        }
    }
    for via in 0..count {
        for a in 0..count {
            for b in 0..count {
                distance[a][b] = distance[a][b].min(distance[a][via] + distance[via][b]);
            }
        }
    }
    (0..count).map(|a| distance[a][a]).min().filter(|&length| length < far)
}

fn compare(script: &Script) -> Result<(Verdict, Verdict), TestCaseError> {
    let history = script.history();
    let certificate = check(&history, Requirements::STRICT);
    let expected = exhaustive::check(&history, Requirements::STRICT);
    prop_assert_eq!((certificate.serializable, certificate.strict), expected, "{}", certificate);
    let weaker = check(&history, Requirements::ALL);
    prop_assert_eq!((weaker.serializable, weaker.strict), expected, "{}", weaker);
    let expected_weaker = (
        exhaustive::read_committed(&history),
        exhaustive::snapshot(&history, false),
        exhaustive::snapshot(&history, true),
    );
    let verdicts = (weaker.read_committed, weaker.snapshot, weaker.strong_snapshot);
    prop_assert_eq!(verdicts, expected_weaker, "{}", weaker);
    let failed = certificate.strict == Verdict::Fail;
    prop_assert_eq!(certificate.counterexample.is_some(), failed);
    if let Some(counterexample) = certificate.counterexample {
        prop_assert!(counterexample.cycle.iter().all(|step| !step.links.is_empty()));
        prop_assert!(counterexample.cycle.len() >= 2 || counterexample.defect.is_some());
        prop_assert!(!counterexample.to_string().is_empty());
    }
    Ok(expected)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn serial_executions_pass(plans in plans(60)) {
        let certificate = check(&serial(&plans).history(), Requirements::STRICT);
        prop_assert!(certificate.satisfies(Requirements::STRICT), "{}", certificate);
    }

    #[test]
    fn mutated_executions_get_the_verdict_of_the_definition(
        plans in plans(6),
        mutations in mutations(),
    ) {
        let mut script = serial(&plans);
        for mutation in &mutations {
            mutate(&mut script, mutation);
        }
        compare(&script)?;
    }

    #[test]
    fn snapshot_reads_get_the_verdict_of_the_definition(
        plans in plans(6),
        snapshots in prop::collection::vec(0..4usize, 6),
    ) {
        compare(&with_snapshots(&serial(&plans), &snapshots))?;
    }

    #[test]
    fn cycles_are_shortest(
        plans in sparse_plans(),
        snapshots in prop::collection::vec(prop_oneof![8 => Just(0), 1 => 0..30usize], 40),
    ) {
        let script = with_snapshots(&serial(&plans), &snapshots);
        let certificate = check(&script.history(), Requirements::STRICT);
        let cycle = certificate.counterexample.map(|c| c.cycle.len());
        let serializable = certificate.serializable == Verdict::Pass;
        prop_assert_eq!(serializable, shortest_cycle(&script, false).is_none());
        prop_assert_eq!(cycle, shortest_cycle(&script, serializable));
    }
}

/// Makes every transaction read as of some transactions ago. This causes write skew and worse anomalies, but
/// writes still follow each other properly.
fn with_snapshots(current: &Script, snapshots: &[usize]) -> Script {
    let mut script = current.clone();
    for (index, draft) in script.drafts.iter_mut().enumerate() {
        let seen = index.saturating_sub(snapshots[index]);
        for read in &mut draft.reads {
            let written = current.drafts[..seen].iter().rev().flat_map(|d| d.writes.iter().rev());
            let last = written.into_iter().find(|w| w.key == read.key);
            read.version = last.map_or(Version::INITIAL, |w| w.version);
            read.present = last.is_none_or(|w| w.kind != WriteKind::Delete);
        }
    }
    script
}

#[test]
fn mutations_reach_all_verdicts() {
    let seen: RefCell<BTreeMap<&str, u32>> = RefCell::default();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..Default::default()
    });
    let mutated = |(plans, mutations): (Vec<Plan>, Vec<Mutation>)| {
        let mut script = serial(&plans);
        for mutation in &mutations {
            mutate(&mut script, mutation);
        }
        let certificate = check(&script.history(), Requirements::ALL);
        let outcome = certificate.counterexample.map_or("pass", |c| c.phenomenon.as_str());
        *seen.borrow_mut().entry(outcome).or_default() += 1;
        Ok(())
    };
    runner.run(&(plans(6), mutations()), mutated).expect("nothing is asserted");
    let seen = seen.into_inner();
    let wanted = ["pass", "real time", "G0", "G1a", "G1b", "G1c", "G-single", "G2-item", "P4"];
    for outcome in wanted {
        assert!(seen.contains_key(outcome), "{outcome} never happened: {seen:?}");
    }
}
