//! Gives checks and charts the values of a figure's records.

use super::{Effort, Figure, Measured, Missing};
use harness::run_record::RunRecord;
use machine::Category;
use std::collections::BTreeMap;

/// Value of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Committed transactions per second.
    Throughput,
    /// Allocated timestamps per second, where a transaction is one timestamp.
    Timestamps,
    /// Records accessed by committed transactions per second.
    Accesses,
    /// Aborted attempts per committed transaction.
    Aborts,
    /// Aborted attempts divided by all attempts.
    AbortRatio,
    /// Mean time of the attempts that commit, in seconds. It is the time of all cores outside of aborted attempts and
    /// pauses after them, divided by the number of commits.
    Attempt,
    /// Committed transactions per second, divided by the number of cores.
    PerCore,
    /// Throughput divided by that of the line's first place, which has this name.
    SpeedUp(&'static str),
}

impl Measure {
    /// Returns the value of `record`. A speed-up is given as the throughput, because it takes a line.
    pub fn of(self, record: &RunRecord) -> f64 {
        match self {
            Measure::Throughput | Measure::Timestamps | Measure::SpeedUp(_) => {
                record.throughput_txn_per_s
            }
            Measure::PerCore => record.throughput_txn_per_s / record.cores.max(1) as f64,
            Measure::AbortRatio => record.abort_ratio,
            Measure::Attempt => {
                let lost = [Category::Abort, Category::BackOff, Category::Idle];
                let shares = record.breakdown.iter();
                let share = |category: Category| {
                    shares.clone().filter_map(|all| all.get(category.name())).sum::<f64>()
                };
                let busy = record.cores as f64 * (1.0 - lost.into_iter().map(share).sum::<f64>());
                busy.max(0.0) / record.throughput_txn_per_s.max(1.0)
            }
            Measure::Accesses => {
                let accesses = record.workload_options.get("accesses").map(ToString::to_string);
                let accesses = accesses.and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
                record.throughput_txn_per_s * accesses
            }
            Measure::Aborts => {
                let aborted: u64 = record.aborts.values().sum();
                aborted as f64 / record.commits.max(1) as f64
            }
        }
    }

    /// Returns the value of a measured run, if it was measured. A speed-up is given as the throughput.
    pub fn of_measured(self, measured: &Measured) -> Option<f64> {
        match self {
            Measure::Throughput | Measure::SpeedUp(_) => Some(measured.throughput_txn_per_s),
            Measure::PerCore => Some(measured.throughput_txn_per_s / measured.cores as f64),
            Measure::AbortRatio => Some(measured.abort_ratio),
            Measure::Aborts => Some(measured.abort_ratio / (1.0 - measured.abort_ratio).max(1e-9)),
            Measure::Timestamps | Measure::Accesses | Measure::Attempt => None,
        }
    }

    /// Returns the label of an axis and the unit of its numbers.
    pub fn label(self) -> (String, f64) {
        let (label, unit) = match self {
            Measure::Throughput => ("Throughput (million txn/s)", 1e6),
            Measure::Timestamps => ("Throughput (million timestamps/s)", 1e6),
            Measure::Accesses => ("Throughput (million rows/s)", 1e6),
            Measure::Aborts => ("Aborts per commit", 1.0),
            Measure::AbortRatio => ("Abort ratio", 1.0),
            Measure::Attempt => ("Time of an attempt (µs)", 1e-6),
            Measure::PerCore => ("Throughput of a thread (thousand txn/s)", 1e3),
            Measure::SpeedUp(first) => return (format!("Ratio to {first}"), 1.0),
        };
        (label.to_owned(), unit)
    }
}

/// Records of a series, ascending by place.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Group of the series.
    pub group: &'static str,
    /// Name of the series.
    pub name: String,
    /// Records with their places.
    pub points: Vec<(f64, RunRecord)>,
    /// Measurements of real machines, each with its place in the figure.
    pub measured: Vec<(f64, Measured)>,
    /// First place of the series, to which speed-ups refer.
    pub first: f64,
    /// Reason why runs of the series can't be simulated yet, if there are such runs.
    pub unable: Option<String>,
}

impl Line {
    /// Returns the record at `x`.
    pub fn at(&self, x: f64) -> Option<&RunRecord> {
        self.points.iter().find(|(place, _)| *place == x).map(|(_, record)| record)
    }

    /// Returns the measured shares of time at `x`, if there are some.
    pub fn measured_shares(&self, x: f64) -> Option<&BTreeMap<String, f64>> {
        let (_, measured) = self.measured.iter().find(|(place, _)| *place == x)?;
        Some(&measured.shares).filter(|shares| !shares.is_empty())
    }

    /// Returns places and values.
    pub fn values(&self, measure: Measure) -> Vec<(f64, f64)> {
        let values = self.points.iter().map(|(x, record)| (*x, measure.of(record)));
        self.related(measure, values.collect())
    }

    /// Returns places and measured values.
    pub fn measured_values(&self, measure: Measure) -> Vec<(f64, f64)> {
        let values = self.measured.iter();
        let values = values.filter_map(|(x, measured)| Some((*x, measure.of_measured(measured)?)));
        self.related(measure, values.collect())
    }

    /// Returns the values divided by that of the first place, if `measure` is a speed-up. Without a value there, nothing is
    /// known.
    fn related(&self, measure: Measure, values: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
        if !matches!(measure, Measure::SpeedUp(_)) {
            return values;
        }
        match values.first() {
            Some(&(x, one)) if x == self.first => {
                values.into_iter().map(|(x, value)| (x, value / one.max(1.0))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Records of a figure, or of one group of its series.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    lines: &'a [Line],
    group: &'a str,
}

/// Returns the lines of `figure` as far as `records` has their runs.
pub(super) fn lines_of(figure: &Figure, effort: Effort, records: &[RunRecord]) -> Vec<Line> {
    let mut lines = Vec::new();
    for series in (figure.series)(effort) {
        let mut line = Line { group: series.group, name: series.name, ..Line::default() };
        line.first = series.points.first().map_or(0.0, |(x, _)| *x);
        for (x, point) in &series.points {
            let Some(recognised) = point.recognised() else { continue };
            let found = records.iter().find(|record| recognised.is_of(record));
            line.points.extend(found.map(|record| (*x, record.clone())));
            line.measured.extend(point.measured().map(|measured| (*x, measured)));
            line.unable = line.unable.or_else(|| point.unable());
        }
        lines.push(line);
    }
    lines
}

impl<'a> Data<'a> {
    /// Returns the view of the series in the group without a name.
    pub fn of(lines: &'a [Line]) -> Data<'a> {
        Data { lines, group: "" }
    }

    /// Returns the view of the series in `group`.
    pub fn group(self, group: &'a str) -> Data<'a> {
        Data { group, ..self }
    }

    /// Returns the lines of the group.
    pub fn lines(self) -> impl Iterator<Item = &'a Line> {
        self.lines.iter().filter(move |line| line.group == self.group)
    }

    /// Returns the line `name`, which has at least one record.
    pub fn line(self, name: &str) -> Result<&'a Line, Missing> {
        let line = self.lines().find(|line| line.name == name);
        match line.map(|line| (line, &line.unable)) {
            Some((line, _)) if !line.points.is_empty() => Ok(line),
            Some((_, Some(why))) => Err(Missing(format!("not simulated yet: {why}"))),
            _ => Err(Missing(format!("no run of {name}"))),
        }
    }

    /// Returns the record of `name` at `x`.
    pub fn record(self, name: &str, x: f64) -> Result<&'a RunRecord, Missing> {
        self.line(name)?.at(x).ok_or_else(|| Missing(format!("no run of {name} at {x}")))
    }

    /// Returns a value of `name` at `x`.
    pub fn value(self, name: &str, x: f64, measure: Measure) -> Result<f64, Missing> {
        Ok(measure.of(self.record(name, x)?))
    }

    /// Returns the throughput of `name` at `x`, in transactions per second.
    pub fn throughput(self, name: &str, x: f64) -> Result<f64, Missing> {
        self.value(name, x, Measure::Throughput)
    }

    /// Returns places and throughputs of `name`.
    pub fn throughputs(self, name: &str) -> Result<Vec<(f64, f64)>, Missing> {
        Ok(self.line(name)?.values(Measure::Throughput))
    }

    /// Returns place and value of the highest throughput of `name`.
    pub fn peak(self, name: &str) -> Result<(f64, f64), Missing> {
        let values = self.throughputs(name)?.into_iter();
        let highest = values.reduce(|best, one| if one.1 > best.1 { one } else { best });
        highest.ok_or_else(|| Missing(format!("no run of {name}")))
    }

    /// Returns the share of the time that `name` spends in `categories` at `x`.
    pub fn share(self, name: &str, x: f64, categories: &[Category]) -> Result<f64, Missing> {
        let record = self.record(name, x)?;
        let shares = record.breakdown.as_ref();
        let shares = shares.ok_or_else(|| Missing(format!("no breakdown of {name}")))?;
        Ok(categories.iter().filter_map(|category| shares.get(category.name())).sum())
    }

    /// Returns the component other than useful work that takes the largest share of the time of `name` at `x`.
    pub fn largest_cost(self, name: &str, x: f64) -> Result<(Component, f64), Missing> {
        let mut largest = (Component::ALL[1], -1.0);
        for component in Component::ALL.into_iter().skip(1) {
            let share = self.share(name, x, component.categories())?;
            if share > largest.1 {
                largest = (component, share);
            }
        }
        Ok(largest)
    }

    /// Returns the geometric mean of the throughput of `name` over `places`.
    pub fn mean_throughput(self, name: &str, places: &[f64]) -> Result<f64, Missing> {
        let mut sum = 0.0;
        for &x in places {
            sum += self.throughput(name, x)?.max(1.0).ln();
        }
        Ok((sum / places.len().max(1) as f64).exp())
    }

    /// Returns the places of `name` that `wanted` accepts. There is at least one.
    pub fn places(self, name: &str, wanted: fn(f64) -> bool) -> Result<Vec<f64>, Missing> {
        let places = self.line(name)?.points.iter().map(|(x, _)| *x);
        let places: Vec<f64> = places.filter(|x| wanted(*x)).collect();
        match places.is_empty() {
            true => Err(Missing(format!("no run of {name} at the places in question"))),
            false => Ok(places),
        }
    }
}

/// Component of a transaction's time (Abyss 3.2). The manager's includes validation and installation, and back-off
/// has a component of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// The transaction's own work.
    Useful,
    /// Attempts that were aborted.
    Abort,
    /// Drawing timestamps.
    Timestamps,
    /// Looking up rows.
    Index,
    /// Waiting for others.
    Wait,
    /// Locks, read sets, write sets, validation, installation.
    ConcurrencyControl,
    /// Pauses after aborts.
    BackOff,
}

impl Component {
    /// All components, in the order of the paper's bars.
    pub const ALL: [Component; 7] = [
        Component::Useful,
        Component::Abort,
        Component::Timestamps,
        Component::Index,
        Component::Wait,
        Component::ConcurrencyControl,
        Component::BackOff,
    ];

    /// Returns the categories of a record that belong to the component.
    pub const fn categories(self) -> &'static [Category] {
        match self {
            Component::Useful => &[Category::Useful],
            Component::Abort => &[Category::Abort],
            Component::Timestamps => &[Category::TimestampAllocation],
            Component::Index => &[Category::Index],
            Component::Wait => &[Category::Wait, Category::Idle],
            Component::ConcurrencyControl => &[Category::ConcurrencyControl, Category::Commit],
            Component::BackOff => &[Category::BackOff],
        }
    }

    /// Returns the measured categories that belong to the component.
    pub const fn measured(self) -> &'static [&'static str] {
        match self {
            Component::Useful => &["useful"],
            Component::Abort => &["abort"],
            Component::Timestamps => &["ts_alloc"],
            Component::Index => &["index"],
            Component::Wait => &["wait"],
            Component::ConcurrencyControl => &["cc_mgmt", "commit"],
            Component::BackOff => &["backoff"],
        }
    }

    /// Returns the name in legends.
    pub const fn name(self) -> &'static str {
        match self {
            Component::Useful => "useful work",
            Component::Abort => "abort",
            Component::Timestamps => "timestamps",
            Component::Index => "index",
            Component::Wait => "wait",
            Component::ConcurrencyControl => "manager",
            Component::BackOff => "back-off",
        }
    }
}
