//! Reads what `kilocore list --json` lists: everything that can be explored, proved and caught.

use crate::{Outcome, breadth, prove, target_directory};
use serde::Deserialize;
use std::{path::Path, process::Command};

/// Parts of the list that the chores need.
#[derive(Deserialize)]
pub struct Listing {
    protocols: Vec<Protocol>,
    architectures: Vec<Architecture>,
    mutants: Vec<Planted>,
    workloads: Vec<Workload>,
    protocol_options: Vec<Knob>,
}

/// An option of one or more protocols.
#[derive(Deserialize)]
pub struct Knob {
    /// Name of the option.
    pub name: String,
    /// Allowed values.
    pub allowed: String,
    /// Usual value, or none if the option only sets other options.
    pub default: Option<String>,
    /// Names of the protocols that heed the option.
    pub protocols: Vec<String>,
}

#[derive(Deserialize)]
struct Protocol {
    name: String,
    isolation: String,
    /// Further isolation levels that the protocol can give.
    weaker: Vec<String>,
}

#[derive(Deserialize)]
struct Architecture {
    name: String,
    /// Protocols that run under it.
    protocols: Vec<Pair>,
}

/// A protocol under an architecture, with the isolation level that the pair promises. None if the architecture refuses the
/// protocol.
#[derive(Deserialize)]
struct Pair {
    name: String,
    isolation: Option<String>,
}

#[derive(Deserialize)]
struct Workload {
    name: String,
}

/// A planted bug.
#[derive(Deserialize)]
pub struct Planted {
    /// Name of the bug.
    pub name: String,
    /// Workload in which the bug shows.
    pub workload: String,
    /// Detector that must catch the bug.
    pub detector: String,
}

/// Reads the list of the program that was built for release, and prints how much is in it.
pub fn run(root: &Path, _: &[String]) -> Outcome {
    let program = target_directory(root).join("release").join("kilocore");
    let listing = Listing::of(&program)?;
    prove::every_workload_is_known(&listing)?;
    breadth::every_option_has_values(&listing)?;
    let (promising, workloads) = (listing.promising().len(), listing.workloads().count());
    println!(
        "{promising} protocols promise something, {workloads} workloads, {} planted bugs",
        listing.mutants.len()
    );
    Ok(())
}

impl Listing {
    /// Asks `program` for its list. Fails if a required kind is empty: a chore over an empty list would succeed.
    pub fn of(program: &Path) -> Result<Listing, String> {
        let output = Command::new(program).args(["list", "--json"]).output();
        let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
        Listing::read(&String::from_utf8_lossy(&output.stdout))
    }

    fn read(text: &str) -> Result<Listing, String> {
        let listing: Listing = serde_json::from_str(text)
            .map_err(|error| format!("`kilocore list --json`: {error}\n{text}"))?;
        let empty = [
            ("protocols that promise something", listing.promising().is_empty()),
            ("planted bugs", listing.mutants.is_empty()),
            ("workloads", listing.workloads.is_empty()),
        ];
        match empty.iter().find(|(_, empty)| *empty) {
            Some((what, _)) => Err(format!("`kilocore list --json` names no {what}\n{text}")),
            None => Ok(listing),
        }
    }

    /// Returns the names of the protocols that promise an isolation level.
    pub fn promising(&self) -> Vec<String> {
        let promise = self.protocols.iter().filter(|protocol| protocol.isolation != "none");
        promise.map(|protocol| protocol.name.clone()).collect()
    }

    /// Returns the names of the architectures.
    pub fn architectures(&self) -> impl Iterator<Item = &str> {
        self.architectures.iter().map(|architecture| architecture.name.as_str())
    }

    /// Returns the names of the protocols that promise an isolation level under the architecture.
    pub fn promising_under(&self, architecture: &str) -> Result<Vec<String>, String> {
        let found = self.architectures.iter().find(|known| known.name == architecture);
        let found = found.ok_or_else(|| format!("no architecture {architecture:?}"))?;
        let promises = |pair: &&Pair| pair.isolation.as_ref().is_some_and(|level| level != "none");
        let promise = found.protocols.iter().filter(promises);
        Ok(promise.map(|pair| pair.name.clone()).collect())
    }

    /// Returns the options that `protocol` heeds.
    pub fn knobs_of(&self, protocol: &str) -> impl Iterator<Item = &Knob> {
        let heeds = move |knob: &&Knob| knob.protocols.iter().any(|name| name == protocol);
        self.protocol_options.iter().filter(heeds)
    }

    /// Returns the isolation levels that `protocol` can give besides its own.
    pub fn weaker_levels(&self, protocol: &str) -> Result<&[String], String> {
        let found = self.protocols.iter().find(|p| p.name == protocol);
        let found = found.map(|protocol| &*protocol.weaker);
        found.ok_or_else(|| format!("no protocol {protocol:?}"))
    }

    /// Returns the planted bugs.
    pub fn planted(self) -> Vec<Planted> {
        self.mutants
    }

    /// Returns the names of the workloads.
    pub fn workloads(&self) -> impl Iterator<Item = &str> {
        self.workloads.iter().map(|workload| workload.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
        "architectures": [
            {"name": "one", "sites": 1, "protocols": [
                {"name": "A", "isolation": "none"}, {"name": "B", "isolation": "serializable"}
            ]},
            {"name": "parts", "sites": null, "protocols": [
                {"name": "A", "isolation": "serializable"}, {"name": "B", "refused": "it isolates"}
            ]}
        ],
        "machines": ["m"],
        "mutants": [{"detector": "Law", "name": "b", "workload": "w", "story": "s"}],
        "protocol_options": [
            {"name": "k", "allowed": "x, y", "default": "x", "protocols": ["A", "B"]},
            {"name": "l", "allowed": "off, on", "default": "on", "protocols": ["B"]},
            {"name": "preset", "allowed": "p", "default": null, "protocols": ["B"]}
        ],
        "protocols": [
            {"name": "A", "isolation": "none", "weaker": []},
            {"name": "B", "isolation": "serializable", "weaker": ["snapshot"]},
            {"name": "C", "isolation": "serializable", "weaker": []}
        ],
        "workloads": [{"name": "w", "options": []}]
    }"#;

    #[test]
    fn it_is_read_whatever_else_the_list_says() {
        let listing = Listing::read(TEXT).unwrap();
        assert_eq!(listing.promising(), ["B", "C"]);
        assert_eq!(listing.promising_under("one").unwrap(), ["B"]);
        assert_eq!(listing.promising_under("parts").unwrap(), ["A"]);
        assert!(listing.promising_under("none").unwrap_err().contains("\"none\""));
        assert_eq!(listing.workloads().collect::<Vec<_>>(), ["w"]);
        assert_eq!(listing.knobs_of("B").count(), 3);
        assert_eq!(listing.weaker_levels("B").unwrap(), ["snapshot"]);
        assert!(listing.weaker_levels("X").unwrap_err().contains("\"X\""));
        let settings = crate::breadth::settings_of(&listing, "B");
        let all = ["", "k=y", "l=off", "isolation=snapshot", "k=y l=off", "k=y isolation=snapshot"];
        assert_eq!(settings[..6], all);
        assert_eq!(settings[6], "l=off isolation=snapshot");
        assert!(settings[7..].iter().all(|setting| setting.starts_with("timestamps=")));
        let planted = listing.planted();
        assert_eq!((planted[0].name.as_str(), planted[0].detector.as_str()), ("b", "Law"));
    }

    #[test]
    fn a_list_of_nothing_is_an_error() {
        let without = TEXT.replace("serializable", "none");
        assert!(Listing::read(&without).err().unwrap().contains("promise something"));
        assert!(Listing::read("{}").err().unwrap().contains("protocols"));
        assert!(Listing::read("").is_err());
    }
}
