//! Describes a figure: its series of runs, its panels, and the statements about it.

use super::{Check, Grid, Measure, Point};
use serde::{Deserialize, Serialize};

/// Amount of simulation for a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// The paper's grid, and runs as long as those of `kilocore run`.
    Full,
    /// A coarse grid and short runs: about two minutes for a figure.
    Quick,
}

impl Effort {
    /// Returns `full` or `quick`, whichever belongs to this effort.
    pub fn pick<T>(self, full: T, quick: T) -> T {
        if self == Effort::Full { full } else { quick }
    }
}

/// A figure, or a part of one that has a letter of its own.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Name of the paper.
    pub paper: &'static str,
    /// Number in the paper, with its letter. A figure of ours has a name instead.
    pub number: &'static str,
    /// Title in our words.
    pub title: &'static str,
    /// Section of the paper that discusses it, or the sections whose questions a figure of ours asks.
    pub section: &'static str,
    /// Name of the simulated machine of the settings that name none. Runs of the measured program name their platform
    /// themselves.
    pub machine: &'static str,
    /// Differences from the paper's setting, and choices where the paper is silent.
    pub remarks: &'static [&'static str],
    /// Label of the horizontal axis.
    pub x: &'static str,
    /// Returns the runs.
    pub series: fn(Effort) -> Vec<Series>,
    /// Panels, from top to bottom.
    pub panels: &'static [Panel],
    /// Statements of the paper.
    pub checks: &'static [Check],
}

/// A line of a figure: runs that differ in one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Part of the figure that the series belongs to. Only panels of the same group show it.
    pub group: &'static str,
    /// Name in the legend.
    pub name: String,
    /// Runs with their places on the horizontal axis, ascending.
    pub points: Vec<(f64, Point)>,
}

/// Part of a figure's picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Panel {
    /// Title of the panel. Empty if the figure's title says it all.
    pub title: &'static str,
    /// Group of the series that it shows.
    pub group: &'static str,
    /// Another group whose values the axes reach, too, so that two panels can be compared by eye. Without one it is the
    /// panel's own.
    pub beside: &'static str,
    /// Form of the panel.
    pub kind: Kind,
}

impl Panel {
    /// Returns a panel with axes of its own.
    pub const fn new(title: &'static str, group: &'static str, kind: Kind) -> Panel {
        Panel { title, group, beside: group, kind }
    }

    /// Returns the panel with axes that reach the values of the group `beside`, too.
    pub const fn beside(self, beside: &'static str) -> Panel {
        Panel { beside, ..self }
    }
}

/// Form of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A line for each series.
    Lines {
        /// Value of a point.
        y: Measure,
        /// Kind of the horizontal axis.
        across: Scale,
        /// Kind of the vertical axis.
        up: Scale,
    },
    /// A line for each series: its values beside those of the series of the same name in another group.
    Against {
        /// Name of the other group.
        base: &'static str,
        /// The comparison.
        by: Comparison,
        /// Kind of the horizontal axis.
        across: Scale,
        /// Kind of the vertical axis.
        up: Scale,
    },
    /// A stacked bar for each series: the shares of time of its run at one place.
    Bars {
        /// Place on the horizontal axis.
        x: f64,
    },
    /// A map of the best pairs of an architecture and a protocol. The name of a series has both, with a space between them,
    /// and its points are at the places of the grid's cells.
    Map(&'static Grid),
}

/// Comparison of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Ratio of the values.
    Ratio(Measure),
    /// Difference of the values.
    Difference(Measure),
}

/// Kind of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From zero, or from the lowest negative value.
    Linear,
    /// Logarithmic. A value of zero is drawn at the low end.
    Log,
}

/// A run of a figure: group, series and place.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Group of the series.
    pub group: &'static str,
    /// Name of the series.
    pub series: String,
    /// Place on the horizontal axis.
    pub x: f64,
    /// The run.
    pub point: Point,
}

/// First letters of the number of a table of a paper, which is one of its figures here.
const TABLE: &str = "table-";

/// Returns what a paper calls its figure `number`: `figure 8a`, or `table 2` for `table-2`. A figure of ours has a name
/// instead of a number.
pub fn spoken(number: &str) -> String {
    match number.strip_prefix(TABLE) {
        Some(number) => format!("table {number}"),
        None if is_name(number) => number.to_owned(),
        None => format!("figure {number}"),
    }
}

/// Returns whether a figure called `number` is ours. A paper's figure or table has a digit.
pub fn is_name(number: &str) -> bool {
    !number.contains(|c: char| c.is_ascii_digit())
}

/// Returns `number` without the letter of a part.
pub fn without_part(number: &str) -> &str {
    match is_name(number) {
        true => number,
        false => number.trim_end_matches(|c: char| c.is_ascii_lowercase()),
    }
}

/// Returns the name of the folder of figure `number` of `paper`, for example `abyss-08a`.
pub fn folder(paper: &str, number: &str) -> String {
    let digits = without_part(number);
    format!("{paper}-{digits:0>2}{}", &number[digits.len()..])
}

impl Figure {
    /// Returns the figure's heading: what the paper calls it, and its title.
    pub fn heading(&self) -> String {
        let spoken = spoken(self.number);
        let (first, rest) = spoken.split_at(1);
        format!("{}{rest}: {}", first.to_uppercase(), self.title)
    }

    /// Returns the names of the machines of all runs as a list in a sentence. Those of the first panels come first.
    pub fn machines(&self, effort: Effort) -> String {
        let series = (self.series)(effort);
        let own = |group| series.iter().filter(move |series| series.group == group);
        let shown = self.panels.iter().flat_map(|panel| own(panel.group));
        let mut names: Vec<&str> = Vec::new();
        for (_, point) in shown.chain(&series).flat_map(|series| &series.points) {
            let name = point.machine().unwrap_or(self.machine);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match names.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} and {last}", others.join(", "))
            }
            _ => names.concat(),
        }
    }

    /// Returns whether the figure only sums up runs that other figures of the paper have.
    pub fn is_summary(&self) -> bool {
        self.number.starts_with(TABLE)
    }

    /// Returns whether the figure is ours, and not one of the paper.
    pub fn is_ours(&self) -> bool {
        is_name(self.number)
    }

    /// Returns the name of the figure's folder, for example `abyss-08a`.
    pub fn folder(&self) -> String {
        folder(self.paper, self.number)
    }

    /// Returns all runs.
    pub fn places(&self, effort: Effort) -> Vec<Place> {
        let mut places = Vec::new();
        for series in (self.series)(effort) {
            for (x, point) in series.points {
                let (group, series) = (series.group, series.name.clone());
                places.push(Place { group, series, x, point });
            }
        }
        places
    }
}
