//! Writes the tables of checks and of costs.

use super::{Column, table};
use crate::pages::findings::errors;
use crate::pages::numbers::{grouped, median, quantile, range, three};
use crate::pages::records::Results;
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the page.
pub fn page(results: &Results) -> Result<String, String> {
    let mut text = String::from("# Checks and costs\n\n");
    text += &explored(results)?;
    text += &proved(results)?;
    text += &planted(results)?;
    text += &hardware(results)?;
    text += &instructions(results)?;
    text += &build(results)?;
    Ok(text)
}

/// Adds up a field of lines by the text of another field.
fn sums(lines: &[Value], by: &str, field: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in lines {
        let name = line[by].as_str().unwrap_or_default().to_owned();
        *sums.entry(name).or_default() += line[field].as_u64().unwrap_or_default();
    }
    sums
}

fn explored(results: &Results) -> Result<String, String> {
    let breadth = results.lines("explore/breadth.jsonl")?;
    let progress = results.lines("explore/progress.jsonl")?;
    let schedules = sums(&breadth, "protocol", "schedules");
    let violations = sums(&breadth, "protocol", "violations");
    let names: Vec<String> = schedules.keys().cloned().collect();
    let columns = [
        Column::new("schedules", |name: &str| grouped(schedules[name])),
        Column::new("violations", |name: &str| grouped(violations[name])),
    ];
    let total = |sums: &BTreeMap<String, u64>| grouped(sums.values().sum());
    let mut commits: Vec<&str> =
        breadth.iter().filter_map(|line| line["commit"].as_str()).collect();
    commits.sort_unstable();
    commits.dedup();
    Ok(format!(
        "## Explored schedules\n\n[`explore/breadth.jsonl`](../explore/breadth.jsonl), by `cargo xtask breadth`, commit {}: \
         schedules over workloads, workers, options and levels of isolation.\n\n{}Together: {} schedules, {} violations. \
         [`explore/progress.jsonl`](../explore/progress.jsonl), by `cargo xtask explore`, has {} schedules of earlier \
         commits, with {} violations.\n\n",
        commits.join(", "),
        table("", &names, &columns),
        total(&schedules),
        total(&violations),
        total(&sums(&progress, "protocol", "schedules")),
        total(&sums(&progress, "protocol", "violations")),
    ))
}

fn proved(results: &Results) -> Result<String, String> {
    let lines = results.lines("prove.jsonl")?;
    let machines = ["native", "simulated", "explored"];
    let mut names: Vec<String> = Vec::new();
    for name in lines.iter().filter_map(|line| line["workload"].as_str()) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    let count = |name: &str, machine: &str| {
        let here = |line: &&Value| line["workload"] == name && line["machine"] == machine;
        lines.iter().filter(here).count().to_string()
    };
    let column =
        |machine: &'static str| Column::new(machine, move |name: &str| count(name, machine));
    let columns = machines.map(column);
    Ok(format!(
        "## Certified combinations\n\n[`prove.jsonl`](../prove.jsonl), by `cargo xtask prove`: a line for each architecture, protocol, \
         workload and machine whose recorded run kept what they promise. There are {} lines. Numbers of \
         pairs of an architecture and a protocol:\n\n{}",
        lines.len(),
        table("", &names, &columns)
    ))
}

fn planted(results: &Results) -> Result<String, String> {
    let bugs = results.lines("mutants.jsonl")?;
    let names: Vec<String> =
        bugs.iter().filter_map(|bug| bug["mutant"].as_str()).map(str::to_owned).collect();
    let field = |name: &str, field: &str| {
        let bug = bugs.iter().find(|bug| bug["mutant"] == name);
        bug.map(|bug| bug[field].clone()).unwrap_or_default()
    };
    let columns = [
        Column::new("workload", |name: &str| {
            field(name, "workload").as_str().unwrap_or("").to_owned()
        }),
        Column::new("detector", |name: &str| {
            field(name, "detector").as_str().unwrap_or("").to_owned()
        }),
        Column::new("first seed", |name: &str| grouped(field(name, "seed").as_u64().unwrap_or(0))),
    ];
    Ok(format!(
        "## Planted bugs\n\n[`mutants.jsonl`](../mutants.jsonl), by `cargo xtask mutants`: {} bugs, and the first schedule \
         that shows each.\n\n{}",
        bugs.len(),
        table("bug", &names, &columns)
    ))
}

fn hardware(results: &Results) -> Result<String, String> {
    let file = "validate/outcome.json";
    let outcome = results.value(file)?;
    let errors = errors(&outcome);
    let at = |q: f64| quantile(errors.iter().copied(), q);
    Ok(format!(
        "## The simulator beside real hardware\n\n[`{file}`](../{file}), by `kilocore validate`: the absolute value of \
         ln(simulated / measured) over {} rows is {:.2} in the median (a factor of {:.2}) and {:.2} at the 90th percentile \
         (a factor of {:.2}). [validate/README.md](../validate/README.md) has the rows.\n\n",
        errors.len(),
        at(0.5),
        at(0.5).exp(),
        at(0.9),
        at(0.9).exp()
    ))
}

fn instructions(results: &Results) -> Result<String, String> {
    let counts = |file: &str, field: &str| -> Result<BTreeMap<String, f64>, String> {
        let value = results.value(file)?;
        let counts = value["counts"].as_array().cloned().unwrap_or_default();
        let count = |one: &Value| Some((one["run"].as_str()?.to_owned(), one[field].as_f64()?));
        Ok(counts.iter().filter_map(count).collect())
    };
    let each = "instructions_per_txn";
    let before = counts("instructions-before.json", each)?;
    let now = counts("instructions.json", each)?;
    let mispredicted = counts("instructions.json", "mispredicted_per_txn")?;
    let kinds = [
        ("ycsb-reads", "YCSB, reads"),
        ("ycsb", "YCSB, half updates"),
        ("tpcc", "TPC-C, full mix"),
    ];
    let prefix = "transaction_cost ycsb ";
    let names: Vec<String> =
        now.keys().filter_map(|run| run.strip_prefix(prefix)).map(str::to_owned).collect();
    let mut columns = Vec::new();
    for (kind, title) in kinds {
        for (when, counts) in [("before", &before), ("now", &now)] {
            columns.push(Column::new(format!("{title}: {when}"), move |name: &str| {
                let count = counts.get(&format!("transaction_cost {kind} {name}"));
                count.map_or(String::new(), |count| grouped(count.round() as u64))
            }));
        }
    }
    for (kind, title) in kinds {
        let mispredicted = &mispredicted;
        columns.push(Column::new(format!("{title}: mispredicted"), move |name: &str| {
            let count = mispredicted.get(&format!("transaction_cost {kind} {name}"));
            count.map_or(String::new(), |count| three(*count))
        }));
    }
    let both = now.iter().filter(|(run, _)| run.starts_with("transaction_cost"));
    let ratios: Vec<f64> = both.filter_map(|(run, count)| Some(count / before.get(run)?)).collect();
    let (low, high) = range(ratios.iter().copied());
    let hand = |name: &str| now.get(&format!("trait_cost {name}")).copied().unwrap_or(f64::NAN);
    Ok(format!(
        "## Instructions a transaction\n\n[`instructions.json`](../instructions.json) and \
         [`instructions-before.json`](../instructions-before.json) (commit aa7a548), by `cargo xtask instructions`: one \
         worker, natively, counted by valgrind. *Mispredicted* are branches a transaction that valgrind's model \
         of a predictor gets wrong. A processor predicts better. [The diary](../diary.md#mispredicted-branches) says what one of them \
         costs.\n\n{}Ratios of now to before lie between {low:.3} and {high:.3}, with median {:.3}. The same loop takes {:.1} instructions a transaction by hand and {:.1} through the machine trait.\n\n",
        table("", &names, &columns),
        median(ratios.iter().copied()),
        hand("hand"),
        hand("trait"),
    ))
}

fn build(results: &Results) -> Result<String, String> {
    let file = "build.json";
    let value = results.value(file)?;
    let of = |what: &str, when: &str, field: &str| value[what][when][field].as_f64();
    let release = ("clean_release_build_of_kilocore", "cargo build --release --bin kilocore");
    let tests = ("clean_build_of_all_tests", "cargo test --workspace --no-run");
    let fields =
        [(release, "wall_seconds"), (release, "cpu_seconds"), (release, "binary_megabytes")];
    let fields = fields.into_iter().chain([(tests, "wall_seconds"), (tests, "cpu_seconds")]);
    let mut cells = BTreeMap::new();
    let mut names = Vec::new();
    for ((what, command), field) in fields {
        let name = format!("`{command}`: {}", field.replace('_', " "));
        let (before, now) = (of(what, "before", field), of(what, "now", field));
        let (before, now) = (before.unwrap_or(f64::NAN), now.unwrap_or(f64::NAN));
        cells.insert(name.clone(), [three(before), three(now), format!("{:.2}", now / before)]);
        names.push(name);
    }
    let cells = &cells;
    let column =
        |(at, title): (usize, &str)| Column::new(title, move |name: &str| cells[name][at].clone());
    let columns: Vec<Column<'_>> =
        ["before (aa7a548)", "now", "ratio"].into_iter().enumerate().map(column).collect();
    Ok(format!(
        "## Build\n\n[`{file}`](../{file}): clean builds on 2 virtual cores of a shared host, each once.\n\n{}",
        table("", &names, &columns)
    ))
}
