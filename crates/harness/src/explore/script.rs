//! A schedule spelled out: which procedures each worker runs, and who hands over to whom.

use machine::Switch;
use std::{fmt, str::FromStr};

/// Which procedures of a schedule are run, and its switches.
///
/// It is written `0.2/1/_:0@41-1,1@7=0`: worker 0 runs the first and the third procedure that its client draws, worker 1
/// the second, worker 2 none; behind the colon the [switches](Switch).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// For each worker the procedures that it runs, by number, ascending.
    pub procedures: Vec<Vec<u64>>,
    /// Who hands over to whom.
    pub switches: Vec<Switch>,
}

impl Script {
    /// All `procedures` of each of `workers`.
    pub fn whole(workers: usize, procedures: u64) -> Script {
        Script { procedures: vec![(0..procedures).collect(); workers], switches: Vec::new() }
    }

    /// Workers that run anything.
    pub fn workers(&self) -> usize {
        self.procedures.iter().filter(|of_one| !of_one.is_empty()).count()
    }

    /// Procedures of all workers.
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
