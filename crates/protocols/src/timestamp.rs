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
        queue_latch::{LatchNodes, Latcher},
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        timestamp_floor::TimestampFloor,
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use storage::{Epochs, RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet, Intent};

/// The protocol.
pub struct Timestamp<M: Machine> {
    allocator: TimestampAllocator<M>,
    floor: TimestampFloor<M>,
    latches: LatchNodes,
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

/// Timestamp and write set. Every record in the write set carries this transaction's prewrite.
pub struct Worker<'s, M: Machine> {
    timestamp: u64,
    source: TimestampSource,
    latcher: Latcher<M>,
    writes: WriteSet<'s, M, Times>,
}

fn too_late() -> Abort {
    Abort::because(AbortReason::TimestampOrder)
}

impl<M: Machine> Worker<'_, M> {
    fn latch(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        self.latcher.latch(core, record.line(), &record.cc().latch);
    }

    fn unlatch(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        self.latcher.unlatch(core, record.line(), &record.cc().latch);
    }

    /// Latches the record once no earlier transaction's prewrite is undecided. Returns the timestamp of
    /// the prewrite there is: none, the own, or a later one.
    fn latch_decided(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) -> u64 {
        let timestamp = self.timestamp;
        let (line, times) = (record.line(), record.cc());
        loop {
            self.latch(core, record);
            let pending = core.load_relaxed(line, &times.pending);
            if pending == 0 || pending >= timestamp {
                return pending;
            }
            self.unlatch(core, record);
            core.wait_while(line, &times.pending, |now| now == pending);
        }
    }

    fn mark_read(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        let timestamp = self.timestamp;
        let (line, rts) = (record.line(), &record.cc().rts);
        if core.load_relaxed(line, rts) < timestamp {
            core.store_relaxed(line, rts, timestamp);
        }
    }

    /// Latches the record for a write by `timestamp`, or says that it comes too late.
    fn latch_for_write(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Times>,
    ) -> Result<(), Abort> {
        let timestamp = self.timestamp;
        let (line, times) = (record.line(), record.cc());
        let pending = self.latch_decided(core, record);
        let late = pending > timestamp
            || core.load_relaxed(line, &times.rts) > timestamp
            || core.load_relaxed(line, &times.wts) > timestamp;
        if late {
            self.unlatch(core, record);
            return Err(too_late());
        }
        Ok(())
    }
}

impl<M: Machine> Protocol<M> for Timestamp<M> {
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
        })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, slot: usize) -> Worker<'s, M> {
        Worker {
            timestamp: 0,
            source: TimestampSource::default(),
            latcher: self.latches.latcher(slot),
            writes: WriteSet::default(),
        }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>, _: Start) {
        worker.timestamp = self.allocator.draw(core, &mut worker.source);
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
            worker.latch_for_write(core, &record)?;
            core.store_relaxed(line, &times.pending, worker.timestamp);
            at = Some(worker.writes.announce(record));
        } else {
            worker.latch_decided(core, &record);
            if core.load_relaxed(line, &times.wts) > worker.timestamp {
                worker.unlatch(core, &record);
                return Err(too_late());
            }
        }
        let head = record.copy_out(core, columns, out);
        worker.mark_read(core, &record);
        worker.unlatch(core, &record);
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
            worker.latch_for_write(core, &record)?;
        }
        let state = worker.writes.state_over(at, record.head(core).state);
        let missing = change.state.is_none() && !state.is_present();
        if at.is_none() {
            if missing {
                worker.mark_read(core, &record);
            } else {
                core.store_relaxed(record.line(), &record.cc().pending, worker.timestamp);
            }
            worker.unlatch(core, &record);
        }
        if !missing {
            worker.writes.put(core, record, at, change);
        }
        Ok(!missing)
    }

    #[inline]
    fn prepare<'s>(&'s self, _: &M::Core, worker: &mut Worker<'s, M>) -> Result<u64, Abort> {
        Ok(worker.timestamp)
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
            worker.latch(core, &record);
            worker.writes.install(core, at, log);
            core.store_relaxed(record.line(), &record.cc().wts, timestamp);
            core.store(record.line(), &record.cc().pending, 0);
            worker.unlatch(core, &record);
        }
        worker.writes.clear();
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        for record in worker.writes.records() {
            core.store(record.line(), &record.cc().pending, 0);
        }
        worker.writes.clear();
    }

    fn prepare_record(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        let floor = self.floor.get(core);
        core.store_relaxed(record.line(), &record.cc().wts, floor);
        core.store_relaxed(record.line(), &record.cc().rts, floor);
    }

    fn retire(&self, core: &M::Core, record: &RecordRef<'_, M, Times>) {
        let (line, times) = (record.line(), record.cc());
        self.floor.raise(core, core.load(line, &times.wts).max(core.load(line, &times.rts)));
    }
}
