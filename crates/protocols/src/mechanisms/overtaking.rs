//! Lets a running session take a lock that was granted to a session that still sleeps.
//!
//! A lock that is granted to a sleeping session is unused until that session runs. On a host with
//! other busy programs this takes milliseconds, and every transaction that needs the lock waits as
//! long. So where sessions can sleep ([`Core::overtakes`]) a grant to a waiter is an *offer*. The
//! waiter's session accepts the offer when it runs. Until then a requester can take the offer back
//! and acquire the lock first, if the session seems to sleep ([`Core::sleeps`]).
//!
//! ```text
//!            grant                accepted by its session
//! waiting  --------->  offered  ---------------------------->  owner
//!    ^                  |   ^
//!    | meets those      |   | grant
//!    | ahead            v   |
//!    +------------  overtaken
//! ```
//!
//! The state is in the mode of the request. The session accepts an offer by a compare-and-swap, and
//! a requester takes it back by a compare-and-swap, so exactly one of them succeeds. All other
//! changes are made under the record's latch.
//!
//! An overtaken request is among the waiters again. It is the first, or it is where its name
//! belongs. Its session is awake or has been woken, and waits for a moment for the next offer. If
//! none comes, the request meets the requests ahead of it again, as it did when it queued: the
//! session wounds younger owners, or publishes the sessions that it waits for. Then it waits as
//! before.
//!
//! **Why every deadlock cycle is still broken.** An overtaker conflicts with each owner whose offer
//! it takes back, so each of these owners meets it. The other waiters sleep on and do not meet it.
//! They need not:
//!
//! - Waiters by name (WOUND_WAIT, PLOR): offers are taken back only if the oldest of their requests is
//!   older than all waiters. If a waiter is older than the overtaker, this overtaken request is older
//!   still. So its session wounds the overtaker in place of that waiter.
//! - Waiters by arrival (DL_DETECT): every waiter has an edge to each request ahead of it. So a
//!   cycle through a waiter and the overtaker implies a cycle through the overtaken request. The
//!   overtaken session searches for cycles once it has met the overtaker.
//! - Locks in the order of records (MOCC): waits never form a cycle.
//!
//! An overtaken request can leave before it is granted. Then the first waiter behind it takes over
//! its duty: its session is woken and meets the requests ahead (`Claims::has_withdrawn`).
//!
//! **Why no request starves.** A request is overtaken at most `MOST_OFTEN` times. Its next grant is
//! final.

use super::{
    cancellable_queue::{Claims, Policy},
    lock_queue::{LockQueue, Request, Requests},
};
use crate::faults;
use machine::{Core, Machine};

/// Set in a request's mode if the request owns the lock and its session has not accepted the offer
/// yet.
const OFFERED: u64 = 2;
/// Set in a request's mode if it waits and its session was told to meet the requests ahead. Either
/// the request was overtaken, or a request ahead of it that was once overtaken has left the queue.
const OVERTAKEN: u64 = 4;
/// Unit of the counter above the flags: how often the session was told.
const ONCE: u64 = 8;
/// Maximum number of times that a request is overtaken. A running session takes a lock every few
/// microseconds, and a host can run other programs for some ten milliseconds.
const MOST_OFTEN: u64 = 1 << 12;
/// The same on machines that keep structures small (`Machine::MINIATURE`), so that short runs reach the limit.
const MOST_OFTEN_IN_MINIATURE: u64 = 3;
/// Duration of an overtaken session's wait for the next offer, in nanoseconds, before it meets the
/// requests ahead. It is the time of a few transactions.
const MOMENT_NS: u64 = 50_000;

/// Returns true if a wait that was overtaken `times` times can be overtaken once more.
pub(super) fn may_be_overtaken<M: Machine>(times: u64) -> bool {
    times < if M::MINIATURE { MOST_OFTEN_IN_MINIATURE } else { MOST_OFTEN }
}

impl<M: Machine> Requests<M> {
    /// Returns true if grants are offers.
    #[inline(always)]
    fn overtakes(&self, core: &M::Core) -> bool {
        core.overtakes() && !self.grants_for_good
    }

    /// Grants the lock to a waiter, as an offer where sessions can sleep. Returns true if the
    /// caller must tell the waiter's session. An overtaken request's session is awake and waits on
    /// the mode, which this function changes.
    pub(super) fn offer(&self, core: &M::Core, request: &Request<M>) -> bool {
        if !self.overtakes(core) {
            return true;
        }
        let mode = core.load_relaxed(&request.line, &request.mode);
        let offered = if may_be_overtaken::<M>(mode / ONCE) { OFFERED } else { 0 };
        core.store(&request.line, &request.mode, mode & !OVERTAKEN | offered);
        let waits = mode & OVERTAKEN == 0;
        if !waits {
            core.wake(&request.line, &request.mode);
        }
        waits
    }

    /// Accepts a granted lock. Returns false if the request has been overtaken, so it waits again.
    pub(super) fn accepts(&self, core: &M::Core, request: u64) -> bool {
        if !self.overtakes(core) {
            return true;
        }
        let request = self.at(request);
        let mode = core.load(&request.line, &request.mode);
        match mode & (OFFERED | OVERTAKEN) {
            0 => true,
            OFFERED => core.cas(&request.line, &request.mode, mode, mode & !OFFERED).is_ok(),
            _ => false,
        }
    }

    /// Takes an offer back. Returns false if the session has accepted it.
    fn take_back(&self, core: &M::Core, request: u64) -> bool {
        let request = self.at(request);
        let mode = core.load_relaxed(&request.line, &request.mode);
        let overtaken = (mode & !OFFERED | OVERTAKEN) + ONCE;
        if core.is_planted(faults::OVERTAKES_OWNERS) {
            core.store(&request.line, &request.mode, overtaken);
            return true;
        }
        mode & OFFERED != 0 && core.cas(&request.line, &request.mode, mode, overtaken).is_ok()
    }

    /// Returns true if the lock is offered to this owner and not accepted yet. Called under the
    /// latch.
    fn is_offered(&self, core: &M::Core, request: u64) -> bool {
        let request = self.at(request);
        let mode = core.load_relaxed(&request.line, &request.mode);
        mode & OFFERED != 0 || core.is_planted(faults::OVERTAKES_OWNERS)
    }

    /// Returns true if a waiter has been overtaken and has not met the requests ahead since. Called
    /// under the latch.
    pub(super) fn is_overtaken(&self, core: &M::Core, request: u64) -> bool {
        let request = self.at(request);
        self.overtakes(core) && core.load_relaxed(&request.line, &request.mode) & OVERTAKEN != 0
    }
}

impl<M: Machine> Claims<M> {
    /// Takes the lock back from all its owners, if it is offered to each of them and they seem to
    /// sleep. Returns true if the lock is free now. Called under the latch, by a requester that
    /// conflicts with all owners.
    pub(super) fn overtakes<P: Policy<M>>(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
    ) -> bool {
        if !self.requests.overtakes(core) {
            return false;
        }
        let requests = &self.requests;
        let first = core.load_relaxed(line, &queue.waiters);
        let mut oldest = u64::MAX;
        let mut at = core.load_relaxed(line, &queue.owners);
        while at != 0 {
            if !requests.is_offered(core, at) || !self.seems_asleep(core, at) {
                return false;
            }
            oldest = oldest.min(requests.timestamp_of(core, at));
            at = requests.next_of(core, at);
        }
        if P::BY_NAME && first != 0 && requests.timestamp_of(core, first) < oldest {
            return false;
        }
        loop {
            let owner = core.load_relaxed(line, &queue.owners);
            if owner == 0 {
                return true;
            }
            if !requests.take_back(core, owner) {
                // This owner has accepted, so it keeps the lock. Some of the overtaken requests can
                // share it again.
                self.grant(core, line, queue);
                return false;
            }
            requests.unlink(core, line, &queue.owners, owner);
            self.stand_again::<P>(core, line, queue, owner);
        }
    }

    /// Returns true if the request's session sleeps. It sleeps on its fate, or on the request's
    /// mode if the request was overtaken.
    fn seems_asleep(&self, core: &M::Core, request: u64) -> bool {
        let request = self.requests.at(request);
        let session = self.session_at(core.load_relaxed(&request.line, &request.session));
        core.sleeps(&session.line, &session.fate) || core.sleeps(&request.line, &request.mode)
    }

    /// Puts an overtaken request among the waiters: first, or where its name belongs.
    fn stand_again<P: Policy<M>>(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        request: u64,
    ) {
        let requests = &self.requests;
        if requests.in_order_of_arrival {
            return requests.prepend(core, line, &queue.waiters, request);
        }
        let name = requests.timestamp_of(core, request);
        let (mut before, mut at) = (0, core.load_relaxed(line, &queue.waiters));
        while P::BY_NAME && at != 0 && requests.timestamp_of(core, at) < name {
            (before, at) = (at, requests.next_of(core, at));
        }
        requests.link_between(core, line, &queue.waiters, (before, at), request);
    }

    /// Waits again after the request was overtaken. Returns when the lock is offered to it again,
    /// or when it has met the requests ahead and its wait has begun again.
    #[cold]
    pub(super) fn waits_again<P: Policy<M>>(
        &self,
        core: &M::Core,
        (line, queue): (&M::Line, &LockQueue),
        request: u64,
        policy: &mut P,
    ) {
        // In order of arrival a request meets no other requests, so there is nothing to delay.
        let meets = !self.requests.in_order_of_arrival;
        if meets && self.is_offered_soon(core, request) {
            return;
        }
        self.requests.latch(core, line, queue);
        if self.requests.is_overtaken(core, request) {
            let own = self.requests.at(request);
            let mode = core.load_relaxed(&own.line, &own.mode);
            core.store_relaxed(&own.line, &own.mode, mode & !OVERTAKEN);
            if meets && !core.is_planted(faults::OVERTAKEN_MEETS_NOBODY) {
                policy.forgets();
                self.meet_those_ahead(core, line, queue, request, policy);
            }
            self.begins_wait(core, policy);
        }
        self.requests.unlatch(core, line, queue);
    }

    /// Waits for a moment until an overtaken request is offered the lock again. Returns false if it
    /// is not.
    fn is_offered_soon(&self, core: &M::Core, request: u64) -> bool {
        let request = self.requests.at(request);
        let ticks = u128::from(MOMENT_NS) * u128::from(core.ticks_per_second()) / 1_000_000_000;
        let deadline = core.now().saturating_add(ticks as u64);
        let overtaken = |mode| mode & OVERTAKEN != 0;
        core.wait_while_until(&request.line, &request.mode, deadline, overtaken).is_ok()
    }

    /// Called after a request has left the waiters, under the latch. If it was ever overtaken, the
    /// waiters behind it have not met the overtaker. So the first of them is told to meet the
    /// requests ahead.
    pub(super) fn has_withdrawn(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        request: u64,
    ) {
        if !self.requests.overtakes(core) || core.is_planted(faults::OVERTAKEN_LEAVES_UNSEEN) {
            return;
        }
        let own = self.requests.at(request);
        let first = core.load_relaxed(line, &queue.waiters);
        if first == 0 || core.load_relaxed(&own.line, &own.mode) < ONCE {
            return;
        }
        let first = self.requests.at(first);
        let mode = core.load_relaxed(&first.line, &first.mode);
        core.store(&first.line, &first.mode, (mode | OVERTAKEN) + ONCE);
        if mode & OVERTAKEN == 0 {
            self.tell(core, first);
        }
    }
}
