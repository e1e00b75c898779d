//! WOUND_WAIT: two-phase locking in which the older wounds the younger, and the younger waits.
//!
//! Source: Rosenkrantz, Stearns and Lewis, TODS 1978. A transaction gets a timestamp when it is new and keeps it
//! through its restarts. A requester that meets a younger transaction in its way wounds it: the younger
//! aborts, unless it has begun to commit, which needs no lock any more. A requester that meets an older
//! one waits. Waiters stand oldest first. So everybody waits for older transactions, for wounded
//! ones and for committing ones; waits form no circle, and the oldest transaction is never wounded.
//! Deviations: a wounded transaction notices while it waits, when it asks for its next lock and when it
//! begins to commit, not in the midst of computing; buffered writes, see
//! [`crate::parts::two_phase_locking`]. Natively a running session may take a lock that was granted to a sleeping one
//! ([`crate::parts::overtaking`]).

use crate::{
    Declaration, Isolation, ProtocolOptions, Txn,
    parts::{
        cancellable_queue::{Claims, Sessions},
        lock_queue::{Held, LockQueue},
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
        wounding::Wound,
    },
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// The protocol.
pub type WoundWait<M> = TwoPhaseLocking<WoundingLocks<M>>;

/// Locks that the older takes from the younger.
pub struct WoundingLocks<M: Machine> {
    allocator: TimestampAllocator<M>,
    sessions: Sessions<M>,
}

/// A session's age and its locks.
pub struct Owner<M: Machine> {
    timestamp: u64,
    source: TimestampSource,
    claims: Claims<M>,
}

const WOUNDED: AbortReason = AbortReason::Wounded;

impl<M: Machine> Locks<M> for WoundingLocks<M> {
    type Record = LockQueue;
    type Held = Held;
    type Owner = Owner<M>;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "WOUND_WAIT",
            summary: "two-phase locking; the older wounds the younger, the younger waits",
            source: "Rosenkrantz et al. 1978",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: Some(
                "a wound reaches a transaction at one site only, which may be waiting at another",
            ),
        }
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let allocator = TimestampAllocator::new(arena, options.timestamps, sessions)?;
        let sessions = Sessions::new(arena, sessions)?;
        Ok(WoundingLocks { allocator, sessions })
    }

    fn owner(&self, slot: usize) -> Owner<M> {
        Owner {
            timestamp: 0,
            source: TimestampSource::new(slot),
            claims: Claims::new(&self.sessions, slot),
        }
    }

    #[inline]
    fn begin(&self, core: &M::Core, owner: &mut Owner<M>, txn: Txn<'_>) {
        if let Some(age) = txn.age {
            owner.timestamp = age;
        } else if txn.attempt == 0 {
            owner.timestamp = self.allocator.draw(core, &mut owner.source);
        }
        owner.claims.begin(core);
    }

    #[inline]
    fn acquire(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, LockQueue>,
        mode: Mode,
    ) -> Result<Held, Abort> {
        if owner.claims.is_called(core) {
            return Err(Abort::because(WOUNDED));
        }
        let (age, mut wound) = (owner.timestamp, Wound::by(owner.timestamp));
        let held = owner.claims.acquire(core, record, age, mode, &mut wound, WOUNDED);
        held.map_err(Abort::because)
    }

    fn upgrade(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, LockQueue>,
        held: &mut Held,
    ) -> Result<(), Abort> {
        if owner.claims.is_called(core) {
            return Err(Abort::because(WOUNDED));
        }
        let (age, mut wound) = (owner.timestamp, Wound::by(owner.timestamp));
        let upgraded = owner.claims.upgrade(core, record, age, held, &mut wound, WOUNDED);
        upgraded.map_err(Abort::because)
    }

    #[inline]
    fn release(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, LockQueue>,
        held: Held,
    ) {
        owner.claims.release(core, record, held);
    }

    #[inline]
    fn prepare(&self, core: &M::Core, owner: &mut Owner<M>) -> Result<(), Abort> {
        if owner.claims.begin_commit(core) { Ok(()) } else { Err(Abort::because(WOUNDED)) }
    }

    #[inline(always)]
    fn mode(held: &Held) -> Mode {
        held.mode
    }

    fn priority(owner: &Owner<M>) -> Option<u64> {
        Some(owner.timestamp)
    }
}
