//! The file of raw records.

use crate::workloads::Extent;
use crate::{builds, engines, machine, memory, runs};
use serde_json::{Map, Value, json};
use std::{env, fmt::Write, fs, path::Path, process::Command};

/// Measures the wanted parts (runs, memory, builds) and replaces them in the file.
pub fn update(file: &str, wanted: [bool; 3], extent: &Extent, quick: bool) {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut record: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
    let parts = ["runs", "memory", "builds"];
    for (part, _) in parts.iter().zip(wanted).filter(|(_, wanted)| *wanted) {
        let before = machine::load_average();
        let measured = match *part {
            "runs" => runs::all(extent, quick),
            "memory" => memory::all(quick),
            _ => builds::all(quick),
        };
        let about = json!({
            "commit": commit(), "load_before": before, "load_after": machine::load_average(),
            "quick": quick,
        });
        record.insert(format!("{part}_about"), about);
        record.insert((*part).into(), measured);
        record.insert("machine".into(), machine::description().into());
        record.insert("versions".into(), versions());
        record.insert("engines".into(), settings());
        record.insert("extent".into(), told(extent));
        fs::write(file, written(&record)).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
}

/// Returns the record as JSON, with a line for each element of a list.
fn written(record: &Map<String, Value>) -> String {
    let mut text = String::from("{\n");
    for (at, (key, value)) in record.iter().enumerate() {
        let end = if at + 1 == record.len() { "\n" } else { ",\n" };
        let _ = match value.as_array() {
            Some(list) => {
                let lines: Vec<String> = list.iter().map(|one| format!("  {one}")).collect();
                write!(text, "\"{key}\": [\n{}\n]{end}", lines.join(",\n"))
            }
            None => write!(text, "\"{key}\": {value}{end}"),
        };
    }
    text + "}\n"
}

fn told(extent: &Extent) -> Value {
    json!({
        "rows_of_numbers": extent.numbers,
        "rows_of_strings": extent.strings,
        "warm_up_seconds": extent.warm_up.as_secs_f64(),
        "measured_seconds": extent.measured.as_secs_f64(),
    })
}

/// Returns how each engine is used.
fn settings() -> Value {
    let pairs = engines::ALL.iter().map(|(name, how)| ((*name).to_owned(), (*how).into()));
    pairs.collect::<Map<String, Value>>().into()
}

/// Returns the versions of the engines, from the lock file, and of the compiler.
fn versions() -> Value {
    let mut versions = Map::new();
    let lock = include_str!("../Cargo.lock");
    for package in lock.split("[[package]]") {
        let field = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.trim_matches([' ', '=', '"']).to_owned())
        };
        if let (Some(name), Some(version)) = (field("name"), field("version"))
            && ["kilocore", "redb", "fjall", "surrealmx"].contains(&name.as_str())
        {
            versions.insert(name, version.into());
        }
    }
    let rustc = printed(Command::new("rustc").arg("--version"));
    let number = rustc.split_whitespace().nth(1).unwrap_or_default().to_owned();
    versions.insert("rustc".into(), number.into());
    versions.into()
}

/// Returns the commit of the working directory.
fn commit() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    printed(Command::new("git").args(["rev-parse", "--short=7", "HEAD"]).current_dir(here))
}

fn printed(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}
