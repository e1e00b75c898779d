//! Standard output and standard error: what they can show, and writing to them.

use crate::failure::Failure;
use crate::report::Terminal;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What standard output can show. Pipes get neither colours nor a width of their own.
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

/// A bar over `length` steps on standard error, invisible where that is no terminal.
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

/// How far a command is, on standard error: a bar on a terminal, elsewhere a line for each thing that is done.
pub struct Progress {
    bar: ProgressBar,
    lines: bool,
    all: usize,
    done: AtomicUsize,
}

impl Progress {
    /// Of `all` things, which cost so much together.
    pub fn of(all: usize, cost: u64) -> Progress {
        let lines = !std::io::stderr().is_terminal();
        Progress { bar: bar(cost), lines, all, done: AtomicUsize::new(0) }
    }

    /// This is done now.
    pub fn begin(&self, what: String) {
        self.bar.set_message(what);
    }

    /// One thing that cost so much is done, and this came of it.
    pub fn done(&self, what: &str, cost: u64) {
        self.bar.inc(cost);
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.lines {
            // Whoever has stopped reading does not want to know.
            let _ = writeln!(std::io::stderr(), "{done}/{} {what}", self.all);
        }
    }

    /// Nothing more comes.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
