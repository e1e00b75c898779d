//! Writes the outcome of a figure: as text, JSON, HTML, and as an overview of many figures.

mod cells;
mod note;
mod overview;
mod page;
mod text;

pub use overview::{overview_html, overview_markdown};
pub use page::page;
pub use text::{headline, to_text};

use super::data::lines_of;
use super::figure::folder;
use super::map::findings;
use super::{Data, Effort, Figure, Judged, Kind, Line, Paper, Verdict, picture};
use harness::run_record::RunRecord;
use picture::Picture;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the outcome's form.
const SCHEMA_VERSION: u32 = 1;

/// Outcome of a figure, in the form of its file `verdict.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Version of this form.
    pub schema_version: u32,
    /// Name of the paper.
    pub paper: String,
    /// Title, authors and place of publication of the paper.
    pub paper_title: String,
    /// Number of the figure.
    pub figure: String,
    /// Title of the figure in our words.
    pub title: String,
    /// Section of the paper.
    pub section: String,
    /// Amount of simulation.
    pub effort: Effort,
    /// Command that writes the figure anew.
    pub command: String,
    /// Commit of the program that simulated the runs.
    pub commit: String,
    /// Number of the figure's runs that can be simulated.
    pub runs: usize,
    /// Numbers of the runs that can't be simulated yet, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_simulated: BTreeMap<String, usize>,
    /// Number of those that have a record.
    pub measured: usize,
    /// Number of those whose record is known to be steady.
    pub steady: usize,
    /// Statements and verdicts, in the paper's order.
    pub statements: Vec<Judged>,
    /// Findings from our records, a sentence each. Only maps have some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// A figure with its records.
pub struct Regenerated {
    /// Description of the figure.
    pub figure: &'static Figure,
    /// Amount of simulation.
    pub effort: Effort,
    /// Records by series.
    pub lines: Vec<Line>,
    /// The outcome.
    pub outcome: Outcome,
}

impl Regenerated {
    /// Judges `figure` by those of `records` that belong to it.
    pub fn of(
        figure: &'static Figure,
        effort: Effort,
        records: &[RunRecord],
        command: &str,
    ) -> Regenerated {
        let lines = lines_of(figure, effort, records);
        let paper = Paper::named(figure.paper).map_or("", |paper| paper.title);
        let found = || lines.iter().flat_map(|line| &line.points).map(|(_, record)| record);
        let places = figure.places(effort);
        let mut not_simulated = BTreeMap::new();
        for why in places.iter().filter_map(|place| place.point.unable()) {
            *not_simulated.entry(why).or_default() += 1;
        }
        let outcome = Outcome {
            schema_version: SCHEMA_VERSION,
            paper: figure.paper.to_owned(),
            paper_title: paper.to_owned(),
            figure: figure.number.to_owned(),
            title: figure.title.to_owned(),
            section: figure.section.to_owned(),
            effort,
            command: command.to_owned(),
            commit: found().map(|record| record.commit.clone()).next().unwrap_or_default(),
            runs: places.len() - not_simulated.values().sum::<usize>(),
            not_simulated,
            measured: found().count(),
            steady: found().filter(|record| record.steady == Some(true)).count(),
            statements: figure
                .checks
                .iter()
                .map(|check| check.judged(figure, &Data::of(&lines)))
                .collect(),
            findings: found_by(figure, &lines),
        };
        Regenerated { figure, effort, lines, outcome }
    }

    /// Returns whether there is nothing to show: neither a record nor a measured value.
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.points.is_empty() && line.measured.is_empty())
    }

    /// Draws the figure.
    pub fn picture(&self) -> Picture {
        picture::draw(self.figure, &self.lines, &note::note(self))
    }
}

/// Returns the findings of the figure's maps. The group of a map is the name of its machine.
fn found_by(figure: &Figure, lines: &[Line]) -> Vec<String> {
    let of_panel = |panel: &super::Panel| {
        let own: Vec<&Line> = lines.iter().filter(|line| line.group == panel.group).collect();
        match panel.kind {
            Kind::Map(grid) => findings(grid, panel.group, &own),
            _ => Vec::new(),
        }
    };
    figure.panels.iter().flat_map(of_panel).collect()
}

impl Outcome {
    /// Returns the number of statements with `verdict`.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.statements.iter().filter(|judged| judged.verdict == verdict).count()
    }

    /// Returns the outcome as JSON.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("names, numbers and lists");
        text.push('\n');
        text
    }

    /// Returns the name of the figure's folder.
    pub fn folder(&self) -> String {
        folder(&self.paper, &self.figure)
    }
}
