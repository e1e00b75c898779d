//! Measures how many schedules per second the explorer runs: three workers, about a hundred operations each.
//!
//! `cargo run --release -p kilocore-machine --example explored_rate`

use kilocore_machine::{
    Arena, Body, Core, Explored, ExploredCore, ExploredOptions, Machine, Place, Schedule, Service,
    Word, cold::Arc,
};
use std::time::Instant;

const SCHEDULES: u64 = 100_000;

/// Runs one schedule: counters behind a latch, and a service that also counts.
fn explore(machine: &Explored) {
    let words = machine.arena().place::<[Word; 8]>(Place::Any).expect("room for a few words");
    let work = |core: &ExploredCore| {
        for turn in 0..16 {
            while core.cas(&(), &words[0], 0, 1).is_err() {
                core.wait_while(&(), &words[0], |v| v != 0);
            }
            let value = core.load(&(), &words[1]);
            core.store(&(), &words[1], value + 1);
            core.store(&(), &words[0], 0);
            core.wake(&(), &words[0]);
            core.fetch_add(&(), &words[2 + turn % 4], 1);
        }
    };
    let bodies = (0..3).map(|_| -> Body<'_, Explored> { Box::new(work) }).collect();
    let tick = Box::new(|core: &ExploredCore| _ = core.fetch_add(&(), &words[7], 1));
    machine
        .run(bodies, vec![Service { name: "count", interval_ticks: 100, tick }])
        .expect("the latch excludes");
    assert_eq!(words[1].peek(), 48);
}

fn main() {
    for schedule in [Schedule::Random, Schedule::Pct { depth: 3 }] {
        let options = ExploredOptions { schedule, ..ExploredOptions::default() };
        let mut machine = Explored::new(options).expect("address space for the arena");
        let start = Instant::now();
        for seed in 0..SCHEDULES {
            machine.renew(seed).expect("the arena is not shared");
            explore(&machine);
        }
        let seconds = start.elapsed().as_secs_f64();
        let steps = machine.operations().unwrap_or(0);
        println!(
            "{schedule:?}: {:.0} schedules/s, {:.1} us each, {:.0} steps each, {:.1} M steps/s",
            SCHEDULES as f64 / seconds,
            seconds * 1e6 / SCHEDULES as f64,
            steps as f64 / SCHEDULES as f64,
            steps as f64 / seconds / 1e6,
        );
        assert_eq!(Arc::<Arena>::strong_count(machine.arena()), 1);
    }
}
