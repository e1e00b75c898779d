//! Finds a shortest cycle of a graph that has a cycle.
//!
//! Strongly connected components (Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput.
//! 1972, with an explicit stack) remove all nodes that lie on no cycle. Cycles of two transactions are looked
//! up directly. Longer cycles are found by breadth-first search, which never goes deeper than the best cycle
//! found so far. The search does not need to start at every node: each cycle has an edge from a transaction
//! to one that ended earlier, and in most histories few transactions have such an edge.
//!
//! The result is exact unless the search reaches [`EDGE_BUDGET`] steps. That takes many thousands of starts
//! without a cycle of two. In that case the cycle is marked as possibly not the shortest.

use crate::graph::Graph;
use crate::numbering::Span;
use crate::order::Order;

/// Number of edges that a search can look at after it has found a cycle.
pub(crate) const EDGE_BUDGET: u64 = 200_000_000;

/// Transactions in a cycle. Each must come before the next, and the last before the first.
#[derive(Debug)]
pub(crate) struct Cycle {
    pub nodes: Vec<u32>,
    /// Set if the last comes before the first only because it ended before the first began.
    pub real_time: bool,
    /// Set if no cycle is shorter.
    pub shortest: bool,
}

/// Returns a shortest cycle of `graph`, for which `order` found no complete order.
pub(crate) fn shortest(graph: &Graph, order: &Order, spans: &[Span]) -> Cycle {
    let core = Core::of(graph, cyclic_nodes(graph, order), spans);
    let (nodes, shortest) = match core.cycle_of_two() {
        Some((a, b)) => (vec![a, b], true),
        None => core.search(EDGE_BUDGET),
    };
    let nodes = nodes.iter().map(|&local| core.names[local as usize]).collect();
    Cycle { nodes, real_time: false, shortest }
}

/// Returns the nodes that lie on cycles, each with its component.
fn cyclic_nodes(graph: &Graph, order: &Order) -> Vec<(u32, u32)> {
    const UNSEEN: u32 = u32::MAX;
    const CLOSED: u32 = u32::MAX - 1;
    // `low` holds a node's smallest reachable discovery number while the node is on Tarjan's stack.
    let mut low = vec![UNSEEN; graph.len()];
    let mut discovered = vec![0u32; graph.len()];
    let mut stack = Vec::new();
    let mut path: Vec<(u32, usize)> = Vec::new();
    let (mut count, mut component) = (0, 0);
    let mut cyclic = Vec::new();
    for root in 0..graph.len() as u32 {
        if order.waiting[root as usize] == 0 || low[root as usize] != UNSEEN {
            continue;
        }
        path.push((root, 0));
        while let Some(&mut (node, ref mut edge)) = path.last_mut() {
            let at = node as usize;
            if *edge == 0 {
                low[at] = count;
                discovered[at] = count;
                count += 1;
                stack.push(node);
            }
            if let Some(target) = graph.from(node).get(*edge) {
                *edge += 1;
                let next = target.node() as usize;
                match low[next] {
                    UNSEEN => path.push((next as u32, 0)),
                    CLOSED => {}
                    _ => low[at] = low[at].min(discovered[next]),
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent as usize] = low[parent as usize].min(low[at]);
            }
            if low[at] == discovered[at] {
                let size = stack.iter().rev().position(|&n| n == node).expect("on the stack") + 1;
                for member in stack.drain(stack.len() - size..) {
                    low[member as usize] = CLOSED;
                    if size > 1 {
                        cyclic.push((member, component));
                    }
                }
                component += 1;
            }
        }
    }
    cyclic
}

/// The subgraph on cycles. Its nodes are renumbered by end time. Its edges are those within components,
/// sorted.
struct Core {
    /// Number of each node in the whole graph.
    names: Vec<u32>,
    first: Vec<usize>,
    targets: Vec<u32>,
}

impl Core {
    fn of(graph: &Graph, mut cyclic: Vec<(u32, u32)>, spans: &[Span]) -> Core {
        cyclic.sort_unstable_by_key(|&(node, _)| (spans[node as usize].end, node));
        let mut local = vec![(u32::MAX, u32::MAX); graph.len()];
        for (index, &(node, component)) in cyclic.iter().enumerate() {
            local[node as usize] = (index as u32, component);
        }
        let mut first = vec![0];
        let mut targets = Vec::new();
        let mut row = Vec::new();
        for &(node, component) in &cyclic {
            row.clear();
            for target in graph.from(node) {
                let (index, of) = local[target.node() as usize];
                if of == component {
                    row.push(index);
                }
            }
            row.sort_unstable();
            row.dedup();
            targets.extend_from_slice(&row);
            first.push(targets.len());
        }
        Core { names: cyclic.iter().map(|&(node, _)| node).collect(), first, targets }
    }

    fn from(&self, node: u32) -> &[u32] {
        &self.targets[self.first[node as usize]..self.first[node as usize + 1]]
    }

    /// Returns a cycle of two transactions. Of all such cycles it is one that contains the transaction that
    /// ended first.
    fn cycle_of_two(&self) -> Option<(u32, u32)> {
        (0..self.names.len() as u32).find_map(|a| {
            let mut later = self.from(a).iter().filter(|&&b| b > a);
            later.find(|&&b| self.from(b).binary_search(&a).is_ok()).map(|&b| (a, b))
        })
    }

    /// Returns a shortest cycle of at least three transactions, and whether the budget was large enough to
    /// prove that.
    fn search(&self, mut budget: u64) -> (Vec<u32>, bool) {
        let nodes = self.names.len();
        let mut best: Vec<u32> = Vec::new();
        let mut seen_from = vec![u32::MAX; nodes];
        let mut parent = vec![0u32; nodes];
        let mut queue: Vec<(u32, u32)> = Vec::new();
        let mut searched = vec![false; nodes];
        for start in 0..nodes as u32 {
            if best.len() == 3 {
                break;
            }
            if self.from(start).first().is_none_or(|&to| to > start) {
                continue;
            }
            searched[start as usize] = true;
            queue.clear();
            queue.push((start, 1));
            let mut next = 0;
            'search: while next < queue.len() {
                let (node, length) = queue[next];
                next += 1;
                if !best.is_empty() && length as usize >= best.len() {
                    break;
                }
                for &to in self.from(node) {
                    if !best.is_empty() {
                        if budget == 0 {
                            return (best, false);
                        }
                        budget -= 1;
                    }
                    if to == start {
                        best = trace(&parent, start, node);
                        break 'search;
                    }
                    // Cycles through earlier starts are already known.
                    if !searched[to as usize] && seen_from[to as usize] != start {
                        seen_from[to as usize] = start;
                        parent[to as usize] = node;
                        queue.push((to, length + 1));
                    }
                }
            }
        }
        (best, true)
    }
}

/// Returns the path from `start` to `end` along the parents.
pub(crate) fn trace(parent: &[u32], start: u32, end: u32) -> Vec<u32> {
    let mut path = vec![end];
    let mut node = end;
    while node != start {
        node = parent[node as usize];
        path.push(node);
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dependency, EdgeList};
    use crate::order::order;

    #[test]
    fn a_search_cut_off_says_so() {
        let mut edges = EdgeList::with_capacity(14);
        for (base, size) in [(0, 10), (10, 4)] {
            for i in 0..size {
                edges.push(base + i, base + (i + 1) % size, Dependency::Anti);
            }
        }
        let graph = Graph::of(14, edges);
        let spans: Vec<Span> = (0..14).map(|time| Span { begin: time, end: time }).collect();
        let order = order(&graph, &spans);
        let core = Core::of(&graph, cyclic_nodes(&graph, &order), &spans);
        let found = |budget| {
            let (cycle, shortest) = core.search(budget);
            (cycle.len(), shortest)
        };
        assert_eq!(found(EDGE_BUDGET), (4, true));
        assert_eq!(found(0), (10, false));
    }
}
