//! Findings on the simulated machine.

use super::{Finding, of_chore};
use crate::pages::bars::{Bar, Bars};
use crate::pages::lines::{Axis, Lines, Point, Scale, Series};
use crate::pages::numbers::{per_cent, range, three};
use crate::pages::records::{Record, Results, Runs};
use crate::results::TAILS;

const HOLLOW: &str = "Hollow: not known to be steady.";
const CORES: &str = "simulated cores (Graphite target)";

/// Protocols in the line charts: no more than can be told apart, of each kind at least one.
const SHOWN: [&str; 8] =
    ["NO_CC", "DL_DETECT", "NO_WAIT", "WAIT_DIE", "TIMESTAMP", "OCC", "SILO", "TICTOC"];

fn point(record: &Record) -> Point {
    let sure = record.steady == Some(true);
    Point { x: record.cores as f64, y: record.throughput_txn_per_s / 1e6, sure }
}

/// Returns the line of a protocol.
fn line(runs: &Runs, protocol: &str, name: &str) -> Series {
    let cores = runs.cores();
    let points = cores.iter().filter_map(|&n| runs.find(protocol, n)).map(point).collect();
    Series { name: name.into(), points, baseline: protocol == "NO_CC" }
}

/// Returns throughput over cores, one line for each of the shown protocols.
fn throughput(runs: &Runs, title: &str) -> String {
    let chart = Lines {
        title: title.into(),
        x: Axis::of_cores(CORES, &runs.cores()),
        y: Axis::new("million transactions a second", Scale::Log),
        series: SHOWN.iter().map(|protocol| line(runs, protocol, protocol)).collect(),
        scatter: false,
        note: format!("{HOLLOW} NO_CC has no concurrency control and is the upper bound."),
    };
    chart.draw()
}

/// Returns a rate in millions, with the mark of the record.
fn millions(record: &Record) -> String {
    format!("{}{} M", record.marks(), three(record.throughput_txn_per_s / 1e6))
}

/// Returns the records of protocols that promise something on `cores` cores.
fn protocols(runs: &Runs, cores: usize) -> impl Iterator<Item = &Record> {
    runs.records.iter().filter(move |r| r.cores == cores && r.protocol != "NO_CC")
}

/// Returns the record with the highest throughput on `cores` cores, of protocols that promise something.
fn best(runs: &Runs, cores: usize) -> Result<&Record, String> {
    let rate = |record: &&Record| record.throughput_txn_per_s;
    let best = protocols(runs, cores).max_by(|a, b| rate(a).total_cmp(&rate(b)));
    best.ok_or_else(|| format!("results/{}: nothing on {cores} cores", runs.file))
}

pub fn timestamps(results: &Results) -> Result<Finding, String> {
    let names = ["clock", "hardware", "batch16", "atomic", "mutex"];
    let shown = ["clock", "hardware counter", "batches of 16", "atomic counter", "mutex"];
    let file = |name: &str| format!("simulated/timestamps-{name}.json");
    let mut series = Vec::new();
    for (name, shown) in names.iter().zip(shown) {
        let runs = results.records(&file(name))?;
        series.push(line(&runs, "NO_CC", shown));
        series.last_mut().expect("was pushed").baseline = false;
    }
    let at_most = |name: &str| -> Result<f64, String> {
        Ok(results.records(&file(name))?.get("NO_CC", 1024)?.throughput_txn_per_s / 1e6)
    };
    let cores = results.records(&file("atomic"))?.cores();
    let chart = Lines {
        title: "Timestamps allocated by 1 to 1024 simulated cores".into(),
        x: Axis::of_cores(CORES, &cores),
        y: Axis::new("million timestamps a second", Scale::Log),
        series,
        scatter: false,
        note: HOLLOW.into(),
    };
    let [atomic, mutex, batch, hardware, clock] = [
        at_most("atomic")?,
        at_most("mutex")?,
        at_most("batch16")?,
        at_most("hardware")?,
        at_most("clock")?,
    ];
    Ok(Finding {
        title: "A shared counter limits how many transactions can draw a timestamp".into(),
        text: format!(
            "On 1024 simulated cores an atomic counter gives {} million timestamps a second and a mutex {} million. \
             Batches of 16 give {} million, a counter in hardware {} million, and the cores' clocks {} million.",
            three(atomic),
            three(mutex),
            three(batch),
            three(hardware),
            three(clock)
        ),
        files: names.map(file).to_vec(),
        command: of_chore("simulated/timestamps-atomic")?,
        chart: "timestamps",
        svg: chart.draw(),
    })
}

pub fn read_only(results: &Results) -> Result<Finding, String> {
    let file = "simulated/ycsb-read-only-theta0";
    let runs = results.records(&format!("{file}.json"))?;
    let share = |name: &str| -> Result<f64, String> {
        let all = runs.get("NO_CC", 1024)?.throughput_txn_per_s;
        Ok(runs.get(name, 1024)?.throughput_txn_per_s / all)
    };
    let free = ["DL_DETECT", "NO_WAIT", "2V_NO_WAIT", "SILO", "TICTOC"];
    let free = free.iter().map(|name| share(name)).collect::<Result<Vec<f64>, String>>()?;
    let (low, high) = range(free);
    let once = ["WAIT_DIE", "WOUND_WAIT", "TIMESTAMP", "MVCC"];
    let once = once.map(|name| runs.get(name, 1024).map(|r| r.throughput_txn_per_s / 1e6));
    let (least, most) = range(once.into_iter().collect::<Result<Vec<f64>, String>>()?);
    let once = match three(least) == three(most) {
        true => three(least),
        false => format!("{} to {}", three(least), three(most)),
    };
    Ok(Finding {
        title: "Without conflicts, only timestamps limit the scaling".into(),
        text: format!(
            "In read-only YCSB on 1024 simulated cores, protocols that draw no timestamp reach between {} and {} of the rate \
             without concurrency control ({} transactions a second). Protocols that draw one for each transaction stop \
             at {once} million, and OCC, which draws two, at {}.",
            per_cent(low),
            per_cent(high),
            millions(runs.get("NO_CC", 1024)?),
            millions(runs.get("OCC", 1024)?)
        ),
        files: vec![runs.file.clone()],
        command: of_chore(file)?,
        chart: "ycsb-read-only",
        svg: throughput(&runs, "YCSB, read-only, uniform keys, 10 million rows, 16 accesses"),
    })
}

pub fn medium(results: &Results) -> Result<Finding, String> {
    let file = "simulated/ycsb-half-theta0.6";
    let runs = results.records(&format!("{file}.json"))?;
    let get = |name: &str, cores: usize| runs.get(name, cores).map(millions);
    let best = best(&runs, 1024)?;
    Ok(Finding {
        title: "Under medium contention, waiting for locks collapses first".into(),
        text: format!(
            "With half updates and theta 0.6, DL_DETECT makes {} transactions a second on 64 simulated cores and {} on \
             1024, while NO_WAIT, which aborts instead of waiting, makes {} and {}. {} is ahead on 1024 cores with {}.",
            get("DL_DETECT", 64)?,
            get("DL_DETECT", 1024)?,
            get("NO_WAIT", 64)?,
            get("NO_WAIT", 1024)?,
            best.protocol,
            millions(best)
        ),
        files: vec![runs.file.clone()],
        command: of_chore(file)?,
        chart: "ycsb-medium",
        svg: throughput(&runs, "YCSB, half updates, theta 0.6, 10 million rows, 16 accesses"),
    })
}

pub fn high(results: &Results) -> Result<Finding, String> {
    let file = "simulated/ycsb-half-theta0.8";
    let runs = results.records(&format!("{file}.json"))?;
    let (some, all) = (best(&runs, 64)?, best(&runs, 1024)?);
    let count = protocols(&runs, 64).count();
    let slower = |r: &&Record| {
        let before = runs.find(&r.protocol, 64);
        before.is_some_and(|before| before.throughput_txn_per_s > r.throughput_txn_per_s)
    };
    let slower = protocols(&runs, 1024).filter(slower).count();
    Ok(Finding {
        title: "Under high contention, more cores make protocols slower".into(),
        text: format!(
            "With half updates and theta 0.8, the best of {count} protocols on 64 simulated cores is {} with {} \
             transactions a second. On 1024 cores the best is {} with {}, and {} of the {} are slower than on 64.",
            some.protocol,
            millions(some),
            all.protocol,
            millions(all),
            if slower == count { "all".to_owned() } else { slower.to_string() },
            count
        ),
        files: vec![runs.file.clone()],
        command: of_chore(file)?,
        chart: "ycsb-high",
        svg: throughput(&runs, "YCSB, half updates, theta 0.8, 10 million rows, 16 accesses"),
    })
}

/// Names of the protocols in the chart of tails.
const SHOWN_TAILS: [&str; 3] = ["SILO", "WOUND_WAIT", "PLOR"];

pub fn tails(results: &Results) -> Result<Finding, String> {
    let file = |theta: &str| format!("simulated/ycsb-tails-theta{theta}");
    let (mut rows, mut files) = (Vec::new(), Vec::new());
    for theta in TAILS {
        let runs = results.records(&format!("{}.json", file(theta)))?;
        for cores in runs.cores() {
            let bar = |name: &&str| {
                let record = runs.find(name, cores)?;
                let sure = record.steady == Some(true);
                Some(Bar { value: record.latency_ns.p999? / 1e6, sure })
            };
            rows.push((format!("{cores}, theta {theta}"), SHOWN_TAILS.iter().map(bar).collect()));
        }
        files.push(runs.file);
    }
    let chart = Bars {
        title: "The slowest of a thousand transactions: p99.9 latency, YCSB, half updates".into(),
        label: "p99.9 latency in milliseconds of modelled time (left: simulated cores)".into(),
        series: SHOWN_TAILS.map(str::to_owned).to_vec(),
        rows,
        note: HOLLOW.into(),
    };
    let runs = results.records(&format!("{}.json", file("0.9")))?;
    let (silo, plor) = (runs.get("SILO", 64)?, runs.get("PLOR", 64)?);
    let tail = |r: &Record| r.latency_ns.p999.map(|ns| three(ns / 1e3)).unwrap_or("unknown".into());
    let rate = |r: &Record| format!("{}{} K", r.marks(), three(r.throughput_txn_per_s / 1e3));
    Ok(Finding {
        title: "Protocols that wound by age have shorter tails than SILO, and less throughput"
            .into(),
        text: format!(
            "At theta 0.9 on 64 simulated cores, PLOR has a p99.9 latency of {} µs and SILO one of {} µs. PLOR makes {} \
             transactions a second and SILO {}.",
            tail(plor),
            tail(silo),
            rate(plor),
            rate(silo)
        ),
        files,
        command: of_chore(&file("0.9"))?,
        chart: "ycsb-tails",
        svg: chart.draw(),
    })
}

pub fn tpcc(results: &Results) -> Result<Finding, String> {
    let file = "simulated/tpcc-full-4-warehouses";
    let runs = results.records(&format!("{file}.json"))?;
    let bar = |name: &str, cores: usize| {
        let record = runs.find(name, cores)?;
        let sure = record.steady == Some(true);
        Some(Bar { value: record.throughput_txn_per_s / 1e3, sure })
    };
    let names = runs.protocols();
    let row = |name: &String| (name.clone(), vec![bar(name, 16), bar(name, 64)]);
    let chart = Bars {
        title: "TPC-C, full mix, 4 warehouses, on 16 and 64 simulated cores".into(),
        label: "thousand transactions a second".into(),
        series: vec!["16 cores".into(), "64 cores".into()],
        rows: names.iter().map(row).collect(),
        note: HOLLOW.into(),
    };
    let gain = |name: &str| -> Result<f64, String> {
        let rate = |cores: usize| runs.get(name, cores).map(|r| r.throughput_txn_per_s);
        Ok(rate(64)? / rate(16)?)
    };
    let gains = |names: &[&str]| -> Result<(f64, f64), String> {
        Ok(range(names.iter().map(|name| gain(name)).collect::<Result<Vec<f64>, String>>()?))
    };
    let locking = ["DL_DETECT", "NO_WAIT", "WAIT_DIE", "WOUND_WAIT", "2V_NO_WAIT", "BAMBOO"];
    let versions = ["TIMESTAMP", "MVCC", "SNAPSHOT", "SSN", "HEKATON", "CICADA"];
    let optimistic = ["OCC", "SILO", "TICTOC", "MOCC"];
    let [locking, versions, optimistic] =
        [gains(&locking)?, gains(&versions)?, gains(&optimistic)?];
    Ok(Finding {
        title: "With more cores than warehouses, TPC-C gains little under any protocol".into(),
        text: format!(
            "From 16 to 64 simulated cores on 4 warehouses, the rate without concurrency control grows by a factor of {:.2}. \
             Under two-phase locking it changes by a factor of {:.2} to {:.2}, under the optimistic protocols with one version by \
             {:.2} to {:.2}, and under timestamp ordering and the protocols with several versions by {:.2} to {:.2}.",
            gain("NO_CC")?,
            locking.0,
            locking.1,
            optimistic.0,
            optimistic.1,
            versions.0,
            versions.1
        ),
        files: vec![runs.file.clone()],
        command: of_chore(file)?,
        chart: "tpcc-simulated",
        svg: chart.draw(),
    })
}
