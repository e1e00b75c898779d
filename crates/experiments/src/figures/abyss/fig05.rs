//! Figure 5: the timeout of waits for locks.

use super::*;

/// Timeouts in microseconds, as the option takes them.
const TIMEOUTS: [(f64, &str); 7] = [
    (0.0, "0ns"),
    (1.0, "1us"),
    (10.0, "10us"),
    (100.0, "100us"),
    (1e3, "1ms"),
    (1e4, "10ms"),
    (1e5, "100ms"),
];

const OPTIONS: &str = "--records 20M --theta 0.8 --read-ratio 0.5";

const LINE: &str = "DL_DETECT";

fn series(_: Effort) -> Vec<Series> {
    let point = |(x, timeout): (f64, &str)| {
        let setting = Setting::new("ycsb", OPTIONS, "DL_DETECT", 64);
        (x, setting.with(format!("lock-timeout={timeout}")))
    };
    let points = TIMEOUTS.into_iter().map(point).map(Point::placed).collect();
    let no_wait = vec![(0.0, scheme("ycsb", OPTIONS, "NO_WAIT", 64).into())];
    vec![
        Series { group: "", name: LINE.to_owned(), points },
        Series { group: "", name: "NO_WAIT".to_owned(), points: no_wait },
    ]
}

pub(super) const FIGURE: Figure = Figure {
    paper: "abyss",
    number: "5",
    title: "Waiting against aborting: the lock timeout on 64 cores, theta 0.8",
    section: "4.2",
    machine: MACHINE,
    remarks: &[
        "Deadlocks are searched for beside the timeout.",
        "NO_WAIT is drawn at timeout 0, which the paper calls equivalent.",
        "The rate of aborts is the number of aborted attempts for each commit.",
    ],
    x: "Timeout (µs), 0: no waiting",
    series,
    panels: &[
        Panel::new(
            "Throughput",
            "",
            Kind::Lines { y: Measure::Throughput, across: Scale::Log, up: Scale::Linear },
        ),
        Panel::new(
            "Rate of aborts",
            "",
            Kind::Lines { y: Measure::Aborts, across: Scale::Log, up: Scale::Linear },
        ),
    ],
    checks: &[
        Check {
            statement: "Short timeouts give more throughput than long ones",
            section: "4.2",
            ours: "",
            judge: |data| {
                let (x, best) = data.peak(LINE)?;
                let longest = data.throughput(LINE, 1e5)?;
                let saw = format!("best {} at {x} us, {} at 100 ms", short(best), short(longest));
                Ok(Finding::of(x < 1e5, saw))
            },
        },
        Check {
            statement: "The rate of aborts never increases with the timeout",
            section: "4.2",
            ours: "tolerance 2 %",
            judge: |data| {
                let aborts = data.line(LINE)?.values(Measure::Aborts);
                let steps = aborts.iter().map(|(x, y)| format!("{y:.2} at {x} us"));
                let saw = steps.collect::<Vec<_>>().join(", ");
                Ok(Finding::of(never_rises(&aborts, 0.02), saw))
            },
        },
        Check {
            statement: "Timeout 0 is the same as NO_WAIT: throughput and rate of aborts coincide",
            section: "4.2",
            ours: "coincide: within 10 %",
            judge: the_same_without_waiting,
        },
    ],
};

fn the_same_without_waiting(data: &Data<'_>) -> Judgement {
    let mut finding = Finding::default();
    for (what, measure) in [("txn/s", Measure::Throughput), ("aborts a commit", Measure::Aborts)] {
        let own = data.value(LINE, 0.0, measure)?;
        let other = data.value("NO_WAIT", 0.0, measure)?;
        let near = (own - other).abs() <= 0.1 * other;
        finding = finding.and(near, format!("{} against {} {what}", short(own), short(other)));
    }
    Ok(finding)
}
