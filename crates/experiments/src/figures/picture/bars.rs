//! Draws a panel of stacked bars: the components of time.

use super::canvas::{Anchor, GROUND, Picture, Text};
use super::{BOTTOM, COLOURS, LEFT, RIGHT, TOP};
use crate::figures::Line;
use crate::figures::data::Component;

/// Width of the frame of a hollow bar.
const FRAME: f64 = 3.0;

/// Draws a bar for each of `lines` that has a record at `x`, and a narrow one beside it for the measured shares, into the
/// panel that begins at `top`.
pub fn draw(picture: &mut Picture, top: f64, lines: &[&Line], x: f64) {
    let y = |share: f64| top + BOTTOM - share * (BOTTOM - TOP);
    for tenth in [0, 2, 4, 6, 8, 10] {
        let share = f64::from(tenth) / 10.0;
        picture.grid((LEFT, y(share)), (RIGHT, y(share)));
        let label = Text::at(LEFT - 12.0, y(share) + 4.0, format!("{share:.1}"));
        picture.text(label.anchored(Anchor::End));
    }
    picture.text(Text::at(18.0, top + (TOP + BOTTOM) / 2.0, "Share of time").upwards());
    let slot = (RIGHT - LEFT) / lines.len().max(1) as f64;
    for (at, line) in lines.iter().enumerate() {
        let middle = LEFT + (at as f64 + 0.5) * slot;
        let name = Text::at(middle, top + BOTTOM + 18.0, &line.name);
        picture.text(name.anchored(Anchor::Middle));
        let seen = line.measured_shares(x);
        // A measured bar is narrow and stands to the right of the simulated one.
        let (left, right) = match seen {
            Some(_) => (middle - slot * 0.38, middle + slot * 0.12),
            None => (middle - slot * 0.3, middle + slot * 0.3),
        };
        let record = line.at(x);
        let is_steady = record.is_some_and(|record| record.steady == Some(true));
        if let Some(shares) = record.and_then(|record| record.breakdown.as_ref()) {
            let of = |component: Component| {
                let names = component.categories().iter().map(|category| category.name());
                names.filter_map(|name| shares.get(name)).sum()
            };
            stack(picture, (left, right), is_steady, &y, &of);
        }
        if let Some(shares) = seen {
            let of = |component: Component| {
                component.measured().iter().filter_map(|name| shares.get(*name)).sum()
            };
            stack(picture, (middle + slot * 0.18, middle + slot * 0.38), true, &y, &of);
        }
    }
    legend(picture, top);
}

/// Draws one bar between two places: the shares of the components, from the bottom. A bar that is not filled has frames.
fn stack(
    picture: &mut Picture,
    (left, right): (f64, f64),
    filled: bool,
    y: &dyn Fn(f64) -> f64,
    share: &dyn Fn(Component) -> f64,
) {
    let mut below = 0.0;
    for (part, component) in Component::ALL.into_iter().enumerate() {
        let above = below + share(component);
        if above > below {
            let (from, to) = ((left, y(above)), (right, y(below)));
            picture.bar(from, to, COLOURS[part]);
            if !filled && to.1 - from.1 > 2.0 * FRAME {
                picture.bar((from.0 + FRAME, from.1 + FRAME), (to.0 - FRAME, to.1 - FRAME), GROUND);
            }
            below = above;
        }
    }
}

/// Draws the names of the components beside the panel.
fn legend(picture: &mut Picture, top: f64) {
    // The legend has the order of a bar, from top to bottom.
    for (at, component) in Component::ALL.into_iter().rev().enumerate() {
        let part = Component::ALL.len() - 1 - at;
        let place = top + TOP + 8.0 + at as f64 * 20.0;
        picture.bar((RIGHT + 10.0, place - 5.0), (RIGHT + 20.0, place + 5.0), COLOURS[part]);
        picture.text(Text::at(RIGHT + 27.0, place + 4.0, component.name()));
    }
}
