//! Tests what a wait costs on a machine with SMT and an operating system: siblings that wait leave the core, threads in queues yield,
//! and sleepers wake up late.

use kilocore_simulator::{MachineDescription, SimCore, SimLine, Simulated, SimulatedOptions};
use machine::{Body, Core, Machine, Place, Word, Zeroed};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Cache line with a word on it.
#[repr(C, align(64))]
struct Cell {
    line: SimLine,
    word: Word,
}

// SAFETY: the type consists of a line and a word. Zeros are valid for both, and there is nothing to drop.
unsafe impl Zeroed for Cell {}

/// Work of the core that the others wait for or compete with, in cycles.
const WORK: u64 = 100_000;

/// Has core 0 work and then store to a cell, while `other` runs on the others. Returns the cycles that core 0 worked for, and
/// the clock of core 1 in the end.
fn beside(name: &str, cores: usize, other: impl Fn(&SimCore, &Cell) + Copy + Send) -> (u64, u64) {
    let description = MachineDescription::load(name).unwrap();
    let options =
        SimulatedOptions { reserve_bytes: 1 << 30, start_spread_cycles: 0, ..Default::default() };
    let machine = Simulated::new(Arc::new(description), options).unwrap();
    let cell = machine.arena().place::<Cell>(Place::Any).unwrap();
    let (worked, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let body = |id: usize| -> Body<'_, Simulated> {
        let (cell, worked, ended) = (&*cell, &worked, &ended);
        Box::new(move |core| {
            let begun = core.now();
            if id != 0 {
                other(core, cell);
                ended.fetch_max(if id == 1 { core.now() - begun } else { 0 }, Relaxed);
                return;
            }
            // In steps, so that the others have their turns in between.
            for _ in 0..WORK / 100 {
                core.compute(100);
                core.load(&cell.line, &cell.word);
            }
            worked.store(core.now() - begun, Relaxed);
            core.store(&cell.line, &cell.word, 1);
            core.wake(&cell.line, &cell.word);
        })
    };
    machine.run((0..cores).map(body).collect(), vec![]).expect("it runs");
    (worked.into_inner(), ended.into_inner())
}

#[test]
fn only_siblings_that_work_slow_a_thread_down() {
    let works = |core: &SimCore, cell: &Cell| {
        while core.load(&cell.line, &cell.word) == 0 {
            core.compute(100);
        }
    };
    let waits =
        |core: &SimCore, cell: &Cell| _ = core.wait_while(&cell.line, &cell.word, |now| now == 0);
    let pauses = |core: &SimCore, _: &Cell| core.pause(2 * WORK);
    let alone = beside("superdome-flex", 1, waits).0;
    let working = beside("superdome-flex", 2, works).0;
    // Two threads have 1.3 times the throughput of one.
    assert!((1.5..1.6).contains(&(working as f64 / alone as f64)), "{working} {alone}");
    for (what, waiting) in [
        ("wait", beside("superdome-flex", 2, waits).0),
        ("pause", beside("superdome-flex", 2, pauses).0),
    ] {
        assert!(waiting < alone + alone / 50, "{what}: {waiting} {alone}");
    }
}

#[test]
fn a_thread_in_a_queue_notices_its_turn_late_and_takes_the_core() {
    let yields = |core: &SimCore, cell: &Cell| {
        core.wait_yielding(&cell.line, &cell.word, |now| now == 0);
        core.notice_turn();
    };
    let waits =
        |core: &SimCore, cell: &Cell| _ = core.wait_while(&cell.line, &cell.word, |now| now == 0);
    let alone = beside("superdome-flex", 1, waits).0;
    let (working, ended) = beside("superdome-flex", 2, yields);
    // The first 31 pauses leave the core to the sibling.
    assert!((1.4..1.55).contains(&(working as f64 / alone as f64)), "{working} {alone}");
    let (watched, noticed) = beside("superdome-flex", 2, waits);
    assert!(noticed < watched + 500, "{noticed} {watched}");
    // A yield takes 700 cycles, beside a sibling 1077.
    assert!((1..1600).contains(&(ended - working)), "{ended} {working}");
}

#[test]
fn a_thread_that_looks_at_intervals_notices_at_a_look() {
    let looks = |core: &SimCore, cell: &Cell| {
        _ = core.wait_looking(&cell.line, &cell.word, 15, |now| now == 0);
    };
    let at_once = |core: &SimCore, cell: &Cell| {
        _ = core.wait_looking(&cell.line, &cell.word, 15, |now| now != 0);
    };
    let (worked, ended) = beside("superdome-flex", 2, looks);
    // 15 PAUSE instructions of 140 cycles.
    let begun = beside("superdome-flex", 2, at_once).1;
    assert!(begun < 2100, "{begun}");
    assert_eq!((ended - begun) % 2100, 0, "{ended} {begun}");
    assert!((worked..worked + 2100 + 500).contains(&ended), "{ended} {worked}");
}

#[test]
fn sleepers_wake_up_late_where_an_operating_system_wakes_them() {
    let sleeps = |core: &SimCore, _: &Cell| core.sleep(1000);
    // 55 us at 2.5 GHz.
    assert_eq!(beside("superdome-flex", 2, sleeps).1, 1000 + 137_500);
    assert_eq!(beside("graphite", 2, sleeps).1, 1000);
}
