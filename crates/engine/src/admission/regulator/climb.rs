//! The search for the best limit, and the probes beside it.

use super::{Ceiling, Phase, Regulator, Trial, scaled};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// Gain in rate with which the limit is doubled once more, as a factor. With a smaller gain it grows by the root of two.
const STEEP_GAIN: f64 = 1.5;
/// Gain in rate by which a step of the search counts, as a factor.
pub(super) const SEARCH_GAIN: f64 = 1.02;
/// Gain in rate by which a probe or a trial counts, as a factor.
const PROBE_GAIN: f64 = 1.01;
/// Number of windows in HOLD after a search in which its rate becomes known.
const UNKNOWN: u32 = 8;
/// Factor of a probe. It is a power of this after trials that have gained, of this many at most.
const STEP: f64 = 1.25;
const MOST_GAINED: i32 = 1;
/// Number of windows of a trial that are left out, and of those that decide, at least and at most.
const LEFT_OUT: u32 = 4;
const JUDGED: u32 = 4;
const MOST_JUDGED: u32 = 32;
/// Gain of a trial, as a multiple of the standard error of its rate, that is not chance. Rates of windows can differ by a fifth
/// under the same limit.
const CERTAIN: f64 = 2.0;
/// Fall of the rate in HOLD with which the search begins again, as a factor.
const FALL: f64 = 0.75;
/// Number of windows in HOLD after which a probe comes, at most.
const MOST_PATIENCE: u32 = 64;
/// The same after a probe whose rate was less than this part of what it was before. Such a probe costs more, and the
/// next one is less likely to gain.
const FAR_WORSE: f64 = 0.75;
const MOST_PATIENCE_FAR_WORSE: u32 = 512;

impl Trial {
    /// Begins a trial beside a limit with this rate.
    pub(super) fn beside(before: f64) -> Trial {
        Trial { before, left_out: 0, judged: 0, sum: 0.0, squares: 0.0 }
    }

    /// Adds a window.
    fn add(&mut self, rate: f64) {
        if self.left_out < LEFT_OUT {
            self.left_out += 1;
            return;
        }
        self.judged += 1;
        self.sum += rate;
        self.squares += rate * rate;
    }

    /// Returns the mean rate of the windows that are judged.
    fn rate(&self) -> f64 {
        self.sum / f64::from(self.judged)
    }

    /// Returns the standard error of that rate.
    fn error(&self) -> f64 {
        let judged = f64::from(self.judged);
        let variance = self.squares / judged - self.rate().powi(2);
        (variance.max(0.0) / judged).sqrt()
    }
}

impl Regulator {
    /// Decides after a window in which there were permits to spare.
    pub(super) fn unbound(&mut self) {
        if matches!(
            self.phase,
            Phase::Probe { .. } | Phase::Trial(_) | Phase::Refine { .. } | Phase::Leap
        ) {
            self.hold();
        }
    }

    /// Decides after a window with this rate.
    pub(super) fn measured(&mut self, rate: f64) {
        match self.phase {
            Phase::Grow => self.grown(rate),
            Phase::Shrink => self.shrunk(rate),
            Phase::Leap => self.leapt(rate),
            Phase::Refine { above } => self.refined(rate, above),
            Phase::Hold { windows } => self.held(rate, windows),
            Phase::Probe { before } => self.probed(rate, before),
            Phase::Trial(trial) => self.tried(rate, trial),
            Phase::Recover { .. } => {}
        }
    }

    pub(super) fn grown(&mut self, rate: f64) {
        let (limit, best) = self.best;
        if rate > best * SEARCH_GAIN || self.limit == limit {
            let steep = rate > best * STEEP_GAIN;
            let next = if steep { self.limit * 2 } else { scaled(self.limit, SQRT_2) };
            self.best = (self.limit, rate);
            match self.limit >= self.ceiling.limit {
                // Perhaps the rate was higher on the way.
                true if !steep && self.limit > self.least => self.refine_below(),
                true => self.found(),
                false => self.set(next),
            }
        } else if self.leaps() {
            self.leap();
        } else if limit == self.first && limit > self.least {
            // The first step has not paid.
            self.phase = Phase::Shrink;
            self.set(limit / 2);
        } else {
            self.refine();
        }
    }

    pub(super) fn shrunk(&mut self, rate: f64) {
        if rate > self.best.1 * SEARCH_GAIN {
            self.best = (self.limit, rate);
            if self.limit > self.least {
                return self.set(self.limit / 2);
            }
        }
        self.refine();
    }

    pub(super) fn refine(&mut self) {
        self.phase = Phase::Refine { above: true };
        self.set(scaled(self.best.0, SQRT_2));
        if self.limit == self.best.0 {
            self.refined(0.0, true);
        }
    }

    fn refined(&mut self, rate: f64, above: bool) {
        if rate > self.best.1 * PROBE_GAIN {
            self.best = (self.limit, rate);
            // A gentle slope is followed downwards. Upwards there may be a collapse.
            return match above || self.limit == self.least {
                true => self.found(),
                false => self.set(scaled(self.limit, FRAC_1_SQRT_2)),
            };
        }
        match above {
            true => self.refine_below(),
            false => self.found(),
        }
    }

    fn refine_below(&mut self) {
        self.phase = Phase::Refine { above: false };
        self.set(scaled(self.best.0, FRAC_1_SQRT_2));
    }

    /// Ends a search.
    pub(super) fn found(&mut self) {
        self.unknown = UNKNOWN;
        self.hold();
    }

    /// Goes on with the best limit.
    pub(super) fn hold(&mut self) {
        self.phase = Phase::Hold { windows: self.patience };
        if self.limit != self.best.0 {
            self.set(self.best.0);
        }
    }

    fn held(&mut self, rate: f64, windows: u32) {
        if self.unknown > 0 {
            self.unknown -= 1;
            self.best.1 = rate;
        }
        let falls = rate < self.best.1 * FALL && self.limit > self.least;
        let falls_slowly = self.held.add(self.limit, rate) && self.limit > self.least;
        if falls && self.has_fallen || falls_slowly {
            return self.collapsed(rate);
        }
        self.has_fallen = falls;
        if rate * FALL > self.best.1 {
            // The load has changed.
            (self.patience, self.ceiling) = (1, Ceiling::at(self.most));
        }
        self.upwards |= self.raises_ceiling();
        // The rate at the best limit is followed slowly.
        if !falls {
            self.best.1 += (rate - self.best.1) / 4.0;
        }
        self.leaps.wait();
        if windows > 1 {
            self.phase = Phase::Hold { windows: windows - 1 };
            return;
        }
        if self.leaps() {
            return self.leap();
        }
        let at = self.best.0;
        // At an end of the range there is one direction.
        self.upwards = (self.upwards || at == self.least) && at < self.ceiling.limit;
        let step = STEP.powi(1 + self.gained.min(MOST_GAINED));
        let probe = scaled(at, if self.upwards { step } else { 1.0 / step });
        let probe = probe.clamp(self.least, self.ceiling.limit);
        if probe == at {
            return self.hold();
        }
        self.phase = Phase::Probe { before: self.best.1 };
        self.set(probe);
    }

    /// Decides after a window at a probed limit. It says only whether a trial is worth its time: a higher limit gives a higher
    /// rate at first, and a lower one a lower rate, until there are as many conflicts as belong to it.
    fn probed(&mut self, rate: f64, before: f64) {
        let part = self.limit as f64 / self.best.0 as f64;
        let promising = if part > 1.0 { 1.0 } else { (1.0 + part) / 2.0 };
        if rate < before * promising {
            if rate < before * FAR_WORSE {
                self.patience = (self.patience * 4).min(MOST_PATIENCE_FAR_WORSE);
            }
            return self.failed();
        }
        self.phase = Phase::Trial(Trial::beside(before));
    }

    /// Decides after a window of a trial.
    fn tried(&mut self, rate: f64, mut trial: Trial) {
        trial.add(rate);
        self.phase = Phase::Trial(trial);
        if trial.judged < JUDGED {
            return;
        }
        let rate = trial.rate();
        if rate < trial.before * PROBE_GAIN {
            return self.failed();
        }
        if rate - CERTAIN * trial.error() < trial.before {
            if trial.judged == MOST_JUDGED {
                self.failed();
            }
            return;
        }
        self.best = (self.limit, rate);
        (self.patience, self.failed) = (1, 0);
        // A fall at the former limit says nothing of this one.
        self.has_fallen = false;
        self.gained += 1;
        self.hold();
    }

    /// Goes back to the best limit after a probe or a trial.
    fn failed(&mut self) {
        (self.failed, self.gained) = (self.failed + 1, 0);
        self.upwards = !self.upwards;
        // At an end of the range there is one direction.
        let both = self.least < self.best.0 && self.best.0 < self.ceiling.limit;
        if !both || self.failed.is_multiple_of(2) {
            // It can be above the usual maximum after a probe that was far worse, and stays there.
            self.patience = (self.patience * 2).min(MOST_PATIENCE).max(self.patience);
        }
        self.hold();
    }
}
