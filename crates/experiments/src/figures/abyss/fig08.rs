//! Figure 8: reads only.

use super::*;

pub(super) fn series(group: &'static str, cores: &[usize]) -> Vec<Series> {
    each_by_cores(&SIX, group, "ycsb", "--records 20M --theta 0 --read-ratio 1", cores)
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "abyss",
    number: "8a",
    title: "Read-only YCSB",
    section: "5.1",
    machine: MACHINE,
    remarks: &[],
    x: CORES,
    series: |effort| series("", up_to_1024(effort)),
    panels: &[by_cores()],
    checks: &[
        Check {
            statement: "T/O schemes fall short of linear scaling on many cores, because of timestamp allocation",
            section: "5.1",
            ours: "short: below 0.7 of linear on 1024 cores",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ORDERED {
                    let share = of_linear(*data, name, 1024.0)?;
                    let (cost, time) = data.largest_cost(name, 1024.0)?;
                    let good = share < 0.7 && cost == Component::Timestamps;
                    let (share, time) = (percent(share), percent(time));
                    let saw = format!("{name} {share} of linear, {} {time} of time", cost.name());
                    finding = finding.and(good, saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "OCC leaves linear scaling on fewer cores than the other T/O schemes: it draws two timestamps",
            section: "5.1",
            ours: "leaves: below 0.7 of linear",
            judge: |data| {
                let leaves = |name| Ok(leaves_linear(*data, name, 0.7)?.unwrap_or(f64::INFINITY));
                let (occ, t, m) = (leaves("OCC")?, leaves("TIMESTAMP")?, leaves("MVCC")?);
                let saw = format!("OCC on {occ} cores, TIMESTAMP on {t}, MVCC on {m}");
                Ok(Finding::of(occ < t && occ < m, saw))
            },
        },
        Check {
            statement: "TIMESTAMP and OCC are clearly below the other four on any number of cores: they copy what they read",
            section: "5.1",
            ours: "clearly: below 0.9 of each of the four",
            judge: copies_cost,
        },
    ],
};

fn copies_cost(data: &Data<'_>) -> Judgement {
    let mut finding = Finding::default();
    for x in data.places("OCC", |_| true)? {
        let copying = ranked(*data, &["TIMESTAMP", "OCC"], x)?;
        let others = ranked(*data, &["DL_DETECT", "NO_WAIT", "WAIT_DIE", "MVCC"], x)?;
        let (high, low) = (copying[0], others[3]);
        let ((a, at), (b, bt)) = ((high.0, short(high.1)), (low.0, short(low.1)));
        finding = finding.and(high.1 < 0.9 * low.1, format!("on {x} {a} {at}, {b} {bt}"));
    }
    Ok(finding)
}

pub(super) const FIGURE_B: Figure = Figure {
    paper: "abyss",
    number: "8b",
    title: "Read-only YCSB: where time goes on 1024 cores",
    section: "5.1",
    machine: MACHINE,
    remarks: &[],
    x: CORES,
    series: |_| series("", &[1024]),
    panels: &[bars("", 1024.0)],
    checks: &[Check {
        statement: "Timestamps take most of T/O's time beside useful work; DL_DETECT and NO_WAIT draw none",
        section: "5.1",
        ours: "",
        judge: |data| {
            let mut finding = Finding::default();
            for name in ORDERED {
                let (cost, share) = data.largest_cost(name, 1024.0)?;
                let saw = format!("{name} {} {}", cost.name(), percent(share));
                finding = finding.and(cost == Component::Timestamps, saw);
            }
            for name in ["DL_DETECT", "NO_WAIT"] {
                let share = data.share(name, 1024.0, Component::Timestamps.categories())?;
                finding = finding.and(share < 0.001, format!("{name} {}", percent(share)));
            }
            Ok(finding)
        },
    }],
};
