//! Levels weaker than serializability, as graphs that must have no cycle.
//!
//! Read committed (PL-2 of Adya, Liskov and O'Neil, ICDE 2000): neither G0 nor G1. Aborted and intermediate
//! reads are defects; G0 and G1c are cycles without anti-dependencies, so those are left out.
//!
//! Snapshot isolation: with the version order known there are a snapshot and a commit time for each transaction
//! if and only if no cycle is without two anti-dependencies that follow one another directly (Fekete et
//! al., "Making snapshot isolation serializable", TODS 2005, one direction; Cerone and Gotsman, "Analysing
//! snapshot isolation", JACM 2018, theorem 4.10, both). Adya's PL-SI adds start-dependencies, for which one
//! needs the times that the database used; here real time may stand for them: strong snapshot isolation
//! (Daudjee and Salem, VLDB 2006) demands that a snapshot has all that was committed when the transaction
//! began, so an end before a begin counts as a dependency.
//!
//! Cycles of that kind are the cycles of a graph that has each transaction twice: as it is reached by an
//! anti-dependency, from where no other may follow, and as it is reached by anything else. The argument in
//! [`crate::order`] that one edge of real time is enough holds there as well: such an edge may follow, and be
//! followed by, anything.

use crate::graph::{Dependency, EdgeList, Graph};
use crate::numbering::Span;

/// `graph` without its anti-dependencies.
pub(crate) fn without_anti_dependencies(graph: &Graph) -> Graph {
    let mut edges = EdgeList::with_capacity(graph.targets().len());
    for from in 0..graph.len() as u32 {
        for target in graph.from(from).iter().filter(|t| t.kind() != Dependency::Anti) {
            edges.push(from, target.node(), target.kind());
        }
    }
    Graph::of(graph.len(), edges)
}

/// The graph in which number `n` is transaction `n`, and number `n` plus the count of transactions is the same as
/// reached by an anti-dependency.
///
/// # Panics
///
/// With 2^29 transactions or more.
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

/// When the transactions of the doubled graph ran.
pub(crate) fn doubled(spans: &[Span]) -> Vec<Span> {
    [spans, spans].concat()
}
