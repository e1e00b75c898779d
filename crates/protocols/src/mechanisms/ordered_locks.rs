//! Locks whose waits follow the order of their records' names, so that waits never form a deadlock
//! cycle.
//!
//! Source: Wang and Kimura, VLDB 2016 (canonical mode; the current and the retrospective lock
//! list).
//!
//! A session holds its locks in a list that is sorted by record name (the current lock list). An
//! attempt is in canonical mode as long as every lock that it holds comes before the lock that it
//! acquires next. In canonical mode the session waits for as long as it takes. Waits then go only
//! from smaller to larger names, so they form no cycle.
//!
//! A lock out of this order is handled in one of two ways ([`OutOfOrder`]). The session tries for a
//! moment and then does without the lock, or it first releases the locks that come after it and
//! then waits. A transaction can release a lock early because these locks only keep other
//! transactions from interfering. They do not detect interference: the transaction that holds them
//! validates its reads at commit.
//!
//! A failed attempt leaves a list of the locks that the next attempt should acquire (the
//! retrospective lock list). Whenever the next attempt waits for a lock, it first acquires the
//! listed locks that come before it.

use super::{
    cancellable_queue::{CALLED, Claims, Policy, SharedSession, SharedSessions, WAITING},
    lock_queue::{Held, Queued},
    two_phase_locking::Mode,
};
use crate::faults;
use machine::{Core, Machine, NEVER};
use storage::{RecordName, RecordRef};
use txn::{Abort, AbortReason};

/// Duration of the wait for a lock out of order, in nanoseconds.
const MOMENT_NS: u64 = 1_000;

/// A lock that the session holds.
struct Lock<'s, M: Machine, C> {
    name: RecordName,
    record: RecordRef<'s, M, C>,
    held: Held,
}

/// The locks of one session.
pub struct OrderedLocks<'s, M: Machine, C> {
    claims: Claims<M>,
    /// Locks that the session holds. Invariant: sorted by record name, at most one lock per record.
    held: Vec<Lock<'s, M, C>>,
    /// The retrospective lock list: locks that this attempt should acquire. Empty if there is no
    /// advice. Invariant: sorted by record name, at most one entry per record.
    retrospective: Vec<(RecordName, RecordRef<'s, M, C>, Mode)>,
    /// Number of the session. The lock queue uses it as the name of the session's requests.
    session: u64,
}

/// Waits until the session is granted the lock or called. Gives up at the deadline, in ticks of
/// [`Core::now`].
struct Until(u64);

impl<M: Machine> Policy<M> for Until {
    const BY_NAME: bool = false;
    const MEETS_ALL: bool = false;

    fn meets(&mut self, _: &M::Core, _: &SharedSession<M>, _: u64) {}

    fn until_told(
        &mut self,
        core: &M::Core,
        session: &SharedSession<M>,
    ) -> Result<(), AbortReason> {
        let waiting = |fate| fate & (WAITING | CALLED) == WAITING;
        let told = core.wait_while_until(&session.line, &session.fate, self.0, waiting);
        told.map(|_| ()).map_err(|_| AbortReason::Timeout)
    }
}

/// Behaviour of [`OrderedLocks::lock`] at a lock that is out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfOrder {
    /// Waits for a moment, and does without the lock if that fails.
    Try,
    /// Releases the locks that come after it, then waits.
    Restore,
}

impl<'s, M: Machine, C: Queued> OrderedLocks<'s, M, C> {
    /// Creates the locks of session number `session`. It holds none yet.
    pub fn new(sessions: &SharedSessions<M>, session: usize) -> Self {
        let claims = Claims::in_order_of_arrival(sessions, session);
        OrderedLocks {
            claims,
            held: Vec::new(),
            retrospective: Vec::new(),
            session: session as u64,
        }
    }

    /// Begins an attempt. A new transaction (`is_new`) forgets the advice of the last attempt.
    pub fn begin(&mut self, core: &M::Core, is_new: bool) {
        self.claims.begin(core);
        if is_new {
            self.retrospective.clear();
        }
    }

    /// Returns the mode in which the retrospective lock list names the record, if it does.
    pub fn recommended(&self, record: &RecordRef<'s, M, C>) -> Option<Mode> {
        if self.retrospective.is_empty() {
            return None;
        }
        let name = record.name();
        let found = self.retrospective.binary_search_by_key(&name, |(name, ..)| *name);
        found.ok().map(|at| self.retrospective[at].2)
    }

    /// Returns true if the session holds a lock on the record.
    pub fn holds(&self, record: &RecordRef<'s, M, C>) -> bool {
        self.held.binary_search_by_key(&record.name(), |lock| lock.name).is_ok()
    }

    /// Replaces the retrospective lock list with `locks`. They can come in any order and can
    /// repeat.
    pub fn recommend(&mut self, locks: impl Iterator<Item = (RecordRef<'s, M, C>, Mode)>) {
        self.retrospective.clear();
        self.retrospective.extend(locks.map(|(record, mode)| (record.name(), record, mode)));
        // The exclusive mode sorts first, and `dedup_by_key` keeps the first entry.
        self.retrospective.sort_by_key(|(name, _, mode)| (*name, *mode == Mode::Shared));
        self.retrospective.dedup_by_key(|(name, ..)| *name);
    }

    /// Acquires the record's lock, unless the session already holds it in this mode or a stronger
    /// one. With [`OutOfOrder::Try`] it can return `Ok` without the lock.
    pub fn lock(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
        mode: Mode,
        out_of_order: OutOfOrder,
    ) -> Result<(), Abort> {
        let name = record.name();
        // The locks of a commit come in order, and mostly nothing is recommended.
        let last = self.held.last().map(|lock| lock.name);
        if last < Some(name) && self.retrospective.is_empty() {
            return self.wait_for(core, record, mode, self.held.len());
        }
        let at = self.held.partition_point(|lock| lock.name < name);
        let own = self.held.get(at).filter(|lock| lock.name == name).map(|lock| lock.held.mode);
        if own.is_some_and(|own| own == Mode::Exclusive || mode == Mode::Shared) {
            return Ok(());
        }
        // A shared lock on this record also counts as a lock out of order. If it is the only one,
        // it is released.
        let ahead = self.held.len() - at;
        let restore = ahead == 1 && own.is_some();
        match out_of_order {
            _ if ahead == 0 => {}
            _ if core.is_planted(faults::MOCC_WAITS_OUT_OF_ORDER) => {
                if own.is_some() {
                    self.release_at(core, at);
                }
                return self.wait_for(core, record, mode, at);
            }
            OutOfOrder::Restore => self.release_from(core, at),
            OutOfOrder::Try if restore => self.release_from(core, at),
            OutOfOrder::Try if own.is_some() => return Ok(()),
            OutOfOrder::Try => return self.try_lock(core, record, mode, at),
        }
        let before = self.retrospective.partition_point(|(listed, ..)| *listed < name);
        let first = self.retrospective.partition_point(|(listed, ..)| Some(*listed) <= last);
        for listed in first..before.max(first) {
            let (_, record, mode) = self.retrospective[listed];
            self.wait_for(core, record, mode, self.held.len())?;
        }
        let at = self.held.partition_point(|lock| lock.name < name);
        self.wait_for(core, record, mode, at)
    }

    /// Acquires the record's lock exclusively, or aborts if a conflict lasts for `ticks`. With 0 it
    /// does not wait. A request that does not wait for long can be out of order.
    pub fn lock_within(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
        ticks: u64,
    ) -> Result<(), Abort> {
        let name = record.name();
        let at = self.held.partition_point(|lock| lock.name < name);
        let own = self.held.get(at).filter(|lock| lock.name == name).map(|lock| lock.held.mode);
        match own {
            Some(Mode::Exclusive) => return Ok(()),
            Some(Mode::Shared) => self.release_at(core, at),
            None => {}
        }
        // Look without the latch first. Otherwise many refused requesters would keep the lock's
        // holder from the latch.
        if ticks == 0 && self.claims.seems_taken(core, &record) {
            return Err(Abort::because(AbortReason::LockConflict));
        }
        let refused = |reason| match reason {
            AbortReason::Timeout => Abort::because(AbortReason::LockConflict),
            reason => Abort::because(reason),
        };
        let deadline = if ticks == 0 { 0 } else { core.now().saturating_add(ticks) };
        self.acquire(core, record, Mode::Exclusive, at, deadline).map_err(refused)
    }

    fn wait_for(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
        mode: Mode,
        at: usize,
    ) -> Result<(), Abort> {
        self.acquire(core, record, mode, at, NEVER).map_err(Abort::because)
    }

    fn try_lock(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
        mode: Mode,
        at: usize,
    ) -> Result<(), Abort> {
        let moment = u128::from(MOMENT_NS) * u128::from(core.ticks_per_second()) / 1_000_000_000;
        match self.acquire(core, record, mode, at, core.now().saturating_add(moment as u64)) {
            Ok(()) | Err(AbortReason::Timeout) => Ok(()),
            Err(reason) => Err(Abort::because(reason)),
        }
    }

    fn acquire(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
        mode: Mode,
        at: usize,
        deadline: u64,
    ) -> Result<(), AbortReason> {
        let (policy, called) = (&mut Until(deadline), AbortReason::LockConflict);
        let held = self.claims.acquire(core, &record, self.session, mode, policy, called)?;
        self.held.insert(at, Lock { name: record.name(), record, held });
        Ok(())
    }

    fn release_at(&mut self, core: &M::Core, at: usize) {
        let lock = self.held.remove(at);
        self.claims.release(core, &lock.record, lock.held);
    }

    /// Releases all locks from position `at` on.
    fn release_from(&mut self, core: &M::Core, at: usize) {
        for lock in self.held.drain(at..) {
            self.claims.release(core, &lock.record, lock.held);
        }
    }

    /// Releases all locks.
    pub fn release(&mut self, core: &M::Core) {
        self.release_from(core, 0);
    }
}
