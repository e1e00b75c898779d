//! Tests of cores with several fibers.

use super::*;

/// Two fibers of each of two cores increment a word by a load and a store. `between` is called between these.
fn sum(machine: &Explored, fibers: usize, between: impl Fn(&ExploredCore) + Sync) -> u64 {
    let words = words::<2>(machine);
    let bodies = (0..4).map(|id: usize| {
        let (words, between) = (&words, &between);
        body(move |core| {
            let own = &words[id / 2];
            for _ in 0..3 {
                let value = core.load(&(), own);
                between(core);
                core.store(&(), own, value + 1);
            }
        })
    });
    machine.run_fibers(Sharing::fibers(fibers), bodies.collect(), vec![]).unwrap();
    words[0].peek() + words[1].peek()
}

#[test]
fn a_fiber_is_interrupted_only_where_it_lets_others_run() {
    for schedule in SCHEDULES {
        let found = first_failure(schedule, 200, |machine| sum(machine, 2, |_| ()) != 12);
        assert_eq!(found, None, "{schedule:?}");
        let found = first_failure(schedule, 50, |machine| sum(machine, 1, |_| ()) != 12);
        assert!(found.is_some(), "cores are interrupted anywhere, {schedule:?}");
    }
}

#[test]
fn a_fiber_that_lets_others_run_can_lose_an_update() {
    let found = first_failure(Schedule::Random, 50, |machine| {
        sum(machine, 2, |core| core.switch_fiber()) != 12
    });
    assert!(found.is_some());
    let found =
        first_failure(Schedule::Random, 50, |machine| sum(machine, 2, |core| core.pause(5)) != 12);
    assert!(found.is_some());
}

#[test]
fn fibers_of_a_core_wait_for_each_other() {
    for schedule in SCHEDULES {
        let mut machine = explorer(schedule);
        for seed in 0..200 {
            machine.renew(seed).unwrap();
            let words = words::<2>(&machine);
            let bodies = (0..4).map(|_| {
                body(|core| {
                    core.fetch_add(&(), &words[0], 1);
                    core.wake(&(), &words[0]);
                    core.wait_while(&(), &words[0], |value| value < 4);
                    core.fetch_add(&(), &words[1], 1);
                })
            });
            machine.run_fibers(Sharing::fibers(2), bodies.collect(), vec![]).unwrap();
            assert_eq!(words[1].peek(), 4);
        }
    }
}

#[test]
fn a_followed_schedule_of_fibers_is_the_same_run() {
    let options = |seed| ExploredOptions { seed, trace: true, ..ExploredOptions::default() };
    for seed in 0..100 {
        let machine = Explored::new(options(seed)).unwrap();
        let first = sum(&machine, 2, |core| core.switch_fiber());
        let switches = machine.switches();
        let other = Explored::new(options(seed)).unwrap();
        other.follow(switches);
        assert_eq!(sum(&other, 2, |core| core.switch_fiber()), first, "seed {seed}");
        assert_eq!(other.trace_hash(), machine.trace_hash(), "seed {seed}");

        let moving = Explored::new(options(seed)).unwrap();
        let first = sum_on(&moving, |id| (id + 1) % 3);
        let other = Explored::new(options(seed)).unwrap();
        other.follow(moving.switches());
        assert_eq!(sum_on(&other, |id| (id + 1) % 3), first, "seed {seed}");
        assert_eq!(other.trace_hash(), moving.trace_hash(), "seed {seed}");
    }
}

/// Runs bodies as fibers that move.
fn run_moving(machine: &Explored, bodies: Vec<Body<'_, Explored>>) {
    // SAFETY: nothing in the bodies of these tests is bound to a thread.
    machine.run_fibers(unsafe { Sharing::moving_fibers(1) }, bodies, vec![]).unwrap();
}

/// Three fibers increment a word by a load and a store. They move to core `to(id)` for that.
fn sum_on(machine: &Explored, to: impl Fn(usize) -> usize + Sync) -> u64 {
    let words = words::<1>(machine);
    let bodies = (0..3).map(|id: usize| {
        let (words, to) = (&words, &to);
        body(move |core| {
            for _ in 0..3 {
                core.move_to(to(id));
                let value = core.load(&(), &words[0]);
                core.store(&(), &words[0], value + 1);
                core.move_to(id);
            }
            assert_eq!(core.host(), Some(id));
        })
    });
    run_moving(machine, bodies.collect());
    words[0].peek()
}

#[test]
fn fibers_that_move_to_one_core_take_turns_there() {
    for schedule in SCHEDULES {
        assert_eq!(first_failure(schedule, 300, |machine| sum_on(machine, |_| 1) < 9), None);
        let apart = first_failure(schedule, 300, |machine| sum_on(machine, |id| id) < 9);
        assert!(apart.is_some(), "on their own cores they interleave");
    }
}
