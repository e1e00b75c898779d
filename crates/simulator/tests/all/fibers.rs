//! Several fibers on a modelled core.

use kilocore_simulator::{MachineDescription, SimCore, SimLine, Simulated, SimulatedOptions};
use machine::{Body, Core, Machine, Place, RunError, Service, Sharing, Word, cold::Arc};
use std::cell::RefCell;

fn graphite() -> Simulated {
    let description = MachineDescription::load("graphite").expect("it is built in");
    Simulated::new(Arc::new(description), SimulatedOptions::default()).expect("memory")
}

/// A word on a line of its own.
#[repr(C, align(64))]
struct Lonely {
    line: SimLine,
    word: Word,
}

// SAFETY: zeros are an untouched line and a word that holds 0.
unsafe impl machine::Zeroed for Lonely {}

fn body<'a>(act: impl FnOnce(&SimCore) + Send + 'a) -> Body<'a, Simulated> {
    Box::new(act)
}

/// Returns the time at which the last of `workers` workers ends that compute for 1000 cycles, pause for as long and do
/// so ten times.
fn ended_at(workers: usize, fibers: usize) -> u64 {
    let machine = graphite();
    let work = || {
        body(|core| {
            for _ in 0..10 {
                core.compute(1000);
                core.pause(1000);
            }
        })
    };
    machine
        .run_fibers(Sharing::fibers(fibers), (0..workers).map(|_| work()).collect(), vec![])
        .expect("it ends");
    machine.clock()
}

#[test]
fn a_core_computes_for_one_fiber_while_another_one_pauses() {
    let (alone, two, four) = (ended_at(1, 1), ended_at(2, 2), ended_at(4, 4));
    // One fiber computes half of the time. Two fill the core, and four need twice that time.
    assert!((20_000..21_500).contains(&alone), "{alone}");
    assert!((20_000..23_500).contains(&two), "{two}");
    assert!((40_000..44_000).contains(&four), "{four}");
    assert!(ended_at(4, 1) < 21_500, "four cores do not disturb each other");
}

#[test]
fn fibers_of_a_core_wait_for_each_other_and_for_other_cores() {
    let machine = graphite();
    let arrived = machine.arena().place::<Lonely>(Place::Any).expect("memory");
    let ids = RefCell::new(Vec::new());
    struct Seen<'a>(&'a RefCell<Vec<usize>>);
    // SAFETY: all modelled cores run on one thread.
    unsafe impl Send for Seen<'_> {}
    let bodies = (0..6).map(|_| {
        let seen = Seen(&ids);
        let arrived = &arrived;
        body(move |core| {
            let seen = seen;
            core.fetch_add(&arrived.line, &arrived.word, 1);
            core.wait_while(&arrived.line, &arrived.word, |value| value < 6);
            seen.0.borrow_mut().push(core.id());
        })
    });
    machine.run_fibers(Sharing::fibers(3), bodies.collect(), vec![]).expect("it ends");
    let mut ids = ids.into_inner();
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn fibers_share_the_caches_of_their_core() {
    let machine = graphite();
    let shared = machine.arena().place::<Lonely>(Place::Any).expect("memory");
    let times = std::sync::Mutex::new(Vec::new());
    let bodies = (0..2).map(|_| {
        body(|core| {
            let begun = core.now();
            core.load(&shared.line, &shared.word);
            times.lock().expect("no panic").push(core.now() - begun);
        })
    });
    machine.run_fibers(Sharing::fibers(2), bodies.collect(), vec![]).expect("it ends");
    let times = times.into_inner().expect("no panic");
    assert!(
        times[0] > 50 && times[1] <= 5,
        "the second fiber finds the line in the cache: {times:?}"
    );
}

#[test]
fn a_fiber_that_lets_others_run_goes_on_when_they_wait() {
    let order = std::sync::Mutex::new(Vec::new());
    let bodies = (0..2).map(|_| {
        body(|core| {
            // Cores start at different times. Both fibers have started when the first one lets the other one run.
            core.compute(2000);
            for step in 0..3 {
                order.lock().expect("no panic").push((core.id(), step));
                core.compute(10);
                core.switch_fiber();
            }
        })
    });
    graphite().run_fibers(Sharing::fibers(2), bodies.collect(), vec![]).expect("it ends");
    let order = order.into_inner().expect("no panic");
    let first = order[0].0;
    let turns =
        [(first, 0), (1 - first, 0), (first, 1), (1 - first, 1), (first, 2), (1 - first, 2)];
    assert_eq!(order, turns);
}

#[test]
fn a_write_after_its_deadline_does_not_let_a_fiber_run_out_of_turn() {
    let machine = graphite();
    let words = machine.arena().place::<[Lonely; 2]>(Place::Any).expect("memory");
    let running = std::sync::Mutex::new(());
    let alone = || running.try_lock().expect("one fiber runs at a time");
    // The first fiber computes while the deadline of the second one passes, and then the third core writes the word.
    let computes = body(|core| {
        core.compute(2000);
        let _alone = alone();
        for _ in 0..100 {
            core.compute(100);
            core.store(&words[1].line, &words[1].word, 1);
        }
    });
    let waits = body(|core| {
        let waited =
            core.wait_while_until(&words[0].line, &words[0].word, core.now() + 4000, |value| {
                value == 0
            });
        let _alone = alone();
        assert!(waited.is_err());
        core.load(&words[1].line, &words[1].word);
    });
    let writes = body(|core| {
        core.compute(8000);
        core.store(&words[0].line, &words[0].word, 1);
    });
    machine.run_fibers(Sharing::fibers(2), vec![computes, waits, writes], vec![]).expect("it ends");
}

#[test]
fn a_deadlock_of_fibers_is_reported_and_a_panic_reaches_the_caller() {
    let machine = graphite();
    let word = machine.arena().place::<Lonely>(Place::Any).expect("memory");
    let stuck = || {
        body(|core| {
            core.wait_while(&word.line, &word.word, |value| value == 0);
        })
    };
    let outcome = machine.run_fibers(Sharing::fibers(2), vec![stuck(), stuck()], vec![]);
    assert!(matches!(outcome, Err(RunError::Deadlock(who)) if who.len() == 2));
    let bodies = vec![body(|_| panic!("on purpose")), body(|core| core.compute(10))];
    let run = || graphite().run_fibers(Sharing::fibers(2), bodies, vec![]);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().expect("a text"), "on purpose");
}

#[test]
fn services_run_beside_fibers_and_more_fibers_than_fit_are_refused() {
    let machine = graphite();
    let ticks = machine.arena().place::<Lonely>(Place::Any).expect("memory");
    let service = Service {
        name: "count",
        interval_ticks: 100,
        tick: Box::new(|core: &SimCore| {
            core.fetch_add(&ticks.line, &ticks.word, 1);
        }),
    };
    let wait = || {
        body(|core| {
            core.wait_while(&ticks.line, &ticks.word, |value| value < 5);
        })
    };
    machine
        .run_fibers(Sharing::fibers(2), vec![wait(), wait(), wait()], vec![service])
        .expect("it ends");
    let many = (0..1024 * 5).map(|_| body(|_| ())).collect();
    assert!(matches!(
        machine.run_fibers(Sharing::fibers(5), many, vec![]),
        Err(RunError::TooManyCores { .. })
    ));
}

/// Runs `workers` fibers that begin on a core each and can move.
fn run_moving(machine: &Simulated, workers: usize, act: impl Fn(&SimCore) + Sync) {
    let bodies = (0..workers).map(|_| body(&act)).collect();
    // SAFETY: nothing in the bodies of these tests is bound to a thread.
    let fibers = unsafe { Sharing::moving_fibers(1) };
    machine.run_fibers(fibers, bodies, vec![]).expect("it ends");
}

#[test]
fn a_fiber_that_moves_sits_on_the_other_tile_and_takes_turns_there() {
    let machine = graphite();
    let counted = machine.arena().place::<Lonely>(Place::Any).expect("memory");
    let Lonely { line, word } = &*counted;
    run_moving(&machine, 16, |core| {
        for _ in 0..10 {
            core.move_to(5);
            assert_eq!((core.host(), core.node()), (Some(5), 5));
            let value = core.load(line, word);
            core.compute(100);
            core.store(line, word, value + 1);
            core.move_to(core.id());
            assert_eq!(core.node(), core.id());
        }
    });
    assert_eq!(word.peek(), 160, "no increment is lost without atomic operations");
}

#[test]
fn a_move_costs_what_the_lines_cost_that_follow_the_fiber() {
    let times = std::sync::Mutex::new(Vec::new());
    run_moving(&graphite(), 2, |core| {
        if core.id() == 0 {
            for to in [1, 0, 1, 0] {
                let begun = core.now();
                core.move_to(to);
                times.lock().expect("no panic").push(core.now() - begun);
            }
        }
    });
    let times = times.into_inner().expect("no panic");
    // The queue's line and eight lines of the stack come from the core that the fiber has left, one after the other on an
    // in-order tile.
    assert!(times[2..].iter().all(|time| (200..400).contains(time)), "{times:?}");
}

#[test]
fn fibers_on_their_way_do_not_keep_a_deadlock_from_being_found() {
    let machine = graphite();
    let never = machine.arena().place::<Lonely>(Place::Any).expect("memory");
    let stuck = || {
        body(|core| {
            core.move_to(1 - core.id());
            core.wait_while(&never.line, &never.word, |value| value == 0);
        })
    };
    // SAFETY: nothing in the bodies is bound to a thread.
    let fibers = unsafe { Sharing::moving_fibers(1) };
    let outcome = machine.run_fibers(fibers, vec![stuck(), stuck()], vec![]);
    assert!(matches!(outcome, Err(RunError::Deadlock(who)) if who.len() == 2));
}

/// A slice of a millisecond, in cycles of a tile.
const SLICE: u64 = 1_000_000;

/// Runs `workers` threads on one tile, and returns the times at which they end.
fn threads_ended_at(workers: usize, act: impl Fn(&SimCore, &Lonely) + Sync) -> Vec<u64> {
    let machine = graphite();
    let read = machine.arena().place::<Lonely>(Place::Any).expect("memory");
    let ended = std::sync::Mutex::new(Vec::new());
    let bodies = (0..workers).map(|_| {
        body(|core| {
            act(core, &read);
            ended.lock().expect("no panic").push(core.now());
        })
    });
    let threads = Sharing::threads(workers, SLICE);
    machine.run_fibers(threads, bodies.collect(), vec![]).expect("it ends");
    ended.into_inner().expect("no panic")
}

#[test]
fn threads_of_a_core_take_turns_in_slices() {
    let compute = |core: &SimCore, Lonely { line, word }: &Lonely| {
        for _ in 0..4000 {
            core.compute(990);
            core.load(line, word);
        }
    };
    // Four slices of work each. Switches take 1.5 us.
    let alone = threads_ended_at(1, compute)[0];
    assert!((3_960_000..3_970_000).contains(&alone), "{alone}");
    let three = threads_ended_at(3, compute);
    assert!(three.iter().all(|end| (9_900_000..12_000_000).contains(end)), "{three:?}");
}

#[test]
fn a_thread_is_interrupted_while_it_holds_a_latch() {
    let machine = graphite();
    let latch = machine.arena().place::<Lonely>(Place::Any).expect("memory");
    let waited = std::sync::Mutex::new(0);
    let Lonely { line, word } = &*latch;
    let holder = body(|core| {
        core.store(line, word, 1);
        // A slice and a half, so that the other thread of the tile has a turn before the latch is released.
        (0..1500).for_each(|_| {
            core.compute(1000);
            core.load(line, word);
        });
        core.store(line, word, 2);
    });
    let beside = body(|core| {
        (0..3000).for_each(|_| {
            core.compute(1000);
            core.load(line, word);
        });
    });
    let waiter = body(|core| {
        core.wait_while(line, word, |value| value == 0);
        let begun = core.now();
        core.wait_while(line, word, |value| value == 1);
        *waited.lock().expect("no panic") = core.now() - begun;
    });
    let idle = body(|_| ());
    let threads = Sharing::threads(2, SLICE);
    machine.run_fibers(threads, vec![holder, beside, waiter, idle], vec![]).expect("it ends");
    let waited = waited.into_inner().expect("no panic");
    assert!((2_300_000..2_700_000).contains(&waited), "{waited} cycles for 1500 thousand of work");
}

/// Bodies that move as threads do pay for the switches of threads, and keep the core until they let others run.
#[test]
fn switches_between_moving_threads_cost_more_than_between_fibers() {
    let ended = |sharing| {
        let machine = graphite();
        let ended = std::sync::Mutex::new(0);
        let bodies = (0..2).map(|_| {
            body(|core| {
                for _ in 0..100 {
                    core.compute(1000);
                    core.switch_fiber();
                }
                *ended.lock().expect("no panic") = core.now();
            })
        });
        machine.run_fibers(sharing, bodies.collect(), vec![]).expect("it ends");
        ended.into_inner().expect("no panic")
    };
    // SAFETY: nothing on the stacks of the bodies is bound to a thread.
    let (fibers, threads) =
        unsafe { (ended(Sharing::moving_fibers(2)), ended(Sharing::moving_threads(2))) };
    // 1.5 us at 1 GHz for each of 200 switches, instead of some cycles.
    let more = threads - fibers;
    assert!((203_000..206_000).contains(&fibers), "{fibers}");
    assert!((290_000..300_500).contains(&more), "{more}");
}
