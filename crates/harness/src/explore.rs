//! Exploration: many short runs under adversarial schedules, each checked in every way there is.
//!
//! A schedule is judged by the certificate that the protocol promises, by the workload's conservation law (if it
//! promises serializability: weaker levels may well break it), by
//! the invariant that the oldest transaction never dies, by deadlocks found where none can be, and by its end: no dead-lock, no live-lock, no panic.
//! Every fourth schedule runs without recording, so that retired records leave their indexes and their
//! memory is used again, which a recorded run holds on to as evidence.

use crate::{
    assemble,
    drive::{BackOff, Length, Loop, Watcher},
    erased::{ErasedWorkload, Identity},
    law,
    measure::{Latencies, Meter},
    run::{HarnessError, fitted},
};
use architectures::{Architecture, EngineOptions, Session, SharedEverything};
use checker::{Certificate, Requirements};
use machine::{
    Body, Explored, ExploredOptions, Fault, Machine, RunError, Schedule, Word,
    cold::{Arc, Mutex},
};
use protocols::{
    Protocol, ProtocolOptions, faults,
    registry::{Visitor, with_protocol},
};
use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};
use txn::{Abort, AbortReason, History, Workload};

/// What to explore.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Name of the protocol.
    pub protocol: String,
    /// Name of a planted bug, which says what protocol it is in.
    pub mutant: Option<String>,
    /// The protocol's options.
    pub protocol_options: ProtocolOptions,
    /// Seed of the first schedule; the following ones count up.
    pub first_seed: u64,
    /// Schedules to run.
    pub schedules: u64,
    /// Workers.
    pub workers: usize,
    /// Procedures of each worker.
    pub procedures: u64,
    /// Steps after which a schedule counts as a live-lock.
    pub step_limit: u64,
    /// Judge by strict serializability, whatever the protocol promises.
    pub demand_strict: bool,
    /// Judge by the order of commit epochs as well, where the protocol has such. It sees some bugs sooner
    /// than the certificate does, so it is off where a bug is planted for the certificate to find.
    pub epoch_order: bool,
}

impl Default for Exploration {
    fn default() -> Self {
        Exploration {
            protocol: String::new(),
            mutant: None,
            protocol_options: ProtocolOptions::default(),
            first_seed: 1,
            schedules: 1000,
            workers: 3,
            procedures: 4,
            step_limit: 2_000_000,
            demand_strict: false,
            epoch_order: true,
        }
    }
}

impl Exploration {
    /// The same in the protocol, with the options and by the promise of the planted bug, if there is one; and what is
    /// to be switched on.
    fn with_bug(&self) -> Result<(Exploration, Option<Fault>), HarnessError> {
        let mut exploration = self.clone();
        let Some(name) = &self.mutant else { return Ok((exploration, None)) };
        let planted = faults::named(name);
        let planted = planted.ok_or_else(|| HarnessError::UnknownProtocol(name.clone()))?;
        exploration.protocol = planted.protocol.to_owned();
        exploration.protocol_options = (planted.options)(exploration.protocol_options);
        exploration.demand_strict |= planted.strict;
        Ok((exploration, Some(planted.fault())))
    }
}

/// What an exploration did.
#[derive(Debug)]
pub struct Explorations {
    /// Schedules that ran to their judgement.
    pub schedules: u64,
    /// Shared-memory operations in them.
    pub operations: u64,
    /// Transactions committed in them.
    pub commits: u64,
    /// Attempts aborted in them.
    pub aborts: u64,
    /// The first schedule that went wrong.
    pub finding: Option<Finding>,
}

/// A schedule that went wrong.
#[derive(Debug)]
pub struct Finding {
    /// The seed that replays it.
    pub seed: u64,
    /// What went wrong.
    pub violation: Violation,
}

/// What can go wrong.
#[derive(Debug)]
pub enum Violation {
    /// The history is not what the protocol promises.
    Certificate(Box<Certificate>),
    /// The workload's law does not hold.
    Conservation(String),
    /// A transaction died although it was the oldest.
    OldestDied {
        /// Its timestamp.
        timestamp: u64,
    },
    /// Of two transactions one must come first, and bears the later epoch.
    EpochOrder {
        /// The one that must come first, and its epoch.
        first: (txn::TxnId, u64),
        /// The other, and its epoch.
        second: (txn::TxnId, u64),
    },
    /// Transactions were made victims of deadlocks in a workload that can have none.
    FalseDeadlock {
        /// How many.
        victims: u64,
    },
    /// The run came to no end.
    Stuck(RunError),
    /// Something panicked.
    Panic(String),
}

impl Violation {
    /// The detector's name, as reports print it.
    pub fn detector(&self) -> &'static str {
        match self {
            Violation::Certificate(_) => "certificate",
            Violation::Conservation(_) => "conservation law",
            Violation::OldestDied { .. } => "the oldest never dies",
            Violation::EpochOrder { .. } => "epoch order",
            Violation::FalseDeadlock { .. } => "no false deadlock",
            Violation::Stuck(_) => "progress",
            Violation::Panic(_) => "panic",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Certificate(certificate) => match &certificate.counterexample {
                Some(counterexample) => counterexample.fmt(f),
                None => write!(f, "serializable: {}", certificate.serializable),
            },
            Violation::Conservation(law) => f.write_str(law),
            Violation::OldestDied { timestamp } => {
                write!(f, "the transaction with timestamp {timestamp} died, and none was older")
            }
            Violation::EpochOrder { first, second } => write!(
                f,
                "{} must come before {}, but committed in epoch {} and the other in epoch {}",
                first.0, second.0, first.1, second.1
            ),
            Violation::FalseDeadlock { victims } => {
                write!(f, "{victims} victims of deadlocks, though all locks are taken in one order")
            }
            Violation::Stuck(error) => error.fmt(f),
            Violation::Panic(message) => f.write_str(message),
        }
    }
}

/// Explores. `workload` makes the workload of a schedule from its seed. `stop` ends it early, `progress`
/// hears of every schedule and of what happened so far.
pub fn explore<W: Workload>(
    workload: &dyn Fn(u64) -> W,
    exploration: &Exploration,
    stop: &Word,
    progress: &mut dyn FnMut(&Explorations),
) -> Result<Explorations, HarnessError> {
    let make = |seed| -> Box<dyn ErasedWorkload<Explored>> { Box::new(workload(seed)) };
    explore_any(&make, exploration, stop, progress)
}

/// As [`explore`], once for all workloads.
fn explore_any<'a>(
    workload: &'a Make<'a>,
    exploration: &'a Exploration,
    stop: &'a Word,
    progress: &'a mut dyn FnMut(&Explorations),
) -> Result<Explorations, HarnessError> {
    let (exploration, fault) = exploration.with_bug()?;
    let (name, options) = (&exploration.protocol, &exploration.protocol_options);
    let explorer = Explorer { workload, exploration: &exploration, fault, stop, progress };
    with_protocol::<Explored, _>(name, options, explorer)
        .unwrap_or_else(|_| Err(HarnessError::UnknownProtocol(name.clone())))
}

/// Makes the workload of a schedule from its seed.
type Make<'w> = dyn Fn(u64) -> Box<dyn ErasedWorkload<Explored>> + 'w;

struct Explorer<'a> {
    workload: &'a Make<'a>,
    exploration: &'a Exploration,
    fault: Option<Fault>,
    stop: &'a Word,
    progress: &'a mut dyn FnMut(&Explorations),
}

impl Visitor<Explored> for Explorer<'_> {
    type Output = Result<Explorations, HarnessError>;

    fn visit<P: Protocol<Explored>>(self) -> Self::Output {
        let exploration = self.exploration;
        P::check_isolation(&exploration.protocol_options)?;
        let declaration = P::declare(&exploration.protocol_options);
        let promised = match exploration.demand_strict {
            true => Requirements::STRICT,
            false => assemble::promised(&declaration),
        };
        let mut explorers = Explorers::new(self.fault);
        let mut total =
            Explorations { schedules: 0, operations: 0, commits: 0, aborts: 0, finding: None };
        for number in 0..exploration.schedules {
            if self.stop.peek() != 0 {
                break;
            }
            let seed = exploration.first_seed.wrapping_add(number);
            let workload = (self.workload)(seed);
            let one = Judgement { workload: &*workload, exploration, promised, seed };
            let violation = one.run::<P>(&mut explorers, &mut total)?;
            total.schedules += 1;
            total.finding = violation.map(|violation| Finding { seed, violation });
            (self.progress)(&total);
            if total.finding.is_some() {
                break;
            }
        }
        Ok(total)
    }
}

/// Explorers that are used again: one of each kind of schedule, which is fixed when an explorer is made.
pub(crate) struct Explorers {
    fault: Option<Fault>,
    kept: Vec<Arc<Explored>>,
}

impl Explorers {
    /// None yet; `fault` is switched on in all of them.
    pub fn new(fault: Option<Fault>) -> Explorers {
        Explorers { fault, kept: Vec::new() }
    }

    /// One for the schedule of `seed`. Half the seeds switch at random, half change priorities: they find different
    /// bugs.
    pub fn take(&mut self, seed: u64, step_limit: u64) -> Result<Arc<Explored>, HarnessError> {
        let schedule = match seed % 4 {
            0 | 1 => Schedule::Random,
            2 => Schedule::Pct { depth: 2 },
            _ => Schedule::Pct { depth: 3 },
        };
        let at = self.kept.iter().position(|machine| machine.options().schedule == schedule);
        Ok(match at.map(|at| self.kept.swap_remove(at)) {
            None => {
                let fault = self.fault;
                let usual = ExploredOptions::default();
                let options = ExploredOptions { seed, schedule, step_limit, fault, ..usual };
                Arc::new(Explored::new(options)?)
            }
            Some(mut machine) => {
                if let Some(explorer) = Arc::get_mut(&mut machine) {
                    explorer.renew(seed)?;
                }
                machine
            }
        })
    }

    /// Takes it back, when nobody else holds it.
    pub fn give(&mut self, explorer: Arc<Explored>) {
        self.kept.push(explorer);
    }
}

/// One schedule and how it is judged.
struct Judgement<'a> {
    workload: &'a dyn ErasedWorkload<Explored>,
    exploration: &'a Exploration,
    promised: Requirements,
    seed: u64,
}

impl Judgement<'_> {
    fn run<P: Protocol<Explored>>(
        &self,
        explorers: &mut Explorers,
        total: &mut Explorations,
    ) -> Result<Option<Violation>, HarnessError> {
        let machine = explorers.take(self.seed, self.exploration.step_limit)?;
        let recorded = self.seed / 4 % 4 != 3;
        let options = EngineOptions {
            protocol: fitted(&self.exploration.protocol_options, self.workload),
            sessions: self.exploration.workers + 1,
            record_history: recorded,
            purge_batch: 1,
            epoch_interval_ticks: 50,
        };
        let engine = SharedEverything::<Explored, P>::create(machine.clone(), &options)?;
        engine.load(self.workload, 1)?;
        let violation = self.judge(&machine, &engine, recorded, P::epoch_of, total)?;
        drop(engine);
        explorers.give(machine);
        Ok(violation)
    }

    fn judge<A: Architecture<Explored>>(
        &self,
        machine: &Explored,
        engine: &A,
        recorded: bool,
        epoch_of: fn(u64) -> Option<u64>,
        total: &mut Explorations,
    ) -> Result<Option<Violation>, HarnessError> {
        let stop = Word::new(0);
        let workers = self.exploration.workers;
        let latencies = Latencies::default();
        let ages = Mutex::new(Ages::default());
        let reports = Mutex::new(Vec::new());
        let bodies = (0..workers)
            .map(|worker| -> Body<'_, Explored> {
                let (latencies, ages, reports, stop) = (&latencies, &ages, &reports, &stop);
                Box::new(move |core| {
                    let mut session = engine.session(core, worker);
                    let mut watcher = AgeWatcher { worker, ages, watching: recorded };
                    let plan = Loop::<&mut dyn Watcher> {
                        back_off: BackOff { first_ns: 50, cap_ns: 2000 },
                        seed: self.seed ^ (worker as u64) << 32,
                        stop,
                        arrivals: None,
                        watcher: &mut watcher,
                        meter: Meter::new(latencies),
                    };
                    let identity = Identity { worker, workers, seed: self.seed };
                    let length = || Length::Procedures(self.exploration.procedures);
                    let report = self.workload.drive(core, &mut session, identity, &length, plan);
                    reports.lock().push((worker, report, session.take_history()));
                })
            })
            .collect();
        // A machine counts on from schedule to schedule.
        let before = machine.operations().unwrap_or(0);
        let ended = catch_unwind(AssertUnwindSafe(|| machine.run(bodies, engine.services())));
        total.operations += machine.operations().unwrap_or(0) - before;
        match ended {
            Err(payload) => return Ok(Some(Violation::Panic(message_of(&*payload)))),
            Ok(Err(error)) => return Ok(Some(Violation::Stuck(error))),
            Ok(Ok(())) => {}
        }
        if let Some(timestamp) = ages.into_inner().oldest_died {
            return Ok(Some(Violation::OldestDied { timestamp }));
        }
        let mut reports = reports.into_inner();
        reports.sort_by_key(|(worker, ..)| *worker);
        let committed: u64 = reports.iter().map(|(_, report, _)| report.commits()).sum();
        total.commits += committed;
        total.aborts += reports.iter().flat_map(|(_, r, _)| r.aborts).sum::<u64>();
        let victims = reports.iter().map(|(_, r, _)| r.aborted_for(AbortReason::Deadlock)).sum();
        if self.workload.in_key_order() && victims > 0 {
            return Ok(Some(Violation::FalseDeadlock { victims }));
        }
        if recorded {
            let workers = reports.into_iter().map(|(.., history)| history).collect();
            // NO_CC promises nothing; it is judged as if it did, because that it fails is what it is for.
            let asked = match self.promised {
                Requirements::NOTHING => Requirements::SERIALIZABLE,
                promised => promised,
            };
            let history = History::of(workers);
            let certificate = checker::check(&history, asked);
            if !certificate.satisfies(asked) {
                return Ok(Some(Violation::Certificate(Box::new(certificate))));
            }
            let in_order = self.exploration.epoch_order && !self.is_weak();
            let epoch_of = |timestamp| epoch_of(timestamp).filter(|_| in_order);
            if let Some((first, second)) = checker::against_epochs(&history, epoch_of) {
                return Ok(Some(Violation::EpochOrder { first, second }));
            }
        }
        if self.is_weak() {
            return Ok(None);
        }
        Ok(self.broken_law(machine, engine, committed)?.map(Violation::Conservation))
    }

    /// Less than serializability is promised, but not nothing.
    fn is_weak(&self) -> bool {
        !self.promised.serializable && self.promised != Requirements::NOTHING
    }

    /// Checks the workload's law in one more transaction, alone.
    fn broken_law<A: Architecture<Explored>>(
        &self,
        machine: &Explored,
        engine: &A,
        committed: u64,
    ) -> Result<Option<String>, HarnessError> {
        let slot = self.exploration.workers;
        let law = self.workload.conservation();
        let judged = || law::broken(machine, engine, law, (1, vec![]), slot, committed);
        match catch_unwind(AssertUnwindSafe(judged)) {
            Err(payload) => Ok(Some(message_of(&*payload))),
            Ok(broken) => Ok(broken?),
        }
    }
}

pub(crate) fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

/// The ages of all transactions that have begun and not committed, retries included.
#[derive(Default)]
struct Ages {
    live: BTreeMap<usize, Age>,
    oldest_died: Option<u64>,
}

/// One transaction's age, and whether anybody older was about at any time during its running attempt.
/// (When the attempt's death is noticed, the older one that caused it may have ended already.)
struct Age {
    timestamp: u64,
    met_older: bool,
}

impl Ages {
    fn began(&mut self, worker: usize, timestamp: u64) {
        // A transaction is as old as its first attempt, however young the protocol thinks it.
        let first = self.live.get(&worker).map_or(timestamp, |age| age.timestamp);
        let timestamp = first.min(timestamp);
        let mut met_older = false;
        for (_, other) in self.live.iter_mut().filter(|(other, _)| **other != worker) {
            met_older |= other.timestamp < timestamp;
            other.met_older |= timestamp < other.timestamp;
        }
        self.live.insert(worker, Age { timestamp, met_older });
    }
}

/// Watches that the oldest transaction never dies and is never wounded (Rosenkrantz et al. 1978: that is
/// why WAIT_DIE and WOUND_WAIT end).
struct AgeWatcher<'a> {
    worker: usize,
    ages: &'a Mutex<Ages>,
    /// Off where sessions also run transactions that nobody watches (retiring records).
    watching: bool,
}

impl Watcher for AgeWatcher<'_> {
    fn began(&mut self, priority: Option<u64>) {
        if let Some(timestamp) = priority {
            self.ages.lock().began(self.worker, timestamp);
        }
    }

    fn aborted(&mut self, abort: Abort, again: bool) {
        let mut ages = self.ages.lock();
        if self.watching
            && matches!(abort.reason, AbortReason::Died | AbortReason::Wounded)
            && let Some(own) = ages.live.get(&self.worker)
            && !own.met_older
        {
            ages.oldest_died = Some(own.timestamp);
        }
        if !again {
            ages.live.remove(&self.worker);
        }
    }

    fn committed(&mut self) {
        self.ages.lock().live.remove(&self.worker);
    }
}
