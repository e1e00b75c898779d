//! Runs and certifies every protocol under every architecture on every workload on every machine. Results on record are not proved again, so
//! the job resumes where it stopped. `--again` starts from the beginning.

use crate::{
    Outcome, cargo,
    explore::{self, USUAL_ARCHITECTURE},
    json,
    listing::Listing,
    must, number, option, target_directory,
};
use std::{
    fs,
    io::Write,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

const RECORDS: &str = "results/prove.jsonl";

/// A workload, and the arguments that make its runs short and contended.
struct Subject {
    workload: &'static str,
    run: &'static str,
    /// Set if `kilocore explore` supports the workload.
    explored: bool,
    /// Arguments that divide the workload into partitions, or none if it has none. Only such a workload is proved under
    /// architectures other than the usual one.
    divided: Option<&'static str>,
}

const fn subject(workload: &'static str, run: &'static str, explored: bool) -> Subject {
    Subject { workload, run, explored, divided: None }
}

const fn divided(workload: &'static str, run: &'static str, by: &'static str) -> Subject {
    Subject { divided: Some(by), ..subject(workload, run, true) }
}

const SUBJECTS: &[Subject] = &[
    divided("ycsb", "--records 2000 --theta 0.8 --read-ratio 0.5", "--scattered --partitions 4"),
    divided("counters", "", "--partitions 4"),
    subject("ranges", "", true),
    subject("rooms", "--people 200 --rooms 20", true),
    subject("notes", "", true),
    divided("tpcc", "--items 1000 --customers-per-district 60", "--warehouses 4"),
    subject("tpcc-accesses", "", false),
    divided("smallbank", "", "--accounts 1000 --partitions 4"),
    divided("tpcb", "", "--branches 4"),
    divided("tatp", "--subscribers 2000", "--partitions 4"),
    divided("hot-cold", "", "--records 2000 --updates --partitions 4"),
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
    let pairs = pairs(&listing, option(arguments, "--cc"))?;
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
        for pair in &pairs {
            for (machine, how) in MACHINES {
                let is_usual = pair.0 == USUAL_ARCHITECTURE;
                let can = subject.explored || *machine != "explored";
                if !can || (!is_usual && subject.divided.is_none()) {
                    continue;
                }
                if on_record(&past, subject.workload, pair, machine) {
                    proved += 1;
                    continue;
                }
                let started = Instant::now();
                let output = command(&program, subject, pair, (machine, how), &schedules)
                    .output()
                    .map_err(|error| format!("{}: {error}", program.display()))?;
                let text = String::from_utf8_lossy(&output.stdout);
                let whole = *machine == "explored" || keeps_promises(&text);
                let cell = format!("{} under {} {}, {machine}", subject.workload, pair.0, pair.1);
                if !output.status.success() || !whole {
                    let error = String::from_utf8_lossy(&output.stderr);
                    println!("{cell}: FAILED\n{text}{error}");
                    failed.push(cell);
                    continue;
                }
                proved += 1;
                println!("{cell}: proved");
                let line = record(root, (subject.workload, pair, machine), started.elapsed());
                let file = fs::OpenOptions::new().create(true).append(true).open(&records);
                file.and_then(|mut file| file.write_all(line.as_bytes()))
                    .map_err(|error| format!("{RECORDS}: {error}"))?;
            }
        }
    }
    println!("{proved} proved, {} failed", failed.len());
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Returns the pairs of an architecture and a protocol that promise something: all of them, or those of the protocols that are
/// `asked` for.
fn pairs(listing: &Listing, asked: Option<&str>) -> Result<Vec<(String, String)>, String> {
    let mut pairs = Vec::new();
    for architecture in listing.architectures() {
        for protocol in listing.promising_under(architecture)? {
            if asked.is_none_or(|asked| asked.split(',').any(|name| name == protocol)) {
                pairs.push((architecture.to_owned(), protocol));
            }
        }
    }
    Ok(pairs)
}

/// Returns the line that records a proof.
fn record(
    root: &Path,
    (workload, (architecture, protocol), machine): (&str, &(String, String), &str),
    took: Duration,
) -> String {
    let architecture = match architecture.as_str() {
        USUAL_ARCHITECTURE => String::new(),
        other => format!("\"architecture\": {}, ", json::quoted(other)),
    };
    format!(
        "{{\"workload\": {}, {architecture}\"protocol\": {}, \"machine\": {}, \"seconds\": {:.1}, \"commit\": {}}}\n",
        json::quoted(workload),
        json::quoted(protocol),
        json::quoted(machine),
        took.as_secs_f64(),
        json::quoted(&explore::commit(root)),
    )
}

fn command(
    program: &Path,
    subject: &Subject,
    (architecture, protocol): &(String, String),
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
    if architecture != USUAL_ARCHITECTURE {
        command.args(["--architecture", architecture]);
        if machine != "explored" {
            command.args(subject.divided.unwrap_or_default().split_whitespace());
        }
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

fn on_record(
    past: &str,
    workload: &str,
    (architecture, protocol): &(String, String),
    machine: &str,
) -> bool {
    past.lines().any(|line| {
        json::field(line, "workload") == Some(workload)
            && json::field(line, "architecture").unwrap_or(USUAL_ARCHITECTURE) == architecture
            && json::field(line, "protocol") == Some(protocol)
            && json::field(line, "machine") == Some(machine)
    })
}

/// Fails if a listed workload is missing here. Otherwise a new workload would silently go unproved.
pub fn every_workload_is_known(listing: &Listing) -> Outcome {
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
        let usual = (USUAL_ARCHITECTURE.to_owned(), "P".to_owned());
        let other = ("delegation".to_owned(), "P".to_owned());
        assert!(on_record(past, "w", &usual, "native"));
        assert!(!on_record(past, "w", &usual, "explored"));
        assert!(!on_record(past, "v", &usual, "native"));
        assert!(!on_record(past, "w", &other, "native"));
        let more = record(Path::new("."), ("w", &other, "native"), Duration::ZERO);
        assert!(
            on_record(&more, "w", &other, "native") && !on_record(&more, "w", &usual, "native")
        );
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
