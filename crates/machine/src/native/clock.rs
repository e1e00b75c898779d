//! The clock of native cores: the time-stamp counter if there is one.

use crate::NEVER;
use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn timestamp_counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and it accesses no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn fenced_timestamp_counter() -> u64 {
    // The counter itself is not ordered with other instructions. A load fence on both sides keeps it in its place.
    // SAFETY: every x86-64 processor has these instructions.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        let now = core::arch::x86_64::_rdtsc();
        core::arch::x86_64::_mm_lfence();
        now
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn fenced_timestamp_counter() -> u64 {
    timestamp_counter()
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn timestamp_counter() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Converts `ticks` of the clock into a duration.
pub(super) fn duration_of(ticks: u64) -> Duration {
    let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(timestamp_counter_hz());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Returns the time that is left until the clock reaches `deadline`.
pub(super) fn time_until(deadline: u64) -> Duration {
    match deadline {
        NEVER => Duration::MAX,
        _ => duration_of(deadline.saturating_sub(timestamp_counter())),
    }
}

/// Returns the number of ticks of the time-stamp counter per second. It is measured once against the system's
/// clock.
pub(super) fn timestamp_counter_hz() -> u64 {
    static HZ: OnceLock<u64> = OnceLock::new();
    *HZ.get_or_init(|| {
        let measure = || {
            let (wall, ticks) = (Instant::now(), timestamp_counter());
            std::thread::sleep(Duration::from_millis(10));
            let ticks = timestamp_counter() - ticks;
            (ticks as f64 / wall.elapsed().as_secs_f64()) as u64
        };
        let mut samples = [measure(), measure(), measure()];
        samples.sort_unstable();
        samples[1]
    })
}
