//! Finds a serial order, and whether it can keep real time, in one pass.
//!
//! Serializable: Kahn's algorithm ("Topological sorting of large networks", CACM 1962) repeatedly removes
//! transactions that depend on no remaining transaction. Transactions that it cannot remove lie on a cycle or
//! behind one.
//!
//! Strict: real time adds an edge from each transaction to all transactions that began after it ended, up to
//! n² edges. They need not be built. Suppose that a cycle contains two real-time edges: a before b ... c
//! before d. Since end(a) < begin(b) and end(c) < begin(d), either end(a) < begin(d) or end(c) < begin(b)
//! (intervals contain no two independent precedences: Fishburn, "Intransitive indifference with unequal
//! indifference intervals", 1970). Either way this gives a shorter cycle with one real-time edge less, and at
//! least one real-time edge remains. So a history without dependency cycles breaks real time if and only if a
//! dependency path leads from a transaction to one that ended before it began. It is enough to propagate the
//! latest begin along the paths and to compare. Equal times are not ordered.

use crate::graph::Graph;
use crate::numbering::Span;

/// The part of a graph that could be ordered.
pub(crate) struct Order {
    /// Transactions in a serial order, without those on cycles or behind them.
    pub sequence: Vec<u32>,
    /// For each transaction outside of `sequence`, the number of incoming edges that it still waits for.
    pub waiting: Vec<u32>,
    /// False if a path leads to a transaction that ended before the path's first transaction began.
    pub keeps_real_time: bool,
}

pub(crate) fn order(graph: &Graph, spans: &[Span]) -> Order {
    let mut waiting = vec![0u32; graph.len()];
    for target in graph.targets() {
        waiting[target.node() as usize] += 1;
    }
    let mut latest_begin = vec![0u64; graph.len()];
    let mut keeps_real_time = true;
    let mut sequence: Vec<u32> = Vec::with_capacity(graph.len());
    sequence.extend((0..graph.len() as u32).filter(|&t| waiting[t as usize] == 0));
    let mut next = 0;
    while next < sequence.len() {
        let t = sequence[next];
        next += 1;
        let span = spans[t as usize];
        keeps_real_time &= latest_begin[t as usize] <= span.end;
        let begin = latest_begin[t as usize].max(span.begin);
        for target in graph.from(t) {
            let later = target.node() as usize;
            latest_begin[later] = latest_begin[later].max(begin);
            waiting[later] -= 1;
            if waiting[later] == 0 {
                sequence.push(later as u32);
            }
        }
    }
    Order { sequence, waiting, keeps_real_time }
}
