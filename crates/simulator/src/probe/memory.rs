//! What one thread can measure: its clock, and how long loads of lines take that lie farther and farther.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

const LINE_WORDS: usize = 8;

/// Short stretches of which an attempt is made: shorter than the time that a busy system leaves a thread.
const STRETCHES: usize = 64;

/// Nanoseconds for each of `count` steps, of which `work` does as many as it is told: what a quarter of
/// many short stretches did not exceed, since disturbances only ever slow things down.
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

/// The clock, by a chain of shifts, exclusive ors and additions, which take a cycle each.
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

/// A buffer whose lines point at each other, in one cycle through all of them that no prefetcher guesses.
pub(super) struct Chase {
    words: Vec<u64>,
}

impl Chase {
    pub(super) fn new(bytes: usize) -> Chase {
        // A linear congruential generator of full period names the line after each; it needs a power of
        // two, an odd increment, and a factor that is 1 modulo 4.
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

    /// Nanoseconds from load to use.
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

/// Nanoseconds from load to use in a buffer of `bytes`.
pub(super) fn chase_ns(bytes: usize, attempts: usize) -> f64 {
    Chase::new(bytes).ns(attempts)
}

/// How many misses on neighbouring lines overlap: ten lines in a row against one.
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

/// Nanoseconds of a read-modify-write on a line that the core owns.
pub(super) fn atomic_ns(attempts: usize) -> f64 {
    let word = AtomicU64::new(0);
    ns_each(attempts, 200_000, |steps| {
        for _ in 0..steps {
            word.fetch_add(1, Ordering::AcqRel);
        }
    })
}

/// Bytes that a copy within the first-level cache moves in a cycle.
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

/// Asks for huge pages, so that a chase measures caches rather than translation of addresses.
fn advise_huge(words: &Vec<u64>) {
    let bytes = words.capacity() * 8;
    let start = (words.as_ptr() as usize).next_multiple_of(4096);
    if bytes > 4 << 20 {
        #[cfg(target_os = "linux")]
        // SAFETY: advice on memory that the vector has reserved; it changes nothing but speed.
        unsafe {
            libc::madvise(start as *mut _, (bytes - 4096) & !4095, libc::MADV_HUGEPAGE);
        }
        let _ = start;
    }
}
