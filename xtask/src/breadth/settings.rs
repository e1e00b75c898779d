//! Lists the settings of a protocol: each difference from the usual setting, alone and in pairs.

use crate::listing::{Knob, Listing};
use std::fmt;

/// Values tried for numeric options: those that change the protocol's behaviour in a schedule of microseconds.
const NUMBERS: &[(&str, &[&str])] = &[
    ("deadlock-search", &["100ns", "100us"]),
    ("lock-timeout", &["off", "0ns", "1us"]),
    ("hot-threshold", &["0", "1", "64"]),
    ("lock-buckets", &["1", "2"]),
    ("retire", &["0", "50", "100"]),
    ("partitions", &["1", "2"]),
    ("contention-regulation", &["1ms"]),
    ("commit-locks", &["wait", "refuse", "bounded:26", "retry:26"]),
];

/// Sources of timestamps other than the usual counter.
const TIMESTAMPS: &[&str] = &["mutex", "batch3", "clock"];

/// Differences from the usual setting: `NAME=VALUE` of options, `isolation=LEVEL`, `timestamps=HOW`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting(Vec<String>);

impl Setting {
    /// Returns the setting with these differences.
    #[cfg(test)]
    pub fn of(choices: &[&str]) -> Setting {
        Setting(choices.iter().map(|choice| (*choice).to_owned()).collect())
    }

    /// Returns the number of differences.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the setting as command-line arguments.
    pub fn arguments(&self) -> Vec<String> {
        let argument = |choice: &String| match choice.split_once('=') {
            Some((name @ ("isolation" | "timestamps"), value)) => {
                [format!("--{name}"), value.to_owned()]
            }
            _ => ["--cc-option".to_owned(), choice.clone()],
        };
        self.0.iter().flat_map(argument).collect()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// Returns all settings of `protocol`: the usual one, each difference, and each pair of differences in different
/// options.
pub fn of(listing: &Listing, protocol: &str) -> Result<Vec<Setting>, String> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    for knob in listing.knobs_of(protocol) {
        // A preset has no default and only sets other options, so it is left out.
        if let Some(usual) = &knob.default {
            groups
                .push(values(knob, usual)?.map(|value| format!("{}={value}", knob.name)).collect());
        }
    }
    let levels = listing.weaker_levels(protocol)?;
    groups.push(levels.iter().map(|level| format!("isolation={level}")).collect());
    let mut settings = vec![Setting(Vec::new())];
    settings.extend(groups.iter().flatten().map(|choice| Setting(vec![choice.clone()])));
    for (at, group) in groups.iter().enumerate() {
        for other in groups[at + 1..].iter().flatten() {
            settings.extend(group.iter().map(|one| Setting(vec![one.clone(), other.clone()])));
        }
    }
    // Timestamp sources are tried alone. A protocol does not declare whether it draws timestamps. For protocols that
    // draw none, the source makes no difference.
    settings.extend(TIMESTAMPS.iter().map(|how| Setting(vec![format!("timestamps={how}")])));
    Ok(settings)
}

/// Returns the values of an option that are tried besides the usual one.
fn values<'a>(knob: &'a Knob, usual: &'a str) -> Result<impl Iterator<Item = &'a str>, String> {
    let numbers =
        NUMBERS.iter().find(|(name, _)| *name == knob.name).map(|(_, values)| values.to_vec());
    let listed: Vec<&str> = knob.allowed.split(", ").collect();
    // A list of words names all allowed values. A range of numbers does not.
    let is_list =
        listed.iter().all(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
    let values = match (numbers, is_list) {
        (Some(numbers), _) => numbers,
        (None, true) => listed,
        (None, false) => {
            let Knob { name, allowed, .. } = knob;
            return Err(format!(
                "the option {name:?} ({allowed}): nobody has said which values are to be explored"
            ));
        }
    };
    Ok(values.into_iter().filter(move |value| *value != usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob(name: &str, allowed: &str, default: Option<&str>) -> Knob {
        let (name, allowed) = (name.to_owned(), allowed.to_owned());
        Knob { name, allowed, default: default.map(str::to_owned), protocols: vec!["P".into()] }
    }

    #[test]
    fn values_are_all_words_or_the_numbers_that_were_chosen() {
        let of = |knob: Knob| {
            let usual = knob.default.clone().unwrap();
            values(&knob, &usual).map(|values| values.map(str::to_owned).collect::<Vec<_>>())
        };
        let words = of(knob("locks", "record, partition, central", Some("record")));
        assert_eq!(words.unwrap(), ["partition", "central"]);
        assert_eq!(of(knob("retire", "0 to 100", Some("50"))).unwrap(), ["0", "100"]);
        let error = of(knob("another", "1 to 9", Some("1"))).unwrap_err();
        assert!(error.contains("another"), "{error}");
    }

    #[test]
    fn settings_become_arguments() {
        let setting = Setting::of(&["locks=central", "isolation=snapshot", "timestamps=clock"]);
        let expected =
            ["--cc-option", "locks=central", "--isolation", "snapshot", "--timestamps", "clock"];
        assert_eq!(setting.arguments(), expected);
        assert_eq!(setting.to_string(), "locks=central isolation=snapshot timestamps=clock");
    }
}
