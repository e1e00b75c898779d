//! Reads the rows of a measured `throughput.csv`.

use super::error::ValidateError;
use super::thread_order::{ALLOWED, ThreadOrder};
use super::{Platform, Platforms};
use protocols::{ProtocolOptions, registry};
use serde::{Deserialize, Serialize};
use simulator::Simulated;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Text of the measurements that are compiled into the program.
const CARRIED: &str = include_str!("../../data/full-story/throughput.csv");

/// Returns whether a scheme is implemented.
fn is_here(scheme: &str) -> bool {
    let all = registry::declarations::<Simulated>(&ProtocolOptions::default());
    all.iter().any(|declaration| declaration.name == scheme)
}

/// Builds of the measured program that the simulation resembles. The flag tells whether warehouses and items bypass
/// concurrency control in the build.
const SIMULATED_VARIANTS: &[(&str, bool)] = &[
    ("opt7", false),
    ("opt8", true),
    ("optimised", true),
    ("numa-isolated", true),
    ("numa-home+remote", true),
];

/// Purpose of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sets the scale of its machine. Anchors are not scored.
    Anchor,
    /// Is predicted and scored.
    Scored,
}

/// One measured configuration. Rows with equal keys are merged into one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of the measured machine.
    pub platform: String,
    /// Build of the measured program.
    pub variant: String,
    /// Concurrency-control scheme.
    pub scheme: String,
    /// Number of warehouses.
    pub warehouses: u64,
    /// Number of hardware threads.
    pub cores: u64,
    /// Order in which the threads take cores.
    pub threads: ThreadOrder,
    /// `all` if memory is as the program's loader placed it, or the distance that was forced.
    pub numa: String,
    /// Percentage of remote order lines.
    pub remote_lines_pct: f64,
    /// Percentage of remote payments.
    pub remote_payments_pct: f64,
    /// Transactions per second. For merged rows the geometric mean.
    pub throughput_txn_per_s: f64,
    /// Aborts divided by attempts. For merged rows the mean.
    pub abort_ratio: f64,
    /// Purpose of the row.
    pub split: Role,
    /// Number of rows that were merged.
    pub merged: usize,
}

impl Measurement {
    /// Returns whether warehouses and items bypass concurrency control.
    pub fn bypasses(&self) -> bool {
        SIMULATED_VARIANTS.iter().any(|(name, bypass)| *name == self.variant && *bypass)
    }
}

/// Number of rows left out, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Skipped(pub BTreeMap<String, usize>);

impl Skipped {
    /// Counts one more row that was left out because of `why`.
    pub fn add(&mut self, why: impl Into<String>) {
        *self.0.entry(why.into()).or_default() += 1;
    }

    /// Returns whether no row was left out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> =
            self.0.iter().map(|(why, count)| format!("{count} {why}")).collect();
        f.write_str(&parts.join(", "))
    }
}

/// The rows of one directory that can be simulated.
#[derive(Clone, Debug)]
pub struct Measurements {
    /// Path of the file, for messages.
    pub file: String,
    /// Rows in the order of the file. Rows with equal keys are merged.
    pub rows: Vec<Measurement>,
    /// The platforms of the rows.
    pub platforms: Vec<Platform>,
    /// Rows that can't be simulated yet.
    pub skipped: Skipped,
}

impl Measurements {
    /// Returns the rows compiled into the program, a part of those of "The Full Story of 1000 Cores" (Bang, May,
    /// Petrov, Binnig).
    pub fn carried() -> Measurements {
        Measurements::parse(CARRIED, "crates/experiments/data/full-story/throughput.csv")
            .expect("the rows in the program are well-formed")
    }

    /// Reads the `throughput.csv` in the directory `path`.
    pub fn read(path: &Path) -> Result<Measurements, ValidateError> {
        let file = path.join("throughput.csv");
        let name = file.display().to_string();
        match std::fs::read_to_string(&file) {
            Ok(text) => Measurements::parse_on(&text, &name, &Platforms::read(path)?),
            Err(error) => Err(ValidateError::Unreadable { file: name, reason: error.to_string() }),
        }
    }

    /// Parses rows from the text of `file`, on the platforms that the program carries.
    pub fn parse(text: &str, file: &str) -> Result<Measurements, ValidateError> {
        Measurements::parse_on(text, file, &Platforms::carried())
    }

    /// Returns the platform of a row.
    pub fn platform_of(&self, row: &Measurement) -> &Platform {
        let own = self.platforms.iter().find(|platform| platform.name == row.platform);
        own.expect("rows on unknown platforms are skipped")
    }

    /// Parses rows from the text of `file`. Values contain no commas, so quotes are not supported.
    fn parse_on(text: &str, file: &str, known: &Platforms) -> Result<Measurements, ValidateError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let header: Vec<&str> =
            lines.next().map_or(vec![], |(_, line)| line.split(',').map(str::trim).collect());
        let columns = Columns::find(&header, file)?;
        let (mut rows, mut skipped, mut any) =
            (Vec::<Measurement>::new(), Skipped::default(), false);
        let mut found = Found { known, platforms: BTreeMap::new() };
        for (at, line) in lines {
            any = true;
            let values: Vec<&str> = line.split(',').map(str::trim).collect();
            let (line, width) = (at + 1, header.len());
            if values.len() != width {
                let (file, values) = (file.to_owned(), values.len());
                return Err(ValidateError::RaggedLine { file, line, values, columns: width });
            }
            let line = Line { file, line, columns: &columns, values: &values };
            match line.measurement(&mut found)? {
                Ok(row) => merge(&mut rows, row),
                Err(why) => skipped.add(why),
            }
        }
        if !any {
            return Err(ValidateError::NoRows { file: file.to_owned() });
        }
        if rows.is_empty() {
            let (file, skipped) = (file.to_owned(), skipped.to_string());
            return Err(ValidateError::NothingLeft { file, skipped });
        }
        let used = |platform: &Platform| rows.iter().any(|row| row.platform == platform.name);
        let platforms = found.platforms.into_values().flatten().filter(used).collect();
        Ok(Measurements { file: file.to_owned(), rows, platforms, skipped })
    }
}

/// Adds `row`, or merges it with the row of the same key.
fn merge(rows: &mut Vec<Measurement>, row: Measurement) {
    let same = |other: &&mut Measurement| {
        let unmeasured = |m: &Measurement| Measurement {
            throughput_txn_per_s: 0.0,
            abort_ratio: 0.0,
            merged: 0,
            ..m.clone()
        };
        unmeasured(other) == unmeasured(&row)
    };
    match rows.iter_mut().find(same) {
        None => rows.push(row),
        Some(first) => {
            let n = first.merged as f64;
            let logs = n * first.throughput_txn_per_s.ln() + row.throughput_txn_per_s.ln();
            first.throughput_txn_per_s = (logs / (n + 1.0)).exp();
            first.abort_ratio = (n * first.abort_ratio + row.abort_ratio) / (n + 1.0);
            first.merged += 1;
        }
    }
}

const NEEDED: [&str; 12] = [
    "platform",
    "variant",
    "scheme",
    "warehouses",
    "cores",
    "smt",
    "numa",
    "remote_neworder_pct",
    "remote_payment_pct",
    "throughput_txn_per_s",
    "abort_ratio",
    "split",
];

/// Column that a file may lack. It is then taken to be empty.
const PLACEMENT: &str = "placement";

/// What the column `numa` may say.
const NUMA: [&str; 5] = ["all", "local", "1hop", "2hop", "remote"];

/// Positions of the needed columns, and that of [`PLACEMENT`].
struct Columns([usize; NEEDED.len()], Option<usize>);

/// Platforms that the rows have named so far.
struct Found<'a> {
    known: &'a Platforms,
    platforms: BTreeMap<String, Option<Platform>>,
}

impl Found<'_> {
    /// Returns the platform `name`, or none if it is unknown.
    fn platform(&mut self, name: &str) -> Result<Option<&Platform>, ValidateError> {
        if !self.platforms.contains_key(name) {
            self.platforms.insert(name.to_owned(), self.known.platform(name)?);
        }
        Ok(self.platforms[name].as_ref())
    }
}

impl Columns {
    fn find(header: &[&str], file: &str) -> Result<Columns, ValidateError> {
        let at = NEEDED.map(|name| header.iter().position(|column| *column == name));
        let missing: Vec<_> =
            NEEDED.iter().zip(&at).filter(|(_, at)| at.is_none()).map(|(name, _)| *name).collect();
        if !missing.is_empty() {
            return Err(ValidateError::MissingColumns { file: file.to_owned(), missing });
        }
        let placement = header.iter().position(|column| *column == PLACEMENT);
        Ok(Columns(at.map(|at| at.expect("nothing is missing")), placement))
    }
}

/// One line of the file.
struct Line<'a> {
    file: &'a str,
    line: usize,
    columns: &'a Columns,
    values: &'a [&'a str],
}

impl Line<'_> {
    fn text(&self, column: &'static str) -> &str {
        let at = NEEDED.iter().position(|name| *name == column).expect("a needed column");
        self.values[self.columns.0[at]]
    }

    fn bad(&self, column: &'static str, allowed: impl Into<String>) -> ValidateError {
        ValidateError::BadValue {
            file: self.file.to_owned(),
            line: self.line,
            column,
            given: self.text(column).to_owned(),
            allowed: allowed.into(),
        }
    }

    fn count(&self, column: &'static str) -> Result<u64, ValidateError> {
        let count = self.text(column).parse().ok().filter(|n| (1..=1 << 20).contains(n));
        count.ok_or_else(|| self.bad(column, "1 to 1048576"))
    }

    fn number(
        &self,
        column: &'static str,
        allowed: &str,
        good: impl Fn(f64) -> bool,
    ) -> Result<f64, ValidateError> {
        let number = self.text(column).parse().ok().filter(|n: &f64| n.is_finite() && good(*n));
        number.ok_or_else(|| self.bad(column, allowed))
    }

    /// Returns the row, or the reason why it can't be simulated. Fails if the row is malformed.
    fn measurement(
        &self,
        found: &mut Found<'_>,
    ) -> Result<Result<Measurement, String>, ValidateError> {
        let smt = self.count("smt")?;
        let mut row = self.values(smt)?;
        let Some(platform) = found.platform(&row.platform)? else {
            let names = found.known.names().join(", ");
            let name = &row.platform;
            return Ok(Err(format!("on {name}, which hardware.toml lacks (known are {names})")));
        };
        if !is_here(&row.scheme) {
            return Ok(Err(format!("with {}, which is not here yet", row.scheme)));
        }
        if !SIMULATED_VARIANTS.iter().any(|(name, _)| *name == row.variant) {
            return Ok(Err(format!(
                "of the build {}, whose options are not here yet",
                row.variant
            )));
        }
        match self.threads(smt, platform)? {
            Ok(threads) => row.threads = threads,
            Err(why) => return Ok(Err(why)),
        }
        if row.numa != "all" && platform.level(&row.numa).is_none() {
            return Ok(Err(format!("with memory {}, a distance that the machine lacks", row.numa)));
        }
        let machine = (*platform.machine).clone().with_thread_steps(&row.threads.steps);
        if row.cores > machine.cores() as u64 {
            let (most, name) = (machine.cores(), &platform.name);
            let allowed = format!("1 to {most} on {name} with {smt} threads a core");
            return Err(self.bad("cores", allowed));
        }
        Ok(Ok(row))
    }

    /// Returns what the columns say. `smt` is the number of threads of a core.
    fn values(&self, smt: u64) -> Result<Measurement, ValidateError> {
        let split = match self.text("split") {
            "anchor" => Role::Anchor,
            "" => {
                return Err(self.bad("split", "anchor, or any other word for a row that is scored"));
            }
            _ => Role::Scored,
        };
        if !NUMA.contains(&self.text("numa")) {
            return Err(self.bad("numa", NUMA.join(", ")));
        }
        let percent = |column| self.number(column, "0 to 100", |n| (0.0..=100.0).contains(&n));
        Ok(Measurement {
            platform: self.text("platform").to_owned(),
            variant: self.text("variant").to_owned(),
            scheme: self.text("scheme").to_owned(),
            warehouses: self.count("warehouses")?,
            cores: self.count("cores")?,
            threads: ThreadOrder { steps: vec![smt], first_socket: 0 },
            numa: self.text("numa").to_owned(),
            remote_lines_pct: percent("remote_neworder_pct")?,
            remote_payments_pct: percent("remote_payment_pct")?,
            throughput_txn_per_s: self
                .number("throughput_txn_per_s", "more than 0", |n| n > 0.0)?,
            abort_ratio: self.number("abort_ratio", "0 to 1", |n| (0.0..=1.0).contains(&n))?,
            split,
            merged: 1,
        })
    }

    /// Returns the order of the threads, or the reason why it can't be simulated.
    fn threads(
        &self,
        smt: u64,
        platform: &Platform,
    ) -> Result<Result<ThreadOrder, String>, ValidateError> {
        let machine = &platform.machine;
        let most = machine.sockets.as_ref().map_or(1, |sockets| sockets.threads_per_core());
        if smt > most {
            return Err(self.bad("smt", format!("1 to {most} on {}", platform.name)));
        }
        let placement = self.columns.1.map_or("", |at| self.values[at]);
        Ok(ThreadOrder::of(placement, smt, machine).ok_or_else(|| {
            format!("placed {placement:?}, an unknown order of threads (known are {ALLOWED})")
        }))
    }
}

#[cfg(test)]
mod tests;
