//! Writes a picture as SVG.

use super::canvas::{Anchor, GROUND, INK, Picture, Shape, Text};
use std::fmt::Write;

impl Picture {
    /// Returns the picture as an SVG file.
    pub fn to_svg(&self) -> String {
        let (width, height) = (short(self.width), short(self.height));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"{INK}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{GROUND}\"/>\n"
        );
        for shape in &self.shapes {
            write(&mut svg, shape);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn write(svg: &mut String, shape: &Shape) {
    let fill = |colour: &'static str, filled: bool| if filled { colour } else { GROUND };
    let _ = match shape {
        Shape::Path { points, colour, width } => writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\"/>",
            listed(points),
            short(*width)
        ),
        Shape::Polygon { corners, colour, filled } => writeln!(
            svg,
            "<polygon points=\"{}\" fill=\"{}\" stroke=\"{colour}\"/>",
            listed(corners),
            fill(colour, *filled)
        ),
        Shape::Disc { centre, radius, colour, filled } => writeln!(
            svg,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" stroke=\"{colour}\"/>",
            short(centre.0),
            short(centre.1),
            short(*radius),
            fill(colour, *filled)
        ),
        Shape::Text(text) => writeln!(svg, "{}", element(text)),
    };
}

fn element(text: &Text) -> String {
    let (x, y) = (short(text.at.0), short(text.at.1));
    let mut attributes = match text.anchor {
        Anchor::Start => String::new(),
        Anchor::Middle => " text-anchor=\"middle\"".to_owned(),
        Anchor::End => " text-anchor=\"end\"".to_owned(),
    };
    if text.colour != INK {
        attributes.push_str(&format!(" fill=\"{}\"", text.colour));
    }
    if text.bold {
        attributes.push_str(" font-weight=\"bold\"");
    }
    if text.upwards {
        attributes.push_str(&format!(" transform=\"rotate(-90 {x} {y})\""));
    }
    format!("<text x=\"{x}\" y=\"{y}\"{attributes}>{}</text>", escaped(&text.text))
}

fn listed(points: &[(f64, f64)]) -> String {
    let points = points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y)));
    points.collect::<Vec<_>>().join(" ")
}

/// Returns a coordinate with one decimal, which hides how the last bits of a logarithm differ between hosts.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Returns `text` with the characters of markup replaced.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
