//! Implements `kilocore machines`: lists and measures hardware that can be simulated.

use super::list::columns;
use crate::arguments::{MachineChoice, MachinesCommand, named_machines};
use crate::destination::{self, Existing};
use crate::failure::{Ending, Failure};
use crate::screen;
use harness::run_record::write_whole;
use simulator::{MachineDescription, probe::ProbeOptions};
use std::path::Path;

/// Lists, shows or measures machines.
pub fn machines(command: &MachinesCommand) -> Result<Ending, Failure> {
    match command {
        MachinesCommand::List => list()?,
        MachinesCommand::Show { name, toml } => show(name, *toml)?,
        MachinesCommand::Probe { out, force } => probe(out.as_deref(), *force)?,
    }
    Ok(Ending::Good)
}

fn list() -> Result<(), Failure> {
    let mut rows = Vec::new();
    for name in named_machines() {
        let machine = MachineChoice::load(name)?;
        rows.push(vec![
            name.to_owned(),
            format!("{} cores", machine.cores()),
            machine.description(),
        ]);
    }
    screen::say(&columns(rows))
}

fn show(name: &str, toml: bool) -> Result<(), Failure> {
    match MachineChoice::load(name)? {
        MachineChoice::Native if toml => Err(Failure::refused(
            "machines show native: --toml prints machine files, and native has none; allowed: kilocore machines probe, \
             which measures and writes one",
        )),
        MachineChoice::Native => screen::say(&columns(vec![
            vec!["what".to_owned(), crate::host::native_machine()],
            vec!["host".to_owned(), crate::host::host()],
        ])),
        MachineChoice::Simulated { description, .. } if toml => {
            let builtin = MachineDescription::builtin_text(name).map(str::to_owned);
            screen::say(&builtin.unwrap_or_else(|| description.to_toml()))
        }
        MachineChoice::Simulated { description, .. } => {
            let text = MachineDescription::text(name);
            screen::say(&description.describe(text.as_deref()))?;
            match MachineDescription::builtin_text(name) {
                Some(_) => screen::say(&format!(
                    "the file with all comments: kilocore machines show {name} --toml\n"
                )),
                None => Ok(()),
            }
        }
    }
}

fn probe(out: Option<&Path>, force: bool) -> Result<(), Failure> {
    let out = out.filter(|path| !destination::is_stdout(path));
    destination::check(&[("--out", out)], Existing::forced(force))?;
    let found = simulator::probe::probe(&ProbeOptions::default())?;
    let text = found.to_toml();
    match out {
        None => screen::say(text.trim_end()),
        Some(path) => {
            write_whole(path, text.as_bytes())?;
            screen::say(&format!("{}: {}", path.display(), found.description.title))
        }
    }
}
