//! Reports run records: as a table and a chart for the terminal, and as a page for the browser.
//!
//! All three depend only on the records, so each can be created again from a file of records.

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
pub use settings::CERTIFICATE_OF;
pub use table::table;

/// Capabilities of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Number of columns.
    pub width: usize,
    /// Set if colours are wanted. They are not used for pipes and files.
    pub colour: bool,
    /// Set if the terminal shows characters beyond ASCII.
    pub unicode: bool,
}

impl Default for Terminal {
    /// Returns 80 columns, no colours, and Unicode, which suits a pipe.
    fn default() -> Terminal {
        Terminal { width: 80, colour: false, unicode: true }
    }
}

#[cfg(test)]
mod tests;
