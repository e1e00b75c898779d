//! Draws a panel of stacked bars: the components of time.

use super::canvas::{Anchor, Picture, Text};
use super::{BOTTOM, COLOURS, LEFT, RIGHT, TOP};
use crate::figures::Line;
use crate::figures::data::Component;

/// Draws a bar for each of `lines` that has a record at `x`, into the panel that begins at `top`.
pub fn draw(picture: &mut Picture, top: f64, lines: &[&Line], x: f64) {
    let y = |share: f64| top + BOTTOM - share * (BOTTOM - TOP);
    for tenth in [0, 2, 4, 6, 8, 10] {
        let share = f64::from(tenth) / 10.0;
        picture.grid((LEFT, y(share)), (RIGHT, y(share)));
        let label = Text::at(LEFT - 8.0, y(share) + 4.0, format!("{share:.1}"));
        picture.text(label.anchored(Anchor::End));
    }
    picture.text(Text::at(18.0, top + (TOP + BOTTOM) / 2.0, "Share of time").upwards());
    let slot = (RIGHT - LEFT) / lines.len().max(1) as f64;
    for (at, line) in lines.iter().enumerate() {
        let middle = LEFT + (at as f64 + 0.5) * slot;
        let name = Text::at(middle, top + BOTTOM + 18.0, &line.name);
        picture.text(name.anchored(Anchor::Middle));
        let Some(shares) = line.at(x).and_then(|record| record.breakdown.as_ref()) else {
            continue;
        };
        let mut below = 0.0;
        for (part, component) in Component::ALL.into_iter().enumerate() {
            let names = component.categories().iter().map(|category| category.name());
            let share: f64 = names.filter_map(|name| shares.get(name)).sum();
            if share > 0.0 {
                let (from, to) = (below, below + share);
                let (left, right) = (middle - slot * 0.3, middle + slot * 0.3);
                picture.bar((left, y(to)), (right, y(from)), COLOURS[part]);
                below = to;
            }
        }
    }
    // The legend has the order of a bar, from top to bottom.
    for (at, component) in Component::ALL.into_iter().rev().enumerate() {
        let part = Component::ALL.len() - 1 - at;
        let place = top + TOP + 8.0 + at as f64 * 20.0;
        picture.bar((RIGHT + 10.0, place - 5.0), (RIGHT + 20.0, place + 5.0), COLOURS[part]);
        picture.text(Text::at(RIGHT + 27.0, place + 4.0, component.name()));
    }
}
