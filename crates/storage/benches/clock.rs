//! Measures what it costs to read the clock and to convert its ticks to nanoseconds, for the constant of
//! `src/access_options.rs`.
//!
//! The processor overlaps a read of the clock with the work around it. So the bench measures a loop of other work with and
//! without two reads, and prints the difference.

use kilocore_storage::nanoseconds;
use machine::{Core, Machine, Native, NativeOptions};
use std::{hint::black_box, time::Instant};

/// Number of steps of a loop.
const STEPS: u64 = 2_000_000;
const ROUNDS: usize = 20;

/// Does work of about a hundred cycles: each step of it needs the one before.
fn work(from: u64) -> u64 {
    (0..20).fold(from, |sum, step| (sum ^ step).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Returns the least time of a step of `body` over all rounds, in seconds.
fn least(mut body: impl FnMut(u64) -> u64) -> f64 {
    let mut round = || {
        let begin = Instant::now();
        black_box((0..STEPS).fold(0, |sum, step| sum ^ body(step)));
        begin.elapsed().as_secs_f64() / STEPS as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let machine = Native::new(NativeOptions::default()).expect("address space");
    let core = machine.core(0);
    let ticks_per_ns = black_box(machine.clock_hz() as f64 / 1e9);
    let alone = least(|step| work(black_box(step)));
    let timed = least(|step| {
        let begin = nanoseconds(core.now(), ticks_per_ns);
        let done = work(black_box(step));
        done ^ (nanoseconds(core.now(), ticks_per_ns) - begin)
    });
    let cycles = (timed - alone) * machine.clock_hz() as f64 / 2.0;
    println!("{cycles:.0} cycles of {ticks_per_ns:.2} GHz for a read of the clock in nanoseconds");
}
