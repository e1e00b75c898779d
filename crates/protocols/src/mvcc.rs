//! MVCC: multi-version timestamp ordering.
//!
//! Source: Reed 1978; Bernstein and Goodman 1983; Abyss 2.2.
//!
//! - A transaction draws a timestamp when an attempt begins, and is serialized at it. A retry draws a new one.
//! - A read returns the version that was newest at the reader's timestamp, and is never refused. It marks the
//!   newest version as read (`rts`). It waits for a prewrite between that version and its own timestamp to be
//!   decided.
//! - A write is announced (prewrite) when it is made. It is refused if a later transaction has read or written the
//!   row.
//! - Waits always go from later to earlier timestamps, so they cannot form a cycle.
//!
//! MVCC is strict unless timestamps come in batches. With batches, an old timestamp can be used after a later one
//! has committed.
//!
//! Garbage collection: a session removes versions from their chains in lots, as soon as no transaction can read
//! them. Versions are removed from the middle of a chain too ([`version_collector`]). A chain holds at most one
//! version for each transaction older than the newest version, plus those superseded since the last lots.
//!
//! Deviations:
//!
//! - A record has one undecided prewrite, and a version can follow the newest one only. A write between two
//!   versions is refused, as in the papers' code, so older versions need no `rts`. With
//!   `waiting-writers=in-turn` the earliest of the writers that wait goes first, as there.
//! - A read for update announces its write at once.
//! - Read-only transactions are treated like all others, because reading at an older timestamp would not be strict.
//!
//! [`version_collector`]: crate::mechanisms::version_collector

use crate::{
    CommitLog, Declaration, Isolation, ProtocolOptions, TimestampAllocation, Txn, faults,
    mechanisms::{
        absence_times::AbsenceTimes,
        announced_writes::{Access, AnnouncedWrites, Announces, Rules},
        prewrite::{Prewriter, Waiting},
        range_times,
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        version_chain,
        version_collector::{VersionCollector, Versions},
        version_times::Times,
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::{GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, TableId};

/// The MVCC protocol.
pub type Mvcc<M> = AnnouncedWrites<MvccRules<M>>;

/// MVCC's rules: which versions a transaction reads, and when it writes.
pub struct MvccRules<M: Machine> {
    allocator: TimestampAllocator<M>,
    versions: Versions<M>,
    absences: AbsenceTimes<M>,
    waiting: Waiting<M>,
}

type Record<'s, M> = RecordRef<'s, M, Times>;

/// State of a session: its timestamp, and the versions that it has superseded.
pub struct Own<'s, M: Machine> {
    prewrites: Prewriter<M>,
    session: usize,
    source: TimestampSource,
    collector: VersionCollector<'s, M, Times>,
}

impl<M: Machine> Rules<M> for MvccRules<M> {
    type Words = Times;
    type Announcer = Prewriter<M>;
    type Absences = AbsenceTimes<M>;
    type Own<'s>
        = Own<'s, M>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "MVCC",
            summary: "multi-version timestamp ordering; reads are never refused, late writes are",
            source: "Reed 1978; Bernstein and Goodman 1983; Abyss 2.2",
            isolation: Isolation::Serializable,
            strict: !matches!(options.timestamps, TimestampAllocation::Batched(_)),
            one_site: Some(
                "a site may have collected versions that a transaction which began elsewhere needs",
            ),
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["waiting-writers", "latch", "keep-versions"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(MvccRules {
            allocator: TimestampAllocator::new(arena, options.timestamps, sessions)?,
            versions: Versions::with_latches(arena, sessions, options.latch)?
                .keeping(options.kept_versions),
            absences: AbsenceTimes::new(arena)?,
            waiting: Waiting::new(arena, options.waiting_writers, sessions)?,
        })
    }

    fn own<'s>(&'s self, session: usize) -> Own<'s, M> {
        Own {
            prewrites: Prewriter::new(&self.versions.latches, session, &self.waiting),
            session,
            source: TimestampSource::new(session),
            collector: self.versions.collector(session),
        }
    }

    fn announcer<'a>(own: &'a Own<'_, M>) -> &'a Prewriter<M> {
        &own.prewrites
    }

    fn absences(&self) -> &AbsenceTimes<M> {
        &self.absences
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, _: Txn<'_>) {
        let draw = || self.allocator.draw(core, &mut own.source);
        own.prewrites.timestamp = self.versions.active.enter(core, own.session, draw);
    }

    #[inline]
    fn latch_for_write<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        record: &Record<'s, M>,
    ) -> Result<(), Abort> {
        own.prewrites.latch_for_write(core, record)
    }

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        record: Record<'s, M>,
        access: Access,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let prewrites = &own.prewrites;
        if access != Access::Announced {
            if core.is_planted(faults::MVCC_READS_PAST_WRITERS) {
                prewrites.latch(core, &record);
            } else {
                prewrites.latch_decided(core, &record);
            }
        }
        // Versions older than the newest one cannot change for an active transaction, so they need no mark.
        if version_chain::wts(core, &record) > prewrites.timestamp {
            let head = version_chain::read_older(core, &record, prewrites.timestamp, columns, out);
            prewrites.unlatch(core, &record);
            return Ok(head.expect("a version was collected although a transaction may read it"));
        }
        let head = record.copy_out(core, columns, out);
        if !core.is_planted(faults::MVCC_WITHOUT_READ_MARKS) {
            prewrites.mark_read(core, &record);
        }
        prewrites.unlatch(core, &record);
        Ok(head)
    }

    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        writes: &WriteSet<'s, M, Times>,
    ) -> Result<u64, Abort> {
        let Prewriter { timestamp, latcher, .. } = &own.prewrites;
        own.collector.reserve_all(core, latcher, *timestamp, writes)?;
        Ok(*timestamp)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        writes: &WriteSet<'s, M, Times>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        let decider = own.prewrites.decider();
        let due = own.collector.install(core, decider, timestamp, writes, log, |_, _| {});
        self.end(core, own, writes);
        if due {
            own.collector.collect(core, &own.prewrites.latcher, timestamp);
        }
    }

    fn end<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, _: &WriteSet<'s, M, Times>) {
        own.collector.give_back();
        self.versions.active.leave(core, own.session);
    }

    fn forget_table<'s>(&'s self, own: &mut Own<'s, M>, table: TableId) {
        own.collector.forget_table(table);
    }

    fn forbid_beginning_before(&self, core: &M::Core, timestamp: u64) {
        self.versions.active.raise(core, timestamp);
    }

    fn scan<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, guard: GuardRef<'s, M, Times>) {
        // No record is missing because a later transaction retired it: the retirement would have waited for this
        // one.
        range_times::announce(core, guard, own.prewrites.timestamp);
    }
}
