//! Measurements with several pinned threads: bandwidth, and the transfer of lines from core to core.

use super::memory::Chase;
use std::{
    hint::black_box,
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Pins the calling thread to a processor, if the system allows it.
pub(super) fn pin(cpu: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: a set of processors is plain bits, and zeros are the empty set. The call only reads the set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if cpu < libc::CPU_SETSIZE as usize {
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = cpu;
}

/// Runs `work` on a thread of its own.
pub(super) fn apart<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(work).join().expect("measuring does not panic"))
}

/// Runs `work` on a thread of its own, pinned to `cpu`. Memory that it touches first lies near this processor.
pub(super) fn on<R: Send>(cpu: usize, work: impl FnOnce() -> R + Send) -> R {
    apart(move || {
        pin(cpu);
        work()
    })
}

/// Measures the bandwidth, in GB/s, with which all of `cpus` together read `total` bytes once. The memory is first
/// touched by `owner` if `far` is set, otherwise by each reader itself.
pub(super) fn bandwidth_gbps(cpus: &[usize], owner: usize, far: bool, total: usize) -> f64 {
    let share = (total / cpus.len()).max(1 << 16);
    let ready = Barrier::new(cpus.len());
    let gbps: Vec<f64> = std::thread::scope(|scope| {
        let readers: Vec<_> = cpus
            .iter()
            .map(|cpu| {
                let ready = &ready;
                scope.spawn(move || {
                    pin(*cpu);
                    let fill = || vec![1u64; share / 8];
                    let words = if far { on(owner, fill) } else { fill() };
                    ready.wait();
                    let mut rates: Vec<f64> = words.chunks(STRETCH_BYTES / 8).map(rate).collect();
                    rates.sort_unstable_by(f64::total_cmp);
                    rates[rates.len() / 2]
                })
            })
            .collect();
        readers.into_iter().map(|r| r.join().expect("measuring does not panic")).collect()
    });
    gbps.into_iter().sum()
}

/// Number of bytes of a stretch of reading. Each stretch is timed separately, so that interrupted stretches can be
/// left out.
const STRETCH_BYTES: usize = 1 << 20;

/// Returns how fast `words` are read, in GB/s.
fn rate(words: &[u64]) -> f64 {
    let start = Instant::now();
    black_box(words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
    (words.len() * 8) as f64 / start.elapsed().as_nanos().max(1) as f64
}

/// Measures the nanoseconds until a line that one core wrote has arrived at another core that waits for it.
pub(super) fn transfer_ns(a: usize, b: usize, attempts: usize) -> f64 {
    const ROUNDS: u64 = 10_000;
    const STRETCH: u64 = 100;
    const OVER: u64 = u64::MAX;
    const PATIENCE: Duration = Duration::from_millis(300);
    #[repr(align(128))]
    struct Ball(AtomicU64);
    let mut best = f64::INFINITY;
    for _ in 0..attempts {
        let ball = Ball(AtomicU64::new(0));
        let play = |cpu: usize, mine: u64| {
            pin(cpu);
            let mut times = Vec::new();
            let begin = Instant::now();
            let mut start = begin;
            for round in 0..ROUNDS {
                if round % STRETCH == STRETCH - 1 {
                    times.push(start.elapsed().as_nanos() as f64 / (2 * STRETCH) as f64);
                    start = Instant::now();
                }
                let turn = 2 * round + mine;
                let mut spins = 0u32;
                loop {
                    match ball.0.load(Ordering::Acquire) {
                        now if now == turn => break,
                        OVER => return quartile(times),
                        _ => {}
                    }
                    std::hint::spin_loop();
                    spins += 1;
                    // If both threads share a core, the other thread must get it.
                    if spins.is_multiple_of(1 << 14) {
                        std::thread::yield_now();
                    }
                }
                // On a busy system the two threads seldom run at the same time, so the measurement ends after a limit
                // of time.
                if mine == 0 && start - begin > PATIENCE {
                    ball.0.store(OVER, Ordering::Release);
                    return quartile(times);
                }
                ball.0.store(turn + 1, Ordering::Release);
            }
            quartile(times)
        };
        let ns = std::thread::scope(|scope| {
            let other = scope.spawn(|| play(b, 1));
            let ns = scope.spawn(|| play(a, 0)).join().expect("measuring does not panic");
            other.join().expect("measuring does not panic");
            ns
        });
        best = best.min(ns);
    }
    best
}

/// Returns the first quartile of the times.
fn quartile(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 4).copied().unwrap_or(f64::INFINITY)
}

/// Returns the size of a page.
pub(super) fn page_bytes() -> u64 {
    // SAFETY: the call asks for a constant of the system and accesses no memory of ours.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096).max(4096)
}

// A chase is built by one thread and followed by another, so it must be `Send` and `Sync`.
const _: fn() = || {
    fn sent<T: Send + Sync>() {}
    sent::<Chase>();
};
