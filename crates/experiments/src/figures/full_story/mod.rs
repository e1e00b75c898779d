//! Figures of "The Full Story of 1000 Cores: An Examination of Concurrency Control on Real(ly) Large Multi-Socket
//! Hardware" (Bang, May, Petrov, Binnig; VLDB Journal 2022).
//!
//! Most points are runs of the measured program ([`Program`]), so that the measured values of the same configuration
//! stand beside ours. The directory of measurements has about a third of the paper's points. The full mix is not among
//! them, so its figures are runs of our TPC-C.

mod fig02;
mod fig03;
mod fig04;
mod fig06;
mod fig08;
mod fig09;
mod fig10;
mod fig11;
mod fig13;
mod fig14;
mod fig15;
mod fig17;
mod fig18;
mod fig19;
mod fig22;

use super::numbers::{listed, percent, ranked, short};
use super::{
    Check, Comparison, Data, Effort, Figure, Finding, Judgement, Kind, Measure, Missing, Panel,
    Paper, Point, Program, Remote, Scale, Series, Setting,
};
use crate::validate::Placement;
use machine::Category;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "full-story",
    title: "The Full Story of 1000 Cores (Bang, May, Petrov, Binnig; VLDB Journal 2022)",
    figures: &[
        fig02::FIGURE_A,
        fig02::FIGURE_B,
        fig03::FIGURE_A,
        fig03::FIGURE_B,
        fig04::FIGURE,
        fig04::FIGURE_5A,
        fig06::FIGURE_5B,
        fig06::FIGURE,
        fig06::FIGURE_7,
        fig08::FIGURE_A,
        fig08::FIGURE_B,
        fig09::FIGURE_A,
        fig09::FIGURE_B,
        fig10::FIGURE_A,
        fig10::FIGURE_B,
        fig11::FIGURE,
        fig11::FIGURE_12,
        fig13::FIGURE,
        fig14::FIGURE,
        fig15::FIGURE,
        fig15::FIGURE_16,
        fig17::FIGURE,
        fig18::FIGURE,
        fig19::FIGURE,
        fig19::FIGURE_20,
        fig22::FIGURE_21,
        fig22::FIGURE,
    ],
};

/// The schemes of the paper.
const EIGHT: [&str; 8] =
    ["DL_DETECT", "HSTORE", "MVCC", "NO_WAIT", "OCC", "SILO", "TICTOC", "WAIT_DIE"];

/// The schemes of two-phase locking, which the paper calls pessimistic.
const LOCKING: [&str; 3] = ["DL_DETECT", "WAIT_DIE", "NO_WAIT"];

const FLEX: &str = "superdome-flex";
const THREE: &str = "superdome-flex, power9 and power8";
const CORES: &str = "Cores (hardware threads)";

/// Remark of figures with measured shares of time.
const NARROW_BARS: &str = "The narrow bar is measured. The measured categories overlap, mostly because back-off is in another one, too. Bars \
                           whose shares sum to 0.98 to 1.02 are drawn as they are, so they can end above or below 1. Others are left \
                           out.";

/// The part of a throughput by which it can differ from a number of the paper, unless a statement says otherwise.
const NEAR: f64 = 0.25;

/// Returns a series for each scheme, with a run for each number of cores.
fn by_cores(
    group: &'static str,
    schemes: &[&'static str],
    cores: &[u64],
    run: impl Fn(&'static str, u64) -> Program,
) -> Vec<Series> {
    let line = |name: &&'static str| Series {
        group,
        name: (*name).to_owned(),
        points: cores.iter().map(|&n| (n as f64, run(name, n))).map(Point::placed).collect(),
    };
    schemes.iter().map(line).collect()
}

/// Returns a panel of lines over a logarithmic axis.
const fn lines(title: &'static str, group: &'static str, y: Measure) -> Panel {
    Panel::new(title, group, Kind::Lines { y, across: Scale::Log, up: Scale::Linear })
}

/// Returns a panel that compares the lines of `group` with those of `base`.
const fn against(
    title: &'static str,
    group: &'static str,
    base: &'static str,
    by: Comparison,
    up: Scale,
) -> Panel {
    Panel::new(title, group, Kind::Against { base, by, across: Scale::Log, up })
}

/// Returns a panel of bars at `x`.
const fn bars(title: &'static str, x: f64) -> Panel {
    Panel::new(title, "", Kind::Bars { x })
}

/// Throughput in relation to that of the first number of cores.
const SPEED_UP: Measure = Measure::SpeedUp("one core");

const RATIO: Comparison = Comparison::Ratio(Measure::Throughput);

/// Returns a value that only the full grid has, or says so.
fn in_full(data: Data<'_>, name: &str, x: f64) -> Result<f64, Missing> {
    data.line(name)?;
    data.throughput(name, x).map_err(|_| Missing(format!("only the full grid has {x} cores")))
}

/// Returns whether `value` is within `tolerance` of the range, as a part of its ends.
fn near(value: f64, (low, high): (f64, f64), tolerance: f64) -> bool {
    ((1.0 - tolerance) * low..=(1.0 + tolerance) * high).contains(&value)
}

/// Returns the number of times by which the throughput of `name` grows from `from` to `to`.
fn gain(data: Data<'_>, name: &str, from: f64, to: f64) -> Result<f64, Missing> {
    Ok(data.throughput(name, to)? / data.throughput(name, from)?.max(1.0))
}

/// Returns the share of the time at `x` in waits, aborted attempts and back-off.
fn lost(data: Data<'_>, name: &str, x: f64) -> Result<f64, Missing> {
    data.share(name, x, &[Category::Wait, Category::Abort, Category::BackOff])
}
