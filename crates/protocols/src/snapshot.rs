//! SNAPSHOT: snapshot isolation, on version chains. Not serializable, and labelled so.
//!
//! Source: Berenson, Bernstein, Gray, Melton, O'Neil and O'Neil, SIGMOD 1995, 4.2; commit stamps after Larson et al., VLDB
//! 2011. A transaction reads what was committed when it began. A write is announced when it is made, and is
//! refused if another has announced one or has committed one since: the first updater wins. At commit it marks its
//! writes, draws a stamp, and installs; a reader that finds a mark waits if its snapshot must have that commit
//! ([`commit_clock`]). Reads never make a transaction abort.
//! Strong: the snapshot has all that was committed at the begin. Ranges need no protection: their rows are read as
//! of the snapshot, and a record leaves the index only when nobody can see a row in it any more.
//! Deviation: who meets an announced write is refused at once instead of waiting for its outcome.
//! Collection is that of MVCC. What may be demanded beyond snapshot isolation is for a [`Certifier`] to say.
//!
//! [`commit_clock`]: crate::parts::commit_clock

use crate::{
    Change, CommitLog, Declaration, Isolation, Protocol, ProtocolOptions, Start,
    parts::{
        absence_times::AbsenceTimes,
        active_timestamps::{ActiveTimestamps, Needed},
        announcement::Announcer,
        certifier::{Candidate, Certifier},
        commit_clock::CommitClock,
        queue_latch::LatchNodes,
        range_times,
        version_chain::{self, VersionPool},
        version_collector::VersionCollector,
        version_times::Times,
        write_set::WriteSet,
    },
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};
use std::marker::PhantomData;
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent};

/// Where mutants may differ; the protocol itself does not.
pub trait Variant: Send + Sync + 'static {
    /// A write is refused if a later version than the snapshot's is there.
    const FIRST_WINS: bool = true;
    /// A read waits for a commit that its snapshot must have.
    const AWAITS_COMMITS: bool = true;
}

/// The algorithm as published.
pub struct AsPublished;
impl Variant for AsPublished {}

/// Nothing but snapshot isolation.
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
        }
    }
}

type Record<'s, M> = RecordRef<'s, M, Times>;

/// The protocol.
pub struct Snapshot<M: Machine, C = Uncertified, V = AsPublished> {
    clock: CommitClock<M>,
    active: ActiveTimestamps<M>,
    versions: VersionPool,
    latches: LatchNodes,
    absences: AbsenceTimes<M>,
    kind: PhantomData<(C, V)>,
}

/// Snapshot, write set, and the versions that this session has superseded. Every record in the write set
/// carries this transaction's announcement.
pub struct Worker<'s, M: Machine, C: Certifier<M>> {
    announcer: Announcer<M>,
    writes: WriteSet<'s, M, Times>,
    collector: VersionCollector<'s, M, Times>,
    /// For each prepared write the slot for the version that it supersedes, if there is to be one.
    reserved: Vec<Option<Record<'s, M>>>,
    /// It has announced its commit.
    committing: bool,
    stamps: C::Stamps<'s>,
}

impl<M: Machine, C: Certifier<M>, V: Variant> Snapshot<M, C, V> {
    fn end<'s>(&self, core: &M::Core, worker: &mut Worker<'s, M, C>) {
        if worker.committing {
            self.clock.end(core, worker.announcer.session);
            worker.committing = false;
        }
        worker.writes.clear();
        worker.reserved.clear();
        C::forget(&mut worker.stamps);
        self.active.leave(core, worker.announcer.session);
    }
}

impl<M: Machine, C: Certifier<M>, V: Variant> Protocol<M> for Snapshot<M, C, V> {
    type Record = Times;
    type Worker<'s>
        = Worker<'s, M, C>
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

    fn create(
        arena: &Arc<Arena>,
        _: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(Snapshot {
            clock: CommitClock::new(arena, sessions)?,
            active: ActiveTimestamps::new(arena, sessions)?,
            versions: VersionPool::default(),
            latches: LatchNodes::new::<M>(arena, sessions)?,
            absences: AbsenceTimes::new(arena)?,
            kind: PhantomData,
        })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, slot: usize) -> Worker<'s, M, C> {
        Worker {
            announcer: Announcer::new(&self.latches, slot),
            writes: WriteSet::default(),
            collector: VersionCollector::new(&self.versions, &self.active, Needed::between),
            reserved: Vec::new(),
            committing: false,
            stamps: C::Stamps::default(),
        }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, C>, _: Start) {
        // The clock has passed every frontier, so a second look is enough.
        let Announcer { session, begin, .. } = &mut worker.announcer;
        *begin = self.active.enter(core, *session, || self.clock.now(core));
    }

    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, C>,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let mut at = worker.writes.find(&record);
        if intent == Intent::Update && at.is_none() {
            worker.announcer.latch_for_write(core, &record, V::FIRST_WINS)?;
            worker.announcer.announce(core, &record);
            at = Some(worker.writes.announce(record));
        } else if V::AWAITS_COMMITS {
            worker.announcer.latch_settled(core, &record, &self.clock);
        } else {
            worker.announcer.latch(core, &record);
        }
        let begin = worker.announcer.begin;
        let head = version_chain::read(core, &record, begin, columns, out);
        let certified = match at {
            None => C::read(core, &mut worker.stamps, record, begin),
            Some(_) => Ok(()),
        };
        worker.announcer.unlatch(core, &record);
        certified?;
        let head = head.expect("a version was collected although a transaction may read it");
        Ok(match at {
            None => head,
            Some(at) => worker.writes.overlay(at, columns, out, head),
        })
    }

    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, C>,
        record: Record<'s, M>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let at = worker.writes.find(&record);
        if at.is_none() {
            worker.announcer.latch_for_write(core, &record, V::FIRST_WINS)?;
        }
        let state = worker.writes.state_over(at, record.head(core).state);
        let missing = change.state.is_none() && !state.is_present();
        if at.is_none() {
            if !missing {
                worker.announcer.announce(core, &record);
            }
            worker.announcer.unlatch(core, &record);
        }
        if !missing {
            worker.writes.put(core, record, at, change);
        }
        Ok(!missing)
    }

    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, C>) -> Result<u64, Abort> {
        if worker.writes.is_empty() && !C::ASKS_READERS {
            return Ok(worker.announcer.begin);
        }
        worker.committing = true;
        self.clock.announce(core, worker.announcer.session);
        for record in worker.writes.records() {
            worker.announcer.mark(core, &record);
        }
        let stamp = self.clock.draw(core, worker.announcer.session);
        let Worker { stamps, announcer, writes, .. } = worker;
        C::certify(core, stamps, Candidate { stamp, announcer, writes, clock: &self.clock })?;
        // It reads nothing more; where memory is short, nobody shall wait for it, itself least of all.
        self.active.leave(core, worker.announcer.session);
        for at in 0..worker.writes.len() {
            let Worker { collector, announcer, writes, .. } = worker;
            let slot = collector.reserve_for(core, &announcer.latcher, stamp, writes, at)?;
            worker.reserved.push(slot);
        }
        Ok(stamp)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, C>,
        stamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        let mut due = false;
        for at in 0..worker.writes.len() {
            let record = worker.writes.record(at);
            worker.announcer.latch(core, &record);
            let slot = worker.reserved[at];
            due |= worker.collector.supersede(core, &worker.writes, at, slot, stamp);
            C::installed(core, &worker.stamps, &record, slot.as_ref(), stamp);
            worker.writes.install(core, at, log);
            worker.announcer.withdraw(core, &record);
            worker.announcer.unlatch(core, &record);
        }
        self.end(core, worker);
        if due {
            worker.collector.collect(core, &worker.announcer.latcher, stamp);
        }
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, C>) {
        for record in worker.writes.records() {
            worker.announcer.withdraw(core, &record);
        }
        for slot in worker.reserved.iter().flatten() {
            worker.collector.slots.give(slot);
        }
        self.end(core, worker);
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, C>,
        guard: GuardRef<'s, M, Times>,
    ) -> Result<(), Abort> {
        C::scan(core, &mut worker.stamps, guard);
        Ok(())
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, C>,
        guard: GuardRef<'s, M, Times>,
        record: Record<'s, M>,
        counted: u64,
    ) -> Result<(), Abort> {
        range_times::start(core, &record, range_times::times_in(core, guard));
        C::made(core, &mut worker.stamps, guard, record, counted);
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, C>,
        guard: GuardRef<'s, M, Times>,
        right: GuardRef<'s, M, Times>,
        counted: u64,
    ) -> Result<(), Abort> {
        range_times::pass_on(core, guard, right);
        C::split(core, &mut worker.stamps, guard, right, counted);
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
        // Nobody's snapshot is older than the absence (it had no history), so a fresh record has what it needs.
        self.absences.remember(core, record, guard);
    }
}
