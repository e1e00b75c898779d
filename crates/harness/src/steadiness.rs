//! Judges whether a run was steady, and where its warm-up ended.
//!
//! The input is the number of commits in each of n equal slices Y(1)..Y(n) of the run ([`crate::timeline`]). Each
//! slice serves as a batch of commits in the rules below.
//!
//! - **End of the warm-up**: MSER, the marginal standard error rule (White, "An effective truncation heuristic for
//!   bias reduction in simulation output", Simulation 69(6), 1997; White, Cobb and Spratt, "A comparison of five
//!   steady-state truncation heuristics for simulation", WSC 2000, who apply it to batches). The rule leaves out the
//!   first d slices for the d that minimises
//!
//!   ```text
//!   MSER(d) = 1/(n-d)² · Σ (Y(i) - M(d))²   over i > d,   M(d) the mean of Y(d+1)..Y(n),   0 <= d <= n/2
//!   ```
//!
//!   A minimum at n/2 itself does not count. A run that may continue then continues.
//! - **Precision of the mean**: computed from ten batch means ([`BATCHES`]; Schmeiser, "Batch size effects in the
//!   analysis of simulation output", Operations Research 30(3), 1982: more than 10 to 30 batches do not pay). With
//!   their standard deviation s, the half width of the 95 % confidence interval is h = 2.262 · s / √10 (Student's t
//!   with nine degrees of freedom).
//! - **Drift**: measured with a straight line through the ten batch means (least squares). The throughput counts as
//!   moving if two conditions hold. First, the slope is more than 3.355 standard errors from zero (Student's t with
//!   eight degrees of freedom: one level run in a hundred seems to move). Second, the line takes the last five batch
//!   means more than [`TOLERANCE`] of the mean away from the first five. For a fall, [`LARGEST_FALL`] is enough if
//!   the slope is 4.501 standard errors from zero (one level run in a thousand). The reason for this stricter rule:
//!   caches that fill make a run slightly faster for as long as it lasts, but no similar effect makes it slower. A
//!   slow fall continues. TIMESTAMP on 1,024 simulated cores fell by 3 % in its first millisecond, with one
//!   transaction that never committed, and by 85 % in ten milliseconds.
//!
//! A run is steady under three conditions. The mean of the slices that MSER keeps is within [`TOLERANCE`] of the
//! measured mean. h is at most [`LARGEST_HALF_WIDTH`] of the mean. The line is level. [`Rule`] decides whether the
//! run was also long enough for its latencies.

use crate::timeline::Slice;
use hdrhistogram::Histogram;

/// Number of batches whose means are compared.
pub const BATCHES: usize = 10;

/// Means that differ by less than this share count as equal.
pub const TOLERANCE: f64 = 0.05;

/// Largest fall of a steady run, as a share of the mean.
pub const LARGEST_FALL: f64 = 0.01;

/// Largest half width of the confidence interval of a steady run, as a share of the mean.
pub const LARGEST_HALF_WIDTH: f64 = 0.10;

/// Number of commits below which steadiness is not judged.
pub const LEAST_COMMITS: u64 = 200;

/// Largest factor between workers times time and the sum of latencies in a sufficiently long run.
pub const LITTLE_FACTOR: f64 = 1.1;

/// Student's t at 97.5 % with nine degrees of freedom, and at 99.5 % with eight.
const T_9: f64 = 2.262;
const T_8: f64 = 3.355;
/// Student's t at 99.9 % with eight degrees of freedom.
const T_8_OF_A_FALL: f64 = 4.501;

/// Conditions for a run to end early.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Least number of commits.
    pub commits: u64,
    /// Least length, as a multiple of the 99th percentile of latency. The longest latency cannot be used: if a
    /// transaction starves, it grows with the run.
    pub latencies: u64,
    /// Largest drift, as a share. It is less than [`TOLERANCE`], because caches that fill make a run faster by the
    /// same share again whenever its length doubles.
    pub drift: f64,
}

impl Default for Rule {
    /// Requires a thousand commits, so that ten lie beyond the 99th percentile, ten times that percentile, and a
    /// drift of at most 3 %.
    fn default() -> Rule {
        Rule { commits: 1000, latencies: 10, drift: 0.03 }
    }
}

/// Results on the steadiness of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Steadiness {
    /// Set if the run was steady. None if there are too few commits to tell.
    pub steady: Option<bool>,
    /// Number of slices at the begin that MSER leaves out.
    pub truncated: usize,
    /// Half width of the 95 % confidence interval of the throughput, as a share of it.
    pub half_width: f64,
    /// Difference of the last five batch means from the first five, by the line through all, as a share of the mean.
    pub drift: f64,
    /// Number of commits per slice in each batch.
    pub batch_means: Vec<f64>,
}

/// Judges a run by the commits in its slices. The slices before `kept` are left out.
pub fn judge(commits: &[u64], kept: usize) -> Steadiness {
    let slices: Vec<f64> = commits[kept..].iter().map(|n| *n as f64).collect();
    let average = mean(&slices);
    let truncated = mser(commits);
    let rest: Vec<f64> = commits[truncated.max(kept)..].iter().map(|n| *n as f64).collect();
    let batch_means = batch_means(&slices);
    let spread = deviation(&batch_means);
    let share = |difference: f64| if average > 0.0 { difference / average } else { 0.0 };
    let half_width = share(T_9 * spread / (BATCHES as f64).sqrt());
    let (slope, error) = line(&batch_means);
    let drift = share(slope * (BATCHES / 2) as f64);
    let moves = slope.abs() > T_8 * error && drift.abs() > TOLERANCE;
    let falls = slope < -T_8_OF_A_FALL * error && drift < -LARGEST_FALL;
    let warmed_up = share(mean(&rest) - average).abs() <= TOLERANCE;
    let told = commits[kept..].iter().sum::<u64>() >= LEAST_COMMITS;
    let steady = warmed_up && half_width <= LARGEST_HALF_WIDTH && !moves && !falls;
    Steadiness { steady: told.then_some(steady), truncated, half_width, drift, batch_means }
}

/// Returns the number of slices that MSER leaves out: at most half of them.
pub fn mser(commits: &[u64]) -> usize {
    let n = commits.len();
    // Iterates from the end and keeps the sums of the slices that would be kept.
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for d in (0..n).rev() {
        let y = commits[d] as f64;
        (sum, squares) = (sum + y, squares + y * y);
        if d <= n / 2 {
            let kept = (n - d) as f64;
            let error = (squares - sum * sum / kept).max(0.0) / (kept * kept);
            if error <= best.0 {
                best = (error, d);
            }
        }
    }
    best.1
}

/// Returns whether a run of `ticks` may end: it is steady after its warm-up, and it is long enough for its latencies.
pub(crate) fn suffices(slices: &[Slice], ticks: u64, workers: Option<usize>, rule: &Rule) -> bool {
    let commits = commits_of(slices);
    let kept = mser(&commits);
    let found = judge(&commits, kept);
    if kept >= commits.len() / 2 || found.steady != Some(true) || found.drift.abs() > rule.drift {
        return false;
    }
    let mut sum = Slice::default();
    slices.iter().skip(kept).for_each(|slice| sum.add(slice));
    let kept_ticks = ticks as f64 * (1.0 - kept as f64 / commits.len() as f64);
    let long = sum.latencies.value_at_quantile(0.99);
    if sum.latencies.len() < rule.commits || kept_ticks < (long * rule.latencies) as f64 {
        return false;
    }
    workers.is_none_or(|workers| {
        let worked = latency_ticks(&sum.latencies) + other_ticks(&sum);
        let ratio = workers as f64 * kept_ticks / worked;
        (1.0 / LITTLE_FACTOR..=LITTLE_FACTOR).contains(&ratio)
    })
}

/// Returns the commits in each slice. Slices that no worker has used yet are absent from the input and count as 0.
pub(crate) fn commits_of(slices: &[Slice]) -> Vec<u64> {
    let mut commits: Vec<u64> = slices.iter().map(|slice| slice.counts.commits()).collect();
    commits.resize(crate::timeline::SLICES, 0);
    commits
}

/// Returns the sum of latencies.
fn latency_ticks(latencies: &Histogram<u64>) -> f64 {
    latencies.mean() * latencies.len() as f64
}

/// Returns the ticks that workers spent outside of transactions that commit.
fn other_ticks(slice: &Slice) -> f64 {
    (slice.counts.between_ticks + slice.counts.given_up_ticks) as f64
}

/// Returns the means of [`BATCHES`] batches of equal length. Surplus slices are left out at the front.
fn batch_means(slices: &[f64]) -> Vec<f64> {
    let size = (slices.len() / BATCHES).max(1);
    let over = slices.len() - (size * BATCHES).min(slices.len());
    slices[over..].chunks(size).map(mean).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the slope of the line through `values`, one step apart, and its standard error.
fn line(values: &[f64]) -> (f64, f64) {
    let (average, middle) = (mean(values), (values.len() as f64 - 1.0) / 2.0);
    let off = |i: usize| i as f64 - middle;
    let width: f64 = (0..values.len()).map(|i| off(i).powi(2)).sum();
    let slope = values.iter().enumerate().map(|(i, v)| off(i) * (v - average)).sum::<f64>()
        / width.max(f64::MIN_POSITIVE);
    let rest = |(i, v): (usize, &f64)| (v - average - slope * off(i)).powi(2);
    let rests: f64 = values.iter().enumerate().map(rest).sum();
    let free = values.len().saturating_sub(2).max(1) as f64;
    (slope, (rests / free / width.max(f64::MIN_POSITIVE)).sqrt())
}

/// Returns the standard deviation of a sample.
fn deviation(values: &[f64]) -> f64 {
    let average = mean(values);
    let squares: f64 = values.iter().map(|v| (v - average).powi(2)).sum();
    (squares / values.len().saturating_sub(1).max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::SLICES;

    /// Returns commits around `level(i)`, with noise whose standard deviation is about its square root.
    fn noisy(level: impl Fn(usize) -> f64, seed: u64) -> Vec<u64> {
        let mut state = seed;
        let mut unit =
            || (crate::drive::next_random(&mut state) >> 11) as f64 / (1u64 << 53) as f64;
        let mut gauss = || (0..12).map(|_| unit()).sum::<f64>() - 6.0;
        (0..SLICES)
            .map(|i| (level(i) + level(i).sqrt() * gauss()).max(0.0).round() as u64)
            .collect()
    }

    #[test]
    fn a_level_run_is_steady_and_keeps_nearly_everything() {
        let (mut left_out, mut falls) = (0, 0);
        for seed in 0..200 {
            let commits = noisy(|_| 800.0, seed);
            let found = judge(&commits, 0);
            falls += usize::from(found.steady != Some(true) && found.drift < -LARGEST_FALL);
            assert!(found.steady == Some(true) || falls == 1, "{seed} {found:?}");
            assert!(found.half_width < 0.02 && found.batch_means.len() == BATCHES);
            left_out += mser(&commits);
        }
        assert!(left_out < 200 * SLICES / 8, "{left_out}");
    }

    #[test]
    fn a_warm_up_is_cut_off_where_it_ends() {
        let mut cuts = 0;
        for seed in 0..100 {
            let commits = noisy(|i| if i < 20 { 80.0 } else { 400.0 }, seed);
            let cut = mser(&commits);
            assert!((20..SLICES / 2).contains(&cut), "{seed} {cut}");
            assert_eq!(judge(&commits, cut).steady, Some(true), "{seed}");
            assert_eq!(judge(&commits, 0).steady, Some(false), "{seed}: with its warm-up");
            cuts += cut;
        }
        assert!(cuts < 2500, "it cuts far too much: {cuts}");
    }

    #[test]
    fn a_run_that_still_moves_is_not_steady() {
        for seed in 0..100 {
            for slope in [0.5, -0.5] {
                let commits = noisy(|i| 500.0 * (1.0 + slope * i as f64 / SLICES as f64), seed);
                let cut = mser(&commits);
                assert_eq!(judge(&commits, cut).steady, Some(false), "{seed} {slope} {cut}");
            }
        }
    }

    #[test]
    fn a_slow_fall_is_not_steady_and_a_slow_rise_is() {
        let judged = |slope: f64| {
            let level = |i: usize| 20_000.0 * (1.0 + slope * i as f64 / SLICES as f64);
            let steady = |seed: &u64| judge(&noisy(level, *seed), 0).steady == Some(true);
            (0..100).filter(steady).count()
        };
        // The change from the first to the last half is +2.5 %, -0.5 % and -2.5 %.
        assert_eq!(judged(0.05), 100);
        assert_eq!(judged(-0.01), 100);
        let missed = judged(-0.05);
        assert!(missed <= 5, "{missed}");
    }

    #[test]
    fn a_run_that_stalls_now_and_then_is_too_uncertain() {
        let commits: Vec<u64> = (0..SLICES).map(|i| if i % 16 < 8 { 100 } else { 0 }).collect();
        let found = judge(&commits, 0);
        assert_eq!(found.steady, Some(false));
        assert!(found.half_width > 0.3, "{found:?}");
    }

    #[test]
    fn of_a_handful_of_commits_nothing_is_told() {
        assert_eq!(judge(&[2; SLICES], 0).steady, None);
        assert_eq!(judge(&[0; SLICES], 0).steady, None);
    }

    #[test]
    fn the_half_width_is_that_of_students_interval() {
        // Ten batches of eight slices with means 1 to 10: s = 3.0277, h = 2.262 s / sqrt(10) = 2.1657.
        let commits: Vec<u64> = (0..SLICES).map(|i| (1 + i / 8) as u64 * 1000).collect();
        let found = judge(&commits, 0);
        assert!((found.half_width * 5.5 - 2.1657).abs() < 1e-3, "{found:?}");
        assert!((found.drift - 5.0 / 5.5).abs() < 1e-9, "{found:?}");
    }

    fn slices(commits_each: u64, latency: u64) -> Vec<Slice> {
        let mut slice = Slice::default();
        slice.counts.commits[0] = commits_each;
        slice.latencies.record_n(latency, commits_each).expect("small");
        vec![slice; SLICES]
    }

    #[test]
    fn a_run_goes_on_until_latencies_add_up_to_the_workers_time() {
        let ticks = 80_000;
        let rule = Rule::default();
        // 20 commits of 400 ticks in 1000 ticks take the time of eight workers.
        let enough = slices(20, 400);
        assert!(suffices(&enough, ticks, Some(8), &rule));
        assert!(!suffices(&enough, ticks, Some(10), &rule), "two are never heard of");
        assert!(!suffices(&slices(10, 800), ticks, Some(8), &rule), "800 commits");
        assert!(suffices(&slices(10, 800), ticks, Some(8), &Rule { commits: 500, ..rule }));
        let mut slow = enough.clone();
        for (i, slice) in slow.iter_mut().enumerate() {
            slice.counts.commits[0] += 10 * (i as u64 % 2) + u64::from(i >= SLICES / 2);
        }
        assert!(!suffices(&slow, ticks, Some(8), &Rule { drift: 0.02, ..rule }));
        assert!(suffices(&slow, ticks, Some(8), &Rule { drift: 0.04, ..rule }));
        let commits = commits_of(&slow);
        assert_eq!(judge(&commits, 0).steady, Some(true), "no reason to mark it");
        let long = Rule { latencies: 300, ..rule };
        assert!(!suffices(&enough, ticks, Some(8), &long), "too short for its latencies");
    }
}
