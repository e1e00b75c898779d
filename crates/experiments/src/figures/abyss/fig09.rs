//! Figure 9: updates at medium contention.

use super::*;
use machine::Category;

/// Options of the workload.
pub(super) const MEDIUM: &str = "--records 20M --theta 0.6 --read-ratio 0.5";

pub(super) const FIGURE_A: Figure = Figure {
    paper: "abyss",
    number: "9a",
    title: "YCSB, half updates, medium contention (theta 0.6)",
    section: "5.2",
    machine: MACHINE,
    remarks: &[],
    x: CORES,
    series: |effort| each_by_cores(&SIX, "", "ycsb", MEDIUM, up_to_1024(effort)),
    panels: &[by_cores()],
    checks: &[
        Check {
            statement: "Of 2PL, only NO_WAIT and WAIT_DIE still grow past 512 cores, NO_WAIT ahead; DL_DETECT thrashes by 256",
            section: "5.2",
            ours: "",
            judge: |data| {
                let mut finding = Finding::default();
                for name in ["NO_WAIT", "WAIT_DIE"] {
                    let (middle, last) =
                        (data.throughput(name, 512.0)?, data.throughput(name, 1024.0)?);
                    let saw = format!("{name} {} on 512, {} on 1024", short(middle), short(last));
                    finding = finding.and(last > middle, saw);
                }
                let ahead = ranked(*data, &["NO_WAIT", "WAIT_DIE"], 1024.0)?[0].0 == "NO_WAIT";
                let (x, peak) = data.peak("DL_DETECT")?;
                Ok(finding
                    .and(ahead, if ahead { "NO_WAIT is ahead" } else { "WAIT_DIE is ahead" })
                    .and(x <= 256.0, format!("DL_DETECT peaks on {x} with {}", short(peak))))
            },
        },
        Check {
            statement: "MVCC is slightly above TIMESTAMP, and OCC is below both",
            section: "5.2",
            ours: "geometric mean over 64 and more cores",
            judge: |data| {
                let places = data.places("MVCC", |x| x >= 64.0)?;
                let mean = |name| data.mean_throughput(name, &places);
                let (m, t, o) = (mean("MVCC")?, mean("TIMESTAMP")?, mean("OCC")?);
                let both = format!("MVCC {}, TIMESTAMP {}", short(m), short(t));
                Ok(Finding::of(m >= t, both).and(o < m.min(t), format!("OCC {}", short(o))))
            },
        },
    ],
};

pub(super) const FIGURE_B: Figure = Figure {
    paper: "abyss",
    number: "9b",
    title: "YCSB, half updates, theta 0.6: where time goes on 512 cores",
    section: "5.2",
    machine: MACHINE,
    remarks: &[],
    x: CORES,
    series: |_| each_by_cores(&SIX, "", "ycsb", MEDIUM, &[512]),
    panels: &[bars("", 512.0)],
    checks: &[
        Check {
            statement: "DL_DETECT waits for more of its time than NO_WAIT, which waits hardly; NO_WAIT and WAIT_DIE abort often",
            section: "5.2",
            ours: "hardly: at most 0.02; often: at least 0.2 of attempts",
            judge: waits_and_aborts,
        },
        Check {
            statement: "OCC spends much of its time on aborts, more than MVCC and TIMESTAMP",
            section: "5.2",
            ours: "",
            judge: |data| {
                let share = |name| data.share(name, 512.0, &[Category::Abort]);
                let (o, m, t) = (share("OCC")?, share("MVCC")?, share("TIMESTAMP")?);
                let saw =
                    format!("OCC {}, MVCC {}, TIMESTAMP {}", percent(o), percent(m), percent(t));
                Ok(Finding::of(o > m && o > t, saw))
            },
        },
        Check {
            statement: "Undoing an aborted transaction takes slightly less time than running its queries again",
            section: "5.2",
            ours: "",
            judge: |_| {
                Missing::always("records have one category for a failed attempt and its rollback")
            },
        },
    ],
};

fn waits_and_aborts(data: &Data<'_>) -> Judgement {
    let wait = |name| data.share(name, 512.0, &[Category::Wait]);
    let (detect, none) = (wait("DL_DETECT")?, wait("NO_WAIT")?);
    let more = format!("DL_DETECT waits {}", percent(detect));
    let mut finding = Finding::of(detect > none, more);
    finding = finding.and(none <= 0.02, format!("NO_WAIT waits {}", percent(none)));
    for name in ["NO_WAIT", "WAIT_DIE"] {
        let ratio = data.record(name, 512.0)?.abort_ratio;
        finding =
            finding.and(ratio >= 0.2, format!("{name} aborts {} of attempts", percent(ratio)));
    }
    Ok(finding)
}
