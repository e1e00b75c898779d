//! A record's lock with a queue whose waiters can be *called away*, that is, told to abort.
//!
//! The lock and its two lists, owners and waiters, are those of [`super::lock_queue`]. The difference is the word on
//! which a waiter waits. Here it is a word of its session, the *fate* of its attempt:
//!
//! ```text
//! bit 63 ... 3        2            1        0
//! | attempt number | COMMITTING | CALLED | WAITING |
//! ```
//!
//! - `begin` stores a new attempt number without flags.
//! - A wait for a lock adds `WAITING`. A grant subtracts it, and so does a waiter that withdraws.
//! - A call sets `CALLED`, unless the attempt commits already. A wounded transaction and a deadlock victim are called.
//! - `begin_commit` sets `COMMITTING`, unless the attempt has been called.
//!
//! **Invariants.**
//!
//! - `CALLED` and `COMMITTING` are never set together. Both are set by compare-and-swap on the same word. So a called
//!   attempt does not commit, and a committing attempt is not called.
//! - `WAITING` changes only under the latch of the record whose lock is awaited. So a waiter that finds `WAITING` set
//!   under that latch has not been granted the lock, and can withdraw.
//! - A call takes effect on the attempt that it is meant for, or not at all. [`SharedSession::call`] is used only while
//!   that attempt cannot end. [`SharedSession::call_waiting`] compares the attempt's number.
//!
//! The protocol's [`Policy`] decides the order of the waiters, and what a requester does to the requests that it meets.
//!
//! On the native machine a running session can take back a lock that was granted to a sleeping one:
//! [`super::overtaking`].

use super::{
    lock_queue::{Held, LockQueue, Queued, Request, Requests},
    queue_latch::{LatchNodes, Latcher},
    two_phase_locking::Mode,
};
use crate::{LatchKind, faults};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;
use storage::RecordRef;
use txn::AbortReason;

/// Set in a fate while its session waits for a lock.
pub const WAITING: u64 = 1;
/// Set in a fate when its attempt must abort.
pub const CALLED: u64 = 2;
/// Set in a fate once its attempt commits and cannot be called any more.
pub const COMMITTING: u64 = 4;
/// Shift of the attempt's number, which stands above the flags.
pub const ATTEMPT_SHIFT: u32 = 3;

/// Part of a session's state that other sessions can reach.
#[repr(C, align(64))]
pub struct SharedSession<M: Machine> {
    /// Cache line of these words.
    pub line: M::Line,
    /// Number of the running attempt, and its flags. The session waits on this word.
    pub fate: Word,
    /// For the protocol: state that is published about a wait.
    pub published: Word,
    /// For the protocol: number of locks that the waiting attempt holds.
    pub locks: Word,
}

// SAFETY: `SharedSession` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for SharedSession<M> {}

impl<M: Machine> SharedSession<M> {
    /// Calls the running attempt, unless it commits already. The caller must make sure that the attempt cannot end
    /// meanwhile: it holds the latch of a record in whose queue the attempt stands.
    pub fn call(&self, core: &M::Core) {
        let mut seen = core.load(&self.line, &self.fate);
        while seen & (CALLED | COMMITTING) == 0 {
            match core.cas(&self.line, &self.fate, seen, seen | CALLED) {
                Ok(_) => return core.wake(&self.line, &self.fate),
                Err(now) => seen = now,
            }
        }
    }

    /// Calls attempt number `attempt` if it is waiting. The attempt can have ended long ago.
    pub fn call_waiting(&self, core: &M::Core, attempt: u64) {
        let waiting = attempt << ATTEMPT_SHIFT | WAITING;
        if core.load(&self.line, &self.fate) == waiting {
            // Fails if the attempt has just been granted its lock, or has been called by another session.
            let _ = core.cas(&self.line, &self.fate, waiting, waiting | CALLED);
            core.wake(&self.line, &self.fate);
        }
    }

    /// Ends the wait of the attempt: the lock is granted, or the wait is withdrawn. Call under the record's latch.
    pub(super) fn granted(&self, core: &M::Core) {
        core.fetch_add(&self.line, &self.fate, WAITING.wrapping_neg());
        core.wake(&self.line, &self.fate);
    }
}

/// The sessions of a database, by number.
pub struct SharedSessions<M: Machine> {
    /// The arena that holds the sessions and their requests.
    arena: Arc<Arena>,
    /// Offset of the first session. The others follow it.
    first: u64,
    /// Number of sessions.
    count: usize,
    /// Offset of the first chunk of requests. Each session has one chunk from the start, so a session that begins when
    /// memory is exhausted can still lock.
    requests: u64,
    /// Queue nodes for latches, one for each session.
    latches: LatchNodes,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> SharedSessions<M> {
    /// Places `sessions` sessions, and a chunk of requests for each.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<SharedSessions<M>, OutOfMemory> {
        SharedSessions::with_latches(arena, sessions, LatchKind::Usual)
    }

    /// As [`SharedSessions::new`], with latches of `kind`.
    pub fn with_latches(
        arena: &Arc<Arena>,
        sessions: usize,
        kind: LatchKind,
    ) -> Result<SharedSessions<M>, OutOfMemory> {
        let count = sessions.max(1);
        let first = arena.allocate_for_sessions(size_of::<SharedSession<M>>() as u64, count)?;
        let latches = LatchNodes::of_kind::<M>(arena, sessions, kind)?;
        let requests = arena.allocate_for_sessions(Requests::<M>::CHUNK_BYTES, count)?;
        let arena = arena.clone();
        Ok(SharedSessions { arena, first, count, requests, latches, machine: PhantomData })
    }

    /// Returns the offset of session number `session`. Called only when a session is made and when one waits, where the
    /// check of `session` costs nothing that matters.
    fn offset(&self, session: usize) -> u64 {
        assert!(session < self.count, "session {session} of {}", self.count);
        self.first + (session * size_of::<SharedSession<M>>()) as u64
    }

    /// Returns session number `session`.
    #[inline(always)]
    pub fn at(&self, session: usize) -> &SharedSession<M> {
        // SAFETY: `offset` has checked `session`, so the offset is that of a session that `new` has placed.
        unsafe { self.arena.at::<SharedSession<M>>(self.offset(session)) }
    }
}

/// A protocol's rules for waits.
pub trait Policy<M: Machine> {
    /// Set if waiters stand by their names, smallest first. Otherwise they stand in order of arrival, with upgrades in
    /// front.
    const BY_NAME: bool;

    /// Set if a requester also meets requests ahead with which it does not conflict. A reader ahead can still become a
    /// writer, and then the requester waits for it. A request between the two that leaves does not tell the requester.
    const MEETS_ALL: bool;

    /// Returns why the requester must not queue, if it must not.
    fn refuses(&self) -> Option<AbortReason> {
        None
    }

    /// Called for each request ahead that the requester meets: the request named `name` of session `other` owns the
    /// lock or waits for it. Called under the record's latch.
    fn meets(&mut self, core: &M::Core, other: &SharedSession<M>, name: u64);

    /// Forgets all requests that were met. Those ahead are going to be met again, because other requests have come
    /// between ([`super::overtaking`]).
    fn forgets(&mut self) {}

    /// Called when all requests ahead have been met and the wait begins. Called under the record's latch.
    fn waits(&mut self, core: &M::Core) {
        let _ = core;
    }

    /// Waits until the fate of `session` says that the lock is granted or that the attempt is called. Returns an error
    /// if the policy itself gives up the wait.
    fn until_told(&mut self, core: &M::Core, session: &SharedSession<M>)
    -> Result<(), AbortReason>;
}

/// Locks and requests of one session.
pub struct Claims<M: Machine> {
    /// The session's requests, and its way to take latches.
    pub(super) requests: Requests<M>,
    arena: Arc<Arena>,
    /// Offset of the session in the arena.
    session: u64,
    /// Number of the running attempt. Grows by 1 with each attempt.
    attempt: u64,
}

impl<M: Machine> Claims<M> {
    /// Creates the claims of session number `session`.
    pub fn new(sessions: &SharedSessions<M>, session: usize) -> Claims<M> {
        let arena = sessions.arena.clone();
        let mut requests = Requests::new(&arena.near(session), sessions.latches.latcher(session));
        requests.supply(sessions.requests + session as u64 * Requests::<M>::CHUNK_BYTES);
        Claims { requests, arena, session: sessions.offset(session), attempt: 0 }
    }

    /// Creates the claims of session number `session` at one of several owners, each of whose locks one core alone touches
    /// ([`super::physical`]). All owners have the same `sessions`.
    pub fn of_owner(sessions: &SharedSessions<M>, session: usize) -> Claims<M> {
        let arena = sessions.arena.clone();
        let mut requests = Requests::new(&arena.near(session), Latcher::unneeded(&arena));
        requests.grants_for_good = true;
        Claims { requests, arena, session: sessions.offset(session), attempt: 0 }
    }

    /// Creates the claims of session number `session` for a protocol whose waiters stand in order of arrival, meet no other
    /// requests and never upgrade. A request then joins the queue in constant time, however many requests wait.
    pub fn in_order_of_arrival(sessions: &SharedSessions<M>, session: usize) -> Claims<M> {
        let mut claims = Claims::new(sessions, session);
        claims.requests.in_order_of_arrival = true;
        claims
    }

    /// Returns the part of the session that others can reach.
    #[inline(always)]
    pub(super) fn session(&self) -> &SharedSession<M> {
        session_at(&self.arena, self.session)
    }

    /// Returns the offset of the session.
    #[inline(always)]
    pub(super) fn session_offset(&self) -> u64 {
        self.session
    }

    /// Returns the session at an offset that [`Claims::session_offset`] has given.
    #[inline(always)]
    pub(super) fn session_at(&self, offset: u64) -> &SharedSession<M> {
        session_at(&self.arena, offset)
    }

    /// Returns the number of the running attempt.
    #[inline(always)]
    pub fn attempt(&self) -> u64 {
        self.attempt
    }

    /// Begins an attempt. No other session can reach this session meanwhile, because it stands in no queue.
    #[inline]
    pub fn begin(&mut self, core: &M::Core) {
        self.attempt += 1;
        let session = self.session();
        core.store(&session.line, &session.fate, self.attempt << ATTEMPT_SHIFT);
    }

    /// Begins attempt number `attempt`, as [`Claims::begin`] does. At several owners an attempt begins with the same number.
    pub fn begin_numbered(&mut self, core: &M::Core, attempt: u64) {
        self.attempt = attempt - 1;
        self.begin(core);
    }

    /// Returns whether the running attempt has been called.
    #[inline]
    pub fn is_called(&self, core: &M::Core) -> bool {
        let session = self.session();
        core.load(&session.line, &session.fate) & CALLED != 0
    }

    /// Makes sure that the attempt cannot be called from here on. Returns false if it has been called before.
    #[inline]
    pub fn begin_commit(&self, core: &M::Core) -> bool {
        let session = self.session();
        let running = self.attempt << ATTEMPT_SHIFT;
        core.cas(&session.line, &session.fate, running, running | COMMITTING).is_ok()
    }

    /// Acquires the lock of `record` with a request named `name`, and waits as `policy` says. `called` is the reason of
    /// the abort if the attempt is called away.
    pub fn acquire<P: Policy<M>, C: Queued>(
        &mut self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        name: u64,
        mode: Mode,
        policy: &mut P,
        called: AbortReason,
    ) -> Result<Held, AbortReason> {
        let (held, waits) = self.ask(core, record, name, mode, policy)?;
        if !waits {
            return Ok(held);
        }
        match self.outlast(core, record, held.request, policy, called) {
            Ok(()) => Ok(held),
            Err((reason, granted)) => {
                if granted {
                    self.release(core, record, held);
                } else {
                    self.requests.free.push(held.request);
                }
                Err(reason)
            }
        }
    }

    /// Requests the lock of `record` as [`Claims::acquire`] does, and does not wait. Returns true beside the request if it
    /// waits.
    pub(super) fn ask<P: Policy<M>, C: Queued>(
        &mut self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        name: u64,
        mode: Mode,
        policy: &mut P,
    ) -> Result<(Held, bool), AbortReason> {
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
            return Ok((Held { request, mode }, false));
        }
        let queued = self.queue_up(core, record, request, policy);
        queued.inspect_err(|_| self.requests.free.push(request))?;
        Ok((Held { request, mode }, true))
    }

    /// Upgrades a shared lock to an exclusive one, in the same way. If this fails, the lock is still held.
    pub fn upgrade<P: Policy<M>, C: Queued>(
        &mut self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        name: u64,
        held: &mut Held,
        policy: &mut P,
        called: AbortReason,
    ) -> Result<(), AbortReason> {
        let Some(request) = self.ask_upgrade(core, record, name, *held, policy)? else {
            held.mode = Mode::Exclusive;
            return Ok(());
        };
        let outcome = self.outlast(core, record, request, policy, called);
        self.requests.free.push(request);
        if matches!(outcome, Ok(()) | Err((_, true))) {
            held.mode = Mode::Exclusive;
        }
        outcome.map_err(|(reason, _)| reason)
    }

    /// Requests an upgrade as [`Claims::upgrade`] does, and does not wait. Returns the request that waits, if one does.
    pub(super) fn ask_upgrade<P: Policy<M>, C: Queued>(
        &mut self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        name: u64,
        held: Held,
        policy: &mut P,
    ) -> Result<Option<u64>, AbortReason> {
        let (line, queue) = (record.line(), record.cc().queue());
        let request = self.take(core, name, Mode::Exclusive)?;
        self.requests.latch(core, line, queue);
        let alone = core.load_relaxed(line, &queue.owners) == held.request
            && self.requests.next_of(core, held.request) == 0;
        if alone {
            self.requests.make_exclusive(core, held.request);
            self.requests.unlatch(core, line, queue);
            self.requests.free.push(request);
            return Ok(None);
        }
        let upgrade = self.requests.at(request);
        core.store_relaxed(&upgrade.line, &upgrade.upgrades, held.request);
        let queued = self.queue_up(core, record, request, policy);
        queued.inspect_err(|_| self.requests.free.push(request))?;
        Ok(Some(request))
    }

    /// Releases the lock, and grants it to the next waiters.
    pub fn release<C: Queued>(&mut self, core: &M::Core, record: &RecordRef<'_, M, C>, held: Held) {
        self.release_after(core, record, held, |_| ());
    }

    /// Releases the lock in the same way, but first calls `first` under the record's latch.
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

    /// Acquires the latch of a record's lock, for parts that keep further words under the same latch.
    #[inline(always)]
    pub(super) fn latch(&self, core: &M::Core, line: &M::Line, queue: &LockQueue) {
        self.requests.latch(core, line, queue);
    }

    /// Releases the latch.
    #[inline(always)]
    pub(super) fn unlatch(&self, core: &M::Core, line: &M::Line, queue: &LockQueue) {
        self.requests.unlatch(core, line, queue);
    }

    /// Returns the session that owns the lock, and the name of its request. The lock must have an owner. Call under the
    /// latch.
    pub(super) fn owner(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
    ) -> (&SharedSession<M>, u64) {
        let owner = core.load_relaxed(line, &queue.owners);
        let (request, name) = (self.requests.at(owner), self.requests.timestamp_of(core, owner));
        (self.session_at(core.load_relaxed(&request.line, &request.session)), name)
    }

    /// Returns whether an exclusive request would have to wait. This looks without the latch, so the answer is a hint.
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

    /// Grants the lock to the compatible waiters in front, and tells their sessions.
    pub(super) fn grant(&self, core: &M::Core, line: &M::Line, queue: &LockQueue) {
        self.requests.grant(core, line, queue, |request| {
            if self.requests.offer(core, request) {
                self.tell(core, request);
            }
        });
    }

    /// Tells the session of a request that its wait has ended.
    pub(super) fn tell(&self, core: &M::Core, request: &Request<M>) {
        let session = core.load_relaxed(&request.line, &request.session);
        session_at::<M>(&self.arena, session).granted(core);
    }

    /// Queues the request, and begins to wait. Called with the latch held, and returns without it.
    fn queue_up<P: Policy<M>, C: Queued>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        request: u64,
        policy: &mut P,
    ) -> Result<(), AbortReason> {
        let (line, queue) = (record.line(), record.cc().queue());
        if let Some(reason) = policy.refuses() {
            self.requests.unlatch(core, line, queue);
            return Err(reason);
        }
        self.enqueue(core, line, queue, request, policy);
        self.begins_wait(core, policy);
        if P::BY_NAME {
            // The request can stand ahead of all waiters, and its mode can be compatible with the owners.
            self.grant(core, line, queue);
        }
        self.requests.unlatch(core, line, queue);
        Ok(())
    }

    /// Waits for a queued request. An error also says whether the lock was granted nevertheless.
    fn outlast<P: Policy<M>, C: Queued>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        request: u64,
        policy: &mut P,
        called: AbortReason,
    ) -> Result<(), (AbortReason, bool)> {
        let (line, queue) = (record.line(), record.cc().queue());
        loop {
            if let Err(reason) = self.until_told(core, policy, called) {
                if self.withdraws(core, line, queue, request) {
                    return Err((reason, false));
                }
                // The lock was granted meanwhile. A transaction that was not called keeps it, although it has waited for
                // too long. If such transactions gave their locks back, a lock in great demand could pass for ever
                // from one of them to the next.
                return match reason == AbortReason::Timeout && !self.is_called(core) {
                    true => Ok(()),
                    false => Err((reason, true)),
                };
            }
            if self.requests.accepts(core, request) {
                return Ok(());
            }
            self.waits_again(core, (line, queue), request, policy);
        }
    }

    /// Begins the wait, or begins it again. Call under the latch.
    pub(super) fn begins_wait<P: Policy<M>>(&self, core: &M::Core, policy: &mut P) {
        let session = self.session();
        policy.waits(core);
        core.fetch_add(&session.line, &session.fate, WAITING);
    }

    /// Takes the request out of the waiters, unless it owns the lock by now. Returns whether it was taken out.
    #[cold]
    pub(super) fn withdraws(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        request: u64,
    ) -> bool {
        let session = self.session();
        self.requests.latch(core, line, queue);
        // Only the holder of the latch grants, so this state is final.
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
            // Accepts the lock if it was only offered: from here on no session overtakes this request.
            self.requests.accepts(core, request);
        }
        self.requests.unlatch(core, line, queue);
        leaves
    }

    /// Waits as the policy says. Returns an error if the attempt is called.
    pub(super) fn until_told<P: Policy<M>>(
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

    /// Releases the latch, and waits for the grant of a wait that has begun. If the wait fails before the grant, calls
    /// `withdraw` under the latch to take the wait back. Returns as [`Claims::outlast`] does.
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
        // Only the holder of the latch grants, so this state is final.
        let granted = core.load(&session.line, &session.fate) & WAITING == 0;
        if !granted {
            withdraw();
        }
        self.requests.unlatch(core, line, queue);
        Err((reason, granted))
    }

    /// Links the request among the waiters, and meets all requests ahead that it conflicts with.
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

    /// Meets all requests that `request` conflicts with: the owners, and the waiters ahead. Returns the two waiters
    /// between which the request belongs; 0 stands for none.
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
            // The session of a waiting upgrade has been met among the owners already.
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
fn session_at<M: Machine>(arena: &Arena, offset: u64) -> &SharedSession<M> {
    // SAFETY: `offset` comes from `SharedSessions::offset`, so a session was placed there.
    unsafe { arena.at::<SharedSession<M>>(offset) }
}
