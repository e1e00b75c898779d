//! Time to compile a small program that embeds an engine, and the size of the program.

use crate::machine::own_seconds;
use serde_json::{Value, json};
use std::{fs, path::Path, path::PathBuf, process::Command, process::Stdio, time::Instant};

/// Name and value of a variable of the environment.
type Variable = (&'static str, &'static str);

/// Names of builds, the engines that they embed, and what the environment has beyond the usual.
const BUILDS: &[(&str, &str, Option<Variable>)] = &[
    ("kilocore", "kilocore", None),
    ("kilocore, one protocol", "kilocore", Some(("KILOCORE_PROTOCOLS", "SILO"))),
    ("redb", "redb", None),
    ("fjall", "fjall", None),
    ("surrealmx", "surrealmx", None),
];

/// Number of builds of each program.
const REPETITIONS: usize = 2;

/// Builds all programs, in turn. Each build begins with an empty target directory.
pub fn all(quick: bool) -> Value {
    let repetitions = if quick { 1 } else { REPETITIONS };
    let mut rows: Vec<Value> = BUILDS
        .iter()
        .map(|(name, ..)| json!({ "engine": name, "wall_seconds": [], "cpu_seconds": [] }))
        .collect();
    for _ in 0..repetitions {
        for (row, (_, package, setting)) in rows.iter_mut().zip(BUILDS) {
            build(row, package, *setting);
            eprintln!("{row}");
        }
    }
    rows.into()
}

/// Builds one program, and adds what it took to `row`.
fn build(row: &mut Value, package: &str, setting: Option<Variable>) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = target();
    let _ = fs::remove_dir_all(&target);
    let program = format!("embeds-{package}");
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--locked", "--jobs", "2", "--package", &program]);
    command.args(["--config", "profile.release.strip=true", "--target-dir"]).arg(&target);
    command.envs(setting).env_remove("RUSTFLAGS").current_dir(here).stderr(Stdio::piped());
    let (start, (_, before)) = (Instant::now(), own_seconds());
    let output = command.output().expect("cargo");
    let wall = start.elapsed().as_secs_f64();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let size = fs::metadata(target.join("release").join(&program)).map_or(0, |data| data.len());
    let tenths = |seconds: f64| (seconds * 10.0).round() / 10.0;
    for (field, seconds) in [("wall_seconds", wall), ("cpu_seconds", own_seconds().1 - before)] {
        row[field].as_array_mut().expect("a list").push(tenths(seconds).into());
    }
    row["crates"] = told.lines().filter(|line| line.contains("Compiling")).count().into();
    row["program_bytes"] = size.into();
    let _ = fs::remove_dir_all(&target);
}

/// Returns a directory for builds, beside this program.
fn target() -> PathBuf {
    let program = std::env::current_exe().expect("this program's path");
    program.parent().expect("a folder").join("embedded-builds")
}
