//! Writes the tables of simulated runs.

use super::{Column, latency, origin, rate, scale, table};
use crate::pages::numbers::{per_cent, three};
use crate::pages::records::{Record, Results, Runs};
use crate::results::{FACTORS, TAILS};

/// Returns the page.
pub fn page(results: &Results) -> Result<String, String> {
    let mut text = String::from(
        "# Simulated results\n\nThe machine is `graphite`, the 1024-core chip of the Abyss paper, but where a table says \
         otherwise. Times are modelled. A `~` marks a result that is not known to be steady, a `#` one whose mean latency \
         can't be right by Little's law, and a `≥` a latency of which only a lower bound is known.\n\n",
    );
    for (title, file) in [
        ("YCSB, read-only, theta 0", "ycsb-read-only-theta0"),
        ("YCSB, half updates, theta 0", "ycsb-half-theta0"),
        ("YCSB, half updates, theta 0.6", "ycsb-half-theta0.6"),
        ("YCSB, half updates, theta 0.8", "ycsb-half-theta0.8"),
    ] {
        let runs = results.records(&format!("simulated/{file}.json"))?;
        text += &format!("## {title}\n\n10 million records, million transactions a second:\n\n");
        text += &by_cores(&runs, 1e6);
        text += &origin(&runs, None);
    }
    text += &timestamps(results)?;
    text += &tpcc(results)?;
    text += &scale::section(results)?;
    text += &factors(results)?;
    text += &tails(results)?;
    text += &side_by_side(results)?;
    text += &speed(results)?;
    Ok(text)
}

/// Returns a table of throughputs with a column for each number of cores.
fn by_cores(runs: &Runs, unit: f64) -> String {
    let title = |cores: usize| if cores == 1 { "1 core".into() } else { format!("{cores} cores") };
    let column = |cores: usize| {
        Column::new(title(cores), move |name: &str| rate(runs.find(name, cores), unit))
    };
    let columns: Vec<Column<'_>> = runs.cores().into_iter().map(column).collect();
    table("", &runs.protocols(), &columns)
}

fn timestamps(results: &Results) -> Result<String, String> {
    let names = ["atomic", "hardware", "clock", "batch16", "mutex"];
    let runs: Result<Vec<Runs>, String> = names
        .iter()
        .map(|name| results.records(&format!("simulated/timestamps-{name}.json")))
        .collect();
    let runs = runs?;
    let find = |name: &str| &runs[names.iter().position(|known| *known == name).unwrap_or(0)];
    let column = |cores: usize| {
        Column::new(format!("{cores}"), move |name: &str| {
            rate(find(name).find("NO_CC", cores), 1e6)
        })
    };
    let columns: Vec<Column<'_>> = runs[0].cores().into_iter().map(column).collect();
    let names = names.map(str::to_owned);
    let mut text =
        String::from("## Timestamps\n\nMillion timestamps a second by number of cores:\n\n");
    text += &table("", &names, &columns);
    text += &runs.iter().map(|runs| origin(runs, None)).collect::<String>();
    Ok(text)
}

fn tpcc(results: &Results) -> Result<String, String> {
    let runs = results.records("simulated/tpcc-full-4-warehouses.json")?;
    let cell = |cores: usize| {
        let runs = &runs;
        move |name: &str| {
            let Some(record) = runs.find(name, cores) else { return String::new() };
            let aborts = per_cent(record.abort_ratio);
            format!("{}; {aborts}; {}", rate(Some(record), 1e3), latency(Some(record)))
        }
    };
    let columns = [Column::new("16 cores", cell(16)), Column::new("64 cores", cell(64))];
    let mut text = String::from(
        "## TPC-C, full mix, 4 warehouses\n\n1,000 items and 300 customers a district. Thousand transactions a second; \
         aborted attempts; p50 / p99 / p99.9 in µs:\n\n",
    );
    text += &table("", &runs.protocols(), &columns);
    text += &origin(&runs, None);
    Ok(text)
}

fn factors(results: &Results) -> Result<String, String> {
    let names = FACTORS.map(|(name, _)| name);
    let read = |name: &&str| results.records(&format!("simulated/tpcc-narrow-64-{name}.json"));
    let runs = names.iter().map(read).collect::<Result<Vec<Runs>, String>>()?;
    let column = |(title, runs): (&'static str, &'_ Runs)| {
        let runs = runs.clone();
        Column::new(title, move |name: &str| {
            let record = runs.find(name, 64);
            let aborts = record.map_or(String::new(), |record| per_cent(record.abort_ratio));
            format!("{}; {aborts}", rate(record, 1e6))
        })
    };
    let columns: Vec<Column<'_>> = names.iter().copied().zip(&runs).map(column).collect();
    let mut text = String::from(
        "## TPC-C, narrow mix: additions at commit, and rows in two parts\n\n64 cores, 4 warehouses. Million transactions \
         a second; aborted attempts. `commit-updates` is `--cc-option commit-updates=on`, `split-columns` is \
         `--split-columns`:\n\n",
    );
    text += &table("", &runs[0].protocols(), &columns);
    text += &runs.iter().map(|runs| origin(runs, None)).collect::<String>();
    Ok(text)
}

fn tails(results: &Results) -> Result<String, String> {
    let mut text = String::from(
        "## YCSB, the tail under contention\n\n1 million records, 16 accesses, half of them updates. Thousand transactions a \
         second; aborted attempts; p50 / p99 / p99.9 in µs:\n\n",
    );
    const AT_COMMIT: &str = "PLOR, write-locks=commit";
    let names = ["SILO", "WOUND_WAIT", "PLOR", AT_COMMIT].map(str::to_owned);
    let read = |theta: &&str, name: &str| {
        results.records(&format!("simulated/ycsb-tails-theta{theta}{name}.json"))
    };
    let mut columns = Vec::new();
    let mut origins = String::new();
    for theta in &TAILS {
        let (usual, at_commit) = (read(theta, "")?, read(theta, "-at-commit")?);
        origins += &(origin(&usual, None) + &origin(&at_commit, None));
        for cores in usual.cores() {
            let (usual, at_commit) = (usual.clone(), at_commit.clone());
            columns.push(Column::new(
                format!("{cores} cores, theta {theta}"),
                move |name: &str| {
                    let record = match name {
                        AT_COMMIT => at_commit.find("PLOR", cores),
                        _ => usual.find(name, cores),
                    };
                    let aborts =
                        record.map_or(String::new(), |record| per_cent(record.abort_ratio));
                    format!("{}; {aborts}; {}", rate(record, 1e3), latency(record))
                },
            ));
        }
    }
    text += &table("", &names, &columns);
    Ok(text + &origins)
}

fn side_by_side(results: &Results) -> Result<String, String> {
    let runs = results.records("compare-ycsb.json")?;
    let mut text = String::from(
        "## YCSB, all protocols side by side\n\n1 million records, half updates, theta 0.6.\n\n",
    );
    for machine in ["native", "graphite"] {
        let here = runs.only(|record| record.machine == machine);
        text += &format!("Machine `{machine}`, thousand transactions a second:\n\n");
        text += &by_cores(&here, 1e3);
    }
    text += &origin(&runs, Some("kilocore compare ycsb"));
    Ok(text)
}

fn speed(results: &Results) -> Result<String, String> {
    let runs = results.records("simulated/rate.json")?;
    let operations = |record: Option<&Record>| {
        let rate = record.and_then(|record| record.operations_per_wall_s);
        rate.map_or(String::new(), |rate| three(rate / 1e6))
    };
    let column = |cores: usize| {
        let runs = &runs;
        Column::new(format!("{cores} cores"), move |name: &str| operations(runs.find(name, cores)))
    };
    let columns: Vec<Column<'_>> = runs.cores().into_iter().map(column).collect();
    let mut text = String::from(
        "## Speed of the simulator\n\nThe whole engine, YCSB: million simulated operations on shared memory for each second \
         of the host:\n\n",
    );
    text += &table("", &runs.protocols(), &columns);
    text += &origin(&runs, None);
    let simulated = results.records("simulated/slowdown-2-cores.json")?;
    let native = results.records("native/slowdown-2-cores.json")?;
    text +=
        "The same YCSB on 2 cores, thousand transactions a second of the machine's own time:\n\n";
    let columns = [
        Column::new("native", |name: &str| rate(native.find(name, 2), 1e3)),
        Column::new("simulated", |name: &str| rate(simulated.find(name, 2), 1e3)),
    ];
    text += &table("", &native.protocols(), &columns);
    text += &origin(&native, None);
    text += &origin(&simulated, None);
    Ok(text)
}
