//! What a person gets to see of run records: a table and a chart for the terminal, a page for the browser.
//!
//! All three are functions of the records alone, so any of them can be made again from a file of records.

mod chart;
mod grouping;
mod marks;
mod numbers;
mod page;
mod settings;
mod table;

pub use chart::chart;
pub use marks::remarks;
pub use numbers::{duration_ns, rate};
pub use page::page;
pub use table::table;

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Columns.
    pub width: usize,
    /// Colours are wanted: not for pipes and files.
    pub colour: bool,
    /// Characters beyond ASCII are shown.
    pub unicode: bool,
}

impl Default for Terminal {
    /// 80 columns, no colours, Unicode: right for a pipe.
    fn default() -> Terminal {
        Terminal { width: 80, colour: false, unicode: true }
    }
}

#[cfg(test)]
mod tests;
