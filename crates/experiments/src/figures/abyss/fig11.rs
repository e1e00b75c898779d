//! Figure 11: skew.

use super::*;

fn series(effort: Effort) -> Vec<Series> {
    let thetas = effort.pick(
        &["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"][..],
        &["0", "0.3", "0.5", "0.6", "0.7", "0.8", "0.9"][..],
    );
    let point = |name: &'static str, theta: &str| {
        let options = format!("--records 20M --theta {theta} --read-ratio 0.5");
        (theta.parse().expect("a number"), scheme("ycsb", options, name, 64))
    };
    let line = |name: &&'static str| Series {
        group: "",
        name: (*name).to_owned(),
        points: thetas.iter().map(|theta| point(name, theta)).map(Point::placed).collect(),
    };
    SIX.iter().map(line).collect()
}

pub(super) const FIGURE: Figure = Figure {
    paper: "abyss",
    number: "11",
    title: "YCSB, half updates, by skew, on 64 cores",
    section: "5.2",
    machine: MACHINE,
    remarks: &[],
    x: "Theta",
    series,
    panels: &[by_cores()],
    checks: &[
        Check {
            statement: "Below theta 0.6, skew hardly changes throughput",
            section: "5.2",
            ours: "hardly: at least 0.8 of theta 0 at theta 0.5",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SIX {
                    let share = data.throughput(name, 0.5)? / data.throughput(name, 0.0)?;
                    finding = finding.and(share >= 0.8, format!("{name} {}", percent(share)));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "Above theta 0.6 every scheme drops suddenly, and beyond 0.8 all are close to zero",
            section: "5.2",
            ours: "close to zero: at most 0.1 of theta 0 at theta 0.9; drop: below 0.7 of theta 0.6 at 0.8",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SIX {
                    let at = |x| data.throughput(name, x);
                    let drop = at(0.8)? / at(0.6)?;
                    let end = at(0.9)? / at(0.0)?;
                    let saw = format!("{name} {} at 0.8, {} at 0.9", percent(drop), percent(end));
                    finding = finding.and(drop < 0.7 && end <= 0.1, saw);
                }
                Ok(finding)
            },
        },
    ],
};
