//! Waiting before another attempt: exponential, bounded, with jitter, and holding nothing.

use std::{
    thread,
    time::{Duration, Instant},
};

/// The bound of the first wait; each further one doubles it.
const FIRST_NANOS: u64 = 500;
/// Doublings at most: half a millisecond.
const DOUBLINGS: u32 = 10;
/// From here on a wait gives the core to other threads, by a sleep: who only yields gets it back when a busy program that
/// shares it has had its turn, which takes milliseconds.
const SLEEP_NANOS: u64 = 10_000;

/// Waits after attempt number `attempt` (1 and up) has failed; `longest` nanoseconds at most where the protocol says how
/// long.
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

/// The next random number (Marsaglia's xorshift, multiplied). `state` is never 0.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
}
