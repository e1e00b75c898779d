//! Implements `kilocore completions` and `kilocore manual`: both are made from the description of the command line.

use crate::arguments;
use crate::destination::{self, Existing};
use crate::failure::{Ending, Failure};
use crate::screen;
use clap_complete::Shell;
use std::path::Path;

/// Prints the completion script for a shell.
pub fn completions(shell: Shell) -> Result<Ending, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::command(), "kilocore", &mut script);
    print(script)
}

/// Writes the manual pages into `directory`, which is created if it does not exist. Without a directory, the main page is
/// printed.
pub fn manual(directory: Option<&Path>, force: bool) -> Result<Ending, Failure> {
    let Some(directory) = directory else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(arguments::command()).render(&mut page);
        rendered.expect("memory does not fail to be written");
        return print(page);
    };
    let is_page = |name: &str| name.starts_with("kilocore") && name.ends_with(".1");
    if destination::files(directory).iter().any(|name| is_page(name)) {
        let found = "pages of kilocore exist there";
        destination::refuse("--out", directory, found, Existing::forced(force))?;
    }
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(arguments::command(), directory));
    match written {
        Ok(()) => Ok(Ending::Good),
        Err(error) => Err(Failure::refused(format!("--out {}: {error}", directory.display()))),
    }
}

fn print(text: Vec<u8>) -> Result<Ending, Failure> {
    screen::say(&String::from_utf8_lossy(&text))?;
    Ok(Ending::Good)
}
