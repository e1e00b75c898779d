//! Read-only transactions that read old versions, beside writers that lock.
//!
//! Source: Abyss 6.1 (DL_DETECT + MVCC, as in MySQL: read-only transactions use multi-versioning,
//! all others two-phase locking).
//!
//! A transaction that is declared read-only draws a timestamp when it begins. Of each row it reads
//! the version that was the newest at that timestamp. It acquires no lock, and no transaction waits
//! for it. All other transactions lock as usual, by whatever way of locking. A transaction that has
//! written draws its timestamp at commit, while it holds all its locks. So timestamps follow the
//! order in which writers are serialized. The versions that it overwrites go into the rows'
//! [version chains](super::version_chain).
//!
//! **Why a snapshot is consistent.** A writer first marks its records as undecided, then draws,
//! then installs. So a reader that finds no mark has a smaller timestamp than every later writer. A
//! reader that finds a mark waits for that writer's commit. It never waits for a lock. The
//! serialization point of every transaction is the moment at which it draws. That moment is between
//! its begin and its end, so the order is strict.
//!
//! For this the timestamps must come in the order of drawing. Batches and clocks do not give that
//! order, so one counter is used in their place.
//!
//! Deviations: a reader that looks for a key without a record makes a record. In an ordered table
//! it makes the record under the lock that an insertion takes.

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
use txn::{Abort, AbortReason, ColumnSet, Intent, TableId};

/// The words of a record: a lock with its queue, and the row's versions. One latch protects both.
#[repr(C)]
pub struct VersionedLock {
    queue: LockQueue,
    chain: Chain,
    /// 1 while a writer of the record commits.
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

/// The protocol that locks with `L`, with readers on versions.
pub struct ReadersOnVersions<M: Machine, L> {
    locking: TwoPhaseLocking<L>,
    allocator: TimestampAllocator<M>,
    versions: Versions<M>,
}

type Record<'s, M> = RecordRef<'s, M, VersionedLock>;

/// A session's locks and writes, its snapshot, and the versions that it has superseded.
pub struct Worker<'s, M: Machine, L: Locks<M, Words = VersionedLock>> {
    locking: two_phase_locking::Worker<'s, M, L>,
    /// Timestamp of a transaction that is declared read-only; none for other transactions.
    snapshot: Option<u64>,
    session: usize,
    source: TimestampSource,
    latcher: Latcher<M>,
    collector: VersionCollector<'s, M, VersionedLock>,
    /// For each prepared write the slot for the version that it supersedes, if that version is
    /// kept.
    reserved: Vec<Option<Record<'s, M>>>,
    /// Set while the records of the write set can be marked as undecided.
    marked: bool,
}

impl<'s, M: Machine, L: Locks<M, Words = VersionedLock>> Worker<'s, M, L> {
    /// Takes a slot for the version that the write at `at` supersedes.
    fn reserve(&mut self, core: &M::Core, at: usize) -> Result<Option<Record<'s, M>>, Abort> {
        match self.locking.writes.outcome(core, at) {
            // A retired record leaves no history behind.
            None | Some((_, RowState::RETIRED)) => Ok(None),
            Some(_) => match self.collector.slots.take(&self.locking.writes.record(at)) {
                Ok(slot) => Ok(Some(slot)),
                Err(_) => Err(Abort::because(AbortReason::OutOfMemory)),
            },
        }
    }

    /// Marks all records of the write set as undecided.
    fn mark(&mut self, core: &M::Core) {
        self.marked = true;
        for record in self.locking.writes.records() {
            core.store(record.line(), &record.cc().undecided, 1);
        }
    }

    /// Removes the older versions of every record that the writes retire. Aborts if a transaction
    /// can read one of them.
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

    /// Installs the write at `at` and removes the record's mark. Returns true when it is time to
    /// collect.
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

impl<M: Machine, L: Locks<M, Words = VersionedLock>> ReadersOnVersions<M, L> {
    /// Copies the version that was the newest at `timestamp`. Waits while a writer of the record
    /// commits.
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

    /// Initializes a record that no session can find yet. Its slot can have been another record's
    /// before.
    fn start(core: &M::Core, record: &Record<'_, M>) {
        core.store_relaxed(record.line(), &record.cc().chain.wts, 0);
    }
}

impl<M: Machine, L: Locks<M, Words = VersionedLock>> Protocol<M> for ReadersOnVersions<M, L> {
    const ONE_COPY: bool = true;
    const ENTRY_BLOCKS: u64 = L::ENTRY_BLOCKS;
    const KEEPS_VERSIONS: bool = true;
    type Words = VersionedLock;
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

    // Only serializable, although the locks support other levels: a snapshot has no weaker form.
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
            versions: Versions::with_latches(arena, sessions, options.latch)?,
        })
    }

    fn worker<'s>(&'s self, epochs: &'s Epochs<M>, session: usize) -> Worker<'s, M, L> {
        Worker {
            locking: self.locking.worker(epochs, session),
            snapshot: None,
            session,
            source: TimestampSource::new(session),
            latcher: self.versions.latches.latcher(session),
            collector: self.versions.collector(session),
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

    fn forget_table<'s>(&'s self, worker: &mut Worker<'s, M, L>, table: TableId) {
        worker.collector.forget_table(table);
    }

    fn forbid_beginning_before(&self, core: &M::Core, timestamp: u64) {
        self.versions.active.raise(core, timestamp);
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        guard: GuardRef<'s, M, VersionedLock>,
    ) -> Result<(), Abort> {
        match worker.snapshot {
            None => self.locking.scan(core, &mut worker.locking, guard),
            // A record that is made in the range from now on was absent at the snapshot.
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
