//! Figures of "Analyzing the Impact of System Architecture on the Scalability of OLTP Engines for High-Contention Workloads"
//! (Trireme; Appuswamy, Anadiotis, Porobic, Iman, Ailamaki; VLDB 2017).
//!
//! The machine is the paper's server. A line is a protocol under an architecture, which the engine finds by its name. A
//! line of an architecture that the engine does not have yet has no runs, and statements about it are not measured. Both
//! begin to work when the engine has an architecture of that name.
//!
//! Architectures that store partitions apart have a partition for each thread. Its memory is on the thread's socket,
//! because each of Trireme's threads has a heap of its own (section 3). Without partitions, pages alternate over the
//! sockets in use.
//!
//! DL_DETECT has no timeout, and aborts only to resolve deadlocks (3.1). NO_WAIT's locks are counters in the records (3.2).
//! Optimistic protocols copy each record that they read (4.4.1), and all protocols that can abort copy what they update, for
//! the undo log or as a private copy (3.1). Everything else of a protocol is as usual, its pauses after aborts too.

mod fig02;
mod fig02cd;
mod fig03;
mod fig04;
mod fig05;
mod fig06;
mod fig06cd;
mod fig07;
mod fig07cde;
mod map;
mod setup;

use super::data::Component;
use super::numbers::{curve, listed, of_linear, percent, ranked, ranked_by, short};
use super::{
    Check, Data, Effort, Figure, Finding, Judgement, Kind, Measure, Missing, Panel, Paper, Point,
    Scale, Series, Setting,
};
use setup::*;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "trireme",
    title: "Impact of System Architecture on OLTP Engines (Trireme; Appuswamy et al.; VLDB 2017)",
    figures: &[
        fig02::FIGURE_A,
        fig02::FIGURE_B,
        fig02cd::FIGURE_C,
        fig02cd::FIGURE_D,
        fig03::FIGURE_A,
        fig03::FIGURE_B,
        fig03::FIGURE_C,
        fig04::FIGURE_A,
        fig04::FIGURE_B,
        fig04::FIGURE_C,
        fig05::FIGURE,
        fig06::FIGURE_A,
        fig06::FIGURE_B,
        fig06cd::FIGURE_C,
        fig06cd::FIGURE_D,
        fig07::FIGURE_A,
        fig07::FIGURE_B,
        fig07cde::FIGURE_C,
        fig07cde::FIGURE_D,
        fig07cde::FIGURE_E,
        map::FIGURE,
    ],
};

const MACHINE: &str = "haswell-ex";
const THREADS: &str = "Threads";

/// All threads of the machine.
const ALL: f64 = 72.0;

/// The largest number of threads that is few (our choice).
const FEW: f64 = 8.0;

/// Remark of all figures of hot and cold records.
const RECORDS: &str = "The table has 40 million records instead of 100, and 10 million with --quick: a run needs 7 and 1.8 GB. All of them \
     are many times as large as the caches. A transaction accesses its hot records first, which the paper leaves open.";

/// Remark of figures with lines of partitioned architectures.
const PLACED: &str = "SE is shared-everything, and PSE is partitioned serial execution. A partitioned architecture has a partition for \
                      each thread, on the thread's socket. Shared-everything has one, whose pages alternate over the sockets in \
                      use.";

/// Remark of figures of YCSB.
const SCATTERED: &str = "PSE is partitioned serial execution. Partitioned architectures have a partition for each thread, by key modulo their \
                         number; keys are drawn from the whole table. An access reads or writes one of the ten fields.";

/// Remark of figures of YCSB with updates.
const UNDONE: &str = "All protocols copy the record of 1 KB in each access: two-phase locking for its undo log, SILO as its private copy (3.1). \
                      PSE copies nothing, because it never aborts.";

const BY_THREADS: Kind = lines(Measure::Throughput);

const fn lines(y: Measure) -> Kind {
    Kind::Lines { y, across: Scale::Linear, up: Scale::Linear }
}

/// Returns a panel of throughput by threads.
const fn throughput(title: &'static str, group: &'static str) -> Panel {
    Panel::new(title, group, BY_THREADS)
}

/// Returns a panel of aborts as the paper counts them: per commit.
const fn aborts() -> Panel {
    Panel::new("Aborts per commit", "", lines(Measure::Aborts))
}

/// Returns a panel of aborts as `kilocore run` counts them: as a share of all attempts.
const fn abort_ratio() -> Panel {
    Panel::new("Share of the attempts that abort", "", lines(Measure::AbortRatio))
}

/// Returns how many times as fast `one` is as `other` at `x`.
fn times(data: Data<'_>, one: &str, other: &str, x: f64) -> Result<f64, Missing> {
    Ok(data.throughput(one, x)? / data.throughput(other, x)?.max(1.0))
}

/// Returns the ratio of the throughput of `name` at `x` in this group to that in another group.
fn to_group(data: Data<'_>, name: &str, group: &str, x: f64) -> Result<f64, Missing> {
    Ok(data.throughput(name, x)? / data.group(group).throughput(name, x)?.max(1.0))
}

/// Returns the ratio of the throughput of `name` at `to` to that at `from`.
fn gain(data: Data<'_>, name: &str, from: f64, to: f64) -> Result<f64, Missing> {
    Ok(data.throughput(name, to)? / data.throughput(name, from)?.max(1.0))
}

/// Returns a finding that each of `names` has less throughput than `ahead` at all places that are few threads.
fn ahead_on_few(data: Data<'_>, ahead: &str, names: &[&str]) -> Judgement {
    let mut finding = Finding::default();
    for x in data.places(ahead, |x| x <= FEW)? {
        for name in names {
            let lead = times(data, ahead, name, x)?;
            finding = finding.and(lead > 1.0, format!("{lead:.2} times {name} on {x}"));
        }
    }
    Ok(finding)
}

#[cfg(test)]
mod tests;
