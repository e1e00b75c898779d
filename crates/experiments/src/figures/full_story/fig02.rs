//! Figure 2: the original program, on the Graphite target and on the Superdome Flex.

use super::*;
use crate::figures::abyss::scheme;

/// Schemes of the original program.
pub(super) const SIX: [&str; 6] = ["DL_DETECT", "HSTORE", "MVCC", "NO_WAIT", "OCC", "WAIT_DIE"];

/// Group of the runs on the target of the earlier paper's simulator.
const GRAPHITE: &str = "graphite";

/// Returns a build of the program on the Superdome Flex.
pub(super) fn build(
    variant: &'static str,
    warehouses: u64,
) -> impl Fn(&'static str, u64) -> Program {
    move |name, cores| Program::new("hpe", variant, name, warehouses, cores)
}

/// Numbers of cores with 4 warehouses.
pub(super) fn with_conflict(effort: Effort) -> &'static [u64] {
    effort.pick(&[1, 4, 8, 16, 28, 56, 112, 224, 448, 896, 1024], &[1, 4, 8, 16, 28, 56, 112])
}

/// Numbers of cores with 1024 warehouses.
pub(super) fn without_conflict(effort: Effort) -> &'static [u64] {
    effort.pick(&[1, 8, 28, 56, 112, 224, 448, 896, 1024], &[1, 28, 56, 112, 224])
}

/// Returns runs of the earlier paper's TPC-C on its simulator's target.
fn earlier(warehouses: u64, cores: &[usize]) -> Vec<Series> {
    // All customers of 1024 warehouses would not fit into the memory of usual hosts.
    let customers = if warehouses > 64 { 30 } else { 2000 };
    let sizes = format!("--schema small --items 10k --customers-per-district {customers}");
    let line = |name: &&'static str| Series {
        group: GRAPHITE,
        name: (*name).to_owned(),
        points: cores
            .iter()
            .map(|&cores| {
                let options = format!("--warehouses {warehouses} --mix narrow {sizes}");
                (cores as f64, scheme("tpcc", options, name, cores))
            })
            .map(Point::placed)
            .collect(),
    };
    SIX.iter().map(line).collect()
}

const PANELS: &[Panel] = &[
    lines("The simulator's target (Graphite, 1 GHz)", GRAPHITE, Measure::Throughput),
    lines("HPE Superdome Flex", "", Measure::Throughput),
];

const REMARKS: &[&str] = &[
    "The first panel has runs of our TPC-C, with its inserts. The original program has none. With 1024 warehouses it has 30 \
       customers a district, so that the rows fit into memory.",
];

pub(super) const FIGURE_A: Figure = Figure {
    paper: "full-story",
    number: "2a",
    title: "The original program, 4 warehouses",
    section: "3.1.1",
    machine: "graphite",
    remarks: REMARKS,
    x: CORES,
    series: |effort| {
        let mut all = by_cores("", &SIX, with_conflict(effort), build("original", 4));
        all.extend(earlier(
            4,
            effort.pick(&[1, 4, 8, 16, 32, 64, 128, 256][..], &[1, 4, 8, 16, 64, 256]),
        ));
        all
    },
    panels: PANELS,
    checks: &[
        Check {
            statement: "HSTORE turns on 4 to 8 cores on both machines, MVCC and NO_WAIT on 56 to 64, and the fall beyond is steeper \
                        on HPE",
            section: "3.1.1",
            ours: "turns: its peak is there; steeper: a smaller part of the peak is left on the most cores",
            judge: same_turning_points,
        },
        Check {
            statement: "WAIT_DIE is close to NO_WAIT",
            section: "3.1.1",
            ours: "0.8 to 1.25 times",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("WAIT_DIE", |_| true)? {
                    let [own, other] =
                        [data.throughput("WAIT_DIE", x)?, data.throughput("NO_WAIT", x)?];
                    if own.max(other) == 0.0 {
                        finding = finding.and(true, format!("neither commits on {x}"));
                        continue;
                    }
                    let ratio = own / other.max(1.0);
                    let good = (0.8..=1.25).contains(&ratio);
                    finding = finding.and(good, format!("{ratio:.2} on {x}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "DL_DETECT already degrades on 8 cores of HPE, where the simulation's does on 64",
            section: "3.1.1",
            ours: "degrades: its peak is on fewer cores",
            judge: |data| {
                let (real, _) = data.peak("DL_DETECT")?;
                let (target, _) = data.group(GRAPHITE).peak("DL_DETECT")?;
                let saw = format!("the peaks are on {real} and {target} cores");
                Ok(Finding::of(real < 8.0 && target > real, saw))
            },
        },
    ],
};

fn same_turning_points(data: &Data<'_>) -> Judgement {
    let mut finding = Finding::default();
    for (name, (low, high)) in
        [("HSTORE", (4.0, 8.0)), ("MVCC", (56.0, 64.0)), ("NO_WAIT", (56.0, 64.0))]
    {
        let mut left = Vec::new();
        for data in [*data, data.group(GRAPHITE)] {
            let (x, peak) = data.peak(name)?;
            let values = data.throughputs(name)?;
            left.push(values[values.len() - 1].1 / peak.max(1.0));
            finding = finding.and((low..=high).contains(&x), format!("{name} on {x}"));
        }
        let saw = format!("{} and {} left", percent(left[0]), percent(left[1]));
        finding = finding.and(left[0] < left[1], saw);
    }
    Ok(finding)
}

pub(super) const FIGURE_B: Figure = Figure {
    paper: "full-story",
    number: "2b",
    title: "The original program, 1024 warehouses",
    section: "3.1.1",
    machine: "graphite",
    remarks: REMARKS,
    x: CORES,
    series: |effort| {
        let mut all = by_cores("", &SIX, without_conflict(effort), build("original", 1024));
        all.extend(earlier(1024, effort.pick(&[1, 64, 256, 512, 1024][..], &[1, 64, 112])));
        all
    },
    panels: PANELS,
    checks: &[
        Check {
            statement: "On HPE MVCC is clearly slower than OCC and the pessimistic schemes",
            section: "3.1.1",
            ours: "on 112 cores below 0.7 of each",
            judge: |data| {
                let own = data.throughput("MVCC", 112.0)?;
                let mut finding = Finding::default();
                for name in ["OCC", "DL_DETECT", "WAIT_DIE", "NO_WAIT"] {
                    let ratio = own / data.throughput(name, 112.0)?.max(1.0);
                    finding = finding.and(ratio < 0.7, format!("{ratio:.2} of {name}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "HSTORE is slower than OCC and the pessimistic schemes on more than 112 cores of HPE",
            section: "3.1.1",
            ours: "on 224 cores",
            judge: |data| {
                let own = in_full(*data, "HSTORE", 224.0)?;
                let mut finding = Finding::default();
                for name in ["OCC", "DL_DETECT", "WAIT_DIE", "NO_WAIT"] {
                    let ratio = own / in_full(*data, name, 224.0)?.max(1.0);
                    finding = finding.and(ratio < 1.0, format!("{ratio:.2} of {name}"));
                }
                Ok(finding)
            },
        },
    ],
};
