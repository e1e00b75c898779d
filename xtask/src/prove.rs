//! Runs and certifies every protocol on every workload on every machine. Results on record are not proved again, so
//! the job resumes where it stopped. `--again` starts from the beginning.

use crate::{
    Outcome, cargo, explore, json, listing::Listing, must, number, option, target_directory,
};
use std::{fs, io::Write, path::Path, process::Command, time::Instant};

const RECORDS: &str = "results/prove.jsonl";

/// A workload, and the arguments that make its runs short and contended.
struct Subject {
    workload: &'static str,
    run: &'static str,
    /// Set if `kilocore explore` supports the workload.
    explored: bool,
}

const fn subject(workload: &'static str, run: &'static str, explored: bool) -> Subject {
    Subject { workload, run, explored }
}

const SUBJECTS: &[Subject] = &[
    subject("ycsb", "--records 2000 --theta 0.8 --read-ratio 0.5", true),
    subject("counters", "", true),
    subject("ranges", "", true),
    subject("rooms", "--people 200 --rooms 20", true),
    subject("tpcc", "--items 1000 --customers-per-district 60", true),
    subject("tpcc-accesses", "", false),
    subject("smallbank", "", true),
    subject("tpcb", "", true),
    subject("tatp", "--subscribers 2000", true),
    subject("hot-cold", "", true),
    subject("sites", "", true),
    subject("key-value", "--records 1000", true),
    subject("long-reader", "--records 2000", true),
];

/// Workloads that are listed but not proved, because they read and write no rows.
const WITHOUT_ROWS: &[&str] = &["timestamps"];

const MACHINES: &[(&str, &str)] = &[
    ("native", "--machine native --cores 2 --warm-up 0.05 --seconds 0.2"),
    ("simulated", "--machine graphite --cores 16 --warm-up 0.00002 --seconds 0.0002"),
    ("explored", ""),
];

/// Proves what is not on record yet. `--schedules` is the number of schedules for each explored protocol and
/// workload. `--workload NAME` and `--cc NAME,...` restrict the work.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let schedules = number(arguments, "--schedules", 5_000)?.to_string();
    must(cargo(root).args(["build", "--release", "--package", "kilocore-cli"]))?;
    let program = target_directory(root).join("release").join("kilocore");
    let listing = Listing::of(&program)?;
    every_workload_is_known(&listing)?;
    let protocols: Vec<String> = match option(arguments, "--cc") {
        Some(names) => names.split(',').map(str::to_owned).collect(),
        None => listing.promising(),
    };
    let records = root.join(RECORDS);
    if arguments.iter().any(|argument| argument == "--again") {
        fs::remove_file(&records).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(format!("{RECORDS}: {error}")),
        })?;
    }
    let past = fs::read_to_string(&records).unwrap_or_default();
    let only = option(arguments, "--workload");
    let (mut proved, mut failed) = (0, Vec::new());
    for subject in SUBJECTS.iter().filter(|s| only.is_none_or(|only| only == s.workload)) {
        for protocol in &protocols {
            for (machine, how) in MACHINES {
                if *machine == "explored" && !subject.explored {
                    continue;
                }
                if on_record(&past, subject.workload, protocol, machine) {
                    proved += 1;
                    continue;
                }
                let started = Instant::now();
                let output = command(&program, subject, protocol, (machine, how), &schedules)
                    .output()
                    .map_err(|error| format!("{}: {error}", program.display()))?;
                let text = String::from_utf8_lossy(&output.stdout);
                let whole = *machine == "explored" || keeps_promises(&text);
                let cell = format!("{} under {protocol}, {machine}", subject.workload);
                if !output.status.success() || !whole {
                    let error = String::from_utf8_lossy(&output.stderr);
                    println!("{cell}: FAILED\n{text}{error}");
                    failed.push(cell);
                    continue;
                }
                proved += 1;
                println!("{cell}: proved");
                let line = format!(
                    "{{\"workload\": {}, \"protocol\": {}, \"machine\": {}, \"seconds\": {:.1}, \"commit\": {}}}\n",
                    json::quoted(subject.workload),
                    json::quoted(protocol),
                    json::quoted(machine),
                    started.elapsed().as_secs_f64(),
                    json::quoted(&explore::commit(root)),
                );
                let file = fs::OpenOptions::new().create(true).append(true).open(&records);
                file.and_then(|mut file| file.write_all(line.as_bytes()))
                    .map_err(|error| format!("{RECORDS}: {error}"))?;
            }
        }
    }
    println!("{proved} proved, {} failed", failed.len());
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

fn command(
    program: &Path,
    subject: &Subject,
    protocol: &str,
    (machine, how): (&str, &str),
    schedules: &str,
) -> Command {
    let mut command = Command::new(program);
    if machine == "explored" {
        command.args(["explore", subject.workload, "--cc", protocol, "--schedules", schedules]);
    } else {
        command.args(["run", subject.workload, "--cc", protocol, "--certify", "--json", "-"]);
        command.args(how.split_whitespace()).args(subject.run.split_whitespace());
    }
    command
}

/// Returns whether every record promises at least one level and its certificate passes each promised level. A
/// protocol that promises less than serializability may show its anomalies.
fn keeps_promises(records: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Record {
        certificate: serde_json::Map<String, serde_json::Value>,
    }
    let kept = |record: &Record| {
        let promised = record.certificate.get("promised").and_then(|promised| promised.as_object());
        let mut levels = promised.into_iter().flatten().filter(|(_, is)| **is == true).peekable();
        levels.peek().is_some()
            && levels.all(|(level, _)| record.certificate.get(level).is_some_and(|c| c == "pass"))
    };
    let records: Vec<Record> = serde_json::from_str(records).unwrap_or_default();
    !records.is_empty() && records.iter().all(kept)
}

fn on_record(past: &str, workload: &str, protocol: &str, machine: &str) -> bool {
    past.lines().any(|line| {
        json::field(line, "workload") == Some(workload)
            && json::field(line, "protocol") == Some(protocol)
            && json::field(line, "machine") == Some(machine)
    })
}

/// Fails if a listed workload is missing here. Otherwise a new workload would silently go unproved.
fn every_workload_is_known(listing: &Listing) -> Outcome {
    match listing.workloads().find(|name| !is_known(name)) {
        Some(name) => Err(format!("the workload {name:?} is not among those that are proved")),
        None => Ok(()),
    }
}

fn is_known(workload: &str) -> bool {
    SUBJECTS.iter().any(|s| s.workload == workload) || WITHOUT_ROWS.contains(&workload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_record_is_found() {
        let past = "{\"workload\": \"w\", \"protocol\": \"P\", \"machine\": \"native\"}\n";
        assert!(on_record(past, "w", "P", "native"));
        assert!(!on_record(past, "w", "P", "explored"));
        assert!(!on_record(past, "v", "P", "native"));
    }

    #[test]
    fn what_is_promised_must_pass_and_nothing_else() {
        let record = |serializable, promised| {
            format!(
                "[{{\"certificate\": {{\"snapshot\": \"pass\", \"serializable\": \"{serializable}\", \
                 \"promised\": {{\"snapshot\": true, \"serializable\": {promised}}}}}}}]"
            )
        };
        assert!(keeps_promises(&record("pass", true)));
        assert!(keeps_promises(&record("fail", false)));
        assert!(!keeps_promises(&record("fail", true)));
        assert!(!keeps_promises(&record("not checked", true)));
        let nothing = record("pass", false).replace("\"snapshot\": true", "\"snapshot\": false");
        assert!(!keeps_promises(&nothing));
        assert!(!keeps_promises("[]") && !keeps_promises(""));
    }

    #[test]
    fn workloads_are_known_by_name() {
        assert!(is_known("ycsb") && is_known("timestamps"));
        assert!(!is_known("another"));
    }
}
