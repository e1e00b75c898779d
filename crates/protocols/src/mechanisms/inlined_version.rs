//! Reads the newest version of a row in its record, without a latch.
//!
//! Source: Lim, Kaminsky and Andersen, SIGMOD 2017 (inlining: the version that most transactions want is next to the
//! index entry; pending versions, and who waits for them).
//!
//! A writer changes the newest version in this order:
//!
//! 1. It announces the version by storing its timestamp in `pending`.
//! 2. It writes the row and its `wts`.
//! 3. It clears `pending`.
//!
//! Each version has a `wts` of its own. So a reader that finds the same `wts` before and after its copy, and no
//! announced version, has copied one version. Otherwise the read was torn, and the reader tries again.

use super::{range_times, version_times::Times};
use machine::{Core, Machine};
use storage::{RecordRef, RowHead};
use txn::ColumnSet;

/// Copies `columns` of the newest version, and returns its head and its timestamp. Waits first for announced versions
/// with earlier timestamps to be decided. Returns `None` if the newest version is later than `timestamp`, or if a later
/// one is announced. Then the chain must be read under its latch.
#[inline]
pub fn read<M: Machine>(
    core: &M::Core,
    record: &RecordRef<'_, M, Times>,
    timestamp: u64,
    columns: ColumnSet,
    out: &mut [u8],
) -> Option<(RowHead, u64)> {
    let (line, Times { chain, pending, .. }) = (record.line(), record.cc());
    loop {
        // The order of these loads matters: a version writes its `wts` while it is announced.
        let begin = core.load(line, &chain.wts);
        let earlier = |announced: u64| announced != 0 && announced < timestamp;
        let announced = core.load(line, pending);
        if begin > timestamp || announced > timestamp {
            return None;
        }
        if announced != 0 {
            core.wait_while(line, pending, earlier);
            continue;
        }
        let head = record.copy_out(core, columns, out);
        // If a part of the copy comes from a version that is being written, the loads below see its announcement.
        core.fence_acquire();
        if core.load(line, pending) == 0 && core.load_relaxed(line, &chain.wts) == begin {
            return Some((head, begin));
        }
    }
}

/// Marks the newest version as read at `timestamp`, so that no version announced from here on can come between the two.
/// Then waits until every version announced before `awaited` is decided, and returns the timestamp of the newest
/// version. Returns `None` if that timestamp is later than `timestamp`.
#[inline]
pub fn mark_read<M: Machine>(
    core: &M::Core,
    record: &RecordRef<'_, M, Times>,
    timestamp: u64,
    awaited: u64,
) -> Option<u64> {
    let (line, Times { chain, rts, pending, .. }) = (record.line(), record.cc());
    let is_later = |wts: u64| wts > timestamp;
    if is_later(core.load(line, &chain.wts)) {
        return None;
    }
    range_times::raise::<M>(core, line, rts, timestamp);
    // The mark must be visible before the search for an announced version whose writer does not know of it.
    core.fence();
    core.wait_while(line, pending, |announced| announced != 0 && announced < awaited);
    let newest = core.load(line, &chain.wts);
    (!is_later(newest)).then_some(newest)
}
