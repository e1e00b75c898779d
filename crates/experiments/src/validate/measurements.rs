//! Reads the rows of a measured `throughput.csv`.

use super::builds::Build;
use super::error::ValidateError;
use super::table::{Line, Table};
use super::thread_order::{ALLOWED, ThreadOrder};
use super::{Breakdowns, Platform, Platforms};
use protocols::{ProtocolOptions, registry};
use serde::{Deserialize, Serialize};
use simulator::{MachineDescription, Simulated};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Text of the measurements that are compiled into the program.
pub(crate) const CARRIED: &str = include_str!("../../data/full-story/throughput.csv");

/// Returns whether a scheme is implemented.
fn is_here(scheme: &str) -> bool {
    let all = registry::declarations::<Simulated>(&ProtocolOptions::default());
    all.iter().any(|declaration| declaration.name == scheme)
}

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
    /// Returns the options of the row's build.
    pub(super) fn build(&self) -> Build {
        Build::named(&self.variant).expect("rows of unknown builds are skipped")
    }

    /// Returns whether warehouses and items bypass concurrency control.
    pub fn bypasses(&self) -> bool {
        self.build().bypasses()
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
    /// Measured shares of time.
    pub breakdowns: Breakdowns,
    /// Rows that can't be simulated yet.
    pub skipped: Skipped,
}

impl Measurements {
    /// Returns the rows compiled into the program, a part of those of "The Full Story of 1000 Cores" (Bang, May,
    /// Petrov, Binnig).
    pub fn carried() -> Measurements {
        let file = "crates/experiments/data/full-story/throughput.csv";
        let rows = Measurements::parse(CARRIED, file);
        let rows = rows.expect("the rows in the program are well-formed");
        Measurements { breakdowns: Breakdowns::carried(&rows), ..rows }
    }

    /// Reads the `throughput.csv` in the directory `path`, and the other files of the directory if there are any.
    pub fn read(path: &Path) -> Result<Measurements, ValidateError> {
        let file = path.join("throughput.csv");
        let name = file.display().to_string();
        match std::fs::read_to_string(&file) {
            Ok(text) => {
                let rows = Measurements::parse_on(&text, &name, &Platforms::read(path)?)?;
                Ok(Measurements { breakdowns: Breakdowns::read(path, &rows)?, ..rows })
            }
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

    /// Returns the machine of a platform that has rows.
    pub(super) fn machine_of(&self, platform: &str) -> &MachineDescription {
        let own = self.platforms.iter().find(|other| other.name == platform);
        &own.expect("rows on unknown platforms are skipped").machine
    }

    /// Parses rows from the text of `file`.
    fn parse_on(text: &str, file: &str, known: &Platforms) -> Result<Measurements, ValidateError> {
        let table = Table::parse(text, file, &NEEDED, &[PLACEMENT])?;
        let (mut rows, mut skipped) = (Vec::<Measurement>::new(), Skipped::default());
        let mut found = Found { known, platforms: BTreeMap::new() };
        for line in table.lines() {
            match measurement(&line?, &mut found)? {
                Ok(row) => merge(&mut rows, row),
                Err(why) => skipped.add(why),
            }
        }
        if rows.is_empty() {
            let (file, skipped) = (file.to_owned(), skipped.to_string());
            return Err(ValidateError::NothingLeft { file, skipped });
        }
        let used = |platform: &Platform| rows.iter().any(|row| row.platform == platform.name);
        let platforms = found.platforms.into_values().flatten().filter(used).collect();
        let breakdowns = Breakdowns::default();
        Ok(Measurements { file: file.to_owned(), rows, platforms, breakdowns, skipped })
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

/// Values that the column `numa` may have.
const NUMA: [&str; 5] = ["all", "local", "1hop", "2hop", "remote"];

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

/// Returns the row, or the reason why it can't be simulated. Fails if the row is malformed.
fn measurement(
    line: &Line<'_>,
    found: &mut Found<'_>,
) -> Result<Result<Measurement, String>, ValidateError> {
    let smt = line.count("smt")?;
    let mut row = values(line, smt)?;
    let Some(platform) = found.platform(&row.platform)? else {
        let names = found.known.names().join(", ");
        let name = &row.platform;
        return Ok(Err(format!("on {name}, which hardware.toml lacks (known are {names})")));
    };
    if !is_here(&row.scheme) {
        return Ok(Err(format!("with {}, which is not here yet", row.scheme)));
    }
    if Build::named(&row.variant).is_none() {
        return Ok(Err(format!("of the build {}, which is unknown", row.variant)));
    }
    match threads(line, smt, platform)? {
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
        return Err(line.bad("cores", allowed));
    }
    Ok(Ok(row))
}

/// Returns what the columns say. `smt` is the number of threads of a core.
fn values(line: &Line<'_>, smt: u64) -> Result<Measurement, ValidateError> {
    let split = match line.text("split") {
        "anchor" => Role::Anchor,
        "" => {
            return Err(line.bad("split", "anchor, or any other word for a row that is scored"));
        }
        _ => Role::Scored,
    };
    if !NUMA.contains(&line.text("numa")) {
        return Err(line.bad("numa", NUMA.join(", ")));
    }
    Ok(Measurement {
        platform: line.text("platform").to_owned(),
        variant: line.text("variant").to_owned(),
        scheme: line.text("scheme").to_owned(),
        warehouses: line.count("warehouses")?,
        cores: line.count("cores")?,
        threads: ThreadOrder { steps: vec![smt], first_socket: 0 },
        numa: line.text("numa").to_owned(),
        remote_lines_pct: line.percentage("remote_neworder_pct")?,
        remote_payments_pct: line.percentage("remote_payment_pct")?,
        throughput_txn_per_s: line.number("throughput_txn_per_s", "more than 0", |n| n > 0.0)?,
        abort_ratio: line.number("abort_ratio", "0 to 1", |n| (0.0..=1.0).contains(&n))?,
        split,
        merged: 1,
    })
}

/// Returns the order of the threads, or the reason why it can't be simulated.
fn threads(
    line: &Line<'_>,
    smt: u64,
    platform: &Platform,
) -> Result<Result<ThreadOrder, String>, ValidateError> {
    let machine = &platform.machine;
    let most = machine.sockets.as_ref().map_or(1, |sockets| sockets.threads_per_core());
    if smt > most {
        return Err(line.bad("smt", format!("1 to {most} on {}", platform.name)));
    }
    let placement = line.text(PLACEMENT);
    Ok(ThreadOrder::of(placement, smt, machine).ok_or_else(|| {
        format!("placed {placement:?}, an unknown order of threads (known are {ALLOWED})")
    }))
}

#[cfg(test)]
mod tests;
