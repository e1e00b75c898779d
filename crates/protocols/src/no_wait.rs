//! NO_WAIT: two-phase locking in which a conflict aborts the requester at once.
//!
//! Source: Bernstein and Goodman 1981 (two-phase locking without waiting); Abyss 2.1.
//!
//! The lock is one word in the record. It holds a writer bit or a count of readers, as Trireme 3.2 describes. No
//! transaction waits, so there is no queue, no timestamp and no deadlock.
//!
//! A reader adds itself to the count and compares nothing. An exchange would fail whenever another reader came between,
//! so that readers of a hot record would take its line from each other in vain. A reader can add itself after a writer
//! has locked the record. It aborts then, and what it has added stays: while the writer bit is set, the bits below it mean
//! nothing, and the writer's release clears them.
//!
//! Options, for comparison:
//!
//! - `lock-form=list`: the lock is a list of requests under a latch.
//! - `locks=partition` or `central`: the locks are in one table for each partition, or in one table, instead of in
//!   the records ([`crate::mechanisms::lock_table`]).
//! - `write-locks=commit`: a record is locked exclusively only at commit. Until then it is locked only as it was
//!   read. This is the PCC of Wang and Kimura, VLDB 2016, as Trireme 5.1 describes it. It has more aborts.
//!
//! Deviations:
//!
//! - Writes are buffered, see [`crate::mechanisms::two_phase_locking`].
//! - Locks in tables are lists, because a bucket has to be latched anyway.

use crate::{
    Declaration, Isolation, LockForm, LockPlacement, ProtocolOptions, Txn, WriteLocks, faults,
    mechanisms::{
        lock_queue::{Held, InRecord, LockPlace, Requests},
        lock_table::LockTables,
        physical::{Atomics, OneOwner, Physical},
        queue_latch::LatchNodes,
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, cold::Arc};
use std::marker::PhantomData;
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// The NO_WAIT protocol.
pub type NoWait = TwoPhaseLocking<CountedLocks>;
/// NO_WAIT for metadata that one core alone touches.
pub type NoWaitOwned = TwoPhaseLocking<CountedLocks<false, OneOwner>>;
/// NO_WAIT that acquires write locks at commit: PCC.
pub type NoWaitAtCommit = TwoPhaseLocking<CountedLocks<true>>;
/// NO_WAIT whose locks are lists.
pub type NoWaitListed<M> = TwoPhaseLocking<ListedLocks<M, InRecord>>;
/// NO_WAIT whose locks are lists in tables.
pub type NoWaitTabled<M> = TwoPhaseLocking<ListedLocks<M, LockTables<M>>>;

/// The writer bit. A smaller value is a number of readers.
const WRITER: u64 = 1 << 63;

/// Locks of one word per record: a writer bit, or the number of readers.
pub struct CountedLocks<const AT_COMMIT: bool = false, W = Atomics>(PhantomData<W>);

fn conflict() -> Abort {
    Abort::because(AbortReason::LockConflict)
}

fn declaration() -> Declaration {
    Declaration {
        name: "NO_WAIT",
        summary: "two-phase locking; a conflict aborts the requester at once",
        source: "Abyss 2.1; Trireme 3.2",
        isolation: Isolation::Serializable,
        strict: true,
        one_site: None,
    }
}

impl<const AT_COMMIT: bool, W: Physical> CountedLocks<AT_COMMIT, W> {
    /// Counts a reader of a lock that was `seen` a moment ago. Returns false if the lock was or is exclusive.
    #[inline(always)]
    fn read<M: Machine>(core: &M::Core, record: &RecordRef<'_, M, Word>, seen: u64) -> bool {
        if seen >= WRITER {
            return false;
        }
        let (line, lock) = (record.line(), record.cc());
        let before = W::add(core, line, lock, 1);
        if before >= WRITER && core.is_planted(faults::NO_WAIT_TAKES_BACK) {
            W::add(core, line, lock, u64::MAX);
        }
        before < WRITER || core.is_planted(faults::NO_WAIT_TRUSTS_A_LOOK)
    }
}

impl<M: Machine, W: Physical, const AT_COMMIT: bool> Locks<M> for CountedLocks<AT_COMMIT, W> {
    const OWNED: bool = W::OWNED;
    const ONE_COPY: bool = AT_COMMIT || W::OWNED;
    const DEFERS: bool = AT_COMMIT;
    type Words = Word;
    type Held = Mode;
    type Owner = ();

    fn declare(_: &ProtocolOptions) -> Declaration {
        declaration()
    }

    fn knobs() -> &'static [&'static str] {
        &["locks", "lock-buckets", "partitions", "lock-form", "latch", "write-locks"]
    }

    fn is_asked_for(options: &ProtocolOptions) -> bool {
        let in_record = options.locks == LockPlacement::Record;
        let counted = in_record && options.lock_form == LockForm::Counter;
        let in_time = (options.write_locks == WriteLocks::Commit) == AT_COMMIT;
        counted && in_time && W::fits(options)
    }

    #[inline(always)]
    fn locks_writes_at_commit(&self) -> bool {
        AT_COMMIT
    }

    fn create(_: &Arc<Arena>, _: &ProtocolOptions, _: usize) -> Result<Self, OutOfMemory> {
        Ok(CountedLocks(PhantomData))
    }

    fn owner(&self, _: usize) {}

    #[inline(always)]
    fn begin(&self, _: &M::Core, _: &mut (), _: Txn<'_>) {}

    #[inline(always)]
    fn acquire(
        &self,
        core: &M::Core,
        _: &mut (),
        record: &RecordRef<'_, M, Word>,
        mode: Mode,
    ) -> Result<Mode, Abort> {
        let (line, lock) = (record.line(), record.cc());
        // The word is read first, because an atomic instruction takes the cache line even where the lock is not free.
        let mut seen = core.load(line, lock);
        if mode == Mode::Shared {
            return Self::read(core, record, seen).then_some(mode).ok_or_else(conflict);
        }
        while seen == 0 {
            match W::exchange(core, line, lock, 0, WRITER) {
                Ok(()) => return Ok(mode),
                Err(now) => seen = now,
            }
        }
        Err(conflict())
    }

    fn upgrade(
        &self,
        core: &M::Core,
        _: &mut (),
        record: &RecordRef<'_, M, Word>,
        held: &mut Mode,
    ) -> Result<(), Abort> {
        if core.is_planted(faults::UPDATE_WITHOUT_UPGRADE)
            || core.is_planted(faults::NO_WAIT_NEVER_UPGRADES)
        {
            return Ok(());
        }
        // An upgrade succeeds only if this transaction is the only reader.
        let (line, lock) = (record.line(), record.cc());
        if W::OWNED && core.load(line, lock) != 1 {
            return Err(conflict());
        }
        W::exchange(core, line, lock, 1, WRITER).map_err(|_| conflict())?;
        *held = Mode::Exclusive;
        Ok(())
    }

    #[inline(always)]
    fn release(&self, core: &M::Core, _: &mut (), record: &RecordRef<'_, M, Word>, held: Mode) {
        match held {
            Mode::Exclusive => core.store(record.line(), record.cc(), 0),
            Mode::Shared => _ = W::add(core, record.line(), record.cc(), u64::MAX),
        }
    }

    #[inline(always)]
    fn mode(held: &Mode) -> Mode {
        *held
    }
}

/// Locks that are a list of requests per record, in the record or in a table.
pub struct ListedLocks<M: Machine, P> {
    place: P,
    arena: Arc<Arena>,
    latches: LatchNodes,
    at_commit: bool,
    machine: PhantomData<fn() -> M>,
}

/// State of a session: its requests, and the name by which it recognizes them.
pub struct Lister<M: Machine> {
    requests: Requests<M>,
    name: u64,
}

fn no_memory(_: OutOfMemory) -> Abort {
    Abort::because(AbortReason::OutOfMemory)
}

impl<M: Machine, P: LockPlace<M>> Locks<M> for ListedLocks<M, P> {
    const ENTRY_BLOCKS: u64 = 1;
    const ONE_COPY: bool = true;
    const DEFERS: bool = true;
    type Words = P::Words;
    type Held = Held;
    type Owner = Lister<M>;

    fn declare(_: &ProtocolOptions) -> Declaration {
        declaration()
    }

    fn is_asked_for(options: &ProtocolOptions) -> bool {
        let listed = P::IN_TABLES || options.lock_form == LockForm::List;
        listed && P::IN_TABLES == (options.locks != LockPlacement::Record)
    }

    fn locks_writes_at_commit(&self) -> bool {
        self.at_commit
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let (place, latches) =
            (P::new(arena, options)?, LatchNodes::of_kind::<M>(arena, sessions, options.latch)?);
        let at_commit = options.write_locks == WriteLocks::Commit;
        Ok(ListedLocks { place, arena: arena.clone(), latches, at_commit, machine: PhantomData })
    }

    fn owner(&self, session: usize) -> Lister<M> {
        let requests = Requests::new(&self.arena.near(session), self.latches.latcher(session));
        Lister { requests, name: session as u64 }
    }

    fn begin(&self, _: &M::Core, _: &mut Lister<M>, _: Txn<'_>) {}

    fn acquire(
        &self,
        core: &M::Core,
        owner: &mut Lister<M>,
        record: &RecordRef<'_, M, P::Words>,
        mode: Mode,
    ) -> Result<Held, Abort> {
        let held = owner.requests.acquire(core, &self.place, record, owner.name, mode, None);
        held.map_err(no_memory)?.ok_or_else(conflict)
    }

    fn upgrade(
        &self,
        core: &M::Core,
        owner: &mut Lister<M>,
        record: &RecordRef<'_, M, P::Words>,
        held: &mut Held,
    ) -> Result<(), Abort> {
        let upgraded = owner.requests.upgrade(core, &self.place, record, owner.name, held, None);
        if upgraded.map_err(no_memory)? { Ok(()) } else { Err(conflict()) }
    }

    fn release(
        &self,
        core: &M::Core,
        owner: &mut Lister<M>,
        record: &RecordRef<'_, M, P::Words>,
        held: Held,
    ) {
        owner.requests.release(core, &self.place, record, held);
    }

    fn mode(held: &Held) -> Mode {
        held.mode
    }
}
