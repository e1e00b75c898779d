//! Figures 21 and 22: the full mix with one warehouse for each core.

use super::fig19::{RATIOS, REMARKS, THROUGHPUT, both_mixes, full_to_narrow};
use super::*;

/// Number of warehouses of a quick figure: one for each core. Loading more takes longer than the runs.
const QUICK_WAREHOUSES: u64 = 112;

pub(super) const FIGURE_21: Figure = Figure {
    paper: "full-story",
    number: "21",
    title: "Full TPC-C mix, 1568 warehouses, Power9",
    section: "4.3.2",
    machine: "power9",
    remarks: REMARKS,
    x: CORES,
    series: |effort| {
        let full = &[1, 24, 48, 96, 192, 464, 928, 1504][..];
        both_mixes(effort.pick(1568, QUICK_WAREHOUSES), effort.pick(full, &[24, 96]))
    },
    panels: &[THROUGHPUT, RATIOS],
    checks: &[Check {
        statement: "The schemes scale with the full mix, with a lower throughput than with the narrow mix",
        section: "4.3.2",
        ours: "each step of cores adds throughput; the ratio is below 1",
        judge: |data| {
            let mut finding = Finding::default();
            for name in EIGHT {
                let values = data.group("full").throughputs(name)?;
                let scales = values.windows(2).all(|pair| pair[1].1 > pair[0].1);
                for (x, _) in &values {
                    let ratio = full_to_narrow(*data, name, *x)?;
                    finding =
                        finding.and(scales && ratio < 1.0, format!("{name} {ratio:.2} on {x}"));
                }
            }
            Ok(finding)
        },
    }],
};

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "22",
    title: "Full TPC-C mix, 1568 warehouses, Superdome Flex",
    section: "4.3.2",
    machine: FLEX,
    remarks: REMARKS,
    x: CORES,
    series: |effort| {
        let full = &[1, 28, 56, 112, 224, 448, 896, 1344, 1568][..];
        both_mixes(effort.pick(1568, QUICK_WAREHOUSES), effort.pick(full, &[28, 112]))
    },
    panels: &[THROUGHPUT, RATIOS],
    checks: &[
        Check {
            statement: "The full mix reduces the throughput of all schemes",
            section: "4.3.2",
            ours: "up to 1344 cores",
            judge: |data| {
                let mut finding = Finding::default();
                for name in EIGHT {
                    for x in data.group("full").places(name, |x| x <= 1344.0)? {
                        let ratio = full_to_narrow(*data, name, x)?;
                        finding = finding.and(ratio < 1.0, format!("{name} {ratio:.2} on {x}"));
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "HSTORE and MVCC slow down least: to 0.69 to 0.88 and 0.71 to 0.86 of the narrow mix; OCC to 0.5",
            section: "4.3.2",
            ours: "within 15 %",
            judge: |data| {
                let mut finding = Finding::default();
                for (name, range) in
                    [("HSTORE", (0.69, 0.88)), ("MVCC", (0.71, 0.86)), ("OCC", (0.5, 0.5))]
                {
                    for x in data.group("full").places(name, |x| x <= 1344.0)? {
                        let ratio = full_to_narrow(*data, name, x)?;
                        let saw = format!("{name} {ratio:.2} on {x}");
                        finding = finding.and(near(ratio, range, 0.15), saw);
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "MVCC handles the read-heavy transactions better: it slows down less than SILO, TICTOC and the pessimistic \
                        schemes",
            section: "4.3.2",
            ours: "on 112 cores",
            judge: |data| {
                let own = full_to_narrow(*data, "MVCC", 112.0)?;
                let mut finding = Finding::of(own > 0.0, format!("MVCC {own:.2}"));
                for name in ["SILO", "TICTOC", "DL_DETECT", "WAIT_DIE", "NO_WAIT"] {
                    let other = full_to_narrow(*data, name, 112.0)?;
                    finding = finding.and(own > other, format!("{name} {other:.2}"));
                }
                Ok(finding)
            },
        },
    ],
};
