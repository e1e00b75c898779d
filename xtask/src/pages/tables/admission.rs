//! Writes the table of what is left of the peak under contention, with and without a limit on the number of transactions.

use super::{Column, latency, table};
use crate::pages::numbers::three;
use crate::pages::records::{Record, Results, Runs};
use crate::results::{CONTENDED, Contended, command};

const INTRODUCTION: &str = "\
# What is left of the peak

The *peak* is the highest throughput without a limit, among runs that are steady if there are any. All numbers of cores are on the same
machine: `chip1024` is the chip of 1024 tiles, of which `--cores` uses some. A cell is the throughput as a share of the peak, in
percent. *Off* is without a limit, *on* is `--admission adaptive`. The latency counts from the begin of the wait for a permit: p50 /
p99.9 in µs, then the longest known, in ms, of those that committed and of those in flight. A `≥` marks a latency of which only a
lower bound is known. Runs without a limit on the whole machine are short and flatter, because a collapse takes longer to develop than
they last. The regulator searches during the warm-up. Fewer cores than those of the peak cannot reach it. A peak on 256 cores of `chip1024` is at
the end of what was measured, so it can be too low.

On the Superdome Flex the pages lie on all sockets that the cores are on. So the peak of 14 to 56 cores has all its memory near, and
896 cores on 16 sockets cannot reach it, whatever the limit.

";

/// Returns the page.
pub fn page(results: &Results) -> Result<String, String> {
    let mut text = INTRODUCTION.to_owned();
    for work in &CONTENDED {
        text += &section(results, work)?;
    }
    Ok(text)
}

/// Returns the section of one work.
fn section(results: &Results, work: &Contended) -> Result<String, String> {
    let files = work.files();
    let [off, most, on] = files.each_ref().map(|file| results.records(&format!("{file}.json")));
    let (off, on) = (off?.and(most?), on?);
    let mut text = format!("## {}\n\n{}\n\n{}", work.title, kept(&off, &on), shares(&off, &on));
    for file in files {
        let measured = command(&file).ok_or_else(|| format!("no measurement makes {file}"))?;
        text += &format!("- [`{file}.json`](../{file}.json), by `{measured}`\n");
    }
    text += &format!("\nCommit {}.\n\n", commits(&[off, on]));
    Ok(text)
}

/// Returns the commits of the records, in short form.
fn commits(runs: &[Runs]) -> String {
    let all = runs.iter().flat_map(|runs| &runs.records);
    let mut commits: Vec<String> = all.map(|r| r.commit.chars().take(7).collect()).collect();
    commits.sort();
    commits.dedup();
    commits.join(", ")
}

/// Returns the highest throughput of a protocol among runs without marks, or among all if each has a mark.
fn peak<'a>(off: &'a Runs, name: &str) -> Option<&'a Record> {
    let of = off.records.iter().filter(|record| record.protocol == name);
    of.max_by(|a, b| {
        let known = |record: &Record| record.marks().is_empty();
        let throughput = a.throughput_txn_per_s.total_cmp(&b.throughput_txn_per_s);
        known(a).cmp(&known(b)).then(throughput)
    })
}

/// Returns a sentence on how many protocols keep their peak at each number of cores, with a limit.
fn kept(off: &Runs, on: &Runs) -> String {
    let protocols = on.protocols();
    let keeps = |cores: usize, share: f64| {
        let keeps = |name: &&String| match (on.find(name, cores), peak(off, name)) {
            (Some(record), Some(peak)) => {
                record.throughput_txn_per_s >= share * peak.throughput_txn_per_s
            }
            _ => false,
        };
        protocols.iter().filter(keeps).count()
    };
    let parts: Vec<String> = on
        .cores()
        .into_iter()
        .map(|cores| format!("{} and {} at {cores}", keeps(cores, 0.95), keeps(cores, 0.85)))
        .collect();
    format!(
        "With a limit, the protocols that keep at least 95 % and 85 % of their peak are, of {}: {} cores.",
        protocols.len(),
        parts.join(", "),
    )
}

/// Returns the table of one work.
fn shares(off: &Runs, on: &Runs) -> String {
    let share = |name: &str, record: Option<&Record>| match (record, peak(off, name)) {
        (Some(record), Some(peak)) => {
            let share = record.throughput_txn_per_s / peak.throughput_txn_per_s;
            format!("{}{:.0}", record.marks(), 100.0 * share)
        }
        _ => String::new(),
    };
    let most = on.cores().into_iter().max().unwrap_or(0);
    let mut columns = vec![
        Column::new("peak, thousand txn/s", |name: &str| {
            peak(off, name).map_or(String::new(), |record| {
                format!("{} on {} cores", three(record.throughput_txn_per_s / 1e3), record.cores)
            })
        }),
        Column::new(format!("{most} off"), move |name: &str| share(name, off.find(name, most))),
    ];
    for cores in on.cores() {
        columns.push(Column::new(format!("{cores} on"), move |name: &str| {
            share(name, on.find(name, cores))
        }));
    }
    columns.push(Column::new(format!("limit at {most}"), move |name: &str| {
        let admission = on.find(name, most).and_then(|record| record.admission.as_ref());
        let limits = admission.map(|admission| &admission.limits_at_end);
        limits.and_then(|all| all.first()).map_or(String::new(), u64::to_string)
    }));
    columns.push(Column::new(format!("latency at {most}"), move |name: &str| {
        told(on.find(name, most))
    }));
    table("", &on.protocols(), &columns)
}

/// Returns p50 and p99.9 in microseconds, and the longest known latency in milliseconds.
fn told(record: Option<&Record>) -> String {
    let Some(record) = record else { return String::new() };
    let all = latency(Some(record));
    let parts: Vec<&str> = all.split(" / ").collect();
    let in_flight = record.in_flight.as_ref().map_or(0.0, |in_flight| in_flight.oldest_ns);
    let longest = record.latency_ns.max.unwrap_or(0.0).max(in_flight);
    format!("{} / {}; {}", parts[0], parts[2], three(longest / 1e6))
}
