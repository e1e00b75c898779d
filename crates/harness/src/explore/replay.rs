//! Replays: schedules run with a log, and what the log was told is held against what the tables hold.
//!
//! The commits are replayed onto the rows that were loaded, in the order of their tickets. Each before-image must be what
//! the replay has at that point, and in the end it must have exactly the rows that the tables have. Beside the workers
//! somebody walks through all tables, as a fuzzy checkpoint does: each row that it reads must be one that the replay has
//! had there at some time, and it must miss none that was there all the time.

use super::{
    Exploration, Explorers,
    ages::Ages,
    judgement::{How, Judgement},
};
use crate::{
    erased::ErasedWorkload,
    memory_log::{KeptCommit, KeptKey, KeptWrite, MemoryLog},
    run::HarnessError,
};
use engine::{CommitSink, Engine, Session, Start, Ticket, Walk};
use machine::{
    Body, Core, Explored, Fault, Machine,
    cold::{Arc, Mutex},
};
use std::collections::BTreeMap;
use txn::{ColumnSet, RowLayout, TableId, TableSchema, Workload, WriteKind};

/// Ticks between two attempts of a walk at the same piece.
const BACK_OFF: u64 = 100;

/// Table and key of a row.
type RowName = (TableId, KeptKey);

/// The columns of a row that are there: all, unless it is in two parts and one of them is yet to come, or to go.
type Row = BTreeMap<usize, Vec<u8>>;

/// Rows as the replay has them.
type Rows = BTreeMap<RowName, Row>;

/// How the rows of a table are laid out.
struct Layout {
    columns: RowLayout,
    /// Its parts, each a record of its own.
    parts: Vec<ColumnSet>,
}

type Layouts = BTreeMap<TableId, Layout>;

impl Layout {
    fn of(schema: &TableSchema) -> Layout {
        let columns = RowLayout::of(schema);
        let parts = [columns.all().without(schema.often), schema.often];
        Layout { parts: parts.into_iter().filter(|part| !part.is_empty()).collect(), columns }
    }
}

/// What replays found.
#[derive(Debug, Default)]
pub struct Replays {
    /// Commits replayed.
    pub commits: u64,
    /// The first schedule in which something is wrong, and what.
    pub finding: Option<(u64, String)>,
}

/// Runs the schedules of `exploration`, with `fault` switched on if there is one, and replays each.
pub fn replay<W: Workload>(
    workload: &dyn Fn(u64) -> W,
    exploration: &Exploration,
    fault: Option<Fault>,
) -> Result<Replays, HarnessError> {
    let (mut explorers, mut replays) = (Explorers::new(fault), Replays::default());
    for number in 0..exploration.schedules {
        let seed = exploration.first_seed.wrapping_add(number);
        let workload: Box<dyn ErasedWorkload<Explored>> = Box::new(workload(seed));
        let schedule = Judgement { workload: &*workload, exploration, seed, how: How::default() };
        let machine = explorers.take(seed, exploration.step_limit)?;
        let engine = schedule.engine(&machine)?;
        let wrong = replay_one(&schedule, &machine, &*engine, &mut replays)?;
        drop(engine);
        explorers.give(machine);
        if let Some(wrong) = wrong {
            replays.finding = Some((seed, wrong));
            break;
        }
    }
    Ok(replays)
}

/// What is wrong in one schedule, if anything is.
fn replay_one(
    schedule: &Judgement<'_>,
    machine: &Explored,
    engine: &dyn Engine<Explored>,
    replays: &mut Replays,
) -> Result<Option<String>, HarnessError> {
    let slot = schedule.exploration.workers;
    let layouts: Layouts =
        engine.tables().iter().map(|(id, schema)| (*id, Layout::of(schema))).collect();
    let walked = Mutex::new(Vec::new());
    let walker = || -> Body<'_, Explored> {
        Box::new(|core| *walked.lock() = walk_all(core, &mut *engine.session(core, slot), &layouts))
    };
    machine.run(vec![walker()], vec![])?;
    let loaded: Rows = walked.lock().drain(..).collect();
    let log = Arc::new(MemoryLog::default());
    engine.log_to(log.clone()).expect("whoever isolates can be logged");
    let ages = Mutex::new(Ages::default());
    if let Err(violation) = schedule.execute(machine, engine, &ages, Some(walker())) {
        return Ok(Some(violation.to_string()));
    }
    let beside = std::mem::take(&mut *walked.lock());
    machine.run(vec![walker()], vec![])?;
    let left: Rows = walked.lock().drain(..).collect();
    let commits = log.commits();
    replays.commits += commits.len() as u64;
    log.synchronise();
    if log.acknowledged() != Ticket(commits.len() as u64) {
        return Ok(Some("a ticket was drawn and never told".into()));
    }
    Ok(check(&layouts, loaded, &commits, &beside, &left).err())
}

/// Replays `commits` onto what was `loaded`, and compares with what is `left` and with what was read `beside`.
fn check(
    layouts: &Layouts,
    loaded: Rows,
    commits: &BTreeMap<Ticket, KeptCommit>,
    beside: &[(RowName, Row)],
    left: &Rows,
) -> Result<(), String> {
    let mut rows = loaded.clone();
    // What each row has ever been, and which were always there.
    let mut ever: BTreeMap<RowName, Vec<Row>> =
        loaded.iter().map(|(name, row)| (name.clone(), vec![row.clone()])).collect();
    let mut always = loaded;
    for (ticket, commit) in commits {
        for write in &commit.writes {
            apply(&mut rows, &layouts[&write.row.0].columns, write)
                .map_err(|wrong| format!("{ticket:?} of {}: {wrong} {write:?}", commit.id))?;
        }
        for write in &commit.writes {
            match rows.get(&write.row) {
                Some(row) => ever.entry(write.row.clone()).or_default().push(row.clone()),
                None => drop(always.remove(&write.row)),
            }
        }
    }
    if rows != *left {
        let differ = |row: &&RowName| rows.get(*row) != left.get(*row);
        let at = rows.keys().chain(left.keys()).find(differ).expect("they differ");
        return Err(format!("{at:?}: replayed {:?}, left {:?}", rows.get(at), left.get(at)));
    }
    let mut met = BTreeMap::<&RowName, u32>::new();
    for (name, row) in beside {
        *met.entry(name).or_default() += 1;
        // The parts of a row are records of their own: only of each of them its writers have an order.
        let known = |part: &ColumnSet| {
            let was = |state: &Row| of_part(state, *part) == of_part(row, *part);
            ever.get(name).is_some_and(|states| states.iter().any(was))
        };
        if !layouts[&name.0].parts.iter().all(known) {
            return Err(format!("{name:?} was never {row:?}, which a walk has read"));
        }
    }
    match always.keys().find(|name| met.get(name) != Some(&1)) {
        Some(name) => Err(format!("a walk has met {name:?} {:?} times", met.get(name))),
        None => Ok(()),
    }
}

/// The values of `columns`, one by one, out of packed ones.
fn unpack(layout: &RowLayout, columns: ColumnSet, mut packed: &[u8]) -> Row {
    let value = |column| {
        let (value, rest) = packed.split_at(layout.span(column).bytes as usize);
        packed = rest;
        (column, value.to_vec())
    };
    columns.iter().map(value).collect()
}

/// Those of the columns of `row` that are in `part`.
fn of_part(row: &Row, part: ColumnSet) -> Row {
    let within = row.iter().filter(|(column, _)| part.contains(ColumnSet::one(**column)));
    within.map(|(column, value)| (*column, value.clone())).collect()
}

/// Replays a write, if the row is as its before-image says.
fn apply(rows: &mut Rows, layout: &RowLayout, write: &KeptWrite) -> Result<(), String> {
    let row = rows.entry(write.row.clone()).or_default();
    let found = of_part(row, write.columns);
    let before = match write.kind {
        WriteKind::Insert => Row::new(),
        WriteKind::Update | WriteKind::Delete => unpack(layout, write.columns, &write.before),
    };
    if found != before {
        return Err(format!("finds {found:?}"));
    }
    match write.kind {
        WriteKind::Insert | WriteKind::Update => {
            row.extend(unpack(layout, write.columns, &write.after));
        }
        WriteKind::Delete => row.retain(|column, _| !before.contains_key(column)),
    }
    if row.is_empty() {
        rows.remove(&write.row);
    }
    Ok(())
}

/// All rows of all tables, each piece of them in a transaction of its own.
fn walk_all(
    core: &<Explored as Machine>::Core,
    session: &mut dyn Session,
    layouts: &Layouts,
) -> Vec<(RowName, Row)> {
    let mut rows = Vec::new();
    for (&table, Layout { columns: layout, .. }) in layouts {
        let (mut walk, mut attempt) = (Some(Walk::default()), 0);
        while let Some(at) = walk {
            let mut piece = Vec::new();
            session.begin(Start { attempt, read_only: false, partitions: &[] });
            let next = session.walk(table, &at, &mut |key, row| {
                piece.push(((table, key.into()), unpack(layout, layout.all(), row)));
            });
            let ended = match next {
                Ok(_) => session.commit(),
                Err(_) => {
                    session.rollback();
                    Ok(())
                }
            };
            if let (Ok(next), Ok(())) = (next, ended) {
                rows.append(&mut piece);
                (walk, attempt) = (next, 0);
            } else {
                core.pause(BACK_OFF << attempt.min(6));
                attempt += 1;
            }
        }
    }
    rows
}
