//! Explanations of statements that do not hold in our records.
//!
//! `data/explanations.toml` has them: a table for each figure, and in it an entry for each statement, which is named by
//! its beginning. An explanation is shown only where the statement does not hold.

use super::Figure;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

const TEXT: &str = include_str!("../../data/explanations.toml");

/// Explanations by figure (`"abyss 8a"`) and by the beginning of the statement.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Explanations(BTreeMap<String, BTreeMap<String, String>>);

fn explanations() -> &'static Explanations {
    static ALL: OnceLock<Explanations> = OnceLock::new();
    ALL.get_or_init(|| toml::from_str(TEXT).expect("the file is tested"))
}

/// Returns the reason why `statement` about `figure` does not hold here, or an empty text if none is known.
pub(super) fn explanation(figure: &Figure, statement: &str) -> String {
    let entries = explanations().0.get(&format!("{} {}", figure.paper, figure.number));
    let found =
        entries.into_iter().flatten().find(|(beginning, _)| statement.starts_with(*beginning));
    found.map_or(String::new(), |(_, text)| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::PAPERS;
    use super::*;

    #[test]
    fn each_explanation_is_of_one_statement() {
        for (name, entries) in &explanations().0 {
            let mut figures = PAPERS.iter().flat_map(|paper| paper.figures);
            let figure =
                figures.find(|figure| format!("{} {}", figure.paper, figure.number) == *name);
            let figure = figure.unwrap_or_else(|| panic!("there is no figure {name}"));
            for (beginning, text) in entries {
                let is_meant =
                    |check: &&super::super::Check| check.statement.starts_with(beginning);
                let meant = figure.checks.iter().filter(is_meant).count();
                assert!(
                    meant == 1 && !text.trim().is_empty(),
                    "{name}: {beginning}: {meant} statements"
                );
            }
        }
    }
}
