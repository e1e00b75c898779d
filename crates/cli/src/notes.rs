//! Formats the notes below a table: broken certificates, inconsistent numbers, and where time was spent.

use crate::measurement::Measured;
use crate::report::rate;
use comfy_table::{CellAlignment, Table, presets};
use harness::run_record::{RunRecord, Verdict};
use harness::steadiness::LITTLE_FACTOR;
use machine::Category;

/// Returns the reasons why certificates failed. Broken promises are always included. Other failures are included if
/// `all` is set.
pub fn certificates(measured: &[Measured], all: bool) -> String {
    let mut text = String::new();
    for Measured { record, counterexample, .. } in measured {
        let certificate = &record.certificate;
        let Some(counterexample) = counterexample else { continue };
        let broken = certificate.breaks_promise();
        // Missing strictness is reported only if it was promised.
        let telling = certificate.serializable == Verdict::Fail;
        if broken || all && telling {
            let promised = certificate.promised;
            let said = match broken {
                true => "BROKEN PROMISE",
                false if promised.snapshot => "as expected, it promises snapshot isolation",
                false if promised.read_committed => "as expected, it promises read committed",
                false => "as expected, it promises nothing",
            };
            let (name, cores) = (&record.protocol, record.cores);
            text.push_str(&format!("{name} on {cores} cores ({said}): {counterexample}\n\n"));
        }
    }
    text
}

/// Returns the runs that broke a law of their workload. Runs of protocols that do not promise serializability are
/// included only if `all` is set.
pub fn laws(measured: &[Measured], all: bool) -> String {
    let mut text = String::new();
    for Measured { record, broken_law, .. } in measured {
        let Some((seed, law)) = broken_law else { continue };
        let promised = record.certificate.promised.serializable;
        if promised || all {
            let said = if promised {
                "BROKEN LAW"
            } else {
                "as expected, it does not promise serializability"
            };
            let (name, cores) = (&record.protocol, record.cores);
            text.push_str(&format!("{name} on {cores} cores, seed {seed} ({said}): {law}\n\n"));
        }
    }
    text
}

/// Returns the records for which throughput, mean latency and the number of workers are inconsistent.
pub fn littles_law(records: &[RunRecord]) -> String {
    let failing: Vec<String> = records
        .iter()
        .filter_map(|record| {
            let law = record.littles_law.filter(|law| !law.holds)?;
            let (machine, name, cores) = (&record.machine, &record.protocol, record.cores);
            let accounted = law.accounted_workers;
            Some(format!("{machine} {name} {cores}: {accounted:.1}"))
        })
        .collect();
    match failing.is_empty() {
        true => String::new(),
        false => format!(
            "Little's law fails by more than a factor of {LITTLE_FACTOR}; machine, protocol, cores, and how many of them \
             throughput x mean latency accounts for:\n  {}\n",
            failing.join("; ")
        ),
    }
}

/// Returns the arrivals of an open loop, and the records where more transactions arrived than were served.
pub fn arrivals(records: &[RunRecord]) -> String {
    let mut text = String::new();
    for record in records {
        let Some(arrivals) = &record.arrivals else { continue };
        if text.is_empty() {
            let (process, rate) = (&arrivals.process, rate(arrivals.rate_txn_per_s));
            text =
                format!("Open loop, {process} arrivals at {rate}/s; latency counts from arrival\n");
        }
        if arrivals.overloaded(record.measured_s * record.repetitions as f64) {
            let (name, cores) = (&record.protocol, record.cores);
            let (begin, end) = (arrivals.waiting_at_begin, arrivals.waiting_at_end);
            text.push_str(&format!(
                "OVERLOADED: {name} on {cores} cores serves {}/s; its queue grew from {begin} to {end}\n",
                rate(record.throughput_txn_per_s)
            ));
        }
    }
    text
}

/// Returns the shares of committed procedures in percent, for workloads with several procedures.
pub fn procedures(records: &[RunRecord]) -> String {
    let mut text = String::new();
    for record in records {
        let Some(commits) = &record.commits_by_procedure else { continue };
        let share = |(name, count): (&String, &u64)| {
            let share = 100.0 * *count as f64 / record.commits.max(1) as f64;
            format!("{} {share:.1}%", name.replace('_', " "))
        };
        let shares: Vec<String> = commits.iter().map(share).collect();
        let (name, cores) = (&record.protocol, record.cores);
        text.push_str(&format!("{name} on {cores} cores committed: {}\n", shares.join(", ")));
    }
    text
}

/// Returns the workers' time by category in percent, for records that contain it.
pub fn breakdown(records: &[RunRecord]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let header = ["protocol", "cores"].into_iter().map(str::to_owned);
    table.set_header(header.chain(Category::ALL.iter().map(|c| c.name().replace('_', " "))));
    for record in records {
        let Some(shares) = &record.breakdown else { continue };
        let share = |category: &Category| {
            let share = shares.get(category.name()).copied().unwrap_or(0.0);
            format!("{:.1}%", 100.0 * share)
        };
        let name = [record.protocol.clone(), record.cores.to_string()];
        table.add_row(name.into_iter().chain(Category::ALL.iter().map(share)));
    }
    if table.row_count() == 0 {
        return String::new();
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.to_string();
    let lines: Vec<&str> = lines.lines().map(str::trim_end).collect();
    format!("Where the workers' time went\n{}\n\n", lines.join("\n"))
}
