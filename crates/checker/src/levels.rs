//! Reduces levels weaker than serializability to graphs that must have no cycle.
//!
//! Read committed (PL-2 of Adya, Liskov and O'Neil, ICDE 2000): neither G0 nor G1. Aborted and intermediate
//! reads are defects. G0 and G1c are cycles without anti-dependencies, so this graph leaves anti-dependencies
//! out.
//!
//! Snapshot isolation: the version order is known. A snapshot time and a commit time for each transaction
//! then exist if and only if every cycle contains two anti-dependencies that follow each other directly
//! (Fekete et al., "Making snapshot isolation serializable", TODS 2005, one direction; Cerone and Gotsman,
//! "Analysing snapshot isolation", JACM 2018, theorem 4.10, both directions). Adya's PL-SI adds
//! start-dependencies, which require the times that the database used. Here real time can replace them:
//! strong snapshot isolation (Daudjee and Salem, VLDB 2006) demands that a snapshot contains everything that
//! was committed when the transaction began. So an end before a begin counts as a dependency.
//!
//! Cycles without two adjacent anti-dependencies are the cycles of a graph that contains each transaction
//! twice. One copy is reached by anti-dependencies and has no outgoing anti-dependency. The other copy is
//! reached by all other edges. The argument in [`crate::order`] that one real-time edge is enough holds there
//! as well: any edge can precede or follow a real-time edge.

use crate::graph::{Dependency, EdgeList, Graph};
use crate::numbering::Span;

/// Returns `graph` without its anti-dependencies.
pub(crate) fn without_anti_dependencies(graph: &Graph) -> Graph {
    let mut edges = EdgeList::with_capacity(graph.targets().len());
    for from in 0..graph.len() as u32 {
        for target in graph.from(from).iter().filter(|t| t.kind() != Dependency::Anti) {
            edges.push(from, target.node(), target.kind());
        }
    }
    Graph::of(graph.len(), edges)
}

/// Returns the doubled graph. Node `n` is transaction `n`. Node `n` plus the number of transactions is the
/// same transaction, reached by an anti-dependency.
///
/// # Panics
///
/// Panics if there are 2^29 or more transactions.
pub(crate) fn without_adjacent_anti_dependencies(graph: &Graph) -> Graph {
    assert!(graph.len() < 1 << 29, "a history of 2^29 transactions or more");
    let count = graph.len() as u32;
    let mut edges = EdgeList::with_capacity(2 * graph.targets().len());
    for from in 0..count {
        for target in graph.from(from) {
            match target.kind() {
                Dependency::Anti => edges.push(from, count + target.node(), Dependency::Anti),
                kind => {
                    edges.push(from, target.node(), kind);
                    edges.push(count + from, target.node(), kind);
                }
            }
        }
    }
    Graph::of(2 * graph.len(), edges)
}

/// Returns the spans of the transactions of the doubled graph.
pub(crate) fn doubled(spans: &[Span]) -> Vec<Span> {
    [spans, spans].concat()
}
