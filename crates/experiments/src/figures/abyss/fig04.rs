//! Figure 4: lock thrashing without deadlocks.

use super::*;
use machine::Category;

/// Levels of contention, with the names of the series.
const THETAS: [(&str, &str); 3] = [("theta 0", "0"), ("theta 0.6", "0.6"), ("theta 0.8", "0.8")];

fn series(effort: Effort) -> Vec<Series> {
    let point = |theta: &str, cores: usize| {
        let options = format!("--records 20M --theta {theta} --read-ratio 0.5 --key-order");
        let setting = Setting::new("ycsb", options, "DL_DETECT", cores);
        (cores as f64, setting.with("deadlocks=key-order lock-timeout=off"))
    };
    let cores = effort.pick(
        &[1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 640, 800, 1024][..],
        &[1, 4, 8, 16, 32, 64, 128, 256, 512, 1024][..],
    );
    let line = |(name, theta): (&str, &str)| Series {
        group: "",
        name: name.to_owned(),
        points: cores.iter().map(|&cores| point(theta, cores)).map(Point::placed).collect(),
    };
    THETAS.into_iter().map(line).collect()
}

pub(super) const FIGURE: Figure = Figure {
    paper: "abyss",
    number: "4",
    title: "Lock thrashing: DL_DETECT without detection, locks in key order",
    section: "4.2",
    machine: MACHINE,
    remarks: &[],
    x: CORES,
    series,
    panels: &[Panel::new(
        "",
        "",
        Kind::Lines { y: Measure::Throughput, across: Scale::Log, up: Scale::Log },
    )],
    checks: &[
        Check {
            statement: "Without skew, throughput stays near linear up to 1024 cores",
            section: "4.2",
            ours: "near linear: at least 0.7 of it",
            judge: |data| {
                let share = of_linear(*data, "theta 0", 1024.0)?;
                Ok(Finding::of(share >= 0.7, format!("{} of linear on 1024 cores", percent(share))))
            },
        },
        Check {
            statement: "At theta 0.6, throughput is highest at several hundred cores and lower at 1024",
            section: "4.2",
            ours: "several hundred: 128 to 800",
            judge: |data| {
                let (x, peak) = data.peak("theta 0.6")?;
                let last = data.throughput("theta 0.6", 1024.0)?;
                let peak = format!("peak {} on {x} cores", short(peak));
                Ok(Finding::of((128.0..=800.0).contains(&x), peak)
                    .and(x < 1024.0, format!("{} on 1024", short(last))))
            },
        },
        Check {
            statement: "At theta 0.8, throughput is highest on 16 cores; beyond, waiting for locks takes nearly all time",
            section: "4.2",
            ours: "nearly all: at least 0.8 of the time from 64 cores on",
            judge: thrashing_at_high_contention,
        },
    ],
};

fn thrashing_at_high_contention(data: &Data<'_>) -> Judgement {
    let (x, peak) = data.peak("theta 0.8")?;
    data.throughput("theta 0.8", 16.0)?;
    let mut least: f64 = 1.0;
    for cores in data.places("theta 0.8", |x| x >= 64.0)? {
        least = least.min(data.share("theta 0.8", cores, &[Category::Wait])?);
    }
    Ok(Finding::of(x == 16.0, format!("peak {} on {x} cores", short(peak)))
        .and(least >= 0.8, format!("waiting at least {} from 64 cores on", percent(least))))
}
