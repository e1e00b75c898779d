//! The workloads: loading, threads that run transactions for a while, and checks of what they left.

use crate::engine::{BATCH, Engine, Random, Shape, Text, mixed, number};
use crate::machine::Busy;
use serde_json::{Value, json};
use std::sync::{Barrier, atomic::AtomicBool, atomic::Ordering::Relaxed};
use std::{thread, time::Duration, time::Instant};

/// Number of rows that a range has.
const RANGE: u64 = 100;

/// The work of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Reads one number.
    Read,
    /// Inserts one number. Keys are spread over all 64-bit integers.
    Insert,
    /// Reads 100 numbers with consecutive keys.
    Range,
    /// Overwrites one string by one of another length.
    Update,
    /// Reads one string.
    ReadString,
    /// Reads four numbers, adds one to each, and writes them.
    AddToFour,
}

/// All workloads with their names.
pub const ALL: &[(&str, Workload)] = &[
    ("read a number", Workload::Read),
    ("insert a number", Workload::Insert),
    ("read a range of 100 numbers", Workload::Range),
    ("update a string", Workload::Update),
    ("read a string", Workload::ReadString),
    ("read and write 4 numbers", Workload::AddToFour),
];

impl Workload {
    pub fn shape(self) -> Shape {
        match self {
            Workload::Update | Workload::ReadString => Shape::Strings(20, 2000),
            _ => Shape::Numbers,
        }
    }
}

/// How much is loaded, and for how long is measured.
#[derive(Clone, Debug)]
pub struct Extent {
    pub numbers: u64,
    pub strings: u64,
    pub warm_up: Duration,
    pub measured: Duration,
    pub threads: Vec<usize>,
}

impl Extent {
    fn rows(&self, shape: Shape) -> u64 {
        match shape {
            Shape::Numbers => self.numbers,
            Shape::Strings(..) => self.strings,
        }
    }
}

/// Loads the first `rows` keys, in ascending order and in transactions of [`BATCH`] rows.
pub fn load(engine: &impl Engine, rows: u64) {
    for first in (0..rows).step_by(BATCH as usize) {
        engine.load(first..rows.min(first + BATCH));
    }
}

/// Number of commits and of retries.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    commits: u64,
    retries: u64,
}

/// Loads the rows, measures the workload with each number of threads, and checks the rows. Returns a sample for each number
/// of threads.
pub fn measure(engine: &impl Engine, workload: Workload, extent: &Extent) -> Vec<Value> {
    let rows = extent.rows(workload.shape());
    load(engine, rows);
    let mut samples = Vec::new();
    let mut committed = 0;
    for (round, &threads) in extent.threads.iter().enumerate() {
        let seed = (round as u64) << 48;
        let (before, _) = run(engine, workload, rows, threads, extent.warm_up, seed | 1 << 47);
        let busy = Busy::start();
        let (counts, elapsed) = run(engine, workload, rows, threads, extent.measured, seed);
        let others = busy.others();
        committed += before.iter().chain(&counts).map(|one| one.commits).sum::<u64>();
        if workload == Workload::Insert {
            check_inserted(engine, &counts, seed);
        }
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
        samples.push(json!({
            "threads": threads,
            "seconds": elapsed.as_secs_f64(),
            "commits": sum(|one| one.commits),
            "retries": sum(|one| one.retries),
            "others": others,
        }));
    }
    check_all(engine, workload, rows, committed);
    samples
}

/// Runs the workload with `threads` threads. Returns the counts of each thread, and the time from the start of all to the end
/// of the last.
fn run(
    engine: &impl Engine,
    workload: Workload,
    rows: u64,
    threads: usize,
    duration: Duration,
    seed: u64,
) -> (Vec<Counts>, Duration) {
    let (stop, ready) = (AtomicBool::new(false), Barrier::new(threads + 1));
    thread::scope(|scope| {
        let spawned: Vec<_> = (0..threads as u64)
            .map(|thread| {
                let (stop, ready) = (&stop, &ready);
                let seed = seed | thread << 40;
                scope.spawn(move || {
                    ready.wait();
                    work(engine, workload, rows, seed, stop)
                })
            })
            .collect();
        ready.wait();
        let start = Instant::now();
        thread::sleep(duration);
        stop.store(true, Relaxed);
        let counts = spawned.into_iter().map(|one| one.join().expect("a thread")).collect();
        (counts, start.elapsed())
    })
}

/// Runs transactions until `stop` is set.
fn work(
    engine: &impl Engine,
    workload: Workload,
    rows: u64,
    seed: u64,
    stop: &AtomicBool,
) -> Counts {
    let mut random = Random::of(seed);
    match workload {
        Workload::Read => repeat(stop, |_| {
            let key = random.below(rows);
            assert_eq!(engine.number(key), Some(number(key)));
            0
        }),
        Workload::Insert => repeat(stop, |at| engine.insert(mixed(seed | at), at)),
        Workload::Range => repeat(stop, |_| {
            let first = random.below(rows - RANGE + 1);
            let (mut next, mut right) = (first, true);
            engine.range(first..first + RANGE, |key, value| {
                right &= key == next && value == number(key);
                next += 1;
            });
            assert!(right && next == first + RANGE, "a wrong range");
            0
        }),
        Workload::Update => {
            let mut text = Text::of(workload.shape());
            repeat(stop, |at| {
                let key = random.below(rows);
                engine.overwrite(key, text.fill(key, seed | at))
            })
        }
        Workload::ReadString => {
            let text = Text::of(workload.shape());
            repeat(stop, |_| {
                let key = random.below(rows);
                assert!(engine.string(key, |bytes| text.check(key, bytes)), "a row is missing");
                0
            })
        }
        Workload::AddToFour => repeat(stop, |_| engine.add_one(four(&mut random, rows))),
    }
}

/// Calls `transaction` with ascending numbers until `stop` is set. It returns its number of retries.
fn repeat(stop: &AtomicBool, mut transaction: impl FnMut(u64) -> u64) -> Counts {
    let mut counts = Counts::default();
    while !stop.load(Relaxed) {
        counts.retries += transaction(counts.commits);
        counts.commits += 1;
    }
    counts
}

/// Returns four different keys.
fn four(random: &mut Random, rows: u64) -> [u64; 4] {
    loop {
        let keys: [u64; 4] = std::array::from_fn(|_| random.below(rows));
        let differs = |at: usize| !keys[..at].contains(&keys[at]);
        if (1..4).all(differs) {
            return keys;
        }
    }
}

/// Checks at most 10,000 rows of those that each thread has inserted.
fn check_inserted(engine: &impl Engine, counts: &[Counts], seed: u64) {
    for (thread, one) in counts.iter().enumerate() {
        let step = (one.commits / 10_000).max(1);
        let seed = seed | (thread as u64) << 40;
        for at in (0..one.commits).step_by(step as usize) {
            assert_eq!(engine.number(mixed(seed | at)), Some(at), "an insert is lost");
        }
        assert_eq!(engine.number(mixed(seed | one.commits)), None, "an insert of nobody");
    }
}

/// Checks all rows that were loaded, after `committed` transactions.
fn check_all(engine: &impl Engine, workload: Workload, rows: u64, committed: u64) {
    match workload {
        Workload::Update | Workload::ReadString => {
            let text = Text::of(workload.shape());
            for key in 0..rows {
                assert!(engine.string(key, |bytes| text.check(key, bytes)), "a row is missing");
            }
        }
        _ => {
            let loaded = (0..rows).fold(0u64, |sum, key| sum.wrapping_add(number(key)));
            let now = (0..rows)
                .fold(0u64, |sum, key| sum.wrapping_add(engine.number(key).expect("a row")));
            let added = if workload == Workload::AddToFour { 4 * committed } else { 0 };
            assert_eq!(now, loaded.wrapping_add(added), "updates were lost");
        }
    }
}
