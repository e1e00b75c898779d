//! Implements the command `kilocore`.
//!
//! | module | contents |
//! | --- | --- |
//! | `arguments` | parsing and checking of the command line |
//! | `commands` | one file for each command |
//! | `destination` | which existing files a command may overwrite |
//! | `measurement` | one configuration, from its options to its record |
//! | [`report`] | records as a table, a chart and a page |

mod arguments;
mod commands;
mod destination;
mod failure;
mod host;
mod interrupt;
mod load;
mod measurement;
mod notes;
mod origin;
pub mod report;
mod screen;
mod suggestion;

use failure::{Ending, Failure};
use std::process::ExitCode;

/// Runs the command with which the process was started.
pub fn main() -> ExitCode {
    match arguments::parse().and_then(commands::dispatch) {
        Ok(ending) => ending.code(),
        Err(Failure::ReaderGone) => Ending::Good.code(),
        Err(failure) => {
            eprintln!("error: {failure}");
            Ending::Refused.code()
        }
    }
}
