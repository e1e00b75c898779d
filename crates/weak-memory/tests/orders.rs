//! The machine shows what weak orders allow, and nothing else: otherwise no test on it would mean anything.

use machine::{Body, Core, Machine, Place, Word};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};
use weak_memory::{Bounds, WeakCore, WeakMemory, check};

type Side = fn(&WeakCore, &[Word; 2]) -> u64;

/// What the two sides can return together.
fn outcomes(left: Side, right: Side) -> BTreeSet<(u64, u64)> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let all = seen.clone();
    let verdict = check(Bounds::default(), move |machine| {
        let offset = machine.arena().allocate(64, 64, Place::Any).expect("room");
        // SAFETY: just handed out, and words.
        let words: &[Word; 2] = unsafe { machine.arena().at(offset) };
        let results = [Word::new(0), Word::new(0)];
        let body = |side: Side, result: usize| -> Body<'_, WeakMemory> {
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
    let received: Side = |core, [data, flag]| {
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

#[test]
fn stores_before_loads_need_a_full_fence() {
    // Dekker's question: both sides may find the other's word unwritten, unless there is a fence.
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
