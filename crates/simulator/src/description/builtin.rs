//! Machine files that are part of the program, and loading by name or path.

use super::{DescriptionError, MachineDescription};

const BUILTIN: [(&str, &str); 6] = [
    ("generic", include_str!("../../machines/generic.toml")),
    ("graphite", include_str!("../../machines/graphite.toml")),
    ("haswell-ex", include_str!("../../machines/haswell-ex.toml")),
    ("power8", include_str!("../../machines/power8.toml")),
    ("power9", include_str!("../../machines/power9.toml")),
    ("superdome-flex", include_str!("../../machines/superdome-flex.toml")),
];

/// Returns the names of the built-in machines.
pub fn builtin_names() -> Vec<&'static str> {
    BUILTIN.iter().map(|(name, _)| *name).collect()
}

impl MachineDescription {
    /// Returns the text of a built-in machine file, comments and sources included.
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        BUILTIN.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
    }

    /// Returns the text of a built-in machine file, or of the machine file at a path, or none if it cannot be read.
    pub fn text(name_or_path: &str) -> Option<String> {
        let builtin = Self::builtin_text(name_or_path).map(str::to_owned);
        builtin.or_else(|| std::fs::read_to_string(name_or_path).ok())
    }

    /// Loads a built-in machine by its name, or a machine file by its path.
    pub fn load(name_or_path: &str) -> Result<MachineDescription, DescriptionError> {
        if let Some(text) = Self::builtin_text(name_or_path) {
            return Self::parse(text, &format!("{name_or_path}.toml"));
        }
        let looks_like_a_path = name_or_path.ends_with(".toml") || name_or_path.contains('/');
        if !looks_like_a_path && !std::path::Path::new(name_or_path).is_file() {
            return Err(DescriptionError::Unknown {
                name: name_or_path.to_owned(),
                nearest: nearest(name_or_path),
                known: builtin_names(),
            });
        }
        match std::fs::read_to_string(name_or_path) {
            Ok(text) => Self::parse(&text, name_or_path),
            Err(error) => Err(DescriptionError::Unreadable {
                file: name_or_path.to_owned(),
                reason: error.to_string(),
            }),
        }
    }
}

/// Returns the built-in name that differs from `name` in the fewest letters.
fn nearest(name: &str) -> &'static str {
    let names = BUILTIN.iter().map(|(known, _)| *known);
    names.min_by_key(|known| distance(name.as_bytes(), known.as_bytes())).unwrap_or("")
}

/// Returns Levenshtein's distance, computed one row at a time.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
