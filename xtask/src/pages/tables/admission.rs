//! Writes the table of what is left of the peak under contention, with and without a limit on the number of transactions.

use super::{Column, latency, table};
use crate::pages::numbers::three;
use crate::pages::records::{Record, Results, Runs};

/// The measured work: its file, a title, and its options.
const WORK: [(&str, &str, &str); 6] = [
    ("ycsb-theta0.6", "YCSB, theta 0.6", "ycsb --theta 0.6 --read-ratio 0.5 --machine graphite"),
    ("ycsb-theta0.8", "YCSB, theta 0.8", "ycsb --theta 0.8 --read-ratio 0.5 --machine graphite"),
    (
        "ycsb-theta0.8-chip1024",
        "YCSB, theta 0.8, the peak on 1024 tiles (`chip1024`)",
        "ycsb --theta 0.8 --read-ratio 0.5 --machine results/admission/chip1024.toml",
    ),
    ("ycsb-theta0.9", "YCSB, theta 0.9", "ycsb --theta 0.9 --read-ratio 0.5 --machine graphite"),
    (
        "smallbank-hot",
        "SmallBank, 90 % of the transactions for 100 hot accounts",
        "smallbank --hot-accounts 100 --hot-share 0.9 --machine graphite",
    ),
    (
        "tpcc-4wh",
        "TPC-C, 4 warehouses, New-Order and Payment",
        "tpcc --warehouses 4 --mix narrow --machine graphite",
    ),
];

const INTRODUCTION: &str = "\
# What is left of the peak

The *peak* is the highest throughput without a limit, over the measured numbers of cores. A cell is the throughput as a share of
it, in percent. *Off* is without a limit, *on* is `--admission adaptive`. The latency counts from the begin of the wait for a permit:
p50 / p99.9 in µs, then the longest known, in ms, of those that committed and of those in flight. A `≥` marks a latency of which only
a lower bound is known. Records without a limit on many cores are short and flatter: a collapse takes longer to develop than
they last. So the peak of SILO at theta 0.8 is too high: after 0.2 seconds it has 556 thousand transactions a second.

On `graphite` a number of cores is a chip with as many tiles. On the large chip the ways are longer, and a transaction takes about 15 %
longer, alone too. So a peak of few cores cannot be reached on 1024 tiles with the same number of transactions. The table of
`chip1024` has the peak of 16 to 64 cores on the 1024 tiles themselves.

The regulator searches during the warm-up, of 0.15 to 0.5 simulated seconds. Where a cell is empty, no such run ended within 100
seconds, or none was measured. Where there are many permits, the search is not over after 0.25 seconds: MVCC at theta 0.6 has 1.49
million transactions a second, 91 % of the peak, after a warm-up of 0.6 seconds. SmallBank under HEKATON, SNAPSHOT and SSN
used to keep 19 to 51 % of its peak. The [diary](../diary.md) says why (*Who queues for a latch comes too late*).

";

/// Returns the page.
pub fn page(results: &Results) -> Result<String, String> {
    let mut text = INTRODUCTION.to_owned();
    for (file, title, command) in WORK {
        let runs = results.records(&format!("admission/{file}.json"))?;
        text += &format!("## {title}\n\n{}", shares(&runs));
        let mut commits: Vec<String> =
            runs.records.iter().map(|r| r.commit.chars().take(7).collect()).collect();
        commits.sort();
        commits.dedup();
        let commit = commits.join(", ");
        text += &format!(
            "[`admission/{file}.json`](../admission/{file}.json), by `kilocore run {command}` with `--admission off` and \
             `adaptive`, commit {commit}.\n\n"
        );
    }
    Ok(text)
}

fn is_limited(record: &Record) -> bool {
    record.admission.is_some()
}

/// Returns the table of one file.
fn shares(runs: &Runs) -> String {
    let (off, on) = (runs.only(|r| !is_limited(r)), runs.only(is_limited));
    let peak = |name: &str| -> Option<&Record> {
        let of = off.records.iter().filter(|record| record.protocol == name);
        of.max_by(|a, b| a.throughput_txn_per_s.total_cmp(&b.throughput_txn_per_s))
    };
    let share = |name: &str, record: Option<&Record>| match (record, peak(name)) {
        (Some(record), Some(peak)) => {
            let share = record.throughput_txn_per_s / peak.throughput_txn_per_s;
            format!("{}{:.0}", record.marks(), 100.0 * share)
        }
        _ => String::new(),
    };
    let mut columns = vec![Column::new("peak, thousand txn/s", |name: &str| {
        peak(name).map_or(String::new(), |record| {
            format!("{} on {} cores", three(record.throughput_txn_per_s / 1e3), record.cores)
        })
    })];
    for cores in on.cores() {
        let (off, on) = (off.clone(), on.clone());
        columns.push(Column::new(format!("{cores} off"), {
            move |name: &str| share(name, off.find(name, cores))
        }));
        let limited = on.clone();
        columns.push(Column::new(format!("{cores} on"), move |name: &str| {
            share(name, limited.find(name, cores))
        }));
        columns.push(Column::new("limit", {
            let on = on.clone();
            move |name: &str| {
                let admission = on.find(name, cores).and_then(|record| record.admission.as_ref());
                let limits = admission.map(|admission| &admission.limits_at_end);
                limits.and_then(|all| all.first()).map_or(String::new(), u64::to_string)
            }
        }));
        columns.push(Column::new("latency on", move |name: &str| told(on.find(name, cores))));
    }
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
