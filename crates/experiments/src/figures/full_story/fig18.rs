//! Figure 18: remote transactions.

use super::*;

/// Percentages of remote order lines, with those of payments that the measured program had with them.
const SHARES: [(u64, u64); 6] = [(0, 0), (1, 15), (5, 19), (25, 36), (50, 57), (100, 100)];

/// Schemes that were measured with few warehouses.
const MEASURED: [&str; 2] = ["HSTORE", "NO_WAIT"];

/// Groups of the runs whose remote warehouses are on the worker's own socket, and in another chassis.
const LOCAL: &str = "local";
const REMOTE: &str = "remote";

/// Threads of a socket, which are also its warehouses, and sockets of a chassis.
const SOCKET: u64 = 56;
const CHASSIS: u64 = 4;

fn by_share(
    group: &'static str,
    schemes: &[&'static str],
    shares: &[(u64, u64)],
    run: impl Fn(&'static str) -> Program,
) -> Vec<Series> {
    let line = |name: &&'static str| Series {
        group,
        name: (*name).to_owned(),
        points: shares
            .iter()
            .map(|&remote_pct| (remote_pct.0 as f64, Program { remote_pct, ..run(name) }))
            .map(Point::placed)
            .collect(),
    };
    schemes.iter().map(line).collect()
}

fn series(effort: Effort) -> Vec<Series> {
    // The fewest threads with two chassis.
    let cores = effort.pick(1568, 2 * CHASSIS * SOCKET);
    let shares: &[(u64, u64)] = effort.pick(&SHARES[..], &[SHARES[0], SHARES[1], SHARES[3]]);
    let at = |steps| {
        move |name| Program {
            placement: Placement::Home,
            remote: Remote::Blocks { warehouses: SOCKET, steps },
            ..Program::new("hpe", "optimised", name, cores, cores)
        }
    };
    let mut all = by_share(LOCAL, &EIGHT, shares, at(0));
    all.extend(by_share(REMOTE, &EIGHT, shares, at(CHASSIS)));
    let few = |name| Program::new("hpe", "optimised", name, 16, 56);
    all.extend(by_share("16 warehouses", &MEASURED, &SHARES, few));
    all
}

const fn by_percent(title: &'static str, group: &'static str, y: Measure) -> Panel {
    let kind = Kind::Lines { y, across: Scale::Linear, up: Scale::Linear };
    Panel::new(title, group, kind)
}

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "18",
    title: "Remote transactions, Superdome Flex",
    section: "4.2.2",
    machine: FLEX,
    remarks: &[
        "Each warehouse is at its worker, and there are as many warehouses as threads. Local: remote warehouses are those of the \
         worker's own socket. Remote: they are those of a socket in another chassis, the farthest distance.",
        "The quick grid has the 448 threads of two chassis.",
        "The last panel has runs that were measured: 16 warehouses and 56 threads on one socket.",
    ],
    x: "Remote order lines (%)",
    series,
    panels: &[
        by_percent("Local: remote warehouses on the same socket", LOCAL, Measure::PerCore)
            .beside(REMOTE),
        by_percent("Remote: remote warehouses in another chassis", REMOTE, Measure::PerCore)
            .beside(LOCAL),
        Panel::new(
            "Remote to Local",
            REMOTE,
            Kind::Against {
                base: LOCAL,
                by: Comparison::Ratio(Measure::PerCore),
                across: Scale::Linear,
                up: Scale::Linear,
            },
        ),
        by_percent("16 warehouses, 56 threads: throughput", "16 warehouses", Measure::Throughput),
    ],
    checks: &[
        Check {
            statement: "Local: DL_DETECT and HSTORE degrade as remote transactions increase, the other schemes stay stable",
            section: "4.2.2",
            ours: "from 0 to 25 % of lines: degrade below 0.85, stable above 0.85",
            judge: |data| {
                let mut finding = Finding::default();
                for name in EIGHT {
                    let left = gain(data.group(LOCAL), name, 0.0, 25.0)?;
                    let degrades = ["DL_DETECT", "HSTORE"].contains(&name);
                    let good = (left < 0.85) == degrades;
                    finding = finding.and(good, format!("{name} {left:.2}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "Remote: all schemes degrade as remote transactions increase",
            section: "4.2.2",
            ours: "from 0 to 25 % of lines below 0.9",
            judge: |data| {
                let mut finding = Finding::default();
                for name in EIGHT {
                    let left = gain(data.group(REMOTE), name, 0.0, 25.0)?;
                    finding = finding.and(left < 0.9, format!("{name} {left:.2}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "DL_DETECT suffers least from the distance: its ratio of Remote to Local is the highest",
            section: "4.2.2",
            ours: "at 25 % of lines",
            judge: |data| {
                let mut ratios = Vec::new();
                for name in EIGHT {
                    let of = |group| data.group(group).value(name, 25.0, Measure::PerCore);
                    ratios.push((name, of(REMOTE)? / of(LOCAL)?.max(1.0)));
                }
                ratios.sort_by(|a, b| b.1.total_cmp(&a.1));
                Ok(Finding::of(ratios[0].0 == "DL_DETECT", listed(&ratios)))
            },
        },
    ],
};
