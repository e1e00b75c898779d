//! Runs simulations, several at a time. Each runs on one thread and is independent of the others.

use super::{Configuration, ValidateError};
use harness::{
    assemble,
    run::{Repetition, run},
    run_record::{MachineKind, RunRecord, settings},
};
use machine::{Word, cold::Mutex};
use simulator::{Simulated, SimulatedOptions};
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Simulates all configurations. Returns the finished simulations in the given order. The largest machines run first,
/// so that the last simulation to end is a short one. Ends early if `stop` becomes non-zero or a simulation fails.
pub fn all(
    configurations: Vec<Configuration>,
    threads: usize,
    stop: &Word,
    done: &(dyn Fn(usize, usize, &Configuration) + Sync),
) -> Result<Vec<Simulation>, ValidateError> {
    let total = configurations.len();
    let mut order: Vec<usize> = (0..total).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(configurations[i].measured.cores));
    let (taken, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Mutex<Vec<Option<RunRecord>>> = Mutex::new(vec![None; total]);
    let failure = Mutex::new(None);
    let work = || {
        // Relaxed is enough: only the number matters, and the results are passed under the mutex.
        while let Some(&at) = order.get(taken.fetch_add(1, Ordering::Relaxed)) {
            if stop.peek() != 0 || failure.lock().is_some() {
                return;
            }
            let configuration = &configurations[at];
            match one(configuration, stop) {
                Ok(Some(record)) => results.lock()[at] = Some(record),
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
        for _ in 1..threads.clamp(1, total) {
            scope.spawn(work);
        }
        work();
    });
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }
    let simulations: Vec<Simulation> = configurations
        .into_iter()
        .zip(results.into_inner())
        .filter_map(|(configuration, record)| Some(Simulation { configuration, record: record? }))
        .collect();
    if simulations.is_empty() { Err(ValidateError::Interrupted) } else { Ok(simulations) }
}

/// Simulates one configuration. Returns None if it was interrupted.
fn one(configuration: &Configuration, stop: &Word) -> Result<Option<RunRecord>, ValidateError> {
    let (plan, machine) = (&configuration.plan, &configuration.machine);
    let failed = |error| ValidateError::Simulation { what: configuration.title(), error };
    let workload = TpccAccesses::new(configuration.workload.clone())
        .expect("a measured row was checked, and the rest follows from a machine file");
    let make = |seed| {
        let homes = configuration.homes();
        // Thousands of warehouses are touched at scattered places, so huge pages would fill the host's memory.
        let options =
            SimulatedOptions { seed, homes, huge_pages: false, ..SimulatedOptions::default() };
        Simulated::new(machine.clone(), options)
    };
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
        placement: configuration.placement.name().to_owned(),
        ..RunRecord::blank()
    };
    let kind = MachineKind::Simulated;
    Ok(Some(assemble::record(blank, kind, plan, &declaration, &repetitions, None)))
}
