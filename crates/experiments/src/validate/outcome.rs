//! Computes errors of each row, of blocks of rows, and of the order of schemes.

use super::breakdown::{self, CategoryError};
use super::goals::{Goal, goals};
use super::peaks::{Peak, peaks};
use super::statistics::{Concordance, mean, median, quantile};
use super::{
    Effort, LeftOut, Measurement, Placement, Role, Simulation, Skipped, ValidateOptions, Work,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Measured throughputs that differ by at most this share count as equal.
pub(super) const NOISE: f64 = 0.15;

/// Version of the outcome's form.
const SCHEMA_VERSION: u32 = 3;

/// Results of a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Version of this form.
    pub schema_version: u32,
    /// Amount of simulation.
    pub effort: Effort,
    /// Seed of every random choice.
    pub seed: u64,
    /// Placement of the warehouses, where the row does not say.
    pub placement: Placement,
    /// Version of the program.
    pub build: String,
    /// Set if the validation was stopped before the last row.
    pub interrupted: bool,
    /// The only fitted constants: one for each platform.
    pub work: Vec<Work>,
    /// Error of each platform without its own constant. Empty until all rows are done.
    pub left_out: Vec<LeftOut>,
    /// Assumptions about the platforms' machines.
    pub notes: Vec<String>,
    /// Every simulated row, in the order of the measurements.
    pub rows: Vec<Row>,
    /// Rows grouped by platform, variant and scheme. The last block contains all rows and has empty names.
    pub blocks: Vec<Block>,
    /// Order of schemes at each core count. The last entry covers all pairs and has empty names.
    pub ranks: Vec<Ranks>,
    /// Peaks of the curves whose measured peak is at neither end.
    pub peaks: Vec<Peak>,
    /// Error of each category of time. Empty if no shares were measured.
    pub categories: Vec<CategoryError>,
    /// Numbers that the model should reach.
    pub goals: Vec<Goal>,
    /// Rows that were left out, by reason.
    pub skipped: Skipped,
    /// Rows of the measured shares of time that were left out, by reason.
    pub skipped_breakdowns: Skipped,
}

/// One row with its measurement, its simulation and the error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The measured row.
    pub measured: Measurement,
    /// Placement of the simulated warehouses.
    pub placement: String,
    /// Simulated transactions per second.
    pub simulated_txn_per_s: f64,
    /// ln(simulated / measured throughput): 0 is exact, 0.69 is twice too fast, -0.69 is half as fast.
    pub ln_error: f64,
    /// Simulated aborts divided by attempts.
    pub simulated_abort_ratio: f64,
    /// Simulated minus measured abort ratio.
    pub abort_ratio_error: f64,
    /// Simulated share of time by category.
    pub breakdown: BTreeMap<String, f64>,
    /// Simulated share of time that aborted attempts waited, which is a part of `wait`.
    #[serde(default)]
    pub wait_of_aborted: f64,
    /// Measured share of time by category, in the measured file's categories, or nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measured_breakdown: BTreeMap<String, f64>,
    /// Cache lines moved for each transaction that committed, by kind of movement.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lines_per_txn: BTreeMap<String, f64>,
    /// Number of transactions committed in the simulated intervals.
    pub commits: u64,
    /// Set if the simulated throughput neither rose nor fell during its interval. None if this could not be
    /// determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<bool>,
    /// Seconds of the host's time for the simulation. It differs between runs.
    pub wall_s: f64,
}

/// Errors of a group of rows without anchors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Name of the platform, or empty for all.
    pub platform: String,
    /// Name of the build, or empty for all.
    pub variant: String,
    /// Name of the scheme, or empty for all.
    pub scheme: String,
    /// Number of rows.
    pub rows: usize,
    /// Median of |ln|.
    pub median_abs_ln: f64,
    /// 90th percentile of |ln|.
    pub p90_abs_ln: f64,
    /// Mean of ln. Above 0 the simulation is too fast on average.
    pub mean_ln: f64,
    /// Median of |simulated - measured| abort ratio.
    pub median_abort_ratio_error: f64,
    /// 90th percentile of |simulated - measured| abort ratio.
    pub p90_abort_ratio_error: f64,
}

/// Agreement of simulated and measured order of the schemes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranks {
    /// Name of the platform, or empty for all.
    pub platform: String,
    /// Name of the build, or empty for all.
    pub variant: String,
    /// Number of warehouses, or 0 for all.
    pub warehouses: u64,
    /// Number of cores, or 0 for all.
    pub cores: u64,
    /// Forced distance of memory, or `all`, or empty for all groups.
    pub numa: String,
    /// Number of pairs of schemes whose measured throughputs differ by more than 15 %.
    pub pairs: usize,
    /// Kendall's rank correlation over the pairs, or None without pairs.
    pub kendall: Option<f64>,
}

impl Outcome {
    /// Reads the outcome of an earlier validation from JSON. Fails with the reason if it is none of this version.
    pub fn from_json(text: &str) -> Result<Outcome, String> {
        let outcome: Outcome = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match outcome.schema_version {
            SCHEMA_VERSION => Ok(outcome),
            other => Err(format!("schema_version is {other}; allowed: {SCHEMA_VERSION}")),
        }
    }

    /// Returns true if the outcome was made with these options, by the same build. Rows that were left out and the number
    /// of threads make no difference.
    pub(super) fn is_of(&self, options: &ValidateOptions) -> bool {
        (self.effort, self.seed, self.placement, self.build.as_str())
            == (options.effort, options.seed, options.placement, options.build.as_str())
    }

    /// Compares simulations with measurements.
    pub fn of(
        rows: Vec<Row>,
        (work, skipped): (Vec<Work>, Skipped),
        options: &ValidateOptions,
        interrupted: bool,
    ) -> Outcome {
        let (blocks, ranks) = (blocks(&rows), ranks(&rows));
        let (peaks, categories) = (peaks(&rows), breakdown::errors(&rows));
        let goals = goals(&rows, &categories);
        Outcome {
            schema_version: SCHEMA_VERSION,
            effort: options.effort,
            seed: options.seed,
            placement: options.placement,
            build: options.build.clone(),
            interrupted,
            work,
            left_out: Vec::new(),
            notes: Vec::new(),
            rows,
            blocks,
            ranks,
            peaks,
            categories,
            goals,
            skipped,
            skipped_breakdowns: Skipped::default(),
        }
    }
}

impl Row {
    /// Compares a simulation with its measurement.
    pub(super) fn of(simulation: Simulation) -> Row {
        let Simulation { configuration, record } = simulation;
        let placement = configuration.placement_name();
        let measured = configuration.measured;
        Row {
            placement,
            simulated_txn_per_s: record.throughput_txn_per_s,
            // A simulation without commits has an unbounded error. The lower limit of 1.0 keeps it finite.
            ln_error: (record.throughput_txn_per_s.max(1.0) / measured.throughput_txn_per_s).ln(),
            simulated_abort_ratio: record.abort_ratio,
            abort_ratio_error: record.abort_ratio - measured.abort_ratio,
            breakdown: record.breakdown.unwrap_or_default(),
            wait_of_aborted: record.wait_of_aborted.unwrap_or(0.0),
            measured_breakdown: BTreeMap::new(),
            lines_per_txn: record.lines_per_txn.unwrap_or_default(),
            commits: record.commits,
            steady: record.steady,
            wall_s: record.wall_s.unwrap_or(0.0),
            measured,
        }
    }

    pub(super) fn is_scored(&self) -> bool {
        self.measured.split == Role::Scored
    }
}

/// Returns groups of scored rows, in the order in which they first appear.
fn grouped<'a, K: PartialEq>(
    rows: &'a [Row],
    key: impl Fn(&'a Measurement) -> K,
) -> Vec<(K, Vec<&'a Row>)> {
    let mut groups: Vec<(K, Vec<&Row>)> = Vec::new();
    for row in rows.iter().filter(|row| row.is_scored()) {
        let key = key(&row.measured);
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups
}

fn blocks(rows: &[Row]) -> Vec<Block> {
    let groups = grouped(rows, |m| (m.platform.as_str(), m.variant.as_str(), m.scheme.as_str()));
    let all = grouped(rows, |_| ("", "", ""));
    let blocks = groups.into_iter().chain(all);
    blocks
        .map(|((platform, variant, scheme), group)| {
            let of = |value: &dyn Fn(&Row) -> f64| -> Vec<f64> {
                group.iter().map(|row| value(row)).collect()
            };
            let sizes = of(&|row| row.ln_error.abs());
            let aborts = of(&|row| row.abort_ratio_error.abs());
            Block {
                platform: platform.to_owned(),
                variant: variant.to_owned(),
                scheme: scheme.to_owned(),
                rows: group.len(),
                median_abs_ln: median(&sizes).unwrap_or(0.0),
                p90_abs_ln: quantile(&sizes, 0.9).unwrap_or(0.0),
                mean_ln: mean(&of(&|row| row.ln_error)).unwrap_or(0.0),
                median_abort_ratio_error: median(&aborts).unwrap_or(0.0),
                p90_abort_ratio_error: quantile(&aborts, 0.9).unwrap_or(0.0),
            }
        })
        .collect()
}

fn ranks(rows: &[Row]) -> Vec<Ranks> {
    let groups = grouped(rows, |m| {
        let remote = (m.remote_lines_pct.to_bits(), m.remote_payments_pct.to_bits());
        let place = (m.numa.as_str(), &m.threads, remote);
        (m.platform.as_str(), m.variant.as_str(), m.warehouses, m.cores, place)
    });
    let mut all = Concordance::default();
    let mut ranks = Vec::new();
    for ((platform, variant, warehouses, cores, (numa, ..)), group) in groups {
        let pair = |row: &&Row| (row.measured.throughput_txn_per_s, row.simulated_txn_per_s);
        let found = Concordance::of(&group.iter().map(pair).collect::<Vec<_>>(), NOISE);
        all.add(found);
        if found.pairs() > 0 {
            ranks.push(Ranks {
                platform: platform.to_owned(),
                variant: variant.to_owned(),
                warehouses,
                cores,
                numa: numa.to_owned(),
                pairs: found.pairs(),
                kendall: found.kendall(),
            });
        }
    }
    ranks.push(Ranks {
        platform: String::new(),
        variant: String::new(),
        warehouses: 0,
        cores: 0,
        numa: String::new(),
        pairs: all.pairs(),
        kendall: all.kendall(),
    });
    ranks
}

#[cfg(test)]
pub(super) mod invented;

#[cfg(test)]
mod tests;
