//! Compares shares of the threads' time with those of a measured `breakdown.csv`.
//!
//! Our categories ([`Category`]) are exclusive. The measured ones overlap: `abort` is the time of whole attempts, with their
//! waits and their back-off, and `useful` is what remains. The waits and lookups of an attempt that aborts are counted in `abort`
//! alone, because the measured program forgets them when the attempt aborts (`Stats::abort`). Rolling it back is counted twice, in
//! `abort` and in `commit`.
//! A measured row counts only if no share is negative and the shares sum to 1 within 2 %. [`MAPPING`] says which parts of our time stand
//! for a measured category.

use super::statistics::median;
use super::table::{Line, Table};
use super::{Measurement, Measurements, Row, Skipped, ThreadOrder, ValidateError};
use machine::Category;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A part of our time that stands for a measured category, or for a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    /// All time in a category.
    All(Category),
    /// Waits of attempts that committed.
    WaitOfCommitted,
    /// Waits of attempts that aborted.
    WaitOfAborted,
    /// The allocation of timestamps that are ages. The measured program draws them while it looks for a transaction that is due
    /// (`thread_t::run`), which only WAIT_DIE does, and counts that time twice.
    Ages,
}

impl Ours {
    /// Returns the name used in reports.
    fn name(self) -> &'static str {
        match self {
            Ours::All(category) => category.name(),
            Ours::WaitOfCommitted => "wait of committed",
            Ours::WaitOfAborted => "wait of aborted",
            Ours::Ages => "timestamp_allocation of WAIT_DIE",
        }
    }

    /// Returns the simulated share.
    fn share(self, row: &Row) -> f64 {
        let of = |category: Category| row.breakdown.get(category.name()).copied().unwrap_or(0.0);
        match self {
            Ours::All(category) => of(category),
            Ours::WaitOfCommitted => (of(Category::Wait) - row.wait_of_aborted).max(0.0),
            Ours::WaitOfAborted => row.wait_of_aborted,
            Ours::Ages if row.measured.scheme == "WAIT_DIE" => of(Category::TimestampAllocation),
            Ours::Ages => 0.0,
        }
    }
}

/// The measured categories, each with the sum of ours that stands for it.
pub const MAPPING: [(&str, &[Ours]); 8] = [
    ("useful", &[Ours::All(Category::Useful), Ours::All(Category::Idle)]),
    // Whole attempts, with their waits and the back-off after them.
    ("abort", &[Ours::All(Category::Abort), Ours::WaitOfAborted, Ours::All(Category::BackOff)]),
    ("backoff", &[Ours::All(Category::BackOff), Ours::Ages]),
    ("ts_alloc", &[Ours::All(Category::TimestampAllocation)]),
    ("index", &[Ours::All(Category::Index)]),
    ("wait", &[Ours::WaitOfCommitted]),
    ("commit", &[Ours::All(Category::Commit)]),
    ("cc_mgmt", &[Ours::All(Category::ConcurrencyControl)]),
];

/// Share of time below which a category's relative error says nothing.
const LEAST_SHARE: f64 = 0.02;

/// Shares of time by measured category.
pub type Shares = BTreeMap<String, f64>;

/// Text of the shares that are compiled into the program.
pub(crate) const CARRIED: &str = include_str!("../../data/full-story/breakdown.csv");

const NEEDED: [&str; 8] =
    ["platform", "variant", "scheme", "warehouses", "cores", "smt", "numa", "remote_neworder_pct"];

/// The measured shares of one directory.
#[derive(Clone, Debug, Default)]
pub struct Breakdowns {
    /// Rows with the measured configuration and its shares.
    rows: Vec<(Key, Shares)>,
    /// Rows that can't be compared, by reason.
    pub skipped: Skipped,
}

/// The configuration of a row. The file does not say how many payments are remote.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    platform: String,
    variant: String,
    scheme: String,
    warehouses: u64,
    cores: u64,
    threads: ThreadOrder,
    numa: String,
    remote_lines_pct: f64,
}

impl Key {
    fn of(row: &Measurement) -> Key {
        let row = row.clone();
        Key {
            platform: row.platform,
            variant: row.variant,
            scheme: row.scheme,
            warehouses: row.warehouses,
            cores: row.cores,
            threads: row.threads,
            numa: row.numa,
            remote_lines_pct: row.remote_lines_pct,
        }
    }
}

impl Breakdowns {
    /// Returns the shares compiled into the program.
    pub(super) fn carried(measurements: &Measurements) -> Breakdowns {
        let file = "crates/experiments/data/full-story/breakdown.csv";
        Breakdowns::parse(CARRIED, file, measurements)
            .expect("the rows in the program are well-formed")
    }

    /// Reads the `breakdown.csv` in the directory `path`. Returns no shares if there is none.
    pub(super) fn read(
        path: &Path,
        measurements: &Measurements,
    ) -> Result<Breakdowns, ValidateError> {
        let file = path.join("breakdown.csv");
        let name = file.display().to_string();
        match std::fs::read_to_string(&file) {
            Ok(text) => Breakdowns::parse(&text, &name, measurements),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Breakdowns::default()),
            Err(error) => Err(ValidateError::Unreadable { file: name, reason: error.to_string() }),
        }
    }

    /// Parses the text of `file`. Rows on platforms without a row in `measurements` are passed over.
    pub(super) fn parse(
        text: &str,
        file: &str,
        measurements: &Measurements,
    ) -> Result<Breakdowns, ValidateError> {
        let needed: Vec<&str> = NEEDED.into_iter().chain(MAPPING.map(|(name, _)| name)).collect();
        let table = Table::parse(text, file, &needed, &["placement"])?;
        let mut all = Breakdowns::default();
        for line in table.lines() {
            let line = line?;
            let Some(key) = key_of(&line, measurements)? else { continue };
            match shares_of(&line)? {
                Ok(shares) => all.rows.push((key, shares)),
                Err(why) => all.skipped.add(why),
            }
        }
        Ok(all)
    }

    /// Returns the measured shares of a row, the mean if there are several, or nothing.
    pub(super) fn of(&self, row: &Measurement) -> Shares {
        let key = Key::of(row);
        let own: Vec<&Shares> =
            self.rows.iter().filter(|(other, _)| *other == key).map(|(_, shares)| shares).collect();
        let mut mean = Shares::new();
        for (name, share) in own.iter().flat_map(|shares| shares.iter()) {
            *mean.entry(name.clone()).or_default() += share / own.len() as f64;
        }
        mean
    }
}

/// Returns the configuration of a line, or none if no measured row can have it.
fn key_of(line: &Line<'_>, measurements: &Measurements) -> Result<Option<Key>, ValidateError> {
    let mut platforms = measurements.platforms.iter();
    let Some(platform) = platforms.find(|platform| platform.name == line.text("platform")) else {
        return Ok(None);
    };
    let order = ThreadOrder::of(line.text("placement"), line.count("smt")?, &platform.machine);
    let Some(threads) = order else { return Ok(None) };
    Ok(Some(Key {
        platform: platform.name.clone(),
        variant: line.text("variant").to_owned(),
        scheme: line.text("scheme").to_owned(),
        warehouses: line.count("warehouses")?,
        cores: line.count("cores")?,
        threads,
        numa: line.text("numa").to_owned(),
        remote_lines_pct: line.percentage("remote_neworder_pct")?,
    }))
}

/// Returns the shares of a line, or the reason why they can't be compared.
pub(crate) fn shares_of(line: &Line<'_>) -> Result<Result<Shares, &'static str>, ValidateError> {
    let mut shares = Shares::new();
    for (name, _) in MAPPING {
        shares.insert(name.to_owned(), line.number(name, "a number", |_| true)?);
    }
    let sum: f64 = shares.values().sum();
    Ok(if shares.values().any(|share| *share < 0.0) {
        Err("with a negative share of time")
    } else if (sum - 1.0).abs() > 0.02 {
        Err("with shares of time that do not sum to 1 within 2 %")
    } else {
        Ok(shares)
    })
}

/// Error of one category of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CategoryError {
    /// Name in the measured file.
    pub category: String,
    /// The parts of our time that stand for it.
    pub ours: Vec<String>,
    /// Error over all scored rows that have measured shares.
    pub all: ShareError,
    /// Error over those with one core.
    pub one_core: ShareError,
}

/// Error of a category over some rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShareError {
    /// Number of rows.
    pub rows: usize,
    /// Median of |simulated - measured| share of time.
    pub median_difference: Option<f64>,
    /// Number of rows whose measured share is at least 0.02. Only these have a relative error.
    pub large_rows: usize,
    /// Median of |simulated - measured| / measured over these rows.
    pub median_relative: Option<f64>,
}

/// Returns the simulated share of a measured category.
pub fn simulated(row: &Row, ours: &[Ours]) -> f64 {
    ours.iter().map(|part| part.share(row)).sum()
}

/// Returns the error of each measured category. Only scored rows with measured shares count.
pub(super) fn errors(rows: &[Row]) -> Vec<CategoryError> {
    let rows: Vec<&Row> =
        rows.iter().filter(|row| row.is_scored() && !row.measured_breakdown.is_empty()).collect();
    let error = |(name, ours): (&str, &[Ours]), of: &dyn Fn(&Row) -> bool| {
        let pair = |row: &&Row| (row.measured_breakdown[name], simulated(row, ours));
        let pairs: Vec<_> = rows.iter().filter(|row| of(row)).map(pair).collect();
        let away: Vec<f64> = pairs.iter().map(|(is, said)| (said - is).abs()).collect();
        let large = pairs.iter().filter(|(is, _)| *is >= LEAST_SHARE);
        let relative: Vec<f64> = large.map(|(is, said)| (said - is).abs() / is).collect();
        ShareError {
            rows: pairs.len(),
            median_difference: median(&away),
            large_rows: relative.len(),
            median_relative: median(&relative),
        }
    };
    let all = MAPPING.into_iter().map(|(name, ours)| CategoryError {
        category: name.to_owned(),
        ours: ours.iter().map(|part| part.name().to_owned()).collect(),
        all: error((name, ours), &|_| true),
        one_core: error((name, ours), &|row| row.measured.cores == 1),
    });
    if rows.is_empty() { Vec::new() } else { all.collect() }
}

#[cfg(test)]
mod tests;
