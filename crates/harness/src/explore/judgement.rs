//! One schedule, run and judged.

use super::{
    Exploration, Explorations, Explorers, Violation,
    ages::{AgeWatcher, Ages},
    message_of,
};
use crate::{
    assemble,
    drive::{BackOff, Length, Loop, Watcher},
    engines::Engines,
    erased::{ErasedWorkload, Identity},
    law,
    measure::WorkerReport,
    run::{HarnessError, fitted},
    timeline::{Meter, Timeline},
};
use checker::Requirements;
use engine::{Engine, EngineOptions};
use machine::{
    Body, Explored, Machine, Word,
    cold::{Arc, Mutex},
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use txn::{AbortReason, History, WorkerHistory};

/// One schedule and how it is judged.
pub(super) struct Judgement<'a> {
    pub workload: &'a dyn ErasedWorkload<Explored>,
    pub exploration: &'a Exploration,
    pub seed: u64,
}

/// What one worker brings home.
pub(super) struct Outcome {
    worker: usize,
    pub report: WorkerReport,
    history: WorkerHistory,
}

impl Judgement<'_> {
    /// Runs the schedule; says what is wrong with it, if anything is.
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

    /// The engine, with its data.
    pub fn engine(
        &self,
        machine: &Arc<Explored>,
    ) -> Result<Arc<dyn Engine<Explored>>, HarnessError> {
        let exploration = self.exploration;
        let options = EngineOptions {
            protocol: fitted(&exploration.protocol_options, self.workload),
            sessions: exploration.workers + 1,
            record_history: self.is_recorded(),
            purge_batch: 1,
            epoch_interval_ticks: 50,
        };
        let (architecture, protocol) = (&exploration.architecture, &exploration.protocol);
        let engine = Explored::engine(architecture, protocol, machine, &options)?;
        engine.load(self.workload, 1)?;
        Ok(engine)
    }

    fn is_recorded(&self) -> bool {
        self.seed / 4 % 4 != 3
    }

    fn judge(
        &self,
        machine: &Explored,
        engine: &dyn Engine<Explored>,
        total: &mut Explorations,
    ) -> Result<Option<Violation>, HarnessError> {
        let ages = Mutex::new(Ages::default());
        // A machine counts on from schedule to schedule.
        let before = machine.operations().unwrap_or(0);
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
        // Less than serializability is promised, but not nothing.
        let is_weak = !promised.serializable && promised != Requirements::NOTHING;
        if self.is_recorded() {
            let history = History::of(outcomes.into_iter().map(|o| o.history).collect());
            let in_order = self.exploration.epoch_order && !is_weak;
            if let Some(violation) = against_history(&history, engine, promised, in_order) {
                return Ok(Some(violation));
            }
        }
        if is_weak {
            return Ok(None);
        }
        Ok(self.broken_law(machine, engine, committed)?.map(Violation::Conservation))
    }

    fn promised(&self, engine: &dyn Engine<Explored>) -> Requirements {
        match self.exploration.demand_strict {
            true => Requirements::STRICT,
            false => assemble::promised(&engine.declaration()),
        }
    }

    /// Lets the workers run to their ends, and one more body `beside` them.
    pub fn execute(
        &self,
        machine: &Explored,
        engine: &dyn Engine<Explored>,
        ages: &Mutex<Ages>,
        beside: Option<Body<'_, Explored>>,
    ) -> Result<Vec<Outcome>, Violation> {
        let (stop, timeline) = (Word::new(0), Timeline::default());
        let outcomes = Mutex::new(Vec::new());
        let workers = self.exploration.workers;
        let bodies = (0..workers)
            .map(|worker| -> Body<'_, Explored> {
                let (timeline, outcomes, stop) = (&timeline, &outcomes, &stop);
                Box::new(move |core| {
                    let mut session = engine.session(core, worker);
                    let mut watcher = AgeWatcher { worker, ages, watching: self.is_recorded() };
                    let plan = Loop::<&mut dyn Watcher> {
                        back_off: BackOff { first_ns: 50, cap_ns: 2000 },
                        seed: self.seed ^ (worker as u64) << 32,
                        stop,
                        arrivals: None,
                        watcher: &mut watcher,
                        meter: Meter::new(timeline),
                    };
                    let identity = Identity { worker, workers, seed: self.seed };
                    let length = || Length::Procedures(self.exploration.procedures);
                    let report = self.workload.drive(core, &mut *session, identity, &length, plan);
                    let history = session.take_history();
                    outcomes.lock().push(Outcome { worker, report, history });
                })
            })
            .chain(beside)
            .collect();
        match catch_unwind(AssertUnwindSafe(|| machine.run(bodies, engine.services()))) {
            Err(payload) => return Err(Violation::Panic(message_of(&*payload))),
            Ok(Err(error)) => return Err(Violation::Stuck(error)),
            Ok(Ok(())) => {}
        }
        let mut outcomes = outcomes.into_inner();
        outcomes.sort_by_key(|outcome| outcome.worker);
        Ok(outcomes)
    }

    /// Checks the workload's law in one more transaction, alone.
    fn broken_law(
        &self,
        machine: &Explored,
        engine: &dyn Engine<Explored>,
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

/// What speaks against a history: the certificate, or the order of commit epochs if that is to be looked at.
fn against_history(
    history: &History,
    engine: &dyn Engine<Explored>,
    promised: Requirements,
    in_order: bool,
) -> Option<Violation> {
    // NO_CC promises nothing; it is judged as if it did, because that it fails is what it is for.
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
