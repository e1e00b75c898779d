//! Figure 9: TPC-C with all optimisations.

use super::*;
use crate::figures::Judgement;

const SCHEMES: [&str; 9] =
    ["DL_DETECT", "HSTORE", "MVCC", "NO_WAIT", "OCC", "SILO", "TICTOC", "TIMESTAMP", "WAIT_DIE"];

fn series(effort: Effort) -> Vec<Series> {
    let cores = effort.pick(
        &[1, 2, 4, 8, 28, 56, 112, 224, 448, 896, 1344, 1568][..],
        &[1, 4, 28, 56, 112, 448][..],
    );
    let point = |name: &'static str, cores: usize| {
        let setting = Setting::new("tpcc", "--warehouses 4 --mix narrow", name, cores);
        (cores as f64, setting.drawing("clock"))
    };
    let line = |name: &&'static str| Series {
        group: "",
        name: (*name).to_owned(),
        points: cores.iter().map(|&cores| point(name, cores)).collect(),
    };
    SCHEMES.iter().map(line).collect()
}

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "9a",
    title: "TPC-C narrow mix with inserts, 4 warehouses, on the Superdome Flex",
    section: "3.3.2",
    machine: "superdome-flex",
    remarks: &[
        "Only the optimised program on the real machine is drawn, not the earlier simulation beside it.",
        "Of the optimisations, clock timestamps are set; our schemes do not have the others as switches.",
    ],
    x: "Cores",
    series,
    panels: &[Panel {
        title: "",
        group: "",
        kind: Kind::Lines { y: Measure::Throughput, across: Scale::Log, up: Scale::Linear },
    }],
    checks: &[
        Check {
            statement: "HSTORE does well only while cores do not outnumber the warehouses",
            section: "3.3.2",
            ours: "well: at least half of the best scheme",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("HSTORE", |_| true)? {
                    let own = data.throughput("HSTORE", x)?;
                    let mut best: f64 = 0.0;
                    for name in SCHEMES {
                        best = best.max(data.throughput(name, x)?);
                    }
                    let share = own / best;
                    let saw = format!("{:.0} % of the best on {x}", 100.0 * share);
                    finding = finding.and((share >= 0.5) == (x <= 4.0), saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "SILO and TICTOC reach the highest peaks of all schemes, at one socket (56 cores), and degrade beyond",
            section: "3.3.2 and 4.1.1",
            ours: "",
            judge: silo_and_tictoc_peak_within_a_socket,
        },
    ],
};

fn silo_and_tictoc_peak_within_a_socket(data: &Data<'_>) -> Judgement {
    let mut others: f64 = 0.0;
    for name in SCHEMES.into_iter().filter(|name| !["SILO", "TICTOC"].contains(name)) {
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
