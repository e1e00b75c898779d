//! Figures 3a to 3c: updates under DL_DETECT.

use super::*;

/// Group of the reads of figure 2a.
const READS: &str = "reads";

const LATER: [&str; 2] = ["Delegation", "DORA"];

fn updates(effort: Effort) -> Vec<Series> {
    hot_cold(effort, UPDATES).architectures("", &THREE, "DL_DETECT", effort)
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "trireme",
    number: "3a",
    title: "Hot and cold records, updates, DL_DETECT, by architecture",
    section: "4.3.1",
    machine: MACHINE,
    remarks: &[RECORDS, PLACED],
    x: THREADS,
    series: |effort| {
        let mut all = updates(effort);
        all.extend(hot_cold(effort, "").architectures(READS, &[SE], "DL_DETECT", effort));
        all
    },
    panels: &[throughput("Updates", ""), throughput("Reads, from figure 2a", READS)],
    checks: &[
        Check {
            statement: "Under shared-everything updates cost at least an order of magnitude",
            section: "4.3.1",
            ours: "at most a tenth of the reads on 72 threads",
            judge: |data| {
                let left = to_group(*data, "SE", READS, ALL)?;
                Ok(Finding::of(left <= 0.1, format!("{} of the reads", percent(left))))
            },
        },
        Check {
            statement: "With few threads shared-everything is ahead of Delegation and DORA",
            section: "4.3.1",
            ours: "few: up to 8",
            judge: |data| ahead_on_few(*data, "SE", &LATER),
        },
        Check {
            statement: "With many threads Delegation and DORA help little",
            section: "4.3.1",
            ours: "within 2 times of shared-everything on 72 threads",
            judge: |data| {
                let mut finding = Finding::default();
                for name in LATER {
                    let lead = times(*data, name, "SE", ALL)?;
                    let saw = format!("{name} {lead:.2} times");
                    finding = finding.and((0.5..=2.0).contains(&lead), saw);
                }
                Ok(finding)
            },
        },
    ],
};

/// Returns a finding that nearly each transaction of `names` aborts once on all threads.
fn aborts_once(data: Data<'_>, names: &[&str]) -> Judgement {
    let mut finding = Finding::default();
    for name in names {
        let aborts = data.value(name, ALL, Measure::Aborts)?;
        let ratio = data.value(name, ALL, Measure::AbortRatio)?;
        let saw = format!("{name} {aborts:.2} a commit, {} of the attempts", percent(ratio));
        finding = finding.and(aborts >= 0.8, saw);
    }
    Ok(finding)
}

pub(super) const FIGURE_B: Figure = Figure {
    paper: "trireme",
    number: "3b",
    title: "Hot and cold records, updates, DL_DETECT: aborts",
    section: "4.3.1",
    machine: MACHINE,
    remarks: &[RECORDS],
    x: THREADS,
    series: updates,
    panels: &[aborts(), abort_ratio()],
    checks: &[
        Check {
            statement: "On 72 threads nearly each transaction aborts at least once under shared-everything",
            section: "4.3.1",
            ours: "at least 0.8 aborts a commit",
            judge: |data| aborts_once(*data, &["SE"]),
        },
        Check {
            statement: "On 72 threads the same is true of Delegation and DORA",
            section: "4.3.1",
            ours: "at least 0.8 aborts a commit",
            judge: |data| aborts_once(*data, &LATER),
        },
    ],
};

/// Returns a finding that `name` makes less on all threads than at its peak.
fn thrashes(data: Data<'_>, name: &str) -> Judgement {
    let ((x, peak), last) = (data.peak(name)?, data.throughput(name, ALL)?);
    let saw = format!("{name} {} on {x}, {} on 72", short(peak), short(last));
    Ok(Finding::of(last < 0.9 * peak, saw))
}

pub(super) const FIGURE_C: Figure = Figure {
    paper: "trireme",
    number: "3c",
    title: "Hot and cold records, updates in key order, DL_DETECT",
    section: "4.3.1",
    machine: MACHINE,
    remarks: &[RECORDS, PLACED, "Transactions search for deadlocks though there are none."],
    x: THREADS,
    series: |effort| {
        let work = hot_cold(effort, &format!("{UPDATES} --key-order"));
        work.architectures("", &[SE, DELEGATION], "DL_DETECT", effort)
    },
    panels: &[throughput("", "")],
    checks: &[
        Check {
            statement: "In key order shared-everything has no deadlocks",
            section: "4.3.1",
            ours: "no aborts",
            judge: |data| {
                let aborts = data.line("SE")?.values(Measure::Aborts);
                let none = aborts.iter().all(|(_, aborts)| *aborts == 0.0);
                Ok(Finding::of(none, format!("aborts a commit: {}", curve(&aborts))))
            },
        },
        Check {
            statement: "In key order Delegation is above shared-everything",
            section: "4.3.1",
            ours: "on 72 threads",
            judge: |data| {
                let lead = times(*data, "Delegation", "SE", ALL)?;
                Ok(Finding::of(lead > 1.0, format!("{lead:.2} times")))
            },
        },
        Check {
            statement: "Lock thrashing lowers the throughput of shared-everything without any deadlock",
            section: "4.3.1",
            ours: "on 72 threads less than 0.9 of the peak",
            judge: |data| thrashes(*data, "SE"),
        },
        Check {
            statement: "Delegation does little against lock thrashing",
            section: "4.3.1",
            ours: "on 72 threads less than 0.9 of the peak",
            judge: |data| thrashes(*data, "Delegation"),
        },
    ],
};
