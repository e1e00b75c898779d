//! Figure 6: allocators of timestamps by themselves.

use super::*;

/// Allocators from the fastest to the slowest.
pub(super) const ALLOCATORS: [&str; 6] =
    ["clock", "hardware", "batch16", "batch8", "atomic", "mutex"];

/// Returns the run that only draws timestamps.
pub(super) fn drawing(allocator: &'static str, cores: usize) -> Setting {
    Setting::new("timestamps", "", "NO_CC", cores).drawing(allocator)
}

fn series(effort: Effort) -> Vec<Series> {
    let cores = effort
        .pick(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024][..], &[1, 4, 16, 64, 256, 1024][..]);
    let point = |name: &'static str, cores: usize| (cores as f64, drawing(name, cores));
    let line = |name: &&'static str| Series {
        group: "",
        name: (*name).to_owned(),
        points: cores.iter().map(|&cores| point(name, cores)).map(Point::placed).collect(),
    };
    ALLOCATORS.iter().map(line).collect()
}

pub(super) const FIGURE: Figure = Figure {
    paper: "abyss",
    number: "6",
    title: "Timestamp allocation by itself",
    section: "4.3",
    machine: MACHINE,
    remarks: &["A transaction is one timestamp, so the unit is timestamps per second."],
    x: CORES,
    series,
    panels: &[Panel::new(
        "",
        "",
        Kind::Lines { y: Measure::Timestamps, across: Scale::Log, up: Scale::Log },
    )],
    checks: &[
        Check {
            statement: "The mutex is the slowest allocator on 1024 cores, with about 1 M timestamps/s",
            section: "4.3",
            ours: "about: within a factor of 2",
            judge: |data| {
                let ranks = ranked(*data, &ALLOCATORS, 1024.0)?;
                let mutex = data.throughput("mutex", 1024.0)?;
                let last = ranks[ranks.len() - 1].0 == "mutex";
                Ok(Finding::of(last, listed(&ranks))
                    .and((0.5e6..=2e6).contains(&mutex), format!("mutex {}", short(mutex))))
            },
        },
        Check {
            statement: "The atomic addition peaks on few cores at 30 M/s and then declines, to 8 M/s on 1024",
            section: "4.3",
            ours: "few: at most 16 cores; numbers within a factor of 2",
            judge: |data| {
                let line = data.throughputs("atomic")?;
                let ((x, peak), last) = (data.peak("atomic")?, data.throughput("atomic", 1024.0)?);
                let after: Vec<_> = line.iter().copied().filter(|point| point.0 >= x).collect();
                let peaked = format!("peak {} on {x} cores", short(peak));
                Ok(Finding::of(x <= 16.0 && never_rises(&after, 0.0), "declines after its peak")
                    .and((15e6..=60e6).contains(&peak), peaked)
                    .and((4e6..=16e6).contains(&last), format!("{} on 1024", short(last))))
            },
        },
        Check {
            statement: "A hardware counter ends at one timestamp a cycle; the clock is linear up to 1024 cores",
            section: "4.3",
            ours: "linear: at least 0.9 of it; one a cycle: within 10 %",
            judge: |data| {
                let hardware = data.peak("hardware")?.1;
                let clock = of_linear(*data, "clock", 1024.0)?;
                let one = (0.9e9..=1.1e9).contains(&hardware);
                Ok(Finding::of(one, format!("hardware {}", short(hardware)))
                    .and(clock >= 0.9, format!("clock {} of linear", percent(clock))))
            },
        },
    ],
};
