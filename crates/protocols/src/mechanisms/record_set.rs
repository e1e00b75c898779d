//! A list of records in order of first access, with a look-up by record.

use super::few_sorted;
use machine::{Machine, Zeroed};
use std::cell::RefCell;
use storage::RecordRef;

/// Number of records up to which a look-up walks the list.
const FEW: usize = 24;

/// Number of look-ups that walk a longer list, of at most [`SOME`] records. Only then the records are hashed, because few look-ups of
/// most transactions come so far: the filter or the last record answers the others.
const WALKS: usize = 4;
const SOME: usize = 64;

/// Words of the filter, a power of two. With 48 records one look-up in 22 of others is not answered by the filter. A
/// New-Order of TPC-C accesses about 40 records.
const FILTER_WORDS: usize = 16;

/// Bits of an index while records are sorted by address. Larger sets are sorted in another way.
const INDEX_BITS: u32 = 16;

/// Returns the word of the filter in which a hash has its bit, and the bit.
#[inline(always)]
fn filter_bit(hash: u64) -> (usize, u64) {
    let number = (hash >> (u64::BITS - 6 - FILTER_WORDS.trailing_zeros())) as usize;
    (number / 64, 1 << (number % 64))
}

/// Records with a `T` each. A miss mostly costs a bit test, and a hit costs a walk. In a large set in which records
/// are often looked up, a look-up costs a hash probe. Clearing takes time proportional to the set's size.
pub struct RecordSet<'s, M: Machine, C, T> {
    /// Records in order of first access, until [`RecordSet::sort`]. Invariant: no record is in it
    /// twice.
    entries: Vec<(RecordRef<'s, M, C>, T)>,
    /// A Bloom filter with one hash function. A clear bit proves that a record is not in the set.
    filter: [u64; FILTER_WORDS],
    hashed: RefCell<Hashed>,
    sorting: Sorting<'s, M, C, T>,
}

/// Buffers of [`RecordSet::sort`].
struct Sorting<'s, M: Machine, C, T> {
    order: Vec<u64>,
    sorted: Vec<(RecordRef<'s, M, C>, T)>,
}

/// Those records of a set that have been hashed. A look-up hashes the others if it needs them, so it changes them.
#[derive(Default)]
struct Hashed {
    /// Number of look-ups that have walked a list of more than a few records.
    walks: usize,
    /// Index behind that of the record that was found last in a list of more than a few. A transaction often updates rows in the order
    /// in which it has read them, for example those of a scan.
    next: usize,
    /// Hash table with open addressing: 0 for an empty slot, otherwise the index of a record plus 1. It is empty, or at most
    /// half full.
    slots: Vec<u32>,
    /// Number of records that are in `slots`: the first ones of the set.
    entered: usize,
}

impl Hashed {
    /// Enters those of `records` into the hash table that are not there yet.
    fn enter<M: Machine, C, T>(&mut self, records: &[(RecordRef<'_, M, C>, T)]) {
        if records.len() * 2 > self.slots.len() {
            self.empty();
            self.slots.resize((records.len() * 4).next_power_of_two(), 0);
        }
        let slots = &mut self.slots[..];
        let mask = slots.len() - 1;
        for (record, _) in &records[self.entered..] {
            self.entered += 1;
            let mut at = spread(record.identity()) as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = self.entered as u32;
        }
    }

    /// Returns the index of the record with this identity and hash among `records`, all of which are entered.
    #[inline(always)]
    fn find<M: Machine, C, T>(
        &self,
        records: &[(RecordRef<'_, M, C>, T)],
        identity: usize,
        hash: u64,
    ) -> Option<usize>
    where
        C: Zeroed + Send + Sync + 'static,
    {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            let index = self.slots[at] as usize - 1;
            if records[index].0.identity() == identity {
                return Some(index);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Empties the hash table.
    #[inline]
    fn empty(&mut self) {
        self.slots.clear();
        self.entered = 0;
    }
}

#[inline(always)]
fn spread(identity: usize) -> u64 {
    (identity as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<M: Machine, C, T> Default for RecordSet<'_, M, C, T> {
    fn default() -> Self {
        let (entries, hashed) = (Vec::new(), RefCell::default());
        let sorting = Sorting { order: Vec::new(), sorted: Vec::new() };
        RecordSet { entries, filter: [0; FILTER_WORDS], hashed, sorting }
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
        match self.entries.len() {
            ..=FEW => self.walk(record),
            _ => self.search_many(record, hash),
        }
    }

    #[inline(always)]
    fn walk(&self, record: &RecordRef<'s, M, C>) -> Option<usize> {
        self.entries.iter().position(|(there, _)| there.identity() == record.identity())
    }

    /// Searches more than a few records. It is apart, because the walk over few of them needs fewer registers.
    #[inline(never)]
    fn search_many(&self, record: &RecordRef<'s, M, C>, hash: u64) -> Option<usize> {
        let identity = record.identity();
        let mut hashed = self.hashed.borrow_mut();
        let next = hashed.next;
        let found = match self.entries.get(next) {
            Some((there, _)) if there.identity() == identity => Some(next),
            _ if self.entries.len() <= SOME && hashed.walks < WALKS => {
                hashed.walks += 1;
                self.walk(record)
            }
            _ => {
                hashed.enter(&self.entries);
                hashed.find(&self.entries, identity, hash)
            }
        };
        if let Some(index) = found {
            hashed.next = index + 1;
        }
        found
    }

    /// Adds `record` and returns its index. The record must not be in the set yet.
    #[inline]
    pub fn push(&mut self, record: RecordRef<'s, M, C>, value: T) -> usize {
        let hash = spread(record.identity());
        let (word, bit) = filter_bit(hash);
        self.filter[word] |= bit;
        self.entries.push((record, value));
        self.entries.len() - 1
    }

    /// Sorts in the order in which locks are acquired at commit, which is the same for all sessions: by record name, that is table
    /// and offset, or natively by address.
    pub fn sort(&mut self)
    where
        T: Copy,
    {
        match M::MODELLED {
            true => self.entries.sort_unstable_by_key(|(record, _)| record.name()),
            // All sessions see a record at the same address, so addresses are an order too. A name would be computed from them.
            false => self.sort_by_address(),
        }
        self.hashed.get_mut().empty();
    }

    /// Sorts by address. Each entry is moved once: what is sorted are the addresses, with the indices of the entries in their last bits.
    fn sort_by_address(&mut self)
    where
        T: Copy,
    {
        // No arena has more bytes than a pointer has addresses in its lower 48 bits, so these suffice for an order.
        let place = |record: &RecordRef<'s, M, C>| (record.identity() as u64) << INDEX_BITS;
        if self.entries.len() >> INDEX_BITS != 0 {
            return self.entries.sort_unstable_by_key(|(record, _)| place(record));
        }
        let Sorting { order, sorted } = &mut self.sorting;
        order.clear();
        order.extend(self.entries.iter().zip(0..).map(|((record, _), at)| place(record) | at));
        few_sorted::sort(order);
        sorted.clear();
        let index = |place: &u64| (place & ((1 << INDEX_BITS) - 1)) as usize;
        sorted.extend(order.iter().map(|place| self.entries[index(place)]));
        std::mem::swap(&mut self.entries, sorted);
    }

    /// Removes all records.
    #[inline]
    pub fn clear(&mut self) {
        self.entries.clear();
        self.filter = [0; FILTER_WORDS];
        let hashed = self.hashed.get_mut();
        (hashed.walks, hashed.next) = (0, 0);
        hashed.empty();
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
