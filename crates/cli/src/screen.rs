//! Writes to standard output and standard error, and finds out what they can show.

use crate::failure::Failure;
use crate::report::Terminal;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the capabilities of standard output. Pipes get the default width and no colours.
pub fn terminal() -> Terminal {
    let plain = Terminal::default();
    if !std::io::stdout().is_terminal() {
        return plain;
    }
    let width = terminal_size::terminal_size().map_or(plain.width, |(width, _)| width.0.into());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Terminal { width, colour: wanted && !dumb, unicode: !dumb }
}

/// Writes to standard output.
pub fn say(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Returns a progress bar over `length` steps on standard error. It is hidden where that is no terminal.
pub fn bar(length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = "{bar:20} {percent:>3}%  {elapsed} gone, {eta} to go  {wide_msg}";
    let bar = ProgressBar::new(length)
        .with_style(ProgressStyle::with_template(style).expect("the template is well-formed"));
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

/// Progress of a command on standard error: a bar on a terminal, otherwise a line for each finished task.
pub struct Progress {
    bar: ProgressBar,
    lines: bool,
    all: usize,
    done: AtomicUsize,
}

impl Progress {
    /// Creates the progress of `all` tasks with the total cost `cost`.
    pub fn of(all: usize, cost: u64) -> Progress {
        let lines = !std::io::stderr().is_terminal();
        Progress { bar: bar(cost), lines, all, done: AtomicUsize::new(0) }
    }

    /// Shows the task that is running now.
    pub fn begin(&self, what: String) {
        self.bar.set_message(what);
    }

    /// Counts a finished task with its cost, and shows its result.
    pub fn done(&self, what: &str, cost: u64) {
        self.bar.inc(cost);
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.lines {
            // An error is ignored: if standard error is closed, no reader needs the progress.
            let _ = writeln!(std::io::stderr(), "{done}/{} {what}", self.all);
        }
    }

    /// Removes the bar at the end of the command.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
