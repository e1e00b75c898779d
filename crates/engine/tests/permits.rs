//! Tests of permits whose number changes all the time: no more transactions are admitted than the limit ever was, and no session
//! waits for ever. A miniature has three groups of two sessions.

use kilocore_engine::admission::{Applicant, Permits};
use machine::{Body, Core, Explored, ExploredOptions, Machine, Schedule};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SESSIONS: usize = 6;
const MOST: usize = 4;

fn explorer(seed: u64) -> Explored {
    let schedule =
        if seed.is_multiple_of(2) { Schedule::Random } else { Schedule::Pct { depth: 6 } };
    let options =
        ExploredOptions { seed, schedule, overtakes: Some(false), ..ExploredOptions::default() };
    Explored::new(options).unwrap()
}

/// Returns the largest number of transactions that held permits at the same time.
fn most_admitted(seed: u64) -> usize {
    let machine = explorer(seed);
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

/// Sessions of some groups leave early, so that permits are left where nobody wants them.
#[test]
fn permits_are_not_left_where_nobody_wants_them() {
    for seed in 0..20_000 {
        let machine = explorer(seed);
        let limit = 1 + seed as usize % 5;
        let permits = Permits::<Explored>::new(machine.arena(), SESSIONS, limit).unwrap();
        let works = |session: usize| -> Body<'_, Explored> {
            let permits = &permits;
            Box::new(move |core| {
                let applicant = Applicant::of(Some(permits), session);
                let count = if session as u64 == seed / 5 % SESSIONS as u64 { 9 } else { 3 };
                for _ in 0..count {
                    drop(applicant.enter(core));
                    if seed % 3 != 0 {
                        core.pause(1);
                    }
                }
            })
        };
        let bodies = (0..SESSIONS).map(works).collect();
        machine.run(bodies, vec![]).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

/// A debt that was paid by addition could be hidden for a moment, and a raise then granted a permit too many.
#[test]
fn no_more_are_admitted_than_the_largest_limit() {
    for seed in 0..20_000 {
        let most = most_admitted(seed);
        assert!(most <= MOST, "seed {seed}: {most} admitted under a limit of {MOST}");
    }
}
