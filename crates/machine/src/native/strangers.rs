//! Finds out whether other programs use the processors that this program could run on.
//!
//! A thread that yields its processor and gets it back late has learnt that another thread ran meanwhile. If
//! that was a thread of its own program, nothing is lost, because it has worked. If it was a program that never
//! stops, each yield costs a time slice.
//!
//! The system knows how long its processors were busy and how long this program ran. The difference is what
//! other programs took.

use parking_lot::Mutex;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// Shortest time between two samples. The system counts in hundredths of a second, so a shorter time says
/// little.
const WINDOW: Duration = Duration::from_millis(200);
/// Share of the processors from which on other programs count as present. The background work of an idle system
/// stays below it. One busy program beside sixteen threads exceeds it.
const SHARE: f64 = 0.04;

/// Processor time spent up to a moment.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    /// Time spent by all programs on the processors that this one may use.
    busy: Duration,
    /// Time spent by this program.
    own: Duration,
    processors: u32,
}

static LAST: Mutex<Option<Sample>> = Mutex::new(None);
/// Result of the last two samples. True until there are two, and on systems that do not report processor time.
static HERE: AtomicBool = AtomicBool::new(true);

/// Returns true if other programs took a notable share of the processors, according to a recent sample.
pub(super) fn are_here() -> bool {
    if let Some(mut last) = LAST.try_lock()
        && last.is_none_or(|last| last.at.elapsed() >= WINDOW)
    {
        let next = sample();
        if let (Some(last), Some(next)) = (*last, next) {
            HERE.store(took_a_share(last, next), Ordering::Relaxed);
        }
        *last = next;
    }
    HERE.load(Ordering::Relaxed)
}

fn took_a_share(before: Sample, after: Sample) -> bool {
    let busy = after.busy.saturating_sub(before.busy);
    let others = busy.saturating_sub(after.own.saturating_sub(before.own));
    let whole = (after.at - before.at) * after.processors;
    others.as_secs_f64() >= SHARE * whole.as_secs_f64()
}

#[cfg(target_os = "linux")]
fn sample() -> Option<Sample> {
    let allowed = allowed_processors()?;
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let (mut busy, mut processors) = (0, 0);
    for line in text.lines() {
        let Some((number, times)) = line.strip_prefix("cpu").and_then(|line| line.split_once(' '))
        else {
            break;
        };
        // The first line is the sum of all processors and has no number.
        let Ok(number) = number.parse::<usize>() else { continue };
        // SAFETY: the set is complete, and the number was compared with its size before.
        if number < 8 * size_of_val(&allowed) && unsafe { libc::CPU_ISSET(number, &allowed) } {
            // Columns: users, users at low priority, the system, (idle, waiting for disks), interrupts (two
            // columns).
            let time = |at| times.split_whitespace().nth(at)?.parse::<u64>().ok();
            let spent: Option<u64> = [0, 1, 2, 5, 6].into_iter().map(time).sum();
            busy += spent?;
            processors += 1;
        }
    }
    // SAFETY: the call takes no pointers.
    let hertz =
        u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|&hz| hz > 0)?;
    let busy = Duration::from_nanos(busy * (1_000_000_000 / hertz));
    Some(Sample { at: Instant::now(), busy, own: own_time()?, processors })
}

/// Returns the processors that the program's first thread may use. A later thread can be pinned to a single
/// one.
#[cfg(target_os = "linux")]
fn allowed_processors() -> Option<libc::cpu_set_t> {
    // SAFETY: zeros are an empty set. The call fills in a set of the given size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let done = libc::sched_getaffinity(libc::getpid(), size_of_val(&set), &mut set);
        (done == 0).then_some(set)
    }
}

/// Returns the processor time that all threads of this program have spent.
#[cfg(target_os = "linux")]
fn own_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in the given time.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    let (seconds, nanos) = (time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?);
    (done == 0).then(|| Duration::new(seconds, nanos))
}

#[cfg(not(target_os = "linux"))]
fn sample() -> Option<Sample> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_program_did_not_spend_others_have() {
        let at = Instant::now();
        let before = Sample { at, busy: Duration::ZERO, own: Duration::ZERO, processors: 2 };
        let after = |busy, own| Sample {
            at: at + Duration::from_millis(200),
            busy: Duration::from_millis(busy),
            own: Duration::from_millis(own),
            processors: 2,
        };
        assert!(!took_a_share(before, after(400, 400)));
        assert!(!took_a_share(before, after(390, 380)));
        assert!(took_a_share(before, after(400, 360)));
        // A program that sleeps leaves processors idle. Idle time is not a share of other programs.
        assert!(!took_a_share(before, after(100, 95)));
        // The system's count is coarse, so it can be below the program's own time.
        assert!(!took_a_share(before, after(380, 395)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells() {
        let (before, begun) = (sample().expect("a system with /proc"), Instant::now());
        while begun.elapsed() < Duration::from_millis(100) {
            std::hint::spin_loop();
        }
        let after = sample().expect("a system with /proc");
        assert!(after.processors >= 1 && after.processors == before.processors);
        assert!(after.own > before.own && after.busy >= before.busy);
    }
}
