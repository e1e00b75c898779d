//! Figures 5b, 6 and 7: the full schema, and inserts.

use super::fig04::{CLOCK, ratios, two};
use super::*;

/// Builds with 1024 warehouses, as groups of series.
const SCHEMA: &str = "hw-clock+full-schema";
const INSERTS: &str = "hw-clock+full-schema+inserts";

pub(super) const FIGURE_5B: Figure = Figure {
    paper: "full-story",
    number: "5b",
    title: "Hardware clock, full schema: where time goes",
    section: "3.2.2",
    machine: FLEX,
    remarks: &[NARROW_BARS],
    x: CORES,
    series: |effort| two(effort, (CLOCK, &EIGHT), SCHEMA),
    panels: &[
        Panel::new("1 core", SCHEMA, Kind::Bars { x: 1.0 }),
        Panel::new("56 cores", SCHEMA, Kind::Bars { x: 56.0 }),
        Panel::new("112 cores", SCHEMA, Kind::Bars { x: 112.0 }),
    ],
    checks: &[Check {
        statement: "The full schema increases the useful work of HSTORE and of the pessimistic schemes on few cores",
        section: "3.2.2",
        ours: "on 28 cores, against figure 5a",
        judge: |data| {
            let mut finding = Finding::default();
            for name in ["HSTORE", "DL_DETECT", "WAIT_DIE", "NO_WAIT"] {
                let of = |group| data.group(group).share(name, 28.0, &[Category::Useful]);
                let (small, full) = (of(CLOCK)?, of(SCHEMA)?);
                let saw = format!("{name} {} to {}", percent(small), percent(full));
                finding = finding.and(full > small, saw);
            }
            Ok(finding)
        },
    }],
};

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "6",
    title: "The full schema, 1024 warehouses",
    section: "3.2.2",
    machine: FLEX,
    remarks: &[],
    x: CORES,
    series: |effort| two(effort, (CLOCK, &EIGHT), SCHEMA),
    panels: &[
        lines("Full schema", SCHEMA, Measure::Throughput),
        against("Full schema to small schema", SCHEMA, CLOCK, RATIO, Scale::Log),
    ],
    checks: &[
        Check {
            statement: "HSTORE, SILO and TICTOC are slower with the full schema: 0.2 to 0.6, 0.3 to 0.5 and 0.2 to 0.5 times",
            section: "3.2.2",
            ours: "0.15 to 0.7",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["HSTORE", "SILO", "TICTOC"] {
                    for x in data.group(CLOCK).places(name, |_| true)? {
                        let full = data.group(SCHEMA).throughput(name, x)?;
                        let ratio = full / data.group(CLOCK).throughput(name, x)?.max(1.0);
                        let good = (0.15..=0.7).contains(&ratio);
                        finding = finding.and(good, format!("{name} {ratio:.2} on {x}"));
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "MVCC is slower inside a socket: 0.5 to 0.6 times up to 56 cores",
            section: "3.2.2",
            ours: "0.4 to 0.75",
            judge: |data| ratios(*data, "MVCC", (SCHEMA, CLOCK), |x| x <= 56.0, (0.4, 0.75)),
        },
        Check {
            statement: "MVCC breaks even on 112 cores and is faster beyond: up to 9.3 times",
            section: "3.2.2",
            ours: "0.8 to 11 times",
            judge: |data| ratios(*data, "MVCC", (SCHEMA, CLOCK), |x| x >= 112.0, (0.8, 11.0)),
        },
        Check {
            statement: "OCC is slower on one core only: 0.8 times, and 2.1 to 14.9 times otherwise",
            section: "3.2.2",
            ours: "below 1, and above 1.5",
            judge: |data| {
                let own = |group| data.group(group).throughput("OCC", 1.0);
                let one = own(SCHEMA)? / own(CLOCK)?.max(1.0);
                let rest =
                    ratios(*data, "OCC", (SCHEMA, CLOCK), |x| x > 1.0, (1.5, f64::INFINITY))?;
                Ok(rest.and(one < 1.0, format!("{one:.2} on 1")))
            },
        },
    ],
};

pub(super) const FIGURE_7: Figure = Figure {
    paper: "full-story",
    number: "7",
    title: "Inserts, 1024 warehouses",
    section: "3.2.3",
    machine: FLEX,
    remarks: &[],
    x: CORES,
    series: |effort| two(effort, (SCHEMA, &EIGHT), INSERTS),
    panels: &[
        lines("With inserts", INSERTS, Measure::Throughput),
        against("With inserts to without", INSERTS, SCHEMA, RATIO, Scale::Log),
    ],
    checks: &[
        Check {
            statement: "Inserts drastically reduce the throughput of all schemes",
            section: "3.2.3",
            ours: "on 56 cores below 0.5 of that without",
            judge: |data| {
                let mut finding = Finding::default();
                for name in EIGHT {
                    let own = |group| data.group(group).throughput(name, 56.0);
                    let ratio = own(INSERTS)? / own(SCHEMA)?.max(1.0);
                    finding = finding.and(ratio < 0.5, format!("{name} {ratio:.2}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "With inserts all schemes perform alike, and degrade heavily at the boundary of the socket (56 cores)",
            section: "3.2.3",
            ours: "on 112 cores the best has at most 3 times the worst, and each has less than on 56",
            judge: |data| {
                let data = data.group(INSERTS);
                let ranks = ranked(data, &EIGHT, 112.0)?;
                let times = ranks[0].1 / ranks[ranks.len() - 1].1.max(1.0);
                let mut finding = Finding::of(times <= 3.0, format!("{times:.1} times apart"));
                for name in EIGHT {
                    let left = gain(data, name, 56.0, 112.0)?;
                    finding = finding.and(left < 1.0, format!("{name} {left:.2} of 56 cores"));
                }
                Ok(finding)
            },
        },
    ],
};
