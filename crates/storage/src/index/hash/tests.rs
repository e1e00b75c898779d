//! Tests of the hash index as a map: alone, from several threads, and under adversarial schedules, while it grows.

use super::*;
use machine::{ArenaOptions, Body, Explored, ExploredOptions, Native, NativeOptions, Schedule};
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Offsets in these tests are no memory. They say the key and the version of a record that has no other content.
fn offset_of(key: u64, version: u64) -> u64 {
    (key + 1) << 20 | version << 6
}

fn key_of(offset: u64) -> u64 {
    (offset >> 20) - 1
}

fn version_of(offset: u64) -> u64 {
    (offset & 0xF_FFFF) >> 6
}

fn find<M: Machine>(index: &HashIndex<M>, core: &M::Core, key: u64) -> Option<u64> {
    index.find(core, key, |offset| key_of(offset) == key).map(version_of)
}

/// Inserts a version of a key. Returns the version that the key had, if it had one.
fn insert<M: Machine>(
    index: &HashIndex<M>,
    core: &M::Core,
    key: u64,
    version: u64,
) -> Result<Result<(), u64>, OutOfMemory> {
    let is_key = |offset| key_of(offset) == key;
    let done = index.insert(core, (key, offset_of(key, version)), is_key, key_of, || ());
    done.map(|done| done.map_err(version_of))
}

fn remove<M: Machine>(index: &HashIndex<M>, core: &M::Core, key: u64, version: u64) -> bool {
    index.remove(core, key, offset_of(key, version))
}

/// A preparation takes what was set aside for the key. When a bucket for the entry could not be made after it, that was lost.
#[test]
fn an_insertion_without_memory_prepares_nothing() {
    let arena = ArenaOptions { reserve_bytes: 1 << 26, ..ArenaOptions::default() };
    let machine =
        Native::new(NativeOptions { arena, pin: false, ..NativeOptions::default() }).unwrap();
    let index = HashIndex::<Native>::new(machine.arena(), 1).unwrap();
    while machine.arena().allocate(64, 64, Place::Any).is_ok() {}
    let core = machine.core(0);
    let (mut prepared, mut inserted) = (0, 0);
    let failed = (0..50).find(|key| {
        let is_key = |offset| key_of(offset) == *key;
        let done =
            index.insert(&core, (*key, offset_of(*key, 0)), is_key, key_of, || prepared += 1);
        inserted += u64::from(done.is_ok());
        done.is_err()
    });
    assert!(failed.is_some(), "there was memory for more buckets");
    assert_eq!(prepared, inserted);
}

/// Returns all keys that a walk in pieces of `count` buckets meets. `between` runs between two pieces.
fn walked<M: Machine>(
    index: &HashIndex<M>,
    core: &M::Core,
    count: u64,
    mut between: impl FnMut(),
) -> Vec<u64> {
    let (mut met, mut at) = (Vec::new(), Some(0));
    while let Some(first) = at {
        at = index.walk(core, first, count, &mut |offset| met.push(key_of(offset)));
        between();
    }
    met
}

fn buckets<M: Machine>(index: &HashIndex<M>) -> u64 {
    Array(index.current.peek()).count()
}

fn native() -> (Native, HashIndex<Native>) {
    let machine = Native::new(NativeOptions::default()).unwrap();
    let index = HashIndex::<Native>::new(machine.arena(), 8).unwrap();
    (machine, index)
}

#[test]
fn behaves_as_a_map_through_all_growths() {
    let (machine, index) = native();
    let core = machine.core(0);
    let mut map = BTreeMap::new();
    let mut random = 1u64;
    for step in 0..60_000u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // The keys are strided, and the range of keys widens, so the index grows ten times and more.
        let key = (random >> 33) % (step + 1) * 7;
        let version = step % 1000;
        match random >> 60 {
            0..4 => {
                let was = map.remove(&key);
                assert_eq!(remove(&index, &core, key, was.unwrap_or(0)), was.is_some(), "{key}");
            }
            _ => {
                let was = insert(&index, &core, key, version).unwrap();
                assert_eq!(was.err(), map.get(&key).copied(), "{key}");
                map.entry(key).or_insert(version);
            }
        }
        let other = (random >> 20) % (step + 1) * 7;
        assert_eq!(find(&index, &core, other), map.get(&other).copied(), "{other}");
    }
    let most = map.len() as u64 / 3;
    assert!((most / 4..=most).contains(&buckets(&index)), "{} for {}", buckets(&index), map.len());
    let mut met = walked(&index, &core, 8, || ());
    met.sort_unstable();
    assert!(met.iter().eq(map.keys()));
}

#[test]
fn grows_while_it_is_loaded() {
    let (machine, index) = native();
    let core = machine.core(0);
    for key in 0..10_000 {
        index.insert_alone(key, offset_of(key, 3), key_of).unwrap();
    }
    assert!(buckets(&index) >= 1024, "{}", buckets(&index));
    assert!((0..10_000).all(|key| find(&index, &core, key) == Some(3)));
    assert_eq!(walked(&index, &core, 8, || ()).len(), 10_000);
}

#[test]
fn does_not_grow_with_the_rows_that_it_is_sized_for() {
    let machine = Native::new(NativeOptions::default()).unwrap();
    let core = machine.core(0);
    for rows in [8, 64, 1024, 1 << 18] {
        let index = HashIndex::<Native>::new(machine.arena(), rows).unwrap();
        let sized = buckets(&index);
        for key in 0..rows {
            insert(&index, &core, key * 3, 1).unwrap().unwrap();
        }
        assert_eq!((buckets(&index), index.growth.peek()), (sized, 0), "{rows} rows");
    }
}

/// Each piece is followed by inserts, so the index grows several times during the walk, and pieces begin while buckets
/// move.
#[test]
fn a_walk_meets_everything_once_although_the_index_grows() {
    let (machine, index) = native();
    let core = machine.core(0);
    for key in 0..500 {
        insert(&index, &core, key, 1).unwrap().unwrap();
    }
    let before = buckets(&index);
    let mut next = 500;
    let met = walked(&index, &core, 1, || {
        // Without an end the walk would never catch up with the buckets that are made.
        for _ in 0..if next < 8000 { 40 } else { 0 } {
            insert(&index, &core, next, 1).unwrap().unwrap();
            next += 1;
        }
    });
    let (stayed, made): (Vec<u64>, Vec<u64>) = met.into_iter().partition(|key| *key < 500);
    assert_eq!(stayed.len(), 500);
    assert_eq!(stayed.into_iter().collect::<BTreeSet<_>>().len(), 500);
    assert_eq!(made.iter().collect::<BTreeSet<_>>().len(), made.len());
    assert!(buckets(&index) >= before * 4, "{before} buckets, then {}", buckets(&index));
}

#[test]
fn exhausted_memory_ends_no_insert_that_finds_a_slot() {
    let options = NativeOptions { arena: ArenaOptions::default(), ..NativeOptions::default() };
    let machine = Native::new(options).unwrap();
    let (core, arena) = (machine.core(0), machine.arena());
    for bytes in (0..20_000).step_by(960) {
        let index = HashIndex::<Native>::new(arena, 8).unwrap();
        arena.limit(0, bytes);
        let inserted = (0..4000).take_while(|key| insert(&index, &core, *key, 1).is_ok());
        let rows = inserted.count() as u64;
        assert!(rows >= bytes / 64, "{rows} rows in {bytes} bytes");
        let found = |key| find(&index, &core, key) == Some(1);
        assert!((0..rows).all(found), "{bytes} bytes");
        assert_eq!(walked(&index, &core, 1, || ()).len() as u64, rows, "{bytes} bytes");
        // Growth is resumed when there is memory again.
        arena.lift_limit(0);
        for key in rows..8000 {
            insert(&index, &core, key, 1).unwrap().unwrap();
        }
        assert!((0..8000).all(found), "{bytes} bytes");
        assert!(buckets(&index) >= 512, "{bytes} bytes: {}", buckets(&index));
    }
}

#[test]
fn memory_can_run_out_while_buckets_move() {
    let (machine, index) = native();
    let (core, arena) = (machine.core(0), machine.arena());
    let mut rows = 0;
    for bytes in [0, 64, 640, 6400] {
        let mut growing = false;
        loop {
            if index.growth.peek() != 0 && !growing {
                growing = true;
                arena.limit(0, bytes);
            }
            if insert(&index, &core, rows, 1).is_err() {
                break;
            }
            rows += 1;
        }
        assert!(growing && (0..rows).all(|key| find(&index, &core, key) == Some(1)));
        assert_eq!(walked(&index, &core, 1, || ()).len() as u64, rows);
        // An entry of the index can be removed and inserted again. Only a bucket that has moved since can have no slot.
        for key in 0..rows {
            assert!(remove(&index, &core, key, 1));
        }
        let again = (0..rows).filter(|key| insert(&index, &core, *key, 1).is_ok()).count() as u64;
        assert!(again >= rows * 9 / 10, "{again} of {rows} rows");
        arena.lift_limit(0);
        assert!((0..rows).all(|key| insert(&index, &core, key, 1).is_ok()));
        assert_eq!(walked(&index, &core, 1, || ()).len() as u64, rows);
    }
}

/// Keys that stay in the index all the time, and the version that they have.
const STAY: [u64; 2] = [7, 15];
const STAYS: u64 = 1;

/// Cores insert, find and remove keys while the index grows. A key belongs to one core, which publishes what it does in
/// the key's word (see [`change`]). Returns the number of buckets in the end.
fn shared_by<M: Machine<Line = ()>>(
    machine: &M,
    cores: usize,
    keys: u64,
    rounds: u64,
    seed: u64,
) -> u64 {
    let index = HashIndex::<M>::new(machine.arena(), 2).unwrap();
    for key in STAY {
        index.insert_alone(key, offset_of(key, STAYS), key_of).unwrap();
    }
    let published: Vec<Word> = (0..keys).map(|_| Word::new(0)).collect();
    let bodies = (0..cores)
        .map(|session| -> Body<'_, M> {
            let (index, published) = (&index, &published);
            Box::new(move |core| {
                let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ session as u64;
                let mut draw = |below: u64| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (random >> 33) % below
                };
                for _ in 0..rounds {
                    let key = draw(keys / 8) * 8 + session as u64;
                    change(index, core, key, &published[key as usize]);
                    let other = draw(keys);
                    observe(index, core, other, &published[other as usize]);
                    for key in STAY {
                        assert_eq!(find(index, core, key), Some(STAYS), "{key} has stayed");
                    }
                }
            })
        })
        .collect();
    machine.run(bodies, vec![]).unwrap();
    let check: Body<'_, M> = Box::new(|core| {
        let has = |key: &u64| published[*key as usize].peek() % 4 == 2 || STAY.contains(key);
        let mut met = walked(&index, core, 1, || ());
        met.sort_unstable();
        assert_eq!(met, (0..keys).filter(has).collect::<Vec<_>>(), "each key once");
    });
    machine.run(vec![check], vec![]).unwrap();
    buckets(&index)
}

/// Inserts a key of this core that is not in the index, or removes it. The number in the key's word says what happens,
/// modulo 4: the key is absent (0), is being inserted (1), is present with this number as its version (2), or is being
/// removed (3).
fn change<M: Machine<Line = ()>>(index: &HashIndex<M>, core: &M::Core, key: u64, word: &Word) {
    let was = core.load(&(), word);
    core.store(&(), word, was + 1);
    if was % 4 == 0 {
        assert_eq!(insert(index, core, key, was + 2).unwrap(), Ok(()), "{key} is not there");
        core.store(&(), word, was + 2);
        assert_eq!(insert(index, core, key, 0).unwrap(), Err(was + 2), "{key} is there once");
    } else {
        assert!(remove(index, core, key, was), "{key} is there");
        core.store(&(), word, was + 2);
        assert!(!remove(index, core, key, was), "{key} is there no more");
        assert_eq!(find(index, core, key), None, "{key} is gone");
    }
}

/// Looks up a key of any core. If nothing happened to it meanwhile, what is found must be what is published.
fn observe<M: Machine<Line = ()>>(index: &HashIndex<M>, core: &M::Core, key: u64, word: &Word) {
    if STAY.contains(&key) {
        return;
    }
    let before = core.load(&(), word);
    let found = find(index, core, key);
    if core.load(&(), word) != before {
        return;
    }
    let allowed = match before % 4 {
        0 => [None, None],
        1 => [None, Some(before + 1)],
        2 => [Some(before), Some(before)],
        _ => [None, Some(before - 1)],
    };
    assert!(allowed.contains(&found), "{key} is at {before}, and {found:?} was found");
}

#[test]
fn shared_by_threads() {
    for cores in 2..=4 {
        let machine = Native::new(NativeOptions::default()).unwrap();
        for seed in 0..20 {
            let buckets = shared_by(&machine, cores, 40_000, 6_000, seed);
            assert!(buckets >= 512, "{buckets} buckets");
        }
    }
}

/// Returns the number of buckets that the indexes of `seeds` schedules had on average.
fn explored(fault: Option<machine::Fault>, seeds: u64) -> f64 {
    let mut sum = 0;
    for schedule in [Schedule::Random, Schedule::Pct { depth: 2 }, Schedule::Pct { depth: 3 }] {
        let options = ExploredOptions { schedule, fault, ..Default::default() };
        let mut machine = Explored::new(options).unwrap();
        for seed in 0..seeds {
            machine.renew(seed).unwrap();
            sum += shared_by(&machine, 2 + (seed % 3) as usize, 48, 8, seed);
        }
    }
    sum as f64 / (3 * seeds) as f64
}

#[test]
fn shared_under_adversarial_schedules() {
    let buckets = explored(None, 3000);
    assert!(buckets > 6.0, "{buckets} buckets on average");
}

#[test]
fn planted_bugs_are_caught() {
    for fault in [faults::MOVED_BEFORE_COPIED, faults::READS_MOVED_BUCKETS] {
        let ended = catch_unwind(AssertUnwindSafe(|| explored(Some(fault), 3000)));
        assert!(ended.is_err(), "{fault:?} is not caught");
    }
}
