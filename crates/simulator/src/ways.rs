//! The links that a line passes between two sockets.

use crate::description::{MachineDescription, SocketsDescription};

/// One link on a way, in the direction of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// Number of the link in this direction. Both directions have the same number if they share the bandwidth.
    pub link: u32,
    /// Time, in 1/256 cycles, for which a line keeps the link busy in this direction.
    pub line_time: u32,
}

/// Ways between all pairs of sockets of a run.
pub(crate) struct Ways {
    nodes: usize,
    /// Hops of all ways, one way after the other.
    hops: Box<[Hop]>,
    /// Place in `hops` at which each pair's way begins, row by row, and the end of the last way.
    begins: Box<[u32]>,
    /// Number of links. A link counts once for each direction, even if its directions share a queue.
    pub links: usize,
}

impl Ways {
    /// Returns the ways between the first `nodes` sockets of the description.
    ///
    /// If the machine file lists links, lines of several pairs can share one. Otherwise each pair has a link of its own in
    /// each direction, with its level's bandwidth.
    pub(crate) fn new(d: &MachineDescription, s: &SocketsDescription, nodes: u32) -> Ways {
        let (ways, links) = if s.link.is_empty() {
            (pairwise(d, s, u64::from(nodes)), (nodes * nodes) as usize)
        } else {
            let graph = s.graph();
            let hop = |link: &usize| {
                let kind = &s.link[graph.links[link / 2].kind];
                let link = if kind.directions_share { link & !1 } else { *link } as u32;
                Hop { link, line_time: d.line_time_256(kind.bandwidth_gbps) as u32 }
            };
            let ways = graph.ways(&s.numbers_in_whole()[..nodes as usize]);
            let hops = ways.iter().map(|way| way.iter().map(hop).collect()).collect();
            (hops, 2 * graph.links.len())
        };
        let mut begins = vec![0];
        for way in &ways {
            begins.push(begins[begins.len() - 1] + way.len() as u32);
        }
        let (hops, begins) = (ways.concat().into(), begins.into());
        Ways { nodes: nodes as usize, hops, begins, links }
    }

    /// Returns the links on the way from socket `from` to socket `to`.
    #[inline]
    pub(crate) fn between(&self, from: u32, to: u32) -> &[Hop] {
        let pair = from as usize * self.nodes + to as usize;
        &self.hops[self.begins[pair] as usize..self.begins[pair + 1] as usize]
    }
}

/// Returns the way of each pair if each pair has a link of its own in each direction.
fn pairwise(d: &MachineDescription, s: &SocketsDescription, nodes: u64) -> Vec<Vec<Hop>> {
    let way = |a: u64, b: u64| {
        let gbps = s.level[s.level_between(a, b)].bandwidth_gbps;
        let hop = Hop { link: (a * nodes + b) as u32, line_time: d.line_time_256(gbps) as u32 };
        if a == b { Vec::new() } else { vec![hop] }
    };
    (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))).map(|(a, b)| way(a, b)).collect()
}
