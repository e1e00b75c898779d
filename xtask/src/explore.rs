//! Explores for a long time, in batches that are recorded separately. A stopped exploration resumes after the last
//! recorded batch. The records are committed.

use crate::{Outcome, cargo, json, listing::Listing, must, number, option, target_directory};
use std::{fs, io::Write, path::Path, process::Command, time::Instant};

const RECORDS: &str = "results/explore/progress.jsonl";
/// Architecture of records that name none.
pub const USUAL_ARCHITECTURE: &str = "shared_everything";

/// Explores every protocol until `--schedules` schedules of each are on record.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let wanted = number(arguments, "--schedules", 100_000)?;
    let batch = number(arguments, "--batch", 2_000)?.max(1);
    let workload = option(arguments, "--workload").unwrap_or("counters");
    let architecture = option(arguments, "--architecture").unwrap_or(USUAL_ARCHITECTURE);
    // Options of protocols are passed on unchanged. Each combination has its own batches on record.
    let given = arguments.windows(2).filter(|pair| pair[0] == "--cc-option");
    let set: Vec<&str> = given.map(|pair| pair[1].as_str()).collect();
    let options = set.join(" ");
    must(cargo(root).args(["build", "--release", "--package", "kilocore-cli"]))?;
    let program = target_directory(root).join("release").join("kilocore");
    let protocols = match option(arguments, "--cc") {
        Some(names) => names.split(',').map(str::to_owned).collect(),
        None => Listing::of(&program)?.promising_under(architecture)?,
    };
    let records = root.join(RECORDS);
    fs::create_dir_all(records.parent().unwrap_or(root)).map_err(|e| e.to_string())?;
    let past = fs::read_to_string(&records).unwrap_or_default();
    for protocol in &protocols {
        let mut done = schedules_done(&past, (workload, architecture, protocol, &options));
        while done < wanted {
            let count = batch.min(wanted - done);
            let started = Instant::now();
            // Seeds count up from 1, so a batch's first seed tells how many schedules precede it.
            let output = Command::new(&program)
                .args(["explore", workload, "--cc", protocol, "--architecture", architecture])
                .args(set.iter().flat_map(|set| ["--cc-option", set]))
                .args(["--schedules", &count.to_string(), "--seed", &(done + 1).to_string()])
                .output()
                .map_err(|error| format!("{}: {error}", program.display()))?;
            if !output.status.success() {
                return Err(format!(
                    "{protocol}, seeds from {}: {}\n{}{}",
                    done + 1,
                    output.status,
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr),
                ));
            }
            let line = format!(
                "{{\"workload\": {}, \"protocol\": {}{}{}, \"first_seed\": {}, \"schedules\": {count}, \
                 \"violations\": 0, \"seconds\": {:.1}, \"commit\": {}}}\n",
                json::quoted(workload),
                json::quoted(protocol),
                match architecture {
                    USUAL_ARCHITECTURE => String::new(),
                    other => format!(", \"architecture\": {}", json::quoted(other)),
                },
                match options.as_str() {
                    "" => String::new(),
                    options => format!(", \"options\": {}", json::quoted(options)),
                },
                done + 1,
                started.elapsed().as_secs_f64(),
                json::quoted(&commit(root)),
            );
            let file = fs::OpenOptions::new().create(true).append(true).open(&records);
            file.and_then(|mut file| file.write_all(line.as_bytes()))
                .map_err(|error| format!("{RECORDS}: {error}"))?;
            done += count;
            println!("{protocol}: {done} of {wanted} schedules");
        }
    }
    Ok(())
}

/// Returns the number of schedules on record for a workload, an architecture, a protocol and its options. Only
/// schedules from seed 1 without a gap count.
fn schedules_done(
    records: &str,
    (workload, architecture, protocol, options): (&str, &str, &str, &str),
) -> u64 {
    let number = |line: &str, key| json::field(line, key).and_then(|n| n.parse::<u64>().ok());
    let mut done = 0;
    let mut batches: Vec<(u64, u64)> = records
        .lines()
        .filter(|line| json::field(line, "workload") == Some(workload))
        .filter(|line| json::field(line, "protocol") == Some(protocol))
        .filter(|line| {
            json::field(line, "architecture").unwrap_or(USUAL_ARCHITECTURE) == architecture
        })
        .filter(|line| json::field(line, "options").unwrap_or_default() == options)
        .filter_map(|line| Some((number(line, "first_seed")?, number(line, "schedules")?)))
        .collect();
    batches.sort_unstable();
    for (first, count) in batches {
        if first <= done + 1 {
            done = done.max(first + count - 1);
        }
    }
    done
}

/// Returns the checked-out commit.
pub fn commit(root: &Path) -> String {
    let output =
        Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).current_dir(root).output();
    output.map_or_else(|_| "unknown".into(), |o| String::from_utf8_lossy(&o.stdout).trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_behind_the_last_batch_without_a_gap() {
        let line = |protocol: &str, first: u64, count: u64| {
            format!(
                "{{\"workload\": \"counters\", \"protocol\": \"{protocol}\", \"first_seed\": {first}, \
                 \"schedules\": {count}}}\n"
            )
        };
        let usual = |workload, protocol, options| (workload, USUAL_ARCHITECTURE, protocol, options);
        let records = line("A", 1, 10) + &line("B", 1, 5) + &line("A", 11, 10) + &line("A", 31, 10);
        assert_eq!(schedules_done(&records, usual("counters", "A", "")), 20);
        assert_eq!(schedules_done(&records, usual("counters", "B", "")), 5);
        assert_eq!(schedules_done(&records, usual("ycsb", "A", "")), 0);
        let set = line("A", 1, 7).replace("\"A\"", "\"A\", \"options\": \"x=1 y=2\"");
        assert_eq!(schedules_done(&set, usual("counters", "A", "x=1 y=2")), 7);
        assert_eq!(schedules_done(&set, usual("counters", "A", "")), 0);
        let other = line("A", 1, 9).replace("\"A\"", "\"A\", \"architecture\": \"other\"");
        assert_eq!(schedules_done(&other, ("counters", "other", "A", "")), 9);
        assert_eq!(schedules_done(&other, usual("counters", "A", "")), 0);
    }
}
