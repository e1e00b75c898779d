//! Finds a shortest cycle through real time, for a history that is serializable but not strict.
//!
//! By the argument in `order`, a shortest cycle of this kind has exactly one real-time edge. It is a
//! dependency path from a transaction to one that ended before it began. Paths of one edge are looked up
//! directly. Longer paths are found by breadth-first search from each transaction that has such a path. The
//! search follows only nodes from which the path's end can still be reached. It never goes deeper than the
//! best path found so far.

use crate::cycle::{Cycle, EDGE_BUDGET, trace};
use crate::graph::Graph;
use crate::numbering::Span;

/// Returns a shortest inversion of real time in an acyclic `graph`, whose serial order is `sequence`.
pub(crate) fn shortest(graph: &Graph, sequence: &[u32], spans: &[Span]) -> Cycle {
    let (nodes, shortest) = match inverted_edge(graph, spans) {
        Some((from, to)) => (vec![from, to], true),
        None => search(graph, sequence, spans, EDGE_BUDGET),
    };
    Cycle { nodes, real_time: true, shortest }
}

/// Returns the inverted edge whose earlier end began first.
fn inverted_edge(graph: &Graph, spans: &[Span]) -> Option<(u32, u32)> {
    let mut best = None;
    for from in 0..graph.len() as u32 {
        let begin = spans[from as usize].begin;
        if best.is_some_and(|(earliest, _, _)| earliest <= begin) {
            continue;
        }
        let inverted = |to: &u32| spans[*to as usize].end < begin;
        if let Some(to) = graph.from(from).iter().map(|t| t.node()).find(inverted) {
            best = Some((begin, from, to));
        }
    }
    best.map(|(_, from, to)| (from, to))
}

fn search(graph: &Graph, sequence: &[u32], spans: &[Span], mut budget: u64) -> (Vec<u32>, bool) {
    // Earliest end time among all transactions that each transaction must come before.
    let mut earliest_end = vec![u64::MAX; graph.len()];
    for &node in sequence.iter().rev() {
        let ends = graph.from(node).iter().map(|t| {
            let later = t.node() as usize;
            spans[later].end.min(earliest_end[later])
        });
        earliest_end[node as usize] = ends.min().unwrap_or(u64::MAX);
    }
    let mut starts: Vec<u32> = (0..graph.len() as u32)
        .filter(|&t| earliest_end[t as usize] < spans[t as usize].begin)
        .collect();
    starts.sort_unstable_by_key(|&t| (spans[t as usize].begin, t));

    let mut best: Vec<u32> = Vec::new();
    let mut seen_from = vec![u32::MAX; graph.len()];
    let mut parent = vec![0u32; graph.len()];
    let mut queue: Vec<(u32, u32)> = Vec::new();
    for start in starts {
        if best.len() == 3 {
            break;
        }
        let begin = spans[start as usize].begin;
        queue.clear();
        queue.push((start, 1));
        let mut next = 0;
        'search: while next < queue.len() {
            let (node, length) = queue[next];
            next += 1;
            if !best.is_empty() && length as usize + 1 >= best.len() {
                break;
            }
            for to in graph.from(node).iter().map(|t| t.node()) {
                if !best.is_empty() {
                    if budget == 0 {
                        return (best, false);
                    }
                    budget -= 1;
                }
                if seen_from[to as usize] == start {
                    continue;
                }
                seen_from[to as usize] = start;
                parent[to as usize] = node;
                if spans[to as usize].end < begin {
                    best = trace(&parent, start, to);
                    break 'search;
                }
                if earliest_end[to as usize] < begin {
                    queue.push((to, length + 1));
                }
            }
        }
    }
    (best, true)
}
