//! Bugs that are planted between a protocol, whose own text stays as it is, and whoever calls it.

use crate::{
    Change, CommitLocks, CommitLog, Declaration, Isolation, Protocol, ProtocolOptions, Start,
    TimestampAllocation,
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};
use std::marker::PhantomData;
use storage::{Epochs, GuardRef, RecordRef, RowHead, RowState};
use txn::{Abort, ColumnSet, Intent, KeyRange, TableSchema, Version};

/// A bug that is planted between a protocol and whoever calls it.
pub trait Twist: Send + Sync + 'static {
    /// Writes go to the shared record at once.
    const WRITES_BYPASS: bool = false;
    /// No scanned leaf is announced.
    const SCANS_KEYS: bool = false;
    /// A scanned leaf is announced only when a record in it is read.
    const SCANS_RECORDS: bool = false;
    /// Records are made without asking.
    const INSERTS_UNASKED: bool = false;
    /// The absence that a scan has seen is not protected when a record is made for it.
    const INSERTS_UNREAD: bool = false;
    /// A record made in a leaf does not start where the leaf's guard stands.
    const FORGETS_RANGE: bool = false;
    /// The right half of a leaf does not know what the whole knew.
    const FORGETS_SPLIT: bool = false;
    /// Entries of secondary indexes are never deleted.
    const KEEPS_ENTRIES: bool = false;
    /// The second part of a row stays when the row is deleted.
    const KEEPS_SECOND_PARTS: bool = false;
    /// A retry begins as if it were new.
    const RETRIES_ANEW: bool = false;
    /// Reads see the shared record, whatever the transaction itself has written.
    const READS_PAST_OWN: bool = false;
    /// Timestamps come in batches, which its declaration does not know.
    const BATCHES: bool = false;
    /// Nothing is prepared, so nothing is validated.
    const UNPREPARED: bool = false;
    /// It waits for locks at commit, whatever was asked for.
    const WAITS_AT_COMMIT: bool = false;
    /// Memory is used again as soon as it is given up.
    const FREES_EARLY: bool = false;
}

/// `P`, with the bug `T`.
pub struct Twisted<P, T> {
    protocol: P,
    twist: PhantomData<T>,
}

/// `P`'s state, and the leaf that is to be announced yet.
pub struct TwistedWorker<'s, M: Machine, P: Protocol<M>> {
    worker: P::Worker<'s>,
    unannounced: Option<GuardRef<'s, M, P::Record>>,
}

impl<M: Machine, P: Protocol<M>, T: Twist> Protocol<M> for Twisted<P, T> {
    const LOCKS_PARTITIONS: bool = P::LOCKS_PARTITIONS;
    const FREES_EARLY: bool = T::FREES_EARLY;
    type Record = P::Record;
    type Worker<'s>
        = TwistedWorker<'s, M, P>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        P::declare(options)
    }

    fn levels() -> &'static [Isolation] {
        P::levels()
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let mut options = options.clone();
        if T::WAITS_AT_COMMIT {
            options.commit_locks = CommitLocks::Wait;
        }
        if T::BATCHES {
            options.timestamps = TimestampAllocation::Batched(4);
        }
        let protocol = P::create(arena, &options, sessions)?;
        Ok(Twisted { protocol, twist: PhantomData })
    }

    fn worker<'s>(&'s self, epochs: &'s Epochs<M>, slot: usize) -> Self::Worker<'s> {
        TwistedWorker { worker: self.protocol.worker(epochs, slot), unannounced: None }
    }

    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Self::Worker<'s>, start: Start<'_>) {
        worker.unannounced = None;
        let attempt = if T::RETRIES_ANEW { 0 } else { start.attempt };
        self.protocol.begin(core, &mut worker.worker, Start { attempt, ..start });
    }

    fn identify<'s>(&'s self, worker: &mut Self::Worker<'s>, version: Version) {
        self.protocol.identify(&mut worker.worker, version);
    }

    fn approach<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        table: &TableSchema,
        key: u64,
    ) -> Result<(), Abort> {
        self.protocol.approach(core, &mut worker.worker, table, key)
    }

    fn approach_range<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        table: &TableSchema,
        range: KeyRange,
    ) -> Result<(), Abort> {
        self.protocol.approach_range(core, &mut worker.worker, table, range)
    }

    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, P::Record>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        if let Some(guard) = worker.unannounced.take() {
            self.protocol.scan(core, &mut worker.worker, guard)?;
        }
        let head = self.protocol.read(core, &mut worker.worker, record, columns, intent, out)?;
        if T::READS_PAST_OWN && head.own {
            return Ok(record.copy_out(core, columns, out));
        }
        Ok(head)
    }

    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, P::Record>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let is_entry = || record.table().schema().index_of.is_some();
        if T::KEEPS_ENTRIES && change.state == Some(RowState::ABSENT) && is_entry() {
            return Ok(true);
        }
        let is_second = || record.table().is_behind();
        if T::KEEPS_SECOND_PARTS && change.state == Some(RowState::ABSENT) && is_second() {
            return Ok(true);
        }
        if !T::WRITES_BYPASS {
            return self.protocol.write(core, &mut worker.worker, record, change);
        }
        let there = record.head(core);
        if change.state.is_none() && !there.state.is_present() {
            return Ok(false);
        }
        record.install(core, change.columns, change.values, change.state, Version::INITIAL);
        Ok(true)
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, P::Record>,
    ) -> Result<(), Abort> {
        worker.unannounced = T::SCANS_RECORDS.then_some(guard);
        if T::SCANS_KEYS || T::SCANS_RECORDS {
            return Ok(());
        }
        self.protocol.scan(core, &mut worker.worker, guard)
    }

    fn begin_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, P::Record>,
    ) -> Result<(), Abort> {
        worker.unannounced = None;
        if T::INSERTS_UNASKED {
            return Ok(());
        }
        self.protocol.begin_insertion(core, &mut worker.worker, guard)
    }

    fn end_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, P::Record>,
    ) {
        self.protocol.end_insertion(core, &mut worker.worker, guard);
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, P::Record>,
        record: RecordRef<'s, M, P::Record>,
        counted: u64,
    ) -> Result<(), Abort> {
        if T::INSERTS_UNREAD {
            self.protocol.prepare_record(core, &record, Some(guard));
            return Ok(());
        }
        self.protocol.insert(core, &mut worker.worker, guard, record, counted)?;
        if T::FORGETS_RANGE {
            self.protocol.prepare_record(core, &record, None);
        }
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, P::Record>,
        right: GuardRef<'s, M, P::Record>,
        counted: u64,
    ) -> Result<(), Abort> {
        if T::FORGETS_SPLIT {
            return Ok(());
        }
        self.protocol.split(core, &mut worker.worker, guard, right, counted)
    }

    fn merge(
        &self,
        core: &M::Core,
        gone: GuardRef<'_, M, P::Record>,
        heir: GuardRef<'_, M, P::Record>,
    ) {
        self.protocol.merge(core, gone, heir);
    }

    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut Self::Worker<'s>) -> Result<u64, Abort> {
        if T::UNPREPARED {
            return Ok(0);
        }
        self.protocol.prepare(core, &mut worker.worker)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        self.protocol.commit(core, &mut worker.worker, timestamp, log);
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Self::Worker<'s>) {
        self.protocol.abort(core, &mut worker.worker);
    }

    fn prepare_record(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, P::Record>,
        guard: Option<GuardRef<'_, M, P::Record>>,
    ) {
        self.protocol.prepare_record(core, record, guard);
    }

    fn retire(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, P::Record>,
        guard: Option<GuardRef<'_, M, P::Record>>,
    ) {
        self.protocol.retire(core, record, guard);
    }

    fn epoch_of(commit_timestamp: u64) -> Option<u64> {
        P::epoch_of(commit_timestamp)
    }

    fn priority<'s>(&'s self, worker: &Self::Worker<'s>) -> Option<u64> {
        self.protocol.priority(&worker.worker)
    }
}
