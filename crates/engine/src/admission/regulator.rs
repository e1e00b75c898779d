//! Sets the limit by its effect on the rate of commits.
//!
//! Source: Heiss and Wagner, VLDB 1991 (incremental steps: a hill climber on throughput over the limit). What is ours:
//! the slow start, the comparison with the rate before and after a probe, and probes that become rare.
//!
//! The regulator sees samples: how much time has passed, and how many transactions have committed. It collects them into
//! *windows*. A window is long enough that its rate is known to about two percent. After each change of the limit it
//! leaves out as many commits as transactions can be in flight, twice, so that a window belongs to one limit.
//!
//! ```text
//!              rate rises: twice the limit, or the root of two times if it rises by less than half
//!              +--------+
//!              v        |     no gain at the first step: half the limit, while the rate rises
//!  start --> GROW ------+-----------------------------------> SHRINK
//!              | no gain                                        | no gain
//!              +--------------------> REFINE <------------------+
//!                        the best limit times and divided by the root of two
//!                                       |
//!                                       v            probe better than both neighbours
//!                HOLD (windows) ---> PROBE (one window, limit times or divided by 1.25) ---> BACK (one window)
//!                  ^                                                                           |
//!                  +---------------------------------------------------------------------------+
//! ```
//!
//! - **Slow start.** The limit begins small. So a collapse, which takes long to undo, does not begin.
//! - **A probe counts only if its rate is higher than that of the window before and that of the window after it.** So a
//!   rate that changes by itself does not move the limit.
//! - **Probes become rare.** Each pair of probes that gains nothing doubles the number of windows between probes, to at
//!   most 64. A system without contention holds the limit at the number of sessions, and loses a fifth of one
//!   window in about 130 by probing.
//! - **A fall of the rate in HOLD** by more than 15 % means that the load has changed, or that a collapse has begun slowly.
//!   The regulator searches again, downwards first.
//! - **A rate below half of the highest one of late** is a collapse. The limit is divided by four, and grows again from
//!   there, but not to the limit at which it happened: that has become a ceiling, which rises slowly. A collapse lasts
//!   longer than its cause, so neither waiting for many commits nor small steps would do.
//! - **Where the limit does not bind**, because there are permits to spare, the rate says nothing of the limit. Such
//!   windows decide nothing. So a load below the capacity does not drive the limit down.

/// Number of windows in HOLD after which a probe comes, at most.
const MOST_PATIENCE: u32 = 64;
/// Commits of a window while the regulator searches.
const WINDOW: u64 = 1000;
/// Commits of a window where runs are miniatures.
const MINIATURE_WINDOW: u64 = 3;
/// Commits of a window while the limit is held, as a multiple of those of the search: at first, and at most.
const HELD_WINDOW: u64 = 1;
const MOST_HELD_WINDOW: u64 = 16;
/// Commits after which a rate that has risen by [`QUICK_GAIN`] can end the window, as a share of the window: 1 / 5.
const QUICK_PART: u64 = 5;
/// Gain in rate that needs no whole window to be certain, as a factor.
const QUICK_GAIN: f64 = 1.4;
/// Gain in rate with which the limit is doubled once more, as a factor. With a smaller gain it grows by the root of two.
const STEEP_GAIN: f64 = 1.5;
/// Gain in rate by which a step of the search counts, as a factor.
const SEARCH_GAIN: f64 = 1.02;
/// Gain in rate by which a probe counts, as a factor.
const PROBE_GAIN: f64 = 1.01;
/// Fall of the rate in HOLD with which the search begins again, as a factor.
const FALL: f64 = 0.85;
/// Share of the rate that a limit should give, below which the system has collapsed.
const COLLAPSE: f64 = 0.5;
/// Least number of commits of a window as a multiple of the limit: while a rate rises steeply, and otherwise. A collapse takes
/// many latencies to show.
const QUICK_LATENCIES: u64 = 16;
const LATENCIES: u64 = 32;
/// Part by which the highest rate is forgotten in each window.
const FORGOTTEN: f64 = 0.01;

/// Counts since the last sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Ticks since the last sample.
    pub ticks: u64,
    /// Commits of all sessions since the last sample.
    pub commits: u64,
    /// Number of permits that could be had at once at the end of the sample.
    pub spare: u64,
}

/// The state of the regulator's search.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Doubles the limit while that pays.
    Grow,
    /// Halves the limit while that pays.
    Shrink,
    /// Tries the limit beside the best one. The flag is set at the first of two.
    Refine { above: bool },
    /// Keeps the best limit for a number of windows.
    Hold { windows: u32 },
    /// Tries another limit.
    Probe { before: f64 },
    /// Is back at the best limit after a probe.
    Back { before: f64, probe: f64, probed: usize },
}

/// Sets the limit by its effect on the rate of commits.
#[derive(Clone, Debug)]
pub struct Regulator {
    least: usize,
    most: usize,
    limit: usize,
    /// The limit with which the search began.
    first: usize,
    /// The best limit so far and its rate, in commits a tick.
    best: (usize, f64),
    /// The limit with the highest rate of late, and that rate.
    peak: (usize, f64),
    /// Limit that is not exceeded, because the system collapsed above it. It rises slowly.
    ceiling: usize,
    phase: Phase,
    /// Number of windows between two probes.
    patience: u32,
    /// Set if the next probe is above the best limit.
    upwards: bool,
    /// Number of probes without gain since the last one with a gain.
    failed: u32,
    /// Commits that are still left out after a change.
    settling: u64,
    /// Ticks for which commits have been left out.
    settled: u64,
    window: Window,
    window_commits: u64,
}

/// Sums over samples.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    ticks: u64,
    commits: u64,
    samples: u32,
    /// Number of samples at which the limit bound.
    bound: u32,
}

impl Regulator {
    /// Returns a limit to begin with, for a number of sessions.
    pub fn first_limit(sessions: usize) -> usize {
        sessions.div_ceil(8).min(8)
    }

    /// Creates a regulator of limits from `least` to the number of `sessions`, that begins with `first`. Its windows are
    /// tiny in a `miniature`.
    pub fn new(least: usize, first: usize, sessions: usize, miniature: bool) -> Regulator {
        let most = sessions.max(least);
        let limit = first.clamp(least, most);
        let mut regulator = Regulator {
            least,
            most,
            limit,
            first: limit,
            best: (limit, 0.0),
            peak: (limit, 0.0),
            ceiling: most,
            phase: Phase::Grow,
            patience: 1,
            upwards: true,
            failed: 0,
            settling: 0,
            settled: 0,
            window: Window::default(),
            window_commits: if miniature { MINIATURE_WINDOW } else { WINDOW },
        };
        regulator.settle(limit);
        regulator
    }

    /// Returns true if the limit in force is below the number of sessions.
    pub fn is_limited(&self) -> bool {
        self.limit < self.most
    }

    /// Takes a sample into account. Returns the limit if it changes.
    pub fn observe(&mut self, sample: Sample) -> Option<usize> {
        if self.settling > 0 {
            self.settled += sample.ticks;
            self.settling = self.settling.saturating_sub(sample.commits);
            // If hardly anything commits, a collapse is under way, and there is no point in waiting for it to settle.
            if self.settling > 0 && !self.takes_too_long(self.settled, 2 * self.limit as u64) {
                return None;
            }
            self.settling = 0;
            return None;
        }
        let window = &mut self.window;
        window.ticks += sample.ticks;
        window.commits += sample.commits;
        window.samples += 1;
        window.bound += u32::from(sample.spare * 4 <= self.limit as u64);
        let Window { ticks, commits, samples, bound } = *window;
        let enough = self.enough();
        let rate = commits as f64 / ticks.max(1) as f64;
        let quick = self.phase == Phase::Grow
            && commits * QUICK_PART >= self.window_commits
            && commits >= QUICK_LATENCIES * self.limit as u64
            && rate > self.best.1 * QUICK_GAIN;
        if commits < enough && !quick && !self.takes_too_long(ticks, enough) {
            return None;
        }
        self.window = Window::default();
        let before = self.limit;
        self.peak.1 *= 1.0 - FORGOTTEN;
        if rate > self.peak.1 {
            self.peak = (before, rate);
        }
        match bound * 2 >= samples {
            true if self.has_collapsed(rate) => self.collapsed(),
            true => self.measured(rate),
            false => self.unbound(),
        }
        (self.limit != before).then_some(self.limit)
    }

    /// Returns the number of commits of a window. The rarer the probes, the more precise they are.
    fn enough(&self) -> u64 {
        if self.window_commits < WINDOW {
            return self.window_commits;
        }
        let commits = match self.phase {
            Phase::Grow | Phase::Shrink | Phase::Refine { .. } => self.window_commits,
            Phase::Hold { .. } | Phase::Probe { .. } | Phase::Back { .. } => {
                let windows = HELD_WINDOW * u64::from(self.patience);
                self.window_commits * windows.min(MOST_HELD_WINDOW)
            }
        };
        commits.max(LATENCIES * self.limit as u64)
    }

    /// Returns true if `ticks` are much more than `commits` commits take at the highest rate.
    fn takes_too_long(&self, ticks: u64, commits: u64) -> bool {
        self.peak.1 * ticks as f64 > 4.0 * commits as f64
    }

    /// Returns true if a rate is less than half of what it should be, given the highest one. A lower limit must give its part at
    /// least, because fewer transactions disturb each other less.
    fn has_collapsed(&self, rate: f64) -> bool {
        let (limit, peak) = self.peak;
        let part = (self.limit as f64 / limit as f64).min(1.0);
        self.limit > self.least && rate < peak * part * COLLAPSE
    }

    /// Begins the search anew, far below a limit at which the system has collapsed.
    fn collapsed(&mut self) {
        let ceiling = scaled(self.limit, 0.8).clamp(self.least, self.most);
        if self.best.1 > 0.0 {
            self.ceiling = ceiling.min(self.ceiling);
        }
        let limit = (self.limit / 4).max(self.least);
        (self.patience, self.failed) = (1, 0);
        (self.first, self.best) = (limit, (limit, 0.0));
        self.phase = Phase::Grow;
        self.set(limit);
    }

    /// Sets the limit, and leaves out the commits of those that were admitted before.
    fn set(&mut self, limit: usize) {
        let limit = limit.clamp(self.least, self.ceiling.max(self.least));
        self.settle(self.limit.max(limit));
        self.limit = limit;
    }

    fn settle(&mut self, in_flight: usize) {
        self.settling = if self.window_commits < WINDOW { 1 } else { 2 * in_flight as u64 };
        self.settled = 0;
        self.window = Window::default();
    }

    /// Decides after a window in which there were permits to spare.
    fn unbound(&mut self) {
        if matches!(self.phase, Phase::Probe { .. } | Phase::Refine { .. }) {
            self.hold();
        }
    }

    /// Decides after a window with this rate.
    fn measured(&mut self, rate: f64) {
        match self.phase {
            Phase::Grow => self.grown(rate),
            Phase::Shrink => self.shrunk(rate),
            Phase::Refine { above } => self.refined(rate, above),
            Phase::Hold { windows } => self.held(rate, windows),
            Phase::Probe { before } => {
                let probed = self.limit;
                self.phase = Phase::Back { before, probe: rate, probed };
                self.set(self.best.0);
            }
            Phase::Back { before, probe, probed } => self.back(rate, before, (probe, probed)),
        }
    }

    fn grown(&mut self, rate: f64) {
        let (limit, best) = self.best;
        if rate > best * SEARCH_GAIN || self.limit == limit {
            let steep = rate > best * STEEP_GAIN;
            let next =
                if steep { self.limit * 2 } else { scaled(self.limit, std::f64::consts::SQRT_2) };
            self.best = (self.limit, rate);
            match self.limit >= self.ceiling {
                true => self.hold(),
                false => self.set(next),
            }
        } else if limit == self.first && limit > self.least {
            // The first step has not paid.
            self.phase = Phase::Shrink;
            self.set(limit / 2);
        } else {
            self.refine();
        }
    }

    fn shrunk(&mut self, rate: f64) {
        if rate > self.best.1 * SEARCH_GAIN {
            self.best = (self.limit, rate);
            if self.limit > self.least {
                return self.set(self.limit / 2);
            }
        }
        self.refine();
    }

    fn refine(&mut self) {
        self.phase = Phase::Refine { above: true };
        self.set(scaled(self.best.0, std::f64::consts::SQRT_2));
        if self.limit == self.best.0 {
            self.refined(0.0, true);
        }
    }

    fn refined(&mut self, rate: f64, above: bool) {
        if rate > self.best.1 * PROBE_GAIN {
            self.best = (self.limit, rate);
            return self.hold();
        }
        match above {
            true => {
                self.phase = Phase::Refine { above: false };
                self.set(scaled(self.best.0, std::f64::consts::FRAC_1_SQRT_2));
            }
            false => self.hold(),
        }
    }

    /// Goes on with the best limit.
    fn hold(&mut self) {
        self.phase = Phase::Hold { windows: self.patience };
        if self.limit != self.best.0 {
            self.set(self.best.0);
        }
    }

    fn held(&mut self, rate: f64, windows: u32) {
        if rate < self.best.1 * FALL {
            self.patience = 1;
            self.best = (self.limit, rate);
            if self.limit > self.least {
                self.phase = Phase::Shrink;
                self.set(self.limit / 2);
            }
            return;
        }
        if rate * FALL > self.best.1 {
            // The load has changed.
            (self.patience, self.ceiling) = (1, self.most);
        }
        // The rate at the best limit is followed slowly.
        self.best.1 += (rate - self.best.1) / 4.0;
        if windows > 1 {
            self.phase = Phase::Hold { windows: windows - 1 };
            return;
        }
        let at = self.best.0;
        // At an end of the range there is one direction.
        self.upwards = (self.upwards || at == self.least) && at < self.ceiling;
        let probe = scaled(at, if self.upwards { 1.25 } else { 0.8 });
        let probe = probe.clamp(self.least, self.ceiling.max(self.least));
        if probe == at {
            return self.hold();
        }
        self.phase = Phase::Probe { before: rate };
        self.set(probe);
    }

    fn back(&mut self, after: f64, before: f64, (probe, probed): (f64, usize)) {
        if probe > before.max(after) * PROBE_GAIN {
            self.best = (probed, probe);
            (self.patience, self.failed) = (1, 0);
        } else {
            self.failed += 1;
            self.upwards = !self.upwards;
            // At an end of the range there is one direction.
            let both = self.least < self.best.0 && self.best.0 < self.ceiling;
            // A ceiling is tried again after a while.
            if self.patience == MOST_PATIENCE && self.ceiling < self.most {
                self.ceiling = scaled(self.ceiling, 1.25).min(self.most);
            }
            if !both || self.failed.is_multiple_of(2) {
                self.patience = (self.patience * 2).min(MOST_PATIENCE);
            }
        }
        self.hold();
    }
}

/// Returns `limit` times `factor`, and at least one more or less.
fn scaled(limit: usize, factor: f64) -> usize {
    let scaled = (limit as f64 * factor).round() as usize;
    match factor > 1.0 {
        true => scaled.max(limit + 1),
        false => scaled.min(limit.saturating_sub(1)),
    }
}

#[cfg(test)]
#[path = "regulator_tests.rs"]
mod tests;
