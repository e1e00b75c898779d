//! Writes the tables of native runs.

use super::{Column, latency, origin, rate, table};
use crate::pages::numbers::{per_cent, three};
use crate::pages::records::{Results, Runs};
use crate::results::{ARCHITECTURES, ARCHITECTURES_WORK, FIBERS};
use serde_json::Value;

/// Returns the page.
pub fn page(results: &Results) -> Result<String, String> {
    let mut text = String::from(
        "# Native results\n\nReal threads on two virtual cores of a shared host. Throughput is in thousand transactions a \
         second of the whole machine, `1 thread / 2 threads`. Latencies are p50 / p99 / p99.9 in µs. A `~` marks a result \
         that is not known to be steady. Each row is the median of three runs of half a second or more. Runs of the same row \
         differ by a tenth, and by a third where two threads contend.\n\n",
    );
    let ycsb = [
        ("read-only, theta 0", "native/ycsb-10M-read-only-theta0.json"),
        ("half updates, theta 0.6", "native/ycsb-10M-half-theta0.6.json"),
        ("theta 0.8", "native/ycsb-10M-half-theta0.8.json"),
        ("theta 0.9", "native/ycsb-10M-half-theta0.9.json"),
    ];
    text += &block(results, "YCSB, 10 million records of 1 KB, 16 accesses", &ycsb)?;
    let full = [1, 2, 4].map(|w| (warehouses(w), format!("native/tpcc-full-w{w}.json")));
    text += &block(results, "TPC-C, full mix", &borrowed(&full))?;
    let narrow = [1, 2, 4].map(|w| (warehouses(w), format!("native/tpcc-narrow-w{w}.json")));
    text += &block(results, "TPC-C, narrow mix (New-Order and Payment)", &borrowed(&narrow))?;
    let banks = [
        ("TATP", "native/tatp.json"),
        ("TPC-B", "native/tpcb.json"),
        ("SmallBank", "native/smallbank.json"),
    ];
    text += &block(results, "TATP, TPC-B, SmallBank", &banks)?;
    let presets = ["a", "b", "c", "d", "e", "f"];
    let presets = presets.map(|name| (name.to_uppercase(), format!("native/ycsb-{name}.json")));
    text += &block(results, "YCSB A to F, one access a transaction", &borrowed(&presets))?;
    text += "## TPC-C, 100 warehouses\n\n";
    let large = results.records("native/tpcc-full-w100.json")?;
    let silo = large.get("SILO", 2)?;
    text +=
        &format!("SILO, 2 threads: {} thousand transactions a second.\n\n", rate(Some(silo), 1e3));
    text += &origin(&large, None);
    text += &super::limit::section(results)?;
    text += &fibers(results)?;
    text += &architectures(results)?;
    text += &neighbours(results)?;
    text += &recording(results)?;
    Ok(text)
}

fn warehouses(count: u64) -> String {
    if count == 1 { "1 warehouse".into() } else { format!("{count} warehouses") }
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(title, file)| (title.as_str(), file.as_str())).collect()
}

/// Returns throughput, aborts and latency of several files, which have the same protocols.
fn block(results: &Results, title: &str, files: &[(&str, &str)]) -> Result<String, String> {
    let runs: Result<Vec<(&str, Runs)>, String> =
        files.iter().map(|(title, file)| Ok((*title, results.records(file)?))).collect();
    let runs = runs?;
    let names = runs[0].1.protocols();
    let of = |cell: fn(&Runs, &str) -> String| -> Vec<Column<'_>> {
        let column = |(title, runs)| Column::new(title, move |name: &str| cell(runs, name));
        runs.iter().map(|(title, runs)| column((*title, runs))).collect()
    };
    let rates = |runs: &Runs, name: &str| {
        format!("{} / {}", rate(runs.find(name, 1), 1e3), rate(runs.find(name, 2), 1e3))
    };
    let aborts = |runs: &Runs, name: &str| {
        runs.find(name, 2).map_or(String::new(), |record| per_cent(record.abort_ratio))
    };
    let mut text =
        format!("## {title}\n\nThousand transactions a second, 1 thread / 2 threads:\n\n");
    text += &table("", &names, &of(rates));
    text += "Aborted attempts with 2 threads:\n\n";
    text += &table("", &names, &of(aborts));
    text += "Latency with 2 threads, p50 / p99 / p99.9, µs:\n\n";
    text += &table("", &names, &of(|runs, name| latency(runs.find(name, 2))));
    text += &runs.iter().map(|(_, runs)| origin(runs, None)).collect::<String>();
    Ok(text)
}

fn fibers(results: &Results) -> Result<String, String> {
    let file = |fibers| format!("native/ycsb-10M-fibers-{fibers}.json");
    let runs = FIBERS.map(|fibers| results.records(&file(fibers)));
    let runs = runs.into_iter().collect::<Result<Vec<Runs>, String>>()?;
    let columns = |cell: fn(&Runs, &str) -> String| -> Vec<Column<'_>> {
        let each = FIBERS.iter().zip(&runs);
        each.map(|(fibers, runs)| {
            let title = if *fibers == 1 { "1 fiber".into() } else { format!("{fibers} fibers") };
            Column::new(title, move |name: &str| cell(runs, name))
        })
        .collect()
    };
    let names = runs[0].protocols();
    let mut text = String::from(
        "## Fibers on one core\n\nRead-only YCSB, 10 million records of 1 KB, theta 0, one thread. A fiber announces its 16 keys \
         and lets others run twice while lines are on their way. Thousand transactions a second:\n\n",
    );
    text += &table("", &names, &columns(|runs, name| rate(runs.find(name, 1), 1e3)));
    text += "Latency, p50 / p99 / p99.9, µs:\n\n";
    text += &table("", &names, &columns(|runs, name| latency(runs.find(name, 1))));
    text += &runs.iter().map(|runs| origin(runs, None)).collect::<String>();
    Ok(text)
}

/// Returns throughput on hot and cold records under the architectures of the Trireme paper.
fn architectures(results: &Results) -> Result<String, String> {
    let mut runs: Vec<Vec<Runs>> = Vec::new();
    for (architecture, _) in ARCHITECTURES {
        let of = |(work, ..): (&str, _, _)| {
            results.records(&format!("native/hot-cold-{architecture}-{work}.json"))
        };
        runs.push(ARCHITECTURES_WORK.into_iter().map(of).collect::<Result<_, String>>()?);
    }
    let pairs =
        ARCHITECTURES.into_iter().enumerate().flat_map(|(at, (architecture, protocols))| {
            protocols.split(',').map(move |protocol| (format!("{architecture}, {protocol}"), at))
        });
    let pairs: Vec<(String, usize)> = pairs.collect();
    let names: Vec<String> = pairs.iter().map(|(name, _)| name.clone()).collect();
    let columns: Vec<Column<'_>> = ARCHITECTURES_WORK
        .iter()
        .enumerate()
        .map(|(work, (_, title, _))| {
            let (pairs, runs) = (&pairs, &runs);
            Column::new(*title, move |name: &str| {
                let pair = pairs.iter().find(|(known, _)| known == name);
                let protocol = name.rsplit(' ').next().unwrap_or(name);
                pair.map_or(String::new(), |(_, at)| rate(runs[*at][work].find(protocol, 2), 1e3))
            })
        })
        .collect();
    let mut text = String::from(
        "## Architectures on two cores\n\nTen of a million cold records, of the worker's own partition or, in 20 % of the \
         transactions of the columns that say so, two of the other partition. Two partitions, two threads. This is beside the simulated figures of \
         [Trireme](../figures/README.md): on two cores nearly everything is local, so it shows what an architecture's own \
         work costs. Thousand transactions a second:\n\n",
    );
    text += &table("", &names, &columns);
    text += &runs.iter().flatten().map(|runs| origin(runs, None)).collect::<String>();
    Ok(text)
}

fn neighbours(results: &Results) -> Result<String, String> {
    let file = "native/neighbours.json";
    let value = results.value(file)?;
    let rows = value["rows"].as_array().cloned().unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for name in rows.iter().filter_map(|row| row["protocol"].as_str()) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    let find = |name: &str, threads: u64| -> Value {
        let found = rows.iter().find(|row| row["protocol"] == name && row["threads"] == threads);
        found.cloned().unwrap_or_default()
    };
    let cell = |when: &'static str, threads: u64| {
        move |name: &str| {
            let cell = &find(name, threads)[when];
            let rate =
                |side: &str| three(cell[side]["txn_per_s"].as_f64().unwrap_or(f64::NAN) / 1e3);
            let share = per_cent(cell["of_share"].as_f64().unwrap_or(f64::NAN));
            format!("{}, {} ({share})", rate("alone"), rate("beside"))
        }
    };
    let worst = |name: &str, when: &str| {
        let of = rows.iter().filter(|row| row["protocol"] == name);
        let worst = of.filter_map(|row| row[when]["beside"]["max_us"].as_f64()).fold(0.0, f64::max);
        three(worst / 1e3)
    };
    let table_of = |when: &'static str| {
        let mut columns: Vec<Column<'_>> = [2, 4, 8, 16]
            .iter()
            .map(|&threads| Column::new(format!("{threads} threads"), cell(when, threads)))
            .collect();
        columns.push(Column::new("worst latency, ms", move |name: &str| worst(name, when)));
        table("", &names, &columns)
    };
    Ok(format!(
        "## Beside neighbours\n\n[`{file}`](../{file}), by `cargo xtask neighbours --before PROGRAM`: TPC-C, full mix, one \
         warehouse, two processors, one second each. Each cell has thousand transactions a second alone, beside two \
         programs that compute without end, and in brackets the latter as a part of the fair share of the former \
         (t / (t + 2) of it for t threads).\n\nOn November 22, since waiting threads are \
         woken and before they learned to spin longer:\n\n{}At commit b36884a, where a wait polled every 50 µs:\n\n{}",
        table_of("now"),
        table_of("before")
    ))
}

fn recording(results: &Results) -> Result<String, String> {
    let off = results.records("native/recording-off.json")?;
    let on = results.records("native/recording-on.json")?;
    let names = off.protocols();
    let columns = [
        Column::new("not recorded", |name: &str| rate(off.find(name, 2), 1e3)),
        Column::new("recorded", |name: &str| rate(on.find(name, 2), 1e3)),
    ];
    let mut text = String::from(
        "## Cost of recording a history\n\n2 threads, thousand transactions a second:\n\n",
    );
    text += &table("", &names, &columns);
    text += &origin(&off, None);
    text += &origin(&on, None);
    Ok(text)
}
