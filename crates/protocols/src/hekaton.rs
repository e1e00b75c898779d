//! HEKATON: optimistic multi-version concurrency control with commit dependencies (MV/O).
//!
//! Source: Larson, Blanas, Diaconu, Freedman, Patel and Zwilling, VLDB 2011, sections 2 and 3; Diaconu et al., SIGMOD 2013.
//! A transaction reads what was committed when it began. Who writes a record first keeps others from doing so. At commit
//! it places its versions, draws its end timestamp, and validates: what it has read must be valid at that time still,
//! and no scanned leaf may have gained a record (a node set as SILO's instead of repeated scans). Meanwhile, and
//! until it is decided, others believe that it will commit: they read what it has written, and write over it, and
//! commit after it ([`visibility`], [`commit_dependencies`]); if it aborts, so do they.
//! One that writes nothing is serialized at its begin and needs no validation. Strict: all are serialized within their
//! lives. Snapshot isolation, on demand: nothing is validated. Read committed: the latest version is read each time.
//! Deviations: versions are found and changed under the record's latch; the begin timestamp is the clock's, not drawn;
//! versions are placed at commit, not by each update; collection is that of MVCC. Without memory for an old
//! version, as when a record is to leave its index, the new one is placed after the decision, and waited for.
//!
//! [`visibility`]: crate::parts::visibility
//! [`commit_dependencies`]: crate::parts::commit_dependencies

use crate::{
    Change, CommitLog, Declaration, Isolation, Protocol, ProtocolOptions, Start,
    parts::{
        active_timestamps::{ActiveTimestamps, Needed},
        commit_dependencies::CommitDependencies,
        node_set::NodeSet,
        queue_latch::LatchNodes,
        transaction_states::State,
        undecided_versions::{Placements, Placer},
        version_chain::{self, VersionPool},
        version_collector::VersionCollector,
        visibility::{LATEST, Validity, Viewpoint},
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use std::marker::PhantomData;
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent, Version};

/// Where mutants may differ; the protocol itself does not.
pub trait Variant: Send + Sync + 'static {
    /// A transaction commits after those that it has believed.
    const AWAITS_DEPENDENCIES: bool = true;
    /// Who has entered a dependency looks whether it is too late.
    const LOOKS_AGAIN: bool = true;
    /// Validation is as of the end timestamp, not of the begin.
    const VALIDATES_AT_END: bool = true;
}

/// The algorithm as published.
pub struct AsPublished;
impl Variant for AsPublished {}

/// The protocol.
pub struct Hekaton<M: Machine, V = AsPublished> {
    isolation: Isolation,
    dependencies: CommitDependencies<M>,
    active: ActiveTimestamps<M>,
    versions: VersionPool,
    latches: LatchNodes,
    variant: PhantomData<V>,
}

type Record<'s, M> = RecordRef<'s, M, Validity>;

/// Read time, what was read and scanned, what is to be written, whom it depends on.
pub struct Worker<'s, M: Machine> {
    viewpoint: Viewpoint<M>,
    /// Identity of the versions that it places.
    version: Version,
    begin: u64,
    /// What was read, with the begin of the version.
    reads: Vec<(Record<'s, M>, u64)>,
    leaves: NodeSet<'s, M, Validity>,
    /// Every record in it carries this transaction's announcement, or its version.
    writes: WriteSet<'s, M, Validity>,
    placements: Placements<'s, M>,
    collector: VersionCollector<'s, M, Validity>,
}

impl<M: Machine, V: Variant> Hekaton<M, V> {
    fn validates(&self) -> bool {
        self.isolation == Isolation::Serializable
    }

    /// The transaction as one that places its versions, and where they are.
    fn placer<'a, 's>(
        &'a self,
        worker: &'a mut Worker<'s, M>,
    ) -> (Placer<'a, 's, M>, &'a mut Placements<'s, M>) {
        let Worker { viewpoint, writes, collector, placements, .. } = worker;
        (Placer { viewpoint, writes, collector, states: &self.dependencies.states }, placements)
    }

    fn validate(&self, core: &M::Core, worker: &Worker<'_, M>, end: u64) -> Result<(), Abort> {
        let time = if V::VALIDATES_AT_END { end } else { worker.begin };
        // What it writes nobody else has written since.
        for (record, begin) in worker.reads.iter().filter(|(r, _)| worker.writes.find(r).is_none())
        {
            worker.viewpoint.validate(core, record, &self.dependencies.states, *begin, time)?;
        }
        worker.leaves.validate(core)
    }

    /// Waits for those that it has believed.
    fn wait(&self, core: &M::Core, worker: &Worker<'_, M>) -> Result<(), Abort> {
        let Viewpoint { session, believed, .. } = &worker.viewpoint;
        match V::AWAITS_DEPENDENCIES {
            true => self.dependencies.wait(core, *session, believed),
            false => Ok(()),
        }
    }

    fn end<'s>(&self, core: &M::Core, worker: &mut Worker<'s, M>) {
        if !worker.writes.is_empty() {
            self.dependencies.states.end(core, worker.viewpoint.session);
        }
        let Viewpoint { session, believed, .. } = &mut worker.viewpoint;
        self.dependencies.forget(core, *session, believed);
        worker.reads.clear();
        worker.leaves.clear();
        worker.writes.clear();
        worker.placements.clear();
        self.active.leave(core, worker.viewpoint.session);
    }
}

impl<M: Machine, V: Variant> Protocol<M> for Hekaton<M, V> {
    type Record = Validity;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        let declaration = Declaration {
            name: "HEKATON",
            summary: "optimistic multi-version; reads and overwrites what is about to commit",
            source: "Larson et al., VLDB 2011; Diaconu et al., SIGMOD 2013",
            isolation: Isolation::Serializable,
            strict: true,
        };
        declaration.at_level_of(options)
    }

    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable, Isolation::Snapshot, Isolation::ReadCommitted]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(Hekaton {
            isolation: options.isolation.unwrap_or(Isolation::Serializable),
            dependencies: CommitDependencies::new(arena, sessions, V::LOOKS_AGAIN)?,
            active: ActiveTimestamps::new(arena, sessions)?,
            versions: VersionPool::default(),
            latches: LatchNodes::new::<M>(arena, sessions)?,
            variant: PhantomData,
        })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, slot: usize) -> Worker<'s, M> {
        Worker {
            viewpoint: Viewpoint::new(&self.latches, slot),
            version: Version::INITIAL,
            begin: 0,
            reads: Vec::new(),
            leaves: NodeSet::default(),
            writes: WriteSet::default(),
            placements: Placements::default(),
            collector: VersionCollector::new(&self.versions, &self.active, Needed::between),
        }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>, _: Start) {
        // The clock has passed every frontier, so a second look is enough.
        let Viewpoint { session, time, .. } = &mut worker.viewpoint;
        worker.begin = self.active.enter(core, *session, || self.dependencies.states.now(core));
        *time = match self.isolation {
            Isolation::ReadCommitted => LATEST,
            _ => worker.begin,
        };
    }

    fn identify<'s>(&'s self, worker: &mut Worker<'s, M>, version: Version) {
        worker.version = version;
    }

    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let mut at = worker.writes.find(&record);
        let version = if intent == Intent::Update && at.is_none() {
            worker.viewpoint.latch_for_write(core, &record, &self.dependencies)?;
            worker.viewpoint.announce(core, &record);
            at = Some(worker.writes.announce(record));
            record
        } else {
            let (version, begin) =
                worker.viewpoint.latch_visible(core, &record, &self.dependencies)?;
            if self.validates() && at.is_none() {
                worker.reads.push((record, begin));
            }
            version
        };
        let head = version_chain::copy_version(core, &record, &version, columns, out);
        worker.viewpoint.unlatch(core, &record);
        Ok(match at {
            None => head,
            Some(at) => worker.writes.overlay(at, columns, out, head),
        })
    }

    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: Record<'s, M>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let at = worker.writes.find(&record);
        if at.is_none() {
            worker.viewpoint.latch_for_write(core, &record, &self.dependencies)?;
        }
        let state = worker.writes.state_over(at, record.head(core).state);
        let missing = change.state.is_none() && !state.is_present();
        if at.is_none() {
            if !missing {
                worker.viewpoint.announce(core, &record);
            }
            worker.viewpoint.unlatch(core, &record);
        }
        if !missing {
            worker.writes.put(core, record, at, change);
        }
        Ok(!missing)
    }

    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) -> Result<u64, Abort> {
        if worker.writes.is_empty() {
            self.wait(core, worker)?;
            return Ok(worker.begin);
        }
        let version = worker.version;
        let (mut placer, placements) = self.placer(worker);
        placer.place(core, placements, version);
        let end = self.dependencies.states.prepare(core, worker.viewpoint.session);
        self.validate(core, worker, end)?;
        // It reads nothing more; where memory is short, nobody shall wait for it, itself least of all.
        self.active.leave(core, worker.viewpoint.session);
        self.wait(core, worker)?;
        let (mut placer, placements) = self.placer(worker);
        placer.reserve(core, placements, end)?;
        Ok(end)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        end: u64,
        log: &mut CommitLog<'_>,
    ) {
        let mut due = false;
        if !worker.writes.is_empty() {
            self.dependencies.states.decide(core, worker.viewpoint.session, State::Committed(end));
            self.dependencies.tell(core, worker.viewpoint.session, true);
            let (mut placer, placements) = self.placer(worker);
            due = placer.settle(core, placements, end, log);
        }
        self.end(core, worker);
        if due {
            worker.collector.collect(core, &worker.viewpoint.latcher, end);
        }
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        if !worker.placements.is_empty() {
            self.dependencies.states.decide(core, worker.viewpoint.session, State::Aborted);
            self.dependencies.tell(core, worker.viewpoint.session, false);
        }
        let (mut placer, placements) = self.placer(worker);
        placer.take_back(core, placements);
        self.end(core, worker);
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Validity>,
    ) -> Result<(), Abort> {
        if self.validates() {
            worker.leaves.observe(core, guard);
        }
        Ok(())
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Validity>,
        record: Record<'s, M>,
        counted: u64,
    ) -> Result<(), Abort> {
        self.prepare_record(core, &record, Some(guard));
        if worker.leaves.made(guard, counted) {
            worker.reads.push((record, 0));
        }
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Validity>,
        right: GuardRef<'s, M, Validity>,
        counted: u64,
    ) -> Result<(), Abort> {
        worker.leaves.split(core, guard, right, counted);
        Ok(())
    }

    fn prepare_record(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        _: Option<GuardRef<'_, M, Validity>>,
    ) {
        // Nobody is active who is older than the absence that the last record of this key stood for (it had no
        // history), so its begin need not be remembered.
        core.store_relaxed(record.line(), &record.cc().chain.wts, 0);
        core.store_relaxed(record.line(), &record.cc().end, 0);
    }
}
