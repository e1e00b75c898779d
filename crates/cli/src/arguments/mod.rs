//! Defines and parses the command line. Errors are reported in one line.

mod architectures;
mod exploration;
mod machine;
mod moves;
mod numbers;
mod options;
mod output;
mod protocols;
mod workload;

pub use architectures::{
    architecture_arguments, check_owners, check_partitioned, check_servers, declarations_under,
    owners, protocols_under, serves_beside_workers,
};
pub use exploration::ExploreCommand;
pub use machine::{MachineChoice, named as named_machines};
pub use moves::{moves_arguments, protocols_with_executors, table_places_name};
pub use numbers::{check_seeds, seconds, whole};
pub use options::{AnomaliesArguments, CompareArguments, RunArguments};
pub use output::Outputs;
pub use protocols::{
    access_options, declarations, heeding, options_to_run, protocol_options, protocols_at,
};
pub use workload::{Defaults, Facts, Task, WorkloadCommand};

use crate::failure::{Ending, Failure};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::path::PathBuf;

/// Concurrency control compared: on the cores in front of you, and on a simulated thousand
#[derive(Debug, Parser)]
#[command(name = "kilocore", version, after_help = "Example: kilocore compare ycsb")]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare every protocol, natively and on a simulated machine, with a report
    #[command(
        subcommand_value_name = "WORKLOAD",
        subcommand_help_heading = "Workloads",
        after_help = "Example: kilocore compare ycsb --theta 0.8 --out report"
    )]
    Compare {
        /// On what.
        #[command(subcommand)]
        workload: WorkloadCommand<CompareArguments>,
    },
    /// Measure protocols on one machine
    #[command(
        subcommand_value_name = "WORKLOAD",
        subcommand_help_heading = "Workloads",
        after_help = "Example: kilocore run ycsb --cc SILO,NO_WAIT --cores 1,2 --theta 0.6 --read-ratio 0.5"
    )]
    Run {
        /// What.
        #[command(subcommand)]
        workload: WorkloadCommand<RunArguments>,
    },
    /// Hunt for bugs: thousands of short runs under adversarial schedules, each checked
    #[command(
        subcommand_value_name = "WORKLOAD",
        subcommand_help_heading = "Workloads",
        after_help = "Example: kilocore explore counters --cc SILO --schedules 10000\n         kilocore explore --anomalies --cc SILO,SNAPSHOT"
    )]
    #[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
    Explore {
        /// The table of anomalies, instead of a workload.
        #[command(flatten)]
        anomalies: AnomaliesArguments,
        /// With what.
        #[command(subcommand)]
        workload: Option<ExploreCommand>,
    },
    /// The machines that can be simulated
    #[command(after_help = "Example: kilocore machines show graphite")]
    Machines {
        /// The command about machines.
        #[command(subcommand)]
        command: MachinesCommand,
    },
    /// Protocols, workloads, architectures and planted bugs, one line each
    #[command(after_help = "Example: kilocore list")]
    List {
        /// As JSON, for programs.
        #[arg(long)]
        json: bool,
    },
    /// Regenerate figures of papers on the simulated machine, and judge what the papers say of them
    #[command(
        after_help = "Example: kilocore figure abyss 8a --quick\n         kilocore figure --list"
    )]
    Figure(crate::commands::figure::FigureArguments),
    /// Judge and draw the figures in a directory anew from their records, and write a page over all of them
    #[command(after_help = "Example: kilocore report results")]
    Report(crate::commands::report::ReportArguments),
    /// Simulate what was measured on a real machine, and report the error
    #[command(after_help = "Example: kilocore validate --csv errors.csv")]
    Validate(crate::commands::validate::ValidateArguments),
    /// Print a script that completes commands and options in a shell
    #[command(
        after_help = "Example: kilocore completions bash > ~/.local/share/bash-completion/completions/kilocore"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write manual pages: kilocore.1, and one page for each command
    #[command(after_help = "Example: kilocore manual --out ~/.local/share/man/man1")]
    Manual {
        /// Directory for the pages; pages that exist are refused, except with --force [default: kilocore.1 to standard
        /// output]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Overwrite pages in the directory
        #[arg(long, requires = "out")]
        force: bool,
    },
}

/// The commands about machines.
#[derive(Debug, Subcommand)]
pub enum MachinesCommand {
    /// One line for each machine
    List,
    /// All that the model knows about one
    #[command(after_help = "Example: kilocore machines show superdome-flex")]
    Show {
        /// A machine's name, or the path of a machine file.
        name: String,
        /// Print the machine file itself, with its sources, as a start for your own.
        #[arg(long)]
        toml: bool,
    },
    /// Measure the machine at hand and write its machine file
    #[command(after_help = "Example: kilocore machines probe --out here.toml")]
    Probe {
        /// File to write. If it exists, --force is needed [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Overwrite the file
        #[arg(long, requires = "out")]
        force: bool,
    },
}

/// Returns the description of all commands and options.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Parses the process's arguments. Prints help and version itself, and then ends the process.
pub fn parse() -> Result<Cli, Failure> {
    let command = with_negative_numbers(command());
    let words: Vec<_> = std::env::args_os().collect();
    let parsed = command
        .clone()
        .try_get_matches_from(&words)
        .and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // No command was given, so the answer is the list of all commands.
            let _ = error.print();
            std::process::exit(i32::from(Ending::Refused as u8));
        }
        _ => Failure::refused(one_line(&error, &command, &words)),
    })
}

/// Allows negative numbers as values, so that `--theta -1` is reported as a bad number and not as an unknown option.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    command
        .mut_args(|argument| match argument.get_action().takes_values() {
            true => argument.allow_negative_numbers(true),
            false => argument,
        })
        .mut_subcommands(with_negative_numbers)
}

/// Returns clap's error on one line, without usage and hints.
fn one_line(error: &clap::Error, root: &clap::Command, words: &[std::ffi::OsString]) -> String {
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
    {
        let (kind, known) = subcommands_at(root, words);
        return crate::suggestion::unknown(kind, name, &known);
    }
    let text = error.render().to_string();
    let said = text.split("\nUsage:").next().unwrap_or(&text);
    let lines: Vec<&str> = said
        .lines()
        .map(|line| line.trim().trim_start_matches("error: "))
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    let mut line = lines.join("; ").replace("provided:; ", "provided: ");
    if error.kind() == ErrorKind::UnknownArgument {
        line.push_str("; --help lists what is allowed");
    }
    line
}

/// Returns the subcommands that could stand in place of the first unknown word, and what kind of thing they name.
fn subcommands_at<'a>(
    root: &'a clap::Command,
    words: &[std::ffi::OsString],
) -> (&'static str, Vec<&'a str>) {
    let mut at = root;
    for word in words.iter().skip(1) {
        if let Some(below) = at.find_subcommand(word) {
            at = below;
        }
    }
    let kind = match at.get_subcommand_help_heading() {
        Some("Workloads") => "workload",
        _ => "command",
    };
    (kind, at.get_subcommands().map(clap::Command::get_name).filter(|n| *n != "help").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        with_negative_numbers(Cli::command()).debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        fn examined(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let trivial = command.get_name() == "help" || command.get_name() == "list";
            assert!(help.contains("Example: ") || trivial, "{}", command.get_name());
            command.get_subcommands().for_each(examined);
        }
        examined(&Cli::command());
    }
}
