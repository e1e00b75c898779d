//! Finds the machine that a platform's name means: a table of the directory's `hardware.toml`, turned into a machine
//! description.
//!
//! A name means, in this order:
//! 1. the table of the same name in the directory's `hardware.toml`. If the table says `same_as = "OTHER"`, it means OTHER;
//! 2. the table with the longest name that the platform's name begins with (`power9ri`, a build on `power9`). The report
//!    notes this;
//! 3. the same two rules in the `hardware.toml` that the program carries.

mod distances;
mod hardware;
mod row0;

use super::ValidateError;
pub(super) use hardware::capped;

use hardware::Hardware;
use machine::cold::Arc;
use simulator::MachineDescription;
use std::path::{Path, PathBuf};

/// Texts that are compiled into the program.
const CARRIED_HARDWARE: &str = include_str!("../../../data/full-story/hardware.toml");
const CARRIED_DISTANCES: &str = include_str!("../../../data/full-story/numa_slit.csv");
const CARRIED_FILE: &str = "crates/experiments/data/full-story/hardware.toml";

/// A measured platform and the machine that stands for it.
#[derive(Clone, Debug)]
pub struct Platform {
    /// Name in the rows.
    pub name: String,
    /// The whole machine.
    pub machine: Arc<MachineDescription>,
    /// Assumptions about the machine, each in one line.
    pub notes: Vec<String>,
}

impl Platform {
    /// Returns the number of the level of distance that a row calls `name`.
    pub fn level(&self, name: &str) -> Option<usize> {
        let levels = self.machine.sockets.as_ref().map_or(&[][..], |sockets| &sockets.level);
        levels.iter().position(|level| level.name == name)
    }
}

/// One `hardware.toml`, and the `numa_slit.csv` and `numa_row0.csv` beside it.
#[derive(Clone, Debug)]
struct Source {
    /// Path of the `hardware.toml`, for messages.
    file: String,
    tables: toml::Table,
    /// Text of the `numa_slit.csv`, or empty.
    distances: String,
    /// Text of the `numa_row0.csv`, or empty.
    row0: String,
    /// Directory from which paths of machine files start.
    directory: PathBuf,
}

/// All platforms that can be found.
#[derive(Clone, Debug)]
pub struct Platforms(Vec<Source>);

impl Platforms {
    /// Returns the platforms that the program carries.
    pub fn carried() -> Platforms {
        let carried = Source::parse(CARRIED_HARDWARE, CARRIED_FILE, CARRIED_DISTANCES.to_owned());
        Platforms(vec![carried.expect("the file in the program is well-formed")])
    }

    /// Returns the platforms of the directory `path`, if it has a `hardware.toml`, and those that the program carries.
    pub fn read(path: &Path) -> Result<Platforms, ValidateError> {
        let Platforms(mut sources) = Platforms::carried();
        if let Some(own) = Source::read(path)? {
            sources.insert(0, own);
        }
        Ok(Platforms(sources))
    }

    /// Returns the platform `name`, or none if no file knows it. Fails if its table is no machine.
    pub fn platform(&self, name: &str) -> Result<Option<Platform>, ValidateError> {
        for source in &self.0 {
            if let Some((table, mut notes)) = source.table_of(name)? {
                let hardware = source.hardware(&table)?;
                let machine = hardware.machine(source, &table, &mut notes)?;
                let (name, machine) = (name.to_owned(), Arc::new(machine));
                return Ok(Some(Platform { name, machine, notes }));
            }
        }
        Ok(None)
    }

    /// Returns the names of all platforms.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.0.iter().flat_map(Source::names).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Name of the table with the distances of all platforms.
const NUMA: &str = "numa";

impl Source {
    fn parse(text: &str, file: &str, distances: String) -> Result<Source, ValidateError> {
        let bad = |error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let problem = error.message().replace('\n', " ");
            ValidateError::BadHardware {
                file: file.to_owned(),
                key: format!("line {}", text[..at].matches('\n').count() + 1),
                problem,
            }
        };
        let tables: toml::Table = toml::from_str(text).map_err(bad)?;
        let directory = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
        let (file, row0) = (file.to_owned(), String::new());
        Ok(Source { file, tables, distances, row0, directory })
    }

    /// Reads the files in a directory, or returns none if there is no `hardware.toml`.
    fn read(path: &Path) -> Result<Option<Source>, ValidateError> {
        let read = |name: &str| match std::fs::read_to_string(path.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ValidateError::Unreadable {
                file: path.join(name).display().to_string(),
                reason: error.to_string(),
            }),
        };
        let Some(hardware) = read("hardware.toml")? else { return Ok(None) };
        let distances = read("numa_slit.csv")?.unwrap_or_default();
        let file = path.join("hardware.toml").display().to_string();
        let row0 = read("numa_row0.csv")?.unwrap_or_default();
        Ok(Some(Source { row0, ..Source::parse(&hardware, &file, distances)? }))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let tables = self.tables.iter().filter(|(name, value)| *name != NUMA && value.is_table());
        tables.map(|(name, _)| name.as_str())
    }

    /// Returns the name of the table that `platform` means, with notes, or none.
    fn table_of(&self, platform: &str) -> Result<Option<(String, Vec<String>)>, ValidateError> {
        let begins = self.names().filter(|name| platform.starts_with(name));
        let Some(mut table) = begins.max_by_key(|name| name.len()) else { return Ok(None) };
        let mut notes = Vec::new();
        if table != platform {
            notes.push(format!("{platform} has no table of its own: taken to be {table}"));
        }
        let own = &self.tables[table];
        if let Some(other) = own.get("same_as") {
            let named = other.as_str().and_then(|other| self.names().find(|name| *name == other));
            table = named.filter(|name| *name != table).ok_or_else(|| {
                let others: Vec<&str> = self.names().filter(|name| *name != table).collect();
                let problem = format!("{other} is not allowed; allowed: {}", others.join(", "));
                self.bad(&format!("{table}.same_as"), problem)
            })?;
            notes.push(format!("{platform} is {table}, as hardware.toml says"));
        }
        Ok(Some((table.to_owned(), notes)))
    }

    fn hardware(&self, table: &str) -> Result<Hardware, ValidateError> {
        let value = self.tables[table].clone();
        value
            .try_into()
            .map_err(|error: toml::de::Error| self.bad(table, error.message().replace('\n', " ")))
    }

    fn bad(&self, key: &str, problem: String) -> ValidateError {
        ValidateError::BadHardware { file: self.file.clone(), key: key.to_owned(), problem }
    }
}

#[cfg(test)]
mod tests;
