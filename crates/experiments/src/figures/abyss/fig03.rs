//! Figure 3: the simulated chip beside a real machine.

use super::*;

fn series(effort: Effort) -> Vec<Series> {
    let cores = effort.pick(&[1, 2, 4, 8, 16, 24, 32][..], &[1, 4, 16, 32][..]);
    let options = "--records 20M --theta 0.6 --read-ratio 0.9";
    each_by_cores(&SIX, "", "ycsb", options, cores)
}

pub(super) const FIGURE: Figure = Figure {
    paper: "abyss",
    number: "3",
    title: "Read-intensive YCSB, medium contention, on the simulated chip",
    section: "3.4",
    machine: MACHINE,
    remarks: &[
        "The paper does not say which share of reads is read-intensive; 90 % here.",
        "Only part (a) is drawn: part (b) needs the paper's two-socket machine.",
    ],
    x: CORES,
    series,
    panels: &[by_cores()],
    checks: &[
        Check {
            statement: "Chip and real machine agree, scheme by scheme, on where throughput rises and falls",
            section: "3.4",
            ours: "",
            judge: |_| Missing::always("needs a real machine with 32 cores"),
        },
        Check {
            statement: "MVCC stands worse against TIMESTAMP and OCC on two sockets than on the chip",
            section: "3.4",
            ours: "",
            judge: |_| Missing::always("needs a real machine with two sockets"),
        },
        Check {
            statement: "Schemes that draw timestamps (T/O and WAIT_DIE) lose throughput on reaching 32 cores",
            section: "3.4",
            ours: "",
            judge: timestamps_cost_at_32,
        },
    ],
};

fn timestamps_cost_at_32(data: &Data<'_>) -> Judgement {
    let mut finding = Finding::default();
    for name in ["WAIT_DIE", "TIMESTAMP", "MVCC", "OCC"] {
        let (before, at) = (data.throughput(name, 16.0)?, data.throughput(name, 32.0)?);
        let saw = format!("{name} {} on 16 cores, {} on 32", short(before), short(at));
        finding = finding.and(at < before, saw);
    }
    Ok(finding)
}
