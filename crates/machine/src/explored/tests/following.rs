//! Runs that follow a list of switches.

use super::*;

fn listing(schedule: Schedule) -> Explored {
    let arena = ArenaOptions { reserve_bytes: 1 << 26, ..ArenaOptions::default() };
    let options = ExploredOptions { schedule, arena, trace: true, ..ExploredOptions::default() };
    Explored::new(options).unwrap()
}

/// Runs workers that wait, back off, time out, and need a service. This covers every kind of decision of a
/// schedule.
fn busy(machine: &Explored) -> [u64; 2] {
    let words = words::<4>(machine);
    let work = |core: &ExploredCore| {
        for _ in 0..4 {
            latch(core, &words[0]);
            torn_increment(core, &words[1]);
            core.store(&(), &words[0], 0);
            core.wake(&(), &words[0]);
            torn_increment(core, &words[2]);
            core.pause(20);
            let deadline = core.now() + 40;
            let _ = core.wait_while_until(&(), &words[3], deadline, |ticks| ticks < 3);
        }
    };
    machine.run((0..3).map(|_| body(work)).collect(), vec![counting(&words[3])]).unwrap();
    [words[1].peek(), words[2].peek()]
}

/// Returns the steps until the workers have ended. No list says how often a service ticks after that.
fn steps_of_workers(machine: &Explored) -> Vec<Step> {
    let mut steps = machine.trace();
    let last = steps.iter().rposition(|step| step.core < 3).expect("they do something");
    steps.truncate(last + 1);
    steps
}

#[test]
fn a_run_that_follows_its_own_list_is_the_same_run() {
    for schedule in SCHEDULES {
        let mut machine = listing(schedule);
        for seed in 0..200 {
            machine.renew(seed).unwrap();
            let drawn = (busy(&machine), steps_of_workers(&machine));
            let switches = machine.switches();
            machine.renew(seed + 1000).unwrap();
            machine.follow(switches.clone());
            let followed = (busy(&machine), steps_of_workers(&machine));
            assert_eq!(drawn.0, followed.0, "{schedule:?}, seed {seed}");
            assert!(drawn.1 == followed.1, "{schedule:?}, seed {seed}");
            assert_eq!(machine.switches(), switches, "{schedule:?}, seed {seed}");
        }
    }
}

#[test]
fn without_a_list_cores_run_one_after_the_other() {
    let machine = listing(Schedule::Random);
    machine.follow(Vec::new());
    assert_eq!(increments(&machine, torn_increment), 9);
    let cores: Vec<usize> = machine.trace().iter().map(|step| step.core).collect();
    assert!(cores.is_sorted() && cores.len() == 18, "{cores:?}");
    assert!(machine.switches().is_empty());
    // The next run draws its schedule again.
    assert!((0..20).any(|_| increments(&machine, torn_increment) != 9));
}

#[test]
fn two_switches_lose_an_update() {
    let machine = listing(Schedule::Random);
    // Core 0 has read the word. Core 1 then does all its reads and writes. Then core 0 writes its old value
    // plus one.
    let switches = ["0@2-1", "1@6=0"].map(|text| text.parse().unwrap());
    machine.follow(switches.to_vec());
    assert_eq!(increments(&machine, torn_increment), 6);
    // Impossible switches are skipped.
    let switches = ["0@2-7", "0@400-1", "9@1-0", "0@3=1"].map(|text| text.parse().unwrap());
    machine.follow(switches.to_vec());
    assert_eq!(increments(&machine, torn_increment), 9);
}
