//! Tests that the simulated machine keeps the promises of the traits, and that the same seed gives the same bits.

use kilocore_simulator::{MachineDescription, SimCore, SimLine, Simulated, SimulatedOptions};
use machine::{
    Body, Category, Core, Machine, NEVER, Place, RunError, Service, TimedOut, Word, Zeroed,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Cache line with words on it.
#[repr(C, align(64))]
struct Cell {
    line: SimLine,
    words: [Word; 4],
}

// SAFETY: the type consists of a line and words. Zeros are valid for all of them, and there is nothing to drop.
unsafe impl Zeroed for Cell {}

fn machine(name: &str, options: SimulatedOptions) -> Simulated {
    let description = MachineDescription::load(name).unwrap();
    Simulated::new(Arc::new(description), SimulatedOptions { reserve_bytes: 1 << 30, ..options })
        .unwrap()
}

fn graphite() -> Simulated {
    machine("graphite", SimulatedOptions::default())
}

fn run<'a>(
    machine: &Simulated,
    cores: usize,
    body: impl Fn(&SimCore) + Clone + Send + 'a,
) -> Result<(), RunError> {
    let bodies = (0..cores).map(|_| Box::new(body.clone()) as Body<'a, Simulated>).collect();
    machine.run(bodies, vec![])
}

/// Runs a small workload with contention: hot and cold lines, latches, bodies, waiting. Returns the cores' clocks, the
/// number of operations and the machine's clock.
fn workload(seed: u64, lookahead: bool, name: &str, cores: usize) -> (Vec<u64>, u64, u64) {
    let options = SimulatedOptions { seed, lookahead, ..SimulatedOptions::default() };
    let machine = machine(name, options);
    let cells = machine.arena().place::<[Cell; 64]>(Place::Any).unwrap();
    let clocks: Vec<AtomicU64> = (0..cores).map(|_| AtomicU64::new(0)).collect();
    run(&machine, cores, |core| {
        let mut random = core.id() as u64 + 1;
        for _ in 0..50 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let cell = &cells[(random >> 58) as usize];
            while core.cas(&cell.line, &cell.words[0], 0, 1).is_err() {
                core.wait_while(&cell.line, &cell.words[0], |v| v == 1);
            }
            core.touch(&cell.line, 0, 200, random & 1 == 0);
            let count = core.load(&cell.line, &cell.words[1]);
            core.compute(random >> 59);
            core.store(&cell.line, &cell.words[1], count + 1);
            core.store(&cell.line, &cell.words[0], 0);
        }
        clocks[core.id()].store(core.now(), Relaxed);
    })
    .unwrap();
    let counted: u64 = cells.iter().map(|cell| cell.words[1].peek()).sum();
    assert_eq!(counted, 50 * cores as u64, "updates under a latch were lost");
    (
        clocks.into_iter().map(AtomicU64::into_inner).collect(),
        machine.operations().unwrap(),
        machine.clock(),
    )
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    for name in ["graphite", "superdome-flex"] {
        let once = workload(7, true, name, 100);
        let again = workload(7, true, name, 100);
        assert_eq!(once, again);
        assert_ne!(once.0, workload(8, true, name, 100).0);
    }
}

#[test]
fn running_ahead_changes_results_little() {
    for (name, cores) in [("graphite", 16), ("graphite", 64), ("superdome-flex", 40)] {
        let total = |ahead| (1..=8).map(|seed| workload(seed, ahead, name, cores).2).sum::<u64>();
        let (with, without) = (total(true) as f64, total(false) as f64);
        println!("{name}, {cores} cores: {with} ahead, {without} in turn");
        assert!((with / without - 1.0).abs() < 0.1, "{name}: {with} {without}");
    }
}

#[test]
fn a_contended_counter_counts_and_serialises() {
    let machine = graphite();
    let cell = machine.arena().place::<Cell>(Place::Any).unwrap();
    run(&machine, 64, |core| {
        for _ in 0..100 {
            core.fetch_add(&cell.line, &cell.words[0], 1);
        }
    })
    .unwrap();
    assert_eq!(cell.words[0].peek(), 6400);
    // Each transfer takes at least the time of the directory and of the owner's answer.
    assert!(machine.clock() > 6400 * 12, "{}", machine.clock());
    assert_eq!(machine.operations(), Some(6400));
}

#[test]
fn what_nobody_shares_does_not_serialise() {
    let machine = graphite();
    let cells = machine.arena().place::<[Cell; 256]>(Place::Any).unwrap();
    run(&machine, 256, |core| {
        let cell = &cells[core.id()];
        for _ in 0..1000 {
            core.fetch_add(&cell.line, &cell.words[0], 1);
        }
    })
    .unwrap();
    assert!(machine.clock() < 1000 * 4 + 3000, "{}", machine.clock());
}

#[test]
fn waiting_is_accounted_and_ends_with_the_write() {
    let machine = graphite();
    let cell = machine.arena().place::<Cell>(Place::Any).unwrap();
    let bodies: Vec<Body<'_, Simulated>> = vec![
        Box::new(|core| {
            core.pause(10_000);
            core.store(&cell.line, &cell.words[0], 1);
        }),
        Box::new(|core| {
            core.account(Category::Index);
            assert_eq!(core.wait_while(&cell.line, &cell.words[0], |v| v == 0), 1);
            let spent = core.breakdown().read(core.now());
            assert!((9_000..11_000).contains(&spent[Category::Wait as usize]), "{spent:?}");
            assert!(core.now() >= 10_000 && core.now() < 12_000);
        }),
    ];
    machine.run(bodies, vec![]).unwrap();
}

#[test]
fn a_wait_ends_at_its_deadline() {
    let machine = graphite();
    let cell = machine.arena().place::<Cell>(Place::Any).unwrap();
    run(&machine, 4, |core| {
        let deadline = core.now() + 5000;
        let result = core.wait_while_until(&cell.line, &cell.words[0], deadline, |v| v == 0);
        assert_eq!(result, Err(TimedOut));
        assert_eq!(core.now(), deadline);
        // A core whose wait has timed out can wait again and be woken.
        if core.id() == 0 {
            core.pause(20_000);
            core.store(&cell.line, &cell.words[0], 9);
        } else {
            let result = core.wait_while_until(&cell.line, &cell.words[0], NEVER - 1, |v| v == 0);
            assert_eq!(result, Ok(9));
        }
    })
    .unwrap();
}

#[test]
fn a_deadlock_names_who_waits() {
    let machine = graphite();
    let cells = machine.arena().place::<[Cell; 2]>(Place::Any).unwrap();
    let error = run(&machine, 2, |core| {
        let mine = &cells[core.id()];
        let other = &cells[1 - core.id()];
        core.store(&mine.line, &mine.words[0], 1);
        core.pause(2000);
        core.wait_while(&other.line, &other.words[0], |v| v == 1);
        core.store(&mine.line, &mine.words[0], 0);
    })
    .unwrap_err();
    let RunError::Deadlock(who) = error else { panic!("{error}") };
    assert_eq!(who.len(), 2);
    assert!(who[1].starts_with("core 1 waits for the line at offset"), "{who:?}");
}

#[test]
fn sleeping_services_do_not_hide_a_deadlock() {
    let machine = graphite();
    let cell = machine.arena().place::<Cell>(Place::Any).unwrap();
    let body: Body<'_, Simulated> = Box::new(|core| {
        core.wait_while(&cell.line, &cell.words[0], |v| v == 0);
    });
    let tick: Box<dyn Fn(&SimCore) + Send + Sync> = Box::new(|core| core.compute(1));
    let service = Service { name: "idle", interval_ticks: 100, tick };
    assert!(matches!(machine.run(vec![body], vec![service]), Err(RunError::Deadlock(_))));
}

#[test]
fn services_run_beside_workers_and_once_more_at_the_end() {
    let machine = graphite();
    let ticks = machine.arena().place::<Cell>(Place::Any).unwrap();
    let ended = &AtomicU64::new(0);
    let service = Service {
        name: "count",
        interval_ticks: 1000,
        tick: Box::new(|core: &SimCore| {
            core.fetch_add(&ticks.line, &ticks.words[0], 1);
            ended.store(core.now(), Relaxed);
        }),
    };
    let body: Body<'_, Simulated> = Box::new(|core| {
        core.wait_while(&ticks.line, &ticks.words[0], |v| v < 5);
        core.pause(300);
    });
    machine.run(vec![body], vec![service]).unwrap();
    assert_eq!(ticks.words[0].peek(), 6);
    assert!(ended.load(Relaxed) < 7000);
}

#[test]
fn a_panic_reaches_the_caller_after_the_others_ended() {
    let machine = graphite();
    let cell = machine.arena().place::<Cell>(Place::Any).unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        run(&machine, 4, |core| {
            core.fetch_add(&cell.line, &cell.words[0], 1);
            if core.id() == 2 {
                panic!("on purpose");
            }
            core.pause(1000);
            core.fetch_add(&cell.line, &cell.words[0], 1);
            if core.id() == 3 {
                // No core will ever write the word: the run is torn down around this core.
                let _guard = Unlatch(core, &cell);
                core.wait_while(&cell.line, &cell.words[1], |v| v == 0);
            }
        })
    }));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "on purpose");
    assert_eq!((cell.words[0].peek(), cell.words[2].peek()), (7, 1));
}

/// Guard that accesses shared memory while its core is unwound.
struct Unlatch<'a>(&'a SimCore, &'a Cell);

impl Drop for Unlatch<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(&self.1.line, &self.1.words[2], 1);
        self.0.wait_while(&self.1.line, &self.1.words[1], |v| v == 0);
    }
}

#[test]
fn bodies_keep_their_bytes() {
    let machine = graphite();
    let cell = machine.arena().place::<Cell>(Place::Any).unwrap();
    run(&machine, 1, |core| {
        for length in 0..=32usize {
            let words = &cell.words[..length.div_ceil(8)];
            let from: Vec<u8> = (1..=length as u8).collect();
            core.copy_in(&cell.line, 0, words, &from);
            let mut into = vec![0; length];
            core.copy_out(&cell.line, 0, words, &mut into);
            assert_eq!(into, from);
        }
    })
    .unwrap();
}

#[test]
fn more_cores_than_tiles_are_refused() {
    let error = run(&graphite(), 1025, |_| ()).unwrap_err();
    assert_eq!(error, RunError::TooManyCores { asked: 1025, available: 1024 });
    run(&graphite(), 1024, |_| ()).unwrap();
}

#[test]
fn the_hardware_counter_counts_across_cores_and_runs() {
    let machine = graphite();
    let sum = &AtomicU64::new(0);
    for _ in 0..2 {
        run(&machine, 16, |core| {
            let value = core.hardware_counter().unwrap();
            sum.fetch_add(value, Relaxed);
        })
        .unwrap();
    }
    assert_eq!(sum.load(Relaxed), (0..32).sum());
}
