//! Draws a panel of lines.

use super::axis::Axis;
use super::canvas::{Anchor, Picture, Text};
use super::style::Style;
use super::{BOTTOM, LEFT, RIGHT, TOP};

/// Smallest distance of two labels, in pixels.
const APART: f64 = 15.0;

/// Width of a line, by how much it is wider for each later line that covers it, and by how much at most. Marks are larger
/// in the same way, as a factor.
const WIDTH: f64 = 2.0;
const WIDER: (f64, f64) = (2.2, 8.0);
const LARGER: (f64, f64) = (0.35, 1.1);

/// Largest distance of two points that cover each other, in pixels.
const COVERED: f64 = 1.0;

/// A line to draw.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name at the line's end.
    pub name: String,
    /// Colour and mark.
    pub style: Style,
    /// Points, ascending by place: place, value, and whether the value is sure. The mark of an unsure value is hollow.
    pub points: Vec<(f64, f64, bool)>,
    /// Measured points to compare with, drawn as a dashed line with crosses.
    pub measured: Vec<(f64, f64)>,
}

/// Draws `series` into the panel that begins at `top`. Each axis has a label.
pub fn draw(
    picture: &mut Picture,
    top: f64,
    series: &[Series],
    (label, horizontal): (&str, &Axis),
    (title, vertical): (&str, &Axis),
) {
    let x = |value: f64| LEFT + horizontal.part(value) * (RIGHT - LEFT);
    let y = |value: f64| top + BOTTOM - vertical.part(value) * (BOTTOM - TOP);
    for (tick, label) in &vertical.ticks {
        picture.grid((LEFT, y(*tick)), (RIGHT, y(*tick)));
        picture.text(Text::at(LEFT - 12.0, y(*tick) + 4.0, label).anchored(Anchor::End));
    }
    for (tick, label) in &horizontal.ticks {
        picture.grid((x(*tick), top + TOP), (x(*tick), top + BOTTOM));
        picture.text(Text::at(x(*tick), top + BOTTOM + 18.0, label).anchored(Anchor::Middle));
    }
    if let Some(gap) = horizontal.gap() {
        picture.gap((LEFT + gap * (RIGHT - LEFT), top + BOTTOM));
    }
    let middle = (LEFT + RIGHT) / 2.0;
    picture.text(Text::at(middle, top + BOTTOM + 38.0, label).anchored(Anchor::Middle));
    picture.text(Text::at(18.0, top + (TOP + BOTTOM) / 2.0, title).upwards());
    let place = |x_value: f64, y_value: f64| (x(x_value), y(y_value));
    let mut labels = Vec::new();
    let ways: Vec<Vec<(f64, f64)>> = series
        .iter()
        .map(|line| line.points.iter().map(|point| place(point.0, point.1)).collect())
        .collect();
    let covers = Covers::of(&ways);
    for (line, Series { name, style, measured, .. }) in series.iter().enumerate() {
        for (way, width) in covers.ways(line) {
            picture.path(way, style.colour, width);
        }
        let seen: Vec<(f64, f64)> = measured.iter().map(|point| place(point.0, point.1)).collect();
        picture.dashed(&seen, style.colour, 1.2);
        for place in &seen {
            picture.cross(*place, style.colour);
        }
        if let Some(end) = ways[line].last().or(seen.last()) {
            labels.push((end.1, *style, name.as_str()));
        }
    }
    for (line, Series { style, points, .. }) in series.iter().enumerate() {
        for (at, point) in points.iter().enumerate() {
            picture.mark(ways[line][at], *style, covers.size(line, at), point.2);
        }
    }
    for (place, style, name) in apart(labels, top + TOP, top + BOTTOM) {
        picture.mark((RIGHT + 14.0, place), style, 1.0, true);
        picture.text(Text::at(RIGHT + 24.0, place + 4.0, name).coloured(style.colour));
    }
}

/// Says which lines cover others. A covered line is wider than those above it, so that all are seen.
struct Covers<'a> {
    ways: &'a [Vec<(f64, f64)>],
    /// Largest number of lines that cover one.
    most: usize,
}

impl Covers<'_> {
    fn of(ways: &[Vec<(f64, f64)>]) -> Covers<'_> {
        let mut covers = Covers { ways, most: 1 };
        let points = ways
            .iter()
            .enumerate()
            .flat_map(|(line, way)| (0..way.len()).map(move |at| (line, at)));
        covers.most = points.map(|(line, at)| covers.above(line, at, 1)).max().unwrap_or(1).max(1);
        covers
    }

    /// Returns the number of later lines that go through `count` points of `line` from `at` on.
    fn above(&self, line: usize, at: usize, count: usize) -> usize {
        let near = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0).hypot(a.1 - b.1) <= COVERED;
        let own = &self.ways[line][at..at + count];
        let covers = |other: &&Vec<(f64, f64)>| {
            let mut parts = other.windows(count);
            parts.any(|part| part.iter().zip(own).all(|(a, b)| near(a, b)))
        };
        self.ways[line + 1..].iter().filter(covers).count()
    }

    /// Returns the parts of `line` with their widths.
    fn ways(&self, line: usize) -> Vec<(Vec<(f64, f64)>, f64)> {
        let way = &self.ways[line];
        let mut parts: Vec<(Vec<(f64, f64)>, f64)> = Vec::new();
        for at in 1..way.len() {
            let width = WIDTH + self.more(WIDER, self.above(line, at - 1, 2));
            match parts.last_mut() {
                Some((part, same)) if *same == width => part.push(way[at]),
                _ => parts.push((vec![way[at - 1], way[at]], width)),
            }
        }
        parts
    }

    /// Returns the size of a mark of `line`, as a factor.
    fn size(&self, line: usize, at: usize) -> f64 {
        1.0 + self.more(LARGER, self.above(line, at, 1))
    }

    fn more(&self, (step, most): (f64, f64), above: usize) -> f64 {
        step.min(most / self.most as f64) * above as f64
    }
}

/// Moves labels so that no two of them overlap, as little as possible from top to bottom.
fn apart<T>(mut labels: Vec<(f64, T, &str)>, top: f64, bottom: f64) -> Vec<(f64, T, &str)> {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut least = top;
    for label in &mut labels {
        label.0 = label.0.max(least);
        least = label.0 + APART;
    }
    let mut most = bottom;
    for label in labels.iter_mut().rev() {
        label.0 = label.0.min(most);
        most = label.0 - APART;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_lines_are_wider_where_they_are_covered() {
        let under = vec![(0.0, 5.0), (10.0, 5.0), (20.0, 5.0), (30.0, 5.0)];
        let over = vec![(0.0, 5.5), (10.0, 5.5), (20.0, 5.5), (30.0, 50.0)];
        let ways = [under.clone(), over.clone()];
        let covers = Covers::of(&ways);
        let wide = (under[..3].to_vec(), 4.2);
        assert_eq!(covers.ways(0), [wide, (under[2..].to_vec(), 2.0)]);
        assert_eq!(covers.ways(1), [(over, 2.0)]);
        assert_eq!((covers.size(0, 2), covers.size(0, 3), covers.size(1, 2)), (1.35, 1.0, 1.0));
        let alike = vec![under; 11];
        assert_eq!((Covers::of(&alike).ways(0)[0].1, Covers::of(&[]).most), (10.0, 1));
    }

    #[test]
    fn labels_are_moved_apart_and_stay_in_the_panel() {
        let labels = vec![(298.0, 1, "b"), (296.0, 0, "a"), (50.0, 2, "d")];
        let places: Vec<f64> = apart(labels, 26.0, 298.0).iter().map(|label| label.0).collect();
        assert_eq!(places, [50.0, 283.0, 298.0]);
    }
}
