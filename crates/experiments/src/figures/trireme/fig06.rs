//! Figures 6a and 6b: YCSB, reads and updates.

use super::*;

/// The protocols of the figures, under shared-everything.
const PROTOCOLS: [&str; 4] = ["SILO", "NO_WAIT", "2V_NO_WAIT", "DL_DETECT"];

pub(super) const FIGURE_A: Figure = Figure {
    paper: "trireme",
    number: "6a",
    title: "YCSB, reads, theta 0.8",
    section: "4.4.1",
    machine: MACHINE,
    remarks: &[
        SCATTERED,
        "SILO copies each record of 1 KB before it reads a field of it (4.4.1). Protocols are under shared-everything, \
         Delegation is with DL_DETECT.",
    ],
    x: THREADS,
    series: |effort| {
        let work = ycsb("--theta 0.8");
        let mut all = work.protocols("", &PROTOCOLS, effort);
        all.extend(work.architectures("", &[DELEGATION], "DL_DETECT", effort));
        all
    },
    panels: &[throughput("", "")],
    checks: &[
        Check {
            statement: "NO_WAIT and 2V_NO_WAIT scale without the plateau of the hot records",
            section: "4.4.1",
            ours: "from 54 to 72 threads at least half of the linear gain, which is 33 %",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["NO_WAIT", "2V_NO_WAIT"] {
                    let gain = gain(*data, name, 54.0, ALL)?;
                    let saw = format!("{name} {}", percent(gain - 1.0));
                    finding = finding.and(gain >= 1.17, saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "SILO, which copies records of 1 KB, lags behind NO_WAIT and 2V_NO_WAIT",
            section: "4.4.1",
            ours: "on 72 threads",
            judge: |data| {
                let ranks = ranked(*data, &["SILO", "NO_WAIT", "2V_NO_WAIT"], ALL)?;
                Ok(Finding::of(ranks[2].0 == "SILO", listed(&ranks)))
            },
        },
        Check {
            statement: "Delegation merely equals DL_DETECT under shared-everything on 72 threads, and is slower with fewer",
            section: "4.4.1",
            ours: "equal: within 20 %",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("Delegation", |_| true)? {
                    let ratio = times(*data, "Delegation", "DL_DETECT", x)?;
                    let good = if x == ALL { (ratio - 1.0).abs() <= 0.2 } else { ratio < 1.0 };
                    finding = finding.and(good, format!("{ratio:.2} on {x}"));
                }
                Ok(finding)
            },
        },
    ],
};

pub(super) const FIGURE_B: Figure = Figure {
    paper: "trireme",
    number: "6b",
    title: "YCSB, updates, theta 0.8",
    section: "4.4.2",
    machine: MACHINE,
    remarks: &[SCATTERED, UNDONE, "Protocols are under shared-everything."],
    x: THREADS,
    series: |effort| {
        let work = ycsb_updates("--theta 0.8 --read-ratio 0");
        let mut all = work.protocols("", &PROTOCOLS, effort);
        all.extend(work.architectures("", &[PSE], "", effort));
        all
    },
    panels: &[throughput("Throughput", ""), aborts()],
    checks: &[
        Check {
            statement: "SILO aborts less than both variants of NO_WAIT and leads them",
            section: "4.4.2",
            ours: "on 72 threads",
            judge: |data| {
                let names = ["SILO", "NO_WAIT", "2V_NO_WAIT"];
                let rates = ranked(*data, &names, ALL)?;
                let aborts = ranked_by(*data, &names, ALL, Measure::Aborts)?;
                Ok(Finding::of(rates[0].0 == "SILO", listed(&rates))
                    .and(aborts[2].0 == "SILO", format!("aborts {}", listed(&aborts))))
            },
        },
        Check {
            statement: "DL_DETECT is the worst of the four protocols",
            section: "4.4.2",
            ours: "on 72 threads",
            judge: |data| {
                let rates = ranked(*data, &PROTOCOLS, ALL)?;
                Ok(Finding::of(rates[3].0 == "DL_DETECT", listed(&rates)))
            },
        },
        Check {
            statement: "PSE is at least 10 times behind SILO and both variants of NO_WAIT",
            section: "4.4.2",
            ours: "on 72 threads",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["SILO", "NO_WAIT", "2V_NO_WAIT"] {
                    let lead = times(*data, name, "PSE", ALL)?;
                    finding = finding.and(lead >= 10.0, format!("{name} {lead:.1} times"));
                }
                Ok(finding)
            },
        },
    ],
};
