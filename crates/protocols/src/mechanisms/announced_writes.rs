//! A frame for protocols that announce each write when it is made. [`Rules`] decide who may read and who may write.
//!
//! Source: Bernstein and Goodman 1981 (prewrites); Larson et al., VLDB 2011, 2.5 (the version's end, in which an
//! updater writes its name).
//!
//! An *announced write*, or prewrite, says that a transaction is going to write the record. A record carries at most
//! one announced write, and a latch protects it:
//!
//! ```text
//!           latch_for_write, announce                 commit: install, remove
//! no write  ------------------------->  announced  --------------------------->  no write
//!                                           |
//!                                           +------  abort: withdraw  --------->  no write
//! ```
//!
//! - A transaction that meets the announced write of another waits, aborts, or reads past it, as the rules say.
//! - The new values stay in the transaction's write set until it commits. Then they are installed, and the announced
//!   write is removed.
//! - A read for update announces its write at once.
//! - An update that finds no row announces nothing.
//!
//! **Invariant.** Every record in a transaction's write set carries the transaction's announced write.
//!
//! CICADA announces nothing before its commit. It reads and writes as optimistic protocols do, and does not use this
//! frame.

use super::{absence_times::Absences, write_set::WriteSet};
use crate::{
    Change, CommitLog, Declaration, Images, Isolation, Prepared, Protocol, ProtocolOptions, Txn,
    faults,
};
use machine::{Arena, Core, Machine, OutOfMemory, Zeroed, cold::Arc};
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent, TableId};

/// A record under the rules `R`.
pub type Record<'s, M, R> = RecordRef<'s, M, <R as Rules<M>>::Words>;

/// The guard of a leaf under the rules `R`.
pub type Guard<'s, M, R> = GuardRef<'s, M, <R as Rules<M>>::Words>;

/// The write set under the rules `R`. Every record in it carries the transaction's announcement.
pub type Writes<'s, M, R> = WriteSet<'s, M, <R as Rules<M>>::Words>;

/// Relation of a reading transaction to the announced write of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The transaction has just announced a write, and holds the latch.
    Announced,
    /// The transaction has announced a write before.
    Own,
    /// The transaction has announced no write there.
    Foreign,
}

/// A session's way to announce writes in records of kind `C`.
pub trait Announces<M: Machine, C> {
    /// Announces a write to the record. The caller holds the record's latch.
    fn announce(&self, core: &M::Core, record: &RecordRef<'_, M, C>);

    /// Removes the announced write without installing anything.
    fn withdraw(&self, core: &M::Core, record: &RecordRef<'_, M, C>);

    /// Called with the record latched when an update finds no row there. The caller learns of the absence.
    #[inline(always)]
    fn miss(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        let _ = (core, record);
    }

    /// Releases the record's latch.
    fn unlatch(&self, core: &M::Core, record: &RecordRef<'_, M, C>);
}

/// Rules that say who may read what, and who may write.
pub trait Rules<M: Machine>: Sized + Send + Sync + 'static {
    /// As [`Protocol::Words`].
    type Words: Zeroed + Send + Sync + 'static;
    /// The way in which a session announces writes.
    type Announcer: Announces<M, Self::Words>;
    /// Memory of absences.
    type Absences: Absences<M, Self::Words>;
    /// State of a session, besides its write set.
    type Own<'s>: Send
    where
        M: 's;

    /// As [`Protocol::KEEPS_VERSIONS`].
    const KEEPS_VERSIONS: bool = true;

    /// As [`Protocol::declare`].
    fn declare(options: &ProtocolOptions) -> Declaration;

    /// As [`Protocol::knobs`].
    fn knobs() -> &'static [&'static str] {
        &[]
    }

    /// As [`Protocol::levels`].
    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable]
    }

    /// Creates the shared state.
    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory>;

    /// Creates the state of session number `session`.
    fn own<'s>(&'s self, session: usize) -> Self::Own<'s>;

    /// Returns the session's way to announce writes.
    fn announcer<'a>(own: &'a Self::Own<'_>) -> &'a Self::Announcer;

    /// Returns the memory of absences.
    fn absences(&self) -> &Self::Absences;

    /// Begins an attempt.
    fn begin<'s>(&'s self, core: &M::Core, own: &mut Self::Own<'s>, txn: Txn<'_>);

    /// As [`Protocol::age`].
    fn age(own: &Self::Own<'_>) -> Option<u64> {
        let _ = own;
        None
    }

    /// Latches the record once a write to it may be announced, or returns why none may be.
    fn latch_for_write<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Self::Own<'s>,
        record: &Record<'s, M, Self>,
    ) -> Result<(), Abort>;

    /// Copies what the transaction sees of `columns`, without its own write. Releases the latch if it was held.
    fn read<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Self::Own<'s>,
        record: Record<'s, M, Self>,
        access: Access,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Result<RowHead, Abort>;

    /// As [`Protocol::prepare`]. Returns the only possible commit timestamp.
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Self::Own<'s>,
        writes: &Writes<'s, M, Self>,
    ) -> Result<u64, Abort>;

    /// Installs the writes at `timestamp`, removes the announced writes, and forgets the attempt.
    fn commit<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Self::Own<'s>,
        writes: &Writes<'s, M, Self>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    );

    /// As [`Protocol::images`].
    fn images<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Self::Own<'s>,
        writes: &Writes<'s, M, Self>,
        log: &mut Images<'_, 's, M>,
    ) {
        let _ = own;
        writes.tell_images(core, log);
    }

    /// Removes the announced writes, and forgets the attempt.
    fn abort<'s>(&'s self, core: &M::Core, own: &mut Self::Own<'s>, writes: &Writes<'s, M, Self>) {
        for record in writes.records() {
            Self::announcer(own).withdraw(core, &record);
        }
        self.end(core, own, writes);
    }

    /// Forgets the attempt.
    fn end<'s>(&'s self, core: &M::Core, own: &mut Self::Own<'s>, writes: &Writes<'s, M, Self>);

    /// As [`Protocol::forget_table`].
    fn forget_table<'s>(&'s self, own: &mut Self::Own<'s>, table: TableId) {
        let _ = (own, table);
    }

    /// As [`Protocol::forbid_beginning_before`].
    fn forbid_beginning_before(&self, core: &M::Core, timestamp: u64) {
        let _ = (core, timestamp);
    }

    /// As [`Protocol::scan`], for rules under which a scan neither waits nor aborts.
    fn scan<'s>(&'s self, core: &M::Core, own: &mut Self::Own<'s>, guard: Guard<'s, M, Self>);

    /// As [`Protocol::insert`]. Called after the record's words have been set up.
    #[inline(always)]
    fn made<'s>(
        core: &M::Core,
        own: &mut Self::Own<'s>,
        guard: Guard<'s, M, Self>,
        record: Record<'s, M, Self>,
        counted: u64,
    ) {
        let _ = (core, own, guard, record, counted);
    }

    /// As [`Protocol::split`]. Called after [`Absences::pass_on`] has passed on what other transactions need.
    #[inline(always)]
    fn split<'s>(
        core: &M::Core,
        own: &mut Self::Own<'s>,
        guard: Guard<'s, M, Self>,
        right: Guard<'s, M, Self>,
        counted: u64,
    ) {
        let _ = (core, own, guard, right, counted);
    }
}

/// The protocol whose rules are `R`.
pub struct AnnouncedWrites<R>(R);

/// State of a session.
pub struct Worker<'s, M: Machine, R: Rules<M>> {
    /// State that the rules keep.
    own: R::Own<'s>,
    /// Every record in it carries the transaction's announced write.
    writes: Writes<'s, M, R>,
}

impl<M: Machine, R: Rules<M>> Protocol<M> for AnnouncedWrites<R> {
    const KEEPS_VERSIONS: bool = R::KEEPS_VERSIONS;
    type Words = R::Words;
    type Worker<'s>
        = Worker<'s, M, R>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        R::declare(options)
    }

    fn knobs() -> &'static [&'static str] {
        R::knobs()
    }

    fn levels() -> &'static [Isolation] {
        R::levels()
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        R::create(arena, options, sessions).map(AnnouncedWrites)
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, session: usize) -> Worker<'s, M, R> {
        Worker { own: self.0.own(session), writes: WriteSet::default() }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, R>, txn: Txn<'_>) {
        self.0.begin(core, &mut worker.own, txn);
    }

    fn age<'s>(&'s self, worker: &Worker<'s, M, R>) -> Option<u64> {
        R::age(&worker.own)
    }

    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        record: Record<'s, M, R>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let Worker { own, writes } = worker;
        let (at, access) = match writes.find(&record) {
            None if intent == Intent::Update => {
                self.0.latch_for_write(core, own, &record)?;
                R::announcer(own).announce(core, &record);
                (Some(writes.announce(record)), Access::Announced)
            }
            None => (None, Access::Foreign),
            at => (at, Access::Own),
        };
        let head = self.0.read(core, own, record, access, columns, out)?;
        Ok(match at {
            // A write that was just announced changes nothing yet.
            Some(at) if access == Access::Own => writes.overlay(at, columns, out, head),
            _ => head,
        })
    }

    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        record: Record<'s, M, R>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let Worker { own, writes } = worker;
        let at = writes.find(&record);
        if at.is_none() {
            self.0.latch_for_write(core, own, &record)?;
        }
        let state = writes.state_over(at, record.head(core).state);
        let missing = change.state.is_none() && !state.is_present();
        if at.is_none() {
            match missing {
                true => R::announcer(own).miss(core, &record),
                false => R::announcer(own).announce(core, &record),
            }
            R::announcer(own).unlatch(core, &record);
        }
        if !missing {
            writes.put(core, record, at, change);
        }
        Ok(!missing)
    }

    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
    ) -> Result<Prepared, Abort> {
        self.0.prepare(core, &mut worker.own, &worker.writes).map(Prepared::at)
    }

    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        log: &mut Images<'_, 's, M>,
    ) {
        self.0.images(core, &mut worker.own, &worker.writes, log);
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        self.0.commit(core, &mut worker.own, &worker.writes, timestamp, log);
        worker.writes.clear();
    }

    fn forbid_beginning_before(&self, core: &M::Core, timestamp: u64) {
        self.0.forbid_beginning_before(core, timestamp);
    }

    fn forget_table<'s>(&'s self, worker: &mut Worker<'s, M, R>, table: TableId) {
        self.0.forget_table(&mut worker.own, table);
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, R>) {
        self.0.abort(core, &mut worker.own, &worker.writes);
        worker.writes.clear();
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        guard: Guard<'s, M, R>,
    ) -> Result<(), Abort> {
        self.0.scan(core, &mut worker.own, guard);
        Ok(())
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        guard: Guard<'s, M, R>,
        record: Record<'s, M, R>,
        counted: u64,
    ) -> Result<(), Abort> {
        self.0.absences().start(core, &record, Some(guard));
        R::made(core, &mut worker.own, guard, record, counted);
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, R>,
        guard: Guard<'s, M, R>,
        right: Guard<'s, M, R>,
        counted: u64,
    ) -> Result<(), Abort> {
        if core.is_planted(faults::PHANTOM_FORGOTTEN_HALF) {
            return Ok(());
        }
        R::Absences::pass_on(core, guard, right);
        R::split(core, &mut worker.own, guard, right, counted);
        Ok(())
    }

    fn merge(&self, core: &M::Core, gone: Guard<'_, M, R>, heir: Guard<'_, M, R>) {
        if !core.is_planted(faults::MVCC_MERGE_FORGETS_SCANS) {
            R::Absences::pass_on(core, gone, heir);
        }
    }

    fn prepare_record(
        &self,
        core: &M::Core,
        record: &Record<'_, M, R>,
        guard: Option<Guard<'_, M, R>>,
    ) {
        self.0.absences().start(core, record, guard);
    }

    fn retire(&self, core: &M::Core, record: &Record<'_, M, R>, guard: Option<Guard<'_, M, R>>) {
        self.0.absences().remember(core, record, guard);
    }
}
