//! A hash index that grows while another core looks up keys, in every execution that the memory model allows.

use kilocore_weak_memory::{Bounds, Fault, Verdict, WeakCore, WeakMemory, check};
use machine::{Body, Machine};
use std::panic::{AssertUnwindSafe, catch_unwind};
use storage::index::HashIndex;

/// Offsets in this test are no memory. They say which key a record has.
fn offset_of(key: u64) -> u64 {
    (key + 1) << 6
}

fn key_of(offset: u64) -> u64 {
    (offset >> 6) - 1
}

fn find(index: &HashIndex<WeakMemory>, core: &WeakCore, key: u64) -> Option<u64> {
    index.find(core, key, |offset| key_of(offset) == key)
}

fn insert(index: &HashIndex<WeakMemory>, core: &WeakCore, key: u64) {
    let is_key = |offset| key_of(offset) == key;
    let inserted = index.insert(core, (key, offset_of(key)), is_key, key_of, || ());
    assert_eq!(inserted, Ok(Ok(())));
}

/// Returns keys whose hashes lie in the first bucket of two.
fn keys_of_the_first_bucket(machine: &WeakMemory) -> Vec<u64> {
    let core = machine.core(0);
    let first = |key: &u64| {
        let index = HashIndex::<WeakMemory>::new(machine.arena(), 0).expect("room");
        index.insert_alone(*key, offset_of(*key), key_of).expect("room");
        let mut met = false;
        index.walk(&core, 0, 1, &mut |_| met = true);
        met
    };
    (0..).filter(first).take(2).collect()
}

/// One core inserts a key, for which its bucket has no room. So the index grows, and the core moves the bucket. The
/// other core looks up a key that has been there all the time, then removes it and looks for it again.
fn grow(bounds: Bounds) -> Verdict {
    check(bounds, |machine| {
        let keys = keys_of_the_first_bucket(&machine);
        let index = HashIndex::<WeakMemory>::new(machine.arena(), 0).expect("room");
        index.insert_alone(keys[0], offset_of(keys[0]), key_of).expect("room");
        let (index, keys) = (&index, &keys);
        let grows: Body<'_, WeakMemory> = Box::new(move |core| insert(index, core, keys[1]));
        let reads: Body<'_, WeakMemory> = Box::new(move |core| {
            assert_eq!(find(index, core, keys[0]), Some(offset_of(keys[0])), "it has stayed");
            assert!(index.remove(core, keys[0], offset_of(keys[0])), "it is there");
            assert_eq!(find(index, core, keys[0]), None, "it has been removed");
        });
        machine.run(vec![grows, reads], Vec::new()).expect("it runs");
        let core = machine.core(0);
        let mut met = Vec::new();
        let mut at = Some(0);
        while let Some(first) = at {
            at = index.walk(&core, first, 1, &mut |offset| met.push(key_of(offset)));
        }
        met.sort_unstable();
        assert_eq!(met, keys[1..]);
    })
}

#[test]
fn a_reader_misses_nothing_in_any_execution() {
    let verdict = grow(Bounds { preemptions: 3, ..Bounds::default() });
    assert!(verdict.complete && verdict.executions > 100, "{verdict:?}");
}

#[test]
fn a_move_that_releases_nothing_is_noticed() {
    let bounds = Bounds { fault: Some(Fault::RelaxedStores), ..Bounds::default() };
    let ended = catch_unwind(AssertUnwindSafe(|| grow(bounds)));
    let payload = ended.expect_err("noticed");
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or(payload.downcast_ref().copied()).unwrap_or_default();
    let missed = ["it has stayed", "it is there"].iter().any(|key| text.contains(key));
    assert!(missed, "another failure: {text}");
}
