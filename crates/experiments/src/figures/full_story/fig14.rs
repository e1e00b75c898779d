//! Figure 14: TPC-C with 1568 warehouses, ratios between the machines at the same number of cores.

use super::fig09::optimised;
use super::fig13::power;
use super::*;

/// Numbers of cores that all machines have.
fn cores(effort: Effort) -> &'static [u64] {
    effort.pick(&[1, 24, 48, 96, 192, 376, 752], &[1, 24, 48, 96])
}

fn series(effort: Effort) -> Vec<Series> {
    let mut all = by_cores("hpe", &EIGHT, cores(effort), optimised(1568));
    all.extend(by_cores("power9", &EIGHT, cores(effort), power("power9")));
    all.extend(by_cores("power8", &EIGHT, cores(effort), power("power8")));
    all
}

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "14",
    title: "1568 warehouses: ratios between three machines",
    section: "4.1.2",
    machine: THREE,
    remarks: &[
        "All machines have runs on the same numbers of cores, so most have no measured value.",
    ],
    x: CORES,
    series,
    panels: &[
        against("Power9 to HPE: ratio of throughput", "power9", "hpe", RATIO, Scale::Linear),
        against("Power8 to HPE: ratio of throughput", "power8", "hpe", RATIO, Scale::Linear),
        against("Power9 to Power8: ratio of throughput", "power9", "power8", RATIO, Scale::Linear),
        lines("HPE: speed-up over one core", "hpe", SPEED_UP),
        lines("Power9: speed-up over one core", "power9", SPEED_UP),
        lines("Power8: speed-up over one core", "power8", SPEED_UP),
    ],
    checks: &[
        Check {
            statement: "All schemes are faster on Power9 than on HPE",
            section: "4.1.2",
            ours: "",
            judge: |data| all_ratios(*data, ("power9", "hpe"), |x| x >= 24.0, (1.0, f64::INFINITY)),
        },
        Check {
            statement: "On Power8 all schemes are ahead of HPE at first",
            section: "4.1.2",
            ours: "on 24 cores",
            judge: |data| all_ratios(*data, ("power8", "hpe"), |x| x == 24.0, (1.0, f64::INFINITY)),
        },
        Check {
            statement: "Power9 is 1.2 to 2 times as fast as Power8 within a socket",
            section: "4.1.2",
            ours: "on 24 and 48 cores, within 10 %",
            judge: |data| {
                let within = |x: f64| (24.0..=48.0).contains(&x);
                all_ratios(*data, ("power9", "power8"), within, (1.2 * 0.9, 2.0 * 1.1))
            },
        },
    ],
};

fn all_ratios(
    data: Data<'_>,
    machines: (&'static str, &'static str),
    wanted: fn(f64) -> bool,
    (low, high): (f64, f64),
) -> Judgement {
    let mut finding = Finding::default();
    for name in EIGHT {
        for x in data.group(machines.0).places(name, wanted)? {
            let own = data.group(machines.0).throughput(name, x)?;
            let ratio = own / data.group(machines.1).throughput(name, x)?.max(1.0);
            let good = (low..=high).contains(&ratio);
            finding = finding.and(good, format!("{name} {ratio:.2} on {x}"));
        }
    }
    Ok(finding)
}
