//! Findings about how far the program can be trusted.

use super::Finding;
use crate::pages::lines::{Axis, Lines, Point, Scale, Series};
use crate::pages::numbers::{grouped, quantile, three};
use crate::pages::records::Results;
use serde_json::Value;

/// Returns ln(simulated / measured) of the rows that are scored, after the fitted scale.
pub fn errors(outcome: &Value) -> Vec<f64> {
    let rows = outcome["rows"].as_array().cloned().unwrap_or_default();
    let scored = rows.iter().filter(|row| row["measured"]["split"] != "anchor");
    scored.filter_map(|row| row["ln_error"].as_f64()).map(f64::abs).collect()
}

pub fn hardware(results: &Results) -> Result<Finding, String> {
    let file = "validate/outcome.json";
    let outcome = results.value(file)?;
    let series = |scheme: &str| {
        let rows = outcome["rows"].as_array().into_iter().flatten();
        let point = |row: &Value| {
            let (x, y) = (
                row["measured"]["throughput_txn_per_s"].as_f64()?,
                row["simulated_txn_per_s"].as_f64()?,
            );
            Some(Point { x: x / 1e6, y: y / 1e6, sure: row["steady"] == true })
        };
        let of = rows.filter(|row| {
            row["measured"]["scheme"] == scheme && row["measured"]["split"] != "anchor"
        });
        Series { name: scheme.into(), points: of.filter_map(point).collect(), baseline: false }
    };
    let chart = Lines {
        title: "TPC-C on two large machines: simulated against measured, 1 to 1568 threads".into(),
        x: Axis::new("measured, million transactions a second", Scale::Log),
        y: Axis::new("simulated, million transactions a second", Scale::Log),
        series: ["SILO", "OCC", "MVCC", "HSTORE", "NO_WAIT", "WAIT_DIE"].map(series).to_vec(),
        scatter: true,
        note:
            "On the dashed line both are equal. Hollow: the simulation is not known to be steady."
                .into(),
    };
    let errors = errors(&outcome);
    let factor = |q: f64| quantile(errors.iter().copied(), q).exp();
    Ok(Finding {
        title: format!("The simulator is off by a factor of {:.1} in the median", factor(0.5)),
        text: format!(
            "Over {} measured rows of TPC-C on a Superdome Flex and a Power E980, the simulated throughput is off by a factor of {} in \
             the median and {} at the 90th percentile, either way, after one constant was fitted for each. [validate]\
             (validate/README.md) says why.",
            errors.len(),
            three(factor(0.5)),
            three(factor(0.9))
        ),
        files: vec![file.into()],
        command: "kilocore validate --quick --only opt7,opt8,optimised,numa".into(),
        chart: "validate",
        svg: chart.draw(),
    })
}

pub fn bugs(results: &Results) -> Result<Finding, String> {
    let bugs = results.lines("mutants.jsonl")?;
    let mut seeds: Vec<u64> = bugs.iter().filter_map(|bug| bug["seed"].as_u64()).collect();
    seeds.sort_unstable();
    let point =
        |(at, seed): (usize, &u64)| Point { x: *seed as f64, y: at as f64 + 1.0, sure: true };
    let found = seeds.iter().enumerate().map(point).collect();
    let chart = Lines {
        title: "Planted bugs that exploration has found".into(),
        x: Axis::new("schedules explored", Scale::Log),
        y: Axis::new("planted bugs found", Scale::Linear),
        series: vec![Series { name: "planted bugs".into(), points: found, baseline: false }],
        scatter: false,
        note: format!("{} bugs are planted, each in one protocol or part.", bugs.len()),
    };
    let breadth = results.lines("explore/breadth.jsonl")?;
    let sum = |field: &str| breadth.iter().filter_map(|line| line[field].as_u64()).sum::<u64>();
    let soon = seeds.iter().filter(|seed| **seed <= 2300).count();
    Ok(Finding {
        title: "Exploration finds every planted bug".into(),
        text: format!(
            "All {} planted bugs are found, {soon} of them within 2,300 schedules. {} schedules without planted bugs \
             ([table](tables/checks.md)) met {}.",
            seeds.len(),
            grouped(sum("schedules")),
            match sum("violations") {
                0 => "no violation".to_owned(),
                1 => "one violation".to_owned(),
                several => format!("{several} violations"),
            },
        ),
        files: vec!["mutants.jsonl".into(), "explore/breadth.jsonl".into()],
        command: "cargo xtask mutants` and `cargo xtask breadth".into(),
        chart: "planted-bugs",
        svg: chart.draw(),
    })
}
