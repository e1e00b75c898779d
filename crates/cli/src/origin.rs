//! Describes the origin of records: this build, this computer, and the command line.

use crate::host;
use harness::run_record::Provenance;
use std::time::{SystemTime, UNIX_EPOCH};

/// Origin of all records of one command.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Description of the computer.
    pub host: String,
    /// Git commit of the build, or `unknown` without git. The suffix `-dirty` marks a build from modified sources.
    pub commit: &'static str,
    command_line: String,
}

impl Origin {
    /// Returns the origin with this computer, this build and this command.
    pub fn here() -> Origin {
        let words = std::env::args_os().skip(1);
        let words = words.map(|word| quoted(&word.to_string_lossy()));
        let command_line = [String::from("kilocore")].into_iter().chain(words);
        Origin {
            host: host::host(),
            commit: env!("KILOCORE_COMMIT"),
            command_line: command_line.collect::<Vec<_>>().join(" "),
        }
    }

    /// Returns the provenance of a measurement that begins now.
    pub fn provenance(&self) -> Provenance {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Provenance {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rustc: env!("KILOCORE_RUSTC").to_owned(),
            profile: env!("KILOCORE_PROFILE").to_owned(),
            date: date(since.as_secs()),
            command_line: self.command_line.clone(),
        }
    }
}

/// Returns a word in the form in which a shell takes it as one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Converts seconds since 1970 to a date in UTC. The calendar repeats every 400 years. Years are taken to begin in
/// March, so that the leap day is the last day of a year.
fn date(seconds: u64) -> String {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    // Days since 1 March of year 0.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, months have 31, 30, 31, 30, 31 days, and again. That is 153 days for five months.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + later;
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }

    #[test]
    fn words_come_back_as_they_were() {
        assert_eq!(quoted("--theta=0.6"), "--theta=0.6");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
