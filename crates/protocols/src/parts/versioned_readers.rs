//! Readers on versions beside writers that lock.
//!
//! Source: Abyss 6.1 (DL_DETECT + MVCC, as MySQL has it: read-only transactions use multi-versioning, all others
//! two-phase locking). A transaction that is declared read-only draws a timestamp when it begins and reads of
//! each row the version that was the newest then; it locks nothing and nobody waits for it. All others
//! lock as ever, whatever way of locking it is. One that has written draws its timestamp at commit, while it
//! holds all its locks, so timestamps follow the order in which writers are serialized; what it overwrites
//! goes into the row's [version chain](super::version_chain).
//!
//! A writer first marks its records as undecided, then draws, then installs. So a reader that finds no mark has
//! a smaller timestamp than any writer to come, and one that finds a mark waits: for a commit, not for a lock.
//! Every transaction is serialized at the moment at which it draws, within its life: the order is strict. For
//! that the timestamps must come in the order of drawing: batches and clocks don't, one counter stands in
//! for them.
//!
//! Deviations: a reader that looks for a key of which there is no record makes one, in an ordered table under
//! the lock that that takes.

use super::{
    lock_queue::{LockQueue, Queued},
    queue_latch::Latcher,
    timestamp_allocator::{TimestampAllocator, TimestampSource},
    two_phase_locking::{self, Locks, TwoPhaseLocking},
    version_chain::{self, Chain, Versioned},
    version_collector::{VersionCollector, Versions},
};
use crate::{
    Change, CommitLog, Declaration, Images, Isolation, Prepared, Protocol, ProtocolOptions,
    TimestampAllocation, Txn, faults,
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use storage::{Epochs, GuardRef, RecordRef, RowHead, RowState};
use txn::{Abort, AbortReason, ColumnSet, Intent};

/// The words of a record: a lock with its queue, and the row's versions. One latch for both.
#[repr(C)]
pub struct VersionedLock {
    queue: LockQueue,
    chain: Chain,
    /// 1 while a writer commits.
    undecided: Word,
}

// SAFETY: words.
unsafe impl Zeroed for VersionedLock {}

impl Queued for VersionedLock {
    #[inline(always)]
    fn queue(&self) -> &LockQueue {
        &self.queue
    }
}

impl Versioned for VersionedLock {
    #[inline(always)]
    fn chain(&self) -> &Chain {
        &self.chain
    }

    #[inline(always)]
    fn latch(&self) -> &Word {
        &self.queue.latch
    }
}

/// The protocol around locks `L`.
pub struct ReadersOnVersions<M: Machine, L> {
    locking: TwoPhaseLocking<L>,
    allocator: TimestampAllocator<M>,
    versions: Versions<M>,
}

type Record<'s, M> = RecordRef<'s, M, VersionedLock>;

/// A session's locks and writes, its snapshot, and the versions that it has superseded.
pub struct Worker<'s, M: Machine, L: Locks<M, Record = VersionedLock>> {
    locking: two_phase_locking::Worker<'s, M, L>,
    /// The timestamp of a transaction that is declared read-only.
    snapshot: Option<u64>,
    session: usize,
    source: TimestampSource,
    latcher: Latcher<M>,
    collector: VersionCollector<'s, M, VersionedLock>,
    /// For each prepared write the slot for the version that it supersedes, if there is one.
    reserved: Vec<Option<Record<'s, M>>>,
    marked: bool,
}

impl<'s, M: Machine, L: Locks<M, Record = VersionedLock>> Worker<'s, M, L> {
    /// A slot for the version that the write at `at` supersedes.
    fn reserve(&mut self, core: &M::Core, at: usize) -> Result<Option<Record<'s, M>>, Abort> {
        match self.locking.writes.outcome(core, at) {
            // An absence that leaves with its record leaves no history behind.
            None | Some((_, RowState::RETIRED)) => Ok(None),
            Some(_) => match self.collector.slots.take(&self.locking.writes.record(at)) {
                Ok(slot) => Ok(Some(slot)),
                Err(_) => Err(Abort::because(AbortReason::OutOfMemory)),
            },
        }
    }

    fn mark(&mut self, core: &M::Core) {
        self.marked = true;
        for record in self.locking.writes.records() {
            core.store(record.line(), &record.cc().undecided, 1);
        }
    }

    /// A record whose absence leaves with it must have no versions that somebody may read.
    fn forget_histories(&mut self, core: &M::Core, timestamp: u64) -> Result<(), Abort> {
        for at in 0..self.locking.writes.len() {
            let outcome = self.locking.writes.outcome(core, at);
            if outcome.is_some_and(|(_, after)| after == RowState::RETIRED) {
                let record = self.locking.writes.record(at);
                let Worker { collector, latcher, .. } = self;
                if !collector.forget_history(core, latcher, timestamp, &record) {
                    return Err(Abort::because(AbortReason::TimestampOrder));
                }
            }
        }
        Ok(())
    }

    /// Installs the write at `at`; true when it is time to collect.
    fn install(
        &mut self,
        core: &M::Core,
        at: usize,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) -> bool {
        let writes = &self.locking.writes;
        let (record, slot) = (writes.record(at), self.reserved[at]);
        let mut due = false;
        self.latcher.latch(core, record.line(), record.cc().latch());
        if let Some(slot) = slot {
            let begin = version_chain::wts(core, &record);
            version_chain::supersede(core, &record, writes.columns(at), Some(&slot));
            core.store_relaxed(record.line(), &record.cc().chain.wts, timestamp);
            due = self.collector.superseded(core, record, begin, timestamp);
        }
        writes.install(core, at, log);
        core.store(record.line(), &record.cc().undecided, 0);
        let (line, words) = (record.line(), record.cc());
        self.latcher.unlatch_and_wake(core, line, words.latch(), &words.undecided);
        due
    }
}

impl<M: Machine, L: Locks<M, Record = VersionedLock>> ReadersOnVersions<M, L> {
    /// What was the newest at `timestamp`.
    fn read_at<'s>(
        core: &M::Core,
        latcher: &Latcher<M>,
        record: &Record<'s, M>,
        timestamp: u64,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> RowHead {
        let (line, words) = (record.line(), record.cc());
        loop {
            latcher.latch(core, line, words.latch());
            let past = core.is_planted(faults::READERS_PAST_COMMITTING_WRITERS);
            if past || core.load_relaxed(line, &words.undecided) == 0 {
                break;
            }
            latcher.unlatch(core, line, words.latch());
            core.wait_while(line, &words.undecided, |undecided| undecided != 0);
        }
        let head = version_chain::read(core, record, timestamp, columns, out);
        latcher.unlatch(core, line, words.latch());
        head.expect("a version was collected although a transaction may read it")
    }

    /// Nobody can find the record yet; its slot may have been another's.
    fn start(core: &M::Core, record: &Record<'_, M>) {
        core.store_relaxed(record.line(), &record.cc().chain.wts, 0);
    }
}

impl<M: Machine, L: Locks<M, Record = VersionedLock>> Protocol<M> for ReadersOnVersions<M, L> {
    const ONE_COPY: bool = true;
    type Record = VersionedLock;
    type Worker<'s>
        = Worker<'s, M, L>
    where
        M: 's;

    fn is_asked_for(options: &ProtocolOptions) -> bool {
        L::is_asked_for(options)
    }

    fn declare(options: &ProtocolOptions) -> Declaration {
        L::declare(options)
    }

    fn knobs() -> &'static [&'static str] {
        L::knobs()
    }

    // Not what the locks could give besides: a snapshot is read whole or not at all.
    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let allocation = match options.timestamps {
            TimestampAllocation::Batched(_) | TimestampAllocation::Clock => {
                TimestampAllocation::Atomic
            }
            counted => counted,
        };
        Ok(ReadersOnVersions {
            locking: TwoPhaseLocking::create(arena, options, sessions)?,
            allocator: TimestampAllocator::new(arena, allocation, sessions)?,
            versions: Versions::new(arena, sessions)?,
        })
    }

    fn worker<'s>(&'s self, epochs: &'s Epochs<M>, slot: usize) -> Worker<'s, M, L> {
        Worker {
            locking: self.locking.worker(epochs, slot),
            snapshot: None,
            session: slot,
            source: TimestampSource::new(slot),
            latcher: self.versions.latches.latcher(slot),
            collector: self.versions.collector(),
            reserved: Vec::new(),
            marked: false,
        }
    }

    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, L>, txn: Txn<'_>) {
        self.locking.begin(core, &mut worker.locking, txn);
        let draw = || self.allocator.draw(core, &mut worker.source);
        worker.snapshot =
            txn.read_only.then(|| self.versions.active.enter(core, worker.session, draw));
    }

    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        match worker.snapshot {
            None => self.locking.read(core, &mut worker.locking, record, columns, intent, out),
            Some(snapshot) => {
                Ok(Self::read_at(core, &worker.latcher, &record, snapshot, columns, out))
            }
        }
    }

    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: Record<'s, M>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        assert!(worker.snapshot.is_none(), "a write in a transaction declared read-only");
        self.locking.write(core, &mut worker.locking, record, change)
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        guard: GuardRef<'s, M, VersionedLock>,
    ) -> Result<(), Abort> {
        match worker.snapshot {
            None => self.locking.scan(core, &mut worker.locking, guard),
            // Whatever is made in the range from now on was absent at the snapshot.
            Some(_) => Ok(()),
        }
    }

    fn begin_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        guard: GuardRef<'s, M, VersionedLock>,
    ) -> Result<(), Abort> {
        self.locking.begin_insertion(core, &mut worker.locking, guard)
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        guard: GuardRef<'s, M, VersionedLock>,
        record: Record<'s, M>,
        counted: u64,
    ) -> Result<(), Abort> {
        Self::start(core, &record);
        self.locking.insert(core, &mut worker.locking, guard, record, counted)
    }

    fn end_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        guard: GuardRef<'s, M, VersionedLock>,
    ) {
        self.locking.end_insertion(core, &mut worker.locking, guard);
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        guard: GuardRef<'s, M, VersionedLock>,
        right: GuardRef<'s, M, VersionedLock>,
        counted: u64,
    ) -> Result<(), Abort> {
        self.locking.split(core, &mut worker.locking, guard, right, counted)
    }

    fn merge(
        &self,
        core: &M::Core,
        gone: GuardRef<'_, M, VersionedLock>,
        heir: GuardRef<'_, M, VersionedLock>,
    ) {
        self.locking.merge(core, gone, heir);
    }

    fn retire(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        guard: Option<GuardRef<'_, M, VersionedLock>>,
    ) {
        self.locking.retire(core, record, guard);
    }

    fn prepare_record(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        _: Option<GuardRef<'_, M, VersionedLock>>,
    ) {
        Self::start(core, record);
    }

    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
    ) -> Result<Prepared, Abort> {
        if let Some(snapshot) = worker.snapshot {
            return Ok(Prepared::at(snapshot));
        }
        self.locking.prepare(core, &mut worker.locking)?;
        if worker.locking.writes.is_empty() {
            return Ok(Prepared::ANY);
        }
        for at in 0..worker.locking.writes.len() {
            let slot = worker.reserve(core, at)?;
            worker.reserved.push(slot);
        }
        let marks_late = core.is_planted(faults::READERS_BEFORE_LATE_MARKS);
        if !marks_late {
            worker.mark(core);
        }
        let timestamp = self.allocator.draw(core, &mut worker.source);
        if marks_late {
            worker.mark(core);
        }
        worker.forget_histories(core, timestamp)?;
        Ok(Prepared::at(timestamp))
    }

    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        log: &mut Images<'_, 's, M>,
    ) {
        self.locking.images(core, &mut worker.locking, log);
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        let mut due = false;
        for at in 0..worker.locking.writes.len() {
            due |= worker.install(core, at, timestamp, log);
        }
        worker.marked = false;
        worker.reserved.clear();
        self.locking.let_go(core, &mut worker.locking);
        if worker.snapshot.is_some() {
            self.versions.active.leave(core, worker.session);
        }
        if due {
            worker.collector.collect(core, &worker.latcher, timestamp);
        }
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, L>) {
        if std::mem::take(&mut worker.marked) {
            for record in worker.locking.writes.records() {
                core.store(record.line(), &record.cc().undecided, 0);
                core.wake(record.line(), &record.cc().undecided);
            }
        }
        for slot in worker.reserved.iter().flatten() {
            worker.collector.slots.give(slot);
        }
        worker.reserved.clear();
        self.locking.abort(core, &mut worker.locking);
        if worker.snapshot.is_some() {
            self.versions.active.leave(core, worker.session);
        }
    }

    fn priority<'s>(&'s self, worker: &Worker<'s, M, L>) -> Option<u64> {
        self.locking.priority(&worker.locking)
    }
}
