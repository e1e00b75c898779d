//! How a session that runs takes a lock that was granted to one that still sleeps.
//!
//! A lock that is granted to a sleeping session stands still until that session runs. On a host with other busy programs this
//! takes milliseconds, and every transaction that needs the lock waits as long. So a grant to a waiter is an *offer*
//! where sessions can sleep ([`Core::overtakes`]). The session accepts the offer when it runs. Until then a requester
//! may take the lock back and have it first, if the session seems to sleep ([`Core::sleeps`]).
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
//! The state is in the mode of the request. A requester takes an offer back by a compare-and-swap, and the session accepts it by a
//! compare-and-swap, so exactly one of them succeeds. All other changes are made under the record's latch. An overtaken
//! request stands among the waiters again: first, or where its name belongs. Its session is awake, or has been woken.
//! It waits for a moment for the next offer. If none comes, it meets those ahead of it again, as it did when it queued: it
//! wounds younger owners, or publishes whom it waits for. Then it waits as before.
//!
//! **Why there is still no circle of waits that nobody breaks.** An overtaker conflicts with each owner whose offer it takes
//! back, so each of these will meet it. Other waiters will not, as they sleep on. They need not:
//!
//! - Waiters by name (WOUND_WAIT, PLOR): an offer is taken back only if its request is older than all waiters. If the
//!   overtaker must be wounded for the sake of any waiter, it is younger than that waiter, so it is younger than the overtaken one, which wounds it.
//! - Waiters by arrival (DL_DETECT): every waiter has an edge to each one ahead of it. So a circle through a waiter and the
//!   overtaker is a circle through the overtaken request too, whose session searches once it has met the overtaker.
//! - Locks in the order of records (MOCC): nobody ever waits in a circle.
//!
//! A request that has been overtaken may leave before it is granted. Then the first waiter behind it takes over its part: it is
//! woken and meets those ahead (`Claims::has_withdrawn`).
//!
//! **Why nobody starves.** A request is overtaken at most `MOST_OFTEN` times; its next grant is final.

use super::{
    cancellable_queue::{Claims, Policy},
    lock_queue::{LockQueue, Request, Requests},
};
use crate::faults;
use machine::{Core, Machine};

/// In a request's mode: it owns the lock, and its session has not accepted yet.
const OFFERED: u64 = 2;
/// It waits, and its session has been told to look: it has been overtaken, or must meet whoever overtook one that has left.
const OVERTAKEN: u64 = 4;
/// How often it was told to look is counted above the flags.
const ONCE: u64 = 8;
/// How often a request can be overtaken. Someone who runs takes a lock every few microseconds, and a host may run others for
/// some ten milliseconds.
const MOST_OFTEN: u64 = 1 << 12;
const MOST_OFTEN_IN_MINIATURE: u64 = 3;
/// How long an overtaken session waits for the next offer before it meets those ahead: a few transactions' time.
const MOMENT_NS: u64 = 50_000;

/// Whether a wait that was overtaken `times` may be overtaken once more.
pub(super) fn may_be_overtaken<M: Machine>(times: u64) -> bool {
    times < if M::MINIATURE { MOST_OFTEN_IN_MINIATURE } else { MOST_OFTEN }
}

impl<M: Machine> Requests<M> {
    /// Grants the lock to a waiter. Whether its session has to be told; an overtaken one is awake, and looks.
    pub(super) fn offer(&self, core: &M::Core, request: &Request<M>) -> bool {
        if !core.overtakes() {
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

    /// Whether what was granted to the request is its session's from now on. False if it has been overtaken.
    pub(super) fn accepts(&self, core: &M::Core, request: u64) -> bool {
        if !core.overtakes() {
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

    /// Takes an offer back; false if it has been accepted.
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

    /// Whether an owner has an offer and seems to sleep. Under the latch.
    fn is_offered(&self, core: &M::Core, request: u64) -> bool {
        let request = self.at(request);
        let mode = core.load_relaxed(&request.line, &request.mode);
        mode & OFFERED != 0 || core.is_planted(faults::OVERTAKES_OWNERS)
    }

    /// Whether a waiter has been overtaken and has not met those ahead since. Under the latch.
    pub(super) fn is_overtaken(&self, core: &M::Core, request: u64) -> bool {
        let request = self.at(request);
        core.overtakes() && core.load_relaxed(&request.line, &request.mode) & OVERTAKEN != 0
    }
}

impl<M: Machine> Claims<M> {
    /// Takes the lock back from all its owners, if it is offered to them and they seem to sleep. Under the latch; the requester
    /// conflicts with all of them.
    pub(super) fn overtakes<P: Policy<M>>(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
    ) -> bool {
        if !core.overtakes() {
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
                // That one goes on, and of those that were overtaken some can go on beside it.
                self.grant(core, line, queue);
                return false;
            }
            requests.unlink(core, line, &queue.owners, owner);
            self.stand_again::<P>(core, line, queue, owner);
        }
    }

    /// Whether a request's session sleeps: as long as it waits for its fate, or as an overtaken one for the next offer.
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

    /// The request has been overtaken. Returns when it is offered the lock again, or when it has met those ahead and its wait
    /// has begun again.
    #[cold]
    pub(super) fn waits_again<P: Policy<M>>(
        &self,
        core: &M::Core,
        (line, queue): (&M::Line, &LockQueue),
        request: u64,
        policy: &mut P,
    ) {
        // Where nobody is met there is nothing to put off.
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

    /// Waits for a moment until an overtaken request is offered the lock again.
    fn is_offered_soon(&self, core: &M::Core, request: u64) -> bool {
        let request = self.requests.at(request);
        let ticks = u128::from(MOMENT_NS) * u128::from(core.ticks_per_second()) / 1_000_000_000;
        let deadline = core.now().saturating_add(ticks as u64);
        let overtaken = |mode| mode & OVERTAKEN != 0;
        core.wait_while_until(&request.line, &request.mode, deadline, overtaken).is_ok()
    }

    /// A request has left the waiters. If it was ever overtaken, those behind it have not met the overtaker: the first of
    /// them comes and does. Under the latch.
    pub(super) fn has_withdrawn(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        request: u64,
    ) {
        if !core.overtakes() || core.is_planted(faults::OVERTAKEN_LEAVES_UNSEEN) {
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
