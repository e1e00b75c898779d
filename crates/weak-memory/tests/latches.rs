//! The latch that is left to the first core that comes, with as many cores as loom allows. (The latch that is
//! handed to a particular core runs on modelled machines only, whose memory is sequentially consistent.)

use kilocore_weak_memory::{Bounds, Fault, Verdict, WeakMemory, check};
use machine::{Body, Core, Machine, Place, Word};
use protocols::mechanisms::queue_latch::LatchNodes;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Three cores count under a latch, with relaxed loads and stores.
fn count(bounds: Bounds) -> Verdict {
    check(bounds, |machine| {
        let nodes = LatchNodes::new::<WeakMemory>(machine.arena(), 3).expect("room");
        let offset = machine.arena().allocate(64, 64, Place::Any).expect("room");
        // SAFETY: the memory was just handed out, and it is used as words.
        let [tail, counter]: &[Word; 2] = unsafe { machine.arena().at(offset) };
        let body = |session| -> Body<'_, WeakMemory> {
            let latcher = nodes.latcher::<WeakMemory>(session);
            Box::new(move |core| {
                latcher.latch(core, &(), tail);
                let before = core.load_relaxed(&(), counter);
                core.store_relaxed(&(), counter, before + 1);
                latcher.unlatch(core, &(), tail);
            })
        };
        machine.run((0..3).map(body).collect(), Vec::new()).expect("it runs");
        assert_eq!((counter.peek(), tail.peek()), (3, 0), "(count, latch)");
    })
}

#[test]
fn one_at_a_time_in_every_execution() {
    let verdict = count(Bounds { preemptions: 3, ..Bounds::default() });
    assert!(verdict.complete && verdict.executions > 1000, "{verdict:?}");
}

#[test]
fn a_hand_over_that_releases_nothing_is_noticed() {
    let bounds = Bounds { fault: Some(Fault::RelaxedStores), ..Bounds::default() };
    let ended = catch_unwind(AssertUnwindSafe(|| count(bounds)));
    assert!(ended.is_err(), "{ended:?}");
}
