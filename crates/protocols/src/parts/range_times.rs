//! What timestamp ordering keeps of a range of keys, in the guard of its leaf.
//!
//! Scans of the range are the guard's reads (`rts`), records that left it its writes (`wts`): a record that is
//! made for an absent key starts with both, so that whoever saw the absence is later than no write to it.

use machine::{Core, Machine, Word, Zeroed};
use storage::{GuardRef, RecordRef};

/// Timestamps of a record, or of a range: `wts` of its last write, `rts` of its last read.
pub trait Timed: Zeroed + Send + Sync + 'static {
    /// Of the last write installed.
    fn wts(&self) -> &Word;
    /// The latest of any read.
    fn rts(&self) -> &Word;
}

/// The word holds `timestamp` or more from here on.
pub fn raise<M: Machine>(core: &M::Core, line: &M::Line, word: &Word, timestamp: u64) {
    let mut now = core.load(line, word);
    while now < timestamp {
        match core.cas(line, word, now, timestamp) {
            Ok(_) => return,
            Err(changed) => now = changed,
        }
    }
}

/// The timestamps that a record has come to.
pub fn times_of<M: Machine, C: Timed>(core: &M::Core, record: &RecordRef<'_, M, C>) -> (u64, u64) {
    (core.load(record.line(), record.cc().wts()), core.load(record.line(), record.cc().rts()))
}

/// The timestamps that a range has come to.
pub fn times_in<M: Machine, C: Timed>(core: &M::Core, guard: GuardRef<'_, M, C>) -> (u64, u64) {
    (core.load(guard.line(), guard.cc().wts()), core.load(guard.line(), guard.cc().rts()))
}

/// Nothing may appear in the range below these timestamps any more.
pub fn raise_both<M: Machine, C: Timed>(
    core: &M::Core,
    guard: GuardRef<'_, M, C>,
    (wts, rts): (u64, u64),
) {
    raise::<M>(core, guard.line(), guard.cc().wts(), wts);
    raise::<M>(core, guard.line(), guard.cc().rts(), rts);
}

/// The range is about to be scanned at `timestamp`.
pub fn announce<M: Machine, C: Timed>(core: &M::Core, guard: GuardRef<'_, M, C>, timestamp: u64) {
    raise::<M>(core, guard.line(), guard.cc().rts(), timestamp);
    // An insertion either finds the timestamp, or has the leaf latched: then the scan finds the record.
    core.fence();
}

/// What holds of the range of `from` holds of that of `to` as well.
pub fn pass_on<M: Machine, C: Timed>(
    core: &M::Core,
    from: GuardRef<'_, M, C>,
    to: GuardRef<'_, M, C>,
) {
    raise_both(core, to, times_in(core, from));
}

/// A record that nobody can find yet starts with `times`.
pub fn start<M: Machine, C: Timed>(
    core: &M::Core,
    record: &RecordRef<'_, M, C>,
    (wts, rts): (u64, u64),
) {
    core.store_relaxed(record.line(), record.cc().wts(), wts);
    core.store_relaxed(record.line(), record.cc().rts(), rts);
}
