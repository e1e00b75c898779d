//! Draws line charts and scatter charts.

use super::numbers::tick as written;
use super::picture::{Anchor, BASE, COLOURS, Picture, WIDTH};

/// Kind of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From 0.
    Linear,
    /// Logarithmic, with a line of the grid at each power of ten.
    Log,
}

/// An axis: what it shows, in which unit, and how.
#[derive(Clone, Debug)]
pub struct Axis {
    pub label: String,
    pub scale: Scale,
    /// Values at which there are lines of the grid. If it is empty, the scale decides.
    pub ticks: Vec<f64>,
}

impl Axis {
    pub fn new(label: &str, scale: Scale) -> Axis {
        Axis { label: label.into(), scale, ticks: Vec::new() }
    }

    /// Returns a logarithmic axis of numbers of cores.
    pub fn of_cores(label: &str, cores: &[usize]) -> Axis {
        let ticks = cores.iter().map(|&cores| cores as f64).collect();
        Axis { ticks, ..Axis::new(label, Scale::Log) }
    }
}

/// A point, with whether its value is to be trusted. A point that is not is drawn hollow.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub sure: bool,
}

/// A line, or the points of a scatter chart.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub points: Vec<Point>,
    /// Set if the series is a baseline, drawn in grey with dashes.
    pub baseline: bool,
}

/// A chart of lines, or of points.
#[derive(Clone, Debug)]
pub struct Lines {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Set if points are not connected, and a line shows where x and y are equal.
    pub scatter: bool,
    /// A line of text below the chart.
    pub note: String,
}

const LEFT: f64 = 88.0;
const RIGHT: f64 = WIDTH - 126.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 356.0;
const HEIGHT: f64 = 420.0;

/// Smallest distance of two labels, in pixels.
const APART: f64 = 14.0;

/// The positions of an axis's values.
struct Placed {
    low: f64,
    high: f64,
    log: bool,
    ticks: Vec<f64>,
}

impl Placed {
    fn of(axis: &Axis, values: impl Iterator<Item = f64>) -> Placed {
        let (least, most) = values
            .filter(|&value| value > 0.0 || axis.scale == Scale::Linear)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let log = axis.scale == Scale::Log;
        if !axis.ticks.is_empty() {
            let (first, last) = (axis.ticks[0], axis.ticks[axis.ticks.len() - 1]);
            let (low, high) = (first.min(least), last.max(most));
            return Placed { low, high, log, ticks: axis.ticks.clone() };
        }
        if log {
            let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
            let ticks: Vec<f64> =
                (low..=high.max(low + 1)).map(|power| 10f64.powi(power)).collect();
            return Placed { low: ticks[0], high: ticks[ticks.len() - 1], log, ticks };
        }
        let step = step_of(most);
        let count = (most / step).ceil().max(1.0) as usize;
        let ticks: Vec<f64> = (0..=count).map(|at| at as f64 * step).collect();
        Placed { low: 0.0, high: ticks[count], log, ticks }
    }

    /// Returns the place of `value` between 0 and 1.
    fn part(&self, value: f64) -> f64 {
        match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }
}

/// Returns a round step with which four to nine steps reach `most`.
pub fn step_of(most: f64) -> f64 {
    let power = 10f64.powf((most / 4.0).log10().floor());
    let factor = [5.0, 2.0].into_iter().find(|factor| most / (power * factor) >= 4.0);
    power * factor.unwrap_or(1.0)
}

impl Lines {
    /// Returns the chart as an SVG file.
    pub fn draw(&self) -> String {
        let all = || self.series.iter().flat_map(|series| &series.points);
        let across = Placed::of(&self.x, all().map(|point| point.x));
        let up = Placed::of(&self.y, all().map(|point| point.y));
        let x = |value: f64| LEFT + across.part(value) * (RIGHT - LEFT);
        let y = |value: f64| BOTTOM - up.part(value) * (BOTTOM - TOP);
        let mut picture = Picture::new(HEIGHT, &self.title);
        for &tick in &up.ticks {
            picture.grid((LEFT, y(tick)), (RIGHT, y(tick)));
            picture.text(LEFT - 8.0, y(tick) + 4.0, Anchor::End, &written(tick));
        }
        for &tick in &across.ticks {
            picture.grid((x(tick), TOP), (x(tick), BOTTOM));
            picture.text(x(tick), BOTTOM + 17.0, Anchor::Middle, &written(tick));
        }
        picture.text((LEFT + RIGHT) / 2.0, BOTTOM + 36.0, Anchor::Middle, &self.x.label);
        picture.upwards(16.0, (TOP + BOTTOM) / 2.0, &self.y.label);
        picture.text(LEFT, HEIGHT - 8.0, Anchor::Start, &self.note);
        if self.scatter {
            let (low, high) = (across.low.max(up.low), across.high.min(up.high));
            picture.path(&[(x(low), y(low)), (x(high), y(high))], BASE, 1.0, true);
        }
        let mut labels = Vec::new();
        for (series, colour) in self.series.iter().zip(self.colours()) {
            let places: Vec<(f64, f64)> =
                series.points.iter().map(|point| (x(point.x), y(point.y))).collect();
            if !self.scatter {
                picture.path(&places, colour, 2.0, series.baseline);
            }
            for (point, place) in series.points.iter().zip(&places) {
                picture.mark(*place, colour, point.sure);
            }
            let end = places.last().map_or(BOTTOM, |place| place.1);
            labels.push((end, colour, series.name.as_str()));
        }
        if self.scatter {
            // Points have no ends, so their labels form a legend.
            for (at, label) in labels.iter_mut().enumerate() {
                label.0 = TOP + 8.0 + at as f64 * APART * 1.3;
            }
        }
        for (place, colour, name) in apart(labels) {
            if self.scatter {
                picture.mark((RIGHT + 14.0, place), colour, true);
            }
            let left = if self.scatter { 24.0 } else { 10.0 };
            picture.coloured(RIGHT + left, place + 4.0, Anchor::Start, colour, name);
        }
        picture.finish()
    }

    fn colours(&self) -> impl Iterator<Item = &'static str> {
        let mut colours = COLOURS.iter().cycle();
        let colour = |series: &Series| match series.baseline {
            true => BASE,
            false => colours.next().expect("a cycle has no end"),
        };
        self.series.iter().map(colour).collect::<Vec<_>>().into_iter()
    }
}

/// Moves labels so that no two of them overlap, as little as possible from top to bottom.
fn apart<'a>(mut labels: Vec<(f64, &'a str, &'a str)>) -> Vec<(f64, &'a str, &'a str)> {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    for at in 1..labels.len() {
        labels[at].0 = labels[at].0.max(labels[at - 1].0 + APART);
    }
    if let Some(last) = labels.last_mut() {
        last.0 = last.0.min(BOTTOM);
    }
    for at in (1..labels.len()).rev() {
        labels[at - 1].0 = labels[at - 1].0.min(labels[at].0 - APART);
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!([59.7, 10.0, 43.0, 0.9].map(step_of), [10.0, 2.0, 10.0, 0.2]);
    }

    #[test]
    fn labels_are_moved_apart() {
        let labels = vec![(350.0, "", "b"), (348.0, "", "a"), (356.0, "", "c"), (50.0, "", "d")];
        let places: Vec<f64> = apart(labels).iter().map(|label| label.0).collect();
        assert_eq!(places, [50.0, 328.0, 342.0, 356.0]);
    }
}
