//! Represents a schedule explicitly: the procedures that each worker runs, and the switches between cores.

use machine::Switch;
use std::{fmt, str::FromStr};

/// Procedures that are run in a schedule, and its switches.
///
/// The text form is, for example, `0.2/1/_:0@41-1,1@7=0`. Worker 0 runs the first and the third procedure that its
/// client draws, worker 1 runs the second, and worker 2 runs none. The [switches](Switch) follow the colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Numbers of the procedures that each worker runs, ascending.
    pub procedures: Vec<Vec<u64>>,
    /// Switches between cores.
    pub switches: Vec<Switch>,
}

impl Script {
    /// Returns a script that runs all `procedures` of each of `workers`, without switches.
    pub fn whole(workers: usize, procedures: u64) -> Script {
        Script { procedures: vec![(0..procedures).collect(); workers], switches: Vec::new() }
    }

    /// Returns the number of workers that run at least one procedure.
    pub fn workers(&self) -> usize {
        self.procedures.iter().filter(|of_one| !of_one.is_empty()).count()
    }

    /// Returns the number of procedures of all workers.
    pub fn count(&self) -> usize {
        self.procedures.iter().map(Vec::len).sum()
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (worker, procedures) in self.procedures.iter().enumerate() {
            let numbers: Vec<String> = procedures.iter().map(u64::to_string).collect();
            let none = if numbers.is_empty() { "_" } else { "" };
            let space = if worker == 0 { "" } else { "/" };
            write!(f, "{space}{none}{}", numbers.join("."))?;
        }
        let switches: Vec<String> = self.switches.iter().map(Switch::to_string).collect();
        write!(f, ":{}", switches.join(","))
    }
}

impl FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Script, String> {
        let wrong = || format!("'{text}'; allowed: such as 0.2/1/_:0@41-1,1@7=0");
        let (procedures, switches) = text.split_once(':').ok_or_else(wrong)?;
        let of_one = |text: &str| match text {
            "_" => Ok(Vec::new()),
            numbers => {
                let numbers: Result<Vec<u64>, _> = numbers.split('.').map(str::parse).collect();
                numbers.ok().filter(|n| n.is_sorted_by(|a, b| a < b)).ok_or_else(wrong)
            }
        };
        let procedures: Result<Vec<_>, _> = procedures.split('/').map(of_one).collect();
        let switches = switches.split(',').filter(|text| !text.is_empty()).map(str::parse);
        Ok(Script { procedures: procedures?, switches: switches.collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read_as_they_are_written() {
        for text in ["0.2/1/_:0@41-1,1@7=0", "0:", "_/_:@1", "0.1.2.3/0.3:2@5-0e"] {
            assert_eq!(text.parse::<Script>().unwrap().to_string(), text);
        }
        for text in ["", "0", "1.0:", "0.0:", "x:", "/:", "0:0@1", "0:x", ":"] {
            assert!(text.parse::<Script>().is_err(), "{text}");
        }
        let whole = Script::whole(2, 3);
        assert_eq!((whole.workers(), whole.count(), &*whole.to_string()), (2, 6, "0.1.2/0.1.2:"));
    }
}
