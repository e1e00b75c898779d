//! Reads the rows of a measured `throughput.csv`.

use super::error::ValidateError;
use protocols::{ProtocolOptions, registry};
use serde::{Deserialize, Serialize};
use simulator::Simulated;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Text of the measurements that are compiled into the program.
const CARRIED: &str = include_str!("../../data/full-story/throughput.csv");

/// Platforms of the measurements, each with its machine file if there is one.
const PLATFORMS: &[(&str, Option<&str>)] =
    &[("hpe", Some("superdome-flex")), ("power8", None), ("power9", None), ("power9ri", None)];

/// Schemes of the measurements. The registry knows which of them are implemented.
const SCHEMES: &[&str] =
    &["NO_WAIT", "WAIT_DIE", "DL_DETECT", "TIMESTAMP", "MVCC", "OCC", "HSTORE", "SILO", "TICTOC"];

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

/// Builds that need options that the engine does not have yet.
const OTHER_VARIANTS: &[&str] = &[
    "original",
    "hw-clock",
    "hw-clock+full-schema",
    "hw-clock+full-schema+inserts",
    "opt0",
    "opt1",
    "opt2",
    "opt3",
    "opt4",
    "opt5",
    "opt6",
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
    /// Returns the machine file of the row's platform.
    pub fn machine(&self) -> &'static str {
        let known = PLATFORMS.iter().find(|(name, _)| *name == self.platform);
        known.and_then(|(_, machine)| *machine).expect("rows without a machine file are skipped")
    }

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
            Ok(text) => Measurements::parse(&text, &name),
            Err(error) => Err(ValidateError::Unreadable { file: name, reason: error.to_string() }),
        }
    }

    /// Parses rows from the text of `file`. Values contain no commas, so quotes are not supported.
    pub fn parse(text: &str, file: &str) -> Result<Measurements, ValidateError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let header: Vec<&str> =
            lines.next().map_or(vec![], |(_, line)| line.split(',').map(str::trim).collect());
        let columns = Columns::find(&header, file)?;
        let (mut rows, mut skipped, mut any) =
            (Vec::<Measurement>::new(), Skipped::default(), false);
        for (at, line) in lines {
            any = true;
            let values: Vec<&str> = line.split(',').map(str::trim).collect();
            let (line, width) = (at + 1, header.len());
            if values.len() != width {
                let (file, values) = (file.to_owned(), values.len());
                return Err(ValidateError::RaggedLine { file, line, values, columns: width });
            }
            match (Line { file, line, columns: &columns, values: &values }).measurement()? {
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
        Ok(Measurements { file: file.to_owned(), rows, skipped })
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

/// Positions of the needed columns.
struct Columns([usize; NEEDED.len()]);

impl Columns {
    fn find(header: &[&str], file: &str) -> Result<Columns, ValidateError> {
        let at = NEEDED.map(|name| header.iter().position(|column| *column == name));
        let missing: Vec<_> =
            NEEDED.iter().zip(&at).filter(|(_, at)| at.is_none()).map(|(name, _)| *name).collect();
        if !missing.is_empty() {
            return Err(ValidateError::MissingColumns { file: file.to_owned(), missing });
        }
        Ok(Columns(at.map(|at| at.expect("nothing is missing"))))
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

    /// Returns the row, or the reason why it can't be simulated.
    fn measurement(&self) -> Result<Result<Measurement, String>, ValidateError> {
        let (platform, scheme, variant) =
            (self.text("platform"), self.text("scheme"), self.text("variant"));
        let names = |names: Vec<&str>| names.join(", ");
        let Some((_, machine)) = PLATFORMS.iter().find(|(name, _)| *name == platform) else {
            let known = names(PLATFORMS.iter().map(|(name, _)| *name).collect());
            return Err(self.bad("platform", known));
        };
        let here = is_here(scheme);
        if !here && !SCHEMES.contains(&scheme) {
            return Err(self.bad("scheme", names(SCHEMES.to_vec())));
        }
        let modelled = SIMULATED_VARIANTS.iter().any(|(name, _)| *name == variant);
        if !modelled && !OTHER_VARIANTS.contains(&variant) {
            let all = SIMULATED_VARIANTS.iter().map(|(name, _)| *name);
            return Err(
                self.bad("variant", names(all.chain(OTHER_VARIANTS.iter().copied()).collect()))
            );
        }
        let numa = ["all", "local", "1hop", "2hop", "remote"];
        if !numa.contains(&self.text("numa")) {
            return Err(self.bad("numa", numa.join(", ")));
        }
        let split = match self.text("split") {
            "anchor" => Role::Anchor,
            "calib" => Role::Scored,
            _ => return Err(self.bad("split", "anchor, calib")),
        };
        let percent = |column| self.number(column, "0 to 100", |n| (0.0..=100.0).contains(&n));
        let row = Measurement {
            platform: platform.to_owned(),
            variant: variant.to_owned(),
            scheme: scheme.to_owned(),
            warehouses: self.count("warehouses")?,
            cores: self.count("cores")?,
            numa: self.text("numa").to_owned(),
            remote_lines_pct: percent("remote_neworder_pct")?,
            remote_payments_pct: percent("remote_payment_pct")?,
            throughput_txn_per_s: self
                .number("throughput_txn_per_s", "more than 0", |n| n > 0.0)?,
            abort_ratio: self.number("abort_ratio", "0 to 1", |n| (0.0..=1.0).contains(&n))?,
            split,
            merged: 1,
        };
        let smt = self.count("smt")?;
        Ok(match (machine, here, modelled) {
            (None, ..) => Err(format!("on {platform}, which has no machine file yet")),
            (_, false, _) => Err(format!("with {scheme}, which is not here yet")),
            (_, _, false) => Err(format!("of the build {variant}, whose options are not here yet")),
            (Some(_), true, true) if smt != 2 => Err(format!("with {smt} threads a core")),
            (Some(_), true, true) => Ok(row),
        })
    }
}

#[cfg(test)]
mod tests;
