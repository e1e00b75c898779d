//! Growth of a hash index: how a growth starts, how buckets move, and how it ends. The page of the module above says
//! why readers miss nothing meanwhile.
//!
//! Every session that inserts while the index grows moves a few buckets. It takes numbers of buckets from a counter, so
//! sessions move different buckets. The counter goes round: a bucket that could not be moved (another session held its
//! latch, or memory was exhausted) is tried again in the next round. A session never waits for a latch in order to move
//! a bucket. So a session that stalls while it moves a bucket holds up only those who need this bucket's latch, and
//! the end of the growth.
//!
//! An entry says only 16 bits of its hash, so the key of its record is read to find out in which of the two buckets it
//! belongs. A row's key is read once for each growth. As arrays double, this is about one read for each row that is
//! inserted.
//!
//! A growth does not start if it would take more than half of the memory that is left, and the insert continues in the
//! old array: chains become longer. Another attempt follows after some more overflow buckets. So the last memory is for
//! rows, and a growth that has started usually finds memory for the overflow buckets of the new array. A bucket for
//! which there is none stays where it is.

use super::{
    Array, Bucket, FLAGS, HashIndex, LATCHED, LEAST_BUCKETS, MOVED, OFFSET_MASK, SLOTS, hash,
    slot_of,
};
use crate::faults;
use machine::{Core, Machine, OutOfMemory, Place, Word, Zeroed};

/// Number of buckets that a session tries to move at each insert.
const STRIDE: u64 = 4;
/// An index grows if two buckets have more rows than this on average. In a table that has as many rows as it is sized
/// for they have eight at most.
const MOST_ROWS_OF_TWO: u64 = 12;
/// The same on machines that keep structures small.
const MOST_ROWS_OF_TWO_IN_MINIATURE: u64 = 1;
/// Numbers of buckets whose rows are counted to estimate the average, one after the other. A few crowded buckets side
/// by side are not rare in a large table: sixteen buckets that hold four rows on average hold more than 96 rows once in
/// ten thousand samples. With 128 buckets such a chance is beyond eleven standard deviations.
const SAMPLES: [u64; 2] = [16, 128];
/// Number of overflow buckets that are made between two attempts to grow when memory is exhausted.
const PAUSE: u64 = 64;

/// State of one growth. It is never reused, so a session that is late finds an old growth as it was left.
#[repr(C, align(64))]
struct Growth<M: Machine> {
    line: M::Line,
    /// The array whose buckets move. It does not change.
    from: Word,
    /// The array into which they move. It does not change.
    to: Word,
    /// Number of the next bucket to move, modulo the number of buckets.
    next: Word,
    /// Number of buckets that have moved.
    moved: Word,
}

// SAFETY: the type consists of a line and words, and zeros are valid for all of them.
unsafe impl<M: Machine> Zeroed for Growth<M> {}

/// Permission to start a growth. One session at a time has it, and no session waits for it.
#[derive(Default)]
pub(super) struct Start {
    taken: Word,
    /// Number of overflow buckets before the next attempt. Only the session that has the permission uses it.
    pause: Word,
}

impl<M: Machine> HashIndex<M> {
    fn growth_at(&self, offset: u64) -> &Growth<M> {
        // SAFETY: the offset is that of a growth, which `prepare_growth` has allocated.
        unsafe { self.arena.at::<Growth<M>>(offset) }
    }

    /// Starts a growth if `array`, to a chain of which an overflow bucket was added, is the current one and crowded
    /// around the bucket of `hash`.
    #[cold]
    pub(super) fn consider_growth(&self, core: &M::Core, array: Array, hash: u64) {
        if !self.start.taken.take() {
            return;
        }
        // The growth is looked at first. If the growth that has just ended was that of `array`, then `current` names
        // another array by now: it was stored before the growth was. No other growth can begin here meanwhile.
        if core.load_uncharged(&self.growth) == 0 && self.current(core) == array {
            self.try_start(core, array, hash);
        }
        self.start.taken.give_back();
    }

    fn try_start(&self, core: &M::Core, array: Array, hash: u64) {
        let pause = self.start.pause.peek();
        if pause > 0 {
            return self.start.pause.poke(pause - 1);
        }
        // Counting is not charged. It belongs to a bucket that is made, which happens seldom, and a table that does not
        // grow should cost what it has always cost.
        let rows = |bucket: &Bucket<M>| {
            let entries = bucket.slots().iter().filter(|slot| core.load_uncharged(slot) != 0);
            (entries.count() as u64, core.load_uncharged(&bucket.header) & !FLAGS)
        };
        if !self.is_crowded(array, hash, rows) {
            return;
        }
        match self.prepare_growth(array) {
            Ok(offset) => core.store(&self.growth_at(offset).line, &self.growth, offset),
            Err(OutOfMemory { .. }) => self.start.pause.poke(PAUSE),
        }
    }

    /// Returns true if the buckets around that of `hash` have too many rows. `rows` returns the number of entries of a
    /// bucket, and the offset of the bucket behind it.
    fn is_crowded(&self, array: Array, hash: u64, rows: impl Fn(&Bucket<M>) -> (u64, u64)) -> bool {
        let most = if M::MINIATURE { MOST_ROWS_OF_TWO_IN_MINIATURE } else { MOST_ROWS_OF_TWO };
        SAMPLES.iter().all(|sample| {
            let sample = array.count().min(*sample);
            let first = (hash >> array.shift()) / sample * sample;
            let mut entries = 0;
            for number in first..first + sample {
                let mut bucket = self.bucket(array, number);
                loop {
                    let (more, next) = rows(bucket);
                    entries += more;
                    if next == 0 {
                        break;
                    }
                    bucket = self.bucket_at(next);
                }
            }
            entries * 2 > most * sample
        })
    }

    /// Allocates the state of a growth of `from`, and the array into which its buckets move.
    fn prepare_growth(&self, from: Array) -> Result<u64, OutOfMemory> {
        let (asked, left) = (from.count() * 2 * Bucket::<M>::BYTES, self.arena.left());
        if asked > left / 2 {
            return Err(OutOfMemory { asked, left });
        }
        let to = Self::array_of(&self.arena, from.count() * 2)?;
        let offset = self.arena.allocate(size_of::<Growth<M>>() as u64, 64, Place::Any)?;
        let growth = self.growth_at(offset);
        growth.from.poke(from.0);
        growth.to.poke(to.0);
        Ok(offset)
    }

    /// Moves a few buckets, if the index still grows. Ends the growth if they were the last.
    #[cold]
    pub(super) fn help(&self, core: &M::Core, key_of: &dyn Fn(u64) -> u64) {
        let offset = core.load_uncharged(&self.growth);
        if offset == 0 {
            return;
        }
        let growth = self.growth_at(offset);
        let line = &growth.line;
        let from = Array(core.load_const(line, &growth.from));
        let to = Array(core.load_const(line, &growth.to));
        let stride = if M::MINIATURE { 1 } else { STRIDE };
        let first = core.fetch_add(line, &growth.next, stride);
        let numbers = (first..first + stride).map(|number| number % from.count());
        let moved = numbers.filter(|number| self.try_move(core, (from, to), *number, key_of));
        let moved = moved.count() as u64;
        // The count acquires and releases, so whoever counts the last bucket has seen all moves.
        if moved > 0 && core.fetch_add(line, &growth.moved, moved) + moved == from.count() {
            core.store(line, &self.current, to.0);
            core.store(line, &self.growth, 0);
        }
    }

    /// Moves bucket number `number`. Returns false if it has moved before, if another session has its latch, or if
    /// there is no memory.
    fn try_move(
        &self,
        core: &M::Core,
        (from, to): (Array, Array),
        number: u64,
        key_of: &dyn Fn(u64) -> u64,
    ) -> bool {
        let old = self.bucket(from, number);
        let header = core.load(&old.line, &old.header);
        if header & (MOVED | LATCHED) != 0
            || core.cas(&old.line, &old.header, header, header | LATCHED).is_err()
        {
            return false;
        }
        if core.is_planted(faults::MOVED_BEFORE_COPIED) {
            core.store(&old.line, &old.header, to.offset() | MOVED);
        }
        let copied = self.copy(core, (old, header), to, key_of);
        if copied.is_err() {
            // The mover removes its copies. No reader can have seen them. The next attempt begins with empty buckets.
            self.empty(core, self.bucket(to, number * 2));
            self.empty(core, self.bucket(to, number * 2 + 1));
        }
        let after = if copied.is_ok() { to.offset() | MOVED } else { header };
        core.store(&old.line, &old.header, after);
        core.wake(&old.line, &old.header);
        copied.is_ok()
    }

    /// Copies the entries of the chain of `old`, which is latched and had `header`, to their buckets in `to`.
    fn copy(
        &self,
        core: &M::Core,
        (old, header): (&Bucket<M>, u64),
        to: Array,
        key_of: &dyn Fn(u64) -> u64,
    ) -> Result<(), OutOfMemory> {
        let (mut bucket, mut next) = (old, header & !FLAGS);
        loop {
            let mut entries = [0; SLOTS];
            for (entry, slot) in entries.iter_mut().zip(bucket.slots()) {
                *entry = core.load_relaxed(&bucket.line, slot);
                // The records' lines are all fetched at the same time.
                if *entry != 0 {
                    core.prefetch(self.arena.address(*entry & OFFSET_MASK), size_of::<u64>());
                }
            }
            for entry in entries.into_iter().filter(|entry| *entry != 0) {
                let hash = hash(key_of(entry & OFFSET_MASK));
                self.add(core, self.bucket_in(to, hash), entry)?;
            }
            if next == 0 {
                return Ok(());
            }
            bucket = self.bucket_at(next);
            next = core.load_relaxed(&bucket.line, &bucket.header) & !FLAGS;
        }
    }

    /// Empties all slots of a chain that no other session can reach.
    fn empty(&self, core: &M::Core, first: &Bucket<M>) {
        let mut bucket = first;
        loop {
            bucket.slots().iter().for_each(|slot| core.store_relaxed(&bucket.line, slot, 0));
            match core.load_relaxed(&bucket.line, &bucket.header) & !FLAGS {
                0 => return,
                next => bucket = self.bucket_at(next),
            }
        }
    }

    /// Like [`HashIndex::insert`] of a key that is not in the index, without a core. No other thread runs. `key_of`
    /// returns the key of the record at an offset. A growth that begins here also ends here.
    pub fn insert_alone(
        &self,
        key: u64,
        offset: u64,
        key_of: impl Fn(u64) -> u64,
    ) -> Result<(), OutOfMemory> {
        let hash = hash(key);
        let mut array = Array(self.current.peek());
        loop {
            let header = self.bucket_in(array, hash).header.peek();
            if header & MOVED == 0 {
                break;
            }
            array = array.next(header);
        }
        let longer = self.add_alone(array, hash, slot_of(hash, offset))?;
        let rows = |bucket: &Bucket<M>| {
            let entries = bucket.slots().iter().filter(|slot| slot.peek() != 0);
            (entries.count() as u64, bucket.header.peek() & !FLAGS)
        };
        if longer && self.growth.peek() == 0 && self.is_crowded(array, hash, rows) {
            // Without memory the index stays as it is.
            self.grow_alone(array, key_of).unwrap_or(());
        }
        Ok(())
    }

    /// Adds an entry to its bucket in `array`. Returns true if its chain has become longer.
    fn add_alone(&self, array: Array, hash: u64, entry: u64) -> Result<bool, OutOfMemory> {
        let mut bucket = self.bucket_in(array, hash);
        let mut longer = false;
        loop {
            if let Some(slot) = bucket.slots().iter().find(|slot| slot.peek() == 0) {
                slot.poke(entry);
                return Ok(longer);
            }
            if bucket.header.peek() == 0 {
                bucket.header.poke(self.arena.allocate(Bucket::<M>::BYTES, 64, Place::Any)?);
                longer = true;
            }
            bucket = self.bucket_at(bucket.header.peek());
        }
    }

    /// Copies all entries into an array of twice as many buckets, which then is the current one.
    fn grow_alone(&self, from: Array, key_of: impl Fn(u64) -> u64) -> Result<(), OutOfMemory> {
        let to = Self::array_of(&self.arena, from.count() * 2)?;
        for number in 0..from.count() {
            let mut at = from.offset() + number * Bucket::<M>::BYTES;
            while at != 0 {
                let bucket = self.bucket_at(at);
                for entry in bucket.slots().iter().map(Word::peek).filter(|entry| *entry != 0) {
                    self.add_alone(to, hash(key_of(entry & OFFSET_MASK)), entry)?;
                }
                at = bucket.header.peek();
            }
        }
        self.current.poke(to.0);
        Ok(())
    }
}

/// A growth needs an array whose hashes still have a bit to tell buckets apart.
const _: () = assert!(LEAST_BUCKETS >= 2, "a shift of 64 does not fit into an array's name");
