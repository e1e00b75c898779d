//! Tests which copies of a record's columns become invalid when its lines are written.

use kilocore_simulator::{MachineDescription, SimLine, Simulated, SimulatedOptions};
use machine::{Body, Core, Machine, Place, Word, Zeroed};
use std::sync::{Arc, Mutex};

/// Head line of a record with a lock word. Its columns are only modelled.
#[repr(C, align(64))]
struct Record {
    line: SimLine,
    lock: Word,
}

// SAFETY: the type consists of a line and a word. Zeros are valid for both, and there is nothing to drop.
unsafe impl Zeroed for Record {}

/// Lists the steps that another core can take between two reads of the same columns.
#[derive(Clone, Copy, Debug)]
enum Between {
    Nothing,
    LockAndRelease,
    WriteOtherLine,
    Write,
}

/// Offset and bytes of columns behind the head line, and of others far behind them.
const COLUMNS: (usize, usize) = (100, 60);
const OTHERS: (usize, usize) = (1000, 8);
/// Cycles after which each core is done with what it does.
const STEP: u64 = 20_000;

/// Lets worker 0 read columns, another worker do `between`, and worker 0 read them again, after the head line. Returns the
/// cycles of the second read of the columns.
fn second_read(name: &str, other: usize, between: Between) -> u64 {
    let options = SimulatedOptions { reserve_bytes: 1 << 28, ..SimulatedOptions::default() };
    let description = Arc::new(MachineDescription::load(name).unwrap());
    let machine = Simulated::new(description, options).unwrap();
    let record = machine.arena().place::<Record>(Place::Any).unwrap();
    let result = Mutex::new(0);
    let (record, took) = (&*record, &result);
    let body = |worker: usize| {
        move |core: &<Simulated as Machine>::Core| {
            let read = |(offset, bytes)| core.touch(&record.line, offset, bytes, false);
            let write = |(offset, bytes)| core.touch(&record.line, offset, bytes, true);
            if worker == 0 {
                core.load(&record.line, &record.lock);
                read(COLUMNS);
                core.pause(3 * STEP);
                core.load(&record.line, &record.lock);
                let begun = core.now();
                read(COLUMNS);
                *took.lock().unwrap() = core.now() - begun;
            } else if worker == other {
                core.pause(STEP);
                if !matches!(between, Between::Nothing) {
                    core.cas(&record.line, &record.lock, 0, 1).unwrap();
                }
                match between {
                    Between::Nothing | Between::LockAndRelease => {}
                    Between::WriteOtherLine => write(OTHERS),
                    Between::Write => write(COLUMNS),
                }
                if !matches!(between, Between::Nothing) {
                    core.store(&record.line, &record.lock, 0);
                }
            }
        }
    };
    let bodies = (0..=other).map(|worker| Box::new(body(worker)) as Body<'_, Simulated>).collect();
    machine.run(bodies, vec![]).unwrap();
    result.into_inner().unwrap()
}

#[test]
fn a_lock_word_that_changes_hands_leaves_copies_of_columns_behind_it_valid() {
    // On the Superdome Flex, worker 2 is on another core of the socket, and worker 56 on another socket.
    for (name, other) in [("graphite", 1), ("superdome-flex", 2), ("superdome-flex", 56)] {
        let read = |between| second_read(name, other, between);
        let held = read(Between::Nothing);
        assert_eq!(read(Between::LockAndRelease), held, "{name}, worker {other}");
        let lost = read(Between::Write);
        assert!(lost > held + 20, "{name}, worker {other}: {held} and {lost} cycles");
        // The lines of a body share one version. So a write of one of them makes copies of all invalid.
        assert!(read(Between::WriteOtherLine) > held, "{name}, worker {other}");
    }
}

#[test]
fn a_core_that_writes_columns_alone_keeps_its_copies() {
    for name in ["graphite", "superdome-flex"] {
        let options = SimulatedOptions { reserve_bytes: 1 << 28, ..SimulatedOptions::default() };
        let description = Arc::new(MachineDescription::load(name).unwrap());
        let machine = Simulated::new(description, options).unwrap();
        let record = machine.arena().place::<Record>(Place::Any).unwrap();
        let body = |core: &<Simulated as Machine>::Core| {
            let timed = |(offset, bytes), write| {
                let begun = core.now();
                core.touch(&record.line, offset, bytes, write);
                core.now() - begun
            };
            core.cas(&record.line, &record.lock, 0, 1).unwrap();
            timed(COLUMNS, false);
            core.pause(STEP);
            let held = timed(COLUMNS, false);
            for _ in 0..3 {
                timed(OTHERS, true);
                core.pause(STEP);
                assert_eq!(timed(COLUMNS, false), held, "{name}");
            }
        };
        machine.run(vec![Box::new(body)], vec![]).unwrap();
    }
}
