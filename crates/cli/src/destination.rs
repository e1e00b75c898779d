//! Checks the files that a command is about to write. One rule holds for all commands: a file that the command line
//! names is not overwritten without `--force`.

use crate::failure::Failure;
use harness::run_record::check_writable;
use std::fs;
use std::path::{Path, PathBuf};

/// Treatment of files that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// They are refused. The text names an option besides `--force` with which they are not, or is empty.
    Refused(&'static str),
    /// They are replaced.
    Replaced,
}

impl Existing {
    /// Returns the treatment for a command that has `--force` alone.
    pub fn forced(force: bool) -> Existing {
        if force { Existing::Replaced } else { Existing::Refused("") }
    }
}

/// Returns whether `path` stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Checks the files that options name, before anything is measured: they differ, none of them would be overwritten
/// by mistake, and all can be written. The name `-` stands for standard output.
pub fn check(named: &[(&str, Option<&Path>)], existing: Existing) -> Result<(), Failure> {
    let named: Vec<(&str, &Path)> =
        named.iter().filter_map(|(option, path)| Some((*option, (*path)?))).collect();
    for (at, (option, path)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..at].iter().find(|(_, other)| place(other) == place(path))
        {
            let path = path.display();
            return Err(Failure::refused(format!(
                "{other} and {option} are both {path}; allowed: different files, - for one of them"
            )));
        }
    }
    for (option, path) in named.into_iter().filter(|(_, path)| !is_stdout(path)) {
        // Devices and pipes keep nothing that could be lost.
        if path.is_file() {
            refuse(option, path, "the file exists", existing)?;
        }
        check_writable(path)?;
    }
    Ok(())
}

/// Fails unless existing files are replaced. `found` says what exists at `path`, which `option` names.
pub fn refuse(option: &str, path: &Path, found: &str, existing: Existing) -> Result<(), Failure> {
    let Existing::Refused(other) = existing else { return Ok(()) };
    let other = if other.is_empty() { String::new() } else { format!("{other}, ") };
    Err(Failure::refused(format!(
        "{option} {}: {found}; allowed: --force to overwrite, {other}or another name",
        path.display()
    )))
}

/// Returns the names of the files in `folder`. Returns none if it can't be read or does not exist.
pub fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the path with all links resolved, as far as it exists, so that two spellings of one file are equal.
fn place(path: &Path) -> PathBuf {
    if let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match (fs::canonicalize(folder.unwrap_or(Path::new("."))), path.file_name()) {
        (Ok(folder), Some(name)) if !is_stdout(path) => folder.join(name),
        _ => path.to_owned(),
    }
}
