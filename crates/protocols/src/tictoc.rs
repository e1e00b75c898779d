//! TICTOC: optimistic, with a commit timestamp computed from the records that were accessed.
//!
//! Source: Yu, Pavlo, Sanchez and Devadas, SIGMOD 2016, sections 3 and 4.1 (the word). Every version is valid
//! from `wts` to `rts`. A transaction picks the least timestamp at which all that it read is valid and all
//! that it writes is new, extends the `rts` of what it read up to there, and installs.
//! Serializable, not strict: a transaction that only read old versions may be ordered before one that had
//! ended when it began. A write lock that another has is refused, as in section 5.1, or waited for: an option.
//! Read committed, on demand: reads and ranges are not validated, but for what is read for update.
//! Deviation: a read waits for a locked record, whose owner does not wait for the reader.

use crate::{
    Change, CommitLocks, CommitLog, Declaration, Isolation, Protocol, ProtocolOptions, Start,
    parts::{
        node_set::NodeSet,
        tid_word::{self, TidRecord},
        timestamp_floor::TimestampFloor,
        validity_word::{LOCKED, extended, load, raise, rts, times, wts},
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet, Intent};

/// What mutants may leave out; the protocol itself leaves nothing out.
pub trait Variant: Send + Sync + 'static {
    /// A version whose record is locked by another is not extended.
    const CHECKS_LOCK: bool = true;
}

/// The algorithm as published.
pub struct AsPublished;
impl Variant for AsPublished {}

/// The protocol.
pub struct TicToc<M: Machine, V = AsPublished> {
    floor: TimestampFloor<M>,
    /// All reads are validated.
    validates: bool,
    commit_locks: CommitLocks,
    variant: PhantomData<V>,
}

/// A [validity word](crate::parts::validity_word).
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

struct Observed<'s, M: Machine> {
    record: RecordRef<'s, M, TicTocWord>,
    word: u64,
}

/// Read set, node set and write set.
pub struct Worker<'s, M: Machine> {
    reads: Vec<Observed<'s, M>>,
    leaves: NodeSet<'s, M, TicTocWord>,
    writes: WriteSet<'s, M, TicTocWord>,
    locked: usize,
}

fn invalid() -> Abort {
    Abort::because(AbortReason::Validation)
}

impl<M: Machine, V: Variant> TicToc<M, V> {
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
                if V::CHECKS_LOCK && now & LOCKED != 0 {
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

    /// Makes sure that the scanned ranges are valid at `timestamp`: nobody inserts there below it.
    fn validate_ranges(
        core: &M::Core,
        worker: &Worker<'_, M>,
        timestamp: u64,
    ) -> Result<(), Abort> {
        for guard in worker.leaves.guards() {
            if wts(load(core, guard)) > timestamp {
                return Err(Abort::because(AbortReason::Phantom));
            }
            raise(core, guard, (0, timestamp));
        }
        // An insertion either has been counted by now, or will find the times just raised.
        core.fence();
        worker.leaves.validate(core)
    }
}

impl<M: Machine, V: Variant> Protocol<M> for TicToc<M, V> {
    type Record = TicTocWord;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        let declaration = Declaration {
            name: "TICTOC",
            summary: "optimistic; commit timestamps computed from the records accessed, reads extended",
            source: "Yu et al., SIGMOD 2016; Full story 2.1",
            isolation: Isolation::Serializable,
            strict: false,
        };
        declaration.at_level_of(options)
    }

    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable, Isolation::ReadCommitted]
    }

    fn knobs() -> &'static [&'static str] {
        &["commit-locks"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        _: usize,
    ) -> Result<Self, OutOfMemory> {
        let (commit_locks, validates) = (options.commit_locks, options.asks_for_full_isolation());
        let floor = TimestampFloor::new(arena)?;
        Ok(TicToc { floor, validates, commit_locks, variant: PhantomData })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, _: usize) -> Worker<'s, M> {
        Worker {
            reads: Vec::new(),
            leaves: NodeSet::default(),
            writes: WriteSet::default(),
            locked: 0,
        }
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
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let (word, head) = tid_word::read_consistently(core, &record, columns, out, LOCKED);
        if self.validates || intent == Intent::Update {
            worker.reads.push(Observed { record, word });
        }
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

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, TicTocWord>,
    ) -> Result<(), Abort> {
        if self.validates {
            worker.leaves.observe(core, guard);
        }
        Ok(())
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, TicTocWord>,
        record: RecordRef<'s, M, TicTocWord>,
        counted: u64,
    ) -> Result<(), Abort> {
        self.prepare_record(core, &record, Some(guard));
        if worker.leaves.made(guard, counted) {
            let word = core.load(record.line(), &record.cc().0);
            worker.reads.push(Observed { record, word });
        }
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, TicTocWord>,
        right: GuardRef<'s, M, TicTocWord>,
        counted: u64,
    ) -> Result<(), Abort> {
        raise(core, right, times(load(core, guard)));
        worker.leaves.split(core, guard, right, counted);
        Ok(())
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
        timestamp = worker.leaves.guards().map(|g| wts(load(core, g))).fold(timestamp, u64::max);
        Self::validate(core, worker, timestamp)?;
        Self::validate_ranges(core, worker, timestamp)?;
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
        worker.leaves.clear();
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
        worker.leaves.clear();
        worker.writes.clear();
    }

    fn merge(
        &self,
        core: &M::Core,
        gone: GuardRef<'_, M, TicTocWord>,
        heir: GuardRef<'_, M, TicTocWord>,
    ) {
        raise(core, heir, times(load(core, gone)));
    }

    fn prepare_record(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, TicTocWord>,
        guard: Option<GuardRef<'_, M, TicTocWord>>,
    ) {
        // Absent since the last record left the range, and seen to be absent by whoever scanned it.
        let word = guard.map_or_else(|| self.floor.get(core), |guard| load(core, guard));
        core.store(record.line(), &record.cc().0, word);
    }

    fn retire(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, TicTocWord>,
        guard: Option<GuardRef<'_, M, TicTocWord>>,
    ) {
        let word = core.load(record.line(), &record.cc().0);
        match guard {
            None => self.floor.raise(core, rts(word)),
            Some(guard) => raise(core, guard, times(word)),
        }
    }
}
