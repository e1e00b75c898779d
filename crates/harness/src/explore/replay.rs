//! Replays schedules that ran with a log, and compares the log's contents with those of the tables.
//!
//! The commits are replayed onto the loaded rows, in the order of their tickets. Each before-image must equal the
//! replayed row at that point. At the end, the replay must have exactly the rows of the tables. Beside the workers,
//! another body walks through all tables, as a fuzzy checkpoint does. Each row that it reads must have existed in the
//! replay at some time. It must visit every row that existed throughout.

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

/// Number of ticks between two attempts of a walk at the same piece.
const BACK_OFF: u64 = 100;

/// Table and key of a row.
type RowName = (TableId, KeptKey);

/// The existing columns of a row. All columns exist, unless the row has two parts and one part is not yet inserted or
/// is already deleted.
type Row = BTreeMap<usize, Vec<u8>>;

/// Rows in the state of the replay.
type Rows = BTreeMap<RowName, Row>;

/// Layout of the rows of a table.
struct Layout {
    columns: RowLayout,
    /// Parts of a row. Each part is a record of its own.
    parts: Vec<ColumnSet>,
}

type Layouts = BTreeMap<TableId, Layout>;

impl Layout {
    fn of(schema: &TableSchema) -> Layout {
        let columns = RowLayout::of(schema);
        let parts = [columns.all().without(schema.hot), schema.hot];
        Layout { parts: parts.into_iter().filter(|part| !part.is_empty()).collect(), columns }
    }
}

/// Result of replays.
#[derive(Debug, Default)]
pub struct Replays {
    /// Number of commits replayed.
    pub commits: u64,
    /// Seed of the first schedule with an error, and the error.
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

/// Returns the error in one schedule, if there is one.
fn replay_one(
    schedule: &Judgement<'_>,
    machine: &Explored,
    engine: &dyn Engine<Explored>,
    replays: &mut Replays,
) -> Result<Option<String>, HarnessError> {
    let session = schedule.exploration.workers;
    let layouts: Layouts =
        engine.tables().iter().map(|(id, schema)| (*id, Layout::of(schema))).collect();
    let walked = Mutex::new(Vec::new());
    let walker = || -> Body<'_, Explored> {
        Box::new(|core| {
            *walked.lock() = walk_all(core, &mut *engine.session(core, session), &layouts)
        })
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

/// Replays `commits` onto `loaded`. Compares the result with the rows `left` in the tables and those read `beside`.
fn check(
    layouts: &Layouts,
    loaded: Rows,
    commits: &BTreeMap<Ticket, KeptCommit>,
    beside: &[(RowName, Row)],
    left: &Rows,
) -> Result<(), String> {
    let mut rows = loaded.clone();
    // All states that each row has had. `always` holds the rows that existed throughout.
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
        // The parts of a row are separate records. Writers have an order only within one part, so each part is
        // checked alone.
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

/// Splits packed values of `columns` into single values.
fn unpack(layout: &RowLayout, columns: ColumnSet, mut packed: &[u8]) -> Row {
    let value = |column| {
        let (value, rest) = packed.split_at(layout.span(column).bytes as usize);
        packed = rest;
        (column, value.to_vec())
    };
    columns.iter().map(value).collect()
}

/// Returns those columns of `row` that belong to `part`.
fn of_part(row: &Row, part: ColumnSet) -> Row {
    let within = row.iter().filter(|(column, _)| part.contains(ColumnSet::one(**column)));
    within.map(|(column, value)| (*column, value.clone())).collect()
}

/// Replays a write. Fails if the row differs from the write's before-image.
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

/// Reads all rows of all tables, each piece in its own transaction.
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
            session.begin(Start { attempt, ..Start::default() });
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
