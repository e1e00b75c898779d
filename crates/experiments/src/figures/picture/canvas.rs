//! Collects the shapes of a picture.

use super::style::{Form, Style};

/// Colour of text.
pub const INK: &str = "#1c2430";
/// Colour of the ground, and of what is hollow.
pub const GROUND: &str = "#fff";
/// Colour of the grid.
pub const GRID: &str = "#e3e7ec";
/// Colour of what is less important.
pub const GREY: &str = "#6c7684";

/// Returns the parts of `text` between separators in lines of at most `width` letters, as long as no part is longer.
pub fn wrapped(text: &str, separator: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in text.split(separator).filter(|part| !part.is_empty()) {
        let last = lines.last_mut().expect("there is a first line");
        let longer = format!("{last}{separator}{part}");
        if last.is_empty() {
            last.push_str(part);
        } else if longer.chars().count() <= width {
            *last = longer;
        } else {
            last.push_str(separator.trim_end());
            lines.push(part.to_owned());
        }
    }
    lines
}

/// Place of a text relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins at the point.
    Start,
    /// The point is the text's middle.
    Middle,
    /// The text ends at the point.
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Point at the letters' base line.
    pub at: (f64, f64),
    /// The letters. Those beyond Latin-1 are left out of a PNG.
    pub text: String,
    /// Place relative to the point.
    pub anchor: Anchor,
    /// Colour.
    pub colour: &'static str,
    /// Set if the letters are bold.
    pub bold: bool,
    /// Set if the line goes upwards.
    pub upwards: bool,
}

impl Text {
    /// Returns a text that begins at a point.
    pub fn at(x: f64, y: f64, text: impl Into<String>) -> Text {
        let text = text.into();
        Text { at: (x, y), text, anchor: Anchor::Start, colour: INK, bold: false, upwards: false }
    }

    /// Returns the text at another place relative to its point.
    pub fn anchored(self, anchor: Anchor) -> Text {
        Text { anchor, ..self }
    }

    /// Returns the text in another colour.
    pub fn coloured(self, colour: &'static str) -> Text {
        Text { colour, ..self }
    }

    /// Returns the text in bold letters.
    pub fn bold(self) -> Text {
        Text { bold: true, ..self }
    }

    /// Returns the text written upwards, with its middle at the point.
    pub fn upwards(self) -> Text {
        Text { upwards: true, anchor: Anchor::Middle, ..self }
    }
}

/// Part of a picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Points connected by straight lines.
    Path { points: Vec<(f64, f64)>, colour: &'static str, width: f64 },
    /// A convex polygon with a border. It is hollow, which means white, if it is not filled.
    Polygon { corners: Vec<(f64, f64)>, colour: &'static str, filled: bool },
    /// A disc, filled or hollow.
    Disc { centre: (f64, f64), radius: f64, colour: &'static str, filled: bool },
    /// A text.
    Text(Text),
}

/// A picture on a white ground.
#[derive(Clone, Debug)]
pub struct Picture {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) shapes: Vec<Shape>,
}

impl Picture {
    /// Returns an empty picture of a size in pixels.
    pub fn new(width: f64, height: f64) -> Picture {
        Picture { width, height, shapes: Vec::new() }
    }

    /// Adds a text, unless it is empty.
    pub fn text(&mut self, text: Text) {
        if !text.text.is_empty() {
            self.shapes.push(Shape::Text(text));
        }
    }

    /// Adds a line of the grid.
    pub fn grid(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.path(vec![from, to], GRID, 1.0);
    }

    /// Adds the sign of a broken axis to a horizontal line of the grid: a gap between two strokes.
    pub fn gap(&mut self, (x, y): (f64, f64)) {
        self.bar((x - 2.0, y - 2.0), (x + 2.0, y + 2.0), GROUND);
        for x in [x - 3.0, x + 3.0] {
            self.path(vec![(x - 2.0, y + 5.0), (x + 2.0, y - 5.0)], GREY, 1.2);
        }
    }

    /// Adds connected points, if there are two or more.
    pub fn path(&mut self, points: Vec<(f64, f64)>, colour: &'static str, width: f64) {
        if points.len() > 1 {
            self.shapes.push(Shape::Path { points, colour, width });
        }
    }

    /// Adds a dashed line through the points.
    pub fn dashed(&mut self, points: &[(f64, f64)], colour: &'static str, width: f64) {
        const DASH: f64 = 5.0;
        const GAP: f64 = 4.0;
        // Way from the begin of the current dash. It goes on over the corners.
        let mut since = 0.0;
        for pair in points.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            let at = |way: f64| {
                let part = (way / length).clamp(0.0, 1.0);
                (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1))
            };
            let mut begin = -since;
            while begin < length {
                let end = begin + DASH;
                if end > 0.0 && length > 0.0 {
                    self.path(vec![at(begin), at(end)], colour, width);
                }
                begin = end + GAP;
            }
            since = length - (begin - DASH - GAP);
        }
    }

    /// Adds the mark of a measured value, a small cross.
    pub fn cross(&mut self, (x, y): (f64, f64), colour: &'static str) {
        const ARM: f64 = 3.4;
        self.path(vec![(x - ARM, y - ARM), (x + ARM, y + ARM)], colour, 1.4);
        self.path(vec![(x - ARM, y + ARM), (x + ARM, y - ARM)], colour, 1.4);
    }

    /// Adds a filled rectangle.
    pub fn bar(&mut self, from: (f64, f64), to: (f64, f64), colour: &'static str) {
        let corners = vec![from, (to.0, from.1), to, (from.0, to.1)];
        self.shapes.push(Shape::Polygon { corners, colour, filled: true });
    }

    /// Adds a filled convex polygon, whose corners go round clockwise.
    pub fn polygon(&mut self, corners: Vec<(f64, f64)>, colour: &'static str) {
        self.shapes.push(Shape::Polygon { corners, colour, filled: true });
    }

    /// Adds a mark of a line, filled or hollow. `size` is a factor.
    pub fn mark(&mut self, (x, y): (f64, f64), style: Style, size: f64, filled: bool) {
        let Style { colour, form } = style;
        let polygon = |corners: &[(f64, f64)]| {
            let corners = corners.iter().map(|(dx, dy)| (x + size * dx, y + size * dy)).collect();
            Shape::Polygon { corners, colour, filled }
        };
        let rectangle = |x: f64, y: f64| polygon(&[(-x, -y), (x, -y), (x, y), (-x, y)]);
        self.shapes.push(match form {
            Form::Disc => Shape::Disc { centre: (x, y), radius: 3.5 * size, colour, filled },
            Form::Square => rectangle(3.2, 3.2),
            Form::Up => polygon(&[(0.0, -4.4), (4.2, 3.0), (-4.2, 3.0)]),
            Form::Down => polygon(&[(-4.2, -3.0), (4.2, -3.0), (0.0, 4.4)]),
            Form::Left => polygon(&[(-4.4, 0.0), (3.0, -4.2), (3.0, 4.2)]),
            Form::Right => polygon(&[(-3.0, -4.2), (4.4, 0.0), (-3.0, 4.2)]),
            Form::Diamond => polygon(&[(0.0, -4.6), (4.6, 0.0), (0.0, 4.6), (-4.6, 0.0)]),
            Form::Tall => rectangle(2.0, 4.6),
            Form::Wide => rectangle(4.6, 2.0),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_on_over_corners_and_stay_on_the_line() {
        let mut picture = Picture::new(100.0, 100.0);
        picture.dashed(&[(0.0, 0.0), (7.0, 0.0), (7.0, 11.0)], INK, 1.0);
        let ends: Vec<[(f64, f64); 2]> = picture
            .shapes
            .iter()
            .map(|shape| match shape {
                Shape::Path { points, .. } => [points[0], points[1]],
                other => panic!("{other:?}"),
            })
            .collect();
        // The way is 18 long: dashes from 0 to 5 and from 9 to 14.
        assert_eq!(ends, [[(0.0, 0.0), (5.0, 0.0)], [(7.0, 2.0), (7.0, 7.0)]]);
        let mut none = Picture::new(1.0, 1.0);
        none.dashed(&[(1.0, 1.0), (1.0, 1.0)], INK, 1.0);
        assert!(none.shapes.is_empty());
    }
}
