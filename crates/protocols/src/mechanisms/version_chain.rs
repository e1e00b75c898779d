//! Chains of a row's versions, newest first.
//!
//! ```text
//! record (newest version) -> version -> version -> ... (oldest)
//! ```
//!
//! The newest version is the record itself. So a transaction that reads the present finds it where
//! a single-version protocol keeps it.
//!
//! A write saves the columns that it is about to overwrite, and the row's state, in a slot. An
//! older version then consists of the columns in its own slot, and of the next newer version's
//! values for the other columns. So a version costs as much as its write changed, which can be less
//! than the row. Slots are laid out like records of the same table, but no index leads to them, and
//! they are never used as records.
//!
//! Invariants:
//!
//! - Chains are read and changed only under the record's latch.
//! - The versions in a chain are in the order of their writers' timestamps, the latest first.
//!   An undecided writer counts as later than every timestamp.
//!
//! A version is removed when no transaction can read it any more, also from the middle of a chain.
//! Columns that it held for older versions are handed down to the next older one.
//! [`super::active_timestamps`] knows which transactions could read a version. Epochs are not used
//! for this, because one long reader would keep all of them from ending.

use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Mutex};
use storage::{RecordRef, RowHead, RowState};
use txn::{ColumnSet, TableId};

/// The words of a version's place in its chain, a part of its protocol's words.
#[repr(C)]
pub struct Chain {
    /// Timestamp of the version's writer; 0 for the loader.
    pub wts: Word,
    /// Offset of the next older version; 0 if there is none.
    older: Word,
    /// In a record: the number of older versions. In an older version: the set of columns that it
    /// holds.
    extent: Word,
}

// SAFETY: words.
unsafe impl Zeroed for Chain {}

/// A protocol's words in a record that has older versions.
pub trait Versioned: Zeroed + Send + Sync + 'static {
    /// Returns the record's place in the chain.
    fn chain(&self) -> &Chain;
    /// Returns the latch under which its chain changes, a [`super::queue_latch`].
    fn latch(&self) -> &Word;
}

/// Returns the timestamp of the version's writer.
#[inline(always)]
pub fn wts<M: Machine, C: Versioned>(core: &M::Core, version: &RecordRef<'_, M, C>) -> u64 {
    core.load_relaxed(version.line(), &version.cc().chain().wts)
}

/// Returns the number of versions that are older than the record itself.
#[inline(always)]
pub fn length<M: Machine, C: Versioned>(core: &M::Core, record: &RecordRef<'_, M, C>) -> u64 {
    core.load_relaxed(record.line(), &record.cc().chain().extent)
}

/// Returns the columns that an older version holds.
fn held<M: Machine, C: Versioned>(core: &M::Core, version: &RecordRef<'_, M, C>) -> ColumnSet {
    ColumnSet(core.load_relaxed(version.line(), &version.cc().chain().extent))
}

/// Returns the next older version, if there is one. Called with the record latched.
pub fn older<'s, M: Machine, C: Versioned>(
    core: &M::Core,
    version: &RecordRef<'s, M, C>,
) -> Option<RecordRef<'s, M, C>> {
    let offset = core.load_relaxed(version.line(), &version.cc().chain().older);
    // SAFETY: offsets in chains are those of slots that `VersionSlots::take` made for this table.
    (offset != 0).then(|| unsafe { version.slot_at(offset) })
}

/// Makes the version at offset `to` the next older one of `from`.
fn link<M: Machine, C: Versioned>(core: &M::Core, from: &RecordRef<'_, M, C>, to: u64) {
    core.store_relaxed(from.line(), &from.cc().chain().older, to);
}

/// Copies `columns` of the version that a transaction with this timestamp sees into `out`. None if
/// no version is old enough. Called with the record latched.
#[inline(always)]
pub fn read<M: Machine, C: Versioned>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    timestamp: u64,
    columns: ColumnSet,
    out: &mut [u8],
) -> Option<RowHead> {
    if wts(core, record) <= timestamp {
        return Some(record.copy_out(core, columns, out));
    }
    read_older(core, record, timestamp, columns, out)
}

/// Does the same as [`read`], where the newest version is too new.
#[inline(never)]
pub fn read_older<M: Machine, C: Versioned>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    timestamp: u64,
    columns: ColumnSet,
    out: &mut [u8],
) -> Option<RowHead> {
    let mut version = older(core, record)?;
    while wts(core, &version) > timestamp {
        version = older(core, &version)?;
    }
    Some(copy_version(core, record, &version, columns, out))
}

/// Copies `columns` of a version in the record's chain into `out`. Called with the record latched.
#[inline(always)]
pub fn copy_version<M: Machine, C: Versioned>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    version: &RecordRef<'_, M, C>,
    columns: ColumnSet,
    out: &mut [u8],
) -> RowHead {
    let head = version.head(core);
    if head.state.is_present() {
        // Go from the newest version down to this one. Each step undoes what the next newer version
        // changed.
        record.copy_held(core, columns, columns, out);
        let mut at = *record;
        while at.identity() != version.identity() {
            at = older(core, &at).expect("the version is in the chain");
            at.copy_held(core, columns, held(core, &at), out);
        }
    }
    head
}

/// Returns the version that a transaction with this timestamp sees, and the timestamp at which it
/// was superseded (`u64::MAX` for the newest). None if no version is old enough. If unreadable
/// versions were removed above it, the returned timestamp can be later than the real one. Called
/// with the record latched.
pub fn seen_at<'s, M: Machine, C: Versioned>(
    core: &M::Core,
    record: &RecordRef<'s, M, C>,
    timestamp: u64,
) -> Option<(RecordRef<'s, M, C>, u64)> {
    let (mut version, mut superseded) = (*record, u64::MAX);
    loop {
        let written = wts(core, &version);
        if written <= timestamp {
            return Some((version, superseded));
        }
        superseded = written;
        version = older(core, &version)?;
    }
}

/// Hands `columns` of `from` down to an older version, except those that it holds itself.
fn hand_down<M: Machine, C: Versioned>(
    core: &M::Core,
    from: &RecordRef<'_, M, C>,
    columns: ColumnSet,
    to: &RecordRef<'_, M, C>,
) {
    let has = held(core, to);
    let missing = ColumnSet(columns.0 & !has.0);
    if !missing.is_empty() {
        from.copy_columns_to(core, to, missing);
        core.store_relaxed(to.line(), &to.cc().chain().extent, has.with(missing).0);
    }
}

/// Saves the newest version in `slot`, because `columns` of it are about to be overwritten. Without
/// a slot that version is lost, and only older ones are kept. Called with the record latched.
pub fn supersede<M: Machine, C: Versioned>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    columns: ColumnSet,
    slot: Option<&RecordRef<'_, M, C>>,
) {
    let next = older(core, record);
    let Some(slot) = slot else {
        if let Some(next) = next {
            hand_down(core, record, columns, &next);
        }
        return;
    };
    let (line, from, to) = (record.line(), record.cc().chain(), slot.cc().chain());
    record.copy_head_to(core, slot);
    // No transaction reads a column of an absent row that has no history.
    let nothing = next.is_none() && record.head(core).state == RowState::ABSENT;
    let columns = if nothing { ColumnSet::NONE } else { columns };
    record.copy_columns_to(core, slot, columns);
    core.store_relaxed(slot.line(), &to.extent, columns.0);
    core.store_relaxed(slot.line(), &to.wts, core.load_relaxed(line, &from.wts));
    link(core, slot, next.map_or(0, |next| next.name().offset));
    link(core, record, slot.name().offset);
    core.store_relaxed(line, &from.extent, core.load_relaxed(line, &from.extent) + 1);
}

/// Undoes the last [`supersede`] with a slot: the record becomes again what the slot holds. Returns
/// the slot, to which nothing refers any more. Called with the record latched.
pub fn restore<'s, M: Machine, C: Versioned>(
    core: &M::Core,
    record: &RecordRef<'s, M, C>,
) -> RecordRef<'s, M, C> {
    let slot = older(core, record).expect("it has been superseded");
    let (line, to) = (record.line(), record.cc().chain());
    if !core.is_planted(faults::RESTORES_VERSIONS_ALONE) {
        slot.copy_columns_to(core, record, held(core, &slot));
    }
    slot.copy_head_to(core, record);
    core.store_relaxed(line, &to.wts, wts(core, &slot));
    core.wake(line, &to.wts);
    link(core, record, older(core, &slot).map_or(0, |next| next.name().offset));
    core.store_relaxed(line, &to.extent, core.load_relaxed(line, &to.extent) - 1);
    slot
}

/// Removes the versions that no transaction can read, wherever in the chain they are. `needed`
/// tells this from the times between which a version was the newest. Removed versions are put into
/// `gone`, which must be empty before. Returns true if the version written at `of` stays. Called
/// with the record latched.
pub fn prune<'s, M: Machine, C: Versioned>(
    core: &M::Core,
    record: &RecordRef<'s, M, C>,
    needed: impl Fn(u64, u64) -> bool,
    of: u64,
    gone: &mut Vec<RecordRef<'s, M, C>>,
) -> bool {
    let (mut newer, mut end) = (*record, wts(core, record));
    let mut at = older(core, record);
    let (mut found, mut first) = (false, 0);
    while let Some(version) = at {
        let begin = wts(core, &version);
        at = older(core, &version);
        // If a version was removed between two others, the lower one seems to last longer than it
        // does. No transaction reads at a time in between, because then the removed version would
        // have stayed.
        if needed(begin, end) {
            found |= begin == of;
            if first < gone.len() {
                for from in gone[first..].iter().rev() {
                    hand_down(core, from, held(core, from), &version);
                }
                link(core, &newer, version.name().offset);
                first = gone.len();
            }
            newer = version;
        } else {
            gone.push(version);
        }
        end = begin;
    }
    if first < gone.len() {
        link(core, &newer, 0);
    }
    if !gone.is_empty() {
        let extent = &record.cc().chain().extent;
        let length = core.load_relaxed(record.line(), extent);
        core.store_relaxed(record.line(), extent, length - gone.len() as u64);
    }
    found
}

/// Number of slots that a session takes from the arena at a time, unless rows are very long.
const SLOTS_PER_CHUNK: u64 = 16;
/// Number of free slots of a table that a session keeps to itself. Further ones go to the pool, for
/// the sessions that write the rows whose versions this session collects.
const KEPT_SLOTS: usize = 64;

/// Free slots that belong to no session, by table.
#[derive(Default)]
pub struct VersionPool {
    surplus: Mutex<Vec<Vec<u64>>>,
}

/// One session's free slots, by table.
pub struct VersionSlots<'s> {
    pool: &'s VersionPool,
    free: Vec<Vec<u64>>,
    /// Place of fresh slots.
    place: Place,
}

impl<'s> VersionSlots<'s> {
    /// Creates an empty list of free slots. Fresh ones are placed at `place`.
    pub fn of(pool: &'s VersionPool, place: Place) -> VersionSlots<'s> {
        VersionSlots { pool, free: Vec::new(), place }
    }

    #[inline]
    fn list(lists: &mut Vec<Vec<u64>>, at: usize) -> &mut Vec<u64> {
        if lists.len() <= at {
            Self::add_lists(lists, at + 1);
        }
        &mut lists[at]
    }

    #[cold]
    fn add_lists(lists: &mut Vec<Vec<u64>>, count: usize) {
        lists.resize_with(count, Vec::new);
    }

    /// Takes a slot for an older version of `record`.
    #[inline]
    pub fn take<M: Machine, C: Zeroed + Send + Sync + 'static>(
        &mut self,
        record: &RecordRef<'s, M, C>,
    ) -> Result<RecordRef<'s, M, C>, OutOfMemory> {
        let table = record.table();
        let at = table.id().0 as usize;
        let offset = match Self::list(&mut self.free, at).pop() {
            Some(offset) => offset,
            None => self.fetch(at, table.stride(), table.arena())?,
        };
        // SAFETY: a slot of this table: `fetch` took it with its stride, `give` took it back under
        // its number.
        Ok(unsafe { record.slot_at(offset) })
    }

    /// Fetches slots from the pool, or fresh ones from the arena. Returns one of them; the others
    /// become free slots.
    #[cold]
    fn fetch(&mut self, at: usize, stride: u64, arena: &Arena) -> Result<u64, OutOfMemory> {
        let mut surplus = self.pool.surplus.lock();
        let others = Self::list(&mut surplus, at);
        let free = &mut self.free[at];
        free.extend(others.drain(others.len().saturating_sub(SLOTS_PER_CHUNK as usize)..));
        if free.is_empty() {
            let slots = SLOTS_PER_CHUNK.min((1 << 20) / stride).max(1);
            let first = arena.allocate(slots * stride, 64, self.place)?;
            free.extend((0..slots).rev().map(|i| first + i * stride));
        }
        Ok(free.pop().expect("filled above"))
    }

    /// Forgets the slots of table number `table`, also those in the pool. They go with the table's memory.
    pub fn forget_table(&mut self, table: TableId) {
        // The second parts of rows have numbers of their own.
        let numbers = [usize::from(table.0), usize::from(table.0) + storage::MAX_TABLES];
        let mut surplus = self.pool.surplus.lock();
        for lists in [&mut self.free, &mut *surplus] {
            for at in numbers {
                if let Some(list) = lists.get_mut(at) {
                    list.clear();
                }
            }
        }
    }

    /// Takes back a slot to which nothing refers any more.
    #[inline]
    pub fn give<M: Machine, C: Zeroed + Send + Sync + 'static>(
        &mut self,
        slot: &RecordRef<'s, M, C>,
    ) {
        let at = slot.table().id().0 as usize;
        let free = Self::list(&mut self.free, at);
        free.push(slot.name().offset);
        if free.len() > 2 * KEPT_SLOTS {
            let surplus = free.split_off(KEPT_SLOTS);
            Self::list(&mut self.pool.surplus.lock(), at).extend(surplus);
        }
    }
}

impl Drop for VersionSlots<'_> {
    fn drop(&mut self) {
        let mut surplus = self.pool.surplus.lock();
        for (at, free) in self.free.iter_mut().enumerate() {
            Self::list(&mut surplus, at).append(free);
        }
    }
}
