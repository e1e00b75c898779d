//! Writes the table of Kilocore beside other embedded engines.

use super::{Column, table};
use crate::pages::numbers::{grouped, median, range, three};
use crate::pages::records::Results;
use serde_json::Value;

const FILE: &str = "comparisons.json";

/// Engine to which the others are set in relation. Tables of the other engines are ordered, so this one's is too.
const BASE: &str = "kilocore ordered";

const WHAT_OTHERS_DO: &str = "\
What the others do and Kilocore does not:

- redb and fjall keep data on disk, survive a crash, and hold more data than memory. Here both are kept in memory, which is
  not what they are made for: they still pay for pages, checksums, blocks or a journal.
- surrealmx is made for memory, and it can log its writes and write snapshots to disk. A read of one key needs no transaction
  there.
- A transaction that only reads sees one snapshot in all three, and no writer makes it run again. Under Kilocore's default
  protocol it is validated at its end, and it can run again.

What Kilocore does and the others do not: rows of named columns that can be NULL, secondary indexes that every write keeps and
that can be unique, and a choice of protocols.

";

const HOW: &str = "\
- *update a string*, *read a string*: byte strings of 20 to 2,000 bytes, with uniformly distributed lengths, so that an
  update changes the length of its row.
- *insert a number*: keys spread over all 64-bit integers. `insert` of Kilocore and redb and `put` of surrealmx look
  whether the key exists. fjall's `insert` does not.
- *read and write 4 numbers*: reads four random rows, adds one to each, and writes them. The sum of all rows is checked
  afterwards, so a lost update would show.
- Keys are chosen uniformly. Every value that is read is compared with the expected one, strings byte by byte.
- Rows are loaded in key order, 1,000 a transaction, before the measurement. Conflicts run again at once, and are counted. redb has
  one writer at a time, so it has none.
- Each run is a process of its own, which loads, warms up and measures with 1, 2, 4 and 8 threads, one after the other. The
  engines take turns. A table that inserts have made larger stays larger for the next number of threads, so a faster engine has
  the larger table.
- All programs use the system's allocator and cargo's default release profile.

";

/// Number of processors that other programs can take during a run that counts.
const QUIET: f64 = 0.2;

/// Columns of memory, with the fields that are added up.
const MEMORY: [(&str, &[&str]); 2] =
    [("process and files", &["resident_bytes", "file_bytes"]), ("own number", &["own_bytes"])];

/// The records of the comparison.
struct Comparison {
    value: Value,
}

/// Returns the page.
pub fn page(results: &Results) -> Result<String, String> {
    let comparison = Comparison { value: results.value(FILE)? };
    let mut text = String::from("# Kilocore beside redb, fjall and surrealmx\n\n");
    text += &comparison.about()?;
    text += WHAT_OTHERS_DO;
    text += &comparison.summary()?;
    text += "## Throughput\n\n";
    text += HOW;
    for workload in comparison.names("runs", "workload") {
        text += &comparison.workload(&workload)?;
    }
    text += &comparison.memory()?;
    text += &comparison.builds()?;
    Ok(text)
}

/// Returns the numbers of a list.
fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

impl Comparison {
    fn rows(&self, part: &str) -> &[Value] {
        self.value[part].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the distinct texts of a field, in the order of the file.
    fn names(&self, part: &str, field: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.rows(part).iter().filter_map(|row| row[field].as_str()) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Returns the engines that were run. Those whose names begin with the same word stand together.
    fn engines(&self) -> Vec<String> {
        let names = self.names("runs", "engine");
        let first = |name: &String| name.split(' ').next().unwrap_or_default().to_owned();
        let mut sorted = names.clone();
        sorted.sort_by_key(|name| names.iter().position(|other| first(other) == first(name)));
        sorted
    }

    fn threads(&self) -> Vec<u64> {
        let mut threads: Vec<u64> =
            self.rows("runs").iter().filter_map(|row| row["threads"].as_u64()).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// Returns the row of a workload, an engine and a number of threads.
    fn run(&self, workload: &str, engine: &str, threads: u64) -> Option<&Value> {
        self.rows("runs").iter().find(|row| {
            row["workload"] == workload && row["engine"] == engine && row["threads"] == threads
        })
    }

    /// Returns the transactions a second of all runs, and whether each was quiet.
    fn all_rates(&self, workload: &str, engine: &str, threads: u64) -> Option<Vec<(f64, bool)>> {
        let row = self.run(workload, engine, threads)?;
        let (commits, seconds) = (numbers(&row["commits"]), numbers(&row["seconds"]));
        let rates = commits.iter().zip(&seconds).map(|(commits, seconds)| commits / seconds);
        let quiet = numbers(&row["others"]).into_iter().map(|others| others <= QUIET);
        Some(rates.zip(quiet).collect())
    }

    /// Returns the transactions a second of the quiet runs, or of all if no run was quiet.
    fn rates(&self, workload: &str, engine: &str, threads: u64) -> Option<Vec<f64>> {
        let all = self.all_rates(workload, engine, threads)?;
        let some = all.iter().any(|(_, quiet)| *quiet);
        Some(all.iter().filter(|(_, quiet)| *quiet || !some).map(|(rate, _)| *rate).collect())
    }

    /// Returns an engine's rate in relation to the base's.
    fn ratio(&self, workload: &str, engine: &str, threads: u64) -> Option<f64> {
        let base = median(self.rates(workload, BASE, threads)?);
        Some(median(self.rates(workload, engine, threads)?) / base)
    }

    fn about(&self) -> Result<String, String> {
        let version = |name: &str| self.value["versions"][name].as_str().unwrap_or("?").to_owned();
        let about = &self.value["runs_about"];
        let extent = &self.value["extent"];
        let runs = numbers(&self.rows("runs").first().ok_or("no runs")?["commits"]).len();
        let others = || self.rows("runs").iter().flat_map(|row| numbers(&row["others"]));
        let counts: Vec<f64> = self
            .rows("runs")
            .iter()
            .map(|row| numbers(&row["others"]).iter().filter(|o| **o <= QUIET).count() as f64)
            .collect();
        let noisy = counts.iter().filter(|count| **count == 0.0).count();
        let (fewest, most) = range(counts.iter().copied().filter(|count| *count > 0.0));
        let engines = self.engines();
        let how: String = engines
            .iter()
            .map(|name| {
                let how = self.value["engines"][name].as_str().unwrap_or_default();
                format!("- *{name}*: {how}.\n")
            })
            .collect();
        Ok(format!(
            "[`{FILE}`](../{FILE}), by the program in [comparisons](../../comparisons/README.md): redb {}, fjall {}, surrealmx \
             {} and Kilocore at commit {}, compiled by rustc {}, on {}. All data are in memory, and nothing is durable. {} \
             rows of numbers (8-byte keys, 8-byte values) or {} rows of strings. {runs} runs of {} s after {} s of warm-up, \
             of which those count in which other programs took at most {QUIET} of the 2 processors: {fewest} to {most} runs in \
             each place, {} in the median. In {noisy} places no run was quiet, and all count. The tables have medians, and ± \
             half of the difference between the fastest and the slowest of these runs if there are several. The load average before was {}, and \
             other programs took {} processors in the median of all runs: the machine was shared. It has 2 \
             virtual cores, so 4 and 8 threads show how an engine bears more threads than cores, not how it scales.\n\n{how}\n",
            version("redb"),
            version("fjall"),
            version("surrealmx"),
            about["commit"].as_str().unwrap_or("?"),
            version("rustc"),
            self.value["machine"].as_str().unwrap_or("?"),
            grouped(extent["rows_of_numbers"].as_u64().unwrap_or(0)),
            grouped(extent["rows_of_strings"].as_u64().unwrap_or(0)),
            extent["measured_seconds"],
            extent["warm_up_seconds"],
            three(median(counts.iter().copied())),
            numbers(&about["load_before"]).first().copied().unwrap_or(f64::NAN),
            three(median(others())),
        ))
    }

    /// Returns the table of ratios with two threads.
    fn summary(&self) -> Result<String, String> {
        let workloads = self.names("runs", "workload");
        let columns: Vec<Column<'_>> = self
            .engines()
            .into_iter()
            .filter(|engine| engine != BASE)
            .map(|engine| {
                Column::new(engine.clone(), move |workload: &str| {
                    self.ratio(workload, &engine, 2).map_or(String::new(), times)
                })
            })
            .collect();
        Ok(format!(
            "## Ratios\n\nTransactions a second with 2 threads, divided by those of *{BASE}*. Bold: faster than *{BASE}*.\n\n{}",
            table("", &workloads, &columns)
        ))
    }

    fn workload(&self, workload: &str) -> Result<String, String> {
        let engines: Vec<String> = self
            .engines()
            .into_iter()
            .filter(|engine| self.run(workload, engine, 1).is_some())
            .collect();
        let mut columns = Vec::new();
        for threads in self.threads() {
            let plural = if threads == 1 { "" } else { "s" };
            let title = format!("{threads} thread{plural}, thousands/s");
            columns.push(Column::new(title, move |engine: &str| {
                let rates = self.rates(workload, engine, threads).unwrap_or_default();
                let (low, high) = range(rates.iter().copied());
                let runs = rates.len();
                let middle = median(rates);
                let spread = match runs {
                    1 => String::new(),
                    _ => format!(" ±{:.0} %", (high - low) / 2.0 / middle * 100.0),
                };
                let ratio = self.ratio(workload, engine, threads).unwrap_or(f64::NAN);
                let ratio =
                    if engine == BASE { String::new() } else { format!(", {}", times(ratio)) };
                format!("{}{spread}{ratio}", three(middle / 1e3))
            }));
        }
        let most = *self.threads().last().ok_or("no threads")?;
        let title = format!("retries a 1,000 commits, {most} threads");
        columns.push(Column::new(title, move |engine: &str| {
            let row = self.run(workload, engine, most);
            let sum = |field: &str| row.map_or(0.0, |row| numbers(&row[field]).iter().sum());
            three(sum("retries") / sum("commits") * 1e3)
        }));
        Ok(format!("### {workload}\n\n{}", table("", &engines, &columns)))
    }

    fn memory(&self) -> Result<String, String> {
        let mut columns = Vec::new();
        for shape in self.names("memory", "table") {
            for (title, fields) in MEMORY {
                let (title, shape) = (format!("{shape}: {title}"), shape.clone());
                columns.push(Column::new(title, move |engine: &str| {
                    let here = |row: &&Value| row["engine"] == engine && row["table"] == *shape;
                    let row = self.rows("memory").iter().find(here);
                    row.map_or(String::new(), |row| {
                        let sum: f64 = fields.iter().filter_map(|field| row[field].as_f64()).sum();
                        three(sum / row["rows"].as_f64().unwrap_or(f64::NAN))
                    })
                }));
            }
        }
        let engines = self.names("memory", "engine");
        let what: String = engines
            .iter()
            .filter_map(|name| {
                let row = self.rows("memory").iter().find(|row| row["engine"] == **name)?;
                Some(format!("- *{name}*: {}.\n", row["own"].as_str()?))
            })
            .collect();
        Ok(format!(
            "## Memory\n\nBytes a row after loading {} rows with 8-byte keys in the order of their keys (the best case for pages), and 3 s of rest: growth of the process's resident \
             memory plus files in memory, and the number that the engine itself reports.\n\n{}The own number is:\n\n{what}\n",
            grouped(self.rows("memory").first().and_then(|row| row["rows"].as_u64()).unwrap_or(0)),
            table("", &engines, &columns),
        ))
    }

    fn builds(&self) -> Result<String, String> {
        let engines = self.names("builds", "engine");
        let row = |engine: &str| self.rows("builds").iter().find(|row| row["engine"] == engine);
        let seconds = |field: &'static str| {
            move |engine: &str| {
                row(engine).map_or(String::new(), |row| three(median(numbers(&row[field]))))
            }
        };
        let number = |field: &'static str, unit: f64| {
            move |engine: &str| {
                let value = row(engine).and_then(|row| row[field].as_f64());
                value.map_or(String::new(), |value| three(value / unit))
            }
        };
        let columns = [
            Column::new("wall seconds", seconds("wall_seconds")),
            Column::new("processor seconds", seconds("cpu_seconds")),
            Column::new("crates", number("crates", 1.0)),
            Column::new("program, kB", number("program_bytes", 1e3)),
        ];
        let load = numbers(&self.value["builds_about"]["load_before"]);
        let builds =
            self.rows("builds").first().map_or(0, |row| numbers(&row["wall_seconds"]).len());
        Ok(format!(
            "## Compile time\n\n`cargo build --release` of a program of ten lines, with all dependencies, from nothing, on 2 \
             cores: the median of {builds} builds, in turn, with a load average of {} before. The program is stripped. *one protocol* \
             sets `KILOCORE_PROTOCOLS=SILO`.\n\n{}",
            load.first().copied().unwrap_or(f64::NAN),
            table("", &engines, &columns),
        ))
    }
}

/// Returns a ratio, in bold if it is above one.
fn times(ratio: f64) -> String {
    let text = format!("{}×", three(ratio));
    if ratio > 1.0 { format!("**{text}**") } else { text }
}
