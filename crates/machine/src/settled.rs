//! Ranges of an arena whose parts lie on different memory nodes, for example the rows of partitions.

use crate::cold::Arc;

/// A range of the arena that consists of units of equal length. Each unit lies on a memory node of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledRange {
    /// Offset of the first unit.
    pub first: u64,
    /// Length of a unit in bytes. At least 1.
    pub unit_bytes: u64,
    /// Nodes of the units, in the order of the units.
    pub nodes: Arc<[u16]>,
}

impl SettledRange {
    /// Returns the offset behind the last unit.
    pub fn end(&self) -> u64 {
        self.first + self.unit_bytes * self.nodes.len() as u64
    }
}

/// Settled ranges, which do not overlap.
#[derive(Clone, Debug, Default)]
pub struct SettledRanges(Vec<SettledRange>);

impl SettledRanges {
    /// Adds a range. Panics if it overlaps another one.
    pub(crate) fn add(&mut self, range: SettledRange) {
        let at = self.0.partition_point(|other| other.first < range.first);
        let before = at.checked_sub(1).map(|before| self.0[before].end());
        let behind = self.0.get(at).map(|other| other.first);
        let is_free = before.is_none_or(|end| end <= range.first)
            && behind.is_none_or(|first| range.end() <= first);
        assert!(is_free, "a range is settled once");
        self.0.insert(at, range);
    }

    /// Returns true if nothing was settled.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the node of `offset`, if it lies in a settled range.
    pub fn node_of(&self, offset: u64) -> Option<u16> {
        let at = self.0.partition_point(|range| range.first <= offset).checked_sub(1)?;
        let range = &self.0[at];
        range.nodes.get(((offset - range.first) / range.unit_bytes) as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_lie_on_the_nodes_of_their_units() {
        let mut settled = SettledRanges::default();
        assert!(settled.is_empty() && settled.node_of(0).is_none());
        let range = |first, unit_bytes, nodes: &[u16]| SettledRange {
            first,
            unit_bytes,
            nodes: nodes.into(),
        };
        settled.add(range(1000, 100, &[3, 1]));
        settled.add(range(0, 10, &[0, 2, 0]));
        settled.add(range(1200, 1, &[5]));
        for (offset, node) in [
            (0, Some(0)),
            (9, Some(0)),
            (10, Some(2)),
            (29, Some(0)),
            (30, None),
            (999, None),
            (1000, Some(3)),
            (1099, Some(3)),
            (1100, Some(1)),
            (1199, Some(1)),
            (1200, Some(5)),
            (1201, None),
        ] {
            assert_eq!(settled.node_of(offset), node, "{offset}");
        }
    }

    #[test]
    #[should_panic(expected = "settled once")]
    fn ranges_do_not_overlap() {
        let mut settled = SettledRanges::default();
        for first in [0, 100, 60] {
            settled.add(SettledRange { first, unit_bytes: 50, nodes: vec![0].into() });
        }
    }
}
