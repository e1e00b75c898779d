//! Measurements with one thread: the clock, and the latencies of loads from lines that lie farther and farther away.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

const LINE_WORDS: usize = 8;

/// Number of short stretches of an attempt. A stretch is shorter than the time for which a busy system lets a thread
/// run.
const STRETCHES: usize = 64;

/// Returns the nanoseconds of each of `count` steps. `work` does as many steps as it is told. The result is the first
/// quartile of many short stretches, because disturbances only ever slow the machine down.
fn ns_each(attempts: usize, count: usize, mut work: impl FnMut(usize)) -> f64 {
    let steps = (count / STRETCHES).max(1);
    let mut times: Vec<u64> = (0..attempts * STRETCHES)
        .map(|_| {
            let start = Instant::now();
            work(steps);
            start.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 4] as f64 / steps as f64
}

/// Measures the clock, with a chain of shifts, exclusive ors and additions that take a cycle each.
pub(super) fn clock_mhz(attempts: usize) -> f64 {
    let mut x = black_box(1u64);
    let ns = ns_each(attempts, 1_000_000, |steps| {
        for _ in 0..steps {
            x = (x ^ (x << 7)).wrapping_add(1);
        }
        black_box(x);
    });
    3000.0 / ns
}

/// Buffer whose lines point at each other, in a single cycle through all of them that no prefetcher can predict.
pub(super) struct Chase {
    words: Vec<u64>,
}

impl Chase {
    pub(super) fn new(bytes: usize) -> Chase {
        // A linear congruential generator of full period gives the line after each line. It needs a power of two, an
        // odd increment, and a factor that is 1 modulo 4.
        let lines = 1usize << (bytes / 64).max(2).ilog2();
        let next = |line: usize| {
            line.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7F) % lines
        };
        let mut words: Vec<u64> = Vec::with_capacity(lines * LINE_WORDS);
        advise_huge(&words);
        for line in 0..lines {
            words.push(next(line) as u64);
            words.extend_from_slice(&[0; LINE_WORDS - 1]);
        }
        Chase { words }
    }

    /// Measures the nanoseconds from load to use.
    pub(super) fn ns(&self, attempts: usize) -> f64 {
        let lines = self.words.len() / LINE_WORDS;
        let steps = lines.clamp(100_000, 300_000);
        let mut at = 0usize;
        for _ in 0..lines.min(steps) {
            at = self.words[at * LINE_WORDS] as usize;
        }
        ns_each(attempts, steps, |steps| {
            for _ in 0..steps {
                at = self.words[at * LINE_WORDS] as usize;
            }
            black_box(at);
        })
    }
}

/// Measures the nanoseconds from load to use in a buffer of `bytes`.
pub(super) fn chase_ns(bytes: usize, attempts: usize) -> f64 {
    Chase::new(bytes).ns(attempts)
}

/// Measures how many misses on neighbouring lines overlap: it compares ten lines in a row with one line.
pub(super) fn parallelism(chase: &Chase, attempts: usize) -> f64 {
    const ROW: usize = 10;
    let lines = chase.words.len() / LINE_WORDS;
    let rows = |row: usize| {
        let mut at = 0usize;
        ns_each(attempts, 100_000, |steps| {
            for _ in 0..steps {
                let next = chase.words[at * LINE_WORDS] as usize;
                let others = (1..row).map(|i| chase.words[(at + i) % lines * LINE_WORDS + 1]);
                at = next ^ (others.fold(0, |sum, word| sum | word) as usize);
            }
            black_box(at);
        })
    };
    let (one, many) = (rows(1), rows(ROW));
    (ROW - 1) as f64 * one / (many - one).max(one / 16.0)
}

/// Measures the nanoseconds of a read-modify-write on a line that the core owns.
pub(super) fn atomic_ns(attempts: usize) -> f64 {
    let word = AtomicU64::new(0);
    ns_each(attempts, 200_000, |steps| {
        for _ in 0..steps {
            word.fetch_add(1, Ordering::AcqRel);
        }
    })
}

/// Measures the bytes that a copy within the first-level cache moves in a cycle.
pub(super) fn copy_bytes_per_cycle(mhz: f64, attempts: usize) -> u64 {
    const BYTES: usize = 4096;
    let (from, mut into) = (vec![1u8; BYTES], vec![0u8; BYTES]);
    let ns = ns_each(attempts, 20_000, |copies| {
        for _ in 0..copies {
            black_box(&mut into).copy_from_slice(black_box(&from));
        }
    });
    ((BYTES as f64 / (ns * mhz / 1000.0)).round() as u64).clamp(1, 1024)
}

/// Asks for huge pages, so that a chase measures caches and not the translation of addresses.
fn advise_huge(words: &Vec<u64>) {
    let bytes = words.capacity() * 8;
    let start = (words.as_ptr() as usize).next_multiple_of(4096);
    if bytes > 4 << 20 {
        #[cfg(target_os = "linux")]
        // SAFETY: this is advice on memory that the vector has reserved. It changes only speed.
        unsafe {
            libc::madvise(start as *mut _, (bytes - 4096) & !4095, libc::MADV_HUGEPAGE);
        }
        let _ = start;
    }
}
