//! HEKATON: optimistic multi-version concurrency control with commit dependencies (MV/O).
//!
//! Source: Larson, Blanas, Diaconu, Freedman, Patel and Zwilling, VLDB 2011, sections 2 and 3; Diaconu et al.,
//! SIGMOD 2013.
//!
//! A transaction reads what was committed when it began. The first transaction that writes a record keeps other
//! writers out. At commit a transaction places its versions, draws its end timestamp, and validates. Everything it
//! has read must still be valid at the end timestamp, and no scanned leaf may have gained a record. From then until
//! the outcome is decided, other transactions assume that it will commit: they read its versions, overwrite them,
//! and commit after it ([`visibility`], [`commit_dependencies`]). If it aborts, they abort too.
//!
//! A transaction that writes nothing is serialized at its begin and needs no validation. HEKATON is strict: every
//! transaction is serialized within its lifetime.
//!
//! Under snapshot isolation, nothing is validated. Under read committed, each read returns the latest version.
//!
//! Deviations:
//!
//! - Versions are changed under the record's latch, and found under it, except the newest. A writer that finds the record
//!   latched is refused.
//! - The begin timestamp is read from the clock, not drawn. Versions are placed at commit, not by each update.
//! - Scanned leaves are validated by a node set, as in SILO. Scans are not repeated. Garbage collection is that of MVCC.
//! - If there is no memory for an old version, if a record is to leave its index, or if no other transaction runs,
//!   the new version is placed after the decision, and other transactions wait for it.
//!
//! [`visibility`]: crate::mechanisms::visibility
//! [`commit_dependencies`]: crate::mechanisms::commit_dependencies

use crate::{
    CommitLog, Declaration, Images, Isolation, ProtocolOptions, Txn, faults,
    mechanisms::{
        announced_writes::{Access, AnnouncedWrites, Announces, Rules},
        commit_dependencies::CommitDependencies,
        node_set::NodeSet,
        transaction_states::State,
        undecided_versions::{Placements, Placer},
        version_chain,
        version_collector::{VersionCollector, Versions},
        visibility::{LATEST, Unremembered, Validity, Viewpoint},
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::{GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, TableId, Version};

/// The HEKATON protocol.
pub type Hekaton<M> = AnnouncedWrites<HekatonRules<M>>;

/// HEKATON's rules: which versions a transaction reads, whom it depends on, and who writes first.
pub struct HekatonRules<M: Machine> {
    isolation: Isolation,
    dependencies: CommitDependencies<M>,
    versions: Versions<M>,
}

type Record<'s, M> = RecordRef<'s, M, Validity>;
type Writes<'s, M> = WriteSet<'s, M, Validity>;

/// State of a session: read time, read set, scanned leaves, commit dependencies, and placed versions.
pub struct Own<'s, M: Machine> {
    viewpoint: Viewpoint<M>,
    /// Identity of the versions that the transaction places.
    version: Version,
    begin: u64,
    /// Records read, each with the begin timestamp of the version.
    reads: Vec<(Record<'s, M>, u64)>,
    leaves: NodeSet<'s, M, Validity>,
    placements: Placements<'s, M>,
    collector: VersionCollector<'s, M, Validity>,
}

impl<M: Machine> HekatonRules<M> {
    fn validates(&self) -> bool {
        self.isolation == Isolation::Serializable
    }

    /// Returns what places the transaction's versions, and the list of those placed.
    fn placer<'a, 's>(
        &'a self,
        own: &'a mut Own<'s, M>,
        writes: &'a Writes<'s, M>,
    ) -> (Placer<'a, 's, M>, &'a mut Placements<'s, M>) {
        let Own { viewpoint, collector, placements, .. } = own;
        (Placer { viewpoint, writes, collector, states: &self.dependencies.states }, placements)
    }

    fn validate<'s>(
        &self,
        core: &M::Core,
        own: &Own<'s, M>,
        writes: &Writes<'s, M>,
        end: u64,
    ) -> Result<(), Abort> {
        let at_begin = core.is_planted(faults::HEKATON_VALIDATES_AT_BEGIN);
        let time = if at_begin { own.begin } else { end };
        // Records in the write set are skipped: no other transaction has written them since.
        for (record, begin) in own.reads.iter().filter(|(r, _)| writes.find(r).is_none()) {
            own.viewpoint.validate(core, record, &self.dependencies.states, *begin, time)?;
        }
        own.leaves.validate(core)
    }

    /// Waits for the transactions that this one depends on.
    fn wait(&self, core: &M::Core, own: &Own<'_, M>) -> Result<(), Abort> {
        let Viewpoint { session, believed, .. } = &own.viewpoint;
        match core.is_planted(faults::HEKATON_WITHOUT_WAITING) {
            false => self.dependencies.wait(core, *session, believed),
            true => Ok(()),
        }
    }
}

impl<M: Machine> Rules<M> for HekatonRules<M> {
    type Words = Validity;
    type Announcer = Viewpoint<M>;
    type Absences = Unremembered;
    type Own<'s>
        = Own<'s, M>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        let declaration = Declaration {
            name: "HEKATON",
            summary: "optimistic multi-version; reads and overwrites what is about to commit",
            source: "Larson et al., VLDB 2011; Diaconu et al., SIGMOD 2013",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: Some(
                "commit dependencies, and the clock of begins and ends, are one site's own",
            ),
        };
        declaration.at_level_of(options)
    }

    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable, Isolation::Snapshot, Isolation::ReadCommitted]
    }

    fn knobs() -> &'static [&'static str] {
        &["keep-versions"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(HekatonRules {
            isolation: options.isolation.unwrap_or(Isolation::Serializable),
            dependencies: CommitDependencies::new(arena, sessions)?,
            versions: Versions::new(arena, sessions)?.keeping(options.kept_versions),
        })
    }

    fn own<'s>(&'s self, session: usize) -> Own<'s, M> {
        Own {
            viewpoint: Viewpoint::new(&self.versions.latches, session),
            version: Version::INITIAL,
            begin: 0,
            reads: Vec::new(),
            leaves: NodeSet::default(),
            placements: Placements::default(),
            collector: self.versions.collector(session),
        }
    }

    fn announcer<'a>(own: &'a Own<'_, M>) -> &'a Viewpoint<M> {
        &own.viewpoint
    }

    fn absences(&self) -> &Unremembered {
        &Unremembered
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, txn: Txn<'_>) {
        own.version = txn.version();
        // The clock has passed every frontier, so `enter` reads it at most twice.
        let Viewpoint { session, time, .. } = &mut own.viewpoint;
        let now = || self.dependencies.states.now(core);
        own.begin = self.versions.active.enter(core, *session, now);
        *time = match self.isolation {
            Isolation::ReadCommitted => LATEST,
            _ => own.begin,
        };
    }

    #[inline]
    fn latch_for_write<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        record: &Record<'s, M>,
    ) -> Result<(), Abort> {
        own.viewpoint.latch_for_write(core, record, &self.dependencies)
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
        let Own { viewpoint, reads, .. } = own;
        let states = &self.dependencies.states;
        if access != Access::Announced
            && let Some((head, begin)) = viewpoint.read_newest(core, &record, states, columns, out)
        {
            if self.validates() && access == Access::Foreign {
                reads.push((record, begin));
            }
            return Ok(head);
        }
        let version = match access {
            // A transaction that may write the record has found that the newest version is visible.
            Access::Announced => record,
            Access::Own | Access::Foreign => {
                let (version, begin) =
                    viewpoint.latch_visible(core, &record, &self.dependencies)?;
                if self.validates() && access == Access::Foreign {
                    reads.push((record, begin));
                }
                version
            }
        };
        let head = version_chain::copy_version(core, &record, &version, columns, out);
        viewpoint.unlatch(core, &record);
        Ok(head)
    }

    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        writes: &Writes<'s, M>,
    ) -> Result<u64, Abort> {
        if writes.is_empty() {
            self.wait(core, own)?;
            return Ok(own.begin);
        }
        let (begin, version) = (own.begin, own.version);
        let (mut placer, placements) = self.placer(own, writes);
        placer.place(core, placements, begin, version);
        let end = self.dependencies.states.prepare(core, own.viewpoint.session);
        self.validate(core, own, writes, end)?;
        // The transaction reads nothing more. It leaves now, because where memory is short a writer would wait for
        // it, and that writer may be this transaction itself.
        self.versions.active.leave(core, own.viewpoint.session);
        self.wait(core, own)?;
        let (mut placer, placements) = self.placer(own, writes);
        placer.reserve(core, placements, end)?;
        Ok(end)
    }

    fn images<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        writes: &Writes<'s, M>,
        log: &mut Images<'_, 's, M>,
    ) {
        let (placer, placements) = self.placer(own, writes);
        placer.tell_images(core, placements, log);
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        writes: &Writes<'s, M>,
        end: u64,
        log: &mut CommitLog<'_>,
    ) {
        let mut due = false;
        if !writes.is_empty() {
            self.dependencies.states.decide(core, own.viewpoint.session, State::Committed(end));
            self.dependencies.tell(core, own.viewpoint.session, true);
            let (mut placer, placements) = self.placer(own, writes);
            due = placer.settle(core, placements, end, log);
        }
        self.end(core, own, writes);
        if due {
            own.collector.collect(core, &own.viewpoint.latcher, end);
        }
    }

    fn abort<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, writes: &Writes<'s, M>) {
        if !own.placements.is_empty() {
            self.dependencies.states.decide(core, own.viewpoint.session, State::Aborted);
            self.dependencies.tell(core, own.viewpoint.session, false);
        }
        let (mut placer, placements) = self.placer(own, writes);
        placer.take_back(core, placements);
        self.end(core, own, writes);
    }

    fn end<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, writes: &Writes<'s, M>) {
        let Viewpoint { session, believed, .. } = &mut own.viewpoint;
        if !writes.is_empty() {
            self.dependencies.states.end(core, *session);
        }
        self.dependencies.forget(core, *session, believed);
        own.reads.clear();
        own.leaves.clear();
        own.placements.clear();
        self.versions.active.leave(core, own.viewpoint.session);
    }

    fn forget_table<'s>(&'s self, own: &mut Own<'s, M>, table: TableId) {
        own.collector.forget_table(table);
    }

    fn forbid_beginning_before(&self, core: &M::Core, timestamp: u64) {
        self.versions.active.raise(core, timestamp);
    }

    fn scan<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, guard: GuardRef<'s, M, Validity>) {
        if self.validates() {
            own.leaves.observe(core, guard);
        }
    }

    fn made<'s>(
        _: &M::Core,
        own: &mut Own<'s, M>,
        guard: GuardRef<'s, M, Validity>,
        record: Record<'s, M>,
        counted: u64,
    ) {
        if own.leaves.made(guard, counted) {
            own.reads.push((record, 0));
        }
    }

    fn split<'s>(
        core: &M::Core,
        own: &mut Own<'s, M>,
        guard: GuardRef<'s, M, Validity>,
        right: GuardRef<'s, M, Validity>,
        counted: u64,
    ) {
        own.leaves.split(core, guard, right, counted);
    }
}
