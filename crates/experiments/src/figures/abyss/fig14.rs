//! Figure 14: a partitioned database.

use super::*;

/// Group of the runs on one partition.
const WHOLE: &str = "one partition";

/// Options of the workload.
const OPTIONS: &str = "--records 20M --theta 0 --read-ratio 0.5";

/// Returns the run with a partition for each core.
pub(super) fn partitioned(name: &'static str, cores: usize) -> Setting {
    scheme("ycsb", format!("{OPTIONS} --partitions {cores}"), name, cores)
}

fn series(effort: Effort) -> Vec<Series> {
    let cores = effort.pick(
        &[1, 16, 64, 128, 256, 384, 512, 640, 800, 896, 1024][..],
        &[1, 16, 64, 256, 800, 1024][..],
    );
    let point = |name: &'static str, cores: usize| (cores as f64, partitioned(name, cores));
    let line = |name: &&'static str| Series {
        group: "",
        name: (*name).to_owned(),
        points: cores.iter().map(|&cores| point(name, cores)).map(Point::placed).collect(),
    };
    let mut all: Vec<Series> = SEVEN.iter().map(line).collect();
    all.extend(each_by_cores(&SIX, WHOLE, "ycsb", OPTIONS, cores));
    all
}

pub(super) const FIGURE: Figure = Figure {
    paper: "abyss",
    number: "14",
    title: "Partitioned YCSB, a partition for each core, no skew",
    section: "5.5",
    machine: MACHINE,
    remarks: &[
        "The caption says read-only, the text write-intensive; half updates here.",
        "A worker's transactions go to its own partition.",
    ],
    x: CORES,
    series,
    panels: &[
        Panel::new("A partition for each core", "", BY_CORES).beside(WHOLE),
        Panel::new("The same without partitions", WHOLE, BY_CORES).beside(""),
    ],
    checks: &[
        Check {
            statement: "HSTORE is the best of seven up to 800 cores and then degrades, bound by timestamps",
            section: "5.5",
            ours: "bound: its largest cost on 1024 cores",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("HSTORE", |x| x <= 800.0)? {
                    let ranks = ranked(*data, &SEVEN, x)?;
                    let own = data.throughput("HSTORE", x)?;
                    let (best, most) = ranks[0];
                    let saw = format!("on {x} HSTORE {}, best {best} {}", short(own), short(most));
                    finding = finding.and(best == "HSTORE", saw);
                }
                let ((x, peak), last) = (data.peak("HSTORE")?, data.throughput("HSTORE", 1024.0)?);
                let (cost, share) = data.largest_cost("HSTORE", 1024.0)?;
                let fell = format!("peak {} on {x}, {} on 1024", short(peak), short(last));
                let bound = format!("{} {}", cost.name(), percent(share));
                Ok(finding.and(last < peak, fell).and(cost == Component::Timestamps, bound))
            },
        },
        Check {
            statement: "Partitioning hardly changes the throughput of the other six schemes",
            section: "5.5",
            ours: "hardly: within 10 %",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SIX {
                    let mut worst: (f64, f64) = (0.0, 1.0);
                    for x in data.places(name, |_| true)? {
                        let whole = data.group(WHOLE).throughput(name, x)?;
                        let ratio = data.throughput(name, x)? / whole;
                        if (ratio - 1.0).abs() > (worst.1 - 1.0).abs() {
                            worst = (x, ratio);
                        }
                    }
                    let good = (worst.1 - 1.0).abs() <= 0.1;
                    finding = finding.and(good, format!("{name} {:.2} on {}", worst.1, worst.0));
                }
                Ok(finding)
            },
        },
    ],
};
