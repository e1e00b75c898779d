//! Figures 7c to 7e: ten updates of 72 records.

use super::*;

/// Names of the protocols of Foedus in figure 7c: MOCC, its optimistic part alone, and its pessimistic one.
const FOEDUS: [&str; 3] = ["MOCC", "OCC", "PCC"];

/// Group of the runs of figure 7c.
const OTHER: &str = "7c";

const REMARK: &str = "A partitioned architecture has a partition for each thread. The records of a transaction belong to any of them.";

/// Returns the lines of Foedus. Its OCC is Silo's, and its PCC locks at commit (section 5.1).
fn foedus(group: &'static str, effort: Effort) -> Vec<Series> {
    let work = few_records();
    let mut all = vec![
        work.line((group, "MOCC"), (SE, "MOCC"), effort),
        work.line((group, "OCC"), (SE, "SILO"), effort),
    ];
    let mut pcc = work.line((group, "PCC"), (SE, "NO_WAIT"), effort);
    for (_, point) in &mut pcc.points {
        if let Point::Setting(setting) = point {
            "lock-form=counter write-locks=commit".clone_into(&mut setting.protocol_options);
        }
    }
    all.push(pcc);
    all
}

/// Returns the lines of Trireme with `protocols` under shared-everything.
fn trireme(protocols: &[&'static str], effort: Effort) -> Vec<Series> {
    let work = few_records();
    let mut all = work.protocols("", protocols, effort);
    all.extend(work.architectures("", &[PSE], "", effort));
    all
}

pub(super) const FIGURE_C: Figure = Figure {
    paper: "trireme",
    number: "7c",
    title: "Ten updates of 72 records, protocols of Foedus",
    section: "5.1",
    machine: MACHINE,
    remarks: &[
        "The runs are ours: OCC is SILO, and PCC is NO_WAIT with locks that are taken at commit.",
    ],
    x: THREADS,
    series: |effort| foedus("", effort),
    panels: &[throughput("Throughput", ""), aborts()],
    checks: &[Check {
        statement: "MOCC clearly beats OCC and two-phase locking that locks at commit",
        section: "5.1",
        ours: "on 72 threads by at least 1.2 times",
        judge: |data| {
            let ranks = ranked(*data, &FOEDUS, ALL)?;
            let good = ranks[0].0 == "MOCC" && ranks[0].1 >= 1.2 * ranks[1].1;
            Ok(Finding::of(good, listed(&ranks)))
        },
    }],
};

pub(super) const FIGURE_D: Figure = Figure {
    paper: "trireme",
    number: "7d",
    title: "Ten updates of 72 records, Trireme",
    section: "5.1",
    machine: MACHINE,
    remarks: &[
        REMARK,
        "Protocols are under shared-everything. PSE is partitioned serial execution.",
    ],
    x: THREADS,
    series: |effort| {
        let mut all = trireme(&["SILO", "NO_WAIT", "2V_NO_WAIT", "DL_DETECT"], effort);
        all.extend(foedus(OTHER, effort));
        all
    },
    panels: &[
        throughput("Protocols of Trireme", ""),
        throughput("Protocols of Foedus, from figure 7c", OTHER).beside(""),
    ],
    checks: &[
        Check {
            statement: "PSE outperforms the other architectures, because it does not abort",
            section: "5.1",
            ours: "on 72 threads",
            judge: |data| {
                let names = ["SILO", "NO_WAIT", "2V_NO_WAIT", "DL_DETECT", "PSE"];
                let ranks = ranked(*data, &names, ALL)?;
                Ok(Finding::of(ranks[0].0 == "PSE", listed(&ranks)))
            },
        },
        Check {
            statement: "NO_WAIT, which locks at access, scales much better than locks at commit (PCC)",
            section: "5.1",
            ours: "at least 1.5 times as fast on 72 threads, and with fewer aborts",
            judge: |data| {
                let other = data.group(OTHER);
                let (own, pcc) = (data.throughput("NO_WAIT", ALL)?, other.throughput("PCC", ALL)?);
                let aborts = |of: Data<'_>, name| of.value(name, ALL, Measure::Aborts);
                let (few, many) = (aborts(*data, "NO_WAIT")?, aborts(other, "PCC")?);
                let saw = format!("NO_WAIT {}, PCC {}", short(own), short(pcc));
                Ok(Finding::of(own >= 1.5 * pcc, saw)
                    .and(few < many, format!("aborts a commit {few:.1}, PCC {many:.1}")))
            },
        },
    ],
};

pub(super) const FIGURE_E: Figure = Figure {
    paper: "trireme",
    number: "7e",
    title: "Ten updates of 72 records, symmetric and asymmetric Delegation",
    section: "5.1",
    machine: MACHINE,
    remarks: &[
        REMARK,
        "Delegation is with NO_WAIT. Asymmetric means that half of the threads, spread evenly over the sockets, only serve the others. SILO and NO_WAIT are under shared-everything, and are those of figure 7d, as is PSE.",
    ],
    x: THREADS,
    series: |effort| {
        let mut all = few_records().architectures("", &[DELEGATION, ASYMMETRIC], "NO_WAIT", effort);
        all.extend(trireme(&["SILO", "NO_WAIT"], effort));
        all
    },
    panels: &[throughput("", "")],
    checks: &[
        Check {
            statement: "Asymmetric Delegation outperforms the symmetric one",
            section: "5.1",
            ours: "on 72 threads",
            judge: |data| {
                let lead = times(*data, "Asymmetric", "Delegation", ALL)?;
                Ok(Finding::of(lead > 1.0, format!("{lead:.2} times as fast")))
            },
        },
        Check {
            statement: "Both lag behind PSE and behind SILO and NO_WAIT under shared-everything by at least 10 times",
            section: "5.1",
            ours: "on 72 threads",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["Delegation", "Asymmetric"] {
                    let own = data.throughput(name, ALL)?.max(1.0);
                    for other in ["SILO", "NO_WAIT", "PSE"] {
                        let lead = data.throughput(other, ALL)? / own;
                        let saw = format!("{other} {lead:.1} times {name}");
                        finding = finding.and(lead >= 10.0, saw);
                    }
                }
                Ok(finding)
            },
        },
    ],
};
