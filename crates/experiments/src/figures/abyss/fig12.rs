//! Figure 12: the number of accesses of a transaction.

use super::*;

fn series(accesses: &[u64]) -> Vec<Series> {
    let point = |name: &'static str, accesses: u64| {
        let options = format!("--records 20M --theta 0.6 --read-ratio 0.5 --accesses {accesses}");
        (accesses as f64, scheme("ycsb", options, name, 512))
    };
    let line = |name: &&'static str| Series {
        group: "",
        name: (*name).to_owned(),
        points: accesses.iter().map(|&accesses| point(name, accesses)).map(Point::placed).collect(),
    };
    SIX.iter().map(line).collect()
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "abyss",
    number: "12a",
    title: "Accesses of a transaction, theta 0.6, 512 cores",
    section: "5.3",
    machine: MACHINE,
    remarks: &[],
    x: "Rows accessed by a transaction",
    series: |effort| series(effort.pick(&[1, 2, 4, 6, 8, 10, 12, 14, 16], &[1, 4, 8, 16])),
    panels: &[Panel::new(
        "",
        "",
        Kind::Lines { y: Measure::Accesses, across: Scale::Linear, up: Scale::Linear },
    )],
    checks: &[
        Check {
            statement: "DL_DETECT and NO_WAIT lead with short transactions",
            section: "5.3",
            ours: "short: one access",
            judge: |data| {
                let ranks = ranked_by(*data, &SIX, 1.0, Measure::Accesses)?;
                let first = |name| ranks[..2].iter().any(|rank| rank.0 == name);
                Ok(Finding::of(first("DL_DETECT") && first("NO_WAIT"), listed(&ranks)))
            },
        },
        Check {
            statement: "DL_DETECT accesses fewer tuples a second as transactions get longer",
            section: "5.3",
            ours: "tolerance 5 %",
            judge: |data| {
                let line = data.line("DL_DETECT")?.values(Measure::Accesses);
                let (first, last) = (line[0].1, line[line.len() - 1].1);
                Ok(Finding::of(never_rises(&line, 0.05) && last < first, curve(&line)))
            },
        },
        Check {
            statement: "WAIT_DIE and T/O improve as more accesses share a timestamp; OCC is slowest when short",
            section: "5.3",
            ours: "",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["WAIT_DIE", "TIMESTAMP", "MVCC", "OCC"] {
                    let line = data.line(name)?.values(Measure::Accesses);
                    data.record(name, 1.0)?;
                    let best = line.iter().map(|point| point.1).fold(0.0, f64::max);
                    let saw = format!("{name} {} at 1, best {}", short(line[0].1), short(best));
                    finding = finding.and(best > line[0].1, saw);
                }
                let ranks = ranked_by(*data, &SIX, 1.0, Measure::Accesses)?;
                let slowest = ranks[ranks.len() - 1].0;
                Ok(finding.and(slowest == "OCC", format!("{slowest} is slowest at 1")))
            },
        },
    ],
};

pub(super) const FIGURE_B: Figure = Figure {
    paper: "abyss",
    number: "12b",
    title: "One access, theta 0.6, 512 cores: where time goes",
    section: "5.3",
    machine: MACHINE,
    remarks: &[],
    x: "Rows accessed by a transaction",
    series: |_| series(&[1]),
    panels: &[bars("", 1.0)],
    checks: &[Check {
        statement: "T/O schemes spend most of their time on timestamps",
        section: "5.3",
        ours: "",
        judge: |data| {
            let mut finding = Finding::default();
            for name in ORDERED {
                let share = data.share(name, 1.0, Component::Timestamps.categories())?;
                finding = finding.and(share > 0.5, format!("{name} {}", percent(share)));
            }
            Ok(finding)
        },
    }],
};
