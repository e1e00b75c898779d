//! SILO: optimistic, validated record by record, without a shared counter.
//!
//! Source: Tu, Zheng, Kohler, Liskov and Madden, SOSP 2013, sections 4.2 to 4.6. A transaction reads without
//! writing shared memory, then commits in three phases: lock the write set in name order; read the
//! epoch between two fences and validate that every record read has the TID it had and is not locked by
//! another, and that no scanned leaf has gained a record (4.6); install with a TID larger than all it has
//! met, in that epoch.
//! Whether it waits for a record that another is committing, as published, or refuses, is an option.
//! Read committed, on demand: reads and ranges are not validated, but for what is read for update.
//! Deviations: the status bits of the TID word are a lock bit alone (one version per record, no snapshots);
//! presence of a row is a word of its own.

use crate::{
    Change, CommitLocks, CommitLog, Declaration, Isolation, Protocol, ProtocolOptions, Start,
    parts::{
        node_set::NodeSet,
        tid_word::{self, LOCKED, TidRecord},
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet, Intent};

/// What mutants may leave out; the protocol itself leaves nothing out.
pub trait Variant: Send + Sync + 'static {
    /// Validation rejects records that another transaction has locked.
    const CHECKS_LOCK: bool = true;
    /// Write locks are taken in one order by all.
    const SORTS: bool = true;
    /// The epoch is read when all locks are held.
    const LATE_EPOCH: bool = true;
    /// What is read for update is validated at every level of isolation.
    const CHECKS_UPDATES: bool = true;
}

/// The algorithm as published.
pub struct AsPublished;
impl Variant for AsPublished {}

/// The protocol.
pub struct Silo<V = AsPublished> {
    commit_locks: CommitLocks,
    /// All reads are validated.
    validates: bool,
    variant: PhantomData<V>,
}

/// The TID word.
#[repr(transparent)]
pub struct TidWord(Word);

// SAFETY: a word.
unsafe impl Zeroed for TidWord {}

impl TidRecord for TidWord {
    #[inline(always)]
    fn word(&self) -> &Word {
        &self.0
    }
}

struct Observed<'s, M: Machine> {
    record: RecordRef<'s, M, TidWord>,
    tid: u64,
}

/// Read set, node set, write set, and the last TID that this worker chose.
pub struct Worker<'s, M: Machine> {
    epochs: &'s Epochs<M>,
    reads: Vec<Observed<'s, M>>,
    leaves: NodeSet<'s, M, TidWord>,
    writes: WriteSet<'s, M, TidWord>,
    locked: usize,
    last_tid: u64,
}

impl<V: Variant> Silo<V> {
    fn validate<M: Machine>(core: &M::Core, worker: &Worker<'_, M>) -> Result<(), Abort> {
        for read in &worker.reads {
            let now = core.load(read.record.line(), &read.record.cc().0);
            let changed = now & !LOCKED != read.tid;
            let locked_by_another =
                V::CHECKS_LOCK && now & LOCKED != 0 && worker.writes.find(&read.record).is_none();
            if changed || locked_by_another {
                return Err(Abort::because(AbortReason::Validation));
            }
        }
        worker.leaves.validate(core)
    }
}

impl<M: Machine, V: Variant> Protocol<M> for Silo<V> {
    type Record = TidWord;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        let declaration = Declaration {
            name: "SILO",
            summary: "optimistic; validates TID words at commit, epochs instead of a shared counter",
            source: "Tu et al., SOSP 2013; Full story 2.1",
            isolation: Isolation::Serializable,
            strict: true,
        };
        declaration.at_level_of(options)
    }

    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable, Isolation::ReadCommitted]
    }

    fn knobs() -> &'static [&'static str] {
        &["commit-locks"]
    }

    fn create(_: &Arc<Arena>, options: &ProtocolOptions, _: usize) -> Result<Self, OutOfMemory> {
        let validates = options.asks_for_full_isolation();
        Ok(Silo { commit_locks: options.commit_locks, validates, variant: PhantomData })
    }

    fn worker<'s>(&'s self, epochs: &'s Epochs<M>, _: usize) -> Worker<'s, M> {
        Worker {
            epochs,
            reads: Vec::new(),
            leaves: NodeSet::default(),
            writes: WriteSet::default(),
            locked: 0,
            last_tid: 0,
        }
    }

    #[inline]
    fn begin<'s>(&'s self, _: &M::Core, _: &mut Worker<'s, M>, _: Start) {}

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: RecordRef<'s, M, TidWord>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let (tid, head) = tid_word::read_consistently(core, &record, columns, out, LOCKED);
        if self.validates || V::CHECKS_UPDATES && intent == Intent::Update {
            worker.reads.push(Observed { record, tid });
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
        record: RecordRef<'s, M, TidWord>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let at = worker.writes.find(&record);
        if change.state.is_none() {
            // A blind update reads nothing: that its row exists is checked under the lock at commit. Only
            // an absence that the caller is told of becomes part of the read set.
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
        guard: GuardRef<'s, M, TidWord>,
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
        guard: GuardRef<'s, M, TidWord>,
        record: RecordRef<'s, M, TidWord>,
        counted: u64,
    ) -> Result<(), Abort> {
        // The slot may have been another record's.
        core.store(record.line(), &record.cc().0, 0);
        if worker.leaves.made(guard, counted) {
            worker.reads.push(Observed { record, tid: 0 });
        }
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, TidWord>,
        right: GuardRef<'s, M, TidWord>,
        counted: u64,
    ) -> Result<(), Abort> {
        worker.leaves.split(core, guard, right, counted);
        Ok(())
    }

    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) -> Result<u64, Abort> {
        if V::SORTS {
            worker.writes.sort();
        }
        let early = if V::LATE_EPOCH { 0 } else { worker.epochs.current(core) };
        let mut newest = worker.last_tid;
        for at in 0..worker.writes.len() {
            let record = worker.writes.record(at);
            newest = newest.max(tid_word::lock(core, &record, LOCKED, self.commit_locks)?);
            worker.locked = at + 1;
            worker.writes.check_presence(core, at)?;
        }
        // The serialisation point: every lock is held before the epoch is read, and the epoch is read
        // before anything is validated.
        core.fence();
        let epoch = if V::LATE_EPOCH { worker.epochs.current(core) } else { early };
        core.fence();
        Self::validate(core, worker)?;
        newest = worker.reads.iter().map(|read| read.tid).fold(newest, u64::max);
        Ok(tid_word::next_tid(epoch, newest))
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        tid: u64,
        log: &mut CommitLog<'_>,
    ) {
        if !worker.writes.is_empty() {
            worker.last_tid = tid;
        }
        for at in 0..worker.writes.len() {
            worker.writes.install(core, at, log);
        }
        for record in worker.writes.records() {
            core.store(record.line(), &record.cc().0, tid);
        }
        worker.locked = 0;
        worker.reads.clear();
        worker.leaves.clear();
        worker.writes.clear();
    }

    fn epoch_of(commit_timestamp: u64) -> Option<u64> {
        Some(tid_word::epoch_of(commit_timestamp))
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
}
