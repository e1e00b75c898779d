//! A list of records, in order of first access, that can be asked whether a record is in it.

use machine::{Machine, Zeroed};
use storage::RecordRef;

/// Up to here a look-up walks the list; beyond, it hashes.
const LINEAR: usize = 24;

/// Records with a `T` each. Small sets cost a bit test for a miss and a walk for a hit; large ones a hash
/// look-up. Cleared in time proportional to what was in it.
pub struct RecordSet<'s, M: Machine, C, T> {
    entries: Vec<(RecordRef<'s, M, C>, T)>,
    filter: u64,
    slots: Vec<u32>,
}

#[inline(always)]
fn spread(identity: usize) -> u64 {
    (identity as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<M: Machine, C, T> Default for RecordSet<'_, M, C, T> {
    fn default() -> Self {
        RecordSet { entries: Vec::new(), filter: 0, slots: Vec::new() }
    }
}

impl<'s, M: Machine, C: Zeroed + Send + Sync + 'static, T> RecordSet<'s, M, C, T> {
    /// Where `record` is.
    #[inline(always)]
    pub fn find(&self, record: &RecordRef<'s, M, C>) -> Option<usize> {
        let hash = spread(record.identity());
        if self.filter & (1 << (hash >> 58)) == 0 {
            return None;
        }
        self.search(record, hash)
    }

    fn search(&self, record: &RecordRef<'s, M, C>, hash: u64) -> Option<usize> {
        let identity = record.identity();
        if self.slots.is_empty() {
            return self.entries.iter().position(|(r, _)| r.identity() == identity);
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            let index = self.slots[at] as usize - 1;
            if self.entries[index].0.identity() == identity {
                return Some(index);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Adds `record`, which is not in it yet, and says where.
    #[inline]
    pub fn push(&mut self, record: RecordRef<'s, M, C>, value: T) -> usize {
        let hash = spread(record.identity());
        self.filter |= 1 << (hash >> 58);
        self.entries.push((record, value));
        let count = self.entries.len();
        if count > LINEAR {
            if count * 2 > self.slots.len() {
                self.rehash();
            } else {
                self.enter(hash, count as u32);
            }
        }
        count - 1
    }

    fn enter(&mut self, hash: u64, number: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = number;
    }

    #[cold]
    fn rehash(&mut self) {
        let size = (self.entries.len() * 4).next_power_of_two();
        self.slots.clear();
        self.slots.resize(size, 0);
        for i in 0..self.entries.len() {
            self.enter(spread(self.entries[i].0.identity()), i as u32 + 1);
        }
    }

    /// Sorts by name: table, then offset. The order in which locks are taken at commit.
    pub fn sort(&mut self) {
        self.entries.sort_unstable_by_key(|(record, _)| record.name());
        if !self.slots.is_empty() {
            self.rehash();
        }
    }

    /// Forgets everything.
    #[inline]
    pub fn clear(&mut self) {
        self.entries.clear();
        self.filter = 0;
        self.slots.clear();
    }

    /// Number of records.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The record and value at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> (RecordRef<'s, M, C>, &T) {
        let (record, value) = &self.entries[index];
        (*record, value)
    }

    /// The value at `index`.
    #[inline]
    pub fn value_mut(&mut self, index: usize) -> &mut T {
        &mut self.entries[index].1
    }

    /// All of them, in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (RecordRef<'s, M, C>, &T)> {
        self.entries.iter().map(|(record, value)| (*record, value))
    }
}
