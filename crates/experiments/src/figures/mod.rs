//! Regenerates figures of papers: which runs a figure consists of, how it is drawn, and what the paper says of it.
//!
//! A [`Figure`] is data. Its series list the run of every [`Point`]. Its panels say what is drawn. Its checks are
//! the paper's statements as functions of the records ([`Data`]), which return a [`Verdict`]. The caller runs the
//! points, because it knows the program and the host that a record names.
//!
//! | file | contents |
//! | --- | --- |
//! | `figure` | figures, their series and their panels |
//! | `point` | what is simulated at a place: a setting, or a run of the measured program |
//! | `setting` | one run, from its words to its options |
//! | `program` | one run of the measured program of the 2022 paper, and what was measured in it |
//! | `view` | what a panel shows: values, ratios and differences, simulated and measured |
//! | `map` | the best pairs of an architecture and a protocol |
//! | `data` | values of records by series and place |
//! | `check` | statements and verdicts |
//! | `explanation` | reasons why statements do not hold here |
//! | `numbers` | comparisons of values that several statements use |
//! | `picture` | figures as SVG and PNG |
//! | `report` | verdicts as text, JSON, HTML and Markdown |
//! | `abyss`, `full_story`, `trireme` | the figures of a paper, a file for each family |

mod abyss;
mod check;
mod data;
mod explanation;
mod figure;
mod full_story;
mod lengths;
mod map;
mod numbers;
pub mod picture;
mod point;
mod program;
pub mod report;
mod setting;
mod trireme;
mod view;

pub use check::{Check, Finding, Judged, Judgement, Missing, Verdict};
pub use data::{Data, Line, Measure};
use figure::without_part;
pub use figure::{Comparison, Effort, Figure, Kind, Panel, Place, Scale, Series};
pub use lengths::{growth, slowness};
pub use map::Grid;
pub use point::Point;
pub use program::{Length, Measured, Program, Remote, fitted_work, work_cycles_of};
pub use setting::Setting;

/// A paper with its figures.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Name on the command line.
    pub name: &'static str,
    /// Title, authors and place of publication.
    pub title: &'static str,
    /// Figures, in the paper's order.
    pub figures: &'static [Figure],
}

/// All papers whose figures are described.
pub const PAPERS: &[Paper] = &[abyss::PAPER, full_story::PAPER, trireme::PAPER];

impl Paper {
    /// Returns the paper called `name`.
    pub fn named(name: &str) -> Option<&'static Paper> {
        PAPERS.iter().find(|paper| paper.name == name)
    }

    /// Returns the figures that `asked` means: one figure for `8a`, all parts of figure 8 for `8`, every figure of the paper
    /// for `all`, which leaves out those of ours. Returns none if there is no such figure.
    pub fn figures_called(&self, asked: &str) -> Vec<&'static Figure> {
        let asked = asked.trim_start_matches('0').to_lowercase();
        let part = |figure: &&Figure| {
            let is_own = asked == "all" && !figure.is_ours();
            figure.number == asked || without_part(figure.number) == asked || is_own
        };
        self.figures.iter().filter(part).collect()
    }
}

#[cfg(test)]
mod judging;
#[cfg(test)]
mod statements;
#[cfg(test)]
mod tests;
