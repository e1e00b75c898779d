//! WOUND_WAIT: two-phase locking in which the older transaction wounds the younger, and the younger waits.
//!
//! Source: Rosenkrantz, Stearns and Lewis, TODS 1978.
//!
//! A transaction gets a timestamp when it is new and keeps it when it is retried. A requester wounds each younger
//! transaction that is in its way. The wounded transaction aborts, unless it has begun to commit, because then it
//! needs no more locks. A requester waits for an older transaction. Waiters are ordered by age, the oldest first.
//! So a transaction waits only for older, wounded or committing transactions. Waits form no cycle, and the oldest
//! transaction is never wounded.
//!
//! Deviations:
//!
//! - A wounded transaction notices the wound while it waits, when it asks for its next lock, and when it begins to
//!   commit. It does not notice it in the middle of a computation.
//! - Writes are buffered, see [`crate::mechanisms::two_phase_locking`].
//! - Natively, a running session can take a lock that was granted to a sleeping one ([`crate::mechanisms::overtaking`]).

use crate::{
    Declaration, Isolation, ProtocolOptions, Txn,
    mechanisms::{
        cancellable_queue::{Claims, SharedSessions},
        lock_queue::{Held, LockQueue},
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
        wounding::Wound,
    },
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// The WOUND_WAIT protocol.
pub type WoundWait<M> = TwoPhaseLocking<WoundingLocks<M>>;

/// Locks that an older transaction takes from a younger one.
pub struct WoundingLocks<M: Machine> {
    allocator: TimestampAllocator<M>,
    sessions: SharedSessions<M>,
}

/// State of a session: its age and its locks.
pub struct Owner<M: Machine> {
    timestamp: u64,
    source: TimestampSource,
    claims: Claims<M>,
}

const WOUNDED: AbortReason = AbortReason::Wounded;

impl<M: Machine> Locks<M> for WoundingLocks<M> {
    const ENTRY_BLOCKS: u64 = 1;
    type Words = LockQueue;
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
        let sessions = SharedSessions::new(arena, sessions)?;
        Ok(WoundingLocks { allocator, sessions })
    }

    fn owner(&self, session: usize) -> Owner<M> {
        Owner {
            timestamp: 0,
            source: TimestampSource::new(session),
            claims: Claims::new(&self.sessions, session),
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
