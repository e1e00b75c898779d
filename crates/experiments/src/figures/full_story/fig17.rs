//! Figure 17: all memory at one distance.

use super::*;

/// The distances of the measured column `numa`, with their places on the axis.
const DISTANCES: [(f64, &str); 4] = [(0.0, "local"), (1.0, "1hop"), (2.0, "2hop"), (3.0, "remote")];

fn series(effort: Effort) -> Vec<Series> {
    let machines = effort.pick(
        [("hpe", 1568), ("power9", 1504), ("power8", 752)],
        [("hpe", 112), ("power9", 96), ("power8", 88)],
    );
    let line = |(platform, cores): (&'static str, u64), name: &&'static str| {
        // Power machines have no second hop.
        let distances =
            DISTANCES.into_iter().filter(|(_, numa)| platform == "hpe" || *numa != "2hop");
        let run = |(x, numa): (f64, &'static str)| {
            let run = Program::new(platform, "numa-isolated", name, 1568, cores);
            // The measured run had all threads of the machine.
            let beside = Some(1568).filter(|_| platform == "hpe");
            (x, Program { numa, remote_pct: (0, 0), beside, ..run })
        };
        let points = distances.map(run).map(Point::placed).collect();
        Series { group: platform, name: (*name).to_owned(), points }
    };
    let lines = machines.into_iter().flat_map(|one| EIGHT.iter().map(move |name| line(one, name)));
    lines.collect()
}

/// Throughput in relation to that at the first distance.
const TO_LOCAL: Measure = Measure::SpeedUp("local memory");

const fn by_distance(title: &'static str, group: &'static str, y: Measure) -> Panel {
    let kind = Kind::Lines { y, across: Scale::Linear, up: Scale::Linear };
    Panel::new(title, group, kind)
}

/// Returns whether the slow-downs of schemes, from local memory to a distance, are near those of the paper.
fn slows(data: Data<'_>, paper: &[(&str, f64, f64)], tolerance: f64) -> Judgement {
    let mut finding = Finding::default();
    for (name, distance, ratio) in paper {
        let ours = gain(data, name, 0.0, *distance)?;
        let good = near(ours, (*ratio, *ratio), tolerance);
        finding =
            finding.and(good, format!("{name} {ours:.2} at {distance} ({ratio} in the paper)"));
    }
    Ok(finding)
}

pub(super) const FIGURE: Figure = Figure {
    paper: "full-story",
    number: "17",
    title: "All memory at one distance, 1568 warehouses",
    section: "4.2.2",
    machine: THREE,
    remarks: &[
        "Distances: 0 is local, 1 and 2 are hops within a chassis, 3 is another chassis. Power machines have no second hop.",
        "The quick grid has two sockets of HPE and one of each Power machine. The values measured on HPE are those of all 1568 \
         threads, by thread.",
        "On HPE each socket uses the memory of one other socket, and its memory is used by one other.",
    ],
    x: "Distance of memory",
    series,
    panels: &[
        by_distance("HPE Superdome Flex: throughput of a thread", "hpe", Measure::PerCore),
        by_distance("HPE Superdome Flex: ratio to local memory", "hpe", TO_LOCAL),
        by_distance("IBM Power9: ratio to local memory", "power9", TO_LOCAL),
        by_distance("IBM Power8: ratio to local memory", "power8", TO_LOCAL),
    ],
    checks: &[
        Check {
            statement: "Throughput falls as the distance grows",
            section: "4.2.2",
            ours: "no step up by more than 2 %",
            judge: |data| {
                let mut finding = Finding::default();
                for platform in ["hpe", "power9", "power8"] {
                    for name in EIGHT {
                        let values = data.group(platform).throughputs(name)?;
                        let falls = values.windows(2).all(|pair| pair[1].1 <= 1.02 * pair[0].1);
                        let last = values[values.len() - 1].1 / values[0].1.max(1.0);
                        finding = finding.and(falls, format!("{platform} {name} {last:.2}"));
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "On HPE SILO and TICTOC slow down at once, to 0.56 and 0.55 at distance 1, and to 0.21 and 0.18 at distance 3",
            section: "4.2.2",
            ours: "within 25 %",
            judge: |data| {
                let paper = [
                    ("SILO", 1.0, 0.56),
                    ("TICTOC", 1.0, 0.55),
                    ("SILO", 3.0, 0.21),
                    ("TICTOC", 3.0, 0.18),
                ];
                slows(data.group("hpe"), &paper, NEAR)
            },
        },
        Check {
            statement: "On HPE HSTORE slows down much less: 0.86 at distances 1 and 2, 0.47 at distance 3",
            section: "4.2.2",
            ours: "within 25 %",
            judge: |data| {
                let paper = [("HSTORE", 1.0, 0.86), ("HSTORE", 2.0, 0.86), ("HSTORE", 3.0, 0.47)];
                slows(data.group("hpe"), &paper, NEAR)
            },
        },
        Check {
            statement: "On HPE the pessimistic schemes slow down to 0.67 to 0.70 at distance 1, MVCC and OCC to 0.72 to 0.78",
            section: "4.2.2",
            ours: "within 15 %, and each pessimistic scheme below MVCC and OCC",
            judge: |data| {
                let data = data.group("hpe");
                let others = [gain(data, "MVCC", 0.0, 1.0)?, gain(data, "OCC", 0.0, 1.0)?];
                let low = others[0].min(others[1]);
                let saw = format!("MVCC {:.2}, OCC {:.2}", others[0], others[1]);
                let range = (0.72, 0.78);
                let good = others.iter().all(|ratio| near(*ratio, range, 0.15));
                let mut finding = Finding::of(good, saw);
                for name in LOCKING {
                    let ratio = gain(data, name, 0.0, 1.0)?;
                    let good = near(ratio, (0.67, 0.70), 0.15) && ratio < low;
                    finding = finding.and(good, format!("{name} {ratio:.2}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "On HPE MVCC and OCC slow down more at the farthest distance: to 0.36 and 0.38",
            section: "4.2.2",
            ours: "within 25 %",
            judge: |data| {
                slows(data.group("hpe"), &[("MVCC", 3.0, 0.36), ("OCC", 3.0, 0.38)], NEAR)
            },
        },
        Check {
            statement: "On the Power machines SILO and TICTOC slow down to 0.55 to 0.6 at distance 1, but only to 0.39 to 0.42 at the \
                        farthest",
            section: "4.2.2",
            ours: "within 25 %",
            judge: |data| {
                let mut finding = Finding::default();
                for platform in ["power9", "power8"] {
                    for name in ["SILO", "TICTOC"] {
                        for (x, range) in [(1.0, (0.55, 0.6)), (3.0, (0.39, 0.42))] {
                            let ratio = gain(data.group(platform), name, 0.0, x)?;
                            let saw = format!("{platform} {name} {ratio:.2} at {x}");
                            finding = finding.and(near(ratio, range, NEAR), saw);
                        }
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "HSTORE slows down least on Power8 (0.84 at the farthest distance), then on Power9 (0.74), most on HPE",
            section: "4.2.2",
            ours: "within 25 %",
            judge: |data| {
                let of = |platform| gain(data.group(platform), "HSTORE", 0.0, 3.0);
                let (hpe, nine, eight) = (of("hpe")?, of("power9")?, of("power8")?);
                let numbers = near(nine, (0.74, 0.74), NEAR) && near(eight, (0.84, 0.84), NEAR);
                let saw = format!("power8 {eight:.2}, power9 {nine:.2}, hpe {hpe:.2}");
                Ok(Finding::of(numbers && eight > nine && nine > hpe, saw))
            },
        },
    ],
};
