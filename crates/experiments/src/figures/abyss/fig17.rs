//! Figure 17: TPC-C with a warehouse for each core.

use super::*;

const REMARKS: &[&str] = &[
    "10 thousand items as with few warehouses, but 100 customers a district (quick: 30), to fit into the host's memory. A \
     worker's customers are its own warehouse's, so fewer of them cause hardly more conflicts.",
    "Our New-Order inserts its rows into indexes; whether the paper's does is not said.",
];

/// Groups of the runs of one transaction alone.
const PAYMENT: &str = "payment";
const NEW_ORDER: &str = "new-order";

fn series(effort: Effort, group: &'static str, mix: &str, cores: &[usize]) -> Vec<Series> {
    let sizes = effort.pick(
        "--items 10k --customers-per-district 100",
        "--items 10k --customers-per-district 30",
    );
    let options = format!("--warehouses 1024 --mix {mix} --schema small {sizes}");
    each_by_cores(&SEVEN, group, "tpcc", &options, cores)
}

fn cores(effort: Effort) -> &'static [usize] {
    effort.pick(&[1, 64, 128, 256, 384, 512, 640, 800, 1024], &[1, 64, 256, 1024])
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "abyss",
    number: "17a",
    title: "TPC-C, 1024 warehouses, Payment and New-Order",
    section: "5.6.2",
    machine: MACHINE,
    remarks: REMARKS,
    x: CORES,
    series: |effort| {
        let mut all = series(effort, "", "narrow", cores(effort));
        all.extend(series(effort, PAYMENT, "payment", &[1024]));
        all.extend(series(effort, NEW_ORDER, "new-order", &[1024]));
        all
    },
    panels: &[by_cores()],
    checks: &[
        Check {
            statement: "HSTORE is best overall in spite of multi-partition transactions; timestamps limit it on 1024 cores",
            section: "5.6.2",
            ours: "overall: geometric mean over 64 and more cores",
            judge: |data| {
                let places = data.places("HSTORE", |x| x >= 64.0)?;
                let mut ranks = Vec::new();
                for name in SEVEN {
                    ranks.push((name, data.mean_throughput(name, &places)?));
                }
                ranks.sort_by(|a, b| b.1.total_cmp(&a.1));
                let (cost, share) = data.largest_cost("HSTORE", 1024.0)?;
                let bound = format!("{} {} of its time", cost.name(), percent(share));
                Ok(Finding::of(ranks[0].0 == "HSTORE", listed(&ranks))
                    .and(cost == Component::Timestamps, bound))
            },
        },
        Check {
            statement: "No scheme scales, and New-Order limits the mix, not Payment",
            section: "5.6.2",
            ours: "scales: half of linear on 1024 cores",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SEVEN {
                    let share = of_linear(*data, name, 1024.0)?;
                    let order = data.group(NEW_ORDER).throughput(name, 1024.0)?;
                    let payment = data.group(PAYMENT).throughput(name, 1024.0)?;
                    let alone = format!("alone {} and {}", short(order), short(payment));
                    let saw = format!("{name} {} of linear, {alone}", percent(share));
                    finding = finding.and(share < 0.5 && order < payment, saw);
                }
                Ok(finding)
            },
        },
    ],
};

pub(super) const FIGURE_B: Figure = Figure {
    paper: "abyss",
    number: "17b",
    title: "TPC-C, 1024 warehouses, Payment only",
    section: "5.6.2",
    machine: MACHINE,
    remarks: &[REMARKS[0]],
    x: CORES,
    series: |effort| series(effort, "", "payment", cores(effort)),
    panels: &[by_cores()],
    checks: &[Check {
        statement: "T/O cannot pass a ceiling of about 10 M txn/s that timestamps set; 2PL without timestamps is above",
        section: "5.6.2",
        ours: "ceiling: at most 12 M on any number of cores; above: on 1024 cores",
        judge: |data| {
            let (mut finding, mut most): (_, f64) = (Finding::default(), 0.0);
            for name in ORDERED {
                let peak = data.peak(name)?.1;
                most = most.max(data.throughput(name, 1024.0)?);
                finding = finding.and(peak <= 12e6, format!("{name} {}", short(peak)));
            }
            for name in ["DL_DETECT", "NO_WAIT"] {
                let own = data.throughput(name, 1024.0)?;
                finding = finding.and(own > most, format!("{name} {}", short(own)));
            }
            Ok(finding)
        },
    }],
};

pub(super) const FIGURE_C: Figure = Figure {
    paper: "abyss",
    number: "17c",
    title: "TPC-C, 1024 warehouses, New-Order only",
    section: "5.6.2",
    machine: MACHINE,
    remarks: &[
        REMARKS[0],
        REMARKS[1],
        "Our records count waiting for a latch as waiting. NO_WAIT waits for nothing else.",
    ],
    x: CORES,
    series: |effort| series(effort, "", "new-order", cores(effort)),
    panels: &[
        Panel::new("Throughput", "", BY_CORES),
        bars("Where time goes on 1024 cores", 1024.0),
    ],
    checks: &[Check {
        statement: "Upkeep of locks and latches is the main cost of almost all schemes, although there is no contention",
        section: "5.6.2",
        ours: "the manager's share is the largest cost of at least 4 of the 6 schemes without partitions",
        judge: |data| {
            let (mut managing, mut saw) = (0, Vec::new());
            for name in SIX {
                let (cost, share) = data.largest_cost(name, 1024.0)?;
                managing += usize::from(cost == Component::ConcurrencyControl);
                saw.push(format!("{name} {} {}", cost.name(), percent(share)));
            }
            Ok(Finding::of(managing >= 4, saw.join(", ")))
        },
    }],
};
