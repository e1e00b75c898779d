//! Leaps: whether to do without a limit where handing permits on is what limits the rate.

use super::climb::SEARCH_GAIN;
use super::{Phase, Regulator};

/// Share of the permits that sessions have, below which a leap is worth its risk.
pub(super) const LEAST_HELD: f64 = 0.75;
/// Number of windows in HOLD between two leaps, after the first one without gain and at most.
const FIRST_PATIENCE: u32 = 64;
const MOST_PATIENCE: u32 = 4096;

/// The state that decides whether the next leap is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaps {
    /// Share of the permits that sessions had in the last window.
    pub share_held: f64,
    /// Number of windows in HOLD until the next leap can be made.
    waits: u32,
    /// Number of them after the next leap without gain.
    patience: u32,
}

impl Default for Leaps {
    fn default() -> Leaps {
        Leaps { share_held: 1.0, waits: 0, patience: FIRST_PATIENCE }
    }
}

impl Leaps {
    /// Counts a window in HOLD.
    pub fn wait(&mut self) {
        self.waits = self.waits.saturating_sub(1);
    }
}

impl Regulator {
    /// Returns true if a leap is worth its risk. Below a collapse it is not.
    pub(super) fn leaps(&self) -> bool {
        let is_free = self.ceiling.limit == self.most && self.limit < self.most;
        is_free && self.leaps.waits == 0 && self.leaps.share_held < LEAST_HELD
    }

    /// Tries the number of sessions as the limit.
    pub(super) fn leap(&mut self) {
        self.phase = Phase::Leap;
        self.set(self.most);
    }

    /// Decides after a window without a limit.
    pub(super) fn leapt(&mut self, rate: f64) {
        if rate > self.best.1 * SEARCH_GAIN {
            self.best = (self.limit, rate);
            self.leaps.patience = FIRST_PATIENCE;
            return self.found();
        }
        self.leaps.waits = self.leaps.patience;
        self.leaps.patience = (self.leaps.patience * 2).min(MOST_PATIENCE);
        self.refine();
    }
}
