//! Measures how fast the simulator is: shared-memory operations per second of thread CPU time, and bytes per core.
//!
//! Two loops imitate schemes, written directly on the trait: each transaction makes 16 accesses to random records,
//! half of them writes. `cargo run --release -p kilocore-simulator --example rate -- [machine] [records] [cores ...]`

use kilocore_simulator::{MachineDescription, SimCore, SimLine, Simulated, SimulatedOptions};
use machine::{Body, Core, Machine, Place, Word, Zeroed, cold::Arc};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ACCESSES: usize = 16;
const LOCKED: u64 = 1;
const ROUNDS: usize = 7;

#[repr(C, align(32))]
struct Record {
    line: SimLine,
    word: Word,
}

#[repr(C, align(32))]
struct Bucket {
    line: SimLine,
    word: Word,
}

// SAFETY: the type consists of a line and a word. Zeros are valid for both, and there is nothing to drop.
unsafe impl Zeroed for Record {}
// SAFETY: as above.
unsafe impl Zeroed for Bucket {}

struct Table<'a> {
    records: &'a [Record],
    buckets: &'a [Bucket],
}

impl Table<'_> {
    fn keys(&self, random: &mut u64) -> [usize; ACCESSES] {
        std::array::from_fn(|_| {
            *random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (((*random >> 32) * self.records.len() as u64) >> 32) as usize
        })
    }

    #[inline(always)]
    fn probe(&self, core: &SimCore, key: usize) -> &Record {
        let bucket = &self.buckets[key % self.buckets.len()];
        core.load(&bucket.line, &bucket.word);
        core.compute(20);
        &self.records[key]
    }

    /// Locks each record at its access, and gives up if a lock is held (NO_WAIT).
    fn no_wait(&self, core: &SimCore, random: &mut u64) -> bool {
        let keys = self.keys(random);
        let mut held = 0;
        for (i, key) in keys.iter().enumerate() {
            let record = self.probe(core, *key);
            let free = core.load(&record.line, &record.word);
            if free & LOCKED != 0 || core.cas(&record.line, &record.word, free, LOCKED).is_err() {
                break;
            }
            core.touch(&record.line, 0, 100, i % 2 == 0);
            held += 1;
        }
        for key in &keys[..held] {
            let record = &self.records[*key];
            core.store(&record.line, &record.word, 0);
        }
        held == ACCESSES
    }

    /// Reads optimistically, locks the records that it writes, then validates (SILO).
    fn silo(&self, core: &SimCore, random: &mut u64) -> bool {
        let keys = self.keys(random);
        let mut seen = [0; ACCESSES];
        for (i, key) in keys.iter().enumerate() {
            let record = self.probe(core, *key);
            seen[i] = core.load(&record.line, &record.word);
            core.touch(&record.line, 0, 100, false);
            core.load(&record.line, &record.word);
        }
        let mut locked = 0;
        let mut valid = true;
        for (i, key) in keys.iter().enumerate().step_by(2) {
            let record = &self.records[*key];
            let free = seen[i] & !LOCKED;
            if core.cas(&record.line, &record.word, free, free | LOCKED).is_err() {
                valid = false;
                break;
            }
            locked += 1;
        }
        for (i, key) in keys.iter().enumerate().skip(1).step_by(2) {
            let record = &self.records[*key];
            valid &= core.load(&record.line, &record.word) == seen[i];
        }
        for (i, key) in keys.iter().enumerate().step_by(2).take(locked) {
            let record = &self.records[*key];
            if valid {
                core.touch(&record.line, 0, 100, true);
            }
            let version = (seen[i] & !LOCKED) + if valid { 2 } else { 0 };
            core.store(&record.line, &record.word, version);
        }
        valid
    }
}

fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists, and the call writes only to `time`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

type Scheme = fn(&Table<'_>, &SimCore, &mut u64) -> bool;

fn measure(name: &str, scheme: Scheme, machine: &str, records: usize, cores: usize) {
    let description = Arc::new(MachineDescription::load(machine).expect("a machine"));
    if cores > description.cores() {
        return;
    }
    let simulated = Simulated::new(description, SimulatedOptions::default()).expect("memory");
    let arena = simulated.arena();
    let rows = arena.allocate((records * size_of::<Record>()) as u64, 64, Place::Any).unwrap();
    let index = arena.allocate((records / 2 * size_of::<Bucket>()) as u64, 64, Place::Any).unwrap();
    // SAFETY: the memory was just allocated with room for that many elements, it is zeroed, and it is used only as
    // these types.
    let table = unsafe {
        Table {
            records: arena.slice_at(rows, records),
            buckets: arena.slice_at(index, records / 2),
        }
    };
    // Every core count runs the same number of transactions, after a warm-up that makes pages resident. There are
    // several rounds, because other programs on the machine slow some of them down.
    let commits = AtomicU64::new(0);
    let resident = AtomicU64::new(0);
    let transactions = |total: usize| {
        let each = (total / cores).max(1);
        let (table, commits, resident) = (&table, &commits, &resident);
        let body = move |core: &SimCore| {
            let mut random = core.id() as u64 * 77 + core.now();
            for _ in 0..each {
                let committed = scheme(table, core, &mut random);
                commits.fetch_add(u64::from(committed), Relaxed);
            }
            if core.id() == 0 {
                resident.store(resident_bytes(), Relaxed);
            }
        };
        let bodies = (0..cores).map(|_| Box::new(body) as Body<'_, Simulated>).collect();
        simulated.run(bodies, vec![]).expect("no deadlock");
    };
    transactions(400_000);
    let before = resident_bytes();
    let (clock, committed) = (simulated.clock(), commits.load(Relaxed));
    let (mut rates, mut seconds) = (Vec::new(), 0.0);
    for _ in 0..ROUNDS {
        let (start, operations) = (thread_seconds(), simulated.operations().unwrap());
        transactions(400_000);
        let taken = thread_seconds() - start;
        rates.push((simulated.operations().unwrap() - operations) as f64 / taken / 1e6);
        seconds += taken;
    }
    rates.sort_by(f64::total_cmp);
    let committed = (commits.load(Relaxed) - committed) as f64;
    let modelled =
        (simulated.clock() - clock) as f64 / simulated.description().ticks_per_second() as f64;
    println!(
        "{name:8} {cores:5} cores: {:6.2} M operations/s (median of {ROUNDS} runs; best {:.2}), {:6.1} k txn/s of host time; modelled {:8.3} M txn/s; {:5} bytes a core, state alone {}",
        rates[ROUNDS / 2],
        rates[ROUNDS - 1],
        committed / seconds / 1e3,
        committed / modelled / 1e6,
        resident.load(Relaxed).saturating_sub(before) / cores as u64,
        simulated.state_bytes_per_core(),
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let machine = arguments.next().unwrap_or_else(|| "graphite".to_owned());
    let records = arguments.next().map_or(10_000_000, |n| n.parse().expect("a number of records"));
    let counts: Vec<usize> = arguments.map(|n| n.parse().expect("a number of cores")).collect();
    let counts = if counts.is_empty() { vec![1, 64, 1024, 1568] } else { counts };
    for cores in counts {
        measure("NO_WAIT", |t, c, r| t.no_wait(c, r), &machine, records, cores);
        measure("SILO", |t, c, r| t.silo(c, r), &machine, records, cores);
    }
}
