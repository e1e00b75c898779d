//! Runs and judges one schedule.

use super::{
    Exploration, Explorations, Explorers, Violation,
    ages::{AgeWatcher, Ages},
    limited::{Admitted, Limiting},
    message_of,
    notes::{Notes, Watched},
};
use crate::run::{Moves, TablePlaces};
use crate::{
    assemble,
    drive::{Length, Loop, Watcher, next_random},
    engines::Engines,
    erased::{ErasedWorkload, Identity},
    law,
    measure::WorkerReport,
    run::{HarnessError, fitted, owners},
    serving::{check_movable, run_workers},
    timeline::{Meter, Timeline},
};
use checker::Requirements;
use engine::{
    Engine, EngineOptions, MovingOptions, OwnersWork, Session,
    admission::{Applicant, Limits, Permits},
};
use machine::{
    Body, Core, Explored, ExploredCore, Machine, Sharing, Switch, Word,
    cold::{Arc, Mutex},
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use txn::{AbortReason, History, WorkerHistory};

/// Number of times that a schedule gives an owner to another core.
const REASSIGNMENTS: usize = 6;

/// One schedule and the way in which it is judged.
pub(super) struct Judgement<'a> {
    pub workload: &'a dyn ErasedWorkload<Explored>,
    pub exploration: &'a Exploration,
    pub seed: u64,
    pub how: How<'a>,
}

/// Deviations from the usual way of running a schedule. Usually there are none.
#[derive(Clone, Copy, Default)]
pub(super) struct How<'a> {
    /// Numbers of the procedures that each worker runs, or none for all of them.
    pub procedures: Option<&'a [Vec<u64>]>,
    /// The schedule to follow, or none if it is drawn.
    pub switches: Option<&'a [Switch]>,
    /// Receives the steps that were executed.
    pub notes: Option<&'a Notes>,
}

/// Result of one worker.
pub(super) struct Outcome {
    worker: usize,
    pub report: WorkerReport,
    history: WorkerHistory,
}

impl Judgement<'_> {
    /// Runs the schedule and returns its violation, if there is one.
    pub fn run(
        &self,
        explorers: &mut Explorers,
        total: &mut Explorations,
    ) -> Result<Option<Violation>, HarnessError> {
        let exploration = self.exploration;
        let machine = explorers.take(self.seed, exploration.step_limit)?;
        let engine = self.engine(&machine)?;
        let violation = self.judge(&machine, &*engine, total)?;
        drop(engine);
        explorers.give(machine);
        Ok(violation)
    }

    /// Creates the engine and loads its data.
    pub fn engine(
        &self,
        machine: &Arc<Explored>,
    ) -> Result<Arc<dyn Engine<Explored>>, HarnessError> {
        let exploration = self.exploration;
        check_movable(&exploration.architecture, self.workload.movable())?;
        let options = EngineOptions {
            access: exploration.access,
            protocol: fitted(&exploration.protocol_options, self.workload),
            sessions: exploration.workers + 1,
            partitions: owners(exploration.partitions, self.workload, self.most_owners())?,
            fibers: exploration.fibers,
            dedicated_servers: exploration.servers.is_some(),
            moving: self.moving(),
            record_history: self.is_recorded(),
            record_values: self.is_recorded() && self.seed / 16 % 4 != 3,
            purge_batch: if self.retires() { 1 } else { usize::MAX },
            epoch_interval_ticks: 50,
        };
        let (architecture, protocol) = (&exploration.architecture, &exploration.protocol);
        let engine = Explored::engine(architecture, protocol, machine, &options)?;
        engine.load(self.workload, 1)?;
        Ok(engine)
    }

    /// Returns the options of an architecture whose transactions move. In some blocks of schedules workers have executors, if they can
    /// have any, and tables have owners of their own.
    fn moving(&self) -> MovingOptions {
        let Exploration { architecture, protocol, executors, table_owners, .. } = self.exploration;
        let declared = engine::registry::declaration(architecture);
        if !declared.is_ok_and(|declared| declared.work == OwnersWork::Visited) {
            return MovingOptions::default();
        }
        let can = engine::with_executors().contains(&&**protocol);
        let drawn = match self.seed / 4 % 4 {
            0 | 1 => None,
            2 => Some(TablePlaces::Together),
            _ => Some(TablePlaces::Apart),
        };
        let moves = Moves {
            executors: executors.unwrap_or(if can && self.seed / 4 % 2 == 1 { 2 } else { 0 }),
            table_owners: table_owners.or(drawn),
        };
        moves.options(self.workload, self.most_owners())
    }

    /// Returns the largest number of owners. Where cores own data, each owner needs a core.
    fn most_owners(&self) -> usize {
        let Exploration { architecture, workers, fibers, servers, .. } = self.exploration;
        let declared = engine::registry::declaration(architecture);
        let owned = declared.is_ok_and(|declared| declared.work != OwnersWork::Shared);
        let cores = workers.div_ceil(*fibers);
        if owned { servers.unwrap_or(cores) } else { usize::MAX }
    }

    /// Returns a body that gives owners to other cores while the workers run, in half of the schedules in which sessions move.
    fn reassigning<'a>(&self, engine: &'a dyn Engine<Explored>) -> Option<Body<'a, Explored>> {
        if !engine.moves_sessions() || !(self.seed / 2).is_multiple_of(2) {
            return None;
        }
        let most = self.most_owners();
        let owners = owners(self.exploration.partitions, self.workload, most).ok()? as usize;
        let owners = owners * self.moving().owners_of_partition();
        let mut random = !self.seed;
        Some(Box::new(move |core| {
            for _ in 0..REASSIGNMENTS {
                core.pause(next_random(&mut random) % 400);
                let owner = next_random(&mut random) as usize % owners;
                engine.reassign(core, owner, next_random(&mut random) as usize % most);
            }
        }))
    }

    fn is_recorded(&self) -> bool {
        self.seed / 4 % 4 != 3
    }

    /// Returns whether records of absent rows are removed from their indexes. The watcher of ages does not see the
    /// transactions that do this.
    fn retires(&self) -> bool {
        !(self.seed / 4).is_multiple_of(4)
    }

    /// Limits the memory that is left after loading, in the schedules in which memory runs out.
    fn run_short(&self, machine: &Explored) {
        if self.seed / 64 % 4 == 1 {
            let left = [0, 1 << 10, 4 << 10, 16 << 10][(self.seed / 256 % 4) as usize];
            machine.arena().limit(0, left);
        }
    }

    /// Runs the schedule and returns its history without judging it. Returns none if the schedule is not recorded or
    /// did not end.
    pub fn history(&self, explorers: &mut Explorers) -> Result<Option<History>, HarnessError> {
        if !self.is_recorded() {
            return Ok(None);
        }
        let machine = explorers.take(self.seed, self.exploration.step_limit)?;
        let engine = self.engine(&machine)?;
        self.run_short(&machine);
        let ended = self.execute(&machine, &*engine, &Mutex::new(Ages::default()), None);
        let loaded = engine.loaded();
        drop(engine);
        explorers.give(machine);
        let histories = ended.ok().map(|all| all.into_iter().map(|one| one.history).collect());
        Ok(histories.map(|histories| History::of(histories, loaded)))
    }

    /// Runs and judges the schedule on a machine, with an engine created for it.
    pub fn judge(
        &self,
        machine: &Explored,
        engine: &dyn Engine<Explored>,
        total: &mut Explorations,
    ) -> Result<Option<Violation>, HarnessError> {
        let ages = Mutex::new(Ages::default());
        // A machine's counter is not reset between schedules.
        let before = machine.operations().unwrap_or(0);
        self.run_short(machine);
        let ended = self.execute(machine, engine, &ages, None);
        total.operations += machine.operations().unwrap_or(0) - before;
        let outcomes = match ended {
            Ok(outcomes) => outcomes,
            Err(violation) => return Ok(Some(violation)),
        };
        if let Some(timestamp) = ages.into_inner().oldest_died {
            return Ok(Some(Violation::OldestDied { timestamp }));
        }
        let committed = outcomes.iter().map(|o| o.report.commits()).sum();
        total.commits += committed;
        total.aborts += outcomes.iter().flat_map(|o| o.report.aborts).sum::<u64>();
        let victims = outcomes.iter().map(|o| o.report.aborted_for(AbortReason::Deadlock)).sum();
        if self.workload.in_key_order() && victims > 0 {
            return Ok(Some(Violation::FalseDeadlock { victims }));
        }
        let promised = self.promised(engine);
        // Set if the protocol promises an isolation level weaker than serializability.
        let is_weak = !promised.serializable && promised != Requirements::NOTHING;
        if self.is_recorded() {
            let histories = outcomes.into_iter().map(|o| o.history).collect();
            let history = History::of(histories, engine.loaded());
            let in_order = self.exploration.epoch_order && !is_weak;
            if let Some(violation) = against_history(&history, engine, promised, in_order) {
                return Ok(Some(violation));
            }
        }
        if !is_weak && let Some(law) = self.broken_law(machine, engine, committed)? {
            return Ok(Some(Violation::Conservation(law)));
        }
        match promised {
            // Two transactions that are not isolated can replace the same value, and one of theirs is lost.
            Requirements::NOTHING => Ok(None),
            _ => Ok(lost_values(machine, engine)?.map(Violation::Memory)),
        }
    }

    fn promised(&self, engine: &dyn Engine<Explored>) -> Requirements {
        match self.exploration.demand_strict {
            true => Requirements::STRICT,
            false => assemble::promised(&engine.declaration()),
        }
    }

    /// Runs the workers to their ends, and the body `beside` concurrently with them.
    pub fn execute(
        &self,
        machine: &Explored,
        engine: &dyn Engine<Explored>,
        ages: &Mutex<Ages>,
        beside: Option<Body<'_, Explored>>,
    ) -> Result<Vec<Outcome>, Violation> {
        let (stop, timeline) = (Word::new(0), Timeline::default());
        let (outcomes, admitted) = (Mutex::new(Vec::new()), Mutex::new(Admitted::default()));
        let workers = self.exploration.workers;
        let limiting = Limiting::drawn(self.seed, self.exploration);
        // In the schedules in which memory runs out, there can be none for permits.
        let limits = limiting.limits(machine).ok().flatten();
        let permits = limits.as_ref().map(Limits::permits);
        let bodies = (0..workers)
            .map(|worker| -> Body<'_, Explored> {
                let (timeline, outcomes, stop) = (&timeline, &outcomes, &stop);
                let admitted = &admitted;
                Box::new(move |core| {
                    let mut session = self.session(engine, core, worker);
                    let mut watcher =
                        AgeWatcher { worker, ages, admitted, watching: !self.retires() };
                    let plan = Loop::<Explored, &mut dyn Watcher> {
                        back_off: limiting.back_off,
                        seed: self.seed ^ (worker as u64) << 32,
                        stop,
                        arrivals: None,
                        admission: Applicant::of(permits, worker),
                        watcher: &mut watcher,
                        meter: Meter::new(timeline),
                    };
                    let chosen = self.how.procedures.map(|procedures| &*procedures[worker]);
                    let identity = Identity { worker, workers, seed: self.seed, chosen };
                    let all = self.exploration.procedures;
                    let count = chosen.map_or(all, |chosen| chosen.len() as u64);
                    let length = || Length::Procedures(count);
                    let report = self.workload.drive(core, &mut *session, identity, &length, plan);
                    let history = session.take_history();
                    outcomes.lock().push(Outcome { worker, report, history });
                })
            })
            .chain(beside)
            .chain(self.reassigning(engine))
            .collect();
        if let Some(switches) = self.how.switches {
            machine.follow(switches.to_vec());
        }
        let seats = (Sharing::fibers(self.exploration.fibers), self.exploration.servers);
        let movable = (self.workload.movable(), false);
        let mut services = engine.services();
        let hz = machine.clock_hz();
        services.extend(limits.as_ref().and_then(|limits| limiting.service(limits, hz)));
        let run = || run_workers(machine, engine, seats, movable, bodies, services);
        let ended = catch_unwind(AssertUnwindSafe(run));
        if let Some(notes) = self.how.notes {
            *notes.steps.lock() = machine.trace();
            *notes.switches.lock() = machine.switches();
        }
        match ended {
            Err(payload) => return Err(Violation::Panic(message_of(&*payload))),
            Ok(Err(error)) => return Err(Violation::Stuck(error)),
            Ok(Ok(())) => {}
        }
        admitted.into_inner().within(permits.map(Permits::largest_limit))?;
        let mut outcomes = outcomes.into_inner();
        outcomes.sort_by_key(|outcome| outcome.worker);
        Ok(outcomes)
    }

    /// Returns the session of a worker. The session is watched if its steps are noted.
    fn session<'s>(
        &self,
        engine: &'s dyn Engine<Explored>,
        core: &'s ExploredCore,
        worker: usize,
    ) -> Box<dyn Session + 's>
    where
        Self: 's,
    {
        let session = engine.session(core, worker);
        match self.how.notes.filter(|notes| notes.watched) {
            None => session,
            Some(notes) => Box::new(Watched { session, core, worker, notes }),
        }
    }

    /// Checks the workload's law in one more transaction that runs alone.
    fn broken_law(
        &self,
        machine: &Explored,
        engine: &dyn Engine<Explored>,
        committed: u64,
    ) -> Result<Option<String>, HarnessError> {
        let session = self.exploration.workers;
        machine.arena().lift_limit(0);
        let law = self.workload.conservation();
        let judged = || law::broken(machine, engine, law, (1, vec![]), session, committed);
        match catch_unwind(AssertUnwindSafe(judged)) {
            Err(payload) => Ok(Some(message_of(&*payload))),
            Ok(broken) => Ok(broken?),
        }
    }
}

/// Returns what is wrong with the values outside records after the run, if anything is.
fn lost_values(
    machine: &Explored,
    engine: &dyn Engine<Explored>,
) -> Result<Option<String>, HarnessError> {
    let wrong = Mutex::new(None);
    let body: Body<'_, Explored> = Box::new(|core| *wrong.lock() = engine.audit_values(core).err());
    machine.run(vec![body], vec![])?;
    Ok(wrong.into_inner())
}

/// Returns the violation in a history: of the certificate, or of the order of commit epochs if `in_order` is set.
fn against_history(
    history: &History,
    engine: &dyn Engine<Explored>,
    promised: Requirements,
    in_order: bool,
) -> Option<Violation> {
    // NO_CC promises nothing. It is judged as serializable too: it must fail.
    let asked = match promised {
        Requirements::NOTHING => Requirements::SERIALIZABLE,
        promised => promised,
    };
    let certificate = checker::check(history, asked);
    if !certificate.satisfies(asked) {
        return Some(Violation::Certificate(Box::new(certificate)));
    }
    let epoch_of = |timestamp| engine.epoch_of(timestamp).filter(|_| in_order);
    let (first, second) = checker::against_epochs(history, epoch_of)?;
    Some(Violation::EpochOrder { first, second })
}
