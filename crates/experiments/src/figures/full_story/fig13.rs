//! Figure 13: TPC-C with 1568 warehouses on three machines, with the released program's placement of warehouses and with
//! the right one.

use super::fig09::{cores_without_conflict, optimised};
use super::*;

/// Group of the runs whose warehouses lie at the workers that use them.
const HOME: &str = "hpe, at the worker";

/// Returns the optimised program with 1568 warehouses on a Power machine.
pub(super) fn power(platform: &'static str) -> impl Fn(&'static str, u64) -> Program {
    move |name, cores| Program::new(platform, "optimised", name, 1568, cores)
}

fn series(effort: Effort) -> Vec<Series> {
    let flex = cores_without_conflict(effort);
    let home = |name, cores| Program { placement: Placement::Home, ..optimised(1568)(name, cores) };
    let nine = effort.pick(&[24, 48, 96, 192, 288, 464, 928, 1504][..], &[24, 48, 96][..]);
    let eight = effort.pick(&[22, 44, 88, 184, 376, 752][..], &[22, 44, 88][..]);
    let mut all = by_cores("hpe", &EIGHT, flex, optimised(1568));
    all.extend(by_cores(HOME, &EIGHT, flex, home));
    all.extend(by_cores("power9", &EIGHT, nine, power("power9")));
    all.extend(by_cores("power8", &EIGHT, eight, power("power8")));
    all
}

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "13",
    title: "1568 warehouses on three machines, and where they lie",
    section: "4.1.2",
    machine: THREE,
    remarks: &[
        "The released program loads warehouses by one rule (thread t loads the t-th block) and uses them by another (thread t \
         works on warehouse t mod W). Pages belong to the socket that touches them first. So all data in use lie on socket 0 \
         up to 224 threads of the Superdome Flex, on 2 sockets at 448, and at every worker only at 1568. The second panel \
         has the same runs with each warehouse at its worker. The paper's plateau between 56 and 448 cores, and its jump on \
         all cores, are what the first panel shows and the second one does not.",
        "On one socket both placements are the same.",
    ],
    x: CORES,
    series,
    panels: &[
        lines("HPE, warehouses where the released program loads them", "hpe", Measure::Throughput)
            .beside(HOME),
        lines("HPE, warehouses at the workers that use them", HOME, Measure::Throughput)
            .beside("hpe"),
        against(
            "HPE: ratio, released placement to placement at the worker",
            "hpe",
            HOME,
            RATIO,
            Scale::Linear,
        ),
        lines("IBM Power9", "power9", Measure::Throughput),
        lines("IBM Power8", "power8", Measure::Throughput),
    ],
    checks: &[
        Check {
            statement: "All schemes have positive scaling behaviour on all three machines",
            section: "4.1.2",
            ours: "from one number of cores to the next none loses more than 5 %",
            judge: |data| {
                let mut finding = Finding::default();
                for platform in ["hpe", "power9", "power8"] {
                    for name in EIGHT {
                        let values = data.group(platform).throughputs(name)?;
                        let step = values.windows(2).map(|pair| pair[1].1 / pair[0].1.max(1.0));
                        let least = step.fold(f64::INFINITY, f64::min);
                        let saw = format!("{platform} {name} at least {least:.2} times");
                        finding = finding.and(least >= 0.95, saw);
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "HSTORE initially performs best on all three machines",
            section: "4.1.2",
            ours: "up to one socket",
            judge: |data| {
                let mut finding = Finding::default();
                for platform in ["hpe", "power9", "power8"] {
                    let data = data.group(platform);
                    for x in data.places("HSTORE", |x| (20.0..=96.0).contains(&x))? {
                        let ranks = ranked(data, &EIGHT, x)?;
                        let saw = format!("{platform} on {x} {}", listed(&ranks[..2]));
                        finding = finding.and(ranks[0].0 == "HSTORE", saw);
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "MVCC is behind the pack, at least on few cores",
            section: "4.1.2",
            ours: "the slowest on 28 (HPE), 24 (Power9) and 22 cores (Power8)",
            judge: |data| {
                let mut finding = Finding::default();
                for (platform, x) in [("hpe", 28.0), ("power9", 24.0), ("power8", 22.0)] {
                    let ranks = ranked(data.group(platform), &EIGHT, x)?;
                    let last = ranks[ranks.len() - 1].0;
                    finding = finding.and(last == "MVCC", format!("{platform} {last}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "Ours, not the paper's: what holds throughput back beyond one socket of HPE is where the program's loader \
                        put the warehouses",
            section: "4.1.2, from the released code",
            ours: "on 112 cores each scheme but the one with the least gains at least 10 % from the placement at the worker, on \
                   448 cores each at least 2 times, and the placements are equal within 2 % up to 56 cores",
            judge: placement_matters,
        },
    ],
};

fn placement_matters(data: &Data<'_>) -> Judgement {
    let (loaded, home) = (data.group("hpe"), data.group(HOME));
    let mut finding = Finding::default();
    let (mut gains, mut apart) = (Vec::new(), 0.0f64);
    for name in EIGHT {
        let ratio = |x| Ok(home.throughput(name, x)? / loaded.throughput(name, x)?.max(1.0));
        gains.push((name, ratio(112.0)?));
        for x in loaded.places(name, |x| x <= 56.0)? {
            let ratio: f64 = ratio(x)?;
            apart = apart.max((ratio - 1.0).abs());
        }
    }
    gains.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (at, (name, times)) in gains.iter().enumerate() {
        let good = *times >= 1.1 || at + 1 == gains.len();
        finding = finding.and(good, format!("{name} {times:.2} times"));
    }
    for name in EIGHT {
        let times = home.throughput(name, 448.0)? / loaded.throughput(name, 448.0)?.max(1.0);
        finding = finding.and(times >= 2.0, format!("{name} {times:.2} times on 448"));
    }
    Ok(finding.and(apart <= 0.02, format!("up to 56 cores {} apart", percent(apart))))
}
