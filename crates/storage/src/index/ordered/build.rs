//! Builds a tree bottom-up from sorted entries, before a run.
//!
//! Leaves are filled one after the other. Each leaf's range ends just before the first key of the next leaf, so the
//! ranges tile the key space. Then each level is built from the one below, until a level has a single node, the root.

use super::{OrderedIndex, TreeKey, capacity};
use machine::{Machine, OutOfMemory, Place};

impl<M: Machine, K: TreeKey> OrderedIndex<M, K> {
    /// Builds the tree of an index that was empty so far. Entries come in ascending order of distinct keys. No other
    /// thread runs.
    pub fn build(&self, entries: impl Iterator<Item = (K, u64)>) -> Result<(), OutOfMemory> {
        let mut entries = entries.peekable();
        let mut below = Vec::new();
        let mut chunk = Vec::with_capacity(capacity::<M>());
        let ends = (K::least(self.width), K::greatest(self.width));
        let mut first = ends.0;
        while entries.peek().is_some() {
            chunk.clear();
            chunk.extend(entries.by_ref().take(capacity::<M>()));
            let last = entries.peek().and_then(|(key, _)| key.before(self.width)).unwrap_or(ends.1);
            below.push((first, self.place(0, (first, last), &chunk)?));
            first = last.after(self.width).unwrap_or(ends.0);
        }
        let mut level = 0;
        while below.len() > 1 {
            level += 1;
            let mut nodes = Vec::with_capacity(below.len() / capacity::<M>() + 1);
            for children in below.chunks(capacity::<M>()) {
                nodes.push((children[0].0, self.place(level, ends, children)?));
            }
            below = nodes;
        }
        if let Some((_, root)) = below.first() {
            self.head.root.poke(*root);
        }
        Ok(())
    }

    fn place(&self, level: u64, range: (K, K), entries: &[(K, u64)]) -> Result<u64, OutOfMemory> {
        let slot = self.arena.allocate(self.slot_bytes(), 64, Place::Any)?;
        self.at(slot).lay_out(level, range, entries);
        Ok(slot)
    }
}
