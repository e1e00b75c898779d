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
        lock_queue::{Held, InRecord, LockPlace, MayWait, Requests},
        lock_table::LockTables,
        queue_latch::LatchNodes,
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// The WAIT_DIE protocol.
pub type WaitDie<M> = TwoPhaseLocking<AgedLocks<M>>;
/// WAIT_DIE with its locks in tables.
pub type WaitDieTabled<M> = TwoPhaseLocking<AgedLocks<M, LockTables<M>>>;

/// Locks that are granted by age.
pub struct AgedLocks<M: Machine, P = InRecord> {
    place: P,
    allocator: TimestampAllocator<M>,
    arena: Arc<Arena>,
    latches: LatchNodes,
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
fn may_wait<C: Core>(core: &C) -> MayWait {
    match core.is_planted(faults::WAIT_DIE_INVERTED) {
        false => |own, other| own < other,
        true => |own, other| own > other,
    }
}

impl<M: Machine, P: LockPlace<M>> Locks<M> for AgedLocks<M, P> {
    const ENTRY_BLOCKS: u64 = 1;
    const ONE_COPY: bool = P::IN_TABLES;
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
        P::IN_TABLES == (options.locks != LockPlacement::Record)
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let allocator = TimestampAllocator::new(arena, options.timestamps, sessions)?;
        let latches = LatchNodes::of_kind::<M>(arena, sessions, options.latch)?;
        let (place, arena) = (P::new(arena, options)?, arena.clone());
        Ok(AgedLocks { place, allocator, arena, latches })
    }

    fn owner(&self, session: usize) -> Owner<M> {
        Owner {
            timestamp: 0,
            source: TimestampSource::new(session),
            requests: Requests::new(&self.arena.near(session), self.latches.latcher(session)),
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

    fn priority(owner: &Owner<M>) -> Option<u64> {
        Some(owner.timestamp)
    }
}
