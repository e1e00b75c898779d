//! Parses the explored workloads, in the forms that they declare.

use super::options::ExploreArguments;
use super::workload::{capitalised, chosen};
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand, error::ErrorKind,
};
use workloads::registry::{Declaration, declaration, declarations};
use workloads::variation::{Explored, Form};

/// A workload for exploration, which is small and varied by the schedule's seed.
#[derive(Debug)]
pub struct ExploreCommand {
    /// Name of the workload.
    pub workload: &'static str,
    /// All forms of the workload other than the usual one.
    pub forms: &'static [Form],
    /// The requested form, or none for the usual one.
    pub form: Option<Form>,
    /// Options of the command.
    pub asked: ExploreArguments,
}

impl ExploreCommand {
    /// Returns the declaration of the workload.
    pub fn declared(&self) -> Declaration {
        declaration(self.workload).expect("the command line knows the registry's workloads alone")
    }
}

/// Returns the workloads that are explored.
fn explored() -> impl Iterator<Item = (&'static str, Explored)> {
    declarations().into_iter().filter_map(|declared| Some((declared.name, declared.explored?)))
}

/// Returns the forms of all workloads, each once.
fn all_forms() -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    for form in explored().flat_map(|(_, explored)| explored.forms) {
        if !forms.contains(form) {
            forms.push(*form);
        }
    }
    forms
}

/// Returns the requested form. Fails if `workload` does not have it, or if two forms are requested.
fn asked_form(
    workload: &str,
    has: &[Form],
    matches: &ArgMatches,
) -> Result<Option<Form>, clap::Error> {
    let refused = |message: String| Err(clap::Error::raw(ErrorKind::ArgumentConflict, message));
    let asked = |form: &Form| match form.values {
        Some([_, this]) => matches.get_one::<String>(form.option).is_some_and(|said| said == this),
        None => matches.get_flag(form.option),
    };
    let forms: Vec<Form> = all_forms().into_iter().filter(asked).collect();
    if let Some(form) = forms.iter().find(|form| !has.contains(form)) {
        let having = explored().filter(|(_, explored)| explored.forms.contains(form));
        let having: Vec<_> = having.map(|(name, _)| name).collect();
        let allowed = having.join(", ");
        return refused(format!("{form}: {workload} has no such form; allowed: {allowed}"));
    }
    match forms[..] {
        [first, second, ..] => refused(format!("{first}: not with {second}")),
        _ => Ok(forms.first().copied()),
    }
}

impl FromArgMatches for ExploreCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ExploreCommand, clap::Error> {
        let (declared, matches) = chosen(matches)?;
        let forms = declared.explored.map_or(&[][..], |explored| explored.forms);
        Ok(ExploreCommand {
            workload: declared.name,
            forms,
            form: asked_form(declared.name, forms, matches)?,
            asked: ExploreArguments::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for ExploreCommand {
    fn augment_subcommands(command: Command) -> Command {
        explored().fold(command, |command, (name, explored)| {
            let example = explored.example;
            let example = format!("Example: kilocore explore {name} {example} --schedules 10000");
            // Other workloads' forms are hidden but still parsed, so that the error can name the workloads that have
            // them.
            let forms = all_forms().into_iter().map(|form| {
                let argument = argument(&form);
                argument.hide(!explored.forms.contains(&form))
            });
            let workload = ExploreArguments::augment_args(Command::new(name)).args(forms);
            command.subcommand(workload.about(capitalised(explored.summary)).after_help(example))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        declaration(name).is_some_and(|declared| declared.explored.is_some())
    }
}

fn argument(form: &Form) -> Arg {
    let argument =
        Arg::new(form.option).long(form.option).help(form.help).help_heading("Exploration");
    match form.values {
        None => argument.action(ArgAction::SetTrue),
        Some([usual, this]) => {
            argument.value_name("KIND").default_value(usual).value_parser([usual, this])
        }
    }
}
