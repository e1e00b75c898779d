//! Back-off before another attempt: exponential, bounded, and with jitter. The thread holds no lock meanwhile.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Upper bound of the first wait, in nanoseconds. Each further attempt doubles the bound.
const FIRST_NANOS: u64 = 500;
/// Largest number of doublings. It limits a wait to half a millisecond.
const DOUBLINGS: u32 = 10;
/// A wait of at least this length sleeps, which gives the core to other threads. A thread that only yields gets
/// the core back after a busy program on the same core has used its time slice, which takes milliseconds.
const SLEEP_NANOS: u64 = 10_000;

/// Waits after attempt number `attempt` (1 and up) has failed. `longest` is the upper bound in nanoseconds, if
/// the protocol sets one.
pub(crate) fn wait(attempt: u32, longest: Option<u64>, random: &mut u64) {
    let bound = longest.unwrap_or(FIRST_NANOS << (attempt - 1).min(DOUBLINGS));
    let wait = Duration::from_nanos(next(random) % bound.max(1));
    if wait.as_nanos() as u64 >= SLEEP_NANOS {
        thread::sleep(wait);
        return;
    }
    let start = Instant::now();
    while start.elapsed() < wait {
        std::hint::spin_loop();
    }
}

/// Returns the next random number (Marsaglia's xorshift, multiplied). `state` must not be 0.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
}
