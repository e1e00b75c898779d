//! Shrinks a schedule that shows a violation, as long as the same kind of violation remains. It reduces procedures,
//! workers and switches.
//!
//! Procedures are removed one after the other, those of whole workers first. The remaining procedures are tried with
//! the known switches. If they show no violation, they are tried with newly drawn schedules. Then switches are
//! removed, by halves, quarters and so on down to single ones (Zeller and Hildebrandt: Simplifying and isolating
//! failure-inducing input, IEEE Transactions on Software Engineering 28(2), 2002). Every attempt is one run, and it
//! is the same on every machine. The number of attempts is limited by a count and not by time, so a seed always gives
//! the same result.

use super::{
    Exploration, Explorations, Explorers, Script, Violation,
    judgement::{How, Judgement},
    notes::Notes,
};
use crate::{erased::ErasedWorkload, run::HarnessError};
use machine::{Explored, Fault, RunError, Switch, cold::Arc};

/// Largest number of schedules to run for shrinking, and of steps in them.
const MOST_SCHEDULES: u64 = 40_000;
const MOST_STEPS: u64 = 400_000_000;

/// Number of schedules to draw for procedures that show no violation with the known switches.
const DRAWN: u64 = 200;

/// Number of schedules to draw at the end to find one with few switches.
const DRAWN_FOR_FEW: u64 = 600;

/// Kind of a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A violation found by this detector.
    By(&'static str),
    /// A violation found by the checker: level and phenomenon.
    History(&'static str, &'static str),
    /// All cores wait for each other.
    Deadlock,
    StepLimit,
}

impl Kind {
    pub fn of(violation: &Violation) -> Kind {
        match violation {
            Violation::Certificate(certificate) => match &certificate.counterexample {
                Some(found) => Kind::History(found.level.denial(), found.phenomenon.as_str()),
                None => Kind::By(violation.detector()),
            },
            Violation::Stuck(RunError::Deadlock(_)) => Kind::Deadlock,
            Violation::Stuck(RunError::StepLimit(_)) => Kind::StepLimit,
            other => Kind::By(other.detector()),
        }
    }
}

/// A run: its violation and its notes.
pub(super) struct Run {
    pub violation: Option<Violation>,
    pub notes: Notes,
}

/// Shrinks a schedule.
pub(super) struct Shrinking<'a> {
    workload: &'a dyn ErasedWorkload<Explored>,
    exploration: Exploration,
    seed: u64,
    plain: Explorers,
    tracing: Explorers,
    kind: Option<Kind>,
    spent: Explorations,
}

impl<'a> Shrinking<'a> {
    /// Prepares to shrink the schedule of `seed`, with `fault` switched on.
    pub fn new(
        workload: &'a dyn ErasedWorkload<Explored>,
        exploration: &Exploration,
        fault: Option<Fault>,
        seed: u64,
    ) -> Shrinking<'a> {
        let spent =
            Explorations { schedules: 0, operations: 0, commits: 0, aborts: 0, finding: None };
        let (plain, tracing) = (Explorers::new(fault), Explorers::tracing(fault));
        let exploration = exploration.clone();
        Shrinking { workload, exploration, seed, plain, tracing, kind: None, spent }
    }

    /// Runs `procedures` under `switches`, or under the schedule that `drawn` draws. Records all steps and requests
    /// if `traced` is set.
    pub fn run(
        &mut self,
        procedures: &[Vec<u64>],
        switches: Option<&[Switch]>,
        drawn: u64,
        traced: bool,
    ) -> Result<Run, HarnessError> {
        self.run_with(procedures, switches, drawn, traced, &mut |_, _, _| {})
    }

    /// Runs as [`Shrinking::run`] does, then passes the machine and the engine to `after`.
    pub fn run_with(
        &mut self,
        procedures: &[Vec<u64>],
        switches: Option<&[Switch]>,
        drawn: u64,
        traced: bool,
        after: &mut dyn FnMut(&Explored, &dyn engine::Engine<Explored>, &Run),
    ) -> Result<Run, HarnessError> {
        let explorers = if traced { &mut self.tracing } else { &mut self.plain };
        let machine: Arc<Explored> = explorers.take(drawn, self.exploration.step_limit)?;
        let notes = Notes { watched: traced, ..Notes::default() };
        let how = How { procedures: Some(procedures), switches, notes: Some(&notes) };
        let (workload, exploration, seed) = (self.workload, &self.exploration, self.seed);
        let schedule = Judgement { workload, exploration, seed, how };
        let engine = schedule.engine(&machine)?;
        self.spent.schedules += 1;
        let violation = schedule.judge(&machine, &*engine, &mut self.spent)?;
        let run = Run { violation, notes };
        after(&machine, &*engine, &run);
        drop(engine);
        explorers.give(machine);
        Ok(run)
    }

    /// Sets the kind of violation to keep from here on. Also lowers the step limit to 20 times `steps` plus 20,000,
    /// unless the violation is the step limit itself. A schedule that takes longer then shows a violation of another
    /// kind.
    pub fn keep(&mut self, kind: Kind, steps: u64) {
        if kind != Kind::StepLimit {
            let limit = self.exploration.step_limit.min(20 * steps + 20_000);
            self.exploration.step_limit = limit;
            self.plain = Explorers::new(self.plain.fault);
            self.tracing = Explorers::tracing(self.tracing.fault);
        }
        self.kind = Some(kind);
    }

    /// Returns the number of schedules run so far.
    pub fn schedules(&self) -> u64 {
        self.spent.schedules
    }

    fn is_spent(&self) -> bool {
        self.spent.schedules >= MOST_SCHEDULES || self.spent.operations >= MOST_STEPS
    }

    fn shows(&self, run: &Run) -> bool {
        run.violation.as_ref().map(Kind::of) == self.kind
    }

    /// Returns the script with only the switches that took effect, if it still shows the violation.
    pub fn attempt(&mut self, script: &Script) -> Result<Option<Script>, HarnessError> {
        if self.is_spent() {
            return Ok(None);
        }
        let run = self.run(&script.procedures, Some(&script.switches), self.seed, false)?;
        let switches = std::mem::take(&mut *run.notes.switches.lock());
        let made = Script { procedures: script.procedures.clone(), switches };
        Ok(self.shows(&run).then_some(made))
    }

    /// Returns a script of `procedures` that shows the violation, from newly drawn schedules. Returns the first one
    /// found, or the one with the fewest switches if `fewest` is set.
    fn draw(
        &mut self,
        procedures: &[Vec<u64>],
        tries: u64,
        fewest: bool,
    ) -> Result<Option<Script>, HarnessError> {
        let mut best: Option<Script> = None;
        for number in 0..tries {
            let drawn = self.seed.wrapping_add(number);
            if self.is_spent() {
                break;
            }
            let run = self.run(procedures, None, drawn, false)?;
            if !self.shows(&run) {
                continue;
            }
            let run = self.run(procedures, None, drawn, true)?;
            let switches = std::mem::take(&mut *run.notes.switches.lock());
            let few = best.as_ref().is_none_or(|best| switches.len() < best.switches.len());
            let script = Script { procedures: procedures.to_vec(), switches };
            // In the drawn run, `drawn` also seeded choices other than the schedule. The script must show the
            // violation with the original seed.
            if few && let Some(script) = self.attempt(&script)? {
                best = Some(script);
            }
            if best.is_some() && !fewest {
                break;
            }
        }
        Ok(best)
    }

    /// Shrinks the script until no further reduction is found.
    pub fn smallest(&mut self, script: Script) -> Result<Script, HarnessError> {
        let mut script = self.fewer_procedures(script, DRAWN)?;
        if let Some(few) = self.draw(&script.procedures.clone(), DRAWN_FOR_FEW, true)?
            && few.switches.len() < script.switches.len()
        {
            script = few;
        }
        loop {
            let before = (script.count(), script.switches.len());
            script = self.fewer_switches(script)?;
            script = self.fewer_procedures(script, 0)?;
            if (script.count(), script.switches.len()) == before {
                return Ok(script);
            }
        }
    }

    fn fewer_procedures(&mut self, mut script: Script, draws: u64) -> Result<Script, HarnessError> {
        'again: loop {
            for procedures in less(&script.procedures) {
                let switches = script.switches.clone();
                let fewer = Script { procedures, switches };
                let found = match self.attempt(&fewer)? {
                    None => self.draw(&fewer.procedures, draws, false)?,
                    found => found,
                };
                if let Some(found) = found {
                    script = found;
                    continue 'again;
                }
            }
            return Ok(script);
        }
    }

    fn fewer_switches(&mut self, mut script: Script) -> Result<Script, HarnessError> {
        let mut size = script.switches.len().div_ceil(2);
        while size > 0 {
            let mut first = 0;
            while first < script.switches.len() {
                let end = (first + size).min(script.switches.len());
                let mut fewer = script.clone();
                fewer.switches.drain(first..end);
                match self.attempt(&fewer)? {
                    Some(found) if found.switches.len() < script.switches.len() => script = found,
                    _ => first = end,
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
        Ok(script)
    }
}

/// Returns all reductions of `procedures`: without one worker, without half of a worker's procedures, without a
/// single procedure.
fn less(procedures: &[Vec<u64>]) -> Vec<Vec<Vec<u64>>> {
    let mut all = Vec::new();
    let mut without = |worker: usize, from: usize, to: usize| {
        let mut fewer = procedures.to_vec();
        fewer[worker].drain(from..to);
        all.push(fewer);
    };
    let busy = || (0..procedures.len()).filter(|&worker| !procedures[worker].is_empty());
    busy().for_each(|worker| without(worker, 0, procedures[worker].len()));
    for worker in busy().filter(|&worker| procedures[worker].len() > 3) {
        let count = procedures[worker].len();
        without(worker, count / 2, count);
        without(worker, 0, count / 2);
    }
    for worker in busy().filter(|&worker| procedures[worker].len() > 1) {
        (0..procedures[worker].len()).rev().for_each(|at| without(worker, at, at + 1));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_is_tried_from_workers_down_to_single_procedures() {
        let fewer = less(&[vec![0, 1], vec![], vec![5]]);
        assert_eq!(fewer[0], [vec![], vec![], vec![5]]);
        assert_eq!(fewer[1], [vec![0, 1], vec![], vec![]]);
        assert_eq!(fewer[2..], [[vec![0], vec![], vec![5]], [vec![1], vec![], vec![5]]]);
        assert!(less(&[vec![], vec![]]).is_empty());
        assert_eq!(less(&[vec![0, 1, 2, 3]])[1..3], [[vec![0, 1]], [vec![2, 3]]]);
    }
}
