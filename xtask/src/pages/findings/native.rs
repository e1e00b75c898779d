//! Findings on real processors.

use super::{Finding, of_chore};
use crate::pages::bars::{Bar, Bars};
use crate::pages::numbers::{median, per_cent, range, three};
use crate::pages::records::{Record, Results};

pub fn ycsb(results: &Results) -> Result<Finding, String> {
    let file = "native/ycsb-10M-half-theta0.6";
    let runs = results.records(&format!("{file}.json"))?;
    let bar = |name: &str, cores: usize| {
        let record = runs.find(name, cores)?;
        let sure = record.steady == Some(true);
        Some(Bar { value: record.throughput_txn_per_s / 1e3, sure })
    };
    let names = runs.protocols();
    let row = |name: &String| (name.clone(), vec![bar(name, 1), bar(name, 2)]);
    let chart = Bars {
        title: "YCSB on two real processors: half updates, theta 0.6, 10 million rows of 1 KB".into(),
        label: "thousand transactions a second".into(),
        series: vec!["1 thread".into(), "2 threads".into()],
        rows: names.iter().map(row).collect(),
        note: "Hollow: not known to be steady. HSTORE has one partition here. Its second thread waits, and fetches its rows meanwhile.".into(),
    };
    let rates = |cores: usize| {
        let rate = |r: &Record| r.throughput_txn_per_s / 1e3;
        let wanted =
            |r: &&Record| r.cores == cores && r.protocol != "NO_CC" && r.protocol != "HSTORE";
        range(runs.records.iter().filter(wanted).map(rate))
    };
    let ((low, high), (two_low, two_high)) = (rates(1), rates(2));
    let bound =
        |cores: usize| runs.get("NO_CC", cores).map(|r| three(r.throughput_txn_per_s / 1e3));
    Ok(Finding {
        title: format!(
            "On a real processor, a thread makes more than {} thousand YCSB transactions a second",
            (low / 100.0).floor() * 100.0
        ),
        text: format!(
            "With 16 accesses to 10 million rows and theta 0.6, one thread makes {} to {} thousand transactions a second, \
             depending on the protocol, and two threads {} to {} thousand (without HSTORE, which has one partition here). \
             Without concurrency control it is {} and {} thousand.",
            three(low),
            three(high),
            three(two_low),
            three(two_high),
            bound(1)?,
            bound(2)?
        ),
        files: vec![runs.file.clone()],
        command: of_chore(file)?,
        chart: "ycsb-native",
        svg: chart.draw(),
    })
}

pub fn neighbours(results: &Results) -> Result<Finding, String> {
    let file = "native/neighbours.json";
    let value = results.value(file)?;
    let rows = value["rows"].as_array().cloned().unwrap_or_default();
    let mut names: Vec<&str> = Vec::new();
    for name in rows.iter().filter_map(|row| row["protocol"].as_str()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let shares = |name: &str, when: &str| -> Vec<f64> {
        let of = rows.iter().filter(|row| row["protocol"] == name);
        of.filter_map(|row| row[when]["of_share"].as_f64()).collect()
    };
    let middle = |name: &str, when: &str| {
        Some(Bar { value: median(shares(name, when)) * 100.0, sure: true })
    };
    let row = |name: &&str| ((*name).to_owned(), vec![middle(name, "now"), middle(name, "before")]);
    let chart = Bars {
        title: "TPC-C beside two programs that compute without end".into(),
        label: "throughput, % of the fair share (median of 2, 4, 8 and 16 threads)".into(),
        series: vec!["waiting threads are woken".into(), "commit b36884a, where a wait polled".into()],
        rows: names.iter().map(row).collect(),
        note: "100 %: the threads' part of all threads that want the two processors, of the rate alone.".into(),
    };
    let kept = |wanted: &dyn Fn(&str) -> bool, when: &str| {
        let names = names.iter().filter(|name| wanted(name) && **name != "NO_CC");
        range(names.flat_map(|name| shares(name, when)))
    };
    let (least, most) = kept(&|name| name != "BAMBOO", "now");
    let (bamboo_least, bamboo_most) = kept(&|name| name == "BAMBOO", "now");
    let queued = ["DL_DETECT", "WOUND_WAIT", "PLOR", "HSTORE"];
    let (_, before) = kept(&|name| queued.contains(&name), "before");
    Ok(Finding {
        title: "Beside busy programs, transactions keep their share of the processors".into(),
        text: format!(
            "TPC-C on two processors with two other programs that never stop keeps {} to {} of its fair share under every \
             protocol but BAMBOO ({} to {}). When waits polled, {} kept at most {}.",
            per_cent(least),
            per_cent(most),
            per_cent(bamboo_least),
            per_cent(bamboo_most),
            queued.join(", "),
            per_cent(before)
        ),
        files: vec![file.into()],
        command: "cargo xtask neighbours --before PROGRAM".into(),
        chart: "neighbours",
        svg: chart.draw(),
    })
}
