//! Where records come from: this build, on this computer, started so.

use crate::host;
use harness::record::Provenance;
use std::time::{SystemTime, UNIX_EPOCH};

/// The same for all records of one command.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The computer.
    pub host: String,
    /// Commit of the build, `-dirty` behind it if the sources were others, `unknown` without git.
    pub commit: &'static str,
    command_line: String,
}

impl Origin {
    /// This computer, this build and this command.
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

    /// Of what is measured from now on.
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

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Seconds since 1970 as a date in UTC. The calendar repeats every 400 years; a year that begins in March has its leap day last.
fn date(seconds: u64) -> String {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    // Days since the first of March of the year 0.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Of March, April, ...: 31, 30, 31, 30, 31, and again, which is 153 days for five months.
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
