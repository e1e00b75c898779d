//! Certifies that histories are serializable, strict, or at a weaker level, or reports the shortest cycle.
//!
//! [`check`] takes the recorded history of a run ([`txn::History`]) and returns a [`Certificate`]. It takes
//! time about linear in the number of accesses. Its steps are:
//!
//! 1. `accesses` and `versions`: the recorded reads and writes are joined record by record. Each write names
//!    the version that it overwrote, so the version order is known and no search is needed. (Recovering the
//!    version order is what makes the general problem NP-complete: Papadimitriou, "The serializability of
//!    concurrent database updates", JACM 1979; Biswas & Enea, "On the complexity of checking transactional
//!    consistency", OOPSLA 2019.) Entries that no correct run can record are reported as a [`Defect`]:
//!    aborted and intermediate reads, forked version orders, and so on.
//! 2. `graph`: the direct serialization graph of Adya ("Weak consistency: a generalized theory and optimistic
//!    implementations for distributed transactions", MIT 1999). Its edges are write dependencies (ww), read
//!    dependencies (wr) and anti-dependencies (rw). A read of an absent row reads a version like any other
//!    read, so phantoms on a single key need no special case. `scans`: keys that a scanned range does not
//!    list count as read too, in the key's first version.
//! 3. `order`: the history is serializable if and only if that graph has no cycle. The same pass determines
//!    whether a serial order exists that also keeps real time.
//! 4. `cycle`, `inversion`: on failure only, these find a shortest cycle, and `explain` states the reason of
//!    each of its edges.
//!
//! [`exhaustive`] applies the definition itself, by trying all permutations. It is slow and simple, and the
//! fast path is tested against it.
//!
//! The weaker levels, read committed and snapshot isolation, are the same questions about graphs that
//! `levels` derives from this graph. They are checked only for histories that are not serializable, because a
//! serializable history has them all.
//!
//! A history must start at the load: versions whose writers were left out look aborted.

mod accesses;
mod certificate;
mod counterexample;
mod cycle;
mod defect;
mod epochs;
pub mod exhaustive;
mod explain;
pub mod export;
mod graph;
mod initial;
mod inversion;
mod levels;
mod numbering;
mod order;
mod print;
mod scans;
mod versions;

pub use certificate::{Certificate, EdgeCounts, Level, Requirements, Verdict};
pub use counterexample::{Counterexample, Involved, Phenomenon, Step};
pub use defect::{Defect, RecordVersion};
pub use epochs::against_epochs;
pub use explain::Link;
pub use graph::Dependency;

use cycle::Cycle;
use graph::Graph;
use numbering::{Numbering, Span};
use order::Order;
use txn::History;

/// Certifies `history`. Each of the `requirements` gets a verdict, and the weakest level that fails gets a
/// counter-example.
///
/// # Panics
///
/// Panics if the history holds 2^29 or more transactions.
pub fn check(history: &History, requirements: Requirements) -> Certificate {
    let numbering = Numbering::of(history);
    let mut certificate = Certificate::unchecked(history);
    if requirements == Requirements::NOTHING {
        return certificate;
    }
    let mut found = defect::Findings::default();
    let (graph, edges) = versions::dependencies(&numbering, &mut found);
    certificate.edges = edges;
    certificate.defects = found.count();

    let spans = numbering.spans();
    let whole = Ordered::of(&graph, spans);
    let asked = |level: &Level| requirements.asks_for(*level);
    for level in Level::ALL.into_iter().filter(asked) {
        let is_first = certificate.counterexample.is_none();
        if let Some(defect) = found.earliest {
            certificate.set(level, false);
            if is_first {
                let counterexample = Counterexample::of_defect(&numbering, level, defect);
                certificate.counterexample = Some(counterexample);
            }
            continue;
        }
        // With a wrong clock no other statement about real time is possible.
        let timed = matches!(level, Level::StrongSnapshot | Level::Strict);
        if let Some(defect) = found.clock.filter(|_| timed) {
            certificate.set(level, false);
            if is_first {
                let counterexample = Counterexample::of_defect(&numbering, level, defect);
                certificate.counterexample = Some(counterexample);
            }
            continue;
        }
        let cycle = match level {
            Level::Serializable => whole.cycle(false),
            Level::Strict => whole.cycle(true),
            // A serializable history reaches all weaker levels.
            _ if whole.is_acyclic() && (!timed || whole.order.keeps_real_time) => None,
            Level::ReadCommitted => {
                Ordered::of(&levels::without_anti_dependencies(&graph), spans).cycle(false)
            }
            Level::Snapshot | Level::StrongSnapshot => {
                let graph = levels::without_adjacent_anti_dependencies(&graph);
                Ordered::of(&graph, &levels::doubled(spans)).cycle(timed)
            }
        };
        certificate.set(level, cycle.is_none());
        if let Some(cycle) = cycle.filter(|_| is_first) {
            let counterexample = Counterexample::of_cycle(&numbering, level, cycle);
            certificate.counterexample = Some(counterexample);
        }
    }
    if let Some(counterexample) = &mut certificate.counterexample {
        counterexample.spell(&history.spelled);
    }
    certificate
}

/// A graph, and the order found for it.
struct Ordered<'a> {
    graph: &'a Graph,
    spans: &'a [Span],
    order: Order,
}

impl<'a> Ordered<'a> {
    fn of(graph: &'a Graph, spans: &'a [Span]) -> Ordered<'a> {
        Ordered { graph, spans, order: order::order(graph, spans) }
    }

    fn is_acyclic(&self) -> bool {
        self.order.sequence.len() == self.graph.len()
    }

    /// Returns a shortest cycle. If `timed` is set, cycles through real time count too.
    fn cycle(&self, timed: bool) -> Option<Cycle> {
        if !self.is_acyclic() {
            Some(cycle::shortest(self.graph, &self.order, self.spans))
        } else if timed && !self.order.keeps_real_time {
            Some(inversion::shortest(self.graph, &self.order.sequence, self.spans))
        } else {
            None
        }
    }
}
