//! Strict two-phase locking, for any way of acquiring and releasing locks.
//!
//! A transaction acquires a record's lock before it touches the record, and keeps the lock until
//! the transaction has ended (Abyss 2.1). NO_WAIT, WAIT_DIE and similar protocols differ only in
//! what happens when another transaction holds the lock. That part is [`Locks`].
//!
//! Deviation from the papers' code: writes are buffered under the exclusive lock. They are not made
//! in place with a before-image. No other transaction can see the difference.
//!
//! **Ranges.** A scan locks the guard of each leaf shared, and keeps that lock. A transaction that
//! makes a record in a leaf locks the guard exclusively, only for the insertion. The new record
//! says only that its row is absent, as before. Later changes of the row are protected by the
//! record's own lock. The insertion must only not add a record to a range that another transaction
//! has scanned. A transaction that has scanned the leaf itself upgrades its shared lock and keeps
//! the exclusive one. (This is next-key locking as in Gray and Reuter, with leaves as gaps.)
//!
//! **Plans.** If the locks [plan](Locks::PLANS), the locks of the announced records are acquired before the transaction
//! runs, in the order of the records' names, or natively of their addresses. A record that is announced more than once is locked once, in the
//! strongest mode. Until the last of them is held, locks can wait. The first waits are for the ranges in which records of
//! absent keys are made, when the transaction holds nothing.
//!
//! **Read committed** (degree 2 of Gray, Lorie, Putzolu and Traiger 1976): read locks are released
//! as soon as the row is copied, so they are not planned, and ranges are not locked. Reads for update, and so inserts and
//! deletes, lock as usual.

use super::{record_set::RecordSet, write_set::WriteSet};
use crate::{
    Change, CommitLog, Declaration, Delegated, Images, Isolation, Prepared, Protocol,
    ProtocolOptions, Txn, faults,
};
use machine::{Arena, Core, Machine, OutOfMemory, Zeroed, cold::Arc};
use storage::{Epochs, GuardRef, RecordRef, RowHead, RowState};
use txn::{Abort, ColumnSet, Intent};

/// Mode in which a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Held beside other readers.
    Shared,
    /// Held by one transaction alone.
    Exclusive,
}

/// A way of locking records.
pub trait Locks<M: Machine>: Sized + Send + Sync + 'static {
    /// The words of the lock in each record.
    type Words: Zeroed + Send + Sync + 'static;
    /// State that a session keeps for each lock that it holds.
    type Held: Copy + Send;
    /// State that a session keeps between locks (its timestamp, its queue entries).
    type Owner: Send;

    /// Set if exclusive locks admit readers until [`Locks::certify`] has been called.
    const CERTIFIES: bool = false;

    /// Set if one core alone touches the lock of a record.
    const OWNED: bool = false;

    /// Set if a request that must wait is kept and reported as a conflict. The caller waits for it elsewhere
    /// ([`Locks::outlast`]).
    const AWAITS: bool = false;

    /// Same as [`Protocol::WAITS_ONCE`].
    const WAITS_ONCE: bool = false;

    /// Same as [`Protocol::ONE_COPY`].
    const ONE_COPY: bool = false;

    /// Same as [`Protocol::ENTRY_BLOCKS`].
    const ENTRY_BLOCKS: u64 = 0;

    /// Same as [`Protocol::is_asked_for`].
    fn is_asked_for(options: &ProtocolOptions) -> bool {
        let _ = options;
        false
    }

    /// Same as [`Protocol::PLANS`].
    const PLANS: bool = false;

    /// Set if the protocol can acquire its write locks at commit.
    const DEFERS: bool = false;

    /// Returns true if write locks are acquired at commit.
    #[inline(always)]
    fn locks_writes_at_commit(&self) -> bool {
        false
    }

    /// Set if write locks that are acquired at commit are acquired in the order of the records'
    /// names.
    const IN_ORDER: bool = false;

    /// Returns the properties that the protocol declares.
    fn declare(options: &ProtocolOptions) -> Declaration;

    /// Returns the knobs that the protocol heeds, besides those of timestamps.
    fn knobs() -> &'static [&'static str] {
        &[]
    }

    /// Creates the shared state.
    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory>;

    /// Same as [`Protocol::beside`].
    fn beside(
        first: &Self,
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let _ = first;
        Self::create(arena, options, sessions)
    }

    /// Creates the state of session number `session`.
    fn owner(&self, session: usize) -> Self::Owner;

    /// Begins an attempt.
    fn begin(&self, core: &M::Core, owner: &mut Self::Owner, txn: Txn<'_>);

    /// Returns true if planned locks are acquired in descending order of the records' names.
    fn plans_descending(&self) -> bool {
        false
    }

    /// Called when all planned locks are held and the transaction is about to run.
    fn planned(&self, core: &M::Core, owner: &mut Self::Owner) {
        let _ = (core, owner);
    }

    /// Acquires the lock, or returns why not.
    fn acquire(
        &self,
        core: &M::Core,
        owner: &mut Self::Owner,
        record: &RecordRef<'_, M, Self::Words>,
        mode: Mode,
    ) -> Result<Self::Held, Abort>;

    /// Upgrades a shared lock to an exclusive one. On failure the shared lock is still held.
    fn upgrade(
        &self,
        core: &M::Core,
        owner: &mut Self::Owner,
        record: &RecordRef<'_, M, Self::Words>,
        held: &mut Self::Held,
    ) -> Result<(), Abort>;

    /// Makes an exclusive lock exclude readers too, or returns why not. Called at commit before the
    /// write is installed, or before a range is changed. Can be called twice.
    #[inline(always)]
    fn certify(
        &self,
        core: &M::Core,
        owner: &mut Self::Owner,
        record: &RecordRef<'_, M, Self::Words>,
        held: &mut Self::Held,
    ) -> Result<(), Abort> {
        let _ = (core, owner, record, held);
        Ok(())
    }

    /// Called after a row has been copied. Returns an error if the row can have been overwritten
    /// meanwhile, for protocols in which a lock can be broken.
    #[inline(always)]
    fn confirm(&self, core: &M::Core, owner: &Self::Owner) -> Result<(), Abort> {
        let _ = (core, owner);
        Ok(())
    }

    /// Releases the lock.
    fn release(
        &self,
        core: &M::Core,
        owner: &mut Self::Owner,
        record: &RecordRef<'_, M, Self::Words>,
        held: Self::Held,
    );

    /// Returns true if a request of this session is kept and waits.
    fn is_kept(owner: &Self::Owner) -> bool {
        let _ = owner;
        false
    }

    /// Waits for the kept request, and returns the lock. On failure the request stays kept.
    fn outlast(&self, core: &M::Core, owner: &mut Self::Owner) -> Result<Self::Held, Abort> {
        let _ = (core, owner);
        unreachable!("only locks that await keep requests")
    }

    /// Takes the kept request back, and releases the lock if it was granted meanwhile.
    fn take_back(
        &self,
        core: &M::Core,
        owner: &mut Self::Owner,
        record: &RecordRef<'_, M, Self::Words>,
    ) {
        let _ = (core, owner, record);
    }

    /// Called at the last moment at which the transaction can still be told to abort.
    #[inline(always)]
    fn prepare(&self, core: &M::Core, owner: &mut Self::Owner) -> Result<(), Abort> {
        let _ = (core, owner);
        Ok(())
    }

    /// Returns the mode in which a lock is held.
    fn mode(held: &Self::Held) -> Mode;

    /// Returns the owner's age, if the protocol uses it (smaller is older).
    fn priority(owner: &Self::Owner) -> Option<u64> {
        let _ = owner;
        None
    }
}

/// Returns the mode in which a record is locked for an access.
#[inline(always)]
fn mode_for(intent: Intent) -> Mode {
    match intent {
        Intent::Update => Mode::Exclusive,
        Intent::Read => Mode::Shared,
    }
}

/// The protocol that locks with `L`.
pub struct TwoPhaseLocking<L> {
    locks: L,
    /// Set if read locks are released at once.
    short_reads: bool,
}

/// A lock that is held besides the others, and released before the transaction ends.
type Instant<'s, M, L> = (RecordRef<'s, M, <L as Locks<M>>::Words>, <L as Locks<M>>::Held);

/// A session's locks and writes.
pub struct Worker<'s, M: Machine, L: Locks<M>> {
    /// Locks held until the transaction's end. Invariant: every written record is in it before its
    /// write is installed.
    held: RecordSet<'s, M, L::Words, L::Held>,
    pub(super) writes: WriteSet<'s, M, L::Words>,
    /// The guard that is locked only for an insertion.
    instant: Option<Instant<'s, M, L>>,
    /// The record for whose lock a request is kept, if the locks await.
    kept: Option<RecordRef<'s, M, L::Words>>,
    /// Records that the attempt has announced, and the modes in which they will be locked. Empty while it runs.
    planned: Vec<(RecordRef<'s, M, L::Words>, Mode)>,
    owner: L::Owner,
}

impl<L> TwoPhaseLocking<L> {
    /// Acquires or upgrades the record's lock, unless it is held in this mode or a stronger one.
    #[inline(always)]
    fn lock<'s, M: Machine>(
        &self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: RecordRef<'s, M, L::Words>,
        mode: Mode,
    ) -> Result<(), Abort>
    where
        L: Locks<M>,
    {
        match worker.held.find(&record) {
            None => {
                let held = self.locks.acquire(core, &mut worker.owner, &record, mode);
                let held = Self::kept(worker, record, held)?;
                worker.held.push(record, held);
            }
            Some(at) => {
                let held = worker.held.value_mut(at);
                if mode == Mode::Exclusive && L::mode(held) == Mode::Shared {
                    let upgraded = self.locks.upgrade(core, &mut worker.owner, &record, held);
                    Self::kept(worker, record, upgraded)?;
                }
            }
        }
        Ok(())
    }

    /// Notes the record if a request for its lock was kept.
    #[inline(always)]
    fn kept<'s, M: Machine, T>(
        worker: &mut Worker<'s, M, L>,
        record: RecordRef<'s, M, L::Words>,
        outcome: Result<T, Abort>,
    ) -> Result<T, Abort>
    where
        L: Locks<M>,
    {
        if L::AWAITS && outcome.is_err() && L::is_kept(&worker.owner) {
            worker.kept = Some(record);
        }
        outcome
    }

    /// Acquires the lock as an exclusive [`TwoPhaseLocking::lock`] and excludes readers at once.
    /// Used for ranges, which are changed before the commit.
    fn lock_out<'s, M: Machine>(
        &self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: RecordRef<'s, M, L::Words>,
    ) -> Result<(), Abort>
    where
        L: Locks<M>,
    {
        self.lock(core, worker, record, Mode::Exclusive)?;
        let at = worker.held.find(&record).expect("just locked");
        self.locks.certify(core, &mut worker.owner, &record, worker.held.value_mut(at))
    }

    /// Returns true if records are locked for their writes at commit. The compiler removes the
    /// branch where they never are.
    #[inline(always)]
    fn defers<M: Machine>(&self) -> bool
    where
        L: Locks<M>,
    {
        if const { L::DEFERS } { self.locks.locks_writes_at_commit() } else { false }
    }

    /// Locks the record shared if an update meets an absent row. A blind update of a present row
    /// reads nothing, and its presence is checked at commit. But an absence that is reported to the
    /// caller has been read.
    #[cold]
    fn lock_absence<'s, M: Machine>(
        &self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: RecordRef<'s, M, L::Words>,
        change: &Change<'_>,
    ) -> Result<(), Abort>
    where
        L: Locks<M>,
    {
        let at = worker.writes.find(&record);
        let state = worker.writes.state_over(at, record.head(core).state);
        match change.state.is_some() || state.is_present() {
            true => Ok(()),
            false => self.lock(core, worker, record, Mode::Shared),
        }
    }

    /// Reads under a lock that is released at once. None if a lock is held or the transaction has
    /// written the record.
    #[cold]
    fn read_briefly<'s, M: Machine>(
        &self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: &RecordRef<'s, M, L::Words>,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Result<Option<RowHead>, Abort>
    where
        L: Locks<M>,
    {
        if worker.held.find(record).is_some() || worker.writes.find(record).is_some() {
            return Ok(None);
        }
        let held = self.locks.acquire(core, &mut worker.owner, record, Mode::Shared)?;
        let head = record.copy_out(core, columns, out);
        let confirmed = self.locks.confirm(core, &worker.owner);
        self.locks.release(core, &mut worker.owner, record, held);
        confirmed.map(|()| Some(head))
    }

    /// Releases the guard that was locked only for an insertion.
    fn end_instant<M: Machine>(&self, core: &M::Core, worker: &mut Worker<'_, M, L>)
    where
        L: Locks<M>,
    {
        if let Some((record, held)) = worker.instant.take() {
            self.locks.release(core, &mut worker.owner, &record, held);
        }
    }

    /// Releases all locks and clears the write set.
    pub(super) fn let_go<M: Machine>(&self, core: &M::Core, worker: &mut Worker<'_, M, L>)
    where
        L: Locks<M>,
    {
        if L::AWAITS
            && let Some(record) = worker.kept.take()
        {
            self.locks.take_back(core, &mut worker.owner, &record);
        }
        for (record, held) in worker.held.iter() {
            self.locks.release(core, &mut worker.owner, &record, *held);
        }
        worker.held.clear();
        worker.writes.clear();
        self.end_instant(core, worker);
    }
}

impl<M: Machine, L: Locks<M>> Protocol<M> for TwoPhaseLocking<L> {
    const ONE_COPY: bool = L::ONE_COPY;
    const ENTRY_BLOCKS: u64 = L::ENTRY_BLOCKS;
    const PLANS: bool = L::PLANS;
    const AWAITS: bool = L::AWAITS;
    const WAITS_ONCE: bool = L::WAITS_ONCE;
    const DELEGATED: Delegated = if L::OWNED { Delegated::Metadata } else { Delegated::Nothing };
    type Words = L::Words;
    type Worker<'s>
        = Worker<'s, M, L>
    where
        M: 's;

    fn is_asked_for(options: &ProtocolOptions) -> bool {
        L::is_asked_for(options)
    }

    fn declare(options: &ProtocolOptions) -> Declaration {
        L::declare(options).at_level_of(options)
    }

    fn knobs() -> &'static [&'static str] {
        L::knobs()
    }

    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable, Isolation::ReadCommitted]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let short_reads = !options.asks_for_full_isolation();
        Ok(TwoPhaseLocking { locks: L::create(arena, options, sessions)?, short_reads })
    }

    fn beside(
        first: &Self,
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let locks = L::beside(&first.locks, arena, options, sessions)?;
        Ok(TwoPhaseLocking { locks, short_reads: first.short_reads })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, session: usize) -> Worker<'s, M, L> {
        Worker {
            held: RecordSet::default(),
            writes: WriteSet::default(),
            instant: None,
            kept: None,
            planned: Vec::new(),
            owner: self.locks.owner(session),
        }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, L>, txn: Txn<'_>) {
        self.locks.begin(core, &mut worker.owner, txn);
        if L::PLANS {
            worker.planned.clear();
        }
    }

    fn plan<'s>(
        &'s self,
        _: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: RecordRef<'s, M, L::Words>,
        intent: Intent,
    ) {
        // At read committed a read lock is released at once, so it is not worth acquiring ahead.
        if !self.short_reads || intent == Intent::Update {
            worker.planned.push((record, mode_for(intent)));
        }
    }

    fn follow_plan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
    ) -> Result<(), Abort> {
        let mut planned = std::mem::take(&mut worker.planned);
        let is_shared = |mode: Mode| mode == Mode::Shared;
        if !M::MODELLED {
            // All sessions see a record at the same address, so addresses are an order too. They are even, so the mode fits in.
            planned.sort_unstable_by_key(|(record, mode)| {
                record.identity() | usize::from(is_shared(*mode))
            });
            planned.dedup_by_key(|(record, _)| record.identity());
        } else if core.is_planted(faults::ORDERED_BY_KEY_ALONE) {
            planned.sort_unstable_by_key(|(record, mode)| (record.key(core), is_shared(*mode)));
        } else if !core.is_planted(faults::ORDERED_AS_PLANNED) {
            // The exclusive mode sorts first, so a record is locked in its strongest mode.
            planned.sort_unstable_by_key(|(record, mode)| (record.name(), is_shared(*mode)));
            planned.dedup_by_key(|(record, _)| record.name());
        }
        if self.locks.plans_descending() {
            planned.reverse();
        }
        let mut locks = planned.iter();
        let locked = locks.try_for_each(|(record, mode)| self.lock(core, worker, *record, *mode));
        planned.clear();
        worker.planned = planned;
        self.locks.planned(core, &mut worker.owner);
        locked
    }

    fn protect<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: RecordRef<'s, M, L::Words>,
        intent: Intent,
    ) -> Result<(), Abort> {
        self.lock(core, worker, record, mode_for(intent))
    }

    fn await_owner<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
    ) -> Result<bool, Abort> {
        let Some(record) = worker.kept else { return Ok(false) };
        let held = self.locks.outlast(core, &mut worker.owner)?;
        worker.kept = None;
        match worker.held.find(&record) {
            Some(at) => *worker.held.value_mut(at) = held,
            None => _ = worker.held.push(record, held),
        }
        Ok(true)
    }

    fn is_protected<'s>(
        &'s self,
        worker: &Worker<'s, M, L>,
        record: RecordRef<'s, M, L::Words>,
        intent: Intent,
    ) -> bool {
        let strong = |mode| mode == Mode::Exclusive || mode == mode_for(intent);
        worker.held.find(&record).is_some_and(|at| strong(L::mode(worker.held.get(at).1)))
    }

    #[inline]
    fn install<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        _: u64,
        log: &mut CommitLog<'_>,
    ) {
        worker.writes.install_all(core, log);
        worker.writes.clear();
    }

    fn prepares_metadata<'s>(&'s self, worker: &Worker<'s, M, L>) -> bool {
        L::CERTIFIES && !worker.writes.is_empty()
    }

    #[inline(always)]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: RecordRef<'s, M, L::Words>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        if self.short_reads
            && intent == Intent::Read
            && let Some(head) = self.read_briefly(core, worker, &record, columns, out)?
        {
            return Ok(head);
        }
        let mode = match intent {
            Intent::Update if !self.defers::<M>() => Mode::Exclusive,
            Intent::Read | Intent::Update => Mode::Shared,
        };
        self.lock(core, worker, record, mode)?;
        let head = record.copy_out(core, columns, out);
        self.locks.confirm(core, &worker.owner)?;
        Ok(match worker.writes.find(&record) {
            None => head,
            Some(at) => worker.writes.overlay(at, columns, out, head),
        })
    }

    #[inline]
    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: RecordRef<'s, M, L::Words>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        if self.defers::<M>() {
            self.lock_absence(core, worker, record, &change)?;
        } else {
            self.lock(core, worker, record, Mode::Exclusive)?;
        }
        let at = worker.writes.find(&record);
        let state = worker.writes.state_over(at, record.head(core).state);
        if change.state.is_none() && !state.is_present() {
            return Ok(false);
        }
        worker.writes.put(core, record, at, change);
        Ok(true)
    }

    #[inline(always)]
    fn write_absent<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        record: RecordRef<'s, M, L::Words>,
        change: Change<'_>,
    ) -> Result<RowHead, Abort> {
        let (none, intent) = (ColumnSet::NONE, Intent::Update);
        let found = self.read(core, worker, record, none, intent, &mut [])?;
        if found.state == RowState::ABSENT {
            // The read has locked the record as a write does.
            let at = worker.writes.find(&record);
            worker.writes.put(core, record, at, change);
        }
        Ok(found)
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        guard: GuardRef<'s, M, L::Words>,
    ) -> Result<(), Abort> {
        match self.short_reads {
            true => Ok(()),
            false => self.lock(core, worker, guard.record(), Mode::Shared),
        }
    }

    fn begin_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        guard: GuardRef<'s, M, L::Words>,
    ) -> Result<(), Abort> {
        if self.short_reads || core.is_planted(faults::PHANTOM_UNASKED_INSERTION) {
            return Ok(());
        }
        let record = guard.record();
        if worker.held.find(&record).is_some() {
            return self.lock_out(core, worker, record);
        }
        let held = self.locks.acquire(core, &mut worker.owner, &record, Mode::Exclusive);
        // An insertion that had to wait finds its lock among the others, and keeps it.
        let mut held = Self::kept(worker, record, held)?;
        let alone = self.locks.certify(core, &mut worker.owner, &record, &mut held);
        worker.instant = Some((record, held));
        if alone.is_err() {
            self.end_instant(core, worker);
        }
        alone
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        guard: GuardRef<'s, M, L::Words>,
        record: RecordRef<'s, M, L::Words>,
        _: u64,
    ) -> Result<(), Abort> {
        if worker.instant.is_some() {
            // The guard is locked only for this insertion, so the transaction has not scanned the range.
            return Ok(());
        }
        match worker.held.find(&guard.record()) {
            Some(_) if core.is_planted(faults::PHANTOM_UNREAD_ABSENCE) => Ok(()),
            // The lock is free, so this does not wait.
            Some(_) => self.lock(core, worker, record, Mode::Shared),
            None => Ok(()),
        }
    }

    fn end_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        _: GuardRef<'s, M, L::Words>,
    ) {
        self.end_instant(core, worker);
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        guard: GuardRef<'s, M, L::Words>,
        right: GuardRef<'s, M, L::Words>,
        _: u64,
    ) -> Result<(), Abort> {
        // The leaf's guard is locked exclusively, so no other transaction has scanned the leaf. If
        // this transaction has scanned it, it has scanned the upper part too. That part's guard is
        // free, so this does not wait.
        match worker.held.find(&guard.record()) {
            Some(_) => self.lock_out(core, worker, right.record()),
            None => Ok(()),
        }
    }

    #[inline]
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
    ) -> Result<Prepared, Abort> {
        if self.defers::<M>() {
            if L::IN_ORDER {
                worker.writes.sort();
            }
            for at in 0..worker.writes.len() {
                self.lock(core, worker, worker.writes.record(at), Mode::Exclusive)?;
                worker.writes.check_presence(core, at)?;
            }
        }
        let uncertified = core.is_planted(faults::TWO_VERSION_UNCERTIFIED)
            || core.is_planted(faults::PLOR_BESIDE_READERS);
        if L::CERTIFIES && !uncertified {
            for record in worker.writes.records() {
                let at =
                    worker.held.find(&record).expect("a record is locked before it is written");
                let held = worker.held.value_mut(at);
                self.locks.certify(core, &mut worker.owner, &record, held)?;
            }
        }
        self.locks.prepare(core, &mut worker.owner)?;
        Ok(Prepared::ANY)
    }

    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        log: &mut Images<'_, 's, M>,
    ) {
        worker.writes.tell_images(core, log);
    }

    #[inline]
    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M, L>,
        _: u64,
        log: &mut CommitLog<'_>,
    ) {
        worker.writes.install_all(core, log);
        self.let_go(core, worker);
    }

    #[inline]
    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M, L>) {
        self.let_go(core, worker);
    }

    fn priority<'s>(&'s self, worker: &Worker<'s, M, L>) -> Option<u64> {
        L::priority(&worker.owner)
    }
}
