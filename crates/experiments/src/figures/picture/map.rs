//! Draws a map: a cell for each place of a grid, in the colour of the architecture that is the fastest there.

use super::canvas::{Anchor, GREY, GRID, GROUND, Picture, Text};
use super::style::styles;
use crate::figures::Line;
use crate::figures::map::{Cell, Grid, Spot, architectures};

/// Width of a picture with a map, in pixels.
pub const WIDTH: f64 = 880.0;

/// Left and right end of the cells, and the width of the gap between two blocks.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 866.0;
const GAP: f64 = 10.0;

/// Height of the names of machine and architectures above a map, of those of blocks and columns, and of the space below.
const ABOVE: f64 = 28.0;
const HEADER: f64 = 40.0;
const BELOW: f64 = 22.0;

/// Height of a cell, and the distances of its lines of text.
const CELL: f64 = 58.0;
const LINE: f64 = 16.0;

/// Width of a letter, in pixels.
const LETTER: f64 = 7.0;

/// Returns the height of the map of `grid`.
pub fn height(grid: &Grid) -> f64 {
    ABOVE + HEADER + CELL * grid.rows.len() as f64 + BELOW
}

/// Corners of a rectangle.
type Area = ((f64, f64), (f64, f64));

/// Returns the place of a cell of the map that begins at `top`.
fn place(grid: &Grid, top: f64, Spot { block, row, column }: Spot) -> Area {
    let (blocks, columns) = (grid.cores.len() as f64, grid.columns.len() as f64);
    let width = (RIGHT - LEFT - GAP * (blocks - 1.0)) / (blocks * columns);
    let left = LEFT + block as f64 * (columns * width + GAP) + column as f64 * width;
    let above = top + ABOVE + HEADER + row as f64 * CELL;
    ((left, above), (left + width, above + CELL))
}

/// Draws the map of `lines` into the panel called `title` that begins at `top`.
pub fn draw(picture: &mut Picture, top: f64, title: &str, grid: &Grid, lines: &[&Line]) {
    let names = architectures(lines);
    let colours = styles(&names).into_iter().map(|style| style.colour);
    let colours: Vec<(&str, &'static str)> = names.into_iter().zip(colours).collect();
    picture.text(Text::at(14.0, top + 16.0, title).bold());
    legend(picture, top + 16.0, &colours);
    header(picture, top, grid);
    for spot in grid.spots() {
        let area = place(grid, top, spot);
        match Cell::of(lines, grid.x(spot)) {
            Some(cell) => filled(picture, area, &cell, &colours),
            None => {
                let ((left, above), (right, below)) = area;
                picture.bar((left + 1.0, above + 1.0), (right - 1.0, below - 1.0), GRID);
                let middle = ((left + right) / 2.0, (above + below) / 2.0 + 4.0);
                let is_run = lines.iter().any(|line| line.at(grid.x(spot)).is_some());
                let why = if is_run { "no commits" } else { "no run" };
                let text = Text::at(middle.0, middle.1, why).coloured(GREY);
                picture.text(text.anchored(Anchor::Middle));
            }
        }
    }
}

/// Writes the names of the blocks, the columns and the rows.
fn header(picture: &mut Picture, top: f64, grid: &Grid) {
    let base = top + ABOVE;
    picture.text(Text::at(14.0, base + 30.0, grid.across).coloured(GREY));
    for (block, cores) in grid.cores.iter().enumerate() {
        let first = place(grid, top, Spot { block, row: 0, column: 0 });
        let last = place(grid, top, Spot { block, row: 0, column: grid.columns.len() - 1 });
        let middle = (first.0.0 + last.1.0) / 2.0;
        let text = Text::at(middle, base + 12.0, format!("{cores} cores"));
        picture.text(text.anchored(Anchor::Middle).bold());
        for (column, name) in grid.columns.iter().enumerate() {
            let ((left, _), (right, _)) = place(grid, top, Spot { block, row: 0, column });
            let text = Text::at((left + right) / 2.0, base + 30.0, *name).coloured(GREY);
            picture.text(text.anchored(Anchor::Middle));
        }
    }
    for (row, name) in grid.rows.iter().enumerate() {
        let ((_, above), (_, below)) = place(grid, top, Spot { block: 0, row, column: 0 });
        // A name of several parts has a line for each.
        let parts: Vec<&str> = name.split(", ").collect();
        let first = (above + below) / 2.0 + 4.0 - LINE * (parts.len() - 1) as f64 / 2.0;
        for (at, part) in parts.into_iter().enumerate() {
            picture.text(Text::at(14.0, first + LINE * at as f64, part));
        }
    }
}

/// Draws the names of the architectures with their colours, and the form of a tie, at the right end of a line.
fn legend(picture: &mut Picture, base: f64, colours: &[(&str, &'static str)]) {
    const TIE: &str = "tie";
    let names = colours.iter().map(|(name, _)| *name).chain([TIE]);
    let width = |name: &str| 20.0 + LETTER * name.chars().count() as f64 + 14.0;
    let mut left = RIGHT - names.map(width).sum::<f64>() + 14.0;
    let square = |left: f64| ((left, base - 10.0), (left + 12.0, base + 2.0));
    for (name, colour) in colours {
        let (from, to) = square(left);
        picture.bar(from, to, colour);
        picture.text(Text::at(left + 20.0, base, *name));
        left += width(name);
    }
    let two: Vec<&'static str> = colours.iter().take(2).map(|(_, colour)| *colour).collect();
    if let [one, other] = two[..] {
        split(picture, square(left), [one, other]);
        picture.text(Text::at(left + 20.0, base, TIE));
    }
}

/// Draws a rectangle of two colours: the first one above the diagonal, the second one below it.
fn split(picture: &mut Picture, (from, to): Area, [one, other]: [&'static str; 2]) {
    picture.bar(from, to, one);
    picture.polygon(vec![(to.0, from.1), to, (from.0, to.1)], other);
}

/// Draws a cell with its winner. A tie has the colours of both architectures.
fn filled(
    picture: &mut Picture,
    ((left, above), (right, below)): Area,
    cell: &Cell<'_>,
    colours: &[(&str, &'static str)],
) {
    let colour = |name: &str| {
        colours.iter().find(|(known, _)| *known == name).map_or(GREY, |(_, colour)| *colour)
    };
    let area = ((left + 1.5, above + 1.5), (right - 1.5, below - 1.5));
    let best = colour(cell.best.architecture);
    match cell.second.filter(|_| cell.is_tie()) {
        Some(second) => split(picture, area, [best, colour(second.architecture)]),
        None => picture.bar(area.0, area.1, best),
    }
    let middle = (left + right) / 2.0;
    let texts = [cell.best.protocol.to_owned(), cell.best.written(), cell.lead_written()];
    for (at, text) in texts.into_iter().enumerate() {
        let text = Text::at(middle, above + 18.0 + LINE * at as f64, text);
        let text = text.anchored(Anchor::Middle).coloured(GROUND);
        picture.text(if at == 0 { text.bold() } else { text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::judging::line;

    const SMALL: Grid = Grid {
        cores: &[4, 8],
        rows: &["reads", "updates, 16 hot"],
        columns: &["0 %", "100 %"],
        across: "remote",
    };

    #[test]
    fn cells_do_not_overlap_and_stay_in_the_picture() {
        let places: Vec<Area> =
            SMALL.spots().into_iter().map(|spot| place(&SMALL, 0.0, spot)).collect();
        for (at, (from, to)) in places.iter().enumerate() {
            assert!(from.0 >= LEFT && to.0 <= RIGHT + 1e-9 && to.1 <= height(&SMALL) - BELOW);
            for (other_from, other_to) in &places[..at] {
                let apart = |a: f64, b: f64| a >= b - 1e-9;
                assert!(
                    apart(from.0, other_to.0)
                        || apart(other_from.0, to.0)
                        || apart(from.1, other_to.1)
                        || apart(other_from.1, to.1)
                );
            }
        }
    }

    #[test]
    fn a_cell_has_the_winner_and_a_tie_has_two_colours() {
        let lines = [
            line("SE SILO", &[(0.0, 3.0), (1.0, 2.0)]),
            line("PSE NO_CC", &[(0.0, 1.0), (1.0, 2.01)]),
        ];
        let mut picture = Picture::new(WIDTH, height(&SMALL));
        draw(&mut picture, 0.0, "A machine", &SMALL, &lines.each_ref());
        let svg = picture.to_svg();
        let count = |what: &str| svg.matches(what).count();
        assert_eq!((count(">SILO</text>"), count(">NO_CC</text>")), (1, 1), "{svg}");
        assert_eq!((count(">3.00× PSE</text>"), count(">= SE</text>")), (1, 1), "{svg}");
        assert_eq!(count(">no run</text>"), 6, "{svg}");
        let [blue, navy] = ["#1f6fd0", "#2b2f6b"].map(|colour| {
            let polygons = svg.lines().filter(|line| line.starts_with("<polygon"));
            polygons.filter(|line| line.contains(&format!("fill=\"{colour}\""))).count()
        });
        // Of both colours: the square of the legend, its half of the tie, and its half of the cell that is a tie.
        assert_eq!((blue, navy), (4, 3), "{svg}");
    }
}
