//! Figures 11 and 12: TPC-C with 4 warehouses on three machines.

use super::fig09::{cores_with_conflict, optimised};
use super::*;

/// The machines, as groups of series.
const PLATFORMS: [&str; 3] = ["hpe", "power9", "power8"];

fn series(effort: Effort) -> Vec<Series> {
    let power = |platform| move |name, cores| Program::new(platform, "optimised", name, 4, cores);
    let nine = effort.pick(
        &[1, 2, 4, 8, 16, 24, 48, 96, 192, 288, 464, 928, 1504][..],
        &[1, 4, 8, 16, 24, 48, 96][..],
    );
    let eight = effort
        .pick(&[1, 2, 4, 8, 16, 22, 44, 88, 184, 376, 752][..], &[1, 4, 8, 16, 22, 44, 88][..]);
    let mut all = by_cores("hpe", &EIGHT, cores_with_conflict(effort), optimised(4));
    all.extend(by_cores("power9", &EIGHT, nine, power("power9")));
    all.extend(by_cores("power8", &EIGHT, eight, power("power8")));
    all
}

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "11",
    title: "4 warehouses on three machines",
    section: "4.1.1",
    machine: THREE,
    remarks: &[
        "The quick grid has one socket of each Power machine and four of the Superdome Flex.",
    ],
    x: CORES,
    series,
    panels: &[
        lines("HPE Superdome Flex: throughput", "hpe", Measure::Throughput),
        lines("IBM Power9: throughput", "power9", Measure::Throughput),
        lines("IBM Power8: throughput", "power8", Measure::Throughput),
        lines("HPE Superdome Flex: abort ratio", "hpe", Measure::AbortRatio),
        lines("IBM Power9: abort ratio", "power9", Measure::AbortRatio),
        lines("IBM Power8: abort ratio", "power8", Measure::AbortRatio),
    ],
    checks: &[
        Check {
            statement: "The schemes scale briefly on all three machines, and then thrash",
            section: "4.1.1",
            ours: "a peak above the first and the last number of cores",
            judge: |data| {
                let mut finding = Finding::default();
                for platform in PLATFORMS {
                    for name in EIGHT {
                        let values = data.group(platform).throughputs(name)?;
                        let (x, peak) = data.group(platform).peak(name)?;
                        let good = peak > values[0].1 && peak > values[values.len() - 1].1;
                        let saw = format!("{platform} {name} {} on {x}", short(peak));
                        finding = finding.and(good, saw);
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "Throughput is of the same magnitude on all three machines",
            section: "4.1.1",
            ours: "each scheme's highest peak is at most 3 times its lowest",
            judge: |data| {
                let mut finding = Finding::default();
                for name in EIGHT {
                    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
                    for platform in PLATFORMS {
                        let (_, peak) = data.group(platform).peak(name)?;
                        (low, high) = (low.min(peak), high.max(peak));
                    }
                    finding =
                        finding.and(high <= 3.0 * low, format!("{name} {:.2} times", high / low));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "SILO and TICTOC perform best on all three machines",
            section: "4.1.1",
            ours: "by peak throughput",
            judge: |data| {
                let mut finding = Finding::default();
                for platform in PLATFORMS {
                    let mut peaks = Vec::new();
                    for name in EIGHT {
                        peaks.push((name, data.group(platform).peak(name)?.1));
                    }
                    peaks.sort_by(|a, b| b.1.total_cmp(&a.1));
                    let best = peaks[..2].iter().all(|peak| ["SILO", "TICTOC"].contains(&peak.0));
                    finding = finding.and(best, format!("{platform} {}", listed(&peaks[..3])));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "The schemes respond to conflicts alike on all three machines: their abort ratios are similar",
            section: "4.1.1",
            ours: "within 0.15 on 4, 8 and 16 cores",
            judge: |data| {
                let mut finding = Finding::default();
                for name in EIGHT {
                    let mut most: f64 = 0.0;
                    for x in [4.0, 8.0, 16.0] {
                        let of =
                            |platform| data.group(platform).value(name, x, Measure::AbortRatio);
                        let ratios = [of("hpe")?, of("power9")?, of("power8")?];
                        let high = ratios.into_iter().fold(0.0, f64::max);
                        most = most.max(high - ratios.into_iter().fold(1.0, f64::min));
                    }
                    finding = finding.and(most <= 0.15, format!("{name} {most:.2}"));
                }
                Ok(finding)
            },
        },
    ],
};

pub(super) const FIGURE_12: Figure = Figure {
    paper: "full-story",
    number: "12",
    title: "4 warehouses on three machines: speed-up over one core",
    section: "4.1.1",
    machine: THREE,
    remarks: &["The runs are those of figure 11."],
    x: CORES,
    series,
    panels: &[
        lines("HPE Superdome Flex", "hpe", SPEED_UP),
        lines("IBM Power9", "power9", SPEED_UP),
        lines("IBM Power8", "power8", SPEED_UP),
    ],
    checks: &[
        Check {
            statement: "DL_DETECT has its best peak on HPE, on 16 cores (5.3 times one core); on Power9 it already degrades there",
            section: "4.1.1",
            ours: "the speed-up within 25 %",
            judge: |data| {
                let (x, peak) = data.group("hpe").peak("DL_DETECT")?;
                let times = peak / data.group("hpe").throughput("DL_DETECT", 1.0)?;
                let good = x == 16.0 && near(times, (5.3, 5.3), NEAR);
                let finding = Finding::of(good, format!("hpe {times:.1} times on {x}"));
                let (at, other) = data.group("power9").peak("DL_DETECT")?;
                let saw =
                    format!("power9 peaks on {at} with {}, hpe with {}", short(other), short(peak));
                Ok(finding.and(at < 16.0 && other < peak, saw))
            },
        },
        Check {
            statement: "WAIT_DIE and NO_WAIT peak on Power9 on 24 cores, with 9.5 and 9.8 times one core",
            section: "4.1.1",
            ours: "the speed-up within 25 %",
            judge: |data| {
                let mut finding = Finding::default();
                for (name, paper) in [("WAIT_DIE", 9.5), ("NO_WAIT", 9.8)] {
                    let (x, peak) = data.group("power9").peak(name)?;
                    let times = peak / data.group("power9").throughput(name, 1.0)?;
                    let good = x == 24.0 && near(times, (paper, paper), NEAR);
                    finding = finding.and(good, format!("{name} {times:.1} times on {x}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "MVCC and OCC peak on 24 cores, on Power9 with 1.6 and 2.6 million",
            section: "4.1.1",
            ours: "within 25 %",
            judge: |data| {
                let mut finding = Finding::default();
                for (name, paper) in [("MVCC", 1.6e6), ("OCC", 2.6e6)] {
                    let (x, peak) = data.group("power9").peak(name)?;
                    let good = x == 24.0 && near(peak, (paper, paper), NEAR);
                    finding = finding.and(good, format!("{name} {} on {x}", short(peak)));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "HSTORE reaches its peak on Power9 on 4 cores with 1.35 million, above the other machines",
            section: "4.1.1",
            ours: "within 25 %",
            judge: |data| {
                let (x, peak) = data.group("power9").peak("HSTORE")?;
                let good = x == 4.0 && near(peak, (1.35e6, 1.35e6), NEAR);
                let mut finding = Finding::of(good, format!("power9 {} on {x}", short(peak)));
                for platform in ["hpe", "power8"] {
                    let (_, other) = data.group(platform).peak("HSTORE")?;
                    finding = finding.and(other < peak, format!("{platform} {}", short(other)));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "SILO and TICTOC peak higher on HPE than on the Power machines",
            section: "4.1.1",
            ours: "",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["SILO", "TICTOC"] {
                    let of = |platform| Ok(data.group(platform).peak(name)?.1);
                    let (hpe, nine, eight): (f64, f64, f64) =
                        (of("hpe")?, of("power9")?, of("power8")?);
                    let saw = format!("{name} {}, {}, {}", short(hpe), short(nine), short(eight));
                    finding = finding.and(hpe > nine && hpe > eight, saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "Among the pessimistic schemes NO_WAIT is ahead until all cores of a socket are in use, then WAIT_DIE",
            section: "4.1.1",
            ours: "on HPE; ahead: not below 0.97 of the other",
            judge: |data| {
                let data = data.group("hpe");
                let mut finding = Finding::default();
                for x in data.places("NO_WAIT", |x| x >= 8.0)? {
                    let ratio = data.throughput("NO_WAIT", x)? / data.throughput("WAIT_DIE", x)?;
                    let good = if x < 56.0 { ratio >= 0.97 } else { ratio <= 1.03 };
                    finding = finding.and(good, format!("NO_WAIT {ratio:.2} of WAIT_DIE on {x}"));
                }
                Ok(finding)
            },
        },
    ],
};
