//! The machine must show what weak orders allow, and nothing else. Otherwise no test on it would mean anything.

use kilocore_weak_memory::{Bounds, WeakCore, WeakMemory, check};
use machine::{Body, Core, Machine, Place, Word};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

type Side<const WORDS: usize> = fn(&WeakCore, &[Word; WORDS]) -> u64;

/// Returns all pairs of results that the two sides can return together.
fn outcomes(left: Side<2>, right: Side<2>) -> BTreeSet<(u64, u64)> {
    outcomes_of(left, right)
}

fn outcomes_of<const WORDS: usize>(left: Side<WORDS>, right: Side<WORDS>) -> BTreeSet<(u64, u64)> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let all = seen.clone();
    let verdict = check(Bounds::default(), move |machine| {
        let offset = machine.arena().allocate(64, 64, Place::Any).expect("room");
        // SAFETY: the memory was just handed out, and it is used as words.
        let words: &[Word; WORDS] = unsafe { machine.arena().at(offset) };
        let results = [Word::new(0), Word::new(0)];
        let body = |side: Side<WORDS>, result: usize| -> Body<'_, WeakMemory> {
            let results = &results;
            Box::new(move |core| results[result].poke(side(core, words)))
        };
        machine.run(vec![body(left, 0), body(right, 1)], Vec::new()).expect("it runs");
        all.lock().expect("nobody panics").insert((results[0].peek(), results[1].peek()));
    });
    assert!(verdict.complete, "{verdict:?}");
    let seen = seen.lock().expect("nobody panics");
    seen.clone()
}

#[test]
fn a_released_message_is_whole_and_a_relaxed_one_need_not_be() {
    let received: Side<2> = |core, [data, flag]| {
        let arrived = core.load(&(), flag);
        arrived * 10 + core.load_relaxed(&(), data)
    };
    let released = outcomes(
        |core, [data, flag]| {
            core.store_relaxed(&(), data, 1);
            core.store(&(), flag, 1);
            0
        },
        received,
    );
    assert_eq!(released, BTreeSet::from([(0, 0), (0, 1), (0, 11)]));
    let relaxed = outcomes(
        |core, [data, flag]| {
            core.store_relaxed(&(), data, 1);
            core.store_relaxed(&(), flag, 1);
            0
        },
        received,
    );
    assert_eq!(relaxed, BTreeSet::from([(0, 0), (0, 1), (0, 10), (0, 11)]));
}

/// Runs a waker, which stores to the word and reads the count, and a sleeper, which adds to the count and reads
/// the word.
///
/// The sleeper sends an interrupt to the waker and waits for it, as a barrier for all threads does. The
/// interrupt arrives before, between, or after the waker's two operations, as `INTERRUPTED` says. It is a full
/// fence and nothing else.
fn interrupted<const INTERRUPTED: usize>() -> BTreeSet<(u64, u64)> {
    fn interrupt(core: &WeakCore, asked: &Word) {
        core.wait_while(&(), asked, |asked| asked == 0);
        core.fence();
        core.store(&(), asked, 2);
    }
    outcomes_of(
        |core, [word, count, asked]| {
            if INTERRUPTED == 0 {
                interrupt(core, asked);
            }
            core.store(&(), word, 1);
            if INTERRUPTED == 1 {
                interrupt(core, asked);
            }
            let counted = core.load_relaxed(&(), count);
            if INTERRUPTED == 2 {
                interrupt(core, asked);
            }
            counted
        },
        |core, [word, count, asked]| {
            core.fetch_add(&(), count, 1);
            core.fence();
            core.store(&(), asked, 1);
            core.wait_while(&(), asked, |asked| asked != 2);
            core.load(&(), word)
        },
    )
}

#[test]
fn a_barrier_for_all_threads_is_enough_for_who_sleeps() {
    // (0, 0) would be a sleeper that has missed the change and that no waker wakes.
    assert_eq!(interrupted::<0>(), BTreeSet::from([(1, 0), (1, 1)]));
    assert_eq!(interrupted::<1>(), BTreeSet::from([(1, 1)]));
    assert_eq!(interrupted::<2>(), BTreeSet::from([(0, 1), (1, 1)]));
    let without = outcomes_of(
        |core, [word, count, _]| {
            core.store(&(), word, 1);
            core.load_relaxed(&(), count)
        },
        |core, [word, count, _]| {
            core.fetch_add(&(), count, 1);
            core.fence();
            core.load(&(), word)
        },
    );
    assert!(without.contains(&(0, 0)), "the test would notice: {without:?}");
}

#[test]
fn stores_before_loads_need_a_full_fence() {
    // Dekker's problem: without a fence, both sides can find the other's word unwritten.
    let unfenced = outcomes(
        |core, [a, b]| {
            core.store(&(), a, 1);
            core.load(&(), b)
        },
        |core, [a, b]| {
            core.store(&(), b, 1);
            core.load(&(), a)
        },
    );
    assert!(unfenced.contains(&(0, 0)), "{unfenced:?}");
    let fenced = outcomes(
        |core, [a, b]| {
            core.store(&(), a, 1);
            core.fence();
            core.load(&(), b)
        },
        |core, [a, b]| {
            core.store(&(), b, 1);
            core.fence();
            core.load(&(), a)
        },
    );
    assert_eq!(fenced, BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
}

/// Runs an insertion, which latches a leaf, counts itself in the leaf's guard and reads a timestamp there, and a reader, which
/// raises the timestamp and then reads latch and count. The insertion has a fence after the latch if `LATCH` is set, and one
/// after the count if `COUNT` is set (`Guard::count_insertion`). Returns the timestamps that the insertion reads, with what the
/// reader finds: 10 if there is a latch, plus the count.
fn insertions<const LATCH: bool, const COUNT: bool>() -> BTreeSet<(u64, u64)> {
    outcomes_of(
        |core, [latch, count, timestamp]| {
            core.cas(&(), latch, 0, 1).expect("nobody else takes the latch");
            if LATCH {
                core.fence();
            }
            let before = core.load_relaxed(&(), count);
            core.store(&(), count, before + 1);
            if COUNT {
                core.fence();
            }
            core.load_relaxed(&(), timestamp)
        },
        |core, [latch, count, timestamp]| {
            core.store(&(), timestamp, 1);
            core.fence();
            let latched = core.load(&(), latch);
            latched * 10 + core.load(&(), count)
        },
    )
}

#[test]
fn the_fence_of_an_insertion_covers_latch_and_count() {
    // An insertion that misses the raised timestamp is noticed by the reader, by the latch as by the count.
    let covered = BTreeSet::from([(0, 11), (1, 0), (1, 1), (1, 10), (1, 11)]);
    assert_eq!(insertions::<false, true>(), covered);
    assert_eq!(insertions::<true, true>(), covered, "a fence after the latch adds nothing");
    assert!(insertions::<true, false>().contains(&(0, 10)), "it would not do alone");
    assert!(insertions::<false, false>().contains(&(0, 0)), "the test would notice");
}
