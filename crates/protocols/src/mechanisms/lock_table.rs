//! Locks in tables instead of in their records. This is the lock manager of the textbooks, kept for comparison.
//!
//! Source: Gray and Reuter 1993, 8.4 (a hash table of lock heads, latched bucket by bucket); Abyss 3.1 and 4.1
//! (the test-bed can run with a partitioned or with a centralized lock manager; one lock in each tuple is what
//! scales). There is one table for all records, or one for each partition.
//!
//! **Structure.** A bucket has a latch and a chain of entries. Its first entry lies in the bucket itself:
//!
//! ```text
//! table:  | bucket | bucket | bucket | ...
//!             |
//!          first entry (with the latch) -> entry -> entry
//! ```
//!
//! **Invariant.** An entry belongs to the record that its name names for as long as a transaction owns its lock or
//! waits for it. Otherwise it belongs to no record. So records in the same bucket share a latch but never a lock:
//!
//! - A transaction cannot conflict with itself because of two records in one bucket.
//! - The lock of a record that no other transaction can know of yet is free, as it is where locks lie in the records.
//!
//! A chain grows by an entry when more locks than ever before are held in its bucket at one time. Entries stay.
//! The guards of ranges lock like records. They have no key, so all of them are in the first partition's table.
//!
//! A record is named by its offset. This name is unique: all tables lie in one arena, and a slot is reused only when no
//! transaction is left that could lock its old record.

use super::{
    lock_queue::{Latched, LockPlace, LockQueue},
    queue_latch::Latcher,
};
use crate::{LockPlacement, ProtocolOptions, faults};
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;
use storage::RecordRef;

/// Number of buckets of all tables together, if no number is asked for. They take a million bytes.
const BUCKETS: u64 = 16_384;
/// The same number where structures are kept small, so that records share buckets.
const FEW_BUCKETS: u64 = 3;

/// A lock in a table. The first entry of a bucket carries the bucket's latch.
#[repr(C, align(64))]
struct Entry<M: Machine> {
    /// Cache line of these words.
    line: M::Line,
    /// The lock. Its latch word is used in the first entry of a bucket only.
    queue: LockQueue,
    /// Offset of the record whose lock this is; 0 for none. Not 0 while the lock is owned or awaited.
    name: Word,
    /// Offset of the next entry in the bucket's chain; 0 at its end.
    next: Word,
}

// SAFETY: `Entry` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Entry<M> {}

/// Tables of locks, one behind the other in the arena.
pub struct LockTables<M: Machine> {
    /// The arena that holds the tables.
    arena: Arc<Arena>,
    /// Offset of the first bucket of the first table.
    first: u64,
    /// Number of tables: 1, or one for each partition.
    tables: u64,
    /// Number of buckets in each table.
    buckets: u64,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> LockTables<M> {
    #[inline(always)]
    fn at(&self, entry: u64) -> &Entry<M> {
        // SAFETY: each offset of a bucket or in a chain is that of an entry that `new` or `extend` has placed.
        unsafe { self.arena.at::<Entry<M>>(entry) }
    }

    fn table_of(&self, core: &M::Core, record: &RecordRef<'_, M, ()>) -> u64 {
        if self.tables == 1 || record.is_guard() {
            return 0;
        }
        let partitioning = &record.table().schema().partitioning;
        partitioning.of(record.key(core)).map_or(0, |partition| partition % self.tables)
    }

    fn bucket_of(&self, core: &M::Core, record: &RecordRef<'_, M, ()>) -> u64 {
        // Fibonacci hashing: takes the high bits, scaled to the number of buckets.
        let spread = (record.name().offset >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let bucket = ((u128::from(spread) * u128::from(self.buckets)) >> 64) as u64;
        let bucket = self.table_of(core, record) * self.buckets + bucket;
        self.first + bucket * size_of::<Entry<M>>() as u64
    }

    /// Returns the record's entry in the chain of a latched bucket. If the record has none, gives it a free entry.
    fn entry_of(&self, core: &M::Core, bucket: u64, name: u64) -> Result<u64, OutOfMemory> {
        let (mut at, mut free) = (bucket, None);
        while at != 0 {
            let entry = self.at(at);
            let owner = core.load_relaxed(&entry.line, &entry.name);
            let shares = owner != 0 && core.is_planted(faults::LOCK_TABLE_WITHOUT_NAMES);
            if owner == name || shares {
                return Ok(at);
            }
            if owner == 0 && free.is_none() {
                free = Some(at);
            }
            at = core.load_relaxed(&entry.line, &entry.next);
        }
        let offset = match free {
            Some(offset) => offset,
            None => self.extend(core, bucket)?,
        };
        core.store_relaxed(&self.at(offset).line, &self.at(offset).name, name);
        Ok(offset)
    }

    /// Adds an entry to the bucket's chain, behind the first one.
    #[cold]
    fn extend(&self, core: &M::Core, bucket: u64) -> Result<u64, OutOfMemory> {
        let offset = self.arena.allocate(size_of::<Entry<M>>() as u64, 64, Place::Any)?;
        let (bucket, entry) = (self.at(bucket), self.at(offset));
        let second = core.load_relaxed(&bucket.line, &bucket.next);
        core.store_relaxed(&entry.line, &entry.next, second);
        core.store_relaxed(&bucket.line, &bucket.next, offset);
        Ok(offset)
    }
}

impl<M: Machine> LockPlace<M> for LockTables<M> {
    const IN_TABLES: bool = true;
    type Words = ();

    fn new(arena: &Arc<Arena>, options: &ProtocolOptions) -> Result<Self, OutOfMemory> {
        let tables = match options.locks {
            LockPlacement::Partition => options.partitions.unwrap_or(1).max(1),
            LockPlacement::Central | LockPlacement::Record => 1,
        };
        let usual = if M::MINIATURE { FEW_BUCKETS } else { BUCKETS };
        let buckets = options.lock_buckets.unwrap_or(usual).div_ceil(tables);
        let bytes = tables * buckets * size_of::<Entry<M>>() as u64;
        let first = arena.allocate(bytes, 64, Place::Any)?;
        Ok(LockTables { arena: arena.clone(), first, tables, buckets, machine: PhantomData })
    }

    fn latch<'a>(
        &'a self,
        core: &M::Core,
        latcher: &Latcher<M>,
        record: &RecordRef<'a, M, ()>,
    ) -> Result<Latched<'a, M>, OutOfMemory> {
        let bucket = self.bucket_of(core, record);
        let first = self.at(bucket);
        latcher.latch(core, &first.line, &first.queue.latch);
        match self.entry_of(core, bucket, record.name().offset) {
            Ok(offset) => {
                let Entry { line, queue, .. } = self.at(offset);
                Ok(Latched { line, queue, at: (bucket, offset) })
            }
            Err(exhausted) => {
                latcher.unlatch(core, &first.line, &first.queue.latch);
                Err(exhausted)
            }
        }
    }

    fn unlatch(&self, core: &M::Core, latcher: &Latcher<M>, lock: Latched<'_, M>) {
        let Latched { line, queue, at: (bucket, offset) } = lock;
        let is_free = core.load_relaxed(line, &queue.owners) == 0
            && core.load_relaxed(line, &queue.waiters) == 0;
        if is_free {
            core.store_relaxed(line, &self.at(offset).name, 0);
        }
        let first = self.at(bucket);
        latcher.unlatch(core, &first.line, &first.queue.latch);
    }
}
