//! MOCC: optimistic, with locks on what is hot.
//!
//! Source: Wang and Kimura, VLDB 2016; limits as in their code. It is [SILO](crate::silo) with one thing more:
//! a record for which many transactions have failed (its temperature) is locked before it is read, so that
//! nobody overwrites what was read before the reader commits. Locks have queues, of readers and writers, from
//! which one can withdraw. They are taken in the order of names wherever that is possible, and then waited for;
//! an attempt that has failed leaves its successor a list of locks to take in that order from the start
//! ([`crate::parts::ordered_locks`]). At commit records to be written are locked in order, and whatever stands
//! in the way of that order is given back first. Locks only keep others away: what makes a transaction
//! serializable is SILO's validation, of every read, whether it was locked or not.
//!
//! A threshold of 0 locks every read, as the paper's PCC does; one of 64 none but on the list.
//! Deviations: the temperature is a record's, not a page's, and cools down in the next window of epochs; queues
//! are under a latch (the paper's are latch-free); a writer sets a bit of the TID word before it validates, as
//! SILO's do, so that who validates without a lock sees it; a lock alone hinders nobody's reading.

use crate::{
    Change, CommitLocks, CommitLog, Declaration, Isolation, Protocol, ProtocolOptions, Start,
    parts::{
        cancellable_queue::Sessions,
        lock_queue::{LockQueue, Queued},
        node_set::NodeSet,
        ordered_locks::{OrderedLocks, OutOfOrder},
        temperature::{Temperature, window_of},
        tid_word::{self, LOCKED, TidRecord},
        two_phase_locking::Mode,
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet, Intent};

/// What mutants may turn round; the protocol itself is as published.
pub trait Variant: Send + Sync + 'static {
    /// What is done about a read lock that is out of order.
    const OUT_OF_ORDER: OutOfOrder = OutOfOrder::Try;
    /// Reads are validated although their records are locked.
    const VALIDATES_LOCKED: bool = true;
}

/// The algorithm as published.
pub struct AsPublished;
impl Variant for AsPublished {}

/// The protocol.
pub struct Mocc<M: Machine, V = AsPublished> {
    sessions: Sessions<M>,
    threshold: u64,
    variant: PhantomData<V>,
}

/// SILO's word, a lock, and how hot the record is.
#[repr(C)]
pub struct Words {
    tid: Word,
    lock: LockQueue,
    temperature: Temperature,
}

// SAFETY: words.
unsafe impl Zeroed for Words {}

impl TidRecord for Words {
    #[inline(always)]
    fn word(&self) -> &Word {
        &self.tid
    }
}

impl Queued for Words {
    #[inline(always)]
    fn queue(&self) -> &LockQueue {
        &self.lock
    }
}

struct Observed<'s, M: Machine> {
    record: RecordRef<'s, M, Words>,
    tid: u64,
}

/// Locks, read set, node set, write set, and the last TID that this worker chose.
pub struct Worker<'s, M: Machine> {
    epochs: &'s Epochs<M>,
    locks: OrderedLocks<'s, M, Words>,
    reads: Vec<Observed<'s, M>>,
    leaves: NodeSet<'s, M, Words>,
    writes: WriteSet<'s, M, Words>,
    /// How many records to be written show that they are.
    committing: usize,
    /// The attempt has failed to commit.
    failed: bool,
    last_tid: u64,
    window: u64,
    random: u64,
}

impl<M: Machine> Worker<'_, M> {
    fn forget(&mut self, core: &M::Core) {
        self.locks.release(core);
        self.committing = 0;
        self.failed = false;
        self.reads.clear();
        self.leaves.clear();
        self.writes.clear();
    }
}

impl<M: Machine, V: Variant> Mocc<M, V> {
    fn heat(core: &M::Core, record: &RecordRef<'_, M, Words>, window: u64) -> u64 {
        record.cc().temperature.get::<M>(core, record.line(), window)
    }

    fn validate(core: &M::Core, worker: &mut Worker<'_, M>) -> Result<(), Abort> {
        let trusted = |record| !V::VALIDATES_LOCKED && worker.locks.holds(record);
        for read in worker.reads.iter().filter(|read| !trusted(&read.record)) {
            let (line, words) = (read.record.line(), read.record.cc());
            let now = core.load(line, &words.tid);
            let locked_by_another = now & LOCKED != 0 && worker.writes.find(&read.record).is_none();
            if now & !LOCKED != read.tid || locked_by_another {
                words.temperature.raise::<M>(core, line, worker.window, &mut worker.random);
                return Err(Abort::because(AbortReason::Validation));
            }
        }
        worker.leaves.validate(core)
    }

    fn lock_and_validate(&self, core: &M::Core, worker: &mut Worker<'_, M>) -> Result<u64, Abort> {
        let out_of_order = match V::OUT_OF_ORDER {
            OutOfOrder::Wait => OutOfOrder::Wait,
            OutOfOrder::Try | OutOfOrder::Restore => OutOfOrder::Restore,
        };
        worker.writes.sort();
        for at in 0..worker.writes.len() {
            let record = worker.writes.record(at);
            worker.locks.lock(core, record, Mode::Exclusive, out_of_order)?;
        }
        let mut newest = worker.last_tid;
        for at in 0..worker.writes.len() {
            let record = worker.writes.record(at);
            // Nobody else can have the bit set, who has no lock.
            newest = newest.max(tid_word::lock(core, &record, LOCKED, CommitLocks::Refuse)?);
            worker.committing = at + 1;
            worker.writes.check_presence(core, at)?;
        }
        // The serialisation point, as in SILO.
        core.fence();
        let epoch = worker.epochs.current(core);
        core.fence();
        Self::validate(core, worker)?;
        newest = worker.reads.iter().map(|read| read.tid).fold(newest, u64::max);
        Ok(tid_word::next_tid(epoch, newest))
    }

    /// The records to be written, and those read that have changed or are nearly hot.
    fn recommend(&self, core: &M::Core, worker: &mut Worker<'_, M>) {
        let (threshold, window) = (self.threshold.saturating_sub(1), worker.window);
        let Worker { locks, reads, writes, .. } = worker;
        let written = writes.records().map(|record| (record, Mode::Exclusive));
        let clobbered = reads.iter().filter(|read| {
            let now = core.load_relaxed(read.record.line(), &read.record.cc().tid);
            now != read.tid || Self::heat(core, &read.record, window) >= threshold
        });
        locks.recommend(written.chain(clobbered.map(|read| (read.record, Mode::Shared))));
    }
}

impl<M: Machine, V: Variant> Protocol<M> for Mocc<M, V> {
    type Record = Words;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "MOCC",
            summary: "optimistic as SILO; what many transactions have failed for is locked before it is read",
            source: "Wang and Kimura, VLDB 2016",
            isolation: Isolation::Serializable,
            strict: true,
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["hot-threshold"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let (sessions, threshold) = (Sessions::new(arena, sessions)?, options.hot_threshold);
        Ok(Mocc { sessions, threshold, variant: PhantomData })
    }

    fn worker<'s>(&'s self, epochs: &'s Epochs<M>, slot: usize) -> Worker<'s, M> {
        Worker {
            epochs,
            locks: OrderedLocks::new(&self.sessions, slot),
            reads: Vec::new(),
            leaves: NodeSet::default(),
            writes: WriteSet::default(),
            committing: 0,
            failed: false,
            last_tid: 0,
            window: 0,
            random: slot as u64 + 1,
        }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>, start: Start) {
        worker.window = window_of(worker.epochs.current(core));
        worker.locks.begin(core, start.attempt == 0);
    }

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: RecordRef<'s, M, Words>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let recommended = worker.locks.recommended(&record);
        let is_hot = Self::heat(core, &record, worker.window) >= self.threshold;
        if is_hot || recommended.is_some() {
            let mode = if intent == Intent::Update { Mode::Exclusive } else { Mode::Shared };
            let mode = recommended.filter(|mode| *mode == Mode::Exclusive).unwrap_or(mode);
            worker.locks.lock(core, record, mode, V::OUT_OF_ORDER)?;
        }
        let (tid, head) = tid_word::read_consistently(core, &record, columns, out, LOCKED);
        worker.reads.push(Observed { record, tid });
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
        record: RecordRef<'s, M, Words>,
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
        guard: GuardRef<'s, M, Words>,
    ) -> Result<(), Abort> {
        worker.leaves.observe(core, guard);
        Ok(())
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Words>,
        record: RecordRef<'s, M, Words>,
        counted: u64,
    ) -> Result<(), Abort> {
        // The slot may have been another record's.
        core.store(record.line(), &record.cc().tid, 0);
        if worker.leaves.made(guard, counted) {
            worker.reads.push(Observed { record, tid: 0 });
        }
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Words>,
        right: GuardRef<'s, M, Words>,
        counted: u64,
    ) -> Result<(), Abort> {
        worker.leaves.split(core, guard, right, counted);
        Ok(())
    }

    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) -> Result<u64, Abort> {
        let prepared = self.lock_and_validate(core, worker);
        worker.failed = prepared.is_err();
        prepared
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
            core.store(record.line(), &record.cc().tid, tid);
        }
        worker.forget(core);
    }

    fn epoch_of(commit_timestamp: u64) -> Option<u64> {
        Some(tid_word::epoch_of(commit_timestamp))
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        for record in worker.writes.records().take(worker.committing) {
            let (line, word) = (record.line(), &record.cc().tid);
            let held = core.load_relaxed(line, word);
            core.store(line, word, held & !LOCKED);
        }
        if worker.failed {
            self.recommend(core, worker);
        }
        worker.forget(core);
    }
}
