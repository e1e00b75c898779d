//! A record's lock with a queue from which a waiter can be called away.
//!
//! The lists are those of [`super::lock_queue`]. What differs: who waits, waits for a word of its session, the
//! *fate* of its attempt, which both a grant and a call change. A call (a wound, a choice as victim) is a
//! compare-and-swap on that word, so it meets the attempt that it is meant for, or nobody. In what
//! order waiters stand, and what happens to whom a requester meets, is the protocol's [`Policy`].
//!
//! Natively a lock that was granted to a sleeping session can be taken back by one that runs: [`super::overtaking`].

use super::{
    lock_queue::{Held, LockQueue, Queued, Request, Requests},
    queue_latch::LatchNodes,
    two_phase_locking::Mode,
};
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;
use storage::RecordRef;
use txn::AbortReason;

/// Set in a fate while its session waits for a lock.
pub const WAITING: u64 = 1;
/// Set in a fate when its attempt must abort.
pub const CALLED: u64 = 2;
/// Set in a fate once its attempt commits and cannot be called any more.
pub const COMMITTING: u64 = 4;
/// The number of the attempt stands above the flags.
pub const ATTEMPT_SHIFT: u32 = 3;

/// What others may know of a session.
#[repr(C, align(64))]
pub struct Session<M: Machine> {
    /// Its line.
    pub line: M::Line,
    /// The number of the running attempt, and its flags. Waited on.
    pub fate: Word,
    /// For the protocol: what is published about a wait.
    pub published: Word,
    /// For the protocol: locks that the waiting attempt holds.
    pub locks: Word,
}

// SAFETY: a line and words.
unsafe impl<M: Machine> Zeroed for Session<M> {}

impl<M: Machine> Session<M> {
    /// Calls the running attempt unless it commits already. To be used while the attempt cannot end:
    /// under the latch of a record whose queue it stands in.
    pub fn call(&self, core: &M::Core) {
        let mut seen = core.load(&self.line, &self.fate);
        while seen & (CALLED | COMMITTING) == 0 {
            match core.cas(&self.line, &self.fate, seen, seen | CALLED) {
                Ok(_) => return core.wake(&self.line, &self.fate),
                Err(now) => seen = now,
            }
        }
    }

    /// Calls attempt number `attempt` if it is waiting. It may have ended long since.
    pub fn call_waiting(&self, core: &M::Core, attempt: u64) {
        let waiting = attempt << ATTEMPT_SHIFT | WAITING;
        if core.load(&self.line, &self.fate) == waiting {
            // Fails when the attempt has just been granted its lock, or was called by another.
            let _ = core.cas(&self.line, &self.fate, waiting, waiting | CALLED);
            core.wake(&self.line, &self.fate);
        }
    }

    /// It need not wait any more.
    pub(super) fn granted(&self, core: &M::Core) {
        core.fetch_add(&self.line, &self.fate, WAITING.wrapping_neg());
        core.wake(&self.line, &self.fate);
    }
}

/// The sessions of a database, by number.
pub struct Sessions<M: Machine> {
    arena: Arc<Arena>,
    first: u64,
    count: usize,
    /// Where each session's first requests are: a session that comes when memory is exhausted can lock.
    requests: u64,
    latches: LatchNodes,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> Sessions<M> {
    /// Places `sessions` of them.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Sessions<M>, OutOfMemory> {
        let count = sessions.max(1);
        let bytes = (size_of::<Session<M>>() * count) as u64;
        let first = arena.allocate(bytes, 64, Place::Any)?;
        let latches = LatchNodes::new::<M>(arena, sessions)?;
        let bytes = Requests::<M>::CHUNK_BYTES * count as u64;
        let requests = arena.allocate(bytes, 64, Place::Any)?;
        let arena = arena.clone();
        Ok(Sessions { arena, first, count, requests, latches, machine: PhantomData })
    }

    /// Asked for when a session is made and when one waits: the check costs nothing where it would matter.
    fn offset(&self, slot: usize) -> u64 {
        assert!(slot < self.count, "session {slot} of {}", self.count);
        self.first + (slot * size_of::<Session<M>>()) as u64
    }

    /// Session number `slot`.
    #[inline(always)]
    pub fn at(&self, slot: usize) -> &Session<M> {
        // SAFETY: `offset` is that of one of those that `new` has placed.
        unsafe { self.arena.at::<Session<M>>(self.offset(slot)) }
    }
}

/// How a protocol waits.
pub trait Policy<M: Machine> {
    /// Waiters stand by their names, smallest first; otherwise as they came, upgrades in front.
    const BY_NAME: bool;

    /// Whether a requester meets also those ahead of it that it does not conflict with: a reader ahead may
    /// still become a writer, and whoever leaves from between the two does not come back to say so.
    const MEETS_ALL: bool;

    /// Why the requester does not even queue, if it may not.
    fn refuses(&self) -> Option<AbortReason> {
        None
    }

    /// The request named `name` of session `other` owns the lock or waits for it ahead. Under the
    /// record's latch.
    fn meets(&mut self, core: &M::Core, other: &Session<M>, name: u64);

    /// All that were met are forgotten: those ahead are going to be met once more, as others have come between
    /// ([`super::overtaking`]).
    fn forgets(&mut self) {}

    /// All have been met; the wait begins. Under the record's latch.
    fn waits(&mut self, core: &M::Core) {
        let _ = core;
    }

    /// Waits until the fate of `session` says that the lock is granted or that the attempt is called,
    /// or gives up by itself.
    fn until_told(&mut self, core: &M::Core, session: &Session<M>) -> Result<(), AbortReason>;
}

/// One session's locks.
pub struct Claims<M: Machine> {
    pub(super) requests: Requests<M>,
    arena: Arc<Arena>,
    session: u64,
    attempt: u64,
}

impl<M: Machine> Claims<M> {
    /// Those of session `slot`.
    pub fn new(sessions: &Sessions<M>, slot: usize) -> Claims<M> {
        let arena = sessions.arena.clone();
        let session = sessions.offset(slot);
        let mut requests = Requests::new(&arena, sessions.latches.latcher(slot));
        requests.supply(sessions.requests + slot as u64 * Requests::<M>::CHUNK_BYTES);
        Claims { requests, arena, session, attempt: 0 }
    }

    /// The same, of a protocol whose waiters stand in the order in which they came, meet nobody and upgrade nothing: to
    /// queue takes the same time however many wait.
    pub fn in_order_of_arrival(sessions: &Sessions<M>, slot: usize) -> Claims<M> {
        let mut claims = Claims::new(sessions, slot);
        claims.requests.in_order_of_arrival = true;
        claims
    }

    /// What others may know of the session.
    #[inline(always)]
    pub(super) fn session(&self) -> &Session<M> {
        session_at(&self.arena, self.session)
    }

    /// Where that is.
    #[inline(always)]
    pub(super) fn session_offset(&self) -> u64 {
        self.session
    }

    /// The session at an offset that [`Claims::session_offset`] has given.
    #[inline(always)]
    pub(super) fn session_at(&self, offset: u64) -> &Session<M> {
        session_at(&self.arena, offset)
    }

    /// The number of the running attempt.
    #[inline(always)]
    pub fn attempt(&self) -> u64 {
        self.attempt
    }

    /// An attempt begins. No other session can reach this one: it stands in no queue.
    #[inline]
    pub fn begin(&mut self, core: &M::Core) {
        self.attempt += 1;
        let session = self.session();
        core.store(&session.line, &session.fate, self.attempt << ATTEMPT_SHIFT);
    }

    /// Whether the running attempt has been called.
    #[inline]
    pub fn is_called(&self, core: &M::Core) -> bool {
        let session = self.session();
        core.load(&session.line, &session.fate) & CALLED != 0
    }

    /// From here on the attempt cannot be called; false if it has been.
    #[inline]
    pub fn begin_commit(&self, core: &M::Core) -> bool {
        let session = self.session();
        let running = self.attempt << ATTEMPT_SHIFT;
        core.cas(&session.line, &session.fate, running, running | COMMITTING).is_ok()
    }

    /// Takes the lock of `record` in the name of `name`, waiting as `policy` says; `called` is why the
    /// attempt aborts if it is called away.
    pub fn acquire<P: Policy<M>, C: Queued>(
        &mut self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        name: u64,
        mode: Mode,
        policy: &mut P,
        called: AbortReason,
    ) -> Result<Held, AbortReason> {
        let (line, queue) = (record.line(), record.cc().queue());
        let request = self.take(core, name, mode)?;
        self.requests.latch(core, line, queue);
        let owner = core.load_relaxed(line, &queue.owners);
        let conflict =
            owner != 0 && (mode == Mode::Exclusive || self.requests.is_exclusive(core, owner));
        let free = match conflict {
            true => self.overtakes::<P>(core, line, queue),
            false => core.load_relaxed(line, &queue.waiters) == 0,
        };
        if free {
            self.requests.link(core, line, &queue.owners, request);
            self.requests.unlatch(core, line, queue);
            return Ok(Held { request, mode });
        }
        match self.wait(core, record, request, policy, called) {
            Ok(()) => Ok(Held { request, mode }),
            Err((reason, granted)) => {
                if granted {
                    self.release(core, record, Held { request, mode });
                } else {
                    self.requests.free.push(request);
                }
                Err(reason)
            }
        }
    }

    /// Makes a shared lock exclusive, in the same way. On failure the lock is still held.
    pub fn upgrade<P: Policy<M>, C: Queued>(
        &mut self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        name: u64,
        held: &mut Held,
        policy: &mut P,
        called: AbortReason,
    ) -> Result<(), AbortReason> {
        let (line, queue) = (record.line(), record.cc().queue());
        let request = self.take(core, name, Mode::Exclusive)?;
        self.requests.latch(core, line, queue);
        let alone = core.load_relaxed(line, &queue.owners) == held.request
            && self.requests.next_of(core, held.request) == 0;
        let outcome = if alone {
            self.requests.make_exclusive(core, held.request);
            self.requests.unlatch(core, line, queue);
            Ok(())
        } else {
            let upgrade = self.requests.at(request);
            core.store_relaxed(&upgrade.line, &upgrade.upgrades, held.request);
            self.wait(core, record, request, policy, called)
        };
        self.requests.free.push(request);
        if matches!(outcome, Ok(()) | Err((_, true))) {
            held.mode = Mode::Exclusive;
        }
        outcome.map_err(|(reason, _)| reason)
    }

    /// Gives the lock back and grants it to whoever is next.
    pub fn release<C: Queued>(&mut self, core: &M::Core, record: &RecordRef<'_, M, C>, held: Held) {
        self.release_after(core, record, held, |_| ());
    }

    /// The same; under the record's latch `first` comes first.
    pub(super) fn release_after<C: Queued>(
        &mut self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        held: Held,
        first: impl FnOnce(&Claims<M>),
    ) {
        let (line, queue) = (record.line(), record.cc().queue());
        self.requests.latch(core, line, queue);
        first(self);
        self.requests.unlink(core, line, &queue.owners, held.request);
        self.grant(core, line, queue);
        self.requests.unlatch(core, line, queue);
        self.requests.free.push(held.request);
    }

    /// Latches a record's lock, for others who keep words beside it.
    #[inline(always)]
    pub(super) fn latch(&self, core: &M::Core, line: &M::Line, queue: &LockQueue) {
        self.requests.latch(core, line, queue);
    }

    /// Gives the latch back.
    #[inline(always)]
    pub(super) fn unlatch(&self, core: &M::Core, line: &M::Line, queue: &LockQueue) {
        self.requests.unlatch(core, line, queue);
    }

    /// Who has the lock, which somebody has, and in which name. Under the latch.
    pub(super) fn owner(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
    ) -> (&Session<M>, u64) {
        let owner = core.load_relaxed(line, &queue.owners);
        let (request, name) = (self.requests.at(owner), self.requests.timestamp_of(core, owner));
        (self.session_at(core.load_relaxed(&request.line, &request.session)), name)
    }

    /// Whether a request that is to be exclusive would have to wait, as a glance without the latch has it.
    #[inline]
    pub fn seems_taken<C: Queued>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) -> bool {
        let (line, queue) = (record.line(), record.cc().queue());
        core.load_relaxed(line, &queue.owners) != 0 || core.load_relaxed(line, &queue.waiters) != 0
    }

    fn take(&mut self, core: &M::Core, name: u64, mode: Mode) -> Result<u64, AbortReason> {
        let taken = self.requests.take(core, name, mode);
        let offset = taken.map_err(|_| AbortReason::OutOfMemory)?;
        let request = self.requests.at(offset);
        core.store_relaxed(&request.line, &request.session, self.session);
        Ok(offset)
    }

    /// Grants the lock to those in front, and tells them.
    pub(super) fn grant(&self, core: &M::Core, line: &M::Line, queue: &LockQueue) {
        self.requests.grant(core, line, queue, |request| {
            if self.requests.offer(core, request) {
                self.tell(core, request);
            }
        });
    }

    /// The session of a request need not wait any more.
    pub(super) fn tell(&self, core: &M::Core, request: &Request<M>) {
        let session = core.load_relaxed(&request.line, &request.session);
        session_at::<M>(&self.arena, session).granted(core);
    }

    /// Queues and waits. Called with the latch held, returns without it. An error says whether the lock
    /// was granted nevertheless.
    fn wait<P: Policy<M>, C: Queued>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        request: u64,
        policy: &mut P,
        called: AbortReason,
    ) -> Result<(), (AbortReason, bool)> {
        let (line, queue) = (record.line(), record.cc().queue());
        if let Some(reason) = policy.refuses() {
            self.requests.unlatch(core, line, queue);
            return Err((reason, false));
        }
        self.enqueue(core, line, queue, request, policy);
        self.begins_wait(core, policy);
        if P::BY_NAME {
            // Its place may be ahead of those that wait, and its mode that of the owners.
            self.grant(core, line, queue);
        }
        self.requests.unlatch(core, line, queue);
        loop {
            if let Err(reason) = self.until_told(core, policy, called) {
                return Err((reason, !self.withdraws(core, line, queue, request)));
            }
            if self.requests.accepts(core, request) {
                return Ok(());
            }
            self.waits_again(core, (line, queue), request, policy);
        }
    }

    /// The wait begins, or goes on. Under the latch.
    pub(super) fn begins_wait<P: Policy<M>>(&self, core: &M::Core, policy: &mut P) {
        let session = self.session();
        policy.waits(core);
        core.fetch_add(&session.line, &session.fate, WAITING);
    }

    /// Leaves the waiters, unless it owns the lock by now. Whether it has left.
    #[cold]
    fn withdraws(&self, core: &M::Core, line: &M::Line, queue: &LockQueue, request: u64) -> bool {
        let session = self.session();
        self.requests.latch(core, line, queue);
        // Only who holds the latch grants, so this is final.
        let waits = core.load(&session.line, &session.fate) & WAITING != 0;
        let leaves = waits || self.requests.is_overtaken(core, request);
        if leaves {
            self.requests.unlink_waiter(core, line, queue, request);
            if waits {
                session.granted(core);
            }
            self.grant(core, line, queue);
            self.has_withdrawn(core, line, queue, request);
        } else {
            // Nobody overtakes it until it gives back what it owns.
            self.requests.accepts(core, request);
        }
        self.requests.unlatch(core, line, queue);
        leaves
    }

    /// Waits as the policy does; an error if the attempt is called.
    fn until_told<P: Policy<M>>(
        &self,
        core: &M::Core,
        policy: &mut P,
        called: AbortReason,
    ) -> Result<(), AbortReason> {
        let session = self.session();
        policy.until_told(core, session)?;
        match core.load(&session.line, &session.fate) & CALLED {
            0 => Ok(()),
            _ => Err(called),
        }
    }

    /// Gives the latch back and waits until it is granted what it has begun to wait for. If it is not,
    /// `withdraw` takes the wait back, under the latch. Returns as [`Claims::wait`] does.
    pub(super) fn until_granted<P: Policy<M>>(
        &self,
        core: &M::Core,
        (line, queue): (&M::Line, &LockQueue),
        policy: &mut P,
        called: AbortReason,
        withdraw: impl FnOnce(),
    ) -> Result<(), (AbortReason, bool)> {
        let session = self.session();
        self.requests.unlatch(core, line, queue);
        let Err(reason) = self.until_told(core, policy, called) else { return Ok(()) };
        self.requests.latch(core, line, queue);
        // Only who holds the latch grants, so this is final.
        let granted = core.load(&session.line, &session.fate) & WAITING == 0;
        if !granted {
            withdraw();
        }
        self.requests.unlatch(core, line, queue);
        Err((reason, granted))
    }

    /// Finds the request's place, and meets all that it conflicts with on the way.
    fn enqueue<P: Policy<M>>(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        request: u64,
        policy: &mut P,
    ) {
        let requests = &self.requests;
        if requests.in_order_of_arrival {
            return requests.append(core, line, &queue.waiters, request);
        }
        let (before, after) = self.meet_those_ahead(core, line, queue, request, policy);
        requests.link_between(core, line, &queue.waiters, (before, after), request);
    }

    /// Meets all that a request conflicts with, owners and waiters ahead; returns between which waiters it is to stand.
    pub(super) fn meet_those_ahead<P: Policy<M>>(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        request: u64,
        policy: &mut P,
    ) -> (u64, u64) {
        let requests = &self.requests;
        let own = requests.at(request);
        let name = requests.timestamp_of(core, request);
        let exclusive = requests.is_exclusive(core, request);
        let upgrades = core.load_relaxed(&own.line, &own.upgrades);
        let all = P::MEETS_ALL && !core.is_planted(faults::DL_DETECT_WITHOUT_READERS_AHEAD);
        let mut meet = |other: u64| {
            let met = all || exclusive || requests.is_exclusive(core, other);
            if other != upgrades && met {
                let (other, name) = (requests.at(other), requests.timestamp_of(core, other));
                let session = core.load_relaxed(&other.line, &other.session);
                policy.meets(core, session_at(&self.arena, session), name);
            }
        };
        let mut at = core.load_relaxed(line, &queue.owners);
        while at != 0 {
            meet(at);
            at = requests.next_of(core, at);
        }
        let mut before = 0;
        at = core.load_relaxed(line, &queue.waiters);
        while at != 0 && at != request {
            let ahead = match P::BY_NAME {
                true => requests.timestamp_of(core, at) < name,
                false => upgrades == 0,
            };
            if !ahead {
                break;
            }
            // An upgrade that waits has been met among the owners.
            if P::BY_NAME
                || core.load_relaxed(&requests.at(at).line, &requests.at(at).upgrades) == 0
            {
                meet(at);
            }
            (before, at) = (at, requests.next_of(core, at));
        }
        (before, at)
    }
}

#[inline(always)]
fn session_at<M: Machine>(arena: &Arena, offset: u64) -> &Session<M> {
    // SAFETY: offsets of sessions come from `Sessions::offset` alone.
    unsafe { arena.at::<Session<M>>(offset) }
}
