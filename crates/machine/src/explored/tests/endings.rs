//! Runs that panic, deadlock or hang. Everything must be cleaned up, and the explorer must stay usable.

use super::*;

/// Releases a latch when it drops, and waits for another latch before that.
struct Guard<'a>(&'a ExploredCore, &'a [Word; 2]);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        latch(self.0, &self.1[1]);
        unlatch(self.0, &self.1[1]);
        unlatch(self.0, &self.1[0]);
    }
}

#[test]
fn a_panic_reaches_the_caller_and_the_machine_stays_usable() {
    for schedule in SCHEDULES {
        let mut machine = explorer(schedule);
        for seed in 0..50 {
            machine.renew(seed).unwrap();
            let words = words::<2>(&machine);
            let failing = body(|core| {
                latch(core, &words[0]);
                let _guard = Guard(core, &words);
                core.load(&(), &words[0]);
                resume_unwind(Box::new("on purpose"));
            });
            let other = || {
                body(|core| {
                    latch(core, &words[0]);
                    let _guard = Guard(core, &words);
                })
            };
            // The third worker waits for ever and is torn down.
            let hanging = body(|core| {
                latch(core, &words[1]);
                unlatch(core, &words[1]);
                let nothing = Word::new(0);
                core.wait_while(&(), &nothing, |v| v == 0);
            });
            let run = || machine.run(vec![failing, other(), hanging], vec![]);
            let caught = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            assert_eq!(*caught.downcast::<&str>().unwrap(), "on purpose");
            assert!(!std::thread::panicking());
            assert_eq!((words[0].peek(), words[1].peek()), (0, 0));
            assert_eq!(increments(&machine, |core, w| _ = core.fetch_add(&(), w, 1)), 9);
        }
    }
}

#[test]
fn a_rollback_that_backs_off_gets_what_it_waits_for() {
    struct Rollback<'a>(&'a ExploredCore, &'a Word);
    impl Drop for Rollback<'_> {
        fn drop(&mut self) {
            while self.0.cas(&(), self.1, 0, 1).is_err() {
                self.0.pause(10);
            }
            unlatch(self.0, self.1);
        }
    }
    for schedule in SCHEDULES {
        let fails = |machine: &Explored| {
            let words = words::<1>(machine);
            let failing = body(|core| {
                let _rollback = Rollback(core, &words[0]);
                core.load(&(), &words[0]);
                resume_unwind(Box::new("on purpose"));
            });
            let other = || {
                body(|core| {
                    latch(core, &words[0]);
                    unlatch(core, &words[0]);
                })
            };
            let run = || machine.run(vec![other(), failing, other()], vec![]);
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
            words[0].peek() != 0 || machine.steps() > 500
        };
        assert_eq!(first_failure(schedule, 100, fails), None);
    }
}

#[test]
fn a_service_that_fails_or_hangs_is_told() {
    let machine = explorer(Schedule::Random);
    let words = words::<1>(&machine);
    let hang = Box::new(|core: &ExploredCore| _ = core.wait_while(&(), &words[0], |v| v == 0));
    let service = Service { name: "collector", interval_ticks: 1, tick: hang };
    let told = machine.run(vec![body(|_| ())], vec![service]);
    let who = "service collector waits for the word at offset 4096, which holds 0".to_owned();
    assert_eq!(told, Err(RunError::Deadlock(vec![who])));
    let fail = Box::new(|_: &ExploredCore| resume_unwind(Box::new("on purpose")));
    let service = Service { name: "collector", interval_ticks: 1, tick: fail };
    let run = || machine.run(vec![body(|_| ())], vec![service]);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
}

#[test]
fn teardown_runs_destructors_even_when_they_wait() {
    for schedule in SCHEDULES {
        let mut machine = explorer(schedule);
        for seed in 0..50 {
            machine.renew(seed).unwrap();
            let words = words::<2>(&machine);
            let dropped = Word::new(0);
            struct Count<'a>(&'a Word);
            impl Drop for Count<'_> {
                fn drop(&mut self) {
                    self.0.poke(self.0.peek() + 1);
                }
            }
            let hang = || {
                body(|core| {
                    let _count = Count(&dropped);
                    latch(core, &words[0]);
                    let _guard = Guard(core, &words);
                    core.wait_while(&(), &Word::new(0), |v| v == 0);
                })
            };
            let error = machine.run(vec![hang(), hang(), hang()], vec![]).unwrap_err();
            assert!(matches!(error, RunError::Deadlock(who) if who.len() == 3));
            assert_eq!((dropped.peek(), words[0].peek(), words[1].peek()), (3, 0, 0));
        }
    }
}

#[test]
fn a_destructor_that_waits_in_vain_does_not_hang_the_run() {
    std::thread::spawn(|| {
        let mut machine = explorer(Schedule::Random);
        for seed in 0..5 {
            machine.renew(seed).unwrap();
            let words = words::<2>(&machine);
            words[1].poke(1);
            let hang = body(|core| {
                let _guard = Guard(core, &words);
            });
            assert!(matches!(machine.run(vec![hang], vec![]), Err(RunError::Deadlock(_))));
            let endless = body(|core| {
                struct Endless<'a>(&'a ExploredCore);
                impl Drop for Endless<'_> {
                    fn drop(&mut self) {
                        while self.0.now() > 0 {}
                    }
                }
                let _guard = Guard(core, &words);
                let _endless = Endless(core);
                core.wait_while(&(), &words[1], |v| v == 1);
            });
            assert!(matches!(machine.run(vec![endless], vec![]), Err(RunError::Deadlock(_))));
        }
    })
    .join()
    .unwrap();
}
