//! Stores the direct serialization graph in compressed rows: 4 bytes per edge.

/// The reason why one transaction must come before another (Adya 1999, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependency {
    /// ww: the second transaction overwrote a version that the first wrote.
    Write,
    /// wr: the second transaction read a version that the first wrote.
    Read,
    /// rw, an anti-dependency: the second transaction overwrote a version that the first read.
    Anti,
}

impl Dependency {
    /// Returns `ww`, `wr` or `rw`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Dependency::Write => "ww",
            Dependency::Read => "wr",
            Dependency::Anti => "rw",
        }
    }
}

/// Later end of an edge and the edge's kind in one word. Targets sort by node first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target(u32);

impl Target {
    #[inline]
    pub fn new(node: u32, kind: Dependency) -> Target {
        Target(node << 2 | kind as u32)
    }

    #[inline]
    pub fn node(self) -> u32 {
        self.0 >> 2
    }

    #[inline]
    pub fn kind(self) -> Dependency {
        match self.0 & 3 {
            0 => Dependency::Write,
            1 => Dependency::Read,
            _ => Dependency::Anti,
        }
    }
}

/// Edges in the order in which they are found.
pub(crate) struct EdgeList {
    edges: Vec<(u32, Target)>,
}

impl EdgeList {
    pub fn with_capacity(capacity: usize) -> EdgeList {
        EdgeList { edges: Vec::with_capacity(capacity) }
    }

    #[inline]
    pub fn push(&mut self, from: u32, to: u32, kind: Dependency) {
        self.edges.push((from, Target::new(to, kind)));
    }
}

/// A directed graph over the numbers of transactions.
pub(crate) struct Graph {
    first: Vec<usize>,
    targets: Vec<Target>,
}

impl Graph {
    /// Builds the graph from `list` by a counting sort on the earlier end.
    pub fn of(nodes: usize, list: EdgeList) -> Graph {
        let mut first = vec![0usize; nodes + 2];
        for &(from, _) in &list.edges {
            first[from as usize + 2] += 1;
        }
        for i in 2..first.len() {
            first[i] += first[i - 1];
        }
        let mut targets = vec![Target(0); list.edges.len()];
        for &(from, target) in &list.edges {
            let next = &mut first[from as usize + 1];
            targets[*next] = target;
            *next += 1;
        }
        first.pop();
        Graph { first, targets }
    }

    pub fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// Returns the later ends of all edges.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    #[inline]
    pub fn from(&self, node: u32) -> &[Target] {
        &self.targets[self.first[node as usize]..self.first[node as usize + 1]]
    }
}
