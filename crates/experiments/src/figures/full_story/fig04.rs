//! Figures 4 and 5a: timestamps from the hardware clock.

use super::fig02::{SIX, build, without_conflict};
use super::*;

/// Builds with 1024 warehouses, as groups of series.
pub(super) const ATOMIC: &str = "original";
pub(super) const CLOCK: &str = "hw-clock";

/// Returns the runs of two builds.
pub(super) fn two(
    effort: Effort,
    before: (&'static str, &[&'static str]),
    after: &'static str,
) -> Vec<Series> {
    let cores = without_conflict(effort);
    let mut all = by_cores(before.0, before.1, cores, build(before.0, 1024));
    all.extend(by_cores(after, &EIGHT, cores, build(after, 1024)));
    all
}

/// Returns whether the ratios of a scheme between two builds are in a range, at the places that `wanted` accepts.
pub(super) fn ratios(
    data: Data<'_>,
    name: &str,
    (after, before): (&'static str, &'static str),
    wanted: fn(f64) -> bool,
    (low, high): (f64, f64),
) -> Judgement {
    let (after, before) = (data.group(after), data.group(before));
    let mut finding = Finding::default();
    for x in before.places(name, wanted)? {
        let ratio = after.throughput(name, x)? / before.throughput(name, x)?.max(1.0);
        let good = (low..=high).contains(&ratio);
        finding = finding.and(good, format!("{name} {ratio:.2} on {x}"));
    }
    Ok(finding)
}

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "4",
    title: "Timestamps from the hardware clock, 1024 warehouses",
    section: "3.2.1",
    machine: FLEX,
    remarks: &[],
    x: CORES,
    series: |effort| two(effort, (ATOMIC, &SIX), CLOCK),
    panels: &[
        lines("Hardware clock", CLOCK, Measure::Throughput),
        against("Hardware clock to atomic counter", CLOCK, ATOMIC, RATIO, Scale::Log),
    ],
    checks: &[
        Check {
            statement: "HSTORE gains from the hardware clock, by up to 3 times",
            section: "3.2.1",
            ours: "at its best more than 2 times",
            judge: |data| {
                let (clock, atomic) = (data.group(CLOCK), data.group(ATOMIC));
                let mut most: f64 = 0.0;
                for x in atomic.places("HSTORE", |_| true)? {
                    let ratio =
                        clock.throughput("HSTORE", x)? / atomic.throughput("HSTORE", x)?.max(1.0);
                    most = most.max(ratio);
                }
                Ok(Finding::of(most > 2.0, format!("at most {most:.2} times")))
            },
        },
        Check {
            statement: "The pessimistic schemes are half as fast within a socket: 0.51 to 0.55 times up to 56 cores",
            section: "3.2.1",
            ours: "0.4 to 0.7",
            judge: |data| {
                let mut finding = Finding::default();
                for name in LOCKING {
                    for x in data.group(ATOMIC).places(name, |x| x <= 56.0)? {
                        let clock = data.group(CLOCK).throughput(name, x)?;
                        let ratio = clock / data.group(ATOMIC).throughput(name, x)?.max(1.0);
                        let good = (0.4..=0.7).contains(&ratio);
                        finding = finding.and(good, format!("{name} {ratio:.2} on {x}"));
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "MVCC is unchanged within a socket",
            section: "3.2.1",
            ours: "0.8 to 1.25 times up to 56 cores",
            judge: |data| ratios(*data, "MVCC", (CLOCK, ATOMIC), |x| x <= 56.0, (0.8, 1.25)),
        },
        Check {
            statement: "MVCC is an order of magnitude slower beyond a socket",
            section: "3.2.1",
            ours: "at most 0.2 times",
            judge: |data| ratios(*data, "MVCC", (CLOCK, ATOMIC), |x| x > 56.0, (0.0, 0.2)),
        },
        Check {
            statement: "OCC loses on any number of cores: 0.44 down to 0.01 times",
            section: "3.2.1",
            ours: "at most 0.55 times",
            judge: |data| ratios(*data, "OCC", (CLOCK, ATOMIC), |_| true, (0.0, 0.55)),
        },
    ],
};

pub(super) const FIGURE_5A: Figure = Figure {
    paper: "full-story",
    number: "5a",
    title: "Hardware clock, small schema: where time goes",
    section: "3.2.1",
    machine: FLEX,
    remarks: &[NARROW_BARS],
    x: CORES,
    series: |effort| by_cores("", &EIGHT, without_conflict(effort), build(CLOCK, 1024)),
    panels: &[bars("1 core", 1.0), bars("56 cores", 56.0), bars("112 cores", 112.0)],
    checks: &[
        Check {
            statement: "OCC does less than a fifth useful work on any number of cores",
            section: "3.2.1",
            ours: "",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("OCC", |_| true)? {
                    let share = data.share("OCC", x, &[Category::Useful])?;
                    finding = finding.and(share < 0.2, format!("{} on {x}", percent(share)));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "HSTORE spends little time on timestamps now, and no scheme spends a significant time on aborts",
            section: "3.2.1",
            ours: "below 5 %",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("HSTORE", |_| true)? {
                    let share = data.share("HSTORE", x, &[Category::TimestampAllocation])?;
                    let saw = format!("HSTORE {} timestamps on {x}", percent(share));
                    finding = finding.and(share < 0.05, saw);
                }
                for name in EIGHT {
                    let share = data.share(name, 112.0, &[Category::Abort])?;
                    finding =
                        finding.and(share < 0.05, format!("{name} {} aborts", percent(share)));
                }
                Ok(finding)
            },
        },
    ],
};
