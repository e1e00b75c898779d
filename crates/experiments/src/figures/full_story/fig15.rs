//! Figures 15 and 16: simultaneous multithreading, all threads of one socket.

use super::*;

/// Throughput in relation to that of the first degree.
const BY_SMT: Measure = Measure::SpeedUp("one thread a core");

/// Degrees of SMT with the order of threads that the measured program had.
const DEGREES: [(u64, &str); 4] = [(1, "spread1"), (2, "spread2"), (4, "spread4"), (8, "os-order")];

fn series(warehouses: u64) -> Vec<Series> {
    // The first socket of the Power8 has 11 cores.
    let power = |platform, cores: u64| {
        move |name: &&'static str| Series {
            group: platform,
            name: (*name).to_owned(),
            points: DEGREES
                .into_iter()
                .map(|(smt, order)| {
                    let run = Program::new(platform, "optimised", name, warehouses, cores * smt);
                    (smt as f64, Program { smt, order, ..run })
                })
                .map(Point::placed)
                .collect(),
        }
    };
    let flex = |name: &&'static str| Series {
        group: "hpe",
        name: (*name).to_owned(),
        points: [(1, "spread1"), (2, "ht2-adjacent")]
            .into_iter()
            .map(|(smt, order)| {
                let run = Program::new("hpe", "opt8", name, warehouses, 28 * smt);
                (smt as f64, Program { smt, order, ..run })
            })
            .map(Point::placed)
            .collect(),
    };
    let nine = EIGHT.iter().map(power("power9", 12));
    nine.chain(EIGHT.iter().map(power("power8", 11))).chain(EIGHT.iter().map(flex)).collect()
}

/// Adds the gain of a scheme from SMT-1 to another degree, which should be in a range of the paper.
fn gains(
    data: Data<'_>,
    names: &[&str],
    ranges: &[(f64, (f64, f64))],
    tolerance: f64,
) -> Judgement {
    let mut finding = Finding::default();
    for name in names {
        for (degree, range) in ranges {
            let times = gain(data, name, 1.0, *degree)?;
            let saw = format!("{name} {times:.2} with SMT-{degree}");
            finding = finding.and(near(times, *range, tolerance), saw);
        }
    }
    Ok(finding)
}

const OTHERS: [&str; 7] = ["DL_DETECT", "MVCC", "NO_WAIT", "OCC", "SILO", "TICTOC", "WAIT_DIE"];

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "15",
    title: "SMT on one socket, 1568 warehouses",
    section: "4.2.1",
    machine: THREE,
    remarks: &[
        "The gain of local work from SMT in the machine files of Power8 and Power9 is derived from the paper's gains of this \
         figure, for all schemes alike. So only the differences between schemes are evidence here.",
    ],
    x: "Threads of a core",
    series: |_| series(1568),
    panels: &[
        lines("IBM Power9: throughput", "power9", Measure::Throughput),
        lines("IBM Power9: ratio to one thread a core", "power9", BY_SMT),
        lines("IBM Power8: throughput", "power8", Measure::Throughput),
        lines("IBM Power8: ratio to one thread a core", "power8", BY_SMT),
        lines("HPE Superdome Flex: ratio to one thread a core", "hpe", BY_SMT),
    ],
    checks: &[
        Check {
            statement: "On Power9 all schemes but HSTORE gain alike: 1.7 to 1.8 times with SMT-2, 2.4 to 2.5 with SMT-4, 3.3 to 3.4 \
                        with SMT-8",
            section: "4.2.1",
            ours: "within 10 %",
            judge: |data| {
                let ranges = [(2.0, (1.7, 1.8)), (4.0, (2.4, 2.5)), (8.0, (3.3, 3.4))];
                gains(data.group("power9"), &OTHERS, &ranges, 0.1)
            },
        },
        Check {
            statement: "HSTORE gains most on Power9: 2.6 times with SMT-4 and 3.9 times with SMT-8",
            section: "4.2.1",
            ours: "within 10 %",
            judge: |data| {
                let data = data.group("power9");
                let mut finding =
                    gains(data, &["HSTORE"], &[(4.0, (2.6, 2.6)), (8.0, (3.9, 3.9))], 0.1)?;
                let own = gain(data, "HSTORE", 1.0, 8.0)?;
                for name in OTHERS {
                    let other = gain(data, name, 1.0, 8.0)?;
                    finding = finding.and(own > other, format!("{name} {other:.2}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "All gains are sub-linear on Power9",
            section: "4.2.1",
            ours: "",
            judge: |data| {
                let mut finding = Finding::default();
                for name in EIGHT {
                    let times = gain(data.group("power9"), name, 1.0, 8.0)?;
                    finding = finding.and(times < 8.0, format!("{name} {times:.2} of 8"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "On Power8 the gains are smaller: 1.4 to 1.5 times with SMT-2, 1.8 to 2.1 with SMT-4, 1.6 to 2.6 with SMT-8",
            section: "4.2.1",
            ours: "within 10 %",
            judge: |data| {
                let ranges = [(2.0, (1.4, 1.5)), (4.0, (1.8, 2.1)), (8.0, (1.6, 2.6))];
                gains(data.group("power8"), &OTHERS, &ranges, 0.1)
            },
        },
        Check {
            statement: "On Power8 MVCC stagnates from SMT-4 on, and SILO falls: its footprint is too large for the shared cache",
            section: "4.2.1",
            ours: "stagnates: at most 1.1 times from SMT-4 to SMT-8",
            judge: |data| {
                let data = data.group("power8");
                let (mvcc, silo) = (gain(data, "MVCC", 4.0, 8.0)?, gain(data, "SILO", 4.0, 8.0)?);
                let finding = Finding::of(mvcc <= 1.1, format!("MVCC {mvcc:.2} times"));
                Ok(finding.and(silo < 1.0, format!("SILO {silo:.2} times")))
            },
        },
        Check {
            statement: "On HPE TICTOC gains 1.5 times from SMT-2, from 5.25 to 7.92 million",
            section: "4.2.1",
            ours: "within 15 %; the rates within 25 %",
            judge: |data| {
                let data = data.group("hpe");
                let finding = gains(data, &["TICTOC"], &[(2.0, (1.5, 1.5))], 0.15)?;
                let (one, two) = (data.throughput("TICTOC", 1.0)?, data.throughput("TICTOC", 2.0)?);
                let good = near(one, (5.25e6, 5.25e6), NEAR) && near(two, (7.92e6, 7.92e6), NEAR);
                Ok(finding.and(good, format!("{} and {}", short(one), short(two))))
            },
        },
    ],
};

pub(super) const FIGURE_16: Figure = Figure {
    paper: "full-story",
    number: "16",
    title: "SMT on one socket, 4 warehouses",
    section: "4.2.1",
    machine: THREE,
    remarks: &[],
    x: "Threads of a core",
    series: |_| series(4),
    panels: &[
        lines("IBM Power9: throughput", "power9", Measure::Throughput),
        lines("IBM Power9: ratio to one thread a core", "power9", BY_SMT),
        lines("IBM Power8: throughput", "power8", Measure::Throughput),
        lines("IBM Power8: ratio to one thread a core", "power8", BY_SMT),
    ],
    checks: &[
        Check {
            statement: "On Power9 SILO and TICTOC gain 1.4 times from SMT-2 and keep it with SMT-4 and SMT-8",
            section: "4.2.1",
            ours: "within 15 %",
            judge: |data| {
                let ranges = [2.0, 4.0, 8.0].map(|degree| (degree, (1.4, 1.4)));
                gains(data.group("power9"), &["SILO", "TICTOC"], &ranges, 0.15)
            },
        },
        Check {
            statement: "On Power9 the other schemes gain less, and lose from SMT-4 on at the latest",
            section: "4.2.1",
            ours: "below 1 with SMT-8",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["DL_DETECT", "HSTORE", "MVCC", "NO_WAIT", "OCC", "WAIT_DIE"] {
                    let times = gain(data.group("power9"), name, 1.0, 8.0)?;
                    finding = finding.and(times < 1.0, format!("{name} {times:.2} times"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "On Power9 DL_DETECT and HSTORE lose at once: 0.59 and 0.93 times with SMT-2",
            section: "4.2.1",
            ours: "within 15 %",
            judge: |data| {
                let data = data.group("power9");
                let one = gain(data, "DL_DETECT", 1.0, 2.0)?;
                let two = gain(data, "HSTORE", 1.0, 2.0)?;
                let finding =
                    Finding::of(near(one, (0.59, 0.59), 0.15), format!("DL_DETECT {one:.2}"));
                Ok(finding.and(near(two, (0.93, 0.93), 0.15), format!("HSTORE {two:.2}")))
            },
        },
        Check {
            statement: "On Power8 the schemes benefit from SMT-2 less than on Power9",
            section: "4.2.1",
            ours: "except MVCC, whose gains are the same on both",
            judge: |data| {
                let mut finding = Finding::default();
                for name in EIGHT.into_iter().filter(|name| *name != "MVCC") {
                    let eight = gain(data.group("power8"), name, 1.0, 2.0)?;
                    let nine = gain(data.group("power9"), name, 1.0, 2.0)?;
                    finding = finding.and(eight < nine, format!("{name} {eight:.2} and {nine:.2}"));
                }
                Ok(finding)
            },
        },
    ],
};
