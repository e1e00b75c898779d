//! A record's lock whose writes can be retired: granted to other requests before their transaction
//! has ended.
//!
//! Source: Guo, Wu, Yan and Yu, SIGMOD 2021 (retired lists, commit semaphore, cascading aborts, and
//! the optimizations 1, 3 and 4). The paper keeps owners, retired and waiters apart. Here they are
//! in one list, in the order in which they are to commit, and each request's state says what it is:
//!
//! ```text
//! first -> retired write (with its image) -> retired reads -> owner -> waiters
//! ```
//!
//! **Order.** Conflicting requests are ordered by their timestamps, the older first. But a new
//! request stands behind every request that is committing already. The session puts its request
//! where it belongs. It calls away each younger request that has the lock and conflicts with it.
//! There is one exception: a read does not call a write away. The read stands before the write and
//! does not see it.
//!
//! **Grant and commit.** A request is granted when every conflicting request before it is retired.
//! Its transaction can commit when no conflicting request is before it any more. So a session that
//! waits, for a lock or to commit, waits only for older requests, for called ones and for
//! committing ones. Waits form no cycle.
//!
//! **Ranges.** Guards of ranges are locked in the same lists, but their locks are not retired. A
//! change of a range is made at once and is not undone. So no request stands before a request that
//! can be changing the range, even if that one was called away.
//!
//! **Fast path.** Most new requests are the youngest in the list. A word of the lock shows that,
//! and then the request is put at the end of the list without a look at the others.

use super::{
    dependent_session::DependentSession,
    queue_latch::{LatchNodes, Latcher},
    timestamp_allocator::{TimestampAllocator, TimestampSource},
    two_phase_locking::Mode,
};
use crate::ProtocolOptions;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};
use storage::RecordRef;
use txn::{Abort, AbortReason, ColumnSet};

/// A lock.
#[repr(C)]
pub struct RetiringLock {
    latch: Word,
    /// Offset of the first request in the list; 0 if the list is empty.
    first: Word,
    /// Offset of the last request.
    last: Word,
    /// Number of requests in the list that are exclusive or wait to be exclusive.
    exclusives: Word,
    /// Timestamp that no request in the list exceeds. If it is not 0, all requests have timestamps.
    /// 0 if it is not known.
    youngest: Word,
}

// SAFETY: words.
unsafe impl Zeroed for RetiringLock {}

/// Flag of a request: it is exclusive or waits to be exclusive.
const EXCLUSIVE: u64 = 1;
/// Flag of a request: it has the lock.
const GRANTED: u64 = 2;
/// Flag of a request: it has the lock, and other requests can have it too.
const RETIRED: u64 = 4;
/// Flag of a request: it counts among the requests for which its transaction waits before it
/// commits.
const BLOCKED: u64 = 8;
/// Flag of a request: it has the lock shared, and waits to have it exclusively.
const UPGRADES: u64 = 16;
/// Flag of a request: its attempt was called away because of this list.
const DOOMED: u64 = 32;

/// One session's request for one lock.
#[repr(C, align(16))]
pub(super) struct Request<M: Machine> {
    pub(super) line: M::Line,
    next: Word,
    previous: Word,
    /// Offset of its session.
    session: Word,
    /// Timestamp of its session, copied here when it is first needed; 0 until then.
    timestamp: Word,
    /// State of the request: the flags above.
    state: Word,
    /// Offset of the image; 0 if the write changes nothing.
    pub(super) image: Word,
    /// The columns that the image holds.
    pub(super) columns: Word,
}

// SAFETY: a line and words.
unsafe impl<M: Machine> Zeroed for Request<M> {}

const REQUESTS_PER_CHUNK: u64 = 32;

/// State that all locks share: sessions, requests, latches and timestamps.
pub struct RetiringLocks<M: Machine> {
    arena: Arc<Arena>,
    sessions: u64,
    /// Offset of the first requests of each session. They are allocated at the start, so that a
    /// session that starts when memory is exhausted can lock.
    requests: u64,
    latches: LatchNodes,
    allocator: TimestampAllocator<M>,
}

/// One session's access to the locks.
pub struct Claims<M: Machine> {
    latcher: Latcher<M>,
    session: u64,
    /// Requests that are in no list.
    free: Vec<u64>,
    source: TimestampSource,
}

pub(super) type Record<'s, M> = RecordRef<'s, M, RetiringLock>;

impl<M: Machine> RetiringLocks<M> {
    const CHUNK_BYTES: u64 = size_of::<Request<M>>() as u64 * REQUESTS_PER_CHUNK;
    const SESSION_BYTES: u64 = size_of::<DependentSession<M>>() as u64;

    /// Allocates the shared state for `sessions` sessions.
    pub fn new(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<RetiringLocks<M>, OutOfMemory> {
        let count = sessions.max(1);
        Ok(RetiringLocks {
            arena: arena.clone(),
            sessions: arena.allocate_for_sessions(Self::SESSION_BYTES, count)?,
            requests: arena.allocate_for_sessions(Self::CHUNK_BYTES, count)?,
            latches: LatchNodes::new::<M>(arena, sessions)?,
            allocator: TimestampAllocator::new(arena, options.timestamps, sessions)?,
        })
    }

    /// Returns where memory of session number `session` should lie.
    pub fn place_of(&self, session: usize) -> Place {
        self.arena.beside(session)
    }

    /// Creates the claims of session number `session`.
    pub fn claims(&self, session: usize) -> Claims<M> {
        let mut claims = Claims {
            // Checks the session.
            latcher: self.latches.latcher(session),
            session: self.sessions + session as u64 * Self::SESSION_BYTES,
            free: Vec::new(),
            source: TimestampSource::new(session),
        };
        claims.supply(self.requests + session as u64 * Self::CHUNK_BYTES);
        claims
    }

    /// Returns the claiming session's state that other sessions can see.
    #[inline(always)]
    pub fn session_of(&self, claims: &Claims<M>) -> &DependentSession<M> {
        self.session_at(claims.session)
    }

    #[inline(always)]
    fn session_at(&self, offset: u64) -> &DependentSession<M> {
        // SAFETY: offsets of sessions are those that `claims` makes, in memory that `new` has
        // allocated.
        unsafe { self.arena.at::<DependentSession<M>>(offset) }
    }

    #[inline(always)]
    pub(super) fn at(&self, request: u64) -> &Request<M> {
        // SAFETY: offsets in lists come from `Claims::free`, whose chunks hold requests only.
        unsafe { self.arena.at::<Request<M>>(request) }
    }

    fn session(&self, core: &M::Core, request: u64) -> &DependentSession<M> {
        let request = self.at(request);
        self.session_at(core.load_relaxed(&request.line, &request.session))
    }

    #[inline(always)]
    fn state(&self, core: &M::Core, request: u64) -> u64 {
        core.load_relaxed(&self.at(request).line, &self.at(request).state)
    }

    #[inline(always)]
    fn set_state(&self, core: &M::Core, request: u64, state: u64) {
        core.store_relaxed(&self.at(request).line, &self.at(request).state, state);
    }

    #[inline(always)]
    pub(super) fn next(&self, core: &M::Core, request: u64) -> u64 {
        core.load_relaxed(&self.at(request).line, &self.at(request).next)
    }

    #[inline(always)]
    pub(super) fn previous(&self, core: &M::Core, request: u64) -> u64 {
        core.load_relaxed(&self.at(request).line, &self.at(request).previous)
    }

    pub(super) fn first(&self, core: &M::Core, record: &Record<'_, M>) -> u64 {
        core.load_relaxed(record.line(), &record.cc().first)
    }

    fn last(&self, core: &M::Core, record: &Record<'_, M>) -> u64 {
        core.load_relaxed(record.line(), &record.cc().last)
    }

    /// Latches the record's lock.
    #[inline]
    pub fn latch(&self, core: &M::Core, claims: &Claims<M>, record: &Record<'_, M>) {
        claims.latcher.latch(core, record.line(), &record.cc().latch);
    }

    /// Releases the latch.
    #[inline]
    pub fn unlatch(&self, core: &M::Core, claims: &Claims<M>, record: &Record<'_, M>) {
        claims.latcher.unlatch(core, record.line(), &record.cc().latch);
    }

    /// Allocates more requests, and returns one of them.
    #[cold]
    fn take_fresh(&self, claims: &mut Claims<M>) -> Result<u64, OutOfMemory> {
        claims.supply(self.arena.allocate(Self::CHUNK_BYTES, 64, Place::Any)?);
        Ok(claims.free.pop().expect("supplied just now"))
    }

    /// Takes a request that is in no list.
    #[inline(always)]
    pub fn take(&self, core: &M::Core, claims: &mut Claims<M>) -> Result<u64, OutOfMemory> {
        let offset = match claims.free.pop() {
            Some(offset) => offset,
            None => self.take_fresh(claims)?,
        };
        let request = self.at(offset);
        core.store_relaxed(&request.line, &request.session, claims.session);
        core.store_relaxed(&request.line, &request.timestamp, 0);
        core.store_relaxed(&request.line, &request.image, 0);
        Ok(offset)
    }

    /// Puts `request` into the list and returns with the lock granted and latched. On failure the
    /// attempt has been called away. Then the request is in the list, and the lock is not latched.
    #[inline]
    pub fn acquire(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        record: &Record<'_, M>,
        request: u64,
        mode: Mode,
    ) -> Result<(), Abort> {
        let exclusive = u64::from(mode == Mode::Exclusive) * EXCLUSIVE;
        self.latch(core, claims, record);
        let alone = self.first(core, record) == 0;
        let exclusives = core.load_relaxed(record.line(), &record.cc().exclusives);
        if alone || (exclusive == 0 && exclusives == 0) {
            // No request conflicts, so no timestamp is needed.
            self.set_state(core, request, exclusive | granted(record, exclusive));
            self.link(core, record, 0, request);
            self.count(core, record, exclusive);
            return Ok(());
        }
        self.set_state(core, request, exclusive);
        self.place(core, claims, record, request);
        self.until_granted(core, claims, record, request)
    }

    /// Upgrades a request that has the lock shared, as [`RetiringLocks::acquire`].
    pub fn upgrade(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        record: &Record<'_, M>,
        request: u64,
    ) -> Result<(), Abort> {
        self.latch(core, claims, record);
        if self.first(core, record) == request && self.next(core, request) == 0 {
            self.set_state(core, request, EXCLUSIVE | GRANTED);
            self.count(core, record, EXCLUSIVE);
            return Ok(());
        }
        self.unlink(core, record, request);
        let blocked = self.state(core, request) & BLOCKED;
        self.set_state(core, request, EXCLUSIVE | UPGRADES | blocked);
        self.place(core, claims, record, request);
        self.until_granted(core, claims, record, request)
    }

    /// Puts a request at the end of the list if it is the youngest, and grants it if no request
    /// keeps it from the lock. Returns false, without a change, if it is not the youngest or that
    /// is not known.
    fn append(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        record: &Record<'_, M>,
        request: u64,
    ) -> bool {
        let youngest = core.load_relaxed(record.line(), &record.cc().youngest);
        if youngest == 0 || record.is_guard() {
            return false;
        }
        let own = self.age(core, claims, request);
        if own < youngest {
            return false;
        }
        core.store_relaxed(record.line(), &record.cc().youngest, own);
        let last = self.last(core, record);
        // Behind a request that is not retired, only called requests have the lock. So this one is
        // granted only if the last one is retired and was not called.
        if self.state(core, last) & (RETIRED | DOOMED) == RETIRED {
            // The request conflicts with one ahead of it, because `acquire` places only requests
            // that conflict.
            let mut state = self.state(core, request) & !UPGRADES;
            if state & BLOCKED == 0 && self.session_of(claims).block(core) {
                state |= BLOCKED;
            }
            self.set_state(core, request, state | granted(record, state & EXCLUSIVE));
        }
        self.link(core, record, last, request);
        true
    }

    /// Finds the request's place in the list, calls away the requests that it can, and links it.
    fn place(&self, core: &M::Core, claims: &mut Claims<M>, record: &Record<'_, M>, request: u64) {
        let exclusive = self.state(core, request) & EXCLUSIVE;
        self.count(core, record, exclusive);
        if self.append(core, claims, record, request) {
            return;
        }
        let mut youngest = 0;
        let mut at = self.first(core, record);
        while at != 0 {
            youngest = self.age(core, claims, at).max(youngest);
            at = self.next(core, at);
        }
        // Draw the own timestamp last, and before it is compared: another session can be drawing it
        // in another list.
        let own = self.age(core, claims, request);
        core.store_relaxed(record.line(), &record.cc().youngest, own.max(youngest));
        let mut before = 0;
        at = self.first(core, record);
        while at != 0 {
            let state = self.state(core, at);
            let has = state & (GRANTED | UPGRADES) != 0;
            let writes = state & (GRANTED | EXCLUSIVE) == GRANTED | EXCLUSIVE;
            let stands = if self.age(core, claims, at) < own {
                false
            } else if writes && record.is_guard() {
                // It can be changing the range now, even if it was called away, and the change is
                // not undone.
                self.call(core, at);
                false
            } else if exclusive != 0 && has {
                self.call(core, at)
            } else if writes {
                self.stands_behind(core, at, state)
            } else {
                true
            };
            if !stands {
                before = at;
            }
            at = self.next(core, at);
        }
        self.link(core, record, before, request);
    }

    /// Calls the request's attempt away. Returns false if the attempt is committing.
    fn call(&self, core: &M::Core, request: u64) -> bool {
        let called = self.session(core, request).call(core);
        if called {
            self.set_state(core, request, self.state(core, request) | DOOMED);
        }
        called
    }

    /// Makes a write that has the lock wait, before it commits, for an older read that has just
    /// come. Returns false if the write is committing.
    fn stands_behind(&self, core: &M::Core, request: u64, state: u64) -> bool {
        if state & BLOCKED != 0 {
            return true;
        }
        let blocked = self.session(core, request).block(core);
        if blocked {
            self.set_state(core, request, state | BLOCKED);
        }
        blocked
    }

    /// Returns the timestamp of the request's session. Draws it if there is none.
    fn age(&self, core: &M::Core, claims: &mut Claims<M>, request: u64) -> u64 {
        let (line, known) = (&self.at(request).line, &self.at(request).timestamp);
        let mut age = core.load_relaxed(line, known);
        if age == 0 {
            let session = self.session(core, request);
            age = session.timestamp(core, &self.allocator, &mut claims.source);
            core.store_relaxed(line, known, age);
        }
        age
    }

    /// Waits until the request that was just placed is granted, unless it can be granted at once.
    fn until_granted(
        &self,
        core: &M::Core,
        claims: &Claims<M>,
        record: &Record<'_, M>,
        request: u64,
    ) -> Result<(), Abort> {
        if self.state(core, request) & GRANTED == 0 {
            self.refresh(core, record, request);
        }
        if self.state(core, request) & GRANTED != 0 {
            return Ok(());
        }
        let session = self.session_of(claims);
        session.expects_grant(core);
        self.unlatch(core, claims, record);
        if !session.until_granted(core) {
            return Err(Abort::because(AbortReason::Wounded));
        }
        self.latch(core, claims, record);
        Ok(())
    }

    /// Grants the requests that can be granted, and unblocks the requests that no longer stand
    /// behind a conflicting one. `own` is a request whose session does not wait.
    fn refresh(&self, core: &M::Core, record: &Record<'_, M>, own: u64) {
        let first = self.first(core, record);
        self.refresh_from(core, record, first, false, own);
    }

    /// Does the same as [`RetiringLocks::refresh`], from the request `at` on. All requests before
    /// it are retired. `exclusive` is set if there are any.
    fn refresh_from(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        mut at: u64,
        mut exclusive: bool,
        own: u64,
    ) {
        let (mut any, mut kept) = (exclusive, false);
        let end = self.last(core, record);
        // No request waits ahead of one that has the lock and was not called away. So if the last
        // is granted, all are.
        let granted_all = at != 0 && self.state(core, end) & (GRANTED | DOOMED) == GRANTED;
        while at != 0 && !(exclusive && granted_all) {
            let mut state = self.state(core, at);
            let wants = state & EXCLUSIVE;
            let blocked = if wants != 0 { any } else { exclusive };
            if state & GRANTED == 0 && (wants == 0 || !kept) {
                let session = self.session(core, at);
                state = state & !UPGRADES | granted(record, wants);
                // Block before the session is told of the grant. Otherwise it could commit in
                // between.
                if blocked && state & BLOCKED == 0 && session.block(core) {
                    state |= BLOCKED;
                }
                self.set_state(core, at, state);
                if at != own {
                    session.granted(core);
                }
            } else if !blocked && state & (GRANTED | BLOCKED) == GRANTED | BLOCKED {
                self.set_state(core, at, state & !BLOCKED);
                self.session(core, at).unblock(core);
            }
            if wants != 0 && state & (RETIRED | DOOMED) != RETIRED {
                // Every request behind this one waits or has been called away. A doomed write is
                // not worth reading.
                return;
            }
            any = true;
            exclusive |= wants != 0;
            kept |= state & RETIRED == 0;
            at = self.next(core, at);
        }
    }

    /// Retires a write: other requests can have the lock beside this exclusive one, and see
    /// `image`. The image holds `columns`. It is none if the write changes nothing. Called with the
    /// lock latched. The caller must call [`RetiringLocks::leave`] afterwards.
    pub fn retire(&self, core: &M::Core, request: u64, image: Option<(&Record<'_, M>, ColumnSet)>) {
        let own = self.at(request);
        let (image, columns) =
            image.map_or((0, ColumnSet::NONE), |(slot, columns)| (slot.name().offset, columns));
        core.store_relaxed(&own.line, &own.image, image);
        core.store_relaxed(&own.line, &own.columns, columns.0);
        self.set_state(core, request, self.state(core, request) | RETIRED);
    }

    /// Takes back a lock that was retired too early, because the write is about to change. Calls
    /// away all requests that have seen it. Called with the lock latched.
    pub fn take_back(&self, core: &M::Core, request: u64) {
        let state = self.state(core, request);
        if state & RETIRED != 0 {
            self.set_state(core, request, state & !RETIRED);
            self.call_behind(core, request);
        }
    }

    /// Grants the requests that a retired write now admits, and releases the latch.
    pub fn leave(&self, core: &M::Core, claims: &Claims<M>, record: &Record<'_, M>, request: u64) {
        if self.is_retired_write(core, request) {
            let next = self.next(core, request);
            self.refresh_from(core, record, next, true, request);
        }
        self.unlatch(core, claims, record);
    }

    /// Calls away all requests behind `request` that have the lock, because they have seen its
    /// write. Called with the lock latched.
    pub fn call_behind(&self, core: &M::Core, request: u64) {
        let mut at = self.next(core, request);
        while at != 0 {
            if self.state(core, at) & (GRANTED | UPGRADES) != 0 {
                self.call(core, at);
            }
            at = self.next(core, at);
        }
    }

    /// Returns true if other requests can have seen the write of `request`.
    pub fn is_retired_write(&self, core: &M::Core, request: u64) -> bool {
        let both = EXCLUSIVE | RETIRED;
        self.state(core, request) & both == both
    }

    /// Removes the request from the list, grants the requests that can be granted, and releases the
    /// latch. Called with the lock latched.
    pub fn release(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        record: &Record<'_, M>,
        request: u64,
    ) {
        self.unlink(core, record, request);
        let exclusive = self.state(core, request) & EXCLUSIVE;
        let exclusives = self.count(core, record, exclusive.wrapping_neg());
        if exclusives == 0 {
            // From here on requests without a timestamp can come into the list.
            core.store_relaxed(record.line(), &record.cc().youngest, 0);
        }
        if exclusive + exclusives != 0 {
            self.refresh(core, record, 0);
        }
        self.unlatch(core, claims, record);
        claims.free.push(request);
    }

    /// Adds `change` to the number of exclusive requests, and returns the new number.
    fn count(&self, core: &M::Core, record: &Record<'_, M>, change: u64) -> u64 {
        let (line, exclusives) = (record.line(), &record.cc().exclusives);
        let count = core.load_relaxed(line, exclusives).wrapping_add(change);
        if change != 0 {
            core.store_relaxed(line, exclusives, count);
        }
        count
    }

    /// Puts `request` behind `before`, or first if `before` is 0.
    fn link(&self, core: &M::Core, record: &Record<'_, M>, before: u64, request: u64) {
        let after = match before {
            0 => self.first(core, record),
            _ => self.next(core, before),
        };
        self.join(core, record, before, request);
        self.join(core, record, request, after);
    }

    fn unlink(&self, core: &M::Core, record: &Record<'_, M>, request: u64) {
        self.join(core, record, self.previous(core, request), self.next(core, request));
    }

    /// Makes the request `after` follow `before`; 0 stands for an end of the list.
    fn join(&self, core: &M::Core, record: &Record<'_, M>, before: u64, after: u64) {
        let (line, next) = match before {
            0 => (record.line(), &record.cc().first),
            _ => (&self.at(before).line, &self.at(before).next),
        };
        core.store_relaxed(line, next, after);
        let (line, previous) = match after {
            0 => (record.line(), &record.cc().last),
            _ => (&self.at(after).line, &self.at(after).previous),
        };
        core.store_relaxed(line, previous, before);
    }
}

impl<M: Machine> Claims<M> {
    /// Adds the requests placed at `first`, which no other session uses.
    fn supply(&mut self, first: u64) {
        let size = size_of::<Request<M>>() as u64;
        self.free.extend((0..REQUESTS_PER_CHUNK).rev().map(|i| first + i * size));
    }
}

/// Returns the flags of a request that has the lock. Reads of rows are retired at once, so they do
/// not delay writers. Reads of ranges are not.
#[inline(always)]
fn granted<M: Machine>(record: &Record<'_, M>, exclusive: u64) -> u64 {
    match exclusive == 0 && !record.is_guard() {
        true => GRANTED | RETIRED,
        false => GRANTED,
    }
}
