//! Compares the simulated machine with the machine at hand: every protocol natively, and on a description of this machine.
//!
//! Each workload has one fitted constant: the work of its procedures, which the simulation does not know. It is the time
//! that a simulated transaction lacks on one thread without concurrency control (NO_CC). It is added to every simulated
//! transaction of the workload. Nothing is fitted for a protocol or for two threads.

mod report;
#[cfg(test)]
mod tests;

pub use report::{to_csv, to_json, to_text};

use crate::validate::statistics::{median, quantile};
use harness::{
    engines::Engines,
    run::{HarnessError, Plan, Repetition, run},
};
use machine::{Native, NativeOptions, OutOfMemory, Word, cold::Arc};
use protocols::{Isolation, ProtocolOptions, registry};
use serde::Serialize;
use simulator::{MachineDescription, Simulated, SimulatedOptions};
use workloads::Options;
use workloads::registry::{Listed, Visitor, with_workload};

/// Protocol without concurrency control, whose rows on one thread give the constants.
const ANCHOR: &str = "NO_CC";

/// Workloads with their options.
const WORKLOADS: [(&str, &str); 2] =
    [("ycsb", "--records 200000 --theta 0.6 --read-ratio 0.5"), ("tpcc", "--warehouses 2")];

/// Options of the comparison.
#[derive(Clone, Debug)]
pub struct HereOptions {
    /// Numbers of threads, at most those of the machine at hand.
    pub threads: Vec<usize>,
    /// Length of a native repetition in seconds. There are three.
    pub native_s: f64,
    /// Length of a simulation, summed over the threads, in modelled seconds.
    pub simulated_s: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Texts that a row's title (workload, protocol and threads) must contain.
    pub only: Vec<String>,
}

/// One protocol with one workload on a number of threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HereRow {
    /// Name of the workload.
    pub workload: &'static str,
    /// Name of the protocol.
    pub protocol: &'static str,
    /// Number of threads.
    pub threads: usize,
    /// Native transactions per second: the median of the repetitions.
    pub native_txn_per_s: f64,
    /// Largest native throughput divided by the smallest one, minus 1.
    pub native_spread: f64,
    /// Simulated transactions per second, without the work of procedures.
    pub without_work_txn_per_s: f64,
    /// Simulated transactions per second, with the work of procedures.
    pub simulated_txn_per_s: f64,
    /// ln(simulated / native throughput): above 0 the simulation is too fast.
    pub ln_error: f64,
    /// Set if the row gives the workload's constant. It is not scored.
    pub anchor: bool,
}

/// Result of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HereOutcome {
    /// Title of the simulated machine.
    pub machine: String,
    /// Workloads with their options, and the fitted work of their procedures in nanoseconds for each transaction.
    pub work_ns: Vec<(String, f64)>,
    /// All rows.
    pub rows: Vec<HereRow>,
    /// Median of |ln| over the scored rows.
    pub median_abs_ln: f64,
    /// 90th percentile of |ln| over the scored rows.
    pub p90_abs_ln: f64,
    /// Set if the comparison was stopped before the last row.
    pub interrupted: bool,
}

/// The reason why a comparison fails.
#[derive(Debug)]
pub enum HereError {
    /// No row is asked for.
    NothingLeft,
    /// A run failed. Contains the row's title.
    Run(String, HarnessError),
}

impl std::fmt::Display for HereError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HereError::NothingLeft => {
                f.write_str("--only leaves no row; allowed: parts of a workload, a protocol and a number of threads, such as ycsb SILO 2")
            }
            HereError::Run(what, error) => write!(f, "{what}: {error}"),
        }
    }
}

/// Measures and simulates every row. `told` is called after each with the number done, the total and the row's title. Ends
/// early with the rows done so far if `stop` becomes non-zero.
pub fn compare(
    machine: &MachineDescription,
    options: &HereOptions,
    stop: &Word,
    told: &dyn Fn(usize, usize, &str),
) -> Result<HereOutcome, HereError> {
    let machine = Arc::new(machine.clone());
    let places = places(options);
    if places.is_empty() {
        return Err(HereError::NothingLeft);
    }
    let mut rows = Vec::new();
    for (done, place) in places.iter().enumerate() {
        if stop.peek() != 0 {
            break;
        }
        rows.extend(both(place, &machine, options, stop)?);
        told(done + 1, places.len(), &place.title());
    }
    Ok(outcome(&machine, rows, places.len()))
}

/// A row to measure.
struct Place {
    workload: &'static str,
    protocol: &'static str,
    threads: usize,
}

impl Place {
    fn title(&self) -> String {
        format!("{} {} {}", self.workload, self.protocol, self.threads)
    }

    fn is_anchor(&self) -> bool {
        self.protocol == ANCHOR && self.threads == 1
    }
}

/// Returns the rows that are asked for, and the anchors of their workloads.
fn places(options: &HereOptions) -> Vec<Place> {
    let declared = registry::declarations::<Native>(&ProtocolOptions::default());
    let scored = |isolation| isolation == Isolation::Serializable;
    let names: Vec<&'static str> = declared
        .iter()
        .filter(|declared| declared.name != ANCHOR && scored(declared.isolation))
        .map(|declared| declared.name)
        .collect();
    let asked = |place: &Place| {
        let title = place.title().to_lowercase();
        options.only.iter().all(|text| title.contains(&text.to_lowercase()))
    };
    let mut places = Vec::new();
    for (workload, _) in WORKLOADS {
        let of = |(protocol, threads): (&'static str, usize)| Place { workload, protocol, threads };
        let each = options.threads.iter().flat_map(|n| names.iter().map(|name| (*name, *n)));
        let wanted: Vec<Place> = each.map(of).filter(asked).collect();
        if !wanted.is_empty() {
            places.push(of((ANCHOR, 1)));
            places.extend(wanted);
        }
    }
    places
}

/// Measures a row natively and simulates it. Returns `None` if it was interrupted.
fn both(
    place: &Place,
    machine: &Arc<MachineDescription>,
    options: &HereOptions,
    stop: &Word,
) -> Result<Option<HereRow>, HereError> {
    let native = |_| Native::new(NativeOptions::default());
    let failed = |error| HereError::Run(place.title(), error);
    let measured = throughputs(place, options, (options.native_s, 3), &native, stop);
    let modelled = |seed| {
        Simulated::new(machine.clone(), SimulatedOptions { seed, ..SimulatedOptions::default() })
    };
    let modelled_s = options.simulated_s / place.threads as f64;
    let native = measured.map_err(failed)?;
    let simulated =
        throughputs(place, options, (modelled_s, 1), &modelled, stop).map_err(failed)?;
    let (Some(native), Some(simulated)) = (native, simulated) else { return Ok(None) };
    let least = native.iter().copied().fold(f64::INFINITY, f64::min);
    let most = native.iter().copied().fold(0.0, f64::max);
    Ok(Some(HereRow {
        workload: place.workload,
        protocol: place.protocol,
        threads: place.threads,
        native_txn_per_s: median(&native).unwrap_or(0.0),
        native_spread: most / least.max(1.0) - 1.0,
        without_work_txn_per_s: simulated[0],
        simulated_txn_per_s: simulated[0],
        ln_error: 0.0,
        anchor: place.is_anchor(),
    }))
}

/// Runs a row on the machine that `make` returns. Returns the throughput of each repetition, or `None` if the run was
/// interrupted.
fn throughputs<M: Engines>(
    place: &Place,
    options: &HereOptions,
    (seconds, repetitions): (f64, usize),
    make: &dyn Fn(u64) -> Result<M, OutOfMemory>,
    stop: &Word,
) -> Result<Option<Vec<f64>>, HarnessError> {
    let plan = Plan {
        repetitions,
        seed: options.seed,
        ..Plan::new(place.protocol, place.threads, seconds)
    };
    let (_, settings) =
        WORKLOADS.into_iter().find(|(name, _)| *name == place.workload).expect("one of them");
    let visit = Throughputs { plan: &plan, settings, make, stop };
    let visited = with_workload(place.workload, visit);
    visited.unwrap_or_else(|_| unreachable!("the registry has the workload"))
}

/// Runs a plan with a workload.
struct Throughputs<'a, M: Engines> {
    plan: &'a Plan,
    settings: &'a str,
    make: &'a dyn Fn(u64) -> Result<M, OutOfMemory>,
    stop: &'a Word,
}

impl<M: Engines> Visitor for Throughputs<'_, M> {
    type Output = Result<Option<Vec<f64>>, HarnessError>;

    fn visit<W: Listed>(self) -> Self::Output {
        let options =
            W::Options::default().changed(self.settings).expect("options that a test tries");
        let workload = W::with(options).expect("options that a test tries");
        let found: Vec<Repetition> = run(&self.make, &workload, self.plan, self.stop, &mut |_| {})?;
        let whole = !found.is_empty() && found.iter().all(|repetition| !repetition.interrupted);
        Ok(whole.then(|| found.iter().map(|repetition| repetition.throughput_txn_per_s).collect()))
    }
}

/// Fits the constants, and returns the errors of the other rows. `planned` is the number of rows that were asked for.
fn outcome(machine: &MachineDescription, mut rows: Vec<HereRow>, planned: usize) -> HereOutcome {
    let mut work_ns = Vec::new();
    for (workload, options) in WORKLOADS {
        let anchor = rows.iter().find(|row| row.anchor && row.workload == workload);
        let Some(anchor) = anchor else { continue };
        let lacking = 1e9 / anchor.native_txn_per_s - 1e9 / anchor.without_work_txn_per_s;
        let work = lacking.max(0.0);
        for row in rows.iter_mut().filter(|row| row.workload == workload) {
            let threads = row.threads as f64;
            let each_ns = threads * 1e9 / row.without_work_txn_per_s + work;
            row.simulated_txn_per_s = threads * 1e9 / each_ns;
            row.ln_error = (row.simulated_txn_per_s / row.native_txn_per_s).ln();
        }
        work_ns.push((format!("{workload} {options}"), work));
    }
    let errors: Vec<f64> =
        rows.iter().filter(|row| !row.anchor).map(|row| row.ln_error.abs()).collect();
    HereOutcome {
        machine: machine.title.clone(),
        work_ns,
        median_abs_ln: median(&errors).unwrap_or(0.0),
        p90_abs_ln: quantile(&errors, 0.9).unwrap_or(0.0),
        interrupted: rows.len() < planned,
        rows,
    }
}
