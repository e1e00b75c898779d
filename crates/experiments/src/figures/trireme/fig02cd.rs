//! Figures 2c and 2d: the best architecture of each protocol, and records of other partitions.

use super::*;

/// The protocols under shared-everything.
const PROTOCOLS: [&str; 4] = ["SILO", "NO_WAIT", "2V_NO_WAIT", "DL_DETECT"];

pub(super) const FIGURE_C: Figure = Figure {
    paper: "trireme",
    number: "2c",
    title: "Hot and cold records, reads, the best pairs",
    section: "4.2.3",
    machine: MACHINE,
    remarks: &[
        RECORDS,
        PLACED,
        "Protocols are under shared-everything, Delegation is with DL_DETECT. The paper's figure leaves DL_DETECT under \
         shared-everything to figure 2a.",
    ],
    x: THREADS,
    series: |effort| {
        let work = hot_cold(effort, "");
        let mut all = work.protocols("", &PROTOCOLS, effort);
        all.extend(work.architectures("", &[DELEGATION, PSE], "DL_DETECT", effort));
        all
    },
    panels: &[throughput("", "")],
    checks: &[
        Check {
            statement: "On 72 threads SILO leads, and NO_WAIT and 2V_NO_WAIT come second at half of it",
            section: "4.2.3",
            ours: "SILO 1.5 to 3 times as fast",
            judge: |data| {
                let names = ["SILO", "NO_WAIT", "2V_NO_WAIT", "DL_DETECT", "PSE"];
                let ranks = ranked(*data, &names, ALL)?;
                let mut finding = Finding::of(ranks[0].0 == "SILO", listed(&ranks));
                for name in ["NO_WAIT", "2V_NO_WAIT"] {
                    let lead = times(*data, "SILO", name, ALL)?;
                    let saw = format!("SILO {lead:.2} times {name}");
                    finding = finding.and((1.5..=3.0).contains(&lead), saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "SILO does not synchronise at all and scales without limits",
            section: "4.2.3",
            ours: "at least half of linear on 72 threads, where three quarters of the pages are remote",
            judge: |data| {
                let linear = of_linear(*data, "SILO", ALL)?;
                Ok(Finding::of(linear >= 0.5, format!("{} of linear", percent(linear))))
            },
        },
        Check {
            statement: "On 72 threads Delegation with DL_DETECT is third, at a third of SILO",
            section: "4.2.3",
            ours: "SILO 2 to 4.5 times as fast, and NO_WAIT faster",
            judge: |data| {
                let (silo, no_wait) = (
                    times(*data, "SILO", "Delegation", ALL)?,
                    times(*data, "NO_WAIT", "Delegation", ALL)?,
                );
                Ok(Finding::of((2.0..=4.5).contains(&silo), format!("SILO {silo:.2} times"))
                    .and(no_wait > 1.0, format!("NO_WAIT {no_wait:.2} times")))
            },
        },
        Check {
            statement: "PSE is the only pair that fails to scale",
            section: "4.2.3",
            ours: "on 72 threads less than a quarter of linear, and behind NO_WAIT and SILO",
            judge: |data| {
                let linear = of_linear(*data, "PSE", ALL)?;
                let lead = times(*data, "NO_WAIT", "PSE", ALL)?;
                Ok(Finding::of(linear < 0.25, format!("{} of linear", percent(linear)))
                    .and(lead > 1.0, format!("NO_WAIT {lead:.2} times as fast")))
            },
        },
        Check {
            statement: "Under shared-everything DL_DETECT lags behind SILO by a factor of 20 on 72 threads",
            section: "4.2.3",
            ours: "at least 10",
            judge: |data| {
                let lead = times(*data, "SILO", "DL_DETECT", ALL)?;
                Ok(Finding::of(lead >= 10.0, format!("{lead:.1} times")))
            },
        },
        Check {
            statement: "DL_DETECT's distance to SILO shrinks when it moves to Delegation",
            section: "4.2.3",
            ours: "at most half of the distance",
            judge: |data| {
                let (before, after) = (
                    times(*data, "SILO", "DL_DETECT", ALL)?,
                    times(*data, "SILO", "Delegation", ALL)?,
                );
                let saw = format!("from {before:.1} times to {after:.1}");
                Ok(Finding::of(after <= 0.5 * before, saw))
            },
        },
    ],
};

/// Number of threads and of partitions of figure 2d.
const DIVIDED: usize = 72;

fn by_remote(effort: Effort) -> Vec<Series> {
    let remote = effort.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10][..], &[0, 1, 2, 5, 10][..]);
    let line = |architecture: Architecture| {
        let run = |remote: &u64| {
            let records = format!("--hot-records 0 --hot-accesses 0 --remote {remote}");
            let records = match architecture.name {
                // Keys are drawn in the same way, though nothing is stored apart.
                "SE" => format!("{records} --partitions {DIVIDED}"),
                _ => records,
            };
            let work = hot_cold(effort, &records);
            (*remote as f64, work.under(architecture, "NO_WAIT", DIVIDED))
        };
        let points = remote.iter().map(run).map(Point::placed).collect();
        Series { group: "", name: architecture.name.to_owned(), points }
    };
    [SE, PSE, DELEGATION, DORA].map(line).into()
}

pub(super) const FIGURE_D: Figure = Figure {
    paper: "trireme",
    number: "2d",
    title: "Ten reads without a hot set, some of other partitions, 72 threads",
    section: "4.2.4",
    machine: MACHINE,
    remarks: &[RECORDS, PLACED, "Shared-everything, Delegation and DORA are with NO_WAIT."],
    x: "Remote reads",
    series: by_remote,
    panels: &[throughput("", "")],
    checks: &[
        Check {
            statement: "Without remote reads PSE beats shared-everything",
            section: "4.2.4",
            ours: "",
            judge: |data| {
                let lead = times(*data, "PSE", "SE", 0.0)?;
                Ok(Finding::of(lead > 1.0, format!("{lead:.2} times as fast")))
            },
        },
        Check {
            statement: "Without remote reads Delegation and DORA beat shared-everything and are behind PSE",
            section: "4.2.4",
            ours: "",
            judge: |data| {
                let ranks = ranked(*data, &["SE", "PSE", "Delegation", "DORA"], 0.0)?;
                let good = ranks[0].0 == "PSE" && ranks[3].0 == "SE";
                Ok(Finding::of(good, listed(&ranks)))
            },
        },
        Check {
            statement: "With one remote read PSE can run half of the threads at best",
            section: "4.2.4",
            ours: "at most half of its throughput without remote reads",
            judge: |data| {
                let left = gain(*data, "PSE", 0.0, 1.0)?;
                Ok(Finding::of(left <= 0.5, format!("{} is left", percent(left))))
            },
        },
        Check {
            statement: "One remote read lowers the throughput of Delegation and DORA",
            section: "4.2.4",
            ours: "",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["Delegation", "DORA"] {
                    let left = gain(*data, name, 0.0, 1.0)?;
                    finding = finding.and(left < 1.0, format!("{name} {}", percent(left)));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "With ten remote reads shared-everything is nearly 60 times as fast as PSE",
            section: "4.2.4",
            ours: "at least 30",
            judge: |data| {
                let lead = times(*data, "SE", "PSE", 10.0)?;
                Ok(Finding::of(lead >= 30.0, format!("{lead:.1} times")))
            },
        },
        Check {
            statement: "With ten remote reads Delegation and DORA are 10 times PSE, and shared-everything is 7 times both",
            section: "4.2.4",
            ours: "at least half as many times",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["Delegation", "DORA"] {
                    let (above, below) =
                        (times(*data, "SE", name, 10.0)?, times(*data, name, "PSE", 10.0)?);
                    let saw = format!("{name} {below:.1} times PSE, a {above:.1}th of SE");
                    finding = finding.and(above >= 3.5 && below >= 5.0, saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "Shared-everything does not react to the number of remote reads",
            section: "4.2.4",
            ours: "within 5 % of none",
            judge: |data| {
                let values = data.throughputs("SE")?;
                let none = data.throughput("SE", 0.0)?;
                let flat = values.iter().all(|(_, y)| (y / none - 1.0).abs() <= 0.05);
                Ok(Finding::of(flat, curve(&values)))
            },
        },
    ],
};
