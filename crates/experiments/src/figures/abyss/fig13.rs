//! Figure 13: the share of reads.

use super::*;

/// Group of the series in which each access is a read by chance, as the text says.
const QUERIES: &str = "queries";
/// Group of the series in which whole transactions only read, as the caption says.
const TRANSACTIONS: &str = "transactions";

/// Returns the run in which each access is a read with the probability `share`.
pub(super) fn reading(name: &'static str, share: &str) -> Setting {
    setting(name, &format!("--read-ratio {share}"))
}

fn setting(name: &'static str, reads: &str) -> Setting {
    scheme("ycsb", format!("--records 20M --theta 0.8 {reads}"), name, 64)
}

fn series(effort: Effort) -> Vec<Series> {
    let shares = effort.pick(
        &["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.95", "1"][..],
        &["0", "0.5", "0.9", "1"][..],
    );
    let point = |group: &str, name: &'static str, share: &str| {
        let run = match group {
            QUERIES => reading(name, share),
            _ => setting(name, &format!("--read-ratio 0 --read-only-share {share}")),
        };
        (share.parse().expect("a number"), run)
    };
    let mut all = Vec::new();
    for group in [QUERIES, TRANSACTIONS] {
        all.extend(SIX.iter().map(|name| Series {
            group,
            name: (*name).to_owned(),
            points:
                shares.iter().map(|share| point(group, name, share)).map(Point::placed).collect(),
        }));
    }
    all
}

pub(super) const FIGURE: Figure = Figure {
    paper: "abyss",
    number: "13",
    title: "YCSB by share of reads, theta 0.8, 64 cores",
    section: "5.4",
    machine: MACHINE,
    remarks: &[
        "The caption varies the share of read-only transactions, the text that of read queries. Both are run.",
        "Transactions that are not read-only write all 16 records; read-only ones are declared so.",
    ],
    x: "Share of reads",
    series,
    panels: &[
        Panel::new("Share of read queries", QUERIES, BY_CORES).beside(TRANSACTIONS),
        Panel::new("Share of read-only transactions", TRANSACTIONS, BY_CORES).beside(QUERIES),
    ],
    checks: &[
        Check {
            statement: "The throughput of every scheme rises with the share of reads",
            section: "5.4",
            ours: "tolerance 3 %",
            judge: |data| {
                let (mut falling, mut lines) = (Vec::new(), 0);
                for group in [QUERIES, TRANSACTIONS] {
                    for name in SIX {
                        lines += 1;
                        let line = data.group(group).throughputs(name)?;
                        if !never_falls(&line, 0.03) {
                            falling.push(format!("{name} by {group}: {}", curve(&line)));
                        }
                    }
                }
                let saw = match falling.is_empty() {
                    true => format!("all {lines} lines rise"),
                    false => format!("falling: {}", falling.join("; ")),
                };
                Ok(Finding::of(falling.is_empty(), saw))
            },
        },
        Check {
            statement: "MVCC is the best scheme when there are only few writes",
            section: "5.4",
            ours: "few: the largest share of reads below 1",
            judge: |data| {
                let mut finding = Finding::default();
                for group in [QUERIES, TRANSACTIONS] {
                    let data = data.group(group);
                    let places = data.places("MVCC", |x| x < 1.0)?;
                    let x = places[places.len() - 1];
                    let ranks = ranked(data, &SIX, x)?;
                    let saw = format!("{group} {x}: {}", listed(&ranks));
                    finding = finding.and(ranks[0].0 == "MVCC", saw);
                }
                Ok(finding)
            },
        },
    ],
};
