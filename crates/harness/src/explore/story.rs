//! Describes step by step how a schedule shows a violation, after shrinking the schedule.

use super::{
    Exploration, Script, Violation,
    notes::{Note, What},
    shrink::{Kind, Run, Shrinking},
    values::Tables,
};
use crate::{erased::ErasedWorkload, run::HarnessError};
use checker::Counterexample;
use engine::Engine;
use machine::{Body, Explored, Fault, Machine, Operation, Step, cold::Mutex};
use std::{
    collections::BTreeSet,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};
use storage::Place;
use txn::{Key, TableId, TxnId, Workload};

/// Largest number of lines printed for a run.
const MOST_LINES: usize = 400;

/// Largest number of records whose words are shown if the violation names no records.
const FEW_RECORDS: usize = 6;

/// Size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of workers that run at least one procedure.
    pub workers: usize,
    /// Number of procedures of all workers.
    pub procedures: usize,
    /// Number of times that another core continued.
    pub context_switches: usize,
}

impl Size {
    fn of(run: &Run, script: &Script) -> Size {
        let steps = run.notes.steps.lock();
        let changes = steps.windows(2).filter(|pair| pair[0].core != pair[1].core);
        let context_switches = changes.count();
        Size { workers: script.workers(), procedures: script.count(), context_switches }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { workers, procedures, context_switches } = self;
        write!(f, "{workers} workers, {procedures} procedures, {context_switches} context switches")
    }
}

/// Description of a schedule and its violation.
#[derive(Clone, Debug)]
pub struct Story {
    /// The violation, with the tables' names, or none.
    pub violation: Option<String>,
    /// Detector that found the violation.
    pub detector: Option<&'static str>,
    /// The described schedule, if it can be written as a script.
    pub script: Option<Script>,
    /// Size of the schedule.
    pub size: Size,
    /// Size of the schedule before shrinking, and the number of schedules tried for shrinking.
    pub shrunk_from: Option<(Size, u64)>,
    /// The relevant steps, in order.
    pub lines: Vec<String>,
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shrunk_from {
            Some((before, schedules)) => {
                writeln!(f, "shrunk from {before}, in {schedules} schedules, to")?
            }
            None => write!(f, "schedule: ")?,
        }
        writeln!(f, "{}", self.size)?;
        match &self.violation {
            Some(violation) => writeln!(f, "{}", violation.trim_end())?,
            None => writeln!(f, "no violation")?,
        }
        writeln!(
            f,
            "steps on these records, in their order (step of the run, worker, what it does):"
        )?;
        for line in self.lines.iter().take(MOST_LINES) {
            writeln!(f, "{line}")?;
        }
        match self.lines.len().checked_sub(MOST_LINES) {
            Some(more) if more > 0 => writeln!(f, "and {more} more lines"),
            _ => Ok(()),
        }
    }
}

/// Describes the violation in the schedule of `seed`, after shrinking. If `script` is given, describes that schedule
/// of the seed's workload instead, with or without a violation. Returns none if the schedule of the seed shows no
/// violation.
pub fn trace<W: Workload>(
    workload: &dyn Fn(u64) -> W,
    exploration: &Exploration,
    seed: u64,
    script: Option<&Script>,
) -> Result<Option<Story>, HarnessError> {
    let (exploration, fault) = exploration.with_bug()?;
    let workload: Box<dyn ErasedWorkload<Explored>> = Box::new(workload(seed));
    trace_any(&*workload, &exploration, fault, (seed, script))
}

fn trace_any(
    workload: &dyn ErasedWorkload<Explored>,
    exploration: &Exploration,
    fault: Option<Fault>,
    (seed, given): (u64, Option<&Script>),
) -> Result<Option<Story>, HarnessError> {
    let mut shrinking = Shrinking::new(workload, exploration, fault, seed);
    if let Some(script) = given {
        return tell(&mut shrinking, script, (seed, true)).map(Some);
    }
    let mut script = Script::whole(exploration.workers, exploration.procedures);
    let run = shrinking.run(&script.procedures, None, seed, true)?;
    let Some(violation) = &run.violation else { return Ok(None) };
    let before = Size::of(&run, &script);
    shrinking.keep(Kind::of(violation), run.notes.steps.lock().len() as u64);
    script.switches = run.notes.switches.lock().clone();
    // Ticks of services can depend on more than the list of switches. The schedule is then described without
    // shrinking.
    let Some(script) = shrinking.attempt(&script)? else {
        return tell(&mut shrinking, &script, (seed, false)).map(Some);
    };
    let script = shrinking.smallest(script)?;
    let schedules = shrinking.schedules();
    let mut story = tell(&mut shrinking, &script, (seed, true))?;
    story.shrunk_from = Some((before, schedules));
    Ok(Some(story))
}

/// Runs the script again and describes it. If it can't be spelled out, runs its procedures under the schedule of the
/// seed.
fn tell(
    shrinking: &mut Shrinking<'_>,
    script: &Script,
    (seed, spelled): (u64, bool),
) -> Result<Story, HarnessError> {
    let switches = spelled.then_some(&*script.switches);
    let mut story = None;
    let mut after = |machine: &Explored, engine: &dyn Engine<Explored>, run: &Run| {
        let tables = Tables::new(engine.tables(), engine.table_names());
        let told = Teller::of(run, script, &tables, machine, engine);
        story = Some(Story {
            violation: run.violation.as_ref().map(|found| tables.named(&found.to_string())),
            detector: run.violation.as_ref().map(Violation::detector),
            script: spelled.then(|| script.clone()),
            size: Size::of(run, script),
            shrunk_from: None,
            lines: told.lines(),
        });
    };
    shrinking.run_with(&script.procedures, switches, seed, true, &mut after)?;
    Ok(story.expect("it was told when the run was over"))
}

/// Data needed to describe a run.
struct Teller<'a> {
    notes: Vec<Note>,
    steps: Vec<Step>,
    script: &'a Script,
    tables: &'a Tables,
    found: Option<&'a Counterexample>,
    /// The relevant records. All records are relevant if this is empty.
    parts: BTreeSet<(TableId, u64)>,
    places: Vec<Place>,
}

impl<'a> Teller<'a> {
    fn of(
        run: &'a Run,
        script: &'a Script,
        tables: &'a Tables,
        machine: &Explored,
        engine: &dyn Engine<Explored>,
    ) -> Teller<'a> {
        let found = match &run.violation {
            Some(Violation::Certificate(certificate)) => certificate.counterexample.as_ref(),
            _ => None,
        };
        let parts = found.map(|found| found.parts().into_iter().collect()).unwrap_or_default();
        let (notes, steps) = (run.notes.notes.lock().clone(), run.notes.steps.lock().clone());
        let mut teller = Teller { notes, steps, script, tables, found, parts, places: Vec::new() };
        teller.places = places(machine, engine, &teller.records());
        teller
    }

    /// Returns the records whose words are shown.
    fn records(&self) -> BTreeSet<(TableId, u64)> {
        if !self.parts.is_empty() {
            return self.parts.clone();
        }
        let accessed = |note: &Note| match &note.what {
            What::Row { table, key, .. } => match key.as_key() {
                Key::Number(number) => Some((*table, number)),
                Key::Bytes(_) => None,
            },
            _ => None,
        };
        let records: BTreeSet<_> = self.notes.iter().filter_map(accessed).collect();
        if records.len() > FEW_RECORDS { BTreeSet::new() } else { records }
    }

    /// Returns whether `key` of `table` is a relevant record.
    fn matters(&self, table: TableId, key: Key<'_>) -> bool {
        let spelled = |part: &(TableId, u64)| self.found.and_then(|found| found.spelled.get(part));
        let is_it = |part: &(TableId, u64)| match key {
            Key::Number(number) => number == part.1 && spelled(part).is_none(),
            Key::Bytes(bytes) => spelled(part).is_some_and(|known| known == bytes),
        };
        let mut parts = self.parts.iter().filter(|part| self.tables.is_part(table, part.0));
        self.parts.is_empty() || parts.any(is_it)
    }

    fn note_matters(&self, note: &Note) -> bool {
        match &note.what {
            What::Row { table, key, .. } => self.matters(*table, key.as_key()),
            // A scan of a table may have missed a relevant row.
            What::Scan { table, .. } => {
                let mut parts = self.parts.iter();
                self.parts.is_empty() || parts.any(|part| self.tables.is_part(*table, part.0))
            }
            What::Stage { .. } => true,
            What::Begin { .. } | What::Commit { .. } | What::Rollback | What::Maintain => false,
        }
    }

    /// Returns for each note the number of its attempt, counted from 0 over all workers.
    fn attempts(&self) -> Vec<usize> {
        let mut running = vec![0; self.script.procedures.len()];
        let mut count = 0;
        let attempt = |note: &Note| {
            if matches!(note.what, What::Begin { .. }) {
                running[note.worker] = count;
                count += 1;
            }
            running[note.worker]
        };
        self.notes.iter().map(attempt).collect()
    }

    /// Returns the transaction of the counter-example that began with this note.
    fn involved(&self, note: &Note) -> Option<TxnId> {
        let begun = note.from.clock..=note.to.clock;
        let mut transactions = self.found?.transactions.iter();
        let is_it = |id: TxnId| id.worker() == Some(note.worker);
        transactions.find(|t| is_it(t.id) && begun.contains(&t.begin)).map(|t| t.id)
    }

    fn lines(&self) -> Vec<String> {
        let attempts = self.attempts();
        let mut shown = BTreeSet::new();
        for (note, attempt) in self.notes.iter().zip(&attempts) {
            let begins = matches!(note.what, What::Begin { .. });
            if self.note_matters(note) || (begins && self.involved(note).is_some()) {
                shown.insert(*attempt);
            }
        }
        let mut lines: Vec<(u64, u8, usize, String)> = Vec::new();
        let mut begun = vec![0; self.script.procedures.len()];
        for (note, attempt) in self.notes.iter().zip(&attempts) {
            if let What::Begin { attempt: 0 } = note.what {
                begun[note.worker] += 1;
            }
            if shown.contains(attempt) {
                self.note_lines(note, begun[note.worker], &mut lines);
            }
        }
        lines.extend(self.step_lines());
        // A note is placed between the step before it and the step after it.
        lines.sort_by_key(|(step, kind, ..)| (*step, *kind));
        let line = |(step, kind, worker, text): &(u64, u8, usize, String)| {
            let indent = if *kind == 0 { "" } else { "    " };
            let name = match *worker < self.script.procedures.len() {
                true => format!("worker {worker}"),
                false => format!("service {}", worker - self.script.procedures.len()),
            };
            format!("{step:>7}  {name}  {indent}{text}")
        };
        lines.iter().map(line).collect()
    }

    fn note_lines(&self, note: &Note, begun: usize, lines: &mut Vec<(u64, u8, usize, String)>) {
        let ended = |done: &Result<bool, txn::Abort>, yes: String| match done {
            Ok(true) => yes,
            Ok(false) => ": no".to_owned(),
            Err(abort) => format!(": aborted, {}", abort.reason.name()),
        };
        let mut line = |at: u64, text: String| lines.push((at, 0, note.worker, text));
        match &note.what {
            What::Begin { attempt } => {
                let all = &self.script.procedures[note.worker];
                let number = all.get(begun.saturating_sub(1)).copied().unwrap_or_default();
                let id = self.involved(note).map(|id| format!(" ({id})")).unwrap_or_default();
                line(note.from.step, format!("begins procedure {number}, attempt {attempt}{id}"));
            }
            What::Row { verb, table, key, columns, values, held, done } => {
                if self.note_matters(note) {
                    let name = self.tables.name(*table);
                    let shown = |row: &Vec<u8>| match held {
                        true => self.tables.held_row(*table, *columns, row),
                        false => self.tables.row(*table, *columns, row),
                    };
                    let row = values.as_ref().map(shown);
                    let row = row.filter(|row| !row.is_empty());
                    let row = row.map(|row| format!(": {row}")).unwrap_or_default();
                    line(note.to.step, format!("{verb} {name} {key}{}", ended(done, row)));
                }
            }
            What::Scan { table, columns, rows, range, done } => {
                if self.note_matters(note) {
                    let name = self.tables.name(*table);
                    let of_one = |(key, row): &(txn::OwnedKey, Vec<u8>)| {
                        format!("{key} ({})", self.tables.row(*table, *columns, row))
                    };
                    let rows: Vec<String> = rows.iter().map(of_one).collect();
                    let all = ended(&done.map(|()| true), format!(": {}", rows.join(", ")));
                    line(note.to.step, format!("scans {name} {range}{all}"));
                }
            }
            What::Stage { actions, done } => {
                line(note.from.step, format!("begins a stage of {actions} actions"));
                let end = ended(&done.map(|()| true), "has ended the stage".to_owned());
                line(note.to.step, end.trim_start_matches(": ").to_owned());
            }
            What::Commit { done } => {
                line(note.from.step, "commits".to_owned());
                let end = ended(&done.map(|()| true), "has committed".to_owned());
                line(note.to.step, end.trim_start_matches(": ").to_owned());
            }
            What::Rollback => line(note.to.step, "has rolled back".to_owned()),
            What::Maintain => {
                line(note.from.step, "retires absent rows".to_owned());
                line(note.to.step, "has retired absent rows".to_owned());
            }
        }
    }

    /// Describes the machine's steps on words of the records. Consecutive steps of one core on one record share a
    /// line.
    fn step_lines(&self) -> Vec<(u64, u8, usize, String)> {
        let noted: BTreeSet<u64> =
            self.notes.iter().flat_map(|note| [note.from.step, note.to.step]).collect();
        let mut lines: Vec<(u64, u8, usize, String)> = Vec::new();
        let mut last: Option<(usize, usize, u64)> = None;
        for (at, step) in self.steps.iter().enumerate() {
            let at = at as u64;
            if step.operation == Operation::Move {
                lines.push((at, 1, step.core, format!("moves to core {}", step.value)));
                last = None;
            }
            let Some((number, text)) = self.on_a_record(step) else { continue };
            let goes_on = last.is_some_and(|(core, record, before)| {
                (core, record) == (step.core, number)
                    && noted.range(before + 1..=at).next().is_none()
            });
            last = Some((step.core, number, at));
            match lines.last_mut().filter(|_| goes_on) {
                Some((.., line)) => {
                    if !line.ends_with(&text) {
                        line.push_str("; ");
                        line.push_str(&text);
                    }
                }
                None => {
                    let Place { name, key, .. } = &self.places[number];
                    lines.push((at, 1, step.core, format!("{name} {key}: {text}")));
                }
            }
        }
        lines
    }

    /// Returns the record whose word the step accessed, and a description of the access.
    fn on_a_record(&self, step: &Step) -> Option<(usize, String)> {
        let offset = step.offset?;
        let mut words = self.places.iter().enumerate();
        let here = |(n, place): (usize, &Place)| Some((n, place.word(offset, step.value)?));
        let (number, (word, value)) = words.find_map(here)?;
        let text = match step.operation {
            Operation::Load | Operation::CopyOut => format!("{word} is {value}"),
            Operation::Store | Operation::CopyIn => format!("{word} becomes {value}"),
            Operation::Cas => format!("{word} becomes {value} (cas)"),
            Operation::CasFailed => format!("{word} is {value} (cas fails)"),
            Operation::Swap => format!("{word} was {value} (swap)"),
            Operation::FetchAdd => format!("{word} was {value} (add)"),
            Operation::Wait => format!("{word} is {value} (wait)"),
            Operation::Clock | Operation::Pause | Operation::Move => return None,
        };
        Some((number, text))
    }
}

/// Returns the places of the records, as the indexes give them after the run.
fn places(
    machine: &Explored,
    engine: &dyn Engine<Explored>,
    records: &BTreeSet<(TableId, u64)>,
) -> Vec<Place> {
    let found = Mutex::new(Vec::new());
    let look = |core: &machine::ExploredCore| {
        let places = records.iter().flat_map(|(table, key)| engine.places(core, *table, *key));
        let places: Vec<Place> = places.collect();
        *found.lock() = places;
    };
    let body: Body<'_, Explored> = Box::new(look);
    // After a violation an index may be in any state. If the look-up fails, the description has fewer details.
    let _ = catch_unwind(AssertUnwindSafe(|| machine.run(vec![body], Vec::new())));
    found.into_inner()
}
