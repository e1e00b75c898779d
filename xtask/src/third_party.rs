//! Compares this project's verdicts with those of dbcop (Biswas and Enea, OOPSLA 2019) on histories of explored
//! schedules.
//!
//! dbcop is not on a package registry, so the user supplies it. `--dbcop DIR` names a checkout, which is built here.
//! `--dbcop PROGRAM` names a built program. The two checkers answer different questions, and their answers are
//! related as follows:
//!
//! - A strict history must be serializable for dbcop, which keeps the order of each session and no other order.
//! - A history that is not serializable must not be serializable for dbcop either, if each write follows a read of
//!   the same record. Both checkers then know the order of versions. This holds for `counters`, whose histories are
//!   used.
//! - A history that is serializable and not strict may or may not contradict a session's order. No statement is made
//!   about it.

use crate::{Outcome, cargo, must, target_directory};
use serde::Deserialize;
use std::{collections::BTreeMap, fs, path::Path, path::PathBuf, process::Command};

/// Arguments of `kilocore explore` whose histories are compared, with the number of schedules.
const SUBJECTS: &[&[&str]] = &[
    &["counters", "--cc", "NO_CC", "--schedules", "400"],
    &["counters", "--cc", "SILO,NO_WAIT,MVCC,TICTOC,SSN,SNAPSHOT", "--schedules", "60"],
    &["counters", "--mutant", "all", "--schedules", "20"],
];

/// One line of this project's verdicts.
#[derive(Deserialize)]
struct Ours {
    file: String,
    serializable: String,
    strict: String,
}

/// Result of the comparison.
#[derive(Debug, Default, PartialEq)]
struct Compared {
    agreed: usize,
    /// Number of histories about which no statement can be made.
    apart: usize,
    disagreed: Vec<String>,
}

/// Runs the comparison with `dbcop`, a checkout or a program.
pub fn run(root: &Path, dbcop: &Path) -> Outcome {
    let program = program(root, dbcop)?;
    must(cargo(root).args(["build", "--release", "--package", "kilocore-cli"]))?;
    let kilocore = target_directory(root).join("release").join("kilocore");
    let mut total = Compared::default();
    for (number, subject) in SUBJECTS.iter().enumerate() {
        let folder = target_directory(root).join("dbcop").join(format!("histories-{number}"));
        // Histories left by an earlier run would be judged again.
        let _ = fs::remove_dir_all(&folder);
        let mut export = Command::new(&kilocore);
        must(export.arg("explore").args(*subject).arg("--histories").arg(&folder))?;
        let ours = fs::read_to_string(folder.join("verdicts.jsonl"));
        let ours = ours.map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut verify = Command::new(&program);
        verify.args(["verify", "--consistency", "serializable", "--input-dir"]).arg(&folder);
        // dbcop exits with a failure when it finds a violation. This is expected, so the status is not checked.
        let output = verify.output().map_err(|error| format!("{}: {error}", program.display()))?;
        let theirs = String::from_utf8_lossy(&output.stdout);
        let compared = compare(&ours, &theirs)?;
        println!(
            "{}: {} verdicts agree, {} are apart, {} disagree",
            subject.join(" "),
            compared.agreed,
            compared.apart,
            compared.disagreed.len()
        );
        total.agreed += compared.agreed;
        total.disagreed.extend(compared.disagreed);
    }
    match total.disagreed.as_slice() {
        [] if total.agreed == 0 => Err("dbcop has judged nothing".into()),
        [] => Ok(()),
        all => Err(format!("dbcop disagrees:\n{}", all.join("\n"))),
    }
}

/// Returns the path of dbcop's program. Builds the program if a checkout was given.
fn program(root: &Path, dbcop: &Path) -> Result<PathBuf, String> {
    if dbcop.is_file() {
        return Ok(dbcop.to_owned());
    }
    let source = dbcop.join("crates").join("cli");
    if !source.join("Cargo.toml").is_file() {
        let dbcop = dbcop.display();
        return Err(format!(
            "--dbcop {dbcop}: allowed are dbcop's program, and a checkout of its repository with crates/cli in it"
        ));
    }
    let installed = target_directory(root).join("dbcop");
    let mut install = cargo(root);
    install.args(["install", "--path"]).arg(&source).arg("--root").arg(&installed);
    must(install.args(["--target-dir"]).arg(installed.join("build")))?;
    Ok(installed.join("bin").join("dbcop"))
}

/// Compares this project's verdicts with the lines that dbcop prints, `FILE: PASS` or `FILE: FAIL ...`.
fn compare(ours: &str, theirs: &str) -> Result<Compared, String> {
    let said = |line: &'_ str| {
        let (file, verdict) = line.split_once(": ")?;
        let verdict = verdict.split([' ', '(']).next()?;
        ["PASS", "FAIL"].contains(&verdict).then(|| (file.to_owned(), verdict == "PASS"))
    };
    let theirs: BTreeMap<String, bool> = theirs.lines().filter_map(said).collect();
    let mut compared = Compared::default();
    for line in ours.lines() {
        let Ours { file, serializable, strict } =
            serde_json::from_str(line).map_err(|error| format!("{line}: {error}"))?;
        let Some(passes) = theirs.get(&file) else {
            return Err(format!("dbcop says nothing of {file}"));
        };
        match (serializable.as_str(), strict.as_str(), passes) {
            ("pass", "pass", true) | ("fail", _, false) => compared.agreed += 1,
            ("pass", "fail", _) => compared.apart += 1,
            _ => compared.disagreed.push(format!(
                "{file}: serializable {serializable}, strict {strict}, but dbcop says {}",
                if *passes { "PASS" } else { "FAIL" }
            )),
        }
    }
    Ok(compared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(file: &str, serializable: &str, strict: &str) -> String {
        format!(
            "{{\"file\": \"{file}\", \"written\": true, \"snapshot\": \"pass\", \
             \"serializable\": \"{serializable}\", \"strict\": \"{strict}\"}}\n"
        )
    }

    #[test]
    fn verdicts_are_compared_where_they_say_the_same() {
        let all = ours("A-1.json", "pass", "pass")
            + &ours("A-2.json", "fail", "fail")
            + &ours("A-3.json", "pass", "fail");
        let theirs = "A-1.json: PASS\nA-2.json: FAIL (Invalid(Serializable))\nA-3.json: FAIL (x)\n";
        let compared = compare(&all, theirs).unwrap();
        assert_eq!(compared, Compared { agreed: 2, apart: 1, disagreed: vec![] });
        let compared = compare(&all, &theirs.replace("PASS", "FAIL (x)")).unwrap();
        assert_eq!((compared.agreed, compared.disagreed.len()), (1, 1));
        let compared =
            compare(&all, &theirs.replace("2.json: FAIL (Invalid", "2.json: PASS (")).unwrap();
        assert!(compared.disagreed[0].starts_with("A-2.json: serializable fail"));
        assert!(compare(&all, "A-1.json: PASS\n").unwrap_err().contains("A-2.json"));
        assert!(compare("nonsense\n", theirs).is_err());
    }

    #[test]
    fn what_is_no_checkout_is_refused() {
        let error = program(Path::new("."), Path::new("/nowhere")).unwrap_err();
        assert!(error.contains("/nowhere") && error.contains("crates/cli"), "{error}");
    }
}
