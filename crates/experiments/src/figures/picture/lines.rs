//! Draws a panel of lines.

use super::axis::Axis;
use super::canvas::{Anchor, Picture, Text};
use super::style::Style;
use super::{BOTTOM, LEFT, RIGHT, TOP};

/// Smallest distance of two labels, in pixels.
const APART: f64 = 15.0;

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
        picture.text(Text::at(LEFT - 8.0, y(*tick) + 4.0, label).anchored(Anchor::End));
    }
    for (tick, label) in &horizontal.ticks {
        picture.grid((x(*tick), top + TOP), (x(*tick), top + BOTTOM));
        picture.text(Text::at(x(*tick), top + BOTTOM + 18.0, label).anchored(Anchor::Middle));
    }
    let middle = (LEFT + RIGHT) / 2.0;
    picture.text(Text::at(middle, top + BOTTOM + 38.0, label).anchored(Anchor::Middle));
    picture.text(Text::at(18.0, top + (TOP + BOTTOM) / 2.0, title).upwards());
    let mut labels = Vec::new();
    for Series { name, style, points, measured } in series {
        let colour = style.colour;
        let places: Vec<(f64, f64)> = points.iter().map(|point| (x(point.0), y(point.1))).collect();
        picture.path(places.clone(), colour, 2.0);
        for ((.., is_sure), place) in points.iter().zip(&places) {
            picture.mark(*place, *style, *is_sure);
        }
        let seen: Vec<(f64, f64)> = measured.iter().map(|point| (x(point.0), y(point.1))).collect();
        picture.dashed(&seen, colour, 1.2);
        for place in &seen {
            picture.cross(*place, colour);
        }
        if let Some(end) = places.last().or(seen.last()) {
            labels.push((end.1, *style, name.as_str()));
        }
    }
    for (place, style, name) in apart(labels, top + TOP, top + BOTTOM) {
        picture.mark((RIGHT + 14.0, place), style, true);
        picture.text(Text::at(RIGHT + 24.0, place + 4.0, name).coloured(style.colour));
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
    fn labels_are_moved_apart_and_stay_in_the_panel() {
        let labels = vec![(298.0, 1, "b"), (296.0, 0, "a"), (50.0, 2, "d")];
        let places: Vec<f64> = apart(labels, 26.0, 298.0).iter().map(|label| label.0).collect();
        assert_eq!(places, [50.0, 283.0, 298.0]);
    }
}
