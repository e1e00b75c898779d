//! Figures of "Staring into the Abyss: An Evaluation of Concurrency Control with One Thousand Cores" (Yu, Bezerra,
//! Pavlo, Devadas, Stonebraker; VLDB 2014).
//!
//! The machine is the paper's chip. NO_WAIT keeps its locks as lists under a latch, as the other two schemes of
//! two-phase locking do (section 4.1). Everything else of a scheme is as usual.

mod fig03;
mod fig04;
mod fig05;
mod fig06;
mod fig07;
mod fig08;
mod fig09;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig14;
mod fig15;
mod fig16;
mod fig17;

use super::data::Component;
use super::{
    Check, Data, Effort, Figure, Finding, Judgement, Kind, Measure, Missing, Panel, Paper, Scale,
    Series, Setting,
};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "abyss",
    title: "Staring into the Abyss (Yu, Bezerra, Pavlo, Devadas, Stonebraker; VLDB 2014)",
    figures: &[
        fig03::FIGURE,
        fig04::FIGURE,
        fig05::FIGURE,
        fig06::FIGURE,
        fig07::FIGURE_A,
        fig07::FIGURE_B,
        fig08::FIGURE_A,
        fig08::FIGURE_B,
        fig09::FIGURE_A,
        fig09::FIGURE_B,
        fig10::FIGURE_A,
        fig10::FIGURE_B,
        fig11::FIGURE,
        fig12::FIGURE_A,
        fig12::FIGURE_B,
        fig13::FIGURE,
        fig14::FIGURE,
        fig15::FIGURE_A,
        fig15::FIGURE_B,
        fig16::FIGURE_A,
        fig16::FIGURE_B,
        fig16::FIGURE_C,
        fig17::FIGURE_A,
        fig17::FIGURE_B,
        fig17::FIGURE_C,
    ],
};

const MACHINE: &str = "graphite";

/// The schemes of the figures before partitioning is introduced, in the paper's order.
const SIX: [&str; 6] = ["DL_DETECT", "NO_WAIT", "WAIT_DIE", "TIMESTAMP", "MVCC", "OCC"];

/// All schemes of the paper.
const SEVEN: [&str; 7] = ["DL_DETECT", "NO_WAIT", "WAIT_DIE", "TIMESTAMP", "MVCC", "OCC", "HSTORE"];

/// Schemes of timestamp ordering, without the one that locks partitions.
const ORDERED: [&str; 3] = ["TIMESTAMP", "MVCC", "OCC"];

const CORES: &str = "Cores";

const BY_CORES: Kind =
    Kind::Lines { y: Measure::Throughput, across: Scale::Linear, up: Scale::Linear };

/// Returns a panel of throughput by cores, without a title or group.
const fn by_cores() -> Panel {
    Panel { title: "", group: "", kind: BY_CORES }
}

/// Returns a panel of stacked bars at `x`.
const fn bars(title: &'static str, x: f64) -> Panel {
    Panel { title, group: "", kind: Kind::Bars { x } }
}

/// Returns the numbers of cores of a scalability figure.
fn up_to_1024(effort: Effort) -> &'static [usize] {
    effort.pick(
        &[1, 8, 16, 32, 64, 128, 256, 384, 512, 640, 800, 1024],
        &[1, 4, 16, 64, 256, 512, 1024],
    )
}

/// Returns the run of a scheme as the paper implements it.
fn scheme(
    workload: &'static str,
    options: impl Into<String>,
    name: &'static str,
    cores: usize,
) -> Setting {
    let setting = Setting::new(workload, options, name, cores);
    if name == "NO_WAIT" { setting.with("lock-form=list") } else { setting }
}

/// Returns a series for each scheme, with a point for each number of cores.
fn each_by_cores(
    schemes: &[&'static str],
    group: &'static str,
    workload: &'static str,
    options: &str,
    cores: &[usize],
) -> Vec<Series> {
    let series = |name: &&'static str| Series {
        group,
        name: (*name).to_owned(),
        points: cores.iter().map(|&n| (n as f64, scheme(workload, options, name, n))).collect(),
    };
    schemes.iter().map(series).collect()
}

/// Returns a number with three digits and a unit: `1.23 M`.
fn short(value: f64) -> String {
    let (unit, factor) = match value.abs() {
        v if v >= 1e9 => (" G", 1e9),
        v if v >= 1e6 => (" M", 1e6),
        v if v >= 1e3 => (" k", 1e3),
        _ => ("", 1.0),
    };
    let scaled = value / factor;
    let digits = match scaled.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{scaled:.digits$}{unit}")
}

/// Returns a share as a percentage.
fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Returns the throughputs of `names` at `x`, highest first.
fn ranked<'n>(data: Data<'_>, names: &[&'n str], x: f64) -> Result<Vec<(&'n str, f64)>, Missing> {
    ranked_by(data, names, x, Measure::Throughput)
}

/// Returns the values of `names` at `x`, highest first.
fn ranked_by<'n>(
    data: Data<'_>,
    names: &[&'n str],
    x: f64,
    measure: Measure,
) -> Result<Vec<(&'n str, f64)>, Missing> {
    let mut ranked = Vec::new();
    for &name in names {
        ranked.push((name, data.value(name, x, measure)?));
    }
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(ranked)
}

/// Returns ranked values as a text.
fn listed(ranked: &[(&str, f64)]) -> String {
    let parts = ranked.iter().map(|(name, value)| format!("{name} {}", short(*value)));
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns the throughput of `name` at `x` as a share of linear scaling from its fewest cores.
fn of_linear(data: Data<'_>, name: &str, x: f64) -> Result<f64, Missing> {
    let first = data.throughputs(name)?[0];
    Ok(data.throughput(name, x)? / (first.1 * x / first.0))
}

/// Returns the fewest cores at which `name` has less than `share` of linear throughput.
fn leaves_linear(data: Data<'_>, name: &str, share: f64) -> Result<Option<f64>, Missing> {
    for (x, _) in data.throughputs(name)? {
        if of_linear(data, name, x)? < share {
            return Ok(Some(x));
        }
    }
    Ok(None)
}

/// Returns whether no value is higher than the one before it by more than `tolerance`.
fn never_rises(values: &[(f64, f64)], tolerance: f64) -> bool {
    values.windows(2).all(|pair| pair[1].1 <= pair[0].1 * (1.0 + tolerance))
}

/// Returns whether no value is lower than the one before it by more than `tolerance`.
fn never_falls(values: &[(f64, f64)], tolerance: f64) -> bool {
    values.windows(2).all(|pair| pair[1].1 >= pair[0].1 * (1.0 - tolerance))
}

/// Returns places and values as a text.
fn curve(values: &[(f64, f64)]) -> String {
    let parts = values.iter().map(|(x, y)| format!("{} at {x}", short(*y)));
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
