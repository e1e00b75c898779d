//! Compares read-only YCSB with a loop over plain memory, which does nothing but fetch as many bytes at as many random places.
//!
//! The loop is the limit that memory sets: 16 random records of 1 KB in each round, and 100 bytes of each are added up. It has no
//! index, no concurrency control and no latency histogram. In one form it announces all 16 places first, so that the misses overlap, and
//! in the other it does not. Both the loop and the engine use huge pages where the system has them.
//!
//! `cargo bench -p kilocore-harness --features limit --bench limit -- [RECORDS [SECONDS [FILE]]]` prints thousands of transactions
//! a second and their ratio, and writes them to FILE as JSON. Loops run before and after each engine, and the ratio is to their mean,
//! so that a machine whose speed drifts is seen.

use kilocore_harness::{
    back_off::BackOff,
    run::{Plan, run},
};
use machine::{
    Arena, ArenaOptions, Body, Core, Machine, Native, NativeCore, NativeOptions, Place, Word,
    cold::{Arc, Mutex},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use workloads::ycsb::{Ycsb, YcsbOptions};

/// Accesses of a transaction.
const ACCESSES: usize = 16;
/// Words of a record of the loop, of which one field is read.
const RECORD_WORDS: usize = 128;
/// Fields of a record.
const FIELDS: u64 = 10;
/// Words of a field, which has 100 bytes.
const FIELD_WORDS: usize = 13;
/// Engines that are compared.
const PROTOCOLS: [&str; 3] = ["NO_CC", "NO_WAIT", "SILO"];

/// Memory over which the loop runs.
struct Plain {
    machine: Native,
    first: u64,
    records: u64,
}

fn options(bytes: u64) -> NativeOptions {
    let arena = ArenaOptions { reserve_bytes: bytes, ..ArenaOptions::default() };
    NativeOptions { arena, ..NativeOptions::default() }
}

impl Plain {
    fn new(records: u64) -> Plain {
        let bytes = records * (RECORD_WORDS * 8) as u64;
        let machine = Native::new(options(bytes + (64 << 20))).expect("address space");
        let first = machine.arena().allocate(bytes, 64, Place::Any).expect("memory");
        let plain = Plain { machine, first, records };
        for (at, word) in plain.words().iter().enumerate() {
            word.poke(at as u64);
        }
        plain
    }

    fn words(&self) -> &[Word] {
        let arena: &Arena = self.machine.arena();
        // SAFETY: so many words were allocated at this offset, and words are valid as zeros.
        unsafe { arena.slice_at(self.first, self.records as usize * RECORD_WORDS) }
    }

    /// Returns the transactions a second of `threads` threads.
    fn measure(&self, threads: usize, announced: bool, length: Duration) -> f64 {
        let done = Mutex::new(0.0);
        let body = |seed: u64| -> Body<'_, Native> {
            let done = &done;
            Box::new(move |core| {
                let rate = self.read(core, seed, announced, length);
                *done.lock() += rate;
            })
        };
        let bodies = (0..threads as u64).map(body).collect();
        self.machine.run(bodies, Vec::new()).expect("threads");
        done.into_inner()
    }

    /// Reads until the time is over. Returns the number of transactions a second.
    fn read(&self, core: &NativeCore, seed: u64, announced: bool, length: Duration) -> f64 {
        let words = self.words();
        let (mut state, mut sum, mut done) = (seed << 32 | 1, 0u64, 0u64);
        let mut places = [0usize; ACCESSES];
        let begun = Instant::now();
        while begun.elapsed() < length {
            // The clock is read seldom, as it takes as long as a few accesses.
            for _ in 0..256 {
                for place in &mut places {
                    state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                    let high = |bound: u64| (u128::from(state) * u128::from(bound)) >> 64;
                    let record = high(self.records) as usize;
                    state ^= state >> 31;
                    *place = record * RECORD_WORDS + (state % FIELDS) as usize * 12;
                    if announced {
                        let bytes = FIELD_WORDS * 8;
                        core.prefetch(std::ptr::from_ref(&words[*place]).cast(), bytes);
                    }
                }
                for place in places {
                    let field = &words[place..place + FIELD_WORDS];
                    sum = field.iter().fold(sum, |sum, word| sum.wrapping_add(word.peek()));
                }
                done += 1;
            }
        }
        std::hint::black_box(sum);
        done as f64 / begun.elapsed().as_secs_f64()
    }
}

/// Returns the transactions a second of the engine, the median of three repetitions.
fn engine(protocol: &str, threads: usize, records: u64, length: Duration) -> f64 {
    let workload = YcsbOptions { records, theta: 0.0, read_ratio: 1.0, ..YcsbOptions::default() };
    let workload = Ycsb::new(workload).expect("good options");
    let plan = Plan {
        repetitions: 3,
        back_off: BackOff::default(),
        load_threads: threads,
        ..Plan::new(protocol, threads, length.as_secs_f64())
    };
    let make = |_| Native::new(options(records * 2048 + (1 << 30)));
    let done = run(&make, &workload, &plan, &Word::new(0), &mut |_| {}).expect("a run");
    let mut rates: Vec<f64> = done.iter().map(|one| one.throughput_txn_per_s).collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let number = |at: usize, usual: f64| match arguments.get(at).map(|text| text.parse::<f64>()) {
        None => usual,
        Some(Ok(number)) if number > 0.0 => number,
        Some(_) => {
            eprintln!("RECORDS and SECONDS are numbers above 0, not {:?}", arguments[at]);
            std::process::exit(2);
        }
    };
    let (records, length) = (number(0, 2e6) as u64, Duration::from_secs_f64(number(1, 1.0)));
    let plain = Arc::new(Plain::new(records.max(ACCESSES as u64)));
    let mut rows: Vec<Value> = Vec::new();
    println!("{records} records, thousand transactions a second");
    println!("threads  engine    rate   loop, announced   loop   announced loop / engine");
    for threads in [1, 2] {
        for protocol in PROTOCOLS {
            let loops = || [true, false].map(|announced| plain.measure(threads, announced, length));
            let before = loops();
            let rate = engine(protocol, threads, records, length);
            let after = loops();
            let [fast, slow] = [0, 1].map(|at| (before[at] + after[at]) / 2.0);
            println!(
                "{threads:>7}  {protocol:<8} {:>5.0} {:>17.0} {:>6.0} {:>11.2}",
                rate / 1e3,
                fast / 1e3,
                slow / 1e3,
                fast / rate
            );
            rows.push(json!({
                "threads": threads,
                "protocol": protocol,
                "engine_txn_per_s": rate,
                "announced_loop_txn_per_s": [before[0], after[0]],
                "loop_txn_per_s": [before[1], after[1]],
            }));
        }
    }
    if let Some(file) = arguments.get(2) {
        let all = json!({ "records": records, "seconds": length.as_secs_f64(), "rows": rows });
        let text = serde_json::to_string_pretty(&all).expect("numbers");
        if let Err(error) = std::fs::write(file, text + "\n") {
            eprintln!("{file}: {error}");
            std::process::exit(2);
        }
    }
}
