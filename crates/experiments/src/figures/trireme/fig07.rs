//! Figures 7a and 7b: more protocols, as DBx1000 implements them.

use super::*;

/// The protocols of DBx1000.
const SIX: [&str; 6] = ["DL_DETECT", "NO_WAIT", "WAIT_DIE", "SILO", "OCC", "TICTOC"];

/// Group of NO_WAIT as Trireme implements it.
const TRIREME: &str = "trireme";

/// Group of the reads of figure 7a.
const READS: &str = "reads";

const REMARK: &str = "The runs are ours, with DBx1000's choices: NO_WAIT's locks are lists under a latch, and DL_DETECT's graph of waits is \
                      central.";

/// Returns a line for each protocol, as DBx1000 implements it.
fn lines_of(work: &Work, group: &'static str, effort: Effort) -> Vec<Series> {
    let mut all = work.protocols(group, &SIX, effort);
    for line in &mut all {
        let options = match line.name.as_str() {
            "NO_WAIT" => "lock-form=list",
            "DL_DETECT" => "lock-timeout=off waits-for=central",
            _ => continue,
        };
        for (_, point) in &mut line.points {
            if let Point::Setting(setting) = point {
                options.clone_into(&mut setting.protocol_options);
            }
        }
    }
    all
}

/// Returns a finding that SILO and TICTOC are alike and above OCC, on all threads.
fn silo_is_as_tictoc(data: Data<'_>) -> Judgement {
    let ratio = times(data, "TICTOC", "SILO", ALL)?;
    let ranks = ranked(data, &["SILO", "TICTOC", "OCC"], ALL)?;
    Ok(Finding::of((ratio - 1.0).abs() <= 0.1, format!("TICTOC {ratio:.2} times SILO"))
        .and(ranks[2].0 == "OCC", listed(&ranks)))
}

/// Returns a finding that NO_WAIT is above WAIT_DIE, on all threads.
fn no_wait_is_above(data: Data<'_>) -> Judgement {
    let lead = times(data, "NO_WAIT", "WAIT_DIE", ALL)?;
    Ok(Finding::of(lead > 1.0, format!("{lead:.2} times as fast")))
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "trireme",
    number: "7a",
    title: "Hot and cold records, reads, protocols of DBx1000",
    section: "5",
    machine: MACHINE,
    remarks: &[RECORDS, REMARK],
    x: THREADS,
    series: |effort| {
        let work = hot_cold(effort, "");
        let mut all = lines_of(&work, "", effort);
        all.extend(work.protocols(TRIREME, &["NO_WAIT"], effort));
        all
    },
    panels: &[
        throughput("As in DBx1000", ""),
        throughput("NO_WAIT as in Trireme, from figure 2b", TRIREME).beside(""),
    ],
    checks: &[
        Check {
            statement: "SILO and TICTOC are identical and above OCC",
            section: "5",
            ours: "identical: within 10 % on 72 threads",
            judge: |data| silo_is_as_tictoc(*data),
        },
        Check {
            statement: "NO_WAIT is above WAIT_DIE",
            section: "5",
            ours: "on 72 threads",
            judge: |data| no_wait_is_above(*data),
        },
        Check {
            statement: "Optimistic protocols scale well with reads, and pessimistic ones fail to",
            section: "5",
            ours: "on 72 threads at least half of linear, and less than a quarter",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SIX {
                    let linear = of_linear(*data, name, ALL)?;
                    let good = match name {
                        "SILO" | "TICTOC" | "OCC" => linear >= 0.5,
                        _ => linear < 0.25,
                    };
                    finding = finding.and(good, format!("{name} {}", percent(linear)));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "NO_WAIT scales much better in Trireme than in DBx1000",
            section: "5",
            ours: "at least 2 times as fast on 72 threads",
            judge: |data| {
                let lead = to_group(data.group(TRIREME), "NO_WAIT", "", ALL)?;
                Ok(Finding::of(lead >= 2.0, format!("{lead:.2} times as fast")))
            },
        },
    ],
};

pub(super) const FIGURE_B: Figure = Figure {
    paper: "trireme",
    number: "7b",
    title: "Hot and cold records, updates, protocols of DBx1000",
    section: "5",
    machine: MACHINE,
    remarks: &[RECORDS, REMARK],
    x: THREADS,
    series: |effort| {
        let mut all = lines_of(&hot_cold(effort, UPDATES), "", effort);
        all.extend(lines_of(&hot_cold(effort, ""), READS, effort));
        all
    },
    panels: &[throughput("Updates", ""), throughput("Reads, from figure 7a", READS)],
    checks: &[
        Check {
            statement: "Updates cost all protocols at least an order of magnitude",
            section: "5",
            ours: "at most a tenth of the reads on 72 threads",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SIX {
                    let left = to_group(*data, name, READS, ALL)?;
                    finding = finding.and(left <= 0.1, format!("{name} {}", percent(left)));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "SILO and TICTOC are identical and above OCC with updates, too",
            section: "5",
            ours: "identical: within 10 % on 72 threads",
            judge: |data| silo_is_as_tictoc(*data),
        },
        Check {
            statement: "NO_WAIT is above WAIT_DIE with updates, too",
            section: "5",
            ours: "on 72 threads",
            judge: |data| no_wait_is_above(*data),
        },
    ],
};
