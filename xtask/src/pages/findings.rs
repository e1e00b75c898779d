//! Writes the findings of `results/README.md`: each has a sentence, its numbers, its records, its command and a chart.
//! All numbers are computed from the records.

mod checks;
mod native;
mod simulated;

use super::records::Results;
pub use checks::errors;

use crate::results::command;

/// A finding.
pub struct Finding {
    pub title: String,
    /// One or two sentences.
    pub text: String,
    /// Files of raw records, below `results/`.
    pub files: Vec<String>,
    /// Command that measures this.
    pub command: String,
    /// Name of the chart, without folder and ending.
    pub chart: &'static str,
    pub svg: String,
}

impl Finding {
    /// Returns the finding as Markdown.
    pub fn text(&self, number: usize) -> String {
        let links: Vec<String> =
            self.files.iter().map(|file| format!("[`{file}`]({file})")).collect();
        let (title, chart) = (&self.title, self.chart);
        format!(
            "## {number}. {title}\n\n{}\n\n![{title}](charts/{chart}.svg)\n\nRecords: {}. Command: `{}`\n\n",
            self.text,
            links.join(", "),
            self.command
        )
    }
}

/// Returns all findings in their order.
pub fn all(results: &Results) -> Result<Vec<Finding>, String> {
    Ok(vec![
        simulated::timestamps(results)?,
        simulated::read_only(results)?,
        simulated::medium(results)?,
        simulated::high(results)?,
        simulated::tails(results)?,
        simulated::tpcc(results)?,
        native::ycsb(results)?,
        native::neighbours(results)?,
        checks::hardware(results)?,
        checks::bugs(results)?,
    ])
}

/// Returns the command of the chore `results` for a file without its ending.
fn of_chore(file: &str) -> Result<String, String> {
    command(file).ok_or_else(|| format!("the chore `results` does not measure {file}"))
}
