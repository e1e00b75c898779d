//! Draws charts of horizontal bars.

use super::lines::step_of;
use super::numbers::{three, tick as written};
use super::picture::{Anchor, COLOURS, Picture, WIDTH};

/// A bar: its value, and whether it is to be trusted. One that is not is drawn hollow.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    pub value: f64,
    pub sure: bool,
}

/// A chart of bars in rows.
#[derive(Clone, Debug)]
pub struct Bars {
    pub title: String,
    /// Quantity that the bars show, with its unit.
    pub label: String,
    /// Names of the bars of a row.
    pub series: Vec<String>,
    /// Rows with their names. Each has a bar for each series, or none where nothing is known.
    pub rows: Vec<(String, Vec<Option<Bar>>)>,
    /// A line of text below the chart.
    pub note: String,
}

const LEFT: f64 = 112.0;
const RIGHT: f64 = WIDTH - 64.0;
const TOP: f64 = 62.0;

impl Bars {
    /// Returns the chart as an SVG file.
    pub fn draw(&self) -> String {
        let thick = 13.0;
        let row_height = thick * self.series.len() as f64 + 8.0;
        let bottom = TOP + row_height * self.rows.len() as f64;
        let values = self.rows.iter().flat_map(|row| row.1.iter().flatten()).map(|bar| bar.value);
        let most = values.fold(0.0, f64::max);
        let step = step_of(most);
        let count = (most / step).ceil() as usize;
        let x = |value: f64| LEFT + value / (step * count as f64) * (RIGHT - LEFT);
        let mut picture = Picture::new(bottom + 62.0, &self.title);
        for tick in (0..=count).map(|at| at as f64 * step) {
            picture.grid((x(tick), TOP - 4.0), (x(tick), bottom));
            picture.text(x(tick), bottom + 16.0, Anchor::Middle, &written(tick));
        }
        picture.text((LEFT + RIGHT) / 2.0, bottom + 34.0, Anchor::Middle, &self.label);
        picture.text(14.0, bottom + 54.0, Anchor::Start, &self.note);
        let mut legend = LEFT;
        for (name, colour) in self.series.iter().zip(COLOURS) {
            picture.bar((legend, 36.0), (12.0, 12.0), colour, true);
            picture.text(legend + 18.0, 46.0, Anchor::Start, name);
            legend += 40.0 + 7.2 * name.chars().count() as f64;
        }
        for (at, (name, bars)) in self.rows.iter().enumerate() {
            let top = TOP + row_height * at as f64;
            let middle = top + (row_height - 8.0) / 2.0 + 4.0;
            picture.text(LEFT - 8.0, middle, Anchor::End, name);
            for (number, (bar, colour)) in bars.iter().zip(COLOURS).enumerate() {
                let Some(bar) = bar else { continue };
                let y = top + thick * number as f64;
                let length = (x(bar.value) - LEFT).max(0.5);
                picture.bar((LEFT, y), (length, thick - 2.0), colour, bar.sure);
                let value = three(bar.value);
                picture.coloured(x(bar.value) + 5.0, y + 9.5, Anchor::Start, colour, &value);
            }
        }
        picture.finish()
    }
}
