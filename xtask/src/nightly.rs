//! Runs sanitizers and Miri, where a nightly toolchain has them, and compares verdicts with another checker. These
//! jobs take long and need tools that a plain toolchain lacks. A missing tool is reported as absent and never counts
//! as passed.

use crate::{Outcome, cargo, option, target_directory, third_party};
use std::{
    path::Path,
    process::{Command, Stdio},
};

const HOST: &str = "x86_64-unknown-linux-gnu";

/// One kind of search for undefined behaviour.
struct Job {
    name: &'static str,
    line: &'static str,
    /// Name of the sanitizer, or none for Miri.
    sanitizer: Option<&'static str>,
    /// Arguments that select the part of the workspace to test. Fibers switch stacks without the sanitizers'
    /// knowledge, so the modelled machines are left out. Those run on one thread anyway.
    arguments: &'static [&'static str],
}

const JOBS: &[Job] = &[
    Job {
        name: "address",
        line: "AddressSanitizer on the store, natively: memory that is used after it was given back",
        sanitizer: Some("address"),
        arguments: &["-p", "kilocore", "--tests", "-p", "kilocore-storage", "--lib"],
    },
    Job {
        name: "thread",
        line: "ThreadSanitizer on the embedded database: data races",
        sanitizer: Some("thread"),
        arguments: &["-p", "kilocore", "--test", "turns"],
    },
    Job {
        name: "miri",
        line: "Miri on the crates without threads and system calls: undefined behaviour",
        sanitizer: None,
        arguments: &["-p", "kilocore-txn", "-p", "kilocore-checker", "--lib"],
    },
];

/// Name of the job that compares this project's verdicts with dbcop's.
const DBCOP: &str = "dbcop";

/// Runs every job whose tools are present. `--only NAME` picks one job. Fails if a job fails, or if none could run.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let only = option(arguments, "--only");
    if let Some(name) = only
        && name != DBCOP
        && !JOBS.iter().any(|job| job.name == name)
    {
        let names: Vec<_> = JOBS.iter().map(|job| job.name).chain([DBCOP]).collect();
        return Err(format!("--only {name:?}: allowed are {}", names.join(", ")));
    }
    let (mut ran, mut failed) = (0, Vec::new());
    for job in JOBS.iter().filter(|job| only.is_none_or(|only| only == job.name)) {
        if let Err(why) = available(root, job) {
            println!("{}: absent ({why})", job.name);
            continue;
        }
        println!("{}: {}", job.name, job.line);
        ran += 1;
        let status = command(root, job).status().map_err(|error| error.to_string())?;
        println!("{}: {}", job.name, if status.success() { "passed" } else { "FAILED" });
        if !status.success() {
            failed.push(job.name);
        }
    }
    if only.is_none_or(|only| only == DBCOP) {
        match option(arguments, "--dbcop") {
            None => println!(
                "{DBCOP}: absent (its source is on no registry: --dbcop DIR gives a checkout)"
            ),
            Some(at) => {
                println!("{DBCOP}: our verdicts against those of another checker");
                ran += 1;
                let compared = third_party::run(root, Path::new(at));
                println!(
                    "{DBCOP}: {}",
                    compared.as_ref().map_or_else(|why| why.as_str(), |()| "passed")
                );
                if compared.is_err() {
                    failed.push(DBCOP);
                }
            }
        }
    }
    match (ran, failed.as_slice()) {
        (0, _) => {
            Err("nothing ran: install a nightly toolchain and its component miri, or give --dbcop"
                .into())
        }
        (_, []) => Ok(()),
        (_, failed) => Err(format!("failed: {}", failed.join(", "))),
    }
}

fn available(root: &Path, job: &Job) -> Outcome {
    let mut probe = nightly(root);
    match job.sanitizer {
        Some(_) => probe.arg("--version"),
        None => probe.args(["miri", "--version"]),
    };
    let output = probe.stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().next().unwrap_or("no answer").to_owned();
    if !output.status.success() {
        return Err(why);
    }
    if job.builds_std() && !has_sources_of_std() {
        return Err("the component rust-src is missing".to_owned());
    }
    Ok(())
}

impl Job {
    /// Returns whether the job builds the standard library too. ThreadSanitizer must see its synchronization.
    fn builds_std(&self) -> bool {
        self.sanitizer == Some("thread")
    }
}

fn has_sources_of_std() -> bool {
    let sysroot = Command::new("rustc").args(["+nightly", "--print", "sysroot"]).output();
    let sysroot = sysroot.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    sysroot.is_ok_and(|at| Path::new(&at).join("lib/rustlib/src/rust/library").is_dir())
}

/// Returns the cargo of the nightly toolchain, regardless of the toolchain that runs this program.
fn nightly(root: &Path) -> Command {
    let mut command = cargo(root);
    // The proxy picks the toolchain by name. The variables would pin the toolchain that runs this program.
    if let Some(proxy) = which("cargo") {
        command = Command::new(proxy);
        command.current_dir(root);
    }
    for name in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "RUSTDOC"] {
        command.env_remove(name);
    }
    command.arg("+nightly");
    command
}

/// Returns the first program of that name that is a proxy for toolchains, which means that it lies outside any
/// toolchain.
fn which(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    let all = std::env::split_paths(&path).map(|folder| folder.join(name));
    all.filter(|file| file.is_file())
        .find(|file| !file.components().any(|part| part.as_os_str() == "toolchains"))
}

fn command(root: &Path, job: &Job) -> Command {
    let mut command = nightly(root);
    command.env("CARGO_TARGET_DIR", target_directory(root).join("nightly").join(job.name));
    match job.sanitizer {
        Some(sanitizer) => {
            command.env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"));
            command.args(["test", "--target", HOST]);
            if job.builds_std() {
                command.arg("-Zbuild-std");
            }
        }
        None => {
            command.args(["miri", "test"]);
        }
    }
    command.args(job.arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_job_is_refused() {
        let arguments = ["--only".to_owned(), "memory".to_owned()];
        let error = run(Path::new("."), &arguments).unwrap_err();
        assert!(error.contains("address, thread, miri, dbcop"), "{error}");
    }
}
