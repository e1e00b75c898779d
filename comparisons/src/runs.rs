//! Runs of all workloads with all engines, in turn.

use crate::engine::Engine;
use crate::engines::{self, Task};
use crate::workloads::{self, Extent, Workload};
use serde_json::{Value, json};
use std::{env, process::Command};

/// Number of runs of each workload with each engine.
const REPETITIONS: usize = 5;

struct Measuring<'a>(Workload, &'a Extent);

impl Task for Measuring<'_> {
    type Outcome = Vec<Value>;
    fn run(self, engine: &impl Engine) -> Vec<Value> {
        workloads::measure(engine, self.0, self.1)
    }
}

/// Measures a workload with an engine once, in this process.
pub fn one(engine: &str, workload: &str, extent: &Extent) -> Value {
    let found = workloads::ALL.iter().find(|(name, _)| *name == workload);
    let (_, workload) = found.unwrap_or_else(|| panic!("unknown workload {workload:?}"));
    engines::with(engine, workload.shape(), Measuring(*workload, extent)).into()
}

/// Starts this program again with `arguments`, and returns what it prints.
pub fn child(arguments: &[&str], quick: bool) -> Value {
    let mut command = Command::new(env::current_exe().expect("this program's path"));
    command.args(arguments).args(quick.then_some("--quick"));
    let output = command.stderr(std::process::Stdio::inherit()).output().expect("started");
    assert!(output.status.success(), "{arguments:?} failed");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns whether a workload is measured with an engine.
fn is_measured(engine: &str, workload: Workload) -> bool {
    use Workload::{AddToFour, Insert, Range, Read, ReadString, Update};
    match engine {
        "kilocore" | "HashMap" => workload != Range,
        // It writes as `kilocore` does.
        "kilocore direct" => [Read, ReadString].contains(&workload),
        // Other protocols, for an impression.
        "kilocore NO_WAIT" => [Read, Insert, AddToFour].contains(&workload),
        "kilocore MVCC" => [Read, Update, AddToFour].contains(&workload),
        // It reads as `fjall` does.
        "fjall single writer" => [Insert, Update, AddToFour].contains(&workload),
        // Its `put` begins a transaction itself, as `surrealmx` does here.
        "surrealmx direct" => [Read, Range, Update, ReadString].contains(&workload),
        _ => true,
    }
}

/// Measures everything. Each repetition begins with another engine, and all engines run one after the other, so that what
/// disturbs for a minute hits all of them.
pub fn all(extent: &Extent, quick: bool) -> Value {
    let repetitions = if quick { 2 } else { REPETITIONS };
    let mut rows: Vec<Value> = Vec::new();
    for (workload, kind) in workloads::ALL {
        for (engine, _) in engines::ALL.iter().filter(|(engine, _)| is_measured(engine, *kind)) {
            for threads in &extent.threads {
                rows.push(json!({
                    "workload": workload, "engine": engine, "threads": threads,
                    "seconds": [], "commits": [], "retries": [], "others": [],
                }));
            }
        }
    }
    for repetition in 0..repetitions {
        for (workload, kind) in workloads::ALL {
            for at in 0..engines::ALL.len() {
                let (engine, _) = engines::ALL[(at + repetition) % engines::ALL.len()];
                if !is_measured(engine, *kind) {
                    continue;
                }
                let samples = child(&["one-run", engine, workload], quick);
                eprintln!("{repetition} {workload}, {engine}: {}", told(&samples));
                for sample in samples.as_array().expect("samples") {
                    add(&mut rows, workload, engine, sample);
                }
            }
        }
    }
    rows.into()
}

/// Adds a sample to the row of its workload, engine and number of threads.
fn add(rows: &mut [Value], workload: &str, engine: &str, sample: &Value) {
    let same = |row: &&mut Value| {
        row["workload"] == workload
            && row["engine"] == engine
            && row["threads"] == sample["threads"]
    };
    let row = rows.iter_mut().find(same).expect("a row for the sample");
    for field in ["seconds", "commits", "retries", "others"] {
        row[field].as_array_mut().expect("a list").push(sample[field].clone());
    }
}

/// Returns the rates of samples as text.
fn told(samples: &Value) -> String {
    let rate = |sample: &Value| {
        let per_second = sample["commits"].as_f64()? / sample["seconds"].as_f64()?;
        Some(format!("{:.0} k/s ({} retries)", per_second / 1e3, sample["retries"]))
    };
    let rates: Vec<String> = samples.as_array().into_iter().flatten().filter_map(rate).collect();
    rates.join(", ")
}
