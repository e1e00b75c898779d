//! Measures the cost of busy neighbours. Every protocol runs one warehouse of TPC-C with more threads than
//! processors, alone and beside other programs that never stop. The chore also measures the cost of waits that do not
//! end.
//!
//! A neighbour is a process that computes. A thread's fair share of the processors is one part of all that want to
//! run: `t` threads beside `n` neighbours are entitled to `t / (t + n)`. A protocol's throughput beside neighbours is
//! compared with this share of its own quiet throughput. A waiting thread wants no processor. A protocol in which few
//! threads can run at a time is therefore entitled to less than this computation assumes.
//!
//! With `--before PROGRAM`, another build of the harness' example `neighbours` is measured in turn with this build,
//! so that both meet the same conditions.

use crate::{Outcome, cargo, json, must, number, option, target_directory};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

const RECORD: &str = "results/native/neighbours.json";

/// Configuration of the measurement.
struct Plan {
    /// Measured programs, with the names of their columns.
    programs: Vec<(&'static str, PathBuf)>,
    protocols: Vec<String>,
    threads: String,
    seconds: String,
    neighbours: u64,
}

/// Result of one run with one number of threads.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    threads: u64,
    throughput: f64,
    p999_us: u64,
    max_us: u64,
}

/// Measures, prints and records.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let build = ["build", "--release", "--package"];
    must(cargo(root).args(build).args(["kilocore-harness", "--example", "neighbours"]))?;
    must(cargo(root).args(build).args(["kilocore-machine", "--example", "idle_waits"]))?;
    let examples = target_directory(root).join("release/examples");
    let mut programs = vec![("now", examples.join("neighbours"))];
    if let Some(path) = option(arguments, "--before") {
        programs.push(("before", PathBuf::from(path)));
    }
    let protocols = match option(arguments, "--cc") {
        Some(names) => names.split(',').map(str::to_owned).collect(),
        None => listed(&programs[0].1)?,
    };
    let text =
        |name: &str, otherwise: &str| option(arguments, name).unwrap_or(otherwise).to_owned();
    let plan = Plan {
        programs,
        protocols,
        threads: text("--threads", "2,4,8,16"),
        seconds: text("--seconds", "1"),
        neighbours: number(arguments, "--neighbours", 2)?,
    };
    let load_before = load();
    let mut lines = Vec::new();
    for protocol in &plan.protocols {
        lines.extend(plan.measure(protocol)?);
    }
    let idle = printed(&examples.join("idle_waits"), &[])?;
    println!("idle waits: {idle}");
    let record = format!(
        "{{\n  \"workload\": \"tpcc --warehouses 1\",\n  \"seconds\": {},\n  \"processors\": {},\n  \"neighbours\": {},\n  \
         \"load_before\": {},\n  \"load_after\": {},\n  \"idle\": {idle},\n  \"rows\": [\n{}\n  ]\n}}\n",
        plan.seconds,
        std::thread::available_parallelism().map_or(0, |count| count.get()),
        plan.neighbours,
        json::quoted(&load_before),
        json::quoted(&load()),
        lines.join(",\n"),
    );
    let path = root.join(text("--out", RECORD));
    fs::write(&path, record).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("recorded in {}", path.display());
    Ok(())
}

/// Returns the names of all protocols, as the program lists them.
fn listed(program: &Path) -> Result<Vec<String>, String> {
    Ok(printed(program, &["protocols"])?.lines().map(str::to_owned).collect())
}

impl Plan {
    /// Measures one protocol: each build alone and beside neighbours, in turn.
    fn measure(&self, protocol: &str) -> Result<Vec<String>, String> {
        let mut measured = Vec::new();
        for (name, program) in &self.programs {
            let alone = self.measure_once(program, protocol)?;
            let beside = {
                let _neighbours = Neighbours::start(self.neighbours)?;
                self.measure_once(program, protocol)?
            };
            measured.push((*name, alone, beside));
        }
        let count = measured[0].1.len();
        Ok((0..count).map(|at| self.line(protocol, &measured, at)).collect())
    }

    fn measure_once(&self, program: &Path, protocol: &str) -> Result<Vec<Row>, String> {
        let rows = rows(&printed(program, &[&self.seconds, &self.threads, protocol])?);
        let expected = self.threads.split(',').count();
        let complete = rows.len() == expected;
        if complete {
            Ok(rows)
        } else {
            Err(format!("{protocol}: {} of {expected} rows", rows.len()))
        }
    }

    /// Prints the results for one number of threads and returns the line to record.
    fn line(&self, protocol: &str, measured: &[(&str, Vec<Row>, Vec<Row>)], at: usize) -> String {
        let threads = measured[0].1[at].threads;
        let mut columns = String::new();
        print!("{protocol:<11}{threads:>3}");
        for (name, alone, beside) in measured {
            let (alone, beside) = (&alone[at], &beside[at]);
            let of_share = of_share(alone, beside, self.neighbours);
            print!(
                "  {name} {:>8.0} alone {:>8.0} beside ({:>3.0} % of its share)",
                alone.throughput,
                beside.throughput,
                of_share * 100.0
            );
            columns += &format!(
                ", \"{name}\": {{\"alone\": {}, \"beside\": {}, \"of_share\": {of_share:.3}}}",
                column(alone),
                column(beside)
            );
        }
        println!();
        format!("    {{\"protocol\": {}, \"threads\": {threads}{columns}}}", json::quoted(protocol))
    }
}

/// Returns throughput beside neighbours as a fraction of the fair share of the throughput alone.
fn of_share(alone: &Row, beside: &Row, neighbours: u64) -> f64 {
    let share = alone.threads as f64 / (alone.threads + neighbours) as f64;
    beside.throughput / alone.throughput.max(f64::MIN_POSITIVE) / share
}

fn column(row: &Row) -> String {
    let Row { throughput, p999_us, max_us, .. } = row;
    format!("{{\"txn_per_s\": {throughput:.0}, \"p999_us\": {p999_us}, \"max_us\": {max_us}}}")
}

/// Returns the rows of a run's output.
fn rows(text: &str) -> Vec<Row> {
    fn number<N: std::str::FromStr>(line: &str, key: &str) -> Option<N> {
        json::field(line, key)?.parse().ok()
    }
    let parse = |line| {
        Some(Row {
            threads: number(line, "threads")?,
            throughput: number(line, "txn_per_s")?,
            p999_us: number(line, "p999_us")?,
            max_us: number(line, "max_us")?,
        })
    };
    text.lines().filter_map(parse).collect()
}

/// Runs a program and returns its standard output. Fails if the program fails.
fn printed(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        return Err(format!("{} {}: {}", program.display(), arguments.join(" "), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the load averages, where the system reports them.
fn load() -> String {
    fs::read_to_string("/proc/loadavg").map_or("unknown".to_owned(), |text| text.trim().to_owned())
}

/// Processes that compute until this value is dropped.
struct Neighbours(Vec<Child>);

impl Neighbours {
    fn start(count: u64) -> Result<Neighbours, String> {
        let mut started = Neighbours(Vec::new());
        for _ in 0..count {
            let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
            started.0.push(child.map_err(|error| format!("sh: {error}"))?);
        }
        Ok(started)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // The process has ended already, or it ends now.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_held_against_a_fair_share() {
        let text = "{\"protocol\": \"SILO\", \"threads\": 4, \"txn_per_s\": 1500, \"p50_us\": 1, \
                    \"p999_us\": 25, \"max_us\": 90}\nelse\n";
        let row = Row { threads: 4, throughput: 1500.0, p999_us: 25, max_us: 90 };
        assert_eq!(rows(text), std::slice::from_ref(&row));
        let share = of_share(&row, &Row { throughput: 500.0, ..row.clone() }, 2);
        assert!((share - 0.5).abs() < 1e-9, "{share}");
    }
}
