//! A list of records in order of first access, with a look-up by record.

use machine::{Machine, Zeroed};
use storage::RecordRef;

/// Number of records up to which a look-up walks the list. Beyond it, a look-up hashes.
const LINEAR: usize = 24;

/// Words of the filter, a power of two. With 48 records one look-up in eleven of others is not answered by the filter. A
/// New-Order of TPC-C accesses about 40 records.
const FILTER_WORDS: usize = 8;

/// Returns the word of the filter in which a hash has its bit, and the bit.
#[inline(always)]
fn filter_bit(hash: u64) -> (usize, u64) {
    let number = (hash >> (u64::BITS - 6 - FILTER_WORDS.trailing_zeros())) as usize;
    (number / 64, 1 << (number % 64))
}

/// Records with a `T` each. In a small set a miss costs a bit test and a hit costs a walk. In a
/// large set a look-up costs a hash probe. Clearing takes time proportional to the set's size.
pub struct RecordSet<'s, M: Machine, C, T> {
    /// Records in order of first access, until [`RecordSet::sort`]. Invariant: no record is in it
    /// twice.
    entries: Vec<(RecordRef<'s, M, C>, T)>,
    /// A Bloom filter with one hash function. A clear bit proves that a record is not in the set.
    filter: [u64; FILTER_WORDS],
    /// Hash table with open addressing: 0 for an empty slot, otherwise an index in `entries` plus
    /// 1. Empty as long as the set is small.
    slots: Vec<u32>,
}

#[inline(always)]
fn spread(identity: usize) -> u64 {
    (identity as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<M: Machine, C, T> Default for RecordSet<'_, M, C, T> {
    fn default() -> Self {
        RecordSet { entries: Vec::new(), filter: [0; FILTER_WORDS], slots: Vec::new() }
    }
}

impl<'s, M: Machine, C: Zeroed + Send + Sync + 'static, T> RecordSet<'s, M, C, T> {
    /// Returns the index of `record`, if it is in the set.
    #[inline(always)]
    pub fn find(&self, record: &RecordRef<'s, M, C>) -> Option<usize> {
        let hash = spread(record.identity());
        let (word, bit) = filter_bit(hash);
        if self.filter[word] & bit == 0 {
            return None;
        }
        // A transaction often writes the record that it has just read.
        let last = self.entries.len().wrapping_sub(1);
        match self.entries.get(last) {
            Some((record_there, _)) if record_there.identity() == record.identity() => Some(last),
            _ => self.search(record, hash),
        }
    }

    #[inline(never)]
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

    /// Adds `record` and returns its index. The record must not be in the set yet.
    #[inline]
    pub fn push(&mut self, record: RecordRef<'s, M, C>, value: T) -> usize {
        let hash = spread(record.identity());
        let (word, bit) = filter_bit(hash);
        self.filter[word] |= bit;
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

    /// Sorts in the order in which locks are acquired at commit, which is the same for all sessions: by record name, that is table
    /// and offset, or natively by address.
    pub fn sort(&mut self) {
        match M::MODELLED {
            true => self.entries.sort_unstable_by_key(|(record, _)| record.name()),
            // All sessions see a record at the same address, so addresses are an order too. A name would be computed from them.
            false => self.entries.sort_unstable_by_key(|(record, _)| record.identity()),
        }
        if !self.slots.is_empty() {
            self.rehash();
        }
    }

    /// Removes all records.
    #[inline]
    pub fn clear(&mut self) {
        self.entries.clear();
        self.filter = [0; FILTER_WORDS];
        self.slots.clear();
    }

    /// Returns the number of records.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the record and value at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> (RecordRef<'s, M, C>, &T) {
        let (record, value) = &self.entries[index];
        (*record, value)
    }

    /// Returns the value at `index`.
    #[inline]
    pub fn value_mut(&mut self, index: usize) -> &mut T {
        &mut self.entries[index].1
    }

    /// Returns all records and values, in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (RecordRef<'s, M, C>, &T)> {
        self.entries.iter().map(|(record, value)| (*record, value))
    }
}
