//! CICADA: optimistic multi-version concurrency control with timestamps from loosely synchronized clocks.
//!
//! Source: Lim, Kaminsky and Andersen, SIGMOD 2017.
//!
//! An attempt draws a timestamp when it begins ([`crate::mechanisms::loose_clocks`]) and is serialized at it. A read returns the
//! version that was newest at the timestamp, and leaves no trace. It waits for an earlier writer that is about to commit (a
//! *pending* version). An access that shows that the attempt cannot commit aborts it (early abort). A commit has five steps:
//!
//! 1. Sort the writes, the most recently written record first, and precheck all accesses, to abort before others
//!    notice. The session skips this step if its last commits have all succeeded.
//! 2. Install pending versions.
//! 3. Raise the `rts` of all versions read.
//! 4. Validate: each read would return the same version now, and no later transaction has read what this one overwrites.
//! 5. Commit.
//!
//! Waits always go from later to earlier timestamps, so they cannot form a cycle. A scanned leaf is validated as in
//! SILO's node set, and its timestamp is raised like a version's. CICADA is serializable but not strict: clocks can
//! be apart, so a transaction can get an earlier timestamp than one that has already ended.
//!
//! Options: `contention-order` and `precheck` switch the two parts of step 1. With
//! [`contention-regulation`](crate::mechanisms::contention_regulation) the protocol sets the back-off, else the caller does.
//!
//! Deviations:
//!
//! - A version can follow only the newest one, also for writes that read nothing. So older versions need no `rts`, a
//!   record has at most one pending version, and a writer waits for an earlier one.
//! - The newest version is always in its record and read without a latch. Older versions are read under the latch.
//! - A pending version is one word until it commits. Its row is written then.
//! - Declared read-only transactions are validated like all others. Garbage collection is that of MVCC.

use crate::{
    Change, CommitLog, Declaration, Images, Isolation, Prepared, Protocol, ProtocolOptions, Txn,
    faults,
    mechanisms::{
        absence_times::{AbsenceTimes, Absences},
        contention_regulation::Regulation,
        inlined_version,
        loose_clocks::{LooseClock, LooseClocks},
        pending_validation::Footprint,
        prewrite::{Prewriter, Waiting},
        range_times, version_chain,
        version_collector::{VersionCollector, Versions},
        version_times::Times,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent, TableId};

/// Number of consecutive commits after which a session neither sorts nor prechecks, as in the authors' code.
const CALM: u32 = 5;

/// The CICADA protocol.
pub struct Cicada<M: Machine> {
    clocks: LooseClocks<M>,
    versions: Versions<M>,
    sorts: bool,
    prechecks: bool,
    absences: AbsenceTimes<M>,
    regulation: Option<Regulation<M>>,
}

type Record<'s, M> = RecordRef<'s, M, Times>;

/// State of a session: its clock, its read and write sets, and the versions that it has superseded.
pub struct Worker<'s, M: Machine> {
    session: usize,
    clock: LooseClock,
    footprint: Footprint<'s, M>,
    collector: VersionCollector<'s, M, Times>,
    /// Number of commits since the last abort, and (`all_commits`) in total.
    commits: u32,
    all_commits: u64,
}

impl<M: Machine> Cicada<M> {
    fn end<'s>(&self, core: &M::Core, worker: &mut Worker<'s, M>) {
        worker.footprint.clear();
        self.versions.active.leave(core, worker.session);
    }
}

impl<M: Machine> Protocol<M> for Cicada<M> {
    const KEEPS_VERSIONS: bool = true;
    type Words = Times;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "CICADA",
            summary: "optimistic multi-version; timestamps from loosely synchronized clocks, early aborts",
            source: "Lim, Kaminsky and Andersen, SIGMOD 2017",
            isolation: Isolation::Serializable,
            strict: false,
            one_site: Some(
                "timestamps are of one site's clocks, which say how far versions may be collected",
            ),
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["contention-order", "precheck", "contention-regulation", "keep-versions"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(Cicada {
            clocks: LooseClocks::new(arena, sessions)?,
            versions: Versions::new(arena, sessions)?.keeping(options.kept_versions),
            sorts: options.contention_order,
            prechecks: options.precheck,
            absences: AbsenceTimes::new(arena)?,
            regulation: options
                .contention_regulation_ns
                .map(|interval_ns| Regulation::new(arena, sessions, interval_ns))
                .transpose()?,
        })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, session: usize) -> Worker<'s, M> {
        let prewriter = Prewriter::new(&self.versions.latches, session, &Waiting::racing());
        Worker {
            session,
            clock: LooseClock::new(session),
            footprint: Footprint::new(prewriter),
            collector: self.versions.collector(session),
            commits: 0,
            all_commits: 0,
        }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>, _: Txn<'_>) {
        let clock = &mut worker.clock;
        let mut late = false;
        worker.footprint.pending.timestamp =
            self.versions.active.enter(core, worker.session, || {
                if std::mem::replace(&mut late, true) {
                    self.clocks.catch_up(clock, self.versions.active.frontier(core));
                }
                self.clocks.draw(core, clock)
            });
    }

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let footprint = &mut worker.footprint;
        if intent == Intent::Update {
            footprint.check_write(core, &record)?;
        }
        let timestamp = footprint.pending.timestamp;
        let newest = match core.is_planted(faults::CICADA_READS_PAST_PENDING) {
            false => inlined_version::read(core, &record, timestamp, columns, out),
            true => None,
        };
        let (head, begin) =
            newest.unwrap_or_else(|| footprint.read_chain(core, &record, columns, out));
        footprint.reads.push((record, begin));
        Ok(match footprint.writes.find(&record) {
            None => head,
            Some(at) => footprint.writes.overlay(at, columns, out, head),
        })
    }

    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: Record<'s, M>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let writes = &worker.footprint.writes;
        let at = writes.find(&record);
        if at.is_none() {
            worker.footprint.check_write(core, &record)?;
        }
        // The validation of the pending version checks that a row that seems present is present. Only an absence
        // that is reported to the caller counts as read.
        if change.state.is_none() && !writes.state_over(at, record.head(core).state).is_present() {
            let none = ColumnSet::NONE;
            let head = self.read(core, worker, record, none, Intent::Read, &mut [])?;
            if !head.state.is_present() {
                return Ok(false);
            }
        }
        worker.footprint.writes.put(core, record, at, change);
        Ok(true)
    }

    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
    ) -> Result<Prepared, Abort> {
        let Worker { footprint, collector, commits, .. } = worker;
        let contended = *commits < CALM;
        footprint.set_order(core, self.sorts && contended);
        if self.prechecks && contended {
            footprint.precheck(core)?;
        }
        let installs_late = core.is_planted(faults::CICADA_INSTALLS_LATE);
        if !installs_late {
            footprint.announce(core)?;
        }
        footprint.check_reads(core)?;
        footprint.check_writes(core)?;
        if installs_late {
            footprint.announce(core)?;
        }
        let Footprint { pending, writes, .. } = footprint;
        collector.reserve_all(core, &pending.latcher, pending.timestamp, writes)?;
        Ok(Prepared::at(pending.timestamp))
    }

    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        log: &mut Images<'_, 's, M>,
    ) {
        worker.footprint.writes.tell_images(core, log);
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        let Worker { footprint, collector, .. } = &mut *worker;
        let Footprint { pending, writes, .. } = footprint;
        let due = collector.install(core, pending.decider(), timestamp, writes, log, |_, _| {});
        self.end(core, worker);
        worker.clock.committed();
        worker.commits = worker.commits.saturating_add(1);
        if let Some(regulation) = &self.regulation {
            worker.all_commits += 1;
            regulation.committed(core, worker.session, worker.all_commits);
            regulation.regulate(core);
        }
        if due {
            worker.collector.collect(core, &worker.footprint.pending.latcher, timestamp);
        }
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        worker.footprint.withdraw(core);
        worker.collector.give_back();
        self.end(core, worker);
        worker.clock.aborted(core);
        worker.commits = 0;
        if let Some(regulation) = &self.regulation {
            regulation.regulate(core);
        }
    }

    fn longest_back_off<'s>(&'s self, core: &M::Core, _: &Worker<'s, M>) -> Option<u64> {
        self.regulation.as_ref().map(|regulation| regulation.bound(core))
    }

    fn forget_table<'s>(&'s self, worker: &mut Worker<'s, M>, table: TableId) {
        worker.collector.forget_table(table);
    }

    fn forbid_beginning_before(&self, core: &M::Core, timestamp: u64) {
        self.versions.active.raise(core, timestamp);
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Times>,
    ) -> Result<(), Abort> {
        // No record is missing because a later transaction retired it: the retirement would have waited for this
        // one.
        worker.footprint.leaves.observe(core, guard);
        Ok(())
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Times>,
        record: Record<'s, M>,
        counted: u64,
    ) -> Result<(), Abort> {
        self.prepare_record(core, &record, Some(guard));
        if worker.footprint.leaves.made(guard, counted) {
            worker.footprint.reads.push((record, version_chain::wts(core, &record)));
        }
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Times>,
        right: GuardRef<'s, M, Times>,
        counted: u64,
    ) -> Result<(), Abort> {
        range_times::pass_on(core, guard, right);
        worker.footprint.leaves.split(core, guard, right, counted);
        Ok(())
    }

    fn merge(&self, core: &M::Core, gone: GuardRef<'_, M, Times>, heir: GuardRef<'_, M, Times>) {
        if !core.is_planted(faults::CICADA_MERGE_FORGETS_SCANS) {
            range_times::pass_on(core, gone, heir);
        }
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
        // No active transaction is older than the absence, because the record had no older version left. A
        // transaction that marks the absence as read after this fence finds that the record is retired.
        core.fence();
        self.absences.remember(core, record, guard);
    }
}
