//! Which anomalies a protocol shows at a level of isolation: each of the catalogue as a small script under
//! thousands of adversarial schedules, next to what is to be expected.
//!
//! Every schedule's history is certified at the promised level too: what the scripts do not look for is found there.

mod catalogue;

pub use catalogue::{Anomaly, Expectation};

use crate::{
    assemble,
    engines::Engines,
    explore::{Explorers, message_of},
    run::{HarnessError, fitted},
};
use catalogue::{LOADED, Seen, TABLE, rows};
use checker::{Certificate, Requirements};
use engine::registry;
use engine::{Engine, EngineOptions, Session, Start};
use machine::{Body, Explored, Fault, Machine, RunError, cold::Mutex};
use protocols::{Isolation, ProtocolOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use txn::{
    Abort, Access, Client, Column, ColumnType, History, Loader, Schema, TableId, TableSchema,
    Workload,
};

/// What to look for, and how long.
#[derive(Clone, Debug)]
pub struct Search {
    /// The anomaly.
    pub anomaly: Anomaly,
    /// The protocol's options, the level of isolation among them.
    pub protocol_options: ProtocolOptions,
    /// The bug that is switched on.
    pub fault: Option<Fault>,
    /// Seed of the first schedule; the following ones count up.
    pub first_seed: u64,
    /// Schedules to try until it is seen.
    pub schedules: u64,
    /// Certify each history at the promised level. Off for planted bugs that go past the recorder.
    pub certify: bool,
}

/// What came of a search.
#[derive(Debug)]
pub struct Outcome {
    /// The level at which the protocol ran.
    pub isolation: Isolation,
    /// Schedules that were tried.
    pub schedules: u64,
    /// The first seed that shows the anomaly; the search ends with it.
    pub seen_at: Option<u64>,
    /// Something else that must not be, with its seed; the search ends with it.
    pub failure: Option<(u64, Failure)>,
}

impl Outcome {
    /// Whether it is as it should be.
    pub fn is_as_expected(&self, anomaly: Anomaly) -> bool {
        let as_expected = match anomaly.expectation(self.isolation) {
            Expectation::Never => self.seen_at.is_none(),
            Expectation::Seen => self.seen_at.is_some(),
            Expectation::Possible => true,
        };
        as_expected && self.failure.is_none()
    }
}

/// What must not be, beside the anomaly looked for.
#[derive(Debug)]
pub enum Failure {
    /// The history is not what was promised.
    Certificate(Box<Certificate>),
    /// The schedule came to no end.
    Stuck(RunError),
    /// Something panicked.
    Panic(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Certificate(certificate) => certificate.fmt(f),
            Failure::Stuck(error) => error.fmt(f),
            Failure::Panic(message) => f.write_str(message),
        }
    }
}

/// Searches under `protocol`.
pub fn search(protocol: &str, search: Search) -> Result<Outcome, HarnessError> {
    let mut outcome =
        Outcome { isolation: Isolation::None, schedules: 0, seen_at: None, failure: None };
    let mut explorers = Explorers::new(search.fault);
    while outcome.schedules < search.schedules {
        let seed = search.first_seed.wrapping_add(outcome.schedules);
        let machine = explorers.take(seed, STEP_LIMIT)?;
        let options = EngineOptions {
            protocol: fitted(&search.protocol_options, &Rows),
            sessions: search.anomaly.transactions() + 1,
            record_history: true,
            record_values: true,
            purge_batch: 1,
            epoch_interval_ticks: 50,
        };
        let engine = Explored::engine(registry::DEFAULT, protocol, &machine, &options)?;
        engine.load(&Rows, 1)?;
        let declaration = engine.declaration();
        let promised = match search.certify {
            true => assemble::promised(&declaration),
            false => Requirements::NOTHING,
        };
        outcome.isolation = declaration.isolation;
        outcome.schedules += 1;
        match one(&machine, &*engine, search.anomaly, promised)? {
            Ok(false) => {}
            Ok(true) => outcome.seen_at = Some(seed),
            Err(failure) => outcome.failure = Some((seed, failure)),
        }
        drop(engine);
        explorers.give(machine);
        if outcome.seen_at.is_some() || outcome.failure.is_some() {
            break;
        }
    }
    Ok(outcome)
}

/// Far more than three short transactions need.
const STEP_LIMIT: u64 = 200_000;

/// One schedule: whether the anomaly shows.
fn one(
    machine: &Explored,
    engine: &dyn Engine<Explored>,
    anomaly: Anomaly,
    promised: Requirements,
) -> Result<Result<bool, Failure>, HarnessError> {
    let ended = Mutex::new(Vec::new());
    let bodies = (0..anomaly.transactions())
        .map(|number| -> Body<'_, Explored> {
            let ended = &ended;
            Box::new(move |core| {
                let mut session = engine.session(core, number);
                let session: &mut dyn Session = &mut *session;
                let seen = attempt(session, anomaly, number);
                ended.lock().push((number, seen, session.take_history()));
            })
        })
        .collect();
    match catch_unwind(AssertUnwindSafe(|| machine.run(bodies, engine.services()))) {
        Err(payload) => return Ok(Err(Failure::Panic(message_of(&*payload)))),
        Ok(Err(error)) => return Ok(Err(Failure::Stuck(error))),
        Ok(Ok(())) => {}
    }
    let mut ended = ended.into_inner();
    ended.sort_by_key(|(number, ..)| *number);
    let (seen, workers) = ended.into_iter().map(|(_, seen, history)| (seen, history)).unzip();
    let seen: Vec<Option<Seen>> = seen;
    let left = Mutex::new(Vec::new());
    let look: Body<'_, Explored> = Box::new(|core| {
        let mut session = engine.session(core, anomaly.transactions());
        let session: &mut dyn Session = &mut *session;
        session.begin(start(0));
        if let Ok(rows) = rows(session) {
            *left.lock() = rows;
        }
        session.rollback();
    });
    machine.run(vec![look], vec![])?;
    if anomaly.shows(&seen, &left.into_inner()) {
        return Ok(Ok(true));
    }
    let certificate = checker::check(&History { workers, ..History::default() }, promised);
    Ok(match certificate.satisfies(promised) {
        true => Ok(false),
        false => Err(Failure::Certificate(Box::new(certificate))),
    })
}

/// Attempts beyond which a transaction gives up: it has lost, and that is no anomaly.
const ATTEMPTS: u32 = 3;

fn start(attempt: u32) -> Start<'static> {
    Start { attempt, read_only: false, partitions: &[] }
}

/// What transaction number `number` saw, if it committed.
fn attempt(session: &mut dyn Session, anomaly: Anomaly, number: usize) -> Option<Seen> {
    let mut seen = Seen::new();
    for attempt in 0..ATTEMPTS {
        session.begin(start(attempt));
        let ran = anomaly.run(number, session, &mut seen);
        let ended = match ran {
            Ok(()) => session.commit(),
            Err(abort) => {
                session.rollback();
                if abort.reason == txn::AbortReason::User {
                    return None;
                }
                Err(abort)
            }
        };
        if ended.is_ok() {
            return Some(seen);
        }
    }
    None
}

/// The tiny database of the scripts.
struct Rows;

impl Workload for Rows {
    type Client = Idle;

    fn schema(&self) -> Schema {
        let value = Column::new("value", ColumnType::I64);
        Schema { tables: vec![TableSchema::new("rows", vec![value]).ordered()] }
    }

    fn rows(&self, _: TableId) -> u64 {
        LOADED.len() as u64
    }

    fn load(&self, loader: &mut dyn Loader) {
        for (key, value) in LOADED {
            loader.load(TABLE, key.into(), &value.to_le_bytes());
        }
    }

    fn client(&self, _: usize, _: usize, _: u64) -> Idle {
        Idle
    }
}

/// The scripts run themselves.
struct Idle;

impl Client for Idle {
    fn next(&mut self) {}

    fn run<A: Access + ?Sized>(&mut self, _: &mut A) -> Result<(), Abort> {
        Ok(())
    }
}
