//! TIMESTAMP: basic timestamp ordering.
//!
//! Source: Bernstein and Goodman 1981; Abyss 2.2. A transaction draws a timestamp when an attempt begins and
//! is serialized by it. A read is refused if a later transaction has written the row, and waits for a
//! prewrite of an earlier one to be decided; a write is announced (prewrite) when it is made and is refused
//! if a later transaction has read or written the row. A restart draws a fresh timestamp.
//! Waiting always goes from later to earlier timestamps, so it can't end in a circle.
//! Deviations: one undecided prewrite per record instead of a list (a second one waits if later, is refused
//! if earlier); a read for update announces its write at once; no copy of the row is kept for repeated
//! reads, because `rts` guards what was read (a repeated read gives the same version, or is refused).
//! Strict unless timestamps come in batches: then an old one may be used after a later one has committed.

use crate::{
    Change, CommitLog, Declaration, Isolation, Protocol, ProtocolOptions, Start,
    TimestampAllocation,
    parts::{
        prewrite::{Prewriter, Prewritten, too_late},
        queue_latch::LatchNodes,
        range_times::{self, Timed},
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        timestamp_floor::TimestampFloor,
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent};

/// What mutants may turn; the protocol itself is as published.
pub trait Variant: Send + Sync + 'static {
    /// What a transaction keeps of the timestamp that it drew.
    fn kept(timestamp: u64) -> u64 {
        timestamp
    }
}

/// The algorithm as published.
pub struct AsPublished;
impl Variant for AsPublished {}

/// The protocol.
pub struct Timestamp<M: Machine, V = AsPublished> {
    allocator: TimestampAllocator<M>,
    floor: TimestampFloor<M>,
    latches: LatchNodes,
    variant: PhantomData<V>,
}

/// Timestamps of a record, under a latch.
#[repr(C)]
pub struct Times {
    latch: Word,
    /// Of the last write installed.
    wts: Word,
    /// The latest of any read.
    rts: Word,
    /// Of the write that is announced and not decided; 0 if none.
    pending: Word,
}

// SAFETY: words.
unsafe impl Zeroed for Times {}

/// Timestamp, scanned ranges and write set. Every record in the write set carries this transaction's prewrite.
pub struct Worker<'s, M: Machine> {
    prewrites: Prewriter<M>,
    source: TimestampSource,
    scanned: Vec<GuardRef<'s, M, Times>>,
    writes: WriteSet<'s, M, Times>,
}

impl Prewritten for Times {
    fn latch_word(&self) -> &Word {
        &self.latch
    }

    fn pending(&self) -> &Word {
        &self.pending
    }
}

impl Timed for Times {
    fn wts(&self) -> &Word {
        &self.wts
    }

    fn rts(&self) -> &Word {
        &self.rts
    }
}

impl<M: Machine, V: Variant> Protocol<M> for Timestamp<M, V> {
    type Record = Times;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "TIMESTAMP",
            summary: "basic timestamp ordering; late operations are refused, early ones wait",
            source: "Bernstein and Goodman 1981; Abyss 2.2",
            isolation: Isolation::Serializable,
            strict: !matches!(options.timestamps, TimestampAllocation::Batched(_)),
        }
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(Timestamp {
            allocator: TimestampAllocator::new(arena, options.timestamps, sessions)?,
            floor: TimestampFloor::new(arena)?,
            latches: LatchNodes::new::<M>(arena, sessions)?,
            variant: PhantomData,
        })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, slot: usize) -> Worker<'s, M> {
        Worker {
            prewrites: Prewriter::new(&self.latches, slot),
            source: TimestampSource::default(),
            scanned: Vec::new(),
            writes: WriteSet::default(),
        }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>, _: Start) {
        worker.prewrites.timestamp = V::kept(self.allocator.draw(core, &mut worker.source));
    }

    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: RecordRef<'s, M, Times>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let (line, times) = (record.line(), record.cc());
        let mut at = worker.writes.find(&record);
        if intent == Intent::Update && at.is_none() {
            worker.prewrites.latch_for_write(core, &record)?;
            core.store_relaxed(line, &times.pending, worker.prewrites.timestamp);
            at = Some(worker.writes.announce(record));
        } else {
            worker.prewrites.latch_decided(core, &record);
            if core.load_relaxed(line, &times.wts) > worker.prewrites.timestamp {
                worker.prewrites.unlatch(core, &record);
                return Err(too_late());
            }
        }
        let head = record.copy_out(core, columns, out);
        worker.prewrites.mark_read(core, &record);
        worker.prewrites.unlatch(core, &record);
        Ok(match at {
            None => head,
            Some(at) => worker.writes.overlay(at, columns, out, head),
        })
    }

    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: RecordRef<'s, M, Times>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let at = worker.writes.find(&record);
        if at.is_none() {
            worker.prewrites.latch_for_write(core, &record)?;
        }
        let state = worker.writes.state_over(at, record.head(core).state);
        let missing = change.state.is_none() && !state.is_present();
        if at.is_none() {
            if missing {
                worker.prewrites.mark_read(core, &record);
            } else {
                core.store_relaxed(record.line(), &record.cc().pending, worker.prewrites.timestamp);
            }
            worker.prewrites.unlatch(core, &record);
        }
        if !missing {
            worker.writes.put(core, record, at, change);
        }
        Ok(!missing)
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Times>,
    ) -> Result<(), Abort> {
        range_times::announce(core, guard, worker.prewrites.timestamp);
        worker.scanned.push(guard);
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        _: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Times>,
        right: GuardRef<'s, M, Times>,
        _: u64,
    ) -> Result<(), Abort> {
        range_times::pass_on(core, guard, right);
        Ok(())
    }

    fn merge(&self, core: &M::Core, gone: GuardRef<'_, M, Times>, heir: GuardRef<'_, M, Times>) {
        range_times::pass_on(core, gone, heir);
    }

    #[inline]
    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) -> Result<u64, Abort> {
        // A record may have been missing in a scan because it was retired by somebody later.
        let late = |guard: &GuardRef<'s, M, Times>| {
            core.load(guard.line(), &guard.cc().wts) > worker.prewrites.timestamp
        };
        if worker.scanned.iter().any(late) {
            return Err(too_late());
        }
        Ok(worker.prewrites.timestamp)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        for at in 0..worker.writes.len() {
            let record = worker.writes.record(at);
            worker.prewrites.latch(core, &record);
            worker.writes.install(core, at, log);
            core.store_relaxed(record.line(), &record.cc().wts, timestamp);
            core.store(record.line(), &record.cc().pending, 0);
            worker.prewrites.unlatch(core, &record);
        }
        worker.scanned.clear();
        worker.writes.clear();
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        for record in worker.writes.records() {
            core.store(record.line(), &record.cc().pending, 0);
        }
        worker.scanned.clear();
        worker.writes.clear();
    }

    fn prepare_record(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Times>,
        guard: Option<GuardRef<'_, M, Times>>,
    ) {
        let times = match guard {
            None => {
                let floor = self.floor.get(core);
                (floor, floor)
            }
            Some(guard) => range_times::times_in(core, guard),
        };
        range_times::start(core, record, times);
    }

    fn retire(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Times>,
        guard: Option<GuardRef<'_, M, Times>>,
    ) {
        let times = range_times::times_of(core, record);
        match guard {
            None => self.floor.raise(core, times.0.max(times.1)),
            Some(guard) => range_times::raise_both(core, guard, times),
        }
    }
}
