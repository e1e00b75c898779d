//! Finds the anomalies that a protocol shows at an isolation level. Each anomaly of the catalogue is a small script
//! that runs under thousands of adversarial schedules. The result is compared with the expectation for the level.
//!
//! The history of every schedule is also certified at the promised level. This finds violations that the scripts do
//! not look for.

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

/// Parameters of a search.
#[derive(Clone, Debug)]
pub struct Search {
    /// Anomaly to search for.
    pub anomaly: Anomaly,
    /// The protocol's options, including the isolation level.
    pub protocol_options: ProtocolOptions,
    /// Planted bug to switch on, if any.
    pub fault: Option<Fault>,
    /// Seed of the first schedule. The following seeds count up.
    pub first_seed: u64,
    /// Maximum number of schedules to try.
    pub schedules: u64,
    /// Set if each history is certified at the promised level. Off for planted bugs that bypass the recorder.
    pub certify: bool,
}

/// Result of a search.
#[derive(Debug)]
pub struct Outcome {
    /// Isolation level at which the protocol ran.
    pub isolation: Isolation,
    /// Number of schedules that were tried.
    pub schedules: u64,
    /// First seed that shows the anomaly. The search ends there.
    pub seen_at: Option<u64>,
    /// Another violation, with its seed. The search ends there.
    pub failure: Option<(u64, Failure)>,
}

impl Outcome {
    /// Returns whether the result matches the expectation and no other violation was found.
    pub fn is_as_expected(&self, anomaly: Anomaly) -> bool {
        let as_expected = match anomaly.expectation(self.isolation) {
            Expectation::Never => self.seen_at.is_none(),
            Expectation::Seen => self.seen_at.is_some(),
            Expectation::Possible => true,
        };
        as_expected && self.failure.is_none()
    }
}

/// A violation other than the anomaly searched for.
#[derive(Debug)]
pub enum Failure {
    /// The history does not satisfy the promised level.
    Certificate(Box<Certificate>),
    /// The schedule did not end.
    Stuck(RunError),
    /// The run panicked.
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

/// Searches for the anomaly under `protocol`.
pub fn search(protocol: &str, search: Search) -> Result<Outcome, HarnessError> {
    let mut outcome =
        Outcome { isolation: Isolation::None, schedules: 0, seen_at: None, failure: None };
    let mut explorers = Explorers::new(search.fault);
    while outcome.schedules < search.schedules {
        let seed = search.first_seed.wrapping_add(outcome.schedules);
        let machine = explorers.take(seed, STEP_LIMIT)?;
        let options = EngineOptions {
            access: Default::default(),
            protocol: fitted(&search.protocol_options, &Rows),
            sessions: search.anomaly.transactions() + 1,
            partitions: 1,
            fibers: 1,
            dedicated_servers: false,
            moving: engine::MovingOptions::default(),
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

/// Maximum number of steps in a schedule. Three short transactions need far fewer.
const STEP_LIMIT: u64 = 200_000;

/// Runs one schedule and returns whether the anomaly shows.
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

/// Number of attempts after which a transaction gives up. A transaction that gives up is no anomaly.
const ATTEMPTS: u32 = 3;

fn start(attempt: u32) -> Start<'static> {
    Start { attempt, ..Start::default() }
}

/// Returns the values that transaction number `number` saw, if it committed.
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

/// The tiny database on which the scripts run.
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

/// A client that does nothing, because the scripts run themselves.
#[derive(Clone)]
struct Idle;

impl Client for Idle {
    fn next(&mut self) {}

    fn run<A: Access + ?Sized>(&mut self, _: &mut A) -> Result<(), Abort> {
        Ok(())
    }
}
