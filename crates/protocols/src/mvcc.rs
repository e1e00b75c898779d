//! MVCC: multi-version timestamp ordering.
//!
//! Source: Reed 1978; Bernstein and Goodman 1983; Abyss 2.2. A transaction draws a timestamp when an attempt
//! begins and is serialized by it. A read gets the version that was newest at its timestamp and is never
//! refused; it marks the newest version as read (`rts`), and waits for an announced write between that
//! version and itself to be decided. A write is announced (prewrite) when it is made and is refused if a later
//! transaction has read or written the row. A restart draws a fresh timestamp. Waiting always goes from later
//! to earlier timestamps, so it can't end in a circle.
//! Deviations: one undecided prewrite per record, and a version follows the newest only: a write that would
//! go between two versions is refused (as in the papers' code), so older versions need no `rts`; a read for
//! update announces its write at once; read-only transactions are no exception, as reading at an older
//! timestamp would not be strict.
//! Collection: versions leave their chains in lots as soon as nobody can read them, from the middle of a chain
//! too ([`version_collector`]): a chain holds at most one version for each transaction older than the newest,
//! beside those superseded since the last lots.
//! Strict unless timestamps come in batches: then an old one may be used after a later one has committed.
//!
//! [`version_collector`]: crate::parts::version_collector

use crate::{
    Change, CommitLog, Declaration, Isolation, Protocol, ProtocolOptions, Start,
    TimestampAllocation,
    parts::{
        absence_times::AbsenceTimes,
        active_timestamps::{ActiveTimestamps, Needed},
        prewrite::Prewriter,
        queue_latch::LatchNodes,
        range_times,
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        version_chain::{self, VersionPool},
        version_collector::VersionCollector,
        version_times::Times,
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use std::marker::PhantomData;
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent};

/// Where mutants may differ; the protocol itself does not.
pub trait Variant: Send + Sync + 'static {
    /// A read waits for an earlier write that is not decided.
    const AWAITS_WRITERS: bool = true;
    /// A read keeps earlier writes from coming after it.
    const MARKS_READS: bool = true;
    /// Whether the version that was newest from `begin` to `end` must stay.
    fn is_needed(needed: &Needed, begin: u64, end: u64) -> bool {
        needed.between(begin, end)
    }
}

/// The algorithm as described above.
pub struct AsPublished;
impl Variant for AsPublished {}

/// The protocol.
pub struct Mvcc<M: Machine, V = AsPublished> {
    allocator: TimestampAllocator<M>,
    active: ActiveTimestamps<M>,
    versions: VersionPool,
    latches: LatchNodes,
    absences: AbsenceTimes<M>,
    variant: PhantomData<V>,
}

type Record<'s, M> = RecordRef<'s, M, Times>;

/// Timestamp, write set, and the versions that this session has superseded. Every record in the write set
/// carries this transaction's prewrite.
pub struct Worker<'s, M: Machine> {
    prewrites: Prewriter<M>,
    session: usize,
    source: TimestampSource,
    writes: WriteSet<'s, M, Times>,
    collector: VersionCollector<'s, M, Times>,
    /// For each prepared write the slot for the version that it supersedes, if there is to be one.
    reserved: Vec<Option<Record<'s, M>>>,
}

impl<M: Machine, V: Variant> Protocol<M> for Mvcc<M, V> {
    type Record = Times;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "MVCC",
            summary: "multi-version timestamp ordering; reads are never refused, late writes are",
            source: "Reed 1978; Bernstein and Goodman 1983; Abyss 2.2",
            isolation: Isolation::Serializable,
            strict: !matches!(options.timestamps, TimestampAllocation::Batched(_)),
        }
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(Mvcc {
            allocator: TimestampAllocator::new(arena, options.timestamps, sessions)?,
            active: ActiveTimestamps::new(arena, sessions)?,
            versions: VersionPool::default(),
            latches: LatchNodes::new::<M>(arena, sessions)?,
            absences: AbsenceTimes::new(arena)?,
            variant: PhantomData,
        })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, slot: usize) -> Worker<'s, M> {
        Worker {
            prewrites: Prewriter::new(&self.latches, slot),
            session: slot,
            source: TimestampSource::default(),
            writes: WriteSet::default(),
            collector: VersionCollector::new(&self.versions, &self.active, V::is_needed),
            reserved: Vec::new(),
        }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>, _: Start) {
        let draw = || self.allocator.draw(core, &mut worker.source);
        worker.prewrites.timestamp = self.active.enter(core, worker.session, draw);
    }

    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let mut at = worker.writes.find(&record);
        if intent == Intent::Update && at.is_none() {
            worker.prewrites.latch_for_write(core, &record)?;
            core.store_relaxed(record.line(), &record.cc().pending, worker.prewrites.timestamp);
            at = Some(worker.writes.announce(record));
        } else if V::AWAITS_WRITERS {
            worker.prewrites.latch_decided(core, &record);
        } else {
            worker.prewrites.latch(core, &record);
        }
        // What is older than the newest version can't change for an active transaction: no mark needed.
        let newest = version_chain::wts(core, &record) <= worker.prewrites.timestamp;
        let head = version_chain::read(core, &record, worker.prewrites.timestamp, columns, out);
        if newest && V::MARKS_READS {
            worker.prewrites.mark_read(core, &record);
        }
        worker.prewrites.unlatch(core, &record);
        let head = head.expect("a version was collected although a transaction may read it");
        Ok(match at {
            None => head,
            Some(at) => worker.writes.overlay(at, columns, out, head),
        })
    }

    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: Record<'s, M>,
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

    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) -> Result<u64, Abort> {
        for at in 0..worker.writes.len() {
            let Worker { collector, prewrites, writes, .. } = worker;
            let (latcher, timestamp) = (&prewrites.latcher, prewrites.timestamp);
            let slot = collector.reserve_for(core, latcher, timestamp, writes, at)?;
            worker.reserved.push(slot);
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
        let mut due = false;
        for at in 0..worker.writes.len() {
            let record = worker.writes.record(at);
            worker.prewrites.latch(core, &record);
            let slot = worker.reserved[at];
            due |= worker.collector.supersede(core, &worker.writes, at, slot, timestamp);
            worker.writes.install(core, at, log);
            core.store(record.line(), &record.cc().pending, 0);
            worker.prewrites.unlatch(core, &record);
        }
        worker.writes.clear();
        worker.reserved.clear();
        self.active.leave(core, worker.session);
        if due {
            worker.collector.collect(core, &worker.prewrites.latcher, timestamp);
        }
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        for record in worker.writes.records() {
            core.store(record.line(), &record.cc().pending, 0);
        }
        for slot in worker.reserved.iter().flatten() {
            worker.collector.slots.give(slot);
        }
        worker.writes.clear();
        worker.reserved.clear();
        self.active.leave(core, worker.session);
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Times>,
    ) -> Result<(), Abort> {
        // No record is missing that was retired by somebody later: it would have waited for this transaction.
        range_times::announce(core, guard, worker.prewrites.timestamp);
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

    fn prepare_record(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        guard: Option<GuardRef<'_, M, Times>>,
    ) {
        self.absences.start(core, record, guard);
    }

    fn retire(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        guard: Option<GuardRef<'_, M, Times>>,
    ) {
        // Nobody is active who is older than the absence (it had no history), so nobody is refused a fresh
        // record for being older than it.
        self.absences.remember(core, record, guard);
    }
}
