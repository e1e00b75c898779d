//! OCC: optimistic, with two timestamps a transaction, validated record by record.
//!
//! Source: Kung and Robinson 1981; Larson et al., VLDB 2011 (validation in parallel); Abyss 2.2, 4.3, 5.1.
//! A start timestamp is drawn when an attempt begins, and a read of a version later than it is refused: with
//! one counter of timestamps a transaction sees the rows as they were at its start, or ends. At commit the
//! records to be written are latched in name order, an end timestamp is drawn, and every record read must
//! have the version that was read and no latch of another's; what is installed carries the end timestamp.
//!
//! Serialized by the moment at which the end timestamp is drawn: by then a writer has all its latches,
//! and whoever overwrites what another has read can latch it only after the other has drawn and
//! validated. With one counter that is the order of the end timestamps; in batches or from clocks they
//! only name versions, and an old one costs needless refusals, never an anomaly. So it is always strict.
//!
//! Option, for comparison: the whole of that in one critical section (Kung and Robinson, section 4, serial
//! validation; what Abyss 4.3 began with). Then nobody finds a record latched but readers, who wait for the row
//! to be whole.
//! Read committed, on demand: reads and ranges are neither refused nor validated, but for what is read for update.
//! Deviations: one version per record, so a read of the past is refused instead of answered (as in the
//! papers' simulation); scanned ranges are validated as SILO's are; only written records are latched, not read
//! ones; serial validation asks each record read for its version instead of every transaction since the start
//! for its write set: the answer is the same; a fresh record for an absent key carries no timestamp, so an
//! absence may be later than the start (validation still guards it).

use crate::{
    Change, CommitLocks, CommitLog, Declaration, Isolation, Protocol, ProtocolOptions, Start,
    Validation,
    parts::{
        critical_section::{CriticalSection, Entrance},
        node_set::NodeSet,
        tid_word::{self, LOCKED, TidRecord},
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet, Intent};

/// What mutants may put elsewhere; the protocol itself is as published.
pub trait Variant: Send + Sync + 'static {
    /// Serial validation is part of the critical section.
    const VALIDATES_INSIDE: bool = true;
    /// There is a critical section whatever the options say.
    const CENTRAL: bool = false;
}

/// The algorithm as published.
pub struct AsPublished;
impl Variant for AsPublished {}

/// The protocol.
pub struct Occ<M: Machine, V = AsPublished> {
    allocator: TimestampAllocator<M>,
    section: Option<CriticalSection<M>>,
    variant: PhantomData<V>,
    /// All reads are validated.
    validates: bool,
}

/// `| end timestamp of the version's writer: 63 bits | latched: 1 bit |`
#[repr(transparent)]
pub struct WriteTime(Word);

// SAFETY: a word.
unsafe impl Zeroed for WriteTime {}

impl TidRecord for WriteTime {
    #[inline(always)]
    fn word(&self) -> &Word {
        &self.0
    }
}

/// The word of a version written at `timestamp`.
#[inline(always)]
fn written_at(timestamp: u64) -> u64 {
    timestamp << 1
}

struct Observed<'s, M: Machine> {
    record: RecordRef<'s, M, WriteTime>,
    version: u64,
}

/// Start timestamp, read set, node set, write set.
pub struct Worker<'s, M: Machine> {
    start: u64,
    source: TimestampSource,
    reads: Vec<Observed<'s, M>>,
    leaves: NodeSet<'s, M, WriteTime>,
    writes: WriteSet<'s, M, WriteTime>,
    latched: usize,
    entrance: Option<Entrance<'s, M>>,
}

impl<M: Machine> Worker<'_, M> {
    fn forget(&mut self, core: &M::Core) {
        if let Some(entrance) = &mut self.entrance {
            entrance.leave(core);
        }
        self.latched = 0;
        self.reads.clear();
        self.leaves.clear();
        self.writes.clear();
    }
}

impl<M: Machine, V: Variant> Occ<M, V> {
    fn validate(core: &M::Core, worker: &Worker<'_, M>) -> Result<(), Abort> {
        for read in &worker.reads {
            let now = core.load(read.record.line(), &read.record.cc().0);
            let changed = now & !LOCKED != read.version;
            let latched_by_another =
                now & LOCKED != 0 && worker.writes.find(&read.record).is_none();
            if changed || latched_by_another {
                return Err(Abort::because(AbortReason::Validation));
            }
        }
        worker.leaves.validate(core)
    }
}

impl<M: Machine, V: Variant> Protocol<M> for Occ<M, V> {
    type Record = WriteTime;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        let declaration = Declaration {
            name: "OCC",
            summary: "optimistic; a timestamp at the start and one at the end, reads validated one by one",
            source: "Kung and Robinson 1981; Larson et al., VLDB 2011; Abyss 2.2, 4.3, 5.1",
            isolation: Isolation::Serializable,
            strict: true,
        };
        declaration.at_level_of(options)
    }

    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable, Isolation::ReadCommitted]
    }

    fn knobs() -> &'static [&'static str] {
        &["validation"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let allocator = TimestampAllocator::new(arena, options.timestamps, sessions)?;
        let section = match options.validation {
            Validation::Parallel if !V::CENTRAL => None,
            Validation::Parallel | Validation::Central => {
                Some(CriticalSection::new(arena, sessions)?)
            }
        };
        let validates = options.asks_for_full_isolation();
        Ok(Occ { allocator, section, validates, variant: PhantomData })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, slot: usize) -> Worker<'s, M> {
        Worker {
            start: 0,
            source: TimestampSource::default(),
            reads: Vec::new(),
            leaves: NodeSet::default(),
            writes: WriteSet::default(),
            latched: 0,
            entrance: self.section.as_ref().map(|section| section.entrance(slot)),
        }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>, _: Start) {
        worker.start = self.allocator.draw(core, &mut worker.source);
    }

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: RecordRef<'s, M, WriteTime>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let (version, head) = tid_word::read_consistently(core, &record, columns, out, LOCKED);
        if self.validates || intent == Intent::Update {
            if version > written_at(worker.start) {
                return Err(Abort::because(AbortReason::TimestampOrder));
            }
            worker.reads.push(Observed { record, version });
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
        record: RecordRef<'s, M, WriteTime>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let at = worker.writes.find(&record);
        if change.state.is_none() {
            // A blind update reads nothing; only an absence that the caller is told of is a read.
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
        guard: GuardRef<'s, M, WriteTime>,
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
        guard: GuardRef<'s, M, WriteTime>,
        record: RecordRef<'s, M, WriteTime>,
        counted: u64,
    ) -> Result<(), Abort> {
        // The slot may have been another record's.
        core.store(record.line(), &record.cc().0, 0);
        if worker.leaves.made(guard, counted) {
            worker.reads.push(Observed { record, version: 0 });
        }
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, WriteTime>,
        right: GuardRef<'s, M, WriteTime>,
        counted: u64,
    ) -> Result<(), Abort> {
        worker.leaves.split(core, guard, right, counted);
        Ok(())
    }

    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) -> Result<u64, Abort> {
        worker.writes.sort();
        if let Some(entrance) = &mut worker.entrance {
            if V::VALIDATES_INSIDE {
                entrance.enter(core);
            } else {
                Self::validate(core, worker)?;
            }
        }
        for at in 0..worker.writes.len() {
            // Waiting keeps others waiting, but an attempt given up would have drawn its timestamps in vain,
            // and those are what many cores wait for.
            tid_word::lock(core, &worker.writes.record(at), LOCKED, CommitLocks::Wait)?;
            worker.latched = at + 1;
            worker.writes.check_presence(core, at)?;
        }
        // The serialisation point: behind every latch, before anything is validated.
        core.fence();
        let end = self.allocator.draw(core, &mut worker.source);
        core.fence();
        if V::VALIDATES_INSIDE || worker.entrance.is_none() {
            Self::validate(core, worker)?;
        }
        Ok(end)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        end: u64,
        log: &mut CommitLog<'_>,
    ) {
        for at in 0..worker.writes.len() {
            worker.writes.install(core, at, log);
        }
        for record in worker.writes.records() {
            core.store(record.line(), &record.cc().0, written_at(end));
        }
        worker.forget(core);
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        for record in worker.writes.records().take(worker.latched) {
            let (line, word) = (record.line(), &record.cc().0);
            let latched = core.load_relaxed(line, word);
            core.store(line, word, latched & !LOCKED);
        }
        worker.forget(core);
    }
}
