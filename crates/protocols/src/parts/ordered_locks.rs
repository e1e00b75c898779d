//! Locks that are waited for only in the order of their records' names, so that nobody waits in a circle.
//!
//! Source: Wang and Kimura, VLDB 2016 (canonical mode; the current and the retrospective lock list). A transaction
//! is in canonical mode as long as all that it has locked comes before what it is to lock next; then it waits
//! for as long as it takes. Otherwise it either tries, and gives up after a moment, or it first gives back what
//! stands in the way. That is allowed because these locks are there to keep others from interfering, and not to
//! find out whether they have: their holder validates what it has read.
//!
//! An attempt that has failed leaves a list of what the next one had better lock. Whenever that waits for a
//! lock, it takes those on the list first that come before.

use super::{
    cancellable_queue::{CALLED, Claims, Policy, Session, Sessions, WAITING},
    lock_queue::{Held, Queued},
    two_phase_locking::Mode,
};
use crate::faults;
use machine::{Core, Machine, NEVER};
use storage::{RecordName, RecordRef};
use txn::{Abort, AbortReason};

/// How long a lock out of order is waited for, in nanoseconds.
const MOMENT_NS: u64 = 1_000;

/// A lock that is held.
struct Lock<'s, M: Machine, C> {
    name: RecordName,
    record: RecordRef<'s, M, C>,
    held: Held,
}

/// The locks of one session.
pub struct OrderedLocks<'s, M: Machine, C> {
    claims: Claims<M>,
    /// In the order of names.
    held: Vec<Lock<'s, M, C>>,
    /// What is to be locked, if anything is, in the order of names.
    retrospective: Vec<(RecordName, RecordRef<'s, M, C>, Mode)>,
    slot: u64,
}

/// Waits until told; gives up at a deadline.
struct Until(u64);

impl<M: Machine> Policy<M> for Until {
    const BY_NAME: bool = false;
    const MEETS_ALL: bool = false;

    fn meets(&mut self, _: &M::Core, _: &Session<M>, _: u64) {}

    fn until_told(&mut self, core: &M::Core, session: &Session<M>) -> Result<(), AbortReason> {
        let waiting = |fate| fate & (WAITING | CALLED) == WAITING;
        let told = core.wait_while_until(&session.line, &session.fate, self.0, waiting);
        told.map(|_| ()).map_err(|_| AbortReason::Timeout)
    }
}

/// What to do about a lock that is out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfOrder {
    /// Try for a moment; do without it if that fails.
    Try,
    /// Give back what stands in the way, then wait.
    Restore,
}

impl<'s, M: Machine, C: Queued> OrderedLocks<'s, M, C> {
    /// Those of session `slot`.
    pub fn new(sessions: &Sessions<M>, slot: usize) -> Self {
        let claims = Claims::in_order_of_arrival(sessions, slot);
        OrderedLocks { claims, held: Vec::new(), retrospective: Vec::new(), slot: slot as u64 }
    }

    /// An attempt begins; new work forgets what the last one has left.
    pub fn begin(&mut self, core: &M::Core, is_new: bool) {
        self.claims.begin(core);
        if is_new {
            self.retrospective.clear();
        }
    }

    /// How the attempt before this one would have locked the record.
    pub fn recommended(&self, record: &RecordRef<'s, M, C>) -> Option<Mode> {
        if self.retrospective.is_empty() {
            return None;
        }
        let name = record.name();
        let found = self.retrospective.binary_search_by_key(&name, |(name, ..)| *name);
        found.ok().map(|at| self.retrospective[at].2)
    }

    /// Whether the record is locked.
    pub fn holds(&self, record: &RecordRef<'s, M, C>) -> bool {
        self.held.binary_search_by_key(&record.name(), |lock| lock.name).is_ok()
    }

    /// What the next attempt had better lock, in any order and repeated at will.
    pub fn recommend(&mut self, locks: impl Iterator<Item = (RecordRef<'s, M, C>, Mode)>) {
        self.retrospective.clear();
        self.retrospective.extend(locks.map(|(record, mode)| (record.name(), record, mode)));
        // The stronger of two first, as it stays.
        self.retrospective.sort_by_key(|(name, _, mode)| (*name, *mode == Mode::Shared));
        self.retrospective.dedup_by_key(|(name, ..)| *name);
    }

    /// Locks the record, if it is not locked as well already. With [`OutOfOrder::Try`] it may not be.
    pub fn lock(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
        mode: Mode,
        out_of_order: OutOfOrder,
    ) -> Result<(), Abort> {
        let name = record.name();
        let at = self.held.partition_point(|lock| lock.name < name);
        let own = self.held.get(at).filter(|lock| lock.name == name).map(|lock| lock.held.mode);
        if own.is_some_and(|own| own == Mode::Exclusive || mode == Mode::Shared) {
            return Ok(());
        }
        // A shared lock on the record itself is in the way as well; if it is all, it goes.
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
        let last = self.held.last().map(|lock| lock.name);
        let first = self.retrospective.partition_point(|(listed, ..)| Some(*listed) <= last);
        for listed in first..before.max(first) {
            let (_, record, mode) = self.retrospective[listed];
            self.wait_for(core, record, mode, self.held.len())?;
        }
        let at = self.held.partition_point(|lock| lock.name < name);
        self.wait_for(core, record, mode, at)
    }

    /// Locks the record for itself alone if nobody is in the way; aborts if somebody is. Who does not wait need not keep
    /// to an order.
    pub fn lock_at_once(
        &mut self,
        core: &M::Core,
        record: RecordRef<'s, M, C>,
    ) -> Result<(), Abort> {
        let name = record.name();
        let at = self.held.partition_point(|lock| lock.name < name);
        let own = self.held.get(at).filter(|lock| lock.name == name).map(|lock| lock.held.mode);
        match own {
            Some(Mode::Exclusive) => return Ok(()),
            Some(Mode::Shared) => self.release_at(core, at),
            None => {}
        }
        // Where many are refused they must not keep the latch from its holder.
        if self.claims.seems_taken(core, &record) {
            return Err(Abort::because(AbortReason::LockConflict));
        }
        let refused = |reason| match reason {
            AbortReason::Timeout => Abort::because(AbortReason::LockConflict),
            reason => Abort::because(reason),
        };
        self.acquire(core, record, Mode::Exclusive, at, 0).map_err(refused)
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
        let held = self.claims.acquire(core, &record, self.slot, mode, policy, called)?;
        self.held.insert(at, Lock { name: record.name(), record, held });
        Ok(())
    }

    fn release_at(&mut self, core: &M::Core, at: usize) {
        let lock = self.held.remove(at);
        self.claims.release(core, &lock.record, lock.held);
    }

    /// Gives back all locks from number `at` on.
    fn release_from(&mut self, core: &M::Core, at: usize) {
        for lock in self.held.drain(at..) {
            self.claims.release(core, &lock.record, lock.held);
        }
    }

    /// Gives back all locks.
    pub fn release(&mut self, core: &M::Core) {
        self.release_from(core, 0);
    }
}
