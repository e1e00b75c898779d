//! Figure 3: where time goes in the original program.

use super::fig02::{SIX, build, with_conflict, without_conflict};
use super::*;

pub(super) const FIGURE_A: Figure = Figure {
    paper: "full-story",
    number: "3a",
    title: "The original program, 4 warehouses: where time goes",
    section: "3.1.2",
    machine: FLEX,
    remarks: &[NARROW_BARS],
    x: CORES,
    series: |effort| by_cores("", &SIX, with_conflict(effort), build("original", 4)),
    panels: &[
        bars("1 core", 1.0),
        bars("4 cores", 4.0),
        bars("16 cores", 16.0),
        bars("112 cores", 112.0),
    ],
    checks: &[
        Check {
            statement: "Waits, aborts and back-off take over as soon as cores outnumber warehouses, and useful work all but vanishes",
            section: "3.1.2",
            ours: "on 112 cores more than half of the time, and useful work below 10 %",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SIX {
                    let (lost, useful) =
                        (lost(*data, name, 112.0)?, data.share(name, 112.0, &[Category::Useful])?);
                    let saw = format!("{name} {} lost, {} useful", percent(lost), percent(useful));
                    finding = finding.and(lost > 0.5 && useful < 0.1, saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "HSTORE's waits already grow on 4 cores",
            section: "3.1.2",
            ours: "above 5 % of the time",
            judge: |data| {
                let share = data.share("HSTORE", 4.0, &[Category::Wait])?;
                Ok(Finding::of(share > 0.05, percent(share)))
            },
        },
    ],
};

pub(super) const FIGURE_B: Figure = Figure {
    paper: "full-story",
    number: "3b",
    title: "The original program, 1024 warehouses: where time goes",
    section: "3.1.2",
    machine: FLEX,
    remarks: &[NARROW_BARS],
    x: CORES,
    series: |effort| by_cores("", &SIX, without_conflict(effort), build("original", 1024)),
    panels: &[bars("1 core", 1.0), bars("56 cores", 56.0), bars("112 cores", 112.0)],
    checks: &[
        Check {
            statement: "Apart from HSTORE no scheme does more than half useful work, and little time goes to waits or aborts",
            section: "3.1.2",
            ours: "little: below 20 %",
            judge: |data| {
                let mut finding = Finding::default();
                for name in SIX.into_iter().filter(|name| *name != "HSTORE") {
                    for x in data.places(name, |_| true)? {
                        let useful = data.share(name, x, &[Category::Useful])?;
                        let lost = lost(*data, name, x)?;
                        let saw = format!(
                            "{name} {} useful, {} lost on {x}",
                            percent(useful),
                            percent(lost)
                        );
                        finding = finding.and(useful <= 0.5 && lost < 0.2, saw);
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "MVCC does less than a tenth useful work from 224 cores on",
            section: "3.1.2",
            ours: "",
            judge: |data| {
                in_full(*data, "MVCC", 224.0)?;
                let mut finding = Finding::default();
                for x in data.places("MVCC", |x| x >= 224.0)? {
                    let share = data.share("MVCC", x, &[Category::Useful])?;
                    finding = finding.and(share < 0.1, format!("{} on {x}", percent(share)));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "HSTORE's shares of timestamps and of waits grow with cores, and its share of timestamps is the largest of all",
            section: "3.1.2",
            ours: "from one core to the most",
            judge: |data| {
                let places = data.places("HSTORE", |_| true)?;
                let last = places[places.len() - 1];
                let of = |name, x, category| data.share(name, x, &[category]);
                let mut finding = Finding::default();
                for category in [Category::TimestampAllocation, Category::Wait] {
                    let (few, many) = (of("HSTORE", 1.0, category)?, of("HSTORE", last, category)?);
                    let saw = format!("{} {} to {}", category.name(), percent(few), percent(many));
                    finding = finding.and(many > few, saw);
                }
                let own = of("HSTORE", last, Category::TimestampAllocation)?;
                for name in SIX.into_iter().filter(|name| *name != "HSTORE") {
                    let other = of(name, last, Category::TimestampAllocation)?;
                    finding = finding.and(other < own, format!("{name} {}", percent(other)));
                }
                Ok(finding)
            },
        },
    ],
};
