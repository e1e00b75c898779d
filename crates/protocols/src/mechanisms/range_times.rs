//! Timestamps of a range of keys for timestamp ordering, kept in the guard of the range's leaf.
//!
//! A scan of the range is a read of the guard (`rts`). The removal of a record from the range is a
//! write to the guard (`wts`). A record that is made for an absent key starts with both timestamps.
//! So every write to the new record is later than each transaction that has seen the absence.
//!
//! Invariant: both timestamps only grow.

use machine::{Core, Machine, Word, Zeroed};
use storage::{GuardRef, RecordRef};

/// Timestamps of a record or of a range: `wts` of its last write, `rts` of its last read.
pub trait Timed: Zeroed + Send + Sync + 'static {
    /// Returns the timestamp of the last write installed.
    fn wts(&self) -> &Word;
    /// Returns the latest timestamp of any read.
    fn rts(&self) -> &Word;
}

/// Raises the word to at least `timestamp`.
pub fn raise<M: Machine>(core: &M::Core, line: &M::Line, word: &Word, timestamp: u64) {
    let mut now = core.load(line, word);
    while now < timestamp {
        match core.cas(line, word, now, timestamp) {
            Ok(_) => return,
            Err(changed) => now = changed,
        }
    }
}

/// Returns the present `wts` and `rts` of a record.
pub fn times_of<M: Machine, C: Timed>(core: &M::Core, record: &RecordRef<'_, M, C>) -> (u64, u64) {
    (core.load(record.line(), record.cc().wts()), core.load(record.line(), record.cc().rts()))
}

/// Returns the present `wts` and `rts` of a range.
pub fn times_in<M: Machine, C: Timed>(core: &M::Core, guard: GuardRef<'_, M, C>) -> (u64, u64) {
    (core.load(guard.line(), guard.cc().wts()), core.load(guard.line(), guard.cc().rts()))
}

/// Raises both timestamps of a range, so that no record appears in it below them.
pub fn raise_both<M: Machine, C: Timed>(
    core: &M::Core,
    guard: GuardRef<'_, M, C>,
    (wts, rts): (u64, u64),
) {
    raise::<M>(core, guard.line(), guard.cc().wts(), wts);
    raise::<M>(core, guard.line(), guard.cc().rts(), rts);
}

/// Announces a scan of the range at `timestamp`, before the scan begins.
pub fn announce<M: Machine, C: Timed>(core: &M::Core, guard: GuardRef<'_, M, C>, timestamp: u64) {
    raise::<M>(core, guard.line(), guard.cc().rts(), timestamp);
    // An insertion either sees the timestamp or has the leaf latched. In the second case the scan
    // finds its record.
    core.fence();
}

/// Raises the timestamps of `to` to at least those of `from`.
pub fn pass_on<M: Machine, C: Timed>(
    core: &M::Core,
    from: GuardRef<'_, M, C>,
    to: GuardRef<'_, M, C>,
) {
    raise_both(core, to, times_in(core, from));
}

/// Sets the first timestamps of a record that no other session can find yet.
pub fn start<M: Machine, C: Timed>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    (wts, rts): (u64, u64),
) {
    core.store_relaxed(record.line(), record.cc().wts(), wts);
    core.store_relaxed(record.line(), record.cc().rts(), rts);
}
