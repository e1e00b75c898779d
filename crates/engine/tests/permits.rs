//! Tests that a limit that changes all the time admits no more transactions than it ever was.

use kilocore_engine::admission::{Applicant, Permits};
use machine::{Body, Core, Explored, ExploredOptions, Machine, Schedule};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SESSIONS: usize = 6;
const MOST: usize = 4;

/// Returns the largest number of transactions that held permits at the same time.
fn most_admitted(seed: u64) -> usize {
    let schedule =
        if seed.is_multiple_of(2) { Schedule::Random } else { Schedule::Pct { depth: 6 } };
    let options =
        ExploredOptions { seed, schedule, overtakes: Some(false), ..ExploredOptions::default() };
    let machine = Explored::new(options).unwrap();
    let permits = Permits::<Explored>::new(machine.arena(), SESSIONS, 1).unwrap();
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let works = |session: usize| -> Body<'_, Explored> {
        let (permits, now, most) = (&permits, &now, &most);
        Box::new(move |core| {
            let applicant = Applicant::of(Some(permits), session);
            for _ in 0..8 {
                let permit = applicant.enter(core);
                most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
                core.pause(1);
                now.fetch_sub(1, Relaxed);
                drop(permit);
            }
        })
    };
    let limits: Body<'_, Explored> = Box::new(|core| {
        for step in 0..40 {
            permits.set_limit(core, MOST - step % 2);
        }
    });
    let bodies = (0..SESSIONS).map(works).chain([limits]).collect();
    machine.run(bodies, vec![]).expect("it ends");
    most.into_inner()
}

/// A debt that was paid by addition could be hidden for a moment, and a raise then granted a permit too many.
#[test]
fn no_more_are_admitted_than_the_largest_limit() {
    for seed in 0..20_000 {
        let most = most_admitted(seed);
        assert!(most <= MOST, "seed {seed}: {most} admitted under a limit of {MOST}");
    }
}
