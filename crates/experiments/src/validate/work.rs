//! Fits the only constant of a platform: the cost of the procedures' own work.
//!
//! The simulation charges for shared memory and for a protocol's instructions, not for the instructions of the stored
//! procedures. They are taken to cost the same number of cycles for each record that a procedure accesses, under every
//! scheme and on every number of cores. The anchor rows of a platform give the number: those of builds whose procedures are
//! compiled. Builds before them have the same work and more, which is for the model to predict.

use super::simulate::{self, Told};
use super::statistics::{mean, median};
use super::{Configuration, Measurement, Measurements, Role, Row, ValidateError, ValidateOptions};
use machine::Word;
use serde::{Deserialize, Serialize};

/// Mean number of records that a transaction of the narrow mix accesses: half of them are payments with 3, half are
/// orders with 3 and two for each of 10 lines.
const RECORDS: f64 = (3.0 + 23.0) / 2.0;

/// Cost of the procedures' own work on one platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Name of the platform.
    pub platform: String,
    /// Title of its machine.
    pub machine: String,
    /// Cycles for each record that a procedure accesses.
    pub cycles: u64,
    /// The same in nanoseconds, for a transaction of the narrow mix.
    pub ns_per_transaction: f64,
    /// Number of rows that gave the constant. It is 0 if the constant is that of other platforms.
    pub anchors: usize,
    /// Origin of the constant: `anchor rows`; one-core rows where there is no anchor; or, where the platform has neither,
    /// another platform with the same machine, or else the mean of all others.
    pub from: String,
}

impl Work {
    /// Returns true if the constant was fitted to rows of this platform.
    pub fn is_fitted(&self) -> bool {
        self.anchors > 0
    }
}

/// Returns the mean of the cycles of some platforms, or none if there are none.
pub(super) fn mean_cycles<'a>(work: impl Iterator<Item = &'a Work>) -> Option<u64> {
    let cycles: Vec<f64> = work.map(|work| work.cycles as f64).collect();
    mean(&cycles).map(|mean| mean.round() as u64)
}

/// Returns the rows that give the constant of a platform, and their kind.
fn anchors<'a>(rows: &'a [Measurement], platform: &str) -> (Vec<&'a Measurement>, &'static str) {
    let own = |good: &dyn Fn(&Measurement) -> bool| -> Vec<&'a Measurement> {
        rows.iter().filter(|row| row.platform == platform && good(row)).collect()
    };
    let anchors = own(&|row| {
        row.split == Role::Anchor && row.cores == 1 && row.build().compiles_procedures()
    });
    if !anchors.is_empty() {
        return (anchors, "anchor rows");
    }
    let alone = own(&|row| row.cores == 1);
    let from = if alone.is_empty() { "none" } else { "one-core rows" };
    (alone, from)
}

/// Simulates the anchors of every platform without work of the procedures, and returns the cost that is missing.
pub fn fit(
    measurements: &Measurements,
    options: &ValidateOptions,
    stop: &Word,
) -> Result<Vec<Work>, ValidateError> {
    let mut all: Vec<Work> = Vec::new();
    for row in &measurements.rows {
        if all.iter().all(|work| work.platform != row.platform) {
            all.push(own(measurements, &row.platform, options, stop)?);
        }
    }
    let fitted: Vec<Work> = all.iter().filter(|work| work.is_fitted()).cloned().collect();
    for work in all.iter_mut().filter(|work| !work.is_fitted()) {
        let same = fitted.iter().find(|other| other.machine == work.machine);
        let from = same.map_or("the mean of the others".to_owned(), |same| same.platform.clone());
        let of = |other: &&Work| same.is_none_or(|same| same == *other);
        if let Some(cycles) = mean_cycles(fitted.iter().filter(of)) {
            let clock_mhz = measurements.machine_of(&work.platform).clock_mhz;
            *work = Work { from, ..work.with_cycles(cycles, clock_mhz) };
        }
    }
    Ok(all)
}

/// Returns the constant that the rows of `platform` give, or 0 if there are none.
fn own(
    measurements: &Measurements,
    platform: &str,
    options: &ValidateOptions,
    stop: &Word,
) -> Result<Work, ValidateError> {
    let (rows, from) = anchors(&measurements.rows, platform);
    let configurations: Vec<Configuration> =
        rows.iter().map(|row| Configuration::of(row, measurements, options, 0)).collect();
    let known = vec![None; configurations.len()];
    let told: Told<'_> = (&|_, _, _| {}, &|_| {});
    let simulated = simulate::all(configurations, known, options.threads, stop, told)?;
    if simulated.iter().any(Option::is_none) {
        return Err(ValidateError::Interrupted);
    }
    let missing: Vec<f64> = simulated.iter().flatten().map(missing_ns).collect();
    // The median, so that no single scheme decides.
    let ns = median(&missing).unwrap_or(0.0).max(0.0);
    let machine = measurements.machine_of(platform);
    let cycles = (ns / RECORDS * machine.clock_mhz as f64 / 1000.0).round() as u64;
    let blank = Work {
        platform: platform.to_owned(),
        machine: machine.title.clone(),
        cycles: 0,
        ns_per_transaction: 0.0,
        anchors: missing.len(),
        from: from.to_owned(),
    };
    Ok(blank.with_cycles(cycles, machine.clock_mhz))
}

impl Work {
    /// Returns the same with another cost.
    fn with_cycles(&self, cycles: u64, clock_mhz: u64) -> Work {
        let ns_per_transaction = cycles as f64 * RECORDS * 1000.0 / clock_mhz as f64;
        Work { cycles, ns_per_transaction, ..self.clone() }
    }
}

/// Returns the nanoseconds that a simulated transaction on one core lacks.
fn missing_ns(row: &Row) -> f64 {
    1e9 / row.measured.throughput_txn_per_s - 1e9 / row.simulated_txn_per_s.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,\
                          remote_payment_pct,throughput_txn_per_s,abort_ratio,split";

    fn parsed(rows: &str) -> Measurements {
        Measurements::parse(&format!("{HEADER}\n{rows}"), "t.csv").expect("good rows")
    }

    #[test]
    fn anchors_are_taken_before_other_rows_of_one_core() {
        let both =
            "hpe,opt8,SILO,4,1,2,all,1,15,5,0,calib\nhpe,opt8,TICTOC,4,1,2,all,1,15,9,0,anchor\n";
        let (rows, from) = (parsed(both).rows, "anchor rows");
        let (found, named) = anchors(&rows, "hpe");
        assert_eq!((found[0].scheme.as_str(), found.len(), named), ("TICTOC", 1, from));
        let (found, named) = anchors(&rows[..1], "hpe");
        assert_eq!((found[0].scheme.as_str(), named), ("SILO", "one-core rows"));
        let large = parsed("hpe,opt8,SILO,4,2,2,all,1,15,5,0,calib\n").rows;
        assert_eq!(anchors(&large, "hpe"), (vec![], "none"));
    }

    #[test]
    fn the_work_brings_the_anchor_to_its_measured_time() {
        let measurements = parsed("hpe,opt8,TICTOC,4,1,2,all,1,15,250000,0,anchor\n");
        let (options, stop) = (ValidateOptions::default(), Word::new(0));
        let work = fit(&measurements, &options, &stop).expect("it runs");
        assert!(work[0].cycles > 0 && work[0].anchors == 1, "{work:?}");
        let fitted =
            Configuration::of(&measurements.rows[0], &measurements, &options, work[0].cycles);
        let told: Told<'_> = (&|_, _, _| {}, &|_| {});
        let rows = simulate::all(vec![fitted], vec![None], 1, &stop, told);
        let row = rows.expect("it runs").remove(0).expect("not interrupted");
        assert!(row.ln_error.abs() < 0.03, "{row:?}");
        // A measurement that is faster than the simulation leaves no work.
        let fast = parsed("hpe,opt8,TICTOC,4,1,2,all,1,15,25000000,0,anchor\n");
        assert_eq!(fit(&fast, &options, &stop).expect("it runs")[0].cycles, 0);
    }

    #[test]
    fn a_platform_without_rows_of_one_core_takes_the_constant_of_its_machine_or_of_the_others() {
        let measurements = parsed(
            "power9ri,optimised,SILO,4,24,8,all,1,15,1,0,calib\nhpe,opt8,SILO,4,8,2,all,1,15,1,0,calib\n\
             power9,optimised,TICTOC,4,1,8,all,1,15,200000,0,anchor\n",
        );
        let (options, stop) = (ValidateOptions::default(), Word::new(0));
        let work = fit(&measurements, &options, &stop).expect("it runs");
        let [replicated, hpe, power] = &work[..] else { panic!("{work:?}") };
        assert_eq!((power.anchors, power.from.as_str()), (1, "anchor rows"));
        assert_eq!(
            (replicated.from.as_str(), hpe.from.as_str()),
            ("power9", "the mean of the others")
        );
        assert!(
            power.cycles > 0 && replicated.cycles == power.cycles && hpe.cycles == power.cycles
        );
        assert!(hpe.ns_per_transaction > power.ns_per_transaction && !hpe.is_fitted());
        // With a single fitted platform nobody is left out.
        let none = super::super::left_out::errors(&measurements, &work, &[], &options, &stop);
        assert_eq!(none.expect("nothing runs"), Some(vec![]));
    }
}
