//! Produces the measurements under `results/`. Each measurement is one command of the program and one file of raw
//! records. A file that exists is not measured again, so the job resumes where it stopped. Delete a file to renew it.

mod admission;

use crate::{Outcome, cargo, must, option, target_directory};
pub use admission::{CONTENDED, Contended};
use std::{fs, path::Path, process::Command};

/// One file of raw records and the command that produces it.
struct Measurement {
    file: String,
    arguments: Vec<String>,
}

fn measurement(file: &str, command: &str) -> Measurement {
    let arguments = command.split_whitespace().map(str::to_owned).collect();
    Measurement { file: file.to_owned(), arguments }
}

/// Returns all measurements that the pages under `results/` quote, in the order in which they are measured.
fn all() -> Vec<Measurement> {
    let simulated = [simulated_timestamps(), simulated_ycsb(), simulated_tails(), simulated_tpcc()];
    let both = [simulated_scale(), the_two_machines()];
    let native =
        [native_ycsb(), native_tpcc(), native_others(), native_fibers(), native_recording()];
    simulated
        .into_iter()
        .chain(both)
        .chain(native)
        .chain([native_architectures(), admission::all()])
        .flatten()
        .collect()
}

fn simulated_timestamps() -> Vec<Measurement> {
    let allocators = ["atomic", "mutex", "batch16", "clock", "hardware"];
    let measured = allocators.map(|name| {
        let command = format!(
            "timestamps --cc NO_CC --machine graphite --cores 1,2,4,16,64,256,1024 --timestamps {name}"
        );
        measurement(&format!("simulated/timestamps-{name}"), &command)
    });
    measured.into()
}

fn simulated_ycsb() -> Vec<Measurement> {
    // Contended runs settle slowly because easy transactions commit first. They have a longer warm-up, and are not repeated.
    let settings = [
        ("read-only-theta0", "--theta 0 --read-ratio 1 --repeat 3 --warm-up 0.003 --seconds 0.012"),
        ("half-theta0", "--theta 0 --read-ratio 0.5 --warm-up 0.03 --seconds 0.015"),
        ("half-theta0.6", "--theta 0.6 --read-ratio 0.5 --warm-up 0.03 --seconds 0.015"),
        ("half-theta0.8", "--theta 0.8 --read-ratio 0.5 --warm-up 0.03 --seconds 0.015"),
    ];
    let measured = settings.map(|(name, setting)| {
        let command = format!(
            "ycsb --cc all --machine graphite --records 10M --cores 1,4,16,64,256,1024 {setting}"
        );
        measurement(&format!("simulated/ycsb-{name}"), &command)
    });
    measured.into()
}

/// Skews for which [`simulated_tails`] measures latencies.
pub const TAILS: [&str; 2] = ["0.8", "0.9"];

/// Measures the slowest transactions under contention. The runs are long, so that a transaction that takes a hundred times
/// as long as most ends in them.
fn simulated_tails() -> Vec<Measurement> {
    let protocols =
        [("", "SILO,WOUND_WAIT,PLOR"), ("-at-commit", "PLOR --cc-option write-locks=commit")];
    let mut list = Vec::new();
    for theta in TAILS {
        for (name, protocol) in protocols {
            let command = format!(
                "ycsb --machine graphite --read-ratio 0.5 --warm-up 0.05 --seconds 0.3 --cc {protocol} --cores 16,64,256 --theta {theta}"
            );
            list.push(measurement(&format!("simulated/ycsb-tails-theta{theta}{name}"), &command));
        }
    }
    list
}

/// The variants of TPC-C that [`simulated_tpcc`] compares: a name and the options.
pub const FACTORS: [(&str, &str); 4] = [
    ("neither", ""),
    ("commit-updates", "--cc-option commit-updates=on"),
    ("split-columns", "--split-columns"),
    ("both", "--cc-option commit-updates=on --split-columns"),
];

/// Measures TPC-C on the chip.
fn simulated_tpcc() -> Vec<Measurement> {
    let rows = "--warehouses 4 --items 1000 --customers-per-district 300 --machine graphite";
    let full = format!("tpcc --cc all --cores 16,64 {rows} --warm-up 0.02 --seconds 0.1");
    let mut list = vec![measurement("simulated/tpcc-full-4-warehouses", &full)];
    for (name, options) in FACTORS {
        let command = format!(
            "tpcc --mix narrow --cc SILO,TICTOC --cores 64 {rows} --warm-up 0.02 --seconds 0.1 {options}"
        );
        list.push(measurement(&format!("simulated/tpcc-narrow-64-{name}"), &command));
    }
    list
}

/// The work that [`simulated_scale`] measures: a name, a title and the options. TPC-C with many warehouses begins with cold
/// caches, so its throughput grows for 10 ms. On 1568 cores that would take most of an hour.
pub const SCALE: [(&str, &str, &str); 4] = [
    (
        "ycsb",
        "YCSB, 10 million records, half updates, theta 0.6",
        "ycsb --records 10M --theta 0.6 --read-ratio 0.5 --cores 28,224,1568 --warm-up 0.001 --seconds 0.002",
    ),
    (
        "tpcc-4",
        "TPC-C, New-Order and Payment, 4 warehouses, 10,000 items and 300 customers a district",
        "tpcc --mix narrow --warehouses 4 --items 10000 --customers-per-district 300 --cores 28,224,1568 --warm-up 0.005 --seconds 0.01",
    ),
    (
        "tpcc-1568",
        "TPC-C, New-Order and Payment, 1568 warehouses, 1,000 items and 10 customers a district",
        "tpcc --mix narrow --warehouses 1568 --items 1000 --customers-per-district 10 --cores 28,224 --warm-up 0.01 --seconds 0.01",
    ),
    (
        "tpcc-1568-short",
        "The same, from cold caches",
        "tpcc --mix narrow --warehouses 1568 --items 1000 --customers-per-district 10 --cores 1568 --warm-up 0.001 --seconds 0.002",
    ),
];

/// Measures the whole engine on a modelled machine of 28 sockets, from one socket to all of them.
fn simulated_scale() -> Vec<Measurement> {
    let measured = SCALE.map(|(name, _, options)| {
        let command = format!("{options} --cc all --machine superdome-flex");
        measurement(&format!("simulated/scale-{name}"), &command)
    });
    measured.into()
}

/// Measures the simulator's speed, alone and relative to native runs of the same workload.
fn the_two_machines() -> Vec<Measurement> {
    vec![
        measurement(
            "simulated/rate",
            "ycsb --cc NO_WAIT,SILO --machine graphite --cores 1,64,1024 --theta 0 --read-ratio 0.5 --seconds 0.02",
        ),
        measurement(
            "simulated/slowdown-2-cores",
            "ycsb --cc NO_WAIT,SILO --machine graphite --cores 2 --theta 0.6 --read-ratio 0.5 --seconds 0.2",
        ),
        measurement(
            "native/slowdown-2-cores",
            "ycsb --cc NO_WAIT,SILO --machine native --cores 2 --theta 0.6 --read-ratio 0.5 --repeat 3",
        ),
    ]
}

fn native_ycsb() -> Vec<Measurement> {
    let settings = [
        ("read-only-theta0", "--theta 0 --read-ratio 1"),
        ("half-theta0.6", "--theta 0.6 --read-ratio 0.5"),
        ("half-theta0.8", "--theta 0.8 --read-ratio 0.5"),
        ("half-theta0.9", "--theta 0.9 --read-ratio 0.5"),
    ];
    let measured = settings.map(|(name, setting)| {
        let command = format!(
            "ycsb --cc all --machine native --records 10M --cores 1,2 --repeat 3 --warm-up 0.5 --seconds 1 {setting}"
        );
        measurement(&format!("native/ycsb-10M-{name}"), &command)
    });
    measured.into()
}

fn native_tpcc() -> Vec<Measurement> {
    let mut list = Vec::new();
    for mix in ["full", "narrow"] {
        for warehouses in [1, 2, 4] {
            let command = format!(
                "tpcc --cc all --machine native --cores 1,2 --repeat 3 --warm-up 0.2 --seconds 0.5 --mix {mix} --warehouses {warehouses}"
            );
            list.push(measurement(&format!("native/tpcc-{mix}-w{warehouses}"), &command));
        }
    }
    list.push(measurement(
        "native/tpcc-full-w100",
        "tpcc --cc SILO --machine native --cores 2 --repeat 3 --warm-up 0.2 --seconds 1 --warehouses 100",
    ));
    list
}

fn native_others() -> Vec<Measurement> {
    let mut list = Vec::new();
    for workload in ["tatp", "tpcb", "smallbank"] {
        let command = format!(
            "{workload} --cc all --machine native --cores 1,2 --repeat 3 --warm-up 0.2 --seconds 0.5"
        );
        list.push(measurement(&format!("native/{workload}"), &command));
    }
    for preset in ["a", "b", "c", "d", "e", "f"] {
        let command = format!(
            "ycsb --preset {preset} --cc all --machine native --cores 1,2 --repeat 3 --warm-up 0.2 --seconds 0.5"
        );
        list.push(measurement(&format!("native/ycsb-{preset}"), &command));
    }
    list
}

/// Numbers of fibers of a core with which [`native_fibers`] measures.
pub const FIBERS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Measures what a core gains that runs other transactions while one waits for memory.
fn native_fibers() -> Vec<Measurement> {
    let measured = FIBERS.map(|fibers| {
        let command = format!(
            "ycsb --cc NO_CC,NO_WAIT,SILO --machine native --records 10M --cores 1 --repeat 3 --warm-up 0.5 --seconds 1 --theta 0 --read-ratio 1 --fibers {fibers}"
        );
        measurement(&format!("native/ycsb-10M-fibers-{fibers}"), &command)
    });
    measured.into()
}

/// The architectures that [`native_architectures`] measures, each with its protocols.
pub const ARCHITECTURES: [(&str, &str); 4] = [
    ("shared_everything", "NO_WAIT,DL_DETECT,SILO"),
    ("partitioned_serial", "NO_CC"),
    ("delegation", "NO_WAIT,DL_DETECT,SILO"),
    ("data_oriented", "NO_WAIT,DL_DETECT"),
];

/// The work that [`native_architectures`] measures: a name, a title and the options.
pub const ARCHITECTURES_WORK: [(&str, &str, &str); 4] = [
    ("reads", "reads", "--multisite 0"),
    ("reads-multisite", "reads, 20 % multi-site", "--remote 2 --multisite 0.2"),
    ("updates", "updates", "--updates --multisite 0"),
    ("updates-multisite", "updates, 20 % multi-site", "--updates --remote 2 --multisite 0.2"),
];

/// Measures hot and cold records under the architectures of the Trireme paper, beside its simulated figures.
fn native_architectures() -> Vec<Measurement> {
    let mut list = Vec::new();
    for (architecture, protocols) in ARCHITECTURES {
        for (name, _, options) in ARCHITECTURES_WORK {
            let command = format!(
                "hot-cold --architecture {architecture} --cc {protocols} --machine native --cores 2 --records 1M --partitions 2 --hot-records 0 --hot-accesses 0 --repeat 3 --warm-up 0.2 --seconds 0.5 {options}"
            );
            list.push(measurement(&format!("native/hot-cold-{architecture}-{name}"), &command));
        }
    }
    list
}

/// Measures the cost of recording a history.
fn native_recording() -> Vec<Measurement> {
    let measured = [("off", ""), ("on", "--certify")].map(|(name, flag)| {
        let command = format!(
            "ycsb --cc all --machine native --cores 1,2 --theta 0.6 --read-ratio 0.5 --repeat 3 --seconds 0.5 {flag}"
        );
        measurement(&format!("native/recording-{name}"), &command)
    });
    measured.into()
}

/// Returns the command that measures `file`, which is named without its ending.
pub fn command(file: &str) -> Option<String> {
    let measurement = all().into_iter().find(|measurement| measurement.file == file)?;
    Some(format!("kilocore run {}", measurement.arguments.join(" ")))
}

/// Runs the missing measurements. `--only TEXT` restricts it to files whose name contains the text.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    must(cargo(root).args(["build", "--release", "--package", "kilocore-cli"]))?;
    let program = target_directory(root).join("release").join("kilocore");
    let only = option(arguments, "--only").unwrap_or("");
    for measurement in all().iter().filter(|m| m.file.contains(only)) {
        // Relative to the root, because the command is part of the record.
        let relative = format!("results/{}.json", measurement.file);
        let file = root.join(&relative);
        if file.exists() {
            println!("{}: is there", measurement.file);
            continue;
        }
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        println!("{}: kilocore run {}", measurement.file, measurement.arguments.join(" "));
        // The file appears only when the run is complete, so an interrupted run is measured again.
        must(
            Command::new(&program)
                .current_dir(root)
                .arg("run")
                .args(&measurement.arguments)
                .arg("--json")
                .arg(relative),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measurement_has_a_file_of_its_own() {
        let mut files: Vec<_> = all().into_iter().map(|m| m.file).collect();
        files.sort();
        let count = files.len();
        files.dedup();
        assert_eq!(files.len(), count);
    }
}
