//! A hash index whose buckets are cache lines.
//!
//! A bucket is one line: a header word (a latch bit and the offset of an overflow bucket) and seven slots. Each slot
//! holds 16 bits of the hash and a 48-bit record offset:
//!
//! ```text
//!  header: | offset of the overflow bucket, 0 if none | latch bit |
//!  slot:   | 16 bits of the hash | 48 bits of record offset       |    0 if free
//! ```
//!
//! So a probe that misses mostly costs one line, and a probe that hits costs two. The number of buckets is fixed by
//! the expected rows. More rows make chains longer, but the index stays correct.
//!
//! Readers take no latch. Writers hold the latch of the chain's first bucket. Invariants:
//! - A slot changes only from 0 to an entry or from an entry to 0, with one store. A reader sees either.
//! - An entry keeps its slot as long as its record is in the index.
//! - A chain only grows. An overflow bucket is linked while it is empty.

use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};

/// Number of slots of a bucket.
const SLOTS: usize = 7;
/// Set in a bucket's header while a writer changes its chain.
const LATCHED: u64 = 1;
/// Bits of a slot that hold the record offset. The rest holds bits of the hash.
const OFFSET_BITS: u32 = 48;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
/// Rows that a bucket is sized for. With seven there would be no room for chance.
const ROWS_PER_BUCKET: u64 = 4;

#[repr(C)]
struct Bucket<M: Machine> {
    line: M::Line,
    header: Word,
    slots: [Word; SLOTS],
}

// SAFETY: the type consists of a line and words, and zeros are valid for all of them.
unsafe impl<M: Machine> Zeroed for Bucket<M> {}

/// Hash index. It holds offsets and bits of hashes. The caller tells it whether a record has a key.
pub struct HashIndex<M: Machine> {
    arena: Arc<Arena>,
    /// Offset of the first bucket.
    buckets: u64,
    /// Right shift that turns a hash into the number of a bucket.
    shift: u32,
    machine: std::marker::PhantomData<fn() -> M>,
}

#[inline(always)]
fn hash(key: u64) -> u64 {
    // Two rounds of multiply and fold are enough to spread both dense and strided keys.
    let folded = (key ^ (key >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (folded ^ (folded >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

#[inline(always)]
fn slot_of(hash: u64, offset: u64) -> u64 {
    (hash << OFFSET_BITS) | offset
}

impl<M: Machine> HashIndex<M> {
    /// Returns the bytes that an index for `rows` rows reserves.
    pub fn bytes_for(rows: u64) -> u64 {
        Self::bucket_count(rows) * size_of::<Bucket<M>>() as u64
    }

    fn bucket_count(rows: u64) -> u64 {
        (rows / ROWS_PER_BUCKET).max(2).next_power_of_two()
    }

    /// Makes an empty index that is sized for `rows` rows.
    pub fn new(arena: &Arc<Arena>, rows: u64) -> Result<HashIndex<M>, OutOfMemory> {
        let count = Self::bucket_count(rows);
        let buckets = arena.allocate(Self::bytes_for(rows), 64, Place::Any)?;
        if M::MODELLED && rows < 1 << 25 {
            arena.prefer_huge_pages(buckets, Self::bytes_for(rows));
        }
        let shift = 64 - count.trailing_zeros();
        Ok(HashIndex { arena: arena.clone(), buckets, shift, machine: std::marker::PhantomData })
    }

    #[inline(always)]
    fn bucket_at(&self, offset: u64) -> &Bucket<M> {
        // SAFETY: offsets come from this index's allocations, which consist of buckets.
        unsafe { self.arena.at::<Bucket<M>>(offset) }
    }

    #[inline(always)]
    fn first_bucket(&self, hash: u64) -> &Bucket<M> {
        self.bucket_at(self.buckets + (hash >> self.shift) * size_of::<Bucket<M>>() as u64)
    }

    /// Charges for a probe that needs no answer (rows that exist by rule).
    #[inline(always)]
    pub fn touch(&self, core: &M::Core, key: u64) {
        let bucket = self.first_bucket(hash(key));
        core.load(&bucket.line, &bucket.header);
    }

    /// Asks the host to fetch the bucket of `key`.
    #[inline(always)]
    pub fn prefetch(&self, core: &M::Core, key: u64) {
        let bucket: *const Bucket<M> = self.first_bucket(hash(key));
        core.prefetch(bucket.cast(), size_of::<Bucket<M>>());
    }

    /// Returns the likely offset of the record of `key`, by bits of the hash alone. It is used to prefetch the record.
    #[inline(always)]
    pub fn guess(&self, core: &M::Core, key: u64) -> Option<u64> {
        let hash = hash(key);
        let bucket = self.first_bucket(hash);
        bucket.slots.iter().find_map(|slot| {
            let entry = core.load_relaxed(&bucket.line, slot);
            (entry >> OFFSET_BITS == hash & 0xFFFF && entry != 0).then_some(entry & OFFSET_MASK)
        })
    }

    /// Returns the offset of the record of `key`. `is_key` returns whether the record at an offset has the key.
    #[inline(always)]
    pub fn find(
        &self,
        core: &M::Core,
        key: u64,
        mut is_key: impl FnMut(u64) -> bool,
    ) -> Option<u64> {
        let hash = hash(key);
        let mut bucket = self.first_bucket(hash);
        loop {
            let next = core.load(&bucket.line, &bucket.header) & !LATCHED;
            for slot in &bucket.slots {
                let entry = core.load(&bucket.line, slot);
                if entry >> OFFSET_BITS == hash & 0xFFFF && entry != 0 {
                    let offset = entry & OFFSET_MASK;
                    if is_key(offset) {
                        return Some(offset);
                    }
                }
            }
            if next == 0 {
                return None;
            }
            bucket = self.bucket_at(next);
        }
    }

    /// Makes `offset` the record of `key`. If the key already has a record, that record is returned as the inner
    /// error. `prepare` runs just before other sessions can find the record, and after any earlier record of the key
    /// was removed.
    pub fn insert(
        &self,
        core: &M::Core,
        key: u64,
        offset: u64,
        is_key: impl FnMut(u64) -> bool,
        prepare: impl FnOnce(),
    ) -> Result<Result<(), u64>, OutOfMemory> {
        let hash = hash(key);
        let first = self.first_bucket(hash);
        self.latch(core, first);
        let found = self.find(core, key, is_key);
        let done = match found {
            Some(other) => Ok(Err(other)),
            None => {
                prepare();
                self.add(core, first, slot_of(hash, offset)).map(Ok)
            }
        };
        self.unlatch(core, first);
        done
    }

    /// Like [`HashIndex::insert`] of a key that is not in the index, without a core. No other thread runs.
    pub fn insert_alone(&self, key: u64, offset: u64) -> Result<(), OutOfMemory> {
        let hash = hash(key);
        let mut bucket = self.first_bucket(hash);
        loop {
            if let Some(slot) = bucket.slots.iter().find(|slot| slot.peek() == 0) {
                slot.poke(slot_of(hash, offset));
                return Ok(());
            }
            if bucket.header.peek() == 0 {
                let bytes = size_of::<Bucket<M>>() as u64;
                bucket.header.poke(self.arena.allocate(bytes, 64, Place::Any)?);
            }
            bucket = self.bucket_at(bucket.header.peek());
        }
    }

    /// Removes the record `offset` of `key`. A session that found it before can still be using it. Returns false if
    /// the record was not in the index.
    pub fn remove(&self, core: &M::Core, key: u64, offset: u64) -> bool {
        let hash = hash(key);
        let first = self.first_bucket(hash);
        self.latch(core, first);
        let mut bucket = first;
        let removed = loop {
            let entry = slot_of(hash, offset);
            if let Some(slot) =
                bucket.slots.iter().find(|slot| core.load_relaxed(&bucket.line, slot) == entry)
            {
                core.store(&bucket.line, slot, 0);
                break true;
            }
            match core.load_relaxed(&bucket.line, &bucket.header) & !LATCHED {
                0 => break false,
                next => bucket = self.bucket_at(next),
            }
        };
        self.unlatch(core, first);
        removed
    }

    /// Calls `visit` with the offsets of the records in `count` buckets from number `first` on. Returns the number of
    /// the next bucket, if there is one. A record keeps its slot as long as it is in the index.
    pub fn walk(
        &self,
        core: &M::Core,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(u64),
    ) -> Option<u64> {
        let buckets = 1 << (u64::BITS - self.shift);
        let end = (first + count).min(buckets);
        for number in first..end {
            let mut at = self.buckets + number * size_of::<Bucket<M>>() as u64;
            while at != 0 {
                let bucket = self.bucket_at(at);
                at = core.load(&bucket.line, &bucket.header) & !LATCHED;
                for slot in &bucket.slots {
                    let entry = core.load(&bucket.line, slot);
                    if entry != 0 {
                        visit(entry & OFFSET_MASK);
                    }
                }
            }
        }
        (end < buckets).then_some(end)
    }

    fn add(&self, core: &M::Core, first: &Bucket<M>, entry: u64) -> Result<(), OutOfMemory> {
        let mut bucket = first;
        loop {
            if let Some(slot) =
                bucket.slots.iter().find(|slot| core.load_relaxed(&bucket.line, slot) == 0)
            {
                core.store(&bucket.line, slot, entry);
                return Ok(());
            }
            let header = core.load_relaxed(&bucket.line, &bucket.header);
            bucket = match header & !LATCHED {
                0 => {
                    let bytes = size_of::<Bucket<M>>() as u64;
                    let offset = self.arena.allocate(bytes, 64, Place::Any)?;
                    // The bucket is linked while it is still empty: readers find nothing in it until the entry is
                    // stored.
                    core.store(&bucket.line, &bucket.header, header | offset);
                    self.bucket_at(offset)
                }
                next => self.bucket_at(next),
            };
        }
    }

    fn latch(&self, core: &M::Core, bucket: &Bucket<M>) {
        loop {
            let header =
                core.wait_while(&bucket.line, &bucket.header, |header| header & LATCHED != 0);
            if core.cas(&bucket.line, &bucket.header, header, header | LATCHED).is_ok() {
                return;
            }
        }
    }

    fn unlatch(&self, core: &M::Core, bucket: &Bucket<M>) {
        let header = core.load_relaxed(&bucket.line, &bucket.header);
        core.store(&bucket.line, &bucket.header, header & !LATCHED);
        core.wake(&bucket.line, &bucket.header);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Native, NativeOptions};
    use std::collections::BTreeMap;

    #[test]
    fn behaves_as_a_map_far_beyond_its_expected_rows() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let index = HashIndex::<Native>::new(machine.arena(), 8).unwrap();
        let mut keys = BTreeMap::new();
        for i in 0..500u64 {
            let (key, offset) = (i * i * 7919, 4096 + i * 64);
            let inserted = index.insert(&core, key, offset, |o| keys.get(&o) == Some(&key), || ());
            assert_eq!(inserted.unwrap(), Ok(()));
            keys.insert(offset, key);
        }
        for (offset, key) in &keys {
            assert_eq!(index.find(&core, *key, |o| keys[&o] == *key), Some(*offset));
            let again = index.insert(&core, *key, 64, |o| keys[&o] == *key, || ()).unwrap();
            assert_eq!(again, Err(*offset));
        }
        for (offset, key) in &keys {
            assert!(index.remove(&core, *key, *offset));
            assert!(!index.remove(&core, *key, *offset));
            assert_eq!(index.find(&core, *key, |o| keys[&o] == *key), None);
        }
    }
}
