//! Figure 10: where time goes with all optimisations.

use super::fig09::{cores_with_conflict, cores_without_conflict, optimised};
use super::*;

/// Group of the runs before the optimisations.
const BEFORE: &str = "original";

/// Number of cores at which the optimised program is compared with the original one.
const COMPARED: [f64; 3] = [4.0, 28.0, 112.0];

/// Schemes of the original program.
const SIX: [&str; 6] = ["DL_DETECT", "HSTORE", "MVCC", "NO_WAIT", "OCC", "WAIT_DIE"];

fn series_a(effort: Effort) -> Vec<Series> {
    let mut all = by_cores("", &EIGHT, cores_with_conflict(effort), optimised(4));
    let original = |name, cores| Program::new("hpe", "original", name, 4, cores);
    all.extend(by_cores(BEFORE, &SIX, &[4, 28, 112], original));
    all
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "full-story",
    number: "10a",
    title: "All optimisations, 4 warehouses: where time goes",
    section: "3.3.2",
    machine: FLEX,
    remarks: &[
        "The paper has a bar for each number of cores. Here a panel has one number of cores.",
        NARROW_BARS,
    ],
    x: CORES,
    series: series_a,
    panels: &[
        bars("1 core", 1.0),
        bars("4 cores", 4.0),
        bars("28 cores", 28.0),
        bars("112 cores", 112.0),
    ],
    checks: &[
        Check {
            statement: "The useful share is higher, and the shares of commit and of CC management are lower, than before the \
                        optimisations",
            section: "3.3.2",
            ours: "in most pairs of scheme and number of cores (4, 28, 112)",
            judge: better_than_before,
        },
        Check {
            statement: "NO_WAIT loses its time to aborts and back-off without waiting, DL_DETECT loses it to waits",
            section: "3.3.2 and 3.1.2",
            ours: "on 112 cores: NO_WAIT below 5 % of waits; DL_DETECT's waits exceed its aborts and back-off",
            judge: |data| {
                let waits = |name| data.share(name, 112.0, &[Category::Wait]);
                let aborts = |name| data.share(name, 112.0, &[Category::Abort, Category::BackOff]);
                let (w, a) = (waits("NO_WAIT")?, aborts("NO_WAIT")?);
                let saw =
                    format!("NO_WAIT {} waits, {} aborts and back-off", percent(w), percent(a));
                let finding = Finding::of(w < 0.05 && a > 0.3, saw);
                let (w, a) = (waits("DL_DETECT")?, aborts("DL_DETECT")?);
                let saw =
                    format!("DL_DETECT {} waits, {} aborts and back-off", percent(w), percent(a));
                Ok(finding.and(w > a, saw))
            },
        },
        Check {
            statement: "Waits, aborts and back-off take over once cores outnumber warehouses; HSTORE's waits already grow on 4 cores",
            section: "3.3.2 and 3.1.2",
            ours: "more than half of the time on 112 cores; HSTORE on 4 cores above 5 %",
            judge: |data| {
                let mut finding = Finding::default();
                for name in EIGHT {
                    let share = lost(*data, name, 112.0)?;
                    finding = finding.and(share > 0.5, format!("{name} {}", percent(share)));
                }
                let share = data.share("HSTORE", 4.0, &[Category::Wait])?;
                Ok(finding.and(share > 0.05, format!("HSTORE {} waits on 4", percent(share))))
            },
        },
    ],
};

fn better_than_before(data: &Data<'_>) -> Judgement {
    let managing = [Category::Commit, Category::ConcurrencyControl];
    let (mut useful, mut managed, mut pairs) = (0, 0, 0);
    let before = data.group(BEFORE);
    for name in SIX {
        before.line(name)?;
        for x in COMPARED {
            let share = |data: Data<'_>, of: &[Category]| data.share(name, x, of);
            useful += usize::from(
                share(*data, &[Category::Useful])? > share(before, &[Category::Useful])?,
            );
            managed += usize::from(share(*data, &managing)? < share(before, &managing)?);
            pairs += 1;
        }
    }
    let finding = Finding::of(2 * useful > pairs, format!("useful higher in {useful} of {pairs}"));
    Ok(finding.and(2 * managed > pairs, format!("commit and CC lower in {managed} of {pairs}")))
}

pub(super) const FIGURE_B: Figure = Figure {
    paper: "full-story",
    number: "10b",
    title: "All optimisations, 1568 warehouses: where time goes",
    section: "3.3.2",
    machine: FLEX,
    remarks: &[NARROW_BARS],
    x: CORES,
    series: |effort| by_cores("", &EIGHT, cores_without_conflict(effort), optimised(1568)),
    panels: &[bars("1 core", 1.0), bars("56 cores", 56.0), bars("112 cores", 112.0)],
    checks: &[
        Check {
            statement: "The pessimistic schemes hardly wait: what slows them down on many cores is not conflict",
            section: "3.3.2",
            ours: "waits, aborts and back-off below 5 %",
            judge: |data| {
                let mut finding = Finding::default();
                for name in LOCKING {
                    for x in data.places(name, |x| x >= 28.0)? {
                        let share = lost(*data, name, x)?;
                        let saw = format!("{name} {} on {x}", percent(share));
                        finding = finding.and(share < 0.05, saw);
                    }
                }
                Ok(finding)
            },
        },
        Check {
            statement: "TICTOC and SILO keep a stable share of commit and CC management as cores are added",
            section: "3.3.2",
            ours: "the share changes by at most 0.1 from 28 cores on",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["TICTOC", "SILO"] {
                    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
                    for x in data.places(name, |x| x >= 28.0)? {
                        let of = [Category::Commit, Category::ConcurrencyControl];
                        let share = data.share(name, x, &of)?;
                        (low, high) = (low.min(share), high.max(share));
                    }
                    let saw = format!("{name} between {} and {}", percent(low), percent(high));
                    finding = finding.and(high - low <= 0.1, saw);
                }
                Ok(finding)
            },
        },
    ],
};
