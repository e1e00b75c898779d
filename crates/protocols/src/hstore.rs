//! HSTORE: timestamp ordering with one lock for each partition. A transaction acquires all of its locks before it
//! starts.
//!
//! Source: Kallman et al., VLDB 2008; Abyss 2.2.
//!
//! A transaction declares the partitions that it will access, gets a timestamp, and joins the queues of all of
//! them. It starts when it owns all of them. It waits for that at its first access, so that it prefetches what it
//! has announced while other transactions run. While it runs it has its partitions to itself, so it neither locks nor
//! validates records. The queues are ordered by timestamp. An older transaction goes before a younger one that has
//! not started ([`crate::mechanisms::partition_locks`]).
//!
//! Options:
//!
//! - `older-at-partition=aborts`, as in the 2022 code: a transaction that is older than the owner of one of its
//!   partitions aborts and retries with a new timestamp. A younger transaction waits.
//! - `partitions`: the number of partition locks.
//!
//! Deviations:
//!
//! - The transaction stays on its core, as in the Abyss paper's own test-bed (4.1). It is not sent to a partition's
//!   engine.
//! - A transaction that declares no partitions takes all of them.
//! - A record that was announced before the transaction started can have been removed until then. The transaction
//!   then retries.
//! - A transaction of several sites waits at each site before it begins at the next one. If it waited at several
//!   sites at once, two transactions could each own what the other one needs.
//! - An access to a partition that was not declared aborts the transaction for good.
//! - Writes are buffered, so that a transaction can roll back. The published code has no rollback.
//! - Natively, a transaction of one partition can overtake a sleeping one ([`crate::mechanisms::partition_locks`]).

use crate::{
    Change, CommitLog, Declaration, Images, Isolation, OlderAtPartition, Prepared, Protocol,
    ProtocolOptions, Txn, faults,
    mechanisms::{
        partition_locks::{Claims, Older, PartitionLocks, Refusal},
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        write_set::{WriteSet, write_through},
    },
};
use machine::{Arena, Category, Core, Machine, OutOfMemory, cold::Arc};
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet, Intent, KeyRange, Partitioning, TableSchema};

/// The HSTORE protocol.
pub struct Hstore<M: Machine> {
    locks: PartitionLocks<M>,
    allocator: TimestampAllocator<M>,
    older: Older,
}

/// State of a session: its partitions and writes.
pub struct Worker<'s, M: Machine> {
    claims: Claims<M>,
    writes: WriteSet<'s, M, ()>,
    source: TimestampSource,
    timestamp: u64,
    /// The declared partitions, ascending; empty for all partitions.
    declared: Vec<usize>,
    stage: Stage,
}

/// How far an attempt has come.
enum Stage {
    /// It has requested its partitions. It waits for them at its first access.
    Requested,
    /// It owns its partitions.
    Runs,
    /// It does not get its partitions, and aborts at its first access.
    Refused(Abort),
}

fn undeclared() -> Abort {
    Abort::because(AbortReason::UndeclaredPartition)
}

impl<M: Machine> Hstore<M> {
    /// Returns the lock of partition `partition`. There can be more partitions than locks.
    #[inline(always)]
    fn lock_of(&self, partition: u64) -> usize {
        let locks = self.locks.partitions() as u64;
        (if partition < locks { partition } else { partition % locks }) as usize
    }

    /// Waits for the partitions unless the attempt runs already. Must precede every access.
    #[inline(always)]
    fn start(&self, core: &M::Core, worker: &mut Worker<'_, M>) -> Result<(), Abort> {
        match worker.stage {
            Stage::Runs => Ok(()),
            _ => self.wait(core, worker),
        }
    }

    /// Waits for the partitions, or returns why the attempt does not get them. It is apart from the accesses, because it
    /// happens once in an attempt.
    #[inline(never)]
    fn wait(&self, core: &M::Core, worker: &mut Worker<'_, M>) -> Result<(), Abort> {
        if let Stage::Refused(abort) = worker.stage {
            return Err(abort);
        }
        let before = core.account(Category::ConcurrencyControl);
        if !core.is_planted(faults::HSTORE_STARTS_AT_ONCE) {
            self.locks.begin(core, &worker.claims);
        }
        core.account(before);
        worker.stage = Stage::Runs;
        Ok(())
    }

    fn let_go(&self, core: &M::Core, worker: &mut Worker<'_, M>) {
        worker.writes.clear();
        self.locks.release(core, &mut worker.claims);
    }
}

impl<M: Machine> Protocol<M> for Hstore<M> {
    type Words = ();
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "HSTORE",
            summary: "locks on partitions, declared and taken before the start, by timestamp",
            source: "Kallman et al. 2008; Abyss 2.2",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: None,
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["partitions", "older-at-partition", "latch"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let partitions = options.partitions.unwrap_or(1).max(1) as usize;
        Ok(Hstore {
            locks: PartitionLocks::new(arena, (partitions, options.latch), sessions)?,
            allocator: TimestampAllocator::new(arena, options.timestamps, sessions)?,
            older: match options.older_at_partition {
                OlderAtPartition::GoesFirst => Older::GoesFirst,
                OlderAtPartition::Aborts => Older::IsRefused,
            },
        })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, session: usize) -> Worker<'s, M> {
        Worker {
            claims: self.locks.claims(session),
            writes: WriteSet::default(),
            source: TimestampSource::new(session),
            timestamp: 0,
            declared: Vec::new(),
            stage: Stage::Runs,
        }
    }

    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>, txn: Txn<'_>) {
        let before = core.account(Category::ConcurrencyControl);
        // A transaction that was refused because of its age must retry with a later timestamp.
        if let Some(age) = txn.age {
            worker.timestamp = age;
        } else if txn.attempt == 0 || self.older == Older::IsRefused {
            worker.timestamp = self.allocator.draw(core, &mut worker.source);
        }
        worker.declared.clear();
        worker.declared.extend(txn.partitions.iter().map(|partition| self.lock_of(*partition)));
        worker.declared.sort_unstable();
        worker.declared.dedup();
        let (claims, timestamp) = (&mut worker.claims, worker.timestamp);
        let asked = match worker.declared.len() {
            0 => {
                let all = 0..self.locks.partitions();
                self.locks.request(core, claims, timestamp, all, self.older)
            }
            _ => {
                let declared = worker.declared.iter().copied();
                self.locks.request(core, claims, timestamp, declared, self.older)
            }
        };
        worker.stage = match asked {
            Ok(()) => Stage::Requested,
            Err(Refusal::TooOld) => Stage::Refused(Abort::because(AbortReason::TimestampOrder)),
            Err(Refusal::OutOfMemory) => Stage::Refused(Abort::because(AbortReason::OutOfMemory)),
        };
        core.account(before);
        if !txn.alone {
            // A refusal is reported by the first access.
            _ = self.start(core, worker);
        }
    }

    fn age<'s>(&'s self, worker: &Worker<'s, M>) -> Option<u64> {
        Some(worker.timestamp)
    }

    fn locks_partitions(&self) -> bool {
        true
    }

    #[inline]
    fn approach<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        table: &TableSchema,
        keys: KeyRange,
    ) -> Result<(), Abort> {
        self.start(core, worker)?;
        if worker.declared.is_empty() {
            return Ok(());
        }
        let has = |partition| worker.declared.binary_search(&self.lock_of(partition)).is_ok();
        // A transaction that owns any partition may read replicated rows. `write` has the rule for writing them.
        let has_all = match keys.first() == keys.last() {
            true => table.partitioning.of(keys.first()).is_none_or(has),
            false => table.partitioning.all_of_range(keys, has),
        };
        if has_all { Ok(()) } else { Err(undeclared()) }
    }

    /// Does nothing: the locks on its partitions protect the range.
    fn scan<'s>(
        &'s self,
        _: &M::Core,
        _: &mut Worker<'s, M>,
        _: GuardRef<'s, M, ()>,
    ) -> Result<(), Abort> {
        Ok(())
    }

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: RecordRef<'s, M, ()>,
        columns: ColumnSet,
        _: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        self.start(core, worker)?;
        let head = record.copy_out(core, columns, out);
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
        record: RecordRef<'s, M, ()>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        self.start(core, worker)?;
        if core.is_planted(faults::HSTORE_WITHOUT_ROLLBACK) {
            return Ok(write_through(core, &record, change));
        }
        let rule = record.table().schema().partitioning;
        let replicated = matches!(rule, Partitioning::Replicated { .. });
        let has_all = [0, self.locks.partitions()].contains(&worker.declared.len());
        if replicated && !has_all {
            return Err(undeclared());
        }
        let at = worker.writes.find(&record);
        let state = worker.writes.state_over(at, record.head(core).state);
        if change.state.is_none() && !state.is_present() {
            return Ok(false);
        }
        worker.writes.put(core, record, at, change);
        Ok(true)
    }

    #[inline]
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
    ) -> Result<Prepared, Abort> {
        self.start(core, worker)?;
        Ok(Prepared::ANY)
    }

    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        log: &mut Images<'_, 's, M>,
    ) {
        worker.writes.tell_images(core, log);
    }

    #[inline]
    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        _: u64,
        log: &mut CommitLog<'_>,
    ) {
        worker.writes.install_all(core, log);
        self.let_go(core, worker);
    }

    #[inline]
    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        self.let_go(core, worker);
    }
}
