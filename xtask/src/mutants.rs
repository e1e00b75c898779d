//! Explores every planted bug until its detector catches it. This measures what the project's evidence is worth.

use crate::{
    Outcome, cargo, json,
    listing::{Listing, Planted},
    must, number, target_directory,
};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

const RECORDS: &str = "results/mutants.jsonl";

/// Explores every planted bug for `--seconds` at most. Prints how many were caught, and records the results.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let limit = Duration::from_secs(number(arguments, "--seconds", 120)?);
    must(cargo(root).args(["build", "--release", "--package", "kilocore-cli"]))?;
    let program = target_directory(root).join("release").join("kilocore");
    let planted = Listing::of(&program)?.planted();
    let (mut caught, mut records) = (0, String::new());
    for mutant in &planted {
        let started = Instant::now();
        let seed = seed_that_shows(&program, mutant, limit)?;
        let seconds = started.elapsed().as_secs_f64();
        let Planted { name, workload, detector } = mutant;
        let verdict = match seed {
            Some(seed) => format!("caught at seed {seed}"),
            None => "NOT CAUGHT".to_owned(),
        };
        println!("{name:34} {workload:12} {detector:18} {seconds:6.1} s  {verdict}");
        records += &format!(
            "{{\"mutant\": {}, \"workload\": {}, \"detector\": {}, \"seed\": {}, \"seconds\": {seconds:.1}}}\n",
            json::quoted(name),
            json::quoted(workload),
            json::quoted(detector),
            seed.map_or("null".to_owned(), |seed| seed.to_string()),
        );
        caught += usize::from(seed.is_some());
    }
    println!("{caught} caught of {} planted", planted.len());
    fs::write(root.join(RECORDS), records).map_err(|error| format!("{RECORDS}: {error}"))?;
    if caught == planted.len() { Ok(()) } else { Err("planted bugs went unnoticed".into()) }
}

/// Returns the seed at which the bug's own detector saw it, or none if time ran out.
fn seed_that_shows(
    program: &Path,
    mutant: &Planted,
    limit: Duration,
) -> Result<Option<u64>, String> {
    let said = |error| format!("{}: {error}", program.display());
    let mut child = Command::new(program)
        .args(["explore", &mutant.workload, "--mutant", &mutant.name])
        .args(["--schedules", "100000000"])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(said)?;
    let started = Instant::now();
    // The child's output is short and fits the pipe, so the child never blocks on a reader.
    while child.try_wait().map_err(said)?.is_none() {
        if started.elapsed() > limit {
            child.kill().map_err(said)?;
            child.wait().map_err(said)?;
            return Ok(None);
        }
        sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().map_err(said)?;
    let text = String::from_utf8_lossy(&output.stdout);
    match seed_in(&text) {
        Some(seed) if output.status.success() => Ok(Some(seed)),
        _ => Err(format!("{}: another detector came first, or none:\n{text}", mutant.name)),
    }
}

fn seed_in(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("violation at seed ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_read_from_the_report() {
        assert_eq!(seed_in("x  violation at seed 57, as there must be\n"), Some(57));
        assert_eq!(seed_in("no violation\n"), None);
    }
}
