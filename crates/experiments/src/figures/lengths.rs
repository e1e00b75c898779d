//! Decides how long a figure's runs are.

use super::Effort;
use harness::run::Growth;
use harness::steadiness::{Rule, TOLERANCE};

/// Returns the first interval of a run in seconds, and the limits within which it grows until it is steady. The host's
/// cost follows the time in which cores are busy, so that time is limited: to 8 core seconds as in `kilocore run`, or
/// to 1 for a quick figure.
pub fn growth(effort: Effort, cores: usize) -> (f64, Growth) {
    let cores = cores as f64;
    match effort {
        Effort::Full => {
            let first_s = 0.001 * (64.0 / cores).max(1.0);
            (first_s, limits(1.0, 8.0, Rule::default()))
        }
        Effort::Quick => {
            let first_s = (0.05 / cores).clamp(0.0005, 0.02);
            // Caches keep filling during a run of any length, so quick runs end at a larger drift.
            let rule = Rule { commits: 500, drift: TOLERANCE, ..Rule::default() };
            (first_s, limits(0.1, 1.0, rule))
        }
    }
}

fn limits(most_s: f64, most_busy_s: f64, rule: Rule) -> Growth {
    Growth { most_s, most_busy_s, together_s: f64::INFINITY, rule }
}
