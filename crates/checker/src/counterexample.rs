//! Describes why a history failed, in a form that a person can follow.

use crate::certificate::Level;
use crate::cycle::Cycle;
use crate::defect::Defect;
use crate::explain::{Link, links};
use crate::graph::Dependency;
use crate::numbering::{Numbering, Span};
use std::fmt;
use txn::{Read, Scan, Spellings, TxnId, Write};

/// The kind of failure. The names are Adya's where he defines one (Adya 1999; Adya, Liskov & O'Neil,
/// "Generalized isolation level definitions", ICDE 2000).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phenomenon {
    /// G0, write cycle: writes of two transactions are interleaved (dirty write).
    G0,
    /// G1a, aborted read.
    G1a,
    /// G1b, intermediate read.
    G1b,
    /// G1c, circular information flow: a cycle of write and read dependencies.
    G1c,
    /// G-single: a cycle with exactly one anti-dependency (read skew, lost update).
    GSingle,
    /// G2-item: a cycle with at least two anti-dependencies (write skew).
    G2Item,
    /// G2: a cycle with at least two anti-dependencies, where a transaction did not see a row of a range that
    /// it had scanned (phantom).
    G2,
    /// P4, lost update: two writes follow one version (Berenson et al. 1995).
    LostUpdate,
    /// Long fork: a cycle with several anti-dependencies, no two of which follow each other directly (Sovran
    /// et al., SOSP 2011). With a single anti-dependency the cycle is [`Phenomenon::GSingle`].
    LongFork,
    /// Real-time violation: only an order or snapshots that contradict real time explain the history.
    RealTime,
    /// Any other contradiction inside the history.
    Malformed,
}

impl Phenomenon {
    /// Returns the short name, for example `G2-item`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Phenomenon::G0 => "G0",
            Phenomenon::G1a => "G1a",
            Phenomenon::G1b => "G1b",
            Phenomenon::G1c => "G1c",
            Phenomenon::GSingle => "G-single",
            Phenomenon::G2Item => "G2-item",
            Phenomenon::G2 => "G2",
            Phenomenon::LostUpdate => "P4",
            Phenomenon::LongFork => "long fork",
            Phenomenon::RealTime => "real time",
            Phenomenon::Malformed => "malformed",
        }
    }

    /// Returns a description in a few words.
    pub const fn description(self) -> &'static str {
        match self {
            Phenomenon::G0 => "dirty write: a cycle of write dependencies",
            Phenomenon::G1a => "aborted read",
            Phenomenon::G1b => "intermediate read",
            Phenomenon::G1c => "circular information flow",
            Phenomenon::GSingle => {
                "read skew or lost update: a cycle with a single anti-dependency"
            }
            Phenomenon::G2Item => "write skew: a cycle with two anti-dependencies or more",
            Phenomenon::G2 => "phantom: a cycle with two anti-dependencies or more, one on a range",
            Phenomenon::LostUpdate => "lost update: the version order forks",
            Phenomenon::LongFork => {
                "a cycle in which no two anti-dependencies follow one another directly"
            }
            Phenomenon::RealTime => "a transaction precedes one that had ended before it began",
            Phenomenon::Malformed => "the history contradicts itself",
        }
    }

    fn of_defect(defect: &Defect) -> Phenomenon {
        match defect {
            Defect::AbortedRead { .. } => Phenomenon::G1a,
            Defect::IntermediateRead { .. } => Phenomenon::G1b,
            Defect::ForkedVersion { .. } => Phenomenon::LostUpdate,
            _ => Phenomenon::Malformed,
        }
    }

    fn of_cycle(level: Level, cycle: &[Step]) -> Phenomenon {
        // Links are sorted by severity, so the first link is the most severe.
        let kinds = || cycle.iter().filter_map(|step| step.links[0].kind());
        let anti = kinds().filter(|&kind| kind == Dependency::Anti).count();
        match anti {
            _ if kinds().count() < cycle.len() => Phenomenon::RealTime,
            0 if kinds().all(|kind| kind == Dependency::Write) => Phenomenon::G0,
            0 => Phenomenon::G1c,
            1 => Phenomenon::GSingle,
            _ if level == Level::Snapshot => Phenomenon::LongFork,
            _ if cycle.iter().any(|step| step.links[0].is_of_range()) => Phenomenon::G2,
            _ => Phenomenon::G2Item,
        }
    }
}

impl fmt::Display for Phenomenon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One edge of a cycle: a transaction that must come before another, with the reasons.
#[derive(Clone, Debug)]
pub struct Step {
    /// The transaction that must come first.
    pub from: TxnId,
    /// The transaction that must come after `from`.
    pub to: TxnId,
    /// All reasons, the most severe first. There is at least one.
    pub links: Vec<Link>,
}

/// A transaction in a counter-example, with all its reads, writes and scans.
#[derive(Clone, Debug)]
pub struct Involved {
    /// Identity of the attempt that committed.
    pub id: TxnId,
    /// Time when the transaction began.
    pub begin: u64,
    /// Time when its commit was acknowledged.
    pub end: u64,
    /// Commit timestamp or epoch. It is 0 if the protocol has none.
    pub commit_timestamp: u64,
    /// Reads of the transaction.
    pub reads: Vec<Read>,
    /// Writes of the transaction.
    pub writes: Vec<Write>,
    /// Scans of the transaction.
    pub scans: Vec<Scan>,
}

/// Reason why a history failed: a defect, or a cycle of transactions in which each must precede the next.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The weakest required level that the history does not reach.
    pub level: Level,
    /// The kind of failure.
    pub phenomenon: Phenomenon,
    /// The earliest defect, if there is one. In that case there is no cycle.
    pub defect: Option<Defect>,
    /// The cycle. Each step ends where the next begins, and the last step ends where the first began. The
    /// first step is the step that goes back the furthest in time, if any step goes back.
    pub cycle: Vec<Step>,
    /// Set if no cycle is shorter. False if the search for a shorter cycle was cut off.
    pub shortest: bool,
    /// Transactions of the cycle in its order, or those of the defect.
    pub transactions: Vec<Involved>,
    /// Command that replays the run, if the caller knows it.
    pub replay: Option<String>,
    /// Original keys behind the key numbers, for tables whose keys are bytes.
    pub spelled: Spellings,
}

impl Counterexample {
    pub(crate) fn of_defect(
        numbering: &Numbering<'_>,
        level: Level,
        defect: Defect,
    ) -> Counterexample {
        let committed = defect.transactions().into_iter().filter_map(|id| numbering.find(id));
        Counterexample {
            level,
            phenomenon: Phenomenon::of_defect(&defect),
            defect: Some(defect),
            cycle: Vec::new(),
            shortest: true,
            transactions: committed.map(|number| involved(numbering, number)).collect(),
            replay: None,
            spelled: Spellings::new(),
        }
    }

    /// Builds the counter-example of a cycle. Numbers in `cycle` can belong to the doubled graph of
    /// [`crate::levels`].
    pub(crate) fn of_cycle(
        numbering: &Numbering<'_>,
        level: Level,
        mut cycle: Cycle,
    ) -> Counterexample {
        cycle.nodes.iter_mut().for_each(|node| *node %= numbering.len() as u32);
        if !cycle.real_time {
            most_suspicious_first(&mut cycle.nodes, numbering.spans());
        }
        let nodes = &cycle.nodes;
        let step = |index: usize| {
            let (from, to) = (nodes[index], nodes[(index + 1) % nodes.len()]);
            let links = if cycle.real_time && index + 1 == nodes.len() {
                let spans = numbering.spans();
                let (end, begin) = (spans[from as usize].end, spans[to as usize].begin);
                vec![Link::RealTime { end, begin }]
            } else {
                links(numbering, from, to)
            };
            Step { from: numbering.id(from), to: numbering.id(to), links }
        };
        let steps: Vec<Step> = (0..nodes.len()).map(step).collect();
        Counterexample {
            level,
            phenomenon: Phenomenon::of_cycle(level, &steps),
            defect: None,
            cycle: steps,
            shortest: cycle.shortest,
            transactions: nodes.iter().map(|&n| involved(numbering, n)).collect(),
            replay: None,
            spelled: Spellings::new(),
        }
    }

    /// Records the original keys behind the key numbers of this counter-example.
    pub(crate) fn spell(&mut self, spelled: &Spellings) {
        let reads = self.transactions.iter().flat_map(|t| t.reads.iter().map(|r| (r.table, r.key)));
        let writes =
            self.transactions.iter().flat_map(|t| t.writes.iter().map(|w| (w.table, w.key)));
        let known = |at| spelled.get(&at).map(|key| (at, key.clone()));
        self.spelled = reads.chain(writes).filter_map(known).collect();
    }
}

/// Rotates a cycle so that it starts with the step that goes back the furthest in time. A stale read, for
/// example, comes first, before the thousands of innocent transactions that ran since.
fn most_suspicious_first(nodes: &mut [u32], spans: &[Span]) {
    let back = |&index: &usize| {
        let (from, to) = (nodes[index], nodes[(index + 1) % nodes.len()]);
        spans[from as usize].begin.saturating_sub(spans[to as usize].end)
    };
    // `max_by_key` returns the last maximum. The reversal selects the first.
    if let Some(start) = (0..nodes.len()).rev().max_by_key(back) {
        nodes.rotate_left(start);
    }
}

fn involved(numbering: &Numbering<'_>, number: u32) -> Involved {
    let t = numbering.transaction(number);
    Involved {
        id: t.id,
        begin: t.begin,
        end: t.end,
        commit_timestamp: t.commit_timestamp,
        reads: numbering.reads(number).to_vec(),
        writes: numbering.writes(number).to_vec(),
        scans: numbering.scans(number).1.to_vec(),
    }
}
