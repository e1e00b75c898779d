//! Jobs that a server does for a client: what the job writes is seen by the client, and no job is posted to a server that
//! sleeps for ever.

use kilocore_weak_memory::{Bounds, Fault, Verdict, WeakMemory, check};
use machine::{Body, Core, Machine, Place, Word, mailbox::Mailboxes};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A client has a server add to a word that the client has written, and reads the sum.
fn additions(bounds: Bounds, jobs: u64) -> Verdict {
    check(bounds, move |machine| {
        let arena = machine.arena();
        let mailboxes: Mailboxes<WeakMemory> =
            Mailboxes::new(1, 1, |_| arena.clone()).expect("room");
        let offset = arena.allocate(64, 64, Place::Any).expect("room");
        // SAFETY: the memory was just handed out, and it is used as a word.
        let word: &Word = unsafe { arena.at(offset) };
        mailboxes.open(1);
        let client: Body<'_, WeakMemory> = Box::new(|core| {
            let mailbox = mailboxes.at(0, 0);
            for job in 0..jobs {
                core.store_relaxed(&(), word, 10 * job);
                mailbox.ask(core, &mut |on| {
                    let before = on.load_relaxed(&(), word);
                    on.store_relaxed(&(), word, before + 1);
                });
                assert_eq!(core.load_relaxed(&(), word), 10 * job + 1);
            }
            mailboxes.end(core);
        });
        let server: Body<'_, WeakMemory> = Box::new(|core| mailboxes.serve(core, 0));
        machine.run(vec![client, server], Vec::new()).expect("it runs");
    })
}

#[test]
fn a_job_sees_its_client_and_is_seen_in_every_execution() {
    let verdict = additions(Bounds { preemptions: 3, ..Bounds::default() }, 1);
    assert!(verdict.complete && verdict.executions > 100, "{verdict:?}");
}

#[test]
fn a_slot_that_releases_nothing_is_noticed() {
    let bounds = Bounds { fault: Some(Fault::RelaxedStores), ..Bounds::default() };
    let ended = catch_unwind(AssertUnwindSafe(|| additions(bounds, 1)));
    assert!(ended.is_err(), "{ended:?}");
}

/// Without the fences the client can miss that the server sleeps while the server misses the job.
#[test]
fn fences_between_a_slot_and_a_bell_are_needed() {
    let bounds = Bounds { fault: Some(Fault::NoFences), preemptions: 3, ..Bounds::default() };
    let ended = catch_unwind(AssertUnwindSafe(|| additions(bounds, 1)));
    assert!(ended.is_err(), "{ended:?}");
}
