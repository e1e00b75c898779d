//! The newest version of a row, read where its record is, without a latch.
//!
//! Source: Lim, Kaminsky and Andersen, SIGMOD 2017 (inlining: the version that most want is next to the index
//! entry; pending versions, and who waits for them). A version is announced by its timestamp (`pending`)
//! before anything of it is written, and has a `wts` of its own before that is taken away. So a reader that finds the
//! same `wts` before and after, and nothing announced, has copied one version.

use super::{range_times, version_times::Times};
use machine::{Core, Machine};
use storage::{RecordRef, RowHead};
use txn::ColumnSet;

/// Copies `columns` of the newest version, with its timestamp, once earlier announced ones are decided. None if that
/// version is later than `timestamp`, or a later one is announced: then the chain must be looked at under its latch.
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
        // In this order: an announced version writes its `wts` while it is announced.
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
        // What is copied of a version that is being written shows that it is announced.
        core.fence_acquire();
        if core.load(line, pending) == 0 && core.load_relaxed(line, &chain.wts) == begin {
            return Some((head, begin));
        }
    }
}

/// Nobody may come between the newest version and `timestamp` from here on; once versions are decided that were
/// announced before `awaited`, their time of that version is returned. None if it is later than `timestamp`.
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
    // Marked before anybody is looked for who has announced a version and does not know of the mark.
    core.fence();
    core.wait_while(line, pending, |announced| announced != 0 && announced < awaited);
    let newest = core.load(line, &chain.wts);
    (!is_later(newest)).then_some(newest)
}
