//! Finds workloads by name, and turns the options that they declare into clap arguments.

use crate::failure::Failure;
use crate::suggestion;
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand, error::ErrorKind,
};
use harness::run_record::{Settings, settings};
use txn::Workload;
use workloads::registry::{Declaration, Listed, Visitor, declaration, declarations, with_workload};
use workloads::{AnyOption, Bundle, OptionError, OptionValue, Options};

/// A workload, the options given for it, and the options of the command.
#[derive(Debug)]
pub struct WorkloadCommand<C> {
    name: &'static str,
    preset: Option<String>,
    /// Options by name, with their values. Switches have no values.
    said: Vec<(&'static str, String)>,
    command: C,
}

/// Values of options that are not given.
#[derive(Clone, Copy, Debug)]
pub enum Defaults {
    /// The workload's usual defaults.
    Usual,
    /// Defaults with which the protocols differ.
    Compared,
}

/// Facts about a workload for a record.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Name of the workload.
    pub name: &'static str,
    /// All options of the workload.
    pub options: Settings,
}

impl Facts {
    /// Returns the options that differ from the defaults, in the form of the command line.
    pub fn command_line(&self) -> String {
        let options = declaration(self.name).map(|declared| declared.options).unwrap_or_default();
        let defaults = settings(options.iter().map(|option| option.default()).collect());
        let changed =
            self.options.iter().filter(|(name, value)| defaults.get(*name) != Some(value));
        let mut line = self.name.to_owned();
        for (name, value) in changed {
            match value.to_string().as_str() {
                "true" => line.push_str(&format!(" --{name}")),
                "false" => line.push_str(&format!(" --no-{name}")),
                value => line.push_str(&format!(" --{name} {value}")),
            }
        }
        line
    }
}

/// Work on a workload whose name is known only at run time.
pub trait Task {
    /// Result of the task.
    type Output;
    /// Returns the smallest number of workers of the task's runs. Returns none if it runs nothing.
    fn fewest_workers(&self) -> Option<u64> {
        None
    }
    /// Performs the task with `workload`.
    fn perform<W: Workload>(self, workload: &W, facts: &Facts) -> Result<Self::Output, Failure>;
}

impl<C> WorkloadCommand<C> {
    /// Returns the options of the command.
    pub fn command(&self) -> &C {
        &self.command
    }

    /// Returns the declaration of the workload.
    pub fn declared(&self) -> Declaration {
        declaration(self.name).expect("the command line knows the registry's workloads alone")
    }

    /// Creates the workload and performs `task` with it.
    pub fn perform<T: Task>(&self, defaults: Defaults, task: T) -> Result<T::Output, Failure> {
        match with_workload(self.name, Performance { asked: self, defaults, task }) {
            Ok(outcome) => outcome,
            Err(_) => unreachable!("the command line knows the registry's workloads alone"),
        }
    }
}

struct Performance<'a, C, T> {
    asked: &'a WorkloadCommand<C>,
    defaults: Defaults,
    task: T,
}

impl<C, T: Task> Visitor for Performance<'_, C, T> {
    type Output = Result<T::Output, Failure>;

    fn visit<W: Listed>(self) -> Self::Output {
        let refused = |error: OptionError| {
            let dashes = if error.option.contains(' ') { "" } else { "--" };
            Failure::refused(format!("{dashes}{error}"))
        };
        let preset = self.asked.preset.as_deref().and_then(W::Options::preset);
        let mut options = preset.unwrap_or_else(|| match self.defaults {
            Defaults::Usual => W::Options::default(),
            Defaults::Compared => W::Options::compared(),
        });
        for (word, text) in &self.asked.said {
            options.set(word, text).map_err(refused)?;
        }
        let facts = Facts { name: W::NAME, options: settings(options.list()) };
        let given = |word: &str| self.asked.said.iter().any(|(said, _)| *said == word);
        let contradiction = options.contradiction(&given);
        let bound = options.bound_workers();
        let workload = W::with(options).map_err(refused)?;
        contradiction.map_err(refused)?;
        if let (Some((option, bound)), Some(workers)) = (bound, self.task.fewest_workers())
            && bound > workers
        {
            return Err(Failure::refused(format!(
                "--{option} is {bound}; allowed: 0 to {workers}, the fewest workers of a run (--cores)"
            )));
        }
        self.task.perform(&workload, &facts)
    }
}

/// Returns the chosen workload and the arguments behind its name.
pub(super) fn chosen(matches: &ArgMatches) -> Result<(Declaration, &ArgMatches), clap::Error> {
    let found = matches.subcommand().and_then(|(name, said)| Some((declaration(name)?, said)));
    found.ok_or_else(|| clap::Error::raw(ErrorKind::MissingSubcommand, "a workload is missing"))
}

impl<C: Args> FromArgMatches for WorkloadCommand<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (declared, matches) = chosen(matches)?;
        let options = declared.options.iter().filter_map(|option| {
            let word = option.word();
            match option.placeholder() {
                Some(_) => Some((word, matches.get_one::<String>(word)?.clone())),
                None => matches.get_flag(word).then(|| (word, String::new())),
            }
        });
        let switches = declared.switches.iter().map(|switch| switch.name);
        let switched = switches.filter(|name| matches.get_flag(name));
        Ok(WorkloadCommand {
            name: declared.name,
            preset: match declared.presets {
                [] => None,
                _ => matches.get_one::<String>(PRESET).cloned(),
            },
            said: options.chain(switched.map(|name| (name, String::new()))).collect(),
            command: C::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<C: Args> Subcommand for WorkloadCommand<C> {
    fn augment_subcommands(command: Command) -> Command {
        declarations().into_iter().fold(command, |command, declared| {
            let workload = Command::new(declared.name)
                .args(preset(declared.presets))
                .args(declared.options.iter().map(|option| argument(*option)))
                .args(declared.switches.iter().map(switch));
            let about = capitalised(declared.summary);
            let after_help = after_help(&declared);
            // Where a workload has an option of the same name, the command's option is left out.
            let own = |name: &str| declared.options.iter().any(|option| option.word() == name);
            let others = C::augment_args(Command::new(declared.name));
            let others = others.get_arguments().filter(|other| !own(other.get_id().as_str()));
            let workload = workload.args(others.cloned());
            command.subcommand(workload.about(about).after_help(after_help))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        declaration(name).is_some()
    }
}

/// Returns `text` with a capital first letter.
pub(super) fn capitalised(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}

/// Heading of the workloads' options.
const HEADING: &str = "Workload";

/// Name of the option for presets.
const PRESET: &str = "preset";

/// Returns the end of a workload's help: its presets, if it has any, and example commands.
fn after_help(declared: &Declaration) -> String {
    let mut text = String::new();
    if !declared.presets.is_empty() {
        let width = declared.presets.iter().map(|preset| preset.name.len()).max().unwrap_or(0);
        let row = |preset: &Bundle| format!("  {:width$}  {}\n", preset.name, preset.summary);
        let rows: String = declared.presets.iter().map(row).collect();
        text = format!("Presets:\n{rows}\n");
    }
    let name = declared.name;
    let examples = declared.examples.iter().map(|said| format!("kilocore run {name} {said}"));
    text + "Example: " + &examples.collect::<Vec<_>>().join("\n         ")
}

/// Returns the argument `--preset`, if there are presets.
fn preset(presets: &'static [Bundle]) -> Option<Arg> {
    let names = || presets.iter().map(|preset| preset.name).collect::<Vec<_>>();
    let help = format!(
        "Settings by name, to which further options are changes [possible values: {}]",
        names().join(", ")
    );
    let known = move |name: &str| match names().contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(suggestion::allowed(name, &names(), &names().join(", "))),
    };
    let argument = Arg::new(PRESET).long(PRESET).help(help).help_heading(HEADING);
    (!presets.is_empty()).then(|| argument.value_name("NAME").value_parser(known))
}

fn argument(option: &'static dyn AnyOption) -> Arg {
    let word = option.word();
    let argument = Arg::new(word).long(word).help_heading(HEADING);
    let Some(placeholder) = option.placeholder() else {
        return argument.action(ArgAction::SetTrue).help(option.help());
    };
    let (_, default) = option.default();
    let compared = option.compared();
    let default = match compared == default {
        true => short(&default),
        false => format!("{}; compare: {}", short(&default), short(&compared)),
    };
    let checked = |text: &str| match option.check(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(error) => Err(suggestion::allowed(text, option.choices(), &error.allowed)),
    };
    argument
        .value_name(placeholder)
        .value_parser(move |text: &str| checked(text))
        .help(format!("{} [default: {default}]", option.help()))
}

fn switch(switch: &Bundle) -> Arg {
    let sets = switch.sets.split_whitespace().filter_map(|word| word.strip_prefix("--"));
    Arg::new(switch.name)
        .long(switch.name)
        .action(ArgAction::SetTrue)
        .conflicts_with_all(sets.collect::<Vec<_>>())
        .help(switch.summary)
        .help_heading(HEADING)
}

/// Returns the value in a short form, for example `10k`.
fn short(value: &OptionValue) -> String {
    match value {
        OptionValue::Integer(n) if *n >= 1_000_000 && n % 1_000_000 == 0 => {
            format!("{}M", n / 1_000_000)
        }
        OptionValue::Integer(n) if *n >= 10_000 && n % 1_000 == 0 => format!("{}k", n / 1_000),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> Result<Settings, Failure> {
        /// No command has fewer options.
        #[derive(Debug, Args)]
        struct NoOptions {}

        struct Listing;
        impl Task for Listing {
            type Output = Settings;
            fn perform<W: Workload>(self, _: &W, facts: &Facts) -> Result<Settings, Failure> {
                Ok(facts.options.clone())
            }
        }

        let command = WorkloadCommand::<NoOptions>::augment_subcommands(Command::new("run"));
        let matches = command.get_matches_from([&["run"], words].concat());
        WorkloadCommand::<NoOptions>::from_arg_matches(&matches)
            .expect("good words")
            .perform(Defaults::Compared, Listing)
    }

    #[test]
    fn what_is_said_goes_before_a_preset_and_that_before_defaults() {
        let set = |words: &[&str], name: &str| said(words).expect("good")[name].to_string();
        assert_eq!(set(&["ycsb"], "theta"), "0.6");
        assert_eq!(set(&["ycsb", "--preset", "a"], "theta"), "0.99");
        assert_eq!(set(&["ycsb", "--preset", "a", "--theta", "0.1"], "theta"), "0.1");
        assert_eq!(set(&["ycsb", "--records", "2k", "--no-distinct"], "records"), "2000");
        assert_eq!(set(&["ycsb", "--records", "2k", "--no-distinct"], "distinct"), "false");
        let tpcc = ["tpcc", "--preset", "abyss-4", "--warehouses", "2", "--local-only"];
        for (name, value) in [
            ("warehouses", "2"),
            ("items", "10000"),
            ("schema", "small"),
            ("remote-payment", "0"),
            ("remote-new-order", "0"),
        ] {
            assert_eq!(set(&tpcc, name), value);
        }
        assert!(said(&["timestamps"]).expect("good").is_empty());
    }

    #[test]
    fn a_line_of_facts_says_what_was_said() {
        let options = said(&["counters", "--no-distinct", "--key-order", "--sums", "0.5"]);
        let facts = Facts { name: "counters", options: options.expect("good") };
        let expected = "counters --counters 4096 --no-distinct --key-order --sums 0.5";
        assert_eq!(facts.command_line(), expected);
    }

    #[test]
    fn large_numbers_are_short() {
        let short = |n| short(&OptionValue::Integer(n));
        assert_eq!([short(0), short(3000), short(4096)], ["0", "3000", "4096"]);
        assert_eq!([short(10_000), short(5_000_000), short(1_500_000)], ["10k", "5M", "1500k"]);
    }
}
