//! Runs simulations, several at a time. Each runs on one thread and is independent of the others.

use super::{Configuration, Row, ValidateError};
use harness::{
    assemble,
    run::{Repetition, run},
    run_record::{MachineKind, RunRecord, settings},
};
use machine::{Word, cold::Mutex};
use simulator::Simulated;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use workloads::Options;
use workloads::tpcc_accesses::TpccAccesses;

/// A configuration and its simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The simulated configuration.
    pub configuration: Configuration,
    /// Record of the simulation.
    pub record: RunRecord,
}

/// Seconds of the host's time after which the rows so far are handed out again.
const KEEP_EVERY_S: f64 = 5.0;

/// Functions that are called during the simulations: after each with the number done, the total and the configuration,
/// and from time to time with the rows so far.
pub type Told<'a> =
    (&'a (dyn Fn(usize, usize, &Configuration) + Sync), &'a (dyn Fn(Vec<Row>) + Sync));

/// Simulates all configurations whose row is not `known`. Returns the rows in the given order. The largest machines run
/// first, so that the last simulation to end is a short one. Ends early, without some rows, if `stop` becomes non-zero.
/// Fails if a simulation fails.
pub fn all(
    configurations: Vec<Configuration>,
    known: Vec<Option<Row>>,
    threads: usize,
    stop: &Word,
    (done, keep): Told<'_>,
) -> Result<Vec<Option<Row>>, ValidateError> {
    let mut order: Vec<usize> = (0..known.len()).filter(|&i| known[i].is_none()).collect();
    let total = order.len();
    order.sort_by_key(|&i| std::cmp::Reverse(configurations[i].measured.cores));
    let (taken, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results = Mutex::new((known, Instant::now()));
    let failure = Mutex::new(None);
    let work = || {
        // Relaxed is enough: only the number matters, and the results are passed under the mutex.
        while let Some(&at) = order.get(taken.fetch_add(1, Ordering::Relaxed)) {
            if stop.peek() != 0 || failure.lock().is_some() {
                return;
            }
            let configuration = &configurations[at];
            match one(configuration, stop) {
                Ok(Some(record)) => {
                    let configuration = configuration.clone();
                    let row = Row::of(Simulation { configuration, record });
                    let (rows, kept) = &mut *results.lock();
                    rows[at] = Some(row);
                    if kept.elapsed().as_secs_f64() > KEEP_EVERY_S {
                        *kept = Instant::now();
                        keep(rows.iter().flatten().cloned().collect());
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    *failure.lock() = Some(error);
                    return;
                }
            }
            done(finished.fetch_add(1, Ordering::Relaxed) + 1, total, configuration);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, total.max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let (rows, _) = results.into_inner();
    match failure.into_inner() {
        Some(error) => {
            keep(rows.into_iter().flatten().collect());
            Err(error)
        }
        None => Ok(rows),
    }
}

/// Simulates one configuration. Returns None if it was interrupted.
pub(crate) fn one(
    configuration: &Configuration,
    stop: &Word,
) -> Result<Option<RunRecord>, ValidateError> {
    let (plan, machine) = (&configuration.plan, &configuration.machine);
    let failed = |error| ValidateError::Simulation { what: configuration.title(), error };
    let workload = TpccAccesses::new(configuration.workload.clone())
        .expect("a measured row was checked, and the rest follows from a machine file");
    let make = |seed| Simulated::new(machine.clone(), configuration.machine_options(seed));
    let repetitions: Vec<Repetition> =
        run(&make, &workload, plan, stop, &mut |_| {}).map_err(failed)?;
    if repetitions.is_empty() || repetitions.iter().any(|r| r.interrupted) {
        return Ok(None);
    }
    let declaration = assemble::declaration::<Simulated>(plan)
        .expect("the protocol has just run, so it is known");
    let blank = RunRecord {
        workload: "tpcc-accesses".to_owned(),
        workload_options: settings(workload.options().list()),
        machine: machine.name.clone(),
        machine_description: machine.title.clone(),
        placement: configuration.placement_name(),
        ..RunRecord::blank()
    };
    let kind = MachineKind::Simulated;
    Ok(Some(assemble::record(blank, kind, plan, &declaration, &repetitions, None)))
}
