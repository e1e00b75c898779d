//! Fits the only constant of a platform: the cost of the procedures' own work.
//!
//! The simulation charges for shared memory and for a protocol's instructions, not for the instructions of the stored
//! procedures. They are taken to cost the same number of cycles for each record that a procedure accesses, under every
//! scheme and on every number of cores. The anchor rows of a platform give the number.

use super::simulate::{self, Told};
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
    /// Number of rows that gave the constant.
    pub anchors: usize,
    /// Kind of these rows: `anchor` rows, or one-core rows where there is no anchor, or none (the cost is then 0).
    pub from: String,
}

/// Returns the rows that give the constant of a platform, and their kind.
fn anchors<'a>(rows: &'a [Measurement], platform: &str) -> (Vec<&'a Measurement>, &'static str) {
    let own = |good: &dyn Fn(&Measurement) -> bool| -> Vec<&'a Measurement> {
        rows.iter().filter(|row| row.platform == platform && good(row)).collect()
    };
    let anchors = own(&|row| row.split == Role::Anchor && row.cores == 1);
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
        if all.iter().any(|work| work.platform == row.platform) {
            continue;
        }
        let (rows, from) = anchors(&measurements.rows, &row.platform);
        let configurations: Vec<Configuration> =
            rows.iter().map(|row| Configuration::of(row, measurements, options, 0)).collect();
        let known = vec![None; configurations.len()];
        let clock_mhz = configurations.first().map_or(1, |first| first.machine.clock_mhz);
        let told: Told<'_> = (&|_, _, _| {}, &|_| {});
        let simulated = simulate::all(configurations, known, options.threads, stop, told)?;
        if simulated.iter().any(Option::is_none) {
            return Err(ValidateError::Interrupted);
        }
        let missing: Vec<f64> = simulated.iter().flatten().map(missing_ns).collect();
        let ns = (missing.iter().sum::<f64>() / missing.len().max(1) as f64).max(0.0);
        let cycles = (ns / RECORDS * clock_mhz as f64 / 1000.0).round() as u64;
        all.push(Work {
            platform: row.platform.clone(),
            machine: measurements.platform_of(row).machine.title.clone(),
            cycles,
            ns_per_transaction: cycles as f64 * RECORDS * 1000.0 / clock_mhz as f64,
            anchors: missing.len(),
            from: from.to_owned(),
        });
    }
    Ok(all)
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
}
