//! Describes one run of the measured program of "The Full Story of 1000 Cores".
//!
//! A run names what a row of the measurements names: platform, build, scheme, warehouses, threads and so on. It is
//! simulated by the code of the validation, so a figure and `kilocore validate` agree. A build that the validation
//! can't simulate yet is simulated here as soon as the validation can.

mod measured;

pub use measured::Measured;

use super::Effort;
use crate::validate::{
    self, Configuration, Measurements, Placement, ValidateError, ValidateOptions, simulate_one,
};
use harness::assemble;
use harness::run_record::{RunRecord, Setting};
use machine::Word;
use std::collections::BTreeMap;

/// Columns of the row that a run becomes.
const HEADER: &str = "platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,\
                      remote_payment_pct,placement,throughput_txn_per_s,abort_ratio,split";

/// Name of the entry among a record's options of the workload that holds the run's title.
const TITLE: &str = "measured-program";

/// Share of the longest run that the first interval of a run takes, if there is a warehouse for each core. Hardly anything
/// waits there, so all schemes get the same interval, whatever their timeouts are: caches fill during the whole run, and with
/// different lengths a scheme would be compared with warmer caches than another.
const FIRST: f64 = 0.125;

/// Largest busy time of a quick run in core seconds, unless the caller gives another. The figures of the paper have a
/// thousand quick runs, which together take some ten minutes of a host with two cores.
const QUICK_BUSY_S: f64 = 0.5;

/// Warehouses that remote accesses of the measured program go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remote {
    /// Any other than the home.
    Anywhere,
    /// Those of a block of so many warehouses, which is so many blocks away from that of the home. With a block for each
    /// socket, all remote warehouses of a worker are at one distance.
    Blocks {
        /// Warehouses of a block.
        warehouses: u64,
        /// Blocks from the home's to that of the remote warehouses.
        steps: u64,
    },
}

impl Remote {
    /// Returns the words that a run's title ends with.
    fn name(self) -> String {
        match self {
            Remote::Anywhere => String::new(),
            Remote::Blocks { warehouses, steps } => {
                format!(", {steps} blocks of {warehouses} away")
            }
        }
    }
}

/// A run of the measured program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Name of the machine in the measurements' `hardware.toml`.
    pub platform: &'static str,
    /// Build of the program.
    pub variant: &'static str,
    /// Concurrency-control scheme.
    pub scheme: &'static str,
    /// Number of warehouses.
    pub warehouses: u64,
    /// Number of hardware threads.
    pub cores: u64,
    /// Largest number of threads of a core.
    pub smt: u64,
    /// Order in which threads take cores, a word of the column `placement`.
    pub order: &'static str,
    /// `all` if memory is as `placement` says, or the distance at which all memory is.
    pub numa: &'static str,
    /// Percentages of remote order lines and of remote payments.
    pub remote_pct: (u64, u64),
    /// Sockets of the warehouses: of their loader, as in the released program, or of their worker.
    pub placement: Placement,
    /// The warehouses that remote accesses go to.
    pub remote: Remote,
    /// Number of threads of the measurement to show beside the run, if it is another number. It makes sense for values by
    /// thread and for ratios.
    pub beside: Option<u64>,
}

/// Length and seed of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Usual length.
    pub effort: Effort,
    /// Largest busy time of a run in core seconds, if it is not the usual one.
    pub busy_s: Option<f64>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Program {
    /// Returns a run of `variant` on a whole machine, with the shares of remote accesses that TPC-C prescribes.
    pub fn new(
        platform: &'static str,
        variant: &'static str,
        scheme: &'static str,
        warehouses: u64,
        cores: u64,
    ) -> Program {
        let (smt, order) = if platform == "hpe" { (2, "ht2-adjacent") } else { (8, "spread2") };
        let (numa, remote_pct, placement) = ("all", (1, 15), Placement::Loader);
        Program {
            platform,
            variant,
            scheme,
            warehouses,
            cores,
            smt,
            order,
            numa,
            remote_pct,
            placement,
            remote: Remote::Anywhere,
            beside: None,
        }
    }

    /// Returns the run in one line. No other run has the same line.
    pub fn title(&self) -> String {
        let Program { platform, variant, scheme, warehouses, cores, smt, order, numa, .. } = self;
        let ((lines, payments), placement) = (self.remote_pct, self.placement.name());
        let to = self.remote.name();
        format!(
            "{platform} {variant} {scheme}, {warehouses} warehouses {placement}, {cores} threads, SMT {smt} {order}, \
             memory {numa}, {lines} % of lines and {payments} % of payments remote{to}"
        )
    }

    /// Returns the run as the only row of measurements. Fails with the reason why it can't be simulated.
    fn row(&self) -> Result<Measurements, String> {
        let Program { platform, variant, scheme, warehouses, cores, smt, order, numa, .. } = self;
        let (lines, payments) = self.remote_pct;
        // The length of a simulation follows from the rate that is expected. Most runs have no measurement, so all take
        // the same guess: 300,000 a second for each core, as long as there are not many cores for a warehouse.
        let guess = 300_000 * (*cores).min(3 * warehouses);
        let text = format!(
            "{HEADER}\n{platform},{variant},{scheme},{warehouses},{cores},{smt},{numa},{lines},{payments},{order},{guess},\
             0,calib\n"
        );
        Measurements::parse(&text, "a figure").map_err(|error| match error {
            ValidateError::NothingLeft { skipped, .. } => skipped,
            other => other.to_string(),
        })
    }

    /// Returns the name of the machine file of the platform.
    pub fn machine(&self) -> &'static str {
        if self.platform == "hpe" { "superdome-flex" } else { self.platform }
    }

    /// Returns the reason why the run can't be simulated yet, if there is one.
    pub fn unable(&self) -> Option<String> {
        self.row().err().map(|why| why.trim_start_matches("1 ").to_owned())
    }

    /// Returns the simulation. The procedures' own work costs `work_cycles` for each record.
    fn configuration(&self, length: Length, work_cycles: u64) -> Result<Configuration, String> {
        let row = self.row()?;
        let options = ValidateOptions {
            effort: length.effort.into(),
            seed: length.seed,
            placement: self.placement,
            ..ValidateOptions::default()
        };
        let mut made = Configuration::of(&row.rows[0], &row, &options, work_cycles);
        if let Remote::Blocks { warehouses, steps } = self.remote {
            (made.workload.remote_block, made.workload.remote_steps) = (warehouses, steps);
        }
        let plan = &mut made.plan;
        if let Some(growth) = &mut plan.growth {
            let usual_s = length.effort.pick(growth.most_busy_s, QUICK_BUSY_S);
            growth.most_busy_s = length.busy_s.unwrap_or(usual_s);
            let most_s = growth.most_busy_s / self.cores as f64;
            let first_s = match self.warehouses >= self.cores {
                true => FIRST * most_s,
                false => plan.measured_s.min(most_s),
            };
            (plan.warm_up_s, plan.measured_s) = (first_s, first_s);
        }
        Ok(made)
    }

    /// Simulates the run. Returns none if `stop` became non-zero. Fails with a message of one line.
    pub fn simulate(
        &self,
        length: Length,
        work_cycles: u64,
        stop: &Word,
    ) -> Result<Option<RunRecord>, String> {
        let configuration = self.configuration(length, work_cycles)?;
        let record = simulate_one(&configuration, stop).map_err(|error| error.to_string())?;
        Ok(record.map(|mut record| {
            record.workload_options.insert(TITLE.to_owned(), Setting::Text(self.title()));
            record
        }))
    }

    /// Returns whether `record` is one of this run, of any length and build.
    pub fn is_of(&self, record: &RunRecord) -> bool {
        self.is_titled(&self.title(), record)
    }

    /// Does the same as [`Program::is_of`] with the run's `title`.
    pub(super) fn is_titled(&self, title: &str, record: &RunRecord) -> bool {
        let own = record.workload_options.get(TITLE);
        record.cores == self.cores as usize
            && record.protocol == self.scheme
            && matches!(own, Some(Setting::Text(text)) if text == title)
    }

    /// Returns whether `record` is one of this run with this length.
    pub fn is_as_long(&self, length: Length, record: &RunRecord) -> bool {
        let plan = self.configuration(length, 0).map(|made| made.plan);
        plan.is_ok_and(|plan| {
            record.seed == length.seed
                && record.adapted == assemble::adapted(&plan)
                && !record.interrupted
        })
    }

    /// Returns the options of a record that is recognised as one of this run.
    #[cfg(test)]
    pub(super) fn titled(&self) -> harness::run_record::Settings {
        BTreeMap::from([(TITLE.to_owned(), Setting::Text(self.title()))])
    }

    /// Returns what was measured in this run, if the program carries it.
    pub fn measured(&self) -> Option<Measured> {
        measured::of(self)
    }
}

impl From<Effort> for validate::Effort {
    fn from(effort: Effort) -> validate::Effort {
        effort.pick(validate::Effort::Full, validate::Effort::Quick)
    }
}

/// Returns the cycles that a record costs the procedures, from a record of [`Program::simulate`].
pub fn work_cycles_of(record: &RunRecord) -> Option<u64> {
    record.workload_options.get("work-cycles")?.to_string().parse().ok()
}

/// Fits the cost of the procedures' own work to the one-core rows of the platforms, in cycles for each record. Platforms of
/// the same machine belong together. Fails with a message of one line.
pub fn fitted_work(
    platforms: &[&str],
    length: Length,
    stop: &Word,
) -> Result<BTreeMap<String, u64>, String> {
    let mut measurements = Measurements::carried();
    let wanted: Vec<String> = measurements
        .platforms
        .iter()
        .filter(|platform| platforms.contains(&platform.name.as_str()))
        .map(|platform| platform.machine.title.clone())
        .collect();
    let all = measurements.clone();
    let same = |row: &_| wanted.contains(&all.platform_of(row).machine.title);
    measurements.rows.retain(same);
    let options = ValidateOptions {
        effort: length.effort.into(),
        seed: length.seed,
        ..ValidateOptions::default()
    };
    let work = validate::fit_work(&measurements, &options, stop);
    let work = work.map_err(|error| error.to_string())?;
    Ok(work.into_iter().map(|work| (work.platform, work.cycles)).collect())
}

#[cfg(test)]
mod tests;
