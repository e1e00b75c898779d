//! Topology that the system reports: memory nodes, cores, SMT siblings, caches, distances.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Sizes of the data caches in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Caches {
    pub l1: usize,
    /// Second level, if it is private to a core. None if the second level is the shared one.
    pub l2: Option<usize>,
    pub shared: usize,
}

#[derive(Debug)]
pub(super) struct Topology {
    /// Name of the processor model.
    pub model: String,
    pub caches: Caches,
    /// Notes on what was assumed, and why.
    pub notes: Vec<String>,
    /// Hardware threads, for each memory node with processors and each core of it.
    nodes: Vec<Vec<Vec<usize>>>,
    /// Firmware distances between these nodes.
    distances: Vec<Vec<u64>>,
}

impl Topology {
    /// Reads the topology from `system` (`/sys/devices/system`). Missing figures are assumed and noted.
    pub(super) fn read(system: &Path) -> Topology {
        let mut notes = Vec::new();
        let text = |path: String| fs::read_to_string(system.join(path)).ok();
        let number = |path: String| text(path).and_then(|t| t.trim().parse::<usize>().ok());
        let mut online = text("cpu/online".to_owned()).map(|t| list(&t)).unwrap_or_default();
        if online.is_empty() {
            notes.push("the system does not list its processors: one is assumed".to_owned());
            online.push(0);
        }
        // Nodes come in order of their number. On a node without processors no thread can measure, so it is left out.
        let mut members: Vec<(usize, Vec<usize>)> = Vec::new();
        for node in text("node/online".to_owned()).map(|t| list(&t)).unwrap_or_default() {
            let cpus =
                text(format!("node/node{node}/cpulist")).map(|t| list(&t)).unwrap_or_default();
            let cpus: Vec<usize> = cpus.into_iter().filter(|c| online.contains(c)).collect();
            if !cpus.is_empty() {
                members.push((node, cpus));
            }
        }
        if members.is_empty() {
            members.push((0, online));
        }
        let all = text("node/online".to_owned()).map(|t| list(&t)).unwrap_or_default();
        let distances = members
            .iter()
            .map(|(node, _)| {
                let row = text(format!("node/node{node}/distance")).unwrap_or_default();
                let row: Vec<u64> = row.split_whitespace().filter_map(|d| d.parse().ok()).collect();
                let to =
                    |other: usize| all.iter().position(|n| *n == other).and_then(|i| row.get(i));
                let assumed = |other: usize| if other == *node { 10 } else { 20 };
                members.iter().map(|(o, _)| to(*o).copied().unwrap_or(assumed(*o))).collect()
            })
            .collect();
        let nodes = members
            .iter()
            .map(|(_, cpus)| {
                let mut cores: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
                for cpu in cpus {
                    let at = |what| number(format!("cpu/cpu{cpu}/topology/{what}"));
                    let package = at("physical_package_id").unwrap_or(0);
                    cores.entry((package, at("core_id").unwrap_or(*cpu))).or_default().push(*cpu);
                }
                cores.into_values().collect()
            })
            .collect();
        let caches = caches(system, &mut notes);
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name =
            info.lines().find(|l| l.starts_with("model name")).and_then(|l| l.split_once(": "));
        let model = name.map_or("unknown processor", |(_, name)| name.trim()).to_owned();
        Topology { model, caches, notes, nodes, distances }
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn cores_per_node(&self) -> usize {
        self.nodes.iter().map(Vec::len).max().unwrap_or(1)
    }

    pub(super) fn threads_per_core(&self) -> usize {
        self.nodes.iter().flatten().map(Vec::len).max().unwrap_or(1).min(8)
    }

    /// Returns the first hardware thread of a core.
    pub(super) fn cpu(&self, node: usize, core: usize) -> usize {
        self.nodes[node][core][0]
    }

    /// Returns all hardware threads of a node.
    pub(super) fn cpus_of(&self, node: usize) -> Vec<usize> {
        self.nodes[node].iter().flatten().copied().collect()
    }

    /// Returns two cores of the same node.
    pub(super) fn neighbours(&self) -> Option<(usize, usize)> {
        let node = self.nodes.iter().find(|cores| cores.len() > 1)?;
        Some((node[0][0], node[1][0]))
    }

    /// Returns the different distances, with a node's own distance first, each with a pair of nodes that has this
    /// distance.
    pub(super) fn levels(&self) -> Vec<(u64, usize, usize)> {
        let mut levels = vec![(self.distances[0][0], 0, 0)];
        let mut far: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
        for (from, row) in self.distances.iter().enumerate() {
            for (to, distance) in row.iter().enumerate().filter(|(to, _)| *to != from) {
                far.entry(*distance).or_insert((from, to));
            }
        }
        levels.extend(far.into_iter().map(|(distance, (from, to))| (distance, from, to)));
        levels
    }

    /// Returns the number in [`Topology::levels`] of the distance between each two nodes.
    pub(super) fn level_matrix(&self) -> Vec<Vec<u64>> {
        let far: BTreeSet<u64> =
            self.levels()[1..].iter().map(|(distance, ..)| *distance).collect();
        let level = |from: usize, to: usize| {
            let distance = self.distances[from][to];
            if from == to {
                0
            } else {
                1 + far.iter().take_while(|d| **d < distance).count() as u64
            }
        };
        let side = self.nodes();
        (0..side).map(|from| (0..side).map(|to| level(from, to)).collect()).collect()
    }
}

fn caches(system: &Path, notes: &mut Vec<String>) -> Caches {
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for index in 0..8 {
        let read = |what: &str| {
            let path = system.join(format!("cpu/cpu0/cache/index{index}/{what}"));
            fs::read_to_string(path).unwrap_or_default().trim().to_owned()
        };
        if let (Ok(level), Some(bytes)) = (read("level").parse(), size(&read("size")))
            && read("type") != "Instruction"
        {
            sizes.insert(level, bytes);
        }
    }
    let mut known = |level: usize, assumed: usize| {
        sizes.get(&level).copied().unwrap_or_else(|| {
            let kib = assumed >> 10;
            notes.push(format!(
                "the size of cache level {level} is not known: {kib} KiB is assumed"
            ));
            assumed
        })
    };
    let l1 = known(1, 32 << 10);
    let l2 = known(2, 1 << 20);
    match sizes.get(&3) {
        Some(shared) => Caches { l1, l2: Some(l2), shared: *shared },
        None => Caches { l1, l2: None, shared: l2 },
    }
}

/// Parses a size like `48K`, `2048K` or `32M` and returns it in bytes.
fn size(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok().filter(|n| *n > 0).map(|n| n * unit)
}

/// Parses a list like `0-3,8,10-11` and returns its numbers.
fn list(text: &str) -> Vec<usize> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            numbers.extend(first..=last);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_sizes_are_read_as_the_system_writes_them() {
        assert_eq!(list("0-2,8,10-11\n"), [0, 1, 2, 8, 10, 11]);
        assert_eq!(list("\n"), [0usize; 0]);
        assert_eq!(
            (size("48K"), size("2M"), size("64"), size("x")),
            (Some(49152), Some(2 << 20), Some(64), None)
        );
    }

    #[test]
    fn a_machine_of_two_nodes_with_siblings_is_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system");
        let t = Topology::read(&root);
        assert_eq!((t.nodes(), t.cores_per_node(), t.threads_per_core()), (2, 2, 2));
        assert_eq!(t.cpus_of(1), [2, 6, 3, 7]);
        assert_eq!(t.neighbours(), Some((0, 1)));
        assert_eq!(t.levels(), [(10, 0, 0), (21, 0, 1)]);
        assert_eq!(t.level_matrix(), [[0, 1], [1, 0]]);
        assert_eq!(t.caches, Caches { l1: 32 << 10, l2: Some(1 << 20), shared: 16 << 20 });
        assert!(t.notes.is_empty(), "{:?}", t.notes);
    }

    #[test]
    fn a_system_that_says_nothing_is_one_core() {
        let t = Topology::read(Path::new("/nonexistent"));
        assert_eq!((t.nodes(), t.cores_per_node(), t.threads_per_core()), (1, 1, 1));
        assert!(!t.notes.is_empty());
    }
}
