//! Generates arrivals in an open loop: transactions arrive at their own times, whether or not a worker is free.
//!
//! In a closed loop a worker draws its next transaction when the last one has ended. A slow transaction then delays
//! later arrivals, and their waiting time is never measured (Schroeder, Wierman and Harchol-Balter, "Open Versus
//! Closed", NSDI 2006). Here each worker has its own queue, which gets an equal part of all arrivals. Latency is
//! counted from the intended start, so the wait behind a slow transaction is included.

use machine::{Category, Core, Word};

/// Spacing of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// Independent arrivals with exponential gaps.
    Poisson,
    /// Evenly spaced arrivals. Workers take turns.
    Fixed,
}

impl Process {
    /// Returns the process's name on the command line and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Process::Poisson => "poisson",
            Process::Fixed => "fixed",
        }
    }
}

/// Arrivals at all workers together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Spacing of arrivals.
    pub process: Process,
    /// Number of arrivals per second of the machine's time.
    pub rate_txn_per_s: f64,
}

/// Queue of one worker: the arrival times of its transactions, in ticks since the worker began.
#[derive(Clone, Debug)]
pub struct ArrivalTimes {
    process: Process,
    /// Mean time between two arrivals, in ticks.
    gap: f64,
    upcoming: f64,
    random: u64,
}

impl ArrivalTimes {
    /// Creates the queue of `worker` out of `workers`, on a clock with `ticks_per_second`.
    pub fn new(
        arrivals: Arrivals,
        worker: usize,
        workers: usize,
        seed: u64,
        ticks_per_second: u64,
    ) -> ArrivalTimes {
        let apart = ticks_per_second as f64 / arrivals.rate_txn_per_s;
        let gap = apart * workers as f64;
        // Differs from the seeds of back-off and of drawing.
        let random = seed ^ 0x6172_7269_7661_6c73 ^ (worker as u64) << 40;
        let mut times = ArrivalTimes { process: arrivals.process, gap, upcoming: 0.0, random };
        match times.process {
            Process::Poisson => times.advance(),
            Process::Fixed => times.upcoming = apart * worker as f64,
        }
        times
    }

    /// Returns the arrival time of the next transaction, which may be in the past.
    pub fn upcoming(&self) -> u64 {
        self.upcoming as u64
    }

    /// Removes the next transaction from the queue and returns its arrival time.
    pub fn take(&mut self) -> u64 {
        let arrival = self.upcoming();
        self.advance();
        arrival
    }

    /// Returns the number of transactions that have arrived by `now` and are still in the queue.
    pub fn waiting(&self, now: u64) -> u64 {
        let mut rest = self.clone();
        let mut waiting = 0;
        while rest.take() <= now {
            waiting += 1;
        }
        waiting
    }

    fn advance(&mut self) {
        self.upcoming += match self.process {
            Process::Fixed => self.gap,
            Process::Poisson => {
                let bits = crate::drive::next_random(&mut self.random) >> 11;
                // The value is in (0, 1], so that the logarithm is finite. libm's logarithm is the same on every
                // machine.
                let unit = (bits + 1) as f64 * (1.0 / (1u64 << 53) as f64);
                -libm::log(unit) * self.gap
            }
        };
    }
}

/// Waits until the time `until` or until `stop` is set, whichever comes first.
pub(crate) fn idle<C: Core>(core: &C, until: u64, stop: &Word) {
    let before = core.account(Category::Idle);
    // The worker checks `stop` at least every ten milliseconds.
    let step = core.ticks_per_second() / 100;
    loop {
        let left = until.saturating_sub(core.now());
        if left == 0 || stop.peek() != 0 {
            break;
        }
        core.pause(left.min(step.max(1)));
    }
    core.account(before);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(process: Process, worker: usize, workers: usize) -> ArrivalTimes {
        let arrivals = Arrivals { process, rate_txn_per_s: 1000.0 };
        ArrivalTimes::new(arrivals, worker, workers, 5, 1_000_000)
    }

    #[test]
    fn workers_take_turns_at_a_fixed_rate() {
        let mut both: Vec<u64> = Vec::new();
        for worker in 0..2 {
            let mut times = times(Process::Fixed, worker, 2);
            both.extend((0..3).map(|_| times.take()));
        }
        both.sort_unstable();
        assert_eq!(both, [0, 1000, 2000, 3000, 4000, 5000]);
    }

    #[test]
    fn gaps_of_a_poisson_process_are_exponential() {
        let mut times = times(Process::Poisson, 0, 2);
        let arrivals: Vec<u64> = (0..100_000).map(|_| times.take()).collect();
        let gaps: Vec<f64> = arrivals.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 2000.0).abs() < 25.0, "{mean}");
        // A share of 1 - 1/e of exponential gaps is below the mean, and their standard deviation equals the mean.
        let below = gaps.iter().filter(|gap| **gap < 2000.0).count() as f64 / gaps.len() as f64;
        assert!((below - 0.632).abs() < 0.01, "{below}");
        let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((square.sqrt() / mean - 1.0).abs() < 0.02, "{}", square.sqrt());
    }

    #[test]
    fn seeds_and_workers_have_queues_of_their_own() {
        let first = |worker| times(Process::Poisson, worker, 4).take();
        assert!(first(0) != first(1) && first(1) != first(2) && first(0) == first(0));
    }

    #[test]
    fn what_has_arrived_and_was_not_taken_is_waiting() {
        let mut times = times(Process::Fixed, 0, 1);
        assert_eq!((times.waiting(0), times.waiting(999), times.waiting(5000)), (1, 1, 6));
        times.take();
        times.take();
        assert_eq!((times.waiting(1999), times.waiting(5000)), (0, 4));
    }
}
