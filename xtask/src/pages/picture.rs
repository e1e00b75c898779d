//! Draws SVG pictures: shapes and text on an opaque ground, so that they can be read on light and on dark pages. The
//! colours are those of the light page that `kilocore compare` writes.

use std::fmt::Write;

/// Colours of series.
pub const COLOURS: [&str; 8] =
    ["#1f6fd0", "#cf4a0c", "#12805c", "#9a3fa8", "#8d6a00", "#2b2f6b", "#b8255f", "#4f7a14"];
/// Colour of the series without concurrency control, and of lines that only help the eye.
pub const BASE: &str = "#6c7684";
const INK: &str = "#1c2430";
const GRID: &str = "#e3e7ec";

/// Width of a picture in pixels.
pub const WIDTH: f64 = 760.0;

/// Place of a text relative to its point.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture in progress.
pub struct Picture {
    height: f64,
    body: String,
}

impl Picture {
    /// Returns an empty picture with a title.
    pub fn new(height: f64, title: &str) -> Picture {
        let mut picture = Picture { height, body: String::new() };
        picture.write(14.0, 22.0, Anchor::Start, INK, 15, title);
        picture
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.write(x, y, anchor, INK, 12, text);
    }

    pub fn coloured(&mut self, x: f64, y: f64, anchor: Anchor, colour: &str, text: &str) {
        self.write(x, y, anchor, colour, 12, text);
    }

    /// Writes a text upwards, centred on the point.
    pub fn upwards(&mut self, x: f64, y: f64, text: &str) {
        let (x, y) = (short(x), short(y));
        let text = escaped(text);
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{text}</text>"
        );
    }

    fn write(&mut self, x: f64, y: f64, anchor: Anchor, colour: &str, size: u32, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let colour = if colour == INK { String::new() } else { format!(" fill=\"{colour}\"") };
        let size = if size == 12 { String::new() } else { format!(" font-size=\"{size}\"") };
        let (x, y, text) = (short(x), short(y), escaped(text));
        let _ =
            writeln!(self.body, "<text x=\"{x}\" y=\"{y}\"{anchor}{colour}{size}>{text}</text>");
    }

    /// Draws a line of the grid.
    pub fn grid(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.path(&[from, to], GRID, 1.0, false);
    }

    pub fn path(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dashed: bool) {
        let points: Vec<String> =
            points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
        let dash = if dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dash}/>",
            points.join(" ")
        );
    }

    /// Draws a mark, filled or hollow.
    pub fn mark(&mut self, (x, y): (f64, f64), colour: &str, filled: bool) {
        let fill = if filled { colour } else { "#fff" };
        let _ = writeln!(
            self.body,
            "<circle cx=\"{}\" cy=\"{}\" r=\"3.5\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            short(x),
            short(y)
        );
    }

    /// Draws a bar from (`x`, `y`), filled or hollow.
    pub fn bar(&mut self, (x, y): (f64, f64), size: (f64, f64), colour: &str, filled: bool) {
        let fill = if filled { colour } else { "#fff" };
        let _ = writeln!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" stroke=\"{colour}\"/>",
            short(x),
            short(y),
            short(size.0),
            short(size.1)
        );
    }

    /// Returns the picture as an SVG file.
    pub fn finish(self) -> String {
        let (height, body) = (short(self.height), self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"{INK}\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n{body}</svg>\n"
        )
    }
}

/// Returns a coordinate with one decimal, which hides how the last bits of a logarithm differ between hosts.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
