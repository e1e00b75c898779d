//! Explores schedules of every protocol over several workloads, numbers of workers, options and isolation levels.
//!
//! Some bugs show only in one workload or with one option. A *cell* is a protocol, a workload and a setting. A
//! protocol has these settings:
//!
//! - the usual one
//! - each value of each option that the protocol heeds, alone
//! - each further isolation level that the protocol gives, alone
//! - each pair of these differences
//!
//! A third of a protocol's schedules goes to the usual setting. A third goes to settings with one difference, and a
//! third to settings with two. Within a setting, schedules are spread evenly over the workloads. TPC-C gets a quarter
//! of a share because its schedules take ten times as long. Within a cell, schedules are spread evenly over 2 to 6
//! workers.
//!
//! Seeds are counted through all cells of a protocol. A seed also decides properties of a workload, for example keys
//! of bytes, indexes, and rows in parts. Each schedule has its own seed, so as many variants are tried as there are
//! schedules.
//!
//! Every finished cell is one line of the record. The line names the state of the sources (that of `crates`, as git
//! names it). The chore therefore resumes where it stopped, and starts again when the sources have changed.

mod settings;

use crate::{
    Outcome, cargo, explore, json, listing::Listing, must, number, option, target_directory,
};
use serde::Deserialize;
use settings::Setting;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::Path,
    process::Command,
    sync::Mutex,
    thread,
    time::Instant,
};

const RECORDS: &str = "results/explore/breadth.jsonl";

/// Workloads as `kilocore explore` takes them, and the weight of each workload's share.
const WORKLOADS: &[(&str, u64)] = &[
    ("counters", 4),
    ("ranges", 4),
    ("rooms", 4),
    ("notes", 4),
    ("smallbank", 4),
    ("ycsb", 4),
    ("ycsb --growing", 4),
    ("tatp", 4),
    ("tpcc", 1),
];

const WORKERS: &[u64] = &[2, 3, 4, 5, 6];

/// Number of processes that run at a time. Each explores a batch on one core.
const PROCESSES: usize = 2;

/// Number of schedules in a batch. `kilocore explore` gives this many to one thread at a time.
const BATCH: u64 = 512;

/// Schedules of one protocol, workload and setting.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    protocol: String,
    workload: &'static str,
    setting: Setting,
    first_seed: u64,
    schedules: u64,
}

/// Recorded result of a cell.
#[derive(Deserialize)]
struct Line {
    sources: String,
    protocol: String,
    workload: String,
    setting: String,
    first_seed: u64,
    schedules: u64,
    violations: u64,
    #[serde(default)]
    refused: bool,
}

/// Result of exploring a cell.
enum Outcomes {
    Clean,
    /// The protocol does not support the setting. The text is the command's reason.
    Refused(String),
    /// The violation that was found, or the command that failed.
    Found(String),
}

/// Fails if an option of a protocol has no values here. Otherwise this chore would fail when it is next run.
pub fn every_option_has_values(listing: &Listing) -> Outcome {
    listing.promising().iter().try_for_each(|protocol| settings::of(listing, protocol).map(|_| ()))
}

/// Explores until `--schedules` of each protocol are on record. With `--status`, only prints what is on record.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let wanted = number(arguments, "--schedules", 1_000_000)?;
    let anyway = arguments.iter().any(|argument| argument == "--anyway");
    let sources = sources(root, anyway)?;
    must(cargo(root).args(["build", "--release", "--package", "kilocore-cli"]))?;
    let program = target_directory(root).join("release").join("kilocore");
    let listing = Listing::of(&program)?;
    let protocols: Vec<String> = match option(arguments, "--cc") {
        Some(names) => names.split(',').map(str::to_owned).collect(),
        None => listing.promising(),
    };
    let mut cells = Vec::new();
    for protocol in &protocols {
        cells.extend(cells_of(protocol, &settings::of(&listing, protocol)?, wanted));
    }
    if let Some(only) = option(arguments, "--workload") {
        cells.retain(|cell| cell.workload == only);
    }
    if self::sources(root, anyway)? != sources {
        return Err("crates/ has changed while it was built: begin again".into());
    }
    let past = fs::read_to_string(root.join(RECORDS)).unwrap_or_default();
    let done = done(&past, &sources);
    if arguments.iter().any(|argument| argument == "--status") {
        print!("{}", status(&cells, &done));
        return Ok(());
    }
    let left: Vec<&Cell> = cells.iter().filter(|cell| !done.contains_key(&key(cell))).collect();
    println!(
        "{} cells, {} of them on record for these sources",
        cells.len(),
        cells.len() - left.len()
    );
    let failed = explore_all(root, &program, &left, &sources)?;
    let past = fs::read_to_string(root.join(RECORDS)).unwrap_or_default();
    print!("{}", status(&cells, &self::done(&past, &sources)));
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("{} cells failed:\n{}", failed.len(), failed.join("\n")))
    }
}

/// Explores `cells` and records each. Returns the names of the cells that failed.
fn explore_all(
    root: &Path,
    program: &Path,
    cells: &[&Cell],
    sources: &str,
) -> Result<Vec<String>, String> {
    fs::create_dir_all(root.join("results/explore")).map_err(|error| error.to_string())?;
    let file = fs::OpenOptions::new().create(true).append(true).open(root.join(RECORDS));
    let file = Mutex::new(file.map_err(|error| format!("{RECORDS}: {error}"))?);
    let (next, failed, ended) = (Mutex::new(0), Mutex::new(Vec::new()), Mutex::new(None));
    let commit = explore::commit(root);
    let worker = || loop {
        let at = {
            let mut next = next.lock().expect("nobody panics with it");
            *next += 1;
            *next - 1
        };
        let Some(cell) = cells.get(at).filter(|_| ended.lock().expect("as above").is_none()) else {
            return;
        };
        let started = Instant::now();
        let outcome = explore_cell(program, cell);
        let seconds = started.elapsed().as_secs_f64();
        println!("{}/{}: {}: {}", at + 1, cells.len(), name(cell), outcome.in_short());
        if let Outcomes::Found(text) = &outcome {
            println!("{text}");
            failed.lock().expect("as above").push(name(cell));
        }
        let line = line(cell, &outcome, sources, (&commit, seconds));
        let written = file.lock().expect("as above").write_all(line.as_bytes());
        if let Err(error) = written {
            *ended.lock().expect("as above") = Some(format!("{RECORDS}: {error}"));
        }
    };
    thread::scope(|scope| (0..PROCESSES).for_each(|_| _ = scope.spawn(worker)));
    match ended.into_inner().expect("as above") {
        Some(error) => Err(error),
        None => Ok(failed.into_inner().expect("as above")),
    }
}

impl Outcomes {
    fn in_short(&self) -> &str {
        match self {
            Outcomes::Clean => "no violation",
            Outcomes::Refused(why) => why.lines().next().unwrap_or("refused"),
            Outcomes::Found(_) => "VIOLATION",
        }
    }
}

/// Returns the cells of a protocol, with its `wanted` schedules spread over them.
fn cells_of(protocol: &str, settings: &[Setting], wanted: u64) -> Vec<Cell> {
    let of_size = |size: usize| settings.iter().filter(move |s| s.len() == size);
    let sizes: Vec<usize> = (0..=2).filter(|size| of_size(*size).count() > 0).collect();
    let weights: u64 = WORKLOADS.iter().map(|(_, weight)| weight).sum();
    let (mut cells, mut first_seed) = (Vec::new(), 1);
    for size in &sizes {
        let share = wanted.div_ceil(sizes.len() as u64);
        let of_one = share.div_ceil(of_size(*size).count() as u64);
        for setting in of_size(*size) {
            for &(workload, weight) in WORKLOADS {
                // Every number of workers gets the same number of schedules.
                let each = (of_one * weight).div_ceil(weights).div_ceil(WORKERS.len() as u64);
                let schedules = each * WORKERS.len() as u64;
                let (protocol, setting) = (protocol.to_owned(), setting.clone());
                cells.push(Cell { protocol, workload, setting, first_seed, schedules });
                first_seed += schedules;
            }
        }
    }
    cells
}

fn explore_cell(program: &Path, cell: &Cell) -> Outcomes {
    let each = cell.schedules / WORKERS.len() as u64;
    for (number, workers) in WORKERS.iter().enumerate() {
        let mut done = 0;
        while done < each {
            let count = BATCH.min(each - done);
            let seed = cell.first_seed + number as u64 * each + done;
            let mut command = Command::new(program);
            command.arg("explore").args(cell.workload.split(' ')).args(["--cc", &cell.protocol]);
            command.args(cell.setting.arguments()).arg("--trace");
            command.args(["--workers", &workers.to_string(), "--seed", &seed.to_string()]);
            let output = match command.args(["--schedules", &count.to_string()]).output() {
                Ok(output) => output,
                Err(error) => return Outcomes::Found(format!("{}: {error}", program.display())),
            };
            let (said, error) = (&output.stdout, &output.stderr);
            let text = [String::from_utf8_lossy(said), String::from_utf8_lossy(error)].concat();
            match output.status.code() {
                Some(0) => {}
                // The command refused the setting before it ran anything.
                Some(2) => return Outcomes::Refused(text),
                _ => return Outcomes::Found(format!("{command:?}: {}\n{text}", output.status)),
            }
            done += count;
        }
    }
    Outcomes::Clean
}

fn line(cell: &Cell, outcome: &Outcomes, sources: &str, (commit, seconds): (&str, f64)) -> String {
    let rest = match outcome {
        Outcomes::Clean => String::new(),
        Outcomes::Refused(why) => {
            format!(", \"refused\": true, \"why\": {}", json::quoted(why.trim()))
        }
        Outcomes::Found(text) => format!(", \"found\": {}", json::quoted(text.trim())),
    };
    format!(
        "{{\"protocol\": {}, \"workload\": {}, \"setting\": {}, \"workers\": [2, 3, 4, 5, 6], \"first_seed\": {}, \
         \"schedules\": {}, \"violations\": {}, \"seconds\": {seconds:.1}, \"commit\": {}, \"sources\": {}{rest}}}\n",
        json::quoted(&cell.protocol),
        json::quoted(cell.workload),
        json::quoted(&cell.setting.to_string()),
        cell.first_seed,
        cell.schedules,
        u8::from(matches!(outcome, Outcomes::Found(_))),
        json::quoted(commit),
        json::quoted(sources),
    )
}

/// Identifies a cell on record.
type Key = (String, String, String, u64, u64);

fn key(cell: &Cell) -> Key {
    let (workload, setting) = (cell.workload.to_owned(), cell.setting.to_string());
    (cell.protocol.clone(), workload, setting, cell.first_seed, cell.schedules)
}

fn name(cell: &Cell) -> String {
    let setting = cell.setting.to_string();
    let with = if setting.is_empty() { "as usual" } else { &setting };
    format!("{} on {}, {with}, {} schedules", cell.protocol, cell.workload, cell.schedules)
}

/// Returns the cells on record for these sources in which nothing was found. The value is true if the cell was run,
/// false if the command refused it.
fn done(past: &str, sources: &str) -> BTreeMap<Key, bool> {
    let lines = past.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let clean = lines.filter(|line| line.sources == sources && line.violations == 0);
    let entry =
        |l: Line| ((l.protocol, l.workload, l.setting, l.first_seed, l.schedules), !l.refused);
    clean.map(entry).collect()
}

/// Returns a summary of the recorded and the wanted schedules, one line for each protocol.
fn status(cells: &[Cell], done: &BTreeMap<Key, bool>) -> String {
    let protocols: BTreeSet<&str> = cells.iter().map(|cell| cell.protocol.as_str()).collect();
    let mut text = String::new();
    for protocol in protocols {
        let of_it = || cells.iter().filter(|cell| cell.protocol == protocol);
        let sum = |ran: &dyn Fn(&Cell) -> bool| {
            of_it().filter(|c| ran(c)).map(|c| c.schedules).sum::<u64>()
        };
        let ran = |cell: &Cell| done.get(&key(cell)) == Some(&true);
        let refused = |cell: &Cell| done.get(&key(cell)) == Some(&false);
        let settings: BTreeSet<String> = of_it().map(|cell| cell.setting.to_string()).collect();
        let over: BTreeSet<String> =
            of_it().filter(|cell| ran(cell)).map(|cell| cell.setting.to_string()).collect();
        let workloads: Vec<String> = WORKLOADS
            .iter()
            .map(|(workload, _)| {
                let done = sum(&|cell| cell.workload == *workload && ran(cell));
                format!("{workload} {done}")
            })
            .collect();
        text += &format!(
            "{protocol}: {} of {} schedules, {} of {} settings, {} schedules refused; {}\n",
            sum(&ran),
            sum(&|_| true),
            over.len(),
            settings.len(),
            sum(&refused),
            workloads.join(", "),
        );
    }
    text
}

/// Returns git's name for the state of the sources.
fn sources(root: &Path, anyway: bool) -> Result<String, String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root).output();
        let output = output.map_err(|error| format!("git: {error}"))?;
        Ok::<String, String>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed = git(&["status", "--porcelain", "crates"])?;
    let sources = git(&["rev-parse", "--short=12", "HEAD:crates"])?;
    match (changed.is_empty(), anyway) {
        (true, _) => Ok(sources),
        (false, true) => Ok(format!("{sources}, changed")),
        (false, false) => {
            Err("crates/ has changes that are not committed, so the record could not say what was \
                               explored: commit them, or explore --anyway"
                .into())
        }
    }
}

/// Returns the settings of a protocol as text.
#[cfg(test)]
pub fn settings_of(listing: &Listing, protocol: &str) -> Vec<String> {
    let settings = settings::of(listing, protocol).expect("all values are known");
    settings.iter().map(Setting::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Vec<Setting> {
        let choice = |text: &str| Setting::of(&[text]);
        vec![Setting::of(&[]), choice("a=1"), choice("b=2"), Setting::of(&["a=1", "b=2"])]
    }

    #[test]
    fn schedules_are_spread_over_all_cells_and_seeds_are_not_used_twice() {
        let cells = cells_of("P", &settings(), 30_000);
        assert_eq!(cells.len(), 4 * WORKLOADS.len());
        let total: u64 = cells.iter().map(|cell| cell.schedules).sum();
        assert!((30_000..33_000).contains(&total), "{total}");
        let mut next = 1;
        for cell in &cells {
            assert_eq!(cell.first_seed, next);
            next += cell.schedules;
            assert!(cell.schedules.is_multiple_of(WORKERS.len() as u64));
        }
        let of = |at: usize| cells[at * WORKLOADS.len()].schedules;
        assert!(of(0) > of(1) && of(3) > of(1), "{} {} {}", of(0), of(1), of(3));
        // Without options there is one setting, which gets all schedules.
        let alone: u64 = cells_of("P", &settings()[..1], 1000).iter().map(|c| c.schedules).sum();
        assert!(alone >= 1000, "{alone}");
    }

    #[test]
    fn what_is_on_record_is_done_and_what_has_failed_is_not() {
        let cells = cells_of("P", &settings(), 1000);
        let record = |at: usize, outcome: Outcomes| line(&cells[at], &outcome, "abc", ("c", 1.0));
        let past = record(0, Outcomes::Clean)
            + &record(1, Outcomes::Found("a \"thing\"\nwent wrong".into()))
            + &record(2, Outcomes::Refused("P cannot".into()));
        let known = done(&past, "abc");
        assert_eq!(known.get(&key(&cells[0])), Some(&true));
        assert_eq!(known.get(&key(&cells[1])), None);
        assert_eq!(known.get(&key(&cells[2])), Some(&false));
        assert!(done(&past, "other sources").is_empty());
        let said = status(&cells, &known);
        assert!(said.starts_with(&format!("P: {} of ", cells[0].schedules)), "{said}");
        assert!(said.contains("1 of 4 settings"), "{said}");
    }
}
