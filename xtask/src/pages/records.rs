//! Reads the raw records under `results/`.

use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The fields of a run record that the pages need. `docs/run-record.md` explains them.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    pub protocol: String,
    pub machine: String,
    pub cores: usize,
    pub repetitions: usize,
    pub warm_up_s: f64,
    pub measured_s: f64,
    pub throughput_txn_per_s: f64,
    pub abort_ratio: f64,
    #[serde(default)]
    pub latency_ns: Latency,
    pub steady: Option<bool>,
    pub littles_law: Option<LittlesLaw>,
    pub in_flight: Option<InFlight>,
    pub admission: Option<Admission>,
    pub operations_per_wall_s: Option<f64>,
    pub commit: String,
    pub host: String,
}

/// Latencies in nanoseconds. Those that are not known are missing.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Latency {
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
    #[serde(default)]
    pub at_least: Vec<String>,
}

/// Transactions in flight at the end.
#[derive(Clone, Debug, Deserialize)]
pub struct InFlight {
    pub oldest_ns: f64,
}

/// Limit on the number of transactions.
#[derive(Clone, Debug, Deserialize)]
pub struct Admission {
    pub limits_at_end: Vec<u64>,
}

/// Result of the check by Little's law.
#[derive(Clone, Debug, Deserialize)]
pub struct LittlesLaw {
    pub holds: bool,
}

impl Record {
    /// Returns the record's marks as the program's tables have them: `~` for a result that is not known to be steady,
    /// `#` for one whose mean latency can't be right by Little's law.
    pub fn marks(&self) -> String {
        let unsteady = if self.steady == Some(true) { "" } else { "~" };
        let lawless = self.littles_law.as_ref().is_some_and(|law| !law.holds);
        format!("{unsteady}{}", if lawless { "#" } else { "" })
    }
}

/// The folder `results/`.
pub struct Results {
    folder: PathBuf,
}

impl Results {
    pub fn of(root: &Path) -> Results {
        Results { folder: root.join("results") }
    }

    fn text(&self, file: &str) -> Result<String, String> {
        let path = self.folder.join(file);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns the JSON value in a file.
    pub fn value(&self, file: &str) -> Result<Value, String> {
        serde_json::from_str(&self.text(file)?).map_err(|error| format!("results/{file}: {error}"))
    }

    /// Returns the JSON values in the lines of a file.
    pub fn lines(&self, file: &str) -> Result<Vec<Value>, String> {
        let text = self.text(file)?;
        let parsed = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
        parsed.map_err(|error| format!("results/{file}: {error}"))
    }

    /// Returns the run records in a file.
    pub fn records(&self, file: &str) -> Result<Runs, String> {
        let records: Result<Vec<Record>, _> = serde_json::from_value(self.value(file)?);
        let records = records.map_err(|error| format!("results/{file}: {error}"))?;
        Ok(Runs { file: file.to_owned(), records })
    }
}

/// The run records of a file.
#[derive(Clone, Debug)]
pub struct Runs {
    pub file: String,
    pub records: Vec<Record>,
}

impl Runs {
    /// Returns the protocols, in the order of the file.
    pub fn protocols(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for record in &self.records {
            if !names.contains(&record.protocol) {
                names.push(record.protocol.clone());
            }
        }
        names
    }

    /// Returns the numbers of cores, ascending.
    pub fn cores(&self) -> Vec<usize> {
        let mut cores: Vec<usize> = self.records.iter().map(|record| record.cores).collect();
        cores.sort_unstable();
        cores.dedup();
        cores
    }

    /// Returns the record of a protocol on `cores` cores, if there is one.
    pub fn find(&self, protocol: &str, cores: usize) -> Option<&Record> {
        self.records.iter().find(|record| record.protocol == protocol && record.cores == cores)
    }

    /// Returns the record of a protocol on `cores` cores.
    pub fn get(&self, protocol: &str, cores: usize) -> Result<&Record, String> {
        let missing = || format!("results/{}: no record of {protocol}, {cores} cores", self.file);
        self.find(protocol, cores).ok_or_else(missing)
    }

    /// Returns these records and those of `other`.
    pub fn and(mut self, other: Runs) -> Runs {
        self.records.extend(other.records);
        self
    }

    /// Returns the records for which `wanted` holds.
    pub fn only(&self, wanted: impl Fn(&Record) -> bool) -> Runs {
        let records = self.records.iter().filter(|record| wanted(record)).cloned().collect();
        Runs { file: self.file.clone(), records }
    }
}
