//! Draws figures. A picture is a list of shapes, which becomes an SVG file or a PNG file.
//!
//! The PNG needs no fonts of the host: its letters are the bitmaps of Noto Sans Mono that the crate
//! `noto-sans-mono-bitmap` carries. So the file is the same on every host.

mod axis;
mod bars;
mod canvas;
mod lines;
mod map;
mod png;
mod style;
mod svg;

pub use axis::Axis;
pub use canvas::{Picture, wrapped};
pub use lines::Series;
pub use style::{Style, styles};
pub use svg::escaped;

use super::view::{Views, views};
use super::{Figure, Kind, Line, Panel, Scale};
use canvas::{GREY, INK, Text};
use std::collections::{BTreeMap, BTreeSet};

/// Width of a picture in pixels.
const WIDTH: f64 = 760.0;
/// Left and right end of the area for lines and bars.
const LEFT: f64 = 86.0;
const RIGHT: f64 = 630.0;
/// Height of a panel, and the distances of its area from the panel's top.
const PANEL: f64 = 350.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 298.0;
/// Height of the picture's title, and of the note: the space around it, one of its lines, and its letters in a line.
const TITLE: f64 = 34.0;
const NOTE: f64 = 10.0;
const NOTE_LINE: f64 = 16.0;
const NOTE_LETTERS: usize = 104;

/// Colours of the components of time.
const COLOURS: [&str; 7] =
    ["#1f6fd0", "#cf4a0c", "#12805c", "#9a3fa8", "#8d6a00", "#2b2f6b", "#b8255f"];

/// Draws `figure` with `lines`, in which each panel finds its group. `note` is the text below, in parts between semicolons.
pub fn draw(figure: &Figure, lines: &[Line], note: &str) -> Picture {
    let note = wrapped(note, "; ", NOTE_LETTERS);
    let bottom = TITLE + figure.panels.iter().map(height).sum::<f64>();
    let width = if figure.panels.iter().any(is_map) { map::WIDTH } else { WIDTH };
    let mut picture = Picture::new(width, bottom + NOTE + NOTE_LINE * note.len() as f64);
    picture.text(Text::at(14.0, 22.0, figure.heading()).bold());
    // A name has one colour and one mark in all panels.
    let names: BTreeSet<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    let names = Vec::from_iter(names);
    let styles: BTreeMap<&str, Style> = names.iter().copied().zip(styles(&names)).collect();
    let mut top = TITLE;
    for panel in figure.panels {
        if !is_map(panel) {
            picture.text(Text::at(LEFT, top + 16.0, panel.title).coloured(INK));
        }
        let shown: Vec<&Line> = lines.iter().filter(|line| line.group == panel.group).collect();
        match panel.kind {
            Kind::Lines { across, up, .. } | Kind::Against { across, up, .. } => {
                let other = Panel { group: panel.beside, ..*panel };
                let shown = [views(panel, lines), views(&other, lines)];
                draw_lines(&mut picture, top, shown, &styles, (figure.x, across), up);
            }
            Kind::Bars { x } => bars::draw(&mut picture, top, &shown, x),
            Kind::Map(grid) => map::draw(&mut picture, top, panel.title, grid, &shown),
        }
        top += height(panel);
    }
    for (at, line) in note.into_iter().enumerate() {
        let place = bottom + 1.0 + NOTE_LINE * (at + 1) as f64;
        picture.text(Text::at(14.0, place, line).coloured(GREY));
    }
    picture
}

/// Returns the height of a panel.
fn height(panel: &Panel) -> f64 {
    if let Kind::Map(grid) = panel.kind { map::height(grid) } else { PANEL }
}

fn is_map(panel: &Panel) -> bool {
    matches!(panel.kind, Kind::Map(_))
}

/// Draws the first of the views into the panel that begins at `top`. The axes reach the values of both. The horizontal axis
/// has a label. `styles` has the style of each name.
fn draw_lines(
    picture: &mut Picture,
    top: f64,
    [views, other]: [Views; 2],
    styles: &BTreeMap<&str, Style>,
    (label, across): (&str, Scale),
    up: Scale,
) {
    let line = |view: super::view::View| Series {
        style: styles[view.name.as_str()],
        name: view.name,
        points: view.simulated,
        measured: view.measured,
    };
    let all = || {
        views.lines.iter().chain(&other.lines).flat_map(|view| {
            let points = view.simulated.iter().map(|point| (point.0, point.1));
            points.chain(view.measured.iter().copied())
        })
    };
    let places = || all().map(|point| point.0);
    let horizontal = Axis::of(across, places()).ticked(places(), RIGHT - LEFT);
    let vertical = Axis::of(up, all().map(|point| point.1));
    let label_up = views.label.clone();
    let series: Vec<Series> = views.lines.into_iter().map(line).collect();
    lines::draw(picture, top, &series, (label, &horizontal), (&label_up, &vertical));
}

/// Draws a picture with one panel of lines. Each axis has a label.
pub fn chart(
    title: &str,
    series: &[Series],
    horizontal: (&str, &Axis),
    vertical: (&str, &Axis),
) -> Picture {
    let mut picture = Picture::new(WIDTH, PANEL);
    picture.text(Text::at(LEFT, 16.0, title).bold());
    lines::draw(&mut picture, 0.0, series, horizontal, vertical);
    picture
}

#[cfg(test)]
mod tests;
