//! Figure 9: TPC-C with all optimisations.

use super::*;

/// Numbers of cores with 4 warehouses.
pub(super) fn cores_with_conflict(effort: Effort) -> &'static [u64] {
    effort.pick(
        &[1, 2, 4, 8, 16, 28, 56, 112, 224, 448, 896, 1344, 1568],
        &[1, 4, 8, 16, 28, 56, 112, 224],
    )
}

/// Numbers of cores with 1568 warehouses.
pub(super) fn cores_without_conflict(effort: Effort) -> &'static [u64] {
    effort.pick(&[1, 28, 56, 112, 224, 448, 896, 1344, 1568], &[1, 28, 56, 112, 448])
}

/// Returns the optimised program on the Superdome Flex.
pub(super) fn optimised(warehouses: u64) -> impl Fn(&'static str, u64) -> Program {
    move |name, cores| Program::new("hpe", "opt8", name, warehouses, cores)
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "full-story",
    number: "9a",
    title: "All optimisations, 4 warehouses, Superdome Flex",
    section: "3.3.2",
    machine: FLEX,
    remarks: &[
        "Only the optimised program on the real machine is drawn, not the earlier simulation beside it.",
    ],
    x: CORES,
    series: |effort| by_cores("", &EIGHT, cores_with_conflict(effort), optimised(4)),
    panels: &[lines("", "", Measure::Throughput)],
    checks: &[
        Check {
            statement: "HSTORE does well only while cores do not outnumber the warehouses",
            section: "3.3.2",
            ours: "well: at least half of the best scheme",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("HSTORE", |_| true)? {
                    let best = ranked(*data, &EIGHT, x)?[0].1;
                    let share = data.throughput("HSTORE", x)? / best;
                    let saw = format!("{} of the best on {x}", percent(share));
                    finding = finding.and((share >= 0.5) == (x <= 4.0), saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "SILO and TICTOC reach the highest peaks of all schemes, on one socket (56 cores), and degrade beyond",
            section: "3.3.2 and 4.1.1",
            ours: "",
            judge: silo_and_tictoc_peak_within_a_socket,
        },
        Check {
            statement: "SILO peaks at 4.6 and TICTOC at 5.3 million transactions a second",
            section: "3.3.2",
            ours: "within 25 %",
            judge: |data| {
                let mut finding = Finding::default();
                for (name, peak) in [("SILO", 4.6e6), ("TICTOC", 5.3e6)] {
                    let (_, ours) = data.peak(name)?;
                    finding = finding
                        .and(near(ours, (peak, peak), NEAR), format!("{name} {}", short(ours)));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "Beyond a socket SILO and TICTOC converge to the other schemes",
            section: "3.3.2",
            ours: "their lead over the best other scheme is smaller on the most cores than on 56",
            judge: |data| {
                let last = data.places("SILO", |x| x > 56.0)?;
                let last = last[last.len() - 1];
                let mut finding = Finding::default();
                for name in ["SILO", "TICTOC"] {
                    let lead = |x| Ok(data.throughput(name, x)? / best_other(*data, x)?);
                    let (before, after): (f64, f64) = (lead(56.0)?, lead(last)?);
                    let saw = format!(
                        "{name} {before:.2} times the best other on 56, {after:.2} on {last}"
                    );
                    finding = finding.and(after < before, saw);
                }
                Ok(finding)
            },
        },
    ],
};

/// Returns the highest throughput at `x` of a scheme other than SILO and TICTOC.
fn best_other(data: Data<'_>, x: f64) -> Result<f64, Missing> {
    Ok(ranked(data, &["DL_DETECT", "HSTORE", "MVCC", "NO_WAIT", "OCC", "WAIT_DIE"], x)?[0].1)
}

fn silo_and_tictoc_peak_within_a_socket(data: &Data<'_>) -> Judgement {
    let mut others: f64 = 0.0;
    for name in EIGHT.into_iter().filter(|name| !["SILO", "TICTOC"].contains(name)) {
        others = others.max(data.peak(name)?.1);
    }
    let mut finding = Finding::default();
    for name in ["SILO", "TICTOC"] {
        let (x, peak) = data.peak(name)?;
        let line = data.throughputs(name)?;
        let last = line[line.len() - 1];
        let ratio = peak / others;
        let saw = format!("{name} peaks on {x} cores, {ratio:.2} times the best of the others");
        finding = finding.and(x == 56.0 && ratio > 1.0, saw);
        let end = format!("{:.2} of its peak on {}", last.1 / peak, last.0);
        finding = finding.and(last.0 > x && last.1 < peak, end);
    }
    Ok(finding)
}

pub(super) const FIGURE_B: Figure = Figure {
    paper: "full-story",
    number: "9b",
    title: "All optimisations, 1568 warehouses, Superdome Flex",
    section: "3.3.2",
    machine: FLEX,
    remarks: &[
        "Warehouses lie where the released program loads them. Figure 13 has the other placement beside it.",
    ],
    x: CORES,
    series: |effort| by_cores("", &EIGHT, cores_without_conflict(effort), optimised(1568)),
    panels: &[lines("", "", Measure::Throughput)],
    checks: &[
        Check {
            statement: "Up to two sockets the throughput of all schemes grows steeply",
            section: "3.3.2",
            ours: "from 28 to 112 cores at least twice",
            judge: |data| {
                let mut finding = Finding::default();
                for name in EIGHT {
                    let times = gain(*data, name, 28.0, 112.0)?;
                    finding = finding.and(times >= 2.0, format!("{name} {times:.2} times"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "HSTORE is fastest as long as there are fewer cores than warehouses, TICTOC second and SILO third",
            section: "3.3.2",
            ours: "",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("HSTORE", |x| (28.0..1568.0).contains(&x))? {
                    let ranks = ranked(*data, &EIGHT, x)?;
                    let names: Vec<&str> = ranks[..3].iter().map(|rank| rank.0).collect();
                    let saw = format!("on {x} {}", listed(&ranks[..3]));
                    finding = finding.and(names == ["HSTORE", "TICTOC", "SILO"], saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "The pessimistic schemes do not differ: with little conflict there are few deadlocks",
            section: "3.3.2",
            ours: "the slowest has at least 0.8 of the fastest",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("NO_WAIT", |_| true)? {
                    let ranks = ranked(*data, &LOCKING, x)?;
                    let share = ranks[2].1 / ranks[0].1;
                    finding = finding.and(share >= 0.8, format!("{share:.2} on {x}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "On all cores TICTOC, SILO and MVCC jump to 197, 159 and 75 million, while HSTORE falls from 59 to 35",
            section: "3.3.2",
            ours: "within 25 %",
            judge: |data| {
                let mut finding = Finding::default();
                for (name, x, paper) in [
                    ("TICTOC", 1568.0, 197e6),
                    ("SILO", 1568.0, 159e6),
                    ("MVCC", 1568.0, 75e6),
                    ("HSTORE", 1344.0, 59e6),
                    ("HSTORE", 1568.0, 35e6),
                ] {
                    let ours = in_full(*data, name, x)?;
                    let saw = format!("{name} {} on {x}", short(ours));
                    finding = finding.and(near(ours, (paper, paper), NEAR), saw);
                }
                Ok(finding)
            },
        },
    ],
};
