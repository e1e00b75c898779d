//! WAIT_DIE: two-phase locking in which the older waits and the younger dies.
//!
//! Source: Rosenkrantz, Stearns and Lewis, TODS 1978; Abyss 2.1. A transaction gets a timestamp when it is new
//! and keeps it through its restarts, so it grows older than everybody else and in the end never dies. It
//! may wait for a lock only if it is older than every conflicting owner, so waits form no circle.
//! Deviations: a lock that is compatible with its owners but has a queue is given only through the queue
//! (a stream of readers would otherwise starve a writer); buffered writes, see
//! [`crate::parts::two_phase_locking`].

use crate::{
    Declaration, Isolation, ProtocolOptions, Start,
    parts::{
        lock_queue::{Held, LockQueue, Requests},
        queue_latch::LatchNodes,
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
    },
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};
use std::marker::PhantomData;
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// What mutants may turn round; the protocol itself is as published.
pub trait Variant: Send + Sync + 'static {
    /// Whether a transaction of timestamp `own` may wait for one of timestamp `other`.
    fn may_wait(own: u64, other: u64) -> bool {
        own < other
    }
}

/// The algorithm as published.
pub struct AsPublished;
impl Variant for AsPublished {}

/// The protocol.
pub type WaitDie<M, V = AsPublished> = TwoPhaseLocking<AgedLocks<M, V>>;

/// Locks that are given by age.
pub struct AgedLocks<M: Machine, V> {
    allocator: TimestampAllocator<M>,
    arena: Arc<Arena>,
    latches: LatchNodes,
    variant: PhantomData<V>,
}

/// A session's age and its requests.
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

impl<M: Machine, V: Variant> Locks<M> for AgedLocks<M, V> {
    type Record = LockQueue;
    type Held = Held;
    type Owner = Owner<M>;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "WAIT_DIE",
            summary: "two-phase locking; the older waits, the younger dies and keeps its timestamp",
            source: "Rosenkrantz et al. 1978; Abyss 2.1",
            isolation: Isolation::Serializable,
            strict: true,
        }
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let allocator = TimestampAllocator::new(arena, options.timestamps, sessions)?;
        let latches = LatchNodes::new::<M>(arena, sessions)?;
        Ok(AgedLocks { allocator, arena: arena.clone(), latches, variant: PhantomData })
    }

    fn owner(&self, slot: usize) -> Owner<M> {
        Owner {
            timestamp: 0,
            source: TimestampSource::default(),
            requests: Requests::new(&self.arena, self.latches.latcher(slot)),
        }
    }

    #[inline]
    fn begin(&self, core: &M::Core, owner: &mut Owner<M>, start: Start) {
        if start.attempt == 0 {
            owner.timestamp = self.allocator.draw(core, &mut owner.source);
        }
    }

    #[inline]
    fn acquire(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, LockQueue>,
        mode: Mode,
    ) -> Result<Held, Abort> {
        let held = owner.requests.acquire(core, record, owner.timestamp, mode, V::may_wait);
        held.map_err(no_memory)?.ok_or_else(died)
    }

    fn upgrade(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, LockQueue>,
        held: &mut Held,
    ) -> Result<(), Abort> {
        let upgraded = owner.requests.upgrade(core, record, owner.timestamp, held, V::may_wait);
        if upgraded.map_err(no_memory)? { Ok(()) } else { Err(died()) }
    }

    #[inline]
    fn release(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, LockQueue>,
        held: Held,
    ) {
        owner.requests.release(core, record, held);
    }

    #[inline(always)]
    fn mode(held: &Held) -> Mode {
        held.mode
    }

    fn priority(owner: &Owner<M>) -> Option<u64> {
        Some(owner.timestamp)
    }
}
