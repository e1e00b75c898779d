//! DL_DETECT: two-phase locking in which every conflict waits. Deadlocks are detected and broken.
//!
//! Source: Abyss 2.2 and 4.2. The limits on waiting and the times between searches can also be those of the 2022
//! code.
//!
//! Locks are granted in the order of arrival. A waiter publishes whom it waits for in its own row of a waits-for
//! graph. If the wait lasts, the waiter searches the rows for a deadlock cycle, without locks
//! ([`crate::mechanisms::waits_for`]). The member of the cycle that holds the fewest locks aborts. Among equals, the
//! victim is the session with the lowest number. A wait can be limited (Abyss 4.2, figure 5), because long queues
//! thrash.
//!
//! Options:
//!
//! - `waits-for=central`: the graph is under one latch, for comparison.
//! - `deadlocks=key-order`: there is no graph, for workloads that acquire their locks in key order (Abyss 4.2,
//!   figure 4). A transaction waits only for a lock beyond all locks that it holds. It aborts when it meets a
//!   conflict out of order. On a workload that keeps no order, or that upgrades locks, transactions make progress
//!   only by the back-off between attempts.
//! - `readers=versions`: declared read-only transactions read versions instead of locking (DL_DETECT + MVCC, Abyss
//!   6.1; [`crate::mechanisms::versioned_readers`]).
//! - `deadlock-search` and `lock-timeout`: the time between searches, and the longest wait. `deadlock-preset` sets
//!   both as published.
//!
//! Deviations:
//!
//! - A cycle that a search finds is checked again before a victim aborts, so there are no false alarms.
//! - A search that finds nothing is the last one of its wait, because a session that closes a cycle later finds
//!   that cycle.
//! - An upgrade goes ahead of all waiters.
//! - Writes are buffered, see [`crate::mechanisms::two_phase_locking`].
//! - Under delegation a waiter counts only its locks at the owner for whose lock it waits.
//! - Natively, a running session can take a lock that was granted to a sleeping one ([`crate::mechanisms::overtaking`]).

use crate::{
    Deadlocks, Declaration, Isolation, ProtocolOptions, Readers, Txn, WaitsForGraph, faults,
    mechanisms::{
        cancellable_queue::{CALLED, Claims, Policy, SharedSession, SharedSessions, WAITING},
        lock_queue::{Held, LockQueue, Queued},
        physical::{Atomics, OneOwner, Physical},
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
        versioned_readers::{ReadersOnVersions, VersionedLock},
        wait_limits::Limits,
        waits_for::{Found, Searcher, WaitsFor, attempt_name},
    },
};
use machine::{Arena, Core, Machine, NEVER, OutOfMemory, TimedOut, cold::Arc};
use std::marker::PhantomData;
use storage::RecordRef;
use txn::{Abort, AbortReason, TableId};

/// The DL_DETECT protocol.
pub type DlDetect<M> = TwoPhaseLocking<WaitingLocks<M>>;
/// DL_DETECT for metadata that one core alone touches.
pub type DlDetectOwned<M> = TwoPhaseLocking<WaitingLocks<M, LockQueue, OneOwner>>;
/// DL_DETECT whose declared read-only transactions read versions.
pub type DlDetectVersions<M> = ReadersOnVersions<M, VersionedLocks<M>>;
/// Locks of [`DlDetectVersions`].
pub type VersionedLocks<M> = WaitingLocks<M, VersionedLock>;

/// Locks on which every conflicting request waits. `C` is the part of a lock that lies in its record.
pub struct WaitingLocks<M: Machine, C = LockQueue, W = Atomics> {
    sessions: Arc<SharedSessions<M>>,
    graph: Arc<WaitsFor<M>>,
    limits: Limits,
    words: PhantomData<fn() -> (C, W)>,
}

/// State of a session: its locks and its search for deadlocks.
pub struct Owner<M: Machine> {
    claims: Claims<M>,
    searcher: Searcher<M>,
    session: usize,
    /// Number of locks held, which is what an abort would cost.
    locks: u64,
    /// The greatest key locked. Recorded only where the order of keys matters.
    highest: Option<(TableId, u64)>,
}

impl<M: Machine> Owner<M> {
    fn name(&self) -> u64 {
        attempt_name(self.session, self.claims.attempt())
    }
}

/// A wait for one lock.
struct Wait<'a, M: Machine, C, W> {
    locks: &'a WaitingLocks<M, C, W>,
    searcher: &'a mut Searcher<M>,
    own: u64,
    held: u64,
    /// Set if the lock lies beyond all locks held.
    in_order: bool,
    /// Time at which the wait is given up; none until the wait begins.
    limit: Option<u64>,
}

fn ticks<C: Core>(core: &C, ns: u64) -> u64 {
    (u128::from(ns) * u128::from(core.ticks_per_second())).div_ceil(1_000_000_000) as u64
}

impl<M: Machine, C, W> Policy<M> for Wait<'_, M, C, W> {
    const BY_NAME: bool = false;
    const MEETS_ALL: bool = true;

    fn refuses(&self) -> Option<AbortReason> {
        let limits = self.locks.limits;
        if limits.timeout_ns == Some(0) {
            return Some(AbortReason::Timeout);
        }
        (limits.key_order && !self.in_order).then_some(AbortReason::LockConflict)
    }

    fn meets(&mut self, _: &M::Core, _: &SharedSession<M>, name: u64) {
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

    fn until_told(
        &mut self,
        core: &M::Core,
        session: &SharedSession<M>,
    ) -> Result<(), AbortReason> {
        let told = self.sit_out(core, session);
        if !self.locks.limits.key_order {
            self.locks.graph.withdraw(core, &self.locks.sessions, self.searcher);
        }
        told
    }
}

impl<M: Machine, C, W> Wait<'_, M, C, W> {
    /// Waits, and searches for a deadlock meanwhile.
    fn sit_out(&mut self, core: &M::Core, session: &SharedSession<M>) -> Result<(), AbortReason> {
        let (graph, sessions, limits) =
            (&self.locks.graph, &self.locks.sessions, self.locks.limits);
        let begun = core.now();
        let after = |from: u64, ns| from.saturating_add(ticks(core, ns));
        let limit = limits.timeout_ns.map_or(NEVER, |ns| after(begun, ns));
        // A wait that goes on after the session was overtaken gets no more time.
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

impl<M: Machine, C, W> WaitingLocks<M, C, W> {
    fn wait<'a>(
        &'a self,
        owner: &'a mut Owner<M>,
        in_order: bool,
    ) -> (Wait<'a, M, C, W>, &'a mut Claims<M>) {
        let own = owner.name();
        let (searcher, held) = (&mut owner.searcher, owner.locks);
        let wait = Wait { locks: self, searcher, own, held, in_order, limit: None };
        (wait, &mut owner.claims)
    }
}

impl<M: Machine, C: Queued, W: Physical> Locks<M> for WaitingLocks<M, C, W> {
    const OWNED: bool = W::OWNED;
    const AWAITS: bool = W::OWNED;
    const WAITS_ONCE: bool = true;
    const ONE_COPY: bool = W::OWNED;
    const ENTRY_BLOCKS: u64 = 1;
    type Words = C;
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
        let searches = options.deadlocks == Deadlocks::Search;
        let usual = searches && options.waits_for == WaitsForGraph::PerCore;
        let versions = options.readers == Readers::Versions;
        if W::OWNED { W::fits(options) && usual && !versions } else { versions }
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let central = options.waits_for == WaitsForGraph::Central;
        let limits = Limits::of(options);
        let graph = Arc::new(WaitsFor::new(arena, sessions, central)?);
        let sessions = Arc::new(SharedSessions::with_latches(arena, sessions, options.latch)?);
        Ok(WaitingLocks { sessions, graph, limits, words: PhantomData })
    }

    /// All owners have one graph, so a circle of waits at several of them is found.
    fn beside(
        first: &Self,
        _: &Arc<Arena>,
        _: &ProtocolOptions,
        _: usize,
    ) -> Result<Self, OutOfMemory> {
        let (sessions, graph) = (first.sessions.clone(), first.graph.clone());
        Ok(WaitingLocks { sessions, graph, limits: first.limits, words: PhantomData })
    }

    fn owner(&self, session: usize) -> Owner<M> {
        Owner {
            claims: match W::OWNED {
                true => Claims::of_owner(&self.sessions, session),
                false => Claims::new(&self.sessions, session),
            },
            searcher: self.graph.searcher(session),
            session,
            locks: 0,
            highest: None,
        }
    }

    #[inline]
    fn begin(&self, core: &M::Core, owner: &mut Owner<M>, txn: Txn<'_>) {
        (owner.locks, owner.highest) = (0, None);
        match W::OWNED {
            true => owner.claims.begin_numbered(core, txn.id.sequence()),
            false => owner.claims.begin(core),
        }
    }

    #[inline]
    fn acquire(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, C>,
        mode: Mode,
    ) -> Result<Held, Abort> {
        // The guard of a range has no place in the key order, so no transaction waits for one.
        let ordered = self.limits.key_order && !record.is_guard();
        let place = ordered.then(|| (record.table().id(), record.key(core)));
        let in_order = ordered && place > owner.highest;
        let name = owner.name();
        owner.searcher.clear();
        let (mut wait, claims) = self.wait(owner, in_order);
        let held = match W::OWNED {
            true => claims.acquire_or_keep(core, record, name, mode, &mut wait),
            false => claims.acquire(core, record, name, mode, &mut wait, CHOSEN),
        };
        let held = held.map_err(Abort::because)?;
        if ordered {
            owner.highest = owner.highest.max(place);
        }
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
        owner.searcher.clear();
        // Two readers that both upgrade their lock on a record wait for each other in any order of keys.
        let (mut wait, claims) = self.wait(owner, false);
        let upgraded = match W::OWNED {
            true => claims.upgrade_or_keep(core, record, name, held, &mut wait),
            false => claims.upgrade(core, record, name, held, &mut wait, CHOSEN),
        };
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

    fn is_kept(owner: &Owner<M>) -> bool {
        owner.claims.kept().is_some()
    }

    fn outlast(&self, core: &M::Core, owner: &mut Owner<M>) -> Result<Held, Abort> {
        let (mut wait, claims) = self.wait(owner, false);
        let kept = claims.outlast_kept(core, &mut wait, CHOSEN).map_err(Abort::because)?;
        owner.locks += u64::from(!kept.upgrades);
        Ok(kept.held)
    }

    fn take_back(&self, core: &M::Core, owner: &mut Owner<M>, record: &RecordRef<'_, M, C>) {
        owner.claims.take_back_kept(core, record);
    }

    #[inline(always)]
    fn mode(held: &Held) -> Mode {
        held.mode
    }

    fn knobs() -> &'static [&'static str] {
        &[
            "deadlocks",
            "deadlock-search",
            "lock-timeout",
            "waits-for",
            "readers",
            "deadlock-preset",
            "latch",
        ]
    }
}
