//! TICTOC: optimistic, with a commit timestamp computed from the records that were accessed.
//!
//! Source: Yu, Pavlo, Sanchez and Devadas, SIGMOD 2016, sections 3 and 4.1 (the word). Every version is valid
//! from `wts` to `rts`. A transaction picks the least timestamp at which all that it read is valid and all
//! that it writes is new, extends the `rts` of what it read up to there, and installs.
//! Serializable, not strict: a transaction that only read old versions may be ordered before one that had
//! ended when it began. A write lock that another has is refused, as in section 5.1, or waited for: an option.
//! Deviation: a read waits for a locked record, whose owner does not wait for the reader.

use crate::{
    Change, CommitLocks, CommitLog, Declaration, Isolation, Protocol, ProtocolOptions, Start,
    parts::{
        tid_word::{self, TidRecord},
        timestamp_floor::TimestampFloor,
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use storage::{Epochs, RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet, Intent};

/// The protocol.
pub struct TicToc<M: Machine> {
    floor: TimestampFloor<M>,
    commit_locks: CommitLocks,
}

/// `| locked: 1 | rts - wts: 15 | wts: 48 |`
#[repr(transparent)]
pub struct TicTocWord(Word);

// SAFETY: a word.
unsafe impl Zeroed for TicTocWord {}

impl TidRecord for TicTocWord {
    #[inline(always)]
    fn word(&self) -> &Word {
        &self.0
    }
}

const LOCKED: u64 = 1 << 63;
const WTS_BITS: u32 = 48;
const WTS_MASK: u64 = (1 << WTS_BITS) - 1;
const DELTA_MAX: u64 = (1 << 15) - 1;

#[inline(always)]
fn wts(word: u64) -> u64 {
    word & WTS_MASK
}

#[inline(always)]
fn rts(word: u64) -> u64 {
    wts(word) + ((word >> WTS_BITS) & DELTA_MAX)
}

/// `word` with `rts` raised to `timestamp`. Where the difference has no room `wts` moves up with it, which
/// other readers take for a new version: a needless abort, never a missed one.
#[inline]
fn extended(word: u64, timestamp: u64) -> u64 {
    let delta = timestamp - wts(word);
    let shift = delta.saturating_sub(DELTA_MAX);
    (word & LOCKED) | ((delta - shift) << WTS_BITS) | (wts(word) + shift)
}

struct Observed<'s, M: Machine> {
    record: RecordRef<'s, M, TicTocWord>,
    word: u64,
}

/// Read set and write set.
pub struct Worker<'s, M: Machine> {
    reads: Vec<Observed<'s, M>>,
    writes: WriteSet<'s, M, TicTocWord>,
    locked: usize,
}

fn invalid() -> Abort {
    Abort::because(AbortReason::Validation)
}

impl<M: Machine> TicToc<M> {
    /// Makes sure that what was read is still valid at `timestamp`, extending it where needed.
    fn validate(core: &M::Core, worker: &Worker<'_, M>, timestamp: u64) -> Result<(), Abort> {
        for read in &worker.reads {
            if rts(read.word) >= timestamp {
                continue;
            }
            let (line, word) = (read.record.line(), &read.record.cc().0);
            let own = worker.writes.find(&read.record).is_some();
            let mut now = core.load(line, word);
            loop {
                if wts(now) != wts(read.word) {
                    return Err(invalid());
                }
                if own || rts(now) >= timestamp {
                    break;
                }
                if now & LOCKED != 0 {
                    return Err(invalid());
                }
                match core.cas(line, word, now, extended(now, timestamp)) {
                    Ok(_) => break,
                    Err(changed) => now = changed,
                }
            }
        }
        Ok(())
    }
}

impl<M: Machine> Protocol<M> for TicToc<M> {
    type Record = TicTocWord;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "TICTOC",
            summary: "optimistic; commit timestamps computed from the records accessed, reads extended",
            source: "Yu et al., SIGMOD 2016; Full story 2.1",
            isolation: Isolation::Serializable,
            strict: false,
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["commit-locks"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        _: usize,
    ) -> Result<Self, OutOfMemory> {
        let commit_locks = options.commit_locks;
        Ok(TicToc { floor: TimestampFloor::new(arena)?, commit_locks })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, _: usize) -> Worker<'s, M> {
        Worker { reads: Vec::new(), writes: WriteSet::default(), locked: 0 }
    }

    #[inline]
    fn begin<'s>(&'s self, _: &M::Core, _: &mut Worker<'s, M>, _: Start) {}

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: RecordRef<'s, M, TicTocWord>,
        columns: ColumnSet,
        _: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let (word, head) = tid_word::read_consistently(core, &record, columns, out, LOCKED);
        worker.reads.push(Observed { record, word });
        Ok(match worker.writes.find(&record) {
            None => head,
            Some(at) => worker.writes.overlay(at, columns, out, head),
        })
    }

    #[inline]
    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: RecordRef<'s, M, TicTocWord>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let at = worker.writes.find(&record);
        if change.state.is_none() {
            let mut state = worker.writes.state_over(at, record.head(core).state);
            if !state.is_present() {
                let none = ColumnSet::NONE;
                let head = self.read(core, worker, record, none, Intent::Read, &mut [])?;
                state = head.state;
            }
            if !state.is_present() {
                return Ok(false);
            }
        }
        worker.writes.put(core, record, at, change);
        Ok(true)
    }

    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) -> Result<u64, Abort> {
        worker.writes.sort();
        let mut timestamp = 0;
        for at in 0..worker.writes.len() {
            let record = worker.writes.record(at);
            let before = tid_word::lock(core, &record, LOCKED, self.commit_locks)?;
            worker.locked = at + 1;
            timestamp = timestamp.max(rts(before) + 1);
            worker.writes.check_presence(core, at)?;
        }
        // The locks must be visible before anything read is validated.
        core.fence();
        timestamp = worker.reads.iter().map(|read| wts(read.word)).fold(timestamp, u64::max);
        Self::validate(core, worker, timestamp)?;
        Ok(timestamp)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        for at in 0..worker.writes.len() {
            worker.writes.install(core, at, log);
        }
        for record in worker.writes.records() {
            core.store(record.line(), &record.cc().0, timestamp);
        }
        worker.locked = 0;
        worker.reads.clear();
        worker.writes.clear();
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        for record in worker.writes.records().take(worker.locked) {
            let (line, word) = (record.line(), &record.cc().0);
            let held = core.load_relaxed(line, word);
            core.store(line, word, held & !LOCKED);
        }
        worker.locked = 0;
        worker.reads.clear();
        worker.writes.clear();
    }

    fn prepare_record(&self, core: &M::Core, record: &RecordRef<'_, M, TicTocWord>) {
        core.store(record.line(), &record.cc().0, self.floor.get(core));
    }

    fn retire(&self, core: &M::Core, record: &RecordRef<'_, M, TicTocWord>) {
        self.floor.raise(core, rts(core.load(record.line(), &record.cc().0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_keeps_wts_until_the_difference_has_no_room() {
        let word = extended(100, 100 + DELTA_MAX);
        assert_eq!((wts(word), rts(word)), (100, 100 + DELTA_MAX));
        let word = extended(word, 100 + DELTA_MAX + 5);
        assert_eq!((wts(word), rts(word)), (105, 105 + DELTA_MAX));
        assert_eq!(extended(7 | LOCKED, 9) & LOCKED, LOCKED);
    }
}
