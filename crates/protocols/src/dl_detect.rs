//! DL_DETECT: two-phase locking in which everybody waits, and deadlocks are found and broken.
//!
//! Source: Abyss 2.2 and 4.2; limits on waiting and times between searches also as in the 2022 code. Locks are
//! given in the order of asking. Who waits publishes whom it waits for in its own row of a waits-for
//! graph and, when the wait lasts, searches the rows for a circle, without locks
//! ([`crate::parts::waits_for`]). The member of a circle that holds the fewest locks aborts (of equals the
//! one with the lowest session number). A wait can be limited (Abyss 4.2, figure 5): long queues thrash.
//!
//! Options: the graph under one latch, for comparison; no graph at all, for workloads that take their locks in
//! the order of their keys (Abyss 4.2, figure 4): then a transaction waits only for a lock beyond all
//! that it holds, and aborts when it meets a conflict out of order. (On a workload that keeps to no order, or that
//! upgrades locks, this gets through by the back-off between attempts alone.)
//!
//! Transactions that are declared read-only can read versions instead of locking (DL_DETECT + MVCC, Abyss 6.1;
//! [`crate::parts::versioned_readers`]).
//!
//! Deviations: what a search finds is looked at again before anybody aborts, so there are no false alarms; a
//! search that finds nothing is the last of its wait, as whoever closes a circle later finds it; an upgrade
//! goes ahead of all waiters; buffered writes, see [`crate::parts::two_phase_locking`]. Natively a running session may
//! take a lock that was granted to a sleeping one ([`crate::parts::overtaking`]).

use crate::{
    Deadlocks, Declaration, Isolation, ProtocolOptions, Readers, Txn, WaitsForGraph, faults,
    parts::{
        cancellable_queue::{CALLED, Claims, Policy, Session, Sessions, WAITING},
        lock_queue::{Held, LockQueue, Queued},
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
        versioned_readers::{ReadersOnVersions, VersionedLock},
        waits_for::{Found, Searcher, WaitsFor, attempt_name},
    },
};
use machine::{Arena, Core, Machine, NEVER, OutOfMemory, TimedOut, cold::Arc};
use std::marker::PhantomData;
use storage::RecordRef;
use txn::{Abort, AbortReason, TableId};

/// The protocol.
pub type DlDetect<M> = TwoPhaseLocking<WaitingLocks<M>>;
/// With readers on versions.
pub type DlDetectVersions<M> = ReadersOnVersions<M, VersionedLocks<M>>;
/// Its locks.
pub type VersionedLocks<M> = WaitingLocks<M, VersionedLock>;

/// Locks for which everybody waits; `C` is what there is of them in a record.
pub struct WaitingLocks<M: Machine, C = LockQueue> {
    sessions: Sessions<M>,
    graph: WaitsFor<M>,
    limits: Limits,
    words: PhantomData<fn() -> C>,
}

/// How long one waits, and what for.
#[derive(Clone, Copy)]
struct Limits {
    key_order: bool,
    search_ns: u64,
    timeout_ns: Option<u64>,
}

/// A session's locks.
pub struct Owner<M: Machine> {
    claims: Claims<M>,
    searcher: Searcher<M>,
    slot: usize,
    /// How many it holds: what an abort would cost.
    locks: u64,
    /// The greatest key locked, where the order of keys matters.
    highest: Option<(TableId, u64)>,
}

impl<M: Machine> Owner<M> {
    fn name(&self) -> u64 {
        attempt_name(self.slot, self.claims.attempt())
    }
}

/// One wait.
struct Wait<'a, M: Machine, C> {
    locks: &'a WaitingLocks<M, C>,
    searcher: &'a mut Searcher<M>,
    own: u64,
    held: u64,
    /// Whether the lock lies beyond all that are held.
    in_order: bool,
    /// When the wait is given up, once it has begun.
    limit: Option<u64>,
}

fn ticks<C: Core>(core: &C, ns: u64) -> u64 {
    (u128::from(ns) * u128::from(core.ticks_per_second())).div_ceil(1_000_000_000) as u64
}

impl<M: Machine, C> Policy<M> for Wait<'_, M, C> {
    const BY_NAME: bool = false;
    const MEETS_ALL: bool = true;

    fn refuses(&self) -> Option<AbortReason> {
        let out_of_order = self.locks.limits.key_order && !self.in_order;
        out_of_order.then_some(AbortReason::LockConflict)
    }

    fn meets(&mut self, _: &M::Core, _: &Session<M>, name: u64) {
        self.searcher.add(name);
    }

    fn forgets(&mut self) {
        self.searcher.clear();
    }

    fn waits(&mut self, core: &M::Core) {
        if !self.locks.limits.key_order {
            self.locks.graph.publish(core, &self.locks.sessions, self.searcher, self.held);
        }
    }

    fn until_told(&mut self, core: &M::Core, session: &Session<M>) -> Result<(), AbortReason> {
        let told = self.sit_out(core, session);
        if !self.locks.limits.key_order {
            self.locks.graph.withdraw(core, &self.locks.sessions, self.searcher);
        }
        told
    }
}

impl<M: Machine, C> Wait<'_, M, C> {
    /// Waits, and searches meanwhile.
    fn sit_out(&mut self, core: &M::Core, session: &Session<M>) -> Result<(), AbortReason> {
        let (graph, sessions, limits) =
            (&self.locks.graph, &self.locks.sessions, self.locks.limits);
        let begun = core.now();
        let after = |from: u64, ns| from.saturating_add(ticks(core, ns));
        let limit = limits.timeout_ns.map_or(NEVER, |ns| after(begun, ns));
        // A wait that goes on because it was overtaken is not given more time.
        let limit = *self.limit.get_or_insert(limit);
        let searches = !limits.key_order && !core.is_planted(faults::DL_DETECT_WITHOUT_SEARCH);
        let mut search = if searches { after(begun, limits.search_ns) } else { NEVER };
        loop {
            let waiting = |fate| fate & (WAITING | CALLED) == WAITING;
            let deadline = limit.min(search);
            match core.wait_while_until(&session.line, &session.fate, deadline, waiting) {
                Ok(_) => return Ok(()),
                Err(TimedOut) if limit <= search => return Err(AbortReason::Timeout),
                Err(TimedOut) => {}
            }
            search = match graph.search(core, sessions, self.searcher, self.own) {
                Found::Nothing => NEVER,
                Found::Victim(name) if name == self.own => return Err(AbortReason::Deadlock),
                Found::Victim(other) => {
                    graph.call(core, sessions, other);
                    after(core.now(), limits.search_ns)
                }
                Found::Unsettled => after(core.now(), limits.search_ns),
            };
        }
    }
}

const CHOSEN: AbortReason = AbortReason::Deadlock;

impl<M: Machine, C> WaitingLocks<M, C> {
    fn wait<'a>(
        &'a self,
        owner: &'a mut Owner<M>,
        in_order: bool,
    ) -> (Wait<'a, M, C>, &'a mut Claims<M>) {
        let own = owner.name();
        owner.searcher.clear();
        let (searcher, held) = (&mut owner.searcher, owner.locks);
        let wait = Wait { locks: self, searcher, own, held, in_order, limit: None };
        (wait, &mut owner.claims)
    }
}

impl<M: Machine, C: Queued> Locks<M> for WaitingLocks<M, C> {
    type Record = C;
    type Held = Held;
    type Owner = Owner<M>;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "DL_DETECT",
            summary: "two-phase locking; everybody waits, deadlocks are found in a waits-for graph",
            source: "Abyss 2.2, 4.2",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: Some("a circle of waits across sites is in no site's waits-for graph"),
        }
    }

    fn is_asked_for(options: &ProtocolOptions) -> bool {
        options.readers == Readers::Versions
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let central = options.waits_for == WaitsForGraph::Central;
        let limits = Limits {
            key_order: options.deadlocks == Deadlocks::KeyOrder,
            search_ns: options.deadlock_search_ns,
            timeout_ns: options.lock_timeout_ns,
        };
        let graph = WaitsFor::new(arena, sessions, central)?;
        let sessions = Sessions::new(arena, sessions)?;
        Ok(WaitingLocks { sessions, graph, limits, words: PhantomData })
    }

    fn owner(&self, slot: usize) -> Owner<M> {
        Owner {
            claims: Claims::new(&self.sessions, slot),
            searcher: self.graph.searcher(slot),
            slot,
            locks: 0,
            highest: None,
        }
    }

    #[inline]
    fn begin(&self, core: &M::Core, owner: &mut Owner<M>, _: Txn<'_>) {
        owner.locks = 0;
        owner.highest = None;
        owner.claims.begin(core);
    }

    #[inline]
    fn acquire(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, C>,
        mode: Mode,
    ) -> Result<Held, Abort> {
        // The guard of a range has no place among keys: nobody waits for one.
        let ordered = self.limits.key_order && !record.is_guard();
        let place = ordered.then(|| (record.table().id(), record.key(core)));
        let in_order = place > owner.highest;
        let name = owner.name();
        let (mut wait, claims) = self.wait(owner, in_order);
        let held = claims.acquire(core, record, name, mode, &mut wait, CHOSEN);
        let held = held.map_err(Abort::because)?;
        owner.highest = owner.highest.max(place);
        owner.locks += 1;
        Ok(held)
    }

    fn upgrade(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, C>,
        held: &mut Held,
    ) -> Result<(), Abort> {
        let name = owner.name();
        // Two readers of a record that both want to write it wait for each other, whatever their order.
        let (mut wait, claims) = self.wait(owner, false);
        let upgraded = claims.upgrade(core, record, name, held, &mut wait, CHOSEN);
        upgraded.map_err(Abort::because)
    }

    #[inline]
    fn release(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, C>,
        held: Held,
    ) {
        owner.claims.release(core, record, held);
    }

    #[inline(always)]
    fn mode(held: &Held) -> Mode {
        held.mode
    }

    fn knobs() -> &'static [&'static str] {
        &["deadlocks", "deadlock-search", "lock-timeout", "waits-for", "readers", "deadlock-preset"]
    }
}
