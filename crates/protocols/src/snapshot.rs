//! SNAPSHOT: snapshot isolation on version chains. It is not serializable, and is labelled so.
//!
//! Source: Berenson, Bernstein, Gray, Melton, O'Neil and O'Neil, SIGMOD 1995, 4.2; commit stamps after Larson et
//! al., VLDB 2011.
//!
//! - A transaction reads what was committed when it began. Reads never abort a transaction.
//! - A write is announced when it is made. It is refused if another transaction has announced a write to the
//!   record, or has committed one since: the first updater wins.
//! - At commit a transaction marks its writes, draws a stamp, and installs. A reader that finds a mark waits if its
//!   snapshot must include that commit ([`commit_clock`]).
//!
//! The isolation is strong: the snapshot has everything that was committed when the transaction began. Ranges need
//! no protection. Their rows are read as of the snapshot, and a record leaves the index only when no transaction
//! can see a row in it any more.
//!
//! Garbage collection is that of MVCC. A [`Certifier`] can demand more than snapshot isolation.
//!
//! Deviation: a writer that meets an announced write is refused at once, and so is one that finds the record latched. It
//! does not wait for the outcome.
//!
//! [`commit_clock`]: crate::mechanisms::commit_clock

use crate::{
    CommitLog, Declaration, Isolation, ProtocolOptions, Txn, faults,
    mechanisms::{
        absence_times::AbsenceTimes,
        announced_writes::{Access, AnnouncedWrites, Announces, Rules},
        announcement::Announcer,
        certifier::{Candidate, Certifier},
        commit_clock::CommitClock,
        version_chain,
        version_collector::{VersionCollector, Versions},
        version_times::Times,
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use std::marker::PhantomData;
use storage::{GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, TableId};

/// The SNAPSHOT protocol.
pub type Snapshot<M, C = Uncertified> = AnnouncedWrites<SnapshotRules<M, C>>;

/// Demands nothing beyond snapshot isolation.
pub struct Uncertified;

impl<M: Machine> Certifier<M> for Uncertified {
    type Stamps<'s>
        = ()
    where
        M: 's;

    fn declare() -> Declaration {
        Declaration {
            name: "SNAPSHOT",
            summary: "snapshot isolation; reads are never refused, the first of two updaters wins",
            source: "Berenson et al., SIGMOD 1995; Larson et al., VLDB 2011",
            isolation: Isolation::Snapshot,
            strict: true,
            one_site: Some("a snapshot is a moment of one site's clock"),
        }
    }
}

type Record<'s, M> = RecordRef<'s, M, Times>;

/// SNAPSHOT's rules: which versions a transaction reads, and who writes first.
pub struct SnapshotRules<M: Machine, C = Uncertified> {
    clock: CommitClock<M>,
    versions: Versions<M>,
    absences: AbsenceTimes<M>,
    certifier: PhantomData<C>,
}

/// State of a session: its snapshot, and the versions that it has superseded.
pub struct Own<'s, M: Machine, C: Certifier<M>> {
    announcer: Announcer<M>,
    collector: VersionCollector<'s, M, Times>,
    /// Set if the transaction has announced its commit.
    committing: bool,
    stamps: C::Stamps<'s>,
}

impl<M: Machine, C: Certifier<M>> Rules<M> for SnapshotRules<M, C> {
    type Words = Times;
    type Announcer = Announcer<M>;
    type Absences = AbsenceTimes<M>;
    type Own<'s>
        = Own<'s, M, C>
    where
        M: 's;

    fn declare(_: &ProtocolOptions) -> Declaration {
        C::declare()
    }

    fn levels() -> &'static [Isolation] {
        match C::declare().isolation {
            Isolation::Snapshot => &[Isolation::Snapshot],
            _ => &[Isolation::Serializable],
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["keep-versions"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(SnapshotRules {
            clock: CommitClock::new(arena, sessions)?,
            versions: Versions::new(arena, sessions)?.keeping(options.kept_versions),
            absences: AbsenceTimes::new(arena)?,
            certifier: PhantomData,
        })
    }

    fn own<'s>(&'s self, session: usize) -> Own<'s, M, C> {
        Own {
            announcer: Announcer::new(&self.versions.latches, session),
            collector: self.versions.collector(session),
            committing: false,
            stamps: C::Stamps::default(),
        }
    }

    fn announcer<'a>(own: &'a Own<'_, M, C>) -> &'a Announcer<M> {
        &own.announcer
    }

    fn absences(&self) -> &AbsenceTimes<M> {
        &self.absences
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M, C>, _: Txn<'_>) {
        // The clock has passed every frontier, so `enter` reads it at most twice.
        let Announcer { session, begin, .. } = &mut own.announcer;
        *begin = self.versions.active.enter(core, *session, || self.clock.now(core));
    }

    #[inline]
    fn latch_for_write<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M, C>,
        record: &Record<'s, M>,
    ) -> Result<(), Abort> {
        own.announcer.latch_for_write(core, record)
    }

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M, C>,
        record: Record<'s, M>,
        access: Access,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let Own { announcer, stamps, .. } = own;
        if access != Access::Announced
            && let Some((head, written)) = announcer.read_newest(core, &record, columns, out)
        {
            if access == Access::Foreign {
                C::read_newest(core, stamps, record, written)?;
            }
            return Ok(head);
        }
        if access != Access::Announced {
            if core.is_planted(faults::SNAPSHOT_READS_PAST_COMMITS) {
                announcer.latch(core, &record);
            } else {
                announcer.latch_settled(core, &record, &self.clock);
            }
        }
        let head = version_chain::read(core, &record, announcer.begin, columns, out);
        let certified = match access {
            Access::Foreign => C::read(core, stamps, record, announcer.begin),
            Access::Announced | Access::Own => Ok(()),
        };
        announcer.unlatch(core, &record);
        certified?;
        Ok(head.expect("a version was collected although a transaction may read it"))
    }

    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M, C>,
        writes: &WriteSet<'s, M, Times>,
    ) -> Result<u64, Abort> {
        let Own { announcer, collector, stamps, committing } = own;
        if writes.is_empty() && !C::ASKS_READERS {
            return Ok(announcer.begin);
        }
        *committing = true;
        self.clock.announce(core, announcer.session);
        for record in writes.records() {
            announcer.mark(core, &record);
        }
        let stamp = self.clock.draw(core, announcer.session);
        C::certify(core, stamps, Candidate { stamp, announcer, writes, clock: &self.clock })?;
        // The transaction reads nothing more. It leaves now, because where memory is short a writer would wait for
        // it, and that writer may be this transaction itself.
        self.versions.active.leave(core, announcer.session);
        collector.reserve_all(core, &announcer.latcher, stamp, writes)?;
        Ok(stamp)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M, C>,
        writes: &WriteSet<'s, M, Times>,
        stamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        let Own { announcer, collector, stamps, .. } = &mut *own;
        // Readers without the latch must find the marks before any new value: see `Announcer::read_newest`.
        core.fence_release();
        let due = collector.install(
            core,
            (&announcer.latcher).into(),
            stamp,
            writes,
            log,
            |record, older| {
                C::installed(core, stamps, record, older, stamp);
            },
        );
        self.end(core, own, writes);
        if due {
            own.collector.collect(core, &own.announcer.latcher, stamp);
        }
    }

    fn end<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M, C>, _: &WriteSet<'s, M, Times>) {
        own.collector.give_back();
        if own.committing {
            self.clock.end(core, own.announcer.session);
            own.committing = false;
        }
        C::forget(&mut own.stamps);
        self.versions.active.leave(core, own.announcer.session);
    }

    fn forget_table<'s>(&'s self, own: &mut Own<'s, M, C>, table: TableId) {
        own.collector.forget_table(table);
    }

    fn forbid_beginning_before(&self, core: &M::Core, timestamp: u64) {
        self.versions.active.raise(core, timestamp);
    }

    fn scan<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M, C>, guard: GuardRef<'s, M, Times>) {
        C::scan(core, &mut own.stamps, guard);
    }

    fn made<'s>(
        core: &M::Core,
        own: &mut Own<'s, M, C>,
        guard: GuardRef<'s, M, Times>,
        record: Record<'s, M>,
        counted: u64,
    ) {
        C::made(core, &mut own.stamps, guard, record, counted);
    }

    fn split<'s>(
        core: &M::Core,
        own: &mut Own<'s, M, C>,
        guard: GuardRef<'s, M, Times>,
        right: GuardRef<'s, M, Times>,
        counted: u64,
    ) {
        C::split(core, &mut own.stamps, guard, right, counted);
    }
}
