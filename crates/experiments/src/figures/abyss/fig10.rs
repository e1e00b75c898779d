//! Figure 10: updates at high contention.

use super::fig09::MEDIUM;
use super::*;
use machine::Category;

/// Options of the workload.
pub(super) const HIGH: &str = "--records 20M --theta 0.8 --read-ratio 0.5";

/// Group of the runs at medium contention.
const BEFORE: &str = "theta 0.6";

pub(super) const FIGURE_A: Figure = Figure {
    paper: "abyss",
    number: "10a",
    title: "YCSB, half updates, high contention (theta 0.8)",
    section: "5.2",
    machine: MACHINE,
    remarks: &[],
    x: CORES,
    series: |effort| each_by_cores(&SIX, "", "ycsb", HIGH, up_to_1024(effort)),
    panels: &[by_cores()],
    checks: &[
        Check {
            statement: "Almost no scheme gains throughput beyond 64 cores",
            section: "5.2",
            ours: "almost none: at most one of six; gain: more than 5 %",
            judge: |data| {
                let (mut gaining, mut saw) = (0, Vec::new());
                for name in SIX {
                    let at = data.throughput(name, 64.0)?;
                    let beyond = data.places(name, |x| x > 64.0)?;
                    let mut best: f64 = 0.0;
                    for x in beyond {
                        best = best.max(data.throughput(name, x)?);
                    }
                    gaining += usize::from(best > 1.05 * at);
                    saw.push(format!("{name} {} against {}", short(best), short(at)));
                }
                let saw = format!("best beyond 64 against that on 64: {}", saw.join(", "));
                Ok(Finding::of(gaining <= 1, saw))
            },
        },
        Check {
            statement: "NO_WAIT leads on few cores and then declines by thrashing",
            section: "5.2",
            ours: "few: 4 to 16 cores; lead: within 1 % of the best",
            judge: no_wait_leads_and_declines,
        },
        Check {
            statement: "OCC is the best scheme on 1024 cores",
            section: "5.2",
            ours: "",
            judge: |data| {
                let ranks = ranked(*data, &SIX, 1024.0)?;
                Ok(Finding::of(ranks[0].0 == "OCC", listed(&ranks)))
            },
        },
    ],
};

fn no_wait_leads_and_declines(data: &Data<'_>) -> Judgement {
    let mut finding = Finding::default();
    for x in data.places("NO_WAIT", |x| (4.0..=16.0).contains(&x))? {
        let best = ranked(*data, &SIX, x)?[0];
        let own = data.throughput("NO_WAIT", x)?;
        let saw = format!("{} on {x} cores, best {} {}", short(own), best.0, short(best.1));
        finding = finding.and(own >= 0.99 * best.1, saw);
    }
    let ((x, peak), last) = (data.peak("NO_WAIT")?, data.throughput("NO_WAIT", 1024.0)?);
    let saw = format!("peak {} on {x}, {} on 1024", short(peak), short(last));
    Ok(finding.and(last < peak, saw))
}

pub(super) const FIGURE_B: Figure = Figure {
    paper: "abyss",
    number: "10b",
    title: "YCSB, half updates: where time goes",
    section: "5.2",
    machine: MACHINE,
    remarks: &["The second panel repeats figure 9b, with which the statement compares."],
    x: CORES,
    series: |_| {
        let mut series = each_by_cores(&SIX, "", "ycsb", HIGH, &[64]);
        series.extend(each_by_cores(&SIX, BEFORE, "ycsb", MEDIUM, &[512]));
        series
    },
    panels: &[
        bars("Theta 0.8, 64 cores", 64.0),
        Panel::new("Theta 0.6, 512 cores, from figure 9b", BEFORE, Kind::Bars { x: 512.0 }),
    ],
    checks: &[Check {
        statement: "Every scheme spends more of its time on aborts than at theta 0.6 on 512 cores",
        section: "5.2",
        ours: "",
        judge: |data| {
            let mut finding = Finding::default();
            for name in SIX {
                let high = data.share(name, 64.0, &[Category::Abort])?;
                let before = data.group(BEFORE).share(name, 512.0, &[Category::Abort])?;
                let saw = format!("{name} {} against {}", percent(high), percent(before));
                finding = finding.and(high > before, saw);
            }
            Ok(finding)
        },
    }],
};
