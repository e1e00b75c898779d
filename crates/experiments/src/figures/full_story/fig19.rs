//! Figures 19 and 20: the full mix with 4 warehouses.

use super::*;

const SCHEMES: [&str; 8] = EIGHT;
const FULL: &str = "full";
const NARROW: &str = "narrow";

/// The parts that the figures of the full mix share.
pub(super) const REMARKS: &[&str] = &[
    "These are runs of our TPC-C, with its indexes and all of its inserts, and with timestamps from the clock. They have no \
     measured values beside them: the measurements have no full mix.",
    "With 1568 warehouses there are 1000 items and 30 customers a district, so that the rows fit into memory. The quick grid \
       has 112 warehouses instead, at least one for each core.",
    "The engine runs with its own forms of accesses and locks, not with those of the measured program.",
];

/// Returns runs of our TPC-C with the full and with the narrow mix.
pub(super) fn both_mixes(warehouses: u64, cores: &[usize]) -> Vec<Series> {
    // All rows of 1568 warehouses would not fit into the memory of usual hosts.
    let sizes = if warehouses > 64 { " --items 1000 --customers-per-district 30" } else { "" };
    let mut all = Vec::new();
    for mix in [FULL, NARROW] {
        all.extend(SCHEMES.iter().map(|name| {
            Series {
                group: mix,
                name: (*name).to_owned(),
                points: cores
                    .iter()
                    .map(|&cores| {
                        let options = format!("--warehouses {warehouses} --mix {mix}{sizes}");
                        (cores as f64, Setting::new("tpcc", options, name, cores).drawing("clock"))
                    })
                    .map(Point::placed)
                    .collect(),
            }
        }));
    }
    all
}

/// Returns the ratio of the throughput of `name` at `x`, full mix to narrow mix.
pub(super) fn full_to_narrow(data: Data<'_>, name: &str, x: f64) -> Result<f64, Missing> {
    let below = data.group(NARROW).throughput(name, x)?.max(1.0);
    Ok(data.group(FULL).throughput(name, x)? / below)
}

pub(super) const THROUGHPUT: Panel = lines("Full mix: throughput", FULL, Measure::Throughput);
pub(super) const RATIOS: Panel =
    against("Full mix to narrow mix: ratio of throughput", FULL, NARROW, RATIO, Scale::Linear);

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "19",
    title: "Full TPC-C mix, 4 warehouses, Superdome Flex",
    section: "4.3.1",
    machine: FLEX,
    remarks: REMARKS,
    x: CORES,
    series: |effort| {
        let full = &[1, 2, 4, 8, 16, 28, 56, 112, 224, 448, 896, 1344, 1568][..];
        both_mixes(4, effort.pick(full, &[1, 4, 16, 112]))
    },
    panels: &[
        THROUGHPUT,
        RATIOS,
        lines("Full mix: speed-up over one core", FULL, SPEED_UP),
        against(
            "Full mix less narrow mix: speed-up over one core",
            FULL,
            NARROW,
            Comparison::Difference(SPEED_UP),
            Scale::Linear,
        ),
        lines("Full mix: abort ratio", FULL, Measure::AbortRatio),
        against(
            "Full mix less narrow mix: abort ratio",
            FULL,
            NARROW,
            Comparison::Difference(Measure::AbortRatio),
            Scale::Linear,
        ),
    ],
    checks: &[
        Check {
            statement: "Up to about 56 cores the full mix has the lower throughput under all schemes",
            section: "4.3.1",
            ours: "",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SCHEMES {
                    for x in data.group(FULL).places(name, |x| x < 56.0)? {
                        let ratio = full_to_narrow(*data, name, x)?;
                        finding = finding.and(ratio < 1.0, format!("{name} {ratio:.2} on {x}"));
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "On more cores most schemes have a higher throughput with the full mix than with the narrow one",
            section: "4.3.1",
            ours: "on the most cores, at least 4 of the 8",
            judge: |data| {
                let (mut higher, mut saw) = (0, Vec::new());
                for name in SCHEMES {
                    let places = data.group(FULL).places(name, |x| x > 56.0)?;
                    let x = places[places.len() - 1];
                    let ratio = full_to_narrow(*data, name, x)?;
                    higher += usize::from(ratio > 1.0);
                    saw.push(format!("{name} {ratio:.2} on {x}"));
                }
                Ok(Finding::of(higher >= 4, saw.join(", ")))
            },
        },
        Check {
            statement: "HSTORE does not close the gap: the full mix has 0.53 to 0.77 of the narrow mix",
            section: "4.3.1",
            ours: "within 15 %",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.group(FULL).places("HSTORE", |_| true)? {
                    let ratio = full_to_narrow(*data, "HSTORE", x)?;
                    finding =
                        finding.and(near(ratio, (0.53, 0.77), 0.15), format!("{ratio:.2} on {x}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "SILO and TICTOC handle many conflicts best under the full mix, too",
            section: "4.3.1",
            ours: "the two highest peaks",
            judge: |data| {
                let mut peaks = Vec::new();
                for name in SCHEMES {
                    peaks.push((name, data.group(FULL).peak(name)?.1));
                }
                peaks.sort_by(|a, b| b.1.total_cmp(&a.1));
                let best = peaks[..2].iter().all(|peak| ["SILO", "TICTOC"].contains(&peak.0));
                Ok(Finding::of(best, listed(&peaks)))
            },
        },
    ],
};

pub(super) const FIGURE_20: Figure = Figure {
    paper: "full-story",
    number: "20",
    title: "Full TPC-C mix, 4 warehouses, Power9",
    section: "4.3.1",
    machine: "power9",
    remarks: REMARKS,
    x: CORES,
    series: |effort| {
        let full = &[1, 2, 4, 8, 16, 24, 48, 96, 192, 464, 928, 1504][..];
        both_mixes(4, effort.pick(full, &[1, 4, 16, 96]))
    },
    panels: &[THROUGHPUT, RATIOS],
    checks: &[
        Check {
            statement: "On few cores the full mix lags behind the narrow mix on Power9, too",
            section: "4.3.1",
            ours: "up to 16 cores",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SCHEMES {
                    for x in data.group(FULL).places(name, |x| x <= 16.0)? {
                        let ratio = full_to_narrow(*data, name, x)?;
                        finding = finding.and(ratio < 1.0, format!("{name} {ratio:.2} on {x}"));
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "HSTORE falls further behind its throughput of the narrow mix as cores are added",
            section: "4.3.1",
            ours: "the ratio is lower on the most cores than on 4",
            judge: |data| {
                let places = data.group(FULL).places("HSTORE", |x| x >= 4.0)?;
                let last = places[places.len() - 1];
                let (few, many) =
                    (full_to_narrow(*data, "HSTORE", 4.0)?, full_to_narrow(*data, "HSTORE", last)?);
                Ok(Finding::of(many < few, format!("{few:.2} on 4, {many:.2} on {last}")))
            },
        },
    ],
};
