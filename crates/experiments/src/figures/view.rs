//! Says what a panel of lines shows: values, ratios or differences, simulated and measured.

use super::{Comparison, Kind, Line, Measure, Panel};

/// A line of a panel. Values are in the unit of the panel's axis.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Name of the series.
    pub name: String,
    /// Simulated points: place, value, and whether the value is known to be steady.
    pub simulated: Vec<(f64, f64, bool)>,
    /// Measured points.
    pub measured: Vec<(f64, f64)>,
}

/// The lines of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Views {
    /// Label of the vertical axis.
    pub label: String,
    /// The lines, in the order of the series.
    pub lines: Vec<View>,
}

/// Returns what `panel` shows of `lines`. A panel of bars shows the throughputs of its runs, for a table.
pub fn views(panel: &Panel, lines: &[Line]) -> Views {
    let own = lines.iter().filter(|line| line.group == panel.group);
    match panel.kind {
        Kind::Lines { y, .. } => plain(own, y),
        Kind::Map(_) => plain(own, Measure::Throughput),
        Kind::Bars { x } => {
            let mut views = plain(own, Measure::Throughput);
            for view in &mut views.lines {
                view.simulated.retain(|point| point.0 == x);
                view.measured.retain(|point| point.0 == x);
            }
            views
        }
        Kind::Against { base, by, .. } => {
            let others: Vec<&Line> = lines.iter().filter(|line| line.group == base).collect();
            compared(own, &others, by)
        }
    }
}

fn plain<'a>(lines: impl Iterator<Item = &'a Line>, measure: Measure) -> Views {
    let (label, unit) = measure.label();
    let view = |line: &Line| View {
        name: line.name.clone(),
        simulated: line
            .values(measure)
            .into_iter()
            .map(|(x, y)| (x, y / unit, is_steady(line, x)))
            .collect(),
        measured: scaled(line.measured_values(measure), unit),
    };
    Views { label, lines: lines.map(view).collect() }
}

fn scaled(values: Vec<(f64, f64)>, unit: f64) -> Vec<(f64, f64)> {
    values.into_iter().map(|(x, y)| (x, y / unit)).collect()
}

fn is_steady(line: &Line, x: f64) -> bool {
    line.at(x).is_some_and(|record| record.steady == Some(true))
}

/// Compares each line with the one of the same name among `others`, at the places that both have.
fn compared<'a>(lines: impl Iterator<Item = &'a Line>, others: &[&Line], by: Comparison) -> Views {
    let (measure, label) = match by {
        Comparison::Ratio(measure) => (measure, "Ratio"),
        Comparison::Difference(measure) => (measure, "Difference"),
    };
    let both = |own: Vec<(f64, f64)>, other: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        let pairs = own.into_iter().filter_map(|(x, a)| {
            let (_, b) = other.iter().find(|(place, _)| *place == x)?;
            Some((x, a, *b))
        });
        match by {
            Comparison::Ratio(_) => {
                pairs.filter(|(.., b)| *b > 0.0).map(|(x, a, b)| (x, a / b)).collect()
            }
            Comparison::Difference(_) => pairs.map(|(x, a, b)| (x, a - b)).collect(),
        }
    };
    let view = |line: &Line| {
        let other = others.iter().find(|other| other.name == line.name)?;
        let simulated = both(line.values(measure), other.values(measure));
        let sure = |(x, y)| (x, y, is_steady(line, x) && is_steady(other, x));
        Some(View {
            name: line.name.clone(),
            simulated: simulated.into_iter().map(sure).collect(),
            measured: both(line.measured_values(measure), other.measured_values(measure)),
        })
    };
    let quantity = measure.label().0.split(" (").next().unwrap_or_default().to_lowercase();
    Views { label: format!("{label} of {quantity}"), lines: lines.filter_map(view).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Measured, Scale};
    use harness::run_record::RunRecord;

    fn line(group: &'static str, points: &[(f64, f64)], measured: &[(f64, f64)]) -> Line {
        let run = |rate| RunRecord {
            throughput_txn_per_s: rate,
            steady: Some(true),
            ..RunRecord::blank()
        };
        let seen = |rate| Measured { throughput_txn_per_s: rate, ..Measured::default() };
        Line {
            group,
            name: "SILO".to_owned(),
            points: points.iter().map(|(x, y)| (*x, run(*y))).collect(),
            measured: measured.iter().map(|(x, y)| (*x, seen(*y))).collect(),
            first: 1.0,
            unable: None,
        }
    }

    fn panel(group: &'static str, kind: Kind) -> Panel {
        Panel::new("", group, kind)
    }

    #[test]
    fn speed_ups_need_the_first_place() {
        let (across, up) = (Scale::Log, Scale::Linear);
        let kind = Kind::Lines { y: Measure::SpeedUp("one core"), across, up };
        let lines = [line("", &[(1.0, 2e6), (4.0, 6e6)], &[(4.0, 8e6)])];
        let views = views(&panel("", kind), &lines);
        assert_eq!(views.lines[0].simulated, [(1.0, 1.0, true), (4.0, 3.0, true)]);
        assert_eq!((views.lines[0].measured.len(), views.label.as_str()), (0, "Ratio to one core"));
    }

    #[test]
    fn lines_are_compared_where_both_have_values() {
        let lines = [
            line("a", &[(1.0, 3e6), (2.0, 5e6)], &[(1.0, 1e6)]),
            line("b", &[(1.0, 2e6), (4.0, 1e6)], &[(1.0, 4e6)]),
        ];
        let (across, up) = (Scale::Log, Scale::Linear);
        let of = |by| views(&panel("a", Kind::Against { base: "b", by, across, up }), &lines);
        let ratio = of(Comparison::Ratio(Measure::Throughput));
        assert_eq!((ratio.label.as_str(), ratio.lines.len()), ("Ratio of throughput", 1));
        assert_eq!(ratio.lines[0].simulated, [(1.0, 1.5, true)]);
        assert_eq!(ratio.lines[0].measured, [(1.0, 0.25)]);
        let difference = of(Comparison::Difference(Measure::Throughput));
        assert_eq!(difference.lines[0].simulated, [(1.0, 1e6, true)]);
    }
}
