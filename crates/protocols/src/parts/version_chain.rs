//! Older versions of a row, newest first.
//!
//! ```text
//! record (newest version) -> version -> version -> ... (oldest)
//! ```
//!
//! The newest version is the record itself, so whoever reads the present finds it where a single-version
//! protocol has it. A write saves the columns that it is about to overwrite, and the row's state, in a slot. An
//! older version is then what its own slot holds, and for the other columns what the next newer one has; so a
//! version costs what its write changed, not the row. Slots are laid out like records of the same table, but
//! no index leads to them, and they are never used as records.
//!
//! Chains are read and changed under the record's latch. A version goes when nobody can read it any more,
//! from the middle of a chain too; what it held for older ones is handed down. Who could read it is for
//! [`super::active_timestamps`] to say, and not for epochs: one long reader would keep all of them from ending.

use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Mutex};
use storage::{RecordRef, RowHead, RowState};
use txn::ColumnSet;

/// What a version carries, as a part of its protocol's words.
#[repr(C)]
pub struct Chain {
    /// The timestamp of its writer; 0 for the loader's.
    pub wts: Word,
    /// Offset of the next older version; 0 for none.
    older: Word,
    /// In a record the number of older versions; in an older version the set of the columns that it holds.
    extent: Word,
}

// SAFETY: words.
unsafe impl Zeroed for Chain {}

/// A protocol's words in a record that has older versions.
pub trait Versioned: Zeroed + Send + Sync + 'static {
    /// The record's place in the chain.
    fn chain(&self) -> &Chain;
    /// Under which its chain changes, a [`super::queue_latch`].
    fn latch(&self) -> &Word;
}

/// The timestamp of the version's writer.
#[inline(always)]
pub fn wts<M: Machine, C: Versioned>(core: &M::Core, version: &RecordRef<'_, M, C>) -> u64 {
    core.load_relaxed(version.line(), &version.cc().chain().wts)
}

/// Number of versions older than the record itself.
#[inline(always)]
pub fn length<M: Machine, C: Versioned>(core: &M::Core, record: &RecordRef<'_, M, C>) -> u64 {
    core.load_relaxed(record.line(), &record.cc().chain().extent)
}

/// The columns that an older version holds.
fn held<M: Machine, C: Versioned>(core: &M::Core, version: &RecordRef<'_, M, C>) -> ColumnSet {
    ColumnSet(core.load_relaxed(version.line(), &version.cc().chain().extent))
}

/// The next older version, if there is one. Call with the record latched.
pub fn older<'s, M: Machine, C: Versioned>(
    core: &M::Core,
    version: &RecordRef<'s, M, C>,
) -> Option<RecordRef<'s, M, C>> {
    let offset = core.load_relaxed(version.line(), &version.cc().chain().older);
    // SAFETY: offsets in chains are those of slots that `VersionSlots::take` made for this table.
    (offset != 0).then(|| unsafe { version.slot_at(offset) })
}

fn link<M: Machine, C: Versioned>(core: &M::Core, from: &RecordRef<'_, M, C>, to: u64) {
    core.store_relaxed(from.line(), &from.cc().chain().older, to);
}

/// Copies what a transaction of this timestamp sees of `columns` into `out`. None if there is no version that
/// old. Call with the record latched.
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
    let mut version = older(core, record)?;
    while wts(core, &version) > timestamp {
        version = older(core, &version)?;
    }
    Some(copy_version(core, record, &version, columns, out))
}

/// Copies `columns` of a version in the record's chain into `out`. Call with the record latched.
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
        // From the newest down to it, each undoing what the next newer one had changed.
        record.copy_held(core, columns, columns, out);
        let mut at = *record;
        while at.identity() != version.identity() {
            at = older(core, &at).expect("the version is in the chain");
            at.copy_held(core, columns, held(core, &at), out);
        }
    }
    head
}

/// The version that a transaction of this timestamp sees, and when it was superseded; the newest is never. None if
/// there is no version that old. Where versions were taken out that nobody can read, it may seem to have
/// been superseded later than it was. Call with the record latched.
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

/// Hands `columns` of `from` down to an older version, as far as that does not hold them itself.
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

/// Saves the newest version in `slot`, because `columns` of it are about to be overwritten. Without a slot it
/// is lost, and only older ones are kept. Call with the record latched.
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
    // Of an absence that has no history nobody reads a column.
    let nothing = next.is_none() && record.head(core).state == RowState::ABSENT;
    let columns = if nothing { ColumnSet::NONE } else { columns };
    record.copy_columns_to(core, slot, columns);
    core.store_relaxed(slot.line(), &to.extent, columns.0);
    core.store_relaxed(slot.line(), &to.wts, core.load_relaxed(line, &from.wts));
    link(core, slot, next.map_or(0, |next| next.name().offset));
    link(core, record, slot.name().offset);
    core.store_relaxed(line, &from.extent, core.load_relaxed(line, &from.extent) + 1);
}

/// Takes back the last [`supersede`] with a slot: the record is again what the slot holds, which is returned and
/// which nobody refers to any more. Call with the record latched.
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

/// Takes out the versions that nobody can read, wherever in the chain they are. `needed` says so of the time
/// from when to when a version was the newest. Those that go end up in `gone`, which must be empty before. True
/// if the version written at `of` stays. Call with the record latched.
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
        // Where a version was taken out between two others, the one below seems to last longer than it
        // does. Nobody reads in the time between, or it would have stayed.
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

/// Slots that a session takes from the arena at a time, unless rows are very long.
const SLOTS_PER_CHUNK: u64 = 16;
/// Free slots of a table that a session keeps to itself: more are for those that write what it collects.
const KEPT_SLOTS: usize = 64;

/// Free slots of all tables that no session keeps to itself, by table.
#[derive(Default)]
pub struct VersionPool {
    surplus: Mutex<Vec<Vec<u64>>>,
}

/// One session's free slots, by table.
pub struct VersionSlots<'s> {
    pool: &'s VersionPool,
    free: Vec<Vec<u64>>,
}

impl<'s> VersionSlots<'s> {
    /// None at first.
    pub fn of(pool: &'s VersionPool) -> VersionSlots<'s> {
        VersionSlots { pool, free: Vec::new() }
    }

    fn list(lists: &mut Vec<Vec<u64>>, at: usize) -> &mut Vec<u64> {
        if lists.len() <= at {
            lists.resize_with(at + 1, Vec::new);
        }
        &mut lists[at]
    }

    /// A slot for an older version of `record`.
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
        // SAFETY: a slot of this table: `fetch` took it with its stride, `give` took it back under its number.
        Ok(unsafe { record.slot_at(offset) })
    }

    /// Slots that others have left over, or fresh ones; all but one go to the free ones.
    #[cold]
    fn fetch(&mut self, at: usize, stride: u64, arena: &Arena) -> Result<u64, OutOfMemory> {
        let mut surplus = self.pool.surplus.lock();
        let others = Self::list(&mut surplus, at);
        let free = &mut self.free[at];
        free.extend(others.drain(others.len().saturating_sub(SLOTS_PER_CHUNK as usize)..));
        if free.is_empty() {
            let slots = SLOTS_PER_CHUNK.min((1 << 20) / stride).max(1);
            let first = arena.allocate(slots * stride, 64, Place::Any)?;
            free.extend((0..slots).rev().map(|i| first + i * stride));
        }
        Ok(free.pop().expect("filled above"))
    }

    /// Takes back a slot that nobody refers to any more.
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
