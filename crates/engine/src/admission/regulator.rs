//! Sets the limit by its effect on the rate of commits.
//!
//! Source: Heiss and Wagner, VLDB 1991 (incremental steps: a hill climber on throughput over the limit). What is ours:
//! the slow start, trials that are longer than conflicts take to build up, probes that become rare, and the way out of a
//! collapse.
//!
//! The regulator sees samples ([`Sample`]). It collects them into *windows* ([`Window`]). A window is long enough that its
//! rate is known to about two percent. After each change of the limit it waits until no more transactions run than the
//! limit allows, and then leaves out two commits for each of them, so that a window belongs to one limit. After a lower limit
//! it leaves out two commits for each session: transactions that conflicted under the higher limit have given way, and come
//! again, beside each other, when all others that waited have had their turns.
//!
//! ```text
//!              rate rises: twice the limit, or the root of two times if it rises by less than half
//!              +--------+
//!              v        |     no gain at the first step: half the limit, while the rate rises
//!  start --> GROW ------+-----------------------------------> SHRINK
//!              ^ no gain                                        | no gain
//!              | +--------------------> REFINE <----------------+
//!    collapse  |         the best limit times, and divided by, the root of two; downwards while that pays
//!   that ended |                       |
//!              |                       v
//!           RECOVER                  HOLD (windows) -----> PROBE (one window, limit times or divided by 1.25)
//!              ^                       ^   ^                 |          |
//!     collapse |                       |   +-----------------+          v promising
//!                                      +------------------------ TRIAL (eight windows or more)
//! ```
//!
//! - **Slow start.** The limit begins small. So a collapse, which takes long to undo, does not begin at once.
//! - **A rate needs time to become that of its limit.** Transactions that conflict are attempted again, and become more among
//!   those that run, until as many commit as come. So a higher limit gives a higher rate at first, and a lower limit a lower
//!   one. A window of 32 latencies is too short for that, so a trial takes eight windows at least, and the first four of them do
//!   not count. If the rates of the others differ so much that a gain can be chance, the trial goes on, for 36 windows at most.
//!   A probe says only whether a trial is worth its time: not if a lower limit costs nearly its share at once.
//! - **Probes become rare.** Each pair of probes that gains nothing doubles the number of windows between probes, to at
//!   most 64. A system without contention holds the limit at the number of sessions, and loses a fifth of one
//!   window in about 130 by probing. Steps become larger while they gain. A probe whose rate is lower by a quarter costs more and
//!   says more, so after it there are up to 512 windows.
//! - **A rate below half of what it should be is a collapse**, and so are two windows in HOLD whose rate is lower by a
//!   quarter. The regulator does not wait for the end of a window: in a collapse hardly anything commits, so a window would
//!   take long, and so would the way back. A slow collapse lasts many windows, and each of them is hardly worse than the one
//!   before. So a rate below three fifths of the highest one in HOLD under this limit is a collapse, too. RECOVER waits under a
//!   quarter of the limit. Then the limit grows again, but not to the one at which the collapse happened: a little below it is
//!   a ceiling now, which rises after a while, and later each time. After a collapse in a probe or a trial the best limit is the ceiling. If the lower limit gives each
//!   transaction no more than before, the limit was not at fault: the load has changed, or something else has the
//!   processors. Then the regulator searches again, downwards first.
//! - **Handing a permit on takes time.** If transactions are short, permits are on their way for longer than they are held. Then
//!   a higher limit brings nothing, and no limit at all could bring much, because then nobody needs a permit. So if the search
//!   ends, or a probe is due, while less than three quarters of the permits are held, LEAP tries the number of sessions as the
//!   limit. It goes on to HOLD if that pays, and to REFINE if not, and then the next leap comes later each time. (LEAP is not
//!   in the picture.)
//! - **Where the limit does not bind**, because there are permits to spare, the rate says nothing of the limit. Such
//!   windows decide nothing. So a load below the capacity does not drive the limit down.

mod climb;
mod collapse;
mod leap;
mod window;

use collapse::{Ceiling, Held};
use leap::Leaps;
pub use window::Sample;
use window::Window;

/// Commits of a window while the regulator searches.
const WINDOW: u64 = 1000;
/// Commits of a window where runs are miniatures.
const MINIATURE_WINDOW: u64 = 3;
/// Commits of a window while the limit is held, as a multiple of those of the search, at most.
const MOST_HELD_WINDOW: u64 = 16;
/// Commits after which a rate that has risen by [`QUICK_GAIN`] can end the window, as a share of the window: 1 / 5.
const QUICK_PART: u64 = 5;
/// Gain in rate that needs no whole window to be certain, as a factor.
const QUICK_GAIN: f64 = 1.4;
/// Least number of commits of a window as a multiple of the limit: while a rate rises steeply, and otherwise. A collapse takes
/// many latencies to show.
const QUICK_LATENCIES: u64 = 16;
const LATENCIES: u64 = 32;
/// Part by which the highest rate is forgotten in each window.
const FORGOTTEN: f64 = 0.01;

/// The state of the regulator's search.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Doubles the limit while that pays.
    Grow,
    /// Halves the limit while that pays.
    Shrink,
    /// Tries the number of sessions as the limit, because permits are mostly on their way.
    Leap,
    /// Tries the limit beside the best one. The flag is set at the first of two.
    Refine { above: bool },
    /// Keeps the best limit for a number of windows.
    Hold { windows: u32 },
    /// Tries another limit for one window.
    Probe { before: f64 },
    /// Keeps another limit for some windows.
    Trial(Trial),
    /// Waits under a much lower limit for the end of a collapse, for some ticks and commits by now. Limit and rate of the
    /// collapse are kept.
    Recover { collapse: (usize, f64), ticks: u64, commits: u64 },
}

/// A number of windows under another limit than the best one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Trial {
    /// Rate of the best limit before.
    before: f64,
    /// Number of windows so far that are left out, and of those that are judged.
    left_out: u32,
    judged: u32,
    /// Sum of the rates of those that are judged, and of their squares.
    sum: f64,
    squares: f64,
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
    ceiling: Ceiling,
    leaps: Leaps,
    held: Held,
    /// Set if the rate has fallen in the last window of HOLD.
    has_fallen: bool,
    /// Number of windows until the rate in HOLD is known. After a search the rate is higher for a while, because conflicts
    /// build up slowly.
    unknown: u32,
    phase: Phase,
    /// Number of windows between two probes.
    patience: u32,
    /// Set if the next probe is above the best limit.
    upwards: bool,
    /// Number of probes without gain since the last one with a gain, and of those with a gain since the last one without.
    failed: u32,
    gained: i32,
    /// The wait after a change of the limit, during which samples are left out. It is none when the wait is over.
    settling: Option<Settling>,
    window: Window,
    /// The last samples, in which a collapse would show.
    recent: Window,
    window_commits: u64,
}

/// The time after a change of the limit.
#[derive(Clone, Copy, Debug)]
struct Settling {
    /// Set if the limit was lowered, until as few transactions run.
    drains: bool,
    /// Commits that are still left out.
    commits: u64,
    /// Number of them at the begin.
    all: u64,
    /// Ticks for which commits have been left out.
    ticks: u64,
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
            ceiling: Ceiling::at(most),
            leaps: Leaps::default(),
            held: Held::default(),
            has_fallen: false,
            unknown: 0,
            phase: Phase::Grow,
            patience: 1,
            upwards: true,
            failed: 0,
            gained: 0,
            settling: None,
            window: Window::default(),
            recent: Window::default(),
            window_commits: if miniature { MINIATURE_WINDOW } else { WINDOW },
        };
        regulator.settle(false, limit);
        regulator
    }

    /// Returns true if the limit in force is below the number of sessions.
    pub fn is_limited(&self) -> bool {
        self.limit < self.most
    }

    /// Takes a sample into account. Returns the limit if it changes.
    pub fn observe(&mut self, sample: Sample) -> Option<usize> {
        let before = self.limit;
        self.take(sample);
        (self.limit != before).then_some(self.limit)
    }

    fn take(&mut self, sample: Sample) {
        if self.drains(sample) {
            return;
        }
        self.recent.add(sample, self.limit);
        if let Phase::Recover { ticks, commits, .. } = &mut self.phase {
            *ticks += sample.ticks;
            *commits += sample.commits;
            return self.recovers();
        }
        if self.collapses() {
            // The last sample, because the rate is still falling.
            let last = sample.commits as f64 / sample.ticks.max(1) as f64;
            return self.collapsed(last.min(self.recent.rate()));
        }
        if self.settles(sample) {
            return;
        }
        self.window.add(sample, self.limit);
        let (window, rate) = (self.window, self.window.rate());
        let enough = self.enough();
        let quick = matches!(self.phase, Phase::Grow | Phase::Leap)
            && window.commits * QUICK_PART >= self.window_commits
            && window.commits >= QUICK_LATENCIES * self.limit as u64
            && rate > self.best.1 * QUICK_GAIN;
        if window.commits < enough && !quick && !self.takes_too_long(window.ticks, enough) {
            return;
        }
        self.window = Window::default();
        self.peak.1 *= 1.0 - FORGOTTEN;
        if rate > self.peak.1 {
            self.peak = (self.limit, rate);
        }
        self.leaps.share_held = window.share_held();
        match window.is_bound() {
            true => self.measured(rate),
            false => self.unbound(),
        }
    }

    /// Returns true if more transactions run than a lowered limit allows, by an eighth at least.
    fn drains(&mut self, sample: Sample) -> bool {
        let limit = self.limit as u64;
        match &mut self.settling {
            Some(settling) => settling.drains &= sample.excess * 8 > limit,
            None => return false,
        }
        self.settling.is_some_and(|settling| settling.drains)
    }

    /// Returns true if this sample is left out because the limit has changed.
    fn settles(&mut self, sample: Sample) -> bool {
        let Some(mut settling) = self.settling else { return false };
        settling.ticks += sample.ticks;
        settling.commits = settling.commits.saturating_sub(sample.commits);
        let lasts = settling.commits > 0 && !self.takes_too_long(settling.ticks, settling.all);
        self.settling = lasts.then_some(settling);
        true
    }

    /// Returns the number of commits of a window. The rarer the probes, the more precise they are.
    fn enough(&self) -> u64 {
        if self.is_miniature() {
            return self.window_commits;
        }
        match self.phase {
            Phase::Hold { .. } | Phase::Probe { .. } => {
                let windows = u64::from(self.patience).min(MOST_HELD_WINDOW);
                self.short().max(self.window_commits * windows)
            }
            _ => self.short(),
        }
    }

    /// Returns the number of commits of a window of the search.
    fn short(&self) -> u64 {
        self.window_commits.max(LATENCIES * self.limit as u64)
    }

    fn is_miniature(&self) -> bool {
        self.window_commits < WINDOW
    }

    /// Returns true if `ticks` are much more than `commits` commits take at the highest rate.
    fn takes_too_long(&self, ticks: u64, commits: u64) -> bool {
        self.peak.1 * ticks as f64 > 4.0 * commits as f64
    }

    /// Sets the limit, and leaves out the commits of those that were admitted before.
    fn set(&mut self, limit: usize) {
        let limit = limit.clamp(self.least, self.ceiling.limit);
        // When a limit is lowered, transactions that conflict give way. They come again behind all sessions that waited, and disturb
        // each other then. So each session gets its turn before the rate counts. Transactions that began without a limit are
        // not among those that are counted.
        let lowered = limit < self.limit || !self.is_limited();
        let in_flight = if lowered { self.most } else { limit };
        self.settle(limit < self.limit, in_flight);
        self.limit = limit;
    }

    fn settle(&mut self, drains: bool, in_flight: usize) {
        let commits = if self.is_miniature() { 1 } else { 2 * in_flight as u64 };
        self.settling = Some(Settling { drains, commits, all: commits, ticks: 0 });
        (self.window, self.recent) = (Window::default(), Window::default());
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
mod tests;
