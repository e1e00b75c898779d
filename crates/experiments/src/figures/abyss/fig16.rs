//! Figure 16: TPC-C with few warehouses.

use super::*;

const REMARKS: &[&str] = &[
    "Sizes (10 thousand items, 2000 customers a district) as The Full Story reports them for the paper's 100 MB a warehouse.",
    "Our New-Order inserts its rows into indexes; whether the paper's does is not said.",
];

fn series(effort: Effort, mix: &str) -> Vec<Series> {
    let cores = effort.pick(&[1, 4, 8, 16, 32, 64, 128, 192, 256][..], &[1, 4, 16, 64, 256][..]);
    let sizes = "--schema small --items 10k --customers-per-district 2000";
    let options = format!("--warehouses 4 --mix {mix} {sizes}");
    each_by_cores(&SEVEN, "", "tpcc", &options, cores)
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "abyss",
    number: "16a",
    title: "TPC-C, 4 warehouses, Payment and New-Order",
    section: "5.6.1",
    machine: MACHINE,
    remarks: REMARKS,
    x: CORES,
    series: |effort| series(effort, "narrow"),
    panels: &[by_cores()],
    checks: &[
        Check {
            statement: "No scheme scales once cores exceed warehouses, and HSTORE leaves further cores idle",
            section: "5.6.1",
            ours: "scales: 16 times from 4 to 256 cores; idle: at most 1.2 times its throughput on 4 cores",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SEVEN {
                    let gain = data.throughput(name, 256.0)? / data.throughput(name, 4.0)?;
                    finding = finding.and(gain < 16.0, format!("{name} {gain:.2} times"));
                }
                let idle = data.peak("HSTORE")?.1 / data.throughput("HSTORE", 4.0)?;
                Ok(finding.and(idle <= 1.2, format!("HSTORE at best {idle:.2} times")))
            },
        },
        Check {
            statement: "TIMESTAMP and MVCC are ahead of the other schemes: their reads do not block writes",
            section: "5.6.1",
            ours: "geometric mean over more than 4 cores",
            judge: |data| {
                let places = data.places("MVCC", |x| x > 4.0)?;
                let mut ranks = Vec::new();
                for name in SEVEN {
                    ranks.push((name, data.mean_throughput(name, &places)?));
                }
                ranks.sort_by(|a, b| b.1.total_cmp(&a.1));
                let first = |name| ranks[..2].iter().any(|rank| rank.0 == name);
                Ok(Finding::of(first("TIMESTAMP") && first("MVCC"), listed(&ranks)))
            },
        },
    ],
};

pub(super) const FIGURE_B: Figure = Figure {
    paper: "abyss",
    number: "16b",
    title: "TPC-C, 4 warehouses, Payment only",
    section: "5.6.1",
    machine: MACHINE,
    remarks: &[REMARKS[0]],
    x: CORES,
    series: |effort| series(effort, "payment"),
    panels: &[by_cores()],
    checks: &[Check {
        statement: "No scheme scales: all Payments of a warehouse write one row",
        section: "5.6.1",
        ours: "less than twice the throughput from 4 to 256 cores",
        judge: |data| {
            let mut finding = Finding::default();
            for name in SEVEN {
                let gain = data.throughput(name, 256.0)? / data.throughput(name, 4.0)?;
                finding = finding.and(gain < 2.0, format!("{name} {gain:.2} times"));
            }
            Ok(finding)
        },
    }],
};

pub(super) const FIGURE_C: Figure = Figure {
    paper: "abyss",
    number: "16c",
    title: "TPC-C, 4 warehouses, New-Order only",
    section: "5.6.1",
    machine: MACHINE,
    remarks: REMARKS,
    x: CORES,
    series: |effort| series(effort, "new-order"),
    panels: &[by_cores()],
    checks: &[Check {
        statement: "All but HSTORE and DL_DETECT gain up to 64 cores, T/O less than NO_WAIT and WAIT_DIE; DL_DETECT thrashes",
        section: "5.6.1",
        ours: "gain: more on 64 cores than on 16; DL_DETECT: no gain",
        judge: |data| {
            let gain = |name| Ok(data.throughput(name, 64.0)? / data.throughput(name, 16.0)?);
            let mut finding = Finding::default();
            for name in ["NO_WAIT", "WAIT_DIE", "TIMESTAMP", "MVCC", "OCC"] {
                let gain: f64 = gain(name)?;
                finding = finding.and(gain > 1.0, format!("{name} {gain:.2} times"));
            }
            let most = gain("TIMESTAMP")?.max(gain("MVCC")?).max(gain("OCC")?);
            let locking = gain("NO_WAIT")?.min(gain("WAIT_DIE")?);
            let detect = gain("DL_DETECT")?;
            Ok(finding
                .and(most < locking, format!("T/O at most {most:.2}, 2PL at least {locking:.2}"))
                .and(detect <= 1.0, format!("DL_DETECT {detect:.2} times")))
        },
    }],
};
