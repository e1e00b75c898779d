//! A hash index whose buckets are cache lines, and which grows with the number of its rows.
//!
//! A bucket is one line: a header word and seven slots. Each slot holds 16 bits of the hash and a 48-bit record
//! offset:
//!
//! ```text
//!  header: | offset of the overflow bucket, 0 if none   | 0 | latch bit |
//!  moved:  | offset of the array that replaces this one | 1 | 0         |    for ever
//!  slot:   | 16 bits of the hash | 48 bits of record offset             |    0 if free
//! ```
//!
//! So a probe that misses mostly costs one line, and a probe that hits costs two. The upper bits of a hash choose the
//! bucket of an array of `2^n` buckets. A bucket with more than seven entries has a chain of overflow buckets behind
//! it.
//!
//! # Growth
//!
//! If a chain needs another overflow bucket and the buckets around it are crowded, the session that inserts starts a
//! growth: it makes an array of twice as many buckets. Bucket `i` of the old array becomes the buckets `2i` and
//! `2i + 1` of the new one. From then on every session that inserts also moves a few buckets (`growth.rs`). When all
//! buckets have moved, the index's word [`HashIndex::current`] names the new array. A growth has these states:
//!
//! ```text
//!                    start                          last bucket moved
//!  current = old ------------> current = old ----------------------------> current = new
//!  growth  = 0                 growth  = its state                         growth  = 0
//! ```
//!
//! A bucket of the old array has these states:
//!
//! ```text
//!            latch                     entries are copied          header = new array | MOVED
//!  unmoved <------> unmoved | LATCHED --------------------> still so -----------------------> moved, for ever
//!           unlatch
//! ```
//!
//! # Invariants
//!
//! Readers take no latch. Writers hold the latch of the chain's first bucket.
//! 1. The bucket of a hash is the one that is found by this rule: begin with the current array. While the hash's bucket
//!    there has moved, continue with the array that its header names. At every moment there is exactly one. It and its
//!    chain hold all entries of the hash.
//! 2. A slot of such a bucket changes only from 0 to an entry or from an entry to 0, with one store. A reader sees
//!    either.
//! 3. An entry keeps its slot as long as its record is in the index and its bucket does not move.
//! 4. A chain only grows. An overflow bucket is linked while it is empty.
//! 5. A bucket that has moved never changes again, nor does its chain. Its entries stay in their slots.
//! 6. Nobody but the session that moves bucket `i` can reach the buckets `2i` and `2i + 1` before bucket `i` has moved.
//!    That session holds the latch of bucket `i`.
//!
//! # Why a reader misses nothing
//!
//! Let a record be in the index during the whole look-up. The reader follows the rule of invariant 1, so it comes to a
//! bucket whose header it reads as unmoved. At that moment this bucket and its chain hold the record's entry. The
//! reader then reads the slots:
//! - If the bucket does not move meanwhile, the entry keeps its slot (invariant 3).
//! - If the bucket moves meanwhile, the entry stays in its slot too (invariant 5). The chain that the header names is
//!   still there, because the reader took it from the header that it has read.
//!
//! So the reader finds the entry, and it need not look at the header again. It can also find an entry whose record
//! has been removed from the new array since. This is as stale as an entry that is removed right after it was found:
//! the record left the index during the look-up, while the reader had pinned its epoch. So the record's memory is not
//! reused yet, and its row is absent or retired.
//!
//! Memory orders: the header of a moved bucket is stored with release after the copies, and a reader loads it with
//! acquire. So a reader that sees the bucket as moved sees the copies. The word `current` is stored with release by the
//! session that has counted the last moved bucket. The count is a read-modify-write with acquire and release, so this
//! session, and whoever loads `current` with acquire, sees the copies of all sessions.
//!
//! # Memory
//!
//! The arrays that an index has outgrown, and their overflow buckets, are not used again: a slow reader can still be in
//! them, and the arena takes back no memory. Because arrays double, all old arrays together are smaller than the
//! current one.
//!
//! An array never becomes smaller, also if most rows are deleted.

mod growth;
#[cfg(test)]
mod tests;

use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};

/// Number of slots of a bucket.
const SLOTS: usize = 7;
/// The same on machines that keep structures small, so that an index of short runs has chains and grows.
const SLOTS_IN_MINIATURE: usize = 1;
/// Set in a bucket's header while a writer changes its chain.
const LATCHED: u64 = 1;
/// Set in a bucket's header once its entries are in the array that the header names.
const MOVED: u64 = 2;
/// Bits of a header that are not part of an offset. Offsets of buckets and arrays are multiples of 64.
const FLAGS: u64 = 63;
/// Bits of a slot that hold the record offset. The rest holds bits of the hash.
const OFFSET_BITS: u32 = 48;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
/// Rows that a bucket is sized for. With seven there would be no room for chance.
const ROWS_PER_BUCKET: u64 = 4;
/// Least number of buckets of an array.
const LEAST_BUCKETS: u64 = 2;

#[repr(C)]
struct Bucket<M: Machine> {
    line: M::Line,
    header: Word,
    slots: [Word; SLOTS],
}

// SAFETY: the type consists of a line and words, and zeros are valid for all of them.
unsafe impl<M: Machine> Zeroed for Bucket<M> {}

impl<M: Machine> Bucket<M> {
    /// Bytes of a bucket.
    const BYTES: u64 = size_of::<Bucket<M>>() as u64;

    /// Returns the slots that are used.
    #[inline(always)]
    fn slots(&self) -> &[Word] {
        if M::MINIATURE { &self.slots[..SLOTS_IN_MINIATURE] } else { &self.slots }
    }

    /// Returns the slots that can hold an entry of `hash`, from the first one on. A slot that is left out has been read without one. An
    /// entry that is in the bucket during the call keeps its slot (invariant 3), so it is not left out.
    #[inline(always)]
    fn slots_from(&self, core: &M::Core, hash: u64) -> std::slice::Iter<'_, Word> {
        let slots = self.slots();
        slots.get(core.untagged(slots, tag_of(hash))..).unwrap_or_default().iter()
    }
}

/// Name of an array of buckets, in one word: the offset of the first bucket, and in the six lowest bits the right shift
/// that turns a hash into the number of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Array(u64);

impl Array {
    #[inline(always)]
    fn offset(self) -> u64 {
        self.0 & !FLAGS
    }

    #[inline(always)]
    fn shift(self) -> u32 {
        (self.0 & FLAGS) as u32
    }

    /// Returns the number of buckets.
    fn count(self) -> u64 {
        1 << (u64::BITS - self.shift())
    }

    /// Returns the array that `header`, of a bucket that has moved, names. It has twice as many buckets.
    #[inline(always)]
    fn next(self, header: u64) -> Array {
        Array((header & !FLAGS) | u64::from(self.shift() - 1))
    }
}

/// Number of buckets that are fetched at the same time: about as many lines as a core can have on their way from memory.
const FETCHED_TOGETHER: usize = 16;

/// Hash index. It holds offsets and bits of hashes. The caller tells it whether a record has a key, and which key a
/// record has.
pub struct HashIndex<M: Machine> {
    arena: Arc<Arena>,
    /// The array with which every look-up begins, as an [`Array`]. It changes only at the end of a growth.
    current: Word,
    /// Offset of the state of the growth that goes on, or 0.
    growth: Word,
    /// State of the permission to start a growth.
    start: growth::Start,
    machine: std::marker::PhantomData<fn() -> M>,
}

#[inline(always)]
fn hash(key: u64) -> u64 {
    // Two rounds of multiply and fold are enough to spread both dense and strided keys.
    let folded = (key ^ (key >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (folded ^ (folded >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// Returns the bits of a hash that slots hold.
#[inline(always)]
fn tag_of(hash: u64) -> u16 {
    hash as u16
}

#[inline(always)]
fn slot_of(hash: u64, offset: u64) -> u64 {
    (hash << OFFSET_BITS) | offset
}

/// Returns the offset in the entry of a slot, if it has the bits of `hash`. A free slot has none.
#[inline(always)]
fn offset_in(entry: u64, hash: u64) -> Option<u64> {
    let is_tagged = entry >> OFFSET_BITS == u64::from(tag_of(hash));
    (is_tagged && entry != 0).then_some(entry & OFFSET_MASK)
}

impl<M: Machine> HashIndex<M> {
    /// Returns the bytes that an index for `rows` rows reserves.
    pub fn bytes_for(rows: u64) -> u64 {
        Self::bucket_count(rows) * Bucket::<M>::BYTES
    }

    fn bucket_count(rows: u64) -> u64 {
        if M::MINIATURE {
            return LEAST_BUCKETS;
        }
        (rows / ROWS_PER_BUCKET).max(LEAST_BUCKETS).next_power_of_two()
    }

    /// Makes an empty index that is sized for `rows` rows. If there are many more, the index grows.
    pub fn new(arena: &Arc<Arena>, rows: u64) -> Result<HashIndex<M>, OutOfMemory> {
        let current = Self::array_of(arena, Self::bucket_count(rows))?;
        Ok(HashIndex {
            arena: arena.clone(),
            current: Word::new(current.0),
            growth: Word::new(0),
            start: growth::Start::default(),
            machine: std::marker::PhantomData,
        })
    }

    /// Makes an array of `count` empty buckets, a power of two.
    fn array_of(arena: &Arc<Arena>, count: u64) -> Result<Array, OutOfMemory> {
        let bytes = count * Bucket::<M>::BYTES;
        let offset = arena.allocate(bytes, 64, Place::Any)?;
        if M::MODELLED && count < 1 << 23 {
            arena.prefer_huge_pages(offset, bytes);
        }
        Ok(Array(offset | u64::from(u64::BITS - count.trailing_zeros())))
    }

    /// Returns the array with which a look-up begins.
    ///
    /// The load costs nothing on modelled machines: the word hardly ever changes, so every core has it in its cache
    /// with the other fields of the table.
    #[inline(always)]
    fn current(&self, core: &M::Core) -> Array {
        Array(core.load_uncharged(&self.current))
    }

    #[inline(always)]
    fn bucket_at(&self, offset: u64) -> &Bucket<M> {
        // SAFETY: offsets come from this index's allocations, which consist of buckets.
        unsafe { self.arena.at::<Bucket<M>>(offset) }
    }

    /// Returns bucket number `number` of `array`.
    #[inline(always)]
    fn bucket(&self, array: Array, number: u64) -> &Bucket<M> {
        self.bucket_at(array.offset() + number * Bucket::<M>::BYTES)
    }

    /// Returns the bucket of `hash` in `array`.
    #[inline(always)]
    fn bucket_in(&self, array: Array, hash: u64) -> &Bucket<M> {
        self.bucket(array, hash >> array.shift())
    }

    /// Returns the first bucket of `hash` that has not moved, and the header that it had then.
    #[inline(always)]
    fn reach(&self, core: &M::Core, hash: u64) -> (&Bucket<M>, u64) {
        self.reach_in(core, self.current(core), hash)
    }

    /// Does the same, and begins with `array`, which is or was the current one.
    #[inline(always)]
    fn reach_in(&self, core: &M::Core, array: Array, hash: u64) -> (&Bucket<M>, u64) {
        let bucket = self.bucket_in(array, hash);
        let header = core.load(&bucket.line, &bucket.header);
        if header & MOVED == 0 || core.is_planted(faults::READS_MOVED_BUCKETS) {
            return (bucket, header);
        }
        self.reach_from(core, array.next(header), hash)
    }

    /// Does the same. The bucket in the current array has moved.
    #[cold]
    fn reach_from(&self, core: &M::Core, mut array: Array, hash: u64) -> (&Bucket<M>, u64) {
        loop {
            let bucket = self.bucket_in(array, hash);
            let header = core.load(&bucket.line, &bucket.header);
            if header & MOVED == 0 {
                return (bucket, header);
            }
            array = array.next(header);
        }
    }

    /// Charges for a probe that needs no answer (rows that exist by rule).
    #[inline(always)]
    pub fn touch(&self, core: &M::Core, key: u64) {
        self.reach(core, hash(key));
    }

    /// Asks the host to fetch the bucket of `key`.
    #[inline(always)]
    pub fn prefetch(&self, core: &M::Core, key: u64) {
        self.prefetch_in(core, self.current(core), hash(key));
    }

    #[inline(always)]
    fn prefetch_in(&self, core: &M::Core, array: Array, hash: u64) {
        let bucket = self.bucket_in(array, hash);
        core.prefetch_line(&bucket.line);
        core.prefetch(std::ptr::from_ref(bucket).cast(), size_of::<Bucket<M>>());
    }

    /// Returns the likely offset of the record of `key`, by bits of the hash alone. The record has been in the index during the
    /// call, except on machines that charge for look-ups: there it is used only to prefetch the record.
    #[inline(always)]
    pub fn guess(&self, core: &M::Core, key: u64) -> Option<u64> {
        self.guess_in(core, self.current(core), hash(key))
    }

    /// Calls `visit` with each item whose key has an entry, and its likely offset ([`HashIndex::guess`]). The buckets of some items
    /// are fetched, then `between` is called, then these buckets are searched, then their entries are visited, and so on. If an entry were
    /// visited as soon as it is found, what its visit fetches would delay buckets that are still on their way.
    #[inline(always)]
    pub fn guess_each<T>(
        &self,
        core: &M::Core,
        items: &[T],
        key_of: impl Fn(&T) -> u64,
        mut between: impl FnMut(),
        mut visit: impl FnMut(&T, u64),
    ) {
        let array = self.current(core);
        for items in items.chunks(FETCHED_TOGETHER) {
            let mut kept = [0; FETCHED_TOGETHER];
            for (item, kept) in items.iter().zip(&mut kept) {
                *kept = hash(key_of(item));
                self.prefetch_in(core, array, *kept);
            }
            between();
            // An offset takes the place of its hash, and 0 that of a hash without one.
            let kept = &mut kept[..items.len()];
            kept.iter_mut().for_each(|kept| *kept = self.guess_in(core, array, *kept).unwrap_or(0));
            for (item, offset) in items.iter().zip(kept).filter(|(_, offset)| **offset != 0) {
                visit(item, *offset);
            }
        }
    }

    #[inline(always)]
    fn guess_in(&self, core: &M::Core, array: Array, hash: u64) -> Option<u64> {
        // An entry of a bucket that has moved may have been removed since, in the new array.
        let moved_too =
            M::MODELLED && !M::MINIATURE || core.is_planted(faults::GUESSES_IN_MOVED_BUCKETS);
        let bucket = match moved_too {
            true => self.bucket_in(array, hash),
            false => self.reach_in(core, array, hash).0,
        };
        bucket
            .slots_from(core, hash)
            .find_map(|slot| offset_in(core.load_relaxed(&bucket.line, slot), hash))
    }

    /// Returns the offset of the record of `key`. `is_key` returns whether the record at an offset has the key.
    #[inline(always)]
    pub fn find(&self, core: &M::Core, key: u64, is_key: impl FnMut(u64) -> bool) -> Option<u64> {
        let hash = hash(key);
        let (first, header) = self.reach(core, hash);
        self.search(core, (first, header), hash, is_key)
    }

    /// Searches the chain of `first`, whose header was `header`.
    #[inline(always)]
    fn search(
        &self,
        core: &M::Core,
        (first, header): (&Bucket<M>, u64),
        hash: u64,
        mut is_key: impl FnMut(u64) -> bool,
    ) -> Option<u64> {
        let (mut bucket, mut next) = (first, header & !FLAGS);
        loop {
            for slot in bucket.slots_from(core, hash) {
                if let Some(offset) = offset_in(core.load(&bucket.line, slot), hash)
                    && is_key(offset)
                {
                    return Some(offset);
                }
            }
            if next == 0 {
                return None;
            }
            bucket = self.bucket_at(next);
            next = core.load(&bucket.line, &bucket.header) & !FLAGS;
        }
    }

    /// Makes `offset` the record of `key`. If the key already has a record, that record is returned as the inner
    /// error. `prepare` runs just before other sessions can find the record, and after any earlier record of the key
    /// was removed. `key_of` returns the key of the record at an offset, for the entries that the session moves if the
    /// index grows.
    pub fn insert(
        &self,
        core: &M::Core,
        (key, offset): (u64, u64),
        is_key: impl FnMut(u64) -> bool,
        key_of: impl Fn(u64) -> u64,
        prepare: impl FnOnce(),
    ) -> Result<Result<(), u64>, OutOfMemory> {
        let hash = hash(key);
        let (array, first) = self.latch(core, hash);
        let header = core.load(&first.line, &first.header);
        let found = self.search(core, (first, header), hash, is_key);
        let added = match found {
            Some(_) => Ok(Added::Beside),
            None => self.free_slot(core, first).map(|(bucket, slot, added)| {
                prepare();
                core.store(&bucket.line, slot, slot_of(hash, offset));
                added
            }),
        };
        self.unlatch(core, first);
        if added == Ok(Added::Behind) {
            self.consider_growth(core, array, hash);
        }
        if core.load_uncharged(&self.growth) != 0 {
            self.help(core, &key_of);
        }
        added.map(|_| found.map_or(Ok(()), Err))
    }

    /// Removes the record `offset` of `key`. A session that found it before can still be using it. Returns false if
    /// the record was not in the index.
    pub fn remove(&self, core: &M::Core, key: u64, offset: u64) -> bool {
        let hash = hash(key);
        let (_, first) = self.latch(core, hash);
        let mut bucket = first;
        let removed = loop {
            let entry = slot_of(hash, offset);
            if let Some(slot) =
                bucket.slots().iter().find(|slot| core.load_relaxed(&bucket.line, slot) == entry)
            {
                core.store(&bucket.line, slot, 0);
                break true;
            }
            match core.load_relaxed(&bucket.line, &bucket.header) & !FLAGS {
                0 => break false,
                next => bucket = self.bucket_at(next),
            }
        };
        self.unlatch(core, first);
        removed
    }

    /// Calls `visit` with the offsets of the records in `count` buckets of the current array, from the bucket of the
    /// hash `first` on. Returns the first hash of the next bucket, if there is one.
    ///
    /// A walk begins with hash 0. Positions are hashes, so a walk can continue in a larger array: the first hash of a
    /// bucket is also the first hash of a bucket of every later array. So a record that is in the index during the
    /// whole walk is met exactly once, in the piece to which its hash belongs.
    pub fn walk(
        &self,
        core: &M::Core,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(u64),
    ) -> Option<u64> {
        let array = self.current(core);
        let number = first >> array.shift();
        let end = (number + count).min(array.count());
        (number..end).for_each(|number| self.walk_bucket(core, array, number, visit));
        (end < array.count()).then(|| end << array.shift())
    }

    /// Calls `visit` with the offsets of the records in one bucket, or in the two that it has become.
    fn walk_bucket(&self, core: &M::Core, array: Array, number: u64, visit: &mut dyn FnMut(u64)) {
        let mut bucket = self.bucket(array, number);
        let mut header = core.load(&bucket.line, &bucket.header);
        if header & MOVED != 0 {
            let next = array.next(header);
            self.walk_bucket(core, next, number * 2, visit);
            return self.walk_bucket(core, next, number * 2 + 1, visit);
        }
        loop {
            for slot in bucket.slots() {
                let entry = core.load(&bucket.line, slot);
                if entry != 0 {
                    visit(entry & OFFSET_MASK);
                }
            }
            if header & !FLAGS == 0 {
                return;
            }
            bucket = self.bucket_at(header & !FLAGS);
            header = core.load(&bucket.line, &bucket.header);
        }
    }

    /// Stores `entry` in a free slot of the chain of `first`. Other sessions do not change the chain meanwhile.
    fn add(&self, core: &M::Core, first: &Bucket<M>, entry: u64) -> Result<Added, OutOfMemory> {
        let (bucket, slot, added) = self.free_slot(core, first)?;
        core.store(&bucket.line, slot, entry);
        Ok(added)
    }

    /// Returns a free slot of the chain of `first`, with its bucket, and whether the bucket was made for it. Other sessions do not change
    /// the chain meanwhile.
    #[inline(always)]
    fn free_slot<'a>(
        &'a self,
        core: &M::Core,
        first: &'a Bucket<M>,
    ) -> Result<(&'a Bucket<M>, &'a Word, Added), OutOfMemory> {
        let (mut bucket, mut added) = (first, Added::Beside);
        loop {
            if let Some(slot) =
                bucket.slots().iter().find(|slot| core.load_relaxed(&bucket.line, slot) == 0)
            {
                return Ok((bucket, slot, added));
            }
            let header = core.load_relaxed(&bucket.line, &bucket.header);
            bucket = match header & !FLAGS {
                0 => {
                    let offset = self.arena.allocate(Bucket::<M>::BYTES, 64, Place::Any)?;
                    // The bucket is linked while it is still empty: readers find nothing in it until the entry is
                    // stored.
                    core.store(&bucket.line, &bucket.header, header | offset);
                    added = Added::Behind;
                    self.bucket_at(offset)
                }
                next => self.bucket_at(next),
            };
        }
    }

    /// Latches the bucket of `hash`, and returns it with its array. The bucket has not moved, and it cannot move before
    /// it is unlatched.
    fn latch(&self, core: &M::Core, hash: u64) -> (Array, &Bucket<M>) {
        let mut array = self.current(core);
        let mut bucket = self.bucket_in(array, hash);
        loop {
            let header =
                core.wait_while(&bucket.line, &bucket.header, |header| header & LATCHED != 0);
            if header & MOVED != 0 {
                array = array.next(header);
                bucket = self.bucket_in(array, hash);
            } else if core.cas(&bucket.line, &bucket.header, header, header | LATCHED).is_ok() {
                return (array, bucket);
            }
        }
    }

    fn unlatch(&self, core: &M::Core, bucket: &Bucket<M>) {
        let header = core.load_relaxed(&bucket.line, &bucket.header);
        core.store(&bucket.line, &bucket.header, header & !LATCHED);
        core.wake(&bucket.line, &bucket.header);
    }
}

/// Place where an entry was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    /// A slot that its chain had.
    Beside,
    /// A slot of an overflow bucket that was made for it.
    Behind,
}
