//! Figure 7: allocators of timestamps under TIMESTAMP.

use super::fig06::ALLOCATORS;
use super::*;

fn series(effort: Effort, theta: &str) -> Vec<Series> {
    let cores =
        effort.pick(&[1, 64, 128, 256, 384, 512, 640, 800, 1024][..], &[1, 64, 256, 1024][..]);
    let options = format!("--records 20M --theta {theta} --read-ratio 0.5");
    let point = |name: &'static str, cores: usize| {
        let setting = scheme("ycsb", options.clone(), "TIMESTAMP", cores);
        (cores as f64, setting.drawing(name))
    };
    let line = |name: &&'static str| Series {
        group: "",
        name: (*name).to_owned(),
        points: cores.iter().map(|&cores| point(name, cores)).map(Point::placed).collect(),
    };
    ALLOCATORS.iter().map(line).collect()
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "abyss",
    number: "7a",
    title: "Timestamp allocation in TIMESTAMP, no contention",
    section: "4.3",
    machine: MACHINE,
    remarks: &[],
    x: CORES,
    series: |effort| series(effort, "0"),
    panels: &[by_cores()],
    checks: &[Check {
        statement: "The order of the allocators is that of figure 6: clock, hardware, batches, atomic, mutex",
        section: "4.3",
        ours: "on 1024 cores, tolerance 3 %",
        judge: |data| {
            let mut line = Vec::new();
            for name in ALLOCATORS {
                line.push((name, data.throughput(name, 1024.0)?));
            }
            let ordered = line.windows(2).all(|pair| pair[0].1 >= 0.97 * pair[1].1);
            Ok(Finding::of(ordered, listed(&line)))
        },
    }],
};

pub(super) const FIGURE_B: Figure = Figure {
    paper: "abyss",
    number: "7b",
    title: "Timestamp allocation in TIMESTAMP, medium contention",
    section: "4.3",
    machine: MACHINE,
    remarks: &[],
    x: CORES,
    series: |effort| series(effort, "0.6"),
    panels: &[by_cores()],
    checks: &[Check {
        statement: "Batches are much worse than a plain atomic addition, which equals clock and hardware counter",
        section: "4.3",
        ours: "on 1024 cores; much worse: below 0.7; equal: within 10 %",
        judge: |data| {
            let at = |name| data.throughput(name, 1024.0);
            let atomic = at("atomic")?;
            let mut finding = Finding::default();
            for name in ["batch16", "batch8"] {
                let saw = format!("{name} {} of atomic", percent(at(name)? / atomic));
                finding = finding.and(at(name)? < 0.7 * atomic, saw);
            }
            for name in ["clock", "hardware"] {
                let saw = format!("{name} {} of atomic", percent(at(name)? / atomic));
                finding = finding.and((at(name)? - atomic).abs() <= 0.1 * atomic, saw);
            }
            Ok(finding)
        },
    }],
};
