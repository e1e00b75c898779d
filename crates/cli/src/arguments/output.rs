//! Writes records to files or to standard output.

use crate::destination::is_stdout;
use crate::failure::Failure;
use crate::screen;
use harness::run_record::{RunRecord, read_json, to_csv, to_json, write_csv, write_json};
use std::path::PathBuf;

/// Destinations for records: files, or standard output.
#[derive(Clone, Debug)]
pub struct Outputs {
    json: Option<PathBuf>,
    csv: Option<PathBuf>,
}

impl Outputs {
    /// Returns the destinations that options name. [`crate::destination::check`] must have accepted them.
    pub fn new(json: Option<PathBuf>, csv: Option<PathBuf>) -> Outputs {
        Outputs { json, csv }
    }

    /// Returns whether records go to standard output. Nothing else may then be written there.
    pub fn take_stdout(&self) -> bool {
        [&self.json, &self.csv].into_iter().flatten().any(|path| is_stdout(path))
    }

    /// Returns the records that an earlier command left in the JSON file, or none if the file does not exist.
    pub fn earlier(&self) -> Result<Vec<RunRecord>, Failure> {
        match &self.json {
            Some(path) if is_stdout(path) => Err(Failure::refused(
                "--resume: --json is standard output; allowed: a file to take records from",
            )),
            Some(path) if path.exists() => Ok(read_json(path)?),
            _ => Ok(Vec::new()),
        }
    }

    /// Writes `records`, of which the last is new. Called after each measurement, so that no record can be lost. A
    /// file then holds all records, or all but the last. Standard output receives only the last.
    pub fn keep(&self, records: &[RunRecord]) -> Result<(), Failure> {
        if let (Some(path), Some(last)) = (&self.json, records.last()) {
            match is_stdout(path) {
                true => {
                    let before = if records.len() == 1 { "[\n" } else { ",\n" };
                    screen::say(&format!("{before}{}", element(last)))?;
                }
                false => write_json(path, records)?,
            }
        }
        match &self.csv {
            Some(path) if !is_stdout(path) => Ok(write_csv(path, records)?),
            _ => Ok(()),
        }
    }

    /// Writes the remaining output when there are no more records.
    pub fn close(&self, records: &[RunRecord]) -> Result<(), Failure> {
        if self.json.as_deref().is_some_and(is_stdout) {
            screen::say(if records.is_empty() { "[]\n" } else { "\n]\n" })?;
        }
        // The columns depend on all records, so CSV is written to standard output only at the end.
        if self.csv.as_deref().is_some_and(is_stdout) {
            screen::say(&to_csv(records))?;
        }
        Ok(())
    }
}

/// Returns a record as an element of the array that [`to_json`] writes.
fn element(record: &RunRecord) -> String {
    let array = to_json(std::slice::from_ref(record));
    array.trim_start_matches("[\n").trim_end_matches("\n]\n").to_owned()
}
