//! Implements the commands.

mod anomalies;
mod compare;
mod explore;
pub mod figure;
mod list;
mod machines;
mod manual;
pub mod report;
mod run;
pub mod validate;

use crate::arguments::{Cli, Command};
use crate::failure::{Ending, Failure};

/// Runs the command that the command line names.
pub fn dispatch(cli: Cli) -> Result<Ending, Failure> {
    match cli.command {
        Command::Compare { workload } => compare::compare(&workload),
        Command::Run { workload } => run::run(&workload),
        Command::Explore { workload: Some(workload), .. } => explore::explore(&workload),
        Command::Explore { anomalies, workload: None } => anomalies::anomalies(&anomalies),
        Command::Machines { command } => machines::machines(&command),
        Command::List { json } => list::list(json),
        Command::Figure(asked) => figure::figure(&asked),
        Command::Report(asked) => report::report(&asked),
        Command::Validate(asked) => validate::validate(&asked),
        Command::Completions { shell } => manual::completions(shell),
        Command::Manual { out, force } => manual::manual(out.as_deref(), force),
    }
}
