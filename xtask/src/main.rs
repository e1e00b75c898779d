//! Runs chores of the Kilocore repository. `cargo xtask help` lists them.

mod breadth;
mod cycles;
mod explore;
mod instructions;
mod json;
mod listing;
mod mutants;
mod neighbours;
mod nightly;
mod pages;
mod prove;
mod results;
mod third_party;
mod tidy;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// Result of a chore. The error is the message to print.
type Outcome = Result<(), String>;

/// A task run on the repository by hand or by its checks.
struct Chore {
    name: &'static str,
    line: &'static str,
    run: fn(&Path, &[String]) -> Outcome,
}

const CHORES: &[Chore] = &[
    Chore {
        name: "tidy",
        line: "the house rules: layers, words, unsafe, orderings, lengths (seconds)",
        run: tidy::run,
    },
    Chore {
        name: "cycles",
        line: "exact simulated runs against the committed ones; --bless writes them anew (a minute)",
        run: cycles::run,
    },
    Chore {
        name: "instructions",
        line: "what the machine trait and transactions cost, counted by valgrind, into results/ (minutes)",
        run: instructions::run,
    },
    Chore {
        name: "explore",
        line: "schedules of every protocol, in batches, resumed where it stopped (minutes to hours): \
               [--schedules 100000] [--batch 2000] [--workload counters] [--architecture NAME] \
               [--cc NAME,...] [--cc-option NAME=VALUE]",
        run: explore::run,
    },
    Chore {
        name: "breadth",
        line: "schedules of every protocol over workloads, workers, options and levels of isolation, resumed where it \
               stopped (a day): [--schedules 1000000] [--cc NAME,...] [--workload NAME] [--status] [--anyway]",
        run: breadth::run,
    },
    Chore {
        name: "listing",
        line: "whether chores can read what the release build lists, which must be there (a second)",
        run: listing::run,
    },
    Chore {
        name: "mutants",
        line: "every planted bug, until its detector catches it; prints caught of planted (a minute): \
               [--seconds 120]",
        run: mutants::run,
    },
    Chore {
        name: "neighbours",
        line: "native waiting: every protocol with more threads than processors, alone and beside busy programs, \
               into results/ (minutes): [--before PROGRAM] [--cc NAME,...] [--threads 2,4,8,16] \
               [--seconds 1] [--neighbours 2] [--out FILE]",
        run: neighbours::run,
    },
    Chore {
        name: "nightly",
        line: "sanitizers and Miri, where a nightly toolchain has them, and verdicts against dbcop's, where its \
               source is given (half an hour): [--only NAME] [--dbcop DIR]",
        run: nightly::run,
    },
    Chore {
        name: "pages",
        line: "the tables, charts and findings under results/, from the raw records there (a second)",
        run: pages::run,
    },
    Chore {
        name: "prove",
        line: "every protocol on every workload on every machine, certified, resumed where it stopped \
               (an hour): [--schedules 5000] [--workload NAME] [--cc NAME,...] [--again]",
        run: prove::run,
    },
    Chore {
        name: "results",
        line: "the measurements under results/, those that are missing (an hour): [--only TEXT]",
        run: results::run,
    },
];

impl Chore {
    /// Returns the first option among `arguments` that the chore's line does not name.
    fn unknown<'a>(&self, arguments: &'a [String]) -> Option<&'a str> {
        let is_known = |option: &str| {
            let mut words = self.line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            words.any(|word| word == option)
        };
        let mut options = arguments.iter().filter(|argument| argument.starts_with("--"));
        options.find(|option| !is_known(option)).map(String::as_str)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("help", &[][..]),
    };
    if matches!(name, "help" | "--help" | "-h") {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        eprintln!("no chore {name:?}\n\n{}", help());
        return ExitCode::from(2);
    };
    if rest.iter().any(|argument| matches!(argument.as_str(), "--help" | "-h")) {
        println!("cargo xtask {name}: {}", chore.line);
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = chore.unknown(rest) {
        eprintln!("no option {unknown} of this chore\n\n{name}: {}", chore.line);
        return ExitCode::from(2);
    }
    match (chore.run)(&root(), rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let mut text = "cargo xtask CHORE [OPTIONS]\n\n".to_owned();
    for chore in CHORES {
        text += &format!("  {:<13} {}\n", chore.name, chore.line);
    }
    text
}

/// Returns the repository's root: this crate's parent directory.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Returns the directory in which cargo puts build results.
fn target_directory(root: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(path) => root.join(path),
        None => root.join("target"),
    }
}

/// Returns a command for the cargo that runs this program.
fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a command that inherits this program's standard output and error. Fails if the command fails.
fn must(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

/// Returns the value behind `--name`, if it is given.
fn option<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let at = arguments.iter().position(|a| a == name)?;
    arguments.get(at + 1).map(String::as_str)
}

/// Returns the value behind `--name` as a number, as [`option`] finds it, or `otherwise`.
fn number(arguments: &[String], name: &str, otherwise: u64) -> Result<u64, String> {
    match option(arguments, name) {
        None => Ok(otherwise),
        Some(text) => {
            text.parse().map_err(|_| format!("{name} {text:?}: a whole number is allowed"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_chore() {
        let text = help();
        assert!(CHORES.iter().all(|chore| text.contains(chore.name)));
    }

    #[test]
    fn options_are_found_and_checked() {
        let arguments = ["--batch".to_owned(), "7".to_owned(), "--seed".to_owned(), "x".to_owned()];
        assert_eq!(number(&arguments, "--batch", 1), Ok(7));
        assert_eq!(number(&arguments, "--other", 1), Ok(1));
        assert!(number(&arguments, "--seed", 1).is_err());
    }

    #[test]
    fn a_chore_knows_the_options_that_its_line_names() {
        let chore = |name| CHORES.iter().find(|chore| chore.name == name).expect("it is there");
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(chore("breadth").unknown(&words("--schedules 100 --cc SILO --status")), None);
        assert_eq!(chore("breadth").unknown(&words("--schedule 100")), Some("--schedule"));
        assert_eq!(chore("cycles").unknown(&words("--bless")), None);
        assert_eq!(chore("tidy").unknown(&words("--all")), Some("--all"));
    }
}
