//! Table 2: the bottleneck of each scheme, summed up from the runs of figures 6, 8, 9, 10, 13, 14 and 15.

use super::fig09::MEDIUM;
use super::fig10::HIGH;
use super::*;
use machine::Category;

/// Groups of the runs, by what strains a scheme.
const READS: &str = "reads";
const SOME: &str = "theta 0.6";
const MUCH: &str = "theta 0.8";
const PARTITIONED: &str = "partitioned";
const MULTIPLE: &str = "multi-partition";
const MOSTLY_READS: &str = "90 % reads";
const COUNTERS: &str = "timestamps";

/// The largest number of cores.
const ALL: f64 = 1024.0;
/// Share of reads in [`MOSTLY_READS`].
const MOST: f64 = 0.9;

fn series(effort: Effort) -> Vec<Series> {
    let mut all = fig08::series(READS, up_to_1024(effort));
    all.extend(each_by_cores(&SIX, SOME, "ycsb", MEDIUM, up_to_1024(effort)));
    all.extend(each_by_cores(&SIX, MUCH, "ycsb", HIGH, up_to_1024(effort)));
    all.extend(
        SEVEN.iter().map(|name| one(PARTITIONED, name, ALL, fig14::partitioned(name, 1024))),
    );
    let parts = [("1 partition", 1), ("4 partitions", 4)];
    all.extend(parts.map(|(name, parts)| one(MULTIPLE, name, ALL, fig15::over(parts, 1024))));
    all.extend(SIX.iter().map(|name| one(MOSTLY_READS, name, MOST, fig13::reading(name, "0.9"))));
    all.push(one(COUNTERS, "atomic", ALL, fig06::drawing("atomic", 1024)));
    all
}

/// Returns a series of one run.
fn one(group: &'static str, name: &str, x: f64, run: Setting) -> Series {
    Series { group, name: name.to_owned(), points: vec![Point::placed((x, run))] }
}

const fn time(title: &'static str, group: &'static str) -> Panel {
    Panel::new(title, group, Kind::Bars { x: ALL })
}

pub(super) const TABLE: Figure = Figure {
    paper: "abyss",
    number: "table-2",
    title: "The bottleneck of each scheme",
    section: "6.1",
    machine: MACHINE,
    remarks: &[
        "All runs are those of figures 6, 8a, 9a, 10a, 13, 14 and 15b. `kilocore report` makes the table from their records.",
        "The statements are the paper's table. The numbers begin with the largest cost beside useful work on 1024 cores: \
         reading without skew, and half updates at theta 0.6 and 0.8.",
    ],
    x: CORES,
    series,
    panels: &[
        time("Reads only, no skew, 1024 cores", READS),
        time("Half updates, theta 0.6, 1024 cores", SOME),
        time("Half updates, theta 0.8, 1024 cores", MUCH),
        time("Half updates, no skew, a partition for each core, 1024 cores", PARTITIONED),
    ],
    checks: &[
        Check {
            statement: "DL_DETECT: scales under low contention, and suffers from lock thrashing",
            section: "table 2",
            ours: "scales: at least 0.7 of linear; thrashes: at most half of its peak at theta 0.8 is left on 1024 cores",
            judge: |data| {
                let finding = costs(*data, "DL_DETECT")?;
                let share = of_linear(data.group(READS), "DL_DETECT", ALL)?;
                let finding = finding.and(share >= 0.7, format!("{} of linear", percent(share)));
                thrashes(*data, "DL_DETECT", finding)
            },
        },
        Check {
            statement: "NO_WAIT: no central point of contention and highly scalable, but a very high rate of aborts",
            section: "table 2",
            ours: "no central point: no timestamps, and at least 0.7 of linear without skew; very high: more than half of all \
                   attempts at theta 0.8 on 1024 cores",
            judge: no_wait,
        },
        Check {
            statement: "WAIT_DIE: suffers from lock thrashing and from the bottleneck of timestamps",
            section: "table 2",
            ours: "thrashes: at most half of its peak at theta 0.8 is left on 1024 cores; bottleneck: timestamps are the largest \
                   cost without skew",
            judge: |data| {
                let finding = thrashes(*data, "WAIT_DIE", costs(*data, "WAIT_DIE")?)?;
                stamps_bind(*data, "WAIT_DIE", 1.0, finding)
            },
        },
        Check {
            statement: "TIMESTAMP: a high cost of local copies, writes that do not block, and the bottleneck of timestamps",
            section: "table 2",
            ours: "copies: below 0.9 of NO_WAIT on one core, reading without skew; not blocked: waits less than DL_DETECT at \
                   theta 0.6",
            judge: |data| {
                let finding = copies_cost(*data, "TIMESTAMP", costs(*data, "TIMESTAMP")?)?;
                let finding = hardly_blocks(*data, "TIMESTAMP", finding)?;
                stamps_bind(*data, "TIMESTAMP", 1.0, finding)
            },
        },
        Check {
            statement: "MVCC: does well with many reads, does not block reads or writes, and has the bottleneck of timestamps",
            section: "table 2",
            ours: "well: one of the best two with 90 % reads at theta 0.8 on 64 cores; not blocked: waits less than DL_DETECT at \
                   theta 0.6",
            judge: |data| {
                let ranks = ranked(data.group(MOSTLY_READS), &SIX, MOST)?;
                let well = ranks[..2].iter().any(|(name, _)| *name == "MVCC");
                let finding =
                    costs(*data, "MVCC")?.and(well, format!("90 % reads: {}", listed(&ranks)));
                stamps_bind(*data, "MVCC", 1.0, hardly_blocks(*data, "MVCC", finding)?)
            },
        },
        Check {
            statement: "OCC: a high cost of local copies and of aborts, and the bottleneck of timestamps, of which it draws two",
            section: "table 2",
            ours: "copies: below 0.9 of NO_WAIT on one core; aborts: a larger share of time than TIMESTAMP's and MVCC's at theta \
                   0.6 on 1024 cores",
            judge: |data| {
                let mut finding = copies_cost(*data, "OCC", costs(*data, "OCC")?)?;
                let aborts = |name| data.group(SOME).share(name, ALL, &[Category::Abort]);
                let own = aborts("OCC")?;
                for other in ["TIMESTAMP", "MVCC"] {
                    let share = aborts(other)?;
                    let saw = format!("aborts {}, {other} {}", percent(own), percent(share));
                    finding = finding.and(own > share, saw);
                }
                stamps_bind(*data, "OCC", 2.0, finding)
            },
        },
        Check {
            statement: "HSTORE: best for partitioned workloads, but suffers from multi-partition transactions and from the bottleneck \
                        of timestamps",
            section: "table 2",
            ours: "best: on 1024 cores; suffers: with 10 % of transactions over 4 partitions at most half of its throughput is left",
            judge: hstore,
        },
    ],
};

/// Returns the largest costs of `name` on all cores as numbers of a finding.
fn costs(data: Data<'_>, name: &str) -> Judgement {
    let mut parts = Vec::new();
    for group in [READS, SOME, MUCH] {
        let (cost, share) = data.group(group).largest_cost(name, ALL)?;
        parts.push(format!("{group}: {} {}", cost.name(), percent(share)));
    }
    Ok(Finding::of(true, parts.join(", ")))
}

/// Adds whether at most half of the peak of `name` at high contention is left on all cores.
fn thrashes(data: Data<'_>, name: &str, finding: Finding) -> Judgement {
    let data = data.group(MUCH);
    let ((x, peak), last) = (data.peak(name)?, data.throughput(name, ALL)?);
    let saw = format!("theta 0.8: peak {} on {x}, {} on 1024", short(peak), short(last));
    Ok(finding.and(last <= 0.5 * peak, saw))
}

/// Adds whether timestamps are the largest cost of `name` without skew, and how near it is to the most that an atomic
/// counter gives, if it draws `stamps` for a transaction.
fn stamps_bind(data: Data<'_>, name: &str, stamps: f64, finding: Finding) -> Judgement {
    let (cost, _) = data.group(READS).largest_cost(name, ALL)?;
    let ceiling = data.group(COUNTERS).throughput("atomic", ALL)?;
    let drawn = stamps * data.group(READS).throughput(name, ALL)?;
    let near = percent(drawn / ceiling.max(1.0));
    let saw = format!("draws {} timestamps/s, {near} of the counter's ceiling", short(drawn));
    Ok(finding.and(cost == Component::Timestamps, saw))
}

/// Adds whether `name` is clearly slower than NO_WAIT, which does not copy, while nothing else holds it up.
fn copies_cost(data: Data<'_>, name: &str, finding: Finding) -> Judgement {
    let of = |name| data.group(READS).throughput(name, 1.0);
    let ratio = of(name)? / of("NO_WAIT")?.max(1.0);
    Ok(finding.and(ratio < 0.9, format!("{} of NO_WAIT on one core", percent(ratio))))
}

/// Adds whether `name` waits less than DL_DETECT does.
fn hardly_blocks(data: Data<'_>, name: &str, finding: Finding) -> Judgement {
    let waits = |name| data.group(SOME).share(name, ALL, &[Category::Wait]);
    let (own, other) = (waits(name)?, waits("DL_DETECT")?);
    let saw = format!("waits {}, DL_DETECT {}", percent(own), percent(other));
    Ok(finding.and(own < other, saw))
}

fn no_wait(data: &Data<'_>) -> Judgement {
    let name = "NO_WAIT";
    let stamps = data.group(READS).share(name, ALL, Component::Timestamps.categories())?;
    let share = of_linear(data.group(READS), name, ALL)?;
    let aborts = data.group(MUCH).value(name, ALL, Measure::AbortRatio)?;
    Ok(costs(*data, name)?
        .and(stamps < 0.001, format!("timestamps {}", percent(stamps)))
        .and(share >= 0.7, format!("{} of linear", percent(share)))
        .and(aborts > 0.5, format!("theta 0.8: {} of attempts abort", percent(aborts))))
}

fn hstore(data: &Data<'_>) -> Judgement {
    let whole = data.group(PARTITIONED);
    let ranks = ranked(whole, &SEVEN, ALL)?;
    let (cost, share) = whole.largest_cost("HSTORE", ALL)?;
    let of = |name| data.group(MULTIPLE).throughput(name, ALL);
    let left = of("4 partitions")? / of("1 partition")?.max(1.0);
    Ok(Finding::of(ranks[0].0 == "HSTORE", listed(&ranks))
        .and(cost == Component::Timestamps, format!("{} {}", cost.name(), percent(share)))
        .and(left <= 0.5, format!("{} left with 4 partitions", percent(left))))
}
