//! Figures of "Staring into the Abyss: An Evaluation of Concurrency Control with One Thousand Cores" (Yu, Bezerra,
//! Pavlo, Devadas, Stonebraker; VLDB 2014).
//!
//! The machine is the paper's chip. NO_WAIT keeps its locks as lists under a latch, as the other two schemes of
//! two-phase locking do (section 4.1). TIMESTAMP and OCC copy whole records (section 5.1). MVCC keeps every version that it
//! supersedes until it is collected. Everything else
//! of a scheme is as usual. In particular, writers that wait under TIMESTAMP and MVCC race. In the papers' code the one with
//! the earliest timestamp goes first. With that (`waiting-writers=in-turn`) both collapse on YCSB with theta 0.6, from 7.2
//! and 6.3 to 0.8 and 1.0 M/s on 1024 cores, which the paper does not show.

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
mod table2;

use super::data::Component;
use super::numbers::{
    curve, leaves_linear, listed, never_falls, never_rises, of_linear, percent, ranked, ranked_by,
    short,
};
use super::{
    Check, Data, Effort, Figure, Finding, Judgement, Kind, Measure, Missing, Panel, Paper, Point,
    Scale, Series, Setting,
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
        table2::TABLE,
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

/// TIMESTAMP and OCC copy each record that they read (section 5.1).
const COPIES: &str = "copies=records";

const BY_CORES: Kind =
    Kind::Lines { y: Measure::Throughput, across: Scale::Linear, up: Scale::Linear };

/// Returns a panel of throughput by cores, without a title or group.
const fn by_cores() -> Panel {
    Panel::new("", "", BY_CORES)
}

/// Returns a panel of stacked bars at `x`.
const fn bars(title: &'static str, x: f64) -> Panel {
    Panel::new(title, "", Kind::Bars { x })
}

/// Returns the numbers of cores of a scalability figure.
fn up_to_1024(effort: Effort) -> &'static [usize] {
    effort.pick(
        &[1, 8, 16, 32, 64, 128, 256, 384, 512, 640, 800, 1024],
        &[1, 4, 16, 64, 256, 512, 1024],
    )
}

/// Returns the run of a scheme as the paper implements it.
pub(super) fn scheme(
    workload: &'static str,
    options: impl Into<String>,
    name: &'static str,
    cores: usize,
) -> Setting {
    let setting = Setting::new(workload, options, name, cores);
    match name {
        "NO_WAIT" => setting.with("lock-form=list"),
        "TIMESTAMP" | "OCC" => setting.accessing(COPIES),
        "MVCC" => setting.with("keep-versions=all"),
        _ => setting,
    }
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
        points: cores
            .iter()
            .map(|&n| (n as f64, scheme(workload, options, name, n)))
            .map(Point::placed)
            .collect(),
    };
    schemes.iter().map(series).collect()
}

#[cfg(test)]
mod tests;
