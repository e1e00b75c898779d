//! Collapses: how they are recognized, and the way out of them.
//!
//! In a collapse hardly anything commits, because the transactions that are left all want the same records. It outlasts
//! its cause: under a lower limit the same transactions go on to disturb each other until they have committed one after the
//! other. (Measured, with YCSB, theta 0.6, DL_DETECT, 1024 Graphite cores: from 256 permits to 64 it takes 20 ms, which is 250
//! latencies, until the rate is that of 64 permits.) So a rate that is measured in the meantime says nothing of the limit.

use super::leap::LEAST_HELD;
use super::{FORGOTTEN, Phase, Regulator, Window, scaled};

/// Share of the rate that a limit should give, below which the system has collapsed.
const COLLAPSE: f64 = 0.5;
/// Share of the highest rate in HOLD under the same limit, below which the system has collapsed slowly. The rate falls to more than
/// that until there are as many conflicts as belong to the limit.
const SLOW_COLLAPSE: f64 = 0.6;
/// Commits that are expected, as a multiple of the limit, and samples, after which a collapse can be recognized. Under some
/// protocols the rate falls for a few latencies, and rises again by itself (BAMBOO, when aborts cascade).
const COLLAPSE_LATENCIES: u64 = 32;
const COLLAPSE_SAMPLES: u32 = 8;
/// Parts of a limit at which the system has collapsed that are its ceiling: while the limit grows in large steps, and
/// otherwise.
const GROWN_CEILING: f64 = 0.4;
const HELD_CEILING: f64 = 0.85;
/// Factor by which a ceiling is raised.
const RAISE: f64 = 1.18;
/// Number of short windows after which a ceiling is raised, after the first collapse and at most.
const FIRST_CEILING_PATIENCE: u64 = 16;
const MOST_CEILING_PATIENCE: u64 = 1024;
/// Number of windows in HOLD before the first probe after a collapse.
const PATIENCE_AFTER_COLLAPSE: u32 = 4;
/// Share of the rate that a limit should give, from which on the system has recovered.
const RECOVERED: f64 = 0.75;
/// Time for a recovery at most, in latencies at the highest rate.
const RECOVERY_LATENCIES: f64 = 512.0;
/// Factor from the rate of a collapse to that of a much lower limit, both for each permit, at least, if the limit was at
/// fault.
const RECOVERY_GAIN: f64 = 1.25;

/// A limit that is not exceeded, because the system has collapsed above it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ceiling {
    pub limit: usize,
    /// Number of commits while the limit was held under this ceiling.
    commits: u64,
    /// Number of short windows after which it is raised.
    patience: u64,
}

impl Ceiling {
    /// Returns the ceiling where nothing has collapsed.
    pub fn at(most: usize) -> Ceiling {
        Ceiling { limit: most, commits: 0, patience: FIRST_CEILING_PATIENCE }
    }
}

/// The rate in HOLD under one limit. A collapse can be so slow that each window is hardly worse than the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    limit: usize,
    /// Rate of the last windows, the later the more, and its highest value.
    rate: f64,
    highest: f64,
}

impl Held {
    /// Adds a window under `limit`. Returns true if the system has collapsed slowly.
    pub fn add(&mut self, limit: usize, rate: f64) -> bool {
        if self.limit != limit {
            *self = Held { limit, rate, highest: rate };
        }
        self.rate += (rate - self.rate) / 2.0;
        self.highest = self.rate.max(self.highest * (1.0 - FORGOTTEN));
        self.rate < self.highest * SLOW_COLLAPSE
    }
}

impl Regulator {
    /// Returns true if the last samples are enough to judge the rate by.
    fn is_judged(&self) -> bool {
        let expected = self.expected() * self.recent.ticks as f64;
        let least = match self.is_miniature() {
            true => self.window_commits,
            false => COLLAPSE_LATENCIES * self.limit as u64,
        };
        self.recent.samples >= COLLAPSE_SAMPLES && expected >= least as f64
    }

    /// Returns true if the last samples show a collapse. They begin anew when they are enough and show none.
    pub(super) fn collapses(&mut self) -> bool {
        if !self.is_judged() {
            return false;
        }
        // Where permits are mostly on their way, the rate is low for that reason.
        let is_used = self.recent.is_bound() && self.recent.share_held() >= LEAST_HELD;
        let collapses = is_used && self.has_collapsed(self.recent.rate());
        if !collapses {
            self.recent = Window::default();
        }
        collapses
    }

    /// Returns the rate that the limit should give, given the highest one. A lower limit must give its part at least, because
    /// fewer transactions disturb each other less.
    fn expected(&self) -> f64 {
        let (limit, peak) = self.peak;
        peak * (self.limit as f64 / limit as f64).min(1.0)
    }

    /// Returns true if a rate is less than half of what it should be.
    fn has_collapsed(&self, rate: f64) -> bool {
        self.limit > self.least && rate < self.expected() * COLLAPSE
    }

    /// Leaves a limit at which the system has collapsed to this rate.
    pub(super) fn collapsed(&mut self, rate: f64) {
        if self.best.1 > 0.0 {
            self.lower_ceiling();
        }
        (self.patience, self.failed, self.gained) = (PATIENCE_AFTER_COLLAPSE, 0, 0);
        self.held = Held::default();
        self.phase = Phase::Recover { collapse: (self.limit, rate), ticks: 0, commits: 0 };
        self.set(self.limit / 4);
    }

    fn lower_ceiling(&mut self) {
        let is_first = self.ceiling.limit == self.most;
        let limit = match self.phase {
            // The best limit was held before without a collapse.
            Phase::Probe { .. } | Phase::Trial(_) => self.best.0.min(self.limit),
            Phase::Grow | Phase::Leap if is_first => scaled(self.limit, GROWN_CEILING),
            _ => scaled(self.limit, HELD_CEILING),
        };
        let patience = self.ceiling.patience * if is_first { 1 } else { 2 };
        self.ceiling = Ceiling {
            limit: limit.clamp(self.least, self.ceiling.limit),
            commits: 0,
            patience: patience.min(MOST_CEILING_PATIENCE),
        };
    }

    /// Counts a window in HOLD. Returns true if the ceiling is raised.
    pub(super) fn raises_ceiling(&mut self) -> bool {
        self.ceiling.commits += self.enough();
        let raises = self.ceiling.commits >= self.ceiling.patience * self.short()
            && self.ceiling.limit < self.most;
        if raises {
            self.ceiling.limit = scaled(self.ceiling.limit, RAISE).min(self.most);
            self.ceiling.commits = 0;
        }
        raises
    }

    /// Decides whether a much lower limit has ended a collapse, or will not.
    pub(super) fn recovers(&mut self) {
        let Phase::Recover { collapse, ticks, commits } = self.phase else { return };
        if !self.is_judged() {
            return;
        }
        let (rate, bound) = (self.recent.rate(), self.recent.is_bound());
        self.recent = Window::default();
        let waits = self.peak.1 * (ticks as f64) < RECOVERY_LATENCIES * self.peak.0 as f64;
        // The transactions that gave way disturb each other. They are behind all others that waited.
        let has_recovered = rate >= self.expected() * RECOVERED && commits >= self.most as u64;
        if bound && !has_recovered && waits {
            return;
        }
        let each = |(limit, rate): (usize, f64)| rate / limit as f64;
        let gains = each((self.limit, rate)) > each(collapse) * RECOVERY_GAIN;
        if !bound || !has_recovered && !gains {
            // The limit was not at fault. Perhaps fewer transactions arrive.
            self.ceiling = Ceiling::at(self.most);
            (self.best, self.peak) = (collapse, collapse);
            if !bound {
                return self.hold();
            }
            self.phase = Phase::Shrink;
            return self.shrunk(rate);
        }
        self.best = (self.limit, 0.0);
        match self.has_collapsed(rate) {
            true => self.collapsed(rate),
            false => {
                self.first = self.limit;
                self.phase = Phase::Grow;
                self.grown(rate);
            }
        }
    }
}
