//! Tests of what the explorer must find and what it must not find.

mod endings;
mod fibers;
mod following;

use super::*;
use crate::{Core, Place, Shared, TimedOut, Word};

fn explorer(schedule: Schedule) -> Explored {
    let arena = ArenaOptions { reserve_bytes: 1 << 26, ..ArenaOptions::default() };
    Explored::new(ExploredOptions { schedule, arena, ..ExploredOptions::default() }).unwrap()
}

const SCHEDULES: [Schedule; 3] =
    [Schedule::Random, Schedule::Pct { depth: 2 }, Schedule::Pct { depth: 3 }];

fn words<const N: usize>(machine: &Explored) -> Shared<[Word; N]> {
    machine.arena().place(Place::Any).unwrap()
}

fn body<'a>(body: impl FnOnce(&ExploredCore) + Send + 'a) -> Body<'a, Explored> {
    Box::new(body)
}

/// Returns the first seed below `seeds` under which `fails` holds.
fn first_failure(
    schedule: Schedule,
    seeds: u64,
    mut fails: impl FnMut(&Explored) -> bool,
) -> Option<u64> {
    let mut machine = explorer(schedule);
    (0..seeds).find(|&seed| {
        machine.renew(seed).unwrap();
        fails(&machine)
    })
}

fn increments(machine: &Explored, add: impl Fn(&ExploredCore, &Word) + Sync) -> u64 {
    let words = words::<1>(machine);
    let bodies = (0..3).map(|_| body(|core| (0..3).for_each(|_| add(core, &words[0]))));
    machine.run(bodies.collect(), vec![]).unwrap();
    words[0].peek()
}

fn torn_increment(core: &ExploredCore, word: &Word) {
    let value = core.load(&(), word);
    core.store(&(), word, value + 1);
}

#[test]
fn a_lost_update_is_found_quickly() {
    for schedule in SCHEDULES {
        let found = first_failure(schedule, 50, |m| increments(m, torn_increment) != 9);
        assert!(found.is_some(), "{schedule:?}");
    }
}

#[test]
fn read_modify_writes_are_indivisible() {
    for schedule in SCHEDULES {
        let adds = |m: &Explored| increments(m, |core, w| _ = core.fetch_add(&(), w, 1)) != 9;
        assert_eq!(first_failure(schedule, 300, adds), None);
        let cas = |core: &ExploredCore, w: &Word| {
            let mut value = core.load(&(), w);
            while let Err(now) = core.cas(&(), w, value, value + 1) {
                value = now;
            }
        };
        assert_eq!(first_failure(schedule, 300, |m| increments(m, cas) != 9), None);
    }
}

#[test]
fn a_copy_can_be_torn() {
    for schedule in SCHEDULES {
        let found = first_failure(schedule, 100, |machine| {
            let record = words::<3>(machine);
            let torn = Word::new(0);
            let writer = body(|core| core.copy_in(&(), 0, &record[..], &[7; 20]));
            let reader = body(|core| {
                let mut bytes = [0; 20];
                core.copy_out(&(), 0, &record[..], &mut bytes);
                torn.poke(u64::from(bytes.iter().any(|&b| b != bytes[0])));
            });
            machine.run(vec![writer, reader], vec![]).unwrap();
            assert_eq!(record[2].peek(), 0x0707_0707);
            torn.peek() == 1
        });
        assert!(found.is_some(), "{schedule:?}");
    }
}

fn latch(core: &ExploredCore, word: &Word) {
    while core.cas(&(), word, 0, 1).is_err() {
        core.wait_while(&(), word, |v| v != 0);
    }
}

fn unlatch(core: &ExploredCore, word: &Word) {
    core.store(&(), word, 0);
    core.wake(&(), word);
}

#[test]
fn a_latch_excludes_and_is_handed_on() {
    for schedule in SCHEDULES {
        let fails = |machine: &Explored| {
            let words = words::<2>(machine);
            let critical = |core: &ExploredCore| {
                for _ in 0..5 {
                    latch(core, &words[0]);
                    torn_increment(core, &words[1]);
                    unlatch(core, &words[0]);
                }
            };
            machine.run((0..4).map(|_| body(critical)).collect(), vec![]).unwrap();
            words[1].peek() != 20
        };
        assert_eq!(first_failure(schedule, 300, fails), None);
    }
}

/// Runs two workers that acquire two latches in opposite orders.
fn crossing(machine: &Explored) -> Result<(), RunError> {
    let words = words::<2>(machine);
    let cross = |a: usize, b: usize| {
        let words = &words;
        body(move |core| {
            latch(core, &words[a]);
            latch(core, &words[b]);
            unlatch(core, &words[b]);
            unlatch(core, &words[a]);
        })
    };
    let service = Service { name: "epochs", interval_ticks: 1, tick: Box::new(|_| ()) };
    machine.run(vec![cross(0, 1), cross(1, 0)], vec![service])
}

#[test]
fn a_deadlock_is_reported_in_words_services_or_not() {
    for schedule in SCHEDULES {
        let found = first_failure(schedule, 100, |machine| match crossing(machine) {
            Ok(()) => false,
            Err(RunError::Deadlock(who)) => {
                assert_eq!(who.len(), 2);
                assert_eq!(who[0], "worker 0 waits for the word at offset 4104, which holds 1");
                assert_eq!(who[1], "worker 1 waits for the word at offset 4096, which holds 1");
                true
            }
            Err(other) => panic!("{other}"),
        });
        assert!(found.is_some(), "{schedule:?}");
    }
}

#[test]
fn a_deadlock_is_broken_by_time_outs() {
    let mut timed_out = 0;
    for schedule in SCHEDULES {
        let missing = |machine: &Explored| {
            let words = words::<2>(machine);
            let late = Word::new(0);
            let wait = |word: usize, ticks: u64| {
                let (words, late) = (&words, &late);
                body(move |core| {
                    let deadline = core.now() + ticks;
                    let waited = core.wait_while_until(&(), &words[word], deadline, |v| v == 0);
                    assert_eq!(waited.is_err(), core.now() > deadline && waited == Err(TimedOut));
                    late.poke(late.peek() + u64::from(waited.is_err()));
                    core.store(&(), &words[1 - word], 1);
                    core.wake(&(), &words[1 - word]);
                })
            };
            machine.run(vec![wait(0, 1000), wait(1, 1_000_000)], vec![]).unwrap();
            assert!((1..=2).contains(&late.peek()));
            timed_out += late.peek();
            false
        };
        first_failure(schedule, 100, missing);
    }
    // In most runs the earlier worker wakes the later one.
    assert!(timed_out < 360, "{timed_out}");
}

#[test]
fn a_seed_replays_step_for_step_whatever_ran_before() {
    for schedule in SCHEDULES {
        let observe = |machine: &Explored| {
            let first = (crossing(machine), machine.steps(), machine.trace_hash());
            (first, increments(machine, torn_increment), machine.trace_hash(), machine.trace())
        };
        let fresh = |seed| {
            let options = ExploredOptions { seed, schedule, trace: true, ..Default::default() };
            Explored::new(options).unwrap()
        };
        let mut machine = fresh(99);
        let mut hashes = std::collections::BTreeSet::new();
        for seed in 0..40 {
            machine.renew(seed).unwrap();
            let seen = observe(&machine);
            assert_eq!(seen, observe(&fresh(seed)));
            assert!(!seen.3.is_empty());
            hashes.insert(seen.2);
        }
        assert!(hashes.len() > 5, "{schedule:?}: only {} different schedules", hashes.len());
    }
}

#[test]
fn a_run_without_end_meets_the_step_limit() {
    for schedule in SCHEDULES {
        let options = ExploredOptions { schedule, step_limit: 50_000, ..Default::default() };
        let machine = Explored::new(options).unwrap();
        let word = Word::new(0);
        let spin = || body(|core| while core.load(&(), &word) == 0 {});
        assert_eq!(machine.run(vec![spin(), spin()], vec![]), Err(RunError::StepLimit(50_000)));
        assert_eq!(machine.steps(), 50_001);
        assert_eq!(increments(&machine, |core, w| _ = core.fetch_add(&(), w, 1)), 9);
    }
}

#[test]
fn backing_off_lets_others_go_on() {
    for schedule in SCHEDULES {
        for seed in 0..50 {
            let options =
                ExploredOptions { seed, schedule, step_limit: 2000, ..Default::default() };
            let machine = Explored::new(options).unwrap();
            let words = words::<1>(&machine);
            let spin = || {
                body(|core| {
                    while core.load(&(), &words[0]) == 0 {
                        let before = core.now();
                        core.pause(50);
                        assert!(core.now() >= before + 50);
                    }
                })
            };
            let release = body(|core| {
                (0..20).for_each(|_| _ = core.load(&(), &words[0]));
                core.store(&(), &words[0], 1);
            });
            machine.run(vec![spin(), release, spin()], vec![]).unwrap();
        }
    }
}

fn counting<'a>(word: &'a Word) -> Service<'a, Explored> {
    let tick = Box::new(|core: &ExploredCore| {
        core.fetch_add(&(), word, 1);
        core.wake(&(), word);
    });
    Service { name: "count", interval_ticks: 1, tick }
}

#[test]
fn services_tick_during_runs_and_after_them() {
    for schedule in SCHEDULES {
        let mut machine = explorer(schedule);
        let (mut during, mut runs) = (0, 0);
        for seed in 0..50 {
            machine.renew(seed).unwrap();
            let words = words::<2>(&machine);
            let work = body(|core| {
                (0..100).for_each(|_| _ = core.load(&(), &words[0]));
                core.store(&(), &words[1], core.load(&(), &words[0]));
            });
            machine.run(vec![work], vec![counting(&words[0])]).unwrap();
            assert!(words[0].peek() > words[1].peek());
            during += words[1].peek();
            runs += u64::from(words[1].peek() > 0);
        }
        assert!(runs > 10 && during > 50, "{during} ticks during {runs} runs");
    }
}

#[test]
fn a_worker_may_wait_for_a_service() {
    for schedule in SCHEDULES {
        let fails = |machine: &Explored| {
            let words = words::<1>(machine);
            let wait = body(|core| _ = core.wait_while(&(), &words[0], |v| v < 30));
            machine.run(vec![wait], vec![counting(&words[0])]).unwrap();
            words[0].peek() < 31
        };
        assert_eq!(first_failure(schedule, 20, fails), None);
    }
}

#[test]
fn who_ends_a_wait_and_wakes_nobody_is_found_out() {
    // A core that wakes late, but before it waits or ends itself, is correct. In some schedules no core waits
    // yet.
    type Way = fn(&ExploredCore, &[Word; 2]);
    let ways: [(Way, bool); 5] = [
        (|core, words| _ = core.load(&(), &words[1]), true),
        (|core, words| core.wake(&(), &words[1]), true),
        (|core, _| core.pause(10), true),
        (|core, words| core.wake(&(), &words[0]), false),
        (
            |core, words| {
                core.load(&(), &words[1]);
                core.wake_each([&words[1], &words[0]].map(|word| (&(), word)).into_iter());
            },
            false,
        ),
    ];
    for (schedule, (after, fails)) in
        SCHEDULES.into_iter().flat_map(|schedule| ways.map(|way| (schedule, way)))
    {
        let found = first_failure(schedule, 100, |machine| {
            let words = words::<2>(machine);
            let wait = || body(|core| _ = core.wait_while(&(), &words[0], |v| v < 2));
            let end = body(|core| {
                // This write ends no wait.
                core.store(&(), &words[0], 1);
                core.store(&(), &words[0], 2);
                after(core, &words);
            });
            let run = || machine.run(vec![wait(), end, wait()], vec![]);
            let ended = catch_unwind(AssertUnwindSafe(run));
            let told = |payload: &Box<dyn std::any::Any + Send>| {
                payload.downcast_ref::<String>().is_some_and(|text| text.contains("woken nobody"))
            };
            assert!(ended.as_ref().is_ok_and(Result::is_ok) || ended.as_ref().is_err_and(told));
            ended.is_err()
        });
        assert_eq!(found.is_some(), fails, "{schedule:?}");
    }
}

#[test]
fn a_word_written_behind_the_machine_ends_a_wait() {
    let fails = |machine: &Explored| {
        let words = words::<1>(machine);
        let wait = body(|core| _ = core.wait_while(&(), &words[0], |v| v == 0));
        machine.run(vec![wait, body(|_| words[0].poke(1))], vec![]).is_err()
    };
    assert_eq!(first_failure(Schedule::Random, 20, fails), None);
}

/// Returns true if one worker ran as a whole, `length` operations, between two adjacent operations of another
/// worker.
fn squeezed(machine: &Explored, length: u64) -> bool {
    let words = words::<1>(machine);
    let found = Word::new(0);
    let reader = body(|core| {
        let seen: Vec<u64> = (0..20).map(|_| core.load(&(), &words[0])).collect();
        found.poke(u64::from(seen.windows(2).any(|pair| pair[0] == 0 && pair[1] == length)));
    });
    let writer = body(|core| (1..=length).for_each(|i| core.store(&(), &words[0], i)));
    machine.run(vec![reader, writer], vec![]).unwrap();
    found.peek() == 1
}

#[test]
fn priorities_find_what_needs_one_long_delay() {
    let with_hint = |depth, seeds| {
        let found = (0..seeds).filter(|&seed| {
            let schedule = Schedule::Pct { depth };
            let expected_steps = Some(60);
            let options =
                ExploredOptions { seed, schedule, expected_steps, ..ExploredOptions::default() };
            squeezed(&Explored::new(options).unwrap(), 40)
        });
        found.count()
    };
    // Half of the schedules start with the reader, and a third of the steps are its own.
    assert!((15..60).contains(&with_hint(2, 200)), "{}", with_hint(2, 200));
    assert_eq!(with_hint(1, 50), 0);
    assert!(first_failure(Schedule::Pct { depth: 2 }, 200, |m| squeezed(m, 40)).is_some());
}

#[test]
fn back_offs_do_not_go_round_in_the_same_order_for_ever() {
    for seed in 0..20 {
        let schedule = Schedule::Pct { depth: 3 };
        let options = ExploredOptions { seed, schedule, ..ExploredOptions::default() };
        let machine = Explored::new(options).unwrap();
        let last = &words::<1>(&machine)[0];
        let tries_twice_in_a_row = |id: u64| {
            body(move |core| {
                while core.swap(&(), last, id) != id {
                    core.pause(1);
                }
            })
        };
        let bodies = (1..=3).map(tries_twice_in_a_row).collect();
        machine.run(bodies, vec![]).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

#[test]
fn stretches_of_all_lengths_occur() {
    // The writer must run that many operations between two adjacent reads.
    for (length, at_least) in [(2, 200), (10, 60), (40, 10)] {
        let mut machine = explorer(Schedule::Random);
        let found = (0..1000).filter(|&seed| {
            machine.renew(seed).unwrap();
            squeezed(&machine, length)
        });
        let found = found.count();
        assert!(found >= at_least, "{found} with {length}");
    }
}

#[test]
fn an_explorer_runs_once_at_a_time() {
    let machine = explorer(Schedule::Random);
    let inner = body(|_| {
        let nested = machine.run(vec![], vec![]);
        assert!(matches!(nested, Err(RunError::System(_))));
    });
    machine.run(vec![inner], vec![]).unwrap();
    machine.run(vec![], vec![]).unwrap();
}

#[test]
fn what_is_still_referred_to_survives_a_renewal() {
    let mut machine = explorer(Schedule::Random);
    let old = words::<1>(&machine);
    old[0].poke(5);
    machine.renew(1).unwrap();
    let fresh = words::<1>(&machine);
    assert_eq!((old[0].peek(), fresh[0].peek()), (5, 0));
}

#[test]
fn one_fault_is_planted_and_to_ask_is_no_step() {
    let (planted, other) = (Fault("planted"), Fault("other"));
    let options = ExploredOptions { fault: Some(planted), ..ExploredOptions::default() };
    let mut machine = Explored::new(options).unwrap();
    for seed in 0..2 {
        machine.renew(seed).unwrap();
        let ask = body(|core| assert!(core.is_planted(planted) && !core.is_planted(other)));
        machine.run(vec![ask], vec![]).unwrap();
        assert_eq!(machine.steps(), 0);
    }
}

#[test]
fn whether_cores_overtake_is_given_or_drawn_from_the_seed() {
    let overtake = |options: ExploredOptions| {
        let machine = Explored::new(options).unwrap();
        let overtakes = AtomicBool::new(false);
        let ask = body(|core| overtakes.store(core.overtakes(), Ordering::Relaxed));
        machine.run(vec![ask], vec![]).unwrap();
        overtakes.into_inner()
    };
    for seed in 0..3 {
        for given in [false, true] {
            let options = ExploredOptions { seed, overtakes: Some(given), ..Default::default() };
            assert_eq!(overtake(options), given);
        }
    }
    let drawn = |seed| overtake(ExploredOptions { seed, ..Default::default() });
    let count = (0..100).filter(|&seed| drawn(seed)).count();
    assert!((30..70).contains(&count), "{count} of 100 seeds");
    assert!((0..100).all(|seed| drawn(seed) == drawn(seed)));
}
