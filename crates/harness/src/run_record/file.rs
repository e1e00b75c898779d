//! Reads and writes files of records. A file is written completely or not at all.

use super::{RunRecord, SCHEMA_VERSION, to_csv};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Error of reading or writing a file of records, with the path and the reason in one line.
#[derive(Debug)]
pub struct RecordError {
    /// Path of the file.
    pub path: PathBuf,
    /// Reason, as a phrase that continues "cannot".
    pub failure: String,
}

impl RecordError {
    fn new(path: &Path, failure: impl fmt::Display) -> RecordError {
        RecordError { path: path.to_owned(), failure: failure.to_string() }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot {}", self.path.display(), self.failure)
    }
}

impl std::error::Error for RecordError {}

/// Returns records as an indented JSON array.
pub fn to_json(records: &[RunRecord]) -> String {
    let mut text = serde_json::to_string_pretty(records).expect("a record is plain data");
    text.push('\n');
    text
}

/// Writes records as a JSON array.
pub fn write_json(path: &Path, records: &[RunRecord]) -> Result<(), RecordError> {
    write_whole(path, to_json(records).as_bytes())
}

/// Writes records as CSV.
pub fn write_csv(path: &Path, records: &[RunRecord]) -> Result<(), RecordError> {
    write_whole(path, to_csv(records).as_bytes())
}

/// Reads a JSON array of records, or returns the reason why it cannot be read.
pub fn read_json(path: &Path) -> Result<Vec<RunRecord>, RecordError> {
    let text = fs::read_to_string(path)
        .map_err(|e| RecordError::new(path, format_args!("be read: {e}")))?;
    let values: Vec<serde_json::Value> = serde_json::from_str(&text)
        .map_err(|e| RecordError::new(path, format_args!("be read as an array of records: {e}")))?;
    let record = |(i, value): (usize, serde_json::Value)| {
        let version = value.get("schema_version").and_then(serde_json::Value::as_u64);
        // All fields of earlier versions keep their meaning.
        if !version.is_some_and(|known| (1..=u64::from(SCHEMA_VERSION)).contains(&known)) {
            let version = version.map_or("none".into(), |v| v.to_string());
            return Err(RecordError::new(
                path,
                format_args!(
                    "be read: record {i} has schema version {version}, allowed: 1 to {SCHEMA_VERSION}"
                ),
            ));
        }
        serde_json::from_value(value)
            .map_err(|e| RecordError::new(path, format_args!("be read: record {i}: {e}")))
    };
    values.into_iter().enumerate().map(record).collect()
}

/// Checks whether `path` can be written later, without changing it. Meant to be called before a long run.
pub fn check_writable(path: &Path) -> Result<(), RecordError> {
    let failed = |e| RecordError::new(path, format_args!("be written: {e}"));
    match destination(path).map_err(failed)? {
        Destination::Stream(path) => File::options().write(true).open(path).map(drop),
        Destination::Regular(path) => {
            let partial = partial_beside(&path);
            File::create(&partial).and_then(|_| fs::remove_file(&partial))
        }
    }
    .map_err(failed)
}

/// Writes a file so that it holds either all of `bytes` or its previous contents, even after an error.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let written = destination(path).and_then(|destination| match destination {
        Destination::Stream(path) => File::options().write(true).open(path)?.write_all(bytes),
        Destination::Regular(path) => replace(&path, bytes),
    });
    written.map_err(|e| RecordError::new(path, format_args!("be written: {e}")))
}

/// Destination of bytes for a path.
enum Destination {
    /// A file that exists or will be created, with links resolved.
    Regular(PathBuf),
    /// A terminal, a pipe or `/dev/null`, which must not be replaced by a file.
    Stream(PathBuf),
}

fn destination(path: &Path) -> io::Result<Destination> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(e) if e.kind() == io::ErrorKind::NotFound && path.file_name().is_some() => {
            return Ok(Destination::Regular(path.to_owned()));
        }
        Err(e) => return Err(e),
    };
    if found.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !found.is_file() {
        return Ok(Destination::Stream(path.to_owned()));
    }
    if found.permissions().readonly() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    fs::canonicalize(path).map(Destination::Regular)
}

/// Returns the path of a temporary file in the same folder, so that renaming it never becomes copying.
fn partial_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.partial", std::process::id()))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = partial_beside(path);
    let write = || {
        let mut file = File::create(&partial)?;
        if let Ok(existing) = fs::metadata(path) {
            file.set_permissions(existing.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    let written = write();
    if written.is_err() {
        // Only the first error is reported.
        let _ = fs::remove_file(&partial);
    }
    written
}
