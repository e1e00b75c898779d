//! WAIT_DIE: two-phase locking in which the older transaction waits and the younger one dies (aborts).
//!
//! Source: Rosenkrantz, Stearns and Lewis, TODS 1978; Abyss 2.1.
//!
//! A transaction gets a timestamp when it is new and keeps it when it is retried. So it becomes older than all
//! others and in the end never dies. It may wait for a lock only if it is older than every conflicting owner, so
//! waits form no cycle.
//!
//! Option, for comparison: `locks` puts the locks in one table for each partition, or in one table, instead of in
//! the records ([`crate::mechanisms::lock_table`]).
//!
//! Deviations:
//!
//! - A lock that has a queue is granted only through the queue, even to a request that is compatible with its
//!   owners. Otherwise a stream of readers would starve a writer.
//! - Writes are buffered, see [`crate::mechanisms::two_phase_locking`].

use crate::{
    Declaration, Isolation, LockPlacement, ProtocolOptions, Txn, faults,
    mechanisms::{
        kept_request::Kept,
        lock_queue::{Asked, Held, InRecord, LockPlace, MayWait, Requests},
        lock_table::LockTables,
        physical::{Atomics, OneOwner, Physical},
        queue_latch::{LatchNodes, Latcher},
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use std::marker::PhantomData;
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// The WAIT_DIE protocol.
pub type WaitDie<M> = TwoPhaseLocking<AgedLocks<M>>;
/// WAIT_DIE for metadata that one core alone touches.
pub type WaitDieOwned<M> = TwoPhaseLocking<AgedLocks<M, InRecord, OneOwner>>;
/// WAIT_DIE with its locks in tables.
pub type WaitDieTabled<M> = TwoPhaseLocking<AgedLocks<M, LockTables<M>>>;

/// Locks that are granted by age.
pub struct AgedLocks<M: Machine, P = InRecord, W = Atomics> {
    place: P,
    allocator: Arc<TimestampAllocator<M>>,
    arena: Arc<Arena>,
    /// None if one core alone touches a lock.
    latches: Option<LatchNodes>,
    physical: PhantomData<W>,
}

/// State of a session: its age and its requests.
pub struct Owner<M: Machine> {
    timestamp: u64,
    source: TimestampSource,
    requests: Requests<M>,
}

fn died() -> Abort {
    Abort::because(AbortReason::Died)
}

fn no_memory(_: OutOfMemory) -> Abort {
    Abort::because(AbortReason::OutOfMemory)
}

/// Returns the rule by which a requester waits: the older one does.
#[inline(always)]
fn may_wait<C: Core>(core: &C) -> Option<MayWait> {
    let rule: MayWait = match core.is_planted(faults::WAIT_DIE_INVERTED) {
        false => |own, other| own < other,
        true => |own, other| own > other,
    };
    Some(rule)
}

/// Returns the kept request of `kept` if it waits. Fails if it must not wait.
fn unless_refused(asked: &Asked, kept: Kept) -> Result<Option<Kept>, Abort> {
    match asked {
        Asked::Owned => Ok(None),
        Asked::Waits => Ok(Some(kept)),
        Asked::Refused => Err(died()),
    }
}

impl<M: Machine, P: LockPlace<M>, W: Physical> AgedLocks<M, P, W> {
    fn drawing_from(
        allocator: Arc<TimestampAllocator<M>>,
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let latches = || LatchNodes::of_kind::<M>(arena, sessions, options.latch);
        let latches = (!W::OWNED).then(latches).transpose()?;
        let (place, arena) = (P::new(arena, options)?, arena.clone());
        Ok(AgedLocks { place, allocator, arena, latches, physical: PhantomData })
    }
}

impl<M: Machine, P: LockPlace<M>, W: Physical> Locks<M> for AgedLocks<M, P, W> {
    const OWNED: bool = W::OWNED;
    const AWAITS: bool = W::OWNED;
    const ENTRY_BLOCKS: u64 = 1;
    const ONE_COPY: bool = P::IN_TABLES || W::OWNED;
    type Words = P::Words;
    type Held = Held;
    type Owner = Owner<M>;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "WAIT_DIE",
            summary: "two-phase locking; the older waits, the younger dies and keeps its timestamp",
            source: "Rosenkrantz et al. 1978; Abyss 2.1",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: None,
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["locks", "lock-buckets", "partitions", "latch"]
    }

    fn is_asked_for(options: &ProtocolOptions) -> bool {
        P::IN_TABLES == (options.locks != LockPlacement::Record) && W::fits(options)
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let allocator = TimestampAllocator::new(arena, options.timestamps, sessions)?;
        Self::drawing_from(Arc::new(allocator), arena, options, sessions)
    }

    fn beside(
        first: &Self,
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Self::drawing_from(first.allocator.clone(), arena, options, sessions)
    }

    fn owner(&self, session: usize) -> Owner<M> {
        let latcher = match &self.latches {
            Some(latches) => latches.latcher(session),
            None => Latcher::unneeded(&self.arena),
        };
        Owner {
            timestamp: 0,
            source: TimestampSource::new(session),
            requests: Requests::new(&self.arena.near(session), latcher),
        }
    }

    #[inline]
    fn begin(&self, core: &M::Core, owner: &mut Owner<M>, txn: Txn<'_>) {
        if let Some(age) = txn.age {
            owner.timestamp = age;
        } else if txn.attempt == 0 || core.is_planted(faults::RETRY_GETS_FRESH_TIMESTAMP) {
            owner.timestamp = self.allocator.draw(core, &mut owner.source);
        }
    }

    #[inline]
    fn acquire(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, P::Words>,
        mode: Mode,
    ) -> Result<Held, Abort> {
        let (place, age) = (&self.place, owner.timestamp);
        if W::OWNED {
            let asked = owner.requests.ask(core, place, record, age, mode, may_wait(core));
            let (held, asked) = asked.map_err(no_memory)?;
            let kept = Kept { request: held.request, held, upgrades: false };
            let kept = unless_refused(&asked, kept)?;
            return owner.requests.keep(kept).map(|()| held).map_err(Abort::because);
        }
        let held = owner.requests.acquire(core, place, record, age, mode, may_wait(core));
        held.map_err(no_memory)?.ok_or_else(died)
    }

    fn upgrade(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, P::Words>,
        held: &mut Held,
    ) -> Result<(), Abort> {
        let (place, age) = (&self.place, owner.timestamp);
        if W::OWNED {
            let own = *held;
            let asked = owner.requests.ask_upgrade(core, place, record, age, own, may_wait(core));
            let (request, asked) = asked.map_err(no_memory)?;
            let exclusive = Held { mode: Mode::Exclusive, ..own };
            let kept = Kept { request, held: exclusive, upgrades: true };
            let kept = unless_refused(&asked, kept)?;
            owner.requests.keep(kept).map_err(Abort::because)?;
            *held = exclusive;
            return Ok(());
        }
        let upgraded = owner.requests.upgrade(core, place, record, age, held, may_wait(core));
        if upgraded.map_err(no_memory)? { Ok(()) } else { Err(died()) }
    }

    #[inline]
    fn release(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, P::Words>,
        held: Held,
    ) {
        owner.requests.release(core, &self.place, record, held);
    }

    #[inline(always)]
    fn mode(held: &Held) -> Mode {
        held.mode
    }

    fn is_kept(owner: &Owner<M>) -> bool {
        owner.requests.kept().is_some()
    }

    fn outlast(&self, core: &M::Core, owner: &mut Owner<M>) -> Result<Held, Abort> {
        let kept = owner.requests.kept().expect("a request is kept");
        owner.requests.wait(core, kept.request);
        Ok(owner.requests.end_wait().held)
    }

    fn priority(owner: &Owner<M>) -> Option<u64> {
        Some(owner.timestamp)
    }
}
