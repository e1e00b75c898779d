//! Figure 8: the ladder of optimisations.

use super::*;

/// The builds, each with one more optimisation than the one before.
const STEPS: [&str; 9] = ["opt0", "opt1", "opt2", "opt3", "opt4", "opt5", "opt6", "opt7", "opt8"];

/// Returns the runs of all steps, by the number of the step.
fn steps(warehouses: u64, cores: &[(&'static str, u64)]) -> Vec<Series> {
    let line = |group: &'static str, cores: u64, name: &'static str| Series {
        group,
        name: name.to_owned(),
        points: STEPS
            .into_iter()
            .enumerate()
            .map(|(step, variant)| {
                (step as f64, Program::new("hpe", variant, name, warehouses, cores))
            })
            .map(Point::placed)
            .collect(),
    };
    let of = |&(group, cores): &(&'static str, u64)| EIGHT.map(|name| line(group, cores, name));
    cores.iter().flat_map(of).collect()
}

/// The axis of the steps, in words short enough for a picture.
const STEP: &str = "Last step of 1 arena, 2 index, 3 latch, 4 replicas, 5 prefetch, 6 compiled, 7 bounded, 8 read-only";

/// Throughput in relation to that of the first step.
const GAIN: Measure = Measure::SpeedUp("no optimisation");

const fn by_step(title: &'static str, group: &'static str, y: Measure, up: Scale) -> Panel {
    Panel::new(title, group, Kind::Lines { y, across: Scale::Linear, up })
}

/// Returns the gain of `name` from one step to the next.
fn of_step(data: Data<'_>, name: &str, step: u32) -> Result<f64, Missing> {
    let before = data.throughput(name, f64::from(step - 1));
    let before = before.map_err(|Missing(why)| match &data.line(name) {
        Ok(line) if line.unable.is_some() => {
            Missing(format!("not simulated yet: {}", line.unable.clone().unwrap_or_default()))
        }
        _ => Missing(why),
    })?;
    Ok(data.throughput(name, f64::from(step))? / before.max(1.0))
}

/// Returns the largest gain from a step over some schemes and all `groups`.
fn largest(
    data: Data<'_>,
    groups: &[&'static str],
    names: &[&str],
    step: u32,
) -> Result<f64, Missing> {
    let mut most: f64 = 0.0;
    for &group in groups {
        for name in names {
            most = most.max(of_step(data.group(group), name, step)?);
        }
    }
    Ok(most)
}

const REMARKS: &[&str] = &[
    "Steps: 1 thread-local allocation, 2 perfect hash index, 3 queuing latch with back-off, 4 replicated read-only tables, 5 \
     reordered and prefetched accesses, 6 compiled queries, 7 bounded deadlock prevention, 8 no concurrency control on \
     read-only tables. Each build has the steps before it.",
];

const FEW: [&str; 2] = ["1 core", "56 cores"];
const MANY: [&str; 2] = ["56 cores", "most cores"];

pub(super) const FIGURE_A: Figure = Figure {
    paper: "full-story",
    number: "8a",
    title: "Optimisations one by one, 4 warehouses",
    section: "3.3.1",
    machine: FLEX,
    remarks: REMARKS,
    x: STEP,
    series: |_| steps(4, &[(FEW[0], 1), (FEW[1], 56)]),
    panels: &[
        by_step("1 core: throughput", FEW[0], Measure::Throughput, Scale::Linear),
        by_step("1 core: ratio to no optimisation", FEW[0], GAIN, Scale::Linear),
        by_step("56 cores: throughput", FEW[1], Measure::Throughput, Scale::Linear),
        by_step("56 cores: ratio to no optimisation", FEW[1], GAIN, Scale::Log),
    ],
    checks: &[
        Check {
            statement: "Thread-local allocation (1) speeds up every scheme, by up to 5.38 times",
            section: "3.3.1",
            ours: "each on 56 cores; the largest 3 to 8 times",
            judge: |data| every_scheme(*data, 1, (3.0, 8.0)),
        },
        Check {
            statement: "No concurrency control on read-only tables (8) speeds up every scheme, by up to 4.33 times",
            section: "3.3.1",
            ours: "each on 56 cores; the largest 2.5 to 6.5 times",
            judge: |data| every_scheme(*data, 8, (2.5, 6.5)),
        },
        Check {
            statement: "The queuing latch with back-off (3) helps the pessimistic schemes and OCC, by up to 2.12 times",
            section: "3.3.1",
            ours: "1.3 to 3.2 times",
            judge: |data| {
                let names = ["DL_DETECT", "WAIT_DIE", "NO_WAIT", "OCC"];
                let most = largest(*data, &FEW, &names, 3)?;
                Ok(Finding::of((1.3..=3.2).contains(&most), format!("{most:.2} times")))
            },
        },
    ],
};

fn every_scheme(data: Data<'_>, step: u32, (low, high): (f64, f64)) -> Judgement {
    let mut finding = Finding::default();
    for name in EIGHT {
        let times = of_step(data.group(FEW[1]), name, step)?;
        finding = finding.and(times > 1.0, format!("{name} {times:.2} times"));
    }
    let most = largest(data, &FEW, &EIGHT, step)?;
    Ok(finding.and((low..=high).contains(&most), format!("at most {most:.2} times")))
}

pub(super) const FIGURE_B: Figure = Figure {
    paper: "full-story",
    number: "8b",
    title: "Optimisations one by one, 1568 warehouses",
    section: "3.3.1",
    machine: FLEX,
    remarks: &[REMARKS[0], "Most cores are all 1568, and 112 of two sockets in a quick figure."],
    x: STEP,
    series: |effort| steps(1568, &[(MANY[0], 56), (MANY[1], effort.pick(1568, 112))]),
    panels: &[
        by_step("56 cores: throughput", MANY[0], Measure::Throughput, Scale::Log),
        by_step("56 cores: ratio to no optimisation", MANY[0], GAIN, Scale::Log),
        by_step("Most cores: throughput", MANY[1], Measure::Throughput, Scale::Log),
        by_step("Most cores: ratio to no optimisation", MANY[1], GAIN, Scale::Log),
    ],
    checks: &[
        Check {
            statement: "Thread-local allocation (1) and replicated read-only tables (4) have by far the largest effects",
            section: "3.3.1",
            ours: "the two largest gains of a step are theirs",
            judge: |data| {
                let mut gains = Vec::new();
                for step in 1..STEPS.len() as u32 {
                    gains.push((step, largest(*data, &MANY, &EIGHT, step)?));
                }
                gains.sort_by(|a, b| b.1.total_cmp(&a.1));
                let saw: Vec<String> =
                    gains.iter().map(|(step, times)| format!("{step}: {times:.1} times")).collect();
                let two = gains[..2].iter().all(|(step, _)| [1, 4].contains(step));
                Ok(Finding::of(two, saw.join(", ")))
            },
        },
        Check {
            statement: "The bounded deadlock prevention (7) benefits OCC, by up to 1.71 times",
            section: "3.3.1",
            ours: "1.2 to 2.6 times",
            judge: |data| {
                let most = largest(*data, &MANY, &["OCC"], 7)?;
                Ok(Finding::of((1.2..=2.6).contains(&most), format!("{most:.2} times")))
            },
        },
    ],
};
