//! Where records go.

use crate::failure::Failure;
use crate::screen;
use harness::record::{RunRecord, check_writable, to_csv, to_json, write_csv, write_json};
use std::path::{Path, PathBuf};

/// Files, or standard output, for records.
#[derive(Clone, Debug)]
pub struct Outputs {
    json: Option<PathBuf>,
    csv: Option<PathBuf>,
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Outputs {
    /// Checks that everything can be written, so that nobody measures in vain.
    pub fn checked(json: Option<PathBuf>, csv: Option<PathBuf>) -> Result<Outputs, Failure> {
        if let (Some(json), Some(csv)) = (&json, &csv)
            && json == csv
        {
            let path = json.display();
            return Err(Failure::refused(format!(
                "--json and --csv are both {path}; allowed: different files, - for one of them"
            )));
        }
        for path in [&json, &csv].into_iter().flatten().filter(|path| !is_stdout(path)) {
            check_writable(path)?;
        }
        Ok(Outputs { json, csv })
    }

    /// Records go to standard output, so nothing else may.
    pub fn take_stdout(&self) -> bool {
        [&self.json, &self.csv].into_iter().flatten().any(|path| is_stdout(path))
    }

    /// Writes the records wherever they are wanted.
    pub fn write(&self, records: &[RunRecord]) -> Result<(), Failure> {
        match &self.json {
            Some(path) if is_stdout(path) => screen::say(&to_json(records))?,
            Some(path) => write_json(path, records)?,
            None => {}
        }
        match &self.csv {
            Some(path) if is_stdout(path) => screen::say(&to_csv(records))?,
            Some(path) => write_csv(path, records)?,
            None => {}
        }
        Ok(())
    }
}
